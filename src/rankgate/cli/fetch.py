"""`rankgate fetch`."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import Any

SUMMARY = "download the sources of all repos, to go offline later"
EXAMPLES = ("fetch",)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--targets",
        action="store_true",
        help="when some cannot be reached: print the DVC targets of the others, exit with 0",
    )


def run(arguments: argparse.Namespace) -> int:
    from rankgate.components import make
    from rankgate.config import load_settings

    settings = load_settings()
    wanted: dict[str, dict[str, Sequence[Any]]] = {
        "repo": {name: [repo.source] for name, repo in settings.repos.items()},
        "retriever": {
            name: getattr(make(chosen.component, f"retriever.{name}"), "wheels", ())
            for name, chosen in settings.retrievers.items()
        },
    }
    there = {
        group: [name for name, sources in named.items() if _fetched(sources, f"{group}.{name}")]
        for group, named in wanted.items()
    }
    complete = all(len(there[group]) == len(wanted[group]) for group in wanted)
    if arguments.targets and not complete:
        print("settings")
        for repo in there["repo"]:
            for retriever in there["retriever"]:
                print(f"gate@{repo}-{retriever}")
    return 0 if arguments.targets or complete else 2


def _fetched(sources: Iterable[Any], where: str) -> bool:
    """Whether all sources are here now; says what is left out where they cannot be reached."""
    from rankgate.errors import UnreachableError
    from rankgate.sources import fetch as fetch_source

    try:
        for source in sources:
            fetch_source(source, f"{where}.source")
    except UnreachableError as error:
        print(f"left out: {where.partition('.')[2]}: {error}", file=sys.stderr)
        return False
    return True
