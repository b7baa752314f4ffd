"""judged@k: how much of what came back has a grade at all?"""

from collections.abc import Collection, Sequence

from rankgate.measures._ranking import as_set, top


def judged_at_k(actual: Sequence[str], graded: Collection[str], k: int) -> float:
    """judged@k = |actual[:k] ∩ graded| / |actual[:k]|.

    Low values warn that the other measures count unseen modules as irrelevant.

    Args:
        actual: module paths, best first; a repeated module counts at its first place only.
        graded: the modules with a grade for the query, 0 included.
        k: cutoff, in modules.

    Returns:
        A number in [0, 1]; 0.0 when `k` ≤ 0 or nothing was retrieved.

    Source: `Judged@k` of ir_measures (MacAvaney, Macdonald, Ounis, ECIR 2022).
    """
    head = top(actual, k)
    if not head:
        return 0.0
    return len(as_set(graded) & set(head)) / len(head)
