"""all-MiniLM-L6-v2 on onnxruntime: one text a run, so a vector never depends on its company."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_assets.embedding.minilm_graph import Product, minilm, overflow_probe
from memory_assets.embedding.model_files import (
    WEIGHTS_SHA256,
    WordPieces,
    load_word_pieces,
    read_weights,
)
from memory_assets.errors import EmbedderUnavailable, OutOfMemory, is_out_of_memory

_ONES = np.ones((1, 4), dtype=np.float32)
_PRECISION = "dynamic-int8-float-outliers"
"""Part of `embedder_id`: to be renamed with every change of the vectors."""
_ENOUGH_KNOWN = 0.5
MAX_THREADS = 4  # leaves a larger machine to its user


class MiniLM:
    """all-MiniLM-L6-v2: mean of the last hidden states, scaled to length 1."""

    family = "all-MiniLM-L6-v2"
    dimension = 384
    in_process = True

    def __init__(
        self,
        start_session: Callable[[], Any],
        word_pieces: WordPieces,
        embedder_id: str,
        threads: int,
    ) -> None:
        """Start a session, itself of one thread, before the first text, and run it from up
        to `threads` Python threads."""
        self.embedder_id = embedder_id
        self._start_session = start_session
        self._word_pieces = word_pieces
        self._threads = threads

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array (len(texts), 384) of rows of length 1.

        A row depends on its text alone, bit for bit. Beyond 256 word pieces a text is
        cut off, as sentence-transformers does; an empty text has a vector like any other.

        Raises:
            OutOfMemory: the machine has too little memory for the model.
            EmbedderUnavailable: the model cannot be started.
        """
        if isinstance(texts, str):
            raise TypeError("embed takes a sequence of texts, not one text")
        try:
            return self._embed(texts)
        except Exception as error:
            if is_out_of_memory(error):
                raise OutOfMemory("not enough memory for the embedding model") from error
            raise

    def knows(self, text: str) -> bool:
        """Whether the model knows at least half of a text's word pieces."""
        return self._word_pieces.known_share(text) >= _ENOUGH_KNOWN

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        if len(texts):
            _ = self._session  # started in this thread
        if len(texts) < 2 or self._threads < 2:
            for row, text in enumerate(texts):
                vectors[row] = self._embed_one(text)
            return vectors
        # Runs release the GIL. Two threads on one session: 1.95 times one thread;
        # two intra-op threads: 1.6 times, and less than 1 on a busy machine.
        with ThreadPoolExecutor(self._threads) as pool:
            for row, vector in enumerate(pool.map(self._embed_one, texts)):
                vectors[row] = vector
        return vectors

    @cached_property
    def _session(self) -> Any:
        return self._start_session()

    def _embed_one(self, text: str) -> NDArray[np.float32]:
        ids = np.array([self._word_pieces.model_input(text)], dtype=np.int64)
        inputs = {"input_ids": ids, "positions": np.arange(ids.shape[1])}
        hidden = self._session.run(["last_hidden_state"], inputs)[0]
        mean = hidden[0].mean(axis=0, dtype=np.float32)
        unit: NDArray[np.float32] = mean / np.linalg.norm(mean)
        return unit


def load_minilm(*, threads: int | None = None) -> MiniLM:
    """Return the packaged model.

    `threads` is how many texts are embedded at once; default: the CPUs this process
    may use, at most 4. Vectors do not depend on it. The files are checked now; the model
    itself starts with the first text.

    Raises:
        EmbedderUnavailable: files are missing or not the expected ones; says what to install.
    """
    weights = read_weights()
    word_pieces = load_word_pieces()
    embedder_id = f"{MiniLM.family}/{_PRECISION}/onnxruntime/{WEIGHTS_SHA256[:8]}"
    return MiniLM(
        partial(_start_session, weights), word_pieces, embedder_id, threads or _usable_cpus()
    )


def _start_session(weights: bytes) -> Any:
    try:
        onnxruntime = importlib.import_module("onnxruntime")  # 0.1 s, so not at import
    except ImportError as error:
        if is_out_of_memory(error):
            raise
        raise EmbedderUnavailable(
            "onnxruntime cannot be imported: pip install onnxruntime"
        ) from error
    try:
        exact = _run_alone(onnxruntime, overflow_probe()).run(["y"], {"x": _ONES})[0] > 500
        product: Product = "signed" if exact else "unsigned"
        return _run_alone(onnxruntime, minilm(weights, product))
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise EmbedderUnavailable(
            f"the embedding model does not start ({type(error).__name__}): "
            "pip install --force-reinstall onnxruntime"
        ) from error


def _run_alone(onnxruntime: ModuleType, model: bytes) -> Any:
    """Start a session of one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # What it would fuse beyond that is fused already, but for sums before layer norms: its
    # kernel for both takes ten times as long as its two.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _usable_cpus() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(cpus, MAX_THREADS)
