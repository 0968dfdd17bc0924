"""Which image is meant by a tag today: asks each image's registry and writes the answers to a lock file.

    python -m compose.digests images.lock IMAGE ...           writes; entries of other images stay
    python -m compose.digests images.lock --check IMAGE ...   writes nothing; exits with 1 when a tag has moved

`docker compose config --images` lists the images of a set of Compose files. The lock is a JSON object from the image's
name to what is run in its place, `repository@sha256:...`; the release role takes it as `steelyard_image_lock`. Digests
stand there and not in a Dockerfile, because not every engine takes them there. A digest is the SHA-256 of the manifest
that the registry sent, computed here. Registries are asked without a login.

Errors::

    DigestError    a name that is no image's, a registry that does not answer or does not know it; the message names it
"""

import hashlib
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_HUB = ("docker.io", "registry-1.docker.io")
_REFERENCE = re.compile(
    r"(?P<name>[a-z0-9]+([._-]+[a-z0-9]+)*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*):(?P<tag>[\w][\w.-]*)"
)
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
_MANIFESTS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_TIMEOUT_S = 20
_MOST_BYTES = 4 * 2**20


class DigestError(Exception):
    """An image could not be resolved."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An image's name: what stands before its tag, the registry's host, the repository there, and the tag."""

    name: str
    host: str
    repository: str
    tag: str

    @classmethod
    def of(cls, text: str) -> "Reference":
        """Read a name with a tag. Raises DigestError."""
        matched = _REFERENCE.fullmatch(text)
        if matched is None:
            raise DigestError(f"{text!r} should be an image with its tag, such as prom/prometheus:v3.5.0")
        name = matched["name"]
        first, _, rest = name.partition("/")
        if not rest or not ("." in first or ":" in first or first == "localhost"):
            return cls(name, _HUB[1], name if rest else f"library/{name}", matched["tag"])
        return cls(name, _HUB[1] if first == _HUB[0] else first, rest, matched["tag"])

    @property
    def url(self) -> str:
        """Where the registry keeps the manifest; a registry on this machine is asked without TLS, as engines do."""
        here = self.host.partition(":")[0] in ("localhost", "127.0.0.1")
        return f"http{'' if here else 's'}://{self.host}/v2/{self.repository}/manifests/{self.tag}"


def resolved(image: str) -> str:
    """`repository@sha256:...` for an image by its tag. Raises DigestError."""
    reference = Reference.of(image)
    headers = {"Accept": ", ".join(_MANIFESTS)}
    try:
        try:
            manifest = _read(reference.url, headers)
        except urllib.error.HTTPError as refused:
            token = _token(refused)
            if token is None:
                raise
            manifest = _read(reference.url, {**headers, "Authorization": f"Bearer {token}"})
    except urllib.error.HTTPError as error:
        why = {401: "wants a login", 403: "wants a login", 404: "does not have it"}.get(
            error.code, f"says {error.code}"
        )
        raise DigestError(f"{image}: {reference.host} {why}") from None
    except (OSError, ValueError) as error:
        raise DigestError(
            f"{image}: {reference.host} gave no usable answer ({type(error).__name__}: {error})"
        ) from None
    return f"{reference.name}@sha256:{hashlib.sha256(manifest).hexdigest()}"


def locked(images: Iterable[str], before: dict[str, str]) -> dict[str, str]:
    """The lock `before` with today's digest of each of `images`. Raises DigestError."""
    return dict(sorted({**before, **{image: resolved(image) for image in images}}.items()))


def _read(url: str, headers: dict[str, str]) -> bytes:
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - only http and https are made above
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as reply:  # noqa: S310
        body: bytes = reply.read(_MOST_BYTES + 1)
    if len(body) > _MOST_BYTES:
        raise ValueError(f"more than {_MOST_BYTES} bytes")
    return body


def _token(refused: urllib.error.HTTPError) -> str | None:
    """The token that a registry gives everybody, None when the refusal names nobody who would give one."""
    challenge = refused.headers.get("WWW-Authenticate", "")
    asked = dict(_CHALLENGE.findall(challenge))
    if refused.code != 401 or not challenge.lower().startswith("bearer ") or "realm" not in asked:
        return None
    if urllib.parse.urlsplit(asked["realm"]).scheme not in ("http", "https"):
        raise ValueError(f"a token from {asked['realm']}")
    query = urllib.parse.urlencode({key: asked[key] for key in ("service", "scope") if key in asked})
    answer: dict[str, Any] = json.loads(_read(f"{asked['realm']}?{query}", {}))
    token = answer.get("token", answer.get("access_token"))
    return str(token) if token else None


def main(arguments: list[str]) -> int:
    """Write or check a lock; returns the exit code."""
    check = "--check" in arguments
    words = [word for word in arguments if word != "--check"]
    if len(words) < 2:
        sys.stderr.write("usage: python -m compose.digests LOCK [--check] IMAGE ...\n")
        return 2
    path = Path(words[0])
    try:
        before: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        now = locked(words[1:], before)
    except (DigestError, OSError, ValueError) as error:
        sys.stderr.write(f"digests.py: {error}\n")
        return 1
    moved = [image for image in words[1:] if before.get(image) != now[image]]
    for image in moved:
        sys.stdout.write(f"{image}: {before.get(image, 'not locked')} -> {now[image]}\n")
    if check:
        return 1 if moved else 0
    path.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
