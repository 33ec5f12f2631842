"""Publishing the redacted tables as Delta tables, in S3 or a directory, for those who ask them with
DuckDB, Polars or Spark (docs/scale.md).

A memory is the only writer of its place, and notes in `delta.json` what it published, so that only
sessions with other rows are written. What these replace, and what is gone, is deleted at once, with
the log that names it: a Delta table keeps it for former versions. What is old is known from the
table, not from times of objects, so no two clocks have to agree.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa

from memory_assets.errors import ConfigurationError, NotFound, StoreError, StoreMismatch
from memory_assets.pipeline.stage.components import Components
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.stores.files.shared import locked, replace_text
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.rows import with_schema
from memory_assets.stores.lake.schemas import TABLES, Table
from memory_assets.stores.shard.objects import Objects, open_objects

STATE_FILE = "delta.json"
PUBLISHED = sorted(TABLES.keys() - {kind.embeddings for kind in SEARCH_KINDS.values()})
"""The tables that are published: all but vectors."""
BUCKETS = ("bucket", "project_bucket")
"""The column by which tables are partitioned, the first one that the table has not: a hash of the
project, whose name may be longer than that of a directory can be."""
_LOG = "_delta_log"
_MOST_FILES = 8
"""Files of a bucket, on average, above which they are put together."""
_CONFIGURATION = {
    "delta.dataSkippingStatsColumns": "session_id",
    "delta.deletedFileRetentionDuration": "interval 0 days",
}
"""No file that was deleted is named in a checkpoint."""

Session = tuple[str, str]
"""Project and id."""


@dataclass
class Published:
    """The result of a publication: tables that changed; sessions written or removed, summed over
    tables; and sessions withheld, because a check holds them back."""

    tables: int = 0
    written: int = 0
    removed: int = 0
    withheld: int = 0


def publish(components: Components) -> Published:
    """Make the Delta tables at MEMORY_DELTA hold what the lake holds.

    Raises:
        ConfigurationError: it is not set, or is no address; or deltalake is not installed.
        StoreMismatch: there are tables that this memory did not write.
        StoreError: they cannot be read or written.
    """
    if (url := components.settings.delta) is None:
        raise ConfigurationError("set MEMORY_DELTA: s3://bucket/prefix, or a directory")
    path = components.data_dir / STATE_FILE
    wait = components.settings.lock_timeout_seconds
    published = Published()
    with locked(path.with_suffix(".lock"), wait, "another process publishes this memory"):
        objects = open_objects(url)
        state = _State(path, url)
        held = components.catalog.quarantine.held_by_checks()
        published.withheld = len(held)
        tables = [_DeltaTable(components.lake, TABLES[name], objects, held) for name in PUBLISHED]
        if state.is_new and any(table.is_there() for table in tables):
            raise StoreMismatch(
                f"{url} has tables of another memory, or {STATE_FILE} was lost. Delete them, or "
                "name another place in MEMORY_DELTA."
            )
        for table in tables:
            table.publish(state, published)
    return published


class _State:
    """What this memory published: the columns of each table, and what identifies the rows of each
    session ("" while that is not known)."""

    def __init__(self, path: Path, url: str) -> None:
        self._path = path
        self._url = url
        self._tables: dict[str, list[Any]] = {}
        with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
            values = json.loads(path.read_text("utf-8"))
            self._tables = values["tables"] if values["url"] == url else {}
        self.is_new = not self._tables

    def of(self, table: str) -> tuple[str, dict[Session, str]]:
        """Return the columns and the sessions of a table."""
        columns, rows = self._tables.get(table, ("", ()))
        return columns, {(project, session): stamp for project, session, stamp in rows}

    def note(self, table: str, columns: str, sessions: Mapping[Session, str]) -> None:
        """Write columns and sessions of a table into the file."""
        rows = [(*session, stamp) for session, stamp in sessions.items()]
        self._tables[table] = [columns, rows]
        replace_text(self._path, json.dumps({"url": self._url, "tables": self._tables}))


class _DeltaTable:
    """One of the tables, without the sessions that a check holds back."""

    def __init__(self, lake: Lake, table: Table, objects: Objects, held: Set[Session]) -> None:
        self._lake = lake
        self._held = held
        self._table = table
        self._objects = objects
        self._place = f"{objects.url}/{table.name}"
        columns = (column.remove_metadata() for column in table.schema)
        self._bucket = next(name for name in BUCKETS if name not in table.schema.names)
        self._schema = pa.schema([*columns, pa.field(self._bucket, pa.string(), nullable=False)])
        self._options = None
        if "://" in objects.url:
            plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
            self._options = {"aws_conditional_put": "etag", "allow_http": str(plain).lower()}

    def is_there(self) -> bool:
        """Whether something was published of it."""
        return bool(self._objects.keys(f"{self._table.name}/{_LOG}"))

    def publish(self, state: _State, published: Published) -> None:
        """Write the sessions that changed, and take out those that are gone."""
        name = self._table.name
        columns = blake2b(self._schema.serialize()).hexdigest()
        published_columns, before = state.of(name)
        is_whole = published_columns != columns or not self.is_there()
        current = self._sessions()
        written = {key for key in current if is_whole or before.get(key) != current[key]}
        gone = before.keys() - current.keys()
        if not written and not gone:
            return
        # Noted first: what a killed process wrote is replaced, or taken out, by the next one.
        unknown = dict.fromkeys(written | gone, "")
        state.note(name, "" if is_whole else columns, {**before, **unknown})
        with self._errors():
            self._write(current, None if is_whole else unknown.keys())
            self._erase()
        state.note(name, columns, current)
        published.tables += 1
        published.written += len(written)
        published.removed += len(gone)

    def _sessions(self) -> dict[Session, str]:
        """Return what identifies the rows of each session."""
        return {
            (project, session): entry.stamp
            for project in self._lake.projects(self._table)
            for session, entry in self._lake.partition(self._table, project).entries().items()
            if (project, session) not in self._held
        }

    def _write(self, sessions_now: Iterable[Session], changed: Iterable[Session] | None) -> None:
        """Replace the rows of sessions that changed by those of `sessions_now`, in one commit; all
        rows, and the columns, if `changed` is None."""
        from deltalake import ColumnProperties, WriterProperties, write_deltalake

        options: dict[str, Any] = {"schema_mode": "overwrite"}
        sessions = sorted(sessions_now)
        if changed is not None:
            buckets, ids = {_bucket(project) for project, _ in changed}, {id for _, id in changed}
            sessions = [
                session
                for session in sessions
                if _bucket(session[0]) in buckets and session[1] in ids
            ]
            of_these = _is_in(self._bucket, buckets), _is_in("session_id", ids)
            options = {"predicate": " AND ".join(of_these)}
        # Without statistics of `session_id` rows are not found by it (deltalake 1.6.6).
        statistics = {"session_id": ColumnProperties(statistics_enabled="CHUNK")}
        write_deltalake(
            self._place,
            pa.RecordBatchReader.from_batches(self._schema, self._batches(sessions)),
            mode="overwrite",
            partition_by=[self._bucket],
            configuration=_CONFIGURATION,
            storage_options=self._options,
            writer_properties=WriterProperties(
                compression="ZSTD",
                compression_level=3,
                default_column_properties=ColumnProperties(statistics_enabled="NONE"),
                column_properties=statistics,
            ),
            **options,
        )

    def _batches(self, sessions: Iterable[Session]) -> Iterator[pa.RecordBatch]:
        for project, session in sessions:
            with suppress(NotFound):  # it was removed meanwhile
                rows = with_schema(
                    self._lake.read(self._table, project, session), self._table.schema
                )
                buckets = pa.array([_bucket(project)] * len(rows))
                rows = rows.append_column(self._bucket, buckets)
                yield from rows.cast(self._schema).to_batches()

    def _erase(self) -> None:
        """Delete what the table does not need: files with former rows, and the log that names
        them."""
        from deltalake import DeltaTable, write_deltalake

        table = DeltaTable(self._place, storage_options=self._options)
        files = table.file_uris()
        if len(files) > _MOST_FILES * len({uri.split("/")[-2] for uri in files}):
            table.optimize.compact()
        # Readers may want the last commit beside the checkpoint: this one names no session.
        nothing = self._schema.empty_table()
        write_deltalake(self._place, nothing, mode="append", storage_options=self._options)
        table = DeltaTable(self._place, storage_options=self._options)
        table.create_checkpoint()
        needed = {uri.rpartition("/")[2] for uri in table.file_uris()}

        def is_old(key: str) -> bool:
            *_, folder, file = key.split("/")
            number = file.partition(".")[0]
            if folder == _LOG:
                return number.isdecimal() and int(number) < table.version()
            return file not in needed

        self._objects.delete(filter(is_old, self._objects.keys(self._table.name)))
        if "://" not in self._objects.url:
            _share(Path(self._objects.url), self._table.name)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            from deltalake.exceptions import DeltaError
        except ImportError:
            raise ConfigurationError(
                "MEMORY_DELTA needs deltalake: pip install 'memory-assets[delta]'"
            ) from None
        try:
            yield
        except (DeltaError, OSError) as error:
            why = f"{self._place} cannot be written ({type(error).__name__})"
            raise StoreError(f"{why}. Check what AWS_* say, or the permissions.") from None


def _bucket(project: str) -> str:
    return blake2b(project.encode(), digest_size=1).hexdigest()


def _is_in(column: str, values: Iterable[str]) -> str:
    quoted = ", ".join("'" + value.replace("'", "''") + "'" for value in sorted(values))
    return f"{column} IN ({quoted})"


def _share(root: Path, name: str) -> None:
    """Let those read a table who may read the directory that it is in."""
    mode = root.stat().st_mode
    for path in [root / name, *(root / name).rglob("*")]:
        path.chmod(mode & (0o777 if path.is_dir() else 0o666))
