"""`rankgate score` on files against pytrec_eval, ir_measures and ranx: random queries, TREC runs.

The runs have tied and rising scores, repeated modules, queries that one side lacks, spaces and
Unicode in ids, and shuffled lines; what counts in them is the rank. The peers sort by score, so
that they get strictly decreasing ones; see peers.py.
"""

import json
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import peers
import pytest
from peers import Grades, Values

from rankgate import cli
from rankgate.judges.n15 import N15
from rankgate.measures import mean
from rankgate.queries import load_queries
from rankgate.scoring import score
from rankgate.trec import read_run

QUERIES = 700
SHAPES = ("focused", "cross-file", "identity")
CUTOFFS = (1, 3, 5)
MODULES = [
    f"{folder}{stem}{number}.py"
    for folder in ("", "src/", "my docs/", "日本/", "über uns/", "100%/")
    for stem in ("m", "M", "é", "e\u0301", "😀", "two  spaces ", "%20")
    for number in range(2)
]


@dataclass(frozen=True)
class Sample:
    """A query file, a run file, and what they say."""

    queries: str
    run: str
    qrels: dict[str, Grades]
    shapes: dict[str, str]
    rankings: dict[str, list[str]]


@cache
def sample(seed: int) -> Sample:
    random = Random(seed)
    queries, lines = [], []
    qrels: dict[str, Grades] = {}
    shapes: dict[str, str] = {}
    rankings: dict[str, list[str]] = {}
    for number in range(QUERIES):
        name = random.choice(("q{}", "query {}", "質問\u3000{}", "Ω {} %41", "{{{}}}")).format(
            number
        )
        pool = random.sample(MODULES, random.randint(1, 20))
        grades = {module: random.choice((0, 0, 1, 2, 3)) for module in pool}
        grades[random.choice(pool)] = random.choice((2, 3))  # one is relevant at any setting
        qrels[name], shapes[name] = grades, random.choice(SHAPES)
        queries.append(
            {
                "id": name,
                "question": "?",
                "shape": shapes[name],
                "relevance_grades": grades,
                "gold_facts": ["one fact", "another fact"],
            }
        )
        kind = random.random()
        if kind < 0.08:  # the run lacks the query
            continue
        found = pool + random.sample(MODULES, 8)
        if kind < 0.16:  # nothing graded came back
            found = [module for module in MODULES if module not in grades]
        rankings[name] = random.choices(found, k=random.randint(1, 25))  # with repeats
        lines += run_lines(random, name, rankings[name])
    for number in range(20):  # queries that the file lacks
        lines += run_lines(random, f"stranger {number}", random.choices(MODULES, k=5))
    random.shuffle(lines)
    return Sample(json.dumps(queries), "".join(lines), qrels, shapes, rankings)


def run_lines(random: Random, query: str, ranking: list[str]) -> list[str]:
    first, step = random.choice((0, 1, 10)), random.choice((1, 1, 7))
    return [
        f"{encoded(query)} Q0 {encoded(module)} {first + step * place} {random.randint(-2, 2)} x\n"
        for place, module in enumerate(ranking)
    ]


def encoded(name: str) -> str:
    return "".join(quote(c) if c.isspace() or c == "%" else c for c in name)


@cache
def by_peer(seed: int, peer: str, relevant_grade: int) -> Values:
    run = peers.falling(sample(seed).rankings)
    return peers.PEERS[peer](sample(seed).qrels, run, CUTOFFS, relevant_grade)


@pytest.fixture(scope="module", params=[1, 2], ids=lambda seed: f"sample {seed}")
def seed(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(scope="module", params=[1, 2], ids=lambda grade: f"relevant_grade {grade}")
def relevant_grade(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(scope="module", params=peers.PEERS)
def peer(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def files(seed: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sample's queries.json and run.trec."""
    folder = tmp_path_factory.mktemp("sample")
    (folder / "queries.json").write_text(sample(seed).queries, encoding="utf-8")
    (folder / "run.trec").write_text(sample(seed).run, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def printed(files: Path, relevant_grade: int) -> dict[str, Any]:
    """What the command prints."""
    words = ["score", "--queries", f"{files}/queries.json", "--run", f"{files}/run.trec"]
    with redirect_stdout(StringIO()) as out:
        status = cli.main([*words, "--k", "5", "--json", "--relevant-grade", str(relevant_grade)])
    assert status == 0
    found = json.loads(out.getvalue())
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def unrounded(files: Path, relevant_grade: int) -> dict[str, dict[str, float]]:
    """Query id → measure → the library's value of it."""
    scored = score(
        load_queries(files / "queries.json", relevant_grade=relevant_grade),
        read_run(files / "run.trec"),
        N15(),
        cutoffs=CUTOFFS,
        relevant_grade=relevant_grade,
    )
    return {
        one.query.id: {name: v for name, v in one.values.items() if v is not None} for one in scored
    }


def test_the_printed_means_are_the_peers(
    printed: dict[str, Any], seed: int, peer: str, relevant_grade: int
) -> None:
    expected = mean(by_peer(seed, peer, relevant_grade).values())
    assert {name: printed[name] for name in expected} == pytest.approx(expected, abs=1e-6)


def test_the_printed_means_of_each_shape_are_the_peers(
    printed: dict[str, Any], seed: int, peer: str, relevant_grade: int
) -> None:
    values, shapes = by_peer(seed, peer, relevant_grade), sample(seed).shapes
    for shape in SHAPES:
        expected = mean([row for query, row in values.items() if shapes[query] == shape])
        found = printed["shape"][shape]
        assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-6)


def test_the_unrounded_values_are_the_peers(
    unrounded: dict[str, dict[str, float]], seed: int, peer: str, relevant_grade: int
) -> None:
    expected = by_peer(seed, peer, relevant_grade)
    assert list(unrounded) == list(expected)
    assert peers.differences(unrounded, expected) == {}


def test_the_unrounded_means_are_the_peers(
    unrounded: dict[str, dict[str, float]], seed: int, peer: str, relevant_grade: int
) -> None:
    expected = mean(by_peer(seed, peer, relevant_grade).values())
    mine = mean(unrounded.values())
    assert {name: mine[name] for name in expected} == pytest.approx(expected, abs=1e-9)


def test_the_samples_hold_the_cases_that_matter() -> None:
    for seed in (1, 2):
        data = sample(seed)
        rankings = data.rankings
        lacking = data.qrels.keys() - rankings.keys()
        repeats = [r for r in rankings.values() if len(set(r)) < len(r)]
        without_hit = [q for q, r in rankings.items() if not data.qrels[q].keys() & set(r)]
        spaced = [q for q, r in rankings.items() if " " in q and any(" " in m for m in r)]
        foreign = [q for q, r in rankings.items() if not q.isascii() and not "".join(r).isascii()]
        for cases in (lacking, repeats, without_hit, spaced, foreign):
            assert len(cases) >= 30
        ranks = [int(line.split()[3]) for line in data.run.splitlines()]
        assert ranks != sorted(ranks)
