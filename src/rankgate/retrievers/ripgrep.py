"""ripgrep: what a person or an agent without an index does.

The content words of the question are searched for with the real `rg`, as literal text in any
case; a file counts by how many of the words it has, the rare ones more, and how often.
"""

import math
import os
import re
import subprocess
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path

import Stemmer

from rankgate.answers import Hit, Retrieved
from rankgate.corpus import Corpus
from rankgate.errors import InputError, one_line
from rankgate.programs import environment, find_program
from rankgate.retrievers.context import Piece, pack, text_lines
from rankgate.retrievers.vocabulary import STOP_WORDS

_OPTIONS = (
    "--no-config",
    "--no-ignore",  # a .gitignore is a module like any other, and hides none
    "--hidden",
    "--text",
    "--encoding=none",
    "--fixed-strings",
    "--ignore-case",
    "--only-matching",
    "--max-count=1000",  # lines a file; more do not move it
    "--no-heading",
    "--with-filename",
    "--line-number",
    "--null",
    "--color=never",
    "--sort=path",
    "--file=-",  # the words: nothing of a question is ever an argument
)
_LONGEST_WORD = 64
# More words are a pasted text, no question.
_MOST_WORDS = 64
_SHORTEST_STEM = 3
_DECIMALS = 6
# Windows of a module that may come into the context.
_WINDOWS = 8
_MAX_HIT_CHARACTERS = 20_000

# Line → the words that it has.
_Lines = Mapping[int, frozenset[str]]
_stemmer = Stemmer.Stemmer("english", 0)


