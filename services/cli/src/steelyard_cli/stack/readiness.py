"""Asking a service whether it is ready."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import requests
from pydantic import ValidationError

from steelyard_contracts.health import Readiness

_TIMEOUT_S = (1.0, 5.0)


@dataclass(frozen=True, slots=True)
class Probe:
    """One look at a service: `causes` say why it is not ready, each naming the dependency it is about."""

    ready: bool
    reachable: bool
    causes: list[str]


def probe(url: str) -> Probe:
    """Ask a readiness endpoint; a service that does not answer is not ready, which is no error here."""
    session = requests.Session()
    # A proxy that is meant for the outside must not be asked about this host's own services.
    session.trust_env = False
    try:
        with session:
            response = session.get(url, timeout=_TIMEOUT_S, allow_redirects=False)
    except requests.ConnectionError:
        return Probe(ready=False, reachable=False, causes=["does not listen yet"])
    except requests.Timeout:
        return Probe(ready=False, reachable=False, causes=[f"no answer within {_TIMEOUT_S[1]:g} s"])
    except requests.RequestException as error:
        return Probe(ready=False, reachable=False, causes=[f"no HTTP answer: {error}"])
    if response.status_code == 200:
        return Probe(ready=True, reachable=True, causes=[])
    return Probe(ready=False, reachable=True, causes=_causes(response))


def probe_all(urls: list[str]) -> list[Probe]:
    """Ask several at the same time, so that one that hangs does not delay the others."""
    if not urls:
        return []
    with ThreadPoolExecutor(max_workers=len(urls)) as pool:
        return list(pool.map(probe, urls))


def _causes(response: requests.Response) -> list[str]:
    status = f"answers with status {response.status_code}"
    try:
        readiness = Readiness.model_validate_json(response.content)
    except ValidationError:
        return [_said(response) or status]
    causes = [f"{it.name}: {it.cause or 'not ready'}" for it in readiness.dependencies if it.required and not it.ready]
    return causes or [status]


def _said(response: requests.Response) -> str | None:
    """The words of a server that answers in OpenAI's error objects, as model servers do while they load."""
    try:
        message = response.json()["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return None
    return str(message)
