"""All measures over all queries."""

from collections.abc import Collection, Mapping, Sequence
from math import fsum

from rankgate.measures.hit_rate import hit_rate
from rankgate.measures.judged import judged_at_k
from rankgate.measures.mrr import mrr
from rankgate.measures.ndcg import ndcg_at_k
from rankgate.measures.precision import precision_at_k
from rankgate.measures.recall import recall_at_k

CUTOFFS = (1, 3, 5)


def evaluate(
    run: Mapping[str, Sequence[str]],
    qrels: Mapping[str, Mapping[str, int]],
    cutoffs: Collection[int] = CUTOFFS,
    relevant_grade: int = 1,
    *,
    skip_ungraded: bool = False,
) -> dict[str, dict[str, float]]:
    """Every measure of every query of `qrels`.

    Args:
        run: query id → module paths, best first. A query that it lacks scores zero everywhere;
            one that `qrels` lacks is left out, as trec_eval does.
        qrels: query id → module path → grade.
        cutoffs: the k of recall, precision, nDCG and judged.
        relevant_grade: the lowest grade that counts as relevant.
        skip_ungraded: take modules without a grade out of the rankings first (the condensed
            lists of Sakai, SIGIR 2007); judged@k still sees them.

    Returns:
        Query id → measure name (`recall_at_5`, `mrr` …) → value in [0, 1], in `qrels`' order.
    """
    # The names are made once: at 50,000 queries, formatting them would cost more than measuring.
    names = [
        (k, f"recall_at_{k}", f"precision_at_{k}", f"ndcg_at_{k}", f"judged_at_{k}")
        for k in cutoffs
    ]
    values: dict[str, dict[str, float]] = {}
    for query, grades in qrels.items():
        returned = run.get(query, ())
        actual = [m for m in returned if m in grades] if skip_ungraded else returned
        relevant = {module for module, grade in grades.items() if grade >= relevant_grade}
        row = {"mrr": mrr(actual, relevant), "hit_rate": hit_rate(actual, relevant)}
        for k, recall, precision, ndcg, judged in names:
            row[recall] = recall_at_k(actual, relevant, k)
            row[precision] = precision_at_k(actual, relevant, k)
            row[ndcg] = ndcg_at_k(actual, grades, k)
            row[judged] = judged_at_k(returned, grades.keys(), k)
        values[query] = row
    return values


def mean(rows: Collection[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each measure over `rows`, which all have the same ones; empty for no rows.

    `fsum` makes it independent of the order of the rows and of Python's version.
    """
    first = next(iter(rows), {})
    return {name: fsum(row[name] for row in rows) / len(rows) for name in first}
