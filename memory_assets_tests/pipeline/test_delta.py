"""The redacted tables as Delta tables, for analysts."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from memory_assets.dagster.assets.maintenance import published_lake
from memory_assets.dagster.definitions import build_defs
from memory_assets.dagster.resources import MemoryResource
from memory_assets.errors import StoreMismatch
from memory_assets.pipeline.removal.forget import forget
from memory_assets.pipeline.removal.selection import SessionOnRecord
from memory_assets.settings import load_settings
from memory_assets.shards import delta
from memory_assets.shards.delta import Published, publish
from memory_assets.stores.catalog.schema import HELD_BY_CHECK, Quarantined
from memory_assets.stores.shard.objects import open_objects
from memory_assets_tests.command_line import run_here
from memory_assets_tests.foreign_programs import s3_bucket
from memory_assets_tests.kills import Killed
from memory_assets_tests.pipeline.bytes_at_rest import found_words, words_only_of
from memory_assets_tests.pipeline.conftest import NEW_TURN, WITHOUT_VECTORS, SampleMemory

OF_SESSIONS = ["session_summaries", "turn_chunks"]
HTTP = {"aws_allow_http": "true", "allow_http": "true"}
Publisher = Callable[[], Published]


@pytest.fixture
def place(memory: SampleMemory, tmp_path: Path) -> Path:
    """The directory at which a memory, which has no vectors, is to publish."""
    root = tmp_path / "delta"
    memory.without_vectors().reopen(delta=root)
    return root


@pytest.fixture
def bucket() -> Iterator[str]:
    """The address of a bucket of an S3 server on loopback."""
    with s3_bucket("analysts"):
        yield "s3://analysts/alice"


def grow(memory: SampleMemory) -> None:
    """Let a session have a turn more, and take it in."""
    memory.append(memory.flaky, *NEW_TURN)
    memory.run(WITHOUT_VECTORS, [memory.harbor])


def objects_of(place: str) -> dict[str, bytes]:
    """What is published."""
    objects = open_objects(place)
    return {key: objects.get(key) for key in objects.keys("")}


def key_of(row: dict[str, Any]) -> str:
    """What rows are sorted by."""
    return repr(sorted(row.items(), key=lambda item: item[0]))


def test_a_session_that_a_check_holds_back_is_not_published(
    place: Path, memory: SampleMemory
) -> None:
    """It is taken out again if it was."""
    memory.run(WITHOUT_VECTORS)
    publish(memory.components)
    held = Quarantined(memory.harbor, memory.fork, HELD_BY_CHECK, "", "an alarm")
    memory.components.catalog.quarantine.hold(held)
    published = publish(memory.components)
    assert published.removed and published.withheld == 1
    assert not any(memory.fork.encode() in content for content in objects_of(str(place)).values())


@pytest.mark.parametrize("store", ["directory", "s3"])
def test_what_is_published_is_the_lake(
    store: str,
    place: Path,
    memory: SampleMemory,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each row, after a whole run and after a session went on, as Polars and DuckDB read it. Where
    nothing changed, no object is written."""
    import duckdb
    import polars
    from deltalake import DeltaTable

    url = str(place)
    if store == "s3":
        url = request.getfixturevalue("bucket")
        memory.reopen(delta=url)
        monkeypatch.setattr(delta, "PUBLISHED", OF_SESSIONS)
    assert publish(memory.components).removed == 0
    before = objects_of(url)
    assert publish(memory.components) == Published() and objects_of(url) == before
    grow(memory)
    published = publish(memory.components)
    assert published.written == published.tables >= len(OF_SESSIONS)
    for name in delta.PUBLISHED:
        rows = sorted(memory.rows(name), key=key_of)
        if not rows:
            continue
        frame = polars.read_delta(f"{url}/{name}", storage_options=HTTP)
        read = frame.select(list(rows[0])).to_dicts()
        assert sorted(read, key=key_of) == rows, name
        there = DeltaTable(f"{url}/{name}", storage_options=HTTP).to_pyarrow_dataset()
        of_one: Any = duckdb.sql(f"SELECT count(*) FROM there WHERE session_id = '{memory.flaky}'")
        assert of_one.fetchall() == [(sum(row["session_id"] == memory.flaky for row in rows),)]
        del there


