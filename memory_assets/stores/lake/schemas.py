"""The lake's tables: their Arrow schemas, made of the models of their rows.

The fields of a model (`models.py`) are the columns of a table; Parquet files, Dagster's column
schema and the checks follow from them.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any

import pyarrow as pa

from memory_assets import agent_memory_models, document_models, models
from memory_assets.redacted_text import RedactedText
from memory_assets.search_kinds import SEARCH_KINDS

EMBEDDING_DIMENSION = 384

_UTC = pa.timestamp("us", tz="UTC")
_TYPES: dict[object, pa.DataType] = {
    str: pa.string(),
    RedactedText: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    models.INT32: pa.int32(),
    float: pa.float64(),
    datetime: _UTC,
    models.Vector: pa.list_(pa.float32(), EMBEDDING_DIMENSION),
}


def _column(name: str, hint: Any) -> pa.Field[Any]:
    """Return the column of a model's field: `Annotated[type, "Description."]`."""
    *widths, description = getattr(hint, "__metadata__", ("",))
    hint = getattr(hint, "__origin__", hint) if description else hint
    nullable = isinstance(hint, types.UnionType)
    kind = typing.get_args(hint)[0] if nullable else hint
    return pa.field(
        name,
        _arrow_type(widths[0] if widths else kind),
        nullable=nullable,
        metadata={"description": description} if description else None,
    )


def _arrow_type(kind: Any) -> pa.DataType:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return pa.list_(_arrow_type(arguments[0]))
    if origin is typing.Literal:
        return pa.string()
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        return pa.struct([_column(name, hint) for name, hint in hints.items()])
    return _TYPES[origin or kind]


@dataclass(frozen=True)
class Table:
    """A table of the lake: its name, and the model of its rows.

    The `written` columns are filled by the lake itself, from `extra` at write time, and
    do not count for the content hash of a file.
    """

    name: str
    model: type
    key: str = "id"
    written: tuple[pa.Field[Any], ...] = ()

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns with their descriptions."""
        hints = typing.get_type_hints(self.model, include_extras=True)
        return pa.schema([*(_column(name, hint) for name, hint in hints.items()), *self.written])

    @cached_property
    def written_columns(self) -> frozenset[str]:
        """The names of the `written` columns."""
        return frozenset(column.name for column in self.written)


_INGESTED_AT = _column("ingested_at", Annotated[datetime, "When this content was first written."])

REDACTED_RECORDS = Table("redacted_records", models.RedactedRecord, key="seq")
REDACTION_AUDIT = Table("redaction_audit", models.AppliedRedaction, key="seq")
TURN_CHUNKS = Table("turn_chunks", models.Chunk, written=(_INGESTED_AT,))
USER_PROMPTS = Table("user_prompts", models.Prompt)
SESSION_SUMMARIES = Table("session_summaries", models.Summary)
OBSERVATIONS = Table("observations", models.Observation)
SESSION_COMMITS = Table("session_commits", models.SessionCommit)
RETRIEVED_DOCUMENTS = Table("retrieved_documents", models.RetrievedDocument)
SESSION_USAGE = Table("session_usage", models.SessionUsage)
COMMIT_LINKS = Table("commit_links", models.CommitLink)
WORKSPACE_DOCUMENTS = Table("workspace_documents", document_models.WorkspaceDocument)
WORKSPACE_CHUNKS = Table("workspace_chunks", document_models.WorkspaceChunk)
AGENT_HISTORY = Table("agent_history", agent_memory_models.AgentTurn)
AGENT_MEMORY = Table("agent_memory", agent_memory_models.AgentMemory)
HISTORY_SUMMARIES = Table("history_summaries", agent_memory_models.HistorySummary)
MEMORY_TRAIL = Table("memory_trail", agent_memory_models.MemoryChange)

_EMBEDDINGS = {
    name: Table(kind.embeddings, models.Embedding) for name, kind in SEARCH_KINDS.items()
}
TURN_EMBEDDINGS = _EMBEDDINGS["sessions"]
OBSERVATION_EMBEDDINGS = _EMBEDDINGS["observations"]
WORKSPACE_EMBEDDINGS = _EMBEDDINGS["workspace"]

TABLES = {
    table.name: table
    for table in (
        REDACTED_RECORDS,
        REDACTION_AUDIT,
        TURN_CHUNKS,
        USER_PROMPTS,
        SESSION_SUMMARIES,
        OBSERVATIONS,
        SESSION_COMMITS,
        RETRIEVED_DOCUMENTS,
        SESSION_USAGE,
        WORKSPACE_DOCUMENTS,
        WORKSPACE_CHUNKS,
        AGENT_HISTORY,
        AGENT_MEMORY,
        MEMORY_TRAIL,
        HISTORY_SUMMARIES,
        *_EMBEDDINGS.values(),
    )
}
"""The tables that assets make. `COMMIT_LINKS` is none of them: no ingest may rewrite it."""


Bounds = tuple[float | None, float | None]
AT_LEAST_0: Bounds = (0.0, None)
NOT_EMPTY: Bounds = (1.0, None)


@dataclass(frozen=True)
class Expectations:
    """The expectations of each row: key columns together unique, columns within bounds
    (text and lists: of their length), columns from a closed set, columns in order."""

    unique: tuple[str, ...] = ("id",)
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    one_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ordered: tuple[tuple[str, str], ...] = ()

    @property
    def version(self) -> str:
        """A hash of the expectations; when it changes, all rows are checked again."""
        said = repr((self.unique, dict(self.bounds), dict(self.one_of), self.ordered))
        return blake2b(said.encode(), digest_size=16).hexdigest()
