"""Fusion: what several retrievers return, as one ranking."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from rankgate.answers import Hit, Retrieved, accept
from rankgate.components import make
from rankgate.config import Component
from rankgate.corpus import Corpus
from rankgate.errors import InputError
from rankgate.retrievers.context import Piece, pack, text_lines
from rankgate.retrievers.vectors import whole_number

METHODS = ("rrf", "sum")
_NAME = re.compile(r"[A-Za-z0-9_]+(-[A-Za-z0-9_]+)*")
# Processors differ in the last bits of a float; what is equal up to here is a tie.
_DECIMALS = 6
# The constant of reciprocal rank fusion for the pieces of the context.
_PIECES_K = 60


# Module, first and last line, and the text of a hit without lines.
_Place = tuple[str, int, int, str]


@dataclass(frozen=True)
class _Part:
    name: str
    weight: float
    retriever: Any


class Hybrid:
    """Ranks a module by the weighted sum of what its parts give it.

    With `rrf` a part gives 1 / (rrf_k + rank), and scores do not count: reciprocal rank fusion
    (Cormack, Clarke and Buettcher 2009, https://doi.org/10.1145/1571941.1572114). With `sum` it
    gives the module's score, stretched so that the part's best module has 1 and its last one 0:
    CombSUM with min-max normalisation (Lee 1997, https://doi.org/10.1145/258525.258587). A module
    that a part does not return gets 0 from it.

    Args:
        parts: name → `_target_` of a retriever, its arguments, and its `weight`, > 0 (1.0).
        method: "sum" or "rrf".
        rrf_k: ≥ 0; the larger, the less a first rank counts more than a second.
        depth: modules that each part is asked for, ≥ 1; k when k is larger.
        context_tokens: tokens that the context has at the most, ≥ 0.

    Raises:
        ValueError: an argument that is wrong; the message begins with its name.
    """

    def __init__(
        self,
        *,
        parts: Mapping[str, Mapping[str, Any]],
        method: str = "sum",
        rrf_k: float = 60,
        depth: int = 20,
        context_tokens: int = 2000,
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
        self.method = method
        self.rrf_k = _number("rrf_k", rrf_k)
        self.depth = whole_number("depth", depth, 1)
        self.context_tokens = whole_number("context_tokens", context_tokens, 0)
        if not isinstance(parts, Mapping) or not parts:
            raise ValueError("parts: expected at least one retriever, as name: {_target_: …}")
        self._parts = [_part(name, options) for name, options in parts.items()]
        versions = (f"{part.name}: {part.retriever.version}" for part in self._parts)
        self.version = ", ".join(versions)
        self.wheels = tuple(
            w for part in self._parts for w in getattr(part.retriever, "wheels", ())
        )

    def prepare(self, resources: Path) -> None:
        """Let each part that needs resources write them to a folder of its own."""
        for part in self._parts:
            if hasattr(part.retriever, "prepare"):
                part.retriever.prepare(_folder(resources, part))

    def use(self, resources: Path) -> None:
        """Give each part that needs resources what `prepare` wrote for it."""
        for part in self._parts:
            if hasattr(part.retriever, "use"):
                part.retriever.use(resources / part.name)

    def build(self, corpus: Corpus, index: Path) -> None:
        """Let each part build its index in a folder of its own."""
        for part in self._parts:
            part.retriever.build(corpus, _folder(index, part))

    def open(self, corpus: Corpus, index: Path) -> None:
        """Open each part's index."""
        self._modules = frozenset(corpus.paths)
        self._roots: list[str] = []
        for part in self._parts:
            # A part without an index left its folder empty, and DVC keeps no empty folders.
            part.retriever.open(corpus, _folder(index, part))
            self._roots.append(str(corpus.root or ""))
        # Questions come back to the same modules.
        self._lines = lru_cache(maxsize=256)(lambda path: text_lines(corpus.text(path)))

    def ask(self, question: str, k: int) -> Retrieved:
        """The parts' best hits in each of the `k` best modules; the context has the best pieces."""
        depth = max(k, self.depth)
        found = [
            accept(part.retriever.ask(question, depth).hits, self._modules, depth, root)[0]
            for part, root in zip(self._parts, self._roots, strict=True)
        ]
        scores: defaultdict[str, float] = defaultdict(float)
        for part, hits in zip(self._parts, found, strict=True):
            for module, share in self._shares(hits).items():
                scores[module] += part.weight * share
        ranking = sorted(scores, key=lambda m: (-round(scores[m], _DECIMALS), m))[:k]
        best = _unique(
            hit for module in ranking for hits in found for hit in hits if hit.module == module
        )
        return Retrieved(
            tuple(
                replace(hit, score=round(scores[hit.module], _DECIMALS)) for hit in best.values()
            ),
            self._context(question, ranking, found),
        )

    def _context(
        self, question: str, ranking: Sequence[str], found: Sequence[Sequence[Hit]]
    ) -> str:
        """The pieces of the ranked modules that the parts find best, by reciprocal rank fusion.

        A part that has no method `pieces` gives its hits.
        """
        scores: defaultdict[_Place, float] = defaultdict(float)
        pieces: dict[_Place, Hit] = {}
        for part, hits in zip(self._parts, found, strict=True):
            if hasattr(part.retriever, "pieces"):
                hits = part.retriever.pieces(question, ranking)
            own = _unique(hit for hit in hits if hit.module in ranking)
            for rank, place in enumerate(own, start=1):
                scores[place] += part.weight / (_PIECES_K + rank)
            pieces = own | pieces
        order = sorted(scores, key=lambda place: -round(scores[place], _DECIMALS))
        return pack((self._piece(pieces[place]) for place in order), self.context_tokens)

    def _shares(self, hits: Sequence[Hit]) -> dict[str, float]:
        """What a part that returned these hits gives each module; its first hit counts."""
        firsts: dict[str, float] = {}
        for hit in hits:
            firsts.setdefault(hit.module, hit.score)
        if self.method == "rrf":
            return {module: 1 / (self.rrf_k + rank) for rank, module in enumerate(firsts, start=1)}
        least, most = min(firsts.values(), default=0), max(firsts.values(), default=0)
        if least == most:
            return dict.fromkeys(firsts, 1.0)
        return {module: (score - least) / (most - least) for module, score in firsts.items()}

    def _piece(self, hit: Hit) -> Piece:
        """A hit for the context: its lines, else its text, else its whole module."""
        if hit.text and not hit.start_line:
            return Piece(hit.module, 0, text_lines(hit.text))
        first = max(1, hit.start_line)
        return Piece(hit.module, first, self._lines(hit.module)[first - 1 : hit.end_line or None])


def _part(name: str, options: Mapping[str, Any]) -> _Part:
    if not _NAME.fullmatch(name):
        raise ValueError(f"parts: {name!r}: a name has letters, digits, '_' and single '-'")
    if not isinstance(options, Mapping) or not isinstance(options.get("_target_"), str):
        raise ValueError(f"parts: {name}._target_: is missing")
    own = {key: value for key, value in options.items() if key not in ("_target_", "weight")}
    weight = _number(f"parts: {name}.weight", options.get("weight", 1.0))
    if not weight:
        raise ValueError(f"parts: {name}.weight: expected a number > 0, got {weight!r}")
    try:
        return _Part(name, weight, make(Component(options["_target_"], own), name))
    except InputError as error:
        raise ValueError(f"parts: {'; '.join(error.problems)}") from None


def _place(hit: Hit) -> _Place:
    return hit.module, hit.start_line, hit.end_line, "" if hit.start_line else hit.text


def _unique(hits: Iterable[Hit]) -> dict[_Place, Hit]:
    """The first hit at each place, in order."""
    found: dict[_Place, Hit] = {}
    for hit in hits:
        found.setdefault(_place(hit), hit)
    return found


def _folder(above: Path, part: _Part) -> Path:
    folder = above / part.name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _number(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{name}: expected a number >= 0, got {value!r}")
    return value
