"""The nouns of the pipeline, as frozen dataclasses. No behaviour, no I/O.

A *session* is one conversation with a coding agent. Its transcript is one file,
plus one file per subagent. A file holds *records* (JSON objects); a record holds
content *blocks*. `Record` is one block, still unredacted and never written;
`RedactedRecord` is the same block after redaction, and a row of the lake.
A *turn* is one human prompt and all that followed it, up to the next one;
a *chunk* is one passage of one turn, the unit that is embedded and found.

A field of a row is a column of its table: `stores/lake/schemas.py` makes the Arrow schema of
the types and descriptions here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

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

PLAN = "plan"
PROGRAM = "program"
MACHINE_PROMPT = "machine-prompt"
"""Subtype of what an agent's own machinery asked, in a session that no human may have begun."""
NOT_TYPED = frozenset({PLAN, PROGRAM})
"""Subtypes of prompts whose text no person typed: a plan that an agent wrote and a person handed
over, and what a program asked."""
ATTACHED = "document"
MEMORY_INPUT = "memory-input"
"""Subtypes of what else a person gave an agent: a text attached to a prompt, a note to keep."""
ABANDONED = "abandoned"
"""Subtype of what was said on a branch that somebody went back from, to say something else."""

INT32 = "int32"
Int32 = Annotated[int, INT32]
"""A number whose column has 32 bits."""
if TYPE_CHECKING:  # what only reads tables needs no numpy, which takes .09 s
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]
else:

    class Vector:
        """float32 of unit length."""


Project = Annotated[str, "Partition key: the project's directory name."]
ProjectRoot = Annotated[RedactedText, "Git root (or first cwd) of the project, redacted."]
Agent = Annotated[str, "Agent that wrote the transcript."]
SessionId = Annotated[str, "Session, from the transcript's file name."]
TurnIndex = Annotated[Int32, "Human turn of the session, from 0."]
ContentHash = Annotated[str, "Hash of text."]
ByProgram = Annotated[bool, "Whether a program asked, and no human."]
"""Columns of several tables."""


class Tokens(NamedTuple):
    """Tokens of a model's answer, as its provider counts them.

    `input` are those that were in no cache, `output` includes those of thinking; `cache_write_hour`
    are the ones of `cache_write` that are kept for an hour, which costs more.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_hour: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """One content block as the agent wrote it: UNREDACTED, held in memory only.

    `seq` counts blocks from 0 in file order. `byte_start`/`byte_end` bound the JSON
    object in the source file. `kind == "prompt"` begins a turn: a human wrote it, unless its
    subtype is one of `NOT_TYPED` (texts of machines, and of agents for their subagents, are
    "system"). `subtype` keeps the agent's finer name where it matters (custom-title, ai-title,
    away-summary, compact-summary, pr-link, interrupt, queued, ...).
    A tool_result carries the `tool_name`, `paths` and `command` of its tool_use.
    `spawned_agent_id` is set on the tool_result of a call that started a subagent.
    `tokens` (in the order of `Tokens`) are those of the answer that the record is the first of, or
    by which its count had grown since; so a session's sum is what was spent.
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
    tokens: tuple[int, ...] = ()
    content: Any = field(default=None, repr=False, compare=False)


PLAIN_TEXTS = ("subtype", "model", "agent_version")
"""Fields of a redacted record that are plain strings, though they come from its text."""


@dataclass(frozen=True, slots=True)
class RedactedRecord:
    """A row of `redacted_records`: a `Record` whose every free string was redacted."""

    project: Project
    project_root: ProjectRoot
    agent: Agent
    session_id: SessionId
    agent_id: Annotated[str | None, "Subagent that wrote the record."]
    seq: Annotated[int, "Position of the block in its source file, from 0."]
    record_uuid: Annotated[str, "The agent's id of the record; shared by copies."]
    parent_uuid: Annotated[str | None, "The record it answers."]
    byte_start: Annotated[int, "Where the JSON object starts in the source file."]
    byte_end: Annotated[int, "Where it ends."]
    timestamp: Annotated[datetime | None, "When the agent wrote it."]
    role: Annotated[Role, "user, assistant, tool or system."]
    kind: Annotated[Kind, "prompt, assistant_text, thinking, tool_use, ..."]
    text: Annotated[RedactedText, "The block's text after redaction."]
    subtype: Annotated[str, "The agent's finer name for the block."]
    tool_name: Annotated[RedactedText, "Tool called or answering."]
    tool_use_id: Annotated[str, "Pairs a call with its result."]
    is_error: Annotated[bool, "Whether the tool failed."]
    paths: Annotated[tuple[RedactedText, ...], "Files the tool touched."]
    command: Annotated[RedactedText, "Shell command of the call."]
    cwd: Annotated[RedactedText, "Working directory at that moment."]
    git_branch: Annotated[RedactedText, "Git branch at that moment."]
    model: Annotated[str, "Model that answered."]
    agent_version: Annotated[str, "Version of the agent."]
    is_sidechain: Annotated[bool, "Whether a subagent wrote it."]
    message_id: Annotated[str, "API message that the block is part of."]
    spawned_agent_id: Annotated[str, "Subagent that the call started."]
    tokens: Annotated[
        tuple[int, ...],
        "Tokens that the answer took: input, output, read from a cache, written to one, and "
        "of those for an hour. Once an answer.",
    ]
    redactions: Annotated[Int32, "Secrets and contents replaced in this row."]
    ruleset_version: Annotated[str, "Redaction rules that were applied."]


