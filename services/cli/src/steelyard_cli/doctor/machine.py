"""The machine: Python, processor, memory, disk and clock."""

import ctypes
import platform
import re
import shutil
import sys
from pathlib import Path

from .finding import Finding, Level, judge

PYTHON_NEEDED = (3, 11)
MEMORY_GOOD = 2.5 * 2**30
MEMORY_LEAST = 1.25 * 2**30
DISK_GOOD = 3 * 2**30
DISK_LEAST = 2**30

_CLOCK_UNSYNCHRONISED = 5
_TIMEX_BYTES = 512
_ARM = frozenset({"aarch64", "arm64"})


def python() -> Finding:
    """The version of Python that runs this."""
    needed = ".".join(map(str, PYTHON_NEEDED))
    return judge(
        "python",
        platform.python_version(),
        ok=sys.version_info[:2] >= PYTHON_NEEDED,
        otherwise=Level.FAIL,
        fix=f"Install Python {needed} or newer and run `make setup` again.",
    )


def processor(cpuinfo: Path = Path("/proc/cpuinfo"), machine: str | None = None) -> Finding:
    """The vector instructions that the in-process models were measured with."""
    kind = platform.machine() if machine is None else machine
    if kind in _ARM:
        return Finding(name="processor", level=Level.OK, found=f"{kind}, which always has vector instructions")
    try:
        flags = re.search(r"^flags\s*:(.*)$", cpuinfo.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        flags = None
    if flags is None:
        return Finding(name="processor", level=Level.WARN, found=f"{kind}; {cpuinfo} does not say what it can do")
    has = "avx2" in flags[1].split()
    return judge(
        "processor",
        f"{kind} {'with' if has else 'without'} AVX2",
        ok=has,
        otherwise=Level.WARN,
        fix="Local models will be several times slower; use servers elsewhere, or LLM_BACKEND=extractive.",
    )


def memory(meminfo: Path = Path("/proc/meminfo"), groups: Path = Path("/sys/fs/cgroup")) -> Finding:
    """Memory that is still free, within the limit of the container if there is one."""
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB$", meminfo.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    if found is None:
        return Finding(name="memory", level=Level.WARN, found=f"{meminfo} does not say how much is free")
    free = int(found[1]) * 1024
    limited = _free_in_group(groups)
    if limited is not None:
        free = min(free, limited)
    said = f"{free / 2**30:.1f} GiB free"
    fix = f"The whole stack with local models needs {MEMORY_GOOD / 2**30:g} GiB; stop something or use another machine."
    if free < MEMORY_LEAST:
        return Finding(name="memory", level=Level.FAIL, found=said, fix=fix)
    return judge("memory", said, ok=free >= MEMORY_GOOD, otherwise=Level.WARN, fix=fix)


def disk(name: str, folder: Path) -> Finding:
    """Room where `folder` is or will be."""
    existing = next(it for it in (folder, *folder.parents) if it.exists())
    free = shutil.disk_usage(existing).free
    said = f"{free / 2**30:.1f} GiB free at {existing}"
    fix = f"Make room: {DISK_GOOD / 2**30:g} GiB hold the models and a store of some size."
    if free < DISK_LEAST:
        return Finding(name=name, level=Level.FAIL, found=said, fix=fix)
    return judge(name, said, ok=free >= DISK_GOOD, otherwise=Level.WARN, fix=fix)


def openmp(library: str = "libgomp.so.1") -> Finding:
    """The system library without which the language model's runtime can not be loaded."""
    try:
        ctypes.CDLL(library)
    except OSError:
        loaded = False
    else:
        loaded = True
    return judge(
        "language model runtime",
        f"{library} {'is' if loaded else 'is not'} there",
        ok=loaded,
        otherwise=Level.FAIL,
        fix="Install it (Debian: `apt-get install libgomp1`), or set LLM_BACKEND=extractive.",
    )


def clock() -> Finding:
    """Whether the kernel says that its clock is kept in step; ledgers and log lines of several hosts need that."""
    ask = getattr(ctypes.CDLL(None), "adjtimex", None)
    if ask is None:
        return Finding(name="clock", level=Level.OK, found="this system does not say whether it is kept in step")
    # With all zeroes `adjtimex` only reads; its result is the state of the clock.
    state = ask(ctypes.create_string_buffer(_TIMEX_BYTES))
    return judge(
        "clock",
        "not kept in step" if state == _CLOCK_UNSYNCHRONISED else "kept in step",
        ok=0 <= state < _CLOCK_UNSYNCHRONISED,
        otherwise=Level.WARN,
        fix="Run a time service (chrony, systemd-timesyncd) when logs of several hosts must fit together.",
    )


def _free_in_group(groups: Path) -> int | None:
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            most = (groups / limit).read_text(encoding="utf-8").strip()
            if most.isdigit():
                return int(most) - int((groups / used).read_text(encoding="utf-8"))
        except OSError:
            continue
    return None
