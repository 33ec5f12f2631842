"""The graph of integer products: what it is made of, and that it computes the model."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from memory_assets.embedding import load_word_pieces
from memory_assets.embedding.minilm_graph import Product, minilm, overflow_probe
from memory_assets.embedding.model_files import read_weights

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
