"""Long sessions of a memory of versions up to 0.3.0 have a file of their own, and a tail beside it:
both are moved into a segment."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from memory_assets.errors import DamagedFile
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.parquet_files import write_file
from memory_assets.stores.lake.rows import OUTPUT_HASH, arrow_rows
from memory_assets.stores.lake.schemas import USER_PROMPTS
from memory_assets_tests.kills import Killed, killed_after
from memory_assets_tests.stores.conftest import Rows

KEY = ("p", "s")
LONG = "x/" * 2_000
LONG_FILE = f"{quote(LONG, safe='')[:60]}@{blake2b(LONG.encode(), digest_size=16).hexdigest()}"


def _prompts(rows: Rows, *names: object) -> list[Any]:
    template = rows.row(USER_PROMPTS)
    return [dataclasses.replace(template, id=str(name)) for name in names]


def _write(lake: Lake, name: str, rows: Sequence[Any], **footer: str) -> Path:
    path = lake.partition_dir(USER_PROMPTS, "p") / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, USER_PROMPTS.schema, arrow_rows(USER_PROMPTS, rows).parts, footer)
    return path


def _ids(lake: Lake, session_id: str = "s") -> list[str]:
    lake.move_own_files()
    rows = lake.read(USER_PROMPTS, "p", session_id, ["id"])
    return [str(row_id) for row_id in rows["id"].to_pylist()]


@pytest.fixture
def lake(tmp_path: Path, rows: Rows) -> Lake:
    """A lake with a session of which a version before wrote the last row into a tail."""
    lake = Lake(tmp_path / "lake")
    _write(lake, "s", _prompts(rows, *"abc"), generation="1", output_hash="e" * 32)
    of_tail = {"tail_of": "1", "keep": "2", OUTPUT_HASH: "f" * 32}
    _write(lake, "s.tail", _prompts(rows, "new"), **of_tail)
    return lake


def test_a_session_is_moved_with_its_tail_whatever_kills_it(lake: Lake) -> None:
    """The tail's rows are in place of those after the ones kept, and its footer counts."""
    for kill in range(4):
        with pytest.raises(Killed), killed_after(kill):
            lake.move_own_files()
    assert _ids(lake) == ["a", "b", "new"]
    assert lake.sessions(USER_PROMPTS, "p") == ["s"]
    facts, footer = lake.read_footer(USER_PROMPTS, *KEY)
    assert (facts.rows, facts.output_hash) == (3, "f" * 32)
    assert footer == {OUTPUT_HASH: "f" * 32}
    (path,) = lake.root.rglob("*.parquet")
    assert path.name.startswith("segment+")


def test_a_tail_of_another_base_does_not_count(lake: Lake, rows: Rows) -> None:
    """It was left by a writer that was killed, and goes."""
    _write(lake, "s", _prompts(rows, *"xy"), generation="2")
    assert _ids(lake) == ["x", "y"]
    assert len(list(lake.root.rglob("*.parquet"))) == 1


@pytest.mark.parametrize(
    ("file", "session", "footer"),
    [("s%2Etail", "s.tail", {}), (LONG_FILE, LONG, {"session_of_file": LONG})],
    ids=["like a tail", "too long"],
)
def test_a_session_has_its_whole_name(
    lake: Lake, rows: Rows, file: str, session: str, footer: dict[str, str]
) -> None:
    """One that is named like a tail is none; one that is too long for a file is in the footer."""
    _write(lake, file, _prompts(rows, "other"), **footer)
    assert _ids(lake, session) == ["other"]
    assert lake.sessions(USER_PROMPTS, "p") == sorted(["s", session])


@pytest.mark.parametrize("name", ["s", "s.tail"])
def test_a_damaged_file_is_named_until_it_is_moved_away(lake: Lake, rows: Rows, name: str) -> None:
    """It is never read as if there were none; then the rest is moved."""
    _write(lake, "t", _prompts(rows, "t"))
    damaged = lake.partition_dir(USER_PROMPTS, "p") / f"{name}.parquet"
    page = bytearray(damaged.read_bytes())
    page[len(page) // 8] ^= 0xFF
    damaged.write_bytes(page)
    for _ in range(2):
        with pytest.raises(DamagedFile, match="memory ingest --full --project=p"):
            lake.move_own_files()
    damaged.unlink()
    assert _ids(lake, "t") == ["t"]
