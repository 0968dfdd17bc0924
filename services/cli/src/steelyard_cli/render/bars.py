"""Numbers as bars of block characters."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(value: float, low: float, high: float, cells: int) -> str:
    """`value` on a scale from `low` (an eighth of a cell) to `high` (all `cells`); full when both are the same."""
    share = 1.0 if high <= low else (value - low) / (high - low)
    eighths = max(1, round(min(max(share, 0.0), 1.0) * cells * 8))
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(cells)
