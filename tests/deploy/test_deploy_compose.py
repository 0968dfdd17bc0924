"""The Compose files keep to the policy, and the policy notices when they would not."""

import copy
import shutil
import subprocess
from typing import Any

import pytest

from compose.generate import CONTAINER, SERVICES, drifted
from tests.deploy import compose_files
from tests.deploy.compose_policy import faults
from tools.settings_source import settings

_HAS_COMPOSE = (
    shutil.which("docker") is not None
    and subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0
)
needs_compose = pytest.mark.skipif(not _HAS_COMPOSE, reason="`docker compose` is not installed on this machine")


@pytest.fixture(params=["yaml", pytest.param("compose", marks=needs_compose)])
def config(request: pytest.FixtureRequest) -> compose_files.Config:
    """The merged configuration, read both ways: the second is Compose's own."""
    return compose_files.by_yaml() if request.param == "yaml" else compose_files.by_compose()


def test_the_configuration_has_no_fault(config: compose_files.Config) -> None:
    assert faults(config) == []


def test_every_service_of_the_product_is_there(config: compose_files.Config) -> None:
    assert set(config["services"]) == {*SERVICES, "llm", "cli", "models"}


@pytest.mark.parametrize(
    ("service", "key", "value", "said"),
    [
        ("embedding", "user", "0:0", "embedding: runs as 0:0"),
        ("dataprep", "read_only", False, "dataprep: has a file system that can be written"),
        ("llm", "cap_drop", [], "llm: drops []"),
        ("llm", "cap_add", ["NET_RAW"], "llm: adds capabilities"),
        ("reranker", "security_opt", [], "reranker: may gain privileges"),
        ("reranker", "privileged", True, "reranker: is privileged"),
        ("reranker", "pid", "host", "reranker: is in the host's pid"),
        ("cli", "mem_limit", None, "cli: has no memory limit"),
        ("models", "pids_limit", None, "models: has no limit on processes"),
        ("retriever", "tmpfs", ["/tmp"], "retriever: has scratch space without a bound"),
        ("retriever", "ports", ["127.0.0.1:7000:7000"], "retriever: publishes"),
        ("chatqna", "ports", ["0.0.0.0:8888:8888"], "chatqna: publishes ['0.0.0.0:8888:8888'] beyond loopback"),
        ("llm", "networks", ["inference", "backend"], "llm: is on networks"),
        ("dataprep", "networks", ["backend", "edge"], "dataprep: is on networks"),
        ("embedding", "volumes", ["models:/models"], "embedding: can write volume models"),
        ("embedding", "volumes", ["/var/run:/run:ro"], "embedding: mounts /var/run of the host"),
        ("chatqna", "volumes", ["ledgers:/ledgers", "keys:/run/keys"], "chatqna: can write volume keys"),
        ("retriever", "volumes", ["store:/data", "keys:/run/keys:ro"], "retriever: has the API keys"),
        ("chatqna", "environment", {"AUTH": "off"}, "chatqna: asks for no API key"),
        ("chatqna", "healthcheck", {"test": ["CMD", "true"]}, "chatqna: is healthy by ['CMD', 'true']"),
        ("chatqna", "depends_on", {"llm": {"condition": "service_started"}}, "chatqna: does not wait until llm"),
        ("dataprep", "restart", "no", "dataprep: does not start again"),
        ("dataprep", "secrets", [], "dataprep: has the service token without its setting"),
        ("llm", "environment", {"LLAMA_API_KEY": "k"}, "llm: LLAMA_API_KEY could hold a secret"),
    ],
)
def test_the_policy_notices(service: str, key: str, value: Any, said: str) -> None:
    changed = copy.deepcopy(compose_files.by_yaml())
    changed["services"][service][key] = value
    assert [fault for fault in faults(changed) if fault.startswith(said)]


def test_the_policy_notices_a_network_with_a_way_out() -> None:
    changed = copy.deepcopy(compose_files.by_yaml())
    changed["networks"]["backend"] = {}
    assert faults(changed) == ["network backend is not internal"]


