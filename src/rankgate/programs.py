"""Running a foreign program: from a list of arguments, within limits, and ended whole.

Between a retriever and its program stands a keeper (`rankgate.keeper`), a process in a session of
its own. Were the program in the retriever's process group, it would die with the retriever, but
not be killable alone, and a child that leaves the group would survive. The keeper ends the
program and all below it, children that detached themselves included, when the program ends, when
`Program.stop` asks and when the retriever is gone, however it went. Such detached children are
found on Linux only; elsewhere the program's process group is killed.
"""

import contextlib
import math
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from rankgate import keeper
from rankgate.errors import one_line

MEMORY_MB = 4096
OUTPUT_MB = 32
_CHUNK = 1 << 16
_LAST_WORDS = 4096
# For the program to end after it closed its output, and for the keeper to end it: milliseconds.
_GRACE_S = 1.0
_KEEPER_S = 30.0


class ProgramError(Exception):
    """What a program did wrong, in a line."""


@dataclass(frozen=True)
class Place:
    """Where a program runs and how much it may take.

    Attributes:
        folder: its working folder: private, and never the corpus.
        environment: all of its environment; see `environment`.
        memory_mb: MiB that each of its processes may have to write to.
        output_mb: MiB that it may write to its standard output for one question.
    """

    folder: Path
    environment: Mapping[str, str]
    memory_mb: int = MEMORY_MB
    output_mb: int = OUTPUT_MB


def search_path() -> str:
    """Where programs are looked for: beside this Python, as in an activated venv, then PATH."""
    given = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join([str(Path(sys.executable).parent), *filter(os.path.isabs, given)])


def find_program(name: str) -> str | None:
    """The absolute path of a program, or None when there is none of this name."""
    found = shutil.which(name, path=search_path())
    return found and str(Path(found).absolute())


