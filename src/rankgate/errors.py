"""The one error that users see."""

import os
import sys
from collections.abc import Callable, Sequence


class InputError(Exception):
    """Something the user gave is wrong.

    Each problem is one line that says where it is, what is wrong and what to do. Only the
    outermost layer (`rankgate.cli.main`, `rankgate.stage.run`) prints them, with exit status 2.
    """

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems: tuple[str, ...] = (
            (problems,) if isinstance(problems, str) else tuple(problems)
        )
        super().__init__("\n".join(self.problems))


class UnreachableError(InputError):
    """What was asked for is on the network, and there is none."""


def one_line(text: object, limit: int = 300) -> str:
    """Any text as one printable line of at most `limit` characters, for an error or a report."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def exit_status(act: Callable[[], int]) -> int:
    """Run the outermost act of a process: its own exit status, or 2 with the error in a line.

    Ctrl-C is 130 and a reader that went away 141, as shells have it.
    What is no InputError is a fault of rankgate or of the machine (a full disk); it gets a line
    as well, and `RANKGATE_TRACEBACK=1` shows where it came from.
    """
    try:
        status = act()
        if sys.stdout:  # None when closed
            sys.stdout.flush()  # at exit, nobody would catch its errors
        return status
    except InputError as error:
        problems = error.problems
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # who read our output has seen enough; what we found stays unsaid
        _drop_unprintable()
        return 141
    except OSError as error:
        _drop_unprintable()
        problems = (f"{one_line(error.filename or 'system')}: {one_line(error.strerror or error)}",)
    except Exception as error:
        if os.environ.get("RANKGATE_TRACEBACK"):
            raise
        problems = (f"unexpected {type(error).__name__}: {one_line(error)}",)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 2


def _drop_unprintable() -> None:
    """Give up what cannot be printed, or Python tries again at exit and complains."""
    try:
        if sys.stdout:
            sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
