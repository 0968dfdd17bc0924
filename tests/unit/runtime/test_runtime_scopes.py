"""Which scopes a request sees: a mistake never widens what is seen."""

import pytest

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime.scopes import named_scopes
from steelyard_runtime.settings.base import SettingsError
from steelyard_runtime.settings.groups import ScopeSettings

EXISTING = ("public", "staff", "board")


def test_no_name_is_the_default_which_is_the_first() -> None:
    assert named_scopes(None, EXISTING) == ("public",)


@pytest.mark.parametrize(
    ("named", "seen"), [(["staff"], ("staff",)), (["board", "public", "board"], ("board", "public"))]
)
def test_what_is_named_is_seen_once_and_nothing_else(named: list[str], seen: tuple[str, ...]) -> None:
    assert named_scopes(named, EXISTING) == seen


@pytest.mark.parametrize(
    ("named", "code", "said"),
    [
        ([], ErrorCode.SCOPE_REQUIRED, "is empty"),
        (["nobody"], ErrorCode.SCOPE_UNKNOWN, "nobody does not exist"),
        (["public", "x", "a"], ErrorCode.SCOPE_UNKNOWN, "a, x does not exist"),
        (["Public"], ErrorCode.SCOPE_UNKNOWN, "Public"),
        ([""], ErrorCode.SCOPE_UNKNOWN, "does not exist"),
    ],
)
def test_none_and_unknown_ones_are_refused(named: list[str], code: ErrorCode, said: str) -> None:
    with pytest.raises(SteelyardError, match=said) as error:
        named_scopes(named, EXISTING)
    assert error.value.code is code


@pytest.mark.parametrize("given", ["public secret", "public, a b", "public\u00a0secret", "x" * 129])
def test_a_scope_that_no_key_could_name_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    """Names between spaces are one name, which nobody meant."""
    monkeypatch.setenv("STEELYARD_SCOPES", given)
    with pytest.raises(SettingsError, match=r"STEELYARD_SCOPES=.* no API key"):
        ScopeSettings.load()


def test_a_scope_may_be_as_long_as_a_key_can_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_SCOPES", f"public , {'x' * 128}")
    assert ScopeSettings.load().steelyard_scopes == ("public", "x" * 128)
