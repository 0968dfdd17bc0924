"""What the gateway holds while it runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from prometheus_client import Counter

from steelyard_runtime.floors import CosineFloors
from steelyard_runtime.upstream.http import Upstream


@dataclass(frozen=True, slots=True)
class Parts:
    """The neighbours of the pipeline and what it decides by. `policy` is the gateway's share of the policy hash."""

    embedding: Upstream
    retriever: Upstream
    reranker: Upstream
    policy: Mapping[str, Any]
    rerank_failure_policy: Literal["degrade", "fail"]
    rerank_degraded: Counter
    floors: CosineFloors
