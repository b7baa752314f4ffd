"""Query files: questions with their ground truth, parsed once and checked whole."""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from rankgate.errors import InputError, one_line
from rankgate.files import JsonObject, decode, parse_json, read_bytes

SHAPES = ("focused", "cross-file", "identity")
Ungraded = Literal["error", "zero", "skip"]
UNGRADED: tuple[Ungraded, ...] = get_args(Ungraded)
GRADES = range(4)
ESSENTIAL, RELEVANT = 3, 2
_QUERY_KEYS = {
    "id",
    "question",
    "shape",
    "relevance_grades",
    "gold_facts",
    "fact_aliases",
    "tags",
    "provenance",
    "allow",
}
_FILE_KEYS = {"version", "description", "shapes", "facts", "queries"}
PLACE = re.compile(r"(.+):([0-9]{1,9})-([0-9]{1,9})")


@dataclass(frozen=True)
class Query:
    """A question with its ground truth.

    Attributes:
        grades: module path → 0..3.
        facts: gold facts, in the file's order.
        aliases: fact → other wordings of it that count as the fact.
        provenance: fact or module → where it stands, each as `module:first-last`.
        allow: codes of findings of `rankgate check` that are meant here.
    """

    id: str
    question: str
    shape: str
    grades: Mapping[str, int]
    facts: tuple[str, ...]
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    provenance: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    allow: tuple[str, ...] = ()

    def grades_digest(self) -> str:
        """Equal for an equal question with equal grades, in whatever order they stand.

        Grade 0 is left out: it counts as no grade does, but for `ungraded: skip`.
        """
        return _digest(self.question, sorted((m, g) for m, g in self.grades.items() if g))

    def facts_digest(self) -> str:
        """Equal for an equal question with equal facts and aliases."""
        aliases = {fact: self.aliases.get(fact, ()) for fact in self.facts}
        return _digest(self.question, list(aliases.items()))


@dataclass(frozen=True)
class Problem:
    """Something wrong or unusual in a query file.

    Attributes:
        code: what kind of thing, `Q…`; docs/query-files.md lists them.
        where: the file and the query, as people read it.
        query: the query's id, or empty.
        field: the query's or the file's field, or empty.
        module: the module that it is about, or empty.
    """

    code: str
    where: str
    query: str
    field: str
    text: str
    module: str = ""

    def line(self) -> str:
        """The problem in one line."""
        return ": ".join(part for part in (self.where, self.field, self.text) if part)


@dataclass(frozen=True)
class QuerySet:
    """The queries of one file.

    Attributes:
        sha256: of the file's bytes.
        warnings: a line for each thing that is allowed but unusual.
        has_facts: whether queries have gold facts; not those of a set with relevance grades only.
    """

    queries: tuple[Query, ...]
    shapes: tuple[str, ...]
    description: str
    sha256: str
    warnings: tuple[str, ...]
    has_facts: bool = True

    def qrels(self) -> dict[str, Mapping[str, int]]:
        """Query id → module → grade."""
        return {query.id: query.grades for query in self.queries}


def load_queries(
    path: Path,
    *,
    modules: Collection[str] | None = None,
    ungraded: Ungraded = "zero",
    relevant_grade: int = 1,
) -> QuerySet:
    """Read and check a query file; docs/query-files.md has the format.

    Args:
        modules: the corpus' module paths, when the grades are to be checked against a corpus.
        ungraded: with `error`, every module of the corpus needs a grade in every query.
        relevant_grade: the lowest grade that counts as relevant.

    Raises:
        InputError: with all problems of the file, each with file, query id and field.
    """
    queries, problems, _ = read_queries(
        path, modules=modules, ungraded=ungraded, relevant_grade=relevant_grade
    )
    if problems:
        raise InputError([problem.line() for problem in problems])
    return queries


