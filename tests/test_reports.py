"""Reports: what a reader finds in them; hostile text stays text, and tables fit a screen."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from rankgate.answers import Answer, Hit
from rankgate.errors import InputError
from rankgate.judges.n15 import N15
from rankgate.queries import Query, QuerySet
from rankgate.reports import cell_report, grid_report, unbeaten
from rankgate.results import read_cells, show_cell, show_grid, write_results
from rankgate.scoring import metrics, record, score

INPUTS = {
    "corpus": "e5d0" * 16,
    "query_file": "2d66" * 16,
    "judge": "n15 1",
    "k": 5,
    "cutoffs": [1, 3, 5],
    "retriever": {
        "name": "bm25",
        "class": "rankgate.retrievers.bm25.BM25",
        "version": "bm25s 0.3.16",
        "options": {"k1": 2.0, "b": 0.75, "chunk_lines": 50, "context_tokens": 2000},
    },
}
QUERIES = (
    Query(
        "find-late",
        "Where is a token checked?",
        "focused",
        {"auth/jwt.py": 3, "auth/login.py": 1, "db.py": 0},
        ("decode_token checks expiry", "uses HS256"),
    ),
    Query("all-well", "What is the database?", "identity", {"db.py": 3}, ("sqlite file",)),
    Query("no-answer", "How is money sent back?", "focused", {"pay.py": 3}, ("refund",)),
    Query("crashed", "Which routes are there?", "cross-file", {"api.py": 3}, ("GET /users",)),
)
ANSWERS = (
    Answer(
        "find-late",
        (
            Hit("db.py", 3.0, 1, 9, "connect"),
            Hit("auth/jwt.py", 2.0, 10, 42, "def decode_token: checks expiry"),
            Hit("auth/jwt.py", 1.0, 50, 60, "more"),
        ),
        "decode_token checks expiry with rs256",
        context_tokens=40,
        strangers=2,
    ),
    Answer("all-well", (Hit("db.py", 1.0, 1, 3, "sqlite file"),), "sqlite file", 10),
    Answer("crashed", (), "", failure="TimeoutError: took longer than 60 s"),
)


def cell(queries: tuple[Query, ...], answers: tuple[Answer, ...]) -> tuple[Any, Any]:
    """A cell's metrics and the records of its queries."""
    query_set = QuerySet(queries, (), "", "0" * 64, ())
    scored = score(query_set, answers, N15(), cutoffs=(1, 3, 5))
    return metrics(scored, (1, 3, 5), 1000), [record(one) for one in scored]


def report() -> str:
    found, records = cell(QUERIES, ANSWERS)
    return cell_report("requests/bm25", found, INPUTS, records)


def section(text: str, heading: str) -> list[str]:
    """The lines below a heading, up to the next one."""
    lines = text.split(f"{heading}\n", 1)[1].splitlines()
    end = next((i for i, line in enumerate(lines) if line.startswith("#")), len(lines))
    return [line for line in lines[:end] if line]


def row(lines: list[str], first: str) -> list[str]:
    """The cells of the table row that begins with `first`."""
    (found,) = [line for line in lines if line.startswith(f"| {first} ")]
    return [cell.strip() for cell in found.strip("|").split("|")]


def elements(markdown: str) -> set[str]:
    """The HTML elements that a page renders to."""
    html = MarkdownIt("gfm-like", {"linkify": False}).render(markdown)
    return set(re.findall(r"<(\w+)[^>]*>", html))


# --- A cell's report ------------------------------------------------------------------------------


def test_the_metrics_are_shown_over_all_queries_and_for_each_shape() -> None:
    lines = section(report(), "## Metrics")
    assert row(lines, "metric") == ["metric", "all", "cross-file", "focused", "identity"]
    # Ranks of the first relevant module: 2, 1, none, failed.
    assert row(lines, "queries") == ["queries", "4", "1", "2", "1"]
    assert row(lines, "mrr") == ["mrr", "0.375", "0.000", "0.250", "1.000"]
    assert row(lines, "failures") == ["failures", "1", "1", "0", "0"]


def test_the_diagnoses_are_counted_and_explained_the_worst_first() -> None:
    assert section(report(), "# requests with bm25")[1:5] == [
        "- 1 failed: the retriever failed",
        "- 1 miss: nothing relevant came back",
        "- 1 late: the first relevant module is below rank 1",
        "- 1 ok: nothing to complain about",
    ]


