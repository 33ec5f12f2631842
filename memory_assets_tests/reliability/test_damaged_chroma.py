"""A damaged or lost Chroma is found, set aside, and made again without embedding anything;
collections of other programs survive."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_assets.errors import MemoryAssetsError, StoreError
from memory_assets.pipeline.removal.forget import forget_vectors
from memory_assets.recall import open_memory
from memory_assets.status.status import status as status_of
from memory_assets.status.words import chroma_notes
from memory_assets.stores.chroma import copies
from memory_assets.stores.chroma import files as chroma_files
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma.copies import copy_collection
from memory_assets.stores.files.sqlite import connect
from memory_assets_tests.foreign_programs import chroma_admin, chroma_client
from memory_assets_tests.kills import killed_at
from memory_assets_tests.reliability.conftest import MAIN, Subject
from memory_assets_tests.sweep import sweep


def _cut(path: Path, keep: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


DAMAGES: dict[str, tuple[Callable[[Any], None], str]] = {
    "labels cut off (EOF while parsing)": (
        lambda subject: _cut(subject.saved_index() / "index_metadata.pickle", 0.5),
        "index_metadata.pickle is cut off",
    ),
    "labels empty": (
        lambda subject: _empty(subject.saved_index() / "index_metadata.pickle"),
        "index_metadata.pickle is cut off",
    ),
    "links cut off": (
        lambda subject: _cut(subject.saved_index() / "link_lists.bin", 0.5),
        "link_lists.bin is cut off",
    ),
    "elements cut off": (
        lambda subject: _cut(subject.saved_index() / "data_level0.bin", 0.01),
        "data_level0.bin is cut off",
    ),
    "header empty": (
        lambda subject: _empty(subject.saved_index() / "header.bin"),
        "header.bin is cut off",
    ),
    "index directory gone": (
        lambda subject: shutil.rmtree(subject.saved_index()),
        "its directory is missing",
    ),
    "database cut off": (
        lambda subject: _cut(subject.chroma / "chroma.sqlite3", 0.6),
        "chroma.sqlite3 is cut off",
    ),
    "database overwritten": (
        lambda subject: (subject.chroma / "chroma.sqlite3").write_bytes(b"x" * 5_000),
        "not a database",
    ),
    "database gone": (
        lambda subject: (subject.chroma / "chroma.sqlite3").unlink(),
        "chroma.sqlite3 is missing",
    ),
}


@sweep("damage, says", DAMAGES.values())
def test_damaged_files_are_recognised(
    subject: Subject, damage: Callable[[Any], None], says: str
) -> None:
    """Whole files are not taken for damaged, and each damage is named."""
    whole = shutil.copytree(subject.chroma, subject.root / "whole")
    assert chroma_files.damage(subject.chroma) is None
    damage(subject)
    found = chroma_files.damage(subject.chroma)
    shutil.rmtree(subject.chroma)
    whole.rename(subject.chroma)
    assert says in str(found)


@pytest.mark.parametrize("name", ["labels cut off (EOF while parsing)", "database cut off"])
def test_a_reader_is_told_and_the_next_ingest_makes_it_again(subject: Subject, name: str) -> None:
    """The reader's error says what to run; the rows are the same as before, none embedded,
    and the damaged files are kept beside."""
    before = subject.collections()
    chroma_server.stop(subject.data_dir)
    DAMAGES[name][0](subject)
    for _ in range(2):
        with pytest.raises(MemoryAssetsError, match="memory ingest"):
            open_memory(subject.components.settings).vectors.names()
    assert subject.behind() == sorted(subject.components.catalog.projects())
    reports = subject.index_all()
    assert sum(report.details.get("texts_embedded", 0) for report in reports) == 0
    assert subject.collections() == before
    assert len(chroma_files.set_aside_directories(subject.data_dir)) == 1
    assert subject.behind() == []


def test_a_killed_server_with_torn_files_is_noticed_without_being_used(subject: Subject) -> None:
    """The plan alone finds it: a server that was killed left its endpoint behind."""
    subject.collections()
    subject.kill_server()
    DAMAGES["labels empty"][0](subject)
    assert subject.behind() == sorted(subject.components.catalog.projects())
    assert len(chroma_files.set_aside_directories(subject.data_dir)) == 1


def test_a_run_under_way_makes_a_torn_store_again_by_itself(subject: Subject) -> None:
    """The server is killed while it saves, between two stages of a run: the next stage goes
    on, says what it found, and the following run completes the other projects."""
    before = subject.collections()
    subject.kill_server()
    DAMAGES["labels cut off (EOF while parsing)"][0](subject)
    reports = subject.index_all()
    said = [str(report.details.get("chroma_set_aside", "")) for report in reports]
    assert "index_metadata.pickle is cut off" in said[0]
    assert not any(said[1:])
    assert subject.collections() == before


def test_a_running_server_on_a_damaged_database_is_healed(subject: Subject) -> None:
    """Pages in the middle are overwritten under the server: calls fail, the next run finds
    out why and makes the store again."""
    before = subject.collections()
    chroma_server.stop(subject.data_dir)
    database = subject.chroma / "chroma.sqlite3"
    data = bytearray(database.read_bytes())
    data[4096 * 2 : -4096] = b"\xff" * (len(data) - 4096 * 3)
    database.write_bytes(bytes(data))
    subject.index_all()
    assert subject.collections() == before
    (aside,) = chroma_files.set_aside_directories(subject.data_dir)
    assert "chroma.sqlite3" in (aside / "WHY").read_text()


def test_a_server_that_was_killed_with_whole_files_is_simply_started_again(
    subject: Subject,
) -> None:
    """Nothing is set aside, nothing is written."""
    before = subject.collections()
    subject.kill_server()
    assert subject.behind() == []
    assert sum(report.rows_written for report in subject.index_all()) == 0
    assert subject.collections() == before
    assert chroma_files.set_aside_directories(subject.data_dir) == []


def test_a_server_takes_its_port_again(subject: Subject) -> None:
    """Others who were told where it is find it there after a stop, unless another program took the
    port in between, as those of other tests may."""
    subject.collections()
    first = chroma_server.running(subject.data_dir)
    assert first is not None
    ports = [first.port]
    while len(ports) < 4 and len(set(ports)) == len(ports):
        chroma_server.stop(subject.data_dir)
        ports.append(chroma_server.ensure_running(subject.data_dir, 60.0).port)
    assert ports[-1] == ports[-2]
    assert json.loads((subject.data_dir / "chroma.port").read_text()) == ports[-1]


_ALL: Any = ["embeddings", "documents", "metadatas", "uris"]
_SAVED_OFTEN: Any = {"hnsw": {"space": "l2", "sync_threshold": 10, "batch_size": 5}}


def _make(client: Any, name: str) -> None:
    made = client.create_collection(name, metadata={"about": name}, configuration=_SAVED_OFTEN)
    vectors = np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32)
    numbers = range(30)
    made.add(
        [str(number) for number in numbers],
        vectors,
        [{"n": number} for number in numbers],
        [f"{name} {number}" for number in numbers],
    )


def _content(made: Any) -> str:
    return repr((made.metadata, made.configuration_json, made.get(include=_ALL)))


def _index_of(subject: Subject, name: str) -> Path:
    """The directory with the saved index of a collection."""
    with closing(connect(subject.chroma / chroma_files.DATABASE, mode="ro")) as database:
        ((segment,),) = database.execute(
            "SELECT segments.id FROM segments JOIN collections ON collections.id = collection"
            " WHERE name = ? AND scope = 'VECTOR'",
            (name,),
        ).fetchall()
    return subject.chroma / str(segment)


def _tear(subject: Subject, name: str) -> None:
    """Cut the labels of a collection's index off, as a kill amid saving does."""
    chroma_server.stop(subject.data_dir)
    labels = _index_of(subject, name) / "index_metadata.pickle"
    labels.write_bytes(labels.read_bytes()[:20])


