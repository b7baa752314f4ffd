"""Results as they were: read from git's objects, from the work tree, or from a folder.

Nothing is checked out.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from rankgate import git
from rankgate.compare.cells import Cell, parse_cell
from rankgate.errors import InputError, one_line
from rankgate.files import decode, read_text

WORKSPACE = "workspace"
_FILE = "queries.json"
_MAX_NAME = 250


class MissingResultsError(InputError):
    """The revision is there, and has no results."""


def read_results(revision: str, results: str = "results") -> dict[str, Cell]:
    """Every cell of a revision, `<repo>/<retriever>` → the cell, sorted by name.

    Args:
        revision: `workspace`; a folder of results; or what git knows: a branch, tag, commit or
            the name of a DVC experiment.
        results: where the results are in the project.

    Raises:
        InputError: there is no such revision or no result, or they are of another version.
    """
    if revision == WORKSPACE:
        texts = _folder(Path(results))
    elif Path(revision).is_dir():
        texts = _folder(Path(revision))
    else:
        texts = _commit(revision, results)
    if not texts:
        raise MissingResultsError(
            f"{one_line(revision, 80)} has no results; run `dvc repro` and commit"
        )
    return {name: parse_cell(name, text, where) for name, (where, text) in sorted(texts.items())}


def describe(revision: str) -> str:
    """A revision with its commit, for a report: `main (1a2b3c4)`."""
    if revision == WORKSPACE or Path(revision).is_dir():
        return revision
    return f"{revision} ({_resolve(revision)[:7]})"


def _folder(folder: Path) -> dict[str, tuple[str, str]]:
    return {
        "/".join(path.parts[-3:-1]): (path.as_posix(), read_text(path))
        for path in folder.glob(f"*/*/{_FILE}")
    }


def _commit(revision: str, results: str) -> dict[str, tuple[str, str]]:
    commit = _resolve(revision)
    prefix = _git("rev-parse", "--show-prefix").decode().rstrip("\n")
    listed = _git("ls-tree", "-r", "-z", "--full-tree", commit, "--", f"{prefix}{results}")
    blobs = {}
    for entry in filter(None, listed.decode("utf-8", "replace").split("\0")):
        meta, _, path = entry.partition("\t")
        _, kind, digest = meta.split(" ")
        inside = Path(path).relative_to(f"{prefix}{results}").parts
        if kind == "blob" and len(inside) == 3 and inside[2] == _FILE:
            blobs["/".join(inside[:2])] = (f"{revision}:{path}", digest)
    contents = _blobs([digest for _, digest in blobs.values()])
    return {
        name: (where, decode(contents[digest], where)) for name, (where, digest) in blobs.items()
    }


def _resolve(revision: str) -> str:
    """The commit that a name means; of a DVC experiment, the one that it made."""
    shown = one_line(revision, 80)
    if not revision.isprintable() or len(revision) > _MAX_NAME or revision.startswith("-"):
        raise InputError(f"{shown!r}: not the name of a revision")
    found = git.answer(
        Path(), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    )
    if found:
        return found
    experiments = git.answer(
        Path(), "for-each-ref", "--format=%(objectname) %(refname)", "refs/exps"
    )
    for line in experiments.splitlines():
        commit, _, ref = line.partition(" ")
        if ref.rpartition("/")[2] == revision:
            return commit
    problem = f"{shown}: no such branch, tag, commit, experiment or folder"
    if git.answer(Path(), "rev-parse", "--is-shallow-repository") == "true":
        branch = shlex.quote(f"{shown}:{shown}")
        problem += f"; this clone is shallow: git fetch --depth=1 origin {branch}"
    raise InputError(problem)


def _git(*words: str, given: bytes = b"") -> bytes:
    return git.read(Path(), *words, given=given, may_fetch=True)


def _blobs(digests: Sequence[str]) -> Mapping[str, bytes]:
    """The contents of git's objects, all read by one process."""
    printed = _git("cat-file", "--batch", given="".join(f"{d}\n" for d in digests).encode())
    contents, start = {}, 0
    for digest in digests:
        head, _, _ = printed[start:].partition(b"\n")
        words = head.split()
        if len(words) != 3:  # a partial clone that cannot fetch it
            raise InputError(f"git has no object {digest}; fetch the revision whole")
        begin = start + len(head) + 1
        contents[digest] = printed[begin : begin + int(words[2])]
        start = begin + int(words[2]) + 1
    return contents
