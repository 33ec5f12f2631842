"""history.jsonl: prompts of sessions whose transcripts are gone, and of no others."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memory_assets.pipeline.redact.redacted_records import redact_project
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.tables.turn_chunks import chunk_project
from memory_assets.settings import load_settings
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TURN_CHUNKS
from memory_assets.transcripts import ReadReport, Source, discover, read_session
from memory_assets.transcripts.claude.history import TITLE
from memory_assets_tests.transcripts.conftest import ClaudeLines

DAY_MS = 86_400_000
LOST = "11111111-2222-4333-8444-555555555555"
KEPT = "99999999-2222-4333-8444-555555555555"
DIRECTORY = "/home/mara/code/kiln"
PROJECT = "-home-mara-code-kiln"
SECRET = "ghp_" + "Zq4" * 12


def _line(text: str, when: int, session: str | None = LOST, **more: Any) -> dict[str, Any]:
    entry = {"display": text, "pastedContents": {}, "timestamp": when, "project": DIRECTORY}
    return {**entry, **({"sessionId": session} if session else {}), **more}


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """A Claude home with an empty projects directory."""
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    return tmp_path / "claude"


def _write(claude: Path, *entries: dict[str, Any]) -> None:
    with (claude / "history.jsonl").open("ab") as file:
        for entry in entries:
            file.write(json.dumps(entry).encode() + b"\n")


def _sources(claude: Path) -> list[Source]:
    return list(discover({"claude-code": (claude / "projects",)}))


def _texts(source: Source) -> list[tuple[str, str]]:
    report = ReadReport()
    records = list(read_session(source.path, source=source, report=report))
    return [(record.kind, record.text) for record in records]


def _transcript(claude: Path, *said: tuple[str, int]) -> Path:
    """Write the transcript of a session in which a person typed these, at these times."""
    path = claude / "projects" / PROJECT / f"{KEPT}.jsonl"
    path.parent.mkdir(exist_ok=True)
    lines = ClaudeLines(session=KEPT)
    for text, when in said:
        moment = datetime.fromtimestamp(when / 1000, UTC).isoformat().replace("+00:00", "Z")
        lines.user(text, cwd=DIRECTORY, timestamp=moment)
    path.write_bytes(lines.bytes())
    return path


def _components(claude: Path, tmp_path: Path) -> Components:
    settings = load_settings(data_dir=tmp_path / "memory", projects_dir=claude / "projects")
    return Components(settings)


def test_a_lost_session_is_its_prompts_and_says_so(claude: Path) -> None:
    """In order, with what was pasted in its place, without bare commands; and a title."""
    old = 1_700_000_000_000
    pasted = {"1": {"id": 1, "type": "text", "content": "Traceback: boom"}}
    _write(
        claude,
        _line("why does the kiln overheat", old),
        _line("/clear", old + 1_000),
        _line("someone else's", old + 2_000, KEPT),
        _line("see [Pasted text #1 +3 lines] please", old + 3_000, pastedContents=pasted),
    )
    (claude / "projects" / PROJECT).mkdir()
    (claude / "projects" / PROJECT / f"{KEPT}.jsonl").write_text("{}\n")
    (source,) = [one for one in _sources(claude) if one.path.name == "history.jsonl"]
    assert (source.project, source.session_id) == (PROJECT, LOST)
    assert _texts(source) == [
        ("title", TITLE),
        ("prompt", "why does the kiln overheat"),
        ("prompt", "see Traceback: boom please"),
    ]


def test_a_session_of_today_is_left_to_its_transcript(claude: Path) -> None:
    """Its file may be a moment late. One of the future, by a clock that was wrong, is not."""
    now = int(time.time() * 1000)
    _write(claude, _line("just now", now), _line("tomorrow", now + DAY_MS, KEPT))
    assert [source.session_id for source in _sources(claude)] == [KEPT]


def test_prompts_without_a_session_are_parted_by_project_and_pause(claude: Path) -> None:
    """An hour's pause begins another session; another directory always does."""
    old = 1_700_000_000_000
    _write(
        claude,
        _line("one", old, None),
        _line("two", old + 60_000, None),
        _line("elsewhere", old + 61_000, None, project="/srv/other"),
        _line("much later", old + DAY_MS, None),
    )
    texts = [[text for kind, text in _texts(one) if kind == "prompt"] for one in _sources(claude)]
    assert texts == [["one", "two"], ["elsewhere"], ["much later"]]
    assert len({one.session_id for one in _sources(claude)}) == 3


