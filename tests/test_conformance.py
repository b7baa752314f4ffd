"""The conformance suite: what keeps the promises passes, and each broken one is found."""

import json
import os
import random
import re
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest
from project import ROOT

from rankgate.answers import Hit, Retrieved
from rankgate.conformance import CHECKS, EMOJI, STOP_WORDS, Check, check
from rankgate.corpus import Corpus
from rankgate.errors import InputError

SAME = {
    "the same question twice: the same answer",
    "the questions in another order: the same answers",
    "the index built again: the same answers",
}


class Words:
    """Ranks modules by the words of the question; keeps every promise."""

    version = "1"

    def build(self, corpus: Corpus, index: Path) -> None:
        texts = {path: corpus.text(path) for path in corpus.paths}
        (index / "texts.json").write_text(json.dumps(texts), encoding="utf-8")

    def open(self, corpus: Corpus, index: Path) -> None:
        self.texts = json.loads((index / "texts.json").read_text(encoding="utf-8"))

    def score(self, text: str, question: str) -> float:
        return float(sum(word in text for word in set(re.findall(r"\w{4,}", question))))

    def hit(self, path: str, score: float) -> Hit:
        return Hit(path, score, 1, 1, self.texts[path].split("\n")[0])

    def ask(self, question: str, k: int) -> Retrieved:
        scores = {path: self.score(text, question) for path, text in self.texts.items()}
        best = sorted((p for p in scores if scores[p]), key=lambda p: (-scores[p], p))[:k]
        return Retrieved(tuple(self.hit(p, scores[p]) for p in best), "\n".join(best))


class FailsWithoutWords(Words):
    def build(self, corpus: Corpus, index: Path) -> None:
        if not any(corpus.text(path).split() for path in corpus.paths):
            raise ValueError("empty vocabulary")
        super().build(corpus, index)


class NeverFinds(Words):
    def ask(self, question: str, k: int) -> Retrieved:
        return Retrieved((), "")


class Stranger(Words):
    def hit(self, path: str, score: float) -> Hit:
        return Hit(f"src/{path}", score) if path == "auth/login.py" else Hit(path, score)

    def score(self, text: str, question: str) -> float:
        return super().score(text, question) + ("authenticate" in text) / 10


class Endless(Words):
    def hit(self, path: str, score: float) -> Hit:
        return Hit(path, float("inf"))


class Backwards(Words):
    def hit(self, path: str, score: float) -> Hit:
        return Hit(path, score, 2, 1)


class BeyondTheEnd(Words):
    def hit(self, path: str, score: float) -> Hit:
        return Hit(path, score, 1, 100)


class WrongText(Words):
    def hit(self, path: str, score: float) -> Hit:
        return Hit(path, score, 2, 2, self.texts[path].split("\n")[0])


class IgnoresK(Words):
    def ask(self, question: str, k: int) -> Retrieved:
        return super().ask(question, 100)


class IsAfraidOfALargeK(Words):
    def ask(self, question: str, k: int) -> Retrieved:
        if k > len(self.texts):
            raise IndexError("kth out of bounds")
        return super().ask(question, k)


class Learns(Words):
    asked = 0

    def ask(self, question: str, k: int) -> Retrieved:
        self.asked += 1
        return super().ask(question, k)

    def hit(self, path: str, score: float) -> Hit:
        return Hit(path, score + self.asked)


class BuildsByChance(Words):
    def build(self, corpus: Corpus, index: Path) -> None:
        super().build(corpus, index)
        (index / "seed").write_text(str(random.SystemRandom().random()))

    def open(self, corpus: Corpus, index: Path) -> None:
        super().open(corpus, index)
        self.seed = float((index / "seed").read_text())

    def hit(self, path: str, score: float) -> Hit:
        return Hit(path, score + self.seed)


class KeepsItsIndexInMemory(Words):
    memory: ClassVar[dict[str, str]] = {}

    def build(self, corpus: Corpus, index: Path) -> None:
        self.memory.update({path: corpus.text(path) for path in corpus.paths})

    def open(self, corpus: Corpus, index: Path) -> None:
        self.texts = self.memory


class WritesIntoTheWorkingFolder(Words):
    def ask(self, question: str, k: int) -> Retrieved:
        Path("cache.db").write_text(question)
        return super().ask(question, k)


class CrashesOnEmoji(Words):
    def ask(self, question: str, k: int) -> Retrieved:
        if question == EMOJI:
            os._exit(7)
        return super().ask(question, k)


class HangsOnStopWords(Words):
    def ask(self, question: str, k: int) -> Retrieved:
        if question == STOP_WORDS:
            time.sleep(1000)
        return super().ask(question, k)


class KnowsAsciiOnly(Words):
    def hit(self, path: str, score: float) -> Hit:
        return Hit(path.encode("ascii", "replace").decode(), score)


class SplitsAtSpaces(Words):
    def hit(self, path: str, score: float) -> Hit:
        return Hit(path.split()[0], score)


class HasNoContext(Words):
    def ask(self, question: str, k: int) -> Retrieved:
        return Retrieved(super().ask(question, k).hits, None)  # type: ignore[arg-type]


class NeedsAModel(Words):
    model = ""

    def prepare(self, resources: Path) -> None:
        (resources / "model").write_text("weights")

    def use(self, resources: Path) -> None:
        self.model = (resources / "model").read_text()

    def build(self, corpus: Corpus, index: Path) -> None:
        assert self.model
        super().build(corpus, index)

    def open(self, corpus: Corpus, index: Path) -> None:
        assert self.model
        super().open(corpus, index)


