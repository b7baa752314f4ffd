"""`rankgate pool`."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.cli.shared import add_runs, print_json, read_run_file
from rankgate.errors import InputError, one_line

if TYPE_CHECKING:
    from rankgate.pooling import Pool

SUMMARY = "which modules that retrievers rank high have no grade yet"
EXAMPLES = (
    "pool requests",
    "pool requests --retriever bm25 --retriever hybrid --depth 5 --check",
    "pool --queries queries.json --run one.trec --run two.trec --out pool.json",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    add_pool_source(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write what is left here")
    parser.add_argument("--check", action="store_true", help="1 when anything is left, for CI")
    parser.add_argument("--json", action="store_true", help="for programs")


def add_pool_source(parser: argparse.ArgumentParser) -> None:
    """What names a query file and the runs to pool."""
    parser.add_argument(
        "repo", nargs="?", metavar="REPO", help="a repo of params.yaml, with all of results/REPO"
    )
    parser.add_argument(
        "--queries", type=Path, metavar="FILE", help="a query file (default: REPO's)"
    )
    add_runs(parser, "a TREC run or the answers.jsonl of the stage retrieve")
    parser.add_argument(
        "--retriever",
        dest="retrievers",
        metavar="NAME",
        action="append",
        default=[],
        help="of results/REPO only this one; may be given again",
    )
    parser.add_argument(
        "--depth", type=int, metavar="N", help="modules of each ranking (default 10)"
    )


def run(arguments: argparse.Namespace) -> int:
    from rankgate.files import write_json
    from rankgate.grading import read_for_grading
    from rankgate.stage import warn

    path = query_file(arguments)
    queries, lacks = read_for_grading(path)
    pooled = pool_of(arguments, queries)
    warn([*(problem.line() for problem in lacks), *pooled.warnings])
    if arguments.out is not None:
        write_json(arguments.out, pooled.as_json())
    if arguments.json:
        counts: dict[str, Any] = {
            query.id: {"pooled": query.pooled, "left": list(query.left)} for query in pooled.queries
        }
        print_json(
            {
                "depth": pooled.depth,
                "runs": list(pooled.runs),
                "pooled": pooled.pooled,
                "left": pooled.left,
                "queries": counts,
            }
        )
    else:
        for query in pooled.queries:
            print(f"{len(query.left):5} of {query.pooled:3} left  {one_line(query.id, 100)}")
        print(
            f"{pooled.left} of {pooled.pooled} modules are left to grade: {len(pooled.queries)} "
            f"queries, {len(pooled.runs)} runs to depth {pooled.depth}"
        )
    return 1 if arguments.check and pooled.left else 0


def query_file(arguments: argparse.Namespace) -> Path:
    """The query file that the command line names, or REPO's of params.yaml."""
    given: Path | None = arguments.queries
    if given is not None:
        return given
    if arguments.repo is None:
        raise InputError("name a REPO of params.yaml, or --queries FILE")
    from rankgate.config import load_settings, pick

    found: Path = pick(load_settings().repos, "REPO", arguments.repo).queries
    return found


def pool_of(arguments: argparse.Namespace, queries: Any) -> "Pool":
    """The pool of the runs that the command line names."""
    from rankgate.answers import rankings
    from rankgate.pooling import DEPTH, pool

    depth = DEPTH if arguments.depth is None else arguments.depth
    if depth < 1:
        raise InputError(f"--depth: expected an integer from 1 up, got {depth}")
    runs = {str(path): rankings(read_run_file(path)) for path in _run_files(arguments)}
    return pool({query.id: query.grades for query in queries.queries}, runs, depth)


def _run_files(arguments: argparse.Namespace) -> Sequence[Path]:
    """The runs that are named, and those of results/REPO."""
    from rankgate import layout

    repo, names, runs = arguments.repo, arguments.retrievers, list(arguments.runs)
    if repo is None:
        if names:
            raise InputError("--retriever: name the REPO whose results it has, or give --run FILE")
        if not runs:
            raise InputError("nothing to pool: name a REPO with results, or give --run FILE")
        return runs
    found = {path.parent.name: path for path in (layout.RESULTS / repo).glob("*/run.trec")}
    for name in names:
        if name not in found:
            there = ", ".join(sorted(found)) or "none; `dvc repro` makes them"
            raise InputError(
                f"--retriever: no run of {one_line(name, 60)!r} in "
                f"{one_line(layout.RESULTS / repo)}; there is {there}"
            )
    runs += [found[name] for name in dict.fromkeys(names or sorted(found))]
    if not runs:
        raise InputError(
            f"{one_line(layout.RESULTS / repo)}: no run.trec; `dvc repro` makes them, "
            "or give --run FILE"
        )
    return runs
