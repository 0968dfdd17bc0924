"""What a latency was measured on."""

import os
import platform
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


def hardware() -> dict[str, str]:
    """Processor, usable cores and system, as far as the system tells."""
    model = platform.processor() or platform.machine()
    if _CPUINFO.is_file():
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return {"processor": model, "cores": str(len(os.sched_getaffinity(0))), "system": platform.system()}
