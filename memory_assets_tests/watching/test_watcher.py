"""The watcher's loop over real directories and a real ledger; a run here is its first stage."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from memory_assets.cli import exit_codes
from memory_assets.cli.ingesting.watch_command import _until_stopped, load_engines
from memory_assets.cli.printing import rendering
from memory_assets.errors import RedactionUnavailable
from memory_assets.paths import project_slug
from memory_assets.pipeline.checks import kingfisher
from memory_assets.pipeline.plan import plan
from memory_assets.pipeline.scan.raw_sessions import scan_project
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.under_way import WatcherState
from memory_assets.transcripts import readers_by_agent
from memory_assets.watching.directories import Directories
from memory_assets.watching.followed import Transcripts
from memory_assets.watching.pending import Changes, Pace
from memory_assets.watching.watcher import Outcome, Watcher
from memory_assets_tests.transcripts.agent_databases import CWD, Crush, OpenCode, Store
from memory_assets_tests.transcripts.agent_files import Aider, VsCodeLog

TIDEPOOL = "-Users-jonas-work-tidepool-web"
FIRST_RETRY = 0.5
LINE = b'{"type":"mode","mode":"plan"}\n'


class Bench:
    """A watcher in a thread, and what it ran."""

    def __init__(self, settings: Settings) -> None:
        self.components = Components(settings)
        self.ran: list[str] = []
        self.pushed: list[int] = []
        self.before_run: Callable[[str], None] = lambda project: None
        changes = Changes()
        self.directories = Directories(chain(*settings.transcript_roots().values()), changes)
        self.watcher = Watcher(
            self.components,
            [
                Transcripts(
                    self.components, self.directories, lambda line: self.watcher.report(line)
                )
            ],
            changes,
            run=self._run,
            search=lambda: None,
            push=lambda: self.pushed.append(self.watcher.state.runs),
            state=WatcherState(),
            pace=Pace(quiet=0.05, at_most=0.3, first_retry=FIRST_RETRY),
        )
        self.thread = threading.Thread(target=self.watcher.watch)

    def _run(self, project: str, reason: str) -> Outcome:
        try:
            self.before_run(project)
            scan_project(self.components, project)
        except ValueError as error:
            return Outcome(failed=str(error))
        finally:
            self.ran.append(project)
        return Outcome(seconds=0.01)

    def wait_for(self, condition: Callable[[], bool], seconds: float = 90.0) -> None:
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until and self.thread.is_alive()
            time.sleep(0.02)


@pytest.fixture
def bench(sample_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A watcher that knows every project's files: only scanning counts as work."""
    monkeypatch.setattr(plan, "_redaction_reason", lambda *_: "")
    monkeypatch.setattr(plan, "derived_reason", lambda *_: "")
    made = Bench(sample_settings)
    made.thread.start()
    yield made
    made.watcher.stop()
    made.thread.join()
    made.directories.stop()


def _most_tries(began: float) -> int:
    """How many runs a back-off that doubles each time has let begin by now."""
    return 1 + int(math.log2((time.monotonic() - began) / FIRST_RETRY + 1))


def _session(roots: dict[str, Path], project: str) -> Path:
    return sorted((roots["claude"] / project).glob("*.jsonl"))[0]


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(LINE)


def test_all_is_taken_in_at_first_and_then_what_changes(
    bench: Bench, sample_roots: dict[str, Path]
) -> None:
    """Each project once; then it is pushed; then an append, a new project and a vanished file, one
    run each."""
    bench.wait_for(lambda: len(set(bench.ran)) == 3)
    time.sleep(0.5)
    assert sorted(bench.ran) == sorted(set(bench.ran))
    bench.wait_for(lambda: bench.pushed == [3])  # all at once, when it is quiet
    bench.ran.clear()
    session = _session(sample_roots, TIDEPOOL)
    _append(session)
    bench.wait_for(lambda: bench.ran == [TIDEPOOL])
    fresh = sample_roots["claude"] / "-srv-new"
    fresh.mkdir()
    (fresh / "22222222-2222-4222-8222-222222222222.jsonl").write_bytes(LINE)
    bench.wait_for(lambda: bench.ran == [TIDEPOOL, "-srv-new"])
    session.unlink()
    bench.wait_for(lambda: bench.ran == [TIDEPOOL, "-srv-new", TIDEPOOL])
    gone = [row for row in bench.components.catalog.sources.rows(TIDEPOOL) if row.gone_at]
    assert [row.path for row in gone] == [str(session)]


def test_a_long_run_makes_way_when_the_watcher_is_stopped(sample_settings: Settings) -> None:
    """As for a change that waits."""
    watcher = Bench(sample_settings).watcher
    assert watcher.seconds_of_calm() > 0
    watcher.stop()
    assert watcher.seconds_of_calm() == 0


