"""Records: every free string is redacted, and a failure leaks nothing."""

from __future__ import annotations

import dataclasses
import re
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from memory_assets.errors import RedactionFailed
from memory_assets.models import Record, RedactedRecord
from memory_assets.redacted_text import RedactedText
from memory_assets.redaction import Finding, Redaction, Redactor, load_redactor
from memory_assets.redaction.engine.scanner import Scanner
from memory_assets.transcripts.ids import derived_id
from memory_assets_tests.sweep import sweep

Fake = Callable[..., str]
Named = Callable[[str], str]

FREE = ("text", "command", "cwd", "git_branch", "tool_name", "subtype", "model", "agent_version")
IDS = (
    "session_id",
    "agent_id",
    "record_uuid",
    "parent_uuid",
    "tool_use_id",
    "message_id",
    "spawned_agent_id",
)


def plain_record(**fields: Any) -> Record:
    """Return a record whose strings hold no secret."""
    given = Record(
        agent="claude-code",
        session_id="0f9a3c5e-1b2d-4c3e-8f7a-6b5c4d3e2f1a",
        agent_id="a1",
        seq=7,
        record_uuid="1f9a3c5e-1b2d-4c3e-8f7a-6b5c4d3e2f1a",
        parent_uuid=None,
        byte_start=10,
        byte_end=99,
        timestamp=datetime(2026, 1, 2, tzinfo=UTC),
        role="tool",
        kind="tool_result",
        text="all tests passed",
        tool_name="Bash",
        tool_use_id="toolu_01abcdefghij",
        is_error=True,
        paths=("a.py",),
        command="pytest",
        cwd="/home/dev/app",
        git_branch="main",
        model="claude",
        agent_version="2.1.0",
        is_sidechain=True,
        message_id="msg_01abcdefghij",
    )
    return dataclasses.replace(given, **fields)


def redact(redactor: Redactor, record: Record, root: str = "/home/dev/app") -> RedactedRecord:
    """Redact for project p."""
    session = redactor.session(record.session_id)
    return session.redact_record(record, project="p", project_root=root).record


def test_facts_are_copied_and_texts_are_sealed(redactor: Redactor) -> None:
    """A record without secrets keeps every value, and its texts are RedactedText."""
    given = plain_record()
    redacted = redact(redactor, given)
    names = {field.name for field in dataclasses.fields(Record)}
    assert names - {field.name for field in dataclasses.fields(redacted)} == {"content"}
    for field in dataclasses.fields(Record):
        if field.name == "content":
            continue
        assert getattr(redacted, field.name) == getattr(given, field.name), field.name
    for name in ("text", "command", "cwd", "git_branch", "tool_name", "project_root"):
        assert isinstance(getattr(redacted, name), RedactedText), name
    assert all(isinstance(path, RedactedText) for path in redacted.paths)
    assert redacted.redactions == 0
    assert redacted.ruleset_version == redactor.ruleset_version


@pytest.mark.parametrize("name", ["record_uuid", "parent_uuid", "tool_use_id", "message_id"])
def test_an_id_that_a_reader_derived_from_text_is_keyed(name: str, redactor: Redactor) -> None:
    """Once: as it is read again from the lake it stays; equal ids stay equal."""
    derived = derived_id("my password is hunter42!")
    stored = getattr(redact(redactor, plain_record(**{name: derived})), name)
    assert re.fullmatch(r"k-[0-9a-f]{32}", stored)
    assert derived[2:18] not in stored
    assert getattr(redact(redactor, plain_record(**{name: stored})), name) == stored
    assert getattr(redact(redactor, plain_record(**{name: derived})), name) == stored


@pytest.mark.parametrize("name", FREE)
def test_every_free_string_is_redacted(
    name: str, redactor: Redactor, fake: Fake, named: Named
) -> None:
    """A token in any free field goes and is counted."""
    token = fake("ghp_{a:36}")
    redacted = redact(redactor, plain_record(**{name: f"x {token} y"}))
    assert named(getattr(redacted, name)) == "x <redacted:github-token> y"
    assert redacted.redactions == 1
    assert token not in repr(redacted)


def test_paths_and_project_root_are_redacted(redactor: Redactor, fake: Fake, named: Named) -> None:
    """A token in a path or in the root goes too."""
    token = fake("ghp_{a:36}")
    redacted = redact(redactor, plain_record(paths=("ok.py", f"/x/{token}/y")), f"/r/{token}")
    assert redacted.paths[0] == "ok.py"
    assert named(redacted.paths[1]) == "/x/<redacted:github-token>/y"
    assert named(redacted.project_root) == "/r/<redacted:github-token>"
    assert redacted.redactions == 2


def test_every_string_field_is_known_to_these_tests() -> None:
    """A string field that is added to Record must be redacted, or known as an id."""
    strings = {f.name for f in dataclasses.fields(Record) if "str" in str(f.type)}
    assert strings == {*FREE, *IDS, "paths", "agent"}


@sweep("name", IDS)
def test_a_secret_in_an_id_quarantines(name: str, redactor: Redactor, fake: Fake) -> None:
    """Ids cannot be redacted and stay ids: such a record fails, and the error hides the id."""
    token = fake("ghp_{a:36}")
    with pytest.raises(RedactionFailed, match=name) as caught:
        redact(redactor, plain_record(**{name: token}))
    assert token not in str(caught.value)


def test_a_failure_inside_leaks_nothing(
    redactor: Redactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong becomes RedactionFailed with ids only: no text, cause or context."""
    secret = "the quick brown " + "s3cret"

    def explode(self: Scanner, text: str) -> list[object]:
        raise ValueError(f"cannot scan {text}")

    broken = load_redactor(key=bytes(32))
    monkeypatch.setattr(Scanner, "look", explode)
    with pytest.raises(RedactionFailed, match="record 7 could not be redacted") as caught:
        redact(broken, plain_record(text=secret))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert secret not in "".join(traceback.format_exception(caught.value))


def test_text_that_is_not_text_fails_closed(redactor: Redactor) -> None:
    """A field of the wrong type is a failure, not a pass."""
    with pytest.raises(RedactionFailed, match="record 7"):
        redact(redactor, plain_record(text=None))


def test_reprs_hold_no_text(redactor: Redactor) -> None:
    """Findings, results and the redactor show rules and numbers only."""
    password = "Tr0ub4dor" + "3x"
    result = redactor.redact(f"see DB_PASSWORD={password}")
    shown = repr(result) + repr(result.findings) + repr(redactor) + str(result.findings[0])
    assert password not in shown
    assert "see" not in shown
    assert isinstance(result, Redaction)
    assert isinstance(result.findings[0], Finding)


def test_redacted_text_cannot_be_forged() -> None:
    """A plain string does not become RedactedText by construction."""
    with pytest.raises(TypeError):
        RedactedText("anything")
