"""`rankgate report`."""

import argparse
from pathlib import Path

from rankgate.cli.shared import print_json, print_markdown

SUMMARY = "show all cells side by side, or one cell with its gates"
EXAMPLES = (
    "report",
    "report requests/bm25",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cell", nargs="?", metavar="REPO/RETRIEVER", help="one cell")
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR")
    parser.add_argument("--verdicts", type=Path, default=Path("verdicts"), metavar="DIR")
    parser.add_argument("--json", action="store_true", help="metrics and verdicts, for programs")


def run(arguments: argparse.Namespace) -> int:
    from rankgate.results import pick_cell, read_cells, show_cell, show_grid

    results, verdicts = arguments.results, arguments.verdicts
    if arguments.json:
        cells = read_cells(results, verdicts)
        print_json(pick_cell(cells, arguments.cell, results) if arguments.cell else cells)
    elif arguments.cell:
        print_markdown(show_cell(arguments.cell, results, verdicts))
    else:
        print_markdown(show_grid(results, verdicts))
    return 0
