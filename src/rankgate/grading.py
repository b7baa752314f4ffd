"""People's grades: the journal they are kept in, how two people agree, and the way into a query
file.

A journal is JSON Lines, one annotator's, and only ever grows: a header, then a line an answer. An
undo is a line as well, so that what is on disk is never rewritten.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, get_args

from rankgate.errors import InputError, one_line
from rankgate.files import decode, parse_json, read_bytes, write_text
from rankgate.queries import (
    GRADES,
    Problem,
    QuerySet,
    is_place,
    module_path_problem,
    read_queries,
)
from rankgate.query_edits import Layout, layout_of, raw_queries

Act = Literal["grade", "skip", "evidence", "fact", "note", "undo"]
ACTS: tuple[Act, ...] = get_args(Act)
# A query in the making has no relevant module and no fact yet; grading is what gives it some.
_UNFINISHED = ("Q008", "Q011")
_KIND = "rankgate grades"


@dataclass(frozen=True)
class Event:
    """A line of a journal.

    Attributes:
        act: what the annotator did; an `undo` takes back the last line that stands.
        grade: of `grade`.
        places: where it stands, as `module:first-last`; of `grade`, `evidence` and `fact`.
        text: of `fact` and `note`.
    """

    act: Act
    query: str = ""
    module: str = ""
    grade: int | None = None
    places: tuple[str, ...] = ()
    text: str = ""

    def record(self) -> dict[str, Any]:
        """As it stands in the journal: what is empty is left out."""
        return {key: value for key, value in asdict(self).items() if value not in ("", (), None)}


@dataclass(frozen=True)
class Judgement:
    """What one annotator says of a module for a query.

    Attributes:
        grade: None when there is none (yet).
        facts: fact → where this module proves it.
    """

    grade: int | None = None
    skipped: bool = False
    evidence: tuple[str, ...] = ()
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def answered(self) -> bool:
        return self.skipped or self.grade is not None


Pair = tuple[str, str]  # query and module


def standing(events: Sequence[Event]) -> list[Event]:
    """The events that no undo took back, in order."""
    kept: list[Event] = []
    for event in events:
        if event.act != "undo":
            kept.append(event)
        elif kept:
            kept.pop()
    return kept


def judgements(events: Sequence[Event]) -> dict[Pair, Judgement]:
    """What the events amount to; a later grade or skip replaces an earlier one."""
    found: dict[Pair, Judgement] = {}
    for event in standing(events):
        pair = (event.query, event.module)
        old = found.get(pair, Judgement())
        evidence, facts, notes = old.evidence, dict(old.facts), old.notes
        grade, skipped = old.grade, old.skipped
        if event.act in ("grade", "skip"):
            grade, skipped = event.grade, event.act == "skip"
        if event.act in ("grade", "evidence"):
            evidence = _union(evidence, event.places)
        elif event.act == "fact":
            facts[event.text] = _union(facts.get(event.text, ()), event.places)
        elif event.act == "note":
            notes = (*notes, event.text)
        found[pair] = Judgement(grade, skipped, evidence, facts, notes)
    return found


def _union(*lists: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for items in lists for item in items))


# --- The journal ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Journal:
    """A journal that was read.

    Attributes:
        queries: the name of the query file that it is for.
        sound: how many of the file's bytes are whole lines.
        torn: how many bytes after them are half a line, which a crash left behind.
    """

    path: Path
    annotator: str
    queries: str
    events: tuple[Event, ...]
    sound: int
    torn: int

    def warnings(self) -> list[str]:
        if not self.torn:
            return []
        return [f"{self.path}: its last line is torn ({self.torn} bytes) and does not count"]


def journal_path(queries: Path, annotator: str) -> Path:
    """The usual place: `requests.json` → `requests.alice.grades.jsonl`."""
    return queries.with_name(f"{queries.name.removesuffix('.json')}.{annotator}.grades.jsonl")


def read_journal(path: Path) -> Journal:
    """Read and check a journal.

    Raises:
        InputError: it has no header, or a line other than a torn last one is wrong; each is named.
    """
    journal = _read(path)
    if journal is None:
        raise InputError(f"{path}: no journal of `rankgate grade`: it has no header")
    return journal


def _read(path: Path) -> Journal | None:
    """None when the file has not even a whole header: it was just begun."""
    content = read_bytes(path)
    # A line counts once its end is written: what follows the last end is torn.
    sound = content.rfind(b"\n") + 1
    lines = decode(content[:sound], path).split("\n")[:-1]
    if not lines:
        if content and not _header_line("", "").encode().startswith(content[:10]):
            raise InputError(f"{path}: no journal of `rankgate grade`")
        return None
    try:
        header = parse_json(lines[0], f"{path}:1")
    except InputError:
        header = None
    names = ("journal", "version", "annotator", "queries")
    kind, version, annotator, queries = (
        header.get(name) if isinstance(header, dict) else None for name in names
    )
    if kind != _KIND or version != 1 or not (isinstance(annotator, str) and annotator):
        raise InputError(f"{path}: no journal of `rankgate grade`: line 1 is not its header")
    problems: list[str] = []
    events = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            events.append(_event(parse_json(line, f"{path}:{number}"), f"{path}:{number}"))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems[:20])
    torn = len(content) - sound
    return Journal(path, annotator, str(queries or ""), tuple(events), sound, torn)


def _event(value: Any, where: str) -> Event:
    if not isinstance(value, dict) or value.get("act") not in ACTS:
        raise InputError(f"{where}: act: expected one of {', '.join(ACTS)}")
    act: Act = value["act"]
    if act == "undo":
        return Event("undo")
    texts = {key: value.get(key, "") for key in ("query", "module", "text")}
    for key, text in texts.items():
        needed = key != "text" or act in ("fact", "note")
        if not isinstance(text, str) or (needed and not text.strip()):
            raise InputError(f"{where}: {key}: expected a text")
    if wrong := module_path_problem(texts["module"]):
        raise InputError(f"{where}: module: the path {wrong}")
    grade = value.get("grade")
    if act == "grade" and (type(grade) is not int or grade not in GRADES):
        raise InputError(f"{where}: grade: expected an integer 0..3, got {one_line(grade, 20)}")
    places = value.get("places", [])
    if not isinstance(places, list) or not all(map(is_place, places)):
        raise InputError(f"{where}: places: expected a list of module:first-last")
    return Event(act, grade=grade if act == "grade" else None, places=tuple(places), **texts)


def _header_line(annotator: str, queries: str) -> str:
    header = {"journal": _KIND, "version": 1, "annotator": annotator, "queries": queries}
    return json.dumps(header, ensure_ascii=False) + "\n"


class JournalWriter:
    """A journal open for more: each event is on the disk when `add` returns.

    Only one process at a time may have it. A torn last line is cut off.

    Attributes:
        journal: as it was when it was opened.
        events: all of them, with those added since.

    Raises:
        InputError: it is another annotator's or for another query file, another process has it
            open, or it cannot be read.
    """

    def __init__(self, path: Path, annotator: str, queries: Path) -> None:
        import fcntl

        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(f"{path}: another `rankgate grade` has it open") from None
            self._open(path, annotator, queries)
        except BaseException:
            os.close(self._file)
            raise

    def _open(self, path: Path, annotator: str, queries: Path) -> None:
        journal = _read(path)
        if journal is None:
            os.ftruncate(self._file, 0)
            self._write(_header_line(annotator, queries.name).encode())
            folder = os.open(path.parent, os.O_RDONLY)
            os.fsync(folder)  # for the file's name to be on the disk, too
            os.close(folder)
            journal = read_journal(path)
        if journal.annotator != annotator:
            raise InputError(
                f"{path}: the journal of {one_line(journal.annotator, 60)}, "
                f"not of {one_line(annotator, 60)}; give another --journal or --annotator"
            )
        if journal.queries != queries.name:
            raise InputError(
                f"{path}: grades {one_line(journal.queries, 100)}, not {one_line(queries.name)}"
            )
        if journal.torn:
            os.ftruncate(self._file, journal.sound)
        self.journal = journal
        self.events = list(journal.events)

    def add(self, event: Event) -> None:
        """Keep an event; OSError when it cannot be written, and then nothing of it is."""
        self._write((json.dumps(event.record(), ensure_ascii=False) + "\n").encode())
        self.events.append(event)

    def _write(self, line: bytes) -> None:
        size = os.fstat(self._file).st_size
        try:
            rest = line
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, size)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)


# --- Agreement ------------------------------------------------------------------------------------

Weights = Literal["none", "linear", "quadratic"]


def cohen_kappa(pairs: Sequence[tuple[int, int]], weights: Weights = "none") -> float | None:
    """How far two annotators agree beyond chance, from -1 to 1; 1 is full agreement.

    κ = 1 − Σ w_ij·o_ij / Σ w_ij·e_ij, with o_ij the share of items that the first graded i and the
    second j, and e_ij the product of the shares of i and of j. The weight w_ij of a disagreement is
    1 for i ≠ j (Cohen, A coefficient of agreement for nominal scales, 1960), or |i − j| or (i − j)²
    (Cohen, Weighted kappa, 1968), so that a 3 against a 2 is less of one than a 3 against a 0.

    Args:
        pairs: the two grades of each item that both graded.

    Returns:
        None where kappa is not defined: no items, or all of one grade from both.
    """
    total = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(_weight(a, b, weights) for a, b in pairs)
    expected = sum(_weight(a, b, weights) * first[a] * second[b] for a in first for b in second)
    return None if expected == 0 else float(1 - Fraction(observed * total, expected))


def _weight(a: int, b: int, weights: Weights) -> int:
    if weights == "none":
        return int(a != b)
    return abs(a - b) if weights == "linear" else (a - b) ** 2


@dataclass(frozen=True)
class Agreement:
    """Two annotators held against each other, over the modules that both graded.

    Attributes:
        table: 4 × 4 counts; the row is the first one's grade, the column the second one's.
        only: how many modules each graded that the other did not.
        disagreements: query and module, with the judgement of each.
    """

    both: int
    agreed: int
    kappa: Mapping[Weights, float | None]
    table: tuple[tuple[int, ...], ...]
    only: tuple[int, int]
    disagreements: tuple[tuple[Pair, Judgement, Judgement], ...]


def agreement(first: Mapping[Pair, Judgement], second: Mapping[Pair, Judgement]) -> Agreement:
    """Hold two annotators' judgements against each other; queries and modules are sorted."""
    graded = [{p for p, j in one.items() if j.grade is not None} for one in (first, second)]
    both = sorted(graded[0] & graded[1])
    pairs = [(first[p].grade or 0, second[p].grade or 0) for p in both]
    counts = Counter(pairs)
    kinds: tuple[Weights, ...] = get_args(Weights)
    return Agreement(
        both=len(both),
        agreed=sum(a == b for a, b in pairs),
        kappa={kind: cohen_kappa(pairs, kind) for kind in kinds},
        table=tuple(tuple(counts[a, b] for b in GRADES) for a in GRADES),
        only=(len(graded[0] - graded[1]), len(graded[1] - graded[0])),
        disagreements=tuple(
            (p, first[p], second[p]) for p in both if first[p].grade != second[p].grade
        ),
    )


