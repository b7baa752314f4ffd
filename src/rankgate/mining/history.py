"""Proposals from a git repository's history: a commit's message, and what it changed."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from rankgate import git
from rankgate.errors import InputError
from rankgate.mining.proposals import Proposal, gives_away
from rankgate.mining.symbols import sentences_of
from rankgate.queries import ESSENTIAL, RELEVANT
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
    printed = git.read(
        repository,
        "log",
        "-z",
        # What came before is not there to be compared with: a repository's first commit, or a
        # shallow clone's, is no change.
        "--min-parents=1",
        "--max-parents=1",
        "--no-renames",
        "--name-only",
        f"--max-count={commits}",
        "--format=%x00%H%x00%B",
        "HEAD",
    )
    for commit, message, files in _commits(printed):
        changed = sorted({_module(name, prefix) for name in files} - {""})
        modules = [path for path in changed if path in code]
        if not modules or len(modules) > MAX_FILES or len(changed) > 3 * MAX_FILES:
            continue
        text = message[:_MAX_MESSAGE].decode("utf-8", "replace")
        question = _question(text)
        if not question or gives_away(question, modules):
            continue
        yield _proposal(repository, commit, text, question, modules, prefix, code)


def _commits(printed: bytes) -> Iterator[tuple[str, bytes, Sequence[bytes]]]:
    """Commit, message and files; a message may hold any byte but NUL, so NUL alone parts them."""
    fields = printed.split(b"\0")
    start = 0
    while start + 2 < len(fields):  # nothing, commit, message, "\nfile", file, …
        end = start + 3
        while end < len(fields) and fields[end]:
            end += 1
        files = [name.removeprefix(b"\n") for name in fields[start + 3 : end]]
        yield fields[start + 1].decode("ascii"), fields[start + 2], files
        start = end


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
    try:
        diff = _show(repository, commit, path)
    except InputError:  # a partial clone that lacks a file of this commit
        return []
    found = []
    for match in _HUNK.finditer(diff):
        first, count = int(match[1]), int(match[2] or 1)
        last = min(first + max(count, 1) - 1, first + 24)
        if first >= 1 and last <= lines:
            found.append((first, last))
    return found


def _show(repository: Path, commit: str, path: str) -> bytes:
    return git.read(
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
