"""Gates: named floors under the metrics of a cell."""

import math
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeGuard

from rankgate.config import Bound, Floor, load_gate
from rankgate.errors import InputError
from rankgate.files import read_json
from rankgate.markdown import escape
from rankgate.metrics import cutoffs_of, is_metrics

SYMBOLS: Mapping[Bound, str] = {"min": "≥", "max": "≤", "above": ">"}


@dataclass(frozen=True)
class Gate:
    """One floor, checked.

    Attributes:
        value: the worst of the numbers that the floor bounds; None when one is missing.
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
        value = "none" if self.value is None else f"{self.value:.10g}"
        verdict = "pass" if self.passed else "FAIL"
        line = f"{verdict}  {self.name}: {self.measure} = {value}, floor {SYMBOLS[self.rule]} "
        line += f"{self.bound:.10g}"
        return f"{line} — {self.why}" if self.why else line


def check(
    floors: Sequence[Floor], metrics: Mapping[str, Any], queries: Sequence[Mapping[str, Any]]
) -> list[Gate]:
    """Every floor against a cell's metrics.json and the records of its queries.json."""
    return [_check(floor, metrics, queries) for floor in floors]


def passed(bound: Bound, value: object, limit: float) -> bool:
    """Whether a value keeps a bound; what is no finite number never does."""
    if not _is_number(value):
        return False
    if bound == "min":
        return value >= limit
    return value <= limit if bound == "max" else value > limit


def _is_number(value: object) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max  # isfinite() raises on a larger integer


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
        why="" if ok else _why(floor, scope, broken, at_fault),
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


def _worst(bound: Bound, values: Collection[Any]) -> float | None:
    """The worst of the numbers; None, if one of them is missing, for that is worse still."""
    numbers = [value for value in values if _is_number(value)]
    if not numbers or len(numbers) < len(values):
        return None
    return max(numbers) if bound == "max" else min(numbers)


def _at_fault(
    floor: Floor,
    scope: str,
    metric: str,
    broken: Mapping[str, Any],
    queries: Sequence[Mapping[str, Any]],
) -> list[str]:
    """The queries that alone would break the floor, the worst first."""
    if scope.startswith("shape."):
        queries = [query for query in queries if query["shape"] in broken]
    if metric == "failures":
        return sorted(query["id"] for query in queries if query["failure"])
    values = {q["id"]: q["measures"][metric] for q in queries if metric in q["measures"]}
    sign = -1 if floor.bound == "max" else 1
    at_fault = [
        (sign * value if _is_number(value) else -math.inf, name)
        for name, value in values.items()
        if not passed(floor.bound, value, floor.value)
    ]
    return [name for _, name in sorted(at_fault)]


def _why(floor: Floor, scope: str, broken: Mapping[str, Any], at_fault: Sequence[str]) -> str:
    if not broken:
        return f"there is no {floor.measure}"
    parts = []
    if scope.startswith("shape."):
        parts.append(f"shape {', '.join(broken)}")
    if not all(map(_is_number, broken.values())):
        parts.append("the number is missing")
    if at_fault:
        more = f" and {len(at_fault) - 10} more" if at_fault[10:] else ""
        parts.append(f"queries {', '.join(at_fault[:10])}{more}")
    return "; ".join(parts) or f"not {SYMBOLS[floor.bound]} {floor.value:.10g}"


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
        repo: whose own floors apply; the name of the folder above, if not given. The folder's
            own name is the retriever's.

    Raises:
        AssertionError: a gate failed; names gate, value, floor and queries.
        InputError: a file is missing or malformed.
    """
    folder = Path(results)
    metrics, queries = read_results(folder)
    cell = folder.resolve()
    floors = load_gate(Path(gate), cutoffs_of(metrics)).of(repo or cell.parent.name, cell.name)
    failed = [g.line() for g in check(floors, metrics, queries) if not g.passed]
    if failed:
        raise AssertionError("\n".join([f"{folder}: {len(failed)} gates failed", *failed]))


def read_results(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A cell's metrics and the records of its queries.

    Raises:
        InputError: a file is missing, or is not what the stage `score` writes.
    """
    metrics, queries = read_json(folder / "metrics.json"), read_json(folder / "queries.json")
    if not is_metrics(metrics):
        raise InputError(f"{folder}/metrics.json: not from rankgate's stage score")
    records = queries.get("queries") if isinstance(queries, dict) else None
    if not isinstance(records, list) or not all(map(_is_record, records)):
        raise InputError(f"{folder}/queries.json: not from rankgate's stage score")
    return metrics, records


def _is_record(value: object) -> bool:
    """Whether a query's record has what gates read."""
    return (
        isinstance(value, dict)
        and value.keys() >= {"shape", "failure"}
        and isinstance(value.get("id"), str)
        and isinstance(value.get("measures"), dict)
    )
