"""The summarizer: it selects sentences and facts of the session, and adds counts."""

from __future__ import annotations

from collections import Counter

from memory_assets.models import Summary
from memory_assets.redacted_text import RedactedText, compose, content_hash, join
from memory_assets.session_analysis.commits import commit_lines
from memory_assets.session_analysis.failures import ENDED, errors_met
from memory_assets.session_analysis.files import touched_files
from memory_assets.session_analysis.phrases import (
    EMPTY,
    base_name,
    cut_to_room,
    distinct,
    listing,
    shorten,
)
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.shell import significant_commands
from memory_assets.session_analysis.statements import (
    agent_sentences,
    repeated_prompt_turns,
    withdrawn_turns,
)
from memory_assets.summaries import findings, outcomes, prompts, titles
from memory_assets.summaries.clues import judge

TEXT_LIMIT = 880
"""One window of the embedder: at most 256 word pieces in 98% of the real sessions."""

_FIELD_LENGTH = 300
"""Characters of one field in it."""


class ExtractiveSummarizer:
    """Summaries without an LLM. Stateless; equal sessions give equal summaries."""

    summarizer_id = "extractive-28"
    """Changes with every change of a heuristic."""
    reason = ""

    def summarize(self, session: SessionTurns) -> Summary:
        """Return the session's summary; fields without content are empty."""
        records = session.records
        withdrawn = withdrawn_turns(session) | repeated_prompt_turns(session)
        sentences = [
            sentence
            for sentence in agent_sentences(session.turns)
            if session.turns[sentence.turn_number].id not in withdrawn
        ]
        files = touched_files(session)
        commits = commit_lines(session)
        errors = errors_met(session)
        times = [record.timestamp for record in records if record.timestamp is not None]
        started, ended = min(times, default=None), max(times, default=None)
        judged = judge(session, withdrawn)
        completed = outcomes.completed(session, judged, files)
        next_steps = outcomes.next_steps(session, sentences)
        learned = findings.learned(session, judged, [completed, next_steps])
        fields = {
            "title": titles.title(session),
            "request": prompts.request(session),
            "investigated": findings.investigated(session, files),
            "learned": learned,
            "completed": completed,
            "next_steps": next_steps,
            "notes": outcomes.notes(session, sentences, [next_steps, learned]),
        }
        open_errors = [error.text for error in errors if error.outcome not in ENDED]
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
            commands=significant_commands(session),
            errors=errors,
            commits=commits,
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
    title, request = fields["title"], fields["request"]
    if title.rstrip("….") in request:
        title = EMPTY
    parts = [
        title,
        *(
            shorten(field, _FIELD_LENGTH)
            for field in (request, fields["completed"], fields["learned"])
        ),
    ]
    if modified:
        parts.append(compose("Files: {}", listing(modified, 8)))
    parts += [shorten(error, 120) for error in errors[:2]]
    parts.append(fields["next_steps"])
    if not any(parts):
        parts = [fields["investigated"]]
    return join("\n", cut_to_room(distinct(parts), TEXT_LIMIT))
