"""Retrieval by a sentence encoder: with a tiny one, and the real one where it is at hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from test_bm25 import SHOP, corpus_of, modules
from test_minilm import embedder  # noqa: F401 — a fixture

from rankgate.corpus import Corpus
from rankgate.errors import InputError
from rankgate.retrievers import minilm
from rankgate.retrievers.dense import Dense
from rankgate.retrievers.vectors import Vectors
from rankgate.tokens import count_tokens


class Counting:
    """Counts cats and dogs: (cats, dogs), made 1 long."""

    def __init__(self, folder: Path) -> None:
        pass

    def embed(self, texts: Sequence[str]) -> Vectors:
        counts = np.array([[text.count("cat"), text.count("dog")] for text in texts], np.float32)
        lengths = np.linalg.norm(counts, axis=1, keepdims=True)
        return np.divide(counts, lengths, out=counts, where=lengths > 0)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "Embedder", Counting)


def built(tmp_path: Path, files: Mapping[str, str], **options: int) -> tuple[Dense, Corpus, Path]:
    corpus = corpus_of(tmp_path / "corpus", files)
    index = tmp_path / "index"
    index.mkdir()
    retriever = Dense(**options)
    retriever.use(tmp_path)
    retriever.build(corpus, index)
    return retriever, corpus, index


def opened(tmp_path: Path, files: Mapping[str, str], **options: int) -> Dense:
    retriever, corpus, index = built(tmp_path, files, **options)
    retriever.open(corpus, index)
    return retriever


@pytest.mark.usefixtures("counting")
def test_score_is_the_cosine(tmp_path: Path) -> None:
    hits = opened(tmp_path, {"a.py": "dog cat\n", "b.py": "cat\n"}).ask("cat", 5).hits
    assert [(hit.module, hit.score) for hit in hits] == [("b.py", 1.0), ("a.py", 0.70711)]


@pytest.mark.usefixtures("counting")
def test_hit_is_the_best_chunk_of_its_module(tmp_path: Path) -> None:
    files = {"a.py": "dog\ndog\ncat\ncat\ndog\n"}
    (hit,) = opened(tmp_path, files, chunk_lines=2, chunk_overlap=0).ask("cat", 5).hits
    assert (hit.start_line, hit.end_line, hit.text) == (3, 4, "cat\ncat")


@pytest.mark.usefixtures("counting")
def test_equal_scores_are_ordered_by_path(tmp_path: Path) -> None:
    files = {"b.py": "cat\n", "a/c.py": "cat cat\n", "z.py": "cat\n"}
    assert modules(opened(tmp_path, files).ask("cat", 2)) == ["a/c.py", "b.py"]


@pytest.mark.usefixtures("counting")
def test_context_has_the_best_chunks_of_the_modules_returned(tmp_path: Path) -> None:
    files = {"a.py": "dog\ndog\ncat\ncat\n", "b.py": "cat dog\n", "c.py": "dog\n"}
    found = opened(tmp_path, files, chunk_lines=2, chunk_overlap=0).ask("cat", 2)
    assert [line for line in found.context.splitlines() if ".py:" in line] == [
        "a.py:3-4",
        "b.py:1-1",
        "a.py:1-2",
    ]


@pytest.mark.usefixtures("counting")
def test_context_stays_within_its_tokens(tmp_path: Path) -> None:
    files = {f"m{i}.py": "cat sat on the mat\n" * 40 for i in range(9)}
    context = opened(tmp_path, files, context_tokens=300).ask("cat", 9).context
    assert 200 < count_tokens(context) <= 300


@pytest.mark.usefixtures("counting")
def test_index_of_another_corpus_is_refused(tmp_path: Path) -> None:
    retriever, _, index = built(tmp_path, {"a.py": "cat\n"})
    with pytest.raises(InputError, match="of another corpus"):
        retriever.open(corpus_of(tmp_path / "other", {"b.py": "cat\n"}), index)
    (index / "vectors.npy").unlink()
    with pytest.raises(InputError, match="not a readable index"):
        retriever.open(corpus_of(tmp_path / "again", {"a.py": "cat\n"}), index)


def test_model_that_nobody_prepared_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run the stage `resources`"):
        Dense().build(corpus_of(tmp_path / "corpus", SHOP), tmp_path)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"chunk_lines": 0}, "chunk_lines: expected an integer >= 1, got 0"),
        ({"chunk_overlap": 50}, "chunk_overlap: expected an integer from 0 to 49, got 50"),
        ({"context_tokens": True}, "context_tokens: expected an integer >= 0, got True"),
    ],
)
def test_argument_out_of_its_range_is_named(options: dict[str, int], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Dense(**options)


def test_question_finds_the_module_of_like_meaning(
    embedder: minilm.Embedder,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(minilm, "Embedder", lambda _: embedder)
    retriever = opened(tmp_path, SHOP)
    assert modules(retriever.ask("give a customer the money back", 1)) == ["billing/refunds.py"]
    assert modules(retriever.ask("who checks the passphrase?", 1)) == ["auth/login.py"]
