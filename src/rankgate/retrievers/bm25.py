"""The default retriever: BM25 over chunks of code, with the words that code and people use.

Chunks are scored with BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25
and Beyond, 2009; the variant of Lucene in bm25s: Lù 2024, https://arxiv.org/abs/2407.03618). No
model, no network, no state: the same corpus and question give the same answer on any machine.
"""

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray

from rankgate.answers import Hit, Retrieved
from rankgate.corpus import Corpus
from rankgate.errors import InputError
from rankgate.files import read_json, write_json
from rankgate.retrievers.chunks import cut
from rankgate.retrievers.code_text import question_terms, terms, word_terms
from rankgate.tokens import count_tokens

_MODULES, _CHUNKS = "modules.json", "chunks.npy"
# Besides its best chunk, so many of a module's next ones count.
_NEXT_CHUNKS = 3
# A word that few chunks have is more likely to have been said otherwise: related words count more.
_RARE_SHARE, _RARE_BOOST = 0.02, 1.2
# Processors differ in the last bits of a float; what is equal up to here is a tie.
_DECIMALS = 6
# Fewer tokens are not worth the line that says where a chunk is from.
_LEAST_TOKENS = 20
# Text of more characters a token than this is not code to read, and slow to count.
_MANY_CHARACTERS = 16
# A line can be the whole of a minified file.
_MAX_HIT_CHARACTERS = 20_000

Scores = NDArray[np.float64]


