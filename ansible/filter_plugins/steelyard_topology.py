"""Filters that read from the groups which service runs on which host, and where each host finds its peers.

A host in one of the groups is part of the inventory's one stack; when no service group has a host, that is a whole
stack with the database or the measurements beside it. A host in none of the groups runs a whole stack of its own. Plain
functions without Ansible, so that they are tested with the rest of the project.
"""

import ipaddress
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

SERVICE_TIERS = ("embedding", "dataprep", "reranker", "retriever", "gateway")
TIERS = ("arangodb", *SERVICE_TIERS, "observability")
"""The groups in the order in which they are started and restarted: nobody before those whom it calls."""
PORTS = {"embedding": 6000, "dataprep": 5000, "retriever": 7000, "reranker": 8000}
DATABASE_PORT = 8529
COLLECTOR_PORT = 4318
BALANCED_BY = 10000
"""What HAProxy's port on a caller is above the service's own."""
GATEWAY_PORT = 8888
GATEWAY_BEHIND_PORT = 18888
"""Port of a gateway's container where HAProxy has taken the gateway's own."""
_CALLS = {
    "embedding": (),
    "dataprep": ("embedding",),
    "reranker": (),
    "retriever": ("embedding", "reranker"),
    "gateway": ("embedding", "retriever", "reranker", "dataprep"),
}
_NOT_BALANCED = frozenset({"dataprep"})
"""Of these a caller asks the first host only: each keeps its own jobs, of which another could tell nothing."""
_CONTAINERS = {"gateway": ("chatqna",), "observability": ("prometheus", "grafana")}
_MODEL_SERVERS = {
    "cpu": {"reranker": ("tei",), "gateway": ("llm",)},
    "cuda": {"reranker": ("tei",), "gateway": ("vllm",)},
    "t4": {"reranker": ("tei",), "gateway": ("vllm",)},
    "packages": {"gateway": ("llm",)},
}
"""What is started beside the services of a group, and before them."""
_OTHERS = frozenset({"llm", "tei", "vllm", "embedder", "collector"})

Groups = Mapping[str, Sequence[str]]


def stack(groups: Groups) -> list[str]:
    """The hosts of the inventory's one stack, in the order of its tiers; empty when every host has its own."""
    order = (*SERVICE_TIERS, "arangodb", "observability")
    return list(dict.fromkeys(host for tier in order for host in groups.get(tier, ())))


def tiers(host: str, groups: Groups) -> list[str]:
    """The groups that a host serves, in order; every service group when no service is placed, or this host is not."""
    mine = {tier for tier in TIERS if host in groups.get(tier, ())}
    if not mine or not any(groups.get(tier) for tier in SERVICE_TIERS):
        mine |= {*SERVICE_TIERS}
    return [tier for tier in TIERS if tier in mine]


def token_host(host: str, groups: Groups) -> str:
    """The host whose service token is that of `host` as well: the first of its stack."""
    members = stack(groups)
    return members[0] if host in members else host


def turns(tier: str, hosts: Iterable[str], groups: Groups) -> list[list[str]]:
    """Which hosts restart a tier together: those with a stack of their own at once, those that share one in turn."""
    members = set(stack(groups))
    own = [host for host in hosts if host not in members]
    shared = [[host] for host in hosts if host in members and host in groups.get(tier, ())]
    return ([own] if own else []) + shared


