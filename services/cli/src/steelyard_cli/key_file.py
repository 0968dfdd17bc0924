"""The gateway's key file, as the command changes it."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from steelyard_chatqna.keys.file import KeyFileError, change_keys, read_keys
from steelyard_chatqna.keys.record import ApiKey, KeyList, new_key
from steelyard_chatqna.settings import KeySettings
from steelyard_runtime.settings.base import SettingsError
from steelyard_runtime.settings.groups import ScopeSettings

from .errors import CliError, ConfigurationError


def path_of(given: Path | None) -> Path:
    """The file on the command line, else that of API_KEYS_FILE; raises ConfigurationError when neither is given."""
    if given is not None:
        return given
    try:
        named = KeySettings.load().api_keys_file
    except SettingsError as error:
        raise ConfigurationError(str(error)) from None
    if named is None:
        raise ConfigurationError("no key file is named", hint="Give --file, or set API_KEYS_FILE.")
    return named


def unknown_scopes(key: ApiKey) -> list[str]:
    """Scopes of the key that do not exist by this host's settings, misspelt ones say; raises ConfigurationError."""
    try:
        existing = ScopeSettings.load().steelyard_scopes
    except SettingsError as error:
        raise ConfigurationError(str(error)) from None
    return [scope for scope in key.scopes if scope not in existing]


def keys(path: Path) -> tuple[ApiKey, ...]:
    """Every key of the file, revoked ones too; raises ConfigurationError."""
    try:
        return read_keys(path).keys
    except KeyFileError as error:
        raise ConfigurationError(str(error)) from None


def add(
    path: Path, name: str, scopes: tuple[str, ...], requests_per_minute: int, *, writes: bool
) -> tuple[str, ApiKey]:
    """Add a key; returns what its owner gets and what is kept. Raises ConfigurationError."""
    try:
        shown, kept = new_key(name, scopes, requests_per_minute, writes=writes)
    except ValidationError as error:
        faults = [
            (".".join(map(str, fault["loc"])) or "scopes", str(fault["msg"]).removeprefix("Value error, "))
            for fault in error.errors(include_url=False, include_input=False)
        ]
        raise ConfigurationError("the key is refused", faults=faults) from None

    def added(before: KeyList) -> KeyList:
        if any(key.name == name and key.revoked is None for key in before.keys):
            raise ConfigurationError(
                f"a key named {name!r} is in {path} already", hint="Revoke it first, or name another."
            )
        return KeyList(keys=(*before.keys, kept))

    _change(path, added)
    return shown, kept


def revoke(path: Path, id_or_name: str) -> ApiKey:
    """Revoke the key of that id, or the one of that name that is not revoked yet; returns it.

    Revoking it again changes nothing. Raises CliError when there is none, ConfigurationError for the file.
    """
    found = next(
        (key for key in keys(path) if key.id == id_or_name or (key.name == id_or_name and key.revoked is None)), None
    )
    if found is None:
        raise CliError(
            f"no key in {path} has the id or the name {id_or_name!r}", hint="`steelyard keys list` shows all."
        )
    now = datetime.now(UTC).replace(microsecond=0)

    def revoked(before: KeyList) -> KeyList:
        return KeyList(
            keys=tuple(
                key.model_copy(update={"revoked": now}) if key.id == found.id and key.revoked is None else key
                for key in before.keys
            )
        )

    return next(key for key in _change(path, revoked).keys if key.id == found.id)


def _change(path: Path, change: Callable[[KeyList], KeyList]) -> KeyList:
    try:
        return change_keys(path, change)
    except KeyFileError as error:
        raise ConfigurationError(str(error)) from None
