"""The nouns of the pipeline, as frozen dataclasses. No behaviour, no I/O.

A *session* is one conversation with a coding agent. Its transcript is one file,
plus one file per subagent. A file holds *records* (JSON objects); a record holds
content *blocks*. `Record` is one block, still unredacted and never written;
`RedactedRecord` is the same block after redaction, and a row of the lake.
A *turn* is one human prompt and all that followed it, up to the next one;
a *chunk* is one passage of one turn, the unit that is embedded and found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from memory_assets.redacted_text import RedactedText

Role = Literal["user", "assistant", "tool", "system"]
Kind = Literal[
    "prompt",
    "assistant_text",
    "thinking",
    "tool_use",
    "tool_result",
    "system",
    "title",
    "summary",
    "attachment",
]


@dataclass(frozen=True, slots=True)
class Record:
    """One content block as the agent wrote it: UNREDACTED, held in memory only.

    `seq` counts blocks from 0 in file order. `byte_start`/`byte_end` bound the JSON
    object in the source file. `kind == "prompt"` means a human wrote it (and no one
    else: subagent and machine prompts are "system"). `subtype` keeps the agent's
    finer name where it matters (custom-title, ai-title, away-summary,
    compact-summary, pr-link, interrupt, queued, ...).
    A tool_result carries the `tool_name`, `paths` and `command` of its tool_use.
    `spawned_agent_id` is set on the tool_result of a call that started a subagent.
    `content` is the parsed object, or the part of it that has the texts: what copies share.
    Ids that a reader derived from text (`record_identity.py`) are keyed by redaction.
    """

    agent: str
    session_id: str
    agent_id: str | None
    seq: int
    record_uuid: str
    parent_uuid: str | None
    byte_start: int
    byte_end: int
    timestamp: datetime | None
    role: Role
    kind: Kind
    text: str
    subtype: str = ""
    tool_name: str = ""
    tool_use_id: str = ""
    is_error: bool = False
    paths: tuple[str, ...] = ()
    command: str = ""
    cwd: str = ""
    git_branch: str = ""
    model: str = ""
    agent_version: str = ""
    is_sidechain: bool = False
    message_id: str = ""
    spawned_agent_id: str = ""
    content: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class RedactedRecord:
    """A row of `redacted_records`: a `Record` whose every free string was redacted."""

    project: str
    project_root: RedactedText
    agent: str
    session_id: str
    agent_id: str | None
    seq: int
    record_uuid: str
    parent_uuid: str | None
    byte_start: int
    byte_end: int
    timestamp: datetime | None
    role: Role
    kind: Kind
    text: RedactedText
    subtype: str
    tool_name: RedactedText
    tool_use_id: str
    is_error: bool
    paths: tuple[RedactedText, ...]
    command: RedactedText
    cwd: RedactedText
    git_branch: RedactedText
    model: str
    agent_version: str
    is_sidechain: bool
    message_id: str
    spawned_agent_id: str
    redactions: int
    ruleset_version: str


@dataclass(frozen=True, slots=True)
class AppliedRedaction:
    """A row of `redaction_audit`: one redaction in one record.

    `field` names the record's field ("text", "command", "paths[0]", ...), `tag` is the text that
    replaced the secret. `start`/`end` are character offsets in the field as it was read, and None
    if the tag was found in a record whose source file is gone. Contains no text of the record.
    """

    project: str
    agent: str
    session_id: str
    agent_id: str | None
    seq: int
    record_uuid: str
    field: str
    rule: str
    start: int | None
    end: int | None
    length: int | None
    tag: str
    ruleset_version: str
    engine_version: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One human prompt and all that followed it, in reading order.

    `prompt` is None only for text before the first prompt and for a session without human prompts.
    A subagent's records follow the call that started it.
    """

    session_id: str
    turn_index: int
    prompt: RedactedRecord | None
    records: tuple[RedactedRecord, ...]

    @property
    def id(self) -> str:
        """The stable id, `session::<session_id>::turn::<turn_index>`."""
        return f"session::{self.session_id}::turn::{self.turn_index}"

    @property
    def prompt_id(self) -> str:
        """The stable id of its prompt, `prompt::<session_id>::<turn_index>`."""
        return f"prompt::{self.session_id}::{self.turn_index}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A row of `turn_chunks`: one passage of one turn, embedded and shown as `text`.

    `prompt_uuid` is the uuid of the human prompt that begins in this passage, or "".
    `first_seq`/`last_seq` bound the turn's records in `redacted_records`.
    `content_hash` covers `text` alone, so equal text shares one vector.
    """

    id: str
    turn_id: str
    part: int
    project: str
    project_root: RedactedText
    agent: str
    session_id: str
    turn_index: int
    role: Literal["user", "assistant", "turn"]
    timestamp: datetime | None
    ended_at: datetime | None
    text: RedactedText
    tools_used: tuple[RedactedText, ...]
    files: tuple[RedactedText, ...]
    commands: tuple[RedactedText, ...]
    errors: tuple[RedactedText, ...]
    git_branch: RedactedText
    prompt_uuid: str
    first_seq: int
    last_seq: int
    content_hash: str
    chunker_version: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A row of `user_prompts`: one passage of what one human typed."""

    id: str
    turn_id: str
    part: int
    project: str
    project_root: RedactedText
    agent: str
    session_id: str
    turn_index: int
    timestamp: datetime | None
    text: RedactedText
    git_branch: RedactedText
    record_uuid: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class Embedding:
    """A row of an embeddings table: the vector of one text, 384 float32 of unit length."""

    id: str
    content_hash: str
    embedder_id: str
    vector: npt.NDArray[np.float32]