def test_what_another_process_took_in_is_not_run_again(
    bench: Bench, sample_settings: Settings, sample_roots: dict[str, Path]
) -> None:
    """The sensor's run was first: the ledger knows the file as it is."""
    bench.wait_for(lambda: len(set(bench.ran)) == 3)
    time.sleep(0.3)
    bench.ran.clear()
    pending = bench.watcher._pending
    pending._pace = Pace(quiet=3_600.0, at_most=3_600.0)
    _append(_session(sample_roots, TIDEPOOL))
    bench.wait_for(lambda: TIDEPOOL in pending)
    scan_project(Components(sample_settings), TIDEPOOL)
    pending._pace = Pace(quiet=0.0, at_most=0.0)
    bench.watcher.changes.wake()
    bench.wait_for(lambda: TIDEPOOL not in pending)
    bench.watcher.stop()
    bench.thread.join()
    assert bench.ran == []


def test_a_failing_project_is_backed_off_and_others_go_on(
    bench: Bench, sample_roots: dict[str, Path]
) -> None:
    """It says why, is not retried hot, and is done when the cause is gone."""
    bench.wait_for(lambda: len(set(bench.ran)) == 3)
    time.sleep(0.3)
    bench.ran.clear()

    def fail(project: str) -> None:
        if project == TIDEPOOL:
            raise ValueError("no room")

    bench.before_run = fail
    began = time.monotonic()
    other = "-home-mara-code-harbor-api"
    _append(_session(sample_roots, TIDEPOOL))
    bench.wait_for(lambda: TIDEPOOL in bench.watcher.state.failing)
    _append(_session(sample_roots, other))
    bench.wait_for(lambda: other in bench.ran)
    time.sleep(1.0)
    assert 1 <= bench.ran.count(TIDEPOOL) <= _most_tries(began)
    bench.before_run = lambda project: None
    bench.wait_for(lambda: not bench.watcher.state.failing)


def test_a_file_that_cannot_be_read_is_tried_again_at_sweeps_until_it_can(
    bench: Bench, sample_roots: dict[str, Path]
) -> None:
    """The runs go well and hold its session back: they are repeated ever more slowly, changes of
    other files of the project do not wait, and a file that can be read is taken in."""
    bench.wait_for(lambda: len(set(bench.ran)) == 3)
    bench.watcher.look_everywhere_seconds = 0.2
    bench.watcher._next_full_look = 0.0
    time.sleep(0.3)
    bench.ran.clear()
    name = "ffffffff-0000-4000-8000-000000000001.jsonl"
    unreadable = sample_roots["claude"] / TIDEPOOL / name
    began = time.monotonic()
    unreadable.symlink_to("/proc/self/mem")  # reading it from its start is an I/O error
    bench.wait_for(lambda: bench.ran.count(TIDEPOOL) >= 3)
    (held,) = bench.components.catalog.quarantine.entries(TIDEPOOL)
    assert held.passing and held.reason.endswith("input/output error")
    time.sleep(2.5)
    assert bench.ran.count(TIDEPOOL) <= _most_tries(began) + 1  # not at every sweep
    before = bench.ran.count(TIDEPOOL)
    next_try = bench.watcher._pending._past[TIDEPOOL].again_at
    _append(_session(sample_roots, TIDEPOOL))
    bench.wait_for(lambda: bench.ran.count(TIDEPOOL) > before)
    assert time.monotonic() < next_try
    unreadable.unlink()
    unreadable.write_bytes(LINE)
    bench.wait_for(lambda: not bench.components.catalog.quarantine.entries(TIDEPOOL))


def test_a_name_that_is_not_utf8_is_told_once_and_stops_nothing(
    bench: Bench, sample_roots: dict[str, Path]
) -> None:
    """A file and a directory that cannot be named appear while it watches: it says so, once for
    each, and goes on taking in what changes."""
    bench.wait_for(lambda: len(set(bench.ran)) == 3)
    told: list[str] = []
    bench.watcher.report = told.append
    bench.watcher.look_everywhere_seconds = 0.2
    bench.watcher._next_full_look = 0.0
    root = os.fsencode(sample_roots["claude"])
    for place in (b"/-bad\xff/one.jsonl", b"/" + TIDEPOOL.encode() + b"/\xfe.jsonl"):
        path = Path(os.fsdecode(root + place))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(LINE)
    bench.wait_for(lambda: len([line for line in told if "rename it" in line]) >= 2)
    bench.ran.clear()
    _append(_session(sample_roots, TIDEPOOL))
    bench.wait_for(lambda: TIDEPOOL in bench.ran)
    time.sleep(0.6)
    listed = sorted(line for line in told if "rename it" in line)
    assert len(listed) == 2 and "\\xfe.jsonl" in listed[0] and "-bad\\xff" in listed[1]


