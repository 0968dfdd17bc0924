"""A tag becomes the digest of what its registry sends for it, and nothing else."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from compose.digests import DigestError, Reference, main, resolved
from tests.unit.cli.doubles import Call, Double, Reply

MANIFEST = b'{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json"}'
DIGEST = f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}"
ROUTE = "GET /v2/team/prometheus/manifests/v3"


@pytest.fixture
def registry() -> Iterator[Double]:
    double = Double()
    double.routes[ROUTE] = (200, {}, MANIFEST)
    yield double
    double.stop()


def image(registry: Double, tag: str = "v3") -> str:
    return f"127.0.0.1:{registry.port}/team/prometheus:{tag}"


@pytest.mark.parametrize(
    ("text", "host", "repository", "tag"),
    [
        ("prom/prometheus:v3.5.0", "registry-1.docker.io", "prom/prometheus", "v3.5.0"),
        ("debian:bookworm-slim", "registry-1.docker.io", "library/debian", "bookworm-slim"),
        ("docker.io/prom/prometheus:v3", "registry-1.docker.io", "prom/prometheus", "v3"),
        (
            "ghcr.io/huggingface/text-embeddings-inference:cpu-1.8",
            "ghcr.io",
            "huggingface/text-embeddings-inference",
            "cpu-1.8",
        ),
        ("localhost:5000/a/b:1", "localhost:5000", "a/b", "1"),
    ],
)
def test_a_name_says_which_registry_is_asked_for_what(text: str, host: str, repository: str, tag: str) -> None:
    found = Reference.of(text)
    assert (found.host, found.repository, found.tag) == (host, repository, tag)
    assert found.url == f"{'http' if 'localhost' in host else 'https'}://{host}/v2/{repository}/manifests/{tag}"


@pytest.mark.parametrize("text", ["prom/prometheus", "Prom/x:1", "a b:1", "", "x@sha256:00", "a/:1", "../x:1"])
def test_what_is_no_image_with_a_tag_is_refused(text: str) -> None:
    with pytest.raises(DigestError, match="should be an image with its tag"):
        Reference.of(text)


def test_the_digest_is_the_hash_of_the_manifest_and_not_what_a_header_claims(registry: Double) -> None:
    registry.routes[ROUTE] = (200, {"Docker-Content-Digest": "sha256:" + "0" * 64}, MANIFEST)
    assert resolved(image(registry)) == f"127.0.0.1:{registry.port}/team/prometheus@{DIGEST}"
    assert "application/vnd.oci.image.index.v1+json" in registry.calls[0].headers["accept"]


def test_a_registry_that_gives_everybody_a_token_is_asked_for_one(registry: Double) -> None:
    scope = "repository:team/prometheus:pull"
    challenge = f'Bearer realm="{registry.url}/token",service="reg",scope="{scope}"'

    def guarded(call: Call) -> Reply:
        known = call.headers.get("authorization") == "Bearer abc"
        return (200, {}, MANIFEST) if known else (401, {"WWW-Authenticate": challenge}, b"")

    registry.routes[ROUTE] = guarded
    registry.routes[f"GET /token?service=reg&scope={quote(scope, safe='')}"] = (200, {}, b'{"token": "abc"}')
    assert resolved(image(registry)).endswith(DIGEST)


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [
        (404, {}, "does not have it"),
        (401, {"WWW-Authenticate": 'Basic realm="x"'}, "wants a login"),
        (403, {}, "wants a login"),
        (500, {}, "says 500"),
        (401, {"WWW-Authenticate": 'Bearer realm="file:///etc/passwd"'}, "gave no usable answer"),
    ],
)
def test_a_registry_that_refuses_is_named(registry: Double, status: int, headers: dict[str, str], said: str) -> None:
    registry.routes[ROUTE] = (status, headers, b"")
    with pytest.raises(DigestError, match=rf"^127.0.0.1:{registry.port}/team/prometheus:v3: 127.0.0.1:.* {said}"):
        resolved(image(registry))


def test_a_registry_that_is_not_there_is_named() -> None:
    with pytest.raises(DigestError, match="gave no usable answer"):
        resolved("127.0.0.1:9/a:1")


def test_a_lock_keeps_other_entries_and_says_when_a_tag_moves(
    registry: Double, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = tmp_path / "images.lock"
    lock.write_text('{"other:1": "other@sha256:1"}')
    name = image(registry)
    assert main([str(lock), "--check", name]) == 1
    assert json.loads(lock.read_text()) == {"other:1": "other@sha256:1"}
    assert main([str(lock), name]) == 0
    assert json.loads(lock.read_text()) == {
        name: f"127.0.0.1:{registry.port}/team/prometheus@{DIGEST}",
        "other:1": "other@sha256:1",
    }
    capsys.readouterr()
    assert main([str(lock), "--check", name]) == 0
    assert capsys.readouterr().out == ""
    lock.write_text(lock.read_text().replace(DIGEST, "sha256:of-before"))
    assert main([str(lock), "--check", name]) == 1
    assert "sha256:of-before -> " in capsys.readouterr().out


def test_a_lock_is_not_written_when_one_image_can_not_be_resolved(
    registry: Double, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = tmp_path / "images.lock"
    assert main([str(lock), image(registry), image(registry, "none")]) == 1
    assert not lock.exists()
    assert "prometheus:none: 127.0.0.1" in capsys.readouterr().err
    assert main([str(lock)]) == 2
