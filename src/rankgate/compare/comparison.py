"""Two results side by side: what is comparable, what differs, and whether it may merge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankgate.compare.cells import Answered, Cell
from rankgate.compare.statistics import Difference, differences, holm
from rankgate.config import CompareSettings
from rankgate.metrics import FACT_METRICS
from rankgate.queries import ESSENTIAL

# Depend on how deep the retriever was asked, though their names do not say so.
_OF_DEPTH = ("mrr", "hit_rate")


@dataclass(frozen=True)
class Tested:
    """One measure of one cell.

    Attributes:
        p: adjusted by Holm's method over all measures of the comparison that moved.
        detectable: the smallest true difference found with a power of 80 % at the level of
            Holm's first step; None where no query differs.
        verdict: `regression`, `improvement` or nothing.
    """

    measure: str
    difference: Difference
    p: float
    detectable: float | None
    verdict: str

    @property
    def moved(self) -> bool:
        """Whether any query has another value."""
        return self.difference.wins + self.difference.losses > 0


@dataclass(frozen=True)
class Moved:
    """A query that came out differently.

    Attributes:
        change: of the measure that moved most, after − before.
        severe: why its change alone is severe, or nothing.
        entered, left: modules that came back only after, only before.
        gained, lost: facts that the context supports only after, only before.
    """

    before: Answered
    after: Answered
    measure: str
    change: float
    severe: str
    entered: tuple[str, ...]
    left: tuple[str, ...]
    gained: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True)
class CellComparison:
    """A cell before and after.

    Attributes:
        status: `compared`, `new`, `gone`, or `incomparable`.
        notes: what a reader must know: other ground truth, another corpus, a name that changed.
    """

    name: str
    status: str
    notes: tuple[str, ...]
    tested: tuple[Tested, ...] = ()
    moved: tuple[Moved, ...] = ()

    @property
    def severe(self) -> tuple[Moved, ...]:
        return tuple(query for query in self.moved if query.severe)

    @property
    def regressions(self) -> tuple[Tested, ...]:
        return tuple(one for one in self.tested if one.verdict == "regression")

    @property
    def improvements(self) -> tuple[Tested, ...]:
        return tuple(one for one in self.tested if one.verdict == "improvement")


def compare(
    before: Mapping[str, Cell],
    after: Mapping[str, Cell],
    rules: CompareSettings,
    *,
    allow_corpus_change: bool = False,
) -> list[CellComparison]:
    """Every cell of either side, sorted by name, tested together.

    Measures are compared on the queries that both sides have with the same question and grades
    (fact measures: the same facts), and only where depth, judge and settings allow.
    """
    compared = [
        _cell(name, before.get(name), after.get(name), before, after, rules, allow_corpus_change)
        for name in sorted(before.keys() | after.keys())
    ]
    return _decide(compared, rules)


def failed(cells: Sequence[CellComparison], fail_on: str) -> bool:
    """Whether the comparison stops a merge; `regression` includes the severe ones."""
    if fail_on == "never":
        return False
    severe = any(cell.severe for cell in cells)
    return severe or (fail_on == "regression" and any(cell.regressions for cell in cells))


def _cell(
    name: str,
    before: Cell | None,
    after: Cell | None,
    all_before: Mapping[str, Cell],
    all_after: Mapping[str, Cell],
    rules: CompareSettings,
    allow_corpus_change: bool,
) -> CellComparison:
    if before is None or after is None:
        if after:
            return CellComparison(name, "new", _renamed(after, all_before, all_after, "was"))
        return CellComparison(name, "gone", _renamed(before, all_after, all_before, "is now"))
    notes, barred = _settings(before, after, allow_corpus_change)
    if barred:
        return CellComparison(name, "incomparable", tuple(notes))
    common = [query for query in after.queries if query in before.queries]
    graded = [q for q in common if before.queries[q].grades == after.queries[q].grades]
    factual = [q for q in common if before.queries[q].facts == after.queries[q].facts]
    notes += _ground_truth(before, after, common, graded, factual)
    if not graded:
        return CellComparison(name, "incomparable", (*notes, "no query has the same grades"))
    measures = _comparable(before, after, graded, rules, notes)
    factual = [q for q in factual if q in set(graded)]
    tested = _tested(before, after, measures, graded, factual, rules)
    moved = [_moved(before.queries[q], after.queries[q], rules, measures) for q in graded]
    return CellComparison(
        name,
        "compared",
        tuple(notes),
        tuple(tested),
        tuple(sorted(filter(None, moved), key=lambda m: (not m.severe, m.change, m.after.id))),
    )


def _renamed(
    cell: Cell | None, other_side: Mapping[str, Cell], own_side: Mapping[str, Cell], verb: str
) -> tuple[str, ...]:
    """A cell of the other side that this one lacks, made from the same corpus and queries."""
    if cell is None:
        return ()
    retriever = cell.name.partition("/")[2]
    for name, other in other_side.items():
        same = all(
            cell.inputs.get(key) == other.inputs.get(key) for key in ("corpus", "query_file")
        )
        if same and name not in own_side and name.partition("/")[2] == retriever:
            return (f"{verb} {name}: the same corpus and query file under another name",)
    return ()


def _settings(before: Cell, after: Cell, allow_corpus_change: bool) -> tuple[list[str], bool]:
    """What differs between the cells' inputs, and whether that bars a comparison."""
    notes, barred = [], False
    if before.inputs.get("corpus") != after.inputs.get("corpus"):
        notes.append(
            "the corpus changed, so a difference may be the repo's, not the retriever's"
            + ("" if allow_corpus_change else "; --allow-corpus-change compares all the same")
        )
        barred = not allow_corpus_change
    skips = before.inputs.get("ungraded") == "skip"
    if skips and before.inputs.get("query_file") != after.inputs.get("query_file"):
        notes.append("with ungraded: skip every grade counts, and the query file changed")
        barred = True
    for key in ("relevant_grade", "ungraded"):
        if before.inputs.get(key) != after.inputs.get(key):
            notes.append(f"{key} was {before.inputs.get(key)}, is {after.inputs.get(key)}")
            barred = True
    return notes, barred


