"""Rules on the ground truth as a whole: do grades fit shapes, are there queries enough?"""

import math
from collections import Counter
from collections.abc import Iterator

from rankgate.linting.findings import CODES, ERRORS, Finding
from rankgate.linting.subject import Subject, quoted
from rankgate.queries import Query

# 95 % of a normal distribution.
_Z = 1.959963984540054
# An interval wider than this tells a good system from a bad one only.
_WIDE = 0.2
_USUAL_FLOOR = 0.8


def shape_fits(subject: Subject, query: Query) -> Iterator[Finding]:
    """Q201: focused has one essential module, cross-file two relevant ones, identity one or two."""
    essential = sum(grade == 3 for grade in query.grades.values())
    relevant = sum(grade >= 2 for grade in query.grades.values())
    text = ""
    if query.shape == "focused" and essential != 1:
        text = f"focused means that one module has grade 3; {essential} have"
    elif query.shape == "cross-file" and relevant < 2:
        text = f"cross-file means that two or more modules have grade 2 or 3; {relevant} have"
    elif query.shape == "identity" and essential not in (1, 2):
        text = f"identity means that one or two modules have grade 3; {essential} have"
    if text:
        yield subject.finding("Q201", query, "shape", text)


def blanks(subject: Subject, query: Query) -> Iterator[Finding]:
    """Q017: spaces that nobody sees, but that make two texts differ."""
    texts = {
        "question": query.question,
        **{f"gold_facts[{i}]": fact for i, fact in enumerate(query.facts)},
        **{f"tags[{i}]": tag for i, tag in enumerate(query.tags)},
    }
    for field, text in texts.items():
        if text != text.strip():
            found = f"blanks around the text: {quoted(text)}"
            yield subject.finding("Q017", query, field, found, fix="take the blanks away")
    if query.id != query.id.strip():  # results name it: no fix is safe
        yield subject.finding("Q017", query, "id", f"blanks around it: {quoted(query.id)}")


def allowed_codes(subject: Subject, query: Query) -> Iterator[Finding]:
    """Q018: codes that nothing has, or that are errors."""
    for i, code in enumerate(query.allow):
        if code not in CODES or code in ERRORS:
            text = f"no code of a warning or info: {quoted(code)}"
            yield subject.finding("Q018", query, f"allow[{i}]", text)


def wilson(rate: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a rate seen in `count` trials (Wilson, 1927, JASA 22:209).

    (p + z²/2n ± z·√(p(1 − p)/n + z²/4n²)) / (1 + z²/n)
    """
    middle = rate + _Z * _Z / (2 * count)
    spread = _Z * math.sqrt(rate * (1 - rate) / count + _Z * _Z / (4 * count * count))
    scale = 1 + _Z * _Z / count
    return (middle - spread) / scale, (middle + spread) / scale


def enough_for(rate: float) -> int:
    """How many queries it takes for an interval that is no wider than `_WIDE`."""
    count = 1
    while True:
        low, high = wilson(rate, count)
        if high - low <= _WIDE:
            return count
        count += 1


def few_queries(subject: Subject) -> Iterator[Finding]:
    """Q501: with few queries a rate's interval is so wide that most floors lie in it."""
    count = len(subject.queries.queries)
    floor = subject.floors.get("hit_rate", _USUAL_FLOOR)
    needed = enough_for(floor)
    if not 0 < count < needed:
        return
    low, high = (_rate(bound) for bound in wilson(floor, count))
    text = (
        f"{count} queries: a hit rate of {floor:.2f} has a 95 % interval of {low}–{high}; "
        f"it takes {needed} for one of ±{_WIDE / 2:.2f}"
    )
    yield subject.finding("Q501", None, "queries", text)
    shapes = Counter(query.shape for query in subject.queries.queries)
    shape, fewest = min(shapes.items(), key=lambda item: (item[1], item[0]))
    if len(shapes) > 1:
        floor = subject.floors.get("shape.*.hit_rate", floor)
        low, high = (_rate(bound) for bound in wilson(floor, fewest))
        text = (
            f"shape {shape} has {fewest} queries: one of them is {1 / fewest:.2f} of its hit rate, "
            f"and {floor:.2f} has a 95 % interval of {low}–{high}"
        )
        yield subject.finding("Q501", None, "queries", text)


def _rate(value: float) -> str:
    return f"{value:.2f}".removeprefix("0") if value < 1 else f"{value:.2f}"
