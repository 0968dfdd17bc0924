"""Fit and report the constants of the local reranker: `python tests/bench/calibrate_local_reranker.py`.

Candidates are each question's 20 nearest chunks by cosine over the whole collection, as in production, so the fitted
probability is "this retrieved chunk supports the question". Constants are fitted on even-numbered questions of
chunking_eval and reported on odd ones and on hotpotqa. Nothing here looks at a list of candidates: every feature is a
function of one pair, so that a fixed logistic is valid. Needs the fetched MiniLM and the data of `STEELYARD_EVAL_DATA`
(default ../shared/data); takes about three and a half minutes of one core.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from steelyard_models.cache import locate
from steelyard_models.calibration import Calibration
from steelyard_models.catalogue import load_catalogue
from steelyard_models.encoder import OnnxTextEncoder, Vectors
from steelyard_models.foreign_script import character_grams, coverage
from steelyard_models.late_interaction import max_similarities
from steelyard_models.local_reranker import LateInteractionReranker
from steelyard_models.tokenizer import TextTokenizer
from tests.bench.calibrate_data import FOREIGN, Question, Task, chunking_eval, hotpotqa
from tests.bench.calibrate_metrics import (
    Flags,
    Floats,
    Groups,
    auc,
    expected_calibration_error,
    fit_logistic,
    log_loss,
    mean_average_precision,
)

MODEL = "all-minilm-l6-v2"
CANDIDATES = 20
THRESHOLDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3]
FEATURES = ["maxsim", "maxsim words", "maxsim rare", "cosine", "4-grams"]
BLENDS = [["cosine"], ["maxsim"], ["maxsim words"], ["maxsim rare"], ["4-grams"]]
BLENDS += [["maxsim", "cosine"], ["maxsim", "4-grams"], ["maxsim", "cosine", "4-grams"]]


Exclusion = Callable[[Task, Question], frozenset[int]]


@dataclass(frozen=True)
class Pairs:
    """One row per question and candidate: features [n, len(FEATURES)], support, question number, candidate's place."""

    features: Floats
    labels: Flags
    questions: Groups
    chunks: Groups

    def column(self, *names: str) -> Floats:
        return self.features[:, [FEATURES.index(name) for name in names]]

    def where(self, rows: Flags) -> "Pairs":
        return Pairs(self.features[rows], self.labels[rows], self.questions[rows], self.chunks[rows])


class Collection:
    """A task's texts, encoded once; token vectors are kept in half precision to fit into memory."""

    def __init__(self, encoder: OnnxTextEncoder, task: Task) -> None:
        self.task = task
        self.queries, self.query_tokens = encoder.embed_with_tokens([question.text for question in task.questions])
        pooled: list[Vectors] = []
        self.tokens: list[npt.NDArray[np.float16]] = []
        for start in range(0, len(task.chunks), 256):
            vectors, tokens = encoder.embed_with_tokens(task.chunks[start : start + 256])
            pooled.append(vectors)
            self.tokens += [rows.astype(np.float16) for rows in tokens]
        self.pooled = np.concatenate(pooled)
        self.grams = [character_grams(chunk) for chunk in task.chunks]

    def pairs(self, tokenizer: TextTokenizer, *, excluded: Exclusion = lambda _, __: frozenset()) -> Pairs:
        """The nearest candidates of every question, without unclear and excluded chunks."""
        rows, labels, numbers, chunks = [], [], [], []
        for number, question in enumerate(self.task.questions):
            cosines = self.pooled @ self.queries[number]
            left_out = question.unclear | excluded(self.task, question)
            nearest = [int(c) for c in np.argsort(-cosines, kind="stable") if int(c) not in left_out][:CANDIDATES]
            words, rarity = token_weights(tokenizer, question.text)
            grams = character_grams(question.text)
            for chunk in nearest:
                best = max_similarities(self.query_tokens[number], self.tokens[chunk].astype(np.float32))
                rows.append(
                    [best.mean(), best @ words, best @ rarity, cosines[chunk], coverage(grams, self.grams[chunk])]
                )
                labels.append(chunk in question.supported)
                numbers.append(number)
                chunks.append(chunk)
        return Pairs(np.array(rows, np.float64), np.array(labels), np.array(numbers), np.array(chunks))