def _ground_truth(
    before: Cell,
    after: Cell,
    common: Sequence[str],
    graded: Sequence[str],
    factual: Sequence[str],
) -> list[str]:
    notes = []
    counts = {
        "new": len(after.queries.keys() - before.queries.keys()),
        "gone": len(before.queries.keys() - after.queries.keys()),
        "with another question or grades": len(common) - len(graded),
    }
    changed = [f"{count} {what}" for what, count in counts.items() if count]
    if changed:
        notes.append(
            f"the ground truth changed ({', '.join(changed)}): {len(graded)} queries are compared"
        )
    if len(factual) < len(common):
        notes.append(
            f"{len(common) - len(factual)} queries have other facts: left out of the fact measures"
        )
    return notes


def _comparable(
    before: Cell, after: Cell, queries: Sequence[str], rules: CompareSettings, notes: list[str]
) -> list[str]:
    """The tested measures that both sides have and that mean the same on both."""
    measures = []
    for name in rules.measures:
        known = sum(name in side.queries[q].values for side in (before, after) for q in queries)
        if known == 2 * len(queries):
            measures.append(name)
        elif known:
            notes.append(f"{name} is not compared: not every query has it before and after")
    if before.inputs.get("k") != after.inputs.get("k"):
        notes.append(
            f"k was {before.inputs.get('k')}, is {after.inputs.get('k')}: "
            f"{' and '.join(_OF_DEPTH)} and the contexts are of other depths, and not compared"
        )
        measures = [name for name in measures if name not in (*_OF_DEPTH, *FACT_METRICS)]
    if before.inputs.get("judge") != after.inputs.get("judge"):
        notes.append(
            f"the judge was {before.inputs.get('judge')}, is {after.inputs.get('judge')}: "
            "fact measures are not compared"
        )
        measures = [name for name in measures if name not in FACT_METRICS]
    return measures


def _tested(
    before: Cell,
    after: Cell,
    measures: Sequence[str],
    graded: Sequence[str],
    factual: Sequence[str],
    rules: CompareSettings,
) -> list[Tested]:
    """The measures' differences; p and verdict come when all tests of the comparison are known."""
    tested: dict[str, Tested] = {}
    for queries, wanted in (
        (graded, [name for name in measures if name not in FACT_METRICS]),
        (factual, [name for name in measures if name in FACT_METRICS]),
    ):
        if not queries or not wanted:
            continue
        sides = [
            np.array([[side.queries[q].values[name] for name in wanted] for q in queries])
            for side in (before, after)
        ]
        found = differences(*sides, resamples=rules.resamples, confidence=rules.confidence)
        tested |= {
            name: Tested(name, difference, 1.0, None, "")
            for name, difference in zip(wanted, found, strict=True)
        }
    return [tested[name] for name in measures if name in tested]


