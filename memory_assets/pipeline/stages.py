"""The list of the tables that are made from other tables: how each is made, and whether a retained
session keeps it. And what is expected of the rows of every table that an asset makes.

The plan, the checks, retention, Dagster's assets and the tests follow this list. How a table is
searched is in `search_kinds.py`; its columns are the fields of its model
(`stores/lake/schemas.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import get_args

from memory_assets.agent_memory.policy import MEMORY_TYPES, NOTE, ORIGINS, ROLES
from memory_assets.agent_memory.ports import Change
from memory_assets.commits import Evidence
from memory_assets.documents import CHUNK_TYPES, KIND_OF
from memory_assets.models import Kind, Role
from memory_assets.observations import OBSERVATION_TYPES
from memory_assets.paths import KNOWN_AGENTS
from memory_assets.pipeline.agent_memory.history_summaries import (
    SUMMARISED_HISTORY,
    summarise_history,
)
from memory_assets.pipeline.indexes.indexed_tables import INDEXES, IndexedTable
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.tables.derive import DerivedTable, derive_table
from memory_assets.pipeline.tables.embeddings import embed_project, embedding_of
from memory_assets.pipeline.tables.session_commits import ATTRIBUTED, attribute_project
from memory_assets.pipeline.tables.turn_chunks import (
    CHUNKED,
    PROMPTED,
    chunk_project,
    extract_prompts,
)
from memory_assets.pipeline.tables.whole_sessions import (
    COUNTED,
    OBSERVED,
    RETRIEVED,
    SUMMARISED,
    count_usage,
    summarise_project,
)
from memory_assets.pipeline.workspace import chunks as workspace
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.stores.agents.partitions import AGENT as AGENT_MEMORY_AGENT
from memory_assets.stores.lake.schemas import (
    AGENT_HISTORY,
    AGENT_MEMORY,
    AT_LEAST_0,
    MEMORY_TRAIL,
    NOT_EMPTY,
    REDACTED_RECORDS,
    REDACTION_AUDIT,
    WORKSPACE_DOCUMENTS,
    Expectations,
    Table,
)
from memory_assets.stores.workspaces import AGENT


@dataclass(frozen=True)
class Stage:
    """How one table is made.

    `run` brings a project's rows up to date. `retained` rows are kept when retention cuts a session
    down. `group` and `reads` (stores beside the lake) are for Dagster's page.
    """

    derived: DerivedTable
    run: Callable[[Components, str], StageReport]
    description: str
    group: str
    expected: Expectations
    retained: bool = False
    embeds: bool = False
    reads: frozenset[str] = frozenset()

    @property
    def table(self) -> Table:
        """The table that is made."""
        return self.derived.table

    @property
    def searched(self) -> bool:
        """Whether a search finds the table's rows, or needs them."""
        return self.embeds or any(kind.table == self.table.name for kind in SEARCH_KINDS.values())


