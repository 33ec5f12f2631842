"""`observe`: the observations of one session."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from memory_assets.models import Observation, RedactedRecord, Turn
from memory_assets.observations.changes import commits_made, files_changed
from memory_assets.observations.fixes import fixes
from memory_assets.observations.moments import Moment
from memory_assets.observations.statements import causes_said, decisions, discoveries
from memory_assets.observations.wording import TITLE_LIMIT, narrative
from memory_assets.redacted_text import RedactedText, join
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.failures import all_runs
from memory_assets.session_analysis.files import failed_calls, touched_in
from memory_assets.session_analysis.phrases import distinct, shorten, squeeze

OBSERVER_ID = "observer-1"
"""Changes whenever the same session would give other observations."""
TEXT_LIMIT = 880
_TURNS_OF_A_COMMIT = 12
_MOST_FACTS = 8
_MOST_FILES = 30


def observe(session: SessionTurns) -> tuple[Observation, ...]:
    """Return the observations of a session, in its order.

    The observations of a turn do not depend on later turns.
    """
    failed = failed_calls(session)
    found: dict[tuple[str | None, int], Observation] = {}
    for moment in _moments(session, failed):
        anchor = moment.anchor
        key = (anchor.agent_id, anchor.seq)
        if key not in found:
            found[key] = _observation(session, moment, failed)
    return tuple(
        sorted(found.values(), key=lambda one: (one.turn_index, one.agent_id or "", one.anchor_seq))
    )


def _moments(session: SessionTurns, failed: set[str]) -> Iterator[Moment]:
    """Every moment; of two with one anchor the first counts."""
    ended = list(_errors_ended(session, failed))
    fixed = {
        moment.turns[-1].id: set(touched_in(moment.records, failed, session.project_root).modified)
        for moment in ended
    }
    since: list[tuple[Turn, Sequence[RedactedRecord]]] = []
    for turn in session.turns:
        alone = replace(session, records=turn.records, turns=(turn,))
        last: RedactedRecord | None = None
        for moment, made_by in commits_made(turn, since, failed):
            yield moment
            last = made_by
        after: Sequence[RedactedRecord] = turn.records
        if last is not None:
            after = after[next(n for n, one in enumerate(after) if one is last) + 1 :]
            since = []
        since = [*since, (turn, after)][-_TURNS_OF_A_COMMIT:]
        changed = files_changed(alone, turn, after, failed, fixed.get(turn.id, set()))
        if changed is not None:
            yield changed
        yield from decisions(alone, turn)
        yield from discoveries(alone, turn)
    yield from ended


def _errors_ended(session: SessionTurns, failed: set[str]) -> Iterator[Moment]:
    in_turns = [record for turn in session.turns for record in turn.records]

    def explained(turn: Turn, within: Collection[int]) -> list[RedactedText]:
        alone = replace(session, records=turn.records, turns=(turn,))
        return causes_said(alone, within)

    yield from fixes(all_runs(session), in_turns, failed, session.project_root, explained)


def _observation(session: SessionTurns, moment: Moment, failed: set[str]) -> Observation:
    anchor, turn = moment.anchor, moment.turns[-1]
    title = shorten(squeeze(moment.title), TITLE_LIMIT)
    account = narrative(moment.narrative)
    facts = tuple(distinct(moment.facts)[:_MOST_FACTS])
    touched = touched_in(moment.records, failed, session.project_root)
    text = shorten(join("\n", distinct([title, account, *facts])), TEXT_LIMIT)
    number = str(anchor.seq) if anchor.agent_id is None else f"{anchor.agent_id}.{anchor.seq}"
    return Observation(
        id=f"observation::{session.session_id}::{number}",
        turn_id=turn.id,
        turn_index=turn.turn_index,
        project=session.project,
        project_root=session.project_root,
        agent=session.agent,
        session_id=session.session_id,
        agent_id=anchor.agent_id,
        anchor_seq=anchor.seq,
        type=moment.type,
        title=title,
        narrative=account,
        facts=facts,
        concepts=tuple(distinct(moment.concepts)),
        files_read=tuple(touched.read[:_MOST_FILES]),
        files_modified=tuple(touched.modified[:_MOST_FILES]),
        turn_ids=tuple(one.id for one in moment.turns),
        prompt_ids=tuple(_prompt_id(one) for one in moment.turns if one.prompt is not None),
        timestamp=moment.began.timestamp,
        ended_at=anchor.timestamp,
        git_branch=anchor.git_branch,
        text=text,
        content_hash=_hash(text),
        observer_id=OBSERVER_ID,
    )


def _prompt_id(turn: Turn) -> str:
    return f"prompt::{turn.session_id}::{turn.turn_index}"


def _hash(text: RedactedText) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