@dataclass(frozen=True, slots=True)
class AppliedRedaction:
    """A row of `redaction_audit`: one redaction in one record.

    `field` names the record's field ("text", "command", "paths[0]", ...), `tag` is the text that
    replaced the secret. `start`/`end` are character offsets in the field as it was read, and None
    if the tag was found in a record whose source file is gone. Contains no text of the record.
    """

    project: Project
    agent: Agent
    session_id: SessionId
    agent_id: Annotated[str | None, "Subagent that wrote the record."]
    seq: Annotated[int, "Record that it was in: its position in its source file."]
    record_uuid: Annotated[str, "The agent's id of the record."]
    field: Annotated[str, "Column of the record: text, command, paths[0], ..."]
    rule: Annotated[str, "Rule that found it."]
    start: Annotated[
        int | None,
        "Where it began in the field, in characters; null where only the tag is left of it.",
    ]
    end: Annotated[int | None, "Where it ended; null where only the tag is left of it."]
    length: Annotated[int | None, "Characters taken out; null where only the tag is left of it."]
    tag: Annotated[str, "What stands in its place; keyed, so equal for equal keys."]
    ruleset_version: Annotated[str, "Rules and settings that were applied."]
    engine_version: Annotated[str, "Version of the engine that applied them."]


@dataclass(frozen=True, slots=True)
class Turn:
    """One prompt (a human's, a handed-over plan, a program's) and all that followed it, in
    reading order.

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
    def typed(self) -> RedactedRecord | None:
        """The prompt, if a human typed it."""
        if self.prompt is None or self.prompt.subtype in NOT_TYPED:
            return None
        return self.prompt

    @property
    def asked(self) -> bool:
        """Whether a human began it: by typing, or by handing over a plan."""
        return self.prompt is not None and self.prompt.subtype != PROGRAM

    @property
    def by_program(self) -> bool:
        """Whether a program asked, and no human."""
        if self.prompt is not None:
            return self.prompt.subtype == PROGRAM
        own = (record for record in self.records if record.agent_id is None)
        return any(record.subtype == MACHINE_PROMPT for record in own)

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

    id: Annotated[str, "`session::<session>::turn::<n>[::part::<k>]`."]
    turn_id: Annotated[str, "Turn that the passage belongs to."]
    part: Annotated[Int32, "Passage of the turn, from 0."]
    project: Project
    project_root: ProjectRoot
    agent: Agent
    session_id: SessionId
    turn_index: TurnIndex
    role: Annotated[
        Literal["user", "assistant", "turn"], "user, assistant, or turn when it holds both."
    ]
    timestamp: Annotated[datetime | None, "When the turn began."]
    ended_at: Annotated[datetime | None, "When its last record was written."]
    text: Annotated[RedactedText, "What is embedded and shown."]
    tools_used: Annotated[tuple[RedactedText, ...], "Tools called."]
    files: Annotated[tuple[RedactedText, ...], "Files touched."]
    commands: Annotated[tuple[RedactedText, ...], "Commands run."]
    errors: Annotated[tuple[RedactedText, ...], "Head of each error met."]
    error_lines: Annotated[
        tuple[RedactedText, ...], "On passage 0: lines of tool output that look like errors."
    ]
    identifiers: Annotated[
        tuple[RedactedText, ...], "On passage 0: names of code in calls and error lines."
    ]
    git_branch: Annotated[RedactedText, "Git branch of the turn."]
    prompt_uuid: Annotated[str, "Human prompt that begins in this passage."]
    first_seq: Annotated[int, "First record of the turn in redacted_records."]
    last_seq: Annotated[int, "Last record of the turn in redacted_records."]
    content_hash: Annotated[str, "Hash of text; equal text shares a vector."]
    chunker_version: Annotated[str, "Chunker that made it."]
    by_program: ByProgram = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """A row of `user_prompts`: one passage of what one human typed."""

    id: Annotated[str, "`prompt::<session>::<turn>[::<part>]`."]
    turn_id: Annotated[str, "Turn that the prompt starts."]
    part: Annotated[Int32, "Passage of the prompt, from 0."]
    project: Project
    project_root: ProjectRoot
    agent: Agent
    session_id: SessionId
    turn_index: TurnIndex
    timestamp: Annotated[datetime | None, "When it was typed."]
    text: Annotated[RedactedText, "What the human typed, redacted."]
    git_branch: Annotated[RedactedText, "Git branch at that moment."]
    record_uuid: Annotated[str, "Record that holds the prompt."]
    content_hash: ContentHash


@dataclass(frozen=True, slots=True)
class Embedding:
    """A row of an embeddings table: the vector of one text, 384 float32 of unit length."""

    id: Annotated[str, "Row of the embedded table."]
    content_hash: Annotated[str, "Hash of the embedded text."]
    embedder_id: Annotated[str, "Model, precision and runtime."]
    vector: Annotated[Vector, "Unit-length embedding."]


@dataclass(frozen=True, slots=True)
class ErrorMet:
    """An error that occurred in a session, and its outcome (resolved, unresolved, ...)."""

    turn_id: str
    text: RedactedText
    outcome: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A row of `session_summaries`: claude-mem's six fields and the plain facts."""

    id: Annotated[str, "`summary::<session>`."]
    project: Project
    project_root: ProjectRoot
    agent: Agent
    session_id: SessionId
    title: Annotated[RedactedText, "The session's title."]
    request: Annotated[RedactedText, "What was asked."]
    investigated: Annotated[RedactedText, "What was looked into."]
    learned: Annotated[RedactedText, "What was found out."]
    completed: Annotated[RedactedText, "What was done."]
    next_steps: Annotated[RedactedText, "What was left to do."]
    notes: Annotated[RedactedText, "What else is worth knowing."]
    files_read: Annotated[tuple[RedactedText, ...], "Files read."]
    files_modified: Annotated[tuple[RedactedText, ...], "Files written or edited."]
    commands: Annotated[tuple[RedactedText, ...], "Commands run."]
    errors: Annotated[tuple[ErrorMet, ...], "Errors met and how each ended."]
    commits: Annotated[tuple[RedactedText, ...], "Commits made."]
    started_at: Annotated[datetime | None, "First timestamp."]
    ended_at: Annotated[datetime | None, "Last timestamp."]
    duration_seconds: Annotated[float, "From first to last timestamp, seconds."]
    turns: Annotated[Int32, "Turns."]
    prompts: Annotated[Int32, "Human prompts."]
    tool_calls: Annotated[Int32, "Tool calls."]
    git_branch: Annotated[RedactedText, "Last git branch."]
    text: Annotated[RedactedText, "What is embedded and searched."]
    content_hash: ContentHash
    summarizer_id: Annotated[str, "Summarizer that made it."]
    by_program: ByProgram = False


