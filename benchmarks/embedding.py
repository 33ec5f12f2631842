"""What our graph of the embedding model gains, and what it costs in retrieval.

    python benchmarks/embedding.py [--passages N] [--speed-only] [--columns]

Beside the packaged graph (int8 weights, float products), in slices of one run on one thread:
passages a CPU second, the CPU seconds of a start, cosine to the packaged graph's vectors.
Passages are code of the evaluation data's CoSQA. Retrieval is by meaning alone over whole
messages and functions: R@5 on LoCoMo's dev conversations, MRR on CoSQA's dev questions.
`--columns` prints instead the columns with the largest values in what each product is given,
from which `OUTLIERS` and `ACTIVATED_OUTLIERS` of the graph were chosen.
"""

from __future__ import annotations

import argparse
import importlib
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from dev_data import unpack

from memory_assets.embedding import load_word_pieces, minilm_graph
from memory_assets.embedding.model_files import read_weights
from memory_assets.embedding.onnx_format import read_tensors

_SLICE = 25


def _runtime() -> Any:
    return importlib.import_module("onnxruntime")


class Model:
    """A graph that runs on one thread, and the CPU seconds that it took."""

    def __init__(self, graph: bytes) -> None:
        runtime = _runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        levels = runtime.GraphOptimizationLevel
        self.packaged = graph is _PACKAGED
        if not self.packaged:
            options.graph_optimization_level = levels.ORT_ENABLE_BASIC
        started = time.process_time()
        self._session = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self.start = time.process_time() - started
        self.seconds = 0.0

    def embed(self, texts: Sequence[Sequence[int]]) -> Any:
        """Return a row of length 1 for each text, given as word pieces."""
        started = time.process_time()
        rows = [self._hidden(text).mean(axis=0) for text in texts]
        self.seconds += time.process_time() - started
        vectors = np.array(rows)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def _hidden(self, text: Sequence[int]) -> Any:
        ids = np.array([text], dtype=np.int64)
        given = {"input_ids": ids, "positions": np.arange(ids.shape[1])}
        if self.packaged:
            ones, zeros = np.ones_like(ids), np.zeros_like(ids)
            given = {"input_ids": ids, "attention_mask": ones, "token_type_ids": zeros}
        return self._session.run(["last_hidden_state"], given)[0][0]


_PACKAGED = read_weights()


def _all_as_integers() -> bytes:
    kept = minilm_graph.OUTLIERS, minilm_graph.ACTIVATED_OUTLIERS
    minilm_graph.OUTLIERS, minilm_graph.ACTIVATED_OUTLIERS = (), ((),) * minilm_graph.LAYERS
    try:
        return minilm_graph.minilm(_PACKAGED)
    finally:
        minilm_graph.OUTLIERS, minilm_graph.ACTIVATED_OUTLIERS = kept


class _Inputs(minilm_graph._Layers):
    """The graph, whose outputs are what its products are given."""

    def __init__(self) -> None:
        super().__init__(read_tensors(_PACKAGED), "signed")
        self.inputs: dict[str, str] = {}

    def _multiplied(self, hidden: str, *given: Any, **more: Any) -> str:
        product = super()._multiplied(hidden, *given, **more)
        self.inputs[product] = hidden
        return product

    def session(self) -> Any:
        """Return a session whose outputs are the inputs of all products, by product."""
        self.model()
        outputs = dict.fromkeys(self.inputs.values(), np.float32)
        model = self._graph.model({"input_ids": np.int64, "positions": np.int64}, outputs)
        return _runtime().InferenceSession(model, providers=["CPUExecutionProvider"])


