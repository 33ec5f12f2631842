"""Every byte of every file, before and after: a real Chroma, a real Dagster instance.

Looked for are the lines that only one session holds, its names and ids as they stand in
files and in decoded Parquet columns, and its vectors as float32 at any alignment, which
Chroma normalises again, so that they are compared to four digits.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from memory_assets.cli.dagster.home import open_instance
from memory_assets.cli.dagster.traces import require_idle
from memory_assets.cli.ingesting.ingest import run_plans
from memory_assets.dagster.definitions import ASSETS
from memory_assets.dagster.resources import MemoryResource
from memory_assets.dagster.sensors import projects_directory_sensor
from memory_assets.errors import StoreBusy
from memory_assets.pipeline.plan import plan
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.scan.raw_sessions import read_file
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall import open_memory
from memory_assets.settings import Settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.transcripts import Source
from memory_assets_tests.command_line import environment_of, run_here
from memory_assets_tests.conftest import copy_sample, forget_own_settings, settings_of_copy
from memory_assets_tests.dagster.recorded import record_ingests
from memory_assets_tests.pipeline.bytes_at_rest import (
    found_words,
    let_chroma_save_its_vectors,
    rows_at_rest,
    vectors_found,
    vectors_only_of,
    words_only_of,
)

SESSION = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"
"""Has a subagent and a fork, in a project of four sessions."""
HARBOR = "-home-mara-code-harbor-api"
LONER = "-home-mara-code-lantern"
QUERIES = ("oauth redirect loop safari", "clock change breaks a test", "slow queries", "deploy")


def _ingest(settings: Settings, *projects: str) -> None:
    components = Components(settings)
    works = [
        work
        for work in plan.plan(components, on_disk.find_sources(components))
        if not projects or work.project in projects
    ]
    result = run_plans(settings, works)
    assert result.failed == {}
    components.catalog.close()


def _answers(settings: Settings, without: set[str]) -> list[tuple[str, str, float]]:
    memory = open_memory(settings)
    return [
        (query, hit.id, round(hit.score, 4))
        for query in QUERIES
        for hit in memory.search(
            query, kinds=("sessions", "prompts", "summaries"), mode="semantic", n=200
        ).hits  # by meaning: how rare a word is changes with what is forgotten
        if not any(session_id in hit.id for session_id in without)
    ]


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The settings of a memory of two projects, made by real runs. Not to be changed."""
    root = tmp_path_factory.mktemp("ingested")
    copy_sample(root / "transcripts")
    with pytest.MonkeyPatch.context() as patch:
        forget_own_settings(patch, root / "home")
        settings = settings_of_copy(root)
        _ingest_at_the_second_attempt(settings, SESSION, patch)
        let_chroma_save_its_vectors(Components(settings))
        chroma_server.stop(settings.data_dir)
    return settings


@pytest.fixture
def settings(ingested: Settings, tmp_path: Path) -> Iterator[Settings]:
    """A copy of that memory, to be changed at will, over the same transcripts."""
    copied = replace(ingested, data_dir=tmp_path / "memory")
    shutil.copytree(ingested.data_dir, copied.data_dir)
    shutil.copytree(ingested.data_dir.parent / "home", Path.home(), dirs_exist_ok=True)
    yield copied
    chroma_server.stop(copied.data_dir)


Command = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def command(settings: Settings) -> Command:
    """Runs the command line on that memory; returns exit code and JSON."""

    def run(*arguments: str) -> tuple[int, dict[str, Any]]:
        done = run_here(environment_of(settings), *arguments, "--json")
        return done.returncode, json.loads(done.stdout) if done.stdout else {}

    return run


def _ingest_at_the_second_attempt(
    settings: Settings, session_id: str, patch: pytest.MonkeyPatch
) -> None:
    """A first run holds the session back, which its events name; the next takes it in."""

    def fail(source: Source, *given: Any) -> Any:
        if source.session_id == session_id:
            raise ValueError
        return read_file(source, *given)

    with patch.context() as failing:
        failing.setattr("memory_assets.pipeline.scan.raw_sessions.read_file", fail)
        _ingest(settings, HARBOR)
    for path in settings.transcript_roots()["claude-code"][0].rglob("*.jsonl"):
        path.touch()
    _ingest(settings, HARBOR, LONER)


