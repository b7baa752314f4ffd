"""The words of code and of questions about it, in one form that both share.

An identifier is split into its parts, parts are reduced to stems, abbreviations stand for what
they abbreviate: `parseHTTPHeaders`, `parse_http_headers` and "parsing of HTTP headers" meet.
All functions are pure and take time linear in the text.
"""

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from itertools import pairwise

import Stemmer

from rankgate.retrievers.vocabulary import RELATED, SAME, STOP_WORDS

# Longer runs are data (base64, hashes), not words.
MAX_WORD = 64
_WORD = re.compile(r"\w+")
_SPACES = "".join(chr(i) if chr(i).isalnum() or chr(i) == "_" else " " for i in range(128))
# Parts of an identifier; letters without an ASCII capital (é, я, ß) count as small ones.
_PART = re.compile(
    r"""
      [A-Z]+ (?= [A-Z][^\W\d_A-Z] )   # HTTP in HTTPServer
    | [A-Z]? [^\W\d_A-Z]+             # Server, server
    | [A-Z]+ | \d+
    """,
    re.VERBOSE,
)
# Scripts that put no space between words.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_stemmer = Stemmer.Stemmer("english", 0)


def terms(text: str) -> list[str]:
    """The terms of a text in their order, for an index.

    A compound identifier gives its parts and then itself, written as one word; stop words stay.
    """
    return [term for word in words_of(text) for term in word_terms(word)]


def question_terms(question: str, related_weight: float) -> list[dict[str, float]]:
    """What a question asks for: one dict a word, of terms that will do → weight.

    Only the best of the terms that will do should count. The word's own term has weight 1, more
    when the question repeats it (√n for n times); words of related meaning have
    `related_weight` of it. Two adjacent words also count as one (`time out`, `status code`), with
    that weight too. Stop words count only in a question that has no others.

    Args:
        related_weight: from 0 (related words do not count) to 1.
    """
    words = words_of(question)
    votes = [word.lower() not in STOP_WORDS for word in words]
    if not any(votes):
        votes = [True] * len(words)
    asked = Counter(
        term for word, vote in zip(words, votes, strict=True) if vote for term in word_terms(word)
    )
    wanted = {term: count**0.5 for term, count in asked.items()}
    if related_weight == 0:
        return [{term: weight} for term, weight in wanted.items()]
    for i, (left, right) in enumerate(pairwise(words)):
        if min(len(left), len(right)) > 1 and (votes[i] or votes[i + 1]):
            wanted.setdefault(_stem("".join(parts_of(left) + parts_of(right))), related_weight)
    related = _related()
    return [
        {term: weight}
        | {other: weight * related_weight for other in related.get(term, ()) if other not in asked}
        for term, weight in wanted.items()
    ]


def words_of(text: str) -> list[str]:
    """The words and identifiers of a text, in order."""
    return [word for word in runs_of(text) if is_word(word)]


def runs_of(text: str) -> list[str]:
    """What `words_of` chooses from: the runs of letters, digits and underscores."""
    if text.isascii():  # the same, several times as fast
        return text.translate(_SPACES).split()
    return _WORD.findall(unicodedata.normalize("NFKC", text))


def is_word(run: str) -> bool:
    return len(run) <= MAX_WORD and bool(run.strip("_"))


@lru_cache(maxsize=1 << 18)
def word_terms(word: str) -> tuple[str, ...]:
    """The terms of one word: `getHTTPHeader2` → get, http, header, 2, gethttpheader2.

    Single letters are no terms; of unspaced scripts, pairs of neighbouring characters are.
    """
    parts = parts_of(word)
    found = [_stem(part) for part in parts if len(part) > 1 or not part.isascii() or part.isdigit()]
    if len(parts) > 1:
        found.append(_stem("".join(parts)))
    if not word.isascii() and _UNSPACED.search(word):
        found += [word[i : i + 2] for i in range(len(word) - 1)]
    return tuple(found)


def parts_of(word: str) -> list[str]:
    return [part.lower() for part in _PART.findall(word)]


def _stem(word: str) -> str:
    """The stem of a lower-case word, or of what it abbreviates."""
    same = _same()
    if word in same:
        return same[word]
    stem: str = _stemmer.stemWord(word)
    return same.get(stem, stem)


@cache
def _same() -> dict[str, str]:
    """Each word of SAME → the stem of its line's first; the stems of longer words too."""
    found: dict[str, str] = {}
    for first, *others in SAME:
        stem = _stemmer.stemWord(first)
        for word in others:
            found[word] = stem
            if len(word) > 3:  # a short one's stem may be another word's
                found.setdefault(_stemmer.stemWord(word), stem)
    return found


@cache
def _related() -> dict[str, tuple[str, ...]]:
    """Each term of RELATED → the others of all its groups."""
    found: dict[str, dict[str, None]] = {}
    for group in RELATED:
        stems = [_stem(word) for word in group]
        for stem in stems:
            found.setdefault(stem, {}).update(dict.fromkeys(s for s in stems if s != stem))
    return {term: tuple(others) for term, others in found.items()}