def test_each_service_can_be_given_exactly_the_settings_that_it_reads(config: compose_files.Config) -> None:
    for service in SERVICES:
        reads = {one.name for one in settings() if service in one.readers}
        assert set(config["services"][service]["environment"]) == reads


def test_what_the_files_fix_is_what_is_not_passed_on(config: compose_files.Config) -> None:
    fixed = {
        name
        for service in SERVICES
        for name, value in config["services"][service]["environment"].items()
        if value is not None and name != "LLM_URL"
    }
    assert fixed == CONTAINER


def test_no_generated_file_has_drifted() -> None:
    assert drifted() == [], "run `python -m compose.generate`"


@needs_compose
def test_a_setting_of_the_operator_reaches_only_its_readers() -> None:
    given = compose_files.by_compose(
        {**compose_files.ENVIRONMENT, "TOKEN_COST_ALPHA": "0.5", "EMBEDDING_URL": "http://x"}
    )
    holders = {
        name
        for name, service in given["services"].items()
        if service.get("environment", {}).get("TOKEN_COST_ALPHA") is not None
    }
    assert holders == {"reranker"}
    assert given["services"]["chatqna"]["environment"]["EMBEDDING_URL"] == "http://embedding:6000"


@needs_compose
def test_without_a_token_file_nothing_starts_and_the_message_says_so() -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        compose_files.by_compose({"API_KEYS_FOLDER": compose_files.KEYS_FOLDER})
    assert "STEELYARD_SERVICE_TOKEN_FILE" in refused.value.stderr
    assert "docs/operate/compose.md" in refused.value.stderr


@needs_compose
def test_without_a_folder_of_keys_nothing_starts_and_the_message_says_so() -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        compose_files.by_compose({"STEELYARD_SERVICE_TOKEN_FILE": compose_files.TOKEN_FILE})
    assert "API_KEYS_FOLDER" in refused.value.stderr
    assert "docs/operate/compose.md" in refused.value.stderr


PEERS = (*compose_files.FILES, "compose.peers.yaml")


@needs_compose
def test_a_host_of_several_publishes_its_services_on_its_address_between_the_hosts_only() -> None:
    given = {
        **compose_files.ENVIRONMENT,
        "PEER_ADDRESS": "10.0.0.1",
        "EMBEDDING_PEER_URL": "http://10.0.0.2:6000",
        "RERANKER_PEER_URL": "http://10.0.0.1:18000",
    }
    services = compose_files.by_compose(given, PEERS)["services"]
    published = {name: service["ports"] for name, service in services.items() if service["ports"]}
    assert published == {
        "embedding": ["10.0.0.1:6000:6000"],
        "dataprep": ["10.0.0.1:5000:5000"],
        "retriever": ["10.0.0.1:7000:7000"],
        "reranker": ["10.0.0.1:8000:8000"],
        "chatqna": ["127.0.0.1:8888:8888"],
    }
    assert "peers" not in services["llm"]["networks"]
    assert services["dataprep"]["environment"]["EMBEDDING_URL"] == "http://10.0.0.2:6000"
    assert services["chatqna"]["environment"]["RERANKER_URL"] == "http://10.0.0.1:18000"
    assert services["chatqna"]["environment"]["RETRIEVER_URL"] == "http://retriever:7000"
    assert services["chatqna"]["environment"]["DATAPREP_URL"] == "http://dataprep:5000"


@needs_compose
def test_the_hardening_is_that_of_one_host() -> None:
    config = compose_files.by_compose({**compose_files.ENVIRONMENT, "PEER_ADDRESS": "10.0.0.1"}, PEERS)
    assert {fault.split(": ", 1)[1].split(" ")[0] for fault in faults(config) if ": " in fault} <= {"publishes", "is"}
    assert [fault for fault in faults(config) if ": " not in fault] == ["network peers is not internal"]


@needs_compose
def test_without_an_address_nothing_is_published_between_hosts() -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        compose_files.by_compose(compose_files.ENVIRONMENT, PEERS)
    assert "PEER_ADDRESS" in refused.value.stderr