def test_every_query_is_shown_with_its_diagnosis_the_worst_first() -> None:
    assert re.findall(r"^### (.*)$", report(), re.MULTILINE) == [
        "crashed: failed",
        "no-answer: miss",
        "find-late: late",
        "all-well: ok",
    ]


def test_a_query_is_shown_with_question_shape_and_numbers() -> None:
    lines = section(report(), "### find-late: late")
    assert lines[0] == "Where is a token checked?"
    # One of two relevant modules, at rank 2. DCG 7 / log2(3) over 7 + 1 / log2(3).
    assert lines[1] == "focused; recall@5 0.500, mrr 0.500, ndcg@5 0.579, fact recall 0.500"


def test_a_ranking_stands_against_the_expected_modules() -> None:
    lines = section(report(), "### find-late: late")
    assert row(lines, "1") == ["1", "`db.py`", "0"]
    assert row(lines, "2") == ["2", "`auth/jwt.py`", "3"]
    assert row(lines, "missing") == ["missing", "`auth/login.py`", "1"]


def test_a_module_without_a_grade_shows_none() -> None:
    answers = (Answer("all-well", (Hit("new.py", 1.0),), ""),)
    found, records = cell(QUERIES[1:2], answers)
    text = cell_report("requests/bm25", found, INPUTS, records)
    assert row(section(text, "### all-well: miss"), "1") == ["1", "`new.py`", "—"]


def test_each_fact_has_its_verdict_and_evidence() -> None:
    lines = section(report(), "### find-late: late")
    assert "- supported: decode_token checks expiry (`auth/jwt.py:10-42`)" in lines
    assert "- contradicted: uses HS256" in lines
    assert "- not in the context: refund" in section(report(), "### no-answer: miss")


def test_a_failure_has_its_reason() -> None:
    lines = section(report(), "### crashed: failed")
    assert "Failed: TimeoutError: took longer than 60 s" in lines


def test_without_an_answer_only_what_is_missing_is_shown() -> None:
    lines = [x for x in section(report(), "### no-answer: miss") if x.startswith("|")]
    assert lines[2:] == ["| missing | `pay.py` | 3     |"]


def test_what_was_left_out_is_counted() -> None:
    (line,) = [x for x in section(report(), "### find-late: late") if x.startswith("Left out")]
    assert line == (
        "Left out: 1 further hits in modules ranked already, 2 hits that are no module of the "
        "corpus."
    )


def test_a_report_says_what_it_was_made_from() -> None:
    lines = section(report(), "## Made from")
    assert lines[0] == "- retriever: `rankgate.retrievers.bm25.BM25` bm25s 0.3.16"
    assert lines[1] == "- its options: k1: 2.0, b: 0.75, chunk_lines: 50, context_tokens: 2000"
    assert f"- corpus: {INPUTS['corpus']}" in lines
    assert "- cutoffs: 1, 3, 5" in lines


def test_a_report_does_not_depend_on_a_gate() -> None:
    assert "FAIL" not in report()
    assert "`verdicts/requests/bm25.md`" in report()


def test_no_column_is_without_a_name() -> None:
    assert not re.search(r"\| +\|", report())


def test_tables_fit_100_columns() -> None:
    assert max(len(line) for line in report().splitlines() if line.startswith("|")) <= 100


def test_a_question_of_100_kilobytes_is_cut() -> None:
    long = Query("q", "why " * 25_000, "focused", {"a.py": 3}, ("red",))
    found, records = cell((long,), ())
    text = cell_report("requests/bm25", found, INPUTS, records)
    (shown,) = [line for line in text.splitlines() if line.startswith("why why")]
    assert len(shown) == 500
    assert shown.endswith("…")


# --- Hostile text ---------------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "![x](http://example.org)",
    "a|b`c\\|d",
    "one\ntwo\n\n# three\n- four",
    "\x1b[2J\x1b[31mred",
    "__init__.py",
    "\u202egnp.exe\u200f",
    "```",
    "# x",
    "---",
    "1. x",
    "> x",
]


