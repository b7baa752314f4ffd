"""`rankgate check`."""

import argparse
import sys
from pathlib import Path
from typing import Any

from rankgate.cli.shared import add_ungraded, print_json
from rankgate.errors import InputError

SUMMARY = "check a query file, alone or against a corpus"
EXAMPLES = (
    "check data/queries/sample_project.json",
    "check data/queries/sample_project.json --corpus data/sample_project",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("queries", type=Path, metavar="QUERIES", help="a query file")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="the files that the grades name")
    add_ungraded(parser, "error: every module of the corpus needs a grade")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace) -> int:
    from rankgate.queries import load_queries
    from rankgate.sources.local import local_files

    modules = None
    if arguments.corpus is not None:
        modules = _modules(arguments.corpus, local_files)
    elif arguments.ungraded == "error":
        raise InputError("--ungraded error: needs --corpus, whose modules must all have a grade")
    problems: list[str] = []
    warnings: list[str] = []
    count = 0
    try:
        queries = load_queries(arguments.queries, modules=modules, ungraded=arguments.ungraded)
        warnings, count = list(queries.warnings), len(queries.queries)
    except InputError as error:
        problems = list(error.problems)
    if arguments.json:
        print_json({"queries": count, "errors": problems, "warnings": warnings})
    else:
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)
        for problem in problems:
            print(f"error: {problem}", file=sys.stderr)
        if not problems:
            print(f"{arguments.queries}: {count} queries, no errors, {len(warnings)} warnings")
    return 2 if problems else 0


def _modules(folder: Path, local_files: Any) -> list[str]:
    """The modules of a stage's corpus, by its manifest, or of any folder: all files below."""
    from rankgate.corpus import ARCHIVE, MANIFEST, Corpus

    if (folder / MANIFEST).is_file() and (folder / ARCHIVE).is_file():
        return list(Corpus(folder).paths)
    modules = [file.path for file in local_files(folder, "--corpus") if not file.refused]
    if not modules:
        raise InputError(f"--corpus: {folder} has no file")
    return modules
