"""Comparisons: what is compared with what, the verdict, and the pull request's comment."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rankgate.compare.cells import Answered, Cell, parse_cell
from rankgate.compare.comparison import CellComparison, as_json, compare, failed
from rankgate.compare.report import MAX_BYTES, comparison_report, verdict_line
from rankgate.config import CompareSettings
from rankgate.errors import InputError

RULES = CompareSettings(resamples=1000)
INPUTS = {
    "corpus": "c1",
    "query_file": "q1",
    "judge": "n15 1",
    "k": 5,
    "relevant_grade": 1,
    "ungraded": "zero",
}


def answered(name: str, value: float, **changes: object) -> Answered:
    plain = Answered(
        id=name,
        question=f"question {name}",
        shape="focused",
        diagnosis="ok",
        grades=f"g-{name}",
        facts=f"f-{name}",
        values=dict.fromkeys(("recall_at_5", "mrr", "ndcg_at_5", "hit_rate", "fact_recall"), value),
        ranking={"a.py": 3},
        missing={},
        supported={"a fact": True},
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def cell(name: str, values: list[float], **inputs: object) -> Cell:
    queries = [answered(f"q{i}", value) for i, value in enumerate(values)]
    return Cell(name, INPUTS | inputs, {query.id: query for query in queries})


def of(*cells: Cell) -> dict[str, Cell]:
    return {one.name: one for one in cells}


def only(cells: list[CellComparison]) -> CellComparison:
    (one,) = cells
    return one


GOOD, BAD = [0.9] * 20, [0.9 - 0.02 * (i % 10) for i in range(20)]


def test_a_clear_fall_is_a_regression_and_a_clear_rise_an_improvement() -> None:
    down = compare(of(cell("r/b", GOOD)), of(cell("r/b", BAD)), RULES)
    assert {one.measure for one in only(down).regressions} == set(RULES.measures)
    assert failed(down, "regression")
    assert not failed(down, "severe")
    assert not failed(down, "never")
    up = compare(of(cell("r/b", BAD)), of(cell("r/b", GOOD)), RULES)
    assert {one.measure for one in only(up).improvements} == set(RULES.measures)
    assert not failed(up, "regression")
    assert verdict_line(up) == "Improvement: 4 measures rose"


def test_no_change_is_said_as_that() -> None:
    same = compare(of(cell("r/b", GOOD)), of(cell("r/b", GOOD)), RULES)
    assert verdict_line(same) == "No change"
    assert only(same).moved == ()
    assert not failed(same, "regression")


def test_a_fall_within_the_tolerance_is_none() -> None:
    tolerant = replace(RULES, tolerance=0.2)
    cells = compare(of(cell("r/b", GOOD)), of(cell("r/b", BAD)), tolerant)
    assert not only(cells).regressions


def test_one_small_move_is_noise() -> None:
    cells = compare(of(cell("r/b", GOOD)), of(cell("r/b", [0.8, *GOOD[1:]])), RULES)
    assert not failed(cells, "regression")
    assert [query.after.id for query in only(cells).moved] == ["q0"]
    assert verdict_line(cells) == "No regression: what moved is within noise"


def with_query(values: list[float], query: Answered) -> Cell:
    whole = cell("r/b", values)
    return replace(whole, queries={**whole.queries, query.id: query})


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (answered("q0", 0.0, ranking={"b.py": 0}, missing={"a.py": 3}), "last relevant module"),
        (answered("q0", 0.9, ranking={"b.py": 2}, missing={"a.py": 3}), "essential module a.py"),
        (answered("q0", 0.3), "ndcg_at_5 fell by 0.60"),
    ],
)
def test_a_query_that_breaks_is_severe(after: Answered, why: str) -> None:
    cells = compare(of(cell("r/b", GOOD)), of(with_query(GOOD, after)), RULES)
    (query,) = only(cells).severe
    assert why in query.severe
    assert failed(cells, "severe")
    assert verdict_line(cells) == "Regression: 1 query broke"


def test_entered_left_gained_and_lost_are_named() -> None:
    after = answered("q0", 0.8, ranking={"a.py": 3, "new.py": 1}, supported={"a fact": False})
    cells = compare(of(cell("r/b", GOOD)), of(with_query(GOOD, after)), RULES)
    (query,) = only(cells).moved
    assert (query.entered, query.left) == (("new.py",), ())
    assert (query.gained, query.lost) == ((), ("a fact",))


def test_only_queries_with_the_same_grades_are_compared() -> None:
    after = answered("q0", 0.0, grades="other")
    cells = compare(of(cell("r/b", GOOD)), of(with_query(GOOD, after)), RULES)
    assert {one.difference.queries for one in only(cells).tested} == {19}
    assert only(cells).moved == ()
    assert "1 with another question or grades): 19 queries are compared" in only(cells).notes[0]


def test_queries_with_other_facts_count_for_the_ranking_alone() -> None:
    after = answered("q0", 0.9, facts="other")
    cells = compare(of(cell("r/b", GOOD)), of(with_query(GOOD, after)), RULES)
    counts = {one.measure: one.difference.queries for one in only(cells).tested}
    assert counts == {"recall_at_5": 20, "mrr": 20, "ndcg_at_5": 20, "fact_recall": 19}


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({"judge": "n15 2"}, {"recall_at_5", "mrr", "ndcg_at_5"}),
        ({"k": 10}, {"recall_at_5", "ndcg_at_5"}),
    ],
)
def test_measures_that_mean_something_else_are_left_out(
    change: dict[str, object], left: set[str]
) -> None:
    cells = compare(of(cell("r/b", GOOD)), of(cell("r/b", GOOD, **change)), RULES)
    assert {one.measure for one in only(cells).tested} == left
    assert only(cells).notes


@pytest.mark.parametrize("change", [{"corpus": "c2"}, {"relevant_grade": 2}, {"ungraded": "skip"}])
def test_incomparable_cells_get_no_verdict(change: dict[str, object]) -> None:
    cells = compare(of(cell("r/b", GOOD)), of(cell("r/b", BAD, **change)), RULES)
    assert only(cells).status == "incomparable"
    assert verdict_line(cells) == "No verdict: nothing can be compared"


def test_another_corpus_is_compared_when_allowed() -> None:
    cells = compare(
        of(cell("r/b", GOOD)), of(cell("r/b", BAD, corpus="c2")), RULES, allow_corpus_change=True
    )
    assert only(cells).regressions
    assert "corpus changed" in only(cells).notes[0]


def test_new_gone_and_renamed_cells_are_named() -> None:
    other = cell("old/b", GOOD, corpus="c2", query_file="q2")
    cells = compare(of(cell("r/b", GOOD), other), of(cell("s/b", GOOD)), RULES)
    assert {one.name: one.status for one in cells} == {"old/b": "gone", "r/b": "gone", "s/b": "new"}
    notes = {one.name: one.notes for one in cells}
    assert "is now s/b" in notes["r/b"][0]
    assert "was r/b" in notes["s/b"][0]
    assert notes["old/b"] == ()


def test_tests_that_cannot_be_rejected_cost_the_others_nothing() -> None:
    still = [cell(f"r{i}/b", GOOD) for i in range(50)]
    cells = compare(of(*still, cell("x/b", GOOD)), of(*still, cell("x/b", BAD)), RULES)
    assert [one.name for one in cells if one.regressions] == ["x/b"]


def test_json_has_every_number() -> None:
    (record,) = as_json(compare(of(cell("r/b", GOOD)), of(cell("r/b", BAD)), RULES))
    (recall, *_) = record["measures"]
    assert recall["measure"] == "recall_at_5"
    assert recall["before"] == 0.9
    assert recall["after"] == pytest.approx(0.81)
    assert recall["difference"] == pytest.approx(-0.09)
    assert (recall["wins"], recall["ties"], recall["losses"]) == (0, 2, 18)
    assert record["moved"][0]["before"] == ["a.py"]
    assert json.loads(json.dumps(record, allow_nan=False)) == record


HOSTILE = "</summary><script>alert(1)</script> | `x` [a](javascript:b) \x1b[31m @everyone"


def grid_of(size: int, value: float, name: str = "r{}/b", question: str = "q") -> dict[str, Cell]:
    cells = []
    for i in range(size):
        queries = [
            answered(
                f"{question} {n}",
                value if n % 2 else 0.9,
                question=question * 20,
                diagnosis=question,
            )
            for n in range(40)
        ]
        cells.append(Cell(name.format(i), INPUTS, {query.id: query for query in queries}))
    return of(*cells)


def test_comment_of_a_large_grid_fits_and_closes_what_it_opens() -> None:
    before, after = grid_of(40, 0.9, question="w" * 30), grid_of(40, 0.2, question="w" * 30)
    report = comparison_report(compare(before, after, RULES), "main", "workspace", 0.95)
    assert len(report.encode()) <= MAX_BYTES
    assert report.count("<details>") == report.count("</details>") > 0
    assert report.splitlines()[0].startswith("**Regression: ")
    assert "Cut here" in report


def test_comment_has_no_unchanged_rows() -> None:
    before, after = grid_of(3, 0.9), grid_of(3, 0.9)
    after["r1/b"] = grid_of(3, 0.2)["r1/b"]
    report = comparison_report(compare(before, after, RULES), "main", "workspace", 0.95)
    assert "`r1/b`" in report
    assert "`r0/b`" not in report
    assert "8 of 12 measures did not move." in report


def test_what_queries_and_names_say_stays_text() -> None:
    before, after = (grid_of(1, value, question=HOSTILE) for value in (0.9, 0.2))
    report = comparison_report(compare(before, after, RULES), HOSTILE, "workspace", 0.95)
    assert "<script" not in report
    assert "\x1b" not in report
    assert "[a](javascript" not in report
    assert "@everyone" not in report
    assert report.count("</summary>") == report.count("<summary>") == 1


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"queries": 1, "inputs": {}}', '{"queries": [{"id": "a"}], "inputs": {}}']
)
def test_results_of_an_old_version_are_named(text: str) -> None:
    with pytest.raises(InputError, match="main:x: results of another version"):
        parse_cell("r/b", text, "main:x")


SOUND = {
    "id": "a",
    "question": "q",
    "shape": "focused",
    "diagnosis": "ok",
    "ground_truth": {"grades": "g", "facts": "f"},
    "measures": {"mrr": 1, "context_recall": None},
    "ranking": [{"module": "a.py", "grade": None}],
    "missing": [{"module": "b.py", "grade": 3}],
    "facts": [{"fact": "f", "supported": True}],
}


@pytest.mark.parametrize(
    "changes",
    [
        {"id": 1},
        {"question": "\ud800"},
        {"ground_truth": []},
        {"measures": []},
        {"measures": {"mrr": float("nan")}},
        {"measures": {"mrr": float("inf")}},
        {"measures": {"mrr": 10**400}},
        {"measures": {"mrr": True}},
        {"measures": {"mrr": "1"}},
        {"ranking": "a.py"},
        {"ranking": [{"module": ["a.py"], "grade": 1}]},
        {"ranking": [{"module": "a.py", "grade": "<b>"}]},
        {"missing": [{"module": "a.py", "grade": 1.5}]},
        {"facts": [{"fact": {}, "supported": True}]},
        {"facts": {"a": 1}},
    ],
)
def test_results_with_a_wrong_value_anywhere_are_refused(changes: dict[str, object]) -> None:
    assert parse_cell("r/b", json.dumps({"inputs": {}, "queries": [SOUND]}), "x").queries
    with pytest.raises(InputError, match="x: results of another version"):
        parse_cell("r/b", json.dumps({"inputs": {}, "queries": [SOUND | changes]}), "x")


def test_results_with_a_query_twice_or_wrong_inputs_are_refused() -> None:
    for value in ({"inputs": {}, "queries": [SOUND] * 2}, {"inputs": "k", "queries": [SOUND]}):
        with pytest.raises(InputError, match="x: results of another version"):
            parse_cell("r/b", json.dumps(value), "x")


def test_a_measure_that_some_queries_lack_is_named() -> None:
    before, after = cell("r/b", GOOD), cell("r/b", BAD)
    lacking = dict(after.queries["q0"].values)
    del lacking["mrr"]
    queries = after.queries | {"q0": replace(after.queries["q0"], values=lacking)}
    compared = only(compare(of(before), of(replace(after, queries=queries)), RULES))
    assert "mrr" not in {one.measure for one in compared.tested}
    assert compared.notes == ("mrr is not compared: not every query has it before and after",)


def test_no_value_at_all_and_a_single_query_are_no_change() -> None:
    empty = answered("q", 0.0, values={})
    for query in (empty, answered("q", 0.5)):
        side = of(Cell("r/b", INPUTS, {"q": query}))
        compared = compare(side, side, RULES)
        assert verdict_line(compared) == "No change"
        assert comparison_report(compared, "a", "b", 0.95)


def test_committed_results_can_be_read() -> None:
    path = Path(__file__).parent.parent / "results/requests/bm25/queries.json"
    parsed = parse_cell("requests/bm25", path.read_text(encoding="utf-8"), str(path))
    assert len(parsed.queries) == 16
    assert parsed.inputs["k"] == 5
