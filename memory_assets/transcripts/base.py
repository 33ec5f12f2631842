"""Facts of a transcript file: its `Source`, and what was read (`ReadReport`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_assets.paths import locator_of
from memory_assets.transcripts.account import Account
from memory_assets.transcripts.texts import content_bytes

MAX_DISTINCT = 500
"""Names counted apart in one counter of a report, so that no file can make it large."""
OTHERS = "(others)"


def _count(counter: Counter[str], name: str) -> None:
    counter[name if name in counter or len(counter) < MAX_DISTINCT else OTHERS] += 1


@dataclass(frozen=True, slots=True)
class Source:
    """Facts about one transcript file on disk, never its text.

    `session_id` is the conversation the file belongs to: for a subagent's file that
    of its parent, as far as it is known, and `agent_id` is then the subagent's own id.
    `parts` are further files that go on where the one at `path` ends, in order; `size` is that of
    all together, `mtime_ns` that of the newest. `directory` is the one that its records name, as
    they spell it, or as `project_names.spelled` does; "" if they name none.
    `member` names one session of a container that holds many (a database at `path`); `size` and
    `mtime_ns` are then a token of its state and no bounds of its lines.
    """

    agent: str
    project: str
    session_id: str
    agent_id: str | None
    path: Path
    size: int
    mtime_ns: int
    parts: tuple[Path, ...] = ()
    directory: str = ""
    member: str = ""

    @property
    def locator(self) -> str:
        """Where it lies, in one string: the path, with the member of a container behind `#`."""
        return locator_of(self.path, self.member)

    @property
    def files(self) -> tuple[Path, ...]:
        """All its files, in order."""
        return (self.path, *self.parts)


@dataclass(frozen=True, slots=True)
class Unlisted:
    """A file or directory that could not be read or named: its printable path, the reason,
    and what the user can do about it."""

    agent: str
    path: str
    reason: str
    remedy: str


Note = Callable[[Unlisted], None]
"""Called with each file or directory that could not be read or named."""


def ignore(unlisted: Unlisted) -> None:
    """Ignore a file or directory that could not be read."""


class Known:
    """What an earlier walk found; this one: nothing, every file is new."""

    def __call__(self, path: Path, size: int, mtime_ns: int) -> Source | None:
        """Return the source that a file is, if it is unchanged."""
        return None

    def members(self, container: Path, token: str) -> Sequence[Source] | None:
        """Return the sessions of a container that has the same token as when all of them were
        known; None if it may have others."""
        return None

    def last_seen(self, container: Path) -> Sequence[Source]:
        """Return the sessions that a container had, which cannot be read now."""
        return ()

    def see(self, container: Path, token: str) -> None:
        """Note the token that a container had before its sessions were listed."""


nothing_known = Known()


@dataclass(slots=True)
class ReadReport:
    """Counts and facts of one file, filled in while its records are consumed.

    `records == kept + sum(dropped.values())` always holds. A half-written last line is none of the
    `lines`; `pending_bytes` is its length.
    """

    lines: int = 0
    bad_line_count: int = 0
    """Lines that are neither blank nor exactly one JSON object."""
    bytes_read: int = 0
    complete_offset: int = 0
    """End of the last complete line."""
    pending_bytes: int = 0
    """Length of a half-written last line. Not an error: its writer may still be running."""

    records: int = 0
    """JSON objects read."""
    kept: int = 0
    """Objects that gave at least one `Record`."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Objects that gave none, by reason."""
    blocks: int = 0
    """`Record`s yielded."""
    prompts: int = 0
    """`Record`s of kind "prompt" yielded."""
    unknown_types: Counter[str] = field(default_factory=Counter)

    first_timestamp: datetime | None = None
    """The earliest; timestamps are not in file order."""
    last_timestamp: datetime | None = None
    first_cwd: str = ""
    agent_versions: set[str] = field(default_factory=set)
    own_session_ids: Counter[str] = field(default_factory=Counter)
    """Session ids found in the records."""
    parent_session: str | None = None
    """The session that this one was forked from, if the format names it."""

    account: Account | None = None
    """Compares every object with its records, if there is to be an account of its text."""
    reason: str = ""
    """Why the object last read gave no `Record`."""
    version: str = ""
    """The version of the agent that was named last."""

    passed_over: list[tuple[str, bytes]] = field(default_factory=list)
    """Ids and content of the objects that gave no `Record`."""

    def end_file(self) -> None:
        """Count a half-written last line as bad, in a file that nobody goes on to write."""
        if self.pending_bytes:
            self.lines += 1
            self.bad_line_count += 1
            self.pending_bytes = 0

    def pass_over(self, record_uuid: str, content: Any = None) -> None:
        """Note an object that gave no `Record`, by its id and the part of it with texts."""
        self.passed_over.append((record_uuid, content_bytes(content)))

    def see_unknown(self, name: str) -> None:
        """Count a record type that the reader does not know."""
        _count(self.unknown_types, name)

    def see_session(self, session_id: str) -> None:
        """Count an object that names `session_id` as its session; "" is none."""
        if session_id:
            _count(self.own_session_ids, session_id)

    def see_version(self, version: str) -> None:
        """Note a version of the agent."""
        versions = self.agent_versions
        self.version = version or self.version
        if version and version not in versions and len(versions) < MAX_DISTINCT:
            versions.add(version)

    def see_cwd(self, cwd: str) -> None:
        """Note a working directory; the first one counts."""
        if cwd and not self.first_cwd:
            self.first_cwd = cwd

    def see_parent(self, session_id: str | None) -> None:
        """Note the session that this one was forked from; the first one counts."""
        if session_id and self.parent_session is None:
            self.parent_session = session_id

    def see_time(self, timestamp: datetime | None) -> None:
        """Widen the time span to include `timestamp`, if there is one."""
        if timestamp is None:
            return
        if self.first_timestamp is None or timestamp < self.first_timestamp:
            self.first_timestamp = timestamp
        if self.last_timestamp is None or timestamp > self.last_timestamp:
            self.last_timestamp = timestamp
