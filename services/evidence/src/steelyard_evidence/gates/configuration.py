"""Promotion and rollback of a reranker's env file: the previous one is kept beside it."""

from pathlib import Path

from ..atomic import mode_of, write_atomically
from ..errors import PromotionError

_SUFFIX = ".previous"


def previous_of(config: Path) -> Path:
    """Where the previous configuration is kept."""
    return config.with_name(config.name + _SUFFIX)


def promote(proposed: Path, config: Path) -> bool:
    """Put the proposed file in the place of `config` and keep what was there; False when they already agree.

    A second promotion of the same file must not make it its own predecessor. Raises PromotionError.
    """
    new, old = _read(proposed), _read(config)
    if new == old:
        return False
    write_atomically(previous_of(config), old, mode_of(config))
    write_atomically(config, new)
    return True


def rollback(config: Path) -> None:
    """Restore the previous configuration; it is then no longer kept. Raises PromotionError when there is none."""
    previous = previous_of(config)
    if not previous.is_file():
        raise PromotionError(f"{previous}: no previous configuration is kept there")
    write_atomically(config, _read(previous))
    previous.unlink()


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise PromotionError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise PromotionError(f"{path}: is not UTF-8") from error
