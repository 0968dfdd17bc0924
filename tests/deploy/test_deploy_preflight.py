"""A wrong inventory or host is refused with host, variable and fix; all that is wrong is said at once."""

from pathlib import Path
from typing import Any

import pytest

from tests.deploy.compose_files import ROOT
from tests.deploy.role import bounds, filters, options, read

IT = filters("steelyard_preflight")
HOST = filters("steelyard_host")
OPTIONS, BOUNDS = options(), bounds()
GOOD_GROUPS = {"all": ["a", "b"], "ungrouped": [], **{tier: ["a"] for tier in IT.TIERS}, "reranker": ["a", "b"]}
GOOD = {"a": {"steelyard_address": "10.0.0.1"}, "b": {"steelyard_address": "10.0.0.2"}}


def findings(given: dict[str, dict[str, Any]], groups: dict[str, list[str]] | None = None) -> list[str]:
    found: list[str] = IT.inventory_findings(given, groups or {}, OPTIONS, BOUNDS)
    return found


ONE_VARIABLE = [
    ("steelyard_rerankr_top_n", 4, "is not a variable of the role; did you mean steelyard_reranker_top_n?"),
    ("steelyard_zzzzzzzzzzz", 4, "is not a variable of the role; take it away"),
    ("steelyard_RERANKER_TOP_N", 4, "is not a variable of the role"),
    ("steelyard_embedding_port", 6000, "is not a variable of the role"),
    ("steelyard_reranking_strategy", "best", "should be one of slice, threshold"),
    ("steelyard_reranking_strategy", "Adaptive", "should be one of"),
    ("steelyard_citation_mode", "", "should be one of inline, attributed"),
    ("steelyard_store", "postgres", "should be one of embedded"),
    ("steelyard_accelerator", "cuda", "is called steelyard_model_servers now; rename it"),
    ("steelyard_model_servers", "rocm", "should be one of packages, cpu, cuda, t4"),
    ("steelyard_reranker_top_n", "many", "should be a whole number"),
    ("steelyard_reranker_top_n", 2.5, "should be a whole number"),
    ("steelyard_reranker_top_n", True, "should be a whole number"),
    ("steelyard_reranker_top_n", 0, "should be at least 1"),
    ("steelyard_reranker_top_n", 100000, "should be at most 1000"),
    ("steelyard_reranker_top_n", [3], "is not one value"),
    ("steelyard_reranker_top_n", None, "is not one value"),
    ("steelyard_reranking_threshold", 1.5, "should be at most 1"),
    ("steelyard_reranking_threshold", "nan", "should be a finite number"),
    ("steelyard_token_cost_alpha", "inf", "should be a finite number"),
    ("steelyard_token_cost_alpha", -1, "should be at least 0"),
    ("steelyard_llm_temperature", "hot", "should be a finite number"),
    ("steelyard_request_timeout_s", 0, "should be above 0"),
    ("steelyard_adaptive_floor_score", 2, "should be at most 1"),
    ("steelyard_adaptive_floor_score", "half", "should be a finite number"),
    ("steelyard_answer_without_evidence", "maybe", "should be true or false"),
    ("steelyard_embedded_llm", 2, "should be true or false"),
    ("steelyard_no_evidence_answer", "two\nlines", "can not stand in an env file"),
    ("steelyard_no_evidence_answer", "ends with \\", "can not stand in an env file"),
    ("steelyard_gateway_port", 0, "should be at least 1"),
    ("steelyard_gateway_port", 70000, "should be at most 65535"),
    ("steelyard_gateway_port", "http", "should be a whole number"),
    ("steelyard_grafana_port", "0", "should be at least 1"),
    ("steelyard_grafana_address", "localhost", "should be an IP address of the host"),
    ("steelyard_image_lock", "/no/such/images.lock", "is not a file of the controller"),
    ("steelyard_gate_thresholds", "/no/such/gates.toml", "is not a file of the controller"),
    ("steelyard_arango_password", "password", "is a placeholder"),
    ("steelyard_grafana_password", "short", "is a placeholder or shorter"),
    ("steelyard_rerank_api_key", "a-real-key-0123", "is not read with steelyard_rerank_backend=local; take it away"),
    ("steelyard_llm_api_key", "a-real-key-0123", "take it away or give both"),
    ("steelyard_gateway_address", "localhost", "should be an IP address of the host"),
    ("steelyard_address", "bad_name!", "should be an IP address or a host name"),
    ("steelyard_root", "opt/steelyard", "should be an absolute path"),
    ("steelyard_root", "/", "should be an absolute path"),
    ("steelyard_image_tag", "a tag", "should be an image tag"),
    ("steelyard_releases_kept", 0, "should be at least 1"),
    ("steelyard_wait_timeout_s", 0, "should be at least 1"),
    ("steelyard_api_keys_source", "/no/such/keys.json", "is not a file of the controller"),
    ("steelyard_image_archive", "/no/such/images.tar", "is not a file of the controller"),
    ("steelyard_models_archive", "/no/such/models.tar", "is not a file of the controller"),
    ("steelyard_service_token", "changeme", "is a placeholder"),
    ("steelyard_service_token", "short", "is a placeholder or shorter"),
    ("steelyard_verify_key", "", "is a placeholder or shorter"),
    ("steelyard_verify_expect", "(", "is no regular expression"),
    ("steelyard_llm_url", "http://x:1", "set steelyard_embedded_llm to false"),
]


