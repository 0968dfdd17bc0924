"""Settings: read strictly, refused by name, described from their declaration."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import pytest
from pydantic import Field, SecretStr, model_validator

from steelyard_contracts.enums import Strategy
from steelyard_runtime.settings import names
from steelyard_runtime.settings.base import Settings, SettingsError
from steelyard_runtime.settings.describe import allowed, as_text, default_text, type_name
from steelyard_runtime.settings.groups import ProcessSettings, ScopeSettings
from steelyard_runtime.settings.types import (
    BoolSetting,
    FloatSetting,
    HostSetting,
    IntSetting,
    NamesSetting,
    OptionalProbabilitySetting,
    OptionalTextSetting,
    UrlSetting,
)


class Sample(Settings):
    """Every kind of setting, under names that no service has."""

    secret_fields: ClassVar[frozenset[str]] = frozenset({"zz_key"})

    zz_count: Annotated[IntSetting, Field(ge=1, le=1000)] = 3
    zz_ratio: Annotated[FloatSetting, Field(gt=0, le=1)] = 0.5
    zz_bias: FloatSetting = 0.0
    zz_flag: BoolSetting = False
    zz_floor: OptionalProbabilitySetting = 0.5
    zz_file: OptionalTextSetting = None
    zz_names: Annotated[NamesSetting, Field(min_length=1)] = ("public",)
    zz_url: UrlSetting = "http://127.0.0.1:1"
    zz_host: HostSetting = "127.0.0.1"
    zz_mode: Literal["one", "two", "three"] = "one"
    zz_strategy: Strategy = Strategy.ADAPTIVE
    zz_path: Path = Path("a/b")
    zz_name: str = Field(default="n", min_length=1)
    zz_key: str = Field(default="", min_length=8, validate_default=False)
    zz_pin: SecretStr = SecretStr("")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.zz_mode == "three" and self.zz_count < 3:
            raise ValueError(f"ZZ_MODE='three' needs ZZ_COUNT of at least 3, it is {self.zz_count}")
        return self


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("STEELYARD_", "ZZ_"))]:
        monkeypatch.delenv(name)


def refusal(monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as error:
        Sample.load()
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("ZZ_COUNT", "1", 1),
        ("ZZ_COUNT", "1000", 1000),
        ("ZZ_RATIO", "1", 1.0),
        ("ZZ_RATIO", ".5", 0.5),
        ("ZZ_RATIO", "1e-3", 0.001),
        ("ZZ_BIAS", "-0.5", -0.5),
        ("ZZ_BIAS", "0", 0.0),
        ("ZZ_FLAG", "true", True),
        ("ZZ_FLAG", "false", False),
        ("ZZ_FLOOR", "0", 0.0),
        ("ZZ_FLOOR", "", None),
        ("ZZ_FILE", "", None),
        ("ZZ_NAMES", "a, b", ("a", "b")),
        ("ZZ_URL", "https://host.example:8443/base/", "https://host.example:8443/base"),
        ("ZZ_URL", "http://[::1]:6000", "http://[::1]:6000"),
        ("ZZ_URL", "http://tei_1:80", "http://tei_1:80"),
        ("ZZ_URL", "http://bücher.example.", "http://bücher.example."),
        ("ZZ_NAME", "証拠\u3000なし", "証拠\u3000なし"),
        ("ZZ_NAME", "نمی\u200cدانم 👩\u200d🔧", "نمی\u200cدانم 👩\u200d🔧"),
        ("ZZ_HOST", "::1", "::1"),
        ("ZZ_HOST", "node-1.example", "node-1.example"),
        ("ZZ_MODE", "two", "two"),
        ("ZZ_STRATEGY", "knee_threshold", Strategy.KNEE_THRESHOLD),
        ("ZZ_PATH", "/a b", Path("/a b")),
    ],
)
def test_a_good_value_is_read(monkeypatch: pytest.MonkeyPatch, name: str, text: str, value: object) -> None:
    monkeypatch.setenv(name, text)
    assert getattr(Sample.load(), name.lower()) == value


MUTANTS = {
    "ZZ_COUNT": ["0", "1001", "-1", "5.0", "5e0", "0x5", "five", "", "nan", "true", "1_0", "٥", "9" * 400, " 5", "5\n"],
    "ZZ_RATIO": [
        "0",
        "1.01",
        "-1",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "Infinity",
        "1e400",
        "1_0.5",
        "0,5",
        "half",
        "",
        "0x1p0",
    ],
    "ZZ_BIAS": ["nan", "inf", "1e999", "１", "--1"],
    "ZZ_FLAG": ["yes", "no", "1", "0", "on", "True", "FALSE", "t", ""],
    "ZZ_FLOOR": ["1.1", "-0.1", "nan", "none", "off", "null"],
    "ZZ_NAMES": ["", ",", "a,,b", "a,a", "a,", "a\nb", "a,\ufeffb"],
    "ZZ_URL": [
        "",
        "127.0.0.1:6000",
        "ftp://a",
        "http://",
        "http://a:99999",
        "http://a:b",
        "http://u:p@a",
        "http://a?x=1",
        "http://a#x",
        "http://a b",
        "//a",
        "http://:80",
        "http://[::1",
        "http://-",
        "http://-a",
        "http://a-.b",
        "http://.",
        "http://a..b",
        "http://256.0.0.1",
        "http://1.2.3",
        f"http://{'a' * 64}",
    ],
    "ZZ_HOST": ["", "a b", "-a", "a..b", "256.0.0.1/8", "http://a", "a_b", "256.0.0.1", "a.1"],
    "ZZ_MODE": ["", "One", "ONE", "four", "one "],
    "ZZ_STRATEGY": ["", "adaptiv", "ADAPTIVE", "0"],
    "ZZ_PATH": ["", "/a\nb"],
    "ZZ_FILE": ["a\x01", "a\x7fb", "/run/\u200bkey", "\udcff", "a\u2028b"],
    "ZZ_NAME": ["", "a\tb", "a\rb", "\ufeffn", "a\u2060"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in MUTANTS.items() for text in texts])
def test_a_bad_value_is_refused_with_key_value_allowed_and_default(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    message = refusal(monkeypatch, **{name: text})
    info = Sample.model_fields[name.lower()]
    shown = repr(text if len(text) <= 80 else text[:80] + "...")
    assert message.startswith(f"{name}={shown} ")
    assert message.endswith(f"; it should be {allowed(info)} (default {default_text(info)!r})")
    assert message.count("\n") == 0


def test_every_fault_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refusal(monkeypatch, ZZ_COUNT="0", ZZ_MODE="x", ZZ_URL="", STEELYARD_NO_SUCH="1")
    assert sorted(line.split("=")[0].split(" ")[0] for line in message.splitlines()) == [
        "STEELYARD_NO_SUCH",
        "ZZ_COUNT",
        "ZZ_MODE",
        "ZZ_URL",
    ]


@pytest.mark.parametrize("name", ["ZZ_KEY", "ZZ_PIN"])
def test_a_secret_value_is_never_shown(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    class Strict(Sample):
        zz_pin: SecretStr = Field(default=SecretStr(""), min_length=8, validate_default=False)

    monkeypatch.setenv(name, "hush")
    with pytest.raises(SettingsError) as error:
        Strict.load()
    assert f"{name}=<secret>" in str(error.value)
    assert "hush" not in str(error.value)


def test_settings_that_contradict_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refusal(monkeypatch, ZZ_MODE="three", ZZ_COUNT="2")
    assert message == "ZZ_MODE='three' needs ZZ_COUNT of at least 3, it is 2"


def test_binding_beyond_loopback_needs_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_BIND_HOST", "0.0.0.0")
    with pytest.raises(SettingsError, match=r"STEELYARD_BIND_HOST='0.0.0.0'.*STEELYARD_SERVICE_TOKEN_FILE"):
        ProcessSettings.load()
    monkeypatch.setenv("STEELYARD_SERVICE_TOKEN_FILE", "/run/secrets/token")
    assert ProcessSettings.load().steelyard_bind_host == "0.0.0.0"


def test_a_name_in_other_letters_is_another_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("zz_count", "7")
    assert Sample.load().zz_count == 3


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(ValueError, match="zz_coutn"):
        Sample(zz_coutn=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("STEELYARD_LOG_LEVLE", "STEELYARD_LOG_LEVEL"),
        ("STEELYARD_LOGLEVEL", "STEELYARD_LOG_LEVEL"),
        ("steelyard_log_level", "STEELYARD_LOG_LEVEL"),
        ("STEELYARD_SCOPE", "STEELYARD_SCOPES"),
        ("RERANKER_TOP_K", "RERANKER_TOP_N"),
        ("RERANKER_TOPN", "RERANKER_TOP_N"),
        ("RERANKING_STRATEGI", "RERANKING_STRATEGY"),
        ("NOVELTY_SIGMOID_C", "NOVELTY_SIGMOID_"),
        ("RETRIEVER_PROT", "RETRIEVER_PORT"),
        ("EMBEDING_URL", "EMBEDDING_URL"),
        ("DATAPREP_MAX_FILE_MIB", "DATAPREP_MAX_FILE_MB"),
    ],
)
def test_a_misspelt_name_is_refused_with_the_nearest(name: str, hint: str) -> None:
    assert names.unknown_names({name: "x"})[0].startswith(f"{name} is not a setting; did you mean {hint}")


def test_a_name_that_claims_to_be_ours_and_resembles_nothing() -> None:
    assert names.unknown_names({"STEELYARD_QQQQ": "x"})[0].startswith("STEELYARD_QQQQ is not a setting")
    assert names.unknown_names({"CHATQNA_QQQQQQQQQQQQ": "x"})[0].startswith("CHATQNA_QQQQQQQQQQQQ is not a setting")


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "STORE_NAME_OF_ANOTHER_PROGRAM",
        "RETRIEVER_SERVICE_HOST",
        "RETRIEVER_PORT_7000_TCP_ADDR",
        "RETRIEVER_SERVICE_HOST_IP",
        "EMBEDDING_SERVER_HOST_IP",
        "embedding_url",
        "XDG_RUNTIME_DIR",
    ],
)
def test_a_name_of_another_program_is_left_alone(name: str) -> None:
    assert names.unknown_names({name: "x"}) == []


def test_every_known_name_is_accepted() -> None:
    assert names.unknown_names(dict.fromkeys(names.known_names(), "x")) == []
    assert len(names.known_names()) > 20


@pytest.mark.parametrize(
    ("field", "words", "kind", "default"),
    [
        ("zz_count", "a whole number from 1 to 1000", "integer", "3"),
        ("zz_ratio", "a number above 0 and of at most 1", "number", "0.5"),
        ("zz_bias", "a number", "number", "0"),
        ("zz_flag", "true or false", "truth", "false"),
        ("zz_floor", "a number from 0 to 1, or empty", "number", "0.5"),
        ("zz_file", "a text, or empty", "text", ""),
        ("zz_names", "names separated by commas, none of them empty or twice", "names", "public"),
        ("zz_url", "an http or https URL without user information or query", "text", "http://127.0.0.1:1"),
        ("zz_host", "an IP address or a host name", "text", "127.0.0.1"),
        ("zz_mode", "one, two or three", "choice", "one"),
        ("zz_strategy", "slice, threshold, slice_threshold, knee_threshold or adaptive", "choice", "adaptive"),
        ("zz_path", "a path", "path", "a/b"),
        ("zz_name", "a text of at least 1 character", "text", "n"),
    ],
)
def test_a_setting_is_described_from_its_declaration(field: str, words: str, kind: str, default: str) -> None:
    info = Sample.model_fields[field]
    assert (allowed(info), type_name(info), default_text(info)) == (words, kind, default)


@pytest.mark.parametrize("settings_class", [Sample, ProcessSettings, ScopeSettings])
def test_a_default_written_as_text_is_read_back(
    monkeypatch: pytest.MonkeyPatch, settings_class: type[Settings]
) -> None:
    before = settings_class.load()
    for field, info in settings_class.model_fields.items():
        if field not in ("zz_key", "zz_pin"):
            monkeypatch.setenv(field.upper(), default_text(info))
    assert settings_class.load() == before


def test_numbers_are_written_as_they_are_read() -> None:
    assert [as_text(value) for value in (0.0025, 120.0, 0.1 + 0.2, 1e-9, 4_000_000.0)] == [
        "0.0025",
        "120",
        "0.30000000000000004",
        "1e-09",
        "4000000",
    ]


APP = """
from pathlib import Path
from fastapi import FastAPI
def build(settings):
    Path("built").touch()
    app = FastAPI()
    app.state.policy_hash = "policy"
    return app
