"""The settings: params.yaml, parsed once into frozen dataclasses and checked whole."""

import re
import reprlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal, cast

from rankgate.errors import InputError, one_line
from rankgate.files import read_text
from rankgate.metrics import CELL_METRICS, cutoffs_of, metric_names
from rankgate.queries import UNGRADED, Ungraded, module_path_problem

PARAMS = Path("params.yaml")
Bound = Literal["min", "max", "above"]
BOUNDS: tuple[Bound, ...] = ("min", "max", "above")
# A name becomes a folder, a part of a DVC stage's name, and of a dotted path in params.yaml.
NAME = re.compile(r"[A-Za-z0-9_]+(-[A-Za-z0-9_]+)*")
_PACKAGE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9.!+_-]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NPM_NAME = re.compile(r"(@[A-Za-z0-9~][\w.~-]*/)?[A-Za-z0-9~][\w.~-]*", re.ASCII)
_NPM_VERSION = re.compile(r"\d+\.\d+\.\d+([-+][A-Za-z0-9.+-]+)?", re.ASCII)
_INTEGRITY = re.compile(r"sha512-[A-Za-z0-9+/]{86}==")
# What git may be asked for: a full commit, or the name of one, which is refused once it is known
# which commit it means.
_REVISION = re.compile(r"[A-Za-z0-9_][\w./@^~+-]*", re.ASCII)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(//|:)")
LOOPBACK = re.compile(r"http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?/.*")
# Implementation and version of Python, ABI, platform.
_TAG = re.compile(r"[a-z]{2}\d+-\w+-[\w.]+")
_TARGET = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_REPR = reprlib.Repr()
_REPR.maxlevel, _REPR.maxstring, _REPR.maxother = 3, 80, 80
_MAX_OPTION_VALUES = 10_000
_DERIVED = ("repos", "retrievers", "fixtures")  # what conf/config.yaml computes for dvc.yaml


@dataclass(frozen=True)
class LocalSource:
    """A folder, relative to the project."""

    path: str


@dataclass(frozen=True)
class PypiSource:
    """A wheel or an sdist of the package index, by the sha256 of the file.

    Attributes:
        tag: the wheel's Python, ABI and platform, such as cp311-cp311-manylinux2014_x86_64, where
            it is made for one that need not be the one that runs; empty: whichever fits here.
    """

    name: str
    version: str
    sha256: str
    tag: str = ""
    kind: Literal["wheel", "sdist"] = "wheel"


@dataclass(frozen=True)
class NpmSource:
    """A package of the npm registry, by the registry's own integrity: `sha512-` and base64."""

    name: str
    version: str
    integrity: str


@dataclass(frozen=True)
class GitSource:
    """A commit of a git repository, which is a URL or a folder of this machine."""

    url: str
    commit: str


@dataclass(frozen=True)
class ArchiveSource:
    """A zip or tar archive, which is a URL or a file of this machine."""

    url: str
    sha256: str


Source = LocalSource | PypiSource | NpmSource | GitSource | ArchiveSource


@dataclass(frozen=True)
class RepoSettings:
    """One repo: what becomes its corpus, and its query file.

    Attributes:
        tests, generated: whether such files become modules; see `rankgate.corpus.write_corpus`.
    """

    name: str
    source: Source
    root: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    queries: Path
    ungraded: Ungraded
    tests: bool = False
    generated: bool = False


@dataclass(frozen=True)
class Component:
    """A class of a retriever or judge with the arguments that make one of it."""

    target: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class RetrieverSettings:
    """One system under test.

    Attributes:
        timeout_s: seconds that one question may take.
        max_failures: queries that may fail before the stage does.
    """

    name: str
    component: Component
    timeout_s: float
    max_failures: int


@dataclass(frozen=True)
class Floor:
    """A bound on a number; `measure` is a metric, `shape.<shape>.<metric>`, or with `*` each."""

    name: str
    measure: str
    bound: Bound
    value: float


FAIL_ON = ("regression", "severe", "never")


@dataclass(frozen=True)
class CompareSettings:
    """When a difference between two results is a regression.

    Attributes:
        measures: those that are tested.
        confidence: of the intervals; 1 − confidence is the error rate of all tests together.
        tolerance: how far below zero the whole interval must lie; from 0 up.
        drop_measure, drop: a query whose `drop_measure` falls by `drop` or more is severe alone;
            above 1: none is.
        resamples: of the bootstrap and of the randomisation test.
        fail_on: what fails a comparison: a `regression` or a severe query, a `severe` query
            alone, or `never` anything.
    """

    measures: tuple[str, ...] = ("recall_at_5", "mrr", "ndcg_at_5", "fact_recall")
    confidence: float = 0.95
    tolerance: float = 0.0
    drop_measure: str = "ndcg_at_5"
    drop: float = 0.5
    resamples: int = 10_000
    fail_on: str = "regression"


@dataclass(frozen=True)
class GateSettings:
    """The floors of every cell by name, and what some have instead; None: no floor."""

    compare: CompareSettings
    floors: Mapping[str, Floor | None]
    repos: Mapping[str, Mapping[str, Floor | None]]
    retrievers: Mapping[str, Mapping[str, Floor | None]]

    def of(self, repo: str, retriever: str = "") -> tuple[Floor, ...]:
        """The floors of one cell: its repo's own replace those of the same name, then its
        retriever's.
        """
        floors = {**self.floors, **self.repos.get(repo, {}), **self.retrievers.get(retriever, {})}
        return tuple(floor for floor in floors.values() if floor is not None)


@dataclass(frozen=True)
class Settings:
    """All of params.yaml."""

    k: int
    cutoffs: tuple[int, ...]
    relevant_grade: int
    seed: int
    repos: Mapping[str, RepoSettings]
    retrievers: Mapping[str, RetrieverSettings]
    judge: Component
    gate: GateSettings


def load_settings(path: Path = PARAMS) -> Settings:
    """Read and check params.yaml.

    Raises:
        InputError: all problems, each with the path to its field.
    """
    problems: list[str] = []
    top = Section(read_yaml(path), "", problems)
    for key in _DERIVED:
        top.any(key, None)
    k = top.integer("k", 5, at_least=1)
    cutoffs = top.integers("cutoffs", (1, 3, 5), at_least=1)
    for cutoff in cutoffs:
        if cutoff > k:
            problems.append(f"cutoffs: {cutoff} is above k, which is {k}; raise k or drop it")
    settings = Settings(
        k=k,
        cutoffs=cutoffs,
        relevant_grade=top.integer("relevant_grade", 1, at_least=1, at_most=3),
        seed=top.integer("seed", 0, at_least=0),
        repos={name: _repo(name, part) for name, part in top.named("repo")},
        retrievers={name: _retriever(name, part) for name, part in top.named("retriever")},
        judge=_component(top.section("judge")),
        gate=_gate(top.section("gate"), metric_names(cutoffs)),
    )
    top.finish()
    _check_cells(settings, problems)
    if problems:
        raise InputError(problems)
    return settings


def _check_cells(settings: Settings, problems: list[str]) -> None:
    """DVC names a cell `<repo>-<retriever>`, and of two with one name it drops one in silence."""
    cells: dict[str, tuple[str, str]] = {}
    for cell in product(settings.repos, settings.retrievers):
        other = cells.setdefault("-".join(cell), cell)
        if other != cell:
            problems.append(
                f"repo.{cell[0]}: with retriever.{cell[1]} it has the stage name of repo.{other[0]}"
                f" with retriever.{other[1]}; rename one"
            )


def load_gate(path: Path, cutoffs: Sequence[int]) -> GateSettings:
    """Read and check one gate file, such as conf/gate/strict.yaml; errors as `load_settings`."""
    problems: list[str] = []
    top = Section(read_yaml(path), "", problems)
    gate = _gate(top, metric_names(cutoffs))
    if problems:
        raise InputError([f"{path}: {problem}" for problem in problems])
    return gate


def load_options(words: Sequence[str]) -> dict[str, Any]:
    """KEY=VALUE words, the values as YAML; InputError for a word that is none."""
    import yaml

    options: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key.isidentifier() and equals):
            raise InputError(f"{one_line(word, 60)}: expected KEY=VALUE")
        try:
            options[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise InputError(f"{key}: not YAML: {one_line(error)}") from None
    return options


def pick(named: Mapping[str, Any], key: str, name: str) -> Any:
    """The repo or retriever of this name; InputError with the names there are."""
    if name not in named:
        raise InputError(f"{key}: no {one_line(name, 60)!r}; there is {', '.join(named)}")
    return named[name]


class Section:
    """A mapping of the config at a path; every problem names the path to its field."""

    def __init__(self, values: Mapping[str, Any], path: str, problems: list[str]) -> None:
        self.values = values
        self.path = path
        self.problems = problems
        self.known: set[str] = set()

    def at(self, key: str) -> str:
        shown = one_line(key, 80)
        return f"{self.path}.{shown}" if self.path else shown

    def problem(self, key: str, text: str) -> None:
        self.problems.append(f"{self.at(key)}: {text}")

    def any(self, key: str, default: Any) -> Any:
        self.known.add(key)
        value = self.values.get(key)
        return default if value is None else value

    def finish(self) -> None:
        """Complain about every key that nobody asked for."""
        for key in self.values:
            if key not in self.known:
                self.problem(str(key), f"unknown key (known: {', '.join(sorted(self.known))})")

    def section(self, key: str) -> "Section":
        value = self.any(key, {})
        if not isinstance(value, dict):
            self.problem(key, f"expected keys and values, got {_shown(value)}")
            value = {}
        return Section(value, self.at(key), self.problems)

    def named(self, key: str) -> list[tuple[str, "Section"]]:
        """(name, section) for each part of a group; an empty group is a problem."""
        group = self.section(key)
        if not group.values and not any(p.startswith(f"{key}:") for p in self.problems):
            self.problem(key, "is empty; pick at least one")
        for name in group.values:
            if not NAME.fullmatch(str(name)):
                group.problem(str(name), "a name has letters, digits, '_' and single '-'")
        return [(str(name), group.section(name)) for name in group.values]

    def text(
        self, key: str, default: str | None = None, pattern: str | re.Pattern[str] = ""
    ) -> str:
        """A string; without a default it must be there; `pattern` is what it must match whole."""
        value = self.any(key, default)
        if value is None:
            self.problem(key, "is missing")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self.problem(key, f"expected a string, got {_shown(value)}; put it in quotes")
        elif not isinstance(value, str):
            self.problem(key, f"expected a string, got {_shown(value)}")
        elif default is None and not value.strip():
            self.problem(key, "is empty")
        elif pattern and not re.fullmatch(pattern, value):
            self.problem(key, f"not usable: {_shown(value)}")
        else:
            return value
        return ""

    def choice(self, key: str, default: str, choices: Sequence[str]) -> str:
        value = self.text(key, default)
        if value and value not in choices:
            self.problem(key, f"expected one of {', '.join(choices)}, got {_shown(value)}")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.any(key, default)
        if not isinstance(value, bool):
            self.problem(key, f"expected true or false, got {_shown(value)}")
            return default
        return value

    def number(self, key: str, default: float) -> float:
        value = self.any(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.problem(key, f"expected a number, got {_shown(value)}")
        elif not _is_finite(value):
            self.problem(key, f"expected a finite number, got {_shown(value)}")
        else:
            return float(value)
        return default

    def integer(self, key: str, default: int, *, at_least: int, at_most: int = 1_000_000) -> int:
        value = self.any(key, default)
        if type(value) is not int or not at_least <= value <= at_most:
            self.problem(key, f"expected an integer {at_least}..{at_most}, got {_shown(value)}")
            return default
        return value

    def integers(self, key: str, default: tuple[int, ...], *, at_least: int) -> tuple[int, ...]:
        value = self.any(key, default)
        if not isinstance(value, list | tuple) or not value:
            self.problem(key, f"expected a list of integers, got {_shown(value)}")
            return default
        if any(type(item) is not int or item < at_least for item in value):
            self.problem(key, f"expected integers from {at_least} up, got {_shown(value)}")
            return default
        return tuple(sorted(set(value)))

    def texts(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        value = self.any(key, default)
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
            self.problem(key, f"expected a list of strings, got {_shown(value)}")
            return default
        return tuple(value)

    def patterns(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """Patterns of .gitignore."""
        from pathspec import GitIgnoreSpec

        lines = self.texts(key, default)
        for line in lines:
            try:
                GitIgnoreSpec.from_lines([line])
            except (ValueError, re.error):
                self.problem(key, f"{_shown(line)} is no pattern of .gitignore")
        return lines


def _repo(name: str, part: Section) -> RepoSettings:
    queries = part.text("queries")
    if queries and not Path(queries).is_file():
        part.problem("queries", f"no such file: {one_line(queries)}")
    root = part.text("root", "").rstrip("/")
    if root and module_path_problem(root):
        part.problem("root", f"expected a folder inside the source, got {_shown(root)}")
    settings = RepoSettings(
        name=name,
        source=_source(part.section("source")),
        root=root,
        include=part.patterns("include", ("*",)),
        exclude=part.patterns("exclude", ()),
        queries=Path(queries),
        ungraded=cast("Ungraded", part.choice("ungraded", "zero", UNGRADED)),
        tests=part.flag("tests", default=False),
        generated=part.flag("generated", default=False),
    )
    part.finish()
    return settings


def _source(part: Section) -> Source:
    readers: dict[str, Callable[[Section], Source]] = {
        "local": lambda part: LocalSource(part.text("path")),
        "pypi": _pypi,
        "npm": _npm,
        "git": _git,
        "archive": _archive,
    }
    kind = part.choice("type", "", tuple(readers))
    if kind not in readers:
        if part.any("type", "") == "":
            part.problem("type", f"is missing; expected one of {', '.join(readers)}")
        return LocalSource("")
    source: Source = readers[kind](part)
    part.finish()
    return source


def _pypi(part: Section) -> PypiSource:
    sha256 = _sha256(part)
    name, version = part.text("name", pattern=_PACKAGE), part.text("version", pattern=_VERSION)
    tag, kind = part.text("tag", ""), part.choice("kind", "wheel", ("wheel", "sdist"))
    if tag and not _TAG.fullmatch(tag):
        example = "cp311-cp311-manylinux2014_x86_64"
        part.problem("tag", f"expected a wheel's tag such as {example}, got {_shown(tag)}")
    if tag and kind == "sdist":
        part.problem("tag", "an sdist has none; take it out")
    return PypiSource(name, version, sha256, tag, "sdist" if kind == "sdist" else "wheel")


def _npm(part: Section) -> NpmSource:
    integrity = part.text("integrity")
    if integrity and not _INTEGRITY.fullmatch(integrity):
        expected = "sha512- and the base64 of 64 bytes"
        part.problem("integrity", f"expected {expected}, got {_shown(integrity)}")
    name = part.text("name", pattern=_NPM_NAME)
    return NpmSource(name, part.text("version", pattern=_NPM_VERSION), integrity)


def _git(part: Section) -> GitSource:
    url, commit = part.text("url"), part.text("commit", pattern=_REVISION)
    _check_url(part, url, ("https://", "ssh://"))
    if re.fullmatch(r"[0-9A-Fa-f]{40}|[0-9A-Fa-f]{64}", commit):
        commit = commit.lower()
    return GitSource(url, commit)


def _archive(part: Section) -> ArchiveSource:
    url, sha256 = part.text("url"), _sha256(part)
    _check_url(part, url, ("https://",))
    return ArchiveSource(url, sha256)


def _sha256(part: Section) -> str:
    sha256 = part.text("sha256").lower()
    if sha256 and not _SHA256.fullmatch(sha256):
        part.problem("sha256", f"expected 64 hex digits, got {_shown(sha256)}")
    return sha256


def _check_url(part: Section, url: str, schemes: tuple[str, ...]) -> None:
    """Only what is encrypted on its way, stays on this machine, and is no option of a program."""
    if url.startswith("-") or not url.isprintable() or "::" in url.partition("/")[0]:
        part.problem("url", f"not usable: {_shown(url)}")
    elif re.match(r"[^/]*://[^/]*@", url) and not re.match(r"ssh://[\w.-]+@", url):
        part.problem("url", "holds a user or password, which would end up in outputs; take it out")
    elif _SCHEME.match(url) and not (url.startswith(schemes) or LOOPBACK.fullmatch(url)):
        part.problem("url", f"expected {', '.join(schemes)} or a path, got {_shown(url)}")


def _retriever(name: str, part: Section) -> RetrieverSettings:
    timeout_s = part.number("timeout_s", 60.0)
    if not 0 < timeout_s <= 1e6:
        part.problem("timeout_s", f"expected seconds above 0 and up to 1000000, got {timeout_s:g}")
    max_failures = part.integer("max_failures", 0, at_least=0)
    return RetrieverSettings(name, _component(part), timeout_s, max_failures)


def _component(part: Section) -> Component:
    """`_target_`, with every key that is not known yet as an argument of the class."""
    target = part.text("_target_")
    if target and not _TARGET.fullmatch(target):
        part.problem("_target_", f"expected package.module.Class, got {_shown(target)}")
    options = {str(k): v for k, v in part.values.items() if k not in part.known}
    for key, value in options.items():
        if not _is_plain(value):
            part.problem(key, "expected text, finite numbers, true, false, lists, keys and values")
    return Component(target, options)


def _is_plain(value: Any) -> bool:
    """Whether JSON has it, in a sane size: with YAML's aliases a short text has 10^9 values."""
    todo = [value]
    for _ in range(_MAX_OPTION_VALUES):
        if not todo:
            return True
        item = todo.pop()
        if isinstance(item, dict) and all(isinstance(key, str) for key in item):
            todo += item.values()
        elif isinstance(item, list):
            todo += item
        elif isinstance(item, int | float):
            if not _is_finite(item):
                return False
        elif not (item is None or isinstance(item, str)):
            return False
    return False


def _is_finite(value: float) -> bool:
    """A comparison, as math.isfinite() raises on an integer that is larger than any float."""
    return abs(value) <= sys.float_info.max


def _gate(part: Section, metrics: Sequence[str]) -> GateSettings:
    floors = _floors(part.section("floors"), metrics)
    if not any(floors.values()):
        part.problem("floors", "is empty; a gate needs at least one floor")
    repos, retrievers = (
        {str(name): _floors(group.section(name), metrics) for name in group.values}
        for group in (part.section("repos"), part.section("retrievers"))
    )
    compare = _compare(part.section("compare"), metrics)
    part.finish()
    return GateSettings(compare, floors, repos, retrievers)


def _compare(part: Section, metrics: Sequence[str]) -> CompareSettings:
    """The default measures are those of the deepest cutoff."""
    deepest = max(cutoffs_of(metrics), default=5)
    usual = (f"recall_at_{deepest}", "mrr", f"ndcg_at_{deepest}", "fact_recall")
    of_query = [name for name in metrics if name not in CELL_METRICS]
    measures = part.texts("measures", usual)
    drop_measure = part.text("drop_measure", f"ndcg_at_{deepest}")
    for key, names in (("measures", measures), ("drop_measure", (drop_measure,))):
        for name in names:
            if name not in of_query:
                part.problem(key, f"{_shown(name)} is not one of {', '.join(of_query)}")
    settings = CompareSettings(
        measures=tuple(dict.fromkeys(measures)),
        confidence=part.number("confidence", 0.95),
        tolerance=part.number("tolerance", 0.0),
        drop_measure=drop_measure,
        drop=part.number("drop", 0.5),
        resamples=part.integer("resamples", 10_000, at_least=1000),
        fail_on=part.choice("fail_on", "regression", FAIL_ON),
    )
    if not 0.5 <= settings.confidence <= 0.999:
        part.problem("confidence", f"expected 0.5..0.999, got {settings.confidence:g}")
    for key, value in (("tolerance", settings.tolerance), ("drop", settings.drop)):
        if value < 0:
            part.problem(key, f"expected 0 or more, got {value:g}")
    part.finish()
    return settings


def _floors(part: Section, metrics: Sequence[str]) -> dict[str, Floor | None]:
    """The floors by name; `name: null` takes one away."""
    return {
        str(name): _floor(str(name), part.section(name), metrics) if value is not None else None
        for name, value in part.values.items()
    }


def _floor(name: str, part: Section, metrics: Sequence[str]) -> Floor:
    measure = part.text("measure")
    if measure and not _is_computed(measure, metrics):
        part.problem(
            "measure",
            f"{_shown(measure)} is not computed; there is {', '.join(metrics)}, and each of these "
            "as shape.<shape>.…, shape.*.… or query.*.…",
        )
    given = [bound for bound in BOUNDS if part.any(bound, None) is not None]
    if len(given) != 1:
        part.problem("min", f"give one of {', '.join(BOUNDS)}; got {' and '.join(given) or 'none'}")
    bound = given[0] if given else "min"
    floor = Floor(name, measure, bound, part.number(bound, 0.0))
    part.finish()
    return floor


def _is_computed(measure: str, metrics: Sequence[str]) -> bool:
    scope, _, metric = measure.rpartition(".")
    if scope == "query.*":
        return metric in metrics and metric not in CELL_METRICS
    return metric in metrics and (not scope or scope.startswith("shape."))


def read_yaml(path: Path) -> dict[str, Any]:
    """The keys and values of a YAML file.

    Raises:
        InputError: it is not YAML, or has a key twice, a tag of Python's or a merge key (`<<`).
    """
    import yaml

    text = read_text(path)
    kind = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where the platform has it
    try:
        loader = kind(text)
        node = loader.get_single_node()
        _check_keys(node, path)
        value = loader.construct_document(node) if node else None
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not YAML: {one_line(error)}") from None
    except RecursionError:
        raise InputError(f"{path}: not usable YAML: nested too deeply") from None
    except (ArithmeticError, AttributeError, LookupError, ValueError) as error:
        # PyYAML on `2020-13-45`, `0x_`, `!!bool x`, a number of thousands of digits …
        raise InputError(f"{path}: not usable YAML: {one_line(error)}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected keys and values, got {_shown(value)}")
    return value


def _check_keys(node: Any, path: Path) -> None:
    """Refuse what PyYAML takes without a word: the last of equal keys, and merges that explode."""
    import yaml

    todo, done = [node], set()
    while todo:
        node = todo.pop()
        if id(node) in done or not isinstance(node, yaml.CollectionNode):
            continue
        done.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            todo += node.value
            continue
        seen = set()
        for key, value in node.value:
            where = f"{path}: line {key.start_mark.line + 1}"
            if not isinstance(key, yaml.ScalarNode):
                raise InputError(f"{where}: a key must be a plain value")
            where = f"{where}: {one_line(key.value, 80)}"
            if key.tag == "tag:yaml.org,2002:merge":
                raise InputError(f"{where}: merge keys are not read; write the keys out")
            if (key.tag, key.value) in seen:
                raise InputError(f"{where}: key given twice")
            seen.add((key.tag, key.value))
            todo.append(value)


def _shown(value: Any) -> str:
    """A value for an error; never long, whatever aliases and nesting make of it."""
    try:
        return one_line(_REPR.repr(value), 80)
    except ValueError:  # Python writes no integer of more than 4300 digits
        return "a number of thousands of digits"
