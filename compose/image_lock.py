"""The part of `requirements/runtime.lock` that one image needs, with its hashes, and the distributions that it holds.

    python compose/image_lock.py embedding requirements     the requirements file, for pip's --require-hashes
    python compose/image_lock.py embedding distributions    the folders of services/, one a line
    python compose/image_lock.py embedding imports          the modules that the image must be able to import
    python compose/image_lock.py embedding debian           the packages of the base's distribution that it needs

One lock stays the only source of versions. Who needs a package is read from the `# via` comments that the lock's
compiler writes, so the image is settled before anything is installed; a test compares the outcome with the metadata
of the installed packages. Runs in the build stage, on the standard library alone.

Errors::

    ImageError    images.toml, a pyproject.toml and the lock do not fit together; the message names the entry
"""

import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_OWN = "steelyard-"
_PIN = re.compile(r"^([a-z0-9-]+)==", re.MULTILINE)
_VIA = re.compile(r"^    #(?: via)? +(?:via )?(\S.*)$")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


class ImageError(Exception):
    """images.toml, a pyproject.toml and the lock do not fit together."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One package of the lock: its lines as they stand, and the packages that need it."""

    text: str
    needed_by: frozenset[str]


@dataclass(frozen=True, slots=True)
class Image:
    """One image: folders of services/ in order, and the pins of everything else that it holds, by name."""

    distributions: list[str]
    pins: dict[str, Pin]
    imports: list[str]
    debian: list[str]

    @property
    def requirements(self) -> str:
        """The image's requirements file."""
        return "".join(self.pins[name].text for name in sorted(self.pins))


def image(name: str, root: Path = ROOT) -> Image:
    """Settle what the image `name` of compose/images.toml holds. Raises ImageError."""
    table = tomllib.loads((root / "compose/images.toml").read_text(encoding="utf-8"))
    if name not in table:
        raise ImageError(f"{name} is not an image of compose/images.toml; it has {', '.join(table)}")
    entry = table[name]
    distributions, wanted = _closure_of_own(entry.get("distributions", []), root)
    lock = read_lock((root / "requirements/runtime.lock").read_text(encoding="utf-8"))
    without = frozenset(entry.get("without", []))
    if strangers := without - set(lock):
        raise ImageError(f"[{name}] is without {', '.join(sorted(strangers))}, which requirements/runtime.lock lacks")
    wanted |= set(entry.get("packages", []))
    names = _closure(wanted, without, lock)
    pins = {one: lock[one] for one in names}
    return Image(distributions, pins, entry.get("imports", []), entry.get("debian", []))


def read_lock(text: str) -> dict[str, Pin]:
    """The packages of a lock compiled with hashes. Raises ImageError for one that does not say why it is there."""
    starts = [match.start() for match in _PIN.finditer(text)]
    pins = {}
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        block = text[start:end]
        name = _PIN.match(block)[1]  # type: ignore[index]  # every block begins at a match
        needed_by = [found[1] for line in block.splitlines() if (found := _VIA.match(line)) and found[1] != "via"]
        if not needed_by:
            raise ImageError(f"the lock does not say what {name} is needed by")
        pins[name] = Pin(block, frozenset(needed_by))
    return pins


def _closure(wanted: Iterable[str], without: frozenset[str], lock: Mapping[str, Pin]) -> set[str]:
    names: set[str] = set()
    queue = [name for name in wanted if name not in without]
    while queue:
        name = queue.pop()
        if name in names:
            continue
        if name not in lock:
            raise ImageError(f"{name} is needed, and requirements/runtime.lock lacks it")
        names.add(name)
        queue += [other for other, pin in lock.items() if name in pin.needed_by and other not in without]
    return names


def _closure_of_own(folders: Iterable[str], root: Path) -> tuple[list[str], set[str]]:
    """The folders with those of the distributions that they need, and the other packages that all of them name."""
    queue, own, others = list(folders), [], set()
    while queue:
        folder = queue.pop()
        if folder in own:
            continue
        own.append(folder)
        project = tomllib.loads((root / f"services/{folder}/pyproject.toml").read_text(encoding="utf-8"))["project"]
        for requirement in project["dependencies"]:
            name = _NAME.match(requirement)[0].lower()  # type: ignore[index]  # a requirement begins with a name
            if name.startswith(_OWN):
                queue.append(name.removeprefix(_OWN))
            else:
                others.add(name)
    return sorted(own), others


def _lines(names: Iterable[str]) -> str:
    return "".join(f"{name}\n" for name in names)


def main(arguments: list[str]) -> int:
    """Print one part of one image; returns the exit code."""
    parts: dict[str, Callable[[Image], str]] = {
        "requirements": lambda it: it.requirements,
        "distributions": lambda it: _lines(it.distributions),
        "imports": lambda it: _lines(it.imports),
        "debian": lambda it: _lines(it.debian),
    }
    if len(arguments) != 2 or arguments[1] not in parts:
        sys.stderr.write(f"usage: image_lock.py IMAGE {'|'.join(parts)}\n")
        return 2
    try:
        sys.stdout.write(parts[arguments[1]](image(arguments[0])))
    except ImageError as error:
        sys.stderr.write(f"image_lock.py: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
