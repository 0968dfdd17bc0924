"""Some of a service's paths."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Paths:
    """The paths that are `exact`, and all that begin with one of `under`."""

    exact: frozenset[str] = frozenset()
    under: tuple[str, ...] = ()

    def __contains__(self, path: str) -> bool:
        return path in self.exact or path.startswith(self.under)

    def __bool__(self) -> bool:
        return bool(self.exact or self.under)


NO_PATHS = Paths()
