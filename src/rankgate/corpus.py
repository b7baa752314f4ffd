"""The corpus: a repo's modules, frozen with a manifest.

A corpus is a folder of two files. `manifest.json` lists each module's path, size and sha256, what
was left out and why, and one fingerprint of the whole. `modules.zip` holds the bytes. One
archive instead of loose files keeps DVC quick at 20,000 modules, keeps names that a file system
or DVC would trip over, and leaves no tree in which a program could be started by mistake.
"""

import hashlib
import io
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankgate.errors import InputError, one_line
from rankgate.files import read_json, write_bytes, write_json
from rankgate.queries import module_path_problem
from rankgate.tokens import ENCODING, count_tokens

MANIFEST = "manifest.json"
ARCHIVE = "modules.zip"
MAX_MODULE_BYTES = 1 << 20
MAX_MODULES = 100_000
MAX_CORPUS_BYTES = 1 << 30  # it is put together in memory
# Above the first, the manifest lists no more than the second of each reason, and counts all.
MOST_LISTED, MOST_OF_A_REASON = 1000, 100
_TOO_LARGE = f"larger than {MAX_MODULE_BYTES} bytes"
_EPOCH = (1980, 1, 1, 0, 0, 0)
# Never part of a code base, whatever the globs say.
CLUTTER = frozenset({".git", ".hg", ".svn", ".dvc", "__pycache__", "node_modules", ".venv"})


@dataclass(frozen=True)
class Candidate:
    """A file that a source offers.

    Attributes:
        path: POSIX path in the source.
        size: in bytes.
        read: its bytes.
        refused: why it can be no module (a link, a device), or empty.
    """

    path: str
    size: int
    read: Callable[[], bytes]
    refused: str = ""


@dataclass(frozen=True)
class Module:
    """A file of the corpus; `path` is relative to the corpus root."""

    path: str
    bytes: int
    sha256: str


class Corpus:
    """A corpus opened for reading.

    Attributes:
        left_out: how many files of the source are no modules, by reason.
        root: the folder that `unpack` wrote to last, or None. Paths below it are taken for
            modules when a retriever returns them.

    Raises:
        InputError: `folder` holds no corpus.
    """

    def __init__(self, folder: Path) -> None:
        manifest = read_json(folder / MANIFEST)
        try:
            self.fingerprint: str = manifest["fingerprint"]
            self.tokens: int = manifest["tokens"]["total"]
            self.left_out: dict[str, int] = dict(manifest.get("left_out_counts", {}))
            self.modules = tuple(Module(**module) for module in manifest["modules"])
            self._archive = zipfile.ZipFile(folder / ARCHIVE)
        except (KeyError, TypeError, OSError, zipfile.BadZipFile):
            raise InputError(f"{folder}: {MANIFEST} and {ARCHIVE} are no corpus") from None
        self.paths = tuple(module.path for module in self.modules)
        self.root: Path | None = None

    def read(self, path: str) -> bytes:
        """The bytes of a module; KeyError when there is none of this path."""
        return self._archive.read(path)

    def text(self, path: str) -> str:
        """A module as text: UTF-8, its undecodable bytes replaced, line ends as \\n, no BOM."""
        text = self.read(path).decode("utf-8", errors="replace").removeprefix("\ufeff")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def unpack(self, folder: Path) -> None:
        """Write the modules as files below `folder`, for a system that reads files."""
        self.root = folder.absolute()
        for path in self.paths:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(self.read(path))