def _moved(
    before: Answered, after: Answered, rules: CompareSettings, measures: Sequence[str]
) -> Moved | None:
    """What changed for a query; None when no measure and no fact did, whatever the order."""
    changes = {name: after.values[name] - before.values[name] for name in measures}
    gained, lost = _facts(before, after), _facts(after, before)
    severe = _severe(before, after, rules)
    if not (any(changes.values()) or gained or lost or severe):
        return None
    measure = max(changes, key=lambda name: abs(changes[name]), default="")
    return Moved(
        before=before,
        after=after,
        measure=measure,
        change=changes.get(measure, 0.0),
        severe=severe,
        entered=tuple(module for module in after.ranking if module not in before.ranking),
        left=tuple(module for module in before.ranking if module not in after.ranking),
        gained=gained,
        lost=lost,
    )


def _facts(one: Answered, other: Answered) -> tuple[str, ...]:
    """Facts that are supported in `other` and not in `one`, of those that both know."""
    return tuple(
        fact for fact, held in other.supported.items() if held and one.supported.get(fact) is False
    )


def _severe(before: Answered, after: Answered, rules: CompareSettings) -> str:
    """Why a query's change is severe by itself, whatever the means say."""
    if before.values.get("hit_rate") and not after.values.get("hit_rate"):
        return "lost its last relevant module"
    lost = [
        module
        for module in before.ranking
        if before.ranking[module] == ESSENTIAL and module in after.missing
    ]
    if lost:
        return f"lost its essential module {lost[0]}"
    name = rules.drop_measure
    if name in before.values and name in after.values:
        drop = before.values[name] - after.values[name]
        if drop >= rules.drop:
            return f"{name} fell by {drop:.2f}"
    return ""


def _decide(cells: Sequence[CellComparison], rules: CompareSettings) -> list[CellComparison]:
    """Holm's adjustment over all tests of all cells, and each test's verdict.

    A measure that moved on no query can never be rejected, so it is no test that others would
    have to be adjusted for: R. E. Tarone, "A Modified Bonferroni Method for Discrete Data",
    Biometrics 46 (1990).
    """
    tests = [one for cell in cells for one in cell.tested if one.moved]
    adjusted = iter(holm([one.difference.p for one in tests]))
    alpha = 1 - rules.confidence
    decided = []
    for cell in cells:
        tested = []
        for one in cell.tested:
            d = one.difference
            p = next(adjusted) if one.moved else 1.0
            verdict = ""
            if p <= alpha and d.high < -rules.tolerance:
                verdict = "regression"
            elif p <= alpha and d.low > rules.tolerance:
                verdict = "improvement"
            detectable = d.detectable(alpha / max(len(tests), 1))
            tested.append(replace(one, p=p, detectable=detectable, verdict=verdict))
        decided.append(replace(cell, tested=tuple(tested)))
    return decided


def as_json(cells: Sequence[CellComparison]) -> list[dict[str, Any]]:
    """The comparison for programs: numbers of six decimals, every query that moved."""
    return [
        {
            "cell": cell.name,
            "status": cell.status,
            "notes": list(cell.notes),
            "measures": [_test_record(one) for one in cell.tested],
            "moved": [_moved_record(query) for query in cell.moved],
        }
        for cell in cells
    ]


def _test_record(one: Tested) -> dict[str, Any]:
    d = one.difference
    numbers = {
        "before": d.before,
        "after": d.after,
        "difference": d.mean,
        "low": d.low,
        "high": d.high,
        "p": d.p,
        "p_holm": one.p,
        "effect_size": d.effect_size,
        "detectable": one.detectable,
    }
    return {
        "measure": one.measure,
        "queries": d.queries,
        **{name: None if v is None else round(v, 6) for name, v in numbers.items()},
        "wins": d.wins,
        "ties": d.ties,
        "losses": d.losses,
        "verdict": one.verdict,
    }


def _moved_record(query: Moved) -> dict[str, Any]:
    return {
        "id": query.after.id,
        "question": query.after.question,
        "measure": query.measure,
        "change": round(query.change, 6),
        "severe": query.severe,
        "diagnosis": [query.before.diagnosis, query.after.diagnosis],
        "before": list(query.before.ranking),
        "after": list(query.after.ranking),
        "entered": list(query.entered),
        "left": list(query.left),
        "facts_gained": list(query.gained),
        "facts_lost": list(query.lost),
    }