def test_documents_of_a_workspace_are_published(
    place: Path, memory: SampleMemory, tmp_path: Path
) -> None:
    """Their tables have a column `bucket` of their own."""
    import polars

    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "gate.md").write_text("# Gate\n\nPainted blue.\n")
    memory.components.catalog.close()
    environment = {"MEMORY_DATA_DIR": str(memory.data_dir), "MEMORY_EMBEDDER": "none"}
    assert run_here(environment, "index", str(notes)).returncode == 0
    memory.reopen(delta=place)
    publish(memory.components)
    (document,) = polars.read_delta(f"{place}/workspace_documents").to_dicts()
    assert document["session_id"] == "gate.md" and document["project_bucket"]


@pytest.mark.parametrize("killed", ["", pytest.param("_write", marks=pytest.mark.long), "_erase"])
def test_what_is_forgotten_leaves_no_byte(
    killed: str, place: Path, memory: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a word nor the id, decoded or not; also if the process was killed when it had
    published the session for the first time, or when it took it out."""
    words = {*words_only_of(memory.settings, {memory.flaky}), memory.flaky}
    memory.reopen(delta=place)

    def ends(publisher: Publisher) -> None:
        if not killed:
            publisher()
            return
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(delta._DeltaTable, killed, ends_after(killed))
            publisher()

    def run() -> Published:
        return publish(memory.components)

    ends(run)
    if not killed:
        assert found_words(place, {memory.flaky})
    session = SessionOnRecord(memory.harbor, memory.flaky)
    forget(memory.components, [session], erase_traces=lambda names: 0)
    ends(run)
    run()
    assert found_words(place, words) == {}
    assert {path.name for path in place.iterdir()} > {"redacted_records", "turn_chunks"}


def test_the_command_that_forgets_takes_it_out_of_the_tables(
    place: Path, memory: SampleMemory
) -> None:
    """At once, and says so: an hour until the next publication would be an hour too long."""
    publish(memory.components)
    home = {"MEMORY_DATA_DIR": str(memory.settings.data_dir), "MEMORY_DELTA": str(place)}
    done = run_here(home, "forget", memory.flaky, "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{place}: " in done.stderr.replace("\n", "") and "removed" in done.stderr
    assert found_words(place, {memory.flaky}) == {}


def ends_after(step: str) -> Callable[..., None]:
    """A step of publishing, whose process is killed when it is done."""
    real = getattr(delta._DeltaTable, step)

    def ends(*given: Any) -> None:
        real(*given)
        raise Killed

    return ends


def test_all_rows_are_written_where_columns_changed_or_all_is_gone(
    place: Path, memory: SampleMemory
) -> None:
    """A table has the columns of the version that publishes."""
    published = publish(memory.components)
    (memory.data_dir / delta.STATE_FILE).write_text(
        re.sub(r'\["[0-9a-f]{128}"', '["other"', (memory.data_dir / delta.STATE_FILE).read_text())
    )
    assert publish(memory.components) == published
    shutil.rmtree(place)
    assert publish(memory.components) == published
    import polars

    assert len(polars.read_delta(str(place / "turn_chunks"))) == len(memory.rows("turn_chunks"))


def test_another_memorys_tables_are_left_alone(place: Path, memory: SampleMemory) -> None:
    """So are those of a memory that does not know any more what it published."""
    publish(memory.components)
    before = objects_of(str(place))
    (memory.data_dir / delta.STATE_FILE).unlink()
    with pytest.raises(StoreMismatch, match="another memory"):
        publish(memory.components)
    assert objects_of(str(place)) == before


def test_it_is_an_asset_where_a_place_is_set(place: Path, memory: SampleMemory) -> None:
    """With a job and a schedule; without one there is none of them."""
    made = published_lake(MemoryResource(memory.settings))
    assert isinstance(made, dg.MaterializeResult)
    assert dict(made.metadata or {}).keys() == {"tables", "written", "removed", "withheld"}
    on, off = build_defs(memory.settings), build_defs(load_settings(data_dir=memory.data_dir))
    assert on.resolve_schedule_def("publish_schedule").job_name == "publish_lake"
    for name in ("assets", "jobs", "schedules"):
        assert len(getattr(on, name)) == len(getattr(off, name)) + 1
