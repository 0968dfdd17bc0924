"""Which service runs where is only group membership; every host finds its peers, and callees start first."""

from typing import Any

import pytest

from tests.deploy.role import filters

IT = filters("steelyard_topology")
ADDRESSES = {"a": "10.0.0.1", "b": "10.0.0.2", "c": "fd00::3"}
SPREAD = {
    "gateway": ["a"],
    "retriever": ["a"],
    "dataprep": ["a"],
    "embedding": ["b"],
    "reranker": ["b", "c"],
}


def here(host: str, groups: dict[str, list[str]], **variables: Any) -> dict[str, Any]:
    found: dict[str, Any] = IT.topology(host, groups, ADDRESSES, variables)
    return found


def test_a_host_in_no_group_runs_everything_and_calls_nobody_else() -> None:
    found = here("a", {"all": ["a"]})
    assert found["tiers"] == list(IT.SERVICE_TIERS)
    assert found["services"]["gateway"] == ["llm", "chatqna"]
    assert (found["peers"], found["balanced"], found["gateways"], found["shared"]) == ({}, [], [], False)


def test_without_the_packages_model_server_the_gateway_is_alone() -> None:
    assert here("a", {}, steelyard_embedded_llm=False)["services"]["gateway"] == ["chatqna"]


def test_one_peer_is_called_directly_and_several_through_the_balancer_on_the_callers_host() -> None:
    found = here("a", SPREAD)
    assert found["tiers"] == ["dataprep", "retriever", "gateway"]
    assert found["peers"] == {
        "EMBEDDING_PEER_URL": "http://10.0.0.2:6000",
        "RERANKER_PEER_URL": "http://10.0.0.1:18000",
    }
    servers = [{"name": "b", "address": "10.0.0.2:8000"}, {"name": "c", "address": "[fd00::3]:8000"}]
    assert found["balanced"] == [{"name": "reranker", "bind": "10.0.0.1:18000", "servers": servers}]
    assert found["shared"]


def test_a_gateway_passes_documents_on_to_the_first_host_that_takes_them_in() -> None:
    spread = {**SPREAD, "dataprep": ["c", "a"]}
    assert here("a", spread)["peers"]["DATAPREP_PEER_URL"] == "http://[fd00::3]:5000"
    assert "DATAPREP_PEER_URL" not in here("c", {**spread, "gateway": ["c"]})["peers"]
    assert "dataprep" not in [one["name"] for one in here("a", spread)["balanced"]]


def test_a_host_that_calls_nobody_is_told_of_nobody() -> None:
    found = here("c", SPREAD)
    assert (found["tiers"], found["peers"], found["balanced"], found["shared"]) == (["reranker"], {}, [], True)


def test_a_service_on_the_same_host_is_called_in_its_network_when_it_is_the_only_one() -> None:
    found = here("a", {tier: ["a"] for tier in IT.TIERS})
    assert (found["peers"], found["shared"]) == ({}, False)


def test_several_gateways_stand_behind_a_balancer_on_each_of_them() -> None:
    found = here("b", {**SPREAD, "gateway": ["a", "b"]})
    assert [one["address"] for one in found["gateways"]] == ["10.0.0.1:18888", "10.0.0.2:18888"]
    assert found["peers"]["RETRIEVER_PEER_URL"] == "http://10.0.0.1:7000"
    assert here("c", {**SPREAD, "gateway": ["a", "b"]})["gateways"] == []


def test_a_host_outside_the_stack_of_its_inventory_has_one_of_its_own() -> None:
    assert not IT.topology("d", SPREAD, {**ADDRESSES, "d": "10.0.0.4"})["peers"]


@pytest.mark.parametrize(
    ("tier", "turns"),
    [("reranker", [["d", "e"], ["b"], ["c"]]), ("gateway", [["d", "e"], ["a"]])],
)
def test_hosts_of_one_stack_restart_in_turn_and_others_at_once(tier: str, turns: list[list[str]]) -> None:
    assert IT.turns(tier, ["a", "b", "c", "d", "e"], SPREAD) == turns


def test_nobody_is_restarted_before_those_whom_it_calls() -> None:
    order = list(IT.TIERS)
    for caller, called in IT._CALLS.items():
        assert all(order.index(one) < order.index(caller) for one in called)


def test_an_address_is_the_one_for_peers_then_ansibles_then_the_name() -> None:
    of = {"a": {"steelyard_address": "10.1.1.1", "ansible_host": "x"}, "b": {"ansible_host": "y"}, "c": {}}
    assert IT.addresses(["a", "b", "c"], of) == {"a": "10.1.1.1", "b": "y", "c": "c"}