def environment(
    home: Path, temporary: Path, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """A program's environment: nothing of the user's but PATH, and its files in private folders.

    Args:
        home: for settings and caches; must exist.
        temporary: must exist.
        extra: more variables; they win.
    """
    return {
        "PATH": search_path(),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "XDG_RUNTIME_DIR": str(temporary),
        "TMPDIR": str(temporary),
        "PYTHONSAFEPATH": "1",  # the working folder is no place to import from
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",  # the same question, the same answer
        **(extra or {}),
    }


class Program:
    """A running program; a context manager that leaves nothing running.

    Args:
        command: the program and its arguments; nothing is read as shell.
        talks: whether `ask` is used; otherwise its standard input is empty.

    Raises:
        ProgramError: it cannot be started. An unknown program is found out later, by `ask` or
            `finish`.
    """

    def __init__(self, command: Sequence[str], place: Place, *, talks: bool = False) -> None:
        self._most_output = place.output_mb << 20
        self._output = bytearray()
        self._lines = 0
        self._last_words = b""
        self._report = b""
        self._line, theirs = socket.socketpair()
        # -I -S: nothing is imported that the program or the corpus could have put there.
        keeping = [sys.executable, "-I", "-S", keeper.__file__, str(theirs.fileno())]
        with theirs:
            try:
                self._keeper = subprocess.Popen(  # noqa: S603 — a list, no shell
                    [*keeping, str(place.memory_mb << 20), *command],
                    stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    cwd=place.folder,
                    env=dict(place.environment),
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                self._line.close()
                why = one_line(getattr(error, "strerror", None) or error)
                raise ProgramError(f"cannot be started: {why}") from None
        self._selector = selectors.DefaultSelector()
        self._out, self._err, self._in = (
            stream.fileno() if stream else -1
            for stream in (self._keeper.stdout, self._keeper.stderr, self._keeper.stdin)
        )
        # What can still be read from; the line is the last to close.
        self._open = {self._out, self._err, self._line.fileno()}
        for number in self._open:
            self._selector.register(number, selectors.EVENT_READ)
        for number in self._open | ({self._in} if talks else set()):
            os.set_blocking(number, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def ask(self, line: bytes, timeout_s: float | None = None) -> bytes:
        """Send a line, without its end, and get the line that comes back.

        After an error the program is of no more use: `stop` it.

        Raises:
            ProgramError: it wrote before it was asked, ended, wrote more than one line or too
                much, or took too long.
        """
        self._move(self._has_ended, 0)
        if self._output:
            raise ProgramError(f"wrote a line too many: {_begin(self._output)}")
        if not self._move(self._has_line, timeout_s, line + b"\n"):
            raise ProgramError(f"took longer than {timeout_s:g} s{self._words()}")
        if not self._lines:
            self._move(self._has_ended, _GRACE_S)
            raise ProgramError(
                self._why_ended() if self._has_ended() else f"closed its output{self._words()}"
            )
        answer, _, rest = bytes(self._output).partition(b"\n")
        if rest:
            raise ProgramError(f"answered with more than one line; the next: {_begin(rest)}")
        self._output.clear()
        self._lines = 0
        return answer

    def finish(self, timeout_s: float | None = None, ok: Sequence[int] = (0,)) -> bytes:
        """Wait for the program to end and return all that it wrote to its standard output.

        Args:
            ok: the exit statuses of success.

        Raises:
            ProgramError: another exit status, too much output, or it took too long.
        """
        if not self._move(self._has_ended, timeout_s):
            raise ProgramError(f"took longer than {timeout_s:g} s{self._words()}")
        if self._status() not in ok:
            raise ProgramError(self._why_ended())
        return bytes(self._output)

    def stop(self) -> None:
        """End the program and all that it started; when this returns, they are gone."""
        self._line.close()
        self._selector.close()
        for stream in (self._keeper.stdin, self._keeper.stdout, self._keeper.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            self._keeper.wait(_KEEPER_S)
        except subprocess.TimeoutExpired:  # something hangs in the kernel
            self._keeper.kill()
            self._keeper.wait()

    def _move(self, enough: Callable[[], bool], timeout_s: float | None, send: bytes = b"") -> bool:
        """Move bytes both ways until there is enough or the program has ended; False: it took long.

        Bytes are moved once at the least, whatever the time.
        """
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        left = memoryview(send)
        if left:
            self._selector.register(self._in, selectors.EVENT_WRITE)
        try:
            while not (enough() or self._has_ended()):
                wait = max(0.0, deadline - time.monotonic())
                for key, _ in self._selector.select(None if wait == math.inf else wait):
                    if key.fd != self._in:
                        self._receive(key.fd)
                    elif not (left := self._send(left)):
                        self._selector.unregister(self._in)
                if time.monotonic() > deadline and not enough():
                    return False
        finally:
            if left:
                self._selector.unregister(self._in)
        if self._has_ended():  # what it wrote last may still be in the pipes
            for number in {self._out, self._err} & self._open:
                while self._receive(number):
                    pass
        return True

    def _send(self, left: memoryview) -> memoryview:
        """Send what the program takes now; what is left."""
        try:
            return left[os.write(self._in, left[:_CHUNK]) :]
        except BlockingIOError:
            return left
        except OSError:  # it reads no more; whether it answers nevertheless will be seen
            return left[:0]

    def _receive(self, number: int) -> bool:
        """Take what has come; whether there was anything."""
        try:
            got = os.read(number, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:  # a reset is an end, too
            got = b""
        if not got:
            self._selector.unregister(number)
            self._open.remove(number)
        elif number == self._out:
            self._output += got
            self._lines += got.count(b"\n")
            if len(self._output) > self._most_output:
                raise ProgramError(f"wrote more than {self._most_output >> 20} MB")
        elif number == self._err:
            self._last_words = (self._last_words + got)[-_LAST_WORDS:]
        else:
            self._report += got
        return bool(got)

    def _has_line(self) -> bool:
        """Whether there is an answer, or none will come."""
        return self._lines > 0 or self._out not in self._open

    def _has_ended(self) -> bool:
        """Whether the program and all below it are gone."""
        return self._line.fileno() not in self._open

    def _status(self) -> int | None:
        last = self._report.split(b"\n")[-2:-1]
        return int(last[0]) if last and not last[0].startswith(b"!") else None

    def _why_ended(self) -> str:
        if self._report.startswith(b"!"):
            return f"cannot be started: {_begin(self._report.splitlines()[0][1:])}"
        status = self._status()
        if status is None:
            return "was lost: its keeper was killed"
        if status < 0:
            return f"ended by signal {-status} ({signal.strsignal(-status)}){self._words()}"
        return f"ended with exit status {status}{self._words()}"

    def _words(self) -> str:
        lines = self._last_words.decode("utf-8", "replace").strip().splitlines()
        return f": {one_line(lines[-1], 200)}" if lines else ""


def run(
    command: Sequence[str],
    place: Place,
    *,
    timeout_s: float | None = None,
    ok: Sequence[int] = (0,),
) -> bytes:
    """What a program writes to its standard output; see `Program` and `Program.finish`."""
    with Program(command, place) as program:
        return program.finish(timeout_s, ok)


def _begin(output: bytes | bytearray) -> str:
    return one_line(bytes(output[:200]).decode("utf-8", "replace"), 60)
