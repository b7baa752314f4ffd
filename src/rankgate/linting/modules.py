"""Rules on modules and lines: is what the file names still there?"""

import difflib
from collections.abc import Iterator, Mapping

from rankgate.drifting import match_modules
from rankgate.linting.findings import Finding
from rankgate.linting.subject import Subject, quoted
from rankgate.linting.wording import coverage, terms_near
from rankgate.queries import PLACE, Query
from rankgate.trees import Tree

# How alike two paths must be, 0..1, for one to be proposed for the other.
_ALIKE = 0.6
_FACTS_FOUND = 0.5


def moves(old: Tree, new: Tree) -> dict[str, str]:
    """Old module → new one with the same bytes, of those that are not where they were."""
    return {
        path: match.path
        for path, match in match_modules(old, new).items()
        if match.same and match.path != path
    }


def proposals(subject: Subject, old: Tree | None) -> dict[str, tuple[str, str]]:
    """Graded module that the corpus lacks → a module that it may be now, and why.

    By content where the old corpus is at hand; else by the path, and by whether the facts that
    stood in the lost module are borne out by the other one at the same lines.
    """
    new = subject.tree
    if new is None:
        return {}
    lost = sorted({m for q in subject.queries.queries for m in q.grades if m not in new})
    found: dict[str, tuple[str, str]] = {}
    if old is not None:
        matches = match_modules(old, new)
        for path in lost:
            if match := matches.get(path):
                why = "same bytes" if match.same else f"similarity {match.similarity:.2f}"
                found[path] = match.path, why
        return found
    graded = {module for query in subject.queries.queries for module in query.grades}
    free = [path for path in new.paths if path not in graded]
    for path in lost:
        scored = [(_likeness(path, other), other) for other in free]
        scored = [(score, other) for score, other in scored if score >= _ALIKE]
        best = max(scored, default=None)
        by_facts = _by_facts(subject, new, path, [other for _, other in scored] or free)
        if by_facts and (best is None or by_facts != best[1]):
            found[path] = by_facts, "its lines bear out the facts"
        elif best:
            found[path] = best[1], "similar path"
    return found


def _likeness(path: str, other: str) -> float:
    """1 for the same file name in another folder, else how many characters both share."""
    if path.rpartition("/")[2] == other.rpartition("/")[2] != "__init__.py":
        return 1.0 + _ratio(path, other)
    return _ratio(path, other)


def _ratio(path: str, other: str) -> float:
    matcher = difflib.SequenceMatcher(None, path, other, autojunk=False)
    if matcher.real_quick_ratio() < _ALIKE or matcher.quick_ratio() < _ALIKE:
        return 0.0
    return matcher.ratio()


def _by_facts(subject: Subject, new: Tree, path: str, candidates: list[str]) -> str | None:
    """The one candidate whose lines bear out most of the facts that stood in `path`."""
    stood = [
        (fact, int(parts[2]), int(parts[3]))
        for query in subject.queries.queries
        for fact in query.facts
        for place in query.provenance.get(fact, ())
        if (parts := PLACE.fullmatch(place)) and parts[1] == path
    ]
    if not stood:
        return None
    scores = []
    for other in candidates:
        if other.rpartition(".")[2] != path.rpartition(".")[2]:
            continue
        shares = [coverage(fact, terms_near(new, other, a, b)) for fact, a, b in stood]
        scores.append((sum(shares) / len(shares), other))
    scores.sort(reverse=True)
    clear = scores and (len(scores) == 1 or scores[0][0] > scores[1][0])
    return scores[0][1] if clear and scores[0][0] >= _FACTS_FOUND else None


def provenance_places(subject: Subject, query: Query) -> Iterator[Finding]:
    """Q102, Q103, Q104: places that are not where they say."""
    for key, places in query.provenance.items():
        field = f"provenance[{quoted(key)}]"
        for place in places:
            parts = PLACE.fullmatch(place)
            if parts is None:
                continue
            module, last = parts[1], int(parts[3])
            if key in query.grades and key not in query.facts and module != key:
                yield subject.finding("Q104", query, field, f"{place} is in another module")
            if subject.tree is None:
                continue
            if module not in subject.tree:
                yield subject.finding("Q102", query, field, f"the corpus has no {module}")
            elif last > (lines := len(subject.tree.lines(module))):
                text = f"{place} is beyond the end: {module} has {lines} lines"
                yield subject.finding("Q103", query, field, text)


def without_provenance(subject: Subject, query: Query) -> Iterator[Finding]:
    """Q202: what is graded 2 or 3, and where is not said."""
    if not subject.queries.has_facts:  # relevance only: the lines are not known
        return
    named = {
        parts[1]
        for places in query.provenance.values()
        for place in places
        if (parts := PLACE.fullmatch(place))
    }
    bare = [m for m, grade in query.grades.items() if grade >= 2 and m not in named]
    if bare:
        text = f"no lines say why these have grade 2 or 3: {', '.join(bare)}"
        yield subject.finding("Q202", query, "provenance", text)


def ungraded_in_pool(subject: Subject, query: Query) -> Iterator[Finding]:
    """Q203: what came back and was never judged."""
    pool: Mapping[str, tuple[str, ...]] = subject.pool
    holes = [module for module in pool.get(query.id, ()) if module not in query.grades]
    if holes:
        shown = ", ".join(holes[:5]) + (f" and {len(holes) - 5} more" if holes[5:] else "")
        text = f"{len(holes)} modules that came back have no grade: {shown}"
        yield subject.finding("Q203", query, "relevance_grades", text)
