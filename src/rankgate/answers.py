"""What a retriever returned for each query, and how it is kept between stages."""

import math
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rankgate.errors import InputError, one_line
from rankgate.files import dump_json_lines, read_json_lines, write_text


@dataclass(frozen=True)
class Hit:
    """A piece of a module that a retriever returned.

    Attributes:
        module: its path relative to the corpus root.
        score: the retriever's own, higher is better; only shown, never used to sort.
        start_line, end_line: first and last line, from 1; 0 when unknown.
    """

    module: str
    score: float
    start_line: int = 0
    end_line: int = 0
    text: str = ""


@dataclass(frozen=True)
class Retrieved:
    """Hits, best first, and the context that the retriever would hand on."""

    hits: tuple[Hit, ...]
    context: str


@dataclass(frozen=True)
class Answer:
    """What came back for one query.

    Attributes:
        context: None when it is not known, as in a TREC run.
        failure: why the retriever failed on this query, or empty.
        strangers: hits that are no module of the corpus, and were dropped.
    """

    query: str
    hits: tuple[Hit, ...]
    context: str | None
    context_tokens: int = 0
    failure: str = ""
    strangers: int = 0

    def ranking(self) -> list[str]:
        """The modules by first appearance: a module's later chunks do not move it."""
        return list(dict.fromkeys(hit.module for hit in self.hits))

    def repeats(self) -> int:
        """How many hits named a module that an earlier hit had named."""
        return len(self.hits) - len({hit.module for hit in self.hits})


def accept(
    hits: Iterable[Hit], modules: Collection[str], k: int, root: str = ""
) -> tuple[tuple[Hit, ...], int]:
    """A retriever's hits, checked: the hits of its first `k` modules, and how many were strangers.

    Paths are normalised (`./`, `\\`, doubled slashes, absolute ones below `root`) and must then be
    modules of the corpus.

    Args:
        root: the absolute path of the folder that the modules were unpacked to, if they were.

    Raises:
        ValueError: a score is not finite; the message names the rank.
    """
    kept: list[Hit] = []
    ranked: dict[str, None] = {}
    strangers = 0
    for rank, hit in enumerate(hits, start=1):
        if not math.isfinite(hit.score):
            raise ValueError(f"the score at rank {rank} is {hit.score}")
        module = normal_path(hit.module, root)
        if module not in modules:
            strangers += 1
            continue
        if module not in ranked and len(ranked) == k:
            continue
        ranked[module] = None
        kept.append(Hit(module, hit.score, hit.start_line, hit.end_line, hit.text))
    return tuple(kept), strangers


def normal_path(path: str, root: str = "") -> str:
    """A path as systems write it, as a module's path: no `./`, `\\` or doubled slashes.

    Args:
        root: an absolute path that the result is relative to where `path` is below it.
    """
    parts = [part for part in re.split(r"[/\\]+", path) if part != "."]
    whole = "/".join(parts)
    return whole.removeprefix(normal_path(f"{root}/")) if root else whole


def write_answers(path: Path, answers: Iterable[Answer]) -> None:
    """One JSON line an answer."""
    write_text(path, dump_json_lines(asdict(answer) for answer in answers))


def read_answers(path: Path) -> list[Answer]:
    """The answers that `write_answers` wrote; InputError with the line that is wrong."""
    answers = [_answer(value, f"{path}:{number}") for number, value in read_json_lines(path)]
    seen: set[str] = set()
    for answer in answers:
        if answer.query in seen:
            raise InputError(f"{path}: query {answer.query!r} stands there twice")
        seen.add(answer.query)
    return answers


def _answer(value: Any, where: str) -> Answer:
    value = _object(value, where)
    hits = value.get("hits")
    if not isinstance(hits, list):
        raise InputError(f"{where}: hits: expected a list")
    context = value.get("context")
    if context is not None and not isinstance(context, str):
        raise InputError(f"{where}: context: expected a string or null")
    return Answer(
        query=_get(value, "query", str, None, where),
        hits=tuple(_hit(hit, f"{where}: hit {rank}") for rank, hit in enumerate(hits, start=1)),
        context=context,
        context_tokens=_get(value, "context_tokens", int, 0, where),
        failure=_get(value, "failure", str, "", where),
        strangers=_get(value, "strangers", int, 0, where),
    )


def _hit(value: Any, where: str) -> Hit:
    value = _object(value, where)
    score = value.get("score", 0.0)
    # A comparison, as isfinite() raises on an integer that is larger than any float.
    if type(score) not in (int, float) or not abs(score) <= sys.float_info.max:
        raise InputError(f"{where}: score: expected a finite number, got {one_line(score, 40)}")
    return Hit(
        module=_get(value, "module", str, None, where),
        score=float(score),
        start_line=_get(value, "start_line", int, 0, where),
        end_line=_get(value, "end_line", int, 0, where),
        text=_get(value, "text", str, "", where),
    )


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected an object, got {one_line(value, 40)}")
    return value


def _get(value: Mapping[str, Any], key: str, kind: type, default: Any, where: str) -> Any:
    found = value.get(key, default)
    if type(found) is not kind:
        names = {str: "a string", int: "an integer"}
        raise InputError(f"{where}: {key}: expected {names[kind]}, got {one_line(found, 40)}")
    return found


def rankings(answers: Sequence[Answer]) -> dict[str, list[str]]:
    """Query id → ranked modules."""
    return {answer.query: answer.ranking() for answer in answers}