def fail(settings):
    return 1 / 0
"""


def run_service(folder: Path, build: str = "sample_app:build", **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "sample_app.py").write_text(APP)
    (folder / "service.py").write_text(
        "import sys\n"
        "from steelyard_runtime.serve import run\n"
        "from steelyard_runtime.settings.groups import ProcessSettings\n"
        "try:\n"
        f"    run('sample', ProcessSettings, lambda settings: int(sys.argv[1]), {build!r})\n"
        "finally:\n"
        "    heavy = [name for name in ('fastapi', 'uvicorn', 'structlog', 'sample_app') if name in sys.modules]\n"
        "    sys.stdout.write(repr(heavy))\n"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STEELYARD_")}
    port = environment.pop("port", "0")
    return subprocess.run(
        [sys.executable, "service.py", port],
        cwd=folder,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("STEELYARD_MAX_BODY_MB", "0", "STEELYARD_MAX_BODY_MB='0'"),
        ("STEELYARD_REQUEST_TIMEOUT_S", "NaN", "STEELYARD_REQUEST_TIMEOUT_S='NaN'"),
        ("STEELYARD_LOG_LEVLE", "info", "did you mean STEELYARD_LOG_LEVEL?"),
    ],
)
def test_a_process_with_a_wrong_environment_ends_before_anything_heavy(
    tmp_path: Path, name: str, value: str, told: str
) -> None:
    ended = run_service(tmp_path, **{name: value})
    assert ended.returncode == 2
    assert told in ended.stderr
    assert ended.stderr.startswith("sample: ")
    assert "Traceback" not in ended.stderr
    assert ended.stdout == "[]"


def test_a_fault_of_the_program_is_not_called_a_fault_of_the_environment(tmp_path: Path) -> None:
    ended = run_service(tmp_path, "sample_app:fail")
    assert ended.returncode == 1
    assert "ZeroDivisionError" in ended.stderr


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = run_service(tmp_path, port=str(port))
    assert ended.returncode == 2
    assert f"can not listen on 127.0.0.1:{port}" in ended.stderr
    assert (tmp_path / "built").exists()


def test_a_process_says_where_it_listens_and_ends_on_a_signal(tmp_path: Path) -> None:
    (tmp_path / "sample_app.py").write_text(APP)
    script = (
        "from steelyard_runtime.serve import run\n"
        "from steelyard_runtime.settings.groups import ProcessSettings\n"
        "run('sample', ProcessSettings, lambda settings: 0, 'sample_app:build')\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert (said["event"], said["service"], said["host"]) == ("listening", "sample", "127.0.0.1")
        with socket.create_connection((said["host"], said["port"]), timeout=20) as connection:
            connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 200"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, -signal.SIGTERM)