@pytest.mark.parametrize(("name", "value", "said"), ONE_VARIABLE)
def test_a_wrong_variable_is_refused_with_host_name_and_fix(name: str, value: Any, said: str) -> None:
    (line,) = findings({"good": {}, "bad": {name: value}})
    assert line.startswith(f"bad: {name}")
    assert said in line


GIVEN_URL = {"steelyard_embedded_llm": False, "steelyard_llm_url": "http://x:1"}
CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"steelyard_model_servers": "t4"}, "steelyard_reranker_model_id must be given for a T4"),
    ({"steelyard_model_servers": "cuda", "steelyard_embedded_llm": True}, "steelyard_embedded_llm is true beside"),
    ({"steelyard_model_servers": "cuda", **GIVEN_URL}, "steelyard_llm_url is not read beside steelyard_model_servers"),
    ({"steelyard_model_servers": "cpu", "steelyard_rerank_backend": "local"}, "steelyard_rerank_backend=local is not"),
    ({"steelyard_rerank_backend": "tei"}, "steelyard_rerank_url must be given with steelyard_rerank_backend=tei"),
    (
        {"steelyard_embedding_backend": "tei", "steelyard_embedding_tokenizer_folder": "/t"},
        "steelyard_embedding_model_id must be given with",
    ),
    (
        {"steelyard_embedding_backend": "tei", "steelyard_embedding_model_id": "BAAI/bge-m3"},
        "steelyard_embedding_tokenizer_folder must be given with",
    ),
    (
        {
            "steelyard_embedding_backend": "openai",
            "steelyard_embedding_model_id": "m",
            "steelyard_embedding_tokenizer_folder": "/t",
        },
        "steelyard_embedding_server_url must be given with",
    ),
    ({"steelyard_embedding_tokenizer_folder": "/t"}, "steelyard_embedding_tokenizer_folder is not read with"),
    ({"steelyard_rerank_backend": "pinecone"}, "steelyard_rerank_api_key must be given with"),
    ({**GIVEN_URL, "steelyard_llm_tokenizer": "/srv/tokenizer.json"}, "steelyard_llm_tokenizer can not name a path in"),
    (
        {**GIVEN_URL, "steelyard_llm_tokenizer": "vllm", "steelyard_tokenizer_folder": "/t"},
        "steelyard_llm_tokenizer is",
    ),
    ({"steelyard_tokenizer_folder": "/srv/t"}, "steelyard_tokenizer_folder is for the server of steelyard_llm_url"),
    ({"steelyard_gate_run": str(ROOT / "README.md")}, "steelyard_gate_manifest and steelyard_gate_run belong together"),
    ({"steelyard_store": "arangodb", "steelyard_arango_password": "a-real-one"}, "steelyard_arango_url must be given"),
    ({"steelyard_store": "arangodb", "steelyard_arango_url": "http://d:1"}, "steelyard_arango_password must be given"),
    ({"steelyard_embedded_llm": False}, "steelyard_embedded_llm=false leaves no model server"),
    (
        {"steelyard_llm_backend": "extractive", "steelyard_embedded_llm": True},
        "steelyard_llm_backend=extractive asks no model server",
    ),
    ({"steelyard_chunk_max_tokens": 100, "steelyard_chunk_overlap_tokens": 100}, "steelyard_chunk_overlap_tokens=100"),
    ({"steelyard_llm_context_tokens": 512, "steelyard_llm_max_tokens": 4096}, "steelyard_llm_max_tokens=4096"),
    ({"steelyard_rerank_candidates": 5, "steelyard_reranker_top_n": 9}, "steelyard_reranker_top_n=9"),
    ({"steelyard_dataprep_max_file_mb": 900, "steelyard_dataprep_max_upload_mb": 9}, "steelyard_dataprep_max_file_mb"),
]


