"""Rules on words: does a question give its answer away, does the source bear a fact out?"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from rankgate.linting.findings import Finding
from rankgate.linting.subject import Subject, quoted
from rankgate.queries import ESSENTIAL, PLACE, Query
from rankgate.retrievers.code_text import question_terms, terms, word_terms, words_of
from rankgate.retrievers.vocabulary import STOP_WORDS
from rankgate.trees import Tree

# Questions are nearly the same from this Jaccard similarity of their words up.
NEARLY = 0.8
# Facts are paraphrases: of those in data/queries, every one has a sixth of its words, in some form,
# in the lines that bear it out, and most random lines have none.
SUPPORT_AT_PLACE = 0.15
SUPPORT_ANYWHERE = 0.25
AROUND = 3
WINDOW = 40
_RELATED = 0.5

_DEFINED = re.compile(
    r"\b(?:def|class|fn|func|function|struct|enum|trait|interface|type|mod|namespace|union|const"
    r"|let|var|static|macro_rules!|#define)[ \t]+(?:\([^)\n]{0,80}\)[ \t]*)?(?:mut[ \t]+)?"
    r"([A-Za-z_$][\w$]*)"
    r"|^([A-Za-z_]\w*)[ \t]*(?::[^=\n]{0,80})?=(?!=)"
    r"|^#[ \t]*define[ \t]+([A-Za-z_]\w*)",
    re.MULTILINE,
)
# `static int parse_header(char *p, …` at the start of a line: C and its kin.
_FUNCTION = re.compile(r"^[A-Za-z_](?:[\w:<>,*& \t]{0,80})[ \t*&]([A-Za-z_]\w*)\(", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)*")
_COMPOUND = re.compile(r"[A-Za-z0-9]_+[A-Za-z0-9]|[a-z0-9][A-Z]|[A-Z][A-Z][a-z]|^_+[A-Za-z]")


def names_its_answer(subject: Subject, query: Query) -> Iterator[Finding]:
    """Q301, Q302: paths and symbols of essential modules that the question names."""
    essential = [module for module, grade in query.grades.items() if grade == ESSENTIAL]
    for module in essential:
        name = module.rpartition("/")[2]
        if "." in name.strip(".") and _stands_in(name, query.question):
            text = f"names the file that answers it, {module}"
            yield subject.finding("Q301", query, "question", text)
    if subject.tree is None or query.shape == "identity":  # "What is X?" has to name X
        return
    asked = list(dict.fromkeys(_NAME.findall(query.question)))
    for module in essential:
        if module not in subject.tree:
            continue
        defined = symbols(subject.tree.text(module))
        named = [name for name in asked if _is_leak(name, defined)]
        if named:
            text = f"names what {module} defines: {', '.join(named)}"
            yield subject.finding("Q302", query, "question", text)


def _stands_in(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None


@lru_cache(maxsize=4096)
def symbols(text: str) -> frozenset[str]:
    """The names that a file defines, as a light look at its lines has it, in many languages."""
    found = {name for groups in _DEFINED.findall(text) for name in groups if name}
    return frozenset(found.union(_FUNCTION.findall(text)))


def _is_leak(name: str, defined: Collection[str]) -> bool:
    """Whether a name of the question is a defined one, and no plain word.

    `parse_header` and `HTTPAdapter` are by their form; `Session.send` as both parts are defined.
    """
    parts = re.split(r"\.|::|->", name)
    if any(part in defined and _COMPOUND.search(part) for part in parts):
        return True
    return len(parts) > 1 and all(part in defined for part in parts)


def near_duplicates(subject: Subject) -> Iterator[Finding]:
    """Q303: questions that share nearly all their words.

    Sets of similarity NEARLY or more share one of their few rarest words, so that only those are
    looked up: exact, and quick with thousands of questions.
    """
    queries = subject.queries.queries
    bags = [_bag(query.question) for query in queries]
    frequency = Counter(term for bag in bags for term in bag)
    seen: dict[str, list[int]] = {}
    for i, bag in enumerate(bags):
        rarest = sorted(bag, key=lambda term: (frequency[term], term))
        prefix = rarest[: len(bag) - math.ceil(NEARLY * len(bag)) + 1]
        for j in sorted({j for term in prefix for j in seen.get(term, ())}):
            if len(bag & bags[j]) >= NEARLY * len(bag | bags[j]):
                text = f"nearly the same as that of {quoted(queries[j].id)}"
                yield subject.finding("Q303", queries[i], "question", text)
                break
        for term in prefix:
            seen.setdefault(term, []).append(i)


def _bag(text: str) -> frozenset[str]:
    """The terms that matter; all of them where only stop words are left."""
    words = words_of(text)
    telling = [word for word in words if word.lower() not in STOP_WORDS]
    found = {term for word in telling for term in word_terms(word)}
    return frozenset(found or {word.lower() for word in words})


def unsupported_facts(subject: Subject, query: Query) -> Iterator[Finding]:
    """Q401: facts whose words do not occur where they should stand."""
    if subject.tree is None:
        return
    relevant = [m for m, grade in query.grades.items() if grade >= subject.relevant_grade]
    for i, fact in enumerate(query.facts):
        wordings = (fact, *query.aliases.get(fact, ()))
        places = _places(subject.tree, query.provenance.get(fact, ()))
        if places:
            near = {
                term for module, a, b in places for term in terms_near(subject.tree, module, a, b)
            }
            share = max(coverage(wording, near) for wording in wordings)
            if share < SUPPORT_AT_PLACE:
                text = f"hardly a word of it stands in the lines of its provenance: {quoted(fact)}"
                yield subject.finding("Q401", query, f"gold_facts[{i}]", text)
            continue
        windows = [
            window
            for module in relevant
            if module in subject.tree
            for window in _windows(subject.tree.text(module))
        ]
        if not windows:
            continue
        share = max(coverage(wording, window) for wording in wordings for window in windows)
        if share < SUPPORT_ANYWHERE:
            text = f"hardly a word of it stands in any relevant module: {quoted(fact)}"
            yield subject.finding("Q401", query, f"gold_facts[{i}]", text)


def facts_without_tokens(subject: Subject, query: Query) -> Iterator[Finding]:
    """Q402: facts that the judge n15 has no token of."""
    for i, fact in enumerate(query.facts):
        wordings = (fact, *query.aliases.get(fact, ()))
        if not any(re.search("[a-z0-9]", wording.lower()) for wording in wordings):
            text = f"no letter a-z and no digit: the judge n15 never counts it: {quoted(fact)}"
            yield subject.finding("Q402", query, f"gold_facts[{i}]", text)


def facts_of_irrelevant_modules(subject: Subject, query: Query) -> Iterator[Finding]:
    """Q403: facts that stand, by their provenance, in no relevant module."""
    for i, fact in enumerate(query.facts):
        modules = {
            parts[1]
            for place in query.provenance.get(fact, ())
            if (parts := PLACE.fullmatch(place))
        }
        if modules and all(query.grades.get(m, 0) < subject.relevant_grade for m in modules):
            named = ", ".join(sorted(modules))
            text = f"stands in {named} only, which is not graded relevant: {quoted(fact)}"
            yield subject.finding("Q403", query, f"gold_facts[{i}]", text)


def coverage(fact: str, found: Collection[str]) -> float:
    """The share of a fact's words, 0..1, that are among `found` in some form; 1 for no word."""
    wanted = [ways for ways in question_terms(fact, _RELATED) if max(ways.values()) >= 1]
    if not wanted:
        return 1.0
    return sum(any(term in found for term in ways) for ways in wanted) / len(wanted)


def terms_near(tree: Tree, module: str, first: int, last: int) -> frozenset[str]:
    """The terms of a module's lines, and of those just around them."""
    if module not in tree:
        return frozenset()
    lines = tree.lines(module)[max(0, first - 1 - AROUND) : last + AROUND]
    return frozenset(terms("\n".join(lines)))


def _places(tree: Tree, places: Sequence[str]) -> list[tuple[str, int, int]]:
    """The places that are in the tree; those that are not have findings of their own."""
    found = [PLACE.fullmatch(place) for place in places]
    return [(p[1], int(p[2]), int(p[3])) for p in found if p and p[1] in tree]


@lru_cache(maxsize=4096)
def _windows(text: str) -> tuple[frozenset[str], ...]:
    lines = text.split("\n")
    starts = range(0, max(1, len(lines) - WINDOW // 2), WINDOW // 2)
    return tuple(frozenset(terms("\n".join(lines[i : i + WINDOW]))) for i in starts)
