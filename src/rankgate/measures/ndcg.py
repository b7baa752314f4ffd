"""nDCG@k: are the most relevant modules the highest?"""

from collections.abc import Iterable, Mapping, Sequence
from math import log2

from rankgate.measures._ranking import top


def ndcg_at_k(actual: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """nDCG@k = DCG@k / DCG@k of the best order of all graded modules.

    DCG@k = Σ_{i=1..k} (2^grade_i − 1) / log2(i + 1): the exponential gain of Burges et al.
    (`ndcg_burges` in ranx, `nDCG(dcg='exp-log2')` in ir_measures), under which one essential
    module outweighs two relevant ones. A module without a grade has gain 0.

    Args:
        actual: module paths, best first; a repeated module counts at its first place only.
        grades: the relevance of every graded module, 0 and up.
        k: cutoff, in modules.

    Returns:
        A number in [0, 1]; 0.0 when `k` ≤ 0, or nothing is relevant or retrieved.

    Source: Burges et al., Learning to Rank using Gradient Descent (ICML 2005), after Järvelin
    and Kekäläinen, Cumulated Gain-based Evaluation of IR Techniques (TOIS 2002).
    """
    if k <= 0:
        return 0.0
    ideal = _dcg(sorted(grades.values(), reverse=True)[:k])
    if ideal == 0.0:
        return 0.0
    return _dcg(grades.get(module, 0) for module in top(actual, k)) / ideal


def _dcg(grades: Iterable[int]) -> float:
    total = 0.0
    for i, grade in enumerate(grades, start=1):
        if grade > 0:
            total += (2**grade - 1) / log2(i + 1)
    return total
