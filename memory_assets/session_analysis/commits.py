"""The commits that a session made, from git's own output and from `git commit -m`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from memory_assets.models import RedactedRecord, Turn
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis.phrases import EMPTY, Phrase, shorten
from memory_assets.session_analysis.session import Calls, SessionTurns
from memory_assets.session_analysis.shell import (
    SEARCHERS,
    VIEWERS,
    Segment,
    segments,
    working_segments,
)
from memory_assets.word_lists import word_set

MOST_COMMITS = 40
_SUBJECT_LIMIT = 120
_MADE = re.compile(
    r"(?:^|\\n|\"|: )\[((?:[\w./@#+-]+|detached HEAD))(?: \(root-commit\))? ([0-9a-f]{7,40})\] "
    r"(\S(?:(?!\\[nr]|\"\s*[,}\]])[^\n])*)(?P<counted>(?:\n|\\n) \d+ files? changed)?",
    re.MULTILINE,
)
"""What `git commit` prints, on a line of its own or in JSON or a message that quotes it."""
_LISTED = re.compile(
    r"^(?:\* |commit )?([0-9a-f]{7,40})(?:\s+\([^)\n]*\))?\s+(\S.*)$", re.MULTILINE
)
_ACKNOWLEDGED = re.compile(r"^ok(?: \W)? ([0-9a-f]{7,40})\b", re.MULTILINE)
"""What programs print that shorten git's output for agents, such as rtk."""
_COMMITS = re.compile(r"\bgit(?: -\w (?:'[^'\n]*'|\"[^\"\n]*\"|[^\s'\"]+))* commit\b")
_HEREDOC = re.compile(r"<<-?\s*[\"']?(\w+)[\"']?[^\n]*\n\s*([^\n]+)")
_MESSAGE = re.compile(r"\s-(?:m|am|\w*m|-message)[ =]?\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*')", re.DOTALL)
REVERT = re.compile(r"[Rr]evert:? [\"“](?P<subject>.+)[\"”]")
_CHANGE_COUNTS = re.compile(
    r"(?:\n|\\n|\"|: )\["
    r"| \d+ files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?"
)
"""The line of the next commit, or how many files and lines this one changed."""
_BESIDE_THE_PRODUCT = Phrase(r"(?:docs?|tests?|chore|ci|build|style|rules)\b")
_WRITTEN = re.compile(
    r"^ Date: +[A-Z][a-z]{2} ([A-Z][a-z]{2} +\d+ [\d:]{8} \d{4} [+-]\d{4})$", re.M
)
"""The author date of an amended commit, which git prints below the commit's line."""
_MADE_WITHIN = timedelta(minutes=10)
"""The longest time between that date and the end of the call that first made the commit, with
hooks."""
_REBASES = re.compile(
    r"\bgit\b[^\n;&|]* (?:rebase|filter-(?:repo|branch)|pull\b[^\n;&|]*--rebase)\b"
    r"|\bgt (?:sync|restack|modify|submit)\b"
)
"""Commands that give earlier commits other SHAs."""
_BEGINS_BRANCH = re.compile(
    r"\bgit\b[^\n;&|]* (?:(?:(?:checkout|switch)(?: -\S+)* (?:-[bBcC]|--create)|"
    r"branch -[mM](?: [^\s;&|]+)?) [^\s;&|]+|(?:checkout|switch) --detach)"
    r"(?: HEAD)?\s*(?:[;&\n]|$)"
)
"""Commands that put the checked-out commit on another branch."""
_SHA = re.compile(r"\b[0-9a-f]{7,40}\b")
_SHORTEST_SHA = 7
RESET, AMENDED = "reset", "amended"
_BACK = re.compile(r"(?:HEAD|@)(?:~(\d*)|(\^+))")
_ROUTINE = Phrase(
    r"^\W*(?:release|merge|initial commit|init\b|wip\b|checkpoint|fixup!|squash!|tmp\b|temp\b|"
    r"v?\d+\.\d+|style|"
    r"sync(?:ed)?\b.*\b(?:sessions?|conversations?|journals?|logs|transcripts?)|"
    r".*\b(?:(?:un(?:used|necessary|needed)|redundant|missing) (?:\w+ )*(?:imports?|casts?|"
    r"variables?|parameters?)|(?:clarify|fix|update|add|remove)\w* (?:\w+ )?comments?|"
    r"for debugging|barrel)\b|"
    r".*\bv?\d+\.\d+\S* in (?:the )?changelog|.*\bmark \w+ steps\b|.*\[touch\]|"
    r"(?:\w+: )?(?:re)?trigger (?:\w+ ){0,2}(?:deploy\w*|builds?|ci|pipeline|workflow)\b|"
    r".*\b(?:pr|pull request|task|work ?log) (?:desc\w*|summary|docs?|document\w*|status|"
    r"spec\w*)\b|"
    r"(?:chore|build|ci)(?:\([^)]*\))?!?: ?(?:release|bump|version|prepare release)|"
    r"(?:fix|update|run|apply|correct)? ?(?:the )?(?:lint\w*|format\w*|gofmt|prettier|typos?)\b)"
)
"""Beginnings of subjects of routine commits, which nobody asks for later."""
_SAYS_LITTLE = Phrase(
    r"^\W*(?:[\w#]+(?:\([^)]*\))?!?: ?)?(?:bump|clarif\w+|improve\w*|updat\w+|refine|document\w*|"
    r"polish|tweak|address|sync|minor|small|various|misc\w*|clean ?up|cleanup|regenerat\w+|apply|"
    r"more|(?:comprehensive )?(?:repository|various|several) improvements|"
    r"add (?:\w+ ){0,3}(?:comments?|tests?|docs?|documentation|links?|badges?)|"
    r"\w+ (?:pr |review |code )*(?:feedback|comments?|suggestions?))\b"
    r"|\breview (?:follow-?ups?|items|nits|fixes)\b"
    r"|\b(?:align\w*|indent\w*|spacing|padding|colou?rs?|wording)\b"
)
"""Beginnings of subjects that are vague without the rest of the message."""
_VERBS = word_set("commit cherry-pick revert")
_SHOWING = VIEWERS | SEARCHERS | word_set("git gh awk jq echo ls find strings diff")


