"""Rows of every table, and Chroma servers that never outlive their test."""

from __future__ import annotations

import contextlib
import os
import time
import types
import typing
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from memory_assets.redacted_text import RedactedText, seal
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.schema import Product, Quarantined, SourceRow
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import EMBEDDING_DIMENSION, Table

LONG_AGO = datetime(2025, 5, 17, 8, 30, 0, 123456, tzinfo=UTC)
WRITABLE_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SOURCE = SourceRow(
    agent="claude-code",
    project="p",
    session_id="s",
    agent_id="",
    path="/t/s.jsonl",
    size=100,
    mtime_ns=5,
    fingerprint="f",
    reader_version="1",
    family=-3,
    facts={"prompts": 2, "bad_lines": 1, "dropped": {"noise": 3}},
    records=b"\x01\x02",
)
PRODUCT = Product("redacted_records", "p", "s", "in", "out", rows=7, bytes=70, facts={"turns": 2})
HELD = Quarantined("p", "s", "redacted_records", "in", "record 3 could not be redacted")


class Rows:
    """Makes instances of a table's model from the types of its fields."""

    def strategy(self, table: Table) -> st.SearchStrategy[Any]:
        """What draws any row of `table` that Parquet can hold."""
        hints = typing.get_type_hints(table.model)
        return st.builds(table.model, **{name: _drawn(hint) for name, hint in hints.items()})

    def row(self, table: Table, label: str = "x", **given: Any) -> Any:
        """One row of `table`; each of its texts names its column and `label`."""
        hints = typing.get_type_hints(table.model)
        values = {name: _plain(hint, f"{name} {label}") for name, hint in hints.items()}
        return table.model(**{**values, **given})

    def extra(self, table: Table, rows: list[Any]) -> dict[str, list[object]]:
        """Values for the columns that the lake writes itself."""
        return {name: [LONG_AGO] * len(rows) for name in table.written_columns}


def _drawn(hint: Any) -> st.SearchStrategy[Any]:
    simple: dict[Any, st.SearchStrategy[Any]] = {
        str: WRITABLE_TEXT,
        RedactedText: WRITABLE_TEXT.map(seal),
        int: st.integers(0, 2**31 - 1),
        bool: st.booleans(),
        float: st.floats(0, 1e9),
        datetime: st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
        type(None): st.none(),
    }
    if hint in simple:
        return simple[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(_drawn, arguments))
    if origin is tuple:
        return st.lists(_drawn(arguments[0]), max_size=3).map(tuple)
    hints = typing.get_type_hints(hint)
    return st.builds(hint, **{name: _drawn(inner) for name, inner in hints.items()})


def _plain(hint: Any, label: str) -> Any:
    simple = {str: label, int: 7, bool: True, float: 1.5, datetime: LONG_AGO}
    if hint is RedactedText:
        return seal(label)
    if hint in simple:
        return simple[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return arguments[0]
    if origin in (typing.Union, types.UnionType):
        return _plain(arguments[0], label)
    if origin is tuple:
        return (_plain(arguments[0], f"{label} 1"), _plain(arguments[0], f"{label} 2"))
    if origin is np.ndarray:
        return np.full(EMBEDDING_DIMENSION, 0.25, dtype=np.float32)
    hints = typing.get_type_hints(hint)
    return hint(**{name: _plain(inner, f"{label} {name}") for name, inner in hints.items()})


class Servers:
    """Data directories whose Chroma servers this test may start."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._seen: set[int] = set()
        self.data_dirs: list[Path] = []

    def data_dir(self, name: str = "memory") -> Path:
        """A new data directory."""
        path = self._directory / name
        path.mkdir()
        self.data_dirs.append(path)
        return path

    def start(self, data_dir: Path, idle_seconds: float = 60.0) -> chroma_server.Endpoint:
        """The directory's server, running."""
        endpoint = chroma_server.ensure_running(data_dir, idle_seconds)
        self.watch(endpoint.pid)
        return endpoint

    def watch(self, pid: int) -> None:
        """Make the end of the test depend on the end of this process."""
        self._seen.add(pid)

    def close(self) -> None:
        """Stop all of them and make sure that they are gone."""
        for data_dir in self.data_dirs:
            chroma_server.stop(data_dir)
        left = [pid for pid in self._seen if not self.ends(pid, within=60.0)]
        assert left == [], "a test left a Chroma server behind"

    @staticmethod
    def ends(pid: int, within: float) -> bool:
        """Whether a process ends (and is buried, if it is our child) in that many seconds."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return True
            if _is_zombie(pid):
                return True
            time.sleep(0.05)
        return False


def _is_zombie(pid: int) -> bool:
    """Whether it ended and only its parent has not asked for its status (Linux)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state == "Z"


@pytest.fixture(scope="session")
def rows() -> Rows:
    """What makes rows."""
    return Rows()


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    """Chroma servers, stopped when the test ends."""
    started = Servers(tmp_path)
    yield started
    started.close()


@pytest.fixture(scope="module")
def module_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Chroma servers that the tests of a module share."""
    started = Servers(tmp_path_factory.mktemp("servers"))
    yield started
    started.close()


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """An empty catalogue."""
    opened = Catalog(tmp_path / "memory" / "catalog.db")
    yield opened
    opened.close()
