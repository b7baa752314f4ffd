"""Running a retriever: on private copies, in a process of its own, within its time."""

import contextlib
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rankgate.answers import Answer, Hit, accept
from rankgate.components import make, reason
from rankgate.config import RetrieverSettings
from rankgate.corpus import Corpus
from rankgate.errors import InputError, one_line
from rankgate.files import read_json_lines, write_json
from rankgate.tokens import count_tokens

OPEN_TIMEOUT_S = 600.0
FILES = "files"


@dataclass(frozen=True)
class Question:
    """What a retriever gets to see of a query."""

    id: str
    question: str


def read_questions(path: Path) -> list[Question]:
    """The questions that the stage `fixture` wrote."""
    return [Question(**value) for _, value in read_json_lines(path)]


def _made(settings: RetrieverSettings, resources: Path) -> Any:
    """The retriever, with what `prepare` made for it."""
    retriever = make(settings.component, f"retriever.{settings.name}")
    if hasattr(retriever, "use"):
        retriever.use(resources)
    return retriever


def build_index(settings: RetrieverSettings, corpus: Path, resources: Path, index: Path) -> None:
    """Let a retriever build its index of a corpus: `index`/files, and system.json beside it.

    Args:
        resources: what `prepare` made; only read.

    Raises:
        InputError: the retriever's settings are wrong, or it fails.
    """
    where = f"retriever.{settings.name}"
    retriever = _made(settings, resources)
    with tempfile.TemporaryDirectory(prefix="rankgate-") as folder:
        private = _copy(corpus, Path(folder, "corpus"))
        built = Path(folder, "index")
        built.mkdir()
        try:
            version = str(retriever.version)
            retriever.build(Corpus(private), built)
        except Exception as error:
            raise InputError(f"{where}: building the index failed: {reason(error)}") from None
        shutil.rmtree(index, ignore_errors=True)
        shutil.copytree(built, index / FILES)
    system = {
        "name": settings.name,
        "class": settings.component.target,
        "version": version,
        "options": dict(settings.component.options),
    }
    write_json(index / "system.json", system)


def ask_all(
    settings: RetrieverSettings,
    corpus: Path,
    resources: Path,
    index: Path,
    questions: Sequence[Question],
    k: int,
) -> Iterator[tuple[Answer, float]]:
    """An answer to every question, in order, each with the seconds that it took.

    A question that raises, crashes the retriever's process or passes `timeout_s` has its reason
    in the answer; the next one gets a new process and goes on.

    Raises:
        InputError: the retriever cannot be opened at all.
    """
    modules = frozenset(Corpus(corpus).paths)
    count_tokens("loads the tables")  # before the fork and the clock, for most retrievers count
    with _Worker(settings, corpus, resources, index) as worker:
        for question in questions:
            started = time.perf_counter()
            reply = worker.ask(question.question, k)
            seconds = time.perf_counter() - started
            yield _answer(question.id, reply, modules, k), seconds


@dataclass(frozen=True)
class _Reply:
    """What comes back from the process; plain, so that it survives the way.

    Attributes:
        root: where the retriever unpacked the corpus, if it did.
    """

    hits: tuple[tuple[str, float, int, int, str], ...] = ()
    context: str = ""
    failure: str = ""
    root: str = ""


def _answer(query: str, reply: _Reply, modules: frozenset[str], k: int) -> Answer:
    failure = reply.failure
    hits: tuple[Hit, ...] = ()
    strangers = 0
    if not failure:
        try:
            hits, strangers = accept((Hit(*hit) for hit in reply.hits), modules, k, reply.root)
        except ValueError as error:
            failure = one_line(error)
    if failure:
        return Answer(query, (), "", failure=failure)
    tokens = count_tokens(reply.context)
    return Answer(query, hits, reply.context, context_tokens=tokens, strangers=strangers)


