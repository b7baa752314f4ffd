"""Floors raised to what results support."""

from dataclasses import replace
from pathlib import Path

import pytest
from test_compare import answered, cell

from rankgate.cli import main
from rankgate.compare.cells import Cell
from rankgate.config import load_gate
from rankgate.errors import InputError
from rankgate.ratchet import raises, write_raises

GATE = """# why these
floors:
  recall: {measure: recall_at_5, min: 0.50}  # a remark
  wrong: {measure: contradiction, max: 0.20}
  every: {measure: query.*.mrr, above: 0.0}
  shapes: {measure: shape.*.mrr, min: 0.20}
repos:
  r:
    shapes: null
retrievers:
  weak:
    recall: {measure: recall_at_5, min: 0.10}
"""


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    path = tmp_path / "gate.yaml"
    path.write_text(GATE)
    return path


def constant(name: str, value: float) -> Cell:
    """All queries alike: the interval is the value itself."""
    return cell(name, [value] * 10)


def test_floor_goes_to_what_the_worst_cell_supports(gate: Path) -> None:
    cells = {name: constant(name, value) for name, value in (("r/a", 0.815), ("r/b", 0.779))}
    (one,) = raises(load_gate(gate, [1, 5]), cells, 0.95)
    assert (one.path, one.new, one.cell) == (("floors", "recall"), 0.77, "r/b")


def test_floors_of_a_repo_or_retriever_are_raised_where_they_stand(gate: Path) -> None:
    cells = {"r/weak": constant("r/weak", 0.29), "s/a": constant("s/a", 0.9)}
    found = {one.path: one.new for one in raises(load_gate(gate, [1, 5]), cells, 0.95)}
    assert found == {
        ("retrievers", "weak", "recall"): 0.29,
        ("floors", "recall"): 0.9,
        ("floors", "shapes"): 0.9,
    }


def test_a_floor_is_never_lowered(gate: Path) -> None:
    assert raises(load_gate(gate, [1, 5]), {"r/a": constant("r/a", 0.4)}, 0.95) == []


def test_a_maximum_goes_down(gate: Path) -> None:
    queries = [answered(f"q{i}", 0.2, values={"contradiction": 0.051}) for i in range(5)]
    cells = {"r/a": Cell("r/a", {}, {query.id: query for query in queries})}
    (one,) = raises(load_gate(gate, [1, 5]), cells, 0.95)
    assert (one.path, one.new) == (("floors", "wrong"), 0.06)


def test_one_query_supports_nothing(gate: Path) -> None:
    assert raises(load_gate(gate, [1, 5]), {"r/a": cell("r/a", [1.0])}, 0.95) == []


def test_a_floor_waits_for_the_cell_that_supports_nothing(gate: Path) -> None:
    """Raised for the others, it would stop a cell of which nothing is known yet."""
    partly = constant("r/c", 0.9)
    values = {k: v for k, v in partly.queries["q0"].values.items() if k != "recall_at_5"}
    queries = partly.queries | {"q0": replace(partly.queries["q0"], values=values)}
    sure = {"r/a": constant("r/a", 0.9)}
    for unsure in (cell("r/c", [0.9]), replace(partly, queries=queries)):
        assert raises(load_gate(gate, [1, 5]), sure | {"r/c": unsure}, 0.95) == []


@pytest.mark.parametrize(("value", "written"), [(1.0, "1.00"), (0.9, "0.90"), (0.814, "0.81")])
def test_a_written_floor_is_what_was_said(gate: Path, value: float, written: str) -> None:
    found = raises(load_gate(gate, [1, 5]), {"r/a": constant("r/a", value)}, 0.95)
    write_raises(gate, found)
    assert f"recall_at_5, min: {written}}}" in gate.read_text()
    assert load_gate(gate, [1, 5]).floors["recall"].value == float(written) == found[0].new


def test_results_without_cutoffs_are_one_line(
    gate: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "results/r/a/queries.json"
    file.parent.mkdir(parents=True)
    for inputs in ("{}", '{"cutoffs": 5}', '{"cutoffs": ["5"]}'):
        file.write_text(f'{{"inputs": {inputs}, "queries": []}}')
        words = ["ratchet", "--gate", str(gate), "--results", str(tmp_path / "results")]
        assert main(words) == 2
        assert "r/a: its results do not say the cutoffs" in capsys.readouterr().err


def test_edit_keeps_comments_and_layout(gate: Path) -> None:
    cells = {"r/a": constant("r/a", 0.815)}
    write_raises(gate, raises(load_gate(gate, [1, 5]), cells, 0.95))
    assert gate.read_text() == GATE.replace("recall_at_5, min: 0.50", "recall_at_5, min: 0.81")


def test_a_file_without_the_floor_is_named(gate: Path, tmp_path: Path) -> None:
    found = raises(load_gate(gate, [1, 5]), {"r/a": constant("r/a", 0.8)}, 0.95)
    other = tmp_path / "other.yaml"
    other.write_text("floors: {}\n")
    with pytest.raises(InputError, match=r"has no floors\.recall"):
        write_raises(other, found)
    assert other.read_text() == "floors: {}\n"
