"""Which address a command talks to, and what it shows there."""

import os
from pathlib import Path

from ..errors import StackError
from ..gateway.client import Service, read_token
from ..settings import AccessSettings
from ..supervisor.launch import running
from ..supervisor.plan import RunFolder
from .services import CHATQNA, DATAPREP, EMBEDDING, RETRIEVER, ServiceSpec


def gateway(url: str | None, timeout_s: float, state_dir: Path) -> Service:
    """The gateway, with the API key of `STEELYARD_API_KEY_FILE`; the services' own token is not for gateways."""
    key = AccessSettings.read().steelyard_api_key_file
    return _service(CHATQNA, _address(CHATQNA, url, state_dir), timeout_s, key)


def dataprep(url: str | None, timeout_s: float, state_dir: Path) -> Service:
    """The ingestion service, with the services' own token."""
    token = AccessSettings.read().steelyard_service_token_file
    return _service(DATAPREP, _address(DATAPREP, url, state_dir), timeout_s, token)


def embedding(timeout_s: float, state_dir: Path) -> Service:
    """The embedding service, with the services' own token."""
    token = AccessSettings.read().steelyard_service_token_file
    return _service(EMBEDDING, _address(EMBEDDING, None, state_dir), timeout_s, token)


def retriever(timeout_s: float, state_dir: Path) -> Service:
    """The retriever, with the services' own token."""
    token = AccessSettings.read().steelyard_service_token_file
    return _service(RETRIEVER, _address(RETRIEVER, None, state_dir), timeout_s, token)


def _service(spec: ServiceSpec, url: str, timeout_s: float, token_file: str | None) -> Service:
    return Service(spec.name, url, timeout_s=timeout_s, token=read_token(token_file))


def _address(spec: ServiceSpec, given: str | None, state_dir: Path) -> str:
    """The address on the command line, else of the environment's port, else of the run in `state_dir`, else usual."""
    if given is not None:
        return given.rstrip("/")
    if spec.port_variable not in os.environ:
        try:
            record = running(RunFolder(state_dir.absolute()))
        except StackError:
            # Only `up`, `down` and `status` need the record; it can be another's, unreadable, and no matter here.
            record = None
        for service in record.services if record is not None else []:
            if service.name == spec.name:
                return service.url
    return spec.url(os.environ)
