"""Tombstones: known by keyed hash alone, whatever becomes of the rest."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from memory_assets.errors import StoreError
from memory_assets.stores import tombstones as tombstones_module
from memory_assets.stores.catalog.records import Records
from memory_assets.stores.tombstones import Tombstones, is_unique, unfinished

KEY = bytes(range(32))
UUID = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"
_DTYPE = np.dtype([("id", np.uint64), ("content", np.uint32)])
IDS = np.array([(5, 1), (2**63 + 1, 1), (7, 1)], dtype=_DTYPE)


@pytest.fixture
def tombstones(tmp_path: Path) -> Tombstones:
    """None yet."""
    return Tombstones(tmp_path / "forgotten.db", KEY)


def test_without_a_file_nothing_was_forgotten_and_none_is_made(tombstones: Tombstones) -> None:
    """Asking costs a stat."""
    assert not tombstones.forgotten()
    assert ("p", UUID) not in tombstones.forgotten()
    assert len(tombstones.records_among(1, IDS)) == 0
    assert not tombstones.families()
    assert not unfinished(tombstones.path)
    assert not tombstones.path.exists()


def test_a_session_with_a_uuid_is_forgotten_in_every_project(tombstones: Tombstones) -> None:
    """Other names count only in their own project."""
    tombstones.begin([("p", UUID), ("p", "notes")])
    forgotten = tombstones.forgotten()
    assert {("p", UUID), ("q", UUID), ("p", "notes")} <= {
        session
        for session in (("p", UUID), ("q", UUID), ("p", "notes"), ("q", "notes"))
        if session in forgotten
    }
    assert ("q", "notes") not in forgotten
    assert ("p", "4" + UUID[1:]) not in forgotten
    assert is_unique(f"rollout-2026-01-01-{UUID}")
    assert not is_unique("notes")


def test_records_are_known_by_family_and_id(tombstones: Tombstones) -> None:
    """Only among files that begin alike; negative families too, as the catalogue has them."""
    tombstones.begin([("p", UUID)], [(-3, IDS)])
    asked = _records((7, 1), (8, 1), (5, 1), (5, 1))
    assert tombstones.records_among(-3, asked).tolist() == [5, 7]
    assert tombstones.records_among(3, asked).tolist() == []
    assert tombstones.families() == {tombstones.family_key(-3)}


def test_a_record_that_says_something_else_was_not_forgotten(tombstones: Tombstones) -> None:
    """An id alone tells only where one of the two contents is not known; of an id that a
    file has twice, each text counts."""
    tombstones.begin([("p", UUID)], [(-3, _records((5, 1), (6, 0)))])
    asked = _records((5, 2), (6, 2))
    assert tombstones.records_among(-3, asked).tolist() == [6]
    assert tombstones.records_among(-3, _records((5, 0), (6, 0))).tolist() == [5, 6]
    assert tombstones.records_among(-3, _records((5, 1), (5, 2))).tolist() == []


def test_tombstones_of_the_first_version_are_refused(tombstones: Tombstones) -> None:
    """Rather than that what they say is forgotten is ingested again."""
    tombstones.begin([("p", UUID)])
    with closing(sqlite3.connect(tombstones.path)) as connection:
        connection.execute("CREATE TABLE records (family BLOB NOT NULL, id BLOB NOT NULL)")
    with pytest.raises(StoreError, match=r"version 0\.1\.0.*Move the data directory away"):
        tombstones.forgotten()


def _records(*rows: tuple[int, int]) -> Records:
    return np.array(list(rows), dtype=_DTYPE)


@pytest.mark.parametrize("statements", [0, 1, 2, 3])
def test_a_file_whose_making_was_interrupted_says_nothing_yet(
    tombstones: Tombstones, statements: int
) -> None:
    """`kill -9` between its tables: the next forgetting makes the others, nobody is refused."""
    tombstones.path.touch()
    with closing(sqlite3.connect(tombstones.path)) as connection:
        for statement in tombstones_module._SCHEMA.split(";")[:statements]:
            connection.execute(statement)
    assert not unfinished(tombstones.path)
    assert not tombstones.forgotten()
    tombstones.begin([("p", UUID)])
    assert unfinished(tombstones.path)


def test_a_damaged_file_is_an_error(tombstones: Tombstones) -> None:
    """It is not disposable."""
    tombstones.path.write_bytes(b"not a database" * 100)
    for ask in (tombstones.forgotten, lambda: unfinished(tombstones.path)):
        with pytest.raises(StoreError, match="Restore it"):
            ask()


def test_only_the_texts_that_were_cut_are_done(tombstones: Tombstones) -> None:
    """One that was noted while others were being cut is still to be cut."""
    tombstones.begin_texts([b"a", b"b"])
    cut = tombstones.texts_to_cut()
    tombstones.begin_texts([b"c"])
    tombstones.end_texts(cut)
    assert tombstones.texts_to_cut() == {b"c"}
