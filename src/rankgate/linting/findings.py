"""What `rankgate check` may find, by code."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]

# code → severity and what it means, as docs/query-files.md lists it.
CODES: Mapping[str, tuple[Severity, str]] = {
    "Q001": ("error", "the file is no JSON, or no list of queries"),
    "Q002": ("error", "a key is given twice"),
    "Q003": ("error", "a field is missing or empty"),
    "Q004": ("error", "a value of the wrong kind, or text that is none"),
    "Q005": ("error", "two queries have one id"),
    "Q006": ("error", "a grade is no integer 0..3"),
    "Q007": ("error", "a module's path is not plain and relative"),
    "Q008": ("error", "no module is relevant"),
    "Q009": ("error", "a module of the corpus has no grade, with `ungraded: error`"),
    "Q010": ("error", "a shape that the file does not know, or whose name cannot be used"),
    "Q011": ("error", "the query has no gold fact"),
    "Q012": ("warning", "fewer than 2 or more than 4 gold facts"),
    "Q013": ("warning", "an unknown key"),
    "Q014": ("error", "an alias or provenance of nothing in the query"),
    "Q015": ("error", "provenance that is not `module:first-last`"),
    "Q016": ("error", "an entry of a list stands there twice"),
    "Q017": ("warning", "blanks around a text"),
    "Q018": ("warning", "`allow` has a code that cannot be allowed"),
    "Q101": ("error", "a module that the corpus does not have; says where it may have gone"),
    "Q102": ("warning", "provenance in a module that the corpus does not have"),
    "Q103": ("warning", "provenance beyond the module's last line"),
    "Q104": ("warning", "a module's provenance that stands in another module"),
    "Q201": ("warning", "grades that contradict the shape"),
    "Q202": ("info", "a module of grade 2 or 3 without provenance"),
    "Q203": ("warning", "modules that a retriever returned have no grade"),
    "Q301": ("warning", "the question names the file that answers it"),
    "Q302": ("warning", "the question names a symbol that an essential module defines"),
    "Q303": ("warning", "two questions are nearly the same"),
    "Q401": ("warning", "a fact that no relevant module seems to support"),
    "Q402": ("warning", "a fact without a letter a-z or a digit: the judge n15 never counts it"),
    "Q403": ("warning", "a fact's provenance in modules that are not relevant"),
    "Q501": ("info", "so few queries that a floor says little"),
}
ERRORS = frozenset(code for code, (severity, _) in CODES.items() if severity == "error")


@dataclass(frozen=True)
class Finding:
    """Something that a query file's author should know.

    Attributes:
        file: as the user gave it.
        where: the file and the query, as people read it.
        query: the query's id; empty for the file as a whole.
        field: the field, or empty.
        fix: what `--fix` would do about it, or empty.
    """

    code: str
    file: str
    where: str
    query: str
    field: str
    text: str
    fix: str = ""

    @property
    def severity(self) -> Severity:
        return CODES[self.code][0]

    def line(self) -> str:
        """The finding in one line; the code follows where it can be ignored."""
        line = ": ".join(part for part in (self.where, self.field, self.text) if part)
        return line if self.severity == "error" else f"{line} [{self.code}]"

    def record(self) -> dict[str, str]:
        """What `check --json` has of it."""
        return {
            "code": self.code,
            "severity": self.severity,
            "file": self.file,
            "query": self.query,
            "field": self.field,
            "message": self.text,
            "fix": self.fix,
        }
