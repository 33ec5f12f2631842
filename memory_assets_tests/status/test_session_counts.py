"""How many sessions there are, and whose: the same number on every screen."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from memory_assets.cli.doctor_command import diagnose
from memory_assets.recall import Memory
from memory_assets.recall.sessions.listing import list_sessions
from memory_assets.recall.sessions.usage import usage
from memory_assets.requests.questions import SessionsRequest, UsageRequest
from memory_assets.serving.answer_lines import sessions_notes, usage_notes
from memory_assets.status import status, totals
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.session_counts import SessionCounts, counted_sessions
from memory_assets_tests.recall.worked import Call, Worked

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
    found = {each.name: each.found for each in diagnose(counted.settings)}
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
