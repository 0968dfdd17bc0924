"""Every combination of Compose files that the operators' pages name keeps to the policy, read by Compose itself."""

import subprocess
from typing import Any

import pytest
import yaml

from tests.deploy import compose_files
from tests.deploy.compose_policy import FOREIGN, PUBLISHED, faults
from tests.deploy.test_deploy_compose import needs_compose

pytestmark = needs_compose

COMBINATIONS = (
    (),
    ("embedded",),
    ("embedded", "cpu"),
    ("cuda",),
    ("cuda", "t4"),
    ("embedded", "arangodb"),
    ("store-outside",),
    ("embedded", "reranker-outside"),
    ("embedded", "embedder"),
    ("cuda", "embedder", "embedder-gpu"),
    ("embedded", "cpu", "embedder"),
    ("embedded", "embedding-outside"),
    ("tokenizer",),
    ("embedded", "links-outside"),
    ("embedded", "observability"),
    ("embedded", "traces"),
    ("cuda", "arangodb", "observability", "links-outside"),
)
GIVEN = {
    **compose_files.ENVIRONMENT,
    "ARANGO_PASSWORD_FILE": "/etc/steelyard/arango_password",
    "ARANGO_URL": "http://db.example.org:8529",
    "GRAFANA_PASSWORD_FILE": "/etc/steelyard/grafana_password",
    "HUB_FOLDER": "/srv/hub",
    "METRICS_FOLDER": "/srv/metrics",
    "TRACES_URL": "https://traces.example.org",
    "TOKENIZER_FOLDER": "/srv/tokenizer",
    "EMBEDDING_MODEL_ID": "BAAI/bge-m3",
    "EMBEDDING_TOKENIZER_FOLDER": "/srv/embedding-tokenizer",
    "RERANKER_MODEL_ID": "cross-encoder/ms-marco-MiniLM-L-6-v2",
}


def files(*overlays: str) -> tuple[str, ...]:
    return ("compose.yaml", *(f"compose.{name}.yaml" for name in overlays))


def merged(*overlays: str, **given: str) -> dict[str, Any]:
    services: dict[str, Any] = compose_files.by_compose({**GIVEN, **given}, files(*overlays))["services"]
    return services


@pytest.mark.parametrize("overlays", COMBINATIONS, ids="+".join)
def test_every_combination_keeps_to_the_policy(overlays: tuple[str, ...]) -> None:
    assert faults(compose_files.by_compose(GIVEN, files(*overlays)), files(*overlays)) == []


def test_every_overlay_is_in_a_combination_but_those_of_several_hosts() -> None:
    there = {path.name for path in (compose_files.ROOT / "compose").glob("compose.*.yaml")}
    combined = {name for one in COMBINATIONS for name in files(*one)} - {"compose.yaml"}
    assert there - combined == {path for path in there if path.endswith("peers.yaml")}


def test_the_database_the_collector_and_prometheus_reach_other_hosts_by_the_network_of_peers_alone() -> None:
    overlays = (
        "arangodb",
        "arangodb-peers",
        "observability",
        "observability-peers",
        "traces",
        "traces-peers",
        "peers",
    )
    services = merged(*overlays, PEER_ADDRESS="10.0.0.1")
    assert services["arangodb"]["ports"] == ["10.0.0.1:8529:8529"]
    assert services["prometheus"]["ports"] == []
    assert services["collector"]["ports"] == ["10.0.0.1:4318:4318"]
    assert [set(services[name]["networks"]) for name in ("arangodb", "prometheus", "grafana", "collector")] == [
        {"database", "peers"},
        {"backend", "metrics", "peers"},
        {"metrics", "edge"},
        {"backend", "outside", "peers"},
    ]


