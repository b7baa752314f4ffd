"""The `rankgate` command: a module here for each verb. Each works on plain files, without DVC.

A verb's module has its SUMMARY and EXAMPLES, `arguments(parser)` which adds what it takes, and
`run(arguments)` which does it and returns the exit status: 0 fine, 1 something measured fell
short, 2 bad input. It imports what it needs when it runs, since every call pays for imports.
"""

import argparse
import io
import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword

from rankgate import __version__
from rankgate.errors import exit_status

VERBS = (
    "init",
    "mine",
    "check",
    "drift",
    "import",
    "export",
    "score",
    "judge",
    "report",
    "compare",
    "ratchet",
    "params",
    "fetch",
    "pool",
    "grade",
    "conform",
    "completion",
)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line; 0 fine, 1 a gate fell short, 2 bad input."""
    return exit_status(lambda: _run(words))


def _run(words: Sequence[str] | None) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # no error where it cannot show a "≥"
    try:
        arguments = parser().parse_args(words)
    except SystemExit as end:  # of argparse: help is printed, or what is wrong
        return int(end.code or 0)
    status: int = arguments.run(arguments)
    return status


def parser() -> argparse.ArgumentParser:
    """The parser of all verbs."""
    whole = argparse.ArgumentParser(
        prog="rankgate",
        description="Measure how well a code-retrieval system finds the right files.",
    )
    whole.add_argument("--version", action="version", version=f"rankgate {__version__}")
    verbs = whole.add_subparsers(required=True, metavar="VERB")
    for name in VERBS:
        verb = import_module(f"rankgate.cli.{name}{'_' if iskeyword(name) else ''}")
        examples = [f"  rankgate {example}" for example in verb.EXAMPLES]
        added = verbs.add_parser(
            name,
            help=verb.SUMMARY,
            description=verb.SUMMARY,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog="\n".join(["examples:", *examples]),
        )
        verb.arguments(added)
        added.set_defaults(run=verb.run)
    return whole
