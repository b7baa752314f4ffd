"""`rankgate drift`."""

import argparse
import sys
from pathlib import Path

from rankgate.cli.shared import print_json
from rankgate.errors import InputError, one_line

SUMMARY = "which queries still hold when their repo's version changes, and carry them over"
EXAMPLES = (
    "drift old/requests new/requests --queries data/queries/requests.json",
    "drift old/src new/src --queries queries.json --out carried.json --json",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", type=Path, metavar="OLD", help="the corpus the grades are for")
    parser.add_argument("new", type=Path, metavar="NEW", help="the corpus as it is now")
    parser.add_argument("--queries", type=Path, metavar="FILE", required=True, help="a query file")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write the queries, carried over, here"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace) -> int:
    from rankgate.drifting import FOR_A_PERSON, STATUSES, Drift
    from rankgate.queries import load_queries
    from rankgate.trees import open_tree

    old, new = open_tree(arguments.old, "OLD"), open_tree(arguments.new, "NEW")
    queries = load_queries(arguments.queries)
    if not any(module in old for query in queries.queries for module in query.grades):
        raise InputError(f"OLD: {arguments.old} has no module that {arguments.queries} grades")
    drift = Drift(old, new)
    drifts = [drift.of(query) for query in queries.queries]
    counts: dict[str, int] = {
        status: sum(one.status == status for one in drifts) for status in STATUSES
    }
    if arguments.out is not None:
        from rankgate.drifting import carry_over

        carry_over(arguments.queries, arguments.out, drifts)
    if arguments.json:
        print_json(
            {
                "counts": counts,
                "renames": drift.renames,
                "added": list(drift.added),
                "queries": [
                    {"id": one.query, "status": one.status, "notes": list(one.notes)}
                    for one in drifts
                ],
            }
        )
    else:
        for line in drift.renames:
            print(one_line(line))
        for one in sorted(drifts, key=lambda one: -STATUSES.index(one.status)):
            for note in one.notes or ("",):
                text = f"{one.query}: {note}" if note else one.query
                print(f"{one.status:8}{one_line(text, 500)}")
        if drift.added:
            print(f"{len(drift.added)} modules are new, and have no grade")
        print(", ".join(f"{count} {status}" for status, count in counts.items() if count))
        if arguments.out is not None:
            print(f"written to {one_line(arguments.out)}", file=sys.stderr)
    return 1 if any(counts[status] for status in FOR_A_PERSON) else 0
