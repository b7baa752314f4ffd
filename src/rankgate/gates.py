"""Gates: named floors under the metrics of a cell."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rankgate.config import Bound, Floor, load_gate
from rankgate.errors import InputError
from rankgate.files import read_json
from rankgate.markdown import escape
from rankgate.metrics import cutoffs_of

SYMBOLS: Mapping[Bound, str] = {"min": "≥", "max": "≤", "above": ">"}


@dataclass(frozen=True)
class Gate:
    """One floor, checked.

    Attributes:
        value: the worst of the numbers that the floor bounds; None when there is none.
        why: what failed, or empty.
        queries: the ids of the queries at fault, the worst first.
    """

    name: str
    measure: str
    value: float | None
    rule: Bound
    bound: float
    passed: bool
    why: str
    queries: tuple[str, ...]

    def line(self) -> str:
        """The gate in one line, for people."""
        value = "none" if self.value is None else f"{self.value:g}"
        verdict = "pass" if self.passed else "FAIL"
        line = f"{verdict}  {self.name}: {self.measure} = {value}, floor {SYMBOLS[self.rule]} "
        line += f"{self.bound:g}"
        return f"{line} — {self.why}" if self.why else line


def check(
    floors: Sequence[Floor], metrics: Mapping[str, Any], queries: Sequence[Mapping[str, Any]]
) -> list[Gate]:
    """Every floor against a cell's metrics.json and the records of its queries.json."""
    return [_check(floor, metrics, queries) for floor in floors]


def passed(bound: Bound, value: object, limit: float) -> bool:
    """Whether a value keeps a bound; what is no finite number never does."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    if bound == "min":
        return value >= limit
    return value <= limit if bound == "max" else value > limit


def _check(floor: Floor, metrics: Mapping[str, Any], queries: Sequence[Mapping[str, Any]]) -> Gate:
    scope, _, metric = floor.measure.rpartition(".")
    values = _values(scope, metric, metrics, queries)
    broken = {name: v for name, v in values.items() if not passed(floor.bound, v, floor.value)}
    ok = bool(values) and not broken
    at_fault = [] if ok else _at_fault(floor, scope, metric, broken, queries)
    return Gate(
        name=floor.name,
        measure=floor.measure,
        value=_worst(floor.bound, values.values()),
        rule=floor.bound,
        bound=floor.value,
        passed=ok,
        why="" if ok else _why(floor, scope, broken, bool(values), at_fault),
        queries=tuple(at_fault),
    )


def _values(
    scope: str, metric: str, metrics: Mapping[str, Any], queries: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """What a floor bounds, by name: the cell's metric, a shape's, each shape's or each query's."""
    if scope == "query.*":
        return {query["id"]: query["measures"].get(metric) for query in queries}
    shapes = metrics.get("shape", {})
    if scope == "shape.*":
        return {shape: values.get(metric) for shape, values in shapes.items()}
    if scope:
        shape = scope.partition(".")[2]
        return {shape: shapes[shape].get(metric)} if shape in shapes else {}
    return {"": metrics.get(metric)}


def _worst(bound: Bound, values: Any) -> float | None:
    known = [v for v in values if isinstance(v, int | float) and math.isfinite(v)]
    if not known:
        return None
    return max(known) if bound == "max" else min(known)


def _at_fault(
    floor: Floor,
    scope: str,
    metric: str,
    broken: Mapping[str, Any],
    queries: Sequence[Mapping[str, Any]],
) -> list[str]:
    """The queries that alone would break the floor, the worst first."""
    if scope == "query.*":
        return sorted(broken)
    worst_last = floor.bound == "max"
    at_fault = [
        (value, query["id"])
        for query in queries
        if (not scope or query["shape"] in broken)
        and (value := query["measures"].get(metric)) is not None
        and not passed(floor.bound, value, floor.value)
    ]
    at_fault.sort(key=lambda pair: (-pair[0] if worst_last else pair[0], pair[1]))
    return [name for _, name in at_fault]


def _why(
    floor: Floor, scope: str, broken: Mapping[str, Any], any_value: bool, at_fault: Sequence[str]
) -> str:
    if not any_value:
        return f"there is no {floor.measure}"
    shown = ", ".join(at_fault[:10]) + (f" and {len(at_fault) - 10} more" if at_fault[10:] else "")
    names = [name for name in broken if scope.startswith("shape.")]
    parts = [f"shape {', '.join(names)}"] if names else []
    if all(value is None for value in broken.values()):
        parts.append("the number is missing")
    if shown:
        parts.append(f"queries {shown}")
    return "; ".join(parts) or "below the floor"


def verdict(gates: Sequence[Gate]) -> dict[str, Any]:
    """What verdicts/<repo>/<retriever>.json holds."""
    return {
        "passed": all(gate.passed for gate in gates),
        "gates": [asdict(gate) | {"queries": list(gate.queries)} for gate in gates],
    }


def gates_report(name: str, gates: Sequence[Gate]) -> str:
    """A cell's gates in Markdown, the failed ones first."""
    failed = [gate for gate in gates if not gate.passed]
    head = f"{len(failed)} of {len(gates)} gates failed" if failed else f"{len(gates)} gates passed"
    lines = [f"- {escape(gate.line())}" for gate in sorted(gates, key=lambda gate: gate.passed)]
    return "\n".join([f"## Gates of {escape(name)}: {head}", "", *lines]) + "\n"


def assert_gates(results: Path | str, gate: Path | str, repo: str | None = None) -> None:
    """Assert a cell's gates from any test suite.

    Args:
        results: the cell's folder, such as results/requests/bm25.
        gate: a gate file, such as conf/gate/conservative.yaml.
        repo: whose own floors apply; the name of the folder above, if not given.

    Raises:
        AssertionError: a gate failed; names gate, value, floor and queries.
        InputError: a file is missing or malformed.
    """
    folder = Path(results)
    metrics, queries = read_results(folder)
    floors = load_gate(Path(gate), cutoffs_of(metrics)).of(repo or folder.parent.name)
    failed = [g.line() for g in check(floors, metrics, queries) if not g.passed]
    if failed:
        raise AssertionError("\n".join([f"{folder}: {len(failed)} gates failed", *failed]))


def read_results(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A cell's metrics and the records of its queries."""
    metrics, queries = read_json(folder / "metrics.json"), read_json(folder / "queries.json")
    if not isinstance(metrics, dict) or not isinstance(queries, dict):
        raise InputError(f"{folder}: metrics.json and queries.json are not from rankgate")
    return metrics, queries["queries"]
