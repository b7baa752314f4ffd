"""A test collection as every format has it: documents, questions, grades."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankgate.errors import InputError, one_line
from rankgate.queries import GRADES

MAX_PROBLEMS = 20


@dataclass(frozen=True)
class Document:
    """A document; most formats keep its title apart from its text."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Collection:
    """Documents, questions and grades of one split.

    Attributes:
        questions: query id → its text, in the file's order.
        grades: query id → document id → grade, as the file has it.
    """

    documents: tuple[Document, ...]
    questions: Mapping[str, str]
    grades: Mapping[str, Mapping[str, int]]


class Problems:
    """Problems of a file, of which the first are told and the others counted."""

    def __init__(self, where: object) -> None:
        self.where = where
        self.found: list[str] = []

    def add(self, text: str) -> None:
        self.found.append(text)

    def finish(self) -> None:
        """Raises InputError when there are any."""
        more = len(self.found) - MAX_PROBLEMS
        if more > 0:
            last = f"{self.where}: and {more} more problems like these"
            raise InputError([*self.found[:MAX_PROBLEMS], last])
        if self.found:
            raise InputError(self.found)


def grade_of(value: Any) -> int | None:
    """A grade in a foreign file: an integer, or text or a float that is one; None for others."""
    if isinstance(value, str):
        try:
            value = float(value) if "." in value else int(value)
        except ValueError:
            return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int else None


def sound_grade(grade: int, where: str, problems: Problems, clip: bool) -> int:
    """A foreign grade as one of ours: negative ones (spam, junk) are 0, those above 3 refused.

    Args:
        clip: make those above 3 a 3 instead.
    """
    top = GRADES[-1]
    if grade > top and not clip:
        problems.add(f"{where}: grade {one_line(grade, 20)} is above {top}; --clip makes it {top}")
    return max(0, min(grade, top))
