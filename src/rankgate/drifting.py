"""Drift: which queries still hold when their corpus changes.

Modules are matched by content first, so that a renamed folder is a renamed folder and not the end
of every grade; then the lines that provenance names are followed through a diff.
"""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rankgate.files import decode as decode_text
from rankgate.files import parse_json, read_bytes, write_text
from rankgate.queries import PLACE, Query
from rankgate.query_edits import Layout, layout_of, raw_queries, rename_modules
from rankgate.trees import Tree

# Two modules are the same one, edited, from this Jaccard similarity of their shingles up.
SIMILAR = 0.5
SHINGLE_LINES = 3
# A shingle of more modules than this (a licence, a header) finds no candidates.
COMMON = 50
# A change this many lines from the evidence, or fewer, may bear on it.
NEAR_LINES = 5

Status = Literal["holds", "moved", "carried", "look", "broke"]
STATUSES: tuple[Status, ...] = ("holds", "moved", "carried", "look", "broke")
FOR_A_PERSON = ("look", "broke")


@dataclass(frozen=True)
class Match:
    """Where an old module is now.

    Attributes:
        path: its new path.
        same: whether its bytes are.
        similarity: of its shingles, 0..1.
    """

    path: str
    same: bool
    similarity: float = 1.0


@dataclass(frozen=True)
class QueryDrift:
    """What became of one query.

    Attributes:
        notes: a line for each module or place that calls for a word.
        modules: old module → new one, where it is known.
        places: old place → new place, of the evidence that still stands.
        dropped: modules of grade 0 that are gone.
    """

    query: str
    status: Status
    notes: tuple[str, ...]
    modules: Mapping[str, str]
    places: Mapping[str, str]
    dropped: tuple[str, ...]


def shingles(lines: Iterable[str]) -> frozenset[int]:
    """Every few neighbouring lines that are not blank, without their indent, as 64 bits each.

    The bits differ from one process to the next, which equal ones do not.
    """
    kept = [line for line in map(str.strip, lines) if line]
    if len(kept) < SHINGLE_LINES:
        return frozenset({hash(tuple(kept))} if kept else ())
    neighbours = (kept[i:] for i in range(SHINGLE_LINES))
    return frozenset(map(hash, zip(*neighbours, strict=False)))


def match_modules(old: Tree, new: Tree) -> dict[str, Match]:
    """Where each old module is now; one that vanished is left out.

    A module with the same path is the same one, unless its old content stands under another path
    while what stands at the old path is nothing like it. Else a new path with the same bytes
    is it; of several the one that follows the most frequent move, for empty files are many. Else
    the most similar module of a new path, from `SIMILAR` up. No new path is taken twice.
    """
    kept = {p for p in old.paths if p in new and old.sha256(p) == new.sha256(p)}
    found = {path: Match(path, same=True) for path in old.paths if path in kept}
    contents = {new.sha256(path) for path in new.paths if path not in kept}
    edited = {
        path: similarity
        for path in old.paths
        if path in new
        and path not in kept
        and (
            (similarity := _jaccard_of(old, path, new, path)) >= SIMILAR
            or old.sha256(path) not in contents
        )
    }
    found |= {path: Match(path, same=False, similarity=share) for path, share in edited.items()}
    gone = [path for path in old.paths if path not in found]
    added = [path for path in new.paths if path not in found]
    by_content: dict[str, list[str]] = {}
    for path in added:
        by_content.setdefault(new.sha256(path), []).append(path)
    free = dict.fromkeys(added)
    moves: Counter[tuple[str, str]] = Counter()
    ambiguous = []
    holders = Counter(old.sha256(path) for path in gone)
    for path in gone:
        digest = old.sha256(path)
        candidates = by_content.get(digest, [])
        if len(candidates) == 1 and holders[digest] == 1:
            found[path] = Match(candidates[0], same=True)
            del free[candidates[0]]
            moves[move_of(path, candidates[0])] += 1
        elif candidates:
            ambiguous.append(path)
    usual = [move for move, _ in sorted(moves.items(), key=lambda item: (-item[1], item[0]))]
    for path in ambiguous:
        digest = old.sha256(path)
        by_rule = (
            after + path[len(before) :] for before, after in usual if path.startswith(before)
        )
        chosen = next((to for to in by_rule if to in free and new.sha256(to) == digest), None)
        if chosen is None:
            candidates = [to for to in by_content[digest] if to in free]
            if not candidates:
                continue
            chosen = max(candidates, key=lambda to: (len(_common_end(path, to)), to))
            move = move_of(path, chosen)
            usual += [] if move in usual else [move]
        found[path] = Match(chosen, same=True)
        del free[chosen]
    _match_edited(old, new, [path for path in gone if path not in found], list(free), found)
    return found


