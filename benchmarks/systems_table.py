"""The README's table of systems: quality, tokens and latency on the committed grid.

`python benchmarks/systems_table.py` writes it anew between its marks, from results/ and from what
the cells cost when they last ran here. Latency is this machine's; a test checks the rest.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankgate.markdown import number, table
from rankgate.results import read_cells
from rankgate.timing import of_cell

BEGIN, END = "<!-- systems: made by benchmarks/systems_table.py -->", "<!-- /systems -->"
METRICS = {
    "recall@5": "recall_at_5",
    "MRR": "mrr",
    "nDCG@5": "ndcg_at_5",
    "tokens": "context_tokens",
    "reduction": "token_reduction",
}


def systems_table(results: Path, costs: Mapping[str, Mapping[str, float]]) -> str:
    """The table: a row a cell, its latency from `costs` (cell → costs)."""
    cells = read_cells(results, Path("verdicts"))
    head = ["repo", "system", *METRICS, "p50 ms"]
    rows = []
    for name, cell in cells.items():
        metrics: Mapping[str, Any] = cell["metrics"]
        latency = costs.get(name, {}).get("p50_seconds")
        row = [*name.split("/"), *(number(metrics[key]) for key in METRICS.values())]
        rows.append([*row, "—" if latency is None else f"{latency * 1e3:.1f}"])
    return table(head, rows)


def between_marks(text: str) -> tuple[str, str, str]:
    """What stands before, between and behind the marks."""
    before, _, rest = text.partition(BEGIN)
    between, _, behind = rest.partition(END)
    return before, between.strip(), behind


def main() -> None:
    readme = Path("README.md")
    before, _, behind = between_marks(readme.read_text(encoding="utf-8"))
    results = Path("results")
    made = systems_table(results, {name: of_cell(name) for name in read_cells(results, results)})
    readme.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{behind}", encoding="utf-8")


if __name__ == "__main__":
    main()
