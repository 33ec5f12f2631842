"""`memory ingest` in several processes, without an embedder, of real sessions, and when Ctrl-C ends
it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path
from threading import Event, Thread
from typing import NoReturn

import pytest

from memory_assets.cli import exit_codes
from memory_assets.cli.exit_codes import FINE
from memory_assets.cli.ingesting.ingest import run_plans
from memory_assets.cli.ingesting.ingest_command import ingest_once
from memory_assets.cli.ingesting.ingest_progress import IngestProgress
from memory_assets.cli.run_traces import require_idle
from memory_assets.errors import StoreBusy
from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.ingest.noted_run import noted_run
from memory_assets.pipeline.ingest.passes import Outcome, Pass
from memory_assets.pipeline.ingest.steps import Materialized
from memory_assets.pipeline.plan.plan import ProjectPlan, plan
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pool import interrupt_waits, worker_count
from memory_assets.settings import Settings, load_settings
from memory_assets.status.status import status
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma.files import has_database
from memory_assets.stores.lake.schemas import TURN_CHUNKS, TURN_EMBEDDINGS
from memory_assets.stores.runs.ledger import FAILURE, KEPT, SUCCESS, ledger_of
from memory_assets.stores.under_way import ingest_under_way
from memory_assets_tests.command_line import run_here
from memory_assets_tests.conftest import copy_sample
from memory_assets_tests.dagster.live_dagster import BIN
from memory_assets_tests.transcript_files import claude_line, write_lines

PROJECTS = ("-home-mara-code-mill", "-home-mara-code-oven", "-home-mara-code-yard")


def _say(root: Path, project: str, *texts: str) -> None:
    """A session of one project; the smallest, for what counts here is the processes."""
    path = root / project / f"dddddddd-0000-4000-8000-{PROJECTS.index(project):012d}.jsonl"
    said = enumerate(texts)
    write_lines(path, [claude_line(path.stem, at, text, "/home/mara/code") for at, text in said])


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Three projects, two processes, no vectors."""
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
    other = Thread(target=ended.wait, daemon=True)
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
            told.append(str(ingest_under_way(settings.data_dir)))
        elif isinstance(event, Materialized) and event.report.rows_written:
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
    assert _plans(one) == [] and ingest_under_way(settings.data_dir) is None
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


