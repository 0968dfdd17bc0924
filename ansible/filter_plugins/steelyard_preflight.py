"""Filters that find what is wrong with an inventory before any host is asked: all of it at once.

A finding is one line: the host, the variable, what was found, and what to do. Values of secret variables
are never part of one. Plain functions without Ansible, so that they are tested with the rest of the project.
"""

import difflib
import ipaddress
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

TIERS = ("embedding", "dataprep", "retriever", "reranker", "gateway")
GROUPS = (*TIERS, "arangodb", "observability")
_PREFIX = "steelyard_"
_PEER_PORTS = {"5000", "6000", "7000", "8000", "8529", "4318", "15000", "16000", "17000", "18000", "18888"}
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared with, never bound
_COMPARE = {
    "ge": (operator.ge, "at least"),
    "gt": (operator.gt, "above"),
    "le": (operator.le, "at most"),
    "lt": (operator.lt, "below"),
}
_OWN_BOUNDS = {
    "steelyard_gateway_port": {"ge": 1, "le": 65535},
    "steelyard_grafana_port": {"ge": 1, "le": 65535},
    "steelyard_releases_kept": {"ge": 1, "le": 100},
    "steelyard_wait_timeout_s": {"ge": 1, "le": 86400},
}
_CONTROLLER_FILES = (
    "steelyard_api_keys_source",
    "steelyard_image_archive",
    "steelyard_image_lock",
    "steelyard_models_archive",
    "steelyard_gate_manifest",
    "steelyard_gate_run",
    "steelyard_gate_thresholds",
)
_SECRETS = {
    "steelyard_service_token": 16,
    "steelyard_verify_key": 16,
    "steelyard_embedding_api_key": 8,
    "steelyard_rerank_api_key": 8,
    "steelyard_llm_api_key": 8,
    "steelyard_arango_password": 8,
    "steelyard_grafana_password": 8,
}
"""Least letters of each secret."""
_RENAMED = {"steelyard_accelerator": "steelyard_model_servers"}
_HOSTED = ("tei", "cohere", "pinecone")
_PLACEHOLDERS = {"changeme", "change_me", "secret", "password", "token", "todo", "xxx"}
_SAME = (
    "steelyard_embedding_backend",
    "steelyard_embedding_model_id",
    "steelyard_store",
    "steelyard_image_tag",
    "steelyard_service_token",
    "steelyard_arango_password",
)
_ORDERED = (
    ("steelyard_chunk_overlap_tokens", "steelyard_chunk_max_tokens", operator.lt, "below"),
    ("steelyard_llm_max_tokens", "steelyard_llm_context_tokens", operator.lt, "below"),
    ("steelyard_reranker_top_n", "steelyard_rerank_candidates", operator.le, "at most"),
    ("steelyard_dataprep_max_file_mb", "steelyard_dataprep_max_upload_mb", operator.le, "at most"),
)
_URL = re.compile(r"https?://[^\s@?#/]+(/[^\s@?#]*)?")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_HOST_NAME = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*"
)

Variables = Mapping[str, Any]
Options = Mapping[str, Mapping[str, Any]]
Groups = Mapping[str, Sequence[str]]


def given(hosts: Iterable[str], of: Mapping[str, Variables]) -> dict[str, dict[str, Any]]:
    """The variables of each host that a finding can be about."""
    return {
        host: {name: of[host][name] for name in of[host] if name.startswith(_PREFIX) or name == "ansible_host"}
        for host in hosts
    }


