"""`observe`: the observations of one session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memory_assets.models import Observation, RedactedRecord, Turn
from memory_assets.observations.changes import commits_made, files_changed, is_small
from memory_assets.observations.decisions import decisions
from memory_assets.observations.fixes import fixes, merged
from memory_assets.observations.moments import TITLE_LIMIT, Moment, narrative
from memory_assets.observations.repairs import fault_repaired
from memory_assets.observations.statements import discoveries
from memory_assets.redacted_text import RedactedText, content_hash, join
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.files import touched
from memory_assets.session_analysis.phrases import distinct, shorten
from memory_assets.session_analysis.statements import all_said

OBSERVER_ID = "observer-8"
"""Changes whenever the same session would give other observations."""
TEXT_LIMIT = 880
_TURNS_OF_A_COMMIT = 12
_MOST_FACTS = 8
_MOST_FILES = 30


def observe(session: SessionTurns) -> tuple[Observation, ...]:
    """Return the observations of a session, in its order.

    The observations of a turn do not depend on later turns.
    """
    found: dict[tuple[str | None, int], Observation] = {}
    for moment in _moments(session):
        key = (moment.anchor.agent_id, moment.anchor.seq)
        if key not in found:
            found[key] = _observation(session, moment)
    return tuple(
        sorted(found.values(), key=lambda one: (one.turn_index, one.agent_id or "", one.anchor_seq))
    )


def _moments(session: SessionTurns) -> Iterator[Moment]:
    """Yield every moment; of two with one anchor the first counts. A small change to files that
    were changed since the last commit is part of the change before it."""
    said = {turn.id: all_said([turn]) for turn in session.turns}
    ended = merged(list(fixes(session, said)))
    fixed = {
        moment.turns[-1].id: set(touched(session, moment.records).modified) for moment in ended
    }
    since: list[tuple[Turn, Sequence[RedactedRecord]]] = []
    uncommitted: set[RedactedText] = set()
    decided: set[RedactedText] = set()
    for before, turn in zip((None, *session.turns), session.turns, strict=False):
        last: RedactedRecord | None = None
        said_before = said[before.id] if before is not None else []
        fault = fault_repaired(turn, said[turn.id], before, said_before)
        for moment, made_by in commits_made(session, turn, since, fault):
            yield moment
            last = made_by
        after: Sequence[RedactedRecord] = turn.records
        if last is not None:
            after = after[next(n for n, one in enumerate(after) if one is last) + 1 :]
            since, fault = [], None
            uncommitted = set()
        since = [*since, (turn, after)][-_TURNS_OF_A_COMMIT:]
        own = fixed.get(turn.id, set())
        changed = files_changed(session, turn, after, said[turn.id], own, fault)
        if changed is not None:
            modified = set(touched(session, changed.records).modified)
            if not (changed.type == "change" and modified <= uncommitted and is_small(turn)):
                yield changed
            uncommitted |= modified
        for decision in decisions(turn, before, said[turn.id]):
            if decision.title not in decided:
                yield decision
            decided.add(decision.title)
        yield from discoveries(turn, said[turn.id])
    yield from ended


def _observation(session: SessionTurns, moment: Moment) -> Observation:
    anchor, turn = moment.anchor, moment.turns[-1]
    title = shorten(moment.title.squeezed(), TITLE_LIMIT)
    account = narrative(moment.narrative)
    facts = tuple(distinct(moment.facts)[:_MOST_FACTS])
    files = touched(session, moment.records)
    text = _text(title, account, facts)
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
        files_read=tuple(files.read[:_MOST_FILES]),
        files_modified=tuple(files.modified[:_MOST_FILES]),
        turn_ids=tuple(one.id for one in moment.turns),
        prompt_ids=tuple(one.prompt_id for one in moment.turns if one.prompt is not None),
        timestamp=moment.began.timestamp,
        ended_at=anchor.timestamp,
        git_branch=anchor.git_branch,
        text=text,
        content_hash=content_hash(text),
        observer_id=OBSERVER_ID,
    )


def _text(
    title: RedactedText, account: RedactedText, facts: Sequence[RedactedText]
) -> RedactedText:
    """Return what is embedded, searched and shown: title, account and facts, but for those that
    only repeat what stands before them."""
    told = [account] if account.startswith(title.rstrip("…. ")) else [title, account]
    text = join("\n", distinct(told))
    new = [fact for fact in facts if fact.rstrip(".") not in text]
    return shorten(join("\n", distinct([text, *new])), TEXT_LIMIT)