def _ingest(environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start an ingest, with the processes that it starts, in a group of its own."""
    with log.open("wb") as output:
        return subprocess.Popen(
            [BIN / "memory", "ingest"],
            env={**os.environ, **environment},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _stop_all(process: subprocess.Popen[bytes]) -> int:
    """Interrupt the whole group, as a terminal does, and return the exit code."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    return process.wait(60)


def _assert_adds_up(environment: dict[str, str], data_dir: Path) -> None:
    said = run_here(environment, "status").stdout
    assert "None" not in said and "indexed never" not in said
    current = status(load_settings(data_dir=data_dir))
    agents = sum(counts["sessions"] for counts in current["agents"].values())
    assert f"\n{agents} session" in said
    for covered in current["coverage"].values():
        assert covered["keywords"] <= covered["rows"]
    sessions = current["coverage"]["sessions"]
    unmade = agents - current["stages"].get("turn_chunks", {}).get("sessions", 0)
    assert sessions["waiting"] == unmade
    assert current["runs"].get("under_way", 0) == 0
    if unmade or current["freshness"]["pending_files"]:
        assert "Everything on record can be found" not in said


@pytest.mark.parametrize(
    ("embedder", "moments", "lasts"),
    [("none", 2, 3.0), pytest.param("all-MiniLM-L6-v2", 10, None, marks=pytest.mark.long)],
)
def test_an_interrupt_at_any_moment_is_one_line(
    embedder: str, moments: int, lasts: float | None, tmp_path: Path, compiled_rules: Path
) -> None:
    """To the whole group of processes, as a terminal sends it, from the first tenth of a second to
    the end (or what it lasts about, where that is given). The next ingest completes what was
    begun."""
    roots = copy_sample(tmp_path / "transcripts")
    common = {
        "MEMORY_PROJECTS_DIR": str(roots["claude"]),
        "MEMORY_CODEX_DIR": str(roots["codex"]),
        "MEMORY_EMBEDDER": embedder,
        "MEMORY_INGEST_WORKERS": "2",
    }
    if lasts is None:
        started = time.monotonic()
        whole = {**common, "MEMORY_DATA_DIR": str(tmp_path / "whole")}
        assert _ingest(whole, tmp_path / "whole.log").wait(120) == 0
        lasts = time.monotonic() - started
    stopped = 0
    for number in range(moments):
        data_dir = tmp_path / f"memory{number}"
        environment = {**common, "MEMORY_DATA_DIR": str(data_dir)}
        log = tmp_path / f"{number}.log"
        process = _ingest(environment, log)
        time.sleep(0.1 + (lasts - 0.1) * number / moments)
        code = _stop_all(process)
        said = log.read_text()
        assert "Traceback" not in said and "Error" not in said, said
        assert code == (130 if "Stopped" in said else 0), said
        assert len(re.findall(r"^Stopped", said, re.MULTILINE)) <= 1
        stopped += code == 130
        if (data_dir / "catalog.db").exists():
            _assert_adds_up(environment, data_dir)
        chroma_server.stop(data_dir)
    chroma_server.stop(tmp_path / "whole")
    assert stopped, "each had ended before it was to be stopped"
    last = {**common, "MEMORY_DATA_DIR": str(data_dir), "MEMORY_INGEST_WORKERS": "1"}
    assert run_here(last, "ingest").returncode == 0
    assert "Everything on record can be found" in run_here(last, "status").stdout
    chroma_server.stop(data_dir)


@pytest.mark.parametrize(
    "place",
    [
        *("cli.create_private_files", "cli.load_settings", "cli.import_module", "cli.prepare"),
        *("ask_commands.search.parse_args", "exit_codes._fail"),
    ],
)
def test_an_interrupt_around_a_command_is_one_line(
    place: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Before one begins, and while an error of one is printed."""

    def interrupted(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"memory_assets.cli.{place}", interrupted)
    run = run_here({"MEMORY_DATA_DIR": str(tmp_path)}, "search", "-n", "none")
    said = run.stderr + capfd.readouterr().err
    assert (run.returncode, said.strip()) == (130, "Stopped.")


_AT_WORK = """
import sys, time
from pathlib import Path
from memory_assets.stores.runs.ledger import RunLedger
with RunLedger(Path(sys.argv[1])).under_way("killed", "ingest_batch", ["-home-ada"]):
    print("at work", flush=True)
    time.sleep(600)
"""


def test_a_run_is_under_way_while_its_process_lives(sample_settings: Settings) -> None:
    """Wherever that is or was: a killed run has failed, and nothing waits for it."""
    ledger = Components(sample_settings).runs
    command = [sys.executable, "-c", _AT_WORK, str(ledger.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"at work\n"
        ledger.fail_dead_runs()
        assert ledger.busy_partitions() == {"-home-ada"}
        with pytest.raises(StoreBusy, match="under way"):
            require_idle(sample_settings, {"-home-ada"})
        process.kill()
    require_idle(sample_settings, {"-home-ada"})
    ledger.fail_dead_runs()
    ended = ledger.ended("killed")
    assert ended is not None and ended.status == FAILURE
    assert list(ledger.path.parent.glob("*.lock")) == []


def test_how_a_run_of_dagster_ended_is_for_dagster_to_say(sample_settings: Settings) -> None:
    """It has left its process, but is not noted as failed."""
    ledger = Components(sample_settings).runs
    with ledger.under_way("dagster's", "ingest_batch", ["-home-ada"], history=KEPT):
        assert ledger.busy_partitions() == {"-home-ada"}
    ledger.fail_dead_runs()
    assert ledger.busy_partitions() == set()
    assert ledger.not_ended([]) == {"dagster's"}


def test_a_run_is_noted_while_it_works_and_after_it_ended(sample_settings: Settings) -> None:
    """Its partitions are busy meanwhile."""
    components = Components(sample_settings)
    with noted_run(components, "ingest_batch", ["-home-ada"]) as run:
        assert components.runs.busy_partitions() == {"-home-ada"}
    assert components.runs.busy_partitions() == set()
    end = components.runs.ended(run.run_id)
    assert end is not None and (end.status, end.partition) == (SUCCESS, "-home-ada")


_CLAUDE, _CODEX, _PI = "claude/projects", "codex/sessions", "pi/agent/sessions"
_MANY, _ALL = 30_000, 200_000
CHOSEN = {
    f"M-Thisness+M-Claude/{_CLAUDE}/C--Users-Mischa": _MANY,
    f"entireio+git-sync/{_CLAUDE}/-Users-nodo-work-entire-git-sync": _ALL,
    f"entireio+git-sync/{_CLAUDE}/-home-coder-git-entireio-git-sync": _ALL,
    f"chikachow+cyspbot/{_CODEX}/2026/07/06": _ALL,
    f"EntityProcess+agentv/{_CODEX}/2026/06/18": _ALL,
    f"raquezha+pi.dev/{_PI}": _ALL,
}
"""Directories of the evaluation data, and the largest file that is taken of each: six projects
of Windows, macOS and Linux, so that it takes seconds."""
PLATFORMS = {"Windows": r'"cwd":"C:\\', "macOS": '"cwd":"/Users/', "Linux": '"cwd":"/home/'}


@pytest.fixture
def chosen(dev_transcripts: Path, tmp_path: Path) -> dict[str, Path]:
    """Copies of the chosen sessions, a directory an agent."""
    roots = {"PROJECTS": tmp_path / _CLAUDE, "CODEX": tmp_path / "codex", "PI": tmp_path / "pi"}
    for place, largest in CHOSEN.items():
        for path in sorted((dev_transcripts / place).rglob("*.jsonl")):
            if path.stat().st_size <= largest:
                copied = tmp_path / path.relative_to(dev_transcripts / Path(place).parts[0])
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copied)
    return roots


@pytest.fixture
def environment(chosen: dict[str, Path], tmp_path: Path) -> Iterator[dict[str, str]]:
    """Settings of an empty memory over them."""
    data_dir = tmp_path / "memory"
    yield {
        "MEMORY_DATA_DIR": str(data_dir),
        **{f"MEMORY_{name}_DIR": str(root) for name, root in chosen.items()},
    }
    chroma_server.stop(data_dir)


def test_nothing_of_real_sessions_is_held_back(
    chosen: dict[str, Path], environment: dict[str, str]
) -> None:
    """Twenty sessions and more: every project is done, every check passes, all is found, and a
    second ingest has nothing to do."""
    said = [path.read_text() for root in chosen.values() for path in root.rglob("*.jsonl")]
    assert {name for name, cwd in PLATFORMS.items() if any(cwd in text for text in said)} == {
        *PLATFORMS
    }
    done = run_here(environment, "ingest", "--json")
    report = json.loads(done.stdout)
    assert (report["failed"], report["checks_failed"], report["warnings"]) == ({}, [], [])
    assert done.returncode == exit_codes.FINE
    current = report["status"]
    assert current["quarantined"] == [] and current["unlisted"] == []
    sessions = {agent: counts["sessions"] for agent, counts in current["agents"].items()}
    assert sum(sessions.values()) >= 20 and sessions.keys() == {"claude-code", "codex", "pi"}
    for kind in ("workspace", "memory", "history", "history_summaries"):
        assert current["coverage"].pop(kind)["rows"] == 0
    for kind, covered in current["coverage"].items():
        assert covered["complete"] and covered["indexed"] == covered["rows"] > 0, kind
    again = json.loads(run_here(environment, "ingest", "--json").stdout)
    assert (again["work"], again["failed"]) == ([], {})
