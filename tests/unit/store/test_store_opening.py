"""From settings to a store: which one, where, and with what secret."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from steelyard_store import opening
from steelyard_store.arangodb import ArangoAddress, ArangoReader, ArangoWriter
from steelyard_store.embedded import EmbeddedReader, EmbeddedWriter, writing
from tests.conformance.store.samples import MODEL

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Configuration:
    store: Literal["embedded", "arangodb"] = "arangodb"
    store_path: Path = Path("store.db")
    arango_url: tuple[str, ...] = ("http://one:8529", "http://two:8529")
    arango_database: str = "lab"
    arango_user: str | None = "root"
    arango_password_file: str | None = None


async def test_the_embedded_store_is_a_path(tmp_path: Path) -> None:
    location = opening.locate(Configuration(store="embedded", store_path=tmp_path / "s.db"))
    assert location == tmp_path / "s.db"
    async with opening.open_reader(location) as reader, opening.open_writer(location) as writer:
        assert isinstance(reader, EmbeddedReader)
        assert isinstance(writer, EmbeddedWriter)
        await writer.initialise(MODEL)
    assert opening.migrate(location) == []


async def test_the_arangodb_store_is_an_address(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("correct horse\n")
    location = opening.locate(Configuration(arango_password_file=str(secret)))
    assert location == ArangoAddress(
        urls=("http://one:8529", "http://two:8529"),
        database="lab",
        username="root",
        password="correct horse",
    )
    assert "horse" not in f"{location} {location!r}"
    async with opening.open_reader(location) as reader, opening.open_writer(location) as writer:
        assert isinstance(reader, ArangoReader)
        assert isinstance(writer, ArangoWriter)


def test_without_a_user_the_file_holds_an_access_token(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("v1.f00d.cafe")
    location = opening.locate(Configuration(arango_user=None, arango_password_file=str(secret)))
    assert isinstance(location, ArangoAddress)
    assert location.username == ""


NO_PASSWORDS = {
    "empty": b"",
    "blank": b" \n",
    "placeholder": b"changeme",
    "placeholder in other letters": b"ChangeMe-now",
    "the word": b"password123",
    "angle brackets": b"<your password>",
    "short": b"short",
    "one letter": b"aaaaaaaaaaaa",
    "two lines": b"two\nlines-of",
    "endless": b"aB3dEf7h" * 10_000,
    "not text": b"\xff\xfe1234567",
}


@pytest.mark.parametrize("content", NO_PASSWORDS.values(), ids=NO_PASSWORDS)
def test_a_file_without_a_real_password_is_refused_and_not_shown(tmp_path: Path, content: bytes) -> None:
    secret = tmp_path / "password"
    secret.write_bytes(content)
    with pytest.raises(ValueError, match="ARANGO_PASSWORD_FILE") as caught:
        opening.locate(Configuration(arango_password_file=str(secret)))
    assert str(secret) in str(caught.value)
    shown = content.decode(errors="ignore").strip()
    assert not shown or shown not in str(caught.value).replace(str(secret), "")


@pytest.mark.parametrize("path", [None, "/nowhere/at/all"])
def test_a_missing_password_file_is_refused(path: str | None) -> None:
    with pytest.raises(ValueError, match="ARANGO_PASSWORD_FILE"):
        opening.locate(Configuration(arango_password_file=path))


def test_opening_the_embedded_store_loads_no_database_driver() -> None:
    program = (
        "import sys; from pathlib import Path; from steelyard_store import opening; opening.open_reader(Path('s.db'));"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"arango", "arangoasync", "aiohttp", "requests"}


def test_only_the_owner_can_read_a_new_store_and_an_old_one_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    usual = os.umask(0o022)
    try:
        writing.create(path, MODEL)
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
        path.chmod(0o640)
        writing.create(path, MODEL)
    finally:
        os.umask(usual)
    assert set(modes.values()) == {0o600}, modes
    assert path.stat().st_mode & 0o777 == 0o640
