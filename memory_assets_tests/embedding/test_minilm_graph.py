"""The graph of integer products: what it is made of, and that it computes the model."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from memory_assets.embedding import load_word_pieces
from memory_assets.embedding.minilm_graph import Product, minilm, overflow_probe
from memory_assets.embedding.model_files import read_weights
from memory_assets.embedding.onnx_format import Graph, read_tensors

TEXTS = ["", "why did the build fail?", "def f(x):\n    return x ** 2", "naïve 你好 " * 40]


@pytest.fixture(scope="module")
def packaged() -> bytes:
    """The model as it is packaged: int8 weights, made floats before they are multiplied."""
    return read_weights()


def _session(model: bytes) -> Any:
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _unit(hidden: Any) -> Any:
    mean = hidden[0].mean(axis=0)
    return mean / np.linalg.norm(mean)


def _probed_sum() -> float:
    ones = np.ones((1, 4), dtype=np.float32)
    return float(_session(overflow_probe()).run(["y"], {"x": ones})[0][0, 0])


@pytest.mark.parametrize("product", ["signed", "unsigned"])
def test_the_graph_computes_the_packaged_model(packaged: bytes, product: Product) -> None:
    """With unsigned weights, and with signed ones where sums do not overflow: cosine above .998
    for each text, the empty one included, and above .99 for the hidden states of every word
    piece."""
    if product == "signed" and _probed_sum() < 500:
        pytest.skip("this processor adds two products in 16 bits (no VNNI)")
    floats, integers = _session(packaged), _session(minilm(packaged, product))
    pieces = load_word_pieces()
    for text in TEXTS:
        ids = np.array([pieces.model_input(text)], dtype=np.int64)
        ones, zeros = np.ones_like(ids), np.zeros_like(ids)
        given = {"input_ids": ids, "attention_mask": ones, "token_type_ids": zeros}
        expected = floats.run(["last_hidden_state"], given)[0]
        given = {"input_ids": ids, "positions": np.arange(ids.shape[1])}
        found = integers.run(["last_hidden_state"], given)[0]
        assert found.shape == expected.shape
        assert _unit(found) @ _unit(expected) > 0.998
        norms = np.linalg.norm(found, axis=-1) * np.linalg.norm(expected, axis=-1)
        assert ((found * expected).sum(axis=-1) / norms).min() > 0.99


def test_the_probe_tells_exact_sums_from_overflowing_ones() -> None:
    """Four products of 127 and 255 are 508 after scaling; two of them in 16 bits overflow."""
    found = _probed_sum()
    assert found == pytest.approx(508, abs=0.01) or found == pytest.approx(257, abs=1)


def test_tensors_that_are_written_are_read_back() -> None:
    """Names, types, shapes and values, of each type that is written."""
    graph = Graph()
    tensors: dict[str, np.ndarray[Any, Any]] = {
        "floats": np.array([[1.5, -2.0]], dtype=np.float32),
        "bytes": np.arange(256, dtype=np.uint8),
        "signed": np.array([[-127], [127]], dtype=np.int8),
        "long": np.array([-1, 2**40], dtype=np.int64),
    }
    for name, values in tensors.items():
        graph.tensor(name, values)
    read = read_tensors(graph.model({}, {}))
    assert read.keys() == tensors.keys()
    for name, values in tensors.items():
        assert read[name].dtype == values.dtype
        assert np.array_equal(read[name], values)


def test_attributes_and_outputs_reach_the_runtime() -> None:
    """A split of six columns into three, and a softmax over the first axis."""
    graph = Graph()
    graph.node("Split", ["x"], ["a", "b", "c"], axis=1, num_outputs=3)
    graph.node("LeakyRelu", ["b"], "y", alpha=0.5)
    session = _session(graph.model({"x": np.float32}, {"y": np.float32, "c": np.float32}))
    given = np.array([[1, 2, -3, 4, 5, 6]], dtype=np.float32)
    y, c = session.run(["y", "c"], {"x": given})
    assert y.tolist() == [[-1.5, 4.0]] and c.tolist() == [[5.0, 6.0]]


@pytest.mark.parametrize("other", [b"", b"\x08\x0a", b"\x3a\x02\x12\x00"])
def test_a_file_without_tensors_has_none(other: bytes) -> None:
    """An empty one, one without a graph, one whose graph has only a name."""
    assert read_tensors(other) == {}
