"""Progress on long work: a bar on a terminal, silence elsewhere."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def progress(items: Iterable[T], total: int, what: str) -> Iterator[T]:
    """`items`, with a bar on stderr when that is a terminal."""
    if not (sys.stderr and sys.stderr.isatty()):
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    # Not redirected: rich would print what goes to stdout, a file perhaps, on the terminal.
    bar = Progress(console=Console(stderr=True), transient=True, redirect_stdout=False)
    with bar:
        yield from bar.track(items, total=total, description=what)
