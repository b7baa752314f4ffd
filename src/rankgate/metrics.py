"""The names of a cell's metrics: what metrics.json holds, gates bound and reports list."""

from collections.abc import Iterable, Sequence

FACT_METRICS = ("fact_recall", "contradiction", "faithfulness")
# Of a cell as a whole, with no value of a single query.
CELL_METRICS = ("queries", "failures", "token_reduction")


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
        "token_reduction",
    ]


def cutoffs_of(names: Iterable[str]) -> list[int]:
    """The cutoffs behind the metrics of these names."""
    prefix = "recall_at_"
    return sorted(int(name.removeprefix(prefix)) for name in names if name.startswith(prefix))
