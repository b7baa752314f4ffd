"""The modules of a folder, whether a stage's corpus or any folder of files, for reading."""

import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from rankgate.corpus import ARCHIVE, MANIFEST, Corpus
from rankgate.errors import InputError
from rankgate.sources.local import local_files


class Tree:
    """Modules by path.

    Attributes:
        readers: path → what reads its bytes, sorted by path.
    """

    def __init__(
        self, readers: Mapping[str, Callable[[], bytes]], digests: Mapping[str, str] | None = None
    ) -> None:
        self.readers = {path: readers[path] for path in sorted(readers)}
        self._digests = dict(digests or {})
        self._texts: dict[str, str] = {}

    def __contains__(self, path: object) -> bool:
        return path in self.readers

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self.readers)

    def sha256(self, path: str) -> str:
        """Of a module's bytes; KeyError when there is none of this path."""
        if path not in self._digests:
            self._digests[path] = hashlib.sha256(self.readers[path]()).hexdigest()
        return self._digests[path]

    def text(self, path: str) -> str:
        """A module as text, as `Corpus.text` has it; kept, for rules ask again and again."""
        if path not in self._texts:
            text = self.readers[path]().decode("utf-8", errors="replace").removeprefix("\ufeff")
            self._texts[path] = text.replace("\r\n", "\n").replace("\r", "\n")
        return self._texts[path]

    def lines(self, path: str) -> list[str]:
        """A module's lines without their ends; provenance counts these from 1."""
        lines = self.text(path).split("\n")
        return lines[:-1] if lines[-1] == "" else lines


def open_tree(folder: Path, where: str, largest: int = sys.maxsize) -> Tree:
    """The modules of a stage's corpus, by its manifest, or of any folder: all files below.

    Args:
        where: what names the folder to the user, such as an option.
        largest: the bytes from which a file of a folder is left out.

    Raises:
        InputError: there is no such folder, or no file in it.
    """
    if (folder / MANIFEST).is_file() and (folder / ARCHIVE).is_file():
        corpus = Corpus(folder)
        return Tree(
            {path: lambda path=path: corpus.read(path) for path in corpus.paths},  # type: ignore[misc]
            {module.path: module.sha256 for module in corpus.modules},
        )
    readers = {
        file.path: file.read
        for file in local_files(folder, where)
        if not file.refused and file.size <= largest
    }
    if not readers:
        raise InputError(f"{where}: {folder} has no file")
    return Tree(readers)
