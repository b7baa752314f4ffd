"""Gates: which numbers keep a floor, and what is said when one does not."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from project import ROOT

from rankgate.config import Bound, Floor, load_gate
from rankgate.errors import InputError
from rankgate.gates import Gate, assert_gates, check, gates_report, passed, verdict

CONSERVATIVE = ROOT / "conf/gate/conservative.yaml"
GOOD = {
    "recall_at_5": 0.9,
    "mrr": 0.9,
    "ndcg_at_5": 0.9,
    "hit_rate": 1.0,
    "faithfulness": 0.5,
    "contradiction": 0.0,
}


def cell(**changed: Any) -> dict[str, Any]:
    """The metrics of a cell that keeps every conservative floor, but for the changes."""
    shapes = {shape: dict(GOOD) for shape in ("cross-file", "focused", "identity")}
    return {**GOOD, "queries": 3, "failures": 0, **changed, "shape": shapes}


def record(name: str, shape: str = "focused", failure: str = "", **measures: Any) -> dict[str, Any]:
    return {"id": name, "shape": shape, "failure": failure, "measures": {**GOOD, **measures}}


def gate(
    floor: Floor, metrics: dict[str, Any], queries: list[dict[str, Any]] | None = None
) -> Gate:
    (checked,) = check([floor], metrics, queries or [record("q")])
    return checked


def failing(metrics: dict[str, Any], queries: list[dict[str, Any]]) -> list[str]:
    floors = load_gate(CONSERVATIVE, (1, 3, 5)).of("some-repo")
    return [gate.name for gate in check(floors, metrics, queries) if not gate.passed]


# --- The eight conservative floors --------------------------------------------------------------


def test_there_are_the_eight_floors_of_the_specification() -> None:
    floors = load_gate(CONSERVATIVE, (1, 3, 5)).of("some-repo")
    assert [(f.measure, f.bound, f.value) for f in floors] == [
        ("recall_at_5", "min", 0.50),
        ("mrr", "min", 0.40),
        ("ndcg_at_5", "min", 0.50),
        ("hit_rate", "min", 0.80),
        ("faithfulness", "above", 0.0),
        ("contradiction", "max", 0.20),
        ("query.*.recall_at_5", "above", 0.0),
        ("shape.*.hit_rate", "min", 0.70),
    ]


def test_a_good_cell_keeps_them_all() -> None:
    assert failing(cell(), [record("q")]) == []


@pytest.mark.parametrize(
    ("name", "measure", "kept", "broken"),
    [
        ("recall", "recall_at_5", 0.5, 0.499999),
        ("mrr", "mrr", 0.4, 0.399999),
        ("ndcg", "ndcg_at_5", 0.5, 0.499999),
        ("hit-rate", "hit_rate", 0.8, 0.799999),
        ("faithfulness", "faithfulness", 0.000001, 0.0),
        ("contradiction", "contradiction", 0.2, 0.200001),
    ],
)
def test_a_floor_is_kept_at_its_bound_and_broken_beyond(
    name: str, measure: str, kept: float, broken: float
) -> None:
    assert failing(cell(**{measure: kept}), [record("q")]) == []
    assert failing(cell(**{measure: broken}), [record("q")]) == [name]


def test_one_query_without_a_relevant_module_in_its_top_5_breaks_a_floor() -> None:
    fine, missed = record("fine", recall_at_5=0.25), record("missed", recall_at_5=0.0)
    assert failing(cell(), [fine]) == []
    assert failing(cell(), [fine, missed]) == ["every-query"]


def test_one_shape_whose_hit_rate_is_low_breaks_a_floor() -> None:
    metrics = cell()
    metrics["shape"]["identity"]["hit_rate"] = 0.7
    assert failing(metrics, [record("q")]) == []
    metrics["shape"]["identity"]["hit_rate"] = 0.699999
    assert failing(metrics, [record("q")]) == ["every-shape"]


@pytest.mark.parametrize(
    ("bound", "below", "at", "above"),
    [("min", False, True, True), ("max", True, True, False), ("above", False, False, True)],
)
def test_what_a_bound_means(bound: Bound, below: bool, at: bool, above: bool) -> None:
    assert [passed(bound, value, 0.5) for value in (0.25, 0.5, 0.75)] == [below, at, above]


# --- What is no finite number -------------------------------------------------------------------

NO_NUMBERS = [math.nan, math.inf, -math.inf, None, "0.9", True, [], 10**400]


@pytest.mark.parametrize("bound", ["min", "max", "above"])
@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: str(value)[:8])
def test_what_is_no_finite_number_passes_no_bound(bound: Bound, value: object) -> None:
    assert not passed(bound, value, 0.0)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: str(value)[:8])
def test_a_metric_that_is_no_finite_number_fails_and_is_called_missing(value: Any) -> None:
    broken = gate(Floor("f", "mrr", "max", 1.0), cell(mrr=value))
    assert (broken.passed, broken.value, broken.why) == (False, None, "the number is missing")


def test_a_metric_that_is_not_there_fails() -> None:
    broken = gate(Floor("f", "token_reduction", "min", 1.0), cell())
    assert (broken.passed, broken.why) == (False, "the number is missing")


def test_a_shape_that_is_not_there_fails() -> None:
    broken = gate(Floor("f", "shape.odd.mrr", "min", 0.1), cell())
    assert (broken.passed, broken.value, broken.why) == (False, None, "there is no shape.odd.mrr")


def test_each_shape_of_none_fails() -> None:
    broken = gate(Floor("f", "shape.*.mrr", "min", 0.1), {"mrr": 1.0, "shape": {}})
    assert not broken.passed


def test_each_query_of_none_fails() -> None:
    (broken,) = check([Floor("f", "query.*.mrr", "min", 0.1)], cell(), [])
    assert not broken.passed


def test_one_missing_number_among_the_queries_fails_and_its_query_comes_first() -> None:
    queries = [record("bad", fact_recall=0.0), record("unknown", fact_recall=None)]
    broken = gate(Floor("f", "query.*.fact_recall", "min", 0.5), cell(), queries)
    assert (broken.passed, broken.value, broken.queries) == (False, None, ("unknown", "bad"))


# --- Scopes -------------------------------------------------------------------------------------


def test_a_floor_of_one_shape_looks_at_that_shape_only() -> None:
    metrics = cell()
    metrics["shape"]["identity"]["mrr"] = 0.1
    assert gate(Floor("f", "shape.focused.mrr", "min", 0.5), metrics).passed
    assert not gate(Floor("f", "shape.identity.mrr", "min", 0.5), metrics).passed


def test_a_shape_may_have_a_dot_in_its_name() -> None:
    metrics = cell()
    metrics["shape"]["v1.0"] = {"mrr": 0.9}
    assert gate(Floor("f", "shape.v1.0.mrr", "min", 0.5), metrics).passed


def test_the_value_of_a_floor_on_each_shape_is_the_worst_one() -> None:
    metrics = cell()
    metrics["shape"]["identity"]["mrr"] = 0.3
    metrics["shape"]["focused"]["mrr"] = 0.2
    assert gate(Floor("f", "shape.*.mrr", "min", 0.5), metrics).value == 0.2


def test_the_worst_of_what_has_a_ceiling_is_the_highest() -> None:
    queries = [record("a", contradiction=0.1), record("b", contradiction=0.4)]
    assert gate(Floor("f", "query.*.contradiction", "max", 0.2), cell(), queries).value == 0.4


# --- Why, and which queries ---------------------------------------------------------------------


def test_a_kept_floor_names_nobody() -> None:
    kept = gate(Floor("f", "mrr", "min", 0.5), cell(), [record("low", mrr=0.1)])
    assert (kept.why, kept.queries) == ("", ())


@pytest.mark.parametrize("measure", ["mrr", "query.*.mrr"])
def test_the_queries_at_fault_are_named_the_worst_first(measure: str) -> None:
    queries = [
        record("a-half", mrr=0.5),
        record("b-third", mrr=1 / 3),
        record("d-zero", mrr=0.0),
        record("c-zero", mrr=0.0),
    ]
    broken = gate(Floor("f", measure, "min", 0.5), cell(mrr=0.2), queries)
    assert broken.queries == ("c-zero", "d-zero", "b-third")
    assert broken.why == "queries c-zero, d-zero, b-third"


@pytest.mark.parametrize("measure", ["contradiction", "query.*.contradiction"])
def test_under_a_ceiling_the_highest_is_the_worst(measure: str) -> None:
    queries = [record("a", contradiction=0.3), record("b", contradiction=0.5), record("c")]
    broken = gate(Floor("f", measure, "max", 0.2), cell(contradiction=0.3), queries)
    assert broken.queries == ("b", "a")


def test_a_broken_shape_is_named_with_its_own_queries_only() -> None:
    metrics = cell()
    metrics["shape"]["identity"]["hit_rate"] = 0.5
    queries = [record("one", "identity", hit_rate=0.0), record("other", "focused", hit_rate=0.0)]
    broken = gate(Floor("f", "shape.*.hit_rate", "min", 0.7), metrics, queries)
    assert broken.queries == ("one",)
    assert broken.why == "shape identity; queries one"


def test_a_floor_on_failures_names_the_queries_that_failed() -> None:
    queries = [record("slow", failure="took longer than 60 s"), record("fine")]
    broken = gate(Floor("f", "failures", "max", 0), cell(failures=1), queries)
    assert (broken.value, broken.queries) == (1, ("slow",))


def test_a_floor_on_a_number_that_no_query_has_says_what_it_asked_for() -> None:
    broken = gate(Floor("f", "token_reduction", "min", 3.0), cell(token_reduction=2.5))
    assert (broken.queries, broken.why) == ((), "not ≥ 3")


def test_a_line_names_at_most_ten_queries_and_the_record_all() -> None:
    queries = [record(f"q{number:02}", mrr=0.0) for number in range(12)]
    broken = gate(Floor("f", "mrr", "min", 0.5), cell(mrr=0.1), queries)
    assert len(broken.queries) == 12
    assert broken.why.endswith("q08, q09 and 2 more")


def test_a_line_has_name_measure_value_floor_and_reason() -> None:
    broken = gate(Floor("ranks", "mrr", "min", 0.4), cell(mrr=0.25), [record("low", mrr=0.25)])
    assert broken.line() == "FAIL  ranks: mrr = 0.25, floor ≥ 0.4 — queries low"


def test_a_line_shows_numbers_that_differ_as_different() -> None:
    floor = Floor("size", "context_tokens", "max", 2000.123456)
    assert (
        "2000.123457, floor ≤ 2000.123456" in gate(floor, cell(context_tokens=2000.123457)).line()
    )


def test_the_verdict_is_a_record_a_gate() -> None:
    floors = [Floor("ranks", "mrr", "min", 0.4), Floor("finds", "hit_rate", "min", 0.8)]
    found = verdict(check(floors, cell(mrr=0.25), [record("low", mrr=0.25)]))
    assert not found["passed"]
    assert found["gates"][0] == {
        "name": "ranks",
        "measure": "mrr",
        "value": 0.25,
        "rule": "min",
        "bound": 0.4,
        "passed": False,
        "why": "queries low",
        "queries": ["low"],
    }
    assert [g["passed"] for g in found["gates"]] == [False, True]
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_report_counts_the_failed_gates_and_lists_them_first() -> None:
    floors = [Floor("finds", "hit_rate", "min", 0.8), Floor("ranks", "mrr", "min", 0.4)]
    report = gates_report("repo/bm25", check(floors, cell(mrr=0.25), [record("low", mrr=0.25)]))
    lines = report.splitlines()
    assert lines[0] == "## Gates of repo/bm25: 1 of 2 gates failed"
    assert lines[2].startswith("- FAIL ranks")
    assert lines[3].startswith("- pass finds")


# --- Floors of one repo, and the strict ones ------------------------------------------------------


def gate_file(folder: Path, **values: Any) -> Path:
    path = folder / "gate.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def test_a_repos_own_floor_replaces_the_one_of_the_same_name_there_only(tmp_path: Path) -> None:
    floors = {"a": {"measure": "mrr", "min": 0.4}, "b": {"measure": "hit_rate", "min": 0.8}}
    own = {"click": {"a": {"measure": "mrr", "min": 0.9}}}
    found = load_gate(gate_file(tmp_path, floors=floors, repos=own), (1, 3, 5))
    assert [(f.name, f.value) for f in found.of("click")] == [("a", 0.9), ("b", 0.8)]
    assert [(f.name, f.value) for f in found.of("other")] == [("a", 0.4), ("b", 0.8)]


def test_a_repos_own_floor_of_a_new_name_is_added(tmp_path: Path) -> None:
    floors = {"a": {"measure": "mrr", "min": 0.4}}
    own = {"click": {"extra": {"measure": "failures", "max": 0}}}
    found = load_gate(gate_file(tmp_path, floors=floors, repos=own), (1, 3, 5))
    assert [f.name for f in found.of("click")] == ["a", "extra"]


def test_the_strict_floors_are_nowhere_below_the_conservative_ones() -> None:
    def floors(name: str) -> dict[str, Floor]:
        gate = load_gate(ROOT / f"conf/gate/{name}.yaml", (1, 3, 5))
        return {floor.name: floor for floor in gate.of("some-repo")}

    conservative, strict = floors("conservative"), floors("strict")
    assert len(conservative) == 8
    for name, floor in conservative.items():
        assert (strict[name].measure, strict[name].bound) == (floor.measure, floor.bound)
        if floor.bound == "max":
            assert strict[name].value <= floor.value
        else:
            assert strict[name].value >= floor.value


# --- assert_gates, for other test suites ---------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The results of a good cell, results/click/bm25."""
    made = tmp_path / "results/click/bm25"
    made.mkdir(parents=True)
    (made / "metrics.json").write_text(json.dumps(cell()))
    (made / "queries.json").write_text(json.dumps({"version": 1, "queries": [record("q")]}))
    return made