def write_corpus(
    folder: Path,
    candidates: Iterable[Candidate],
    *,
    where: str = "corpus",
    source: Mapping[str, str],
    root: str = "",
    include: Sequence[str] = ("*",),
    exclude: Sequence[str] = (),
    tests: bool = True,
    generated: bool = True,
) -> Corpus:
    """Choose the modules among a source's files and write them with their manifest.

    Left out, with the reason in the manifest: what the globs leave out, links and devices, files
    over 1 MiB, binary files (a NUL among the first 8 KiB), Git LFS's pointers, names that are no
    plain relative path, and version control's and tools' own folders. Of paths that only case or
    Unicode's form tells apart, the first in the order of code points stays: the corpus is the
    same where a file system cannot hold both. Bytes that are no UTF-8 stay as they are.

    Args:
        folder: an empty or missing folder.
        where: the repo's place in the config, which errors name.
        source: what the corpus was made from, for the manifest.
        root: the folder of the source that becomes the corpus root.
        include, exclude: patterns of .gitignore, matched against the path below the root.
        tests, generated: whether files of tests, and generated ones, become modules; what they
            are is in `rankgate.sources.rules`.

    Raises:
        InputError: nothing is left, or too much.
    """
    from pathspec import GitIgnoreSpec

    from rankgate.sources import rules

    wanted, unwanted = GitIgnoreSpec.from_lines(include), GitIgnoreSpec.from_lines(exclude)
    prefix = f"{root.strip('/')}/" if root.strip("/") else ""
    chosen: dict[str, bytes] = {}
    left_out: list[tuple[str, str]] = []
    clashes = _Clashes()
    seen = total = 0
    for candidate in sorted(candidates, key=lambda c: c.path):
        seen += 1
        if not candidate.path.startswith(prefix):
            continue
        path = candidate.path.removeprefix(prefix)
        if not wanted.match_file(path) or unwanted.match_file(path):
            reason = "not among include, or among exclude"
        elif not (reason := candidate.refused or _refusal(path, candidate.size)):
            if not tests and rules.is_test(path):
                reason = "a test"
            elif not generated and rules.is_generated_name(path):
                reason = "generated"
        content = b"" if reason else candidate.read()
        if b"\0" in content[:8192]:
            reason = "binary"
        elif len(content) > MAX_MODULE_BYTES:  # it grew since it was listed
            reason = _TOO_LARGE
        elif rules.is_lfs_pointer(content):
            reason = "a pointer of Git LFS"
        elif content and not generated and rules.is_generated(path, content):
            reason = "generated"
        elif not reason and clashes.add(path):
            reason = "only case or Unicode form tells its path from another's"
        if reason:
            left_out.append((path, reason))
            continue
        chosen[path] = content
        total += len(content)
        if len(chosen) > MAX_MODULES:
            raise InputError(f"{where}: more than {MAX_MODULES} modules; narrow include or exclude")
        if total > MAX_CORPUS_BYTES:
            raise InputError(
                f"{where}: modules of more than {MAX_CORPUS_BYTES} bytes; narrow include or exclude"
            )
    if not chosen:
        below = f" below {root!r}" if prefix else ""
        counts = Counter(reason for _, reason in left_out)
        why = f" ({said_counts(counts)})" if counts else ""
        raise InputError(
            f"{where}: no module: {seen} files in the source, none{below} chosen by "
            f"include {list(include)} and exclude {list(exclude)}{why}"
        )
    _write(folder, chosen, left_out, source)
    return Corpus(folder)


def said_counts(counts: Mapping[str, int]) -> str:
    """`12 a test, 3 generated`: how many were left out for which reason, most first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {reason}" for reason, count in ordered)


class _Clashes:
    """Finds paths that would be one file where case or Unicode's form makes no difference."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def add(self, path: str) -> bool:
        """Whether a path clashes with one before; if not, it is remembered."""
        key = path if path.isascii() else unicodedata.normalize("NFC", path)
        key = key.casefold()
        parents: list[str] = []
        parent = key.rpartition("/")[0]
        while parent and parent not in self._folders:
            parents.append(parent)
            parent = parent.rpartition("/")[0]
        if key in self._files or key in self._folders or not self._files.isdisjoint(parents):
            return True
        self._files.add(key)
        self._folders.update(parents)
        return False


def _refusal(path: str, size: int) -> str:
    if wrong := module_path_problem(path):
        return f"its path {wrong}"
    *folders, name = path.lower().split("/")  # some file systems do not tell .GIT from .git
    if not CLUTTER.isdisjoint(folders) or name == ".git":
        return "in a folder of version control or tools"
    if size > MAX_MODULE_BYTES:
        return _TOO_LARGE
    return ""


def _write(
    folder: Path,
    chosen: Mapping[str, bytes],
    left_out: Sequence[tuple[str, str]],
    source: Mapping[str, str],
) -> None:
    buffer = io.BytesIO()
    modules: list[dict[str, Any]] = []
    # Stored, not deflated: compressed bytes differ between versions of zlib.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path, content in chosen.items():
            entry = zipfile.ZipInfo(path, date_time=_EPOCH)
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
            digest = hashlib.sha256(content).hexdigest()
            modules.append({"path": path, "bytes": len(content), "sha256": digest})
    write_bytes(folder / ARCHIVE, buffer.getvalue())
    total = sum(count_tokens(content.decode("utf-8", "replace")) for content in chosen.values())
    counts = Counter(reason for _, reason in left_out)
    write_json(
        folder / MANIFEST,
        {
            "version": 1,
            "fingerprint": fingerprint((m["path"], m["sha256"]) for m in modules),
            "source": dict(source),
            "tokens": {"encoding": ENCODING, "total": total},
            "modules": modules,
            "left_out_counts": dict(sorted(counts.items())),
            "left_out": _listed(left_out),
        },
    )


def _listed(left_out: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """All of a short list; of a long one the first of each reason."""
    most = len(left_out) if len(left_out) <= MOST_LISTED else MOST_OF_A_REASON
    listed: list[dict[str, str]] = []
    counts: Counter[str] = Counter()
    for path, reason in left_out:
        counts[reason] += 1
        if counts[reason] <= most:
            listed.append({"path": one_line(path, 1000), "reason": reason})
    return listed


def fingerprint(modules: Iterable[tuple[str, str]]) -> str:
    """sha256 over the sorted (path, sha256) pairs: equal for equal corpora, whatever the source."""
    whole = hashlib.sha256()
    for path, digest in sorted(modules):
        whole.update(f"{path}\0{digest}\n".encode())
    return whole.hexdigest()
