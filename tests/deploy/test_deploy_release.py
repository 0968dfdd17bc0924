"""What a release of a host holds follows from its groups and variables: files, variables, images, whom it measures."""

from typing import Any

import pytest

from tests.deploy.compose_files import ROOT
from tests.deploy.role import filters

IT = filters("steelyard_release")
TOPOLOGY = filters("steelyard_topology")
ADDRESSES = {"a": "10.0.0.1", "b": "10.0.0.2"}
SERVICES = TOPOLOGY.SERVICE_TIERS
EVERYWHERE = {tier: ["a"] for tier in SERVICES}
KEY = "a-real-key-0123456789"


def here(host: str, groups: dict[str, list[str]], **variables: Any) -> dict[str, Any]:
    found: dict[str, Any] = TOPOLOGY.topology(host, groups, ADDRESSES, named(variables))
    return found


def named(variables: dict[str, Any]) -> dict[str, Any]:
    return {f"steelyard_{name}": value for name, value in variables.items()}


def files(host: str, groups: dict[str, list[str]], **variables: Any) -> list[str]:
    found = IT.release_files(here(host, groups, **variables), named(variables))
    return [name.removeprefix("compose.").removesuffix(".yaml") for name in found][1:]


def env(host: str, groups: dict[str, list[str]], **variables: Any) -> dict[str, str]:
    found: dict[str, str] = IT.release_env(here(host, groups, **variables), named(variables), "/opt/steelyard")
    return found


TRACES = {"traces_url": "https://traces.example.org"}
EMBEDDER = {"embedding_backend": "tei", "embedding_tokenizer_folder": "/srv/t"}


@pytest.mark.parametrize(
    ("groups", "variables", "wanted"),
    [
        ({}, {}, ["embedded"]),
        ({}, {"embedded_llm": False}, []),
        ({}, {"model_servers": "cpu"}, ["embedded", "cpu"]),
        ({}, {"model_servers": "cuda"}, ["cuda"]),
        ({}, {"model_servers": "t4"}, ["cuda", "t4"]),
        ({"arangodb": ["a"]}, {}, ["embedded", "arangodb"]),
        ({"observability": ["a"], "arangodb": ["a"]}, {}, ["embedded", "arangodb", "observability"]),
        ({}, {"store": "arangodb", "embedded_llm": False}, ["store-outside"]),
        ({}, {"rerank_backend": "cohere"}, ["embedded", "reranker-outside"]),
        ({}, {"rerank_backend": "onnx"}, ["embedded"]),
        ({}, {"rerank_backend": "tei", "model_servers": "cpu"}, ["embedded", "cpu"]),
        ({}, EMBEDDER, ["embedded", "embedder"]),
        ({}, {**EMBEDDER, "model_servers": "cuda"}, ["cuda", "embedder", "embedder-gpu"]),
        ({}, {**EMBEDDER, "embedding_server_url": "http://tei:80"}, ["embedded", "embedding-outside"]),
        ({}, {**EMBEDDER, "embedding_backend": "openai"}, ["embedded", "embedding-outside"]),
        ({}, {"tokenizer_folder": "/srv/t", "embedded_llm": False}, ["tokenizer"]),
        ({}, {"dataprep_link_hosts": "docs.example.org"}, ["embedded", "links-outside"]),
        ({}, {"dataprep_link_hosts": ""}, ["embedded"]),
        ({**EVERYWHERE, "arangodb": ["b"]}, {}, ["embedded", "store-outside", "peers"]),
        ({**EVERYWHERE, "observability": ["b"]}, {}, ["embedded", "peers"]),
        ({**EVERYWHERE, "observability": ["b"]}, TRACES, ["embedded", "peers"]),
        ({"observability": ["a"]}, TRACES, ["embedded", "observability", "traces"]),
        ({}, TRACES, ["embedded"]),
    ],
)
def test_the_files_of_a_host(groups: dict[str, list[str]], variables: dict[str, Any], wanted: list[str]) -> None:
    assert files("a", groups, **variables) == wanted
    assert all((ROOT / f"compose/compose.{name}.yaml").is_file() for name in wanted)


