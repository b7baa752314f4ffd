"""Proposed queries: what every origin makes, how they are chosen, and how a person takes them."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from rankgate.errors import InputError, one_line
from rankgate.files import decode, dump_json, parse_json, read_bytes, write_text
from rankgate.queries import ESSENTIAL, RELEVANT, parse_queries
from rankgate.query_edits import Layout, layout_of, raw_queries
from rankgate.retrievers.code_text import word_terms, words_of
from rankgate.retrievers.vocabulary import STOP_WORDS
from rankgate.trees import Tree

_SAME = 0.6  # Jaccard similarity from which two questions ask the same
_MIN_TERMS = 3
_LEAST_SHARE = 0.4  # of a text's words, for a module to be its answer
_EMPTY = dump_json({"version": 1, "queries": []}).encode()


@dataclass(frozen=True)
class Proposal:
    """A query that somebody may want, before anybody said yes.

    Attributes:
        origin: `history`, `symbols`, `docs` or `notes`.
        source: where it is from: a commit, a place, a heading.
        grades: module → proposed grade, 3 or 2.
        facts: candidate fact → the place where it stands, or "" when that is not known.
        evidence: module → the places that speak for its grade.
        quoted: what the question was made from, where that stands in a proposed module.
        difficulty: from 0, all words of the question stand in the proposed modules, to 1, none;
            without what is quoted.
    """

    origin: str
    source: str
    question: str
    grades: Mapping[str, int]
    facts: Mapping[str, str]
    evidence: Mapping[str, tuple[str, ...]]
    quoted: str = ""
    difficulty: float = 0.0

    def shape(self) -> str:
        """By the number of proposed modules; a symbol's question asks what something is."""
        if len(self.grades) > 1:
            return "cross-file"
        return "identity" if self.origin == "symbols" else "focused"


def likely_grades(text: str, code: Tree) -> dict[str, int]:
    """The one to three modules that share clearly the most of a text's words, the first one 3."""
    terms, words = content_terms(text), _terms_of(code)
    scores = {path: len(terms & found) / (len(terms) or 1) for path, found in words.items()}
    ranked = sorted(scores, key=lambda path: (-scores[path], len(words[path]), path))
    if not ranked or scores[ranked[0]] < _LEAST_SHARE:
        return {}
    best = [path for path in ranked[:3] if scores[path] >= 0.9 * scores[ranked[0]]]
    return {best[0]: ESSENTIAL, **dict.fromkeys(best[1:], RELEVANT)}


@lru_cache(maxsize=1)  # of one tree, for notes and documentation
def _terms_of(code: Tree) -> dict[str, frozenset[str]]:
    return {path: content_terms(code.text(path)) for path in code.paths}


def content_terms(text: str) -> frozenset[str]:
    """The stems of a text's words that carry meaning, identifiers in parts."""
    return frozenset(_counted(text))


def _counted(text: str) -> Counter[str]:
    words = [word for word in words_of(text) if word.lower() not in STOP_WORDS]
    return Counter(term for word in words for term in word_terms(word))


def choose(
    proposals: Iterable[Proposal], tree: Tree, asked: Iterable[str], limit: int
) -> list[Proposal]:
    """The most useful proposals first, no two alike, none that is asked already.

    A question needs three words of meaning. Hard ones come first, but one with no word in common
    with its modules is most likely not answered by them and comes last; each module's second
    question comes after every other module's first.

    Args:
        asked: the questions there are.
        limit: how many to return at most.
    """
    kept: list[Proposal] = []
    seen = _Seen()
    for question in asked:
        seen.add(content_terms(question))
    counts: dict[str, Counter[str]] = {}
    for proposal in proposals:
        terms = content_terms(proposal.question)
        if len(terms) < _MIN_TERMS or seen.like(terms):
            continue
        quoted = _counted(proposal.quoted)
        found: set[str] = set()
        for module in proposal.grades:
            if module not in counts:
                counts[module] = _counted(tree.text(module))
            found |= {term for term in terms if counts[module][term] > quoted[term]}
        difficulty = len(terms - found) / len(terms)
        kept.append(replace(proposal, difficulty=round(difficulty, 3)))
        seen.add(terms)
    kept.sort(key=_worth)
    turns: dict[str, int] = {}
    ranked = []
    for proposal in kept:
        module = min(proposal.grades, key=lambda name: (-proposal.grades[name], name))
        turns[module] = turns.get(module, 0) + 1
        ranked.append((turns[module], proposal))
    ranked.sort(key=lambda pair: pair[0])  # stable: within a turn, by worth
    return [proposal for _, proposal in ranked[:limit]]


class _Seen:
    """Sets of terms, each found again by one that is nearly the same.

    Two sets of similarity t share at least t of each one's terms. So, of both sorted, the first
    1 − t and one more share a term: no other pair need be looked at (prefix filtering; Chaudhuri,
    Ganti, Kaushik, "A Primitive Operator for Similarity Joins in Data Cleaning", ICDE 2006).
    """

    def __init__(self) -> None:
        self._by_term: dict[str, list[frozenset[str]]] = {}

    def add(self, terms: frozenset[str]) -> None:
        for term in self._prefix(terms):
            self._by_term.setdefault(term, []).append(terms)

    def like(self, terms: frozenset[str]) -> bool:
        return any(
            len(terms & other) >= _SAME * len(terms | other)
            for term in self._prefix(terms)
            for other in self._by_term.get(term, ())
        )

    def _prefix(self, terms: frozenset[str]) -> list[str]:
        return sorted(terms)[: len(terms) - math.ceil(_SAME * len(terms)) + 1]


