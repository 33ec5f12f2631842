"""Forgetting, and looking for what it left: what a session alone says, and in which files of a
memory it stands, as lines, ids and names in any spelling, as vectors at any alignment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from memory_assets.pipeline.removal import forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.pipeline.stage.components import Components
from memory_assets.redacted_text import seal
from memory_assets.settings import Settings
from memory_assets.stores.lake.schemas import EMBEDDING_DIMENSION, TABLES
from memory_assets_tests.nested import strings_in
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.pipeline.retaining import is_of

_PIECE = 64
"""Floats of a vector that are looked for together; the whole may be split over pages."""
_SHORTEST_LINE = 30
_BEGINNING = 8
"""Bytes of a word that are looked for first."""
_OF_OTHERS = {"parent_uuid"}
"""A fork's own record may answer a forgotten one."""

Vectors = npt.NDArray[np.float32]


def rows_at_rest(settings: Settings) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each table's name with each of its rows."""
    lake = Components(settings).lake
    for name, table in TABLES.items():
        for project in lake.projects(table):
            for row in lake.read_partition(table, project).to_pylist():
                yield name, row


def words_only_of(settings: Settings, session_ids: set[str]) -> set[str]:
    """The lines and ids of these sessions that stand in no other one."""
    own: set[str] = set()
    others: list[str] = []
    for _, row in rows_at_rest(settings):
        texts = list(strings_in(row, without=_OF_OTHERS))
        if is_of(session_ids, row):
            own.update(line.strip() for text in texts for line in text.splitlines())
        else:
            others += texts
    everything_else = "\n".join(others)
    return {line for line in own if len(line) >= _SHORTEST_LINE and line not in everything_else}


def vectors_only_of(settings: Settings, session_ids: set[str]) -> Vectors:
    """The vectors of these sessions that resemble none of another one."""
    own: list[list[float]] = []
    others: list[list[float]] = []
    for name, row in rows_at_rest(settings):
        if name.endswith("_embeddings"):
            (own if is_of(session_ids, row) else others).append(row["vector"])
    mine, rest = np.array(own, dtype=np.float32), np.array(others, dtype=np.float32)
    alone: Vectors = mine[(mine @ rest.T).max(axis=1) < 0.99]
    return alone


def files_in(root: Path) -> list[Path]:
    """The files below a directory."""
    return [path for path in sorted(root.rglob("*")) if path.is_file()]


def _contents(path: Path, without: Set[str]) -> Iterator[bytes]:
    """A file's name and bytes, and what its Parquet pages hold, without some columns."""
    yield bytes(path)
    content = path.read_bytes()
    yield content
    if content[:4] == b"PAR1":
        file = pq.ParquetFile(path)
        said = "\n".join(strings_in(file.read().to_pylist(), without=without))
        yield said.encode("utf-8", "surrogatepass")
        yield repr(file.metadata.metadata).encode()


def found_words(root: Path, words: set[str], without: Set[str] = _OF_OTHERS) -> dict[str, set[str]]:
    """Which files hold which of the words, as they are, in JSON, or in UTF-16."""
    forms = {
        form: word
        for word in words
        for form in (word.encode(), json.dumps(word)[1:-1].encode(), word.encode("utf-16-le"))
    }
    search = Forms(list(forms))
    found: dict[str, set[str]] = {}
    for path in files_in(root):
        for content in _contents(path, without):
            for form in search.within(content):
                found.setdefault(str(path.relative_to(root)), set()).add(forms[form])
    return found


class Forms:
    """Looks for many byte strings at once: where the first eight bytes of one stand, all of it is
    compared. To look for one after the other takes most of the CPU of the tests that do."""

    def __init__(self, forms: list[bytes]) -> None:
        self._forms: dict[int, list[bytes]] = {}
        for form in forms:
            assert len(form) >= _BEGINNING, form
            self._forms.setdefault(int.from_bytes(form[:_BEGINNING], "little"), []).append(form)
        self._beginnings = np.array(sorted(self._forms), dtype="<u8")
        self._may_begin = np.zeros(1 << 16, dtype=bool)
        self._may_begin[self._beginnings & 0xFFFF] = True

    def within(self, content: bytes) -> set[bytes]:
        """Those that stand anywhere in it."""
        found: set[bytes] = set()
        for shift in range(min(_BEGINNING, len(content) - _BEGINNING + 1)):
            count = (len(content) - shift) // _BEGINNING
            read = np.frombuffer(content, "<u8", count, shift)
            at = np.flatnonzero(self._may_begin[read & 0xFFFF])
            among = np.searchsorted(self._beginnings, read[at]) % len(self._beginnings)
            at = at[self._beginnings[among] == read[at]]
            for place in (at * _BEGINNING + shift).tolist():
                begins = int.from_bytes(content[place : place + _BEGINNING], "little")
                found.update(f for f in self._forms[begins] if content.startswith(f, place))
        return found


def vectors_found(root: Path, vectors: Vectors) -> set[str]:
    """The files in which a piece of one of the vectors stands, to four digits."""
    pieces = vectors.reshape(-1, _PIECE)
    found = set()
    for path in files_in(root):
        content = path.read_bytes()
        for shift in range(4):
            if _has_piece(content[shift:], pieces):
                found.add(str(path.relative_to(root)))
    return found


def _has_piece(content: bytes, pieces: Vectors) -> bool:
    floats = np.frombuffer(content[: len(content) // 4 * 4], dtype="<f4")
    with np.errstate(invalid="ignore", over="ignore"):
        for piece in pieces:
            largest = int(np.abs(piece).argmax())
            like = np.flatnonzero(np.abs(floats - piece[largest]) < 1e-4 * abs(piece[largest]))
            for start in like - largest:
                window = floats[start : start + _PIECE] if start >= 0 else floats[:0]
                if len(window) == _PIECE and np.allclose(window, piece, rtol=1e-3, atol=1e-6):
                    return True
    return False


_SAVED_AFTER = 1_100
"""Rows after which Chroma has written a collection's HNSW files (its default: 1,000)."""


def let_chroma_save_its_vectors(components: Components) -> None:
    """Write more rows than it keeps in its queue alone, and delete them."""
    collection = components.vectors.get("claude-code-sessions")
    random = np.random.default_rng(0).normal(size=(_SAVED_AFTER, EMBEDDING_DIMENSION))
    ids = [f"filler {number}" for number in range(_SAVED_AFTER)]
    vectors = (random / np.linalg.norm(random, axis=1, keepdims=True)).astype(np.float32)
    collection.upsert(ids, vectors, [seal(name) for name in ids], [{"filler": True}] * len(ids))
    collection.delete(ids)


def no_dagster(names: forget.Names) -> int:
    """Where Dagster has kept nothing."""
    return 0


def forget_sessions(memory: SampleMemory, **selection: Any) -> forget.ForgetReport:
    """Forget what is selected, and return the report."""
    found = select(memory.components, Selection(**selection))
    return forget.forget(memory.components, found, erase_traces=no_dagster)


def files_naming(memory: SampleMemory, *words: str) -> list[str]:
    """The files of the memory in whose name or bytes one of the words stands."""
    return [
        str(path.relative_to(memory.data_dir))
        for path in sorted(memory.data_dir.rglob("*"))
        if any(word in path.name for word in words)
        or (path.is_file() and any(word.encode() in path.read_bytes() for word in words))
    ]