@dataclass(frozen=True, slots=True)
class Observation:
    """A row of `observations`: one event of a session, such as a change, an error, a decision or a
    discovery.

    `anchor_seq` is the record that completed it (`seq` in its file, the subagent's if `agent_id` is
    set); the id contains it, so it does not change when the session grows.
    """

    id: Annotated[str, "`observation::<session>::<n>`, n from the anchor."]
    turn_id: Annotated[str, "Turn in which it was complete."]
    turn_index: TurnIndex
    project: Project
    project_root: ProjectRoot
    agent: Agent
    session_id: SessionId
    agent_id: Annotated[str | None, "Subagent whose record it is."]
    anchor_seq: Annotated[int, "Record that completed it, in its source file."]
    type: Annotated[str, "bugfix, feature, refactor, change, decision, discovery."]
    title: Annotated[RedactedText, "What it is, in one line."]
    narrative: Annotated[RedactedText, "What happened, and why."]
    facts: Annotated[tuple[RedactedText, ...], "Single statements, each true by itself."]
    concepts: Annotated[
        tuple[RedactedText, ...], "What kind of knowledge it is, in words of a fixed list."
    ]
    files_read: Annotated[tuple[RedactedText, ...], "Files read for it."]
    files_modified: Annotated[tuple[RedactedText, ...], "Files changed."]
    turn_ids: Annotated[tuple[str, ...], "Turns that it comes from."]
    prompt_ids: Annotated[tuple[str, ...], "Prompts of these turns."]
    timestamp: Annotated[datetime | None, "When it began."]
    ended_at: Annotated[datetime | None, "When it was complete."]
    git_branch: Annotated[RedactedText, "Git branch at that moment."]
    text: Annotated[RedactedText, "What is embedded and searched."]
    content_hash: ContentHash
    observer_id: Annotated[str, "Observer that made it."]


