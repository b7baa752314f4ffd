"""Proposals from a git repository's history: a commit's message, and what it changed.

git runs with fixed words: no hook, pager, filter, monitor or external diff of the repository.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from rankgate.errors import InputError, one_line
from rankgate.mining.proposals import ESSENTIAL, RELEVANT, Proposal, gives_away
from rankgate.mining.symbols import sentences_of
from rankgate.trees import Tree

MAX_FILES = 4  # a commit that changes more modules is no answer to one question
_MAX_MESSAGE = 4000
_CHORE = re.compile(
    r"(merge\b|revert\b|bump|release|version|v?\d+\.\d|wip\b|typo|fix(es|ed)? (typo|lint|format)|"
    r"format|lint|style|rename|move\b|change ?log|readme|docs?\b|ci\b|chore|test(s|ing)?\b|"
    r"update (dep|lock|change|copy)|copyright|licen[cs]e|initial commit|\[?bot\]?)",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"^(?:\w+(?:\([^)]*\))?!?:|\[[^\]]*\]|#\d+:?|[A-Z]+-\d+:?)\s*")
_TRAILER = re.compile(r"^[A-Z][\w-]+: .*$|^\(?cherry picked.*$|^Co-authored.*$", re.MULTILINE)
_COMMIT = re.compile(rb"[0-9a-f]{40}([0-9a-f]{24})?")
_HUNK = re.compile(rb"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def mine(repository: Path, code: Tree, prefix: str, commits: int) -> Iterator[Proposal]:
    """A proposal a commit that changes one to four modules that are still there.

    Left out: merges, reverts, chores (version bumps, formatting, documentation, tests), messages
    that name a changed module, and those of no more than a few words.

    Args:
        prefix: the folder of the repository that is the corpus root, such as `src/`, or "".
        commits: how many to read, the latest first.

    Raises:
        InputError: it is no git repository, or has no commit.
    """
    printed = _git(
        repository,
        "log",
        "-z",
        "--no-merges",
        "--no-renames",
        "--name-only",
        f"--max-count={commits}",
        "--format=%x01%H%x02%B%x02",
        "HEAD",
    )
    for entry in printed.split(b"\x01")[1:]:
        commit, _, rest = entry.partition(b"\x02")
        if not _COMMIT.fullmatch(commit):  # a message that has our separators
            continue
        message, _, names = rest.rpartition(b"\x02")
        files = [name.strip(b"\n") for name in names.split(b"\0")]
        changed = sorted({_module(name, prefix) for name in files if name} - {""})
        modules = [path for path in changed if path in code]
        if not modules or len(modules) > MAX_FILES or len(changed) > 3 * MAX_FILES:
            continue
        text = message[:_MAX_MESSAGE].decode("utf-8", "replace")
        question = _question(text)
        if not question or gives_away(question, modules):
            continue
        yield _proposal(repository, commit.decode("ascii"), text, question, modules, prefix, code)


def _module(name: bytes, prefix: str) -> str:
    try:
        path = name.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return path.removeprefix(prefix) if path.startswith(prefix) else ""


def _question(message: str) -> str:
    """The message as a person would report it; empty for a chore."""
    printable = "".join(c if c.isprintable() or c == "\n" else " " for c in message)
    body = _TRAILER.sub("", printable)
    title, _, rest = body.strip().partition("\n")
    title = _PREFIX.sub("", title).strip()
    title = re.sub(r"\s*\(?#\d+\)?$", "", title)
    if _CHORE.match(title) or len(title.split()) < 4:
        return ""
    sentences = sentences_of(rest)
    said = " ".join([title.rstrip("."), *sentences[:1]]) if sentences else title.rstrip(".")
    return said[:400]


def _proposal(
    repository: Path,
    commit: str,
    message: str,
    question: str,
    modules: list[str],
    prefix: str,
    code: Tree,
) -> Proposal:
    evidence = {}
    sizes = {}
    for module in modules:
        lines = len(code.lines(module))
        places = _changed(repository, commit, prefix + module, lines)
        evidence[module] = tuple(f"{module}:{first}-{last}" for first, last in places[:3])
        sizes[module] = sum(last - first + 1 for first, last in places)
    largest = max(modules, key=lambda module: (sizes[module], module))
    return Proposal(
        origin="history",
        source=f"commit {commit}",
        question=question,
        grades={module: ESSENTIAL if module == largest else RELEVANT for module in modules},
        facts=dict.fromkeys(sentences_of(message.partition("\n")[2])[1:4], ""),
        evidence=evidence,
    )


def _changed(repository: Path, commit: str, path: str, lines: int) -> list[tuple[int, int]]:
    """The line ranges that a commit wrote, as far as the module still is that long."""
    diff = _git(
        repository,
        "show",
        "--format=",
        "--unified=0",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        commit,
        "--",
        f":(literal,top){path}",
    )
    found = []
    for match in _HUNK.finditer(diff):
        first, count = int(match[1]), int(match[2] or 1)
        last = min(first + max(count, 1) - 1, first + 24)
        if first >= 1 and last <= lines:
            found.append((first, last))
    return found


def _git(repository: Path, *words: str) -> bytes:
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]
    command += ["-c", "core.quotePath=false", "-c", "log.showSignature=false"]
    command += [
        "-c",
        "diff.external=",
        "-c",
        "safe.directory=*",
        "--no-pager",
        "--no-optional-locks",
    ]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "0",
    }
    try:
        done = subprocess.run(  # noqa: S603 — a list of our own words, no shell
            [*command, *words],
            cwd=repository,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise InputError(f"{one_line(repository)}: cannot run git: {error.strerror}") from None
    if done.returncode:
        said = one_line(done.stderr.decode("utf-8", "replace"), 200)
        raise InputError(f"{one_line(repository)}: git {words[0]}: {said}")
    return done.stdout
