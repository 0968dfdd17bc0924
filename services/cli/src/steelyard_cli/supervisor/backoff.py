"""How long to wait before a process that ended is started again."""

from dataclasses import dataclass


@dataclass(slots=True)
class Backoff:
    """Doubles from `first_s` up to `longest_s`; a process that lived for `stable_s` starts the count anew."""

    first_s: float
    longest_s: float
    stable_s: float
    _failures: int = 0

    def after(self, lived_s: float) -> float:
        """Seconds to wait after a process that lived for `lived_s` seconds."""
        if lived_s >= self.stable_s:
            self._failures = 0
        delay = self.first_s * 2.0 ** min(self._failures, 30)
        self._failures += 1
        return min(delay, self.longest_s)