@dataclass(frozen=True, slots=True)
class SessionCommit:
    """A row of `session_commits`: a commit attributed to a session.

    `commit` is as long as is known (40 characters if git was asked, "" for a pull request without
    one), `evidence` is the strongest kind there is, `score` its reliability (0 to 1), `from_commit`
    the session's own commit that this one repeats.
    """

    id: Annotated[str, "`commit::<session>::<commit or pull request>`."]
    turn_id: Annotated[str, "Turn that it comes from."]
    turn_index: TurnIndex
    project: Project
    project_root: ProjectRoot
    agent: Agent
    session_id: SessionId
    commit: Annotated[str, "SHA, as long as is known; empty for a pull request."]
    subject: Annotated[RedactedText, "First line of the commit's message, redacted."]
    branch: Annotated[RedactedText, "Branch it was made on."]
    evidence: Annotated[str, "trailer, printed, same-change, pull-request, ..."]
    score: Annotated[float, "How far the claim can be trusted, 0 to 1."]
    verified: Annotated[bool, "Whether git was asked and knows the commit."]
    from_commit: Annotated[str, "The session's own commit that this one repeats."]
    replaced_by: Annotated[
        str, "What took its place: a SHA, `amended` if git said none, `reset`; empty if it stayed."
    ]
    pull_request: Annotated[RedactedText, "Address of the pull request, if any."]
    files: Annotated[tuple[RedactedText, ...], "Files of the commit, relative to the repository."]
    timestamp: Annotated[datetime | None, "When the session made it."]
    committed_at: Annotated[datetime | None, "When git says that it was made."]
    attribution_version: Annotated[str, "Rules that made the claim."]


@dataclass(frozen=True, slots=True)
class RetrievedDocument:
    """A row of `retrieved_documents`: a document of another collection that a call of Chroma's MCP
    server returned to a session."""

    id: Annotated[str, "`retrieval::<session>::<n>`."]
    turn_id: Annotated[str, "Turn that asked for it."]
    turn_index: TurnIndex
    project: Project
    project_root: ProjectRoot
    agent: Agent
    session_id: SessionId
    collection: Annotated[RedactedText, "Collection that was asked; empty if not known."]
    document: Annotated[RedactedText, "Id of the document in the collection."]
    rank: Annotated[Int32, "Place in the result, from 0."]
    tool_name: Annotated[RedactedText, "Tool that returned it."]
    timestamp: Annotated[datetime | None, "When it was returned."]


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """A row of `session_usage`: what one model's answers in one turn took."""

    id: Annotated[str, "`usage::<session>::<turn>::<model>`."]
    turn_id: Annotated[str, "Turn in which the model answered."]
    turn_index: TurnIndex
    project: Project
    project_root: ProjectRoot
    agent: Agent
    session_id: SessionId
    model: Annotated[str, "Model that answered; empty where the transcript does not say."]
    answers: Annotated[Int32, "Answers of the model."]
    input_tokens: Annotated[int, "Tokens given that were in no cache."]
    output_tokens: Annotated[int, "Tokens of the answers, thinking included."]
    cache_read_tokens: Annotated[int, "Tokens given that a cache had."]
    cache_write_tokens: Annotated[int, "Tokens that were put into a cache."]
    dollars: Annotated[
        float | None, "Price by the list of the model's provider; null where it has none."
    ]
    seconds: Annotated[float, "From the turn's first record to its last, in its first row; else 0."]
    timestamp: Annotated[datetime | None, "When the turn began."]


@dataclass(frozen=True, slots=True)
class CommitLink:
    """A row of `commit_links`: a commit that a user linked to a session."""

    id: Annotated[str, "`link::<session>::<commit>`."]
    project: Project
    session_id: Annotated[str, "Session that stands behind the commit."]
    commit: Annotated[str, "SHA, in full where git knew it."]
    linked_at: Annotated[datetime, "When the human said so."]
    subject: Annotated[RedactedText, "Subject of the commit; empty where git did not know it."]
    evidence: Annotated[str, "by-hand, or by-hand-unchecked where git did not know it."]
