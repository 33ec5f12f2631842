"""Sessions of one project worked on by several processes: what comes of it is what one makes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, replace
from multiprocessing import active_children
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest

from memory_assets.cli.ingesting.ingest import IngestResult, run_plans
from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.indexes.keywords import keywords_path
from memory_assets.pipeline.ingest import passes, workers
from memory_assets.pipeline.ingest.passes import Outcome, Pass
from memory_assets.pipeline.ingest.steps import Materialized
from memory_assets.pipeline.plan.plan import plan
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pool import Processes, Results
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.keyword_index import files as keyword_files
from memory_assets.stores.lake.schemas import (
    REDACTED_RECORDS,
    REDACTION_AUDIT,
    SESSION_SUMMARIES,
    TURN_CHUNKS,
    TURN_EMBEDDINGS,
    USER_PROMPTS,
)
from memory_assets_tests.own_files import altered
from memory_assets_tests.transcript_files import claude_line, write_lines

PROJECT = "-home-mara-code-mill"
_KEY = "sk-ant-api03-" + "Kf7Qz2" * 15 + "-Ab3Cd4AA"
_TOKEN = "ghp_" + "wWPw5k4aXcaT4fNP" + "0UcnZwJUVFk6LO0pINUx"
"""In GitHub's form with a checksum-like tail; nobody's."""
_VECTORS = ("texts_embedded", "vectors_reused")
"""A text that is in both shares may be embedded by both at once, so only their sum is equal."""
_TABLES = (
    REDACTED_RECORDS,
    REDACTION_AUDIT,
    TURN_CHUNKS,
    USER_PROMPTS,
    SESSION_SUMMARIES,
    TURN_EMBEDDINGS,
)


def _session(root: Path, number: int, *texts: str, begins_with: int | None = None) -> Path:
    """A session, whose records begin with those of another one if it is its fork."""
    path = root / PROJECT / f"eeeeeeee-0000-4000-8000-{number:012d}.jsonl"
    origin = number if begins_with is None else begins_with
    lines = []
    for at, text in enumerate(texts):
        when = f"2026-03-01T08:{number:02d}:{at:02d}.000Z"
        uuid = f"record-{origin if at < 2 else number}-{at}"
        lines.append(claude_line(path.stem, at, text, "/home/mara/code/mill", when, uuid=uuid))
    write_lines(path, lines)
    os.utime(path, (1_772_000_000 + number,) * 2)
    return path


@pytest.fixture(scope="module")
def transcripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine sessions of one project, a fork and a secret of two sessions among them."""
    root = tmp_path_factory.mktemp("shared") / "projects"
    for number in range(7):
        said = "The stone does. " * (number + 1)
        _session(root, number, f"what turns in part {number}?", said, "and when?", "At noon.")
    _session(root, 7, "what turns in part 0?", "The stone does. ", "why?", "Water.", begins_with=0)
    _session(root, 8, f"the key is {_KEY}", f"I used {_KEY}.", "thanks", "Of course.")
    return root


@pytest.fixture(autouse=True)
def _one_key(transcripts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All memories here hash with one key."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(transcripts.with_name("config")))


@pytest.fixture
def settings(tmp_path: Path, transcripts: Path) -> Settings:
    """The sessions, which two processes share, however little there is to do."""
    return load_settings(
        data_dir=tmp_path / "memory", projects_dir=transcripts, ingest_workers=2, embedder="none"
    )


@pytest.fixture
def own(settings: Settings, tmp_path: Path) -> Settings:
    """The same over a copy of the sessions, which a test may change."""
    (shared,) = settings.transcript_roots()["claude-code"]
    return replace(settings, projects_dir=(shutil.copytree(shared, tmp_path / "projects"),))


@dataclass(frozen=True)
class ByOne:
    """What one process made of the sessions, vectors included."""

    seen: list[Outcome | Pass]
    rows: dict[str, list[str]]
    indexed: dict[str, set[str]]

    @property
    def but_vectors(self) -> dict[str, list[str]]:
        """All rows but those with a vector."""
        return {**self.rows, TURN_EMBEDDINGS.name: []}


@pytest.fixture(scope="module")
def by_one(transcripts: Path, tmp_path_factory: pytest.TempPathFactory) -> ByOne:
    """A memory that one process made."""
    data_dir = tmp_path_factory.mktemp("alone") / "memory"
    alone = load_settings(data_dir=data_dir, projects_dir=transcripts, ingest_workers=1)
    seen = list[Outcome | Pass]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(transcripts.with_name("config")))
        assert _ingest(alone, seen).failed == {}
    return ByOne(seen, _rows(alone), _indexed(alone))