@dataclass(frozen=True, slots=True)
class MadeCommit:
    """A commit as the output of `git commit` names it: `sha` is as long as git printed it, or "" if
    git was quiet; `lines` is the number of changed lines, if git printed it."""

    sha: str
    subject: RedactedText
    branch: RedactedText = EMPTY
    lines: int = 0

    def sha_in(self, text: RedactedText) -> RedactedText:
        """Return the SHA, cut from the text that names it."""
        at = text.find(self.sha)
        return text.cut(at, at + len(self.sha))


@dataclass(frozen=True, slots=True)
class CommitCall:
    """A commit, the turn and the record in which it was made, the text that names its SHA (for a
    rebased one a later listing), and the command with its message."""

    made: MadeCommit
    turn: Turn
    record: RedactedRecord
    named_in: RedactedText
    message: RedactedText

    @property
    def sha(self) -> RedactedText:
        """The SHA as long as git printed it, or "" where git was quiet."""
        return self.made.sha_in(self.named_in)


def commit_lines(session: SessionTurns) -> tuple[RedactedText, ...]:
    """Return "SHA subject" of each commit that stayed, oldest first; only the subject if git
    printed no SHA."""
    lines: list[RedactedText] = []
    for call in commits_that_stayed(session):
        subject, sha = call.made.subject, call.sha
        lines.append(compose("{} {}", sha, subject) if sha else subject)
    return tuple(lines[:MOST_COMMITS])


def commits_that_stayed(session: SessionTurns) -> Sequence[CommitCall]:
    """Return the commits of a session in order, without those that it replaced by an amendment, by
    a commit with the same subject, or by a reset to an earlier commit."""
    return session.once(_history)[0]


def replaced_commits(session: SessionTurns) -> Mapping[str, str]:
    """Return, by the SHA of each replaced commit, as long as git printed it, the SHA of its
    replacement: `RESET` for a reset, `AMENDED` if git printed no SHA."""
    return session.once(_history)[1]


def _history(session: SessionTurns) -> tuple[Sequence[CommitCall], Mapping[str, str]]:
    stayed: dict[RedactedText, CommitCall] = {}
    replacements: dict[str, str] = {}
    calls = Calls()
    rebased = False
    for turn in session.turns:
        for record in turn.records:
            command = calls.ended(record)
            if not command:
                continue
            rebased = rebased or _REBASES.search(command) is not None
            if rebased:
                replacements |= _note_rebased(stayed, record)
            printed = commits_made_by(record, command)
            if not record.is_error:
                for _ in range(min(_reset_by(command), len(stayed))):
                    replacements[stayed.popitem()[1].made.sha] = RESET
            if not (printed or record.is_error) and stayed and _amends_quietly(command, record):
                earlier = stayed.popitem()[1]
                sha = "".join(_ACKNOWLEDGED.findall(record.text)[-1:])
                sha = sha or _listed_sha(earlier.made.subject, record)
                amended = MadeCommit(sha, earlier.made.subject)
                replacements[earlier.made.sha] = amended.sha or AMENDED
                stayed[amended.subject] = CommitCall(
                    amended, turn, record, record.text, earlier.message
                )
            for made, amends in zip(printed, _amending(command, len(printed)), strict=True):
                replaced = stayed.pop(made.subject, None)
                can_amend = amends and _may_amend(stayed, made, amends, record, command)
                if replaced is None and can_amend:
                    replaced = stayed.popitem()[1]
                own_message = _MESSAGE.search(command) or _HEREDOC.search(command)
                message = replaced.message if replaced is not None and not own_message else command
                stayed[made.subject] = CommitCall(made, turn, record, record.text, message)
                if replaced is not None:
                    replacements[replaced.made.sha] = made.sha or AMENDED
    present = {call.made.sha for call in stayed.values()}
    return list(stayed.values()), {
        old: new for old, new in replacements.items() if old and old not in present
    }


