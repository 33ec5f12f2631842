"""The model's graph, changed to start faster: the same vectors, bit for bit."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from memory_assets.embedding import load_word_pieces
from memory_assets.embedding.lean_graph import lean
from memory_assets.embedding.weights import MINILM_INT8_WEIGHTS, read_packaged

TEXTS = ["", "why did the build fail?", "def f(x):\n    return x ** 2", "naïve 你好 " * 40]


@pytest.fixture(scope="module")
def packaged() -> bytes:
    """The model as it is packaged."""
    return read_packaged(MINILM_INT8_WEIGHTS)


def _session(model: bytes) -> Any:
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def test_the_lean_graph_gives_the_same_vectors(packaged: bytes) -> None:
    """For texts, and for a sixth of the vocabulary."""
    before, after = _session(packaged), _session(lean(packaged))
    pieces = load_word_pieces()
    inputs = [pieces.model_input(text) for text in TEXTS]
    inputs += [list(range(start, min(start + 512, 30_522))) for start in range(0, 30_522, 3_072)]
    for each in inputs:
        ids = np.array([each], dtype=np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        hidden = [session.run(["last_hidden_state"], given)[0] for session in (before, after)]
        assert np.array_equal(*hidden)


def test_the_weights_stay_as_they_are(packaged: bytes) -> None:
    """Three nodes are replaced by four; nothing else changes."""
    changed = lean(packaged)
    assert changed != packaged and abs(len(changed) - len(packaged)) < 1_000
    middle = len(packaged) // 2
    assert packaged[middle : middle + 100_000] in changed


@pytest.mark.parametrize("other", [b"", b"\x08\x0a", b"\x3a\x02\x12\x00"])
def test_a_graph_that_looks_otherwise_is_left_alone(other: bytes) -> None:
    """An empty one, one without a graph, one without nodes."""
    assert lean(other) == other
