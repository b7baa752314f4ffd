"""The `rankgate` command as its users, good and bad, meet it; and how little a start imports."""

import argparse
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from project import ROOT, hear_ctrl_c

from rankgate import cli
from rankgate.answers import Answer, Hit, write_answers
from rankgate.errors import InputError, UnreachableError
from rankgate.gates import check, verdict
from rankgate.judges.n15 import N15
from rankgate.metrics import EMBEDDING_METRICS
from rankgate.queries import load_queries
from rankgate.results import write_results
from rankgate.scoring import metrics, score
from rankgate.sources.local import local_files

QUERIES = [
    {
        "id": "login",
        "question": "How does a login work?",
        "shape": "focused",
        "relevance_grades": {"auth/login.py": 3, "auth/jwt.py": 1, "db.py": 0},
        "gold_facts": ["passwords are hashed", "a token is returned"],
    },
    {
        "id": "which database",
        "question": "What database is used?",
        "shape": "identity",
        "relevance_grades": {"auth/login.py": 0, "auth/jwt.py": 0, "db.py": 3},
        "gold_facts": ["sqlite is used", "the file is app.db"],
    },
]
RUN = """\
login Q0 auth/jwt.py 1 9.5 x
login Q0 auth/login.py 2 8.5 x
which%20database Q0 auth/jwt.py 1 3.0 x
"""
INPUTS = {"retriever": {"class": "x.Y", "version": "1", "options": {}}}


class Done(NamedTuple):
    status: int
    out: str
    err: str

    def problems(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("error: ")]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """The command, run in this process: what it raises would fail the test."""

    def main(*words: object) -> Done:
        status = cli.main([str(word) for word in words])
        captured = capsys.readouterr()
        return Done(status, captured.out, captured.err)

    return main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: queries.json, run.trec, answers.jsonl and a cell's results."""
    monkeypatch.chdir(tmp_path)
    Path("queries.json").write_text(json.dumps(QUERIES))
    Path("run.trec").write_text(RUN)
    answers = [
        Answer(
            "login",
            (Hit("auth/jwt.py", 2.0, 1, 5, "x"), Hit("auth/login.py", 1.0, 1, 9, "y")),
            "passwords are hashed, then a token is returned",
            context_tokens=10,
        ),
        Answer("which database", (Hit("auth/jwt.py", 1.0),), "no sqlite is used", 6),
    ]
    write_answers(Path("answers.jsonl"), answers)
    queries = load_queries(Path("queries.json"))
    scored = score(queries, answers, N15(), cutoffs=(1, 3, 5))
    numbers = metrics(scored, (1, 3, 5), None)
    write_results(Path("results/app/bm25"), "app/bm25", scored, numbers, INPUTS)
    gates = tmp_path / "verdicts/app/bm25.json"
    gates.parent.mkdir(parents=True)
    gates.write_text(json.dumps(verdict(check([], {}, []))))
    gates.with_suffix(".md").write_text("## Gates of app/bm25: 0 gates passed\n")
    return tmp_path