def token_weights(tokenizer: TextTokenizer, text: str) -> tuple[Vectors, Vectors]:
    """Two weightings of query tokens that add up to 1: words only, and words by the rarity of their pieces.

    BERT's vocabulary is ordered by frequency, so by Zipf's law the logarithm of the id stands in for an idf.
    """
    encoded = tokenizer.encode(text)
    words = np.array([any(c.isalnum() for c in text[start:end]) for start, end in encoded.offsets], np.float32)
    ids = np.array([tokenizer.token_id(token) for token in encoded.tokens], np.float32)
    rarity = words * np.log(np.maximum(ids - 990, 2)) ** 2
    return words / words.sum(), rarity / rarity.sum()


def same_document_only(task: Task, question: Question) -> frozenset[int]:
    """No support: the question's own document stays, without every chunk that touches a gold span."""
    del task
    return question.supported


def other_documents_only(task: Task, question: Question) -> frozenset[int]:
    """No support: the question's own document is missing altogether."""
    own = {task.sources[chunk] for chunk in question.supported | question.unclear}
    return frozenset(chunk for chunk, source in enumerate(task.sources) if source in own)


def print_blends(fitted: Pairs, tests: dict[str, Pairs]) -> None:
    print("\nblends, fitted on even questions of chunking_eval (a real gain must show on every test set):")
    for names in BLENDS:
        slopes, intercept = fit_logistic(fitted.column(*names), fitted.labels)
        cells = []
        for name, pairs in tests.items():
            p = 1 / (1 + np.exp(-(pairs.column(*names) @ slopes + intercept)))
            cells.append(
                f"{name}: AUC {auc(p, pairs.labels):.4f}"
                f" MAP {mean_average_precision(p, pairs.labels, pairs.questions):.4f}"
                f" loss {log_loss(p, pairs.labels):.4f} ECE {expected_calibration_error(p, pairs.labels):.4f}"
            )
        print(f"  {' + '.join(names):<28} {' | '.join(cells)}  weights {np.round(slopes, 2)}")


def print_reliability(calibration: Calibration, pairs: Pairs) -> None:
    p = probabilities(calibration, pairs)
    print("\nreliability on odd questions of chunking_eval:")
    edges = [0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0]
    for low, high in pairwise(edges):
        inside = (p >= low) & (p < high)
        if inside.any():
            mean, share = p[inside].mean(), pairs.labels[inside].mean()
            print(f"  [{low:.2f}, {high:.2f})  n {inside.sum():5d}  mean {mean:.3f}  share {share:.3f}")


def print_abstention(calibration: Calibration, collection: Collection, tokenizer: TextTokenizer) -> None:
    """How far the best score of a question tells whether the collection supports an answer at all."""
    answerable = best_scores(calibration, collection.pairs(tokenizer))
    print("\nbest score of a question, share at or above the threshold (all questions of chunking_eval):")
    print(f"  {'':<34}" + "".join(f"{t:>8}" for t in THRESHOLDS))
    groups = {"answerable": answerable}
    for label, excluded in (
        ("gold chunks removed", same_document_only),
        ("own document removed", other_documents_only),
    ):
        groups[label] = best_scores(calibration, collection.pairs(tokenizer, excluded=excluded))
    for label, best in groups.items():
        values = np.concatenate([answerable, best])
        area = "" if label == "answerable" else f"AUC {auc(values, np.arange(len(values)) < len(answerable)):.3f}"
        print(f"  {label:<22} {area:<11}" + "".join(f"{(best >= t).mean():>8.2f}" for t in THRESHOLDS))


def best_scores(calibration: Calibration, pairs: Pairs) -> Floats:
    p = probabilities(calibration, pairs)
    return np.array([p[pairs.questions == number].max() for number in np.unique(pairs.questions)])


