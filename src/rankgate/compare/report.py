"""A comparison in Markdown: the verdict first, then what moved; fit for a pull request."""

from collections.abc import Mapping, Sequence

from rankgate import markdown
from rankgate.compare.cells import Answered
from rankgate.compare.comparison import CellComparison, Moved, Tested
from rankgate.markdown import code, number, table

MAX_BYTES = 60_000  # GitHub takes 65,536 characters in a comment
_ROWS = 40
_QUERIES = 30
_NOTES = 20
_FEW = 5


def comparison_report(
    cells: Sequence[CellComparison], before: str, after: str, confidence: float
) -> str:
    """The whole comparison; of many queries that moved the worst, in at most 60 kB.

    Args:
        before, after: what is compared, such as `main (1a2b3c4)` and `workspace`.
        confidence: of the intervals.
    """
    tests = [(cell, one) for cell in cells for one in cell.tested]
    moved = [(cell, one) for cell, one in tests if one.moved]
    head = [f"**{verdict_line(cells)}**", _what(cells, before, after)]
    if moved:
        moved.sort(key=lambda pair: (_ORDER[pair[1].verdict], pair[1].p, pair[1].difference.mean))
        head += [_table(moved[:_ROWS], confidence)]
        if moved[_ROWS:]:
            head.append(f"{len(moved) - _ROWS} more measures moved, none of them more clearly.")
    if still := len(tests) - len(moved):
        head.append(f"{still} of {len(tests)} measures did not move.")
    notes = [f"- {code(cell.name)}: {escape(note)}" for cell in cells for note in _notes(cell)]
    if notes:
        more = [f"- … and {len(notes) - _NOTES} more"] if notes[_NOTES:] else []
        head.append("\n".join([*notes[:_NOTES], *more]))
    parts = _within(head, [_details(cell) for cell in cells if cell.moved])
    return "\n\n".join([*parts, _explanation(tests, confidence)]) + "\n"


_ORDER = {"regression": 0, "improvement": 1, "": 2}


def verdict_line(cells: Sequence[CellComparison]) -> str:
    """The verdict in one line."""
    regressions = sum(len(cell.regressions) for cell in cells)
    severe = sum(len(cell.severe) for cell in cells)
    improvements = sum(len(cell.improvements) for cell in cells)
    compared = [cell for cell in cells if cell.status == "compared"]
    if not compared:
        return "No verdict: nothing can be compared"
    found = [
        f"{regressions} {_plural(regressions, 'measure')} fell" if regressions else "",
        f"{severe} {_plural(severe, 'query', 'queries')} broke" if severe else "",
        f"{improvements} {_plural(improvements, 'measure')} rose" if improvements else "",
    ]
    said = ", ".join(filter(None, found))
    if regressions or severe:
        return f"Regression: {said}"
    if improvements:
        return f"Improvement: {said}"
    if any(cell.moved for cell in compared):
        return "No regression: what moved is within noise"
    return "No change"


def escape(text: str) -> str:
    """As in any report, and a code host notifies nobody of whom a question names."""
    return markdown.escape(text).replace("@", "@<!-- -->")


def _plural(count: int, one: str, many: str = "") -> str:
    return one if count == 1 else many or f"{one}s"


def _what(cells: Sequence[CellComparison], before: str, after: str) -> str:
    counts: dict[str, int] = {}
    for cell in cells:
        counts[cell.status] = counts.get(cell.status, 0) + 1
    cellular = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return f"{escape(before)} → {escape(after)}; cells: {cellular}."


def _notes(cell: CellComparison) -> Sequence[str]:
    if cell.status in ("new", "gone"):
        return [f"{cell.status}{f', {cell.notes[0]}' if cell.notes else ''}"]
    return cell.notes


