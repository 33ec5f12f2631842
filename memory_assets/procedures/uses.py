"""The commands of one session that worked, with their purpose and directory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

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
"""Parts that differ between uses or machines: values of variables, temporary files, ids, numbers,
versions, search paths."""
_ROOTED = re.compile(r"^(?:[/~]|[A-Za-z]:[\\/])")


@dataclass(frozen=True, slots=True)
class Seen:
    """The turn of a session in which something happened, and the time."""

    session_id: str
    turn_id: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Use(Seen):
    """One command of a turn that worked. `text` is the command without redirections and wrappers;
    `where` its directory, relative to the project's root, "" for the root."""

    text: str
    purpose: str
    words: tuple[str, ...]
    where: str

    @property
    def command(self) -> str:
        """The command as it is run from the project's directory."""
        return f"cd {self.where} && {self.text}" if self.where else self.text


def uses(session: SessionTurns) -> Iterator[Use]:
    """Yield the commands of a session that worked and have a purpose, in order. `text` is "" if the
    command cannot be repeated: it has temporary files, ids, variables, or several lines."""
    for run in all_runs(session):
        if run.segment is None or run.failed:
            continue
        where = _directory_of(session, run)
        if where is None:
            continue
        exported = _exported_variables(run)
        for part in working_segments(run.record.command) or [run.segment]:
            purpose = purpose_of(part)
            if not purpose:
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
    """Return a command as it can be typed again; "" if it cannot be repeated."""
    lines = segment.text.lines()
    line = _REDIRECTED.sub("", _HEREDOC.sub("", str(lines[0])))
    line = _DECORATION.sub("", " ".join(line.split()))
    line = " ".join([*exported, line])
    whole = len(lines) == 1 and line.count('"') % 2 == 0 and line.count("'") % 2 == 0
    if not whole or len(line) > _LONGEST or _ONCE.search(line):
        return ""
    return line


def _exported_variables(run: Run) -> list[str]:
    """Return the assignments that a command exports: `NAME=VALUE`."""
    return [
        str(word)
        for part in segments(run.record.command)
        if part.program == "export"
        for word in part.words[1:]
        if "=" in word
    ]


def _directory_of(session: SessionTurns, run: Run) -> str | None:
    """Return the directory of a command, relative to the project's root; None if it is outside."""
    root = str(session.project_root).rstrip("/\\")
    ran_in = str(run.record.cwd).rstrip("/\\")
    for part in segments(run.record.command):
        if part.program != "cd" or len(part.words) != 2:
            continue
        target = str(part.words[1]).rstrip("/\\")
        ran_in = target if _ROOTED.match(target) else f"{ran_in}/{target}"
    below = ran_in.removeprefix(root)
    if not ran_in or "worktree" in below:
        return ""
    if (
        not ran_in.startswith(root)
        or below[:1] not in ("", "/", "\\")
        or "$" in ran_in
        or ".." in ran_in
    ):
        return None
    return below.replace("\\", "/").strip("/")
