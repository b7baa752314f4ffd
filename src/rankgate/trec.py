"""Runs in TREC's format: `query Q0 module rank score tag`, a line a module."""

import math
import re
from collections.abc import Iterable
from pathlib import Path

from rankgate.answers import Answer, Hit
from rankgate.errors import InputError, one_line
from rankgate.files import read_text

# Of `%`, of every character that str.isspace() knows, which is what TREC tools split at, and of
# the byte order mark, which is none of an id's characters where a file begins with it.
_WHITESPACE = [c for c in map(chr, range(0x10000)) if c.isspace()]
_CODES = {c: "".join(f"%{byte:02X}" for byte in c.encode()) for c in ("%", "\ufeff", *_WHITESPACE)}
_CHARACTERS = {code: c for c, code in _CODES.items()}
_RAW = re.compile(r"[%\s\ufeff]")
_CODED = re.compile("|".join(_CHARACTERS))


def encode(name: str) -> str:
    """An id without whitespace: whitespace and `%` become %XX of their UTF-8 bytes."""
    return _RAW.sub(lambda match: _CODES[match[0]], name)


def decode(name: str) -> str:
    """The inverse of `encode`; other escapes stay as they are."""
    return _CODED.sub(lambda match: _CHARACTERS[match[0]], name)


def format_run(answers: Iterable[Answer], tag: str) -> str:
    """A run whose scores fall strictly with the rank.

    trec_eval and its kin sort by score and break ties by name, so the retrievers' own scores,
    which may tie or not fall at all, would not give them our order.
    """
    lines = []
    for answer in answers:
        modules = answer.ranking()
        for rank, module in enumerate(modules, start=1):
            score = len(modules) - rank + 1
            lines.append(f"{encode(answer.query)} Q0 {encode(module)} {rank} {score} {tag}\n")
    return "".join(lines)


def read_run(path: Path) -> list[Answer]:
    """A TREC run, ranked by its rank column whatever the order of its lines or its scores.

    Lines of one rank stay in the file's order, and a module given twice counts once.

    Raises:
        InputError: a line that has not six columns, a rank that is no integer, a score that is
            not finite; the message names line, query and rank.
    """
    ranked: dict[str, list[tuple[int, Hit]]] = {}
    problems = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        columns = line.split()
        if not columns:
            continue
        if len(columns) != 6:
            problems.append(f"{path}:{number}: expected 6 columns, got {len(columns)}")
            continue
        query, _, module, rank, score, _ = columns
        where = f"{path}:{number}: query {query!r}, rank {one_line(rank, 20)}"
        if not re.fullmatch(r"[+-]?\d{1,18}", rank):
            problems.append(f"{where}: the rank is no integer")
        elif (value := _number(score)) is None:
            problems.append(f"{where}: the score is no number: {one_line(score, 40)}")
        elif not math.isfinite(value):
            problems.append(f"{where}: the score is not finite: {score}")
        else:
            ranked.setdefault(decode(query), []).append((int(rank), Hit(decode(module), value)))
    if problems:
        more = [f"{path}: and {len(problems) - 20} more lines like these"] if problems[20:] else []
        raise InputError([*problems[:20], *more])
    return [
        Answer(query, tuple(hit for _, hit in sorted(hits, key=lambda pair: pair[0])), None)
        for query, hits in ranked.items()
    ]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
