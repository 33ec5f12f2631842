"""Forgetting, stage by stage on the sample: what goes, what stays, what never comes back, and how
it is completed where it ended at some step."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from memory_assets.errors import ConfigurationError, NotFound, StoreBusy, StoreError
from memory_assets.pipeline.removal import forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.stores.chroma import files as chroma_files
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TABLES, TURN_CHUNKS
from memory_assets_tests.command_line import environment_of, run_here
from memory_assets_tests.own_files import altered, own_file
from memory_assets_tests.pipeline.bytes_at_rest import files_naming, forget_sessions, no_dagster
from memory_assets_tests.pipeline.conftest import SampleMemory


def _sessions(memory: SampleMemory) -> set[str]:
    return {row["session_id"] for row in memory.rows("redacted_records")}


def _rows_in_chroma(memory: SampleMemory, session_id: str) -> int:
    vectors = memory.components.vectors
    return sum(len(vectors.get(name).ids({"session_id": session_id})) for name in vectors.names())


def test_a_forgotten_session_is_in_no_table_collection_or_file(memory: SampleMemory) -> None:
    """Its rows are gone from every table and collection, its name from every byte of the
    data directory; all that belongs to others is as it was."""
    assert _rows_in_chroma(memory, memory.flaky) > 0
    of_sessions = [
        name
        for name in TABLES
        if not name.startswith(("workspace", "agent", "retrieved", "history"))
    ]
    assert len(files_naming(memory, memory.flaky)) > len(of_sessions)
    others = {
        name: [
            row for row in rows if memory.flaky not in repr(row.get("id", row.get("session_id")))
        ]
        for name, rows in memory.lake_state().items()
    }

    report = forget_sessions(memory, session=memory.flaky)

    assert report.sessions == 1
    assert report.projects_gone == 0
    assert report.collection_rows > 0
    assert files_naming(memory, memory.flaky) == []
    assert memory.lake_state() == others
    memory.assert_collections_equal_the_lake()


def test_a_forgotten_session_is_not_taken_in_again(wordy: SampleMemory) -> None:
    """Though its file is there and grows, no stage sees it, and the scan counts it; nor does it
    come back when the catalogue is lost, which is disposable, as tombstones are not, or when its
    project's directory has another name."""
    forget_sessions(wordy, session=wordy.flaky)
    assert wordy.behind() == []
    wordy.append(wordy.flaky, "a question after it was forgotten", "an answer")
    assert wordy.behind() == []
    reports = wordy.run(projects=[wordy.harbor])
    assert reports["raw_sessions", wordy.harbor].details["forgotten"] == 1
    assert wordy.flaky not in _sessions(wordy)
    assert files_naming(wordy, wordy.flaky) == []
    wordy.lose_the_catalogue()
    assert wordy.behind() != []
    wordy.run(projects=[wordy.harbor])
    assert wordy.flaky not in _sessions(wordy)
    assert files_naming(wordy, wordy.flaky) == []
    source = wordy.path(wordy.flaky)
    target = source.parent.parent / "-home-mara-elsewhere"
    target.mkdir()
    shutil.move(source, target / source.name)
    wordy.run()
    assert wordy.flaky not in _sessions(wordy)
    assert "-home-mara-elsewhere" not in wordy.components.catalog.projects()


def test_a_forks_copies_of_a_forgotten_session_do_not_bring_it_back(memory: SampleMemory) -> None:
    """The fork's file begins with the forgotten records. The fork keeps its own rows and
    turn numbers; it is read again when it grows, and its copies stay forgotten."""
    before = [row for row in memory.rows("turn_chunks") if row["session_id"] == memory.fork]
    texts = {
        row["text"] for row in memory.rows("redacted_records") if row["session_id"] == memory.flaky
    } - {row["text"] for row in memory.rows("redacted_records") if row["session_id"] == memory.fork}
    report = forget_sessions(memory, session=memory.flaky)
    assert report.forks_amended == 1
    assert memory.behind() == []

    memory.append(memory.fork, "the fork goes on", "so it does")
    memory.run(projects=[memory.harbor])

    rows = [row for row in memory.rows("turn_chunks") if row["session_id"] == memory.fork]
    assert [row["id"] for row in rows][: len(before)] == [row["id"] for row in before]
    assert "the fork goes on" in repr(rows[len(before) :])
    written = {row["text"] for row in memory.rows("redacted_records")}
    assert texts & written == set()
    memory.assert_collections_equal_the_lake()


def test_a_fork_that_is_forgotten_takes_nothing_from_its_original(wordy: SampleMemory) -> None:
    """Records that it only copied belong to the original and stay."""
    before = [row for row in wordy.rows("redacted_records") if row["session_id"] == wordy.flaky]
    forget_sessions(wordy, session=wordy.fork)
    wordy.append(wordy.flaky, "the original goes on", "so it does")
    wordy.run(projects=[wordy.harbor])
    after = [row for row in wordy.rows("redacted_records") if row["session_id"] == wordy.flaky]
    assert len(after) == len(before) + 2
    assert wordy.fork not in _sessions(wordy)