def inventory_findings(
    given_to: Mapping[str, Variables], groups: Groups, options: Options, bounds: Mapping[str, Mapping[str, float]]
) -> list[str]:
    """What is wrong with an inventory by itself.

    `given_to` holds each host's variables, `options` and `bounds` what the role allows.
    """
    found: list[str] = []
    for host, variables in given_to.items():
        ours = {name: value for name, value in variables.items() if name.startswith(_PREFIX)}
        found += [f"{host}: {line}" for line in _names(ours, options)]
        known = {name: value for name, value in ours.items() if name in options}
        typed = {name: value for name, value in known.items() if (line := _type(name, value, options[name])) is None}
        found += [f"{host}: {line}" for name in known if (line := _type(name, known[name], options[name]))]
        found += [f"{host}: {line}" for line in _ranges(typed, {**bounds, **_OWN_BOUNDS})]
        found += [f"{host}: {line}" for line in (*_own(typed), *_contradictions(typed))]
    return found + list(_group_findings(given_to, groups, options))


def _names(ours: Variables, options: Options) -> Iterator[str]:
    short = {name.removeprefix(_PREFIX): name for name in options}
    for name in sorted(set(ours) - set(options)):
        if name in _RENAMED:
            yield f"{name} is called {_RENAMED[name]} now; rename it"
            continue
        near = difflib.get_close_matches(name.removeprefix(_PREFIX), sorted(short), n=1, cutoff=0.6)
        fix = f"did you mean {short[near[0]]}?" if near else "take it away"
        yield f"{name} is not a variable of the role; {fix}"


