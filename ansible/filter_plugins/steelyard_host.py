"""A filter that finds what is wrong with a host before anything on it is touched: all of it at once.

A finding is one line: the host, what was found, and what to do. Plain functions without Ansible, so that they are
tested with the rest of the project.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

NEEDS_MB = {
    "embedding": 512,
    "dataprep": 768,
    "retriever": 384,
    "reranker": 512,
    "chatqna": 256,
    "llm": 1536,
    "arangodb": 2048,
    "tei": 2048,
    "embedder": 2048,
    "vllm": 8192,
    "prometheus": 512,
    "grafana": 256,
}
"""Memory that a service should find, in MiB: of ours, what the embedded default took on the demonstration corpus,
rounded up; of others, an estimate."""
_NEEDS_DISK_MB = 6000
_MOST_SKEW_S = 30
_OLDEST_COMPOSE = (2, 20)


def host_findings(
    host: str, seen: Mapping[str, Any], services: Iterable[str], ports: Iterable[int], servers: str
) -> list[str]:
    """What is wrong with one host.

    `servers` is its steelyard_model_servers. `seen` holds `memory_mb`, `disk_mb`, `flags`, `architecture`,
    `listening` (lines of `ss -ltnpH`), `docker`, `compose` and `gpu` (a version or name, empty when there is none),
    `skew_s`, and `unresolved` (addresses of peers).
    """
    wanted = list(services)
    need = sum(NEEDS_MB.get(name, 0) for name in wanted)
    found = []
    if seen["memory_mb"] < need:
        found.append(f"memory is {seen['memory_mb']} MiB; {', '.join(wanted)} need {need}: add some or move a group")
    if seen["disk_mb"] < _NEEDS_DISK_MB:
        found.append(
            f"{seen['disk_mb']} MiB of disk are free at steelyard_root; images and models need {_NEEDS_DISK_MB}"
        )
    if "llm" in wanted and seen["architecture"] == "x86_64" and "avx2" not in seen["flags"]:
        found.append("the CPU lacks avx2, which the packages' model server needs; set steelyard_embedded_llm to false")
    if not seen["docker"]:
        found.append("no engine answers `docker version`; install it, or let the role docker_host do so")
    elif _version(seen["compose"]) < _OLDEST_COMPOSE:
        found.append(f"Compose is {seen['compose'] or 'not there'}; install 2.20 or later")
    if abs(seen["skew_s"]) > _MOST_SKEW_S:
        found.append(f"the clock is {seen['skew_s']} s off the controller's; let it be set by NTP")
    if servers in ("cuda", "t4") and not seen["gpu"]:
        found.append(
            f"steelyard_model_servers={servers}, and `nvidia-smi` finds no GPU; install the driver or set it to cpu"
        )
    elif servers == "cuda" and re.search(r"\bT4\b", seen["gpu"]):
        found.append(f"the GPU is a {seen['gpu']}: set steelyard_model_servers to t4 and name a smaller reranker")
    found += [
        f"port {port} is taken by {taken}; stop that, or choose another (steelyard_gateway_port)"
        for port in ports
        if (taken := _taker(port, seen["listening"]))
    ]
    found += [
        f"the peer {name} can not be resolved; mend DNS or set its steelyard_address" for name in seen["unresolved"]
    ]
    return [f"{host}: {line}" for line in found]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def _taker(port: int, listening: Iterable[str]) -> str | None:
    for line in listening:
        if re.search(rf":{port}\s", line):
            name = re.search(r'\(\("([^"]+)"', line)
            program = name[1] if name else "a program"
            return None if program in ("docker-proxy", "haproxy") else program
    return None


class FilterModule:
    """What Ansible looks for in this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """The filters by their names in templates."""
        return {"steelyard_host_findings": host_findings}