def _match_edited(
    old: Tree, new: Tree, gone: Sequence[str], free: Sequence[str], found: dict[str, Match]
) -> None:
    """Pair what vanished with what is new by similarity, the most similar first."""
    if not gone or not free:
        return
    there = {path: shingles(new.lines(path)) for path in free}
    holders: dict[int, list[str]] = {}
    for path, pieces in there.items():
        for piece in pieces:
            holders.setdefault(piece, []).append(path)
    pairs = []
    for path in gone:
        pieces = shingles(old.lines(path))
        shared: Counter[str] = Counter()
        for piece in pieces:
            if len(holders.get(piece, ())) <= COMMON:
                shared.update(holders.get(piece, ()))
        for candidate in shared:
            similarity = _jaccard(pieces, there[candidate])
            if similarity >= SIMILAR:
                pairs.append((-similarity, path, candidate))
    taken: set[str] = set()
    for similarity, path, candidate in sorted(pairs):
        if path not in found and candidate not in taken:
            found[path] = Match(candidate, same=False, similarity=-similarity)
            taken.add(candidate)


def _jaccard_of(old: Tree, path: str, new: Tree, other: str) -> float:
    return _jaccard(shingles(old.lines(path)), shingles(new.lines(other)))


def _jaccard(a: frozenset[int], b: frozenset[int]) -> float:
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def move_of(path: str, other: str) -> tuple[str, str]:
    """What stands before the part that both paths end with: `a.py`, `src/a.py` → ``, `src/`."""
    end = _common_end(path, other)
    return path[: len(path) - len(end)], other[: len(other) - len(end)]


def _common_end(path: str, other: str) -> str:
    """The last whole parts that two paths share."""
    parts: list[str] = []
    for a, b in zip(reversed(path.split("/")), reversed(other.split("/")), strict=False):
        if a != b:
            break
        parts.insert(0, a)
    return "/".join(parts)