def probabilities(calibration: Calibration, pairs: Pairs) -> Floats:
    return np.array([calibration.probability(float(raw)) for raw in pairs.column("maxsim")[:, 0]])


def print_foreign(calibration: Calibration, encoder: OnnxTextEncoder) -> None:
    print("\nscripts that the encoder cannot read (own sentences; each question against every text of its language):")
    reranker = LateInteractionReranker(encoder, calibration)
    for language, entries in FOREIGN.items():
        texts = [text for _, text in entries]
        own = np.eye(len(entries), dtype=np.bool_)
        tokens = encoder.token_vectors(texts)
        plain = np.array(
            [[max_similarities(q, t).mean() for t in tokens] for q in encoder.token_vectors([q for q, _ in entries])]
        )
        raw = np.array([reranker.raw_scores(query, texts) for query, _ in entries])
        first = [float((scores.argmax(axis=1) == np.arange(len(entries))).mean()) for scores in (plain, raw)]
        print(
            f"  {language:<9} n {len(entries):2d}: first hits {first[0]:.2f} -> {first[1]:.2f}, AUC"
            f" {auc(plain.ravel().astype(np.float64), own.ravel()):.3f} -> {auc(raw.ravel(), own.ravel()):.3f},"
            f" least probability of an answer {calibration.probability(float(raw[own].min())):.3f},"
            f" greatest of another text {calibration.probability(float(raw[~own].max())):.3f}"
        )


def main() -> None:
    started = time.process_time()
    model = load_catalogue().model(MODEL)
    folder = locate(MODEL)
    encoder = OnnxTextEncoder(folder, threads=1, max_tokens=model.max_tokens)
    collection = Collection(encoder, chunking_eval(folder / "tokenizer.json"))
    pairs = collection.pairs(encoder.tokenizer)
    hotpot = Collection(encoder, hotpotqa(encoder.tokenizer, 500)).pairs(encoder.tokenizer)
    even = pairs.where(pairs.questions % 2 == 0)
    odd = pairs.where(pairs.questions % 2 == 1)
    for name, part in (("even", even), ("odd", odd), ("hotpotqa", hotpot)):
        count = len(np.unique(part.questions))
        print(f"{name:<9} {len(part.labels):5d} pairs of {count} questions, {part.labels.sum()} support")

    slope, intercept = fit_logistic(even.column("maxsim"), even.labels)
    gram_slope, gram_intercept = fit_logistic(even.column("4-grams"), even.labels)
    weights = next(file for file in model.files if file.name == "model.onnx_data")
    calibration = Calibration(
        slope=round(float(slope[0]), 2),
        intercept=round(intercept, 2),
        base_rate=round(float(even.labels.mean()), 4),
        # The raw score at which the two logistics agree.
        gram_slope=round(float(gram_slope[0] / slope[0]), 3),
        gram_intercept=round(float((gram_intercept - intercept) / slope[0]), 3),
        model_sha256=weights.sha256,
    )
    print_blends(even, {"odd": odd, "hotpotqa": hotpot})
    print_reliability(calibration, odd)
    print_abstention(calibration, collection, encoder.tokenizer)
    print_foreign(calibration, encoder)
    p = probabilities(calibration, odd)
    print(f"\n{time.process_time() - started:.0f} s of CPU time. late_interaction.toml:\n")
    print("# Written by tests/bench/calibrate_local_reranker.py. Fitted on the even questions of chunking_eval")
    print(f"# ({len(even.labels)} pairs, {even.labels.sum()} support); on the odd ones ({len(odd.labels)} pairs,")
    print(
        f"# {odd.labels.sum()} support): AUC {auc(p, odd.labels):.3f}, log-loss {log_loss(p, odd.labels):.3f},"
        f" calibration error {expected_calibration_error(p, odd.labels):.3f}."
    )
    print("[calibration]")
    for key, value in asdict(calibration).items():
        print(f"{key} = {value!r}".replace("'", '"'))


if __name__ == "__main__":
    main()