class _Worker:
    """A process with an opened retriever; killed, with all it started, and replaced when bad."""

    def __init__(
        self, settings: RetrieverSettings, corpus: Path, resources: Path, index: Path
    ) -> None:
        self._settings = settings
        self._corpus = corpus
        self._resources = resources
        self._index = index
        # Forked where that is possible: a spawned process imports everything again.
        methods = multiprocessing.get_all_start_methods()
        self._context = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
        self._pipe: Connection | None = None
        self._process: multiprocessing.process.BaseProcess | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def ask(self, question: str, k: int) -> _Reply:
        if self._pipe is None:
            self._start()
        reply = self._exchange((question, k), self._settings.timeout_s)
        if isinstance(reply, _Reply):
            return reply
        self._stop()
        return _Reply(failure=reply)

    def _start(self) -> None:
        # What is killed may still write for a moment.
        self._folder = tempfile.TemporaryDirectory(prefix="rankgate-", ignore_cleanup_errors=True)
        private = Path(self._folder.name).resolve()
        _copy(self._corpus, private / "corpus")
        if (self._index / FILES).is_dir():
            _copy(self._index / FILES, private / "index")
        else:  # DVC restores no empty folder, and some retrievers have no index
            (private / "index").mkdir()
        self._pipe, theirs = self._context.Pipe()
        self._process = self._context.Process(  # type: ignore[attr-defined]
            target=_serve,
            args=(self._settings, self._resources, private, self._pipe, theirs),
        )
        self._process.start()
        theirs.close()
        problem = self._exchange(None, OPEN_TIMEOUT_S)
        if problem != _Reply():
            self._stop()
            why = problem.failure if isinstance(problem, _Reply) else problem
            raise InputError(f"retriever.{self._settings.name}: cannot be opened: {why}")

    def _exchange(self, message: tuple[str, int] | None, timeout_s: float) -> _Reply | str:
        """The process' reply, or why there is none."""
        assert self._pipe is not None  # noqa: S101 — only called after _start
        try:
            if message is not None:
                self._pipe.send(message)
            if not self._pipe.poll(timeout_s):
                return f"took longer than timeout_s, {timeout_s:g} s"
            reply = self._pipe.recv()
        except (EOFError, OSError):
            return f"its process ended{self._process_ended()}"
        return reply if isinstance(reply, _Reply) else "its process sent no reply"

    def _process_ended(self) -> str:
        assert self._process is not None  # noqa: S101
        self._process.join(5)
        code = self._process.exitcode
        if code is not None and code < 0:
            return f" by {signal.Signals(-code).name}"
        return f" with exit status {code}"

    def _stop(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._process is not None and self._process.pid is not None:
            # The whole group: what the retriever started must not outlive it.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
            self._process.join()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _copy(folder: Path, target: Path) -> Path:
    """A private copy: writable also where the DVC cache, which is not, is linked to."""
    return Path(shutil.copytree(folder, target, copy_function=shutil.copyfile))


def _serve(
    settings: RetrieverSettings,
    resources: Path,
    private: Path,
    parent: Connection,
    pipe: Connection,
) -> None:
    """The process: open the retriever, say so, answer until the pipe closes."""
    parent.close()  # a forked process has it too, and would never see the pipe close
    os.setpgid(0, 0)
    try:
        retriever = _made(settings, resources)
        corpus = Corpus(private / "corpus")
        retriever.open(corpus, private / "index")
        pipe.send(_Reply())
    except BaseException as error:  # SystemExit, too: whatever it raises is its failure
        pipe.send(_Reply(failure=reason(error)))
        return
    with contextlib.suppress(EOFError, OSError):  # the pipe closes at the end
        while True:
            question, k = pipe.recv()
            pipe.send(_reply(retriever, corpus, question, k))


def _reply(retriever: Any, corpus: Corpus, question: str, k: int) -> _Reply:
    try:
        found = retriever.ask(question, k)
        return _Reply(
            tuple(
                (
                    _sound(h.module),
                    float(h.score),
                    int(h.start_line),
                    int(h.end_line),
                    _sound(h.text),
                )
                for h in found.hits
            ),
            _sound(found.context),
            root=str(corpus.root or ""),
        )
    except BaseException as error:
        return _Reply(failure=reason(error))


def _sound(text: str) -> str:
    """`text` with lone surrogates replaced: they cannot be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
