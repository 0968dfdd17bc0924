"""A reranker's configuration as the laboratory compares it: read by the reranker's own settings class."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from steelyard_contracts.enums import Strategy
from steelyard_reranker.pairs import PairSettings
from steelyard_reranker.selection import SelectionSettings
from steelyard_reranker.settings import RerankerSettings
from steelyard_runtime.settings.types import EnvironmentText, OptionalCountSetting

from .errors import PolicyError


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
    """What decides which candidates are kept. `candidates` is how many of the retrieved are looked at, None is all."""

    strategy: Strategy = Strategy.ADAPTIVE
    selection: SelectionSettings = field(default_factory=SelectionSettings)
    pairs: PairSettings = field(default_factory=PairSettings)
    candidates: int | None = None

    def with_pairs(self, **changes: Any) -> "Policy":
        """The same policy but for some bounds of its pairs."""
        return replace(self, pairs=replace(self.pairs, **changes))

    def with_candidates(self, count: int | None) -> "Policy":
        """The same policy with another number of candidates."""
        return replace(self, candidates=count)

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
        }


def read_policy(settings: Mapping[str, str]) -> Policy:
    """Make a policy of KEY=VALUE settings; what does not bear on it is left aside, an absent one has its default.

    Raises PolicyError naming the setting and its value.
    """
    known = _PolicySettings.model_fields
    fields = {name.lower(): EnvironmentText(value) for name, value in settings.items() if name.lower() in known}
    try:
        read = _PolicySettings(**fields)  # type: ignore[arg-type]  # texts of an env file
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]).upper() if first["loc"] else "settings"
        raise PolicyError(f"{name}={settings.get(name, '')!r}: {first['msg']}") from error
    return Policy(read.reranking_strategy, read.selection, read.pairs, read.rerank_candidates)


def _plain(value: Any) -> Any:
    return value if type(value) in (int, float, bool) else str(value)
