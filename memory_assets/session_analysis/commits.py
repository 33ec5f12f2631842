"""The commits that a session made, from git's own output and from `git commit -m`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memory_assets.models import RedactedRecord
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis.phrases import EMPTY, names, shorten
from memory_assets.session_analysis.session import Calls, SessionTurns
from memory_assets.session_analysis.shell import Segment, segments

MOST_COMMITS = 40
_SUBJECT_LIMIT = 120
_MADE = re.compile(
    r"^\[((?:[\w./@#+-]+|detached HEAD))(?: \(root-commit\))? ([0-9a-f]{7,40})\] (\S.*)$",
    re.MULTILINE,
)
_LISTED = re.compile(
    r"^(?:\* |commit )?([0-9a-f]{7,40})(?:\s+\([^)\n]*\))?\s+(\S.*)$", re.MULTILINE
)
_HEREDOC = re.compile(r"<<-?\s*[\"']?(\w+)[\"']?[^\n]*\n\s*([^\n]+)")
_MESSAGE = re.compile(r"\s-(?:m|am|\w*m|-message)[ =]?\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*')", re.DOTALL)
_LEADING_SHA = re.compile(r"\A[0-9a-f]{7,40} ")
_VERBS = names("commit cherry-pick revert")


@dataclass(frozen=True, slots=True)
class MadeCommit:
    """A commit as its maker's output names it: `sha` is as long as git printed it, or ""
    where git was quiet."""

    sha: str
    subject: RedactedText
    branch: RedactedText = EMPTY

    def sha_in(self, text: RedactedText) -> RedactedText:
        """Return the SHA, cut from the text that names it."""
        at = text.find(self.sha)
        return text.cut(at, at + len(self.sha))


def commits(session: SessionTurns) -> tuple[RedactedText, ...]:
    """Return "SHA subject" of each commit made, oldest first; the subject alone where git
    said no SHA. An amended commit keeps its place and shows its last SHA."""
    found: dict[RedactedText, RedactedText] = {}
    calls = Calls()
    for record in session.records:
        for made in made_in(record, calls.ended(record)):
            if made.sha:
                found[made.subject] = compose("{} {}", made.sha_in(record.text), made.subject)
            else:
                found.setdefault(made.subject, made.subject)
    return tuple(found.values())[:MOST_COMMITS]


def made_in(record: RedactedRecord, command: RedactedText) -> list[MadeCommit]:
    """Return the commits that a call made, `record` being its result and `command` what it ran.

    Those that git printed; if it printed none, the one that `git commit --quiet` made, with its SHA
    if a listing in the same output shows its subject.
    """
    if not any(verb in command for verb in _VERBS) or not makes_commits(command):
        return []
    printed = printed_in(record.text)
    if printed or record.is_error:
        return printed
    quiet = _quiet_subject(command)
    if quiet is None:
        return []
    listed = [
        found.group(1)
        for found in _LISTED.finditer(record.text)
        if _subject(record.text.cut(*found.span(2))) == quiet
    ]
    return [MadeCommit(listed[0] if listed else "", quiet)]


def printed_in(text: RedactedText) -> list[MadeCommit]:
    """Return the commits in a text, as printed by `git commit`: `[branch sha] subject`."""
    return [
        MadeCommit(
            made.group(2), _subject(text.cut(*made.span(3))), text.cut(*made.span(1)).squeezed()
        )
        for made in _MADE.finditer(text)
    ]


def makes_commits(command: RedactedText) -> bool:
    """Return True if a segment runs `git commit`, `cherry-pick` or `revert`, with or without
    options before the verb."""
    return any(_git_verb(segment) in _VERBS for segment in segments(command))


def _git_verb(segment: Segment) -> str:
    words = iter(segment.words[1:] if segment.program == "git" else ())
    for word in words:
        if word in ("-C", "-c"):
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""


def _quiet_subject(command: RedactedText) -> RedactedText | None:
    """Return the subject of `git commit -q -m`, which prints nothing if it succeeds."""
    quiet = any(
        segment.program == "git" and ("-q" in segment.words or "--quiet" in segment.words)
        for segment in segments(command)
    )
    if not quiet or "git commit" not in command:
        return None
    command = command.cut(max(command.find("git commit"), 0))
    heredoc = _HEREDOC.search(command)
    if heredoc:
        return _subject(command.cut(*heredoc.span(2)))
    message = _MESSAGE.search(command)
    if message is None:
        return None
    start, end = message.span(1)
    return _subject(command.cut(start + 1, end - 1).lines()[0])


def _subject(text: RedactedText) -> RedactedText:
    return shorten(text.squeezed(), _SUBJECT_LIMIT)


def subjects(made: Iterable[RedactedText]) -> list[RedactedText]:
    """Return the commits without their SHA."""
    return [text.sub(_LEADING_SHA, "") for text in made]