@pytest.mark.parametrize(
    ("groups", "wanted", "services"),
    [
        ({"arangodb": ["b"]}, ["arangodb", "arangodb-peers", "peers"], {"arangodb": ["arangodb"]}),
        (
            {"observability": ["b"]},
            ["observability", "observability-peers", "peers"],
            {"observability": ["prometheus", "grafana"]},
        ),
    ],
)
def test_a_host_of_its_own_for_the_database_or_the_measurements_runs_nothing_else(
    groups: dict[str, list[str]], wanted: list[str], services: dict[str, list[str]]
) -> None:
    assert files("b", {**EVERYWHERE, **groups}) == wanted
    assert here("b", {**EVERYWHERE, **groups})["services"] == services


def test_the_collector_is_beside_the_measurements_and_services_elsewhere_are_told_where() -> None:
    groups = {**EVERYWHERE, "observability": ["b"]}
    assert here("b", groups, **TRACES)["services"] == {"observability": ["collector", "prometheus", "grafana"]}
    assert files("b", groups, **TRACES) == ["observability", "observability-peers", "traces", "traces-peers", "peers"]
    assert env("a", groups, **TRACES) == {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://10.0.0.2:4318"}
    assert env("b", groups, **TRACES)["TRACES_URL"] == TRACES["traces_url"]
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" not in env("b", groups, **TRACES), "the overlay names the one beside it"
    assert env("a", groups) == {}, "without a server that keeps traces there is none"
    alone = env("a", {"observability": ["a"]}, **TRACES)
    assert (alone["TRACES_URL"], "OTEL_EXPORTER_OTLP_ENDPOINT" in alone) == (TRACES["traces_url"], False)
    assert TOPOLOGY.topology("c", groups, {**ADDRESSES, "c": "10.0.0.3"}, named(TRACES))["collector"] == ""


def test_model_servers_start_before_what_asks_them() -> None:
    assert here("a", {}, model_servers="t4")["services"] == {
        "embedding": ["embedding"],
        "dataprep": ["dataprep"],
        "reranker": ["tei", "reranker"],
        "retriever": ["retriever"],
        "gateway": ["vllm", "chatqna"],
    }
    assert here("a", {}, model_servers="cpu")["services"]["gateway"] == ["llm", "chatqna"]


def test_the_retriever_is_told_where_the_database_of_another_host_is() -> None:
    groups = {**EVERYWHERE, "arangodb": ["b"]}
    assert env("a", groups) == {
        "ARANGO_PASSWORD_FILE": "/opt/steelyard/secrets/arango_password",
        "ARANGO_URL": "http://10.0.0.2:8529",
        "STORE": "arangodb",
    }
    assert env("b", groups) == {"ARANGO_PASSWORD_FILE": "/opt/steelyard/secrets/arango_password"}
    assert env("a", {"arangodb": ["a"]}) == {"ARANGO_PASSWORD_FILE": "/opt/steelyard/secrets/arango_password"}


def test_a_key_is_a_file_whose_name_changes_with_it_and_only_its_reader_s_host_names_it() -> None:
    first = env("a", {}, llm_api_key=KEY, rerank_api_key=KEY)
    assert set(first) == {"LLM_API_KEY_FILE", "RERANK_API_KEY_FILE"}
    assert KEY not in str(first)
    assert env("a", {}, llm_api_key=KEY)["LLM_API_KEY_FILE"] == first["LLM_API_KEY_FILE"]
    assert env("a", {}, llm_api_key=KEY + "x")["LLM_API_KEY_FILE"] != first["LLM_API_KEY_FILE"]
    apart = {**EVERYWHERE, "reranker": ["b"]}
    assert set(env("b", apart, llm_api_key=KEY, rerank_api_key=KEY)) == {"RERANK_API_KEY_FILE"}


def test_the_embedding_models_server_is_beside_its_service_and_dataprep_has_its_tokenizer() -> None:
    apart = {**EVERYWHERE, "embedding": ["a"], "dataprep": ["b"]}
    assert here("a", apart, **EMBEDDER)["services"]["embedding"] == ["embedder", "embedding"]
    assert "embedder" in files("a", apart, **EMBEDDER)
    assert "embedding-outside" in files("b", apart, **EMBEDDER)
    assert env("b", apart, **EMBEDDER)["EMBEDDING_TOKENIZER_FOLDER"] == "/srv/t"
    assert env("a", apart, **EMBEDDER, embedding_api_key=KEY).keys() == {
        "EMBEDDING_API_KEY_FILE",
        "EMBEDDING_TOKENIZER_FOLDER",
        "HUB_FOLDER",
    }


def texts(*names: str) -> dict[str, str]:
    return {name: (ROOT / "compose" / name).read_text(encoding="utf-8") for name in names}


def test_the_images_are_those_of_what_runs_and_the_last_file_decides() -> None:
    given = texts("compose.yaml", "compose.cuda.yaml", "compose.t4.yaml")
    found = IT.release_images(given, {"IMAGE_TAG": "0.1.0"}, ["reranker", "tei"])
    assert found == {
        "IMAGE_RERANKER": "steelyard/reranker:0.1.0",
        "IMAGE_TEI": "ghcr.io/huggingface/text-embeddings-inference:turing-1.8",
        "IMAGE_CLI": "steelyard/cli:0.1.0",
    }
    ours = IT.release_images(given, {"IMAGE_PREFIX": "reg.example.org/team", "IMAGE_TEI": "my/tei:1"}, ["tei"])
    assert ours == {"IMAGE_TEI": "my/tei:1", "IMAGE_CLI": "reg.example.org/team/cli:latest"}


def test_with_a_lock_every_image_is_what_it_says_and_one_that_it_lacks_is_named() -> None:
    lock = {"steelyard/cli:latest": "sha256:" + "1" * 64, "steelyard/reranker:latest": "sha256:" + "2" * 64}
    given = texts("compose.yaml")
    assert IT.release_images(given, {}, ["reranker"], lock) == {
        "IMAGE_CLI": "sha256:" + "1" * 64,
        "IMAGE_RERANKER": "sha256:" + "2" * 64,
    }
    with pytest.raises(ValueError, match=r"^steelyard_image_lock lacks steelyard/embedding:latest: run `python -m"):
        IT.release_images(given, {}, ["embedding", "reranker"], lock)


def test_prometheus_asks_services_here_by_name_and_others_by_their_host_s_address() -> None:
    groups = {
        **{tier: ["a"] for tier in SERVICES},
        "reranker": ["a", "b"],
        "observability": ["b"],
    }
    variables = {"a": {"steelyard_gateway_address": "0.0.0.0", "steelyard_gateway_port": 443}, "b": {}}
    found = TOPOLOGY.scrape_targets("b", groups, ADDRESSES, variables)
    assert {one["labels"]["service"]: one["targets"] for one in found} == {
        "embedding": ["10.0.0.1:6000"],
        "dataprep": ["10.0.0.1:5000"],
        "reranker": ["10.0.0.1:8000", "reranker:8000"],
        "retriever": ["10.0.0.1:7000"],
        "gateway": ["10.0.0.1:443"],
    }


def test_prometheus_asks_several_gateways_behind_their_balancers() -> None:
    groups = {**{tier: ["a"] for tier in SERVICES}, "gateway": ["a", "b"], "observability": ["b"]}
    found = TOPOLOGY.scrape_targets("b", groups, ADDRESSES, {"a": {}, "b": {}})
    assert found[-1] == {"targets": ["10.0.0.1:18888", "chatqna:8888"], "labels": {"service": "gateway"}}


def test_prometheus_on_a_whole_stack_asks_what_the_compose_files_ask() -> None:
    found = TOPOLOGY.scrape_targets("a", {"observability": ["a"]}, {"a": "10.0.0.1"}, {"a": {}})
    assert [one["targets"][0] for one in found] == [
        "embedding:6000",
        "dataprep:5000",
        "reranker:8000",
        "retriever:7000",
        "chatqna:8888",
    ]


@pytest.mark.parametrize(
    ("tags", "wanted"),
    [
        (["all"], ["embedding", "dataprep", "reranker", "retriever", "llm", "chatqna"]),
        (["start", "verify"], ["embedding", "dataprep", "reranker", "retriever", "llm", "chatqna"]),
        (["reranker"], ["reranker"]),
        (["gateway"], ["llm", "chatqna"]),
        (["chatqna", "embedding"], ["embedding", "chatqna"]),
        (["grafana"], []),
    ],
)
def test_tags_name_the_services_that_a_run_is_for(tags: list[str], wanted: list[str]) -> None:
    assert TOPOLOGY.asked(here("a", {}), tags) == wanted
