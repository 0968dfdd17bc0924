"""The study's figures for machines: JSON, and the curves as CSV."""

import csv
import io
from typing import Any

from .comparison import Row
from .study import Study


def figures(study: Study) -> dict[str, Any]:
    """Everything that the page says, by name."""
    tables = {
        "tuned": study.tuned,
        "robust": study.robust,
        "carried": study.carried,
        "published": study.published,
        "defaults": study.defaults,
    }
    return {
        "questions": dict(study.questions),
        "profiles": dict(study.profiles),
        "ceilings": {f"{cell.collection} {cell.condition}": cell.ceiling.as_json() for cell in study.cells},
        **{
            name: {
                f"{collection} {condition}": [_row(row) for row in rows]
                for (collection, condition), rows in one.items()
            }
            for name, one in tables.items()
        },
    }


def curves(study: Study) -> str:
    """Every point of every curve with its intervals, as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    columns = ("recall", "recall_low", "recall_high", "tokens", "tokens_low", "tokens_high")
    writer.writerow(["data_set", "condition", "method", "setting", *columns, "questions"])
    for cell in study.cells:
        for method in cell.odd:
            for point in cell.curve(method):
                recall, tokens = point.recall, point.tokens
                figures_of = [*(f"{v:.4f}" for v in (recall.mean, recall.low, recall.high))]
                figures_of += [*(f"{v:.1f}" for v in (tokens.mean, tokens.low, tokens.high))]
                writer.writerow([cell.collection, cell.condition, method, point.name, *figures_of, recall.n])
    return stream.getvalue()


def _row(row: Row) -> dict[str, Any]:
    return {
        "method": row.method,
        "wanted": row.wanted,
        "setting": row.point.name,
        "recall": row.point.recall.as_json(),
        "tokens": row.point.tokens.as_json(),
        "tokens_ratio": row.tokens_ratio,
        "tokens_less": None if row.tokens_less is None else row.tokens_less.as_json(),
        "recall_less": None if row.recall_less is None else row.recall_less.as_json(),
    }
