"""The summarizer: it selects sentences and facts of the session, and adds counts."""

from __future__ import annotations

from collections import Counter

from memory_assets.models import Summary
from memory_assets.redacted_text import RedactedText, compose, content_hash, join
from memory_assets.session_analysis.commits import commits
from memory_assets.session_analysis.failures import ENDED, errors_met
from memory_assets.session_analysis.files import touched
from memory_assets.session_analysis.phrases import (
    EMPTY,
    base_name,
    distinct,
    fitted,
    listing,
    shorten,
)
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.shell import commands
from memory_assets.session_analysis.statements import all_said, routine, withdrawn
from memory_assets.summaries import findings, outcomes, prompts, titles
from memory_assets.summaries.clues import judge

TEXT_LIMIT = 880
"""One window of the embedder: at most 256 word pieces in 98% of the real sessions."""

_FIELD_LENGTH = 300
"""Characters of one field in it."""


class ExtractiveSummarizer:
    """Summaries without an LLM. Stateless; equal sessions give equal summaries."""

    summarizer_id = "extractive-25"
    """Changes with every change of a heuristic."""
    reason = ""

    def summarize(self, session: SessionTurns) -> Summary:
        """Return the session's summary; fields without content are empty."""
        records = session.records
        gone = withdrawn(session) | routine(session)
        said = [one for one in all_said(session.turns) if session.turns[one.turn].id not in gone]
        files = touched(session)
        committed = commits(session)
        met = errors_met(session)
        times = [record.timestamp for record in records if record.timestamp is not None]
        started, ended = min(times, default=None), max(times, default=None)
        worth = judge(session, gone)
        done = outcomes.completed(session, worth, files)
        left = outcomes.next_steps(session, said)
        learned = findings.learned(session, worth, [done, left])
        fields = {
            "title": titles.title(session),
            "request": prompts.request(session),
            "investigated": findings.investigated(session, files),
            "learned": learned,
            "completed": done,
            "next_steps": left,
            "notes": outcomes.notes(session, said, [left, learned]),
        }
        open_errors = [error.text for error in met if error.outcome not in ENDED]
        text = _search_text(
            fields, distinct(base_name(path) for path in files.modified), open_errors
        )
        return Summary(
            id=f"summary::{session.session_id}",
            project=session.project,
            project_root=session.project_root,
            agent=session.agent,
            session_id=session.session_id,
            files_read=tuple(files.read),
            files_modified=tuple(files.modified),
            commands=commands(session),
            errors=met,
            commits=committed,
            started_at=started,
            ended_at=ended,
            duration_seconds=(ended - started).total_seconds() if started and ended else 0.0,
            turns=len(session.turns),
            prompts=sum(turn.typed is not None for turn in session.turns),
            tool_calls=sum(record.kind == "tool_use" for record in records),
            git_branch=_main_branch(session),
            text=text,
            content_hash=content_hash(text),
            summarizer_id=self.summarizer_id,
            by_program=session.by_program,
            **fields,
        )


def _main_branch(session: SessionTurns) -> RedactedText:
    """Return the branch of most records; of equal ones the one seen last."""
    branches = [r.git_branch for r in session.records if r.git_branch and r.git_branch != "HEAD"]
    if not branches:
        return EMPTY
    counts = Counter(branches)
    most = max(counts.values())
    return next(branch for branch in reversed(branches) if counts[branch] == most)


def _search_text(
    fields: dict[str, RedactedText], modified: list[RedactedText], errors: list[RedactedText]
) -> RedactedText:
    """Return the text to embed and search: most important first, no labels, `TEXT_LIMIT` long."""
    title, asked = fields["title"], fields["request"]
    if title.rstrip("….") in asked:
        title = EMPTY
    parts = [
        title,
        *(shorten(one, _FIELD_LENGTH) for one in (asked, fields["completed"], fields["learned"])),
    ]
    if modified:
        parts.append(compose("Files: {}", listing(modified, 8)))
    parts += [shorten(error, 120) for error in errors[:2]]
    parts.append(fields["next_steps"])
    if not any(parts):
        parts = [fields["investigated"]]
    return join("\n", fitted(distinct(parts), TEXT_LIMIT))
