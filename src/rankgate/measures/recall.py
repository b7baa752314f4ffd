"""recall@k: the share of the relevant modules that are among the first k."""

from collections.abc import Collection, Sequence

from rankgate.measures._ranking import as_set, top


def recall_at_k(actual: Sequence[str], relevant: Collection[str], k: int) -> float:
    """recall@k = |actual[:k] ∩ relevant| / |relevant|.

    Args:
        actual: module paths, best first; a repeated module counts at its first place only.
        relevant: the modules that are relevant to the query, in any order.
        k: cutoff, in modules.

    Returns:
        A number in [0, 1]; 0.0 when `k` ≤ 0, or nothing is relevant or retrieved.

    Source: Manning, Raghavan, Schütze, Introduction to Information Retrieval (2008), 8.3.
    """
    relevant = as_set(relevant)
    if not relevant:
        return 0.0
    return len(relevant & set(top(actual, k))) / len(relevant)
