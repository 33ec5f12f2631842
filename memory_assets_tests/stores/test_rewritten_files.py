"""Chroma's files made anew: all that is served stays, no byte of what was deleted does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import chromadb
import numpy as np
import pytest
from chromadb.api import ClientAPI

from memory_assets.errors import StoreBusy
from memory_assets.redacted_text import seal
from memory_assets.stores.chroma import files, server
from memory_assets.stores.chroma.collections import ChromaStore
from memory_assets.stores.chroma.copies import BESIDE, rewrite_files
from memory_assets.stores.vector_store import Collection, CollectionVersions

DELETED, KEPT = "an unmistakable sentence", "a sentence that stays"
ROWS = 1_100
"""Chroma saves a collection's HNSW files every 1,000 rows."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChromaStore]:
    """A Chroma with one collection of ours, which it has saved to its files."""
    store = ChromaStore(tmp_path, url=None, idle_seconds=60)
    _write(_ours(store), range(ROWS), DELETED)
    yield store
    server.stop(tmp_path)


def _ours(store: ChromaStore) -> Collection:
    return store.open("ours", CollectionVersions("e", 8, "c", "r"))


def _write(collection: Collection, numbers: range, text: str) -> None:
    random = np.random.default_rng(0).normal(size=(len(numbers), 8)).astype(np.float32)
    texts = [seal(f"{text} {number}") for number in numbers]
    collection.upsert([str(n) for n in numbers], random, texts, [{"n": n} for n in numbers])


def _client(data_dir: Path, **where: Any) -> ClientAPI:
    endpoint = server.ensure_running(data_dir, 60)
    headers = {"Authorization": f"Bearer {server.token(data_dir)}"}
    return chromadb.HttpClient("127.0.0.1", endpoint.port, headers=headers, **where)


def _quiet(step: str) -> None:
    """No progress is shown."""


def test_deleted_rows_are_in_no_byte_and_the_others_are_served(
    store: ChromaStore, tmp_path: Path
) -> None:
    """By a collection in hand as well; nothing is left beside the new files."""
    collection = _ours(store)
    _write(collection, range(ROWS, ROWS + 20), KEPT)
    collection.delete([str(number) for number in range(ROWS)])
    incarnation = collection.incarnation
    assert any(DELETED.encode() in path.read_bytes() for path in _files(tmp_path))
    rewrite_files(tmp_path, _quiet)
    assert not any(DELETED.encode() in path.read_bytes() for path in _files(tmp_path))
    assert collection.ids({"n": {"$gte": 0}}) == {str(number) for number in range(ROWS, ROWS + 20)}
    assert _ours(store).incarnation == incarnation
    assert not (tmp_path / BESIDE).exists()
    assert [path.name for path in tmp_path.glob("chroma*") if path.is_dir()] == ["chroma"]


def _files(data_dir: Path) -> list[Path]:
    return [path for path in data_dir.rglob("*") if path.is_file()]


def test_collections_of_others_keep_their_settings_wherever_they_are(
    store: ChromaStore, tmp_path: Path
) -> None:
    """Another tenant and database, another distance, rows without texts or metadata."""
    _client(tmp_path)
    admin = chromadb.AdminClient(_client(tmp_path).get_settings())
    admin.create_tenant("they")
    admin.create_database("elsewhere", "they")
    their = {"tenant": "they", "database": "elsewhere"}
    hnsw: Any = {"space": "l2", "ef_construction": 77, "max_neighbors": 9}
    made = _client(tmp_path, **their).create_collection(
        "theirs",
        metadata={"about": 1.5},
        configuration={"hnsw": hnsw},
    )
    theirs: Any = [{"k": True}, None, {"k": 1}]
    vectors: Any = [[1.0, 2.0], [0.1, -0.2], [3.0, 4.0]]
    made.add(["a", "b", "c"], vectors, theirs)
    made.update(["c"], vectors[2:], documents=["text"])
    before = (made.metadata, made.configuration_json, made.get(include=_ALL))
    rewrite_files(tmp_path, _quiet)
    again = _client(tmp_path, **their).get_collection("theirs")
    after = (again.metadata, again.configuration_json, again.get(include=_ALL))
    assert repr(after) == repr(before)


_ALL: Any = ["embeddings", "documents", "metadatas", "uris"]


@pytest.mark.parametrize("times", [1, pytest.param(9, marks=pytest.mark.long)])
def test_what_others_write_meanwhile_is_not_lost(
    store: ChromaStore, tmp_path: Path, times: int
) -> None:
    """The copy is made again; if they never stop, the old files stay and the error says so."""
    collection = _ours(store)
    written: list[str] = []

    def write(step: str) -> None:
        if len(written) < times:
            written.append(step)
            _write(collection, range(9_000, 9_000 + len(written)), KEPT)

    if times == 1:
        rewrite_files(tmp_path, write)
    else:
        with pytest.raises(StoreBusy, match="keeps writing"):
            rewrite_files(tmp_path, write)
    assert collection.count() == ROWS + len(written)
    assert not (tmp_path / BESIDE).exists()


def _killed() -> NoReturn:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "moment",
    ["the old files are moved away", pytest.param("both are there", marks=pytest.mark.long)],
)
def test_an_interrupted_swap_is_put_right_by_the_next_start(
    store: ChromaStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """All rows are served, from one directory."""
    rename, finish = Path.rename, files.finish_swap

    def die_before_the_new_ones_move(path: Path, target: Path) -> Path:
        return _killed() if path.parent.name == BESIDE else rename(path, target)

    def die_before_the_old_ones_go(directory: Path) -> None:
        _killed() if (tmp_path / "chroma.replaced").exists() else finish(directory)

    with monkeypatch.context() as patch:
        if moment == "both are there":
            patch.setattr(files, "finish_swap", die_before_the_old_ones_go)
        else:
            patch.setattr(Path, "rename", die_before_the_new_ones_move)
        with pytest.raises(KeyboardInterrupt):
            rewrite_files(tmp_path, _quiet)
    assert (tmp_path / "chroma.replaced").exists()
    assert files.has_database(tmp_path / "chroma")
    assert _ours(store).count() == ROWS
    assert not (tmp_path / "chroma.replaced").exists()


def test_directories_of_deleted_collections_are_removed(store: ChromaStore, tmp_path: Path) -> None:
    """Chroma leaves them; those of other collections stay."""
    other = store.open("other", CollectionVersions("e", 8, "c", "r"))
    _write(other, range(ROWS), KEPT)
    store.drop("ours")
    with server.closed_files(tmp_path) as directory:
        assert files.remove_deleted_collections(directory) == 1
        assert files.damage(directory) is None
    assert other.count() == ROWS
