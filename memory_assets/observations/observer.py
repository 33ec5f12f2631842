"""`observe`: the observations of one session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memory_assets.models import Observation
from memory_assets.observations.changes import work_done
from memory_assets.observations.decisions import decisions
from memory_assets.observations.moments import TITLE_LIMIT, Moment, one_paragraph
from memory_assets.redacted_text import RedactedText, content_hash, join
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.files import touched_files
from memory_assets.session_analysis.phrases import distinct, shorten
from memory_assets.session_analysis.statements import agent_sentences, withdrawn_turns

OBSERVER_ID = "observer-25"
"""Changes whenever the same session would give other observations."""
TEXT_LIMIT = 880
_MOST_FACTS = 8
_MOST_FILES = 30


def observe(session: SessionTurns) -> tuple[Observation, ...]:
    """Return the observations of a session, in its order; none of one that programs wrote.

    Turns that are added change no observation that stays; they take away those that they settle:
    work that is committed, a commit that is replaced, a report that the next prompt objects to.
    """
    if session.by_program:
        return ()
    observations: dict[tuple[str | None, int], Observation] = {}
    for moment in _moments(session):
        key = (moment.anchor.agent_id, moment.anchor.seq)
        if key not in observations:
            observations[key] = _observation(session, moment)
    return tuple(
        sorted(
            observations.values(),
            key=lambda observation: (
                observation.turn_index,
                observation.agent_id or "",
                observation.anchor_seq,
            ),
        )
    )


def _moments(session: SessionTurns) -> Iterator[Moment]:
    """Yield every moment; of two with one anchor the first counts."""
    sentences_by_turn = {turn.id: agent_sentences([turn]) for turn in session.turns}
    yield from work_done(session, sentences_by_turn, withdrawn_turns(session))
    decided: set[RedactedText] = set()
    for turn in session.turns:
        for decision in decisions(turn):
            if decision.title not in decided:
                decided.add(decision.title)
                yield decision


def _observation(session: SessionTurns, moment: Moment) -> Observation:
    anchor, turn = moment.anchor, moment.turns[-1]
    title = shorten(moment.title.squeezed(), TITLE_LIMIT)
    account = one_paragraph(moment.narrative)
    facts = tuple(distinct(moment.facts)[:_MOST_FACTS])
    files = touched_files(session, moment.records)
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
        turn_ids=tuple(member.id for member in moment.turns),
        prompt_ids=tuple(member.prompt_id for member in moment.turns if member.prompt is not None),
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
    """Return what is embedded, searched and shown: title, account and facts, without those that
    only repeat what stands before them."""
    lead = [account] if account.startswith(title.rstrip("…. ")) else [title, account]
    text = join("\n", distinct(lead))
    unrepeated = [fact for fact in facts if fact.rstrip(".") not in text]
    return shorten(join("\n", distinct([text, *unrepeated])), TEXT_LIMIT)