def test_tombstones_hold_no_name_and_need_their_key(wordy: SampleMemory, monkeypatch: Any) -> None:
    """They are keyed hashes; under another key nothing is ingested, rather than what was
    forgotten."""
    forget_sessions(wordy, project=wordy.harbor)
    content = b"".join(path.read_bytes() for path in wordy.data_dir.glob("forgotten.db*"))
    assert wordy.flaky.encode() not in content
    assert b"harbor" not in content
    wordy.components.install_key  # noqa: B018 - loaded, then replaced
    monkeypatch.setitem(wordy.components.opened, "install_key", bytes(32))
    with pytest.raises(StoreError, match="another install key"):
        wordy.behind()


def test_a_project_is_forgotten_with_its_name(memory: SampleMemory) -> None:
    """All its sessions, its directories and its lock; other projects keep theirs. What is
    written there later is a new session and taken in."""
    others = _sessions(memory) - {
        row["session_id"] for row in memory.rows("redacted_records", memory.harbor)
    }
    report = forget_sessions(memory, project=memory.harbor)
    assert report.projects_gone == 1
    assert _sessions(memory) == others
    assert files_naming(memory, memory.harbor) == []
    assert memory.components.catalog.projects().isdisjoint({memory.harbor})

    old = memory.path(memory.fork)
    new = old.with_name("77777777-0000-4000-8000-000000000001.jsonl")
    text = old.read_text().replace(memory.fork, new.stem).replace('"uuid":"', '"uuid":"e')
    new.write_text(text)
    memory.run(projects=[memory.harbor])
    assert _sessions(memory) == others | {new.stem}


def test_what_killed_writers_left_of_a_session_goes_with_it(wordy: SampleMemory) -> None:
    """And with that of other sessions: a writer that is killed may leave rows of many."""
    left = {}
    for session in (wordy.flaky, wordy.fork):
        path = own_file(wordy.components.lake, TURN_CHUNKS, wordy.harbor, session)
        left[session] = path.with_name(f"{path.name}.4242.staging")
        shutil.copy(path, left[session])
    forget_sessions(wordy, session=wordy.flaky)
    assert not [path for path in left.values() if path.exists()]


def test_a_session_that_was_never_taken_in_can_be_forgotten(fresh: SampleMemory) -> None:
    """It is on disk only: a tombstone is all there is to do."""
    fresh.without_vectors()
    fresh.run(projects=[name for name in fresh.projects() if name != fresh.harbor])
    forget_sessions(fresh, session=fresh.flaky)
    fresh.run()
    assert fresh.flaky not in _sessions(fresh)
    assert fresh.fork in _sessions(fresh)


def test_nothing_is_removed_while_another_process_writes_the_memory(memory: SampleMemory) -> None:
    """After the usual wait it says so, and nothing has changed."""
    before = memory.lake_files()
    memory.reopen(lock_timeout_seconds=0.2)
    with (
        FileLock(memory.components.lake.lock_path(memory.harbor)),
        pytest.raises(StoreBusy, match="has been writing"),
    ):
        forget_sessions(memory, session=memory.flaky)
    assert memory.lake_files() == before
    assert not memory.components.tombstones.forgotten()


def _ids(memory: SampleMemory, **selection: Any) -> set[str]:
    return {session.session_id for session in select(memory.components, Selection(**selection))}


def test_a_session_is_selected_by_the_beginning_of_its_id(memory: SampleMemory) -> None:
    """If no other begins the same; else the error lists them."""
    assert _ids(memory, session=memory.flaky[:6]) == {memory.flaky}
    with pytest.raises(ConfigurationError, match="begins 2 sessions"):
        _ids(memory, session="019d")


def test_sessions_are_selected_by_when_they_ended(memory: SampleMemory) -> None:
    """By their last record; conditions add up."""
    all_ends = {
        session.session_id: session.last_at
        for project in memory.projects()
        for session in select(memory.components, Selection(project=project))
    }
    moment = sorted(end for end in all_ends.values() if end)[4]
    wanted = {name for name, end in all_ends.items() if end and end < moment}
    assert _ids(memory, before=moment) == wanted
    assert len(wanted) == 4
    of_harbor = _ids(memory, project=memory.harbor)
    assert _ids(memory, before=moment, project=memory.harbor) == wanted & of_harbor
    with pytest.raises(NotFound, match="`memory status`"):
        _ids(memory, before=datetime(2001, 1, 1, tzinfo=UTC))


def test_a_workspace_that_is_not_on_record_is_looked_up_among_workspaces(
    memory: SampleMemory,
) -> None:
    """The error names the command that lists them."""
    with pytest.raises(NotFound, match="`memory workspaces`"):
        _ids(memory, project="workspace:nowhere")


def _with_commands(memory: SampleMemory, command: str) -> None:
    """Give each record of the fork this command."""
    lake, fork = memory.components.lake, (REDACTED_RECORDS, memory.harbor, memory.fork)
    table = lake.read(*fork)
    place = table.schema.get_field_index("command")
    commands = [[command] * len(table)]
    altered(lake, *fork, table.set_column(place, table.schema.field(place), commands))