class CannotBuild(Words):
    def build(self, corpus: Corpus, index: Path) -> None:
        raise OSError("no space left")


class CrashesWhileBuilding(Words):
    def build(self, corpus: Corpus, index: Path) -> None:
        os._exit(9)


class CannotOpen(Words):
    def open(self, corpus: Corpus, index: Path) -> None:
        raise OSError("no model")


class HangsWhileBuilding(Words):
    def build(self, corpus: Corpus, index: Path) -> None:
        time.sleep(1000)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def failed(
    made: type, build_timeout_s: float = 60.0, ask_timeout_s: float = 60.0
) -> dict[str, str]:
    checks = check(
        f"{__name__}:{made.__name__}",
        build_timeout_s=build_timeout_s,
        ask_timeout_s=ask_timeout_s,
    )
    return {one.name: one.why for one in checks if not one.passed}


def test_a_retriever_that_keeps_its_promises_passes_every_check() -> None:
    assert check(f"{__name__}:Words") == [Check(name, True, "") for name in CHECKS]


def test_what_a_retriever_prepares_is_there_to_build_and_to_answer() -> None:
    assert failed(NeedsAModel) == {}


@pytest.mark.parametrize(
    "target", ["rankgate.retrievers.bm25:BM25", "rankgate.retrievers.bm25.BM25"]
)
def test_the_default_retriever_keeps_every_promise(target: str) -> None:
    assert [one for one in check(target) if not one.passed] == []


@pytest.mark.parametrize(
    ("made", "names", "why"),
    [
        (FailsWithoutWords, {"a corpus of one empty module"}, "ValueError: empty vocabulary"),
        (NeverFinds,
         {"a corpus of one module", "finds a module by its own words", "k larger than the corpus",
          "a name with spaces and quotes", "a name in Unicode"},
         "did not return"),
        (Stranger, {"hits within the corpus"}, "'src/auth/login.py' is no module of the corpus"),
        (Endless, {"finite scores"}, "the score at rank 1 is inf"),
        (Backwards, {"lines that are there, with their text"}, "lines 2 to 1"),
        (BeyondTheEnd, {"lines that are there, with their text"}, "has the lines 1 to 2"),
        (WrongText, {"lines that are there, with their text"}, "the text is not in these lines"),
        (IgnoresK, {"k = 1", "at most k modules"}, "with k = 1: returned "),
        (IsAfraidOfALargeK,
         {"k larger than the corpus", "a corpus of one module", "a corpus of one empty module"},
         "IndexError: kth out of bounds"),
        (Learns, SAME - {"the index built again: the same answers"}, "but not the same scores"),
        (BuildsByChance, {"the index built again: the same answers"}, "but not the same scores"),
        (WritesIntoTheWorkingFolder, {"no writes outside of its index and corpus"}, "cache.db"),
        (CrashesOnEmoji, {"a question of emoji"}, "its process ended with exit status 7"),
        (HangsOnStopWords, {"a question of stop words"}, "took longer than timeout_s, 0.5 s"),
        (KnowsAsciiOnly, {"a name in Unicode", "hits within the corpus"}, "????"),
        (SplitsAtSpaces,
         {"a name with spaces and quotes", "a name in Unicode", "hits within the corpus"},
         "'more' is no module"),
    ],
)  # fmt: skip
def test_each_broken_promise_is_found_and_no_other(made: type, names: set[str], why: str) -> None:
    found = failed(made, ask_timeout_s=0.5 if made is HangsOnStopWords else 60.0)
    assert set(found) == names
    assert any(why in text for text in found.values()), found


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (HasNoContext, "TypeError: the context is no string: NoneType"),
        (CannotBuild, "building the index failed: OSError: no space left"),
        (CrashesWhileBuilding, "building the index: the process ended with exit status 9"),
        (CannotOpen, "cannot be opened: OSError: no model"),
        (HangsWhileBuilding, "building the index took longer than 0.2 s"),
    ],
)
def test_what_never_answers_fails_wherever_an_answer_is_needed(made: type, why: str) -> None:
    found = failed(made, build_timeout_s=0.2 if made is HangsWhileBuilding else 60.0)
    assert {"a corpus of one module", "a question of emoji", "k = 1"} <= set(found)
    assert why in found["a corpus of one module"]


def test_an_index_must_be_in_files() -> None:
    assert "a corpus of one module" in failed(KeepsItsIndexInMemory)
    assert KeepsItsIndexInMemory.memory == {}


@pytest.mark.parametrize(
    ("target", "options", "why"),
    [
        ("no_such_package:Thing", {}, "cannot import no_such_package"),
        (f"{__name__}:Nothing", {}, "has no class Nothing"),
        (f"{__name__}:Words", {"k1": 1}, "retriever.k1: unknown key"),
        ("Words", {}, "retriever._target_"),
    ],
)
def test_a_class_that_cannot_be_made_is_an_input_error(
    target: str, options: dict[str, int], why: str
) -> None:
    with pytest.raises(InputError, match=re.escape(why)):
        check(target, options)


def test_the_documented_class_keeps_every_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs/retrievers.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    (tmp_path / "my_package.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert [one for one in check("my_package:Longest") if not one.passed] == []
    finally:
        sys.modules.pop("my_package", None)
