"""A benchmark as a line of counts and a table of times."""

from rich.console import Console
from rich.table import Table

from ..gateway.bench import Benchmark
from .tables import table


def summary(found: Benchmark) -> str:
    """`20 requests, 4 at a time, in 31.2 s: 0.64 a second; 19 ok, 1 empty; 1 abstained`."""
    outcomes = ", ".join(f"{count} {name}" for name, count in sorted(found.outcomes.items()))
    errors = ", ".join(f"{count} {code}" for code, count in sorted(found.errors.items()))
    said = [outcomes, f"{found.abstained} abstained" if found.abstained else "", f"failed: {errors}" if errors else ""]
    head = f"{found.requests} requests, {found.concurrency} at a time, in {found.seconds:.1f} s"
    return f"{head}: {found.requests_per_second:.2f} a second; {'; '.join(filter(None, said))}"


def times_table(found: Benchmark, console: Console) -> Table:
    """One row for each part of a request; milliseconds."""
    made = table(console)
    made.add_column("part", no_wrap=True)
    for heading in ("n", "p50 ms", "p90 ms", "p99 ms", "max ms"):
        made.add_column(heading, justify="right", no_wrap=True)
    for name, times in found.times.items():
        shares = (times.p50_ms, times.p90_ms, times.p99_ms, times.max_ms)
        made.add_row(name, str(times.n), *(f"{milliseconds:.1f}" for milliseconds in shares))
    return made
