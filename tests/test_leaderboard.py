"""The committed leaderboard is what the suite gives."""

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import leaderboard
import pytest
from project import ROOT, Project

from rankgate.cli import main
from rankgate.corpus import Corpus
from rankgate.files import read_json
from rankgate.workspace import sync

QUICK = ("bm25", "ripgrep")
COMMITTED = ROOT / "leaderboard"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite's quick cells, run anew; the downloads are shared, they are kept by their hash.

    The stages run as DVC would run them, but side by side and without what DVC itself costs.
    """
    folder = tmp_path_factory.mktemp("suite")
    workspace = Project(folder / "workspace")
    sync(ROOT, workspace.folder)
    chosen = [f"retriever=[{','.join(QUICK)}]", f"repo=[{','.join(repos())}]"]
    workspace.run("rankgate", "params", "+experiment=suite", *chosen)

    def run(stage: str, *words: str) -> None:
        workspace.run("python", f"stages/{stage}.py", *words)

    def run_cells(repo: str) -> None:
        run("fixture", repo)
        for retriever in QUICK:
            for stage in ("index", "retrieve", "score"):
                run(stage, repo, retriever)

    for retriever in QUICK:
        run("resources", retriever)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run_cells, repos()))
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


def queries_of(repo: str) -> list[dict[str, Any]]:
    queries: list[dict[str, Any]] = read_json(ROOT / f"data/queries/{repo}.json")["queries"]
    return queries


def test_suite_is_large_and_mixed_enough(suite: Path) -> None:
    assert len(cells_by_repo()) >= 10
    assert sum(len(queries_of(repo)) for repo in repos()) >= 150
    modules = {repo: corpus(suite, repo) for repo in repos()}
    assert max(len(paths.paths) for paths in modules.values()) > 1000
    endings = {path.rpartition(".")[2] for paths in modules.values() for path in paths.paths}
    assert endings >= {"py", "rs", "c"} | ({"ts", "js"} if shutil.which("npm") else set())


def test_a_quarter_of_each_set_shares_no_identifier_with_its_answer() -> None:
    for repo in repos():
        tagged = ["no-shared-identifier" in query.get("tags", ()) for query in queries_of(repo)]
        assert sum(tagged) * 4 >= len(tagged), repo


def test_grades_and_facts_are_borne_out_by_lines(suite: Path) -> None:
    """Every grade of 2 or 3 and every fact has a place; whether its words stand there, and
    whether a question names its answer, is for the linter, next.
    """
    for repo in repos():
        modules = corpus(suite, repo)
        for query in queries_of(repo):
            grades = query["relevance_grades"]
            wanted = [*query["gold_facts"], *(m for m, grade in grades.items() if grade >= 2)]
            assert 2 <= len(query["gold_facts"]) <= 4, (repo, query["id"])
            assert set(wanted) <= query["provenance"].keys(), (repo, query["id"])
            for place in (place for key in wanted for place in query["provenance"][key]):
                module, _, lines = place.rpartition(":")
                first, last = map(int, lines.split("-"))
                assert 1 <= first <= last <= len(modules.text(module).splitlines()), place


def test_check_is_clean_on_every_query_file(suite: Path) -> None:
    for repo in repos():
        file, folder = ROOT / f"data/queries/{repo}.json", suite.parent / "workspace/work/corpus"
        status = main(["check", str(file), "--corpus", str(folder / repo), "--strict"])
        assert status == 0, repo


def corpus(suite: Path, repo: str) -> Corpus:
    return Corpus(suite.parent / "workspace/work/corpus" / repo)


def repos() -> list[str]:
    """Those of the leaderboard that this machine can fetch: packages of npm need npm."""
    return [name for name in sorted(cells_by_repo()) if shutil.which("npm") or not is_of_npm(name)]


def cells_by_repo() -> set[str]:
    return {cell.partition("/")[0] for cell in read_json(COMMITTED / "inputs.json")}


def is_of_npm(repo: str) -> bool:
    return "type: npm" in (ROOT / f"conf/repo/{repo}.yaml").read_text(encoding="utf-8")
