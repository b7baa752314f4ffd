"""The measures against pytrec_eval, ir_measures and ranx on thousands of random queries.

What the peers cannot hold is brought into a form they can, and nothing else is changed:

- they sort by score, so that each run gets strictly decreasing scores in the order of our ranks;
- their runs are dictionaries, so that they get our rankings without the repeated modules;
- ranx and pytrec_eval leave out a query that the run lacks, so that there the run answers it
  with one module that no query knows (as ranx's own `make_comparable` does in effect);
- trec_eval's nDCG has a linear gain, so that it gets the gains 2^grade − 1 for grades.
"""

import warnings
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import NamedTuple

import ir_measures
import pytest
import pytrec_eval

from rankgate.measures import evaluate, mean

QUERIES = 4000
CUTOFFS = (1, 3, 5, 10)
DEEP = 1000  # beyond every ranking: the peers' hit rate asks for a cutoff
GAINS = {0: 0, 1: 1, 2: 3, 3: 7}
STRANGER = "no module of any query"

Ranking = list[str]
Grades = dict[str, int]
Scores = dict[str, dict[str, float]]
Values = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Sample:
    """Random qrels, and rankings that answer them with ties and repeated modules."""

    qrels: dict[str, Grades]
    run: dict[str, Ranking]
    tied_scores: Scores  # the retriever's own, never increasing down the ranking
    scores: Scores  # strictly decreasing: what an export writes, and the peers get


