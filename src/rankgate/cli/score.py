"""`rankgate score`."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from rankgate.cli.shared import add_judge, add_ungraded, print_json, read_run_file
from rankgate.errors import InputError, one_line

SUMMARY = "score a run against a query file"
EXAMPLES = (
    "score --queries data/queries/requests.json --run results/requests/bm25/run.trec",
    "score --queries data/queries/requests.json --run results/requests/bm25/run.trec --k 10 --json",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=Path, metavar="FILE", required=True, help="a query file")
    parser.add_argument(
        "--run",
        dest="run_file",
        type=Path,
        metavar="FILE",
        required=True,
        help="a TREC run, or the answers.jsonl of the stage retrieve",
    )
    parser.add_argument("--k", type=int, default=5, help="the deepest cutoff (default 5)")
    parser.add_argument("--cutoffs", metavar="K,K,…", help="default 1,3,5 up to --k, and --k")
    parser.add_argument(
        "--relevant-grade",
        type=int,
        default=1,
        choices=(1, 2, 3),
        help="the lowest grade that counts as relevant (default 1)",
    )
    add_ungraded(parser, "skip: take modules without a grade out first")
    add_judge(parser)
    parser.add_argument("--json", action="store_true", help="what metrics.json would hold")


def run(arguments: argparse.Namespace) -> int:
    from rankgate.judges import judge_named
    from rankgate.queries import load_queries
    from rankgate.scoring import metrics
    from rankgate.scoring import score as score_queries
    from rankgate.stage import warn

    cutoffs = _cutoffs(arguments.cutoffs, arguments.k)
    queries = load_queries(arguments.queries, relevant_grade=arguments.relevant_grade)
    answers = read_run_file(arguments.run_file)
    asked, answered = [query.id for query in queries.queries], [answer.query for answer in answers]
    warn(_left_out(answered, asked, f"in {arguments.run_file} but not in {arguments.queries}"))
    warn(_left_out(asked, answered, f"without an answer in {arguments.run_file}, so zero"))
    scored = score_queries(
        queries,
        answers,
        judge_named(arguments.judge),
        cutoffs=cutoffs,
        relevant_grade=arguments.relevant_grade,
        ungraded=arguments.ungraded,
    )
    numbers = metrics(scored, cutoffs, None)
    if arguments.json:
        print_json(numbers)
    else:
        from rankgate.reports import metrics_table

        print(metrics_table(numbers))
    return 0


def _left_out(ids: Sequence[str], others: Sequence[str], what: str) -> list[str]:
    """A warning about those of `ids` that are not among the others, if there are any."""
    known = frozenset(others)
    left_out = [name for name in ids if name not in known]
    if not left_out:
        return []
    shown = ", ".join(one_line(name, 40) for name in left_out[:3])
    return [f"{len(left_out)} queries are {what}: {shown}{', …' if left_out[3:] else ''}"]


def _cutoffs(given: str | None, k: int) -> list[int]:
    """The cutoffs asked for, or the usual ones up to k with k itself."""
    if k < 1:
        raise InputError(f"--k: expected an integer from 1 up, got {k}")
    if given is None:
        return sorted({cutoff for cutoff in (1, 3, 5) if cutoff < k} | {k})
    cutoffs = [int(word) if re.fullmatch(r"\d{1,9}", word) else 0 for word in given.split(",")]
    if not all(1 <= cutoff <= k for cutoff in cutoffs):
        raise InputError(f"--cutoffs: expected integers 1..{k} (--k), as in 1,3,5; got {given!r}")
    return sorted(set(cutoffs))