def test_sessions_are_selected_by_a_tag_in_any_of_their_tables(memory: SampleMemory) -> None:
    """Whole, or by its digest alone; what is not a tag is refused."""
    tag = "<redacted:github-token:0123456789ab>"
    _with_commands(memory, f"export T={tag}")
    assert _ids(memory, tag=tag) == {memory.fork}
    assert _ids(memory, tag="0123456789ab") == {memory.fork}
    with pytest.raises(NotFound):
        _ids(memory, tag="<redacted:other:0123456789ab>")
    with pytest.raises(ConfigurationError, match="is not a tag"):
        _ids(memory, tag="<redacted:github-token>")


@pytest.mark.parametrize("stored", ['pw is "Xq7\\Tz-blue"', r'{"a": "pw is \"Xq7\\Tz-blue\""}'])
def test_sessions_are_selected_by_a_text_that_redaction_missed(
    memory: SampleMemory, stored: str
) -> None:
    """Whatever table it is in, plain or in JSON; what is too short to mean anything is refused."""
    _with_commands(memory, stored)
    assert _ids(memory, text='"Xq7\\Tz-blue"') == {memory.fork}
    with pytest.raises(NotFound):
        _ids(memory, text="Xq7-Tz-green")
    with pytest.raises(ConfigurationError, match="fewer than 8 bytes"):
        _ids(memory, text="Xq7")


class Crash(BaseException):
    """What ends a process; no handler of ours catches it."""


def _steps(memory: SampleMemory, session_id: str) -> Iterable[int]:
    """Forget a session with a crash at each step in turn, as long as there is a next one."""
    for step in range(1, 40):
        seen: list[str] = []

        def crash(message: str, seen: list[str] = seen, step: int = step, *_: object) -> None:
            seen.append(message)
            if len(seen) == step:
                raise Crash

        try:
            if step <= 2:
                found = select(memory.components, Selection(session=session_id))
                forget.forget(memory.components, found, erase_traces=no_dagster, progress=crash)
            else:
                forget.complete(memory.components, erase_traces=no_dagster, progress=crash)
        except Crash:
            memory.reopen()
            yield step
        else:
            return


def test_a_forgetting_that_ends_at_any_step_is_completed(memory: SampleMemory) -> None:
    """Interrupted again and again, a step further each time: from the second step on the
    session is out of every later run, and at last no byte of it is left."""
    steps = 0
    for step in _steps(memory, memory.flaky):
        steps = step
        if step > 1:
            assert memory.flaky not in {
                source.session_id
                for sources in find_sources(memory.components).values()
                for source in sources
            }
    assert steps >= 6
    assert files_naming(memory, memory.flaky) == []
    assert memory.behind() == []
    memory.assert_collections_equal_the_lake()


def _killed(memory: SampleMemory, moment: str) -> int:
    """Let a process of its own forget a session and kill itself at a moment; return its exit
    code. It is a fork, so that it need not load the redactor."""
    memory.close()
    process = os.fork()
    if not process:
        try:
            _kill_at(moment)
            found = select(memory.reopen(), Selection(session=memory.flaky))

            def progress(step: str) -> None:
                if step.startswith(moment):
                    _kill()

            forget.forget(memory.components, found, erase_traces=no_dagster, progress=progress)
        finally:  # whatever happens, no test goes on in here
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_at(moment: str) -> None:
    rename, finish_swap = Path.rename, chroma_files.finish_swap

    def between(path: Path, to: Path) -> Path:
        if path.parent.name == "chroma.anew":
            _kill()
        return rename(path, to)

    def beside(directory: Path) -> None:
        if chroma_files._replaced(directory).exists():
            _kill()
        finish_swap(directory)

    if moment == "between the files":
        Path.rename = between  # type: ignore[method-assign, assignment]
    if moment == "beside the old files":
        chroma_files.finish_swap = beside


@pytest.mark.parametrize(
    "moment",
    [
        "between the files",
        pytest.param("copying session-summaries", marks=pytest.mark.long),
        pytest.param("beside the old files", marks=pytest.mark.long),
    ],
)
def test_a_killed_forgetting_is_completed_by_the_next_command(
    memory: SampleMemory, moment: str
) -> None:
    """`kill -9` while collections are copied, with the old files moved away and the new ones
    not yet in their place, or with both there; whatever command comes next completes it."""
    key = Path.home() / ".config" / "memory_assets" / "install.key"
    key.parent.mkdir(parents=True, exist_ok=True)
    key.write_bytes(memory.components.install_key)
    assert _killed(memory, moment) == -signal.SIGKILL
    assert files_naming(memory, memory.flaky) != []
    environment = environment_of(replace(memory.settings, data_dir=memory.data_dir))
    done = run_here(environment, "status")
    assert done.returncode == 0, done.stderr
    assert "Completing a forgetting" in done.stderr
    assert files_naming(memory, memory.flaky) == []
    memory.reopen()
    assert memory.behind() == []
    memory.assert_collections_equal_the_lake()
    assert chroma_server.running(memory.data_dir) is not None
