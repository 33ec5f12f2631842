"""A session that grows keeps its observations, but for those that it settles; real sessions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memory_assets.chunking import build_turns
from memory_assets.models import RedactedRecord
from memory_assets.observations import CONCEPTS, OBSERVATION_TYPES, observe
from memory_assets.session_analysis import SessionTurns, session_turns
from memory_assets.session_analysis.statements import withdrawn
from memory_assets.transcripts import discover, read_session
from memory_assets_tests.redacted_sessions import unredacted

ROOTS = {"claude-code": "claude/projects", "codex": "codex", "pi": "pi"}
EVERY = 9
_HEAD = 8_000


def _sessions(root: Path) -> Iterator[SessionTurns]:
    for repository in sorted(root.iterdir()):
        roots = {agent: repository / below for agent, below in ROOTS.items()}
        records: dict[tuple[str, str], list[RedactedRecord]] = defaultdict(list)
        for source in discover({a: (path,) for a, path in roots.items() if path.is_dir()}):
            if sum(source.session_id.encode()) % EVERY == 0:
                records[source.agent, source.session_id] += (
                    unredacted(replace(record, text=record.text[:_HEAD]), source.project)
                    for record in read_session(source.path, source=source)
                )
        for own in records.values():
            if own:
                yield session_turns(own, build_turns(own))


@pytest.fixture(scope="module")
def real(dev_transcripts: Path) -> list[SessionTurns]:
    """Some of the real sessions."""
    return list(_sessions(dev_transcripts))


def test_appended_turns_change_no_observation_that_stays(real: list[SessionTurns]) -> None:
    """Cut after any turn, a session gives what it gives whole: same ids, same text; but for what
    later turns commit, replace or object to."""
    cut = compared = gone = 0
    for session in real:
        whole = {one.id: one for one in observe(session)}
        objected = withdrawn(session)
        for count in {1, len(session.turns) // 2} - {0, len(session.turns)}:
            turns = session.turns[:count]
            if not turns:
                continue
            begun = replace(
                session, turns=turns, records=tuple(r for turn in turns for r in turn.records)
            )
            before = {one.id: one for one in observe(begun)}
            last = turns[-1].turn_index
            earlier = {name for name, one in whole.items() if one.turn_index <= last}
            assert earlier <= before.keys()
            for name in earlier:
                assert before[name] == whole[name] or objected & set(whole[name].turn_ids)
            cut, compared = cut + 1, compared + len(earlier)
            gone += len(before) - len(earlier)
    assert cut > 10 and compared > 5 and gone < compared


def test_every_observation_is_whole(real: list[SessionTurns]) -> None:
    """Unique ids, one of the six types, a title on one line, turns of the session, a text that
    fits the embedder."""
    seen: set[str] = set()
    for session in real:
        turns = {turn.id for turn in session.turns}
        for one in observe(session):
            assert one.id not in seen
            seen.add(one.id)
            assert one.type in OBSERVATION_TYPES
            assert one.concepts and set(one.concepts) <= set(CONCEPTS)
            assert one.title and "\n" not in one.title and len(one.title) <= 140
            assert one.turn_ids and turns.issuperset(one.turn_ids) and one.turn_id in one.turn_ids
            assert one.text.startswith(one.title.rstrip("….")) and len(one.text) <= 880
            assert len(one.narrative) <= 700
    assert len(seen) > 10
