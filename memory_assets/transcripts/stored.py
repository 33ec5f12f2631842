"""Readers of files with many sessions, databases above all: which there are, and what changed; and
what the sessions of stores share: frames of rows, times, and calls of tools.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from memory_assets.errors import DamagedTranscript, TranscriptError, printable
from memory_assets.models import Record, Tokens
from memory_assets.paths import project_slug
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore
from memory_assets.transcripts.blocks import ShapedParser
from memory_assets.transcripts.databases import LENGTH, Database, open_database, token_of
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.fields import object_field, text_field
from memory_assets.transcripts.ids import safe_id, safe_name, type_name
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.reader import RenderingReader
from memory_assets.transcripts.session import STATE, Frame, Outcome
from memory_assets.transcripts.times import nanoseconds
from memory_assets.transcripts.unread import Columns, unread_text

_UNNAMED = re.compile(
    r"(?:new|child|untitled) (?:session|chat|thread|conversation|composer|agent|task)"
    r"(?: - \d{4}-\d\d-\d\d\S*)?",
    re.IGNORECASE,
)
"""What OpenCode ("New session - 2026-07-30T14:04:55.689Z"), Crush, Cursor, Goose, VS Code and Zed
call a session that has no title yet."""


class StoredParser(ShapedParser):
    """The state of reading one rendered session, whose rows are those of `session_rows`: its facts
    in one of type "session", its title in one of type "session-state", and all others what was
    said."""

    title_subtype = "ai-title"
    """How the title came about."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._ids: Counter[str] = Counter()

    def take(self, row: JsonObject) -> list[Record]:
        """Return the `Record`s that a row gives."""
        name = type_name(row.get("type"))
        role = text_field(row, "role") or text_field(object_field(row, "info"), "role")
        if name == SESSION:
            return self._resolve(self._opened(row))
        if name == STATE:
            return self._titled(row)
        if name == BESIDE:
            return self._resolve(STATE)
        return self._resolve(self._message(name, role, row))

    def _opened(self, row: JsonObject) -> str:
        """Note the session's facts; return why their row gives no record."""
        self._report.see_parent(safe_id(row.get("parent")))
        return self._begin(
            session=row.get("id"),
            cwd=text_field(row, "cwd"),
            version=text_field(row, "version"),
            start=row.get("start"),
            model=text_field(row, "model"),
        )

    def _message(self, name: str, role: str, row: JsonObject) -> Outcome:
        """Return what a row of another type gives."""
        raise NotImplementedError

    def _frame(
        self,
        row: Any,
        own: object = None,
        at: object = None,
        model: str = "",
        parent: object = None,
    ) -> Frame:
        """Return the frame of a row; its model is that of the rows after it, too. An id that rows
        share, as where a program blanked ids, is numbered."""
        if isinstance(own, str):
            self._ids[own] += 1
            own = own if self._ids[own] == 1 else f"{own}/{self._ids[own]}"
        self._model = safe_name(model) or self._model
        return super()._frame(row, own, at, parent=parent)

    def _tokens_of_all(self, row: JsonObject) -> Tokens:
        """Return the tokens of all answers, from the row of the session's changing facts, where the
        store counts them by session only."""
        return Tokens()

    def _titled(self, row: JsonObject) -> list[Record]:
        """Return the record of the session's title, from the row of its changing facts. What a
        program calls a session that nobody named is no title."""
        frame = self._frame(row, f"{row.get('id')}/title")
        title = text_field(row, "title")
        if _UNNAMED.fullmatch(title):
            records = self._records(frame, "system", title, "unnamed")
        else:
            records = self._records(frame, "title", title, self.title_subtype)
        return self._resolve(self._with_tokens(records, frame, self._tokens_of_all(row)))


SESSION = "session"
"""The type of the row that has a session's facts."""
BESIDE = "beside"
"""The type of the row with all that a session's document has beside what is read of it."""
_DELETED = "its agent has deleted the session"
_NOTHING = "nothing; what is on record stays"
_MOST_LISTINGS = 64
_MOST_ANCESTORS = 64
_LARGEST = (1 << 63) - 1


