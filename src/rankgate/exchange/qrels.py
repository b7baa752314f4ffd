"""TREC's qrels: `query iteration document grade`, a line a grade; and topics beside them."""

import re
from collections.abc import Mapping
from pathlib import Path

from rankgate.errors import InputError, one_line
from rankgate.exchange.collection import Problems
from rankgate.files import read_json_lines, read_text
from rankgate.trec import decode, encode


def format_qrels(grades: Mapping[str, Mapping[str, int]]) -> str:
    """Grades as qrels; whitespace and `%` in ids are percent-encoded, as in our runs."""
    return "".join(
        f"{encode(query)} 0 {encode(document)} {grade}\n"
        for query, graded in grades.items()
        for document, grade in graded.items()
    )


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Query → document → grade.

    Raises:
        InputError: a line that has not four columns, a grade that is no integer, a document that
            is graded twice for a query.
    """
    problems = Problems(path)
    grades: dict[str, dict[str, int]] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        columns = line.split()
        if not columns:
            continue
        where = f"{path}:{number}"
        if len(columns) != 4:
            problems.add(f"{where}: expected 4 columns, got {len(columns)}")
            continue
        query, document = decode(columns[0]), decode(columns[2])
        if not re.fullmatch(r"[+-]?\d{1,9}", columns[3], re.ASCII):
            problems.add(f"{where}: the grade is no integer: {one_line(columns[3], 40)}")
        elif document in grades.setdefault(query, {}):
            problems.add(f"{where}: graded twice: {one_line(f'{query} {document}', 80)}")
        else:
            grades[query][document] = int(columns[3])
    problems.finish()
    if not grades:
        raise InputError(f"{path}: no grade in it")
    return grades


def read_topics(path: Path) -> dict[str, str]:
    """Query id → question, of lines `id<TAB>question` or of JSON lines with `_id` and `text`.

    Raises:
        InputError: a line is neither; an id stands there twice.
    """
    topics: dict[str, str] = {}
    rows: list[tuple[int, object, object]] = []
    if path.suffix == ".jsonl":
        for number, value in read_json_lines(path):
            found = value if isinstance(value, dict) else {}
            rows.append((number, found.get("_id", found.get("id")), found.get("text")))
    else:
        for number, line in enumerate(read_text(path).split("\n"), start=1):
            if line.strip():
                key, tab, text = line.rstrip("\r").partition("\t")
                rows.append((number, key.strip(), text if tab else None))
    for number, name, question in rows:
        if not isinstance(name, str) or not isinstance(question, str):
            kind = "an object with _id and text" if path.suffix == ".jsonl" else "id<TAB>question"
            raise InputError(f"{path}:{number}: expected {kind}")
        if name in topics:
            raise InputError(f"{path}:{number}: topic {one_line(name, 60)!r} stands there twice")
        topics[name] = question
    return topics
