"""Small sessions share files, and nobody who reads the lake can tell."""

from __future__ import annotations

import dataclasses
import os
import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_assets.errors import DamagedFile, NotFound, StoreError
from memory_assets.stores.lake import lake as batches
from memory_assets.stores.lake import partition, segments
from memory_assets.stores.lake import rows as lake_rows
from memory_assets.stores.lake.lake import Lake, LakeBatch
from memory_assets.stores.lake.parquet_files import write_file
from memory_assets.stores.lake.rows import arrow_rows
from memory_assets.stores.lake.schemas import TURN_CHUNKS, USER_PROMPTS
from memory_assets.stores.lake.segments import SegmentCache
from memory_assets_tests.kills import Killed, killed_after
from memory_assets_tests.stores.conftest import Rows

P = (USER_PROMPTS, "p")
NAMES = ("a", "b.tail", "segment+1", "_d")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """An empty lake."""
    return Lake(tmp_path / "lake")


def _prompts(rows: Rows, *names: object) -> list[Any]:
    template = rows.row(USER_PROMPTS)
    return [dataclasses.replace(template, id=str(name)) for name in names]


def _put(batch: LakeBatch, name: str, rows: list[Any]) -> None:
    made = arrow_rows(USER_PROMPTS, rows, footer={"input_hash": name})
    batch.put(USER_PROMPTS, name, made)


def _publish(lake: Lake, sessions: dict[str, list[Any]]) -> LakeBatch:
    batch = LakeBatch(lake, "p", USER_PROMPTS)
    for name, rows in sessions.items():
        _put(batch, name, rows)
    batch.publish()
    return batch


def _ids(lake: Lake, session_id: str) -> list[str]:
    try:
        return list(map(str, lake.read(*P, session_id, ["id"])["id"].to_pylist()))
    except NotFound:
        return []


def _assert_everybody_sees(lake: Lake, meant: dict[str, list[str]]) -> None:
    """Ours by session; those of other programs all rows, each once."""
    import duckdb
    import pandas as pd

    present = {name: ids for name, ids in meant.items() if ids}
    assert lake.sessions(*P) == sorted(present)
    assert {name: _ids(lake, name) for name in NAMES} == {name: meant[name] for name in NAMES}
    every = [row for _, ids in sorted(present.items()) for row in ids]
    assert lake.read_partition(*P, ["id"])["id"].to_pylist() == every
    directory = lake.root / "user_prompts"
    seen: list[list[Any]] = []
    if every:
        seen.append(ds.dataset(directory, ignore_prefixes=["."]).to_table()["id"].to_pylist())
        frame = pd.read_parquet(directory, partitioning=None, ignore_prefixes=["."])
        seen.append(list(frame["id"]))
        files = f"read_parquet('{directory}/*/*.parquet', hive_partitioning=false)"
        seen.append([row[0] for row in duckdb.execute(f"SELECT id FROM {files}").fetchall()])
    assert all(Counter(each) == Counter(every) for each in seen)


def _stamps(lake: Lake) -> dict[str, str]:
    return {name: entry.stamp for name, entry in lake.partition(*P).entries().items()}


def _hashes(lake: Lake) -> dict[str, str]:
    return {name: entry.output_hash for name, entry in lake.partition(*P).entries().items()}


