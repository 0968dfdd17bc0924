"""The `adaptive` rule: keep a candidate if what it adds is worth more than what it costs."""

import numpy as np
import numpy.typing as npt

from steelyard_contracts.enums import Reason

from .embeddings import UnitEmbeddings
from .novelty import NoveltyMeter
from .result import ValueTerms
from .settings import SelectionSettings
from .value import confusion_cost, novelty_weight, relevance


def adaptive_reasons(
    scores: npt.NDArray[np.float64],
    token_counts: npt.NDArray[np.int64],
    embeddings: UnitEmbeddings,
    settings: SelectionSettings,
) -> tuple[list[Reason], list[ValueTerms]]:
    """Return one reason and the terms of the formula per candidate.

    A candidate is kept if its value is greater than `min_value_threshold`. When none is, the first one is kept as
    `kept_floor` if its score reaches `adaptive_floor_score`; the terms stay those on which it had failed.

    Args:
        scores: float64[n], descending, in [0, 1].
        token_counts: int64[n].
        embeddings: of the same n candidates in the same order.
        settings: the formula's constants.
    """
    if len(scores) == 0:
        return [], []
    relevances = relevance(scores)
    confusion_costs = confusion_cost(scores)
    token_costs = settings.token_cost_alpha * token_counts
    costs = token_costs + settings.confusion_cost_weight * confusion_costs

    meter = NoveltyMeter(embeddings)
    reasons: list[Reason] = []
    novelties: list[float] = []
    weights: list[float] = []
    for position, (gain, cost) in enumerate(zip(relevances.tolist(), costs.tolist(), strict=True)):
        novelty = meter.at(position)
        weight = novelty_weight(novelty, settings.novelty_sigmoid_a, settings.novelty_sigmoid_b)
        if gain * weight - cost > settings.min_value_threshold:
            meter.keep(position)
            reasons.append(Reason.SELECTED)
        else:
            reasons.append(Reason.VALUE_BELOW_THRESHOLD)
        novelties.append(novelty)
        weights.append(weight)
    utilities = relevances * np.array(weights)

    floor = settings.adaptive_floor_score
    if Reason.SELECTED not in reasons and floor is not None and scores[0] >= floor:
        reasons[0] = Reason.KEPT_FLOOR
    columns = (
        relevances.tolist(),
        novelties,
        weights,
        utilities.tolist(),
        token_counts.tolist(),
        token_costs.tolist(),
        confusion_costs.tolist(),
        costs.tolist(),
        (utilities - costs).tolist(),
    )
    return reasons, list(map(ValueTerms, *columns))
