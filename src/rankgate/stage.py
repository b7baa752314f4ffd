"""What the entry points in stages/ share."""

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from rankgate.errors import exit_status


def run(main: Callable[..., int | None]) -> None:
    """Run a stage with the words of its command line as arguments, and exit with its status.

    0 fine, 1 a gate fell short or the retriever failed, 2 bad input (a line says what and where).
    """
    _run_this_checkout()
    sys.exit(exit_status(lambda: main(*sys.argv[1:]) or 0))


def _run_this_checkout() -> None:
    """Start anew with the library of the working folder, where Python took that of another one.

    An environment's editable install is of one checkout, but DVC also runs stages in others: a
    second clone, a queued experiment. What it hashes there must be what runs.
    """
    own = Path("src/rankgate").resolve()
    if own.is_dir() and own != Path(__file__).resolve().parent and _AGAIN not in os.environ:
        os.environ |= {"PYTHONPATH": str(own.parent), _AGAIN: "1"}
        os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606 — no shell


_AGAIN = "RANKGATE_STARTED_ANEW"


def warn(lines: Iterable[str]) -> None:
    """Warnings for the user; they change no status."""
    for line in lines:
        print(f"warning: {line}", file=sys.stderr)
