"""A damaged or lost Chroma is found, set aside, and made again without embedding anything."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import MemoryAssetsError
from memory_assets.recall import open_memory
from memory_assets.stores.chroma import files as chroma_files
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.reliability.conftest import Subject


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


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files_are_recognised(subject: Subject, name: str) -> None:
    """Whole files are not taken for damaged, and each damage is named."""
    damage, says = DAMAGES[name]
    assert chroma_files.damage(subject.chroma) is None
    damage(subject)
    assert says in str(chroma_files.damage(subject.chroma))


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
    """Others who were told where it is find it there after a stop."""
    subject.collections()
    first = chroma_server.running(subject.data_dir)
    assert first is not None
    chroma_server.stop(subject.data_dir)
    assert chroma_server.ensure_running(subject.data_dir, 60.0).port == first.port
    assert json.loads((subject.data_dir / "chroma.port").read_text()) == first.port
