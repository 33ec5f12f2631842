"""A session that grows keeps its observations, but for those that it settles; real sessions."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from memory_assets.models import Observation
from memory_assets.observations import CONCEPTS, OBSERVATION_TYPES, observe
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.statements import withdrawn_turns
from memory_assets_tests.redacted_sessions import real_sessions


@pytest.fixture(scope="module")
def real(dev_transcripts: Path) -> list[SessionTurns]:
    """Some of the real sessions."""
    return list(real_sessions(dev_transcripts, every=9, longest=8_000))


def _but_for_its_commit(told: Observation) -> dict[str, Any]:
    """Without the SHA, which is another one after a rebase."""
    facts = tuple(re.sub(r"\ACommit [0-9a-f]+", "Commit", fact) for fact in told.facts)
    text = re.sub(r"\bCommit [0-9a-f]{7,40}\b", "Commit", told.text)
    return {**asdict(told), "facts": facts, "text": text, "content_hash": ""}


def test_appended_turns_change_no_observation_that_stays(real: list[SessionTurns]) -> None:
    """Cut after any turn, a session gives what it gives whole: same ids, same text; but for what
    later turns commit, replace, rebase or object to."""
    cut = compared = gone = 0
    for session in real:
        whole = {one.id: one for one in observe(session)}
        objected = withdrawn_turns(session)
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
                same = _but_for_its_commit(before[name]) == _but_for_its_commit(whole[name])
                assert same or objected & set(whole[name].turn_ids)
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