def test_another_sessions_prompt_does_not_make_a_lost_session_new(claude: Path) -> None:
    """Its source stays as it is while the file grows."""
    old = 1_700_000_000_000
    _write(claude, _line("first", old))
    before = _sources(claude)
    _write(claude, _line("other", old + 5_000, KEPT))
    assert before[0] in _sources(claude)


def test_lost_sessions_go_through_redaction_and_stages_and_are_not_doubled(
    claude: Path, tmp_path: Path
) -> None:
    """A secret in a prompt is taken out; chunks are made; a session whose transcript was
    once read is not told again from the history when the transcript goes."""
    old = 1_700_000_000_000
    transcript = _transcript(claude, ("look at the flue", old))
    _write(claude, _line(f"export TOKEN={SECRET}", old), _line("look at the flue", old, KEPT))
    components = _components(claude, tmp_path)

    def take_in() -> None:
        for stage in (scan.scan_project, redact_project, chunk_project):
            stage(components, PROJECT)

    take_in()
    transcript.unlink()
    take_in()
    lake = components.lake
    assert lake.sessions(REDACTED_RECORDS, PROJECT) == [LOST, KEPT]
    texts = lake.read(REDACTED_RECORDS, PROJECT, LOST)["text"].to_pylist()
    assert any("<redacted:" in str(text) for text in texts)
    assert SECRET not in repr(texts)
    assert len(lake.read(REDACTED_RECORDS, PROJECT, KEPT)) == 1
    assert lake.sessions(TURN_CHUNKS, PROJECT) == [LOST, KEPT]
    assert scan.scan_project(components, PROJECT).changed == 0


AT = 1_700_000_000_000


def _write_unnamed(claude: Path) -> None:
    """Write prompts of no session, the last an hour and a half later."""
    said = (("look at the flue", AT), ("and the grate", AT + 60_000), ("late", AT + 9_000_000))
    _write(claude, *(_line(text, when, None) for text, when in said))


def _prompts(claude: Path, tmp_path: Path) -> list[str]:
    """All prompts on record after as many runs as it takes."""
    components = _components(claude, tmp_path)
    for _ in range(2):
        scan.scan_project(components, PROJECT)
        redact_project(components, PROJECT)
    rows = components.lake.read_partition(REDACTED_RECORDS, PROJECT, ["kind", "text"]).to_pylist()
    components.catalog.close()
    return sorted(row["text"] for row in rows if row["kind"] == "prompt")


def test_prompts_of_a_transcript_are_not_told_again_by_the_history(
    claude: Path, tmp_path: Path
) -> None:
    """Nor when the transcript has gone since; what only the history has is told."""
    _write_unnamed(claude)
    path = _transcript(claude, ("look at the flue", AT + 300), ("and the grate", AT + 60_900))
    everything = ["and the grate", "late", "look at the flue"]
    assert _prompts(claude, tmp_path) == everything
    path.unlink()
    assert _prompts(claude, tmp_path) == everything


def test_prompts_that_no_transcript_has_are_told(claude: Path, tmp_path: Path) -> None:
    """Though one of the project was written to before and after them."""
    _write_unnamed(claude)
    _transcript(claude, ("something else", AT - 600_000), ("and more", AT + 600_000))
    told = _prompts(claude, tmp_path)
    assert told == ["and more", "and the grate", "late", "look at the flue", "something else"]