def _type(name: str, value: Any, option: Mapping[str, Any]) -> str | None:
    shown = "what is given" if option.get("no_log") else repr(value)
    kind = option["type"]
    if isinstance(value, (list, dict)) or value is None:
        return f"{name}={shown} is not one value; give it a {kind}"
    if choices := option.get("choices"):
        return None if str(value) in choices else f"{name}={shown} should be one of {', '.join(choices)}"
    if kind == "bool" and str(value).lower() not in {"true", "false", "yes", "no", "on", "off", "1", "0"}:
        return f"{name}={shown} should be true or false"
    if kind == "int" and (isinstance(value, bool) or not re.fullmatch(r"[+-]?[0-9]{1,19}", str(value).strip())):
        return f"{name}={shown} should be a whole number"
    if kind == "float" and (isinstance(value, bool) or not _finite(value)):
        return f"{name}={shown} should be a finite number"
    text = str(value)
    if any(letter in text for letter in "\n\r\0") or text.endswith("\\") or "\\'" in text:
        return f"{name} can not stand in an env file; take line breaks, a last backslash and backslash-quote away"
    return None


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _ranges(typed: Variables, bounds: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    for name, limits in bounds.items():
        if name not in typed or typed[name] == "":
            continue
        if not _finite(typed[name]):
            yield f"{name}={typed[name]!r} should be a finite number"
            continue
        wanted = [words for key, limit in limits.items() if (words := _limit(float(typed[name]), key, limit))]
        if wanted:
            yield f"{name}={typed[name]} should be {' and '.join(wanted)}"


def _limit(value: float, key: str, limit: float) -> str | None:
    holds, words = _COMPARE[key]
    return None if holds(value, limit) else f"{words} {limit}"


def _own(typed: Variables) -> Iterator[str]:
    for name in _CONTROLLER_FILES:
        if name in typed and not Path(typed[name]).is_file():
            yield f"{name}={typed[name]} is not a file of the controller; make it or take the variable away"
    for name, shortest in _SECRETS.items():
        value = str(typed.get(name, "x" * shortest))
        if value.lower() in _PLACEHOLDERS or len(value) < shortest:
            yield f"{name} is a placeholder or shorter than {shortest} characters; give the real one, from a vault"
    if "steelyard_root" in typed and not re.fullmatch(r"/[^/\s'].*", str(typed["steelyard_root"])):
        yield f"steelyard_root={typed['steelyard_root']} should be an absolute path below /"
    if not _TAG.fullmatch(str(typed.get("steelyard_image_tag", "latest"))):
        yield f"steelyard_image_tag={typed['steelyard_image_tag']!r} should be an image tag such as 0.1.0"
    if "steelyard_traces_url" in typed and not _URL.fullmatch(str(typed["steelyard_traces_url"])):
        yield "steelyard_traces_url should be an http or https URL without user information or query"
    for name in ("steelyard_gateway_address", "steelyard_grafana_address"):
        if name in typed and not _is_address(str(typed[name])):
            yield f"{name}={typed[name]!r} should be an IP address of the host"
    address = str(typed.get("steelyard_address", "host"))
    if not _is_address(address) and not _HOST_NAME.fullmatch(address):
        yield f"steelyard_address={address!r} should be an IP address or a host name"
    try:
        re.compile(str(typed.get("steelyard_verify_expect", "")))
    except re.error as error:
        yield f"steelyard_verify_expect={typed['steelyard_verify_expect']!r} is no regular expression: {error}"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return False
    return True


def _contradictions(typed: Variables) -> Iterator[str]:
    servers = str(typed.get("steelyard_model_servers", "packages"))
    gpu = servers in ("cuda", "t4")
    yield from _model_servers(typed, servers, gpu)
    yield from _needed_secrets(typed)
    yield from _embedding_server(typed)
    if "steelyard_traces_url" in typed and "steelyard_otel_exporter_otlp_endpoint" in typed:
        yield "steelyard_otel_exporter_otlp_endpoint is not read beside steelyard_traces_url; take one of them away"
    if ("steelyard_gate_manifest" in typed) != ("steelyard_gate_run" in typed):
        yield "steelyard_gate_manifest and steelyard_gate_run belong together; give the other, or take both away"
    embedded = _truth(typed.get("steelyard_embedded_llm", not gpu))
    if "steelyard_tokenizer_folder" in typed:
        if "steelyard_llm_tokenizer" in typed:
            yield "steelyard_llm_tokenizer is not read beside steelyard_tokenizer_folder; take one of them away"
        if "steelyard_llm_url" not in typed:
            yield "steelyard_tokenizer_folder is for the server of steelyard_llm_url, which is not given; take it away"
    elif "/" in str(typed.get("steelyard_llm_tokenizer", "")) or ".json" in str(
        typed.get("steelyard_llm_tokenizer", "")
    ):
        yield "steelyard_llm_tokenizer can not name a path in a container; give steelyard_tokenizer_folder, on the host"
    extractive = typed.get("steelyard_llm_backend") == "extractive"
    if embedded and "steelyard_llm_url" in typed:
        yield "steelyard_llm_url is not read while steelyard_embedded_llm is true; set steelyard_embedded_llm to false"
    if not embedded and not extractive and not gpu and "steelyard_llm_url" not in typed:
        yield "steelyard_embedded_llm=false leaves no model server; give steelyard_llm_url or steelyard_llm_backend"
    if extractive and "steelyard_embedded_llm" in typed and embedded:
        yield "steelyard_llm_backend=extractive asks no model server; set steelyard_embedded_llm to false"
    for one, other, holds, words in _ORDERED:
        if one in typed and other in typed and not holds(int(typed[one]), int(typed[other])):
            yield f"{one}={typed[one]} should be {words} {other}={typed[other]}"


def _model_servers(typed: Variables, servers: str, gpu: bool) -> Iterator[str]:
    named = f"steelyard_model_servers={servers}"
    if gpu and _truth(typed.get("steelyard_embedded_llm", False)):
        yield f"steelyard_embedded_llm is true beside {named}, which brings vLLM; take one of them away"
    if gpu and "steelyard_llm_url" in typed:
        yield f"steelyard_llm_url is not read beside {named}, which brings vLLM; take one of them away"
    if servers != "packages" and typed.get("steelyard_rerank_backend", "tei") != "tei":
        other = typed["steelyard_rerank_backend"]
        yield f"steelyard_rerank_backend={other} is not read beside {named}, which brings TEI; take one of them away"
    if servers == "t4" and "steelyard_reranker_model_id" not in typed:
        yield (
            "steelyard_reranker_model_id must be given for a T4, which can not hold the default beside a language"
            " model; cross-encoder/ms-marco-MiniLM-L-6-v2 fits"
        )
    backend = typed.get("steelyard_rerank_backend")
    if servers == "packages" and backend in ("tei", "cohere") and "steelyard_rerank_url" not in typed:
        yield f"steelyard_rerank_url must be given with steelyard_rerank_backend={backend}: the server's base URL"


def _needed_secrets(typed: Variables) -> Iterator[str]:
    backend = typed.get("steelyard_rerank_backend", "local")
    if backend == "pinecone" and "steelyard_rerank_api_key" not in typed:
        yield "steelyard_rerank_api_key must be given with steelyard_rerank_backend=pinecone; put it into a vault"
    if "steelyard_rerank_api_key" in typed and backend not in _HOSTED:
        yield f"steelyard_rerank_api_key is not read with steelyard_rerank_backend={backend}; take it away"
    if "steelyard_llm_api_key" in typed and "steelyard_llm_url" not in typed:
        yield "steelyard_llm_api_key is for steelyard_llm_url, which is not given; take it away or give both"


def _embedding_server(typed: Variables) -> Iterator[str]:
    backend = typed.get("steelyard_embedding_backend", "local")
    named = f"steelyard_embedding_backend={backend}"
    if backend == "local":
        for name in ("server_url", "tokenizer_folder", "api_key"):
            if f"steelyard_embedding_{name}" in typed:
                yield f"steelyard_embedding_{name} is not read with {named}; take it away, or name a server's backend"
        return
    if "steelyard_embedding_model_id" not in typed:
        yield f"steelyard_embedding_model_id must be given with {named}: the model as its server names it"
    if "steelyard_embedding_tokenizer_folder" not in typed:
        yield f"steelyard_embedding_tokenizer_folder must be given with {named}: texts are measured with its files"
    if backend == "openai" and "steelyard_embedding_server_url" not in typed:
        yield f"steelyard_embedding_server_url must be given with {named}: the server's base URL"


def _truth(value: Any) -> bool:
    return str(value).lower() in {"true", "yes", "on", "1"}


def _group_findings(given_to: Mapping[str, Variables], groups: Groups, options: Options) -> Iterator[str]:
    for name in sorted(set(groups) - set(GROUPS) - {"all", "ungrouped"}):
        if near := difflib.get_close_matches(name, GROUPS, n=1, cutoff=0.8):
            yield f"group {name} is none that places a service; did you mean {near[0]}?"
    members = list(dict.fromkeys(host for tier in TIERS for host in groups.get(tier, ())))
    yield from _databases(given_to, groups)
    yield from _tracing(given_to, groups)
    if not members:
        return
    yield from _measuring(given_to, groups)
    yield from (f"group {tier} has no host; a stack needs each service" for tier in TIERS if not groups.get(tier))
    yield from _placement(given_to, groups)
    yield from _addresses(given_to, members)
    for name in _SAME:
        values = {host: given_to.get(host, {}).get(name) for host in members}
        if len({str(value) for value in values.values()}) > 1:
            shown = ", ".join(f"{host}: {value}" for host, value in values.items())
            told = "" if options[name].get("no_log") else f" ({shown})"
            yield f"{', '.join(members)}: {name} differs within one stack{told}; give all of them the same"


def _databases(given_to: Mapping[str, Variables], groups: Groups) -> Iterator[str]:
    placed = groups.get("arangodb", ())
    if len(placed) > 1:
        yield (
            f"group arangodb ({', '.join(placed)}): several single servers are no cluster; keep one host, or run"
            " ArangoDB's own cluster and give its coordinators as steelyard_arango_url"
        )
    stack = {host for name in GROUPS for host in groups.get(name, ())}
    for host, variables in given_to.items():
        elsewhere = variables.get("steelyard_store") == "arangodb" and not (placed and host in stack)
        for name in ("steelyard_arango_url", "steelyard_arango_password"):
            if elsewhere and name not in variables:
                yield f"{host}: {name} must be given with steelyard_store=arangodb where no group arangodb places one"
        if placed and host in stack and variables.get("steelyard_store", "arangodb") != "arangodb":
            store = variables["steelyard_store"]
            yield f"{host}: steelyard_store={store} is not read beside the group arangodb; take one of them away"
        if placed and host in stack and "steelyard_arango_url" in variables:
            yield f"{host}: steelyard_arango_url is not read beside the group arangodb; take one of them away"


def _measuring(given_to: Mapping[str, Variables], groups: Groups) -> Iterator[str]:
    gateways = groups.get("gateway", ())
    for host in groups.get("observability", ()):
        for gateway in gateways:
            address = str(given_to.get(gateway, {}).get("steelyard_gateway_address", "127.0.0.1"))
            if (
                gateway != host
                and len(gateways) == 1
                and _is_address(address)
                and ipaddress.ip_address(address).is_loopback
            ):
                yield (
                    f"{gateway}: steelyard_gateway_address={address} can not be reached by the group observability"
                    f" ({host}); give it one that {host} reaches, or place observability on {gateway}"
                )


def _tracing(given_to: Mapping[str, Variables], groups: Groups) -> Iterator[str]:
    stack = {host for name in GROUPS for host in groups.get(name, ())}
    url_of = {host: given_to[host].get("steelyard_traces_url") for host in given_to}
    for host, url in url_of.items():
        if url is not None and not (host in stack and groups.get("observability")):
            yield (
                f"{host}: steelyard_traces_url is read in a stack with a host in the group observability, which runs"
                " the collector; place one, or give steelyard_otel_exporter_otlp_endpoint"
            )
    within = {str(url_of[host]) for host in url_of if host in stack}
    if len(within) > 1 and groups.get("observability"):
        named = ", ".join(sorted(stack & set(url_of)))
        yield f"{named}: steelyard_traces_url differs within one stack; give all of them the same"


def _placement(given_to: Mapping[str, Variables], groups: Groups) -> Iterator[str]:
    readers, writers = groups.get("retriever", ()), groups.get("dataprep", ())
    graph = bool(groups.get("arangodb")) or any(
        given_to.get(host, {}).get("steelyard_store") == "arangodb" for host in (*readers, *writers)
    )
    if not graph and readers and writers and (len(readers) > 1 or list(readers) != list(writers)):
        named = f"groups retriever ({', '.join(readers)}) and dataprep ({', '.join(writers)})"
        yield f"{named}: steelyard_store=embedded is one file, so both should hold one and the same host"


def _addresses(given_to: Mapping[str, Variables], members: Sequence[str]) -> Iterator[str]:
    if len(members) == 1:
        return
    seen: dict[str, str] = {}
    for host in members:
        variables = given_to.get(host, {})
        address = str(variables.get("steelyard_address", variables.get("ansible_host", host)))
        if address == "localhost" or (_is_address(address) and _only_here(address)):
            yield f"{host}: steelyard_address={address} is another host to each; give it one that peers can reach"
        elif address in seen:
            yield f"{host}: steelyard_address={address} is that of {seen[address]} as well; give each host its own"
        seen.setdefault(address, host)
        port = str(variables.get("steelyard_gateway_port", 8888))
        if port in _PEER_PORTS and variables.get("steelyard_gateway_address") in (address, *_EVERYWHERE):
            yield f"{host}: steelyard_gateway_port={port} is taken by the services between the hosts; choose another"


def _only_here(address: str) -> bool:
    parsed = ipaddress.ip_address(address.strip("[]"))
    return parsed.is_loopback or parsed.is_unspecified


class FilterModule:
    """What Ansible looks for in this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """The filters by their names in templates."""
        return {
            "steelyard_given": given,
            "steelyard_inventory_findings": inventory_findings,
        }
