"""`rankgate ratchet`."""

import argparse
from pathlib import Path

from rankgate.cli.shared import print_json

SUMMARY = "raise floors to what the results support, as an edit of the config to review"
EXAMPLES = ("ratchet", "ratchet --write", "ratchet --gate conf/gate/strict.yaml --write")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--gate",
        type=Path,
        metavar="FILE",
        default=Path("conf/gate/conservative.yaml"),
        help="the floors (default: conf/gate/conservative.yaml)",
    )
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR")
    parser.add_argument(
        "--confidence", type=float, default=0.95, help="of the interval (default 0.95)"
    )
    parser.add_argument("--write", action="store_true", help="edit the file; default: only show")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace) -> int:
    from rankgate.compare.revisions import read_results
    from rankgate.config import load_gate
    from rankgate.errors import InputError
    from rankgate.ratchet import raises, write_raises

    if not 0.5 <= arguments.confidence <= 0.999:
        raise InputError(f"--confidence: expected 0.5..0.999, got {arguments.confidence:g}")
    cells = read_results(str(arguments.results))
    cutoffs: set[int] = set()
    for name, cell in cells.items():
        found_there = cell.inputs.get("cutoffs")
        if not isinstance(found_there, list) or not all(type(c) is int for c in found_there):
            raise InputError(f"{name}: its results do not say the cutoffs; run `dvc repro`")
        cutoffs |= set(found_there)
    found = raises(load_gate(arguments.gate, sorted(cutoffs)), cells, arguments.confidence)
    if arguments.write and found:
        write_raises(arguments.gate, found)
    if arguments.json:
        print_json(
            [
                {
                    "floor": ".".join(one.path),
                    "measure": one.floor.measure,
                    "bound": one.floor.bound,
                    "old": one.floor.value,
                    "new": one.new,
                    "cell": one.cell,
                }
                for one in found
            ]
        )
        return 0
    for one in found:
        print(
            f"{'.'.join(one.path)}: {one.floor.measure} {one.floor.bound} {one.floor.value:g} → "
            f"{one.new:g} (the worst: {one.cell})"
        )
    if not found:
        print(f"{arguments.gate}: no floor can be raised")
    elif not arguments.write:
        print(f"nothing written; --write edits {arguments.gate}")
    return 0
