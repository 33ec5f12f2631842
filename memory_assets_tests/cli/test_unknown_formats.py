"""A version of an agent that nobody knows writes new records and files: the user is told on the day
it comes, by every command, and by the check of the asset."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_assets.cli import exit_codes
from memory_assets.status import last_checks
from memory_assets_tests.command_line import run_here

_PROMPT = "Why does the tide table of the harbour begin at noon and not at midnight?"
_VISION = "The tide table begins at noon because its author slept until then."
_EVERYTHING = "Everything on record can be found"
_AT = "2027-01-01T00:00:0{}Z"


def _claude(number: int, **fields: object) -> str:
    record = {"uuid": f"u{number}", "sessionId": "s1", "version": "9.0.0", "cwd": "/w/harbour"}
    return json.dumps({**record, "timestamp": _AT.format(number), **fields}) + "\n"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a memory over one session of Claude Code; nothing is made yet."""
    project = tmp_path / "projects" / "-w-harbour"
    project.mkdir(parents=True)
    message = {"role": "user", "content": _PROMPT}
    (project / "s1.jsonl").write_text(_claude(1, type="user", message=message))
    yield {
        "HOME": str(tmp_path / "home"),
        "MEMORY_DATA_DIR": str(tmp_path / "memory"),
        "MEMORY_PROJECTS_DIR": str(tmp_path / "projects"),
        "MEMORY_EMBEDDER": "none",
    }


def test_new_records_and_files_are_told_on_the_day_they_come(
    home: dict[str, str], tmp_path: Path
) -> None:
    """Nothing is missing at first. Then a record of a new type comes, a part of a known one, and a
    file: `ingest`, `status` and `doctor` say where, how much and of which version, the check
    warns, and nothing says that everything can be found; no text of them is told."""
    done = run_here(home, "ingest")
    assert done.returncode == exit_codes.FINE and _EVERYTHING in done.stdout, done.stdout
    project = tmp_path / "projects" / "-w-harbour"
    content = [{"type": "text", "text": "Go on."}, {"type": "omen", "sign": _VISION}]
    with (project / "s1.jsonl").open("a") as file:
        file.write(_claude(2, type="user", message={"role": "user", "content": content}))
        file.write(_claude(3, type="dream", vision={"told": f"{_VISION} Or so it is said."}))
    (project / "dreams.db").write_bytes(b"unknown")
    done = run_here(home, "ingest")
    assert done.returncode == exit_codes.FINE, done.stdout + done.stderr
    size = 2 * len(_VISION) + len(" Or so it is said.")
    told = (
        f"{size} B of text in 1 session are in places that no reader knows: dream.vision.told "
        "(9.0.0), user.message.user.content.omen.sign (9.0.0); 1 file in the agents' directories "
        "that no reader knows: claude-code *.db (1)"
    )
    assert "raw_sessions.text_is_explained" in done.stdout
    for command in ("status", "doctor"):
        done.stdout += run_here(home, command).stdout
    assert done.stdout.count(told) == 3, done.stdout
    assert _EVERYTHING not in done.stdout and _VISION not in done.stdout
    account = json.loads(run_here(home, "status", "--json").stdout)["account"]
    assert account["unexplained"]["dream.vision.told"]["versions"] == ["9.0.0"]
    assert account["files_unknown"] == {"claude-code *.db": 1}
    (check,) = [
        each for each in last_checks(tmp_path / "memory") if each["check"] == "text_is_explained"
    ]
    assert [other["result"] for other in check["others"]] == ["warning"]
