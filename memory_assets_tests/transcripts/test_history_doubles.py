"""Prompts that the history tells without a session: told once, whichever came first."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memory_assets.pipeline.redact.redacted_records import redact_project
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import load_settings
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

DIRECTORY = "/home/mara/code/kiln"
PROJECT = "-home-mara-code-kiln"
SESSION = "99999999-2222-4333-8444-555555555555"
AT = 1_700_000_000_000


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """A Claude home with two prompts in its history, an hour and a half apart."""
    home = tmp_path / "claude"
    (home / "projects" / PROJECT).mkdir(parents=True)
    entries = [("look at the flue", AT), ("and the grate", AT + 60_000), ("late", AT + 9_000_000)]
    with (home / "history.jsonl").open("w") as file:
        for text, when in entries:
            entry: dict[str, Any] = {"display": text, "pastedContents": {}, "timestamp": when}
            file.write(json.dumps({**entry, "project": DIRECTORY}) + "\n")
    return home


def _transcript(claude: Path, *said: tuple[str, int]) -> Path:
    path = claude / "projects" / PROJECT / f"{SESSION}.jsonl"
    with path.open("w") as file:
        for number, (text, when) in enumerate(said):
            moment = datetime.fromtimestamp(when / 1000, UTC).isoformat().replace("+00:00", "Z")
            record = {
                "type": "user",
                "uuid": f"u{number}",
                "parentUuid": None,
                "sessionId": SESSION,
                "cwd": DIRECTORY,
                "timestamp": moment,
                "message": {"role": "user", "content": text},
            }
            file.write(json.dumps(record) + "\n")
    return path


def _prompts(claude: Path, tmp_path: Path) -> list[str]:
    """All prompts on record after as many runs as it takes."""
    components = Components(
        load_settings(data_dir=tmp_path / "memory", projects_dir=claude / "projects")
    )
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
    path = _transcript(claude, ("look at the flue", AT + 300), ("and the grate", AT + 60_900))
    everything = ["and the grate", "late", "look at the flue"]
    assert _prompts(claude, tmp_path) == everything
    path.unlink()
    assert _prompts(claude, tmp_path) == everything


def test_prompts_that_no_transcript_has_are_told(claude: Path, tmp_path: Path) -> None:
    """Though one of the project was written to before and after them."""
    _transcript(claude, ("something else", AT - 600_000), ("and more", AT + 600_000))
    told = _prompts(claude, tmp_path)
    assert told == ["and more", "and the grate", "late", "look at the flue", "something else"]
