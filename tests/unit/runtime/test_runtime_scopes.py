"""Which scopes a request sees: a mistake never widens what is seen."""

import pytest

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime.scopes import named_scopes

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
