"""MRR: how far down the first relevant module stands."""

from collections.abc import Collection, Sequence

from rankgate.measures._ranking import as_set


def mrr(actual: Sequence[str], relevant: Collection[str]) -> float:
    """Reciprocal rank of one query: 1 / rank of the first relevant module.

    Its mean over the queries is MRR. The whole of `actual` is looked at: what lies below the
    depth a system was asked for is cut off before, not here.

    Args:
        actual: module paths, best first; a repeated module counts at its first place only.
        relevant: the modules that are relevant to the query, in any order.

    Returns:
        A number in [0, 1]; 0.0 when no relevant module was retrieved.

    Source: Kantor and Voorhees, The TREC-5 Confusion Track (2000).
    """
    relevant = as_set(relevant)
    for module in actual:
        if module in relevant:
            above = set(actual[: actual.index(module)])
            return 1.0 / (len(above) + 1)
    return 0.0
