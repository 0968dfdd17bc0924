"""The guards: who is let in, as whom, how often, and that a change of the file is in effect at once."""

import asyncio
import time
from pathlib import Path

import pytest

from steelyard_chatqna.keys.file import KeyFileError, change_keys
from steelyard_chatqna.keys.guard import OPERATIONS_PATHS, KeyGuard
from steelyard_chatqna.keys.record import KeyList, new_key
from steelyard_chatqna.keys.ring import KeyRing
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime.guard import Caller

TOKEN = "service-token-0123456789"
CHAT = "/v1/chat/completions"


class Door:
    """A key file, a guard over it, and what the guard says."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "keys.json"
        self.key = self.add("first", "public")
        self.ring = KeyRing(self.path)
        self.guard = KeyGuard(self.ring, TOKEN, frozenset())

    def add(self, name: str, *scopes: str, rate: int = 60) -> str:
        shown, kept = new_key(name, scopes, rate)
        change_keys(self.path, lambda before: KeyList(keys=(*before.keys, kept)))
        return shown

    def revoke(self, name: str) -> None:
        def revoked(before: KeyList) -> KeyList:
            return KeyList(keys=tuple(
                key.model_copy(update={"revoked": key.created}) if key.name == name else key for key in before.keys
            ))  # fmt: skip

        change_keys(self.path, revoked)

    async def knock(self, shown: str | None, path: str = CHAT, scheme: str = "Bearer") -> Caller | SteelyardError:
        sent = {} if shown is None else {"Authorization": f"{scheme} {shown}"}
        try:
            return await self.guard.admit(path, sent)
        except SteelyardError as error:
            return error

    def ask(self, shown: str | None, path: str = CHAT, scheme: str = "Bearer") -> Caller | SteelyardError:
        return asyncio.run(self.knock(shown, path, scheme))


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


def code(answer: Caller | SteelyardError) -> ErrorCode:
    assert isinstance(answer, SteelyardError), answer
    return answer.code


def test_a_key_is_let_in_with_its_scopes(door: Door) -> None:
    caller = door.ask(door.key)
    assert isinstance(caller, Caller)
    assert caller.scopes == frozenset({"public"})
    assert caller.key_id == door.key.split("_")[1]
    assert door.ask(door.key, scheme="bearer") == caller


@pytest.mark.parametrize("shown", [None, "", "x", TOKEN, "steelyard_000000000000_" + "A" * 43])
def test_nobody_else_is(door: Door, shown: str | None) -> None:
    assert code(door.ask(shown)) is ErrorCode.UNAUTHENTICATED
    assert code(door.ask(door.key, scheme="Basic")) is ErrorCode.UNAUTHENTICATED
    assert code(door.ask(door.key.lower())) is ErrorCode.UNAUTHENTICATED


def test_revoking_and_adding_are_in_effect_at_the_next_request(door: Door) -> None:
    second = door.add("second", "staff")
    assert isinstance(door.ask(second), Caller)
    door.revoke("second")
    assert code(door.ask(second)) is ErrorCode.UNAUTHENTICATED
    assert isinstance(door.ask(door.key), Caller)


def test_while_the_file_is_unusable_nobody_is_let_in(door: Door) -> None:
    good = door.path.read_bytes()
    door.path.write_bytes(good + b"x")
    answer = door.ask(door.key)
    assert code(answer) is ErrorCode.NOT_READY
    assert str(door.path) not in str(answer)  # a stranger is told nothing of the machine
    door.path.unlink()
    assert code(door.ask(door.key)) is ErrorCode.NOT_READY
    door.path.write_bytes(good)
    assert isinstance(door.ask(door.key), Caller)


def test_a_ring_without_a_file_does_not_begin(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match=r"none\.json does not exist"):
        KeyRing(tmp_path / "none.json")


def test_each_key_has_a_rate_of_its_own(door: Door) -> None:
    slow = door.add("slow", "public", rate=3)

    async def main() -> None:
        answers = [await door.knock(slow) for _ in range(5)]
        assert [isinstance(one, Caller) for one in answers] == [True, True, True, False, False]
        refused = answers[-1]
        assert isinstance(refused, SteelyardError)
        assert refused.code is ErrorCode.RATE_LIMITED
        assert refused.status == 429
        assert refused.retry_after_s is not None
        assert 1 <= refused.retry_after_s <= 60
        assert isinstance(await door.knock(door.key), Caller)

    asyncio.run(main())


def test_the_rate_is_of_any_minute(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000.0]
    monkeypatch.setattr("limits.aio.storage.memory.time.time", lambda: now[0])
    slow = door.add("slow", "public", rate=2)

    async def main() -> list[bool]:
        let_in = []
        for pause in (0.0, 50.0, 5.0, 5.1, 0.1, 50.0):
            now[0] += pause
            let_in.append(isinstance(await door.knock(slow), Caller))
        return let_in

    # At 0 and 50 both; at 55 the minute has two; at 60.1 the first has left it; at 60.2 there are two again.
    assert asyncio.run(main()) == [True, True, False, True, False, True]


def test_wrong_keys_use_up_nobodys_rate(door: Door) -> None:
    slow = door.add("slow", "public", rate=1)

    async def main() -> None:
        for _ in range(5):
            assert code(await door.knock(slow[:-1] + "!")) is ErrorCode.UNAUTHENTICATED
        assert isinstance(await door.knock(slow), Caller)

    asyncio.run(main())


@pytest.mark.parametrize("path", sorted(OPERATIONS_PATHS))
def test_operations_take_a_key_or_the_service_token(door: Door, path: str) -> None:
    assert not door.guard.is_open(path, {})
    assert door.ask(TOKEN, path) == Caller()
    assert isinstance(door.ask(door.key, path), Caller)
    assert code(door.ask(None, path)) is ErrorCode.UNAUTHENTICATED
    assert code(door.ask(TOKEN, CHAT)) is ErrorCode.UNAUTHENTICATED


@pytest.mark.parametrize(("back_s", "barred"), [(0.5, True), (3600.0, False)])
def test_a_clock_that_is_put_back_bars_nobody(
    door: Door, monkeypatch: pytest.MonkeyPatch, back_s: float, barred: bool
) -> None:
    key, wall = door.add("often", "public", rate=2), time.time
    assert [isinstance(door.ask(key), Caller) for _ in range(3)] == [True, True, False]
    monkeypatch.setattr(time, "time", lambda: wall() - back_s)
    assert isinstance(door.ask(key), SteelyardError) is barred
    assert [isinstance(door.ask(key), Caller) for _ in range(2)] == [not barred, False], "and counts go on"
