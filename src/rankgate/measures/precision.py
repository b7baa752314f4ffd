"""precision@k: the share of the first k places that hold a relevant module."""

from collections.abc import Collection, Sequence

from rankgate.measures._ranking import as_set, top


def precision_at_k(actual: Sequence[str], relevant: Collection[str], k: int) -> float:
    """precision@k = |actual[:k] ∩ relevant| / k.

    The divisor is `k` also when fewer came back (as in trec_eval): an empty place is not a hit.

    Args:
        actual: module paths, best first; a repeated module counts at its first place only.
        relevant: the modules that are relevant to the query, in any order.
        k: cutoff, in modules.

    Returns:
        A number in [0, 1]; 0.0 when `k` ≤ 0, or nothing is relevant or retrieved.

    Source: Manning, Raghavan, Schütze, Introduction to Information Retrieval (2008), 8.4.
    """
    if k <= 0:
        return 0.0
    return len(as_set(relevant) & set(top(actual, k))) / k