class Ripgrep:
    """Ranks a module by Σ rarity · (1 + ln count) over the words that it has.

    The rarity of a word is ln(1 + modules / modules that have it).

    Args:
        around: lines shown above and below a line that has words, ≥ 0.
        context_tokens: tokens that the context has at the most, ≥ 0.

    Raises:
        ValueError: an argument out of its range; the message begins with its name.
        InputError: there is no `rg`.
    """

    def __init__(self, *, around: int = 5, context_tokens: int = 2000) -> None:
        for name, value in (("around", around), ("context_tokens", context_tokens)):
            if type(value) is not int or value < 0:
                raise ValueError(f"{name}: expected an integer >= 0, got {value!r}")
        self.around = around
        self.context_tokens = context_tokens
        found = find_program("rg")
        if found is None:
            raise InputError("there is no program rg: pip install ripgrep==14.1.0, or the system's")
        self._rg = found
        self.version = self._run(["--version"], "").decode().partition("\n")[0]

    def build(self, corpus: Corpus, index: Path) -> None:
        """Nothing: there is no index."""

    def open(self, corpus: Corpus, index: Path) -> None:
        """Unpack the modules, for `rg` to read."""
        self._root = f"{(index / 'modules').absolute()}{os.sep}"
        corpus.unpack(Path(self._root))
        self._modules = len(corpus.paths)
        self._lines = lru_cache(maxsize=256)(
            lambda path: text_lines(corpus.read(path).decode("utf-8", "replace"))
        )

    def ask(self, question: str, k: int) -> Retrieved:
        """The `k` best modules, each by the lines around its best one."""
        found = self._search(content_words(question))
        with_word = Counter(word for counts, _ in found.values() for word in counts)
        rarity = {word: math.log(1 + self._modules / n) for word, n in with_word.items()}
        scores = {
            path: round(sum(rarity[w] * (1 + math.log(n)) for w, n in counts.items()), _DECIMALS)
            for path, (counts, _) in found.items()
        }
        ranking = sorted(scores, key=lambda path: (-scores[path], path))[:k]
        hits: list[Hit] = []
        windows: list[tuple[float, int, int, int]] = []
        for rank, path in enumerate(ranking):
            own = self._windows(path, found[path][1], rarity)
            _, first, last = own[0]
            text = "\n".join(self._shown(path, first, last))
            hits.append(Hit(path, scores[path], first, last, text[:_MAX_HIT_CHARACTERS]))
            windows += [(-weight, rank, first, last) for weight, first, last in own]
        pieces = (
            Piece(ranking[rank], first, self._shown(ranking[rank], first, last))
            for _, rank, first, last in sorted(windows)
        )
        return Retrieved(tuple(hits), pack(pieces, self.context_tokens))

    def _search(self, words: Sequence[str]) -> dict[str, tuple[Counter[str], _Lines]]:
        """Module → how often it has each of the words, and on which lines."""
        if not words:
            return {}
        # A longer word first: of two that begin at one place, rg reports the first.
        patterns = "".join(f"{word}\n" for word in sorted(words, key=lambda w: (-len(w), w)))
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        lines: dict[str, dict[int, frozenset[str]]] = defaultdict(dict)
        for match in self._run([*_OPTIONS, "--", self._root], patterns).splitlines():
            name, _, place = match.decode("utf-8", "replace").partition("\0")
            number, _, text = place.partition(":")
            matched = [word for word in words if word in text.lower()]
            if not matched:  # equal only by a rule of Unicode's
                continue
            path, line = name.removeprefix(self._root), int(number)
            counts[path].update(matched)
            lines[path][line] = lines[path].get(line, frozenset()).union(matched)
        return {path: (counts[path], lines[path]) for path in counts}

    def _run(self, arguments: Sequence[str], patterns: str) -> bytes:
        folder = Path(self._rg).parent  # never that of the corpus
        done = subprocess.run(  # noqa: S603 — a list, no shell
            [self._rg, *arguments],
            input=patterns.encode(),
            capture_output=True,
            env=environment(folder, folder),
            cwd=folder,
            check=False,
        )
        if done.returncode not in (0, 1):  # 1: nothing found
            raise InputError(f"rg failed: {one_line(done.stderr.decode('utf-8', 'replace'))}")
        return done.stdout

    def _windows(
        self, path: str, lines: _Lines, rarity: Mapping[str, float]
    ) -> list[tuple[float, int, int]]:
        """(weight, first line, last line) of a module's best places, apart, best first."""
        numbers = sorted(lines)
        places: list[tuple[float, int]] = []
        for number in numbers:
            near = numbers[
                bisect_left(numbers, number - self.around) : bisect_right(
                    numbers, number + self.around
                )
            ]
            words = sorted(frozenset().union(*(lines[n] for n in near)))
            # The line in the middle counts twice, so that the window is around it.
            weight = sum(rarity[word] * (2 if word in lines[number] else 1) for word in words)
            places.append((-round(weight, _DECIMALS), number))
        end = len(self._lines(path))
        chosen: list[tuple[float, int, int]] = []
        for weight, number in sorted(places):
            first, last = max(1, number - self.around), min(end, number + self.around)
            if all(last < start or stop < first for _, start, stop in chosen):
                chosen.append((-weight, first, last))
                if len(chosen) == _WINDOWS:
                    break
        return chosen

    def _shown(self, path: str, first: int, last: int) -> list[str]:
        return [line.removesuffix("\r") for line in self._lines(path)[first - 1 : last]]


def content_words(question: str) -> list[str]:
    """What to search for: the question's words without stop words, endings cut, in order.

    A word is cut to what it shares with its stem (`cookies` → `cooki`); names are left whole.
    """
    found: dict[str, None] = {}
    for word in re.findall(r"\w+", unicodedata.normalize("NFC", question)):
        lower = word.lower()
        if lower in STOP_WORDS or not 1 < len(word) <= _LONGEST_WORD or not word.strip("_"):
            continue
        if word.isalpha() and word[1:] == lower[1:]:
            lower = _cut(lower)
        found[lower] = None
        if len(found) == _MOST_WORDS:
            break
    return list(found)


def _cut(word: str) -> str:
    """What a word shares with its stem, unless that is too short."""
    stem = _stemmer.stemWord(word)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, stem)))  # noqa: B905
    return word[:shared] if shared >= _SHORTEST_STEM else word
