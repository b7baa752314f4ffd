"""`rankgate compare`."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from rankgate.cli.shared import print_json, print_markdown

SUMMARY = "compare two results: is the difference real, which queries moved, pass or fail"
EXAMPLES = (
    "compare main",
    "compare v1.0 main --json",
    "compare main --fail-on severe --out comment.md",
    "compare old/results new/results",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    what = "a branch, tag, commit, DVC experiment, `workspace`, or a folder of results"
    parser.add_argument("before", metavar="REV", help=what)
    parser.add_argument(
        "after", metavar="REV2", nargs="?", default="workspace", help="default: workspace"
    )
    parser.add_argument(
        "--fail-on",
        choices=("regression", "severe", "never"),
        help="what makes the exit status 1 (default: as gate.compare.fail_on, or regression)",
    )
    parser.add_argument(
        "--incomparable",
        choices=("fail", "pass"),
        default="fail",
        help="the exit status when REV has no results, or a cell is gone or cannot be compared: "
        "fail (1, the default) or pass (0)",
    )
    parser.add_argument(
        "--allow-corpus-change", action="store_true", help="compare across versions of a repo"
    )
    parser.add_argument("--cell", metavar="REPO/RETRIEVER", action="append", help="only this one")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the Markdown to a file")
    parser.add_argument("--json", action="store_true", help="everything, for programs")


def run(arguments: argparse.Namespace) -> int:
    from rankgate.compare.comparison import as_json, compare, failed
    from rankgate.compare.report import comparison_report
    from rankgate.compare.revisions import MissingResultsError, describe, read_results
    from rankgate.config import PARAMS, CompareSettings, load_settings
    from rankgate.errors import InputError
    from rankgate.files import write_text

    rules = load_settings().gate.compare if PARAMS.is_file() else CompareSettings()
    rules = replace(rules, fail_on=arguments.fail_on or rules.fail_on)
    after = read_results(arguments.after)
    try:
        before = read_results(arguments.before)
    except MissingResultsError as error:
        print(f"no verdict: {error}", file=sys.stderr)
        return 0 if arguments.incomparable == "pass" else 1
    if arguments.cell:
        for name in arguments.cell:
            if name not in before and name not in after:
                raise InputError(f"--cell: neither side has {name!r}")
        before, after = (
            {name: cell for name, cell in side.items() if name in arguments.cell}
            for side in (before, after)
        )
    cells = compare(before, after, rules, allow_corpus_change=arguments.allow_corpus_change)
    report = comparison_report(
        cells, describe(arguments.before), describe(arguments.after), rules.confidence
    )
    fell = failed(cells, rules.fail_on)
    if arguments.incomparable == "fail" and rules.fail_on != "never":
        fell = fell or any(cell.status in ("gone", "incomparable") for cell in cells)
    if arguments.out:
        write_text(arguments.out, report)
    if arguments.json:
        print_json({"failed": fell, "cells": as_json(cells)})
    elif not arguments.out:
        print_markdown(report)
    return 1 if fell else 0
