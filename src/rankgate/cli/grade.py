"""`rankgate grade`."""

import argparse
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.cli.pool import add_pool_source, pool_of, query_file
from rankgate.cli.shared import print_json
from rankgate.errors import InputError, one_line

if TYPE_CHECKING:
    from rankgate.grading import Agreement, Journal

SUMMARY = "grade a pool in the terminal, one module and one key at a time"
EXAMPLES = (
    "grade requests",
    "grade --queries queries.json --pool pool.json --corpus src --annotator alice",
    "grade requests --apply data/queries/requests.alice.grades.jsonl",
    "grade --merge q.alice.grades.jsonl q.bob.grades.jsonl",
    "grade --queries q.json --apply q.alice.grades.jsonl q.bob.grades.jsonl --prefer alice",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    add_pool_source(parser)
    parser.add_argument(
        "--pool", type=Path, metavar="FILE", help="grade what `rankgate pool --out` wrote"
    )
    parser.add_argument(
        "--corpus", type=Path, metavar="DIR", help="the modules (default: work/corpus/REPO)"
    )
    parser.add_argument("--annotator", metavar="NAME", help="who grades (default: $USER)")
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="FILE",
        help="where answers are kept (default: QUERIES.ANNOTATOR.grades.jsonl beside the queries)",
    )
    parser.add_argument(
        "--apply",
        type=Path,
        nargs="+",
        metavar="JOURNAL",
        help="write grades, evidence and facts into the query file; where two journals disagree, "
        "nothing",
    )
    parser.add_argument(
        "--prefer", metavar="NAME", help="with --apply: whose grade counts where they disagree"
    )
    parser.add_argument(
        "--merge",
        type=Path,
        nargs=2,
        metavar="JOURNAL",
        help="hold two journals against each other: Cohen's kappa and the disagreements",
    )
    parser.add_argument("--json", action="store_true", help="of --merge and --apply, for programs")


def run(arguments: argparse.Namespace) -> int:
    if arguments.apply and arguments.merge:
        raise InputError("--merge: writes nothing; give it or --apply, not both")
    if arguments.prefer and not arguments.apply:
        raise InputError("--prefer: is for --apply")
    if arguments.merge:
        return _merge(arguments.merge, arguments.json)
    if arguments.apply:
        return _apply(arguments)
    if arguments.json:
        raise InputError("--json: is for --merge and --apply")
    return _grade(arguments)


# --- The screen -----------------------------------------------------------------------------------


def _grade(arguments: argparse.Namespace) -> int:
    from rankgate.grading import JournalWriter, journal_path, judgements, read_for_grading
    from rankgate.stage import warn
    from rankgate.trees import open_tree

    path = query_file(arguments)
    queries, lacks = read_for_grading(path)
    annotator = _annotator(arguments.annotator)
    journal = arguments.journal or journal_path(path, annotator)
    wanted, warnings = _wanted(arguments, queries)
    tree = open_tree(*_corpus(arguments))
    items = [(query, module) for query, modules in wanted.items() for module in modules]
    if strange := [module for _, module in items if module not in tree]:
        warnings.append(
            f"{len(strange)} modules of the pool are not in the corpus and left out, such as "
            f"{one_line(strange[0], 200)}"
        )
    items = [(query, module) for query, module in items if module in tree]
    warn([*(problem.line() for problem in lacks), *warnings])
    if not items:
        print("nothing is left to grade")
        return 0
    if not _at_terminal():
        raise InputError(
            "grade: needs a terminal, and this is none; --apply and --merge do without"
        )
    from rankgate.grading_screen import GradingApp

    with JournalWriter(journal, annotator, path) as writer:
        warn(writer.journal.warnings())
        app = GradingApp(queries.queries, items, tree.lines, writer, takes_facts=queries.has_facts)
        app.run()
        if app.failure is not None:
            raise app.failure
        state = judgements(writer.events)
    judged = [state[pair] for pair in items if pair in state]
    graded = sum(one.grade is not None for one in judged)
    skipped = sum(one.skipped for one in judged)
    print(f"{graded} graded, {skipped} skipped, {len(items) - graded - skipped} left")
    into = [arguments.repo] if arguments.queries is None else ["--queries", one_line(path)]
    command = shlex.join(["rankgate", "grade", *into, "--apply", one_line(journal)])
    print(f"into the query file: {command}")
    return int(app.return_code or 0)


def _wanted(
    arguments: argparse.Namespace, queries: Any
) -> tuple[Mapping[str, Sequence[str]], list[str]]:
    """Query id → modules to grade, in the query file's order, and warnings."""
    if arguments.pool is None:
        pooled = pool_of(arguments, queries)
        return {query.id: query.left for query in pooled.queries}, list(pooled.warnings)
    if arguments.runs or arguments.retrievers or arguments.depth is not None:
        raise InputError("--pool: is a pool already; leave out --run, --retriever and --depth")
    from rankgate.files import read_json
    from rankgate.pooling import read_pool

    given = read_pool(read_json(arguments.pool), str(arguments.pool))
    known = {query.id: query.grades for query in queries.queries}
    strange = [query for query in given if query not in known]
    warnings = [
        f"{arguments.pool}: query {one_line(query, 60)} is not in the query file and left out"
        for query in strange[:3]
    ]
    wanted = {
        query: [module for module in given.get(query, ()) if module not in grades]
        for query, grades in known.items()
    }
    return wanted, warnings