def topology(
    host: str, groups: Groups, address_of: Mapping[str, str], variables: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What one host must know about the stack; `variables` are the host's own.

    `tiers` are its groups, `services` the Compose services of each, `peers` the environment variables with the URLs of
    services elsewhere, `database` the URL of the group arangodb's host when that is another, `collector` likewise of
    the collector in the group observability, `balanced` what its HAProxy stands in front of, `shared` whether it has
    peers at all.
    """
    given = variables or {}
    mine = tiers(host, groups)
    members = stack(groups) if host in stack(groups) else [host]
    beside = {
        **_MODEL_SERVERS[str(given.get("steelyard_model_servers", "packages"))],
        **_embedder(given),
        **_collector(given),
    }
    embedded = str(given.get("steelyard_embedded_llm", True)).lower() in {"true", "yes", "on", "1"}
    services = {
        tier: [
            *(name for name in beside.get(tier, ()) if name != "llm" or embedded),
            *_CONTAINERS.get(tier, (tier,)),
        ]
        for tier in mine
    }
    peers, balanced = {}, []
    for tier in dict.fromkeys(called for one in mine for called in _CALLS.get(one, ())):
        servers = list(groups.get(tier, ())) if len(members) > 1 else [host]
        if tier in _NOT_BALANCED:
            servers = servers[:1]
        if servers == [host]:
            continue
        if len(servers) > 1:
            balanced.append(
                _balanced(tier, PORTS[tier], address_of[host], PORTS[tier] + BALANCED_BY, servers, address_of)
            )
        port = PORTS[tier] + (BALANCED_BY if len(servers) > 1 else 0)
        address = address_of[host] if len(servers) > 1 else address_of[servers[0]]
        peers[f"{tier.upper()}_PEER_URL"] = f"http://{bracketed(address)}:{port}"
    gateways = list(groups.get("gateway", ())) if len(members) > 1 else []
    behind = "gateway" in mine and len(gateways) > 1
    collects = _elsewhere("observability", host, groups, address_of) if _collector(given) else []
    return {
        "tiers": mine,
        "services": services,
        "peers": peers,
        "database": ",".join(
            f"http://{address}:{DATABASE_PORT}" for address in _elsewhere("arangodb", host, groups, address_of)
        ),
        "collector": f"http://{collects[0]}:{COLLECTOR_PORT}" if collects else "",
        "balanced": balanced,
        "gateways": [_server(name, address_of, GATEWAY_BEHIND_PORT) for name in gateways] if behind else [],
        "shared": len(members) > 1,
    }


def _embedder(given: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """TEI beside the embedding service, where that asks one and is told of none elsewhere."""
    wanted = given.get("steelyard_embedding_backend") == "tei" and not given.get("steelyard_embedding_server_url")
    return {"embedding": ("embedder",)} if wanted else {}


def _collector(given: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The collector of traces beside the measurements, where somebody keeps what it passes on."""
    return {"observability": ("collector",)} if given.get("steelyard_traces_url") else {}


def _elsewhere(tier: str, host: str, groups: Groups, address_of: Mapping[str, str]) -> list[str]:
    """The addresses of a group's hosts, none for one of themselves and for a host outside of their stack."""
    hosts = groups.get(tier, ())
    if host in hosts or host not in stack(groups):
        return []
    return [bracketed(address_of[name]) for name in hosts]


def asked(here: Mapping[str, Any], tags: Iterable[str]) -> list[str]:
    """The services of a host that a run's tags name, by themselves or by their group; all when no service is named."""
    named = {*tags}
    found = [name for tier, names in here["services"].items() for name in names if {tier, name} & named]
    others = named & {*TIERS, *(name for names in _CONTAINERS.values() for name in names), *_OTHERS}
    return found if others else [name for names in here["services"].values() for name in names]


def scrape_targets(
    host: str, groups: Groups, address_of: Mapping[str, str], of: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Whom a Prometheus on `host` asks, as `file_sd_configs` take it; `of` has the variables of the stack's hosts."""
    placed = any(groups.get(tier) for tier in SERVICE_TIERS)
    return [
        {
            "targets": [_target(tier, host, server, servers, address_of, of) for server in servers],
            "labels": {"service": tier},
        }
        for tier in SERVICE_TIERS
        for servers in [groups.get(tier, ()) if placed else [host]]
    ]


def addresses(hosts: Iterable[str], of: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Where each host is reached by the others: `steelyard_address`, else `ansible_host`, else its name."""
    names = ("steelyard_address", "ansible_host")
    return {host: str(next((of[host][name] for name in names if name in of[host]), host)) for host in hosts}


def bracketed(address: str) -> str:
    """An address as URLs and Compose's ports hold it: IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


def _target(
    tier: str,
    host: str,
    server: str,
    servers: Sequence[str],
    address_of: Mapping[str, str],
    of: Mapping[str, Mapping[str, Any]],
) -> str:
    port = PORTS.get(tier, GATEWAY_PORT)
    if server == host:
        return f"{_CONTAINERS.get(tier, (tier,))[0]}:{port}"
    if tier != "gateway":
        return f"{bracketed(address_of[server])}:{port}"
    if len(servers) > 1:
        return f"{bracketed(address_of[server])}:{GATEWAY_BEHIND_PORT}"
    address = str(of[server].get("steelyard_gateway_address", "127.0.0.1"))
    listens = address_of[server] if ipaddress.ip_address(address).is_unspecified else address
    return f"{bracketed(listens)}:{of[server].get('steelyard_gateway_port', port)}"


def _balanced(
    tier: str, port: int, bind: str, bind_port: int, servers: Iterable[str], address_of: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "name": tier,
        "bind": f"{bracketed(bind)}:{bind_port}",
        "servers": [_server(name, address_of, port) for name in servers],
    }


def _server(name: str, address_of: Mapping[str, str], port: int) -> dict[str, str]:
    return {"name": name, "address": f"{bracketed(address_of[name])}:{port}"}


class FilterModule:
    """What Ansible looks for in this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """The filters by their names in templates."""
        return {
            "steelyard_stack": stack,
            "steelyard_token_host": token_host,
            "steelyard_turns": turns,
            "steelyard_topology": topology,
            "steelyard_asked": asked,
            "steelyard_scrape_targets": scrape_targets,
            "steelyard_addresses": addresses,
            "steelyard_bracketed": bracketed,
        }
