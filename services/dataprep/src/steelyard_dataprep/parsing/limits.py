"""What a parser may use up."""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Bounds on one file; sizes in bytes, times in seconds.

    The first five hold wherever `parse` runs; the last three only in the processes of `IsolatedParser`, where they hold
    for parsing and cutting together. `memory_bytes` bounds the address space beyond that of the interpreter with its
    libraries (about 90 MiB). CPU time is what a file uses up; wall time also what the machine does besides.
    """

    max_input_bytes: int = 64 * _MIB
    max_unpacked_bytes: int = 256 * _MIB
    max_pages: int = 10_000
    max_text_chars: int = 32 * _MIB
    max_sections: int = 100_000
    memory_bytes: int = 1536 * _MIB
    cpu_seconds: int = 60
    wall_seconds: float = 120.0
