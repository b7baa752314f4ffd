"""`rankgate check`."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rankgate.cli.shared import add_runs, add_ungraded, print_json
from rankgate.errors import InputError, one_line

SUMMARY = "check query files, alone or against a corpus"
EXAMPLES = (
    "check",
    "check data/queries/sample_project.json --corpus data/sample_project --infos",
    "check queries.json --corpus new/src --old-corpus old/src --fix",
    "check data/queries/requests.json --run results/requests/bm25/run.trec --ignore Q5 --strict",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "queries",
        type=Path,
        nargs="*",
        metavar="QUERIES",
        help="query files; none: those of every repo in params.yaml, with corpus and results",
    )
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="the files that the grades name")
    parser.add_argument(
        "--old-corpus", type=Path, metavar="DIR", help="the corpus the grades were made for"
    )
    add_runs(parser, "a run whose modules should all have a grade")
    add_ungraded(parser, "error: every module of the corpus needs a grade")
    parser.add_argument("--select", metavar="CODES", help="only these, such as Q3,Q401; and errors")
    parser.add_argument("--ignore", metavar="CODES", help="not these, such as Q5")
    parser.add_argument("--fix", action="store_true", help="mend what is safe to mend")
    parser.add_argument("--infos", action="store_true", help="show infos, too")
    parser.add_argument("--strict", action="store_true", help="warnings end with status 1")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace) -> int:
    from rankgate.linting import Finding

    codes = [
        [word.strip().upper() for word in given.split(",")] if given is not None else []
        for given in (arguments.select, arguments.ignore)
    ]
    tasks = _given(arguments) if arguments.queries else _of_project(arguments)
    findings: list[Finding] = []
    mended: list[str] = []
    counts = 0
    lines = []
    for task in tasks:
        found, count, done = _check(arguments, task, codes)
        findings += found
        mended += done
        counts += count
        errors, warnings = (
            sum(finding.severity == kind for finding in found) for kind in ("error", "warning")
        )
        if not errors:
            lines.append(f"{task['queries']}: {count} queries, no errors, {warnings} warnings")
    shown = {
        kind: [finding.line() for finding in findings if finding.severity == kind]
        for kind in ("info", "warning", "error")
    }
    if arguments.json:
        report = {
            "queries": counts,
            "errors": shown["error"],
            "warnings": shown["warning"],
            "findings": [finding.record() for finding in findings],
        }
        print_json(report | ({"fixed": mended} if arguments.fix else {}))
    else:
        for line in mended:
            print(f"fixed: {line}")
        for kind in ("info", "warning", "error") if arguments.infos else ("warning", "error"):
            for line in shown[kind]:
                print(f"{kind}: {line}", file=sys.stderr)
        for line in lines:
            print(line)
    if shown["error"]:
        return 2
    return 1 if arguments.strict and shown["warning"] else 0


def _given(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The files of the command line, each to be held against what it names."""
    from rankgate.trees import open_tree

    if arguments.ungraded == "error" and arguments.corpus is None:
        raise InputError("--ungraded error: needs --corpus, whose modules must all have a grade")
    _old_needs_new(arguments)
    tree = open_tree(arguments.corpus, "--corpus") if arguments.corpus is not None else None
    pool = _pool(arguments.runs)
    return [
        {"queries": path, "tree": tree, "ungraded": arguments.ungraded, "pool": pool}
        for path in arguments.queries
    ]


def _of_project(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The query file of every repo of params.yaml, with its corpus and runs where there are."""
    from rankgate import layout
    from rankgate.config import PARAMS, load_settings
    from rankgate.corpus import MANIFEST
    from rankgate.trees import open_tree

    if arguments.corpus is not None or arguments.runs or arguments.old_corpus is not None:
        raise InputError("--corpus, --old-corpus and --run: name the query file they are for")
    if not PARAMS.exists():
        raise InputError(f"no query file named, and no {PARAMS} here; see `rankgate check -h`")
    settings = load_settings()
    tasks = []
    for name, repo in settings.repos.items():
        folder = layout.corpus(name)
        there = (folder / MANIFEST).is_file()
        if not there:
            print(
                f"note: {name}: no corpus in {folder}, so its file is checked alone; "
                "`dvc repro` makes it",
                file=sys.stderr,
            )
        runs = sorted((layout.RESULTS / name).glob("*/run.trec"))
        floors = {
            floor.measure: floor.value for floor in settings.gate.of(name) if floor.bound == "min"
        }
        tasks.append(
            {
                "queries": repo.queries,
                "tree": open_tree(folder, f"repo.{name}") if there else None,
                "ungraded": repo.ungraded if there else "zero",
                "pool": _pool(runs),
                "relevant_grade": settings.relevant_grade,
                "floors": floors,
            }
        )
    return tasks


def _old_needs_new(arguments: argparse.Namespace) -> None:
    if arguments.old_corpus is not None and arguments.corpus is None:
        raise InputError("--old-corpus: needs --corpus, the one that modules moved in")


def _pool(runs: Sequence[Path]) -> Mapping[str, tuple[str, ...]]:
    """Query → the modules of all runs, by first appearance."""
    from rankgate.cli.shared import read_run_file

    pool: dict[str, dict[str, None]] = {}
    for path in runs:
        for answer in read_run_file(path):
            pool.setdefault(answer.query, {}).update(dict.fromkeys(answer.ranking()))
    return {query: tuple(modules) for query, modules in pool.items()}


def _check(
    arguments: argparse.Namespace, task: Mapping[str, Any], codes: Sequence[Sequence[str]]
) -> tuple[list[Any], int, list[str]]:
    """The findings of one file, how many queries it has, and what was mended."""
    from rankgate.linting import Finding, Subject, chosen, lint, moves
    from rankgate.queries import read_queries
    from rankgate.trees import open_tree

    path, tree = task["queries"], task["tree"]
    relevant = task.get("relevant_grade", 1)
    old = None
    if arguments.old_corpus is not None:
        old = open_tree(arguments.old_corpus, "--old-corpus")

    def findings() -> tuple[list[Finding], int]:
        try:
            queries, problems, warnings = read_queries(
                path,
                modules=tree.paths if tree else None,
                ungraded=task["ungraded"],
                relevant_grade=relevant,
            )
        except InputError as error:
            return [
                Finding("Q001", str(path), "", "", "", one_line(problem, 500))
                for problem in error.problems
            ], 0
        subject = Subject(str(path), queries, tree, task["pool"], relevant, task.get("floors", {}))
        found = lint(subject, problems, warnings, old)
        return chosen(found, *codes), 0 if problems else len(queries.queries)

    found, count = findings()
    mended: list[str] = []
    if arguments.fix:
        from rankgate.linting.fixing import fix

        moved = moves(old, tree) if old and tree else {}
        moved = {module: target for module, target in moved.items() if module not in tree}
        # Again, for errors hide what stands behind them; each round leaves less to mend.
        while fixable := {finding.code for finding in found if finding.fix}:
            done, changed = fix(path, fixable, moved)
            mended += done
            found, count = findings()
            if not changed:
                break
    return found, count, mended
