"""One project made by several processes: what comes of it is what one process makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memory_assets.cli.ingesting.ingest import IngestResult, run_plans
from memory_assets.errors import StoreBusy
from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.indexes.keywords import keywords_path
from memory_assets.pipeline.ingest import shares, workers
from memory_assets.pipeline.ingest.passes import PASSES, VECTORS, WORDS, Outcome, Pass, Task
from memory_assets.pipeline.ingest.shares import run_share
from memory_assets.pipeline.ingest.steps import STEPS, Failed, Made
from memory_assets.pipeline.ownership.project_sessions import session_files
from memory_assets.pipeline.plan.plan import plan
from memory_assets.pipeline.redact.redacted_records import redact_project
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.pipeline.scan.raw_sessions import STAGE as RAW_SESSIONS
from memory_assets.pipeline.scan.raw_sessions import scan_project
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.share import Share, begin_shares, divided
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
from memory_assets_tests.own_files import own_file

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
    path.parent.mkdir(parents=True, exist_ok=True)
    origin = number if begins_with is None else begins_with
    lines = []
    for at, text in enumerate(texts):
        role = "assistant" if at % 2 else "user"
        of = origin if at < 2 else number
        lines.append(
            json.dumps(
                {
                    "type": role,
                    "uuid": f"record-{of}-{at}",
                    "sessionId": path.stem,
                    "timestamp": f"2026-03-01T08:{number:02d}:{at:02d}.000Z",
                    "cwd": "/home/mara/code/mill",
                    "message": {"role": role, "content": [{"type": "text", "text": text}]},
                }
            )
        )
    path.write_text("\n".join(lines) + "\n")
    os.utime(path, (1_772_000_000 + number,) * 2)
    return path


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Nine sessions of one project, a fork and a secret of two sessions among them; two processes
    share it, however little there is to do."""
    for name in ("DAGSTER_HOME", "DAGSTER_DISABLE_TELEMETRY", "MEMORY_DATA_DIR"):
        monkeypatch.setenv(name, "to be put back")
    monkeypatch.delenv("MEMORY_DATA_DIR")
    monkeypatch.setattr(shares, "_WORTH_IT_SECONDS", 0.0)
    root = tmp_path / "projects"
    for number in range(7):
        said = "The stone does. " * (number + 1)
        _session(root, number, f"what turns in part {number}?", said, "and when?", "At noon.")
    _session(root, 7, "what turns in part 0?", "The stone does. ", "why?", "Water.", begins_with=0)
    _session(root, 8, f"the key is {_KEY}", f"I used {_KEY}.", "thanks", "Of course.")
    return load_settings(
        data_dir=tmp_path / "memory", projects_dir=tmp_path / "projects", ingest_workers=2
    )


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
        return index.ids_of("sessions", PROJECT, sorted(index.sessions("sessions", PROJECT)))


def test_two_processes_make_what_one_makes(settings: Settings, tmp_path: Path) -> None:
    """Every row of every table, the words and the totals are equal, and every check passes."""
    alone = replace(settings, data_dir=tmp_path / "alone", ingest_workers=1)
    by_one, by_two = list[Outcome | Pass](), list[Outcome | Pass]()
    assert _ingest(alone, by_one).failed == _ingest(settings, by_two).failed == {}
    assert _rows(settings) == _rows(alone)
    assert all(_rows(settings)[table.name] for table in _TABLES)
    assert _indexed(settings) == _indexed(alone)
    assert not [each for each in verify_project(Components(settings), PROJECT) if each.failed]
    assert _ingest(settings, after := list[Outcome | Pass]()).projects == 0 and not after

    def counts(seen: list[Outcome | Pass]) -> list[tuple[Any, ...]]:
        made = [each for each in seen if isinstance(each, Made)]
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

    assert counts(by_two) == counts(by_one)


