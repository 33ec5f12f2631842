"""A long session's file grows by a tail beside it, and nobody who reads it can tell."""

from __future__ import annotations

import dataclasses
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_assets.errors import DamagedFile
from memory_assets.stores.lake import files as lake_files
from memory_assets.stores.lake import rows as lake_rows
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import TURN_CHUNKS, TURN_EMBEDDINGS, USER_PROMPTS
from memory_assets_tests.stores.conftest import Rows

KEY = ("p", "s")


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A lake in which every base is big enough for a tail."""
    monkeypatch.setattr(lake_files, "TAIL_FROM_BYTES", 0)
    return Lake(tmp_path / "lake")


def _prompts(rows: Rows, *names: object) -> list[Any]:
    template = rows.row(USER_PROMPTS)
    return [dataclasses.replace(template, id=str(name)) for name in names]


def _base(lake: Lake) -> Path:
    return lake.partition(USER_PROMPTS, "p").own_path("s")


def _ids(lake: Lake, skip: int = 0) -> list[str]:
    ids = lake.read(USER_PROMPTS, *KEY, ["id"], skip=skip)["id"].to_pylist()
    return [str(row_id) for row_id in ids]


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_sequence_of_writes_reads_as_the_rows_that_were_meant(
    lake: Lake, rows: Rows, data: st.DataObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Base, tail, merged or small: the same rows, from any row on, and the same count."""
    monkeypatch.setattr(lake_rows, "BATCH_ROWS", 4)
    lake.delete(USER_PROMPTS, *KEY)
    meant: list[str] = []
    for step in range(data.draw(st.integers(1, 6))):
        keep = data.draw(st.integers(0, len(meant)))
        new = [f"{step}-{n}" for n in range(data.draw(st.integers(0 if keep else 1, 9)))]
        monkeypatch.setattr(lake_files, "TAIL_FROM_BYTES", data.draw(st.sampled_from([0, 1 << 20])))
        monkeypatch.setattr(lake_files, "MOST_TAIL_BYTES", data.draw(st.sampled_from([0, 1 << 20])))
        facts = lake.write(USER_PROMPTS, *KEY, _prompts(rows, *new), keep=keep)
        meant = [*meant[:keep], *new]
        skip = data.draw(st.integers(0, len(meant) + 2))
        assert _ids(lake, skip) == meant[skip:]
        assert facts.rows == len(meant)
        assert lake.read_footer(USER_PROMPTS, *KEY)[0] == facts
        assert lake.sessions(USER_PROMPTS, "p") == ["s"]
        assert facts.bytes == sum(path.stat().st_size for path in lake.files(USER_PROMPTS, *KEY))


def test_what_is_added_to_a_big_file_is_all_that_is_written(lake: Lake, rows: Rows) -> None:
    """Once the rows that the first tail replaces are cut off, the base stays untouched; what the
    file says of itself is the newest."""
    lake.write(
        USER_PROMPTS, *KEY, _prompts(rows, *range(5_000)), footer=lambda: {"input_hash": "a"}
    )
    base, tail = _base(lake), lake_files.tail_path(_base(lake))
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, "first"), keep=4_999)
    assert [len(pq.read_table(path)) for path in (base, tail)] == [4_999, 1]
    before = base.stat().st_mtime_ns
    lake.write(
        USER_PROMPTS, *KEY, _prompts(rows, "new"), footer=lambda: {"input_hash": "b"}, keep=4_999
    )
    assert base.stat().st_mtime_ns == before
    assert lake.files(USER_PROMPTS, *KEY) == [base, tail]
    assert tail.stat().st_size < base.stat().st_size / 2
    facts, footer = lake.read_footer(USER_PROMPTS, *KEY)
    assert footer == {"input_hash": "b", "output_hash": facts.output_hash}
    assert _ids(lake, 4_998) == ["4998", "new"]


