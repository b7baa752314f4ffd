"""Whether a retriever keeps the seam's promises: a suite that users run on their own class.

The retriever is used as the pipeline uses it: it builds in one process and answers in another,
with private copies of corpus and index. `CHECKS` is what is checked. How good its answers are is
for the pipeline to say; here it must only find a module by the module's own words.
"""

import contextlib
import json
import math
import multiprocessing
import operator
import os
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from rankgate.answers import Hit, Retrieved, normal_path
from rankgate.components import make, reason
from rankgate.config import Component, RetrieverSettings
from rankgate.corpus import CLUTTER, Candidate, Corpus, write_corpus
from rankgate.errors import InputError, one_line
from rankgate.retrieving import Question, ask_all, build_index

BUILD_TIMEOUT_S = 600.0
ASK_TIMEOUT_S = 60.0
K = 3
SHOP = {
    "auth/login.py": "def authenticate(name, password):\n    return check_hash(name, password)\n",
    "billing/invoice.py": "def write_invoice(customer):\n    return render(customer.orders)\n",
    "billing/refund.py": "def refund_payment(charge):\n    charge.returned = True\n",
    "db/connection.py": "import sqlite3\n\n\ndef connect(at):\n    return sqlite3.connect(at)\n",
    "empty.py": "",
    'more space/a  b\'s "c" $(d);&.py': "def shipping_label(parcel):\n    return parcel.address\n",
    "naïve/日本語 файл 😀.py": "def currency_exchange(amount):\n    return amount * rate()\n",
}
# A module of the shop → a question in its own words.
OWN_WORDS = {
    "billing/invoice.py": "Where is write_invoice, which renders the orders of a customer?",
    'more space/a  b\'s "c" $(d);&.py': "Where is shipping_label, with the address of a parcel?",
    "naïve/日本語 файл 😀.py": "Where is currency_exchange, with the amount and rate?",
}
EMOJI = "😀🔥 👩‍👩‍👧‍👦?"
STOP_WORDS = "What is the of and to in it?"
LONG = ("how is an invoice rendered? " * 4000)[:100_000]
SHELL = "--help; `id` $(id) | \"x\" 'y' {corpus} {0} %s \\ *?["
_INVOICE = OWN_WORDS["billing/invoice.py"]
# In words of every module but the empty one.
_BROAD = (
    "What does return, connect or authenticate with a name, customer, charge, parcel or amount?"
)
_MOST_FILES = 200_000
_PASSING = CLUTTER | {".mypy_cache", ".pytest_cache", ".ruff_cache"}

# A question and how many modules are asked for.
Asked = tuple[str, int]
ASKED: tuple[Asked, ...] = (
    *((question, K) for question in OWN_WORDS.values()),
    *((question, k) for question in (_INVOICE, _BROAD) for k in (1, 1000)),
    (_BROAD, K),
    *((question, K) for question in (EMOJI, STOP_WORDS, SHELL, LONG)),
)


class Check(NamedTuple):
    """What was checked, whether it is so, and why not."""

    name: str
    passed: bool
    why: str


class FaultError(Exception):
    """What a retriever does that it must not."""


def check(
    target: str,
    options: Mapping[str, Any] = MappingProxyType({}),
    *,
    build_timeout_s: float = BUILD_TIMEOUT_S,
    ask_timeout_s: float = ASK_TIMEOUT_S,
) -> list[Check]:
    """Run the suite on a retriever.

    Args:
        target: its class, as `package.module:Class` or `package.module.Class`.
        options: its arguments, as in its config file.
        build_timeout_s: seconds that building the index of a few files may take.
        ask_timeout_s: seconds that one question may take.

    Raises:
        InputError: there is no such class, it does not take these arguments, or what it needs
            (`prepare`) is not to be had.
    """
    target = target.replace(":", ".", 1)
    retriever = make(Component(target, dict(options)), "retriever")
    with tempfile.TemporaryDirectory(prefix="rankgate-", ignore_cleanup_errors=True) as folder:
        private = Path(folder).resolve()
        resources = private / "resources"
        if hasattr(retriever, "prepare"):
            resources.mkdir()
            retriever.prepare(resources)
        witness = Component(
            f"{__name__}.{Witness.__name__}", {"target": target, "options": dict(options)}
        )
        settings = RetrieverSettings("conform", witness, ask_timeout_s, 0)
        trial = Trial(settings, private, build_timeout_s)
        return [_verdict(name, act, trial) for name, act in CHECKS.items()]