def test_assert_gates_says_nothing_of_a_good_cell(folder: Path) -> None:
    assert_gates(folder, CONSERVATIVE)
    assert_gates(str(folder), str(CONSERVATIVE))


def test_assert_gates_names_gate_value_floor_and_queries(folder: Path) -> None:
    (folder / "metrics.json").write_text(json.dumps(cell(mrr=0.25)))
    (folder / "queries.json").write_text(json.dumps({"queries": [record("low", mrr=0.25)]}))
    with pytest.raises(AssertionError) as caught:
        assert_gates(folder, CONSERVATIVE)
    assert str(caught.value).splitlines() == [
        f"{folder}: 1 gates failed",
        "FAIL  mrr: mrr = 0.25, floor ≥ 0.4 — queries low",
    ]


def test_assert_gates_takes_the_repo_from_the_folder(folder: Path, tmp_path: Path) -> None:
    strict_for_click = gate_file(
        tmp_path,
        floors={"a": {"measure": "mrr", "min": 0.4}},
        repos={"click": {"a": {"measure": "mrr", "min": 0.99}}},
    )
    with pytest.raises(AssertionError, match=r"floor ≥ 0\.99"):
        assert_gates(folder, strict_for_click)
    assert_gates(folder, strict_for_click, repo="another")