def _files(lake: Lake) -> list[str]:
    return sorted(path.name for path in lake.root.rglob("*") if path.is_file())


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_whatever_is_written_killed_and_repeated_everybody_reads_what_was_meant(
    tmp_path_factory: pytest.TempPathFactory, rows: Rows, data: st.DataObject
) -> None:
    """A dict is the oracle. A killed change has happened or not, for each session; repeated,
    it has happened, and no row is in two files."""
    root = tmp_path_factory.mktemp("lake")
    lake = Lake(root)
    meant: dict[str, list[str]] = {name: [] for name in NAMES}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "_MOST_SMALL_FILES", 1)
        patch.setattr(lake_rows, "BATCH_ROWS", 4)
        for step in range(data.draw(st.integers(1, 8))):
            patch.setattr(batches, "SMALL_SESSION_BYTES", data.draw(st.sampled_from([0, 1 << 20])))
            patch.setattr(partition, "SEGMENT_BYTES", data.draw(st.sampled_from([0, 1 << 20])))
            new = dict(meant)
            kind = data.draw(st.sampled_from(["batch", "batch", "append", "remove", "compact"]))
            some = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))

            if kind == "batch":
                for name in some:
                    count = data.draw(st.integers(0, 6))
                    new[name] = [f"{name}-{step}-{n}" for n in range(count)]
            elif kind == "append" and meant[some[0]]:
                keep = data.draw(st.integers(1, len(meant[some[0]])))
                new[some[0]] = [*meant[some[0]][:keep], f"{some[0]}-{step}"]
            elif kind == "remove":
                new |= {name: [] for name in some}

            def change(lake: Lake) -> None:
                if kind == "batch":  # noqa: B023
                    _publish(lake, {name: _prompts(rows, *new[name]) for name in some})  # noqa: B023
                elif kind == "append" and new != meant:  # noqa: B023
                    lake.write(*P, some[0], _prompts(rows, *new[some[0]]))  # noqa: B023
                elif kind == "remove":  # noqa: B023
                    lake.remove_sessions("p", some)  # noqa: B023
                else:
                    LakeBatch(lake, "p", USER_PROMPTS).compact()

            try:
                with killed_after(data.draw(st.none() | st.integers(0, 9))):
                    change(lake)
            except Killed:
                lake = Lake(root)
                now = {name: _ids(lake, name) for name in NAMES}
                assert all(now[name] in (meant[name], new[name]) for name in NAMES)
                assert lake.sessions(*P) == sorted(name for name in NAMES if now[name])
                if kind == "append" and now == new:
                    LakeBatch(lake, "p", USER_PROMPTS)  # tidies
                else:
                    change(lake)
            meant = new
            _assert_everybody_sees(lake, meant)
            assert not [name for name in _files(lake) if not name.endswith(".parquet")]


@pytest.mark.parametrize("whole", [False, True])
def test_who_reads_a_project_does_not_wait_for_a_writer(
    lake: Lake, rows: Rows, whole: bool
) -> None:
    """Though a session is published with each row group that is read: open files stay."""
    for name in "ab":
        _publish(lake, {name: _prompts(rows, f"{name}1", f"{name}2")})
    written: list[str] = []

    def pick(group: pa.Table) -> pa.Array[Any]:
        written.append(f"new{len(written)}")
        _publish(lake, {written[-1]: _prompts(rows, written[-1])})
        return pa.array(range(len(group)))

    columns = ["id"]
    if whole:
        lake.read_partition(USER_PROMPTS, "p", columns)  # what is listed is known
    parts = lake.select(USER_PROMPTS, "p", columns, pick, columns)
    told = sorted(str(each) for part in parts for each in part["id"].to_pylist())
    assert told == ["a1", "a2", "b1", "b2"]
    assert len(written) == 2


