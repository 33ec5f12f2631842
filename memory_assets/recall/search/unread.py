"""Search in the journal, by words, for what agents wrote since the last ingest.

So a memory is found as soon as it is stored; by meaning once it is ingested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memory_assets.agent_memory.ports import ConversationTurn, StoredMemory
from memory_assets.keywords import indexed_terms, query_terms
from memory_assets.recall.search.answer import Hit
from memory_assets.requests.search import SearchRequest
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.stores.agents.journal import has_journal
from memory_assets.stores.agents.partitions import AGENT, MEMORY_HEAD, MESSAGE_HEAD, partition_of
from memory_assets.stores.stores import Stores

_MOST_TURNS = 2_000
"""Turns of a project that are looked at, those of the latest conversations: .1 s of CPU."""
_WEAK_BELOW = 0.5


@dataclass(frozen=True)
class _Unread:
    """A memory or turn that the keyword index does not have yet."""

    kind: str
    id: str
    partition: str
    session_id: str
    row: ConversationTurn | StoredMemory

    def metadata(self) -> Mapping[str, Any]:
        """Return the metadata that it will have in its collection, as far as they are known."""
        values = {name: getattr(self.row, name) for name in SEARCH_KINDS[self.kind].metadata}
        return {
            **{"session_id": self.session_id, "project": self.partition},
            **{"project_root": "", "agent": AGENT},
            "timestamp": self.row.ts.isoformat().replace("+00:00", "Z"),
            "ts_epoch": self.row.ts.timestamp(),
            **{name: ",".join(v) if isinstance(v, tuple) else v for name, v in values.items()},
        }


def unread_hits(stores: Stores, request: SearchRequest) -> list[Hit]:
    """Return the hits among turns and memories that the keyword index does not have yet, best
    first: the score is the share of the question's words in them. Without a query, all that pass
    the filters."""
    kinds = {"memory", "history"} & set(request.kinds)
    filtered = request.agent or request.tool or request.file or request.of_documents
    if not kinds or filtered or request.mode == "semantic":
        return []
    weights = query_terms(request.query)
    hits = []
    for unread in _unread(stores, kinds, request.project):
        row = unread.row
        if request.session not in (None, unread.session_id) or not request.covers(row.ts):
            continue
        terms = set(indexed_terms(row.text))
        matched = sum(weight for term, weight in weights.items() if term in terms)
        share = matched / sum(weights.values()) if weights else 0.0
        if matched or not weights:
            why = {"words": round(share, 4), "journal": 1.0}
            weak = bool(weights) and share < _WEAK_BELOW
            hits.append(Hit(unread.id, unread.id, share, row.text, unread.metadata(), why, weak))
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def waiting_for_ingest(stores: Stores) -> dict[str, int]:
    """Return how many memories and turns of agents the indexes do not have yet, by kind; of turns
    at most 2,000 a project are counted."""
    kinds = ("memory", "history")
    counts = Counter(unread.kind for unread in _unread(stores, kinds))
    return {kind: counts[kind] for kind in kinds if counts[kind]}


def _unread(stores: Stores, kinds: Collection[str], wanted: str | None = None) -> Iterator[_Unread]:
    """Yield the memories and turns that are not in the keyword index, of a partition or of all."""
    projects = stores.journal.projects() if has_journal(stores.data_dir) else ()
    for project in projects:
        if wanted in (None, partition_of(project)):
            yield from _unread_memories(stores, project) if "memory" in kinds else ()
            yield from _unread_turns(stores, project) if "history" in kinds else ()


def _unread_memories(stores: Stores, project: str) -> Iterator[_Unread]:
    partition = partition_of(project)
    indexed = stores.catalog.products.hashes(SEARCH_KINDS["memory"].keywords, partition)
    for memory in stores.journal.memories({"project": project}):
        name = memory.memory_id.removeprefix(MEMORY_HEAD)
        if name not in indexed:
            yield _Unread("memory", memory.memory_id, partition, name, memory)


def _unread_turns(stores: Stores, project: str) -> Iterator[_Unread]:
    partition, kind = partition_of(project), SEARCH_KINDS["history"]
    indexed = stores.catalog.products.hashes(kind.keywords, partition)
    stored = stores.catalog.products.of_project(kind.table, partition)
    states, turns_left = stores.journal.conversation_states(project), _MOST_TURNS
    for name, state in sorted(states.items(), key=lambda item: -_change_number(item[1])):
        is_indexed = name in indexed and name in stored
        indexed_state = stored[name].facts.get("journal") if is_indexed else None
        if indexed_state != state:
            after = _change_number(indexed_state) if indexed_state else 0
            turns = stores.journal.turns_after(name, after, turns_left)
            turns_left -= len(turns)
            for turn in turns:
                yield _Unread("history", f"{MESSAGE_HEAD}{turn.message_id}", partition, name, turn)


def _change_number(state: str) -> int:
    """Return the number of the last change in a conversation's state."""
    return int(state.partition(":")[2])
