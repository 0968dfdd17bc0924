"""Prometheus metrics and the bounded statistics of each endpoint."""

from collections import Counter, deque
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client import Counter as PrometheusCounter

from steelyard_contracts.health import Statistics

_SAMPLES = 1024
"""Times kept per endpoint for its percentiles; older ones are forgotten, so that memory stays bounded."""


@dataclass(slots=True)
class _Endpoint:
    requests: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    times_ms: deque[float] = field(default_factory=lambda: deque(maxlen=_SAMPLES))


class Metrics:
    """The metrics of one service. `registry` is its own, so that two services in one process do not collide.

    `upstream_calls` has one of these results: `answered`, `refused` (an answer, but an error or an unusable one),
    `no_reply`, and without anything sent `circuit_open` and `bulkhead_full`.
    """

    def __init__(self, service: str) -> None:
        self.registry = CollectorRegistry()
        self._service = service
        self._endpoints: dict[str, _Endpoint] = {}
        self._requests = self.counter("requests_total", "Requests served.", ("endpoint", "status"))
        self._seconds = Histogram(
            "steelyard_request_seconds",
            "Time to the end of the reply.",
            ("service", "endpoint"),
            registry=self.registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120),
        )
        self.upstream_calls = self.counter("upstream_calls_total", "Calls to neighbours.", ("upstream", "result"))
        self.upstream_retries = self.counter("upstream_retries_total", "Calls that were repeated.", ("upstream",))
        self.spans = self.counter("spans_total", "Spans of traces, by what became of them.", ("result",))
        self.circuit_open = Gauge(
            "steelyard_upstream_circuit_open",
            "1 while a neighbour is not asked because its last calls got no reply.",
            ("upstream",),
            registry=self.registry,
        )

    def counter(self, name: str, meaning: str, labels: tuple[str, ...] = ()) -> PrometheusCounter:
        """A counter `steelyard_<name>` with the given labels."""
        return PrometheusCounter(f"steelyard_{name}", meaning, labels, registry=self.registry)

    def observe(self, endpoint: str, status: int, seconds: float) -> None:
        """Count one finished request. `endpoint` is the route's pattern, never the raw path."""
        self._requests.labels(endpoint, str(status)).inc()
        self._seconds.labels(self._service, endpoint).observe(seconds)
        entry = self._endpoints.setdefault(endpoint, _Endpoint())
        entry.requests += 1
        entry.times_ms.append(seconds * 1000)
        if status >= 400:
            entry.errors[str(status)] += 1

    def exposition(self) -> bytes:
        """The metrics in Prometheus's text format."""
        return generate_latest(self.registry)

    def statistics(self) -> list[Statistics]:
        """Counts since start and percentiles of the latest requests, per endpoint."""
        return [
            Statistics(
                endpoint=endpoint,
                requests=entry.requests,
                errors=dict(entry.errors),
                p50_ms=_percentile(entry.times_ms, 0.50),
                p90_ms=_percentile(entry.times_ms, 0.90),
                p99_ms=_percentile(entry.times_ms, 0.99),
            )
            for endpoint, entry in sorted(self._endpoints.items())
        ]


def _percentile(values: deque[float], share: float) -> float | None:
    if not values:
        return None
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)
