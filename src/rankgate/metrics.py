"""The names of a cell's metrics: what metrics.json holds, gates bound and reports list."""

import re
from collections.abc import Iterable, Sequence
from math import ceil
from typing import Any, TypeGuard

FACT_METRICS = ("fact_recall", "contradiction", "faithfulness")
# Known with an embedder only, so that no gate can count on them.
EMBEDDING_METRICS = ("context_precision", "context_recall", "answer_relevance")
# Of a cell as a whole, with no value of a single query.
CELL_METRICS = ("queries", "failures", "context_tokens_p95", "token_reduction")


def measure_names(cutoffs: Sequence[int]) -> list[str]:
    """The ranking measures, in the order in which they are shown."""
    at = [f"{name}_at_{k}" for name in ("recall", "precision", "ndcg", "judged") for k in cutoffs]
    recall, rest = at[: len(cutoffs)], at[len(cutoffs) :]
    return [*recall, "mrr", "hit_rate", *rest]


def metric_names(cutoffs: Sequence[int]) -> list[str]:
    """Every number of metrics.json, in its order."""
    return [
        "queries",
        *measure_names(cutoffs),
        *FACT_METRICS,
        "failures",
        "context_tokens",
        "context_tokens_p95",
        "token_reduction",
    ]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of `values` that `share` of them are not above (nearest rank); 0 for none."""
    if not values:
        return 0.0
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def cutoffs_of(names: Iterable[str]) -> list[int]:
    """The cutoffs behind the metrics of these names."""
    matches = (re.fullmatch(r"recall_at_(\d+)", name) for name in names)
    return sorted(int(match[1]) for match in matches if match)


def is_metrics(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value has the form of a metrics.json."""
    if not isinstance(value, dict) or not isinstance(shapes := value.get("shape"), dict):
        return False
    return bool(cutoffs_of(value)) and all(isinstance(part, dict) for part in shapes.values())
