"""The shipped sample sessions are what their generator says, and hold what they must."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_assets.transcripts import ReadReport, read_session
from memory_assets_tests.nested import strings_in

SAMPLE = Path(__file__).resolve().parent.parent / "data" / "sample"
EXPECTED: dict[str, Any] = json.loads((SAMPLE / "expected.json").read_text(encoding="utf-8"))
SESSIONS = [s for facts in EXPECTED["projects"].values() for s in facts["sessions"]]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Every JSON object in a transcript, read as naively as possible."""
    decoder = json.JSONDecoder()
    for line in path.read_text(encoding="utf-8").split("\n"):
        at = 0
        while at < len(line):
            try:
                record, at = decoder.raw_decode(line, at)
            except ValueError:
                break
            yield record


def _files(session: dict[str, Any]) -> list[Path]:
    own = SAMPLE / session["path"]
    return [own, *sorted((own.parent / own.stem).rglob("*.jsonl"))]


def _text(session: dict[str, Any]) -> str:
    records = (record for path in _files(session) for record in _records(path))
    return "\n".join(text for record in records for text in strings_in(record))


@pytest.fixture(scope="module")
def regenerated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample as the generator writes it now."""
    into = tmp_path_factory.mktemp("sample")
    command = [sys.executable, str(SAMPLE / "generate.py"), "--into", str(into)]
    subprocess.run(command, check=True, timeout=60)
    return into


def test_regenerating_gives_the_committed_files(regenerated: Path) -> None:
    """The generator is deterministic and nobody edited its output by hand."""
    made = {p.relative_to(regenerated): p.read_bytes() for p in regenerated.rglob("*.json*")}
    kept = {p.relative_to(SAMPLE): p.read_bytes() for p in SAMPLE.rglob("*.json*")}
    assert made == kept


def test_expected_json_holds_hashes_of_the_planted_secrets(secrets: dict[str, str]) -> None:
    """expected.json names each secret by kind and SHA-256, never in plain."""
    listed = {p["name"]: p["sha256"] for p in EXPECTED["planted_secrets"]}
    assert listed == {n: hashlib.sha256(v.encode()).hexdigest() for n, v in secrets.items()}
    raw = (SAMPLE / "expected.json").read_text(encoding="utf-8")
    assert not [name for name, value in secrets.items() if value in raw]


@pytest.mark.parametrize("session", SESSIONS, ids=lambda s: s["session_id"][:8])
def test_each_session_holds_its_planted_secrets(
    session: dict[str, Any], secrets: dict[str, str]
) -> None:
    """Without this, a test that finds no secret downstream would prove nothing."""
    text = _text(session)
    assert {name for name, value in secrets.items() if value in text} == set(session["planted"])


def test_every_secret_is_planted_somewhere(secrets: dict[str, str]) -> None:
    """No kind of secret is listed without a place in a transcript."""
    assert {name for session in SESSIONS for name in session["planted"]} == set(secrets)


def test_no_vendor_token_stands_in_the_repository_as_raw_bytes(secrets: dict[str, str]) -> None:
    """Push protection of a hosting site matches raw bytes; the files must pass it."""
    plain_on_purpose = {
        "jwt", "bearer", "db_password", "session_secret", "staging_password"
    }  # fmt: skip
    raw = b"".join(p.read_bytes() for p in SAMPLE.rglob("*") if p.suffix in (".jsonl", ".py"))
    forms = {name: json.dumps(value)[1:-1].encode() for name, value in secrets.items()}
    assert {name for name, form in forms.items() if form in raw} == plain_on_purpose


def test_the_sample_covers_three_projects_and_three_agents() -> None:
    """Two of the projects are used by two agents at one directory."""
    agents = {name: facts["agents"] for name, facts in EXPECTED["projects"].items()}
    assert sorted(agents.values()) == [["claude-code"], ["claude-code", "codex"], ["codex", "pi"]]
    assert 6 <= len(SESSIONS) <= 10


def test_the_fork_repeats_the_uuids_of_the_original() -> None:
    """A fork's copies keep their uuid but carry the fork's own session id."""
    fork = next(s for s in SESSIONS if s["copied_prompts"])
    uuids = {r["uuid"] for r in _records(SAMPLE / fork["path"]) if "uuid" in r}
    originals = [s for s in SESSIONS if s is not fork and s["agent"] == "claude-code"]
    shared = {
        s["session_id"]: len(uuids & {r.get("uuid") for r in _records(SAMPLE / s["path"])})
        for s in originals
    }
    assert sum(count > 0 for count in shared.values()) == 1
    assert 0 < max(shared.values()) < len(uuids)
    owners = {r["sessionId"] for r in _records(SAMPLE / fork["path"]) if "uuid" in r}
    assert owners == {fork["session_id"]}


def test_damaged_lines_are_as_many_as_expected() -> None:
    """Glued, NUL-filled and half-written lines, counted without any of our readers."""
    found = {"bad": 0, "glued": 0, "half_written": 0}
    for session in SESSIONS:
        data = (SAMPLE / session["path"]).read_bytes()
        lines = data.decode().split("\n")
        for line in lines[:-1]:
            try:
                json.loads(line)
            except json.JSONDecodeError as error:
                found["glued" if error.msg == "Extra data" else "bad"] += 1
        found["half_written"] += lines[-1] != ""
    assert found == {
        "bad": sum(s["bad_lines"] for s in SESSIONS),
        "glued": sum(s["glued_lines"] for s in SESSIONS),
        "half_written": sum(s["half_written_lines"] for s in SESSIONS),
    }
    assert all(found.values())


def test_the_sample_shows_the_hard_parts_of_the_formats() -> None:
    """Subagent, compaction, queue-only prompt, foreign summary, unknown type, large read."""
    records = [r for s in SESSIONS for path in _files(s) for r in _records(path)]
    types = {r.get("type") for r in records}
    assert {
        "summary",
        "queue-operation",
        "pr-link",
        "ai-title",
        "custom-title",
        "progress",
    } <= types
    assert {"file-history-snapshot", "frobnicate-status", "compaction", "session_meta"} <= types
    subtypes = {r.get("subtype") for r in records}
    assert {"compact_boundary", "away_summary", "turn_duration"} <= subtypes
    assert any(r.get("isCompactSummary") for r in records)
    assert any(r.get("isSidechain") and r.get("agentId") for r in records)
    assert max(len(text) for r in records for text in strings_in(r)) > 8192


def test_the_sample_is_small() -> None:
    """It ships with every clone."""
    assert sum(p.stat().st_size for p in SAMPLE.rglob("*.json*")) < 400_000


@pytest.mark.parametrize("session", SESSIONS, ids=lambda s: s["session_id"][:8])
def test_the_readers_find_what_the_generator_planted(session: dict[str, Any]) -> None:
    """Human prompts, damaged lines and unknown types, by the project's own readers."""
    report = ReadReport()
    path = SAMPLE / session["path"]
    records = list(read_session(path, report=report))
    assert {record.agent for record in records} == {session["agent"]}
    assert {record.session_id for record in records} == {session["session_id"]}
    assert report.prompts == session["human_prompts"]
    assert report.bad_line_count == session["bad_lines"] + session["glued_lines"]
    assert bool(report.pending_bytes) == bool(session["half_written_lines"])
    assert report.unknown_types.total() == session["unknown_records"]
    assert report.conserved