class Member(NamedTuple):
    """A session of a container: `size` and `mtime_ns` are those of `Source`, made of what one
    grouped query says (bytes and number of its rows, time of the newest)."""

    id: str
    cwd: str
    size: int
    mtime_ns: int
    parent: str = ""
    """The session that this one is a subagent's run of."""
    stand_in: str = ""
    """What the project is named after while nobody knows the directory: a hash of it, an id."""
    unread: Mapping[str, int] = {}
    """Bytes of its text by place that is not known."""


_Listing = Mapping[str, tuple[Source, Member]]
"""The sessions of a file, by member."""


class ContainerReader(RenderingReader):
    """A reader of files that have many sessions each."""

    declared = ""
    """Changes when sessions of a file that did not change have another state than before."""

    def __init__(self) -> None:
        self._listings: OrderedDict[Path, tuple[str, _Listing]] = OrderedDict()

    @abstractmethod
    def containers(self, walk: Walk, root: Path) -> Iterable[Path]:
        """Return where such files may be below a directory, in order."""

    @abstractmethod
    def members_of(self, path: Path) -> Iterable[Member]:
        """Return the sessions of a file in which something was said."""

    def holds(self, source: Source) -> bool:
        """Return whether a source is a session of such a file."""
        return bool(source.member)

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield the sessions of all files below `root`. One that cannot be read now has those that
        it had."""
        walk = Walk(self.agent, note)
        base = walk.root(root)
        for path in dict.fromkeys(self.containers(walk, base) if base else ()):
            if walk.is_there(path):
                yield from self._discovered(walk, path, known)

    def _discovered(self, walk: Walk, path: Path, known: Known) -> Sequence[Source]:
        try:
            token = token_of(path) + self.declared
            remembered = known.members(path, token)
            if remembered is not None:
                return remembered
            listed = [source for source, _ in self._listed(path).values()]
            known.see(path, token)  # of one that cannot be read, the next walk says so again
            return listed
        except TranscriptError as error:
            walk.note(path, error)
            return known.last_seen(path)

    def state(self, source: Source) -> tuple[int, int] | None:
        """Return the state of a session of such a file."""
        of_file = super().state(source)
        if of_file is None or not source.member:
            return of_file
        current = self._listed(source.path).get(source.member)
        return (current[0].size, current[0].mtime_ns) if current else None

    def unread(self, source: Source) -> Mapping[str, int]:
        """Return the bytes of text of a session at places that are not known."""
        current = self._listed(source.path).get(source.member) if source.member else None
        return current[1].unread if current else {}

    def _listed(self, path: Path) -> _Listing:
        """Return the sessions of a file by member, read again only when it changed."""
        token = token_of(path)
        held = self._listings.get(path)
        if held is not None and held[0] == token:
            return held[1]
        members = {member.id: member for member in self.members_of(path)}
        listing = {
            name: (self._source(path, member, members), member) for name, member in members.items()
        }
        self._listings[path] = token, listing
        if len(self._listings) > _MOST_LISTINGS:
            self._listings.popitem(last=False)
        return listing

    def _source(self, path: Path, member: Member, members: Mapping[str, Member]) -> Source:
        top = root_session(member, members)
        mtime_ns = min(max(member.mtime_ns, 0), _LARGEST)
        whole = members.get(top.id) or member
        own = safe_id(member.id)
        session_id = safe_id(top.id)
        agent_id = own if session_id != own else None
        size = min(max(member.size, 0), _LARGEST)
        project = project_slug(whole.cwd or whole.stand_in)
        return Source(
            *(self.agent, project, session_id, agent_id, path, size, mtime_ns),
            member=member.id,
            directory=whole.cwd,
        )


def deleted_error(path: Path) -> DamagedTranscript:
    """Return the error of a session that its container has no longer."""
    return DamagedTranscript(f"{printable(path)}: {_DELETED}", _DELETED, _NOTHING)


class Sessions(NamedTuple):
    """The table of a database's sessions: its name, the columns that are read of one, and those
    with the time of its last change, the session above it and its directory, "" for none."""

    table: str
    columns: str
    updated: str
    parent: str = ""
    cwd: str = ""


class Said(NamedTuple):
    """A table with what was said: its name, the columns without which nothing can be read, those
    with times, and the one that names the session."""

    table: str
    needed: str
    times: str
    session: str = "session_id"


class DatabaseReader(ContainerReader):
    """A reader of databases. The text of a session at places that are not known is part of its
    state: it is read again when that grows, and when a later reader knows the place."""

    known: tuple[Columns, ...] = ()
    """The columns that are read, or left out on purpose."""
    sessions: Sessions
    said: tuple[Said, ...] = ()
    """The tables with what was said; a session has rows in the first of them."""

    def __init__(self) -> None:
        super().__init__()
        self.declared = f":{crc32(repr(self.known).encode()):08x}"

    def members(self, database: Database, path: Path) -> Iterable[Member]:
        """Yield the sessions of a database that have messages, by a grouped query a table."""
        for said in self.said:
            database.require(said.table, f"{said.session} {said.needed}")
        totals = [_totals(database, said) for said in self.said]
        _, _, updated, parent, cwd = self.sessions
        for row in database.select(
            self.sessions.table, f"id {updated} {parent} {cwd}", "ORDER BY id"
        ):
            own = str(row["id"])
            if own in totals[0]:
                sizes, times = zip(*(total[own] for total in totals if own in total), strict=True)
                newest = max(*times, nanoseconds(row[updated]))
                directory, above = str(row.get(cwd) or ""), str(row.get(parent) or "")
                yield Member(own, directory, sum(sizes), newest, above)

    def facts(self, database: Database, source: Source) -> JsonObject | None:
        """Return the facts of a whole session; None if the store has it no longer."""
        table, names = self.sessions.table, self.sessions.columns
        return next(database.select(table, names, "WHERE id = ?", source.member), None)

    @abstractmethod
    def member_rows(
        self, database: Database, source: Source, facts: JsonObject
    ) -> Iterable[JsonObject]:
        """Return the rows of a session with these facts, as `rows` does."""

    def members_of(self, path: Path) -> list[Member]:
        """Return the sessions of a database, of one moment."""
        with open_database(path) as database:
            members = list(self.members(database, path))
            newest = max(((member.mtime_ns, member.id) for member in members), default=(0, ""))[1]
            ids = {member.id for member in members}
            unread = unread_text(database, self.known, ids, newest)
        return [
            member._replace(size=member.size + sum(places.values()), unread=places)
            for member in members
            for places in [unread.get(member.id, {})]
        ]

    def rows(self, source: Source) -> Iterator[JsonObject]:
        """Yield the rows of a session, in one read transaction."""
        with open_database(source.path) as database:
            facts = self.facts(database, source)
            if facts is None:
                raise deleted_error(source.path)
            yield from self.member_rows(database, source, facts)


def _totals(database: Database, said: Said) -> dict[str, tuple[int, int]]:
    """Return a number that changes with the rows of each session in a table, and the time of the
    newest."""
    columns = database.columns(said.table)
    sizes = " + ".join(f"coalesce({LENGTH}({name}), 0)" for name in said.needed.split())
    times = [f"max({name})" for name in said.times.split() if name in columns] or ["NULL"]
    latest = f"coalesce(max({database.row_number(said.table)}), 0)"
    sql = f"""SELECT {said.session} AS id, sum({sizes}) + count(*) + {latest} AS size,
            {", ".join(f"{time} AS time{at}" for at, time in enumerate(times))}
        FROM {said.table} GROUP BY {said.session}"""
    return {
        str(own): (int(size), max(map(nanoseconds, newest)))
        for own, size, *newest in (row.values() for row in database.rows(sql))
    }


def root_session(member: Member, members: Mapping[str, Member]) -> Member:
    """Return the session that a subagent's run belongs to, over all generations; the run itself
    where they go round in a circle."""
    current, seen = member, {member.id}
    while current.parent:
        above = members.get(current.parent)
        if above is None:
            return current._replace(id=current.parent, parent="")
        if above.id in seen or len(seen) > _MOST_ANCESTORS:
            return member
        seen.add(above.id)
        current = above
    return current


def session_rows(
    facts: JsonObject,
    title: JsonObject,
    rows: Iterable[JsonObject],
    beside: JsonObject | None = None,
) -> Iterator[JsonObject]:
    """Yield the rows of a session: its facts (`id`, and where they are known `cwd`, `start`,
    `version`, `model`, `parent`, the session that it goes on from), what was said, what is `beside`
    it in its document, and its title."""
    yield {"type": SESSION, **facts}
    yield from rows
    if beside:
        yield {**beside, "type": BESIDE}
    yield {"type": STATE, "id": facts["id"], **title}
