"""The leaderboard: every repository with graded queries × every embedded system.

`python benchmarks/leaderboard.py [OVERRIDE…]` runs `conf/experiment/suite.yaml` in a workspace of
its own, work/suite, and writes leaderboard/: each cell's metrics and run, what they depend on
(inputs.json), the table, and how long it took here (timings.json, which no test compares).
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from math import fsum
from pathlib import Path

from rankgate import layout
from rankgate.config import read_yaml
from rankgate.errors import InputError, exit_status
from rankgate.files import read_json, write_json, write_text
from rankgate.markdown import number, table
from rankgate.timing import of_cell
from rankgate.workspace import sync

WORKSPACE = Path("work/suite")
LEADERBOARD = Path("leaderboard")
KEPT = ("metrics.json", "run.trec")
METRICS = {
    "recall@5": "recall_at_5",
    "recall@10": "recall_at_10",
    "MRR": "mrr",
    "nDCG@10": "ndcg_at_10",
    "facts": "fact_recall",
    "tokens": "context_tokens",
    "judged@10": "judged_at_10",
}
INTRODUCTION = (
    "# Leaderboard\n\nMade by `make suite`: every repository with graded queries × every embedded "
    "system, asked for ten modules. `results/` has each cell's metrics and run, `inputs.json` what "
    "they depend on, `timings.json` what they took on two shared cores: {minutes:.0f} minutes for "
    "all indexes. A test reproduces the cells of bm25 and ripgrep byte for byte.\n"
)


def main(overrides: Sequence[str]) -> int:
    sync(Path(), WORKSPACE)
    run(WORKSPACE, *overrides)
    cells = collect(WORKSPACE, LEADERBOARD)
    costs = {cell: of_cell(cell, WORKSPACE) for cell in cells}
    write_json(LEADERBOARD / "timings.json", costs)
    write_text(LEADERBOARD / "README.md", page(LEADERBOARD))
    return 0


def run(workspace: Path, *overrides: str) -> None:
    """Compose the suite's settings, with Hydra's overrides, and run all its cells.

    The stage `report` needs every cell's score; no gate is asked for.
    """
    for command in (
        ["rankgate", "params", "+experiment=suite", *overrides],
        ["dvc", "repro", "report"],
    ):
        status = subprocess.run(command, cwd=workspace, check=False).returncode
        if status:
            raise InputError(f"{' '.join(command)}: ended with status {status}; see above")


def collect(workspace: Path, target: Path) -> list[str]:
    """Copy the cells' results to `target`/results, with inputs.json beside; the cells' names.

    Raises:
        InputError: a cell lacks results or a metric of the table; nothing is changed then.
    """
    params = read_yaml(workspace / "params.yaml")
    cells = [f"{repo}/{name}" for repo in params["repos"] for name in params["retrievers"]]
    inputs = {}
    for cell in cells:
        made = workspace / layout.RESULTS / cell
        metrics = read_json(made / "metrics.json")
        if lacking := [name for name in METRICS.values() if metrics.get(name) is None]:
            raise InputError(f"{made / 'metrics.json'}: has no {', '.join(lacking)}")
        inputs[cell] = read_json(made / "queries.json")["inputs"]
    shutil.rmtree(target / "results", ignore_errors=True)
    for cell in cells:
        made = workspace / layout.RESULTS / cell
        (target / "results" / cell).mkdir(parents=True)
        for name in KEPT:
            shutil.copyfile(made / name, target / "results" / cell / name)
    write_json(target / "inputs.json", inputs)
    return cells


def page(leaderboard: Path) -> str:
    """leaderboard/README.md: the systems' means over repos, then every cell."""
    cells = {
        cell: read_json(leaderboard / "results" / cell / "metrics.json")
        for cell in read_json(leaderboard / "inputs.json")
    }
    timings = read_json(leaderboard / "timings.json")
    seconds = fsum(costs.get("index_seconds", 0.0) for costs in timings.values())
    systems = dict.fromkeys(cell.partition("/")[2] for cell in cells)
    repos = dict.fromkeys(cell.partition("/")[0] for cell in cells)
    queries = sum(cells[f"{repo}/{next(iter(systems))}"]["queries"] for repo in repos)
    means = [
        [
            system,
            *(
                number(fsum(cells[f"{repo}/{system}"][key] for repo in repos) / len(repos))
                for key in METRICS.values()
            ),
        ]
        for system in systems
    ]
    rows = [
        [
            *cell.split("/"),
            *(number(metrics[key]) for key in METRICS.values()),
            *_costs(timings[cell]),
        ]
        for cell, metrics in cells.items()
    ]
    return "\n".join(
        [
            INTRODUCTION.format(minutes=seconds / 60),
            f"## Systems: means over {len(repos)} repositories, {queries} queries\n",
            table(["system", *METRICS], means),
            "\n## Cells\n",
            table(["repo", "system", *METRICS, "index s", "p50 ms"], rows),
            "",
        ]
    )


def _costs(costs: Mapping[str, float]) -> list[str]:
    """Empty where DVC took the stage from its cache."""
    index, query = costs.get("index_seconds"), costs.get("p50_seconds")
    return [
        "—" if index is None else f"{index:.1f}",
        "—" if query is None else f"{query * 1e3:.1f}",
    ]


if __name__ == "__main__":
    sys.exit(exit_status(lambda: main(sys.argv[1:])))
