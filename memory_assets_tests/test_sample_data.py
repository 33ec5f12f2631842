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


def test_the_sample_is_small() -> None:
    """It ships with every clone."""
    assert sum(p.stat().st_size for p in SAMPLE.rglob("*.json*")) < 400_000
