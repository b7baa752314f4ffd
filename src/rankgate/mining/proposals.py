"""Proposed queries: what every origin makes, how they are chosen, and how a person takes them."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankgate.errors import InputError, one_line
from rankgate.files import JsonObject, parse_json, read_json, read_text, write_text
from rankgate.queries import load_queries
from rankgate.query_edits import Layout, layout_of, raw_queries
from rankgate.retrievers.code_text import word_terms, words_of
from rankgate.retrievers.vocabulary import STOP_WORDS
from rankgate.trees import Tree

ESSENTIAL, RELEVANT = 3, 2
_SAME = 0.6  # Jaccard similarity from which two questions ask the same
_MIN_TERMS = 3


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
    kept: list[tuple[Proposal, frozenset[str]]] = []
    seen = [content_terms(question) for question in asked]
    counts: dict[str, Counter[str]] = {}
    for proposal in proposals:
        terms = content_terms(proposal.question)
        if len(terms) < _MIN_TERMS or any(_alike(terms, other) for other in seen):
            continue
        quoted = _counted(proposal.quoted)
        found: set[str] = set()
        for module in proposal.grades:
            if module not in counts:
                counts[module] = _counted(tree.text(module))
            found |= {term for term in terms if counts[module][term] > quoted[term]}
        difficulty = len(terms - found) / len(terms)
        kept.append((replace(proposal, difficulty=round(difficulty, 3)), terms))
        seen.append(terms)
    kept.sort(key=lambda pair: _worth(pair[0]))
    turns: dict[str, int] = {}
    ranked = []
    for proposal, _ in kept:
        module = min(proposal.grades, key=lambda name: (-proposal.grades[name], name))
        turns[module] = turns.get(module, 0) + 1
        ranked.append((turns[module], proposal))
    ranked.sort(key=lambda pair: pair[0])  # stable: within a turn, by worth
    return [proposal for _, proposal in ranked[:limit]]


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _SAME * len(one | other)


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
    value = read_json(path)
    queries = raw_queries(value) if isinstance(value, (dict, list)) else []
    found = {query["id"]: query for query in queries if isinstance(query.get("id"), str)}
    if not found or not all(isinstance(q.get("proposal"), dict) for q in found.values()):
        raise InputError(f"{path}: no proposals; `rankgate mine --out {path}` writes some")
    return found


def accept(chosen: Sequence[Mapping[str, Any]], into: Path) -> list[str]:
    """Append proposals to a query file, which may be new; the ids that they have there.

    The file keeps its layout. Nothing is written when a part of it would be wrong.

    Raises:
        InputError: the file is no query file.
    """
    text = read_text(into) if into.is_file() else '{"version": 1, "queries": []}'
    value = parse_json(text, into)
    if isinstance(value, JsonObject) and value.get("queries") == []:
        queries: Any = value["queries"]
    else:
        load_queries(into)
        queries = value if isinstance(value, list) else value["queries"]
    taken = {query["id"] for query in queries}
    ids = []
    for proposal in chosen:
        name, number = str(proposal["id"]), 2
        while name in taken:
            name, number = f"{proposal['id']}-{number}", number + 1
        taken.add(name)
        ids.append(name)
        kept = {key: part for key, part in proposal.items() if key != "proposal"}
        queries.append(kept | {"id": name})
    layout = layout_of(text, value) or Layout()
    write_text(into, layout.dump(value))
    return ids


def lacking(query: Mapping[str, Any]) -> str:
    """What an accepted proposal still needs before `rankgate check` lets it pass, or nothing."""
    count = len(query.get("gold_facts", ()))
    if count == 0:
        return "has no gold fact yet: add 2 to 4 with `rankgate grade` or by hand"
    return "" if count > 1 else f"has {one_line(count)} gold fact; 2 to 4 are expected"
