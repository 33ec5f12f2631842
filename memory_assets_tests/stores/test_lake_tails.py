"""Long sessions of a memory of versions up to 0.3.0 have a file of their own, and a tail beside it:
the next writer moves both into a segment."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest

from memory_assets.errors import DamagedFile
from memory_assets.stores.lake import segments
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.parquet_files import write_file
from memory_assets.stores.lake.rows import OUTPUT_HASH, arrow_rows
from memory_assets.stores.lake.schemas import USER_PROMPTS
from memory_assets_tests.kills import Killed, killed_after
from memory_assets_tests.stores.conftest import Rows

KEY = ("p", "s")


def _prompts(rows: Rows, *names: object) -> list[Any]:
    template = rows.row(USER_PROMPTS)
    return [dataclasses.replace(template, id=str(name)) for name in names]


def _write(lake: Lake, name: str, rows: Sequence[Any], **footer: str) -> Path:
    path = lake.partition_dir(USER_PROMPTS, "p") / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, USER_PROMPTS.schema, arrow_rows(USER_PROMPTS, rows).parts, footer)
    return path


def _ids(lake: Lake, session_id: str = "s") -> list[str]:
    lake.tidy("p")
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
            lake.tidy("p")
    assert _ids(lake) == ["a", "b", "new"]
    assert lake.sessions(USER_PROMPTS, "p") == ["s"]
    facts, footer = lake.read_footer(USER_PROMPTS, *KEY)
    assert (facts.rows, facts.output_hash) == (3, "f" * 32)
    assert footer == {OUTPUT_HASH: "f" * 32}
    (path,) = lake.root.rglob("*.parquet")
    assert path.name.startswith("segment+")


def test_what_is_written_replaces_it(lake: Lake, rows: Rows) -> None:
    """Though nobody has moved it before."""
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, *"xy"))
    assert _ids(lake) == ["x", "y"]


def test_a_tail_of_another_base_does_not_count(lake: Lake, rows: Rows) -> None:
    """It was left by a writer that was killed."""
    _write(lake, "s", _prompts(rows, *"xy"), generation="2")
    assert _ids(lake) == ["x", "y"]


@pytest.mark.parametrize("left", ["both", "the tail"])
def test_a_session_that_is_removed_leaves_no_tail(lake: Lake, left: str) -> None:
    """Nor anything else, also where a killed removal left the tail alone."""
    if left != "both":
        (lake.partition_dir(USER_PROMPTS, "p") / "s.parquet").unlink()
    lake.remove_sessions("p", ["s"])
    assert [path for path in lake.root.rglob("*") if path.is_file()] == []


def test_a_session_that_is_named_like_a_tail_is_a_session(lake: Lake, rows: Rows) -> None:
    """`s.tail` is not the tail of `s`, nor removed with it."""
    _write(lake, "s%2Etail", _prompts(rows, "other"))
    lake.remove_sessions("p", ["s"])
    assert lake.sessions(USER_PROMPTS, "p") == ["s.tail"]
    assert _ids(lake, "s.tail") == ["other"]


def test_a_damaged_tail_is_an_error_that_names_the_remedy(lake: Lake) -> None:
    """It is never read as if there were none."""
    (lake.partition_dir(USER_PROMPTS, "p") / "s.tail.parquet").write_bytes(b"x" * 100)
    with pytest.raises(DamagedFile, match="memory ingest --full --project=p"):
        _ids(lake)


def test_a_damaged_file_hides_no_other_session(lake: Lake, rows: Rows) -> None:
    """What sorts after it is moved all the same; whoever writes or reads what may be in it names
    it each time until it is mended."""
    damaged = _write(lake, "a", _prompts(rows, "x"))
    damaged.write_bytes(b"x" * 100)
    for use in (lake.tidy, lake.tidy, partial(lake.sessions, USER_PROMPTS), partial(_read, lake)):
        with pytest.raises(DamagedFile, match=r"a\.parquet is damaged"):
            use("p")
    assert len(lake.read(USER_PROMPTS, *KEY)) == 3
    damaged.unlink()
    assert _ids(lake) == ["a", "b", "new"]


def test_a_file_that_nobody_moved_is_read_for_damage_once(
    lake: Lake, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at each listing, until it changes: then the damage of a page is told, too."""
    own = _write(lake, "a", _prompts(rows, "x"))
    reads: list[Path] = []
    read = segments.own_session

    def counted(path: Path, stamp: str) -> Any:
        reads.append(path)
        return read(path, stamp)

    monkeypatch.setattr(segments, "own_session", counted)
    for _ in range(3):
        lake.sessions(USER_PROMPTS, "p")
    assert reads.count(own) == 1
    damaged = bytearray(own.read_bytes())
    damaged[len(damaged) // 8] ^= 0xFF
    own.write_bytes(damaged)
    os.utime(own, ns=(0, 0))
    for _ in range(2):
        with pytest.raises(DamagedFile, match=r"a\.parquet is damaged"):
            lake.sessions(USER_PROMPTS, "p")


def _read(lake: Lake, project: str) -> pa.Table:
    return lake.read(USER_PROMPTS, project, "a")


def test_a_name_that_is_too_long_for_a_file_is_in_its_footer(lake: Lake, rows: Rows) -> None:
    """So the session is listed by its whole name."""
    name = "x/" * 2_000
    beginning = quote(name, safe="")[:60]
    hashed = blake2b(name.encode(), digest_size=16).hexdigest()
    _write(lake, f"{beginning}@{hashed}", _prompts(rows, "long"), session_of_file=name)
    assert _ids(lake, name) == ["long"]
    assert lake.sessions(USER_PROMPTS, "p") == ["s", name]
