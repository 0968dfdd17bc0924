"""What every service says about itself."""

from typing import Any

from pydantic import Field

from .base import Bool, Response


class Dependency(Response):
    """A thing that a service uses, as it was when it was last looked at; `cause` says why it is not ready.

    Without one that is not `required`, the service works and says in its replies that they are degraded.
    """

    name: str
    ready: bool
    required: Bool = True
    cause: str | None = None


class Readiness(Response):
    """Whether a service can do its work now."""

    service: str
    ready: bool
    dependencies: list[Dependency]


class HealthCheck(Response):
    """OPEA's health reply."""

    service_title: str = Field(serialization_alias="Service Title")
    service_description: str = Field(serialization_alias="Service Description")
    service_version: str = Field(serialization_alias="Version")


class Info(Response):
    """What a service is and what it will accept. `policy` is what `policy_hash` is the hash of."""

    service: str
    version: str
    policy_hash: str
    policy: dict[str, Any] = Field(default_factory=dict)
    limits: dict[str, int | float | None] = Field(default_factory=dict)
    models: dict[str, Any] = Field(default_factory=dict)


class Statistics(Response):
    """Bounded counters of one endpoint since start: requests, and errors by HTTP status.

    The percentiles are of the times of its latest requests.
    """

    endpoint: str
    requests: int
    errors: dict[str, int]
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