def _worth(proposal: Proposal) -> tuple[bool, bool, float, str, str]:
    unanswered = proposal.difficulty > 0.9
    return (
        unanswered,
        not proposal.facts,
        -proposal.difficulty,
        proposal.source,
        proposal.question,
    )


def gives_away(question: str, modules: Collection[str]) -> bool:
    """Whether a question names a module that answers it: by path, file name or bare stem."""
    lowered = question.lower()
    for module in modules:
        path = module.lower()
        name = path.rpartition("/")[2]
        stem = name.partition(".")[0]
        if path in lowered or name in lowered:
            return True
        if len(stem) > 3 and "_" in stem and re.search(rf"\b{re.escape(stem)}\b", lowered):
            return True
    return False


def query_of(proposal: Proposal, name: str) -> dict[str, Any]:
    """A proposal in the format of query files."""
    provenance = {
        **{fact: [place] for fact, place in proposal.facts.items() if place},
        **{module: list(places) for module, places in proposal.evidence.items() if places},
    }
    return {
        "id": name,
        "question": proposal.question,
        "shape": proposal.shape(),
        "relevance_grades": dict(proposal.grades),
        "gold_facts": list(proposal.facts)[:4],
        "tags": ["mined", proposal.origin],
        "provenance": {
            key: places
            for key, places in provenance.items()
            if key in proposal.grades or key in list(proposal.facts)[:4]
        },
    }


def file_of(proposals: Sequence[Proposal]) -> dict[str, Any]:
    """The proposals' file: queries, each with where it is from and how hard it is."""
    return {
        "version": 1,
        "description": "Proposals of `rankgate mine`; accept those that you mean.",
        "queries": [
            {
                **query_of(proposal, f"{proposal.origin}-{number:03d}"),
                "proposal": {
                    "origin": proposal.origin,
                    "source": proposal.source,
                    "difficulty": proposal.difficulty,
                },
            }
            for number, proposal in enumerate(proposals, start=1)
        ],
    }


def read_proposals(path: Path) -> dict[str, dict[str, Any]]:
    """The proposals of a file by id.

    Raises:
        InputError: it is no file of proposals.
    """
    content = read_bytes(path)
    value = parse_json(decode(content, path), path)
    queries = raw_queries(value) if isinstance(_listed(value), list) else []
    if not queries or not all(isinstance(query.get("proposal"), dict) for query in queries):
        shown = one_line(path)
        raise InputError(f"{shown}: no proposals; `rankgate mine --out {shown}` writes some")
    _check(content, path)
    return {query["id"]: query for query in queries}


def accept(chosen: Sequence[Mapping[str, Any]], into: Path) -> list[str]:
    """Append proposals to a query file, which may be new; the ids that they have there.

    The file keeps its layout. Nothing is written when a part of it would be wrong.

    Raises:
        InputError: the file is no query file, or would be none.
    """
    content = read_bytes(into) if into.exists() else _EMPTY
    value = parse_json(decode(content, into), into)
    queries = _listed(value)
    if not isinstance(queries, list):
        raise InputError(f"{into}: no query file: expected a list of queries")
    if queries:
        _check(content, into)
    try:
        layout = layout_of(content.decode("utf-8"), value) or Layout()
        ids = _append(chosen, queries)
        written = layout.dump(value)
        _check(written.encode("utf-8"), into)
    except ValueError:
        raise InputError(f"{into}: has NaN or half a surrogate pair, which JSON has not") from None
    write_text(into, written)
    return ids


def _append(chosen: Sequence[Mapping[str, Any]], queries: list[Any]) -> list[str]:
    """Add proposals to the queries of a file; the ids that they have there."""
    taken = {query.get("id") for query in raw_queries(queries)}
    ids = []
    for proposal in chosen:
        name, number = proposal["id"], 2
        while name in taken:
            name, number = f"{proposal['id']}-{number}", number + 1
        taken.add(name)
        ids.append(name)
        kept = {key: part for key, part in proposal.items() if key != "proposal"}
        queries.append(kept | {"id": name})
    return ids


def _listed(value: Any) -> Any:
    return value.get("queries") if isinstance(value, dict) else value


def _check(content: bytes, where: Path) -> None:
    """As `rankgate check` does, but that gold facts may come later (see `lacking`)."""
    _, problems, _ = parse_queries(content, where)
    if wrong := [problem.line() for problem in problems if problem.code != "Q011"]:
        raise InputError(wrong)


def lacking(query: Mapping[str, Any]) -> str:
    """What an accepted proposal still needs before `rankgate check` lets it pass, or nothing."""
    count = len(query["gold_facts"])
    if count == 0:
        return "has no gold fact yet: add 2 to 4 with `rankgate grade` or by hand"
    return "" if count > 1 else "has 1 gold fact; 2 to 4 are expected"
