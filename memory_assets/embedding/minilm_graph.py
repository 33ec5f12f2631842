"""all-MiniLM-L6-v2 as a graph of integer products, built from the packaged int8 weights.

The packaged graph converts its int8 weights to floats and multiplies floats. This one quantizes
the hidden states to int8 as well, in ranges chosen at run time (dynamic quantization), except a few
columns that would widen the ranges of all others. It embeds 2.7 times as many passages a second and
starts in a fifth of the time (docs/chunking.md, with the cost in retrieval). The weights are used
unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from memory_assets.embedding.onnx_format import CONTRIB, Array, Graph, read_tensors

LAYERS = 6
HEADS = 12
WIDTH = 384
"""Numbers of a hidden state."""
_EPSILON = 1e-12
OUTLIERS = (63, 99, 127, 157, 223, 338)
"""Columns of the hidden states with values up to 15 times as large as those of the others,
the same in every text and layer; column 99 reaches 30. They are multiplied as floats, so that
the int8 range need not hold them (`python benchmarks/embedding.py --columns` prints them)."""
ACTIVATED_OUTLIERS = ((856,), (607,), (218, 1004), (358,), (), ())
"""Columns with such values after the activation function, by layer."""

Product = Literal["signed", "unsigned"]
"""How integers are multiplied. Processors without a dot product of 8-bit integers add two
products in 16 bits, which overflows with signed weights; unsigned ones take longer there
and give the same sums."""


def minilm(packaged: bytes, product: Product = "signed") -> bytes:
    """Return a model from `input_ids` (1, n) and `positions` (n,), both int64, to
    `last_hidden_state` (1, n, 384), float32."""
    return _Layers(read_tensors(packaged), product).model()


def padded_minilm(packaged: bytes, length: int, product: Product = "signed") -> bytes:
    """Return a model from `input_ids`, `attention_mask` and `token_type_ids` (b, length), all
    int64, to `last_hidden_state` (b, length, 384), float32. It runs each row alone and without
    its padding, so that the hidden states are those of `minilm`; of the padding they are 0."""
    layers = _Layers(read_tensors(packaged), product)
    row = layers.graph
    row.node("Cast", ["row_mask"], "is_text", to=9)
    row.node("Compress", ["row_ids", "is_text"], "text_ids")
    row.node("Unsqueeze", ["text_ids", row.tensor("first", np.zeros(1, np.int64))], "text")
    places = row.tensor("places", np.arange(length, dtype=np.int64))
    row.node("Compress", [places, "is_text"], "positions")
    row.node("Squeeze", [layers.hidden_states("text"), "first"], "text_hidden")
    row.node("Unsqueeze", ["positions", row.tensor("last", np.ones(1, np.int64))], "text_places")
    nothing = row.tensor("nothing", np.zeros((length, WIDTH), dtype=np.float32))
    row.node("ScatterND", [nothing, "text_places", "text_hidden"], "row_hidden")
    body = row.body({"row_ids": np.int64, "row_mask": np.int64}, {"row_hidden": np.float32})
    batch = Graph()
    batch.node(
        "Scan", ["input_ids", "attention_mask"], "last_hidden_state", body=body, num_scan_inputs=2
    )
    names = ("input_ids", "attention_mask", "token_type_ids")
    return batch.model(dict.fromkeys(names, np.int64), {"last_hidden_state": np.float32})


def overflow_probe() -> bytes:
    """Return a model from `x` (1, 4), ones, to `y` (1, 1): about 508 where signed
    products are exact, 257 where they overflow."""
    graph = Graph()
    weights = graph.tensor("w", np.full((4, 1), 127, dtype=np.int8))
    scale = graph.tensor("s", np.ones(1, dtype=np.float32))
    graph.node("DynamicQuantizeMatMul", ["x", weights, scale], "y", CONTRIB)
    return graph.model({"x": np.float32}, {"y": np.float32})


class _Layers:
    """The graph while it is made, layer after layer."""

    def __init__(self, weights: dict[str, Array], product: Product) -> None:
        self._weights = weights
        self._product = product
        self.graph = Graph()
        # Two tables of embeddings, then query, key, value, attention output, intermediate
        # and output of each layer: the order in the packaged file, whose hash is checked.
        tables = [name for name, values in weights.items() if values.dtype == np.int8]
        self._matrices = [name.removesuffix("_q") for name in tables[2:]]

    def model(self) -> bytes:
        """Return the whole model."""
        self.graph.node("Identity", [self.hidden_states("input_ids")], "last_hidden_state")
        return self.graph.model(
            {"input_ids": np.int64, "positions": np.int64}, {"last_hidden_state": np.float32}
        )

    def hidden_states(self, ids: str) -> str:
        """Add all layers over ids (1, n) and `positions`, and return the name of the last hidden
        states."""
        hidden = self._embeddings(ids)
        for layer in range(LAYERS):
            hidden = self._layer(layer, hidden)
        return hidden

    def _embeddings(self, ids: str) -> str:
        """Look rows up in the int8 tables; they alone become floats."""
        graph, prefix = self.graph, "inner.embeddings."
        words = f"{prefix}word_embeddings.weight"
        for part in ("q", "scale"):
            table = graph.tensor(f"{words}_{part}", self._weights[f"{words}_{part}"])
            graph.node("Gather", [table, ids], f"word_{part}")
        graph.node("Cast", ["word_q"], "word_float", to=1)
        graph.node("Mul", ["word_float", "word_scale"], "word")
        name = f"{prefix}position_embeddings.weight"
        floats = self._weights[f"{name}_q"] * self._weights[f"{name}_scale"]
        first = self._weights[f"{prefix}token_type_embeddings.weight"][0]  # of a pair of texts
        table = graph.tensor("positions_table", np.asarray(floats + first, dtype=np.float32))
        graph.node("Gather", [table, "positions"], "position")
        return self._added_and_normalized("word", "position", prefix)

    def _layer(self, layer: int, hidden: str) -> str:
        prefix = f"inner.encoder.layer.{layer}."
        query, key, value, attended, wider, narrower = self._matrices[6 * layer : 6 * layer + 6]
        biases = [f"{prefix}attention.self.{name}.bias" for name in ("query", "key", "value")]
        joint = self._multiplied(hidden, (query, key, value), biases, f"qkv{layer}", OUTLIERS)
        parts = [f"{name}{layer}" for name in ("query", "key", "value")]
        self.graph.node("Split", [joint], parts, axis=-1, num_outputs=3)
        mixed = self.graph.node(
            "MultiHeadAttention", parts, f"mixed{layer}", CONTRIB, num_heads=HEADS
        )
        output = f"{prefix}attention.output."
        product = self._multiplied(mixed, [attended], [f"{output}dense.bias"], f"attended{layer}")
        hidden = self._added_and_normalized(product, hidden, output)
        bias = f"{prefix}intermediate.dense.bias"
        product = self._multiplied(hidden, [wider], [bias], f"wider{layer}", OUTLIERS)
        product = self.graph.node("Gelu", [product], f"gelu{layer}", CONTRIB)
        output = f"{prefix}output."
        product = self._multiplied(
            product,
            [narrower],
            [f"{output}dense.bias"],
            f"narrower{layer}",
            ACTIVATED_OUTLIERS[layer],
        )
        return self._added_and_normalized(product, hidden, output)

    def _multiplied(
        self,
        hidden: str,
        names: Sequence[str],
        biases: Sequence[str],
        to: str,
        outliers: Sequence[int] = (),
    ) -> str:
        """Multiply by matrices side by side: the columns `outliers` of `hidden` as floats, the
        others with one int8 range for all."""
        if not outliers:
            return self._multiplied_as_integers(hidden, names, biases, to)
        graph, weights = self.graph, self._weights
        rows = [weights[f"{name}_q"][list(outliers)] * weights[f"{name}_scale"] for name in names]
        matrix = np.concatenate(rows, axis=1, dtype=np.float32)
        columns = graph.tensor(f"{to}.outliers", np.array(outliers, dtype=np.int64))
        few = graph.node("Gather", [hidden, columns], f"{to}.few", axis=-1)
        product = graph.node("MatMul", [few, graph.tensor(f"{to}.rows", matrix)], f"{to}.floats")
        others = np.ones(len(weights[f"{names[0]}_q"]), dtype=np.float32)
        others[list(outliers)] = 0
        rest = graph.node("Mul", [hidden, graph.tensor(f"{to}.others", others)], f"{to}.rest")
        return graph.node(
            "Add",
            [product, self._multiplied_as_integers(rest, names, biases, f"{to}.integers")],
            to,
        )

    def _multiplied_as_integers(
        self, hidden: str, names: Sequence[str], biases: Sequence[str], to: str
    ) -> str:
        graph, weights = self.graph, self._weights
        matrix = np.concatenate([weights[f"{name}_q"] for name in names], axis=1)
        zero = ""
        if self._product == "unsigned":
            matrix = matrix.view(np.uint8) ^ np.uint8(128)  # moved by 128
            zero = graph.tensor(f"{to}.zero", np.full(matrix.shape[1], 128, dtype=np.uint8))
        scale = np.concatenate([weights[f"{name}_scale"][0] for name in names])
        inputs = [
            hidden,
            graph.tensor(f"{to}.matrix", matrix),
            graph.tensor(f"{to}.scale", scale),
            zero,
            graph.tensor(f"{to}.bias", np.concatenate([weights[name] for name in biases])),
        ]
        return graph.node("DynamicQuantizeMatMul", inputs, to, CONTRIB)

    def _added_and_normalized(self, left: str, right: str, prefix: str) -> str:
        graph = self.graph
        total = graph.node("Add", [left, right], f"{prefix}sum")
        names = [f"{prefix}LayerNorm.{part}" for part in ("weight", "bias")]
        inputs = [total, *(graph.tensor(name, self._weights[name]) for name in names)]
        return graph.node(
            "LayerNormalization", inputs, f"{prefix}normalized", axis=-1, epsilon=_EPSILON
        )
