import io
import json
from pathlib import Path

import pytest

from steelyard_models import __main__ as cli
from steelyard_models import cache
from steelyard_models.progress import FetchProgress, TerminalProgress
from tests.unit.models.toy_models import CONTENT, Hub, catalogue, hub_source


@pytest.fixture
def toys(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Hub:
    found = catalogue(hub_source(hub.url))
    monkeypatch.setattr(cli, "load_catalogue", lambda: found)
    monkeypatch.setattr(cache, "load_catalogue", lambda: found)
    return hub


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_fetch_list_verify(toys: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--cache-dir", str(tmp_path))
    code, out, _ = run(capsys, "list", "--json", *where)
    assert (code, [row["state"] for row in json.loads(out)]) == (0, ["absent"])
    assert run(capsys, "verify", *where)[1] == "nothing is cached\n"
    code, out, err = run(capsys, "fetch", *where)
    assert (code, out) == (0, f"toy  {tmp_path / 'toy'}\n")
    assert "toy: weights.bin 100 % of 0.1 MB\n" in err
    assert len(toys.requests) == len(CONTENT)
    code, out, err = run(capsys, "fetch", "toy", "--json", "--offline", *where)
    assert (json.loads(out), err) == ([{"name": "toy", "path": str(tmp_path / "toy")}], "")
    assert "verified" in run(capsys, "list", *where)[1]
    assert run(capsys, "verify", *where)[1] == "toy  ok\n"
    (tmp_path / "toy" / "weights.bin").write_bytes(b"")
    assert "unverified" in run(capsys, "list", *where)[1]
    code, out, err = run(capsys, "verify", "--json", *where)
    assert (code, out, json.loads(err)["error"]["code"]) == (1, "", "model_corrupt")


def test_unknown_name_is_an_error(toys: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "fetch", "toi", "--cache-dir", str(tmp_path))
    assert (code, out) == (1, "")
    assert err.startswith("error: no model is named 'toi'")


def test_source_choice_is_passed_on(toys: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "fetch", "--source", "package", "--cache-dir", str(tmp_path))
    assert code == 1
    assert "no source was allowed" in err
    assert toys.requests == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_redraws_on_a_terminal_only() -> None:
    steps = [FetchProgress("toy", "w", done, 100, "") for done in (0, 5, 99, 100)]
    plain, terminal = io.StringIO(), Terminal()
    for stream in (plain, terminal):
        show = TerminalProgress(stream)
        show(FetchProgress("toy", "", 0, 0, "from the hub"))
        for step in steps:
            show(step)
    assert plain.getvalue().splitlines() == [
        "toy: from the hub",
        "toy: w 0 % of 0.0 MB",
        "toy: w 90 % of 0.0 MB",
        "toy: w 100 % of 0.0 MB",
    ]
    assert terminal.getvalue().endswith(f"w [{'#' * 30}] 0.0/0.0 MB\n")
