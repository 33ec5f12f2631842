"""`memory ingest` in several processes, and without an embedder."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path
from threading import Event, Thread

import pytest

from memory_assets.cli.exit_codes import FINE
from memory_assets.cli.ingesting.ingest import run_plans
from memory_assets.cli.ingesting.ingest_command import ingest_once
from memory_assets.cli.ingesting.ingest_progress import IngestProgress
from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.ingest.passes import Outcome, Pass
from memory_assets.pipeline.ingest.steps import Made
from memory_assets.pipeline.plan.plan import ProjectPlan, plan
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pool import interrupt_waits, worker_count
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.chroma.files import has_database
from memory_assets.stores.lake.schemas import TURN_CHUNKS, TURN_EMBEDDINGS
from memory_assets.stores.runs.ledger import ledger_of
from memory_assets.stores.under_way.ingest import under_way
from memory_assets_tests.transcript_files import claude_line, write_lines

PROJECTS = ("-home-mara-code-mill", "-home-mara-code-oven", "-home-mara-code-yard")


def _say(root: Path, project: str, *texts: str) -> None:
    """A session of one project; the smallest, for what counts here is the processes."""
    path = root / project / f"dddddddd-0000-4000-8000-{PROJECTS.index(project):012d}.jsonl"
    said = enumerate(texts)
    write_lines(path, [claude_line(path.stem, at, text, "/home/mara/code") for at, text in said])


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Three projects, two processes, no vectors; the environment is put back."""
    for name in ("DAGSTER_HOME", "DAGSTER_DISABLE_TELEMETRY", "MEMORY_DATA_DIR"):
        monkeypatch.setenv(name, "to be put back")
    monkeypatch.delenv("MEMORY_DATA_DIR")
    for project in PROJECTS:
        _say(tmp_path / "projects", project, f"what turns in {project}?", "The stone does.")
    return load_settings(
        data_dir=tmp_path / "memory",
        projects_dir=tmp_path / "projects",
        embedder="none",
        ingest_workers=2,
    )


def _plans(settings: Settings) -> list[ProjectPlan]:
    components = Components(settings)
    return plan(components, find_sources(components))


def _runs(settings: Settings) -> list[str]:
    with closing(ledger_of(settings.data_dir)) as ledger:
        return sorted(run["status"] for run in ledger.last_runs()["ended"])


def test_an_interrupt_ends_the_processes_and_their_run(settings: Settings) -> None:
    """Ctrl-C: no process is left, and the run is cancelled, not failed; the next ingest does what
    is left."""
    seen: list[int] = []

    def interrupt(event: Outcome | Pass) -> None:
        seen.append(len(active_children()))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plans(settings, _plans(settings), progress=interrupt)
    assert seen == [2] and active_children() == []
    assert _runs(settings) == ["CANCELED"]
    alone = replace(settings, ingest_workers=1)
    assert run_plans(alone, _plans(alone)).failed == {} and _plans(alone) == []
    components = Components(settings)
    for project in PROJECTS:
        assert components.lake.sessions(TURN_CHUNKS, project)
        assert not [each for each in verify_project(components, project) if each.failed]


def test_an_interrupt_leaves_no_process_half_started() -> None:
    """It waits until the process is there, though another thread receives it."""
    ended = Event()
    other = Thread(target=ended.wait)
    other.start()
    is_started = False
    with pytest.raises(KeyboardInterrupt), interrupt_waits():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        is_started = True
    ended.set()
    other.join()
    assert is_started


def test_words_come_first_and_the_newest_transcripts_before_all(settings: Settings) -> None:
    """Every project is searchable by words before anything is summarized; with a limit, only so
    many of the newest files are read. Meanwhile it is said how far that is, to searches and in
    the last line of a terminal."""
    seen: list[str] = []
    told: list[str] = []

    def note(event: Outcome | Pass) -> None:
        if isinstance(event, Pass):
            seen.append(f"{event.name} done")
            told.append(str(under_way(settings.data_dir)))
        elif isinstance(event, Made) and event.report.rows_written:
            seen.append(event.asset)

    one = replace(settings, ingest_workers=1)
    limited = run_plans(one, _plans(one), limit=1, progress=note)
    components = Components(one)
    assert limited.projects == 1 and len(_plans(one)) == 2
    progress, lines = IngestProgress(components, find_sources(components), PROJECTS), list[str]()

    def listen(event: Outcome | Pass) -> None:
        note(event)
        progress.note(event)
        lines.append(str(progress))

    assert run_plans(one, _plans(one), progress=listen, advance=progress.advance).failed == {}
    first = seen.index("words done")
    assert "keyword_index" in seen[:first] and "session_summaries" not in seen[:first]
    assert seen.count("words done") == seen.count("vectors done") == 2
    assert _plans(one) == [] and under_way(settings.data_dir) is None
    assert told[-3].endswith("all 2 projects can be found by its words, in 0 by meaning")
    assert told[-1].endswith("in 2 by meaning")
    assert list(dict.fromkeys(line[:7] for line in lines)) == ["Reading", "Summari", "Finishi"]
    shares = [int(line.rstrip("%").split()[-1]) for line in lines if line.startswith("Reading")]
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] == 100
    assert "Summaries: 2 of 3 sessions; searches work" in lines


def test_processes_are_used_where_they_pay(settings: Settings) -> None:
    """As many as the setting says; by itself none for little, which this process does."""
    assert worker_count(settings) == 2
    unset = replace(settings, ingest_workers=None)
    assert 1 <= worker_count(unset) <= 4
    assert run_plans(unset, _plans(unset), progress=_no_process).failed == {}


def _no_process(event: Outcome | Pass) -> None:
    assert active_children() == []


def test_without_an_embedder_nothing_is_embedded_and_nothing_is_behind(settings: Settings) -> None:
    """The tables are made, no vectors are, no Chroma is started, and the plan names the
    project no more."""
    mill, *others = PROJECTS
    one = replace(settings, ingest_workers=1)
    assert ingest_once(one, limit=None, projects=[mill], full=False, as_json=True) == FINE
    components = Components(one)
    assert components.lake.projects(TURN_CHUNKS) == [mill]
    assert components.lake.projects(TURN_EMBEDDINGS) == []
    assert not has_database(one.data_dir / "chroma")
    assert [work.project for work in _plans(one)] == others
