"""Pooling: which modules deserve a person's grade.

What several retrievers rank high is judged, everything else counts as irrelevant: the method of
TREC (Spärck Jones and van Rijsbergen 1975; Voorhees and Harman, TREC, 2005, chapter 2).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankgate.errors import InputError, one_line
from rankgate.queries import module_path_problem

DEPTH = 10


@dataclass(frozen=True)
class PooledQuery:
    """The pool of one query.

    Attributes:
        pooled: how many modules some run has in its top `depth`.
        left: those of them without a grade, by path: an order that tells nobody the ranks.
    """

    id: str
    pooled: int
    left: tuple[str, ...]


@dataclass(frozen=True)
class Pool:
    """The pools of a query file.

    Attributes:
        depth: how many modules of each ranking went in.
        runs: the names of the runs.
        queries: in the order of the query file.
        warnings: a line for each thing that makes the pool smaller than it looks.
    """

    depth: int
    runs: tuple[str, ...]
    queries: tuple[PooledQuery, ...]
    warnings: tuple[str, ...] = ()

    @property
    def pooled(self) -> int:
        return sum(query.pooled for query in self.queries)

    @property
    def left(self) -> int:
        return sum(len(query.left) for query in self.queries)

    def as_json(self) -> dict[str, Any]:
        """The pool file: query id → modules without a grade, queries with none left out."""
        return {
            "version": 1,
            "depth": self.depth,
            "runs": list(self.runs),
            "queries": {query.id: list(query.left) for query in self.queries if query.left},
        }


def pool(
    graded: Mapping[str, Collection[str]],
    runs: Mapping[str, Mapping[str, Sequence[str]]],
    depth: int = DEPTH,
) -> Pool:
    """The union of the runs' top `depth` modules a query, minus what has a grade.

    Args:
        graded: query id → modules that have a grade.
        runs: name → query id → ranked modules, none twice.
        depth: ≥ 1.
    """
    warnings = _shallow(runs, graded, depth)
    warnings += [line for name in runs for line in _other_queries(name, runs[name], graded)]
    queries = []
    for query, known in graded.items():
        found = {module for run in runs.values() for module in run.get(query, ())[:depth]}
        modules = {module for module in found if module_path_problem(module) is None}
        if strange := sorted(found - modules):
            warnings.append(
                f"query {one_line(query, 60)}: {len(strange)} names of the runs are no module's "
                f"path and left out, such as {one_line(repr(strange[0]), 60)}"
            )
        queries.append(PooledQuery(query, len(modules), tuple(sorted(modules - set(known)))))
    return Pool(depth, tuple(runs), tuple(queries), tuple(warnings))


def _shallow(
    runs: Mapping[str, Mapping[str, Sequence[str]]], queries: Collection[str], depth: int
) -> list[str]:
    """Warnings about runs that are pooled to less than the depth."""
    by_depth: dict[int, list[str]] = {}
    for name, run in runs.items():
        deepest = max((len(run[query]) for query in run if query in queries), default=0)
        if 0 < deepest < depth:
            by_depth.setdefault(deepest, []).append(one_line(name, 100))
    return [
        f"pooled to depth {deepest}, not {depth}, for no query has more modules; retrieve deeper "
        f"(k in conf/config.yaml): {', '.join(names)}"
        for deepest, names in by_depth.items()
    ]


def _other_queries(
    name: str, run: Mapping[str, Sequence[str]], queries: Collection[str]
) -> list[str]:
    """Warnings about a run that is not of the same queries."""
    lines = []
    shown = one_line(name, 100)
    if missing := sum(not run.get(query) for query in queries):
        lines.append(f"{shown}: has no module for {missing} of {len(queries)} queries")
    if strangers := sum(query not in queries for query in run):
        lines.append(f"{shown}: has {strangers} queries that the query file has not")
    return lines


def read_pool(value: Any, where: str) -> dict[str, tuple[str, ...]]:
    """Query id → modules of a pool file's JSON.

    Raises:
        InputError: it is none.
    """
    queries = value.get("queries") if isinstance(value, dict) else None
    if not isinstance(queries, dict) or value.get("version") != 1:
        raise InputError(f"{where}: no pool file; `rankgate pool --out` writes one")
    problems = []
    for query, modules in queries.items():
        place = f"{where}: queries[{one_line(repr(query), 80)}]"
        if not isinstance(modules, list) or not all(isinstance(m, str) for m in modules):
            problems.append(f"{place}: expected a list of modules")
            continue
        problems += [
            f"{place}: {one_line(repr(module), 80)} {wrong}"
            for module in modules
            if (wrong := module_path_problem(module))
        ]
    if problems:
        raise InputError(problems[:20])
    return {query: tuple(dict.fromkeys(modules)) for query, modules in queries.items()}
