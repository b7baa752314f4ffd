"""Scripted keys in a real terminal, for what is drawn on one: textual screens and the like."""

import contextlib
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pexpect

KEYS = {"enter": "\r", "escape": "\x1b", "up": "\x1b[A", "down": "\x1b[B", "ctrl+c": "\x03"}
# Sequences that draw nothing: CSI, OSC, DCS and the like up to their end, two-byte escapes.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P_^].*?(?:\x07|\x1b\\)|[ -/]*[0-~])", re.S)


class Terminal:
    """A program in a terminal of its own.

    `wait_for` looks at what was drawn since the last key, so that a test goes on as soon as the
    program does, and never sooner. A text that is waited for should stand in one piece, one style
    and one line of the screen, and should not have been there before the keys. The rest of a frame
    may come later: what a test looks for next, it must wait for as well.
    """

    def __init__(
        self,
        *command: str,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] = (30, 100),
        timeout: float = 60,
    ) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self.timeout = timeout
        self._before = self._drawn = ""
        self._program = pexpect.spawn(
            command[0],
            list(command[1:]),
            cwd=str(cwd),
            env=environment | {"TERM": "xterm-256color"} | dict(env or {}),
            dimensions=size,
            encoding="utf-8",
            codec_errors="replace",
            timeout=timeout,
        )
        self._program.delaybeforesend = None

    def wait_for(self, text: str) -> None:
        """Wait until the program has drawn a text since the last keys."""
        while text not in self.shown():
            try:
                self._drawn += self._program.read_nonblocking(100_000, self.timeout)
            except (pexpect.TIMEOUT, pexpect.EOF) as error:
                reason = type(error).__name__
                raise AssertionError(f"{reason}: no {text!r} in\n{self.shown()}") from None

    def shown(self) -> str:
        """What was drawn since the last keys, without what steers the terminal."""
        return _ESCAPE.sub("", self._drawn)

    def raw(self) -> str:
        """All that was drawn so far, escapes included."""
        return self._before + self._drawn

    def press(self, *keys: str, then: str) -> None:
        """Type keys, names of KEYS or any text, and wait for what they bring about."""
        self._type(keys)
        self.wait_for(then)

    def _type(self, keys: tuple[str, ...]) -> None:
        with contextlib.suppress(pexpect.TIMEOUT, pexpect.EOF):
            while keys:  # what is left of an earlier frame is not what the keys bring about
                self._drawn += self._program.read_nonblocking(100_000, 0)
        self._before += self._drawn
        self._drawn = ""
        for key in keys:
            self._program.send(KEYS.get(key, key))

    def end(self, *keys: str) -> tuple[int, str]:
        """Type keys that end the program; its exit status and what it printed after them."""
        self._type(keys)
        try:
            while True:
                self._drawn += self._program.read_nonblocking(100_000, self.timeout)
        except pexpect.EOF:
            self._program.close()
        return int(self._program.exitstatus or 0), self.shown()

    def kill(self) -> None:
        """End it as a crash would: without a chance to tidy up."""
        self._program.close(force=True)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self._program.close(force=True)


def rankgate(*words: str, cwd: Path, env: Mapping[str, str] | None = None) -> Terminal:
    """The `rankgate` command in a terminal."""
    return Terminal(sys.executable, "-m", "rankgate.cli", *words, cwd=cwd, env=env)
