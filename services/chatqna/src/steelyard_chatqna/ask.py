"""One question with everything that decides how its evidence is found and selected."""

from dataclasses import dataclass
from typing import TypeVar

from steelyard_contracts.chat import EvidenceOverrides
from steelyard_contracts.enums import HierarchicalMode, SearchType, Strategy
from steelyard_runtime.guard import Caller

from .scopes import readable
from .settings import ChatqnaSettings

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Ask:
    """The effective values: a request's override where it has one (0 is one), else the gateway's setting.

    `query` is what evidence is sought for: the `question`, unless that only has a meaning after others.
    """

    question: str
    query: str
    scopes: tuple[str, ...]
    search_type: SearchType
    k: int
    strategy: Strategy
    top_n: int
    threshold: float
    fetch_k: int | None
    lambda_mult: float | None
    score_threshold: float | None
    distance_threshold: float | None
    hierarchical_mode: HierarchicalMode | None = None

    @classmethod
    def of(
        cls, question: str, overrides: EvidenceOverrides, settings: ChatqnaSettings, caller: Caller | None = None
    ) -> "Ask":
        """Merge a request's overrides with the settings. Raises `scope_forbidden` or `scope_unknown`.

        A request that names no scope searches all those of its key, or without keys (`caller` None) the default one.
        """
        return cls(
            question=question,
            query=question,
            scopes=readable(overrides.scopes, settings.steelyard_scopes, caller or Caller()),
            search_type=_given(overrides.search_type, settings.search_type),
            k=_given(overrides.k, settings.rerank_candidates),
            strategy=_given(overrides.reranking_strategy, settings.reranking_strategy),
            top_n=_given(overrides.top_n, settings.reranker_top_n),
            threshold=_given(overrides.reranking_threshold, settings.reranking_threshold),
            fetch_k=overrides.fetch_k,
            lambda_mult=overrides.lambda_mult,
            score_threshold=overrides.score_threshold,
            distance_threshold=overrides.distance_threshold,
            hierarchical_mode=overrides.hierarchical_mode,
        )

    @property
    def rewritten(self) -> str | None:
        """What evidence was sought for, None if that was the question as it stands."""
        return None if self.query == self.question else self.query

    @property
    def policy(self) -> dict[str, str | int | float | None]:
        """The part of the policy that this request decides."""
        return {
            "search_type": self.search_type,
            "k": self.k,
            "strategy": self.strategy,
            "top_n": self.top_n,
            "threshold": self.threshold,
            "fetch_k": self.fetch_k,
            "lambda_mult": self.lambda_mult,
            "score_threshold": self.score_threshold,
            "distance_threshold": self.distance_threshold,
            "hierarchical_mode": self.hierarchical_mode,
        }


def _given(override: Value | None, setting: Value) -> Value:
    return setting if override is None else override