def hostile_report(text: str) -> str:
    """A report with `text` wherever something from outside is shown."""
    queries = (
        Query(text, text, text, {text: 3, f"{text}2": 2}, (text, f"{text} 2")),
        Query(f"{text}3", text, text, {text: 3}, (text,)),
    )
    answers = (
        Answer(text, (Hit(text, 1.0, 1, 2, text), Hit(f"{text}4", 1.0)), text),
        Answer(f"{text}3", (), "", failure=text),
    )
    system = {"name": text, "class": text, "version": text, "options": {text: text}}
    found, records = cell(queries, answers)
    return cell_report(f"{text}/{text}", found, {text: text, "retriever": system}, records)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_adds_no_element_to_a_report(text: str) -> None:
    assert elements(hostile_report(text)) <= elements(hostile_report("harmless"))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_changes_no_outline(text: str) -> None:
    def outline(markdown: str) -> list[tuple[str, str]]:
        tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
        return [(token.type, token.tag) for token in tokens]

    assert outline(hostile_report(text)) == outline(hostile_report("harmless"))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_report_is_printable_text(text: str) -> None:
    assert all(line.isprintable() for line in hostile_report(text).split("\n"))


# --- The grid -------------------------------------------------------------------------------------


def test_the_grid_has_a_line_a_cell_and_fits_100_columns() -> None:
    found, _ = cell(QUERIES, ANSWERS)
    text = grid_report({"requests/bm25": found, "sample_project/neuralmind": found})
    lines = text.splitlines()
    assert row(lines[:6], "cell") == [
        "cell",
        "queries",
        "recall@5",
        "mrr",
        "ndcg@5",
        "hit rate",
        "faithfulness",
    ]
    assert row(lines[:6], "requests/bm25")[1:4] == ["4", "0.375", "0.375"]
    assert row(lines[6:13], "cell") == [
        "cell",
        "ndcg@5",
        "tokens",
        "tokens p95",
        "reduction",
        "",
    ]
    # 1000 tokens over a mean context of (40 + 10 + 0 + 0) / 4.
    tokens = row(lines[6:13], "sample_project/neuralmind")
    assert tokens[2:] == ["12.5", "40.0", "80.0", "unbeaten"]
    assert row(lines[13:], "cell") == ["cell", "failures", "judged@5"]
    assert max(map(len, lines)) <= 100


def test_the_grid_shows_which_cells_keep_their_gates() -> None:
    found, _ = cell(QUERIES, ANSWERS)
    cells = {"a/x": found, "b/x": found, "c/x": found}
    lines = grid_report(cells, {"a/x": True, "b/x": False}).splitlines()[:7]
    assert [row(lines, name)[-1] for name in ("cell", "a/x", "b/x", "c/x")] == [
        "gates",
        "pass",
        "FAIL",
        "—",
    ]


def test_the_grid_shows_a_measure_that_a_cell_lacks_as_none() -> None:
    found, _ = cell(QUERIES, ANSWERS)
    deeper = {**found, "recall_at_10": 0.5, "ndcg_at_10": 0.5, "judged_at_10": 0.5}
    lines = grid_report({"a/x": found, "b/x": deeper}).splitlines()[:6]
    assert [row(lines, name)[2] for name in ("cell", "a/x", "b/x")] == ["recall@10", "—", "0.500"]


def test_the_grid_shows_what_a_cell_cost_where_that_is_known() -> None:
    found, _ = cell(QUERIES, ANSWERS)
    costs = {"a/x": {"index_seconds": 1.5, "p50_seconds": 0.0025}, "a/y": {}}
    lines = grid_report({"a/x": found, "a/y": found}, costs=costs).splitlines()[13:]
    assert row(lines, "cell")[3:] == ["index s", "p50 ms"]
    assert row(lines, "a/x")[3:] == ["1.500", "2.500"]
    assert row(lines, "a/y")[3:] == ["—", "—"]


def test_a_cell_is_beaten_by_one_of_its_repo_that_is_better_and_not_dearer() -> None:
    def of(ndcg: float, tokens: float) -> dict[str, float]:
        return {"ndcg_at_5": ndcg, "context_tokens": tokens}

    cells = {
        "a/best": of(0.9, 100),
        "a/cheap": of(0.5, 10),
        "a/same-but-dearer": of(0.9, 101),
        "a/same-tokens-but-worse": of(0.4, 10),
        "a/equal-to-cheap": of(0.5, 10),
        "b/alone": of(0.1, 1000),
        "b/unknown": {"ndcg_at_5": 1.0},
    }
    assert unbeaten(cells, "ndcg_at_5") == {"a/best", "a/cheap", "a/equal-to-cheap", "b/alone"}