def _corpus(arguments: argparse.Namespace) -> tuple[Path, str]:
    from rankgate import layout

    if arguments.corpus is not None:
        return arguments.corpus, "--corpus"
    if arguments.repo is None:
        raise InputError("--corpus: name the folder of the modules")
    folder = layout.corpus(arguments.repo)
    if not folder.is_dir():
        raise InputError(f"{folder}: no corpus; `dvc repro` makes it, or give --corpus DIR")
    return folder, "corpus"


def _annotator(given: str | None) -> str:
    name: str = given or os.environ.get("USER") or os.environ.get("LOGNAME") or ""
    if not name:
        raise InputError("--annotator: say who grades")
    if not re.fullmatch(r"\w[\w.-]{0,63}", name):
        raise InputError(
            f"--annotator: a name has letters, digits, '.', '_' and '-', got {one_line(name, 60)!r}"
        )
    return name


def _at_terminal() -> bool:
    """textual reads keys from stdin and draws on stderr; what follows is printed on stdout."""
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    return all(stream and stream.isatty() for stream in streams) and os.environ.get("TERM") not in (
        "dumb",
        "unknown",
    )


# --- Journals -------------------------------------------------------------------------------------


def _journals(paths: Sequence[Path]) -> "dict[str, Journal]":
    """Journals by annotator."""
    from rankgate.grading import read_journal
    from rankgate.stage import warn

    found: dict[str, Journal] = {}
    for path in paths:
        journal = read_journal(path)
        warn(journal.warnings())
        if other := found.get(journal.annotator):
            raise InputError(
                f"{path}: by {one_line(journal.annotator, 60)}, as {other.path} is; "
                "expected one journal a person"
            )
        if found and journal.queries != (first := next(iter(found.values()))).queries:
            raise InputError(
                f"{path}: grades {one_line(journal.queries, 100)}, "
                f"but {first.path} {one_line(first.queries, 100)}"
            )
        found[journal.annotator] = journal
    return found


def _apply(arguments: argparse.Namespace) -> int:
    from rankgate.grading import apply_judgements, judgements, merge
    from rankgate.stage import warn

    path = query_file(arguments)
    journals = _journals(arguments.apply)
    prefer = arguments.prefer or ""
    if prefer and prefer not in journals:
        raise InputError(
            f"--prefer: no journal of {one_line(prefer, 60)!r}; there is "
            f"{', '.join(one_line(name, 60) for name in journals)}"
        )
    for journal in journals.values():
        if journal.queries != path.name:
            raise InputError(
                f"{journal.path}: grades {one_line(journal.queries, 100)}, not {path.name}"
            )
    merged = merge({name: judgements(j.events) for name, j in journals.items()}, prefer)
    done = apply_judgements(path, merged.judgements)
    disagreed = [
        f"query {one_line(query, 60)}: {one_line(module, 200)}: "
        + ", ".join(f"{one_line(name, 60)} {grade}" for name, grade in grades.items())
        for (query, module), grades in merged.open.items()
    ]
    if arguments.json:
        print_json(
            {
                "grades": done.grades,
                "facts": done.facts,
                "disagreements": disagreed,
                "left": done.left,
                "notes": done.notes,
            }
        )
    else:
        warn(done.notes)
        warn(f"left, for they disagree: {line}" for line in disagreed)
        warn(f"left as it is: {line}" for line in done.left)
        print(f"{path}: {done.grades} grades and {done.facts} facts written")
    return 1 if disagreed or done.left else 0


def _merge(paths: Sequence[Path], as_json: bool) -> int:
    from rankgate.grading import agreement, judgements

    journals = _journals(paths)
    names = tuple(journals)
    one, other = (judgements(journal.events) for journal in journals.values())
    found = agreement(one, other)
    if as_json:
        print_json(_agreement_record(names, found))
    else:
        _print_agreement(names, found)
    return 0


def _agreement_record(names: Sequence[str], found: "Agreement") -> dict[str, Any]:
    return {
        "annotators": list(names),
        "both": found.both,
        "agreed": found.agreed,
        "kappa": {
            kind: None if value is None else round(value, 6) for kind, value in found.kappa.items()
        },
        "table": [list(row) for row in found.table],
        "only": dict(zip(names, found.only, strict=True)),
        "disagreements": [
            {
                "query": query,
                "module": module,
                "grades": [a.grade, b.grade],
                "evidence": [list(a.evidence), list(b.evidence)],
                "notes": [list(a.notes), list(b.notes)],
            }
            for (query, module), a, b in found.disagreements
        ],
    }


def _print_agreement(names: Sequence[str], found: "Agreement") -> None:
    shown = [one_line(name, 60) for name in names]
    print(f"{found.both} modules graded by both, {found.agreed} alike")
    for name, count in zip(shown, found.only, strict=True):
        print(f"{count} more by {name} alone")
    titles = {"none": "kappa", "linear": "linear weights", "quadratic": "quadratic weights"}
    for kind, value in found.kappa.items():
        number = (
            "not defined: chance alone gives full agreement" if value is None else f"{value:.3f}"
        )
        print(f"{titles[kind]:18} {number}")
    print(f"\n{'grades':>8}  " + "".join(f"{grade:5}" for grade in range(4)) + f"  {shown[1]}")
    for grade, row in enumerate(found.table):
        print(f"{grade:8}  " + "".join(f"{count:5}" for count in row))
    print(f"{shown[0]:>8}")
    for (query, module), a, b in found.disagreements:
        print(f"\n{a.grade} {b.grade}  query {one_line(query, 60)}: {one_line(module, 200)}")
        for name, judged in zip(shown, (a, b), strict=True):
            said = [*(one_line(place, 200) for place in judged.evidence)]
            said += [one_line(note, 300) for note in judged.notes]
            if said:
                print(f"     {name}: {'; '.join(said)}")
