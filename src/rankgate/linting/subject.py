"""What the rules look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rankgate.errors import one_line
from rankgate.linting.findings import Finding
from rankgate.queries import Query, QuerySet
from rankgate.trees import Tree


@dataclass(frozen=True)
class Subject:
    """A query file with what is at hand to hold it against.

    Attributes:
        name: the file, as the user gave it.
        tree: the corpus, or None.
        pool: query id → the modules that retrievers returned.
        floors: measure → floor, of the rates that gates bound.
    """

    name: str
    queries: QuerySet
    tree: Tree | None = None
    pool: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    relevant_grade: int = 1
    floors: Mapping[str, float] = field(default_factory=dict)

    def finding(
        self, code: str, query: Query | None, field: str, text: str, fix: str = ""
    ) -> Finding:
        where = f"{self.name}: query {quoted(query.id)}" if query else self.name
        return Finding(
            code, self.name, where, query.id if query else "", field, one_line(text, 500), fix
        )


def quoted(text: str) -> str:
    """A text in quotes, its control characters escaped, shortened."""
    shown = repr(text)
    return shown if len(shown) <= 100 else f"{shown[:99]}…"