def _print_columns(texts: Sequence[Sequence[int]]) -> None:
    graph = _Inputs()
    session = graph.session()
    largest: dict[str, Any] = {}
    for text in texts:
        ids = np.array([text], dtype=np.int64)
        given = {"input_ids": ids, "positions": np.arange(ids.shape[1])}
        names = list(graph.inputs.values())
        for name, values in zip(names, session.run(names, given), strict=True):
            found = np.abs(values[0]).max(axis=0)
            largest[name] = np.maximum(largest.get(name, found), found)
    print("| product | median | largest values (columns) |\n|---|---|---|")
    for product, name in graph.inputs.items():
        order = np.argsort(-largest[name])[:8]
        cells = ", ".join(f"{largest[name][at]:.1f} ({at})" for at in order)
        print(f"| {product} | {np.median(largest[name]):.1f} | {cells} |")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _recall_at_5(model: Model, data: Path, pieces: Any) -> float:
    messages = _lines(data / "locomo_dev" / "messages.jsonl")
    found = []
    texts = [pieces.model_input(f"{each['speaker']}: {each['text']}") for each in messages]
    vectors = model.embed(texts)
    by_talk: dict[str, list[int]] = {}
    for at, message in enumerate(messages):
        by_talk.setdefault(message["collection"], []).append(at)
    for question in _lines(data / "locomo_dev" / "queries.jsonl"):
        if gold := set(question["evidence"]):
            own = by_talk[question["collection"]]
            asked = model.embed([pieces.model_input(question["query"])])[0]
            nearest = np.argsort(-(vectors[own] @ asked))[:5]
            turns = {messages[own[at]]["turn_id"] for at in nearest}
            found.append(len(gold & turns) / len(gold))
    return 100 * float(np.mean(found))


def _reciprocal_rank(
    model: Model, corpus: Sequence[Mapping[str, Any]], questions: Path, pieces: Any
) -> float:
    vectors = model.embed([pieces.model_input(each["text"]) for each in corpus])
    ranks = []
    for question in _lines(questions):
        asked = model.embed([pieces.model_input(question["text"])])[0]
        order = np.argsort(-(vectors @ asked))[:100]
        places = (n for n, at in enumerate(order, 1) if corpus[at]["_id"] in question["relevant"])
        ranks.append(1 / next(places, np.inf))
    return float(np.mean(ranks))


def main() -> None:
    """Print a row for each graph."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passages", type=int, default=500)
    parser.add_argument("--speed-only", action="store_true")
    parser.add_argument("--columns", action="store_true")
    args = parser.parse_args()
    pieces = load_word_pieces()
    models = {
        "packaged": Model(_PACKAGED),
        "ours": Model(minilm_graph.minilm(_PACKAGED)),
        "ours, unsigned": Model(minilm_graph.minilm(_PACKAGED, "unsigned")),
        "all as integers": Model(_all_as_integers()),
    }
    with tempfile.TemporaryDirectory() as scratch:
        data = next(unpack("retrieval.tar.xz", Path(scratch)).rglob("cosqa_dev")).parent
        corpus = _lines(data / "cosqa_dev" / "corpus.jsonl")
        texts = [pieces.model_input(each["text"]) for each in corpus]
        longer = [text for text in texts if len(text) >= 100][: args.passages]
        if args.columns:
            _print_columns(longer)
            return
        vectors: dict[str, list[Any]] = {name: [] for name in models}
        for at in range(0, len(longer), _SLICE):
            for name, model in models.items():
                vectors[name].append(model.embed(longer[at : at + _SLICE]))
        length = np.mean([len(text) for text in longer])
        print(f"{len(longer)} passages of {length:.0f} word pieces on average\n")
        print("| graph | passages a CPU second | start, CPU s | cosine mean / least |", end="")
        print(" LoCoMo R@5 | CoSQA MRR |\n|---|---|---|---|---|---|")
        rates = {name: len(longer) / model.seconds for name, model in models.items()}
        reference = np.concatenate(vectors["packaged"])
        for name, model in models.items():
            alike = (np.concatenate(vectors[name]) * reference).sum(axis=1)
            row = [name, f"{rates[name]:.1f} (x{rates[name] / rates['packaged']:.2f})"]
            row += [f"{model.start:.3f}", f"{alike.mean():.4f} / {alike.min():.4f}"]
            if args.speed_only or name == "ours, unsigned":
                row += ["", ""]
            else:
                questions = data / "cosqa_dev" / "queries.jsonl"
                row.append(f"{_recall_at_5(model, data, pieces):.1f}")
                row.append(f"{_reciprocal_rank(model, corpus, questions, pieces):.4f}")
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
