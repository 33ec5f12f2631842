"""`memory status`: what it says of files, sessions, gone sources and runs, and that it is quick."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from memory_assets.cli.doctor_command import diagnose
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.pipeline.scan.raw_sessions import scan_project
from memory_assets.pipeline.stage.components import Components
from memory_assets.project_names import with_spoken_projects
from memory_assets.recall import Memory
from memory_assets.recall.sessions.listing import list_sessions
from memory_assets.recall.sessions.usage import usage
from memory_assets.requests.questions import SessionsRequest, UsageRequest
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.serving.answer_lines import clock, sessions_notes, usage_notes
from memory_assets.settings import Settings, load_settings
from memory_assets.status.status import coverage, status
from memory_assets.status.words import chroma_notes, held_back, in_words, totals
from memory_assets.status.workspaces import workspace_lines
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.session_counts import SessionCounts, counted_sessions
from memory_assets.stores.chroma.files import OTHERS_FILE, set_aside
from memory_assets_tests.command_line import environment_of, run_code
from memory_assets_tests.recall.worked import Call, Worked

TIDEPOOL = "-Users-jonas-work-tidepool-web"
LINE = b'{"type":"mode","mode":"plan"}\n'


def _scan_all(settings: Settings) -> None:
    components = Components(settings)
    for project in find_sources(components):
        scan_project(components, project)


def test_files_that_changed_are_pending_until_they_are_taken_in(
    sample_settings: Settings, sample_roots: dict[str, Path]
) -> None:
    """All at first, none after; then the one that grew and the new one, and the lag is the
    age of the older change. What no reader takes is none of them."""
    where = sample_settings
    Components(sample_settings).catalog.close()
    files = status(where)["freshness"]
    assert files["pending_files"] == files["files"] == 10
    _scan_all(sample_settings)
    fresh = status(where)["freshness"]
    assert (fresh["pending_files"], fresh["lag_seconds"]) == (0, 0.0)
    session = sorted((sample_roots["claude"] / TIDEPOOL).glob("*.jsonl"))[0]
    with session.open("ab") as file:
        file.write(LINE)
    os.utime(session, (time.time() - 50, time.time() - 50))
    (session.parent / "33333333-2222-4222-8222-222222222222.jsonl").write_bytes(LINE)
    (session.parent / "agent-acompact-1.jsonl").write_bytes(LINE)
    behind = status(where)["freshness"]
    assert (behind["pending_files"], behind["files"]) == (2, 11)
    assert 49 < behind["lag_seconds"] < 250
    for path in session.parent.glob("*.jsonl"):
        os.utime(path, (time.time() + 90_000, time.time() + 90_000))
    assert status(where)["freshness"]["lag_seconds"] == 0.0  # the clock was ahead once


def test_a_session_whose_source_is_gone_is_counted_as_archived(
    sample_settings: Settings, sample_roots: dict[str, Path]
) -> None:
    """Vanished when nobody noted it yet; archived once a run has."""
    _scan_all(sample_settings)
    where = sample_settings
    shutil.rmtree(sample_roots["claude"] / TIDEPOOL)
    before = status(where)
    assert before["freshness"]["vanished_files"] > 0
    assert before["archive"]["sessions_source_gone"] == 0
    scan_project(Components(sample_settings), TIDEPOOL)
    after = status(where)
    assert after["freshness"]["vanished_files"] == 0
    assert after["archive"]["sessions_source_gone"] == before["freshness"]["vanished_files"]
    assert after["projects"][TIDEPOOL]["gone"] == before["freshness"]["vanished_files"]


def test_the_status_command_loads_nothing_heavy(sample_settings: Settings) -> None:
    """So that it starts in a tenth of a second: a contract of imports, not of clocks."""
    _scan_all(sample_settings)
    code = (
        "import sys; sys.argv[1:] = ['status', '--json'];"
        "from memory_assets.cli.start import main; main();"
        "heavy = {'pydantic', 'numpy', 'pyarrow', 'rich', 'dagster', 'chromadb'};"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = run_code(code, env={"HOME": str(Path.home()), **environment_of(sample_settings)})
    assert done.stderr.strip() == "[]"
    assert json.loads(done.stdout)["freshness"]["pending_files"] == 0


def test_a_memory_that_is_not_there_has_a_status_of_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file is made by asking, neither there nor where one is."""
    monkeypatch.chdir(tmp_path)
    current = status(load_settings(data_dir=tmp_path / "none"))
    assert current["agents"] == {} and current["runs"] == {}
    assert {path.name for path in tmp_path.iterdir()} <= {"home"}


