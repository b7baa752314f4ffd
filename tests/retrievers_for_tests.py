"""Retrievers that behave and misbehave, for configs to name by `_target_`."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankgate.answers import Hit, Retrieved
from rankgate.corpus import Corpus


class Good:
    """Returns every module in the corpus' order, and the question as context."""

    version = "1.0"

    def build(self, corpus: Corpus, index: Path) -> None:
        assert list(index.iterdir()) == []
        (index / "paths.txt").write_text("\n".join(corpus.paths))

    def open(self, corpus: Corpus, index: Path) -> None:
        self.corpus, self.index = corpus, index

    def ask(self, question: str, k: int) -> Any:
        return Retrieved(tuple(Hit(path, 1.0) for path in self.corpus.paths), question)


class Optioned(Good):
    def __init__(self, *, limit: int, label: str = "none") -> None:
        if limit < 0:
            raise ValueError(f"limit: expected an integer from 0 up, got {limit}")
        if label == "file":
            raise FileNotFoundError("no model here")


class NeedsIndex(Good):
    def ask(self, question: str, k: int) -> Retrieved:
        names = sorted(path.name for path in self.index.iterdir())
        return Retrieved((), " ".join(names))


class Returning(Good):
    """Returns `answers[question]`, for the tests that run in this process' children."""

    answers: dict[str, Callable[[], Any]] = {}  # noqa: RUF012

    def ask(self, question: str, k: int) -> Any:
        return self.answers.get(question, lambda: super(Returning, self).ask(question, k))()


class Raises(Good):
    def ask(self, question: str, k: int) -> Any:
        if question == "bad":
            raise RuntimeError("the store\nis gone")
        return super().ask(question, k)


class RaisesOddly(Good):
    """Raises what `except Exception` does not catch."""

    def ask(self, question: str, k: int) -> Any:
        raise GeneratorExit


class Hangs(Good):
    def ask(self, question: str, k: int) -> Any:
        if question == "bad":
            threading.Event().wait()
        return super().ask(question, k)


class Exits(Good):
    def ask(self, question: str, k: int) -> Any:
        if question == "bad":
            os._exit(3)
        return super().ask(question, k)


class ExitsPolitely(Good):
    def ask(self, question: str, k: int) -> Any:
        sys.exit(0)


class Killed(Good):
    def ask(self, question: str, k: int) -> Any:
        if question == "bad":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().ask(question, k)


class StartsChild(Good):
    """Starts a process that lives on and holds a file descriptor open."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def ask(self, question: str, k: int) -> Any:
        subprocess.Popen(["sleep", "600"], pass_fds=[self.fd])
        if question == "bad":
            os._exit(1)
        return super().ask(question, k)


class Writes(Good):
    """Writes, adds and deletes wherever it may."""

    def build(self, corpus: Corpus, index: Path) -> None:
        super().build(corpus, index)
        self._spoil(index.parent / "corpus")

    def open(self, corpus: Corpus, index: Path) -> None:
        super().open(corpus, index)
        self.text = (index / "paths.txt").read_text()

    def ask(self, question: str, k: int) -> Any:
        self._spoil(self.index.parent / "corpus")
        self._spoil(self.index)
        return Retrieved((), self.text)

    def _spoil(self, folder: Path) -> None:
        (folder / "new").write_text("new")
        for path in folder.iterdir():
            path.write_text("spoilt")


class SeesModes(Good):
    """Says which files of its copies it may not write."""

    def ask(self, question: str, k: int) -> Any:
        files = [path for path in self.index.parent.rglob("*") if path.is_file()]
        locked = [path.name for path in files if not path.stat().st_mode & 0o200]
        return Retrieved((), f"{len(files)} files, locked: {locked}")


class SeesProcess(Good):
    """Hands on where it runs and where it imports from."""

    def ask(self, question: str, k: int) -> Any:
        private = str(self.index.parent)
        return Retrieved((), f"{Path.cwd()} {any(private in entry for entry in sys.path)}")


class Prints(Good):
    def ask(self, question: str, k: int) -> Any:
        print("chatter on stdout")
        os.write(1, b"chatter below Python\n")
        return super().ask(question, k)


class Unpacks(Good):
    """Reads files, and returns them by their absolute paths."""

    def open(self, corpus: Corpus, index: Path) -> None:
        super().open(corpus, index)
        corpus.unpack(index / "files")

    def ask(self, question: str, k: int) -> Any:
        found = sorted((self.index / "files").rglob("*.py"))
        return Retrieved((*(Hit(str(path), 1.0) for path in found), Hit("/etc/passwd", 1.0)), "")


class FailsToBuild(Good):
    def build(self, corpus: Corpus, index: Path) -> None:
        (index / "half").touch()
        raise MemoryError


class FailsToOpen(Good):
    def open(self, corpus: Corpus, index: Path) -> None:
        raise FileNotFoundError(2, "No such file or directory", "model.onnx")


class ExitsInOpen(Good):
    def open(self, corpus: Corpus, index: Path) -> None:
        os._exit(9)


class NoVersion:
    def build(self, corpus: Corpus, index: Path) -> None: ...


class AnyOptions(Good):
    def __init__(self, **options: object) -> None:
        self.options = options


def a_function() -> Good:
    return Good()
