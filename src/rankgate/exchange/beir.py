"""BEIR: corpus.jsonl, queries.jsonl and qrels/<split>.tsv (Thakur et al. 2021, NeurIPS).

MTEB's sets on disk are the same but for qrels/<split>.jsonl, and files that may be folders of
parts; both are read here.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rankgate.errors import InputError, one_line
from rankgate.exchange.collection import Collection, Document, Problems, grade_of
from rankgate.files import dump_json_lines, read_json_lines, read_text, write_text

_HEAD = ("query-id", "corpus-id", "score")


def read_beir(folder: Path, split: str) -> Collection:
    """A BEIR or MTEB folder; the questions of other splits are left out.

    Raises:
        InputError: a file is missing or malformed; with the lines.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    problems = Problems(folder)
    documents, questions = [], {}
    for where, value in _rows(folder, "corpus"):
        name, text = _id(value, where, problems), value.get("text")
        title = "" if value.get("title") is None else value["title"]
        if not isinstance(text, str) or not isinstance(title, str):
            problems.add(f"{where}: expected strings as text and title")
        else:
            documents.append(Document(name, title, text))
    for where, value in _rows(folder, "queries"):
        name, text = _id(value, where, problems), value.get("text")
        if not isinstance(text, str):
            problems.add(f"{where}: text: expected a string")
        elif name in questions:
            problems.add(f"{where}: query {one_line(name, 60)!r} stands there twice")
        else:
            questions[name] = text
    grades: dict[str, dict[str, int]] = {}
    for where, (query, document, score) in _qrels(folder, split, problems):
        grade = grade_of(score)
        if grade is None:
            problems.add(f"{where}: score: expected an integer, got {one_line(score, 40)}")
        elif document in grades.setdefault(query, {}):
            problems.add(f"{where}: {one_line(query, 60)}, {one_line(document, 60)} twice")
        else:
            grades[query][document] = grade
    problems.finish()
    asked = {name: text for name, text in questions.items() if name in grades}
    if unknown := [name for name in grades if name not in questions]:
        raise InputError(
            f"{folder}: qrels of {split} have {len(unknown)} queries that queries.jsonl lacks: "
            f"{one_line(', '.join(unknown[:3]), 120)}"
        )
    return Collection(tuple(documents), asked, grades)


def _rows(folder: Path, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of name.jsonl, or of the parts in a folder of that name."""
    paths = [folder / f"{name}.jsonl"]
    if not paths[0].exists() and (parts := sorted((folder / name).glob("*.jsonl"))):
        paths = parts
    for path in paths:
        for number, value in read_json_lines(path):
            if not isinstance(value, dict):
                raise InputError(f"{path}:{number}: expected an object")
            yield f"{path}:{number}", value


def _id(value: dict[str, Any], where: str, problems: Problems) -> str:
    found = value.get("_id", value.get("id"))
    if type(found) is int:
        return str(found)
    if not isinstance(found, str) or not found:
        problems.add(f"{where}: _id: expected a string")
        return ""
    return found


def _qrels(
    folder: Path, split: str, problems: Problems
) -> Iterator[tuple[str, tuple[str, str, Any]]]:
    """Query, document and score of every line."""
    table, lines = (folder / "qrels" / f"{split}.{end}" for end in ("tsv", "jsonl"))
    if lines.is_file() and not table.exists():
        for number, value in read_json_lines(lines):
            where = f"{lines}:{number}"
            if not isinstance(value, dict) or not set(_HEAD) <= value.keys():
                raise InputError(f"{where}: expected an object with {', '.join(_HEAD)}")
            query, document, score = (value[key] for key in _HEAD)
            yield where, (_text(query), _text(document), score)
        return
    if not table.is_file():
        there = sorted(
            p.stem for p in (folder / "qrels").glob("*") if p.suffix in (".tsv", ".jsonl")
        )
        raise InputError(
            f"{folder}: no qrels/{one_line(split, 40)}.tsv or .jsonl; splits there are: "
            f"{one_line(', '.join(there)) or 'none'}"
        )
    reader = csv.reader(io.StringIO(read_text(table), newline=""), delimiter="\t")
    try:
        for number, row in enumerate(reader, start=1):
            if number == 1 and grade_of(row[-1] if row else "") is None:
                continue  # the head
            if not row:
                continue
            if len(row) != 3:
                problems.add(f"{table}:{number}: expected 3 columns, got {len(row)}")
                continue
            yield f"{table}:{number}", (row[0], row[1], row[2])
    except csv.Error as error:
        raise InputError(f"{table}:{reader.line_num}: not usable: {one_line(error)}") from None


def _text(value: Any) -> str:
    return str(value) if type(value) is int else value if isinstance(value, str) else ""


def write_beir(folder: Path, collection: Collection, split: str) -> None:
    """A folder as BEIR's GenericDataLoader reads it."""
    _write_texts(folder, collection)
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(_HEAD)
    writer.writerows(
        (query, document, grade)
        for query, graded in collection.grades.items()
        for document, grade in graded.items()
    )
    write_text(folder / "qrels" / f"{split}.tsv", out.getvalue())


def write_mteb(folder: Path, collection: Collection, split: str) -> None:
    """A folder as MTEB's sets are on disk, with a card by which `datasets` loads its parts."""
    _write_texts(folder, collection)
    rows = (
        dict(zip(_HEAD, (query, document, grade), strict=True))
        for query, graded in collection.grades.items()
        for document, grade in graded.items()
    )
    write_text(folder / "qrels" / f"{split}.jsonl", dump_json_lines(rows))
    parts = (
        ("default", split, f"qrels/{split}.jsonl"),
        ("corpus", "corpus", "corpus.jsonl"),
        ("queries", "queries", "queries.jsonl"),
    )
    card = "".join(
        f"- config_name: {name}\n  data_files:\n  - split: {part}\n    path: {path}\n"
        for name, part, path in parts
    )
    write_text(folder / "README.md", f"---\nconfigs:\n{card}---\n")


def _write_texts(folder: Path, collection: Collection) -> None:
    write_text(
        folder / "corpus.jsonl",
        dump_json_lines(
            {"_id": document.id, "title": document.title, "text": document.text}
            for document in collection.documents
        ),
    )
    write_text(
        folder / "queries.jsonl",
        dump_json_lines({"_id": name, "text": text} for name, text in collection.questions.items()),
    )