def test_hostile_names_stay_text_in_the_grid() -> None:
    found, _ = cell(QUERIES, ANSWERS)
    for text in HOSTILE:
        assert elements(grid_report({f"{text}/x": found})) <= elements(grid_report({"a/x": found}))


# --- Written and read back ------------------------------------------------------------------------


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results folder with one cell, requests/bm25."""
    query_set = QuerySet(QUERIES, (), "", "0" * 64, ())
    scored = score(query_set, ANSWERS, N15(), cutoffs=(1, 3, 5))
    folder = tmp_path / "results"
    numbers = metrics(scored, (1, 3, 5), 1000)
    write_results(folder / "requests/bm25", "requests/bm25", scored, numbers, INPUTS)
    return folder


def test_a_cell_is_four_files(results: Path) -> None:
    assert sorted(path.name for path in (results / "requests/bm25").iterdir()) == [
        "metrics.json",
        "queries.json",
        "report.md",
        "run.trec",
    ]


def test_metrics_of_a_run_without_contexts_hold_no_null(tmp_path: Path) -> None:
    query_set = QuerySet(QUERIES, (), "", "0" * 64, ())
    scored = score(query_set, [Answer("all-well", (), None)], N15(), cutoffs=(1,))
    write_results(tmp_path, "a/x", scored, metrics(scored, (1,), None), INPUTS)
    found = json.loads((tmp_path / "metrics.json").read_text())
    assert "fact_recall" not in found
    assert "null" not in (tmp_path / "metrics.json").read_text()


def test_queries_json_has_the_inputs_and_a_record_a_query(results: Path) -> None:
    found = json.loads((results / "requests/bm25/queries.json").read_text())
    assert found["inputs"] == INPUTS
    assert [query["id"] for query in found["queries"]] == [query.id for query in QUERIES]


def test_written_twice_the_bytes_are_the_same(results: Path, tmp_path: Path) -> None:
    query_set = QuerySet(QUERIES, (), "", "0" * 64, ())
    scored = score(query_set, ANSWERS[::-1], N15(), cutoffs=(1, 3, 5))
    numbers = metrics(scored, (1, 3, 5), 1000)
    write_results(tmp_path / "again", "requests/bm25", scored, numbers, INPUTS)
    for path in (results / "requests/bm25").iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_a_cell_without_gates_is_shown_by_its_report(results: Path, tmp_path: Path) -> None:
    shown = show_cell("requests/bm25", results, tmp_path / "verdicts")
    assert shown == (results / "requests/bm25/report.md").read_text()


def test_a_cell_is_shown_below_its_gates(results: Path, tmp_path: Path) -> None:
    gates = tmp_path / "verdicts/requests/bm25.md"
    gates.parent.mkdir(parents=True)
    gates.write_text("## Gates of requests/bm25: 8 gates passed\n")
    shown = show_cell("requests/bm25", results, tmp_path / "verdicts")
    assert shown.startswith("## Gates of requests/bm25: 8 gates passed\n\n# requests with bm25\n")


def test_an_unknown_cell_is_named_with_those_there_are(results: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no cell 'requests/bm52'; there is requests/bm25"):
        show_cell("requests/bm52", results, tmp_path)


def test_without_results_the_reader_is_told_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no results; run `dvc repro` first"):
        show_grid(tmp_path / "results", tmp_path / "verdicts")


@pytest.mark.parametrize("content", ["[]", "{}", '{"mrr": 1.0}', '{"recall_at_5": 1, "shape": []}'])
def test_a_foreign_metrics_file_is_an_input_error(
    results: Path, tmp_path: Path, content: str
) -> None:
    (results / "requests/bm25/metrics.json").write_text(content)
    with pytest.raises(InputError, match=r"metrics\.json: not from rankgate's stage score"):
        show_grid(results, tmp_path / "verdicts")


@pytest.mark.parametrize("content", ["[]", "{}", '{"passed": 1}'])
def test_a_foreign_verdict_is_an_input_error(results: Path, tmp_path: Path, content: str) -> None:
    verdict = tmp_path / "verdicts/requests/bm25.json"
    verdict.parent.mkdir(parents=True)
    verdict.write_text(content)
    with pytest.raises(InputError, match=r"bm25\.json: not from rankgate's stage gate"):
        read_cells(results, tmp_path / "verdicts")