def test_assert_gates_finds_the_repo_of_a_relative_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict_for_click = gate_file(
        tmp_path,
        floors={"a": {"measure": "mrr", "min": 0.4}},
        repos={"click": {"a": {"measure": "mrr", "min": 0.99}}},
    )
    monkeypatch.chdir(folder)
    with pytest.raises(AssertionError, match=r"floor ≥ 0\.99"):
        assert_gates(".", strict_for_click)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("metrics.json", None, "no such file"),
        ("queries.json", None, "no such file"),
        ("metrics.json", "{", "not JSON"),
        ("metrics.json", "[]", "not from rankgate"),
        ("metrics.json", "{}", "not from rankgate"),
        ("metrics.json", '{"recall_at_5": 1.0, "shape": {"focused": 1}}', "not from rankgate"),
        ("queries.json", "[]", "not from rankgate"),
        ("queries.json", "{}", "not from rankgate"),
        ("queries.json", '{"queries": [1]}', "not from rankgate"),
        ("queries.json", '{"queries": [{"id": "q"}]}', "not from rankgate"),
    ],
)
def test_a_bad_results_file_is_an_input_error(
    folder: Path, name: str, content: str | None, problem: str
) -> None:
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content)
    with pytest.raises(InputError, match=problem) as caught:
        assert_gates(folder, CONSERVATIVE)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "no such file"),
        ("floors: {", "not YAML"),
        ("floors: {}", "floors: is empty"),
        ("floors: {a: {measure: mrr}}", "floors.a.min: give one of min, max, above"),
        ("floors: {a: {measure: map, min: 1}}", "'map' is not computed; there is"),
        ("floors: {a: {measure: recall_at_50, min: 1}}", "'recall_at_50' is not computed"),
        ("floors: {a: {measure: mrr, min: .nan}}", "floors.a.min: expected a finite number"),
    ],
)
def test_a_bad_gate_file_is_an_input_error(
    folder: Path, tmp_path: Path, content: str | None, problem: str
) -> None:
    path = tmp_path / "gate.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=problem) as caught:
        assert_gates(folder, path)
    assert "gate.yaml" in str(caught.value)