@pytest.mark.parametrize(
    ("note", "says"),
    [
        (None, "other programs: keep them; the next ingest copies them"),
        ({"copied": ["a"], "only_here": []}, "can be deleted"),
        ({"only_here": ["corpus"]}, "hold the only copy of collections of other programs (corpus)"),
        ({"only_here": None}, "may hold the only copy of collections of other programs: keep"),
        ({"only_here": None}, "their names cannot be read"),
    ],
)
def test_a_directory_that_was_set_aside_is_deletable_only_if_nothing_is_only_there(
    sample_settings: Settings, note: dict[str, Any] | None, says: str
) -> None:
    """Else the collections of others that it holds are named, where they can be."""
    Components(sample_settings).catalog.close()
    (sample_settings.data_dir / "chroma").mkdir(parents=True)
    target = set_aside(sample_settings.data_dir / "chroma", "torn")
    if note is not None:
        (target / OTHERS_FILE).write_text(json.dumps(note))
    (line,) = chroma_notes(status(sample_settings))
    assert says in line and str(target) in line
    assert ("can be deleted" in line) == (says == "can be deleted")


FOUND = "Everything on record can be found"


@pytest.mark.parametrize(
    ("keywords", "indexed", "vectors", "said"),
    [
        (3, 3, True, f"{FOUND}."),
        (3, 0, False, f"{FOUND} by its words; no vectors are made"),
        (3, 0, True, "sessions: 3 of 3 rows can be found by their words, 0 by their meaning; run"),
        (2, 3, True, "sessions: 2 of 3 rows can be found by their words, 3 by their meaning; run"),
        (2, 3, False, "sessions: 2 of 3 rows can be found by their words; run `memory ingest`"),
    ],
)
def test_what_can_be_found_is_said_by_words_and_by_meaning(
    keywords: int, indexed: int, vectors: bool, said: str
) -> None:
    """Where no vectors are made, words are all that there is to do; what is in Chroma only is not
    found by its words."""
    kind = SEARCH_KINDS["sessions"]
    rows = {kind.table: 3, kind.asset: indexed, kind.keywords: keywords}
    covered = coverage(
        {name: {"rows": count} for name, count in rows.items()}, quarantined=0, vectors=vectors
    )
    is_whole = said.startswith(FOUND)
    assert covered["sessions"]["complete"] is is_whole
    ((well, line),) = in_words(covered)
    assert well is is_whole and line.startswith(said)


MILL, HARP = "/home/mira/mill", "/home/mira/harp"


def _rewritten(path: Path, **fields: Any) -> str:
    lines = map(json.loads, path.read_text().splitlines())
    return "".join(json.dumps({**line, **fields}) + "\n" for line in lines)


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """Two sessions of a person, of which one begins with a copy of the other, one of a program, and
    one of a title alone."""
    worked = Worked(tmp_path_factory.mktemp("counted"))
    original = worked.session("a", Call(text="And the burrs?"), cwd=MILL)
    (path,) = worked.root.rglob(f"{original}.jsonl")
    branch = worked.session("b", Call(text="A finer grind."), cwd=MILL, days=1)
    (branched,) = worked.root.rglob(f"{branch}.jsonl")
    copy, own = _rewritten(path, sessionId=branch), branched.read_text().splitlines()[1]
    branched.write_text(f"{copy}{own}\n")
    program = worked.session("c", cwd=HARP, days=2)
    (path,) = worked.root.rglob(f"{program}.jsonl")
    path.write_text(_rewritten(path, entrypoint="sdk-cli"))
    title = {"type": "custom-title", "customTitle": "Strings", "sessionId": "d"}
    path.with_name("0000000d-0000-4000-8000-000000000001.jsonl").write_text(json.dumps(title))
    for other in ("codex", "pi"):
        (worked.root / other).mkdir()
    return worked.memory()


def test_sessions_are_of_persons_or_programs_or_have_no_turn(counted: Memory) -> None:
    """And these add up to all."""
    counts = SessionCounts.of(counted_sessions(counted.catalog))
    assert counts == SessionCounts(4, persons=2, programs=1, without_turn=1, waiting=0)
    assert counts.shares() == "2 of persons, 1 of programs, 1 without a turn"
    assert SessionCounts(3, 3, 0, 0, 0).shares() == ""


def test_a_prompt_is_counted_once_and_in_the_session_that_has_it(counted: Memory) -> None:
    """What a branch copied is its original's, and what a program asked nobody's."""
    current = status(counted.settings)
    prompts = {name: each["prompts"] for name, each in current["projects"].items()}
    assert prompts == {"-home-mira-mill": 3, "-home-mira-harp": 0}
    assert current["agents"]["claude-code"]["prompts"] == 3


