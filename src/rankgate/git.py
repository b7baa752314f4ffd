"""git as a reader: fixed words, and nothing that a repository's settings name is run."""

import os
import subprocess
from pathlib import Path

from rankgate.errors import InputError, one_line

_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "log.showSignature=false",
    "diff.external=",
    "safe.directory=*",
)


def read(folder: Path, *words: str, given: bytes = b"", may_fetch: bool = False) -> bytes:
    """What git prints.

    Args:
        folder: where it runs.
        words: the command and its arguments.
        given: bytes for its standard input.
        may_fetch: whether a partial clone may fetch what it lacks, by the programs and with the
            rights that the user's own settings name. Only for a repository the user works in.

    Raises:
        InputError: git is not there, or fails.
    """
    environment = dict(os.environ)
    if not may_fetch:
        environment = {k: v for k, v in environment.items() if not k.startswith("GIT_")}
        environment |= {
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
        }
    command = ["git", *(word for setting in _SETTINGS for word in ("-c", setting))]
    command += ["--no-pager", "--no-optional-locks", *words]
    try:
        done = subprocess.run(  # noqa: S603 — a list, no shell
            command, cwd=folder, env=environment, input=given, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise InputError("git is not installed") from None
    except OSError as error:
        raise InputError(f"{one_line(folder)}: cannot run git: {error.strerror}") from None
    if done.returncode:
        said = one_line(done.stderr.decode("utf-8", "replace"), 200)
        raise InputError(f"{one_line(folder)}: git {words[0]}: {said}")
    return done.stdout


def answer(folder: Path, *words: str) -> str:
    """What git prints, stripped; empty where it fails or is not there."""
    try:
        return read(folder, *words).decode("utf-8", "replace").strip()
    except InputError:
        return ""


def head(folder: Path) -> str:
    """The commit that is checked out; empty for a new or damaged repository, or none."""
    return answer(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