def test_both_processes_have_work(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each makes a share of the sessions, of which none is in both."""
    given: list[Task] = []
    real = workers.Workers._give

    def give(pool: workers.Workers, left: list[Task]) -> None:
        given.extend(task for task in left if task.share and task not in given)
        real(pool, left)

    monkeypatch.setattr(workers.Workers, "_give", give)
    assert _ingest(settings).failed == {}
    read = [task.share for task in given if RAW_SESSIONS in task.assets]
    assert [len(share.sessions) for share in read if share] in ([4, 5], [5, 4])
    assert len({name for share in read if share for name in share.sessions}) == 9
    assert {asset for task in given for asset in task.assets} >= {
        *WORDS.assets,
        TURN_EMBEDDINGS.name,
    }


def test_a_process_that_is_killed_at_its_share_loses_nothing(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project has failed, and says so; the next ingest makes the rest of it."""
    real, killed = workers.Workers._give, list[int]()

    def give(pool: workers.Workers, left: list[Task]) -> None:
        real(pool, left)
        at_it = [worker for worker in pool._busy.values() if worker.task and worker.task.share]
        if at_it and not killed:
            killed.append(at_it[0].process.pid)
            at_it[0].process.kill()

    monkeypatch.setattr(workers.Workers, "_give", give)
    failed = _ingest(settings).failed
    assert list(failed) == [PROJECT] and "ended with code -9" in failed[PROJECT]
    assert _ingest(settings).failed == {}
    alone = replace(settings, data_dir=tmp_path / "alone", ingest_workers=1)
    assert _ingest(alone).failed == {}
    assert _rows(settings) == _rows(alone) and _indexed(settings) == _indexed(alone)


def test_no_share_goes_on_when_a_blocking_check_finds_something(settings: Settings) -> None:
    """A secret in the rows of a session that is in no share: nothing is made of new sessions."""
    assert _ingest(settings).failed == {}
    lake = Components(settings).lake
    (known, *_) = lake.sessions(REDACTED_RECORDS, PROJECT)
    row = lake.read(REDACTED_RECORDS, PROJECT, known).to_pylist()[0]
    leak = {**row, "text": f"export GITHUB_TOKEN={_TOKEN}"}
    path = own_file(lake, REDACTED_RECORDS, PROJECT, "left-by-another-program")
    pq.write_table(pa.Table.from_pylist([leak], schema=REDACTED_RECORDS.schema), path)
    for number in (10, 11):
        _session(Path(str(settings.projects_dir)), number, "and at night?", "It rests.")
    failed = _ingest(settings).checks_failed
    assert f"{PROJECT}: redacted_records.no_secrets_remain" in failed
    assert len(lake.sessions(REDACTED_RECORDS, PROJECT)) == 12
    assert len(lake.sessions(TURN_CHUNKS, PROJECT)) == 9


def test_no_word_is_indexed_of_a_table_that_a_blocking_check_stops(settings: Settings) -> None:
    """A secret that another program put into a chunk: the words of no chunk are indexed anew."""
    assert _ingest(settings).failed == {}
    components = Components(settings)
    (known, *_) = components.lake.sessions(TURN_CHUNKS, PROJECT)
    row = components.lake.read(TURN_CHUNKS, PROJECT, known).to_pylist()[0]
    leak = {**row, "text": f"export GITHUB_TOKEN={_TOKEN}"}
    path = own_file(components.lake, TURN_CHUNKS, PROJECT, known)
    pq.write_table(pa.Table.from_pylist([leak], schema=TURN_CHUNKS.schema), path)
    keywords_path(components).unlink()
    failed = _ingest(settings).checks_failed
    assert f"{PROJECT}: turn_chunks.no_secrets_remain" in failed
    assert not keywords_path(components).exists()


def test_a_share_is_not_made_when_somebody_else_holds_the_project(settings: Settings) -> None:
    """Who takes the project's lock takes the token of the shares away."""
    components = Components(settings)
    sources = find_sources(components)[PROJECT]
    names = frozenset(source.session_id for source in sources)
    lock = components.lake.lock_path(PROJECT)
    share = Share(PROJECT, 0, names, token=begin_shares(lock))
    task = Task(PROJECT, (RAW_SESSIONS,), walked=sources, share=share)
    with Components(settings).project_lock(PROJECT):
        pass
    assert list(run_share(components, task, tell=print)) == []
    assert components.catalog.sources.rows(PROJECT) == []
    given = replace(task, share=replace(share, token=begin_shares(lock)))
    assert [made.report.changed for made in run_share(components, given, tell=print)] == [9]


def test_a_share_stops_when_somebody_else_takes_the_project(settings: Settings) -> None:
    """At its next session, so that the other one need not wait for its end."""
    components = Components(settings)
    scan_project(components, PROJECT)
    lock = components.lake.lock_path(PROJECT)
    names = frozenset(row.session_id for row in components.catalog.sources.rows(PROJECT))
    share = Share(PROJECT, 0, names, token=begin_shares(lock))
    task = Task(PROJECT, (REDACTED_RECORDS.name,), share=share)

    def take(progress: shares.Progress) -> None:
        if progress.number == 3:
            begin_shares(lock)

    assert list(run_share(components, task, tell=take)) == []
    assert components.catalog.products.of_project(REDACTED_RECORDS.name, PROJECT) == {}
    assert redact_project(components, PROJECT).changed == 9


def test_a_fork_is_known_as_one_when_its_reader_was_killed(settings: Settings) -> None:
    """Its records are compared by whoever looks at the project next."""
    components, root = Components(settings), Path(str(settings.projects_dir))
    scan_project(components, PROJECT)
    said = ("what turns in part 3?", "The stone does. " * 4)
    fork = _session(root, 9, *said, "why?", "Wind.", begins_with=3)
    lock = components.lake.lock_path(PROJECT)
    share = Share(PROJECT, 0, frozenset({fork.stem}), token=begin_shares(lock))
    sources = find_sources(components)[PROJECT]
    task = Task(PROJECT, (RAW_SESSIONS,), walked=sources, share=share)
    assert [made.report.changed for made in run_share(components, task, tell=print)] == [1]
    assert scan_project(components, PROJECT).changed == 0
    copied = {each.session_id: len(each.copied) for each in session_files(components, PROJECT)}
    assert copied[fork.stem] == 2


_HOLDS = """
import sys
from pathlib import Path
from memory_assets.pipeline.stage.share import Share, holding
with holding(Path(sys.argv[1]), Share("", 0, frozenset()), 5):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def held_share(settings: Settings) -> Iterator[subprocess.Popen[str]]:
    """A process that is at a share of the project, whose lock nobody holds."""
    lock = Components(settings).lake.lock_path(PROJECT)
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDS, str(lock)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process
    process.communicate()


def test_the_next_writer_waits_for_a_share_that_is_still_made(
    settings: Settings, held_share: subprocess.Popen[str]
) -> None:
    """The process that divided the project was killed; the one at a share goes on."""
    waiting = Components(replace(settings, lock_timeout_seconds=0.3))
    with (
        pytest.raises(StoreBusy, match="processes of an ingest that has ended"),
        waiting.project_lock(PROJECT),
    ):
        pass
    held_share.communicate()
    with waiting.project_lock(PROJECT):
        assert held_share.returncode == 0


def test_shares_are_even_and_always_the_same() -> None:
    """The heaviest session first, each to the lightest share."""
    weights = {"a": 5.0, "b": 4.0, "c": 3.0, "d": 3.0, "e": 3.0}
    first, second = divided(PROJECT, weights, 2)
    assert sorted(first.sessions) == ["a", "d"] and sorted(second.sessions) == ["b", "c", "e"]
    assert divided(PROJECT, dict(reversed(weights.items())), 2) == [first, second]


def test_nothing_is_shared_in_the_round_of_what_it_needs() -> None:
    """A check of what it needs may stop it, which is known when that round is closed."""
    for part in PASSES:
        for assets in shares._rounds(part.assets):
            for at, asset in enumerate(assets):
                step = STEPS[asset]
                assert not step.shared or set(step.blocked_by).isdisjoint(assets[:at])
    assert len(shares._rounds(WORDS.assets)) == 4
    assert len(shares._rounds(VECTORS.assets)) == 1


def test_when_a_project_cannot_be_shared_nothing_is_made_of_it(settings: Settings) -> None:
    """Each of its assets counts as failed, so that no later one is made of a part of another."""
    lock = Components(settings).lake.lock_path(PROJECT)
    lock.parent.mkdir(parents=True)
    lock.with_suffix(".shares").write_text("in the way of the directory")
    seen: list[Outcome | Pass] = []
    assert list(_ingest(settings, seen).failed) == [PROJECT]
    assert {each.asset for each in seen if isinstance(each, Failed)} == set(WORDS.assets)
    assert not [each for each in seen if isinstance(each, Made)]