def _verdict(name: str, act: "Callable[[Trial], None]", trial: "Trial") -> Check:
    try:
        act(trial)
    except FaultError as fault:
        return Check(name, False, one_line(fault))
    return Check(name, True, "")


@dataclass(frozen=True)
class Seen:
    """What came back for a question, as it came; or why nothing did."""

    question: str
    k: int
    hits: tuple[Hit, ...] = ()
    context: str = ""
    failure: str = ""

    def modules(self) -> list[str]:
        return list(dict.fromkeys(hit.module for hit in self.hits))

    def fault(self, text: str) -> FaultError:
        """What is wrong with this answer."""
        return FaultError(f"asked {one_line(self.question, 40)!r} with k = {self.k}: {text}")


class Trial:
    """A retriever with its corpora and indexes, and what it answered; each is made once."""

    def __init__(self, settings: RetrieverSettings, folder: Path, build_timeout_s: float) -> None:
        self._settings = settings
        self._build_timeout_s = build_timeout_s
        self._folder = folder
        self._done: dict[str, list[Seen] | FaultError] = {}
        self.shop = self._write("shop", SHOP)
        self._before = self._files()

    def first(self) -> list[Seen]:
        """The answers to all of ASKED, and to the first question once more."""
        return self._once("first", lambda: self._ask("shop", "index", (*ASKED, ASKED[0])))

    def backwards(self) -> list[Seen]:
        """The answers to all of ASKED, asked from the last to the first."""
        return self._once("backwards", lambda: self._ask("shop", "index", ASKED[::-1])[::-1])

    def rebuilt(self) -> list[Seen]:
        """The answers to all of ASKED, from an index that was built again."""
        return self._once("rebuilt", lambda: self._ask("shop", "index-2", ASKED))

    def answer(self, question: str, k: int = K) -> Seen:
        """The first answer to a question of ASKED, which must not have failed."""
        return _sound(self.first()[ASKED.index((question, k))])

    def other(self, name: str, files: Mapping[str, str], question: str) -> Seen:
        """The answer to a question about another corpus."""
        self._write(name, files)
        (seen,) = self._ask(name, f"{name}-index", [(question, K)])
        return _sound(seen)

    def changed(self) -> list[str]:
        """Files that changed where none of the retriever's are: working folder, originals."""
        for act in (self.first, self.backwards, self.rebuilt):  # so that it has done all it does
            with contextlib.suppress(FaultError):
                act()
        return sorted({path for path, _ in self._before.items() ^ self._files().items()})

    def _once(self, name: str, act: Callable[[], list[Seen]]) -> list[Seen]:
        """What `act` returned, or the fault that it raised, the first time."""
        if name not in self._done:
            try:
                self._done[name] = act()
            except FaultError as fault:
                self._done[name] = fault
        done = self._done[name]
        if isinstance(done, FaultError):
            raise done
        return done

    def _write(self, name: str, files: Mapping[str, str]) -> Corpus:
        candidates = [
            Candidate(path, len(text.encode()), text.encode) for path, text in files.items()
        ]
        return write_corpus(self._folder / name, candidates, source={"type": "conformance"})

    def _ask(self, corpus: str, index: str, asked: Sequence[Asked]) -> list[Seen]:
        """The answers from an index, which is built when there is none."""
        paths = (self._folder / corpus, self._folder / "resources", self._folder / index)
        self._once(index, lambda: _build(self._settings, *paths, self._build_timeout_s))
        questions = [Question(str(n), json.dumps(pair)) for n, pair in enumerate(asked)]
        try:
            answers = ask_all(self._settings, *paths, questions, K)
            return [
                Seen(*pair, failure=answer.failure)
                if answer.failure
                else _seen(*pair, json.loads(answer.context or ""))
                for pair, (answer, _) in zip(asked, answers, strict=True)
            ]
        except InputError as error:
            raise FaultError(str(error)) from None

    def _files(self) -> dict[str, tuple[int, int]]:
        return _files(Path.cwd()) | _files(self._folder / "shop")