def test_a_small_file_has_no_tail(lake: Lake, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file a session stays the rule."""
    monkeypatch.setattr(lake_files, "TAIL_FROM_BYTES", 1 << 20)
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, *range(9)))
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, "new"), keep=8)
    assert lake.files(USER_PROMPTS, *KEY) == [_base(lake)]
    assert _ids(lake, 7) == ["7", "new"]


def test_the_hash_tells_changed_from_unchanged(lake: Lake, rows: Rows) -> None:
    """Chained: the same rows behind other rows, or behind fewer of them, have another."""
    hashes = set()
    for first in ("abc", "abd"):
        for keep in (1, 2):
            lake.write(USER_PROMPTS, *KEY, _prompts(rows, *first))
            facts = lake.write(USER_PROMPTS, *KEY, _prompts(rows, "new"), keep=keep)
            hashes.add(facts.output_hash)
    assert len(hashes) == 4


def test_a_tail_left_over_from_before_its_base_was_written_anew_does_not_count(
    lake: Lake, rows: Rows
) -> None:
    """A writer was killed between the two renames: even where the new base holds the same
    rows as the old one did, the tail is not its own."""
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, *"abc"))
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, "old"), keep=2)
    tail = lake_files.tail_path(_base(lake))
    kept = shutil.copy(tail, tail.with_name("kept"))
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, *"abc"))
    assert not tail.exists()
    Path(kept).replace(tail)
    assert _ids(lake) == ["a", "b", "c"]
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, "new"), keep=3)
    assert _ids(lake) == ["a", "b", "c", "new"]


def test_columns_that_the_lake_writes_and_vectors_have_tails_too(lake: Lake, rows: Rows) -> None:
    """Chunks with their times, embeddings with their vectors, from any row on."""
    chunks = [rows.row(TURN_CHUNKS, str(n)) for n in range(4)]
    lake.write(TURN_CHUNKS, *KEY, chunks[:3], extra=rows.extra(TURN_CHUNKS, chunks[:3]))
    new = [dataclasses.replace(chunks[3], id="new")]
    lake.write(TURN_CHUNKS, *KEY, new, extra=rows.extra(TURN_CHUNKS, new), keep=2)
    assert lake.read_rows(TURN_CHUNKS, *KEY) == [*chunks[:2], *new]
    assert [text[0] for text in lake.read_texts(TURN_CHUNKS, *KEY, skip=2)] == ["new"]
    assert set(lake.read_redacted_values(TURN_CHUNKS, *KEY, skip=2)) <= set(
        lake.read_redacted_values(TURN_CHUNKS, *KEY)
    )
    vectors = [
        rows.row(TURN_EMBEDDINGS, id=str(n), vector=np.full(384, n, np.float32)) for n in range(4)
    ]
    lake.write(TURN_EMBEDDINGS, *KEY, vectors[:3])
    lake.write(TURN_EMBEDDINGS, *KEY, vectors[3:], keep=1)
    assert lake.read_vectors(TURN_EMBEDDINGS, *KEY).vectors[:, 0].tolist() == [0.0, 3.0]
    assert lake.read_vectors(TURN_EMBEDDINGS, *KEY, skip=1).ids == ["3"]
    assert lake.read_vectors(TURN_EMBEDDINGS, *KEY, skip=2).vectors.shape == (0, 384)


def test_deleting_and_amending_leave_no_tail(lake: Lake, rows: Rows) -> None:
    """Neither a removed session nor a forgotten name lives on in one."""
    for remove in (
        lambda: lake.delete(USER_PROMPTS, *KEY),
        lambda: lake.remove_sessions("p", ["s"]),
        lambda: lake.write(USER_PROMPTS, *KEY, []),
    ):
        lake.write(USER_PROMPTS, *KEY, _prompts(rows, *"abc"))
        lake.write(
            USER_PROMPTS, *KEY, _prompts(rows, "new"), footer=lambda: {"facts": "old"}, keep=2
        )
        facts, footer = lake.read_footer(USER_PROMPTS, *KEY)
        lake.amend_footer(USER_PROMPTS, *KEY, {**footer, "facts": "amended"})
        assert lake.files(USER_PROMPTS, *KEY) == [_base(lake)]
        amended, footer = lake.read_footer(USER_PROMPTS, *KEY)
        assert (amended.output_hash, footer["facts"]) == (facts.output_hash, "amended")
        assert _ids(lake) == ["a", "b", "new"]
        lake.write(USER_PROMPTS, *KEY, _prompts(rows, "newer"), keep=2)
        remove()
        assert [path for path in lake.root.rglob("*") if path.is_file()] == []


def test_a_session_that_is_named_like_a_tail_is_a_session(lake: Lake, rows: Rows) -> None:
    """`s.tail` is not the tail of `s`, nor removed with it."""
    for session_id in ("s", "s.tail"):
        lake.write(USER_PROMPTS, "p", session_id, _prompts(rows, session_id))
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, "new"), keep=1)
    assert lake.sessions(USER_PROMPTS, "p") == ["s", "s.tail"]
    lake.remove_sessions("p", ["s"])
    assert lake.sessions(USER_PROMPTS, "p") == ["s.tail"]
    assert lake.read(USER_PROMPTS, "p", "s.tail", ["id"])["id"].to_pylist() == ["s.tail"]


def test_a_damaged_tail_is_an_error_that_names_the_remedy(lake: Lake, rows: Rows) -> None:
    """It is never read as if there were none."""
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, *"abc"))
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, "new"), keep=2)
    lake_files.tail_path(_base(lake)).write_bytes(b"x" * 100)
    with pytest.raises(DamagedFile, match="memory ingest --full --project=p"):
        _ids(lake)


def test_more_rows_than_there_are_cannot_be_kept(lake: Lake, rows: Rows) -> None:
    """Whoever asks is wrong about the file; it stays as it is."""
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, *"abc"))
    with pytest.raises(ValueError, match="3 rows, 4 are to be kept"):
        lake.write(USER_PROMPTS, *KEY, _prompts(rows, "new"), keep=4)
    assert _ids(lake) == ["a", "b", "c"]


def test_readers_beside_a_writer_see_one_state_or_another(lake: Lake, rows: Rows) -> None:
    """Each state has rows of one mark only: never a base with another's tail."""
    done = threading.Event()
    lake.write(USER_PROMPTS, *KEY, _prompts(rows, "0", "0"))

    def write() -> None:
        for mark in range(1, 60):
            lake.write(USER_PROMPTS, *KEY, _prompts(rows, *([mark] * 4)))
            lake.write(USER_PROMPTS, *KEY, _prompts(rows, *([mark] * 3)), keep=2)
        done.set()

    with ThreadPoolExecutor() as pool:
        writing = pool.submit(write)
        while not done.is_set():
            assert len(set(_ids(lake))) == 1
        writing.result()
