"""The lake's tables: Arrow schemas with a description for every column.

One place says what a table holds; the Parquet files, the Dagster column schema and
the Great Expectations checks are all derived from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from memory_assets import models
from memory_assets.search_kinds import SEARCH_KINDS

_UTC = pa.timestamp("us", tz="UTC")
_STRINGS = pa.list_(pa.string())

EMBEDDING_DIMENSION = 384


@dataclass(frozen=True)
class Table:
    """A table of the lake: its name, its Arrow schema and the model of its rows.

    `written_columns` are filled by the lake itself, from `extra` at write time, and
    do not count for the content hash of a file.
    """

    name: str
    schema: pa.Schema
    model: type
    key: str
    written_columns: frozenset[str] = frozenset()


def _field(
    name: str, type_: pa.DataType, description: str, *, nullable: bool = False
) -> pa.Field[Any]:
    return pa.field(name, type_, nullable=nullable, metadata={"description": description})


_WHERE = (
    _field("project", pa.string(), "Partition key: the project's directory name."),
    _field("project_root", pa.string(), "Git root (or first cwd) of the project, redacted."),
    _field("agent", pa.string(), "Agent that wrote the transcript."),
    _field("session_id", pa.string(), "Session, from the transcript's file name."),
)

REDACTED_RECORDS = Table(
    "redacted_records",
    pa.schema(
        [
            *_WHERE,
            _field("agent_id", pa.string(), "Subagent that wrote the record.", nullable=True),
            _field("seq", pa.int64(), "Position of the block in its source file, from 0."),
            _field("record_uuid", pa.string(), "The agent's id of the record; shared by copies."),
            _field("parent_uuid", pa.string(), "The record it answers.", nullable=True),
            _field("byte_start", pa.int64(), "Where the JSON object starts in the source file."),
            _field("byte_end", pa.int64(), "Where it ends."),
            _field("timestamp", _UTC, "When the agent wrote it.", nullable=True),
            _field("role", pa.string(), "user, assistant, tool or system."),
            _field("kind", pa.string(), "prompt, assistant_text, thinking, tool_use, ..."),
            _field("text", pa.string(), "The block's text after redaction."),
            _field("subtype", pa.string(), "The agent's finer name for the block."),
            _field("tool_name", pa.string(), "Tool called or answering."),
            _field("tool_use_id", pa.string(), "Pairs a call with its result."),
            _field("is_error", pa.bool_(), "Whether the tool failed."),
            _field("paths", _STRINGS, "Files the tool touched."),
            _field("command", pa.string(), "Shell command of the call."),
            _field("cwd", pa.string(), "Working directory at that moment."),
            _field("git_branch", pa.string(), "Git branch at that moment."),
            _field("model", pa.string(), "Model that answered."),
            _field("agent_version", pa.string(), "Version of the agent."),
            _field("is_sidechain", pa.bool_(), "Whether a subagent wrote it."),
            _field("message_id", pa.string(), "API message that the block is part of."),
            _field("spawned_agent_id", pa.string(), "Subagent that the call started."),
            _field("redactions", pa.int32(), "Secrets and contents replaced in this row."),
            _field("ruleset_version", pa.string(), "Redaction rules that were applied."),
        ]
    ),
    models.RedactedRecord,
    key="seq",
)

_UNTRACED = "null where only the tag is left of it."
REDACTION_AUDIT = Table(
    "redaction_audit",
    pa.schema(
        [
            _WHERE[0],
            *_WHERE[2:],
            _field("agent_id", pa.string(), "Subagent that wrote the record.", nullable=True),
            _field("seq", pa.int64(), "Record that it was in: its position in its source file."),
            _field("record_uuid", pa.string(), "The agent's id of the record."),
            _field("field", pa.string(), "Column of the record: text, command, paths[0], ..."),
            _field("rule", pa.string(), "Rule that found it."),
            _field(
                "start",
                pa.int64(),
                f"Where it began in the field, in characters; {_UNTRACED}",
                nullable=True,
            ),
            _field("end", pa.int64(), f"Where it ended; {_UNTRACED}", nullable=True),
            _field("length", pa.int64(), f"Characters taken out; {_UNTRACED}", nullable=True),
            _field("tag", pa.string(), "What stands in its place; keyed, so equal for equal keys."),
            _field("ruleset_version", pa.string(), "Rules and settings that were applied."),
            _field("engine_version", pa.string(), "Version of the engine that applied them."),
        ]
    ),
    models.AppliedRedaction,
    key="seq",
)

TURN_CHUNKS = Table(
    "turn_chunks",
    pa.schema(
        [
            _field("id", pa.string(), "`session::<session>::turn::<n>[::part::<k>]`."),
            _field("turn_id", pa.string(), "Turn that the passage belongs to."),
            _field("part", pa.int32(), "Passage of the turn, from 0."),
            *_WHERE,
            _field("turn_index", pa.int32(), "Human turn of the session, from 0."),
            _field("role", pa.string(), "user, assistant, or turn when it holds both."),
            _field("timestamp", _UTC, "When the turn began.", nullable=True),
            _field("ended_at", _UTC, "When its last record was written.", nullable=True),
            _field("text", pa.string(), "What is embedded and shown."),
            _field("tools_used", _STRINGS, "Tools called."),
            _field("files", _STRINGS, "Files touched."),
            _field("commands", _STRINGS, "Commands run."),
            _field("errors", _STRINGS, "Head of each error met."),
            _field("git_branch", pa.string(), "Git branch of the turn."),
            _field("prompt_uuid", pa.string(), "Human prompt that begins in this passage."),
            _field("first_seq", pa.int64(), "First record of the turn in redacted_records."),
            _field("last_seq", pa.int64(), "Last record of the turn in redacted_records."),
            _field("content_hash", pa.string(), "Hash of text; equal text shares a vector."),
            _field("chunker_version", pa.string(), "Chunker that made it."),
            _field("ingested_at", _UTC, "When this content was first written."),
        ]
    ),
    models.Chunk,
    key="id",
    written_columns=frozenset({"ingested_at"}),
)


def _embeddings_table(name: str) -> Table:
    return Table(
        name,
        pa.schema(
            [
                _field("id", pa.string(), "Row of the embedded table."),
                _field("content_hash", pa.string(), "Hash of the embedded text."),
                _field("embedder_id", pa.string(), "Model, precision and runtime."),
                _field(
                    "vector", pa.list_(pa.float32(), EMBEDDING_DIMENSION), "Unit-length embedding."
                ),
            ]
        ),
        models.Embedding,
        key="id",
    )


_EMBEDDINGS = {name: _embeddings_table(kind.embeddings) for name, kind in SEARCH_KINDS.items()}
TURN_EMBEDDINGS = _EMBEDDINGS["sessions"]

USER_PROMPTS = Table(
    "user_prompts",
    pa.schema(
        [
            _field("id", pa.string(), "`prompt::<session>::<turn>[::<part>]`."),
            _field("turn_id", pa.string(), "Turn that the prompt starts."),
            _field("part", pa.int32(), "Passage of the prompt, from 0."),
            *_WHERE,
            _field("turn_index", pa.int32(), "Human turn of the session, from 0."),
            _field("timestamp", _UTC, "When it was typed.", nullable=True),
            _field("text", pa.string(), "What the human typed, redacted."),
            _field("git_branch", pa.string(), "Git branch at that moment."),
            _field("record_uuid", pa.string(), "Record that holds the prompt."),
            _field("content_hash", pa.string(), "Hash of text."),
        ]
    ),
    models.Prompt,
    key="id",
)

_ERRORS = pa.list_(
    pa.struct(
        [
            pa.field("turn_id", pa.string(), nullable=False),
            pa.field("text", pa.string(), nullable=False),
            pa.field("outcome", pa.string(), nullable=False),
        ]
    )
)

SESSION_SUMMARIES = Table(
    "session_summaries",
    pa.schema(
        [
            _field("id", pa.string(), "`summary::<session>`."),
            *_WHERE,
            _field("title", pa.string(), "The session's title."),
            _field("request", pa.string(), "What was asked."),
            _field("investigated", pa.string(), "What was looked into."),
            _field("learned", pa.string(), "What was found out."),
            _field("completed", pa.string(), "What was done."),
            _field("next_steps", pa.string(), "What was left to do."),
            _field("notes", pa.string(), "What else is worth knowing."),
            _field("files_read", _STRINGS, "Files read."),
            _field("files_modified", _STRINGS, "Files written or edited."),
            _field("commands", _STRINGS, "Commands run."),
            _field("errors", _ERRORS, "Errors met and how each ended."),
            _field("commits", _STRINGS, "Commits made."),
            _field("started_at", _UTC, "First timestamp.", nullable=True),
            _field("ended_at", _UTC, "Last timestamp.", nullable=True),
            _field("duration_seconds", pa.float64(), "From first to last timestamp, seconds."),
            _field("turns", pa.int32(), "Turns."),
            _field("prompts", pa.int32(), "Human prompts."),
            _field("tool_calls", pa.int32(), "Tool calls."),
            _field("git_branch", pa.string(), "Last git branch."),
            _field("text", pa.string(), "What is embedded and searched."),
            _field("content_hash", pa.string(), "Hash of text."),
            _field("summarizer_id", pa.string(), "Summarizer that made it."),
        ]
    ),
    models.Summary,
    key="id",
)

OBSERVATIONS = Table(
    "observations",
    pa.schema(
        [
            _field("id", pa.string(), "`observation::<session>::<n>`, n from the anchor."),
            _field("turn_id", pa.string(), "Turn in which it was complete."),
            _field("turn_index", pa.int32(), "Human turn of the session, from 0."),
            *_WHERE,
            _field("agent_id", pa.string(), "Subagent whose record it is.", nullable=True),
            _field("anchor_seq", pa.int64(), "Record that completed it, in its source file."),
            _field("type", pa.string(), "bugfix, feature, refactor, change, decision, discovery."),
            _field("title", pa.string(), "What it is, in one line."),
            _field("narrative", pa.string(), "What happened, and why."),
            _field("facts", _STRINGS, "Single statements, each true by itself."),
            _field("concepts", _STRINGS, "What kind of knowledge it is, and programs it is about."),
            _field("files_read", _STRINGS, "Files read for it."),
            _field("files_modified", _STRINGS, "Files changed."),
            _field("turn_ids", _STRINGS, "Turns that it comes from."),
            _field("prompt_ids", _STRINGS, "Prompts of these turns."),
            _field("timestamp", _UTC, "When it began.", nullable=True),
            _field("ended_at", _UTC, "When it was complete.", nullable=True),
            _field("git_branch", pa.string(), "Git branch at that moment."),
            _field("text", pa.string(), "What is embedded and searched."),
            _field("content_hash", pa.string(), "Hash of text."),
            _field("observer_id", pa.string(), "Observer that made it."),
        ]
    ),
    models.Observation,
    key="id",
)
OBSERVATION_EMBEDDINGS = _EMBEDDINGS["observations"]

SESSION_COMMITS = Table(
    "session_commits",
    pa.schema(
        [
            _field("id", pa.string(), "`commit::<session>::<commit or pull request>`."),
            _field("turn_id", pa.string(), "Turn that it comes from."),
            _field("turn_index", pa.int32(), "Human turn of the session, from 0."),
            *_WHERE,
            _field("commit", pa.string(), "SHA, as long as is known; empty for a pull request."),
            _field("subject", pa.string(), "First line of the commit's message, redacted."),
            _field("branch", pa.string(), "Branch it was made on."),
            _field("evidence", pa.string(), "trailer, printed, same-change, pull-request, ..."),
            _field("score", pa.float64(), "How far the claim can be trusted, 0 to 1."),
            _field("verified", pa.bool_(), "Whether git was asked and knows the commit."),
            _field("from_commit", pa.string(), "The session's own commit that this one repeats."),
            _field("pull_request", pa.string(), "Address of the pull request, if any."),
            _field("files", _STRINGS, "Files of the commit, relative to the repository."),
            _field("timestamp", _UTC, "When the session made it.", nullable=True),
            _field("committed_at", _UTC, "When git says that it was made.", nullable=True),
            _field("attribution_version", pa.string(), "Rules that made the claim."),
        ]
    ),
    models.SessionCommit,
    key="id",
)

COMMIT_LINKS = Table(
    "commit_links",
    pa.schema(
        [
            _field("id", pa.string(), "`link::<session>::<commit>`."),
            _field("project", pa.string(), "Partition key: the project's directory name."),
            _field("session_id", pa.string(), "Session that stands behind the commit."),
            _field("commit", pa.string(), "SHA, in full where git knew it."),
            _field("linked_at", _UTC, "When the human said so."),
        ]
    ),
    models.CommitLink,
    key="id",
)

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
        *_EMBEDDINGS.values(),
    )
}
"""The tables that assets make. `COMMIT_LINKS` is none of them: no ingest may rewrite it."""