def start(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own, buffered as in a shell."""
    streams = ("PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8")
    environment = {name: value for name, value in os.environ.items() if name not in streams}
    return subprocess.run(
        [sys.executable, "-m", "rankgate.cli", *words],
        env=environment | more.pop("env", {}),
        **{"capture_output": True, "text": True, "check": False, "timeout": 60} | more,
    )


# --- check ----------------------------------------------------------------------------------------


def test_check_of_a_sound_file_counts_its_queries(run: Callable[..., Done], folder: Path) -> None:
    done = run("check", "queries.json")
    assert done == (0, "queries.json: 2 queries, no errors, 0 warnings\n", "")


def test_check_lists_every_error_on_a_line_and_ends_with_2(
    run: Callable[..., Done], folder: Path
) -> None:
    broken = [{**QUERIES[0], "shape": "odd"}, {**QUERIES[0], "question": ""}]
    Path("queries.json").write_text(json.dumps(broken))
    done = run("check", "queries.json")
    assert (done.status, done.out) == (2, "")
    assert len(done.problems()) == len(done.err.splitlines()) == 3
    assert all(line.startswith("error: queries.json: query 'login': ") for line in done.problems())


def test_check_warns_and_still_ends_with_0(run: Callable[..., Done], folder: Path) -> None:
    Path("queries.json").write_text(json.dumps([{**QUERIES[0], "gold_facts": ["one fact"]}]))
    done = run("check", "queries.json")
    assert done.status == 0
    assert done.err.startswith("warning: queries.json: query 'login': gold_facts")


def test_check_as_json_holds_errors_and_warnings(run: Callable[..., Done], folder: Path) -> None:
    Path("queries.json").write_text(json.dumps([{**QUERIES[0], "shape": "odd"}]))
    done = run("check", "queries.json", "--json")
    found = json.loads(done.out)
    assert (done.status, found["queries"], found["warnings"]) == (2, 0, [])
    assert "odd" in found["errors"][0]


def corpus(folder: Path) -> None:
    for module in ("auth/login.py", "auth/jwt.py", "db.py", "new.py"):
        (folder / module).parent.mkdir(parents=True, exist_ok=True)
        (folder / module).write_text("x = 1\n")


def test_check_against_a_corpus_knows_its_modules(run: Callable[..., Done], folder: Path) -> None:
    corpus(folder / "code")
    assert run("check", "queries.json", "--corpus", "code").status == 0
    Path("code/db.py").unlink()
    done = run("check", "queries.json", "--corpus", "code")
    assert done.status == 2
    assert all("'db.py'" in line for line in done.problems())
    assert len(done.problems()) == 2


def test_check_against_a_corpus_asks_for_all_grades_on_demand(
    run: Callable[..., Done], folder: Path
) -> None:
    corpus(folder / "code")
    done = run("check", "queries.json", "--corpus", "code", "--ungraded", "error")
    assert done.status == 2
    assert all("'new.py'" in line for line in done.problems())


def test_check_against_a_stages_corpus_reads_its_manifest(
    run: Callable[..., Done], folder: Path
) -> None:
    from rankgate.corpus import write_corpus

    corpus(folder / "code")
    write_corpus(folder / "frozen", local_files(folder / "code", "code"), source={})
    assert run("check", "queries.json", "--corpus", "frozen").status == 0


def test_check_for_all_grades_needs_a_corpus(run: Callable[..., Done], folder: Path) -> None:
    done = run("check", "queries.json", "--ungraded", "error")
    assert done.status == 2
    assert "--corpus" in done.problems()[0]


# --- score ----------------------------------------------------------------------------------------


def scored(run: Callable[..., Done], *more: object, run_file: str = "run.trec") -> dict[str, Any]:
    done = run("score", "--queries", "queries.json", "--run", run_file, "--json", *more)
    assert done.status == 0
    found = json.loads(done.out)
    assert isinstance(found, dict)
    return found


def test_score_of_a_trec_run_prints_the_measures_and_nulls(
    run: Callable[..., Done], folder: Path
) -> None:
    found = scored(run)
    # login: jwt (grade 1), then login (grade 3); the database question: one irrelevant module.
    ndcg = (1 + 7 / 1.584963) / (7 + 1 / 1.584963) / 2
    expected = {
        "queries": 2,
        "recall_at_1": 0.25,
        "recall_at_3": 0.5,
        "recall_at_5": 0.5,
        "mrr": 0.5,
        "hit_rate": 0.5,
        "precision_at_1": 0.5,
        "precision_at_3": 0.333333,
        "precision_at_5": 0.2,
        "ndcg_at_5": pytest.approx(ndcg, abs=1e-6),
        "judged_at_5": 1.0,
        "failures": 0,
        "fact_recall": None,
        "contradiction": None,
        "faithfulness": None,
        "context_tokens": None,
        "token_reduction": None,
    }
    assert {name: found[name] for name in expected} == expected
    assert found["shape"]["identity"]["mrr"] == 0.0
    assert found["shape"]["focused"]["fact_recall"] is None


def test_score_of_retrieved_answers_has_the_facts_too(
    run: Callable[..., Done], folder: Path
) -> None:
    found = scored(run, run_file="answers.jsonl")
    # Both facts of one query recalled; of the other "sqlite is used", with "no" in front of it.
    assert (found["fact_recall"], found["contradiction"]) == (0.75, 0.125)
    assert found["faithfulness"] == (1 + 0.5 * (1 - 0.25)) / 2
    assert found["context_tokens"] == 8.0


def test_score_prints_what_metrics_json_would_hold(run: Callable[..., Done], folder: Path) -> None:
    found = scored(run, run_file="answers.jsonl")
    for part in (found, *found["shape"].values()):
        assert part.pop("token_reduction") is None  # no corpus here
        for name in EMBEDDING_METRICS:
            assert part.pop(name) is None  # no embedder
    assert found == json.loads(Path("results/app/bm25/metrics.json").read_text())


def test_score_without_json_is_a_table(run: Callable[..., Done], folder: Path) -> None:
    done = run("score", "--queries", "queries.json", "--run", "run.trec")
    assert done.out.splitlines()[0].split("|")[1:5] == [
        f" {title} " for title in ("metric            ", "all  ", "focused", "identity")
    ]
    assert "| mrr                | 0.500 | 1.000   | 0.000    |" in done.out.splitlines()


@pytest.mark.parametrize(
    ("words", "cutoffs"),
    [
        ([], [1, 3, 5]),
        (["--k", "1"], [1]),
        (["--k", "2"], [1, 2]),
        (["--k", "10"], [1, 3, 5, 10]),
        (["--k", "10", "--cutoffs", "10,2,2"], [2, 10]),
    ],
)
def test_score_measures_at_the_cutoffs(
    run: Callable[..., Done], folder: Path, words: Sequence[str], cutoffs: list[int]
) -> None:
    found = scored(run, *words)
    assert [name for name in found if name.startswith("ndcg")] == [f"ndcg_at_{k}" for k in cutoffs]


def test_score_looks_for_mrr_and_hit_rate_in_the_whole_run(
    run: Callable[..., Done], folder: Path
) -> None:
    lines = [f"login Q0 other{rank}.py {rank} {9 - rank} x\n" for rank in range(1, 8)]
    Path("run.trec").write_text("".join([*lines, "login Q0 auth/login.py 8 1 x\n"]))
    found = scored(run, "--k", "5")["shape"]["focused"]
    assert (found["recall_at_5"], found["mrr"], found["hit_rate"]) == (0.0, 0.125, 1.0)


def test_score_counts_a_query_that_the_run_lacks_as_zero_and_says_so(
    run: Callable[..., Done], folder: Path
) -> None:
    Path("run.trec").write_text("login Q0 auth/login.py 1 1 x\n")
    done = run("score", "--queries", "queries.json", "--run", "run.trec", "--json")
    assert json.loads(done.out)["mrr"] == 0.5
    assert done.err == (
        "warning: 1 queries are without an answer in run.trec, so zero: which database\n"
    )


def test_score_leaves_out_a_query_that_the_file_lacks_and_says_so(
    run: Callable[..., Done], folder: Path
) -> None:
    expected = scored(run)
    extra = "".join(f"q{i} Q0 db.py 1 1 x\n" for i in range(5))
    Path("run.trec").write_text(extra + RUN)
    done = run("score", "--queries", "queries.json", "--run", "run.trec", "--json")
    assert json.loads(done.out) == expected
    assert done.err == (
        "warning: 5 queries are in run.trec but not in queries.json: q0, q1, q2, …\n"
    )


def test_score_of_an_empty_run_is_zero(run: Callable[..., Done], folder: Path) -> None:
    Path("run.trec").write_text("")
    found = scored(run)
    assert (found["queries"], found["mrr"], found["ndcg_at_5"]) == (2, 0.0, 0.0)


def test_score_takes_the_order_of_the_ranks_and_not_of_lines_or_scores(
    run: Callable[..., Done], folder: Path
) -> None:
    expected = scored(run)
    Path("run.trec").write_text(
        "login Q0 auth/login.py 2 99 x\n"
        "which%20database Q0 auth/jwt.py 1 3.0 x\n"
        "login Q0 auth/jwt.py 1 -5 x\n"
    )
    assert scored(run) == expected


def test_a_run_whose_first_id_begins_with_a_brace_is_no_json(
    run: Callable[..., Done], folder: Path
) -> None:
    Path("queries.json").write_text(json.dumps([{**QUERIES[0], "id": "{login}"}]))
    Path("run.trec").write_text("{login} Q0 auth/login.py 1 1 x\n")
    assert scored(run)["mrr"] == 1.0


def test_score_takes_another_relevant_grade(run: Callable[..., Done], folder: Path) -> None:
    assert scored(run, "--relevant-grade", "3")["mrr"] == 0.25


def test_score_skips_ungraded_modules_on_demand(run: Callable[..., Done], folder: Path) -> None:
    Path("run.trec").write_text("login Q0 odd.py 1 2 x\nlogin Q0 auth/login.py 2 1 x\n")
    assert scored(run)["shape"]["focused"]["mrr"] == 0.5
    assert scored(run, "--ungraded", "skip")["shape"]["focused"]["mrr"] == 1.0


# --- judge ----------------------------------------------------------------------------------------


def test_judge_prints_a_line_a_fact(run: Callable[..., Done], folder: Path) -> None:
    Path("facts.jsonl").write_text(
        '{"id": "ü", "fact": "token expired", "context": "the token is not expired"}\n\n'
        '{"id": 7, "fact": "sqlite", "context": "mysql"}\n'
    )
    done = run("judge", "facts.jsonl")
    assert done.err == ""
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"id": "ü", "support": 1.0, "supported": True, "contradicted": True, "evidence": None},
        {"id": 7, "support": 0.0, "supported": False, "contradicted": True, "evidence": None},
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[]", "facts.jsonl:2: expected an object with id, fact and context"),
        ("{", "facts.jsonl:2: not JSON"),
        ('{"id": 1, "fact": "ab"}', "facts.jsonl:2: context: expected a string"),
        ('{"id": 1, "fact": 2, "context": ""}', "facts.jsonl:2: fact: expected a string"),
        ('{"fact": "ab", "context": ""}', "facts.jsonl:2: id: expected a string or an integer"),
        ('{"id": NaN, "fact": "ab", "context": ""}', "facts.jsonl:2: id: expected a string"),
        ('{"id": 1, "fact": " x ", "context": ""}', "facts.jsonl:2: fact: expected at least 2"),
    ],
)
def test_judge_names_the_line_that_is_wrong_and_prints_none(
    run: Callable[..., Done], folder: Path, line: str, problem: str
) -> None:
    Path("facts.jsonl").write_text(f'{{"id": 1, "fact": "ab", "context": ""}}\n{line}\n')
    done = run("judge", "facts.jsonl")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"error: {problem}")


# --- report ---------------------------------------------------------------------------------------


def test_report_shows_all_cells(run: Callable[..., Done], folder: Path) -> None:
    done = run("report")
    assert done.out.startswith("# All cells\n\n| cell     |")
    assert "| app/bm25 | 2 " in done.out
    assert "| pass " in done.out


def test_report_shows_a_cell_with_its_gates(run: Callable[..., Done], folder: Path) -> None:
    done = run("report", "app/bm25")
    assert done.out.startswith("## Gates of app/bm25: 0 gates passed\n\n# app with bm25\n")


def test_report_as_json_holds_every_cell(run: Callable[..., Done], folder: Path) -> None:
    found = json.loads(run("report", "--json").out)
    assert found["app/bm25"]["metrics"]["queries"] == 2
    assert found["app/bm25"]["verdict"]["passed"] is True


def test_report_as_json_holds_the_one_cell_asked_for(
    run: Callable[..., Done], folder: Path
) -> None:
    assert json.loads(run("report", "app/bm25", "--json").out)["metrics"]["queries"] == 2


@pytest.mark.parametrize(
    "words", [["app/nope"], ["app/nope", "--json"], ["../results"], ["\x1b[2J"]]
)
def test_report_of_an_unknown_cell_names_those_there_are(
    run: Callable[..., Done], folder: Path, words: list[str]
) -> None:
    done = run("report", *words)
    assert (done.status, done.out) == (2, "")
    assert done.err.endswith("there is app/bm25\n")
    assert "\x1b" not in done.err


# --- params, fetch, completion --------------------------------------------------------------------


@pytest.fixture
def project(folder: Path) -> Path:
    """A project's settings in the working folder."""
    pytest.importorskip("dvc", reason="the extra pipeline is not installed")
    shutil.copytree(ROOT / "conf", "conf")
    Path("data").symlink_to(ROOT / "data")
    return folder


def test_params_writes_what_conf_composes_and_check_sees_what_is_stale(
    run: Callable[..., Done], project: Path
) -> None:
    assert run("params") == (0, "", "")
    assert run("params", "--check") == (0, "", "")
    assert run("params", "repo=[sample_project]", "relevant_grade=2").status == 0
    done = run("params", "--check")
    assert done.status == 1
    assert "params.yaml is not what conf/ composes: relevant_grade\n" in done.err
    assert "params.yaml is not what conf/ composes: repo.requests\n" in done.err


def test_params_keeps_the_old_file_when_conf_does_not_compose(
    run: Callable[..., Done], project: Path
) -> None:
    run("params")
    before = Path("params.yaml").read_bytes()
    done = run("params", "repo=[no_such_repo]")
    assert (done.status, len(done.problems()), len(done.err.splitlines())) == (2, 1, 1)
    assert "no_such_repo" in done.err
    assert Path("params.yaml").read_bytes() == before


def test_params_that_cannot_be_written_is_named(run: Callable[..., Done], project: Path) -> None:
    Path("params.yaml").mkdir()
    assert run("params") == (2, "", "error: params.yaml: Is a directory\n")


def test_params_check_takes_no_overrides(run: Callable[..., Done], project: Path) -> None:
    done = run("params", "--check", "k=3")
    assert (done.status, len(done.problems())) == (2, 1)


def test_params_outside_of_a_project_says_where_to_run_it(
    run: Callable[..., Done], folder: Path
) -> None:
    done = run("params")
    assert done.status == 2
    assert done.err == ("error: conf/config.yaml: no such file; run this in the project's folder\n")


def test_fetch_has_nothing_to_do_for_local_sources(run: Callable[..., Done], project: Path) -> None:
    run("params", "repo=[sample_project]")
    assert run("fetch") == (0, "", "")
    assert run("fetch", "--targets") == (0, "", "")


@pytest.fixture
def offline(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(source: object, where: str) -> None:
        if where == "repo.requests.source":
            raise UnreachableError(f"{where}: no network")

    monkeypatch.setattr("rankgate.sources.fetch", fetch)


@pytest.mark.usefixtures("offline")
def test_fetch_names_what_cannot_be_reached(run: Callable[..., Done]) -> None:
    run("params", "repo=[sample_project,requests]", "retriever=[bm25]")
    done = run("fetch")
    assert (done.status, done.out) == (2, "")
    assert done.err == "left out: requests: repo.requests.source: no network\n"


@pytest.mark.usefixtures("offline")
def test_fetch_prints_the_targets_that_can_run(run: Callable[..., Done]) -> None:
    run("params", "repo=[sample_project,requests]", "retriever=[bm25]")
    done = run("fetch", "--targets")
    assert (done.status, done.out) == (0, "settings\ngate@sample_project-bm25\n")


def test_fetch_ends_with_2_on_a_source_that_is_wrong(
    run: Callable[..., Done], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(source: object, where: str) -> None:
        raise InputError(f"{where}.sha256: the wheel is another")

    run("params", "repo=[sample_project]")
    monkeypatch.setattr("rankgate.sources.fetch", fetch)
    done = run("fetch", "--targets")
    assert done == (2, "", "error: repo.sample_project.source.sha256: the wheel is another\n")


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_knows_every_verb_and_the_shell_accepts_it(
    run: Callable[..., Done], tmp_path: Path, shell: str
) -> None:
    done = run("completion", shell)
    assert done.status == 0
    assert all(verb in done.out for verb in (*cli.VERBS, "--relevant-grade", "--ungraded"))
    if shutil.which(shell):
        script = tmp_path / "script"
        script.write_text(done.out)
        assert subprocess.run([shell, "-n", script], capture_output=True, check=True).stderr == b""


# --- Help -----------------------------------------------------------------------------------------


def test_help_lists_every_verb(run: Callable[..., Done]) -> None:
    done = run("-h")
    assert done.status == 0
    assert re.findall(r"^    ([a-z]+)", done.out, re.MULTILINE) == [*cli.VERBS]


@pytest.mark.parametrize("verb", cli.VERBS)
def test_the_help_of_a_verb_has_examples_that_it_accepts(
    run: Callable[..., Done], verb: str
) -> None:
    done = run(verb, "-h")
    assert done.status == 0
    examples = [shlex.split(line) for line in done.out.split("examples:\n")[1].splitlines()]
    assert examples
    for words in examples:
        assert words[:2] == ["rankgate", verb]
        command = words[1 : words.index(">") if ">" in words else None]
        assert isinstance(cli.parser().parse_args(command), argparse.Namespace)


def test_the_version_is_shown(run: Callable[..., Done]) -> None:
    assert run("--version").out.startswith("rankgate 0.")


# --- Bad input ------------------------------------------------------------------------------------

BAD_FILES: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "a folder": lambda path: path.mkdir(),
    "binary": lambda path: path.write_bytes(bytes(range(256))),
    "latin-1": lambda path: path.write_bytes('{"id": "é"}'.encode("latin-1")),
    "half JSON": lambda path: path.write_text('{"queries": [{"id": "x"'),
    "JSON of another kind": lambda path: path.write_text('{"a": 1}'),
    "nested deeply": lambda path: path.write_text('{"a": ' + "[" * 100_000),
    "a number of a million digits": lambda path: path.write_text('{"a": ' + "9" * 1_000_000 + "}"),
    "NUL bytes": lambda path: path.write_bytes(bytes(100)),
    "a dead link": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path),
}


@pytest.mark.parametrize(
    "command",
    [
        "check BAD",
        "check queries.json --corpus BAD",
        "score --queries BAD --run run.trec",
        "score --queries queries.json --run BAD",
        "judge BAD",
        "report --results BAD",
    ],
)
@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_bad_file_is_named_in_a_line(
    run: Callable[..., Done], folder: Path, command: str, kind: str
) -> None:
    BAD_FILES[kind](folder / "BAD")
    done = run(*command.split())
    assert (done.status, done.out) == (2, "")
    assert "BAD" in done.problems()[0]
    assert "unexpected" not in done.err
    assert done.problems() == done.err.splitlines()


@pytest.mark.parametrize(
    "words",
    [
        "--k 0",
        "--k -1",
        "--k x",
        "--k 2.5",
        "--k ''",
        "--cutoffs 0",
        "--cutoffs 6",
        "--cutoffs 1,,3",
        "--cutoffs 1;3",
        "--cutoffs a",
        "--cutoffs ''",
        "--cutoffs=-1",
        f"--cutoffs {'9' * 5000}",
        "--relevant-grade 0",
        "--relevant-grade 4",
        "--ungraded maybe",
        "--judge nobody",
        "--judge ../n15",
        "--nope",
    ],
)
def test_a_bad_option_is_named_and_ends_with_2(
    run: Callable[..., Done], folder: Path, words: str
) -> None:
    options = shlex.split(words)
    done = run("score", "--queries", "queries.json", "--run", "run.trec", *options)
    assert (done.status, done.out) == (2, "")
    assert options[0].split("=")[0] in done.err or "no judge" in done.err
    assert "unexpected" not in done.err


@pytest.mark.parametrize("words", [[], ["nope"], ["score"], ["completion", "fish"]])
def test_a_command_line_that_is_none_ends_with_2_and_shows_the_usage(
    run: Callable[..., Done], words: list[str]
) -> None:
    done = run(*words)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("usage: rankgate")


def test_a_score_of_a_broken_line_names_it(run: Callable[..., Done], folder: Path) -> None:
    Path("run.trec").write_text("login Q0 db.py 1 nan x\nlogin Q0 db.py\n")
    done = run("score", "--queries", "queries.json", "--run", "run.trec")
    assert [line.split(": ")[1] for line in done.problems()] == ["run.trec:1", "run.trec:2"]


# --- The process and its streams ------------------------------------------------------------------


def closed_pipe() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


LONG = ["completion", "bash"]  # more than a buffer holds
SHORT = ["score", "--queries", "queries.json", "--run", "run.trec"]


@pytest.mark.parametrize("words", [LONG, SHORT, ["-h"]], ids=" ".join)
@pytest.mark.parametrize("buffering", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "not"])
@pytest.mark.usefixtures("folder")
def test_a_reader_that_went_away_is_no_complaint(
    words: list[str], buffering: dict[str, str]
) -> None:
    writer = closed_pipe()
    done = start(*words, capture_output=False, stdout=writer, stderr=subprocess.PIPE, env=buffering)
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode in (0, 141)