def read_queries(
    path: Path,
    *,
    modules: Collection[str] | None = None,
    ungraded: Ungraded = "zero",
    relevant_grade: int = 1,
) -> tuple[QuerySet, list[Problem], list[Problem]]:
    """`load_queries` with what is wrong and what is unusual, piece by piece.

    Returns:
        the queries, with stand-ins for what is wrong; the problems; the warnings.

    Raises:
        InputError: the file cannot be read, or is no JSON of queries at all.
    """
    return parse_queries(
        read_bytes(path), path, modules=modules, ungraded=ungraded, relevant_grade=relevant_grade
    )


def parse_queries(
    content: bytes,
    where: Path,
    *,
    modules: Collection[str] | None = None,
    ungraded: Ungraded = "zero",
    relevant_grade: int = 1,
) -> tuple[QuerySet, list[Problem], list[Problem]]:
    """`read_queries` of a file's content, which errors place at `where`."""
    corpus = None if modules is None else frozenset(modules)
    reader = _Reader(str(where), relevant_grade, corpus, ungraded)
    raw, shapes, description = reader.file(parse_json(decode(content, where), where))
    queries = [reader.query(i, value, shapes) for i, value in enumerate(raw)]
    reader.duplicate_ids(queries)
    read = QuerySet(
        queries=tuple(queries),
        shapes=tuple(shape for shape in shapes if any(q.shape == shape for q in queries)),
        description=description,
        sha256=hashlib.sha256(content).hexdigest(),
        warnings=tuple(warning.line() for warning in reader.warnings),
        has_facts=reader.has_facts,
    )
    return read, reader.problems, reader.warnings


def module_path_problem(path: str) -> str | None:
    """What is wrong with a module's path, or None: it is relative, POSIX and goes nowhere up."""
    if path.startswith("/") or (len(path) > 1 and path[1] == ":"):
        return "is absolute; give it relative to the corpus root"
    if "\\" in path:
        return "has a backslash; write it with /"
    if ".." in path.split("/"):
        return "has '..'; give it relative to the corpus root"
    if not path or str(PurePosixPath(path)) != path or path == "." or not path.isprintable():
        return "is no plain relative path such as auth/handlers.py"
    return None


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