class Witness:
    """A retriever that hands on what another one returned before the framework tidies it up.

    A question is JSON: what the other one is asked, and k. The answer is JSON in the context.
    """

    version = ""

    def __init__(self, *, target: str, options: Mapping[str, Any]) -> None:
        self._retriever = make(Component(target, options), "retriever")

    def use(self, resources: Path) -> None:
        if hasattr(self._retriever, "use"):
            self._retriever.use(resources)

    def build(self, corpus: Corpus, index: Path) -> None:
        self._retriever.build(corpus, index)

    def open(self, corpus: Corpus, index: Path) -> None:
        self._corpus = corpus
        self._retriever.open(corpus, index)

    def ask(self, question: str, k: int) -> Retrieved:
        found = self._retriever.ask(*json.loads(question))
        if not isinstance(found.context, str):
            raise TypeError(f"the context is no string: {type(found.context).__name__}")
        hits = [self._plain(hit, rank) for rank, hit in enumerate(found.hits, start=1)]
        return Retrieved((), json.dumps([hits, found.context]))

    def _plain(self, hit: Hit, rank: int) -> list[object]:
        if not isinstance(hit.module, str) or not isinstance(hit.text, str):
            raise TypeError(f"module or text of the hit at rank {rank} is no string")
        return [
            normal_path(hit.module, str(self._corpus.root or "")),
            float(hit.score),
            operator.index(hit.start_line),
            operator.index(hit.end_line),
            hit.text,
        ]


def _seen(question: str, k: int, answer: Any) -> Seen:
    hits, context = answer
    return Seen(question, k, tuple(Hit(*hit) for hit in hits), context)


def _sound(seen: Seen) -> Seen:
    if seen.failure:
        raise seen.fault(seen.failure)
    return seen


def _build(
    settings: RetrieverSettings, corpus: Path, resources: Path, index: Path, timeout_s: float
) -> list[Seen]:
    """Build an index in a process of its own: only files can go from there to the questions.

    Nothing is seen of it but that it fails.
    """
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(  # type: ignore[attr-defined]
        target=_report_build, args=(settings, corpus, resources, index, theirs)
    )
    process.start()
    theirs.close()
    try:
        if not ours.poll(timeout_s):
            raise FaultError(f"building the index took longer than {timeout_s:g} s")
        failure = ours.recv()
    except EOFError:
        process.join()
        failure = f"building the index: the process ended with exit status {process.exitcode}"
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.join()
        ours.close()
    if failure:
        raise FaultError(failure)
    return []


def _report_build(
    settings: RetrieverSettings, corpus: Path, resources: Path, index: Path, pipe: Connection
) -> None:
    os.setpgid(0, 0)
    tempfile.tempdir = str(corpus.parent)  # cleared up also when this process is killed
    try:
        build_index(settings, corpus, resources, index)
    except BaseException as error:  # SystemExit, too
        pipe.send(str(error) if isinstance(error, InputError) else reason(error))
    else:
        pipe.send("")


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    """Path → size and time of change, of what is below a folder; caches of tools are passed by."""
    found: dict[str, tuple[int, int]] = {}
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - _PASSING)
        for name in [*folders, *files]:
            path = Path(parent, name)
            with contextlib.suppress(OSError):
                state = path.lstat()
                changed = 0 if name in folders else state.st_mtime_ns
                found[str(path)] = (0 if name in folders else state.st_size, changed)
        if len(found) > _MOST_FILES:
            break
    return found


def _one_empty_module(trial: Trial) -> None:
    seen = trial.other("empty", {"empty.py": ""}, _INVOICE)
    if not {"empty.py"}.issuperset(seen.modules()):
        raise seen.fault(f"returned {seen.modules()}, where there is only empty.py")


def _one_module(trial: Trial) -> None:
    module = "billing/invoice.py"
    seen = trial.other("single", {module: SHOP[module]}, _INVOICE)
    if seen.modules() != [module]:
        raise seen.fault(f"returned {seen.modules()}, expected the one module there is")


def _finds(module: str) -> Callable[[Trial], None]:
    def act(trial: Trial) -> None:
        seen = trial.answer(OWN_WORDS[module])
        if module not in seen.modules():
            raise seen.fault(f"did not return {module} but {seen.modules()}")

    return act