class BM25:
    """Ranks a module by its best chunk and, for less, its next ones.

    Args:
        k1: how much the repetition of a term in a chunk counts, ≥ 0; 0: it doesn't.
        b: how much a long chunk's score is lowered, 0 to 1.
        chunk_lines: lines that a chunk has at the most, ≥ 1.
        chunk_overlap: lines that the next chunk repeats when a definition is longer than one,
            0 to chunk_lines - 1.
        context_words: how often the words of a chunk's path and of the definitions around it
            count as words of the chunk, ≥ 0.
        related_weight: what a word of related meaning counts, 0 to 1.
        next_weight: what a module's next best chunks count, 0 to 1.
        context_tokens: tokens that the context has at the most, ≥ 0.

    Raises:
        ValueError: an argument out of its range; the message begins with its name.
    """

    version = f"bm25s {bm25s.__version__}"

    def __init__(
        self,
        *,
        k1: float = 2.0,
        b: float = 0.75,
        chunk_lines: int = 50,
        chunk_overlap: int = 10,
        context_words: int = 2,
        related_weight: float = 0.5,
        next_weight: float = 0.3,
        context_tokens: int = 2000,
    ) -> None:
        self.k1 = _number("k1", k1)
        self.b = _number("b", b, most=1)
        self.chunk_lines = _integer("chunk_lines", chunk_lines, 1)
        self.chunk_overlap = _integer("chunk_overlap", chunk_overlap, 0, chunk_lines - 1)
        self.context_words = _integer("context_words", context_words, 0)
        self.related_weight = _number("related_weight", related_weight, most=1)
        self.next_weight = _number("next_weight", next_weight, most=1)
        self.context_tokens = _integer("context_tokens", context_tokens, 0)

    def build(self, corpus: Corpus, index: Path) -> None:
        """Write the index: bm25s's own files, the modules and where their chunks are."""
        # bm25s takes no document without terms, so each has the empty one, which nobody asks for.
        ids = {"": 0}
        documents: list[array[int]] = []
        chunks: list[tuple[int, int, int]] = []
        for number, path in enumerate(corpus.paths):
            lines = _lines(corpus.text(path))
            path_terms = terms(path.rpartition(".")[0] or path)
            for chunk in cut(lines, self.chunk_lines, self.chunk_overlap):
                text = "\n".join(lines[chunk.first - 1 : chunk.last])
                around = path_terms + [term for name in chunk.scope for term in word_terms(name)]
                document = terms(text) + around * self.context_words
                documents.append(
                    array("i", [0, *(ids.setdefault(term, len(ids)) for term in document)])
                )
                chunks.append((number, chunk.first, chunk.last))
        bm25 = bm25s.BM25(k1=self.k1, b=self.b, method="lucene", dtype="float64", backend="numpy")
        bm25.index((documents, ids), show_progress=False)
        bm25.save(index, show_progress=False)
        np.save(index / _CHUNKS, np.array(chunks, dtype=np.int64).reshape(-1, 3))
        write_json(index / _MODULES, corpus.paths)

    def open(self, corpus: Corpus, index: Path) -> None:
        """Read the index.

        Raises:
            InputError: the folder holds no index, or that of another corpus.
        """
        try:
            bm25 = bm25s.BM25.load(index, show_progress=False)
            self._owner, self._first, self._last = np.load(index / _CHUNKS).T
            modules = read_json(index / _MODULES)
        except (OSError, ValueError, KeyError, EOFError, TypeError) as error:
            raise InputError(f"{index}: not a readable bm25 index: {error}") from None
        if tuple(modules) != tuple(corpus.paths):
            raise InputError(f"{index}: the index is of another corpus; build it again")
        self._modules = corpus.paths
        self._terms: Mapping[str, int] = bm25.vocab_dict
        self._columns: Mapping[str, Any] = bm25.scores
        # Questions come back to the same modules.
        self._lines = lru_cache(maxsize=256)(lambda path: _lines(corpus.text(path)))

    def ask(self, question: str, k: int) -> Retrieved:
        """The best chunk of each of the `k` best modules; the context has their best chunks."""
        chunk_scores = self._score(question_terms(question, self.related_weight))
        ranking = self._rank(chunk_scores, k)
        hits = tuple(self._hit(chunks[0], score) for score, chunks in ranking)
        context = sorted(
            (chunk for _, chunks in ranking for chunk in chunks),
            key=lambda chunk: -chunk_scores[chunk],
        )
        return Retrieved(hits, self._context(context))

    def _score(self, wanted: Sequence[Mapping[str, float]]) -> Scores:
        """The score of each chunk: the sum over the words asked for, each by its best term.

        The first term of each is the word itself, the others are related.
        """
        indptr, documents, weights = (self._columns[c] for c in ("indptr", "indices", "data"))
        total = np.zeros(len(self._owner))
        for alternatives in wanted:
            best = np.zeros(len(self._owner))
            boost = 1.0
            for place, (term, weight) in enumerate(alternatives.items()):
                column = self._terms.get(term)
                part = slice(0) if column is None else slice(indptr[column], indptr[column + 1])
                rows = documents[part]
                best[rows] = np.maximum(best[rows], weight * boost * weights[part])
                if place == 0 and len(rows) <= _RARE_SHARE * len(self._owner):
                    boost = _RARE_BOOST
            total += best
        return np.round(total, _DECIMALS)

    def _rank(self, chunk_scores: Scores, k: int) -> list[tuple[float, list[int]]]:
        """(score, chunks from the best down) of the `k` best modules that have any score."""
        found = np.flatnonzero(chunk_scores)
        # Equal scores stay in the order of the lines.
        found = found[np.lexsort((-chunk_scores[found], self._owner[found]))]
        owners, starts = np.unique(self._owner[found], return_index=True)
        if not len(owners):
            return []
        sizes = np.diff(starts, append=len(found))
        place = np.arange(len(found)) - np.repeat(starts, sizes)
        share = np.where(place == 0, 1.0, np.where(place <= _NEXT_CHUNKS, self.next_weight, 0.0))
        scores = np.round(np.add.reduceat(chunk_scores[found] * share, starts), _DECIMALS)
        # A module's number is its place among the sorted paths.
        order = np.lexsort((owners, -scores))[:k]
        return [(float(scores[i]), found[starts[i] : starts[i] + sizes[i]].tolist()) for i in order]

    def _hit(self, chunk: int, score: float) -> Hit:
        path, first, last = self._place(chunk)
        text = "\n".join(self._lines(path)[first - 1 : last])
        return Hit(path, score, first, last, text[:_MAX_HIT_CHARACTERS])

    def _place(self, chunk: int) -> tuple[str, int, int]:
        """Module, first and last line of a chunk."""
        path = self._modules[self._owner[chunk]]
        return path, int(self._first[chunk]), int(self._last[chunk])

    def _context(self, chunks: Sequence[int]) -> str:
        """The chunks in their order, each under its place, until the tokens are used up.

        No line stands there twice; the chunk that does not fit gives its first lines.
        """
        pieces: list[str] = []
        left = self.context_tokens
        shown: dict[str, set[int]] = {}
        for chunk in chunks:
            if left < _LEAST_TOKENS:
                break
            path, first, last = self._place(chunk)
            seen = shown.setdefault(path, set())
            # Chunks overlap at their ends only, so what is new is in one piece.
            new = [number for number in range(first, last + 1) if number not in seen]
            count, piece, tokens = self._fitting(path, new, left)
            left -= tokens
            pieces.append(piece)
            seen.update(new[:count])
        return "".join(pieces)

    def _fitting(self, path: str, numbers: Sequence[int], most: int) -> tuple[int, str, int]:
        """The first of a module's lines that fit in `most` tokens: how many, as text, tokens."""
        lines = self._lines(path)
        for count in _halving(len(numbers)):
            part = numbers[:count]
            head = f"{path}:{part[0]}-{part[-1]}\n"
            piece = head + "".join(f"{lines[number - 1]}\n" for number in part) + "\n"
            if len(piece) > most * _MANY_CHARACTERS:
                continue
            if (tokens := count_tokens(piece)) <= most:
                return count, piece, tokens
        return 0, "", 0


def _halving(count: int) -> Iterator[int]:
    """count, count / 2, … 1."""
    while count:
        yield count
        count //= 2


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _number(name: str, value: float, most: float = math.inf) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not (0 <= value <= most and value < math.inf)
    ):
        bounds = ">= 0" if most == math.inf else f"from 0 to {most}"
        raise ValueError(f"{name}: expected a number {bounds}, got {value!r}")
    return value


def _integer(name: str, value: int, least: int, most: float = math.inf) -> int:
    if type(value) is not int or not least <= value <= most:
        bounds = f">= {least}" if most == math.inf else f"from {least} to {most}"
        raise ValueError(f"{name}: expected an integer {bounds}, got {value!r}")
    return value