def _table(tests: Sequence[tuple[CellComparison, Tested]], confidence: float) -> str:
    head = [
        "cell",
        "measure",
        "before",
        "after",
        f"difference ({confidence:.0%} interval)",
        "p (Holm)",
        "better / same / worse",
        "verdict",
    ]
    rows = []
    for cell, one in tests:
        d = one.difference
        rows.append(
            [
                code(cell.name),
                one.measure,
                number(d.before),
                number(d.after),
                f"{d.mean:+.3f} ({d.low:+.3f} … {d.high:+.3f})",
                f"{one.p:.3f}" if one.p >= 0.001 else "< 0.001",
                f"{d.wins} / {d.ties} / {d.losses}",
                f"**{one.verdict}**" if one.verdict else "noise",
            ]
        )
    return table(head, rows)


def _details(cell: CellComparison) -> list[str]:
    """A folded block: its opening, a part a query, its end."""
    severe = len(cell.severe)
    shown = cell.moved[:_QUERIES]
    queries = _plural(len(cell.moved), "query", "queries")
    summary = f"{escape(cell.name)}: {len(cell.moved)} {queries} moved"
    summary += f", {severe} severely" if severe else ""
    end = [f"… and {len(cell.moved) - _QUERIES} more; `--json` has them all."]
    return [
        f"<details><summary>{summary}</summary>",
        *(_query(query) for query in shown),
        *(end if cell.moved[_QUERIES:] else []),
        "</details>",
    ]


def _query(query: Moved) -> str:
    lines = [f"**{escape(query.after.id)}** — {escape(_shortened(query.after.question))}", ""]
    change = f"{query.measure} {query.change:+.3f}; " if query.change else ""
    lines.append(f"- {change}{escape(query.before.diagnosis)} → {escape(query.after.diagnosis)}")
    if query.severe:
        lines.append(f"- severe: {escape(query.severe)}")
    lines.append(f"- before: {_ranking(query.before)}")
    lines.append(f"- after: {_ranking(query.after)}")
    for what, names in (("entered", query.entered), ("left", query.left)):
        if names:
            lines.append(f"- {what}: {', '.join(code(name) for name in names[:_FEW])}")
    for what, facts in (("facts gained", query.gained), ("facts lost", query.lost)):
        if facts:
            lines.append(f"- {what}: {'; '.join(escape(_shortened(fact)) for fact in facts)}")
    return "\n".join(lines)


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}…"


def _ranking(side: Answered) -> str:
    shown = [
        f"{code(module)} ({'—' if grade is None else grade})"
        for module, grade in list(side.ranking.items())[:_FEW]
    ]
    return " · ".join(shown) + (" · …" if len(side.ranking) > _FEW else "") or "nothing"


def _within(head: Sequence[str], blocks: Sequence[Sequence[str]]) -> list[str]:
    """Head and blocks as far as they fit, a block never left open; what is left out is said."""
    parts = list(head)
    room = MAX_BYTES - 2000 - sum(len(part.encode()) + 2 for part in parts)
    for position, block in enumerate(blocks):
        opening, *queries, end = block
        kept = [opening]
        room -= len(opening.encode()) + len(end) + 4
        for query in queries:
            room -= len(query.encode()) + 2
            if room < 0:
                break
            kept.append(query)
        if len(kept) > 1:
            parts += [*kept, end]
        if room < 0:
            left = len(blocks) - position
            parts.append(
                f"Cut here, {left} {_plural(left, 'cell')} not shown whole; `--json` has all."
            )
            break
    return parts


def _explanation(tests: Sequence[tuple[CellComparison, Tested]], confidence: float) -> str:
    """What the numbers are, and what a set of this size could have found at all."""
    found: Mapping[str, float] = {
        f"{cell.name} {one.measure}": one.detectable for cell, one in tests if one.detectable
    }
    power = ""
    if found:
        values = sorted(found.values())
        power = (
            " With a power of 80 % these queries show differences of "
            f"{values[0]:.3f} to {values[-1]:.3f} or more."
        )
    return (
        f"{len(tests)} tests: paired randomisation, adjusted by Holm for those that moved; BCa "
        f"bootstrap intervals of {confidence:.0%}.{power}"
    )
