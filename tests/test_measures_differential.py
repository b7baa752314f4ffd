"""The measures against pytrec_eval, ir_measures and ranx on thousands of random queries."""

from dataclasses import dataclass
from functools import cache
from random import Random
from typing import NamedTuple

import peers
import pytest
import pytrec_eval
from peers import Grades, Scores, Values

from rankgate.measures import evaluate, mean

QUERIES = 4000
CUTOFFS = (1, 3, 5, 10)

Ranking = list[str]


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
    qrels, run, tied_scores = {}, {}, {}
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
    return Sample(qrels, run, tied_scores, peers.falling(run))


def ours(relevant_grade: int) -> Values:
    return evaluate(sample().run, sample().qrels, CUTOFFS, relevant_grade)


class Peer(NamedTuple):
    name: str
    relevant_grade: int

    def __str__(self) -> str:
        return f"{self.name}, relevant_grade {self.relevant_grade}"


@cache
def theirs(peer: Peer) -> Values:
    ask = peers.PEERS[peer.name]
    return ask(sample().qrels, sample().scores, CUTOFFS, peer.relevant_grade)


@pytest.fixture(params=[Peer(name, g) for name in peers.PEERS for g in (1, 2)], ids=str)
def peer(request: pytest.FixtureRequest) -> Peer:
    return request.param


def test_every_value_agrees_with_the_peer(peer: Peer) -> None:
    mine, expected = ours(peer.relevant_grade), theirs(peer)
    assert list(expected) == list(mine)
    assert peers.differences(mine, expected) == {}


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
    trec = peers.by_pytrec_eval(sample().qrels, sample().tied_scores, CUTOFFS, 1)
    resorted = {
        query: sorted(scores, key=lambda m: (scores[m], m.encode()), reverse=True)
        for query, scores in sample().tied_scores.items()
    }
    assert peers.differences(evaluate(resorted, sample().qrels, CUTOFFS), trec) == {}
    # And the ties do matter: in the order given, hundreds of values are others.
    assert len(peers.differences(ours(1), trec)) > 500
