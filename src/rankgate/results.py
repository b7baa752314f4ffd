"""A cell's results: written by the stage score, read back to be shown."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rankgate.errors import InputError, one_line
from rankgate.files import read_json, read_text, write_json, write_text
from rankgate.metrics import is_metrics
from rankgate.reports import cell_report, grid_report
from rankgate.scoring import Scored, known, record
from rankgate.timing import of_cell
from rankgate.trec import format_run


def write_results(
    folder: Path,
    name: str,
    scored: Sequence[Scored],
    metrics: Mapping[str, Any],
    inputs: Mapping[str, Any],
) -> None:
    """metrics.json, queries.json, run.trec and report.md.

    Args:
        name: `<repo>/<retriever>`.
        inputs: everything that the numbers depend on.
    """
    records = [record(one) for one in scored]
    write_json(folder / "metrics.json", known(metrics))
    write_json(folder / "queries.json", {"version": 1, "inputs": inputs, "queries": records})
    write_text(folder / "run.trec", format_run((one.answer for one in scored), tag="rankgate"))
    write_text(folder / "report.md", cell_report(name, metrics, inputs, records))


def read_cells(results: Path, verdicts: Path) -> dict[str, dict[str, Any]]:
    """`<repo>/<retriever>` → its metrics and its verdict (None without one), sorted by name.

    Raises:
        InputError: there is no cell.
    """
    cells = {}
    for path in sorted(results.glob("*/*/metrics.json")):
        repo, retriever = path.parts[-3:-1]
        metrics = read_json(path)
        if not is_metrics(metrics):
            raise InputError(f"{path}: not from rankgate's stage score")
        verdict = _read_verdict(verdicts / repo / f"{retriever}.json")
        cells[f"{repo}/{retriever}"] = {"metrics": metrics, "verdict": verdict}
    if not cells:
        raise InputError(f"{results}: no results; run `dvc repro` first")
    return cells


def pick_cell(cells: Mapping[str, dict[str, Any]], name: str, results: Path) -> dict[str, Any]:
    """The cell of this name; InputError with the names there are."""
    if name not in cells:
        raise InputError(f"{results}: no cell {one_line(name, 80)!r}; there is {', '.join(cells)}")
    return cells[name]


def _read_verdict(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    verdict = read_json(path)
    if not isinstance(verdict, dict) or not isinstance(verdict.get("passed"), bool):
        raise InputError(f"{path}: not from rankgate's stage gate")
    return verdict


def show_grid(results: Path, verdicts: Path) -> str:
    """All cells side by side, with whether each passes its gates and what it cost here."""
    cells = read_cells(results, verdicts)
    passed = {name: cell["verdict"]["passed"] for name, cell in cells.items() if cell["verdict"]}
    costs = {name: of_cell(name) for name in cells}
    return grid_report({name: cell["metrics"] for name, cell in cells.items()}, passed, costs)


def show_cell(name: str, results: Path, verdicts: Path) -> str:
    """A cell's gates and report.

    Raises:
        InputError: there is no such cell.
    """
    pick_cell(read_cells(results, verdicts), name, results)
    gates = verdicts / f"{name}.md"
    parts = [read_text(gates)] if gates.is_file() else []
    return "\n".join([*parts, read_text(results / name / "report.md")])
