"""A Chroma collection that is not ours: its metadata and documents.

Belongs here: reading any collection of the same Chroma, of any program, with any
distance. Does not: deciding whether its vectors are of our space (`recall/`), writing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

_INCLUDE: list[Any] = ["documents", "metadatas", "embeddings"]

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True)
class OtherDocument:
    """A row of a collection that is not ours. `vector` has length 1; `text` is as its
    maker stored it and did not pass our redactor."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    vector: Vector = field(repr=False, compare=False)


class OtherCollection:
    """One collection, read only; `raw` describes it, and `call` asks for its rows. Use
    `VectorStore.other`."""

    def __init__(self, raw: Any, call: Callable[..., Any]) -> None:
        self._raw = raw
        self._call = call

    @property
    def name(self) -> str:
        """The collection's name."""
        return str(self._raw.name)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata that its maker gave it."""
        return dict(self._raw.metadata or {})

    @property
    def embedding_function(self) -> Mapping[str, Any]:
        """Chroma's record of how its texts are embedded: `type`, `name`, `config`; empty
        where it has none."""
        configuration: Mapping[str, Any] = self._raw.configuration_json or {}
        return dict(configuration.get("embedding_function") or {})

    def count(self) -> int:
        """Return the number of rows."""
        return int(self._call("count"))

    def sample(self, n: int) -> list[OtherDocument]:
        """Return any `n` rows."""
        return self._read(limit=n)

    def by_id(self, document_id: str) -> OtherDocument | None:
        """Return one row, or None."""
        return next(iter(self._read(ids=[document_id])), None)

    def _read(self, **which: Any) -> list[OtherDocument]:
        return _documents(self._call("get", **which, include=_INCLUDE))

    def nearest(
        self, vector: Vector, n: int, where: Mapping[str, Any] | None = None
    ) -> list[tuple[OtherDocument, float]]:
        """Return the `n` rows nearest to a unit vector with their cosine similarities,
        most similar first, whatever distance the collection measures by."""
        page: Mapping[str, Any] = self._call(
            "query",
            query_embeddings=vector.reshape(1, -1),
            n_results=n,
            where=dict(where) if where else None,
            include=_INCLUDE,
        )
        columns = ("ids", *_INCLUDE)
        found = _documents({name: page[name][0] for name in columns if page.get(name) is not None})
        scored = [(document, float(document.vector @ vector)) for document in found]
        return sorted(scored, key=lambda pair: (-pair[1], pair[0].id))


def _documents(page: Mapping[str, Any]) -> list[OtherDocument]:
    ids: Sequence[str] = page["ids"]
    empty: list[Any] = [None] * len(ids)
    columns = [page.get(name) for name in _INCLUDE]
    texts, metadatas, vectors = (empty if column is None else column for column in columns)
    return [
        OtherDocument(row_id, text or "", metadata or {}, _unit(vector))
        for row_id, text, metadata, vector in zip(ids, texts, metadatas, vectors, strict=True)
    ]


def _unit(vector: Any) -> Vector:
    values = np.asarray(vector if vector is not None else [], dtype=np.float32)
    length = float(np.linalg.norm(values))
    unit: Vector = values / length if length else values
    return unit