class _Reader:
    """Parses one file and collects every problem; after a problem it goes on with a stand-in."""

    def __init__(
        self,
        name: str,
        relevant_grade: int,
        modules: frozenset[str] | None,
        ungraded: Ungraded,
    ) -> None:
        self.name = name
        self.relevant_grade = relevant_grade
        self.modules = modules
        self.ungraded = ungraded
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self.where = name
        self.id = ""
        self.has_facts = True

    def problem(self, code: str, field: str, text: str, module: str = "") -> None:
        self.problems.append(Problem(code, self.where, self.id, field, text, module))

    def warn(self, code: str, field: str, text: str) -> None:
        self.warnings.append(Problem(code, self.where, self.id, field, text))

    def file(self, value: Any) -> tuple[Sequence[Any], tuple[str, ...], str]:
        """The raw queries, the shapes that may occur, and the description."""
        if isinstance(value, list):
            value = JsonObject([("queries", value)])
        if not isinstance(value, JsonObject):
            raise InputError(f"{self.name}: expected a list of queries or an object with 'queries'")
        self.keys(value, "", _FILE_KEYS)
        version = value.get("version", 1)
        if type(version) is not int or version != 1:
            self.problem("Q004", "version", f"expected 1, got {_shown(version)}")
        extra = self.strings(value, "shapes")
        for i, shape in enumerate(extra):
            if not shape.isprintable() or "." in shape or "*" in shape:
                # A gate's measure is shape.<shape>.<metric>, with * for each shape.
                self.problem(
                    "Q010", f"shapes[{i}]", f"has '.', '*' or a control character: {shape!r}"
                )
        description = self.text(value, "description", default="", multiline=True)
        if type(facts := value.get("facts", True)) is bool:
            self.has_facts = facts
        else:
            self.problem("Q004", "facts", f"expected true or false, got {_shown(facts)}")
        raw = value.get("queries")
        if not isinstance(raw, list):
            self.problem("Q004", "queries", f"expected a list, got {_shown(raw)}")
            raw = []
        elif not raw:
            self.problem("Q003", "queries", "the file has no query")
        return raw, tuple(dict.fromkeys((*SHAPES, *extra))), description

    def query(self, index: int, value: Any, shapes: Sequence[str]) -> Query:
        self.where, self.id = f"{self.name}: query {index + 1}", ""
        if not isinstance(value, JsonObject):
            self.problem("Q004", "", f"expected an object, got {_shown(value)}")
            return Query("", "", "", {}, ())
        name = self.text(value, "id")
        if name:
            self.where, self.id = f"{self.name}: query {_quoted(name)}", name
        self.keys(value, "", _QUERY_KEYS)
        question = self.text(value, "question", multiline=True)
        shape = self.text(value, "shape")
        if shape and shape not in shapes:
            self.problem(
                "Q010", "shape", f"expected one of {', '.join(shapes)}, got {_quoted(shape)}"
            )
        grades = self.grades(value)
        facts = self.strings(value, "gold_facts", required=self.has_facts)
        if not self.has_facts:
            if "gold_facts" in value:
                self.problem("Q014", "gold_facts", "the file says that it has none (facts: false)")
        elif "gold_facts" in value and value["gold_facts"] == []:
            self.problem("Q011", "gold_facts", "the query has no gold fact; 2 to 4 are expected")
        elif len(facts) == 1 or len(facts) > 4:
            self.warn("Q012", "gold_facts", f"2 to 4 are expected, got {len(facts)}")
        aliases = self.lists(value, "fact_aliases", facts, "no gold fact of this query")
        provenance = self.lists(
            value, "provenance", {*facts, *grades}, "neither a gold fact nor a graded module"
        )
        for key, places in provenance.items():
            for place in places:
                if not is_place(place):
                    self.problem(
                        "Q015",
                        f"provenance[{_quoted(key)}]",
                        "expected module:first-last such as auth/handlers.py:10-24, "
                        f"got {_quoted(place)}",
                    )
        return Query(
            id=name,
            question=question,
            shape=shape,
            grades=grades,
            facts=facts,
            aliases=aliases,
            tags=self.strings(value, "tags"),
            provenance=provenance,
            allow=self.strings(value, "allow"),
        )

    def grades(self, value: JsonObject) -> dict[str, int]:
        if "relevance_grades" not in value:
            self.problem("Q003", "relevance_grades", "is missing")
            return {}
        raw = value["relevance_grades"]
        if not isinstance(raw, JsonObject):
            self.problem("Q004", "relevance_grades", f"expected an object, got {_shown(raw)}")
            return {}
        self.keys(raw, "relevance_grades")
        grades: dict[str, int] = {}
        sound = True
        for module, grade in raw.items():
            field = f"relevance_grades[{_quoted(module)}]"
            if wrong := module_path_problem(module):
                self.problem("Q007", field, f"the path {wrong}")
                sound = False
            elif self.modules is not None and module not in self.modules:
                self.problem("Q101", field, "the corpus has no such module", module)
            if type(grade) is not int or grade not in GRADES:
                self.problem("Q006", field, f"expected an integer 0..3, got {_shown(grade)}")
                sound = False
            else:
                grades[module] = grade
        if sound and not any(grade >= self.relevant_grade for grade in grades.values()):
            self.problem(
                "Q008",
                "relevance_grades",
                f"no module is relevant (none has grade {self.relevant_grade} or up)",
            )
        if self.modules is not None and self.ungraded == "error":
            for module in sorted(self.modules - raw.keys()):
                self.problem(
                    "Q009",
                    f"relevance_grades[{_quoted(module)}]",
                    "this corpus module has no grade (grade it, or set ungraded: zero)",
                )
        return grades

    def duplicate_ids(self, queries: Sequence[Query]) -> None:
        first: dict[str, int] = {}
        for index, query in enumerate(queries):
            self.where, self.id = f"{self.name}: query {_quoted(query.id)}", query.id
            if query.id and query.id in first:
                self.problem(
                    "Q005", "id", f"queries {first[query.id] + 1} and {index + 1} share this id"
                )
            first.setdefault(query.id, index)

    def keys(self, value: JsonObject, field: str, known: Collection[str] | None = None) -> None:
        for key in value.duplicates:
            shown = _quoted(key)
            self.problem("Q002", f"{field}[{shown}]" if field else shown, "key given twice")
        for key in value:
            if known is None or key in known:
                continue
            shown = _quoted(key)
            self.warn("Q013", shown, f"unknown key, ignored (known: {', '.join(sorted(known))})")
            for inner in _objects(value[key]):
                for twice in inner.duplicates:
                    self.problem("Q002", f"{shown}: {_quoted(twice)}", "key given twice")

    def text(
        self, value: JsonObject, key: str, *, default: str | None = None, multiline: bool = False
    ) -> str:
        """A string; with no default it may be neither missing nor blank."""
        if key not in value and default is not None:
            return default
        if key not in value:
            self.problem("Q003", key, "is missing")
            return ""
        return self.sound_text(value[key], key, default is not None, multiline)

    def sound_text(self, text: Any, field: str, may_be_empty: bool, multiline: bool) -> str:
        if not isinstance(text, str):
            self.problem("Q004", field, f"expected a string, got {_shown(text)}")
        elif not text.strip() and not may_be_empty:
            self.problem("Q003", field, "is empty")
        elif any("\ud800" <= c <= "\udfff" for c in text):
            self.problem("Q004", field, "has half of a surrogate pair, which is no text")
        elif "\0" in text or not (multiline or text.splitlines() == [text]):
            self.problem("Q004", field, "has a NUL or a line break")
        else:
            return text
        return ""

    def strings(self, value: JsonObject, key: str, *, required: bool = False) -> tuple[str, ...]:
        if key not in value:
            if required:
                self.problem("Q003", key, "is missing")
            return ()
        return self.string_list(value.get(key), key)

    def string_list(self, raw: Any, field: str) -> tuple[str, ...]:
        if not isinstance(raw, list):
            self.problem("Q004", field, f"expected a list of strings, got {_shown(raw)}")
            return ()
        texts = [
            self.sound_text(text, f"{field}[{i}]", may_be_empty=False, multiline=True)
            for i, text in enumerate(raw)
        ]
        seen: set[str] = set()
        for i, text in enumerate(texts):
            if text in seen:
                self.problem("Q016", f"{field}[{i}]", f"stands there twice: {_quoted(text)}")
            elif text:  # an empty one has its own problem
                seen.add(text)
        return tuple(text for text in texts if text)

    def lists(
        self, value: JsonObject, key: str, known: Collection[str], otherwise: str
    ) -> dict[str, tuple[str, ...]]:
        """An object of lists of strings whose keys are among `known`."""
        raw = value.get(key, JsonObject([]))
        if not isinstance(raw, JsonObject):
            self.problem("Q004", key, f"expected an object, got {_shown(raw)}")
            return {}
        self.keys(raw, key)
        for name in raw:
            if name not in known:
                self.problem("Q014", f"{key}[{_quoted(name)}]", otherwise)
        return {
            name: self.string_list(texts, f"{key}[{_quoted(name)}]") for name, texts in raw.items()
        }


def is_place(place: object) -> bool:
    """Whether this is a place in a module, as provenance has it: `module:first-last`."""
    parts = PLACE.fullmatch(place) if isinstance(place, str) else None
    return (
        parts is not None
        and module_path_problem(parts[1]) is None
        and 1 <= int(parts[2]) <= int(parts[3])
    )


def _objects(value: Any) -> Iterator[JsonObject]:
    """Every object in a JSON value, at any depth."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, JsonObject):
            yield item
            todo += item.values()
        elif isinstance(item, list):
            todo += item


def _quoted(text: str) -> str:
    """A text in quotes, its control characters escaped, shortened."""
    quoted = repr(text)
    return quoted if len(quoted) <= 100 else f"{quoted[:99]}…"


def _shown(value: Any) -> str:
    """A JSON value as the file's author wrote it, shortened."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return "a list"
    if isinstance(value, JsonObject):
        return "an object"
    return one_line(repr(value), 60)