@cache
def sample() -> Sample:
    random = Random(20260805)  # any seed
    names = [
        f"{folder}{stem}{number}.py"
        for folder in ("", "src/", "my docs/", "日本/", "über uns/", "a\tb/")
        for stem in ("m", "M", "é", "e\u0301", "😀", "with space ")  # two ways to write é
        for number in range(3)
    ]
    qrels, run, tied_scores, scores = {}, {}, {}, {}
    for number in range(QUERIES):
        query = random.choice(("q{}", "query {}", "質問{}", "Ω {}")).format(number)
        pool = random.sample(names, random.randint(1, 25))
        some = random.choice(((0,), (0, 1), (0, 1, 2, 3), (1, 2, 3), (0, 0, 0, 0, 3)))
        qrels[query] = {module: random.choice(some) for module in pool}
        shape = random.random()
        if shape < 0.06:  # the run lacks the query
            continue
        if shape < 0.12:  # nothing graded came back
            found = [module for module in names if module not in qrels[query]]
        else:
            found = pool + random.sample(names, 8)
        run[query] = random.choices(found, k=random.randint(1, 30))  # with repeats
        ranking = list(dict.fromkeys(run[query]))
        tied_scores[query] = {module: float(-(rank // 4)) for rank, module in enumerate(ranking)}
        scores[query] = {module: float(-rank) for rank, module in enumerate(ranking)}
    return Sample(qrels, run, tied_scores, scores)


def answered(scores: Scores) -> Scores:
    """`scores` with an answer to every query, in the order of the qrels."""
    return {query: scores.get(query, {STRANGER: 1.0}) for query in sample().qrels}


def ours(relevant_grade: int) -> Values:
    return evaluate(sample().run, sample().qrels, CUTOFFS, relevant_grade)


def differences(mine: Values, expected: Values) -> dict[tuple[str, str], tuple[float, float]]:
    """Query and measure → our value and the expected one, where they are not the same."""
    return {
        (query, name): (mine[query][name], value)
        for query, row in expected.items()
        for name, value in row.items()
        if not abs(mine[query][name] - value) <= 1e-9
    }


def by_pytrec_eval(relevant_grade: int, run: Scores) -> Values:
    cuts = ",".join(map(str, CUTOFFS))
    wanted = {f"recall.{cuts}", f"P.{cuts}", "recip_rank", f"success.{DEEP}"}
    binary = pytrec_eval.RelevanceEvaluator(sample().qrels, wanted, relevant_grade).evaluate(run)
    gains = {q: {m: GAINS[g] for m, g in grades.items()} for q, grades in sample().qrels.items()}
    graded = pytrec_eval.RelevanceEvaluator(gains, {f"ndcg_cut.{cuts}"}).evaluate(run)
    values = {}
    for query in sample().qrels:
        row = {"mrr": binary[query]["recip_rank"], "hit_rate": binary[query][f"success_{DEEP}"]}
        for k in CUTOFFS:
            row[f"recall_at_{k}"] = binary[query][f"recall_{k}"]
            row[f"precision_at_{k}"] = binary[query][f"P_{k}"]
            row[f"ndcg_at_{k}"] = graded[query][f"ndcg_cut_{k}"]
        values[query] = row
    return values


def by_ir_measures(relevant_grade: int, run: Scores) -> Values:
    # Its nDCG(dcg='exp-log2') runs a Perl script that rounds to five digits and cannot read ids
    # with spaces; the mapping of gains is the same measure in full precision.
    names = {
        ir_measures.RR(rel=relevant_grade): "mrr",
        ir_measures.Success(rel=relevant_grade) @ DEEP: "hit_rate",
    }
    for k in CUTOFFS:
        names[ir_measures.R(rel=relevant_grade) @ k] = f"recall_at_{k}"
        names[ir_measures.P(rel=relevant_grade) @ k] = f"precision_at_{k}"
        names[ir_measures.nDCG(gains=GAINS) @ k] = f"ndcg_at_{k}"
        names[ir_measures.Judged @ k] = f"judged_at_{k}"
    values: Values = {query: {} for query in sample().qrels}
    for metric in ir_measures.iter_calc(list(names), sample().qrels, run):
        values[metric.query_id][names[metric.measure]] = metric.value
    return values


def by_ranx(relevant_grade: int, run: Scores) -> Values:
    import ranx  # here, for it takes seconds

    names = {f"mrr-l{relevant_grade}": "mrr", f"hit_rate-l{relevant_grade}": "hit_rate"}
    for k in CUTOFFS:
        names[f"recall@{k}-l{relevant_grade}"] = f"recall_at_{k}"
        names[f"precision@{k}-l{relevant_grade}"] = f"precision_at_{k}"
        names[f"ndcg_burges@{k}"] = f"ndcg_at_{k}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba's, about ranx's own hashes
        columns = ranx.evaluate(sample().qrels, run, list(names), return_mean=False)
    return {
        query: {name: float(columns[theirs][i]) for theirs, name in names.items()}
        for i, query in enumerate(sample().qrels)
    }


class Peer(NamedTuple):
    name: str
    relevant_grade: int

    def __str__(self) -> str:
        return f"{self.name}, relevant_grade {self.relevant_grade}"


PEERS = ("pytrec_eval", "ir_measures", "ranx")


@cache
def theirs(peer: Peer) -> Values:
    grade, scores = peer.relevant_grade, sample().scores
    if peer.name == "pytrec_eval":
        return by_pytrec_eval(grade, answered(scores))
    if peer.name == "ranx":
        return by_ranx(grade, answered(scores))
    return by_ir_measures(grade, scores)  # gives a query that the run lacks the default, 0


@pytest.fixture(params=[Peer(name, g) for name in PEERS for g in (1, 2)], ids=str)
def peer(request: pytest.FixtureRequest) -> Peer:
    return request.param


def test_every_value_agrees_with_the_peer(peer: Peer) -> None:
    mine, expected = ours(peer.relevant_grade), theirs(peer)
    assert list(expected) == list(mine)
    assert differences(mine, expected) == {}


def test_every_mean_agrees_with_the_peer(peer: Peer) -> None:
    mine, expected = mean(ours(peer.relevant_grade).values()), mean(theirs(peer).values())
    assert {name: mine[name] for name in expected} == pytest.approx(expected, abs=1e-9)


def test_the_peers_are_asked_for_every_measure() -> None:
    every = set(next(iter(ours(1).values())))
    judged = {f"judged_at_{k}" for k in CUTOFFS}
    for name, missing in (("pytrec_eval", judged), ("ir_measures", set()), ("ranx", judged)):
        assert {frozenset(row) for row in theirs(Peer(name, 1)).values()} == {
            frozenset(every - missing)
        }


def test_the_sample_holds_the_cases_that_matter() -> None:
    data = sample()
    lacking = [query for query in data.qrels if query not in data.run]
    repeats = [r for r in data.run.values() if len(set(r)) < len(r)]
    unrelevant = [g for g in data.qrels.values() if max(g.values()) == 0]
    tangential = [g for g in data.qrels.values() if max(g.values()) == 1]
    without_hit = [q for q, row in ours(1).items() if q in data.run and row["hit_rate"] == 0.0]
    spaced = [q for q, r in data.run.items() if " " in q and any(" " in m for m in r)]
    foreign = [q for q, r in data.run.items() if not q.isascii() and not "".join(r).isascii()]
    for cases in (lacking, repeats, unrelevant, tangential, without_hit, spaced, foreign):
        assert len(cases) >= 100
    assert {g for grades in data.qrels.values() for g in grades.values()} == {0, 1, 2, 3}
    assert len(data.qrels) >= 3000


# --- Ties: where we and trec_eval differ on purpose --------------------------------------------


def test_pytrec_eval_reorders_tied_scores_by_name_and_we_keep_the_order_given() -> None:
    # Retrieved in this order, the first three with one score. trec_eval puts the highest name
    # first among equals (c, b, a): the essential module comes out third there.
    tied = {"a.py": 1.0, "c.py": 1.0, "b.py": 1.0, "d.py": 0.5}
    qrels = {"q": {"a.py": 3, "d.py": 1}}
    trec = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate({"q": tied})
    assert trec["q"]["recip_rank"] == pytest.approx(1 / 3)
    assert evaluate({"q": list(tied)}, qrels)["q"]["mrr"] == 1.0


def test_strictly_decreasing_scores_make_pytrec_eval_keep_our_order() -> None:
    falling = {"a.py": 4.0, "c.py": 3.0, "b.py": 2.0, "d.py": 1.0}
    qrels = {"q": {"a.py": 3, "d.py": 1}}
    trec = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate({"q": falling})
    assert trec["q"]["recip_rank"] == evaluate({"q": list(falling)}, qrels)["q"]["mrr"] == 1.0


def test_given_its_own_order_of_ties_we_agree_with_pytrec_eval_on_every_tied_run() -> None:
    # The other direction: pytrec_eval gets the ties themselves, and we the order it makes.
    trec = by_pytrec_eval(1, answered(sample().tied_scores))
    resorted = {
        query: sorted(scores, key=lambda m: (scores[m], m.encode()), reverse=True)
        for query, scores in sample().tied_scores.items()
    }
    assert differences(evaluate(resorted, sample().qrels, CUTOFFS), trec) == {}
    # And the ties do matter: in the order given, hundreds of values are others.
    assert len(differences(ours(1), trec)) > 500
