"""Long sessions of a memory of versions before have a file of their own, and a tail beside it: both
are read as one, until the session is written again."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import DamagedFile
from memory_assets.stores.lake.lake import Batch, Lake
from memory_assets.stores.lake.parquet_files import OUTPUT_HASH, write_file
from memory_assets.stores.lake.rows import arrow_batches
from memory_assets.stores.lake.schemas import USER_PROMPTS
from memory_assets.stores.lake.segments import tail_path
from memory_assets_tests.own_files import own_path
from memory_assets_tests.stores.conftest import Rows

KEY = ("p", "s")


def _prompts(rows: Rows, *names: object) -> list[Any]:
    template = rows.row(USER_PROMPTS)
    return [dataclasses.replace(template, id=str(name)) for name in names]


def _write(path: Path, rows: Sequence[Any], **footer: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = arrow_batches(USER_PROMPTS, rows, {}, blake2b())
    write_file(path, USER_PROMPTS.schema, parts, lambda: footer)


def _ids(lake: Lake) -> list[str]:
    return [str(row_id) for row_id in lake.read(USER_PROMPTS, *KEY, ["id"])["id"].to_pylist()]


@pytest.fixture
def base(lake: Lake) -> Path:
    """The file of the session."""
    return own_path(lake, USER_PROMPTS, *KEY)


@pytest.fixture
def lake(tmp_path: Path, rows: Rows) -> Lake:
    """A lake with a session of which a version before wrote the last row into a tail."""
    lake = Lake(tmp_path / "lake")
    base = own_path(lake, USER_PROMPTS, *KEY)
    _write(base, _prompts(rows, *"abc"), generation="1", output_hash="e" * 32)
    of_tail = {"tail_of": "1", "keep": "2", OUTPUT_HASH: "f" * 32}
    _write(tail_path(base), _prompts(rows, "new"), **of_tail)
    return lake


def test_a_tail_replaces_the_rows_after_those_kept(lake: Lake, rows: Rows) -> None:
    """Until the session is written again, which removes both files."""
    assert lake.sessions(USER_PROMPTS, "p") == ["s"]
    assert _ids(lake) == ["a", "b", "new"]
    facts, footer = lake.read_footer(USER_PROMPTS, *KEY)
    assert (facts.rows, facts.output_hash) == (3, "f" * 32)
    assert footer == {OUTPUT_HASH: "f" * 32}
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, *"xy"))
    assert _ids(lake) == ["x", "y"]
    assert [path.name for path in lake.root.rglob("*.parquet")] == ["segment+1.parquet"]


def test_rows_of_a_tail_are_packed_with_its_footer(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one session, in the state that it had."""
    before, stamps = lake.read_footer(USER_PROMPTS, *KEY)[1], _stamps(lake)
    monkeypatch.setattr("memory_assets.stores.lake.partition._MOST_SMALL_FILES", 0)
    Batch(lake, "p", USER_PROMPTS).compact()
    assert [path.name for path in lake.root.rglob("*.parquet")] == ["segment+1.parquet"]
    assert (_ids(lake), lake.read_footer(USER_PROMPTS, *KEY)[1]) == (["a", "b", "new"], before)
    assert _stamps(lake) == stamps


def _stamps(lake: Lake) -> dict[str, str]:
    return lake.partition(USER_PROMPTS, "p").stamps()


def test_a_tail_of_another_base_does_not_count(lake: Lake, rows: Rows, base: Path) -> None:
    """It was left by a writer that was killed."""
    _write(base, _prompts(rows, *"xy"), generation="2")
    assert _ids(lake) == ["x", "y"]


@pytest.mark.parametrize("left", ["both", "the tail"])
def test_a_session_that_is_removed_leaves_no_tail(lake: Lake, base: Path, left: str) -> None:
    """Nor anything else, also where a killed removal left the tail alone."""
    if left != "both":
        base.unlink()
    lake.remove_sessions("p", ["s"])
    assert [path for path in lake.root.rglob("*") if path.is_file()] == []


def test_a_session_that_is_named_like_a_tail_is_a_session(lake: Lake, rows: Rows) -> None:
    """`s.tail` is not the tail of `s`, nor removed with it."""
    _write(own_path(lake, USER_PROMPTS, "p", "s.tail"), _prompts(rows, "other"))
    assert lake.sessions(USER_PROMPTS, "p") == ["s", "s.tail"]
    lake.remove_sessions("p", ["s"])
    assert lake.sessions(USER_PROMPTS, "p") == ["s.tail"]
    assert lake.read(USER_PROMPTS, "p", "s.tail", ["id"])["id"].to_pylist() == ["other"]


def test_a_damaged_tail_is_an_error_that_names_the_remedy(lake: Lake, base: Path) -> None:
    """It is never read as if there were none."""
    tail_path(base).write_bytes(b"x" * 100)
    with pytest.raises(DamagedFile, match="memory ingest --full --project=p"):
        _ids(lake)


def test_a_name_that_is_too_long_for_a_file_is_in_its_footer(lake: Lake, rows: Rows) -> None:
    """So the session is listed by its whole name."""
    name = "x/" * 2_000
    path = own_path(lake, USER_PROMPTS, "p", name)
    _write(path, _prompts(rows, "long"), session_of_file=name)
    assert "@" in path.name and lake.sessions(USER_PROMPTS, "p") == ["s", name]
    assert lake.read_footer(USER_PROMPTS, "p", name)[1] == {}