@pytest.mark.parametrize(("variables", "said"), CONTRADICTIONS)
def test_variables_that_contradict_each_other_are_refused(variables: dict[str, Any], said: str) -> None:
    (line,) = findings({"bad": variables})
    assert line.startswith(f"bad: {said}")


WRONG_GROUPS: list[tuple[dict[str, list[str]], dict[str, dict[str, Any]], str]] = [
    ({"rerankers": ["a"]}, {}, "group rerankers is none that places a service; did you mean reranker?"),
    ({"embedding": []}, {}, "group embedding has no host"),
    ({"gateway": []}, {}, "group gateway has no host"),
    ({"dataprep": ["b"]}, {}, "groups retriever (a) and dataprep (b): steelyard_store=embedded"),
    ({"retriever": ["a", "b"]}, {}, "groups retriever (a, b) and dataprep (a)"),
    ({"arangodb": ["a", "b"]}, {}, "group arangodb (a, b): several single servers are no cluster; keep one host"),
    ({"arangodb": ["a"]}, {"b": {"steelyard_arango_url": "http://x"}}, "b: steelyard_arango_url is not read beside"),
    ({}, {"b": {"steelyard_arango_password": "of-another-1"}}, "a, b: steelyard_arango_password differs within"),
    ({"observability": ["b"]}, {}, "a: steelyard_gateway_address=127.0.0.1 can not be reached by the group obs"),
    ({}, {"b": {"steelyard_traces_url": "http://t"}}, "b: steelyard_traces_url is read in a stack with a host in the"),
    (
        {"observability": ["a"]},
        {
            "a": {"steelyard_traces_url": "http://t", "steelyard_otel_exporter_otlp_endpoint": "http://c:4318"},
            "b": {"steelyard_traces_url": "http://t"},
        },
        "a: steelyard_otel_exporter_otlp_endpoint is not read beside steelyard_traces_url",
    ),
    (
        {"observability": ["a"]},
        {"b": {"steelyard_traces_url": "http://t"}},
        "a, b: steelyard_traces_url differs within one stack",
    ),
    ({}, {"b": {"steelyard_address": "10.0.0.1"}}, "b: steelyard_address=10.0.0.1 is that of a as well"),
    ({}, {"b": {"steelyard_address": "127.0.0.1"}}, "b: steelyard_address=127.0.0.1 is another host to each"),
    ({}, {"b": {"steelyard_address": "localhost"}}, "b: steelyard_address=localhost is another host to each"),
    ({}, {"b": {"steelyard_address": "0.0.0.0"}}, "b: steelyard_address=0.0.0.0 is another host to each"),
    ({}, {"b": {"steelyard_image_tag": "2"}}, "a, b: steelyard_image_tag differs within one stack (a: None, b: 2)"),
    ({}, {"b": {"steelyard_embedding_model_id": "x"}}, "a, b: steelyard_embedding_model_id differs"),
    (
        {},
        {"a": {"steelyard_gateway_address": "0.0.0.0", "steelyard_gateway_port": 7000}},
        "a: steelyard_gateway_port=7000",
    ),
]


@pytest.mark.parametrize(("groups", "given", "said"), WRONG_GROUPS)
def test_wrong_groups_are_refused(groups: dict[str, list[str]], given: dict[str, dict[str, Any]], said: str) -> None:
    everyone = {host: {**GOOD[host], **given.get(host, {})} for host in GOOD}
    (line,) = findings(everyone, {**GOOD_GROUPS, **groups})
    assert line.startswith(said)


def test_a_store_that_contradicts_the_group_of_the_database_is_refused() -> None:
    alone = {name: ["a"] for name in (*IT.TIERS, "arangodb")}
    (line,) = findings({"a": {"steelyard_store": "embedded"}}, alone)
    assert line == "a: steelyard_store=embedded is not read beside the group arangodb; take one of them away"


def test_a_store_that_is_a_server_lets_retriever_and_dataprep_part() -> None:
    parted = {**GOOD_GROUPS, "retriever": ["a", "b"], "dataprep": ["b"]}
    assert list(IT._placement({host: {"steelyard_store": "arangodb"} for host in GOOD}, parted)) == []
    assert len(list(IT._placement(GOOD, parted))) == 1


def test_everything_is_said_at_once() -> None:
    said = findings({"a": {"steelyard_rot": 1, "steelyard_gateway_port": 0}, "b": {"steelyard_reranker_top_n": "x"}})
    assert len(said) == 3


