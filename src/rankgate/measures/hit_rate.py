"""hit rate: did anything relevant come back at all?"""

from collections.abc import Collection, Sequence

from rankgate.measures._ranking import as_set


def hit_rate(actual: Sequence[str], relevant: Collection[str]) -> float:
    """1.0 when a relevant module was retrieved, else 0.0.

    Args:
        actual: module paths, best first.
        relevant: the modules that are relevant to the query, in any order.

    Returns:
        0.0 or 1.0; its mean over the queries is the hit rate (success@depth in TREC's words).
    """
    return 0.0 if as_set(relevant).isdisjoint(actual) else 1.0