# --- Into the query file --------------------------------------------------------------------------


@dataclass(frozen=True)
class Merged:
    """What several annotators say together.

    Attributes:
        judgements: with a grade where they agree, or where one is preferred.
        open: query and module → annotator → grade, where they do not.
    """

    judgements: Mapping[Pair, Judgement]
    open: Mapping[Pair, Mapping[str, int]]


def merge(by: Mapping[str, Mapping[Pair, Judgement]], prefer: str = "") -> Merged:
    """Bring annotators' judgements together.

    A module that only one of them graded has that grade. Evidence is that of those who gave the
    grade; facts are everybody's.

    Args:
        by: annotator → judgements.
        prefer: the annotator whose grade counts where they disagree; empty: none counts.
    """
    merged: dict[Pair, Judgement] = {}
    unsettled: dict[Pair, dict[str, int]] = {}
    for pair in sorted({pair for found in by.values() for pair in found}):
        said = {name: found[pair] for name, found in by.items() if pair in found}
        grades = {name: one.grade for name, one in said.items() if one.grade is not None}
        grade = None
        if len(set(grades.values())) == 1:
            grade = next(iter(grades.values()))
        elif prefer in grades:
            grade = grades[prefer]
        elif grades:
            unsettled[pair] = grades
        facts: dict[str, tuple[str, ...]] = {}
        for one in said.values():
            for fact, places in one.facts.items():
                facts[fact] = _union(facts.get(fact, ()), places)
        evidence = _union(*(one.evidence for one in said.values() if one.grade == grade))
        merged[pair] = Judgement(grade, evidence=evidence, facts=facts)
    return Merged(merged, unsettled)


