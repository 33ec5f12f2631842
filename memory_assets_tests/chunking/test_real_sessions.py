"""Turns and passages of the real dev sessions, and the benchmark's questions about them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_assets.chunking import build_turns, chunk_turn, prompt_passages
from memory_assets.embedding import load_word_pieces
from memory_assets.models import RedactedRecord, Turn
from memory_assets.transcripts import Source, discover, read_session
from memory_assets_tests.redacted_sessions import unredacted

QUESTIONS = Path(__file__).parents[2] / "benchmarks" / "questions.jsonl"
DIRECTORIES = {
    "claude-code": "claude/projects",
    "codex": "codex/sessions",
    "pi": "pi/agent/sessions",
}


def _asked() -> list[dict[str, Any]]:
    return [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]


def _answers(item: dict[str, Any]) -> list[tuple[str, list[int]]]:
    return [(item["session_id"], item["turn_index"]), *item.get("also", ())]


def _sources(root: Path) -> Iterator[Source]:
    for repository in sorted(path for path in root.iterdir() if path.is_dir()):
        roots = {agent: repository / place for agent, place in DIRECTORIES.items()}
        yield from discover({agent: (path,) for agent, path in roots.items() if path.is_dir()})


@pytest.fixture(scope="module")
def sessions(dev_transcripts: Path) -> dict[str, list[Turn]]:
    """The turns of every session that a question is about."""
    wanted = {session_id for item in _asked() for session_id, _ in _answers(item)}
    records: dict[str, list[RedactedRecord]] = {}
    for source in sorted(_sources(dev_transcripts), key=lambda source: source.agent_id or ""):
        if source.session_id in wanted:
            records.setdefault(source.session_id, []).extend(
                unredacted(record, source.project)
                for record in read_session(source.path, source=source)
            )
    return {name: list(build_turns(found)) for name, found in records.items()}


def test_questions_name_ids_and_nothing_else() -> None:
    """At least 60 questions; no transcript text, each with the turns that answer it, some
    with those of another session that do."""
    asked = _asked()
    assert len({item["question"] for item in asked}) == len(asked) >= 60
    keys = {"question", "agent", "project", "session_id", "turn_index"}
    assert all(set(item) - {"also"} == keys and item["turn_index"] for item in asked)
    assert {item["agent"] for item in asked} == set(DIRECTORIES)


def test_every_question_has_its_turns(sessions: dict[str, list[Turn]]) -> None:
    """The turns that answer a question exist in the sessions as we cut them."""
    for item in _asked():
        for session_id, turns in _answers(item):
            assert {turn.turn_index for turn in sessions[session_id]}.issuperset(turns)


def test_real_turns_lose_no_word(sessions: dict[str, list[Turn]]) -> None:
    """Prompt and prose are in the passages in order, none beyond the limit, ids unique,
    and each prompt begins in exactly one passage. Of every third turn."""
    pieces = load_word_pieces()
    ids: set[str] = set()
    for turn in [turn for turns in sessions.values() for turn in turns][::3]:
        chunks = chunk_turn(turn, pieces)
        assert all(pieces.count_tokens(chunk.text) <= pieces.max_tokens for chunk in chunks)
        assert ids.isdisjoint(chunk.id for chunk in chunks)
        ids.update(chunk.id for chunk in chunks)
        if turn.prompt is None or not turn.prompt.text.strip():
            continue
        assert [c.prompt_uuid for c in chunks if c.prompt_uuid] == [turn.prompt.record_uuid]
        typed = "".join(prompt.text for prompt in prompt_passages(turn, pieces))
        assert _letters(typed) == (_letters(turn.typed.text) if turn.typed is not None else "")
        whole = _letters("".join(chunk.text for chunk in chunks))
        for record in turn.records:
            if record.kind in ("prompt", "assistant_text"):
                assert _letters(record.text) in whole


def _letters(text: str) -> str:
    return "".join(text.split())