def test_small_sessions_are_in_one_file_and_long_ones_in_their_own(
    lake: Lake, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is there before the batch is published."""
    monkeypatch.setattr(batches, "SMALL_SESSION_BYTES", 20_000)
    batch = LakeBatch(lake, "p", USER_PROMPTS)
    for name in ("a", "b", "c"):
        _put(batch, name, _prompts(rows, name))
    _put(batch, "long", _prompts(rows, *range(2_000)))
    assert lake.sessions(*P) == ["long"]
    batch.publish()
    assert _files(lake) == ["segment+1.parquet", "segment+2.parquet"]
    segment = lake.file(*P, "b")
    assert segment is not None and segment == lake.file(*P, "c") != lake.file(*P, "long")
    assert lake.partition(*P).size() == sum(
        path.stat().st_size for path in segment.parent.iterdir()
    )
    assert [_ids(lake, name) for name in ("a", "b", "c")] == [["a"], ["b"], ["c"]]
    facts, footer = lake.read_footer(*P, "b")
    assert (facts.rows, footer) == (1, {"input_hash": "b", "output_hash": facts.output_hash})


def test_a_session_has_the_same_hash_and_footer_in_a_segment_as_alone(
    lake: Lake, rows: Rows
) -> None:
    """So nothing is made again because of where it is."""
    alone = lake.write(*P, "a", _prompts(rows, *range(3)), footer={"input_hash": "a"})
    footer = lake.read_footer(*P, "a")[1]
    _publish(lake, {"a": _prompts(rows, *range(3)), "b": _prompts(rows, "b")})
    shared, again = lake.read_footer(*P, "a")
    assert (shared.output_hash, again) == (alone.output_hash, footer)


def test_small_files_are_packed_when_there_are_many_and_no_stamp_changes(
    lake: Lake, rows: Rows
) -> None:
    """A check that passed a session need not look at it again."""
    names = [f"s{n:02}" for n in range(20)]
    for name in names:
        lake.write(*P, name, _prompts(rows, name), footer={"input_hash": name})
    before = {name: (lake.read_footer(*P, name)[1], _ids(lake, name)) for name in names}
    stamps = _stamps(lake)
    LakeBatch(lake, "p", USER_PROMPTS).compact()
    assert _files(lake) == ["segment+21.parquet"]
    assert _stamps(lake) == stamps
    assert {name: (lake.read_footer(*P, name)[1], _ids(lake, name)) for name in before} == before
    for n in range(20):
        _publish(lake, {f"t{n:02}": _prompts(rows, n)}).compact()
    assert len(_files(lake)) < 10
    assert len(lake.sessions(*P)) == 40


def test_a_batch_that_cannot_be_written_leaves_all_as_it_was(
    lake: Lake, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full: no session of the batch is there, and none is lost."""
    _publish(lake, {"a": _prompts(rows, "old")})
    batch = LakeBatch(lake, "p", USER_PROMPTS)
    for name in ("a", "b"):
        _put(batch, name, _prompts(rows, "new"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(StoreError, match=r"segment\+2\.parquet: No space left"):
            batch.publish()
    assert (_ids(lake, "a"), _ids(lake, "b")) == (["old"], [])
    assert _files(lake) == ["segment+1.parquet"]


def test_what_failed_is_discarded_alone(lake: Lake, rows: Rows) -> None:
    """Of a session whose second table failed, no row of the first one is written."""
    batch = LakeBatch(lake, "p", USER_PROMPTS)
    for name in ("a", "b"):
        _put(batch, name, _prompts(rows, name))
    batch.discard("a")
    batch.publish()
    assert lake.sessions(*P) == ["b"]


def test_a_batch_is_full_when_it_is_big_or_has_waited(
    lake: Lake, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So an interruption loses little of what was slow to make, such as vectors."""
    batch = LakeBatch(lake, "p", USER_PROMPTS)
    assert not batch.full
    _put(batch, "a", _prompts(rows, "a"))
    assert not batch.full
    for limit in ("SEGMENT_BYTES", "_MOST_SECONDS"):
        with monkeypatch.context() as patch:
            patch.setattr(batches, limit, 0)
            assert batch.full
    batch.publish()
    monkeypatch.setattr(batches, "_MOST_SECONDS", 0)
    assert not batch.full


@pytest.mark.parametrize("damage", [lambda whole: whole[:200], lambda _: b"x" * 500, lambda _: b""])
def test_a_damaged_segment_is_an_error_that_names_it_and_the_remedy(
    lake: Lake, rows: Rows, damage: Callable[[bytes], bytes]
) -> None:
    """No session that may have been in it reads as if it had no rows."""
    _publish(lake, {name: _prompts(rows, name) for name in ("a", "b")})
    segment = lake.file(*P, "a")
    assert segment is not None
    segment.write_bytes(damage(segment.read_bytes()))
    asked: list[Callable[[], object]] = [
        lambda: lake.read(*P, "a"),
        lambda: lake.read_footer(*P, "a"),
        lambda: lake.read(*P, "not there"),
        lambda: lake.sessions(*P),
        lambda: list(lake.unordered(*P, ["id"])),
        lambda: lake.remove_sessions("p", ["a"]),
    ]
    for ask in asked:
        with pytest.raises(DamagedFile, match="memory ingest --full --project=p") as raised:
            ask()
        assert str(segment) in str(raised.value)


def test_a_byte_that_changed_on_the_disk_is_never_another_text(lake: Lake, rows: Rows) -> None:
    """Be it of a page or of the footer: what is read, or listed, is what was written, or the error
    names the file or says what to do, whoever asks, also for removing what is beside it."""
    _publish(lake, {name: _prompts(rows, name, f"{name} again") for name in NAMES[:2]})
    whole, hashes = lake.read_rows(*P, "a"), _hashes(lake)
    path = lake.file(*P, "a")
    assert path is not None
    content = path.read_bytes()
    rng = random.Random(7)
    for place in range(0, len(content), len(content) // 150):
        flipped = bytes([content[place] ^ rng.choice([0xFF, 1, 2, 4, 8, 16, 32, 64, 128])])
        path.write_bytes(content[:place] + flipped + content[place + 1 :])
        damaged = Lake(lake.root)
        with suppress(DamagedFile):
            assert _hashes(damaged) == hashes
        with suppress(DamagedFile):
            assert damaged.read_rows(*P, "a") == whole
        with suppress(DamagedFile):
            assert damaged.remove_sessions("p", [NAMES[1]]) == 1
        for each in path.parent.iterdir():
            each.unlink()


def test_a_session_without_rows_leaves_its_segment(lake: Lake, rows: Rows) -> None:
    """And a segment without sessions is removed."""
    _publish(lake, {"a": _prompts(rows, "a"), "b": _prompts(rows, "b")})
    _publish(lake, {"a": []})
    assert (_ids(lake, "a"), _ids(lake, "b")) == ([], ["b"])
    lake.delete(USER_PROMPTS, "p", "b")
    assert _files(lake) == []


def test_sessions_are_removed_from_tables_of_other_versions_too(lake: Lake, rows: Rows) -> None:
    """Whatever the table is called, no byte of them is left."""
    _publish(lake, {name: _prompts(rows, name) for name in ("a", "b")})
    (lake.root / "user_prompts").rename(lake.root / "former")
    assert lake.remove_sessions("p", ["a"]) == 1
    (segment,) = lake.root.rglob("*.parquet")
    assert pq.read_table(segment, partitioning=None)["id"].to_pylist() == ["b"]


def test_a_row_group_is_decoded_once_for_all_its_sessions(
    lake: Lake, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading a project costs its segments, not its sessions times their segment."""
    _publish(lake, {f"s{n}": _prompts(rows, n) for n in range(50)})
    decoded = []
    real = pq.ParquetFile.read_row_group

    def read(file: pq.ParquetFile, number: int, **options: Any) -> Any:
        decoded.append(number)
        return real(file, number, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", read)
    assert len(lake.read_partition(*P)) == 50
    assert decoded == [0]
    assert len(lake.read(*P, "s7", ["id"])) == 1
    assert decoded == [0]


def test_readers_beside_a_writer_see_one_state_or_another(lake: Lake, rows: Rows) -> None:
    """A session that moves between segments is never missing."""
    done = threading.Event()
    _publish(lake, {name: _prompts(rows, "0", "0") for name in ("a", "b")})

    def write() -> None:
        try:
            for mark in range(1, 40):
                _publish(lake, {name: _prompts(rows, mark, mark) for name in ("a", "b")})
                lake.write(*P, "a", _prompts(rows, mark, mark))
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(partition, "_MOST_SMALL_FILES", 0)
                    lake.partition(*P).compact()
        finally:
            done.set()

    with ThreadPoolExecutor() as pool:
        writing = pool.submit(write)
        reader = Lake(lake.root)
        while not done.is_set():
            assert [len(set(_ids(reader, name))) for name in ("a", "b")] == [1, 1]
            assert reader.sessions(*P) == ["a", "b"]
        writing.result()


def test_a_segment_that_goes_while_it_is_listed_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer puts rows into a new segment and removes the old one: the new one is listed."""
    old, new = (tmp_path / f"segment+{number}.parquet" for number in (1, 2))
    old.touch()
    real = os.scandir

    def moved_meanwhile(directory: Path) -> Any:
        monkeypatch.setattr(os, "scandir", real)
        with real(directory) as entries:
            listed = list(entries)
        old.rename(new)
        return nullcontext(listed)

    monkeypatch.setattr(os, "scandir", moved_meanwhile)
    assert [path for path, _ in segments.list_segments(tmp_path)] == [new]


def test_the_cache_forgets_what_was_read_first(
    lake: Lake, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is bounded however many segments are read."""
    monkeypatch.setattr("memory_assets.stores.lake.segments._MOST_DECODED_BYTES", 5_000)
    monkeypatch.setattr("memory_assets.stores.lake.segments._MOST_SEGMENTS", 2)
    for n in range(5):
        _publish(lake, {f"s{n}": _prompts(rows, *range(9))})
    assert len(lake.read_partition(*P)) == 45
    cache: SegmentCache = lake._cache
    assert len(cache._segments) <= 2
    assert 0 < sum(group.nbytes for group in cache._groups.values()) <= 5_000


def test_many_long_sessions_are_read_with_one_look_at_each_segment(
    lake: Lake, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has a segment of its own; to find one costs no reading of the others again."""
    for n in range(70):
        lake.write(*P, f"s{n}", _prompts(rows, n))
    looked_at: list[Any] = []
    real = segments._entries

    def entries(metadata: Any, identity: segments.Identity) -> dict[str, segments.Entry]:
        looked_at.append(metadata)
        return real(metadata, identity)

    monkeypatch.setattr(segments, "_entries", entries)
    assert len(Lake(lake.root).read_partition(*P)) == 70
    assert len(looked_at) == 70


def test_rows_of_an_earlier_version_may_move_before_they_are_made_again(tmp_path: Path) -> None:
    """They get empty values in columns that their version lacked."""
    fields = list(TURN_CHUNKS.schema)
    earlier = pa.schema(
        [field for field in fields if field.name not in ("error_lines", "by_program")]
    )
    path = tmp_path / "moved.parquet"
    old = earlier.empty_table()
    row = {field.name: _any_value(field) for field in earlier}
    old = pa.concat_tables([old, pa.Table.from_pylist([row], schema=earlier)])
    write_file(path, TURN_CHUNKS.schema, [old], {})
    (moved,) = pq.read_table(path).to_pylist()
    assert moved == {**row, "error_lines": [], "by_program": False}


def _any_value(field: pa.Field[Any]) -> object:
    """A value that a column may have."""
    if field.nullable:
        return None
    if pa.types.is_list(field.type):
        return ["x"]
    if pa.types.is_timestamp(field.type):
        return datetime(2026, 11, 1, tzinfo=UTC)
    return "x" if pa.types.is_string(field.type) else 7


def test_sessions_side_by_side_are_read_as_one_without_those_that_have_no_rows(
    lake: Lake, rows: Rows
) -> None:
    """Versions up to 0.3.0 listed these, too. No file is read when nothing is left."""
    made = {name: arrow_rows(USER_PROMPTS, _prompts(rows, name)).parts for name in "ac"}
    _publish(lake, {"c": _prompts(rows, "c")})
    (oldest,) = lake.partition_dir(*P).glob("segment*")
    path = segments.next_path(lake.partition_dir(*P))
    packed = [
        segments.Packed(name, name, {}, made.get(name, [])) for name in ("_", "a", "b", "c", "d")
    ]
    segments.write(path, made["a"][0].schema, packed)
    oldest.write_bytes(b"")
    found = list(lake.partition(*P).runs_of(["a", "c"]))
    assert [(lengths, len(of)) for lengths, of in found] == [({"a": 1, "c": 1}, 2)]
    (lengths, _), *others = Lake(lake.root).partition(*P).runs_of(["_", "a", "b"])
    assert lengths == {"a": 1} and not others


def test_that_a_file_vanished_between_two_runs_is_said(lake: Lake, rows: Rows) -> None:
    """As an error of the store, which is tried again."""
    for name in "ab":
        _publish(lake, {name: _prompts(rows, name)})
    runs = Lake(lake.root).partition(*P).runs_of(["a", "b"])
    assert next(runs)[0] == {"b": 1}
    for path in lake.partition_dir(*P).glob("segment*"):
        path.unlink()
    with pytest.raises(StoreError, match="keeps changing; try again"):
        next(runs)
