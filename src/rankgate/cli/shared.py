"""What several verbs print or take."""

import argparse
import json
import sys


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


def add_judge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--judge", metavar="NAME", default="n15", help="the judge of the facts (default: n15)"
    )
