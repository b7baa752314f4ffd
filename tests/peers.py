"""pytrec_eval, ir_measures and ranx, asked for our measures under our names.

What they cannot hold is brought into a form they can, and nothing else is changed:

- they sort by score, so that each run must have strictly decreasing scores in the order of our
  ranks;
- their runs are dictionaries, so that they get our rankings without the repeated modules;
- ranx and pytrec_eval leave out a query that the run lacks, so that there the run answers it
  with one module that no query knows (as ranx's own `make_comparable` does in effect);
- trec_eval's nDCG has a linear gain, so that it gets the gains 2^grade − 1 for grades.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence

import ir_measures
import pytrec_eval

DEEP = 1000  # beyond every ranking: the peers' hit rate asks for a cutoff
GAINS = {0: 0, 1: 1, 2: 3, 3: 7}
STRANGER = "no module of any query"

Grades = dict[str, int]
Scores = dict[str, dict[str, float]]
Values = dict[str, dict[str, float]]


def falling(run: Mapping[str, Sequence[str]]) -> Scores:
    """Rankings as the peers' runs: without repeats, with strictly decreasing scores."""
    return {
        query: {module: float(-rank) for rank, module in enumerate(dict.fromkeys(ranking))}
        for query, ranking in run.items()
    }


def answered(run: Scores, qrels: Mapping[str, Grades]) -> Scores:
    """`run` with an answer to every query, in the order of the qrels."""
    return {query: run.get(query, {STRANGER: 1.0}) for query in qrels}


def differences(mine: Values, expected: Values) -> dict[tuple[str, str], tuple[float, float]]:
    """Query and measure → our value and the expected one, where they are not the same."""
    return {
        (query, name): (mine[query][name], value)
        for query, row in expected.items()
        for name, value in row.items()
        if not abs(mine[query][name] - value) <= 1e-9
    }


def by_pytrec_eval(
    qrels: dict[str, Grades], run: Scores, cutoffs: Sequence[int], relevant_grade: int
) -> Values:
    cuts = ",".join(map(str, cutoffs))
    wanted = {f"recall.{cuts}", f"P.{cuts}", "recip_rank", f"success.{DEEP}"}
    run = answered(run, qrels)
    binary = pytrec_eval.RelevanceEvaluator(qrels, wanted, relevant_grade).evaluate(run)
    gains = {q: {m: GAINS[g] for m, g in grades.items()} for q, grades in qrels.items()}
    graded = pytrec_eval.RelevanceEvaluator(gains, {f"ndcg_cut.{cuts}"}).evaluate(run)
    values = {}
    for query in qrels:
        row = {"mrr": binary[query]["recip_rank"], "hit_rate": binary[query][f"success_{DEEP}"]}
        for k in cutoffs:
            row[f"recall_at_{k}"] = binary[query][f"recall_{k}"]
            row[f"precision_at_{k}"] = binary[query][f"P_{k}"]
            row[f"ndcg_at_{k}"] = graded[query][f"ndcg_cut_{k}"]
        values[query] = row
    return values


def by_ir_measures(
    qrels: dict[str, Grades], run: Scores, cutoffs: Sequence[int], relevant_grade: int
) -> Values:
    # Its nDCG(dcg='exp-log2') runs a Perl script that rounds to five digits and cannot read ids
    # with spaces; the mapping of gains is the same measure in full precision.
    names = {
        ir_measures.RR(rel=relevant_grade): "mrr",
        ir_measures.Success(rel=relevant_grade) @ DEEP: "hit_rate",
    }
    for k in cutoffs:
        names[ir_measures.R(rel=relevant_grade) @ k] = f"recall_at_{k}"
        names[ir_measures.P(rel=relevant_grade) @ k] = f"precision_at_{k}"
        names[ir_measures.nDCG(gains=GAINS) @ k] = f"ndcg_at_{k}"
        names[ir_measures.Judged @ k] = f"judged_at_{k}"
    # It gives a query that the run lacks the default, 0.
    values: Values = {query: {} for query in qrels}
    for metric in ir_measures.iter_calc(list(names), qrels, run):
        values[metric.query_id][names[metric.measure]] = metric.value
    return values


def by_ranx(
    qrels: dict[str, Grades], run: Scores, cutoffs: Sequence[int], relevant_grade: int
) -> Values:
    import ranx  # here, for it takes seconds

    names = {f"mrr-l{relevant_grade}": "mrr", f"hit_rate-l{relevant_grade}": "hit_rate"}
    for k in cutoffs:
        names[f"recall@{k}-l{relevant_grade}"] = f"recall_at_{k}"
        names[f"precision@{k}-l{relevant_grade}"] = f"precision_at_{k}"
        names[f"ndcg_burges@{k}"] = f"ndcg_at_{k}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba's, about ranx's own hashes
        columns = ranx.evaluate(qrels, answered(run, qrels), list(names), return_mean=False)
    return {
        query: {name: float(columns[theirs][i]) for theirs, name in names.items()}
        for i, query in enumerate(qrels)
    }


PEERS: dict[str, Callable[[dict[str, Grades], Scores, Sequence[int], int], Values]] = {
    "pytrec_eval": by_pytrec_eval,
    "ir_measures": by_ir_measures,
    "ranx": by_ranx,
}
