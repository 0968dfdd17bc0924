"""Token survival: which tokens of the evidence are still in the pair that the reranker reads."""

from .inspection import Inspection, inspect
from .pair_encoder import PairEncoder, PairTokens, TruncationStrategy

__all__ = ["Inspection", "PairEncoder", "PairTokens", "TruncationStrategy", "inspect"]
