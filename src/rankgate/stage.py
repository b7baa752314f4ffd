"""What the entry points in stages/ share."""

import sys
from collections.abc import Callable, Iterable

from rankgate.errors import exit_status


def run(main: Callable[..., int | None]) -> None:
    """Run a stage with the words of its command line as arguments, and exit with its status.

    0 fine, 1 a gate fell short or the retriever failed, 2 bad input (a line says what and where).
    """
    sys.exit(exit_status(lambda: main(*sys.argv[1:]) or 0))


def warn(lines: Iterable[str]) -> None:
    """Warnings for the user; they change no status."""
    for line in lines:
        print(f"warning: {line}", file=sys.stderr)
