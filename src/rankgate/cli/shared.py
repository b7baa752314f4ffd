"""What several verbs print or take."""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def at_terminal() -> bool:
    return bool(sys.stdout and sys.stdout.isatty())


def print_markdown(text: str) -> None:
    """Markdown, rendered on a terminal and as it is elsewhere."""
    if not at_terminal():
        print(text, end="")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def add_ungraded(parser: argparse.ArgumentParser, help: str) -> None:  # noqa: A002
    parser.add_argument(
        "--ungraded",
        choices=("zero", "skip", "error"),
        default="zero",
        help=f"{help} (default: zero)",
    )


def add_runs(parser: argparse.ArgumentParser, help: str) -> None:  # noqa: A002
    parser.add_argument(
        "--run",
        dest="runs",
        type=Path,
        metavar="FILE",
        action="append",
        default=[],
        help=f"{help}; may be given again",
    )


def add_judge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--judge", metavar="NAME", default="n15", help="the judge of the facts (default: n15)"
    )


def read_run_file(path: Path) -> list[Any]:
    """The answers of a TREC run, or of the answers.jsonl of the stage retrieve."""
    from rankgate.answers import read_answers
    from rankgate.files import read_text
    from rankgate.trec import read_run

    # JSON by its first key: the id of a TREC run's first query may begin with a brace as well.
    is_json = re.match(r'\s*\{\s*"', read_text(path))
    return read_answers(path) if is_json else read_run(path)