def _ingest(settings: Settings, seen: list[Outcome | Pass] | None = None) -> IngestResult:
    components = Components(settings)
    plans = plan(components, find_sources(components))
    return run_plans(settings, plans, progress=(seen if seen is not None else []).append)


def _rows(settings: Settings) -> dict[str, list[str]]:
    lake = Components(settings).lake
    return {
        table.name: sorted(
            repr({**row, "ingested_at": ""})
            for name in lake.sessions(table, PROJECT)
            for row in lake.read(table, PROJECT, name).to_pylist()
        )
        for table in _TABLES
    }


def _indexed(settings: Settings) -> dict[str, set[str]]:
    with closing(keyword_files.open_for_reading(keywords_path(Components(settings)))) as index:
        return index.ids_of("sessions", PROJECT, sorted(index.places("sessions", PROJECT)))


def test_two_processes_make_what_one_makes(
    settings: Settings, by_one: ByOne, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row of every table, the words and the totals are equal, and every check passes. Each
    session is worked on by another process in each pass; this one makes the fork again, when it is
    known as one."""
    settings = replace(settings, embedder=Settings().embedder)
    by_two, jobs, submit = list[Outcome | Pass](), list[str](), Processes.submit

    def counted(processes: Processes, run: Any, make: Any) -> Future[Any]:
        jobs.append(repr(make.keywords.get("tables", "words")))
        return submit(processes, run, make)

    with monkeypatch.context() as patch:
        patch.setattr(Processes, "submit", counted)
        assert _ingest(settings, by_two).failed == {}
    assert Counter(Counter(jobs).values()) == {9: 5}  # words, what follows, and three of vectors
    assert _rows(settings) == by_one.rows
    assert all(by_one.rows[table.name] for table in _TABLES)
    assert _indexed(settings) == by_one.indexed
    assert not [each for each in verify_project(Components(settings), PROJECT) if each.failed]
    assert _ingest(settings, after := list[Outcome | Pass]()).projects == 0 and not after

    def counts(seen: list[Outcome | Pass]) -> list[tuple[Any, ...]]:
        made = [each for each in seen if isinstance(each, Materialized)]
        return [
            (
                each.asset,
                each.report.sessions,
                each.report.changed,
                each.report.rows_written,
                sum(int(each.report.details.get(name, 0)) for name in _VECTORS),
            )
            for each in made
        ]

    assert counts(by_two) == counts(by_one.seen)


def _killing_once(settings: Settings) -> Callable[[Outcome | Pass], None]:
    """Return a listener that kills one of the processes at the first thing that was made."""
    killed: list[int] = []

    def kill(event: Outcome | Pass) -> None:
        if not killed and isinstance(event, Materialized):
            child = active_children()[0]
            assert child.pid is not None
            killed.append(child.pid)
            os.kill(child.pid, signal.SIGKILL)

    return kill


@pytest.mark.long
def test_a_process_that_is_killed_loses_nothing(settings: Settings, by_one: ByOne) -> None:
    """Another one takes its place, and what it was at is done again."""
    components = Components(settings)
    plans = plan(components, find_sources(components))
    assert run_plans(settings, plans, progress=_killing_once(settings)).failed == {}
    assert _rows(settings) == by_one.but_vectors and _indexed(settings) == by_one.indexed


_ENDS_PROCESSES = "eeeeeeee-0000-4000-8000-000000000003"


def _read_all_but_one(components: Components, changed: Any, rows: Any) -> Results:
    if changed[0].session_id == _ENDS_PROCESSES:
        os.kill(os.getpid(), signal.SIGKILL)
    return _READ_AND_REDACT(components, changed, rows)


_READ_AND_REDACT = workers._read_and_redact


def test_a_session_that_ends_every_process_is_held_back(
    own: Settings, by_one: ByOne, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reason, until its file changes; the others are done in the same run, and what the
    ended processes were at is done again: nothing is lost."""
    with monkeypatch.context() as patch:
        patch.setattr(workers, "_read_and_redact", _read_all_but_one)
        assert _ingest(own).failed == {}
    components = Components(own)
    (held,) = components.catalog.quarantine.entries(PROJECT)
    assert held.session_id == _ENDS_PROCESSES and "ended two processes" in held.reason
    assert len(components.lake.sessions(TURN_CHUNKS, PROJECT)) == 8
    assert plan(components, find_sources(components)) == []
    os.utime(next((own.transcript_roots()["claude-code"][0] / PROJECT).glob(f"{_ENDS_PROCESSES}*")))
    assert _ingest(replace(own, ingest_workers=1)).failed == {}
    assert components.catalog.quarantine.entries(PROJECT) == []
    assert _rows(own) == by_one.but_vectors and _indexed(own) == by_one.indexed


def test_no_turn_is_made_when_a_blocking_check_finds_something(own: Settings) -> None:
    """A secret in the rows of another session: nothing is made of new ones, though a process has
    made it already."""
    assert _ingest(replace(own, ingest_workers=1)).failed == {}
    lake = Components(own).lake
    (known, *_) = lake.sessions(REDACTED_RECORDS, PROJECT)
    row = lake.read(REDACTED_RECORDS, PROJECT, known).to_pylist()[0]
    leak = {**row, "text": f"export GITHUB_TOKEN={_TOKEN}"}
    leaked = pa.Table.from_pylist([leak], schema=REDACTED_RECORDS.schema)
    altered(lake, REDACTED_RECORDS, PROJECT, "left-by-another-program", leaked)
    for number in (10, 11):
        _session(own.transcript_roots()["claude-code"][0], number, "and at night?", "It rests.")
    failed = _ingest(own).checks_failed
    assert f"{PROJECT}: redacted_records.no_secrets_remain" in failed
    assert len(lake.sessions(REDACTED_RECORDS, PROJECT)) == 12
    assert len(lake.sessions(TURN_CHUNKS, PROJECT)) == 9


def test_an_original_that_is_read_after_its_fork_owns_its_records(
    settings: Settings, by_one: ByOne, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large project the newest sessions are found by words before the next ones are read."""
    seen = list[Outcome | Pass]()
    with monkeypatch.context() as patch:
        patch.setattr(passes, "_PART_BYTES", 1)
        assert _ingest(replace(settings, ingest_workers=1), seen).failed == {}
    indexed = [
        each for each in seen if isinstance(each, Materialized) and each.asset == "keyword_index"
    ]
    assert [each.report.sessions for each in indexed[:9]] == list(range(1, 10))
    assert _rows(settings) == by_one.but_vectors and _indexed(settings) == by_one.indexed


_STARTS_PROCESSES = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import active_children
from memory_assets.pipeline.stage.pool import Processes
if __name__ == "__main__":
    executor = Processes(2, "memory_assets.pipeline.stage.pool")
    for _ in range(2):
        executor.submit(time.sleep, 60)
    print(*(child.pid for child in active_children()), flush=True)
    time.sleep(60)
"""


def _long_result(begun: Path) -> bytes:
    begun.touch()
    return bytes(1 << 26)


def test_processes_that_send_a_result_are_closed_without_waiting_for_ever(tmp_path: Path) -> None:
    """Half a result would be waited for by the thread that receives it."""
    executor = Processes(2, "memory_assets.pipeline.stage.pool")
    begun = [tmp_path / str(number) for number in range(4)]
    for file in begun:
        executor.submit(_long_result, file)
    until = time.monotonic() + 60
    while not begun[2].exists():
        assert time.monotonic() < until
        time.sleep(0.001)
    closing = Thread(target=executor.shutdown, kwargs={"cancel_futures": True}, daemon=True)
    closing.start()
    closing.join(60)
    assert not closing.is_alive() and active_children() == []


def test_processes_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    """Whatever they are at: they write nothing, and nobody waits for them."""
    script = tmp_path / "starts.py"
    script.write_text(_STARTS_PROCESSES)
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    children = [int(pid) for pid in parent.stdout.readline().split()]
    parent.kill()
    parent.communicate()
    assert len(children) == 2
    until = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in children):
        assert time.monotonic() < until
        time.sleep(0.05)
