"""Pooling: what is in the pool, what is left of it, and `rankgate pool`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from project import ROOT

from rankgate import cli
from rankgate.answers import Answer, Hit, write_answers
from rankgate.errors import InputError
from rankgate.pooling import pool, read_pool

RUNS = {
    "one": {"q": ["a.py", "b.py", "c.py"], "r": ["x.py", "a.py", "b.py"]},
    "two": {"q": ["d.py", "a.py", "e.py"], "r": ["x.py", "y.py", "z.py"]},
}


def test_the_pool_is_the_union_of_the_tops_minus_what_has_a_grade() -> None:
    pooled = pool({"q": {"a.py"}, "r": set()}, RUNS, depth=2)
    assert [(query.id, query.pooled, query.left) for query in pooled.queries] == [
        ("q", 3, ("b.py", "d.py")),
        ("r", 3, ("a.py", "x.py", "y.py")),
    ]
    assert (pooled.pooled, pooled.left, pooled.warnings) == (6, 5, ())


def test_the_order_is_the_same_whatever_the_ranks_and_the_order_of_the_runs() -> None:
    backwards = {
        name: {query: list(reversed(ranking)) for query, ranking in run.items()}
        for name, run in reversed(RUNS.items())
    }
    graded: dict[str, set[str]] = {"q": set(), "r": set()}
    assert pool(graded, RUNS, depth=3).queries == pool(graded, backwards, depth=3).queries


def test_a_grade_of_0_is_a_grade() -> None:
    assert pool({"q": {"a.py": 0, "d.py": 0}}, {"one": {"q": ["a.py"]}}, 1).left == 0


def test_shallow_runs_are_named_in_one_warning() -> None:
    warnings = pool({"q": (), "r": ()}, RUNS, depth=10).warnings
    assert len(warnings) == 1
    assert "to depth 3, not 10" in warnings[0]
    assert warnings[0].endswith(": one, two")


def test_a_short_ranking_in_a_deep_run_is_no_shallow_run() -> None:
    runs = {"one": {"q": ["a.py"], "r": ["a.py", "b.py"]}}
    assert pool({"q": (), "r": ()}, runs, depth=2).warnings == ()


def test_queries_that_run_and_file_do_not_share_are_counted() -> None:
    (missing, strange) = pool({"q": (), "s": ()}, {"one": RUNS["one"]}, depth=3).warnings
    assert missing == "one: has no module for 1 of 2 queries"
    assert strange == "one: has 1 queries that the query file has not"


def test_what_is_no_path_of_a_module_is_left_out_with_a_warning() -> None:
    pooled = pool({"q": ()}, {"one": {"q": ["/etc/passwd", "../up.py", "a\x1b[2J.py", "a.py"]}}, 4)
    assert pooled.queries[0].left == ("a.py",)
    (warning,) = pooled.warnings
    assert "3 names" in warning
    assert "\x1b" not in warning


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"queries": {}},
        {"version": 1, "queries": []},
        {"version": 1, "queries": {"q": "a.py"}},
        {"version": 1, "queries": {"q": [1]}},
        {"version": 1, "queries": {"q": ["../a.py"]}},
    ],
)
def test_what_is_no_pool_file_is_refused(value: object) -> None:
    with pytest.raises(InputError, match=r"^pool\.json: "):
        read_pool(value, "pool.json")


# --- The command ----------------------------------------------------------------------------------

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, in a folder with queries.json, one.trec and two.jsonl."""
    monkeypatch.chdir(tmp_path)
    query = {
        "id": "q",
        "question": "Where?",
        "shape": "focused",
        "relevance_grades": {"a.py": 3},
        "gold_facts": ["one", "two"],
    }
    Path("queries.json").write_text(json.dumps([query]))
    Path("one.trec").write_text("q Q0 a.py 1 2.0 x\nq Q0 my%20file.py 2 1.0 x\n")
    hits = (Hit("b.py", 1.0, 1, 5), Hit("b.py", 0.5, 7, 9), Hit("a.py", 0.1))
    write_answers(Path("two.jsonl"), [Answer("q", hits, "")])

    def main(*words: str) -> tuple[int, str, str]:
        status = cli.main(["pool", *words])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return main


PLAIN = ("--queries", "queries.json", "--run", "one.trec", "--run", "two.jsonl", "--depth", "2")


def test_both_kinds_of_runs_are_pooled_and_counted(run: Run) -> None:
    status, out, err = run(*PLAIN)
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "    2 of   3 left  q",
        "2 of 3 modules are left to grade: 1 queries, 2 runs to depth 2",
    ]


def test_the_pool_file_has_what_is_left(run: Run) -> None:
    run(*PLAIN, "--out", "pool.json")
    value = json.loads(Path("pool.json").read_text())
    assert value["queries"] == {"q": ["b.py", "my file.py"]}
    assert read_pool(value, "pool.json") == {"q": ("b.py", "my file.py")}


def test_check_ends_with_1_as_long_as_anything_is_left(run: Run) -> None:
    assert run(*PLAIN, "--check")[0] == 1
    graded = Path("queries.json").read_text().replace("3}", '3, "b.py": 0, "my file.py": 0}')
    Path("queries.json").write_text(graded)
    assert run(*PLAIN, "--check")[0] == 0


def test_json_is_for_programs(run: Run) -> None:
    value = json.loads(run(*PLAIN, "--json")[1])
    assert (value["pooled"], value["left"]) == (3, 2)
    assert value["queries"] == {"q": {"pooled": 3, "left": ["b.py", "my file.py"]}}


def test_queries_that_have_no_relevant_module_yet_are_pooled_with_a_warning(run: Run) -> None:
    text = Path("queries.json").read_text()
    Path("queries.json").write_text(
        text.replace('{"a.py": 3}', "{}").replace('["one", "two"]', "[]")
    )
    status, out, err = run(*PLAIN)
    assert (status, out.splitlines()[0]) == (0, "    3 of   3 left  q")
    assert [line.split(": ")[0] for line in err.splitlines()] == ["warning"] * 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a REPO of params.yaml, or --queries FILE"),
        (("--queries", "queries.json"), "nothing to pool"),
        (("--queries", "queries.json", "--retriever", "bm25"), "--retriever: name the REPO"),
        (("app", "--queries", "queries.json"), "results/app: no run.trec"),
        (("app",), "params.yaml: no such file"),
        (("--queries", "queries.json", "--run", "none.trec"), "none.trec: no such file"),
        ((*PLAIN, "--depth", "0"), "--depth: expected an integer from 1 up"),
    ],
)
def test_what_is_missing_is_said_in_a_line(run: Run, words: tuple[str, ...], said: str) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_the_runs_of_a_repo_are_those_of_its_results(run: Run) -> None:
    for name in ("bm25", "static"):
        folder = Path("results/app", name)
        folder.mkdir(parents=True)
        (folder / "run.trec").write_text(f"q Q0 {name}.py 1 1 x\n")
    words = ("app", "--queries", "queries.json", "--depth", "1")
    assert "1 queries, 2 runs" in run(*words)[1]
    chosen = json.loads(run(*words, "--retriever", "static", "--json")[1])
    assert chosen["queries"]["q"]["left"] == ["static.py"]
    status, _, err = run(*words, "--retriever", "dense")
    assert status == 2
    assert "there is bm25, static" in err


def test_a_repo_of_the_project_needs_no_more_than_its_name(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    status, out, _ = run("requests", "--depth", "1")
    assert status == 0
    assert "redirect-credentials" in out
