"""The committed leaderboard is what the suite gives."""

import json
from pathlib import Path

import leaderboard
import pytest
from project import ROOT, Project

from rankgate.files import read_json
from rankgate.workspace import sync

QUICK = ("bm25", "ripgrep")
COMMITTED = ROOT / "leaderboard"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite's quick cells, run anew; the downloads are shared, they are kept by their hash."""
    folder = tmp_path_factory.mktemp("suite")
    workspace = Project(folder / "workspace")
    sync(ROOT, workspace.folder)
    (workspace.folder / ".dvc/config.local").write_text("[core]\n    no_scm = true\n")
    workspace.run("rankgate", "params", "+experiment=suite", f"retriever=[{','.join(QUICK)}]")
    workspace.run("dvc", "repro", "report")
    leaderboard.collect(workspace.folder, folder / "leaderboard")
    return folder / "leaderboard"


def test_quick_cells_come_out_byte_for_byte(suite: Path) -> None:
    made = sorted(path for path in suite.rglob("results/**/*") if path.is_file())
    assert len(made) == len(leaderboard.KEPT) * len(QUICK) * len(repos())
    for path in made:
        assert path.read_bytes() == (COMMITTED / path.relative_to(suite)).read_bytes(), path


def test_inputs_are_those_of_the_committed_cells(suite: Path) -> None:
    committed = read_json(COMMITTED / "inputs.json")
    for cell, inputs in read_json(suite / "inputs.json").items():
        assert inputs == committed[cell], cell


def test_page_shows_the_committed_results() -> None:
    assert leaderboard.page(COMMITTED) == (COMMITTED / "README.md").read_text(encoding="utf-8")


def test_everything_returned_is_judged() -> None:
    for path in COMMITTED.rglob("metrics.json"):
        metrics = json.loads(path.read_text())
        assert (metrics["judged_at_5"], metrics["judged_at_10"]) == (1.0, 1.0), path


def test_suite_is_large_and_mixed_enough() -> None:
    queries = [
        query
        for repo in repos()
        for query in read_json(ROOT / f"data/queries/{repo}.json")["queries"]
    ]
    assert len(repos()) >= 10
    assert len(queries) >= 150


def repos() -> list[str]:
    cells = read_json(COMMITTED / "inputs.json")
    return list(dict.fromkeys(cell.partition("/")[0] for cell in cells))
