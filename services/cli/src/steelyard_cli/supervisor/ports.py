"""Who has a port."""

import re
import socket
from pathlib import Path

from .processes import describe

_LISTEN = "0A"


def is_free(host: str, port: int) -> bool:
    """Whether a service could listen there now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def holder(port: int) -> str:
    """The process that listens on `port`, in words; says so when it can not be seen (another user's, or no /proc)."""
    sockets = _listening_sockets(port)
    for folder in Path("/proc").glob("[0-9]*"):
        if sockets & _sockets_of(folder):
            pid = int(folder.name)
            command = describe(pid)
            return f"pid {pid} ({command})" if command else f"pid {pid}"
    return "a process that this user can not see"


def _listening_sockets(port: int) -> set[str]:
    inodes = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        if not table.exists():
            continue
        for line in table.read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(fields[9])
    return inodes


def _sockets_of(folder: Path) -> set[str]:
    inodes = set()
    try:
        for entry in (folder / "fd").iterdir():
            match = re.fullmatch(r"socket:\[(\d+)\]", str(entry.readlink()))
            if match:
                inodes.add(match[1])
    except OSError:
        return inodes
    return inodes