@pytest.fixture
def shared(subject: Subject) -> Subject:
    """A memory beside whose collections another program has two, in two databases."""
    _make(chroma_client(subject.data_dir), "corpus")
    admin = chroma_admin(subject.data_dir)
    admin.create_tenant("they")
    admin.create_database("elsewhere", "they")
    _make(chroma_client(subject.data_dir, tenant="they", database="elsewhere"), "theirs")
    return subject


def _both(subject: Subject) -> list[str]:
    elsewhere = chroma_client(subject.data_dir, tenant="they", database="elsewhere")
    return [
        _content(chroma_client(subject.data_dir).get_collection("corpus")),
        _content(elsewhere.get_collection("theirs")),
    ]


def _set_aside(subject: Subject) -> Path:
    """The one directory that was set aside when a reader met the damage."""
    with pytest.raises(StoreError, match=r"chroma\.broken-"):
        chroma_client(subject.data_dir)
    (aside,) = chroma_files.set_aside_directories(subject.data_dir)
    return aside


def _note(subject: Subject) -> str:
    """What the status says of the directory that was set aside."""
    return list(chroma_notes(status_of(subject.components.settings)))[-1]


def _copied(subject: Subject) -> list[str]:
    """What the stages say that they copied."""
    subject.behind()
    details = [report.details for report in subject.index_all()]
    return [str(each[_DETAIL]) for each in details if _DETAIL in each]