def test_a_secret_is_in_no_finding() -> None:
    secrets = [name for name, option in OPTIONS.items() if option.get("no_log")]
    assert len(secrets) == 7
    for name in secrets:
        for value in ("changeme", ["a-very-secret-token"], "with\nbreak-and-secret", "a-real-one-0123456789"):
            assert not [line for line in findings({"a": {name: value}}) if str(value) in line]
    differing = {host: {**GOOD[host], "steelyard_service_token": host * 20} for host in GOOD}
    (line,) = findings(differing, GOOD_GROUPS)
    assert "a" * 20 not in line


def test_a_good_inventory_has_no_finding() -> None:
    assert findings(GOOD, GOOD_GROUPS) == []
    assert findings({"a": {"steelyard_adaptive_floor_score": "", "steelyard_reranking_threshold": "0"}}) == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "ansible/inventories").glob("*/hosts.yml")), ids=lambda it: it.parent.name
)
def test_every_inventory_of_the_repository_is_good(path: Path) -> None:
    tree = read(path)["all"]
    groups = {name: list(group["hosts"]) for name, group in tree.get("children", {}).items()}
    hosts: dict[str, dict[str, Any]] = {}
    for group in (tree, *tree.get("children", {}).values()):
        for name, variables in group.get("hosts", {}).items():
            hosts.setdefault(name, dict(tree.get("vars", {}))).update(variables or {})
    assert findings(hosts, groups) == []


WELL = {
    "memory_mb": 16000,
    "disk_mb": 50000,
    "flags": ["sse4_2", "avx2"],
    "architecture": "x86_64",
    "listening": ['listening LISTEN 0 4096 127.0.0.1:8888 0.0.0.0:* users:(("docker-proxy",pid=1,fd=4))'],
    "docker": "20.10.24",
    "compose": "2.26.1-4",
    "gpu": "",
    "skew_s": 1,
    "unresolved": [],
}
ALL = ["embedding", "dataprep", "retriever", "reranker", "llm", "chatqna"]
WRONG_HOSTS = [
    ({"memory_mb": 2000}, "memory is 2000 MiB"),
    ({"disk_mb": 100}, "100 MiB of disk are free"),
    ({"flags": ["sse4_2"]}, "the CPU lacks avx2"),
    ({"docker": ""}, "no engine answers"),
    ({"compose": ""}, "Compose is not there"),
    ({"compose": "1.29.2"}, "Compose is 1.29.2"),
    ({"skew_s": -3600}, "the clock is -3600 s off"),
    (
        {"listening": ['LISTEN 0 4096 0.0.0.0:8888 0.0.0.0:* users:(("nginx",pid=1,fd=4))']},
        "port 8888 is taken by nginx",
    ),
    ({"unresolved": ["models1"]}, "the peer models1 can not be resolved"),
]


def test_the_table_of_wrong_inventories_and_hosts_is_long_enough() -> None:
    assert len(ONE_VARIABLE) + len(CONTRADICTIONS) + len(WRONG_GROUPS) + len(WRONG_HOSTS) >= 40


@pytest.mark.parametrize(("changed", "said"), WRONG_HOSTS)
def test_a_host_that_can_not_carry_it_is_refused(changed: dict[str, Any], said: str) -> None:
    (line,) = HOST.host_findings("kiel", {**WELL, **changed}, ALL, [8888], "packages")
    assert line.startswith(f"kiel: {said}")


@pytest.mark.parametrize("servers", ["cuda", "t4"])
def test_a_gpu_that_is_asked_for_and_absent_is_refused(servers: str) -> None:
    (line,) = HOST.host_findings("kiel", WELL, ALL, [8888], servers)
    assert line.startswith(f"kiel: steelyard_model_servers={servers}, and `nvidia-smi` finds no GPU")


def test_a_t4_that_is_taken_for_a_larger_gpu_is_refused() -> None:
    (line,) = HOST.host_findings("kiel", {**WELL, "gpu": "Tesla T4"}, ["tei", "reranker"], [], "cuda")
    assert line == "kiel: the GPU is a Tesla T4: set steelyard_model_servers to t4 and name a smaller reranker"
    assert HOST.host_findings("kiel", {**WELL, "gpu": "Tesla T4"}, ["tei", "reranker"], [], "t4") == []
    assert HOST.host_findings("kiel", {**WELL, "gpu": "NVIDIA L4"}, ["tei", "reranker"], [], "cuda") == []


def test_a_host_that_can_carry_it_has_no_finding() -> None:
    assert HOST.host_findings("kiel", WELL, ALL, [8888], "packages") == []
    assert HOST.host_findings("kiel", {**WELL, "flags": [], "memory_mb": 900}, ["reranker"], [], "packages") == []