@dataclass
class Applied:
    """What `apply_judgements` did.

    Attributes:
        left: a line for each thing that it left as it is.
        notes: a line for each thing worth knowing.
    """

    grades: int = 0
    facts: int = 0
    left: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_for_grading(path: Path) -> tuple[QuerySet, list[Problem]]:
    """A query file in which queries may still lack relevant modules and facts.

    Returns:
        the queries, and what they lack.

    Raises:
        InputError: anything else is wrong.
    """
    queries, problems, _ = read_queries(path)
    if wrong := [problem.line() for problem in problems if problem.code not in _UNFINISHED]:
        raise InputError(wrong)
    return queries, problems


def apply_judgements(path: Path, found: Mapping[Pair, Judgement]) -> Applied:
    """Write grades, evidence and facts into a query file, in its own layout and order.

    What is there stays: a module that has another grade keeps it, and is reported.
    The file is written whole or, where nothing changes, not at all.

    Raises:
        InputError: the query file is not sound.
    """
    queries, _ = read_for_grading(path)
    content = read_bytes(path)
    value = parse_json(decode(content, path), path)
    original = content.decode("utf-8")
    # NaN or half of a surrogate pair, in a key that is not ours.
    unusable = InputError(f"{path}: has a number or text that no JSON file can hold")
    try:
        layout = layout_of(original, value)
    except ValueError:
        raise unusable from None
    by_id = {query["id"]: query for query in raw_queries(value)}
    done = Applied()
    for (query, module), judgement in found.items():
        if query in by_id:
            _apply(by_id[query], module, judgement, queries.has_facts, done)
        elif judgement.grade is not None or judgement.facts:
            done.left.append(f"query {one_line(query, 60)}: {path} has none of this id")
    try:
        text = (layout or Layout()).dump(value)
        text.encode()
    except ValueError:
        raise unusable from None
    if text != original and (done.grades or done.facts):
        if layout is None:
            done.notes.append(f"{path}: written with two spaces a level; it had its own layout")
        write_text(path.resolve(), text)  # resolved: a link stays one
    return done


