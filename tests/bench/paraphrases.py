"""Whether vector similarity tells a paraphrase of the evidence from something that it does not say.

    python -m tests.bench.paraphrases

The sentences of `paraphrases.json` hold no number, name or date that would decide: they say in other words what their
evidence says, or something of the same subject that it does not say. Each is compared with every sentence of its
evidence by the embedding model, the best one counts. AUC is the share of pairs, one of each kind, in which the
paraphrase is more similar: 0.5 is a coin. `found` is the share of paraphrases above the most similar other sentence.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from steelyard_chatqna.grounding import SentChunk, attribute
from steelyard_chatqna.grounding.sentences import split_sentences
from steelyard_models.cache import locate
from steelyard_models.catalogue import load_catalogue
from steelyard_models.encoder import OnnxTextEncoder, Vectors
from steelyard_models.late_interaction import max_similarities

DATA = Path(__file__).with_suffix(".json")
MODEL = "all-minilm-l6-v2"

Similarity = Callable[[Vectors, Vectors, Vectors, Vectors], float]
"""Of one sentence to another: token vectors of both, then the vectors of both."""


def worst_third(tokens: Vectors, other: Vectors, _one: Vectors, _two: Vectors) -> float:
    """The mean over the third of the tokens that have the least similar partner."""
    best = np.sort(max_similarities(tokens, other))
    return float(best[: max(1, len(best) // 3)].mean())


SIMILARITIES: dict[str, Similarity] = {
    "tokens, mean": lambda tokens, other, _one, _two: float(max_similarities(tokens, other).mean()),
    "tokens, from the evidence": lambda tokens, other, _one, _two: float(max_similarities(other, tokens).mean()),
    "tokens, worst third": worst_third,
    "sentences, cosine": lambda _tokens, _other, one, two: float(one @ two),
}


def marked(evidence: str, sentence: str) -> bool:
    """Whether the gateway's own rules, which go by words, mark the sentence as unsupported."""
    return bool(attribute(sentence, [SentChunk(1, "c", evidence)]).unsupported)


def measured(encoder: OnnxTextEncoder, evidence: str, sentence: str) -> dict[str, float]:
    """The similarity to the most similar sentence of the evidence, by each measure."""
    texts = [sentence, *(evidence[one.start : one.end] for one in split_sentences(evidence))]
    (vector, *vectors), (tokens, *others) = encoder.embed_with_tokens(texts)
    return {
        name: max(of(tokens, other, vector, one) for other, one in zip(others, vectors, strict=True))
        for name, of in SIMILARITIES.items()
    }


def auc(paraphrases: Sequence[float], others: Sequence[float]) -> float:
    """The share of pairs in which the paraphrase has the higher value; ties count half."""
    return float(np.mean([(one > two) + 0.5 * (one == two) for one in paraphrases for two in others]))


def main() -> None:
    """Print what the words and each similarity make of the sentences."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    encoder = OnnxTextEncoder(locate(MODEL, None), max_tokens=load_catalogue().embedding(MODEL).max_tokens)
    rows = [
        (bool(one["supported"]), marked(evidence, one["text"]), measured(encoder, evidence, one["text"]))
        for one in data["sentences"]
        for evidence in [data["evidence"][one["of"]]]
    ]
    for kind, supported in (("paraphrases", True), ("others", False)):
        of_kind = [is_marked for is_supported, is_marked, _ in rows if is_supported is supported]
        print(f"{kind}: {len(of_kind)}, of which the rules mark {sum(of_kind)} as unsupported")
    for title, only_marked in (("all", False), ("those that the rules mark", True)):
        print(f"{title}:")
        for name in SIMILARITIES:
            considered = [(is_supported, found[name]) for is_supported, mark, found in rows if mark or not only_marked]
            paraphrases = [value for is_supported, value in considered if is_supported]
            others = [value for is_supported, value in considered if not is_supported]
            found = np.mean([value > max(others) for value in paraphrases])
            print(f"  {name:26} AUC {auc(paraphrases, others):.2f}  found {found:.2f}")


if __name__ == "__main__":
    main()
