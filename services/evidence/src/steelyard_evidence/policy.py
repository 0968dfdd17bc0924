"""A reranker's configuration as the laboratory compares it: read by the reranker's own settings class."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from steelyard_contracts.enums import ScoreKind, Strategy
from steelyard_reranker.pairs import PairSettings
from steelyard_reranker.selection import SelectionSettings
from steelyard_reranker.settings import RerankerSettings
from steelyard_runtime.floors import CosineFloors
from steelyard_runtime.settings.types import EnvironmentText, OptionalCountSetting

from .errors import PolicyError
from .manifest import FrozenCandidate


class _PolicySettings(RerankerSettings):
    """The reranker's settings from a mapping alone: the environment of the laboratory must not leak into a policy."""

    rerank_candidates: OptionalCountSetting = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  pydantic-settings calls with these names
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is handed over."""
        return (init_settings,)


@dataclass(frozen=True, slots=True)
class Policy:
    """What decides which candidates are kept.

    `candidates` is how many of the retrieved are looked at, None is all; `floors` drop some of them before reranking.
    """

    strategy: Strategy = Strategy.ADAPTIVE
    selection: SelectionSettings = field(default_factory=SelectionSettings)
    pairs: PairSettings = field(default_factory=PairSettings)
    candidates: int | None = None
    floors: CosineFloors = field(default_factory=CosineFloors)

    def with_pairs(self, **changes: Any) -> "Policy":
        """The same policy but for some bounds of its pairs."""
        return replace(self, pairs=replace(self.pairs, **changes))

    def with_candidates(self, count: int | None) -> "Policy":
        """The same policy with another number of candidates."""
        return replace(self, candidates=count)

    def looked_at(self, candidates: Sequence[FrozenCandidate]) -> list[FrozenCandidate]:
        """Those of a query's candidates that are reranked, in retrieved order."""
        first = candidates if self.candidates is None else candidates[: self.candidates]
        cosines = {one.id: one.scores[ScoreKind.COSINE] for one in first if ScoreKind.COSINE in one.scores}
        below = self.floors.below(cosines)
        return [one for one in first if one.id not in below]

    def effective_pairs(self, limit: int) -> PairSettings:
        """The bounds of its pairs; where they name no budget, the pair limit of the manifest."""
        return self.pairs if self.pairs.budget is not None else replace(self.pairs, budget=limit)

    def as_json(self) -> dict[str, Any]:
        """Every field by name."""
        return {
            "strategy": str(self.strategy),
            "selection": asdict(self.selection),
            "pairs": {name: value if value is None else _plain(value) for name, value in asdict(self.pairs).items()},
            "candidates": self.candidates,
            "floors": asdict(self.floors),
        }


def read_policy(settings: Mapping[str, str]) -> Policy:
    """Make a policy of KEY=VALUE settings; what does not bear on it is left aside, an absent one has its default.

    Raises PolicyError naming the setting and its value.
    """
    read = _read(settings)
    return Policy(read.reranking_strategy, read.selection, read.pairs, read.rerank_candidates, read.cosine_floors)


def reranker_settings(settings: Mapping[str, str]) -> RerankerSettings:
    """The reranker service's settings of KEY=VALUE settings, as it would read them of its environment.

    Raises PolicyError naming the setting and its value.
    """
    return _read(settings)


def names_reranker(settings: Mapping[str, str]) -> dict[str, str]:
    """Those of KEY=VALUE settings that say which reranker scores."""
    return {name: settings[name] for name in sorted(_WHICH_RERANKER & settings.keys())}


_WHICH_RERANKER = frozenset(
    {
        "EMBEDDING_BACKEND",
        "EMBEDDING_MODEL_ID",
        "RERANKER_MODEL_ID",
        "RERANK_BACKEND",
        "RERANK_DIALECT",
        "RERANK_MODEL_DIR",
        "RERANK_URL",
    }
)


def _read(settings: Mapping[str, str]) -> _PolicySettings:
    known = _PolicySettings.model_fields
    fields = {name.lower(): EnvironmentText(value) for name, value in settings.items() if name.lower() in known}
    try:
        return _PolicySettings(**fields)  # type: ignore[arg-type]  # texts of an env file
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        said = first["msg"].removeprefix("Value error, ")
        if not first["loc"]:
            raise PolicyError(said) from error
        name = str(first["loc"][0]).upper()
        raise PolicyError(f"{name}={settings.get(name, '')!r}: {said}") from error


def _plain(value: Any) -> Any:
    return value if type(value) in (int, float, bool) else str(value)