def test_a_signal_ends_it_once_the_run_in_hand_has_ended(bench: Bench) -> None:
    """Exit code 0, and the run was not cut off."""
    bench.watcher.stop()
    bench.thread.join()
    ended: list[str] = []

    class Slow:
        """A watcher whose run takes a while."""

        def __init__(self) -> None:
            self.stopped = threading.Event()

        def stop(self) -> None:
            self.stopped.set()

        def watch(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            self.stopped.wait(5.0)
            time.sleep(0.3)
            ended.append("run")

    assert _until_stopped(Slow(), rendering.open_console()) == exit_codes.FINE  # type: ignore[arg-type]
    assert ended == ["run"]


def test_what_a_first_change_needs_is_loaded_before_it(
    sample_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redactor, independent scanner and model; where redaction fails to load, the run says so."""
    components = Components(sample_settings)
    load_engines(components)
    assert {"redactor", "embedder"} <= components.opened.keys() | vars(components).keys()
    assert kingfisher._load.cache_info().currsize == 1

    def fail(*_: object) -> None:
        raise RedactionUnavailable("a rule misses its sample")

    monkeypatch.setattr("memory_assets.redaction.load_redactor", fail)
    broken = Components(sample_settings)
    load_engines(broken)
    assert not {"redactor", "embedder"} & (broken.opened.keys() | vars(broken).keys())


@pytest.mark.parametrize("agent", ["opencode", "crush"])
def test_a_turn_in_a_database_is_one_run(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its agent writes for it: what is in its log alone counts, and reading it does not
    count as a change. Crush's database lies in the project, outside of Crush's own directory."""
    store: Store = (OpenCode if agent == "opencode" else Crush)(tmp_path / "shop")
    root, cwd = store.root, CWD
    if agent == "crush":
        root, cwd = tmp_path / "share", str(store.root)
        root.mkdir()
        listed = [{"path": cwd, "data_dir": str(store.path.parent)}]
        (root / "projects.json").write_text(json.dumps({"projects": listed}))
    monkeypatch.setattr(Settings, "transcript_roots", lambda self: {agent: (root,)})
    monkeypatch.setattr(plan, "_redaction_reason", lambda *_: "")
    monkeypatch.setattr(plan, "derived_reason", lambda *_: "")
    store.say("Why?", "Because.")
    bench = Bench(load_settings(data_dir=tmp_path / "data", embedder="none"))
    bench.thread.start()
    try:
        bench.wait_for(lambda: bench.ran == [project_slug(cwd)])
        writer = store.open()
        bench.wait_for(lambda: bench.directories.mode == "events")
        for turn in (2, 3):
            store.say(f"And {turn}?", "Yes.", writer)
            bench.wait_for(lambda turn=turn: len(bench.ran) == turn, 20.0)  # type: ignore[misc]
            time.sleep(1)
            assert len(bench.ran) == turn
        writer.close()
    finally:
        bench.watcher.stop()
        bench.thread.join(timeout=60)
        bench.directories.stop()


def test_what_an_editor_writes_beside_its_chats_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """VS Code keeps its history of files and its state below the same directory."""
    store = VsCodeLog(tmp_path / "User")
    monkeypatch.setattr(
        Settings, "transcript_roots", lambda self: {"vscode-copilot": (store.root,)}
    )
    components = Components(load_settings(data_dir=tmp_path / "data", embedder="none"))
    followed = Transcripts(components, Directories((store.root,), Changes()))
    store.say("Why?", "Because.")
    followed.refresh()
    followed.directories.stop()
    asked: list[str] = []
    discover = readers_by_agent("vscode-copilot")[0].discover

    def noted(*given: Any) -> Any:
        asked.append("vscode-copilot")
        return discover(*given)

    monkeypatch.setattr(readers_by_agent("vscode-copilot")[0], "discover", noted)
    beside = ("History/1a2b/entries.json", "workspaceStorage/w1/state.vscdb", "settings.json")
    assert followed.projects_of(str(store.root / name) for name in beside) == []
    assert asked == []
    assert followed.projects_of([str(store.path)]) == [project_slug(CWD)]
    assert asked == ["vscode-copilot"]


def test_projects_that_a_user_names_are_not_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that is installed in them: a full look finds what an agent wrote there."""
    store = Aider(tmp_path / "code" / "shop")
    store.say("Why?", "Because.")
    (tmp_path / "code" / "shop" / "node_modules" / "left-pad").mkdir(parents=True)
    roots = {"aider": (tmp_path / "code",)}
    monkeypatch.setattr(Settings, "transcript_roots", lambda self: roots)
    components = Components(load_settings(data_dir=tmp_path / "data", embedder="none"))
    followed = Transcripts(components, Directories(roots["aider"], Changes()))
    assert not followed.refresh()
    assert followed.directories.roots == ()
    assert [project for project, work in followed.plans() if work] == [
        project_slug(str(store.root))
    ]