@pytest.mark.parametrize("words", [LONG, SHORT], ids=" ".join)
@pytest.mark.usefixtures("folder")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_output_that_cannot_be_written_is_an_error(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = start(*words, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, "error: system: No space left on device\n")


@pytest.mark.usefixtures("folder")
def test_a_failed_gate_does_not_pass_because_nobody_reads_its_complaint() -> None:
    code = (
        "import sys; from rankgate.stage import run\n"
        "def main():\n    print('fail', file=sys.stderr)\n    return 1\n"
        "run(main)"
    )
    writer = closed_pipe()
    done = subprocess.run([sys.executable, "-c", code], stdout=writer, stderr=writer, check=False)
    os.close(writer)
    assert done.returncode != 0


@pytest.mark.usefixtures("folder")
def test_a_closed_output_is_no_complaint() -> None:
    words = shlex.join([sys.executable, "-m", "rankgate.cli", *SHORT])
    done = subprocess.run(["sh", "-c", f"{words} >&-"], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.usefixtures("folder")
def test_an_output_without_unicode_gets_what_it_can_show() -> None:
    Path("results/app/bm25/report.md").write_text("floor ≥ 0.5\n", encoding="utf-8")
    done = start("report", "app/bm25", env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("floor \\u2265 0.5\n")


def test_ctrl_c_ends_with_130_and_one_word(folder: Path) -> None:
    os.mkfifo("slow.json")
    process = subprocess.Popen(
        [sys.executable, "-m", "rankgate.cli", "check", "slow.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_ctrl_c,
    )
    with Path("slow.json").open("w"):  # waits until the command reads
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


@contextmanager
def terminal() -> Iterator[tuple[int, Callable[[], str]]]:
    """A terminal's file descriptor for a process, and, after it ended, what is to be seen."""
    leader, follower = pty.openpty()
    try:
        yield follower, lambda: seen.decode()
    finally:
        os.write(follower, b"end")  # or reading nothing would wait
        seen = os.read(leader, 100_000).removesuffix(b"end")
        os.close(follower)
        os.close(leader)


@pytest.mark.usefixtures("folder")
def test_long_work_shows_its_progress_on_a_terminal_and_nowhere_else() -> None:
    line = '{"id": 1, "fact": "token expired", "context": "a token"}\n'
    Path("facts.jsonl").write_text(line * 50)
    plain = start("judge", "facts.jsonl")
    assert plain.stderr == ""
    with terminal() as (follower, shown):
        done = start(
            "judge", "facts.jsonl", capture_output=False, stdout=subprocess.PIPE, stderr=follower
        )
    assert "judging" in shown()
    assert (done.returncode, done.stdout) == (0, plain.stdout)


@pytest.mark.usefixtures("folder")
def test_lines_on_a_terminal_are_whole_and_without_a_bar() -> None:
    line = f'{{"id": "{"x" * 300}", "fact": "token expired", "context": "a token"}}\n'
    Path("facts.jsonl").write_text(line * 3)
    with terminal() as (follower, shown):
        start("judge", "facts.jsonl", capture_output=False, stdout=follower, stderr=follower)
    assert shown().splitlines() == start("judge", "facts.jsonl").stdout.splitlines()


@pytest.mark.usefixtures("folder")
def test_a_report_is_drawn_on_a_terminal() -> None:
    with terminal() as (follower, shown):
        start("report", capture_output=False, stdout=follower, stderr=follower)
    assert "app/bm25" in shown()
    assert "|---" not in shown()


# --- Starting up ----------------------------------------------------------------------------------

HEAVY = {"numpy", "bm25s", "hydra", "dvc", "omegaconf", "rich", "bpe_openai", "shtab", "yaml"}
STAGES = sorted(path.stem for path in (ROOT / "stages").glob("*.py"))


@pytest.mark.parametrize("module", [*STAGES, "rankgate.cli", "rankgate.gates"])
def test_a_start_imports_nothing_heavy_before_it_is_needed(module: str) -> None:
    code = f"import sys; sys.path.insert(0, 'stages'); import {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = {name.partition(".")[0] for name in done.stdout.split()}
    assert "rankgate" in imported
    assert imported & HEAVY == set()


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_outside_of_a_project_says_so_in_a_line(stage: str, tmp_path: Path) -> None:
    takes = {"report": 0, "settings": 0, "fixture": 1, "resources": 1}
    words = ["sample_project", "bm25"][: takes.get(stage, 2)]
    done = subprocess.run(
        [sys.executable, ROOT / f"stages/{stage}.py", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("error: ")
    assert "no such file" in done.stderr


# --- conform --------------------------------------------------------------------------------------


def test_conform_passes_a_retriever_that_keeps_the_promises(run: Callable[..., Done]) -> None:
    done = run("conform", "rankgate.retrievers.bm25:BM25", "k1=0.9")
    assert done.status == 0
    assert {line.split()[0] for line in done.out.splitlines()} == {"pass"}


def test_conform_names_the_promise_that_is_not_kept(
    run: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_retriever.py").write_text(
        "from rankgate.answers import Hit, Retrieved\n"
        "class Stranger:\n"
        "    version = '1'\n"
        "    def build(self, corpus, index): pass\n"
        "    def open(self, corpus, index): pass\n"
        "    def ask(self, question, k): return Retrieved((Hit('no/such.py', 1.0),), '')\n"
    )
    done = run("conform", "own_retriever:Stranger")
    assert done.status == 1
    assert any(line.startswith("FAIL  hits within the corpus") for line in done.out.splitlines())


def test_conform_refuses_an_argument_that_the_class_does_not_take(run: Callable[..., Done]) -> None:
    done = run("conform", "rankgate.retrievers.bm25:BM25", "k2=1")
    assert done.status == 2
    assert "retriever.k2: unknown key" in done.err
