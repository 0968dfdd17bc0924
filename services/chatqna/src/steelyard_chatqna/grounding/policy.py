"""What becomes of an answer after attribution."""

from enum import StrEnum

from steelyard_contracts.enums import GroundednessPolicy

from .attribution import Attribution


class Decision(StrEnum):
    """Whether the model's answer is given, or the no-evidence answer in its place."""

    KEEP = "keep"
    ABSTAIN = "abstain"


def decide(attribution: Attribution, policy: GroundednessPolicy) -> Decision:
    """Abstain under `GroundednessPolicy.ABSTAIN` when every key fact of the answer is unsupported.

    An answer with one supported claim is kept, its other sentences marked; an answer without key facts (a courtesy, the
    model saying that it does not know) claims nothing that could be unsupported and is kept.
    """
    unfounded = bool(attribution.unsupported_facts) and not attribution.supported_facts
    return Decision.ABSTAIN if unfounded and policy is GroundednessPolicy.ABSTAIN else Decision.KEEP
