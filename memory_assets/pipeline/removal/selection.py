"""Finding the sessions that a request to forget means."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path

import pyarrow.compute as pc

from memory_assets.errors import ConfigurationError, DamagedFile, NotFound
from memory_assets.paths import is_gone, project_slug
from memory_assets.pipeline.agent_memory.forgetting import (
    journal_rows,
    memories_from,
    texts_in_journal,
)
from memory_assets.pipeline.checks.text_columns import holds_text, text_columns
from memory_assets.pipeline.checks.value_search import MIN_CANARY_BYTES
from memory_assets.pipeline.indexes.indexed_tables import INDEXES
from memory_assets.pipeline.ownership.attribution import SessionKey
from memory_assets.pipeline.plan.adopt import adopt_archive
from memory_assets.pipeline.scan.on_disk import transcripts_on_disk
from memory_assets.pipeline.stage.components import Components
from memory_assets.redaction.spellings import spellings
from memory_assets.stores.agents.partitions import AGENT, is_agent_memory
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.files.shared import is_writable
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import (
    AGENT_MEMORY,
    COMMIT_LINKS,
    REDACTED_RECORDS,
    SESSION_SUMMARIES,
    TABLES,
)
from memory_assets.stores.tombstones import is_unique
from memory_assets.stores.workspaces import is_workspace

_LISTED = 8
_TAG = re.compile(
    r"(?:<?redacted:)?(?:(?P<rule>[a-z0-9-]{1,60}):)?(?P<digest>[0-9a-f]{12})>?", re.ASCII
)


@dataclass(frozen=True)
class Selection:
    """The conditions of a request to forget, all of which must be met: a session id or the
    beginning of one, a project or a workspace's partition, a tag that redaction put in a
    secret's place, a text that they hold, a time before which the session's last record was
    written, and a pattern of a document's path; or a conversation that an agent appended, with its
    memories."""

    session: str | None = None
    project: str | None = None
    directory: str | None = None
    """The path, in its one spelling, by which the project is meant."""
    tag: str | None = None
    text: str | None = field(default=None, repr=False)
    before: datetime | None = None
    file: str | None = None
    conversation: str | None = None


@dataclass
class SessionOnRecord:
    """A session of a project: agent, title, end, rows by table, and its transcript files."""

    project: str
    session_id: str
    agent: str = ""
    title: str = ""
    last_at: datetime | None = None
    rows: dict[str, int] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)

    @property
    def key(self) -> SessionKey:
        """Project and session id."""
        return (self.project, self.session_id)

    @property
    def kind(self) -> str:
        """What is meant: a session, a document of a workspace, or what an agent wrote itself: a
        memory or a conversation."""
        if is_agent_memory(self.project):
            return "memory" if AGENT_MEMORY.name in self.rows else "conversation"
        return "document" if is_workspace(self.project) else "session"


def select(components: Components, selection: Selection) -> list[SessionOnRecord]:
    """Return the sessions that meet a selection, sorted, with their copies in other projects;
    also sessions that were not yet ingested.

    Raises:
        ConfigurationError: the beginning of an id fits several sessions, or the tag has a wrong
            form.
        NotFound: no session fits.
    """
    if is_writable(components.data_dir):
        adopt_archive(components)
    known = sessions_on_record(components)
    wanted = set(known)
    if selection.session is not None:
        wanted &= _by_id(components, known, selection.session)
    if selection.project is not None:
        wanted &= {key for key in known if key[0] == selection.project}
    if selection.directory is not None:
        wanted -= _of_others(components.catalog, selection.directory)
    if selection.file is not None:
        wanted = {key for key in wanted if _is_document(key, selection.file)}
    if selection.conversation is not None:
        name = selection.conversation
        conversation = {key for key in known if is_agent_memory(key[0]) and key[1] == name}
        wanted &= conversation | set(memories_from(components, {name}))
    if selection.before is not None:
        wanted = {
            key for key in wanted if _ended_before(components.lake, known[key], selection.before)
        }
    if selection.tag is not None:
        pattern = _tag_pattern(selection.tag)
        wanted = {key for key in wanted if _holds(components, key, (pattern,))}
    if selection.text is not None:
        forms = _forms(selection.text)
        wanted = {key for key in wanted if _holds(components, key, forms)}
    if not wanted:
        what, where = "session", "memory status"
        if selection.conversation is not None:
            what = "conversation"
        elif selection.project is not None and is_workspace(selection.project):
            what, where = "document of that workspace", "memory workspaces"
        raise NotFound(f"nothing found: no {what} in memory fits; see `{where}`")
    conversations = conversations_of(known[key] for key in wanted)
    wanted |= set(memories_from(components, conversations, wanted))
    unique = {session_id for _, session_id in wanted if is_unique(session_id)}
    wanted |= {key for key in known if key[1] in unique}
    sessions = [known[key] for key in sorted(wanted)]
    for session in sessions:
        _describe(components.lake, session)
    return sessions


def sessions_on_record(components: Components) -> dict[SessionKey, SessionOnRecord]:
    """Return every session in the catalogue, the lake or the agents' directories by key,
    without forgotten ones."""
    known: dict[SessionKey, SessionOnRecord] = {}

    def at(project: str, session_id: str) -> SessionOnRecord:
        return known.setdefault((project, session_id), SessionOnRecord(project, session_id))

    catalog, lake = components.catalog, components.lake
    for row in catalog.sources.rows():
        session = at(row.project, row.session_id)
        session.agent = row.agent
        named = (row.path, *row.facts.get("parts", ()))
        session.files += [Path(path) for path in named if path and not is_gone(path)]
        if last := row.facts.get("last_timestamp"):
            moment = datetime.fromisoformat(last)
            session.last_at = max(session.last_at or moment, moment)
    for stage in (*TABLES, *(index.stage for index in INDEXES)):
        for key, product in catalog.products.of_stage(stage).items():
            session = at(*key)
            session.rows[stage] = product.rows
            session.agent = session.agent or str(product.facts.get("agent", ""))
    for entry in catalog.quarantine.entries():
        at(entry.project, entry.session_id)
    for kept in catalog.kept_vectors.sessions():
        at(*kept)
    for table in TABLES.values():
        for project in lake.projects(table):
            for session_id in lake.sessions(table, project):
                at(project, session_id)
    for key, stage, rows in journal_rows(components):
        session = at(*key)
        session.agent, session.rows[stage] = AGENT, rows
    tombstone_store = components.tombstones.forgotten()
    on_record = set(known)
    for source in transcripts_on_disk(components):
        key = (source.project, source.session_id)
        if key in on_record or key not in tombstone_store:
            session = at(*key)
            session.agent = session.agent or source.agent
            files = (Path(source.locator), *source.parts)
            session.files += [path for path in files if path not in session.files]
    return known


def conversations_of(sessions: Iterable[SessionOnRecord]) -> set[str]:
    """Return the names under which these sessions, or conversations, can have memories, which are
    forgotten with them. Names of sessions that are no unique ids do not count: a conversation
    that is called so is another one."""
    return {
        session.session_id
        for session in sessions
        if is_agent_memory(session.project)
        or (is_unique(session.session_id) and not is_workspace(session.project))
    }


def _by_id(components: Components, known: Iterable[SessionKey], wanted: str) -> set[SessionKey]:
    exact = {key for key in known if key[1] == wanted}
    exact = exact or set(memories_from(components, {wanted}))
    if exact or not wanted:
        return exact
    begun = {key for key in known if key[1].startswith(wanted)}
    names = sorted({session_id for _, session_id in begun})
    if len(names) > 1:
        listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
        raise ConfigurationError(f"{wanted!r} begins {len(names)} sessions: {listed}")
    return begun


def _of_others(catalog: Catalog, directory: str) -> set[SessionKey]:
    """Return the sessions of other directories with the same slug, with which an earlier version
    made one project of this one."""
    slug = project_slug(directory)
    others: set[SessionKey] = set()
    own: set[SessionKey] = set()
    for row in catalog.sources.rows():
        if row.directory and project_slug(row.directory) == slug:
            (own if row.directory == directory else others).add((row.project, row.session_id))
    return others - own


def _is_document(key: SessionKey, pattern: str) -> bool:
    """Whether a key is that of a document of a workspace whose path fits a pattern."""
    return is_workspace(key[0]) and fnmatchcase(key[1], pattern)


def _ended_before(lake: Lake, session: SessionOnRecord, before: datetime) -> bool:
    """Whether a session's last record is older than `before`; False if it has no times."""
    if session.last_at is None:
        with suppress(NotFound):
            rows = lake.read(REDACTED_RECORDS, *session.key, ["timestamp"])
            session.last_at = pc.max(rows["timestamp"]).as_py()
    return session.last_at is not None and session.last_at < before