def same_space(embedder_id: str, other: str) -> bool:
    """Return True if vectors of two embedders can be compared: their ids name one model, such as
    `all-MiniLM-L6-v2` in `all-MiniLM-L6-v2/dynamic-int8/onnxruntime/8199be6f`."""
    return embedder_id.split("/")[0] == other.split("/")[0]


@dataclass(frozen=True, slots=True)
class ErrorMet:
    """An error that occurred in a session, and its outcome (resolved, unresolved, ...)."""

    turn_id: str
    text: RedactedText
    outcome: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A row of `session_summaries`: claude-mem's six fields and the plain facts."""

    id: str
    project: str
    project_root: RedactedText
    agent: str
    session_id: str
    title: RedactedText
    request: RedactedText
    investigated: RedactedText
    learned: RedactedText
    completed: RedactedText
    next_steps: RedactedText
    notes: RedactedText
    files_read: tuple[RedactedText, ...]
    files_modified: tuple[RedactedText, ...]
    commands: tuple[RedactedText, ...]
    errors: tuple[ErrorMet, ...]
    commits: tuple[RedactedText, ...]
    started_at: datetime | None
    ended_at: datetime | None
    duration_seconds: float
    turns: int
    prompts: int
    tool_calls: int
    git_branch: RedactedText
    text: RedactedText
    content_hash: str
    summarizer_id: str


@dataclass(frozen=True, slots=True)
class Observation:
    """A row of `observations`: one event of a session, such as a change, an error, a decision or a
    discovery.

    `anchor_seq` is the record that completed it (`seq` in its file, the subagent's if `agent_id` is
    set); the id contains it, so it does not change when the session grows.
    """

    id: str
    turn_id: str
    turn_index: int
    project: str
    project_root: RedactedText
    agent: str
    session_id: str
    agent_id: str | None
    anchor_seq: int
    type: str
    title: RedactedText
    narrative: RedactedText
    facts: tuple[RedactedText, ...]
    concepts: tuple[RedactedText, ...]
    files_read: tuple[RedactedText, ...]
    files_modified: tuple[RedactedText, ...]
    turn_ids: tuple[str, ...]
    prompt_ids: tuple[str, ...]
    timestamp: datetime | None
    ended_at: datetime | None
    git_branch: RedactedText
    text: RedactedText
    content_hash: str
    observer_id: str


@dataclass(frozen=True, slots=True)
class SessionCommit:
    """A row of `session_commits`: a commit attributed to a session.

    `commit` is as long as is known (40 characters if git was asked, "" for a pull request without
    one), `evidence` is the strongest kind there is, `score` its reliability (0 to 1), `from_commit`
    the session's own commit that this one repeats.
    """

    id: str
    turn_id: str
    turn_index: int
    project: str
    project_root: RedactedText
    agent: str
    session_id: str
    commit: str
    subject: RedactedText
    branch: RedactedText
    evidence: str
    score: float
    verified: bool
    from_commit: str
    pull_request: RedactedText
    files: tuple[RedactedText, ...]
    timestamp: datetime | None
    committed_at: datetime | None
    attribution_version: str


@dataclass(frozen=True, slots=True)
class CommitLink:
    """A row of `commit_links`: a commit that a user linked to a session."""

    id: str
    project: str
    session_id: str
    commit: str
    linked_at: datetime
