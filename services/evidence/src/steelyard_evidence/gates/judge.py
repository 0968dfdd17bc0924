"""All four gates together."""

from ..manifest import Manifest
from ..policy import Policy
from ..run.reading import Reader
from ..run.result import Run
from ..survival import PairEncoder
from . import identity
from .promotion import promotable
from .replay import replay
from .segments import compare
from .thresholds import Gates
from .verdict import Verdict


def judge(
    gates: Gates, manifest: Manifest, run: Run, proposed: Policy, reader: Reader, live: Policy | None = None
) -> list[Verdict]:
    """Every check of every gate, in order; what can not be checked because another check failed is left out.

    `live` is the policy that the proposed one is to replace, None when nothing is.
    """
    pairs = proposed.effective_pairs(manifest.pair_limit)
    verdicts = replay(gates.fixtures.required, reader.pair_format, pairs)
    verdicts.append(identity.reranker(manifest, reader.identity))
    verdicts += identity.declared(gates.identity, manifest, run, proposed)
    if live is not None:
        verdicts.append(identity.replaced(run, live, proposed))
    length = identity.supported(reader.pair_format, pairs)
    verdicts.append(length)
    verdicts.append(identity.offsets(PairEncoder(reader.tokenizer), manifest))
    if length.passed:
        verdicts.append(identity.windows_keep_identity(reader.pair_format, pairs, manifest))
        verdicts.append(identity.batches_keep_identity(reader, manifest, pairs))
    return [*verdicts, *compare(gates.segments, run), *promotable(gates.promotion, run)]