@pytest.mark.timeout(300)
def test_no_byte_of_a_forgotten_session_is_left_anywhere(
    settings: Settings, command: Command
) -> None:
    """Lines, ids, titles and vectors are all there before, in every kind of store, and
    nowhere afterwards: not in the data directory, or the home directory. The rest is found with
    the same answers, and ingesting changes nothing."""
    words = {SESSION, *words_only_of(settings, {SESSION})}
    vectors = vectors_only_of(settings, {SESSION})
    answers = _answers(settings, {SESSION})
    roots = (settings.data_dir, Path.home())
    assert len(words) > 60
    assert len(vectors) > 8

    before = found_words(settings.data_dir, words)
    assert set().union(*before.values()) == words
    for place in ("lake/", "chroma/chroma.sqlite3", "catalog.db", "lineage.db"):
        assert any(name.startswith(place) for name in before), place
    places = vectors_found(settings.data_dir, vectors)
    assert any(name.endswith("data_level0.bin") for name in places)
    assert any(name.endswith("chroma.sqlite3") for name in places)

    code, said = command("forget", SESSION, "--yes")

    assert code == 0
    assert said["forgotten"]
    assert len(said["stays"]["agents_files"]) == 2
    for root in roots:
        assert found_words(root, words) == {}
        assert vectors_found(root, vectors) == set()
    assert _answers(settings, set()) == answers
    _ingest(settings, HARBOR, LONER)
    assert found_words(settings.data_dir, words) == {}
    assert _answers(settings, set()) == answers
    assert command("forget", SESSION, "--yes")[0] == 3


@pytest.mark.timeout(300)
def test_nothing_names_a_forgotten_project(settings: Settings, command: Command) -> None:
    """Its name is a directory, a lock, a partition of what Dagster is told: no byte beside
    Dagster's own files has it, and nothing that Dagster's API has: no partition, run, event or
    cursor. What the deleted run said of other projects is recorded again, so that their state on
    the page is as it was."""
    words = {LONER, *_sessions(settings), *words_only_of(settings, _sessions(settings))}
    before = found_words(settings.data_dir, words)
    for place in ("lake/", "catalog.db", "lineage.db"):
        assert any(name.startswith(place) for name in before), place
    with open_instance(settings) as instance:
        (recorded,) = record_ingests(instance, settings)
        assert LONER in repr(instance.all_logs(recorded))

    code, said = command("forget", "--project", LONER, "--yes")

    assert code == 0
    assert said["removed"]["projects_gone"] == said["removed"]["runs"] == 1
    assert not _files_with(words, settings)
    with open_instance(settings) as instance:
        (again,) = record_ingests(instance, settings)
        assert again != recorded
        told = [instance.get_runs(), instance.all_logs(again)]
        assert LONER not in repr(told)
        for asset in ASSETS:
            for key in asset.keys:
                assert instance.get_materialized_partitions(key) == {HARBOR}, key
        assert instance.get_dynamic_partitions("projects") == [HARBOR]
        assert record_ingests(instance, settings) == []
        assert LONER not in _cursor_after(
            instance, settings, {"requested": {LONER: _LAST}, "after": LONER}
        )
    _ingest(settings, HARBOR, LONER)
    assert not _files_with(words, settings)
    assert command("forget", "--project", LONER, "--yes")[0] == 3


def _files_with(words: set[str], settings: Settings) -> list[str]:
    """Those of Dagster aside, whose databases overwrite what was deleted in time only."""
    found = found_words(settings.data_dir, words)
    return [name for name in found if not name.startswith("dagster/")]


_LAST = {"fingerprint": "f", "attempt": 1, "at": 1.0}


def _sessions(settings: Settings) -> set[str]:
    return {row["session_id"] for _, row in rows_at_rest(settings) if row.get("project") == LONER}


def _cursor_after(
    instance: dg.DagsterInstance, settings: Settings, cursor: dict[str, object]
) -> str:
    """The sensor's cursor after a tick that began with this one."""
    context = dg.build_sensor_context(instance=instance, cursor=json.dumps(cursor))
    answer = projects_directory_sensor(context, memory=MemoryResource(settings))
    assert isinstance(answer, dg.SensorResult)
    return str(answer.cursor)


def test_a_run_under_way_is_not_pulled_from_under_itself(
    settings: Settings, command: Command
) -> None:
    """While a run of the project waits or works, nothing is removed, and the error says
    which run; other projects' runs do not matter."""
    with open_instance(settings) as instance:
        waiting = dg.DagsterRun(
            job_name="ingest_project",
            status=dg.DagsterRunStatus.NOT_STARTED,
            tags={"dagster/partition": LONER},
        )
        instance.add_run(waiting)
    with pytest.raises(StoreBusy, match=f"run {waiting.run_id[:8]} of {LONER} is not_started"):
        require_idle(settings, [LONER])
    assert command("forget", "--project", LONER, "--yes")[0] == 1
    assert LONER in Components(settings).catalog.projects()
    require_idle(settings, [HARBOR])


def test_nothing_is_removed_unless_it_is_confirmed(settings: Settings, command: Command) -> None:
    """Piped and without --yes, it lists what it would remove and exits as a usage error;
    with --dry-run it does so on purpose."""
    components = Components(settings)
    for arguments, code in ((("--project", LONER), 2), (("--project", LONER, "--dry-run"), 0)):
        ended, said = command("forget", *arguments)
        assert (ended, said["forgotten"]) == (code, False)
        assert {each["project"] for each in said["sessions"]} == {LONER}
        assert LONER in components.catalog.projects()
    assert command("forget")[0] == 2