def _answers(question: str) -> Callable[[Trial], None]:
    def act(trial: Trial) -> None:
        trial.answer(question)  # any will do

    return act


def _k_of_one(trial: Trial) -> None:
    for question in (_INVOICE, _BROAD):
        seen = trial.answer(question, 1)
        if len(seen.modules()) > 1:
            raise seen.fault(f"returned {seen.modules()}")


def _k_too_large(trial: Trial) -> None:
    seen = trial.answer(_INVOICE, 1000)
    if "billing/invoice.py" not in seen.modules():
        raise seen.fault(f"did not return billing/invoice.py but {seen.modules()}")


def _at_most_k(trial: Trial) -> None:
    for seen in trial.first():
        if len(seen.modules()) > seen.k:
            raise seen.fault(f"returned {len(seen.modules())} modules")


def _same_twice(trial: Trial) -> None:
    first, *_, again = trial.first()
    _compare([first], [again], "first, and when asked again")


def _any_order(trial: Trial) -> None:
    _compare(trial.first()[:-1], trial.backwards(), "in one order, and in the other")


def _same_index(trial: Trial) -> None:
    _compare(trial.first()[:-1], trial.rebuilt(), "from one index, and from the next one built")


def _compare(ones: Sequence[Seen], others: Sequence[Seen], what: str) -> None:
    for one, other in zip(ones, others, strict=True):
        if one != other:
            raise one.fault(f"another answer {what}: {_difference(one, other)}")


def _difference(one: Seen, other: Seen) -> str:
    if one.failure != other.failure:
        return f"failure {one.failure!r}, then {other.failure!r}"
    if one.modules() != other.modules():
        return f"{one.modules()}, then {other.modules()}"
    return "the same modules, but not the same scores, lines, texts or context"


def _within(trial: Trial) -> None:
    for seen in trial.first():
        for module in seen.modules():
            if module not in SHOP:
                raise seen.fault(f"{module!r} is no module of the corpus")


def _finite(trial: Trial) -> None:
    for seen in trial.first():
        for rank, hit in enumerate(seen.hits, start=1):
            if not math.isfinite(hit.score):
                raise seen.fault(f"the score at rank {rank} is {hit.score}")


def _lines(trial: Trial) -> None:
    for seen in trial.first():
        for hit in seen.hits:
            if hit.module not in SHOP or (hit.start_line, hit.end_line) == (0, 0):
                continue  # a stranger is another check's, and 0 is unknown
            lines = trial.shop.text(hit.module).removesuffix("\n").split("\n")
            where = f"{hit.module}, lines {hit.start_line} to {hit.end_line}"
            if not 1 <= hit.start_line <= hit.end_line <= len(lines):
                raise seen.fault(f"{where}: the module has the lines 1 to {len(lines)}")
            text = "\n".join(lines[hit.start_line - 1 : hit.end_line])
            if "".join(hit.text.split()) not in "".join(text.split()):
                raise seen.fault(f"{where}: the text is not in these lines")


def _no_writes(trial: Trial) -> None:
    if changed := trial.changed():
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise FaultError(
            f"{changed[0]}{more}: written, changed or removed outside of its own folders"
        )


CHECKS: Mapping[str, Callable[[Trial], None]] = {
    "a corpus of one empty module": _one_empty_module,
    "a corpus of one module": _one_module,
    "finds a module by its own words": _finds("billing/invoice.py"),
    "a name with spaces and quotes": _finds('more space/a  b\'s "c" $(d);&.py'),
    "a name in Unicode": _finds("naïve/日本語 файл 😀.py"),
    "k = 1": _k_of_one,
    "k larger than the corpus": _k_too_large,
    "at most k modules": _at_most_k,
    "the same question twice: the same answer": _same_twice,
    "the questions in another order: the same answers": _any_order,
    "the index built again: the same answers": _same_index,
    "a question of emoji": _answers(EMOJI),
    "a question of stop words": _answers(STOP_WORDS),
    "a question of what shells and templates expand": _answers(SHELL),
    "a question of 100 kB": _answers(LONG),
    "hits within the corpus": _within,
    "finite scores": _finite,
    "lines that are there, with their text": _lines,
    "no writes outside of its index and corpus": _no_writes,
}
