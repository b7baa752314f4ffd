"""Static word embeddings: a small model made by hand, and the real one where it is at hand."""

import io
import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from test_bm25 import SHOP, corpus_of, modules

from rankgate.errors import InputError
from rankgate.retrievers import static
from rankgate.retrievers.static import Embedder, Static, WordVectors, words
from rankgate.sources import DOWNLOADS

ROOT = Path(__file__).parent.parent
WHEEL = ROOT / DOWNLOADS / f"{static.WHEEL.sha256}.whl"
# Pieces in the order in which neighbours join; each with its vector.
PIECES: dict[str, tuple[float, float]] = {
    "<unk>": (0, 0),
    "<0xC3>": (0, 9),
    "<0xA9>": (9, 0),
    "at": (1, 0),
    "\u2581c": (0, 2),
    "\u2581cat": (3, 4),
    "\u2581dog": (4, 3),
    "og": (5, 5),
    "\u2581d": (6, 6),
    **dict.fromkeys("\u2581acdgost", (1, 1)),
}


def safetensors(tensors: Mapping[str, np.ndarray]) -> bytes:
    header, data = {}, b""
    for name, tensor in tensors.items():
        content = tensor.tobytes()
        kind = {"float16": "F16", "float32": "F32"}[tensor.dtype.name]
        offsets = [len(data), len(data) + len(content)]
        header[name] = {"dtype": kind, "shape": tensor.shape, "data_offsets": offsets}
        data += content
    head = json.dumps({"__metadata__": {"format": "np"}, **header}).encode()
    return len(head).to_bytes(8, "little") + head + data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where `prepare` wrote the small model, out of a wheel like the real one."""
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as archive:
        weights = np.array(list(PIECES.values()), dtype=np.float16)
        content = safetensors({"embedding.weight": weights})
        archive.writestr("wordllama/weights/l2_supercat_256.safetensors", content)
        vocabulary = {piece: number for number, piece in enumerate(PIECES)}
        tokenizer = json.dumps({"model": {"vocab": dict(sorted(vocabulary.items()))}})
        archive.writestr("wordllama/tokenizers/l2_supercat_tokenizer_config.json", tokenizer)
    path = tmp_path / "small.whl"
    path.write_bytes(wheel.getvalue())
    static.prepare(path, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not WHEEL.is_file():
        pytest.skip(f"needs the wheel {static.WHEEL.name}: the stage `resources` fetches it")
    folder = tmp_path_factory.mktemp("static")
    static.prepare(WHEEL, folder)
    return folder


def opened(tmp_path: Path, model: Path, files: Mapping[str, str]) -> Static:
    corpus = corpus_of(tmp_path / "corpus", files)
    index = tmp_path / "index"
    index.mkdir()
    made, again = Static(), Static()
    for retriever in (made, again):
        retriever.use(model)
    made.build(corpus, index)
    again.open(corpus, index)
    return again


def test_neighbours_that_are_an_earlier_piece_join_first(folder: Path) -> None:
    # c-a-t: "at" is piece 3, "▁c" piece 4, then both are "▁cat"; "▁dog" needs "og" and "▁d".
    pieces = list(PIECES)
    vectors = WordVectors(folder)
    assert [pieces[number] for number in vectors.pieces("cat")] == ["\u2581cat"]
    assert [pieces[number] for number in vectors.pieces("dog")] == ["\u2581dog"]
    assert [pieces[number] for number in vectors.pieces("coat")] == ["\u2581c", "o", "at"]


def test_character_that_is_no_piece_counts_as_its_bytes(folder: Path) -> None:
    assert WordVectors(folder).pieces("é") == [list(PIECES).index("\u2581"), 1, 2]


def test_vector_of_a_word_is_the_sum_of_its_pieces(folder: Path) -> None:
    assert WordVectors(folder).of("coat").tolist() == [0 + 1 + 1, 2 + 1 + 0]


def test_words_weigh_by_rarity_and_by_the_root_of_their_count(folder: Path) -> None:
    # Of 3 chunks 1 has cat: ln(1 + 2.5 / 1.5); 2 have dog: ln(1 + 1.5 / 2.5).
    embedder = Embedder(WordVectors(folder), 3, {"cat": 1, "dog": 2})
    cat, dog = 2 * math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)
    expected = np.array([3 * cat + 4 * dog, 4 * cat + 3 * dog])
    (vector,) = embedder.embed([{"cat": 4, "dog": 1}])
    assert vector == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)


def test_text_without_words_has_no_direction(folder: Path) -> None:
    assert Embedder(WordVectors(folder), 1, {}).embed([{}]).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("parseHTTPHeaders(x)", ["parse", "http", "headers"]),
        ("What is the max_age of it?", ["max", "age"]),
        ("!!! 🎉", []),
    ],
)
def test_words_are_parts_of_identifiers_without_stop_words(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_module_is_ranked_by_its_best_chunk(folder: Path, tmp_path: Path) -> None:
    files = {"a.py": "dog\n", "b.py": "cat\n", "c.py": "cat dog\n"}
    assert modules(opened(tmp_path, folder, files).ask("cat cat", 3)) == ["b.py", "c.py", "a.py"]


def test_equal_scores_are_ordered_by_path(folder: Path, tmp_path: Path) -> None:
    files = {f"{name}/__init__.py": "cat\n" for name in "gost"}
    assert modules(opened(tmp_path, folder, files).ask("cat", 9)) == sorted(files)


def test_question_without_words_finds_nothing(folder: Path, tmp_path: Path) -> None:
    found = opened(tmp_path, folder, {"a.py": "cat\n"}).ask("what is it?", 3)
    assert (found.hits, found.context) == ((), "")


def test_pieces_are_the_best_chunks_of_the_modules_asked_for(folder: Path, tmp_path: Path) -> None:
    retriever = opened(tmp_path, folder, {"a.py": "dog\n", "b.py": "cat\n", "c.py": "cat dog\n"})
    assert [hit.module for hit in retriever.pieces("cat", ["a.py", "c.py"])] == ["c.py", "a.py"]


def test_model_that_nobody_prepared_is_an_error(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", SHOP)
    with pytest.raises(InputError, match="run the stage `resources`"):
        Static().build(corpus, tmp_path)
    with pytest.raises(InputError, match="holds no word vectors"):
        WordVectors(tmp_path)


@pytest.mark.parametrize(
    ("word", "numbers"),
    # By the library `tokenizers`, from the model's own tokenizer file.
    [
        ("cookie", [15327]),
        ("authenticate", [15585, 403]),
        ("unsubscribe", [443, 19496]),
        ("xml2dict", [4903, 29906, 8977]),
        ("naïve", [1055, 30085, 345]),
        ("日本語", [29871, 30325, 30346, 30968]),
        ("🎉", [29871, 243, 162, 145, 140]),
    ],
)
def test_real_words_are_cut_as_by_the_models_tokenizer(
    real: Path, word: str, numbers: list[int]
) -> None:
    assert WordVectors(real).pieces(word) == numbers


def test_question_finds_the_module_of_like_meaning(real: Path, tmp_path: Path) -> None:
    found = opened(tmp_path, real, SHOP).ask("give a customer the money back", 2)
    assert "billing/refunds.py" in modules(found)
    assert modules(found)[0].startswith("billing/")