def test_every_screen_says_the_same_number_of_sessions(counted: Memory) -> None:
    """Status, doctor (on disk and in memory), the list of sessions, usage."""
    counts = SessionCounts.of(counted_sessions(counted.catalog))
    current, shares = status(counted.settings), counts.shares()
    assert current["sessions"] == asdict(counts)
    assert totals(current).startswith(f"4 sessions (4 claude-code; {shares}) in 2 projects:")
    found = {name: finding.found for name, finding in diagnose(counted.settings)}
    assert found["memory"] == f"4 sessions: {shares}"
    assert found["transcripts"].startswith("4 sessions of 3 agents")
    listed = list_sessions(counted, SessionsRequest())
    assert listed["in_memory"] == asdict(counts)
    assert (listed["total"], listed["machine"]) == (counts.persons, counts.programs)
    assert f"In memory: 4 sessions, {shares}." in list(sessions_notes(listed))
    took = usage(counted, UsageRequest())
    assert took["sessions"] + took["without_usage"] == counts.total
    some = {**took, "groups": [{}]}
    assert "4 more sessions say nothing of it." in list(usage_notes(some))
    assert usage(counted, UsageRequest(agent="codex"))["without_usage"] == 0


def test_a_project_has_its_own_numbers(counted: Memory) -> None:
    """As the list of its sessions says."""
    listed = list_sessions(counted, SessionsRequest(project="-home-mira-harp"))
    assert listed["in_memory"] == asdict(SessionCounts(2, 0, 1, 1, 0))
    assert "In all: 2 sessions, 1 of programs, 1 without a turn." in list(sessions_notes(listed))


def test_what_earlier_versions_made_is_counted_by_its_prompts(
    counted: Memory, tmp_path: Path
) -> None:
    """Their chunks do not say who asked; a session whose chunks are not made is waiting."""
    path = tmp_path / "catalog.db"
    with closing(sqlite3.connect(counted.settings.data_dir / path.name)) as connection:
        connection.execute("VACUUM INTO ?", [str(path)])
    catalog = Catalog(path)
    with catalog.transaction() as connection:
        connection.execute(
            "UPDATE products SET facts = json_remove(facts, '$.asked', '$.typed')"
            " WHERE session_id LIKE '0000000a%'"
        )
        connection.execute(
            "DELETE FROM products WHERE stage = 'turn_chunks' AND session_id LIKE '0000000c%'"
        )
    counts = SessionCounts.of(counted_sessions(catalog))
    assert counts == SessionCounts(4, persons=2, programs=0, without_turn=1, waiting=1)
    assert counts.shares().endswith("1 not taken in")


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("run `memory ingest --full --project={}`", "run `memory ingest --full --project=app`"),
        ("{}: index_words: see {}", "app: index_words: see {}"),
        ("{}-2: --project={}-2.", "{}-2: --project={}-2."),
        ("ingest_batch: StoreError", "ingest_batch: StoreError"),
    ],
)
def test_a_command_that_is_told_has_the_name_that_people_use(message: str, told: str) -> None:
    """And so has the head of a line; what else is told stays as it is."""
    key = "-home-mira-app"
    line = with_spoken_projects(message.replace("{}", key), {key: "app", "-home-mira-x": "x"})
    assert line == told.replace("{}", key)
    of_two_words = with_spoken_projects("--project=" + key, {key: "my app"})
    assert of_two_words == "--project='my app'"


def test_what_is_held_back_is_told_with_names_and_times_that_people_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The project's, in the command that mends it, too; the time as all others."""
    monkeypatch.setenv("TZ", "Europe/Lisbon")
    time.tzset()
    held = {
        **{"project": "-home-mira-app", "session_id": "abc", "stage": "turn_chunks"},
        **{"since": "2026-07-01T08:30:00.123456+00:00", "passing": False},
        **{"reason": "it is damaged", "remedy": "`memory ingest --project=-home-mira-app`"},
    }
    current = {"quarantined": [held], "unlisted": []}
    (line,) = held_back(current, {"-home-mira-app": "app"})
    monkeypatch.undo()
    time.tzset()
    assert line == (
        "abc of app (turn_chunks) since 2026-07-01 09:30+01:00: it is damaged; to do: "
        "`memory ingest --project=app`"
    )


def test_a_workspace_is_listed_with_the_time_of_its_last_change_as_all_times_are() -> None:
    """In the local zone, which it names."""
    workspace = {"name": "docs", "root": "/docs", "present": True, "documents": 1, "chunks": 2}
    at = "2026-07-01T08:30:00.123456+00:00"
    (line,) = workspace_lines([{**workspace, "changed": at}])
    assert line.endswith(f"  changed {clock(at)}")
