"""Where in a module a question's words are: what a person should look at first."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rankgate.retrievers.chunks import cut
from rankgate.retrievers.code_text import question_terms, terms

_SIZE = 30  # lines of a passage at the most: what a terminal shows at once
_RELATED = 0.4  # weight of a word of related meaning
_LONG_LINE = 2000  # more of a line nobody sees
# A line is marked from this share of the best line's score up.
_SHARE = 0.5


@dataclass(frozen=True)
class BestLines:
    """Line numbers count from 1.

    Attributes:
        marked: the lines with the question's rarest words.
        passages: (first, last) of the passages that have most of the question, the best first;
            at least one, and (1, 0) for a module without lines.
    """

    marked: frozenset[int]
    passages: tuple[tuple[int, int], ...]


def best_lines(question: str, lines: Sequence[str], passages: int = 5) -> BestLines:
    """The lines and passages of a module that share most with a question.

    A word counts the more the fewer of the module's lines have it, and in a passage the first
    time more than the next ones. Takes time linear in the text.
    """
    wanted = question_terms(question, _RELATED)
    votes = {term: (i, weight) for i, word in enumerate(wanted) for term, weight in word.items()}
    found: list[dict[int, float]] = []  # of each line: word of the question → its best weight
    for line in lines:
        here: dict[int, float] = {}
        for term in terms(line[:_LONG_LINE]):
            if term in votes:
                word, weight = votes[term]
                here[word] = max(weight, here.get(word, 0.0))
        found.append(here)
    having = Counter(word for here in found for word in here)
    rarity = {word: math.log1p(len(lines) / count) for word, count in having.items()}
    scores = [sum(weight * rarity[word] for word, weight in here.items()) for here in found]
    best = max(scores, default=0.0)
    marked = {n for n, score in enumerate(scores, start=1) if best and score >= _SHARE * best}
    ranked = []
    for chunk in cut(lines, _SIZE, 0):
        sums: Counter[int] = Counter()
        for here in found[chunk.first - 1 : chunk.last]:
            sums.update(here)
        score = sum(rarity[word] * math.log1p(total) for word, total in sums.items())
        ranked.append((-score, *_trimmed(lines, chunk.first, chunk.last)))
    ranked.sort()
    shown = tuple((first, last) for score, first, last in ranked[:passages] if score < 0)
    return BestLines(frozenset(marked), shown or (_trimmed(lines, 1, min(_SIZE, len(lines))),))


def _trimmed(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """Without the blank lines at both ends, unless there are no others."""
    start, end = first, last
    while start < end and not lines[start - 1].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return start, end
