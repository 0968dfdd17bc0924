"""A client of an app in this process that asks as the loopback does: a service without a token answers nobody else."""

from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient


def local_client(app: FastAPI, **options: Any) -> TestClient:
    """Starlette's client under the loopback's name; `options` are its own."""
    return TestClient(app, base_url="http://127.0.0.1", **options)