def _apply(
    query: dict[str, Any], module: str, judgement: Judgement, has_facts: bool, done: Applied
) -> None:
    shown = f"query {one_line(query['id'], 60)}: {one_line(module, 200)}"
    grades = query["relevance_grades"]
    grade = judgement.grade
    if grade is not None and grades.get(module, grade) != grade:
        done.left.append(f"{shown}: has grade {grades[module]} in the file, {grade} in the journal")
    elif grade is not None:
        changed = module not in grades
        grades[module] = grade
        if grade >= 2:
            changed |= _add_places(query, module, judgement.evidence)
            if not query.get("provenance", {}).get(module):
                done.notes.append(f"{shown}: grade {grade} without evidence")
        done.grades += changed
    for fact, places in judgement.facts.items():
        if not has_facts:
            done.left.append(f"{shown}: a fact, where the file has none (facts: false)")
            continue
        facts = query["gold_facts"]
        changed = fact not in facts
        if changed:
            facts.append(fact)
        changed |= _add_places(query, fact, places)
        done.facts += changed


def _add_places(query: dict[str, Any], key: str, places: Sequence[str]) -> bool:
    """Add to a query's provenance what is not there; whether anything was not."""
    have = query.get("provenance", {}).get(key, [])
    new = [place for place in places if place not in have]
    if new:
        query.setdefault("provenance", {})[key] = [*have, *new]
    return bool(new)