def _amending(command: RedactedText, printed: int) -> list[Segment | None]:
    """Return for each commit that a command printed the segment that amended it; None if another
    segment made it, or it is unclear which one did."""
    making = [
        segment
        for segment in segments(command)
        if "--amend" in segment.words or _git_verb(segment) in _VERBS
    ]
    amends = [segment if "--amend" in segment.words else None for segment in making]
    if len(amends) == printed:
        return amends
    return [amends[0] if amends and all(amends) else None] * printed


def _may_amend(
    stayed: dict[RedactedText, CommitCall],
    made: MadeCommit,
    amends: Segment,
    record: RedactedRecord,
    command: RedactedText,
) -> bool:
    """Return False if an amended commit with another subject cannot be the last one of the session:
    because of `--no-edit`, another branch that the command did not begin, or another author
    date."""
    if not stayed or "--no-edit" in amends.words:
        return False
    last = next(reversed(stayed.values()))
    on_other_branch = made.branch and last.made.branch and made.branch != last.made.branch
    if on_other_branch and not _BEGINS_BRANCH.search(command):
        return False
    written, last_written = _written_at(record), _written_at(last.record) or last.record.timestamp
    return written is None or last_written is None or abs(written - last_written) <= _MADE_WITHIN


def _written_at(record: RedactedRecord) -> datetime | None:
    """Return when an amended commit was first written; None if git did not print it."""
    date = _WRITTEN.search(record.text)
    with suppress(ValueError):  # what looks like git's line may be anything
        return datetime.strptime(date[1], "%b %d %H:%M:%S %Y %z") if date else None
    return None


def _note_rebased(stayed: dict[RedactedText, CommitCall], record: RedactedRecord) -> dict[str, str]:
    """Update the SHAs of commits that an output lists under new ones, and return the new SHAs by
    the old ones; commits whose old SHA is also listed keep it."""
    replacements: dict[str, str] = {}
    listed_shas = {sha[:_SHORTEST_SHA] for sha in _SHA.findall(record.text)}
    for new, subject in _listing(record) if listed_shas else ():
        call = stayed.get(subject)
        if call is None or not call.made.sha or call.made.sha[:_SHORTEST_SHA] in listed_shas:
            continue
        replacements[call.made.sha] = new
        renamed = replace(call.made, sha=new)
        stayed[subject] = replace(call, made=renamed, named_in=record.text)
    return replacements


def _amends_quietly(command: RedactedText, record: RedactedRecord) -> bool:
    """Return True if a command amends a commit under its subject, and git prints nothing, or a
    wrapper the SHA alone."""
    acknowledged = _ACKNOWLEDGED.search(record.text) is not None
    return any(
        _git_verb(segment) == "commit"
        and {"--amend", "--no-edit"} <= set(segment.words)
        and (acknowledged or {"-q", "--quiet"} & set(segment.words))
        for segment in segments(command)
    )


def _listed_sha(subject: RedactedText, record: RedactedRecord) -> str:
    """Return the SHA with which an output lists a subject, "" if it does not."""
    return next((sha for sha, listed in _listing(record) if listed == subject), "")


def _listing(record: RedactedRecord) -> Iterator[tuple[str, RedactedText]]:
    """Yield the SHA and the subject of each line of an output that lists a commit."""
    for line in _LISTED.finditer(record.text):
        yield line.group(1), _subject(record.text.cut(*line.span(2)))


def _reset_by(command: RedactedText) -> int:
    """Return the number of commits that a command resets; 0 if paths follow the revision, because
    that moves no branch."""
    back = 0
    for segment in segments(command) if "reset" in command else ():
        if _git_verb(segment) != "reset" or {"-p", "--patch", "--"} & set(segment.words):
            continue
        plain = [word for word in segment.words if word[:1] != "-" and not {*"<>"} & {*word}]
        if plain and (last := _BACK.fullmatch(plain[-1])):
            back += len(last[2]) if last[2] else int(last[1] or 1)
    return back


