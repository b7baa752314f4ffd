"""A cell's results as a comparison reads them: parsed once from its queries.json."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankgate.errors import InputError
from rankgate.files import parse_json


@dataclass(frozen=True)
class Answered:
    """One query with what came back.

    Attributes:
        grades, facts: digests of its grades and of its facts; where one differs between two
            results, the query's numbers are not comparable.
        values: measure → value, those that are known.
        ranking: the modules that came back, best first, each with its grade (None: ungraded).
        missing: relevant modules that did not come back, with their grades.
        supported: fact → whether the context supports it.
    """

    id: str
    question: str
    shape: str
    diagnosis: str
    grades: str
    facts: str
    values: Mapping[str, float]
    ranking: Mapping[str, int | None]
    missing: Mapping[str, int]
    supported: Mapping[str, bool]


@dataclass(frozen=True)
class Cell:
    """One repo with one retriever, as it was at some time.

    Attributes:
        inputs: what its numbers depend on, as queries.json has it.
        queries: by id, in the file's order.
    """

    name: str
    inputs: Mapping[str, Any]
    queries: Mapping[str, Answered]


def parse_cell(name: str, text: str, where: str) -> Cell:
    """Read a queries.json.

    Args:
        where: what errors name, such as `main:results/requests/bm25/queries.json`.

    Raises:
        InputError: it is not JSON, or not of a version that can be compared.
    """
    value = parse_json(text, where)
    try:
        queries = [_answered(record) for record in value["queries"]]
        cell = Cell(name, {**value["inputs"]}, {query.id: query for query in queries})
        if len(cell.queries) < len(queries):
            raise ValueError("an id twice")
        return cell
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise InputError(
            f"{where}: results of another version of rankgate, which cannot be compared; "
            "run `dvc repro` there and commit its results"
        ) from None


def _answered(record: Mapping[str, Any]) -> Answered:
    return Answered(
        id=_text(record["id"]),
        question=_text(record["question"]),
        shape=_text(record["shape"]),
        diagnosis=_text(record["diagnosis"]),
        grades=_text(record["ground_truth"]["grades"]),
        facts=_text(record["ground_truth"]["facts"]),
        values={k: _number(v) for k, v in record["measures"].items() if v is not None},
        ranking={
            _text(hit["module"]): None if hit["grade"] is None else _grade(hit["grade"])
            for hit in record["ranking"]
        },
        missing={_text(module["module"]): _grade(module["grade"]) for module in record["missing"]},
        supported={_text(fact["fact"]): fact["supported"] is True for fact in record["facts"]},
    )


def _text(value: Any) -> str:
    if not isinstance(value, str) or any("\ud800" <= c <= "\udfff" for c in value):
        raise TypeError("no text")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError("no finite number")
    return float(value)


def _grade(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("no grade")
    return value
