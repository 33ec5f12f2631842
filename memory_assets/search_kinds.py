"""The kinds of rows that a search can ask for: each one's table, vectors and collection.

Names only, so that a search, a server and `memory status` need not load a store. Everything that
mirrors, embeds, counts or searches tables uses this list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SearchKind:
    """A table whose rows are embedded and searched.

    `collection` is the name in Chroma; `{agent}` in it stands for the agent. `metadata` maps each
    metadata key of the collection, other than session and time, to the table's column (lists are
    joined by commas; of `counted` ones only the length is stored); `time` is the column of the
    time. `passages` is the column of the number of what passages belong to, if it is cut into them:
    those of one turn or chunk count as one hit. `archive` is the table that all of it is made
    of, from which it can be made again. `within` is the kind whose searches include it.
    """

    name: str
    table: str
    embeddings: str
    asset: str
    collection: str
    metadata: Mapping[str, tuple[str, ...]]
    counted: tuple[str, ...] = ()
    time: str = "timestamp"
    passages: str = ""
    archive: str = "redacted_records"
    within: str = ""

    @property
    def keywords(self) -> str:
        """The stage under which the catalogue records the rows in the keyword index."""
        return f"{self.name}_keywords"

    @property
    def keyword_asset(self) -> str:
        """The asset that holds the rows in the keyword index."""
        if self.archive.startswith("agent_"):
            return "agent_keyword_index"
        of_workspaces = self.archive == "workspace_documents"
        return "workspace_keyword_index" if of_workspaces else "keyword_index"

    def collection_of(self, agent: str) -> str:
        """Return the name of the collection with an agent's rows."""
        return self.collection.format(agent=agent)


MEMORY_COLLECTIONS = ("mem_episodic", "mem_semantic", "mem_procedural", "mem_narrative")
"""The collections beside `memory` that memories may be kept in, by their type (MEMORY_ROUTES)."""
HISTORY_COLLECTIONS = ("history_messages",)
"""The collections beside `history` that turns of conversations may be kept in (MEMORY_ROUTES)."""


def _same(*names: str) -> dict[str, tuple[str, ...]]:
    return {name: (name,) for name in names}


SEARCH_KINDS = {
    kind.name: kind
    for kind in (
        SearchKind(
            "sessions",
            table="turn_chunks",
            embeddings="turn_embeddings",
            asset="session_collection",
            collection="{agent}-sessions",
            metadata={
                **_same("turn_id", "turn_index", "part", "role", "tools_used", "files"),
                **_same("git_branch", "ingested_at"),
            },
            passages="turn_index",
        ),
        SearchKind(
            "prompts",
            table="user_prompts",
            embeddings="prompt_embeddings",
            asset="prompt_collection",
            collection="user-prompts",
            metadata=_same("turn_id", "turn_index", "part", "git_branch"),
            passages="turn_index",
        ),
        SearchKind(
            "summaries",
            table="session_summaries",
            embeddings="summary_embeddings",
            asset="summary_collection",
            collection="session-summaries",
            metadata=_same("title", "ended_at", "turns", "commits", "git_branch"),
            counted=("commits",),
            time="started_at",
        ),
        SearchKind(
            "observations",
            table="observations",
            embeddings="observation_embeddings",
            asset="observation_collection",
            collection="observations",
            metadata={
                **_same("turn_id", "turn_index", "type", "title", "concepts", "git_branch"),
                "files": ("files_modified", "files_read"),
            },
        ),
        SearchKind(
            "workspace",
            table="workspace_chunks",
            embeddings="workspace_embeddings",
            asset="workspace_collection",
            collection="workspace",
            metadata={
                **_same("document_id", "chunk_id", "chunk_index", "part"),
                **_same("file_path", "file_type", "chunk_type"),
                **_same("section_heading", "line_start", "line_end", "kind", "bucket"),
                **_same("service", "domain", "source_repo_slug"),
                "last_modified": ("timestamp",),
                "source_root": ("project_root",),
            },
            passages="chunk_index",
            archive="workspace_documents",
        ),
        SearchKind(
            "memory",
            table="agent_memory",
            embeddings="agent_memory_embeddings",
            asset="agent_memory_collection",
            collection="memory",
            metadata=_same(
                *("type", "confidence", "conversation_id", "entities", "tags", "source", "also")
            ),
            archive="agent_memory",
        ),
        SearchKind(
            "history",
            table="agent_history",
            embeddings="agent_history_embeddings",
            asset="agent_history_collection",
            collection="history",
            metadata=_same("turn_index", "role", "channel"),
            archive="agent_history",
        ),
        SearchKind(
            "history_summaries",
            table="history_summaries",
            embeddings="history_summary_embeddings",
            asset="history_summary_collection",
            collection="history_summaries",
            metadata={
                **_same("first_turn", "last_turn", "ended_at", "cut_turns"),
                "turns": ("message_ids",),
            },
            counted=("turns",),
            archive="agent_history",
            within="history",
        ),
    )
}
"""All kinds by name, as a search asks for them."""


def sessions_waiting(
    totals: Mapping[str, Mapping[str, Any]], quarantined: int, read: int = 0
) -> int:
    """Return the number of sessions on record, or `read`, of which no chunks were made, beside
    those that are held back: a check failed, or the ingest was stopped. `totals` are the counts
    by stage."""
    kind = SEARCH_KINDS["sessions"]
    counts = (totals.get(stage, {}).get("sessions") for stage in (kind.archive, kind.table))
    on_record, chunked = (int(count or 0) for count in counts)
    return max(max(on_record, read) - chunked - quarantined, 0)
