"""Floors raised to what the results support: a proposal, made as an edit of the config."""

import io
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankgate.compare.cells import Cell
from rankgate.compare.statistics import interval
from rankgate.config import Floor, GateSettings
from rankgate.errors import InputError, one_line
from rankgate.files import read_text, write_text

_STEP = 100  # floors have two decimals


@dataclass(frozen=True)
class Raise:
    """A floor that could be tighter.

    Attributes:
        path: where it stands in the gate's file, such as ("repos", "requests", "recall").
        new: the end of the confidence interval, of the cell where it is worst, rounded to the
            loose side.
        cell: that cell.
    """

    path: tuple[str, ...]
    floor: Floor
    new: float
    cell: str


def raises(gate: GateSettings, cells: Mapping[str, Cell], confidence: float) -> list[Raise]:
    """Every `min` and `max` of a mean over queries that its cells hold with room to spare.

    A floor that several cells share is raised to what the worst of them supports: nothing, where
    its mean is of a single query or of some queries only. Floors of single queries, and of what no
    query has a value of, stay as they are.
    """
    bounds: dict[tuple[str, ...], tuple[Floor, float, str]] = {}
    for name, cell in cells.items():
        for path, floor in _floors(gate, *name.split("/", 1)):
            supported = _supported(floor, cell, confidence)
            if supported is None:
                continue
            known = bounds.get(path)
            worse = min if floor.bound == "min" else max
            if known is None or worse(supported, known[1]) != known[1]:
                bounds[path] = (floor, supported, name)
    found = []
    for path, (floor, supported, name) in bounds.items():
        if not math.isfinite(supported):
            continue
        if floor.bound == "min":
            new = math.floor(round(supported * _STEP, 4)) / _STEP
            tighter = new > floor.value
        else:
            new = math.ceil(round(supported * _STEP, 4)) / _STEP
            tighter = new < floor.value
        if tighter:
            found.append(Raise(path, floor, new, name))
    return found


def _floors(
    gate: GateSettings, repo: str, retriever: str
) -> Iterator[tuple[tuple[str, ...], Floor]]:
    """The floors of a cell, each with where it stands: the retriever's replace the repo's."""
    places: dict[str, tuple[tuple[str, ...], Floor | None]] = {}
    for at, floors in (
        (("floors",), gate.floors),
        (("repos", repo), gate.repos.get(repo, {})),
        (("retrievers", retriever), gate.retrievers.get(retriever, {})),
    ):
        places |= {name: ((*at, name), floor) for name, floor in floors.items()}
    return ((path, floor) for path, floor in places.values() if floor is not None)


def _supported(floor: Floor, cell: Cell, confidence: float) -> float | None:
    """The worse end of the interval of what a floor bounds; infinitely bad where no interval can
    be told, None where the floor bounds no mean or no query has a value.
    """
    scope, _, metric = floor.measure.rpartition(".")
    if floor.bound == "above" or scope == "query.*":
        return None
    shapes = {query.shape for query in cell.queries.values()}
    wanted: Iterable[set[str]] = [shapes]
    if scope:
        shape = scope.partition(".")[2]
        wanted = [{one} for one in sorted(shapes) if shape in ("*", one)]
    ends = []
    for chosen in wanted:
        queries = [query for query in cell.queries.values() if query.shape in chosen]
        known = [query.values[metric] for query in queries if metric in query.values]
        if not known:
            return None
        if len(known) < max(2, len(queries)):
            return -math.inf if floor.bound == "min" else math.inf
        values = np.array(known)[:, None]
        low, high = interval(values, resamples=10_000, seed=0, confidence=confidence)
        ends.append(float(low[0] if floor.bound == "min" else high[0]))
    if not ends:
        return None
    return min(ends) if floor.bound == "min" else max(ends)


def write_raises(path: Path, found: Iterable[Raise]) -> None:
    """Edit a gate's file; comments and layout stay.

    Raises:
        InputError: the file does not have the floors, or ruamel.yaml is not installed.
    """
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.scalarfloat import ScalarFloat
    except ModuleNotFoundError:
        raise InputError("editing a config needs: pip install 'rankgate[pipeline]'") from None
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1000
    yaml.representer.add_representer(  # not as nothing
        type(None), lambda dumper, _: dumper.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    document: Any = yaml.load(read_text(path))
    for one in found:
        part = document
        try:
            for key in one.path:
                part = part[key]
            part[one.floor.bound] = ScalarFloat(one.new, width=4, prec=1)
        except (KeyError, TypeError):
            raise InputError(
                f"{path}: has no {one_line('.'.join(one.path), 80)}; --gate names another file"
            ) from None
    written = io.StringIO()
    yaml.dump(document, written)
    write_text(path, written.getvalue())