_DETAIL = "collections_of_others_copied"


def test_collections_of_others_are_copied_over(shared: Subject) -> None:
    """With settings, metadata, vectors and texts; only then the old files can be deleted, and a
    second look does nothing."""
    ours, theirs = shared.collections(), _both(shared)
    _tear(shared, MAIN)
    aside = _set_aside(shared)
    assert "keep them" in _note(shared)
    assert _copied(shared) == ["corpus, theirs"]
    assert _both(shared) == theirs
    assert {name: shared.collections()[name] for name in ours} == ours
    assert chroma_files.is_deletable(aside) and "can be deleted" in _note(shared)
    assert copies.recover_others(shared.data_dir) == []
    assert not (shared.data_dir / "chroma.recovered").exists()


def test_what_was_set_aside_is_deleted_by_forgetting_or_named(
    shared: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file of it cannot be deleted, the forgetting is not done; killed in the middle, it
    goes on the next time."""
    aside = chroma_files.set_aside(_torn(shared), "torn")
    shutil.copytree(aside, aside.with_name(f"{aside.name}-2"))
    copies.recover_others(shared.data_dir)
    unlink = os.unlink

    def refused(path: Any, **given: Any) -> None:
        if Path(path).name == "WHY":
            raise PermissionError(errno.EACCES, "Permission denied")
        unlink(path, **given)

    def forgotten() -> int:
        return forget_vectors(shared.components, set())

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refused)
        with pytest.raises(StoreError, match=aside.name):
            forgotten()
    assert killed_at(os, "unlink", 1, forgotten) == -signal.SIGKILL
    assert len(chroma_files.set_aside_directories(shared.data_dir)) == 2
    assert forgotten() == 0
    assert chroma_files.set_aside_directories(shared.data_dir) == []


def test_a_collection_that_cannot_be_read_is_named_and_kept(shared: Subject) -> None:
    """The other one is copied. The directory is never said to be deletable, nor deleted: not by
    forgetting either, which says what to do."""
    _tear(shared, "corpus")
    aside = _set_aside(shared)
    assert _copied(shared) == ["theirs"]
    assert "the only copy of collections of other programs (corpus): keep them" in _note(shared)
    for _ in range(3):
        later = chroma_files.set_aside(_torn(shared), "torn")
        copies.recover_others(shared.data_dir)
    assert aside.exists() and later.exists()
    with pytest.raises(StoreError, match="move it elsewhere"):
        forget_vectors(shared.components, {("p", "s")})
    assert aside.exists()


def _torn(subject: Subject) -> Path:
    directory = subject.data_dir / "chroma"
    chroma_server.stop(subject.data_dir)
    directory.mkdir(exist_ok=True)
    return directory


def test_a_copy_that_fails_is_tried_again_and_holds_up_nothing(
    shared: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No room on the disk for the files: ours are made again, and the reason is reported."""
    ours = shared.collections()
    _tear(shared, MAIN)
    _set_aside(shared)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copytree", full)
        assert _copied(shared) == []
    assert "keep them" in _note(shared)
    assert {name: rows for name, rows in shared.collections().items() if name in ours} == {
        name: rows for name, rows in ours.items() if name != "corpus"
    }
    assert _copied(shared) == ["corpus, theirs"]


def test_a_database_that_cannot_be_read_may_hold_the_only_copy(shared: Subject) -> None:
    """Nobody knows whose collections it had."""
    chroma_server.stop(shared.data_dir)
    (shared.chroma / chroma_files.DATABASE).write_bytes(b"x" * 5_000)
    _set_aside(shared)
    assert _copied(shared) == []
    assert "may hold the only copy" in _note(shared)


def test_a_copy_that_was_interrupted_is_made_again(
    shared: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the copy has its name: no partial collection is taken for the whole one."""
    theirs = _both(shared)
    _tear(shared, MAIN)
    _set_aside(shared)
    copy = copy_collection

    def dies(*given: Any) -> str:
        copy(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(copies, "copy_collection", dies)
        with pytest.raises(KeyboardInterrupt):
            copies.recover_others(shared.data_dir)
    assert "keep them" in _note(shared)
    assert copies.recover_others(shared.data_dir) == ["corpus", "theirs"]
    assert _both(shared) == theirs
    assert [each.name for each in chroma_client(shared.data_dir).list_collections()] == ["corpus"]