def renames(old: Tree, matches: Mapping[str, Match]) -> list[str]:
    """A line for each move that several modules share, the most frequent first."""
    moved: dict[tuple[str, str], list[str]] = {}
    for path, match in matches.items():
        if match.path != path:
            moved.setdefault(move_of(path, match.path), []).append(path)
    lines = []
    for (before, after), paths in sorted(moved.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(paths) < 2 and len(old.paths) > 1:
            continue
        shared = _common_folder([path[len(before) :] for path in paths])
        everything = len(paths) == len(old.paths)
        who = f"all {len(paths)}" if everything else f"{len(paths)} of {len(old.paths)}"
        source, target = (f"{part}{shared}".rstrip("/") or "." for part in (before, after))
        lines.append(f"{who} modules moved: {source} → {target}")
    return lines


def _common_folder(paths: Sequence[str]) -> str:
    folders = [path.split("/")[:-1] for path in paths]
    shared = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join(shared)


class Drift:
    """Two versions of a corpus, compared once and asked for each query."""

    def __init__(self, old: Tree, new: Tree) -> None:
        self.old = old
        self.new = new
        self.matches = match_modules(old, new)
        self.renames = renames(old, self.matches)
        matched = {match.path for match in self.matches.values()}
        self.added = tuple(path for path in new.paths if path not in matched)
        self._changes: dict[str, list[tuple[int, int, int, int]]] = {}

    def of(self, query: Query) -> QueryDrift:
        """What became of a query. The worst of its modules decides; see docs/drift.md."""
        places = sorted({place for found in query.provenance.values() for place in found})
        status: Status = "holds"
        notes: list[str] = []
        modules: dict[str, str] = {}
        carried: dict[str, str] = {}
        dropped = []
        evidence: dict[str, list[str]] = {}
        for place in places:
            parts = PLACE.fullmatch(place)
            if parts:
                evidence.setdefault(parts[1], []).append(place)
        for module in dict.fromkeys((*query.grades, *evidence)):
            grade = query.grades.get(module, 0)
            match = self.matches.get(module)
            found: Status
            if match is None:
                found, note = self._vanished(module, grade, module in evidence)
                dropped += [module] if found == "carried" else []
            else:
                modules[module] = match.path
                found, note = self._followed(
                    module, match, grade, evidence.get(module, []), carried
                )
            notes += note
            status = max(status, found, key=STATUSES.index)
        return QueryDrift(query.id, status, tuple(notes), modules, carried, tuple(dropped))

    def _vanished(self, module: str, grade: int, has_evidence: bool) -> tuple[Status, list[str]]:
        if module not in self.old:
            return "broke", [f"{module}: not in the old corpus"]
        note = f"{module} (grade {grade}): vanished, and nothing new resembles it"
        # An irrelevant module takes nothing of the truth with it but its own grade.
        return ("broke" if grade or has_evidence else "carried"), [note]

    def _followed(
        self,
        module: str,
        match: Match,
        grade: int,
        places: Sequence[str],
        carried: dict[str, str],
    ) -> tuple[Status, list[str]]:
        status: Status = "holds" if match.path == module else "moved"
        if match.same:
            for place in places:
                carried[place] = match.path + place[len(module) :]
            return status, []
        notes = []
        if match.path != module:
            share = f"{match.similarity:.2f}"
            notes.append(f"{module}: now {match.path}, edited (similarity {share})")
        status = "carried"
        for place in places:
            found, first, last = self._evidence(module, match.path, place)
            status = max(status, found, key=STATUSES.index)
            if found == "broke":
                notes.append(f"{place}: the evidence changed; see {match.path}:{first}-{last}")
                continue
            carried[place] = f"{match.path}:{first}-{last}"
            if found == "look":
                notes.append(f"{place}: changed near by; now {carried[place]}")
        if not places and grade >= 2:
            status = "look"
            notes.append(f"{match.path} (grade {grade}): changed, and no provenance says where")
        return status, notes

    def _evidence(self, module: str, path: str, place: str) -> tuple[Status, int, int]:
        """Whether the lines of a place still stand, and where: first and last line now."""
        parts = PLACE.fullmatch(place)
        assert parts is not None  # noqa: S101 — the query file was checked
        first, last = int(parts[2]) - 1, int(parts[3])
        if last > len(self.old.lines(module)):
            return "broke", 1, max(1, len(self.new.lines(path)))
        changes = self._changes_of(module, path)
        above = sum((d - c) - (b - a) for a, b, c, d in changes if b <= first)
        inserted = sum(d - c for a, b, c, d in changes if a == b and first < a < last)
        if any(b > a and a < last and b > first for a, b, _, _ in changes):
            grown = sum((d - c) - (b - a) for a, b, c, d in changes if a < last)
            start = first + above + 1
            return "broke", start, max(start, last + grown)
        near = any(a <= last + NEAR_LINES and b >= first - NEAR_LINES for a, b, _, _ in changes)
        return "look" if near else "carried", first + above + 1, last + above + inserted

    def _changes_of(self, module: str, path: str) -> list[tuple[int, int, int, int]]:
        """Old lines a:b became new lines c:d."""
        if module not in self._changes:
            before, after = self.old.lines(module), self.new.lines(path)
            head = 0
            while head < min(len(before), len(after)) and before[head] == after[head]:
                head += 1
            tail = 0
            limit = min(len(before), len(after)) - head
            while tail < limit and before[-1 - tail] == after[-1 - tail]:
                tail += 1
            # What is equal at both ends is most of it, and difflib's time grows with the square.
            matcher = difflib.SequenceMatcher(
                None, before[head : len(before) - tail], after[head : len(after) - tail], False
            )
            self._changes[module] = [
                (a + head, b + head, c + head, d + head)
                for kind, a, b, c, d in matcher.get_opcodes()
                if kind != "equal"
            ]
        return self._changes[module]


def carry_over(source: Path, target: Path, drifts: Sequence[QueryDrift]) -> None:
    """Write a query file for the new corpus: modules and places that are known, renamed.

    What broke stays as it stands, for a person: `rankgate check` then names what is not there.
    """
    content = read_bytes(source)
    value = parse_json(decode_text(content, source), source)
    layout = layout_of(content.decode("utf-8"), value) or Layout()
    by_id = {drift.query: drift for drift in drifts}
    for query in raw_queries(value):
        drift = by_id[query["id"]]
        rename_modules(query, drift.modules, drift.places)
        for module in drift.dropped:
            del query["relevance_grades"][module]
            query.get("provenance", {}).pop(module, None)
    write_text(target, layout.dump(value))
