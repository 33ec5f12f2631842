"""Long sessions of a memory of versions before have a tail beside their file: both are read as one,
until the session is written again."""

from __future__ import annotations

import dataclasses
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import DamagedFile
from memory_assets.stores.lake.files import tail_path
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.parquet_files import OUTPUT_HASH, write_file
from memory_assets.stores.lake.rows import arrow_batches
from memory_assets.stores.lake.schemas import USER_PROMPTS
from memory_assets_tests.stores.conftest import Rows

KEY = ("p", "s")


def _prompts(rows: Rows, *names: object) -> list[Any]:
    template = rows.row(USER_PROMPTS)
    return [dataclasses.replace(template, id=str(name)) for name in names]


def _base(lake: Lake) -> Path:
    return lake.partition(USER_PROMPTS, "p").own_path("s")


def _ids(lake: Lake) -> list[str]:
    return [str(row_id) for row_id in lake.read(USER_PROMPTS, *KEY, ["id"])["id"].to_pylist()]


@pytest.fixture
def lake(tmp_path: Path, rows: Rows) -> Lake:
    """A lake with a session of which a version before wrote the last row into a tail."""
    lake = Lake(tmp_path / "lake")
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, *"abc"), footer=lambda: {"generation": "1"})
    parts = arrow_batches(USER_PROMPTS, _prompts(rows, "new"), {}, blake2b())
    generation = _generation(_base(lake))
    footer = {"tail_of": generation, "keep": "2", OUTPUT_HASH: "f" * 32}
    write_file(tail_path(_base(lake)), USER_PROMPTS.schema, parts, lambda: footer)
    return lake


def _generation(path: Path) -> str:
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(path).metadata
    assert metadata is not None
    return str(metadata[b"generation"].decode())


def test_a_tail_replaces_the_rows_after_those_kept(lake: Lake, rows: Rows) -> None:
    """Until the session is written again, which removes it."""
    assert _ids(lake) == ["a", "b", "new"]
    assert lake.read_footer(USER_PROMPTS, *KEY)[0].output_hash == "f" * 32
    assert len(lake.files(USER_PROMPTS, *KEY)) == 2
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, *"xy"))
    assert _ids(lake) == ["x", "y"]
    assert not tail_path(_base(lake)).exists()


def test_a_tail_of_another_base_does_not_count(lake: Lake, rows: Rows) -> None:
    """It was left by a writer that was killed."""
    tail = tail_path(_base(lake)).read_bytes()
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, *"xy"))
    tail_path(_base(lake)).write_bytes(tail)
    assert _ids(lake) == ["x", "y"]


def test_a_session_that_is_removed_leaves_no_tail(lake: Lake) -> None:
    """Nor anything else."""
    lake.remove_sessions("p", ["s"])
    assert [path for path in lake.root.rglob("*") if path.is_file()] == []


def test_a_session_that_is_named_like_a_tail_is_a_session(lake: Lake, rows: Rows) -> None:
    """`s.tail` is not the tail of `s`, nor removed with it."""
    lake.write(USER_PROMPTS, "p", "s.tail", _prompts(rows, "other"))
    assert lake.sessions(USER_PROMPTS, "p") == ["s", "s.tail"]
    lake.remove_sessions("p", ["s"])
    assert lake.sessions(USER_PROMPTS, "p") == ["s.tail"]
    assert lake.read(USER_PROMPTS, "p", "s.tail", ["id"])["id"].to_pylist() == ["other"]


def test_a_damaged_tail_is_an_error_that_names_the_remedy(lake: Lake) -> None:
    """It is never read as if there were none."""
    tail_path(_base(lake)).write_bytes(b"x" * 100)
    with pytest.raises(DamagedFile, match="memory ingest --full --project=p"):
        _ids(lake)