def _tag_pattern(tag: str) -> str:
    """Return the end of a tag as it occurs in texts, for a whole tag or its digest."""
    parts = _TAG.fullmatch(tag.strip())
    if parts is None:
        raise ConfigurationError(
            f"{tag!r} is not a tag; tags look like <redacted:github-token:0123456789ab>"
        )
    rule = f":{parts['rule']}" if parts["rule"] else ""
    return f"{rule}:{parts['digest']}>"


def _forms(text: str) -> tuple[str, ...]:
    """Return a text as it may stand in a table: plain, and encoded.

    Raises:
        ConfigurationError: it is too short to be told from other text.
    """
    if len(text.encode("utf-8", "surrogatepass")) < MIN_CANARY_BYTES:
        raise ConfigurationError(
            f"the text has fewer than {MIN_CANARY_BYTES} bytes: too little to tell it from other "
            "text. Forget the session by its id"
        )
    return tuple(spellings(text))


def _holds(components: Components, key: SessionKey, literals: tuple[str, ...]) -> bool:
    """Whether any string of a session, in any table or in the journal, contains one of the
    literals."""
    if any(literal in text for text in texts_in_journal(components, key) for literal in literals):
        return True
    for table in (*TABLES.values(), COMMIT_LINKS):
        names = [field.name for field in table.schema if holds_text(field.type)]
        with suppress(NotFound):
            for column in text_columns(components.lake.read(table, *key, names)):
                if any(literal in str(value) for value in column.values for literal in literals):
                    return True
    return False


def _describe(lake: Lake, session: SessionOnRecord) -> None:
    """Add the session's title and end, by which a human recognises it."""
    with suppress(NotFound, DamagedFile):
        rows = lake.read(SESSION_SUMMARIES, *session.key, ["title", "ended_at"])
        for row in rows.to_pylist():
            session.title = row["title"]
            session.last_at = session.last_at or row["ended_at"]