TURNS, SESSIONS, WORKSPACES, AGENTS = "turns", "sessions", "workspaces", "agent_memory"
"""The groups of the stages."""
_AGENT = {"agent": KNOWN_AGENTS}
_DOCUMENT = {
    "agent": (AGENT,),
    "kind": tuple(sorted(set(KIND_OF.values()))),
    "file_type": tuple(KIND_OF),
}
_PASSAGE = {"part": AT_LEAST_0, "turn_index": AT_LEAST_0, "text": NOT_EMPTY}
_MADE = (
    Stage(
        CHUNKED,
        chunk_project,
        "Passages of each turn: the prompt, the assistant's prose, a digest of tool calls.\n\n"
        "No passage is longer than the embedding model reads, and no human or assistant word "
        "is lost. Raw tool output is not in here.",
        TURNS,
        Expectations(
            bounds=_PASSAGE,
            one_of={**_AGENT, "role": ("user", "assistant", "turn")},
            ordered=(("timestamp", "ended_at"),),
        ),
    ),
    Stage(
        PROMPTED,
        extract_prompts,
        "Every prompt that a human typed, redacted; long ones in passages.\n\n"
        "Prompts of subagents, injected text and compaction summaries are not among them.",
        TURNS,
        Expectations(bounds=_PASSAGE, one_of=_AGENT),
        retained=True,
    ),
    Stage(
        SUMMARISED,
        summarise_project,
        "What each session was asked, looked into, learned, completed and left open.\n\n"
        "With its title, files, commands, errors and how each ended, and commits. Extracted, "
        "deterministic, no model involved.",
        SESSIONS,
        Expectations(
            bounds={"duration_seconds": AT_LEAST_0, "turns": NOT_EMPTY, "text": NOT_EMPTY},
            one_of=_AGENT,
            ordered=(("started_at", "ended_at"),),
        ),
        retained=True,
    ),
    Stage(
        OBSERVED,
        partial(derive_table, derived=OBSERVED),
        "Errors met and what ended them, commits, changes and why, decisions, discoveries.\n\n"
        "Typed as bugfix, feature, refactor, change, decision or discovery, each with the turns "
        "it comes from. Extracted, deterministic, no model involved.",
        SESSIONS,
        Expectations(
            bounds={"turn_index": AT_LEAST_0, "title": NOT_EMPTY, "text": NOT_EMPTY},
            one_of={**_AGENT, "type": OBSERVATION_TYPES},
        ),
    ),
    Stage(
        ATTRIBUTED,
        attribute_project,
        "The commits and pull requests of each session, with graded evidence.\n\n"
        "From what git printed, trailers, `gh` and pr-link records; where the repository is on "
        "disk git is asked too, read only. What isn't proven is not claimed.",
        SESSIONS,
        Expectations(
            bounds={"turn_index": AT_LEAST_0, "score": (0.0, 1.0)},
            one_of={**_AGENT, "evidence": tuple(map(str, Evidence))},
        ),
        reads=frozenset({"git"}),
    ),
    Stage(
        RETRIEVED,
        partial(derive_table, derived=RETRIEVED),
        "The documents of other Chroma collections that each session retrieved.\n\n"
        "From the results of Chroma's MCP server: the collection and the ids, not the texts.",
        SESSIONS,
        Expectations(
            bounds={"turn_index": AT_LEAST_0, "rank": AT_LEAST_0, "document": NOT_EMPTY},
            one_of=_AGENT,
        ),
    ),
    Stage(
        COUNTED,
        count_usage,
        "The tokens that each turn took, by model, with their price and the turn's time.\n\n"
        "As transcripts say; an answer that is written in several lines counts once. The price is "
        "that of the providers' lists, and null where they have none.",
        SESSIONS,
        Expectations(
            bounds={
                **dict.fromkeys(("turn_index", "input_tokens", "output_tokens"), AT_LEAST_0),
                **dict.fromkeys(("cache_read_tokens", "cache_write_tokens"), AT_LEAST_0),
                **dict.fromkeys(("dollars", "seconds"), AT_LEAST_0),
                "answers": (1.0, None),
            },
            one_of=_AGENT,
        ),
    ),
    Stage(
        workspace.CHUNKED,
        workspace.chunk_documents,
        "Sections, operations, definitions and windows of each document, in its own lines.\n\n"
        "Long ones in passages, which the embedding model reads whole. How a file is cut depends "
        "on its type.",
        WORKSPACES,
        Expectations(
            bounds={
                **dict.fromkeys(("chunk_index", "part"), AT_LEAST_0),
                "line_start": (1.0, None),
                "text": NOT_EMPTY,
            },
            one_of={**_DOCUMENT, "chunk_type": CHUNK_TYPES},
            ordered=(("line_start", "line_end"),),
        ),
        reads=frozenset({"tree-sitter"}),
    ),
    Stage(
        SUMMARISED_HISTORY,
        summarise_history,
        "What older turns of each conversation were about, in a few sentences of theirs.\n\n"
        "One for each 16 turns, or fewer before a rest of eight hours, if anything in them stands "
        "out. Extracted, deterministic, no model involved.",
        AGENTS,
        Expectations(
            bounds={"first_turn": AT_LEAST_0, "cut_turns": AT_LEAST_0, "text": NOT_EMPTY},
            one_of={"agent": (AGENT_MEMORY_AGENT,)},
            ordered=(("first_turn", "last_turn"),),
        ),
        retained=True,
    ),
)


def _vectors(index: IndexedTable) -> Stage:
    """Return the stage of the vectors of a searched table."""
    source = next((stage for stage in _MADE if stage.table == index.table), None)
    return Stage(
        embedding_of(index.table, index.embeddings),
        partial(embed_project, source_table=index.table, table=index.embeddings),
        f"One vector of 384 float32 for each row of {index.table.name}; equal text is embedded "
        "once.",
        source.group if source is not None else AGENTS,
        Expectations(bounds={"vector": (0.999, 1.001)}),
        retained=source is not None and source.retained,
        embeds=True,
        reads=frozenset({"onnx"}),
    )


STAGES = (*_MADE, *map(_vectors, INDEXES))
"""Every table that is made of another one, in an order in which they can be made."""

EXPECTATIONS = {
    REDACTED_RECORDS.name: Expectations(
        unique=("session_id", "agent_id", "seq"),
        bounds={"seq": AT_LEAST_0, "byte_start": AT_LEAST_0, "redactions": AT_LEAST_0},
        one_of={**_AGENT, "role": get_args(Role), "kind": get_args(Kind)},
        ordered=(("byte_start", "byte_end"),),
    ),
    REDACTION_AUDIT.name: Expectations(
        unique=("session_id", "agent_id", "seq", "field", "start", "tag"),
        bounds={"seq": AT_LEAST_0, "start": AT_LEAST_0, "length": AT_LEAST_0},
        one_of=_AGENT,
        ordered=(("start", "end"),),
    ),
    WORKSPACE_DOCUMENTS.name: Expectations(
        bounds={"lines": AT_LEAST_0, "size": AT_LEAST_0, "text": NOT_EMPTY},
        one_of=_DOCUMENT,
    ),
    AGENT_HISTORY.name: Expectations(
        bounds={"turn_index": AT_LEAST_0, "text": NOT_EMPTY},
        one_of={"agent": (AGENT_MEMORY_AGENT,), "role": ROLES},
    ),
    AGENT_MEMORY.name: Expectations(
        bounds={"confidence": (0.0, 1.0), "text": NOT_EMPTY},
        one_of={"agent": (AGENT_MEMORY_AGENT,), "type": (*MEMORY_TYPES, NOTE), "source": ORIGINS},
    ),
    MEMORY_TRAIL.name: Expectations(
        one_of={"agent": (AGENT_MEMORY_AGENT,), "what": get_args(Change)},
    ),
    **{stage.table.name: stage.expected for stage in STAGES},
}
"""What is expected of the rows of every table."""
