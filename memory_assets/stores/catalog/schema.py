"""The catalogue's tables, and their rows as dataclasses. No text of a transcript."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Annotated, get_origin, get_type_hints

from memory_assets.stores.catalog.facts import ProductFacts, SourceFacts

_SOURCE_KEY = (
    "agent TEXT NOT NULL, project TEXT NOT NULL, session_id TEXT NOT NULL, agent_id TEXT NOT NULL"
)
OF_0_2_0 = 14
"""The `user_version` of the first version whose memories are read."""
SCHEMA = f"""
CREATE TABLE IF NOT EXISTS sources (
    {_SOURCE_KEY}, path TEXT NOT NULL, size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL, fingerprint TEXT NOT NULL, reader_version TEXT NOT NULL,
    family INTEGER, facts TEXT NOT NULL, record_ids BLOB NOT NULL, gone_at TEXT, shares INTEGER,
    PRIMARY KEY (agent, project, session_id, agent_id)
);
CREATE INDEX IF NOT EXISTS sources_by_path ON sources (path);
CREATE INDEX IF NOT EXISTS sources_by_project ON sources (project);
CREATE INDEX IF NOT EXISTS sources_by_session ON sources (session_id);
CREATE INDEX IF NOT EXISTS sources_by_family ON sources (family);
CREATE TABLE IF NOT EXISTS source_records (
    {_SOURCE_KEY}, first INTEGER NOT NULL, records BLOB NOT NULL,
    PRIMARY KEY (agent, project, session_id, agent_id, first)
);
CREATE TABLE IF NOT EXISTS products (
    stage TEXT NOT NULL, project TEXT NOT NULL, session_id TEXT NOT NULL,
    input_hash TEXT NOT NULL, output_hash TEXT NOT NULL, rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL, facts TEXT NOT NULL, made_at TEXT NOT NULL,
    run_id TEXT NOT NULL DEFAULT '', PRIMARY KEY (stage, project, session_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS products_by_session ON products (session_id);
CREATE TABLE IF NOT EXISTS redaction_states (
    project TEXT NOT NULL, session_id TEXT NOT NULL, state TEXT NOT NULL,
    PRIMARY KEY (project, session_id)
);
CREATE TABLE IF NOT EXISTS quarantine (
    project TEXT NOT NULL, session_id TEXT NOT NULL, stage TEXT NOT NULL,
    input_hash TEXT NOT NULL, reason TEXT NOT NULL, since TEXT NOT NULL,
    remedy TEXT NOT NULL DEFAULT '', PRIMARY KEY (project, session_id, stage)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS collections (
    name TEXT PRIMARY KEY, incarnation TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS known_values (
    number INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE, rule TEXT NOT NULL,
    first_session TEXT, first_seen_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS known_checked (
    project TEXT NOT NULL, session_id TEXT NOT NULL, through INTEGER NOT NULL,
    holds INTEGER NOT NULL, PRIMARY KEY (project, session_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vector_places (
    hash BLOB PRIMARY KEY, stage TEXT NOT NULL, project TEXT NOT NULL, session_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS vector_places_by_session ON vector_places (project, session_id);
CREATE TABLE IF NOT EXISTS identities (state TEXT NOT NULL, recognised_by INTEGER);
"""
"""The tables of 0.2.0, with which each catalogue begins; `MIGRATIONS` follow.

`sources.record_ids` is empty: `source_records` has them, in pieces (`first`: bytes before the
piece). `sources.shares`: whether a main file shares a record with another, NULL if not compared
yet.
`known_values`: keyed hashes of secrets, numbered as they were first found. They outlive
the session that they were found in (`first_session` is blanked when that is forgotten): the
hash alone keeps the value out of other sessions.
`known_checked`: the number of the last secret that a session's records were searched for, and
whether one was found (`holds`), so that they must be redacted again.
`vector_places`: the session's file that has a vector, by a keyed hash of its text and embedder.
`identities`: a hash of the key of all record ids.
"""

MIGRATIONS = (
    "CREATE TABLE kept_vectors (hash BLOB PRIMARY KEY, project TEXT NOT NULL,"
    " session_id TEXT NOT NULL, version TEXT NOT NULL, vector BLOB NOT NULL,"
    " kept_at REAL NOT NULL)",
    "CREATE INDEX kept_vectors_by_age ON kept_vectors (kept_at)",
    "CREATE INDEX kept_vectors_by_session ON kept_vectors (project, session_id)",
    "DROP INDEX products_by_session",
    "CREATE INDEX products_by_session ON products (project, session_id)",
    "CREATE INDEX products_of_turns ON products (session_id)"
    " WHERE stage IN ('turn_chunks', 'redacted_records')",
    "DROP TABLE IF EXISTS reading_states",
    "UPDATE sources SET shares = NULL WHERE shares = -1",
    "CREATE TABLE containers (path TEXT PRIMARY KEY, token TEXT NOT NULL) WITHOUT ROWID",
    "ALTER TABLE sources ADD COLUMN directory TEXT",
    "CREATE TABLE lake_states (stage TEXT NOT NULL, project TEXT NOT NULL,"
    " changed INTEGER NOT NULL, PRIMARY KEY (stage, project)) WITHOUT ROWID",
    "ALTER TABLE quarantine ADD COLUMN failed_version TEXT NOT NULL DEFAULT ''",
    "DELETE FROM quarantine WHERE remedy LIKE"
    " 'it is tried again when its file, the rules or the code change%'",
    "ALTER TABLE quarantine ADD COLUMN records_lost INTEGER NOT NULL DEFAULT 0",
    "UPDATE quarantine SET records_lost = 1"
    " WHERE reason LIKE 'its records are gone from the lake, and its transcript is deleted%'",
)
"""One statement a version after that, in order; `PRAGMA user_version` counts those applied.

`reading_states` had where reading could go on; files are read whole. `kept_vectors`: float32
vectors of texts that a document had, under the hash of `vector_places`, and the version of the
rules by which the text was redacted.
`sources.directory`: NULL where an earlier version read the file, so that it is read again.
`products_by_session` began with the session's id, so that the thirty products of each session of a
batch changed a page of their own. `containers`: databases with many sessions, and a token of the
state in which all of them were in the ledger as they are there. `lake_states`: when a file of a
table was added or removed last, in nanoseconds since 1970, as the lake was compared with the
products; and the generation of the keyword index, by its incarnation, as it was written last.
`quarantine.failed_version`: a field of `Quarantined`; where it is not known, a fault of the program
is tried once more. `quarantine.records_lost`: another one, which reasons said before.
"""


@dataclass(frozen=True)
class SourceRow:
    """A source file. `records` are rows of `records.RECORD_DTYPE`, in file order; the other fields
    are columns of `sources`, with the descriptions that the UI shows."""

    agent: Annotated[str, "Agent that wrote the transcript."]
    project: Annotated[str, "Partition key: the project's directory name."]
    session_id: Annotated[str, "Session, from the file's name."]
    agent_id: Annotated[str, "Subagent that the file belongs to; empty for the main file."]
    path: Annotated[str, "Where the file lies; it is never moved or copied."]
    size: Annotated[int, "Bytes when it was read."]
    mtime_ns: Annotated[int, "When it was last written, nanoseconds since 1970."]
    fingerprint: Annotated[str, "Keyed hash of its complete lines."]
    reader_version: Annotated[str, "Reader that read it."]
    family: Annotated[int | None, "Keyed hash of its first record, which forks share."]
    facts: Annotated[
        SourceFacts, "Counts of lines, records by type, prompts, bad lines by number and reason."
    ] = field(default_factory=SourceFacts)
    records: bytes = b""
    gone_at: Annotated[str | None, "When its agent was found to have deleted it."] = None
    directory: Annotated[
        str | None, "Directory that its records name, in one spelling; empty if they name none."
    ] = None

    @property
    def file_name(self) -> str:
        """The name of the file, without a `Path` for each of all files."""
        return self.path.rpartition(os.sep)[2]


SOURCE_COLUMNS = {
    name: str(hint.__metadata__[0])
    for name, hint in get_type_hints(SourceRow, include_extras=True).items()
    if get_origin(hint) is Annotated
}
"""Columns of `sources` that are fields of `SourceRow`, with their descriptions."""
SOURCE_FACTS = ", ".join(SOURCE_COLUMNS)


@dataclass(frozen=True)
class Product:
    """The output of one stage for one session: hashes of its input and output. `run_id` is the run
    that made it, "" outside of runs."""

    stage: str
    project: str
    session_id: str
    input_hash: str
    output_hash: str
    rows: int = 0
    bytes: int = 0
    facts: ProductFacts = field(default_factory=ProductFacts)
    made_at: str = ""
    run_id: str = ""


HELD_BY_CHECK = "checks"
"""The stage of a session that a check holds back: its records are stored, nothing is made of them,
and they leave this memory neither as answers to searches nor for other stores."""


@dataclass(frozen=True)
class Quarantined:
    """A session that is held back at a stage: reason and remedy, which never quote text. It is
    tried again when its input hash differs from `input_hash`; by every run if that is empty.
    `failed_version`: the version of this program whose fault it is, as another may have it mended;
    empty for other failures. `records_lost`: its records are gone from the lake, and cannot be made
    again."""

    project: str
    session_id: str
    stage: str
    input_hash: str
    reason: str
    since: str = ""
    remedy: str = ""
    failed_version: str = ""
    records_lost: bool = False

    @property
    def passing(self) -> bool:
        """Whether every run tries the session again."""
        return not self.input_hash