@pytest.mark.parametrize(
    ("overlays", "needed"),
    [
        (("cpu",), "HUB_FOLDER"),
        (("cuda",), "HUB_FOLDER"),
        (("cuda", "t4"), "RERANKER_MODEL_ID"),
        (("embedder",), "HUB_FOLDER"),
        (("embedder",), "EMBEDDING_MODEL_ID"),
        (("embedder",), "EMBEDDING_TOKENIZER_FOLDER"),
        (("embedding-outside",), "EMBEDDING_TOKENIZER_FOLDER"),
        (("tokenizer",), "TOKENIZER_FOLDER"),
        (("arangodb",), "ARANGO_PASSWORD_FILE"),
        (("store-outside",), "ARANGO_PASSWORD_FILE"),
        (("store-outside",), "ARANGO_URL"),
        (("observability",), "GRAFANA_PASSWORD_FILE"),
        (("observability",), "METRICS_FOLDER"),
        (("traces",), "TRACES_URL"),
    ],
)
def test_what_an_overlay_needs_is_asked_for_by_name(overlays: tuple[str, ...], needed: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        compose_files.by_compose({name: GIVEN[name] for name in GIVEN if name != needed}, files(*overlays))
    assert f"required variable {needed} is missing a value: should be " in refused.value.stderr


def test_every_service_sends_its_traces_to_the_collector_which_passes_them_on() -> None:
    services = merged("embedded", "traces")
    for name in ("embedding", "dataprep", "retriever", "reranker", "chatqna"):
        assert services[name]["environment"]["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://collector:4318"
    config = yaml.safe_load((compose_files.ROOT / "compose/traces/collector.yml").read_text(encoding="utf-8"))
    assert config["receivers"]["otlp"]["protocols"]["http"]["endpoint"] == "0.0.0.0:4318"
    assert config["exporters"]["otlphttp"]["endpoint"] == "${env:TRACES_URL}"
    assert services["collector"]["environment"]["TRACES_URL"] == GIVEN["TRACES_URL"]
    pipeline = config["service"]["pipelines"]["traces"]
    assert set(pipeline["processors"]) == set(config["processors"])


def test_only_the_gateway_is_published_and_grafana_where_it_is_there() -> None:
    published = {name for name, service in merged("cuda", "arangodb", "observability").items() if service["ports"]}
    assert published == PUBLISHED


@pytest.mark.parametrize(
    ("variable", "service", "secret"),
    [
        ("EMBEDDING_API_KEY_FILE", "embedding", "embedding_api_key"),
        ("RERANK_API_KEY_FILE", "reranker", "rerank_api_key"),
        ("LLM_API_KEY_FILE", "chatqna", "llm_api_key"),
        ("ARANGO_PASSWORD_FILE", "retriever", "arango_password"),
        ("ARANGO_PASSWORD_FILE", "dataprep", "arango_password"),
    ],
)
def test_a_secret_is_mounted_where_its_setting_says_and_nowhere_else(variable: str, service: str, secret: str) -> None:
    path = "/etc/steelyard/the_secret"
    config = compose_files.by_compose({**compose_files.ENVIRONMENT, variable: path}, files())
    assert config["secrets"][secret]["file"] == path
    holders = {name for name, one in config["services"].items() if secret in one["secrets"]}
    named = {name for name, one in config["services"].items() if one.get("environment", {}).get(variable)}
    assert service in holders
    assert holders == named
    assert config["services"][service]["environment"][variable] == f"/run/secrets/{secret}"


def test_a_secret_that_is_not_given_is_a_setting_that_is_empty() -> None:
    config = compose_files.by_compose(compose_files.ENVIRONMENT, files())
    assert config["services"]["chatqna"]["environment"]["LLM_API_KEY_FILE"] == ""
    assert config["secrets"]["llm_api_key"]["file"] == "/dev/null"


@pytest.mark.parametrize("overlays", [("cpu",), ("cuda",), ("cuda", "t4")], ids="+".join)
def test_the_reranking_server_serves_the_model_that_the_reranker_declares(overlays: tuple[str, ...]) -> None:
    for given in ({}, {"RERANKER_MODEL_ID": "an/other"}):
        services = merged(*overlays, **given)
        assert services["tei"]["command"][1] == services["reranker"]["environment"]["RERANKER_MODEL_ID"]
        assert services["tei"]["environment"]["AUTO_TRUNCATE"] == "false"


@pytest.mark.parametrize("overlays", [("cuda",), ("cuda", "t4")], ids="+".join)
def test_the_language_model_and_its_window_are_what_the_gateway_declares(overlays: tuple[str, ...]) -> None:
    for given in ({}, {"LLM_MODEL_ID": "an/other", "LLM_CONTEXT_TOKENS": "4096"}):
        services = merged(*overlays, **given)
        declared = services["chatqna"]["environment"]
        assert f"--model={declared['LLM_MODEL_ID']}" in services["vllm"]["command"]
        assert f"--max-model-len={declared['LLM_CONTEXT_TOKENS']}" in services["vllm"]["command"]


def test_a_t4_gets_the_image_of_its_generation_and_no_bfloat16() -> None:
    services = merged("cuda", "t4")
    assert ":turing-" in services["tei"]["image"]
    assert "--dtype=half" in services["vllm"]["command"]
    assert services["vllm"]["deploy"]["resources"]["reservations"]["devices"][0]["capabilities"] == ["gpu"]


def test_the_database_is_started_with_its_vector_index_and_a_volume_that_has_a_name() -> None:
    services = merged("arangodb")
    assert services["arangodb"]["command"] == ["arangod", "--vector-index"]
    assert "arangodb:/var/lib/arangodb3" in services["arangodb"]["volumes"]
    for name in ("retriever", "dataprep", "cli"):
        assert services[name]["environment"]["STORE"] == "arangodb"
        assert services[name]["environment"]["ARANGO_URL"] == "http://arangodb:8529"


def test_other_makers_services_are_those_that_the_policy_knows() -> None:
    named = {*merged("cuda", "arangodb", "observability", "embedder", "traces"), *merged("cpu")}
    ours = {*merged("embedded")}
    assert named - ours == FOREIGN


def test_embedding_dataprep_and_reranker_are_told_the_same_of_who_embeds() -> None:
    services = merged("embedded", "embedder")
    told = {name: services[name]["environment"] for name in ("embedding", "dataprep", "reranker")}
    assert {one["EMBEDDING_BACKEND"] for one in told.values()} == {"tei"}
    assert {one["EMBEDDING_MODEL_ID"] for one in told.values()} == {"BAAI/bge-m3"}
    assert services["embedder"]["command"][:2] == ["--model-id", "BAAI/bge-m3"]
    assert services["embedder"]["environment"]["AUTO_TRUNCATE"] == "false"
    for name in ("embedding", "dataprep"):
        assert told[name]["EMBEDDING_MODEL_DIR"] == "/run/embedding-tokenizer"
        assert "embedding_tokenizer:/run/embedding-tokenizer:ro" in services[name]["volumes"]
