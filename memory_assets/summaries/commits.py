"""The commits that a session made, from git's own output and from `git commit -m`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory_assets.redacted_text import RedactedText, compose
from memory_assets.summaries.calls import Calls
from memory_assets.summaries.phrases import shorten, squeeze
from memory_assets.summaries.session import SessionTurns
from memory_assets.summaries.shell import segments

MOST_COMMITS = 40
_SUBJECT_LIMIT = 120
_MADE = re.compile(
    r"^\[(?:[\w./@#+-]+|detached HEAD)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (\S.*)$",
    re.MULTILINE,
)
_HEREDOC = re.compile(r"<<-?\s*[\"']?(\w+)[\"']?[^\n]*\n\s*([^\n]+)")
_MESSAGE = re.compile(r"\s-(?:m|am|\w*m|-message)[ =]?\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*')", re.DOTALL)


def commits(session: SessionTurns) -> tuple[RedactedText, ...]:
    """Return "SHA subject" of each commit made, oldest first; the subject alone where git
    said no SHA. An amended commit keeps its place and shows its last SHA."""
    found: dict[RedactedText, RedactedText] = {}
    calls = Calls()
    for record in session.records:
        command = calls.ended(record)
        if "commit" not in command or not _commits(command):
            continue
        printed = list(_MADE.finditer(record.text))
        for made in printed:
            subject = _subject(record.text.cut(*made.span(2)))
            found[subject] = compose("{} {}", record.text.cut(*made.span(1)), subject)
        if not printed and not record.is_error:
            quiet = _quiet_subject(command)
            if quiet:
                found.setdefault(quiet, quiet)
    return tuple(found.values())[:MOST_COMMITS]


def _commits(command: RedactedText) -> bool:
    """Whether a segment runs `git commit`, options between them allowed."""
    return any(
        segment.program == "git" and "commit" in segment.words[1:6] for segment in segments(command)
    )


def _quiet_subject(command: RedactedText) -> RedactedText | None:
    """The subject of `git commit -q -m`, which prints nothing when it succeeds."""
    quiet = any(
        segment.program == "git" and ("-q" in segment.words or "--quiet" in segment.words)
        for segment in segments(command)
    )
    if not quiet:
        return None
    command = command.cut(max(command.find("git commit"), 0))
    heredoc = _HEREDOC.search(command)
    if heredoc:
        return _subject(command.cut(*heredoc.span(2)))
    message = _MESSAGE.search(command)
    if message is None:
        return None
    start, end = message.span(1)
    line = command.cut(start + 1, end - 1)
    return _subject(line.cut(0, line.find("\n") if "\n" in line else None))


def _subject(text: RedactedText) -> RedactedText:
    return shorten(squeeze(text), _SUBJECT_LIMIT)


def subjects(made: Iterable[RedactedText]) -> list[RedactedText]:
    """Return the commits without their SHA."""
    return [
        text.cut(text.find(" ") + 1) if re.match(r"[0-9a-f]{7,40} ", text) else text
        for text in made
    ]
