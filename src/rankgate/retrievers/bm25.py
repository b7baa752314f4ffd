"""The default retriever: BM25 over chunks of code, with the words that code and people use.

Chunks are scored with BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25
and Beyond, 2009; the variant of Lucene in bm25s: Lù 2024, https://arxiv.org/abs/2407.03618). No
model, no network, no state: the same corpus and question give the same answer on any machine.
"""

import math
from array import array
from collections.abc import Collection, Mapping, Sequence
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
from rankgate.retrievers.code_text import is_word, question_terms, runs_of, word_terms, words_of
from rankgate.retrievers.context import MOST_PIECES, Piece, pack, text_lines

_MODULES, _CHUNKS = "modules.json", "chunks.npy"
# Besides its best chunk, so many of a module's next ones count.
_NEXT_CHUNKS = 3
# A word that few chunks have is more likely to have been said otherwise: related words count more.
_RARE_SHARE, _RARE_BOOST = 0.02, 1.2
# Processors differ in the last bits of a float; what is equal up to here is a tie.
_DECIMALS = 6
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
        words = _Numbers()
        runs = array("i")
        chunks: list[tuple[int, int, int]] = []
        ends: list[int] = []
        for number, path in enumerate(corpus.paths):
            lines = text_lines(corpus.text(path))
            path_words = words_of(path.rpartition(".")[0] or path)
            for chunk in cut(lines, self.chunk_lines, self.chunk_overlap):
                found = runs_of("\n".join(lines[chunk.first - 1 : chunk.last]))
                runs.extend(map(words.__getitem__, found))
                around = [*path_words, *chunk.scope] * self.context_words
                runs.extend(map(words.__getitem__, around))
                ends.append(len(runs))
                chunks.append((number, chunk.first, chunk.last))
        bm25 = bm25s.BM25(k1=self.k1, b=self.b, method="lucene", dtype="float64", backend="numpy")
        bm25.scores, bm25.vocab_dict = weigh(list(words), runs, ends, self.k1, self.b)
        bm25.nonoccurrence_array = None  # of methods that give absent terms a weight
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
        self._lines = lru_cache(maxsize=256)(lambda path: text_lines(corpus.text(path)))

    def ask(self, question: str, k: int) -> Retrieved:
        """The best chunk of each of the `k` best modules; the context has their best chunks."""
        chunk_scores = self._score(question_terms(question, self.related_weight))
        ranking = self._rank(chunk_scores, k)
        hits = tuple(self._hit(chunks[0], score) for score, chunks in ranking)
        context = sorted(
            (chunk for _, chunks in ranking for chunk in chunks),
            key=lambda chunk: -chunk_scores[chunk],
        )
        return Retrieved(hits, pack(map(self._piece, context), self.context_tokens))

    def pieces(self, question: str, modules: Collection[str]) -> list[Hit]:
        """The best chunks of some modules, best first, for a context."""
        scores = self._score(question_terms(question, self.related_weight))
        numbers = [number for number, path in enumerate(self._modules) if path in modules]
        found = np.flatnonzero((scores > 0) & np.isin(self._owner, numbers))
        best = found[np.argsort(-scores[found], kind="stable")][:MOST_PIECES]
        return [self._hit(chunk, float(scores[chunk])) for chunk in best]

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
        piece = self._piece(chunk)
        text = "\n".join(piece.lines)[:_MAX_HIT_CHARACTERS]
        return Hit(piece.module, score, piece.first, int(self._last[chunk]), text)

    def _piece(self, chunk: int) -> Piece:
        path = self._modules[self._owner[chunk]]
        first, last = int(self._first[chunk]), int(self._last[chunk])
        return Piece(path, first, self._lines(path)[first - 1 : last])


class _Numbers(dict[str, int]):
    """Each run that was asked for → its number, in the order of their first appearance."""

    def __missing__(self, run: str) -> int:
        return self.setdefault(run, len(self))


def weigh(
    words: Sequence[str], runs: Sequence[int], ends: Sequence[int], k1: float, b: float
) -> tuple[dict[str, Any], dict[str, int]]:
    """The weight of each term in each document, as `bm25s.BM25.index` computes it, and each term's
    column. All documents at once, where bm25s takes one after the other.

    Every document has the empty term, which nobody asks for, as bm25s takes none without terms.

    Args:
        words: what the numbers in `runs` mean.
        runs: the words of all documents, one document after the other.
        ends: where each document ends in `runs`.

    Returns:
        A matrix in compressed columns: documents (`indices`) and weights (`data`) of column c are
        at `indptr[c]:indptr[c + 1]`.
    """
    columns = {"": 0}
    terms_of = [
        [columns.setdefault(term, len(columns)) for term in word_terms(word)]
        if is_word(word)
        else []
        for word in words
    ]
    count = np.array([len(terms) for terms in terms_of], dtype=np.int64)
    flat = np.array([term for terms in terms_of for term in terms], dtype=np.int64)
    start = np.cumsum(count) - count
    bounds = np.array([0, *ends], dtype=np.int64)
    sizes = bounds[1:] - bounds[:-1]
    documents = len(sizes)
    # How often each document has each word, then each term.
    key = np.repeat(np.arange(documents) * max(1, len(words)), sizes) + np.asarray(runs)
    pairs, times = np.unique(key, return_counts=True)
    document, word = np.divmod(pairs, max(1, len(words)))
    many = count[word]
    place = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    term = flat[np.repeat(start[word], many) + place]
    key = np.repeat(document, many) + term * documents
    times = np.repeat(times, many)
    lengths = 1 + np.bincount(np.repeat(document, many), times, documents)
    key = np.concatenate([np.arange(documents), key])
    times = np.concatenate([np.ones(documents, dtype=np.int64), times])
    order = np.argsort(key, kind="stable")
    key, times = key[order], times[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    frequency = np.add.reduceat(times, first).astype(np.float64)
    column, document = np.divmod(key[first], documents)
    having = np.bincount(column, minlength=len(columns)).tolist()
    # One logarithm a term, by the C library: numpy's own differs between processors.
    idf = np.array([math.log(1 + (documents - n + 0.5) / (n + 0.5)) for n in having])
    norm = k1 * ((1 - b) + b * lengths / lengths.mean())
    scores = {
        "data": idf[column] * (frequency / (norm[document] + frequency)),
        "indices": document.astype(np.int32),
        "indptr": np.concatenate([[0], np.cumsum(having)]),
        "num_docs": documents,
    }
    return scores, columns


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
