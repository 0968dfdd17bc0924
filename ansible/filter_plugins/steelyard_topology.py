"""Filters that read from the groups which service runs on which host, and where each host finds its peers.

A host in one of the service groups is part of the inventory's one stack. A host in none of them runs a whole stack of
its own. Plain functions without Ansible, so that they are tested with the rest of the project.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

TIERS = ("embedding", "dataprep", "reranker", "retriever", "gateway")
"""The service groups in the order in which they are started and restarted: nobody before those whom it calls."""
PORTS = {"embedding": 6000, "dataprep": 5000, "retriever": 7000, "reranker": 8000}
BALANCED_BY = 10000
"""What HAProxy's port on a caller is above the service's own."""
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
_CONTAINER = {"gateway": "chatqna"}

Groups = Mapping[str, Sequence[str]]


def stack(groups: Groups) -> list[str]:
    """The hosts of the inventory's one stack, in the order of its tiers; empty when every host has its own."""
    return list(dict.fromkeys(host for tier in TIERS for host in groups.get(tier, ())))


def tiers(host: str, groups: Groups) -> list[str]:
    """The service groups that a host serves, in order; all of them when it is in none."""
    return [tier for tier in TIERS if host in groups.get(tier, ())] or list(TIERS)


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


def topology(host: str, groups: Groups, address_of: Mapping[str, str], embedded_llm: bool) -> dict[str, Any]:
    """What one host must know about the stack.

    `tiers` are its groups, `services` the Compose services of each, `peers` the environment variables with the URLs of
    services elsewhere, `balanced` what its HAProxy stands in front of, `shared` whether it has peers at all.
    """
    mine = tiers(host, groups)
    members = stack(groups) if host in stack(groups) else [host]
    services = {tier: [_CONTAINER.get(tier, tier)] for tier in mine}
    if embedded_llm and "gateway" in mine:
        services["gateway"] = ["llm", "chatqna"]
    peers, balanced = {}, []
    for tier in dict.fromkeys(called for one in mine for called in _CALLS[one]):
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
    return {
        "tiers": mine,
        "services": services,
        "peers": peers,
        "balanced": balanced,
        "gateways": [_server(name, address_of, GATEWAY_BEHIND_PORT) for name in gateways] if behind else [],
        "shared": len(members) > 1,
    }


def addresses(hosts: Iterable[str], of: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Where each host is reached by the others: `steelyard_address`, else `ansible_host`, else its name."""
    names = ("steelyard_address", "ansible_host")
    return {host: str(next((of[host][name] for name in names if name in of[host]), host)) for host in hosts}


def bracketed(address: str) -> str:
    """An address as URLs and Compose's ports hold it: IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


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
            "steelyard_addresses": addresses,
            "steelyard_bracketed": bracketed,
        }
