"""The commands of one session that worked, each with what it is for and where it ran."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory_assets.procedures.lasting import Seen
from memory_assets.procedures.purposes import purpose_of
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.failures import Run, all_runs
from memory_assets.session_analysis.shell import Segment, segments, working_segments

_LONGEST = 1_000
_HEREDOC = re.compile(r"\s*<<.*$")
_REDIRECTED = re.compile(r"\s*(?:\d?>>?\s?(?:&\d|[\w./~-]+)|&>\s?\S+|<\s?\S+)")
_DECORATION = re.compile(
    r"^(?:(?:time|nohup|command|nice|exec|if|then|do|!)\s+|g?timeout\s+\d+\w?\s+)+"
)
_ONCE = re.compile(
    r"\$(?!PATH\b|\{?HOME\b|PWD\b)|`|/tmp\b|/var/folders|\btmp\.|\bscratch|mktemp|…"
    r"|\b[0-9a-f]{7,}\b|\b\d{3,}\b|\bv?\d+\.\d+\.\d+|\d{4}-\d\d-\d\d|\bPATH="
)
"""What differs from use to use, or from machine to machine: values of variables, temporary files,
ids, numbers, versions, search paths."""
_ROOTED = re.compile(r"^(?:[/~]|[A-Za-z]:[\\/])")


@dataclass(frozen=True, slots=True)
class Use(Seen):
    """One command of a turn that worked. `text` is how it was typed, without redirections and what
    only wraps it; `where` the directory below the project's, "" for its root."""

    text: str
    purpose: str
    words: tuple[str, ...]
    where: str

    @property
    def command(self) -> str:
        """The command as it is run from the project's directory."""
        return f"cd {self.where} && {self.text}" if self.where else self.text


def uses(session: SessionTurns) -> Iterator[Use]:
    """Yield the commands of a session that worked and are for something, in order; `text` is ""
    where they could not be run again: with temporary files, ids, variables, or more than a line."""
    for run in all_runs(session):
        if run.segment is None or run.failed or (where := _where(session, run)) is None:
            continue
        exported = _exported(run)
        for part in working_segments(run.record.command) or [run.segment]:
            if not (purpose := purpose_of(part)):
                continue
            yield Use(
                text="" if "<redacted" in run.record.command else typed(part, exported),
                purpose=purpose,
                words=tuple(str(word) for word in part.words),
                where=where,
                session_id=session.session_id,
                turn_id=run.turn.id,
                at=run.record.timestamp,
            )


def typed(segment: Segment, exported: Sequence[str] = ()) -> str:
    """Return a command as it can be typed again, "" if it cannot."""
    lines = segment.text.lines()
    line = _REDIRECTED.sub("", _HEREDOC.sub("", str(lines[0])))
    line = _DECORATION.sub("", " ".join(line.split()))
    line = " ".join([*exported, line])
    whole = len(lines) == 1 and line.count('"') % 2 == 0 and line.count("'") % 2 == 0
    if not whole or len(line) > _LONGEST or _ONCE.search(line):
        return ""
    return line


def _exported(run: Run) -> list[str]:
    return [
        str(word)
        for part in segments(run.record.command)
        if part.program == "export"
        for word in part.words[1:]
        if "=" in word
    ]


def _where(session: SessionTurns, run: Run) -> str | None:
    """Return where a command ran, below the project's directory; None if that is elsewhere."""
    root, at = str(session.project_root).rstrip("/\\"), str(run.record.cwd).rstrip("/\\")
    for part in segments(run.record.command):
        if part.program != "cd" or len(part.words) != 2:
            continue
        to = str(part.words[1]).rstrip("/\\")
        at = to if _ROOTED.match(to) else f"{at}/{to}"
    below = at.removeprefix(root)
    if not at or "worktree" in below:
        return ""
    if not at.startswith(root) or below[:1] not in ("", "/", "\\") or "$" in at or ".." in at:
        return None
    return below.replace("\\", "/").strip("/")
