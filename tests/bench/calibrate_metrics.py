"""Measures of the calibration script: ranking, probability and a two-parameter logistic fit."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Groups = npt.NDArray[np.int64]


def auc(scores: Floats, labels: Flags) -> float:
    """Area under the ROC curve over all pairs: the chance that a positive outscores a negative (ties count half)."""
    values, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    del values
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    positive, negative = int(labels.sum()), int((~labels).sum())
    return float((ranks[labels].sum() - positive * (positive + 1) / 2) / (positive * negative))


def mean_average_precision(scores: Floats, labels: Flags, groups: Groups) -> float:
    """MAP over the questions that have a positive candidate."""
    precisions = []
    for group in np.unique(groups[labels]):
        member = groups == group
        hits = labels[member][np.argsort(-scores[member], kind="stable")]
        precisions.append((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())
    return float(np.mean(precisions))


def log_loss(probabilities: Floats, labels: Flags) -> float:
    """Mean negative log-likelihood in nats."""
    p = np.clip(probabilities, 1e-12, 1 - 1e-12)
    return float(-np.mean(np.where(labels, np.log(p), np.log(1 - p))))


def expected_calibration_error(probabilities: Floats, labels: Flags, bins: int = 10) -> float:
    """Mean distance between predicted probability and observed share over `bins` equally filled bins."""
    order = np.argsort(probabilities, kind="stable")
    gaps = [abs(probabilities[part].mean() - labels[part].mean()) * len(part) for part in np.array_split(order, bins)]
    return float(sum(gaps) / len(order))


def fit_logistic(features: Floats, labels: Flags) -> tuple[Floats, float]:
    """Maximum-likelihood weights [k] and intercept of a logistic over `features` [n, k], by Newton's method."""
    mean, spread = features.mean(axis=0), features.std(axis=0)
    design = np.column_stack([(features - mean) / spread, np.ones(len(features))])
    weights = np.zeros(design.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-design @ weights))
        # The tiny ridge keeps the Hessian invertible when two features are equal.
        hessian = (design * (p * (1 - p))[:, None]).T @ design + 1e-6 * np.eye(len(weights))
        weights -= np.linalg.solve(hessian, design.T @ (p - labels))
    slopes = weights[:-1] / spread
    return slopes, float(weights[-1] - (slopes * mean).sum())