def commits_made_by(record: RedactedRecord, command: RedactedText) -> list[MadeCommit]:
    """Return the commits that a call made, `record` being its result and `command` what it ran.

    Those that git printed; if it printed none, those of which a wrapper printed the SHA, or the one
    that `git commit --quiet` made, with its SHA if a listing in the same output shows its subject.
    Of other programs than git, those that were printed with the number of files changed: a script
    may commit, and a file may quote a commit.
    """
    if not command:
        return []
    if not any(verb in command for verb in _VERBS) or not makes_commits(command):
        shows = " changed" in record.text and not record.is_error
        printed = commits_printed_in(record.text, counted=True) if shows else []
        return printed if printed and not _only_shows(command) else []
    printed = commits_printed_in(record.text)
    if printed or record.is_error:
        return printed
    subjects = _given_subjects(command)
    if shas := _ACKNOWLEDGED.findall(record.text):
        return [MadeCommit(sha, subject) for sha, subject in zip(shas, subjects, strict=False)]
    if not subjects or not _is_quiet(command):
        return []
    sha = _listed_sha(subjects[0], record)
    lines = _lines_below(record.text, record.text.find(sha)) if sha else 0
    return [MadeCommit(sha, subjects[0], lines=lines)]


def _only_shows(command: RedactedText) -> bool:
    """Return True unless a command runs something else than git and programs that show files."""
    programs = {segment.program for segment in working_segments(command)}
    return not programs - _SHOWING


def commits_printed_in(text: RedactedText, *, counted: bool = False) -> list[MadeCommit]:
    """Return the commits in a text, as printed by `git commit`: `[branch sha] subject`; if
    `counted`, only those below which the number of files stands."""
    return [
        MadeCommit(
            match.group(2),
            _subject(text.cut(*match.span(3))),
            text.cut(*match.span(1)).squeezed(),
            _lines_below(text, match.end(3)),
        )
        for match in _MADE.finditer(text)
        if match["counted"] or not counted
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


def _is_quiet(command: RedactedText) -> bool:
    """Return True for `git commit -q`, which prints nothing if it succeeds."""
    return any(
        segment.program == "git" and ("-q" in segment.words or "--quiet" in segment.words)
        for segment in segments(command)
    )


def _given_subjects(command: RedactedText) -> list[RedactedText]:
    """Return the subject of each `git commit` in a command, from a here-document or `-m`."""
    bounds = [*(commit.start() for commit in _COMMITS.finditer(command)), len(command)]
    subjects: list[RedactedText] = []
    for begin, end in pairwise(bounds):
        part = command.cut(begin, end)
        if heredoc := _HEREDOC.search(part):
            subjects.append(_subject(part.cut(*heredoc.span(2))))
        elif message := _MESSAGE.search(part):
            start, last = message.span(1)
            subjects.append(_subject(part.cut(start + 1, last - 1).lines()[0]))
    return subjects


def _subject(text: RedactedText) -> RedactedText:
    return shorten(text.squeezed(), _SUBJECT_LIMIT)


def is_routine(subject: str) -> bool:
    """Return True if a subject is one of a commit that nobody asks for later: a release, a merge,
    formatting."""
    return _ROUTINE.match(subject) is not None


def most_significant_first(calls: Sequence[CommitCall]) -> list[CommitCall]:
    """Return commits sorted by significance: the largest first, then those with a vague subject,
    last routine and reverted ones; each group by size."""
    reverted = {revert["subject"] for call in calls if (revert := REVERT.match(call.made.subject))}

    def order(call: CommitCall) -> tuple[int, float]:
        subject = call.made.subject
        rank = 0
        if subject in reverted or REVERT.match(subject) or is_routine(subject):
            rank = 2
        elif says_little(subject) or is_beside_the_product(subject):
            rank = 1
        return rank, -math.log2(1 + call.made.lines)

    return sorted(calls, key=order)


def is_beside_the_product(subject: str) -> bool:
    """Return True for the subject of a commit of documents, tests or the build."""
    return _BESIDE_THE_PRODUCT.match(subject) is not None


def _lines_below(text: str, start: int) -> int:
    """Return the number of changed lines that git printed below a commit's own line and before the
    next commit's; 0 if it printed none."""
    counted = _CHANGE_COUNTS.search(text, start)
    return sum(int(count) for count in counted.groups() if count) if counted else 0


def says_little(subject: str) -> bool:
    """Return True if a subject needs the rest of its message to tell anything ("address review
    feedback")."""
    return _SAYS_LITTLE.search(subject) is not None
