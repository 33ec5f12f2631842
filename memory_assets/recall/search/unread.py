"""Search in the journal, by words, for what agents wrote since the last ingest.

So a memory is found as soon as it is stored; by meaning once it is ingested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memory_assets.agent_memory.ports import ConversationTurn, StoredMemory
from memory_assets.keywords import indexed_terms, query_terms
from memory_assets.recall.search.answer import Hit
from memory_assets.requests.search import SearchRequest
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.stores.agents.journal import AgentJournal, has_journal
from memory_assets.stores.agents.partitions import AGENT, MEMORY_HEAD, MESSAGE_HEAD, partition_of
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.stores import Stores

_MOST_TURNS = 2_000
"""Turns of a project that are looked at, those of the latest conversations: .1 s of CPU."""
_WEAK_BELOW = 0.5


def unread_hits(stores: Stores, request: SearchRequest) -> list[Hit]:
    """Return the hits among turns and memories that the keyword index does not have yet, best
    first: the score is the share of the question's words in them. Without a query, all that pass
    the filters."""
    kinds = {"memory", "history"} & set(request.kinds)
    filtered = request.agent or request.tool or request.file or request.of_documents
    cannot_match = not kinds or filtered or request.mode == "semantic"
    if cannot_match or not has_journal(stores.data_dir):
        return []
    weights = query_terms(request.query)
    hits = []
    for project in stores.journal.projects():
        partition = partition_of(project)
        if request.project not in (None, partition):
            continue
        for row_id, session_id, row in _unread(
            stores.journal, stores.catalog, project, partition, kinds
        ):
            if request.session not in (None, session_id) or not request.covers(row.ts):
                continue
            terms = set(indexed_terms(row.text))
            matched = sum(weight for term, weight in weights.items() if term in terms)
            share = matched / sum(weights.values()) if weights else 0.0
            if matched or not weights:
                metadata = _metadata(row, partition, session_id)
                why = {"words": round(share, 4), "journal": 1.0}
                weak = bool(weights) and share < _WEAK_BELOW
                hits.append(Hit(row_id, row_id, share, row.text, metadata, why, weak))
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def waiting_for_ingest(stores: Stores) -> dict[str, int]:
    """Return how many memories and turns of agents the indexes do not have yet, by kind; of turns
    at most 2,000 a project are counted."""
    counts: Counter[str] = Counter()
    if has_journal(stores.data_dir):
        for project in stores.journal.projects():
            partition = partition_of(project)
            for kind in ("memory", "history"):
                rows = _unread(stores.journal, stores.catalog, project, partition, (kind,))
                counts[kind] += sum(1 for _ in rows)
    return {kind: count for kind, count in counts.items() if count}


def _unread(
    journal: AgentJournal, catalog: Catalog, project: str, partition: str, kinds: Iterable[str]
) -> Iterator[tuple[str, str, ConversationTurn | StoredMemory]]:
    """Yield id, session and row of each turn and memory that is not in the keyword index."""
    if "memory" in kinds:
        indexed = catalog.products.hashes(SEARCH_KINDS["memory"].keywords, partition)
        for memory in journal.memories({"project": project}):
            name = memory.memory_id.removeprefix(MEMORY_HEAD)
            if name not in indexed:
                yield memory.memory_id, name, memory
    if "history" in kinds:
        kind = SEARCH_KINDS["history"]
        indexed = catalog.products.hashes(kind.keywords, partition)
        stored = catalog.products.of_project(kind.table, partition)
        states, turns_left = journal.conversation_states(project), _MOST_TURNS
        for name, state in sorted(states.items(), key=lambda item: -_change_number(item[1])):
            indexed_state = (
                stored[name].facts.get("journal") if name in indexed and name in stored else None
            )
            if indexed_state != state:
                turns = journal.turns_after(
                    name, _change_number(indexed_state) if indexed_state else 0, turns_left
                )
                turns_left -= len(turns)
                yield from ((f"{MESSAGE_HEAD}{turn.message_id}", name, turn) for turn in turns)


def _change_number(state: str) -> int:
    """Return the number of the last change in a conversation's state."""
    return int(state.partition(":")[2])


def _metadata(
    row: ConversationTurn | StoredMemory, partition: str, session_id: str
) -> Mapping[str, Any]:
    """Return the metadata that the row will have in its collection, as far as it is known."""
    kind = SEARCH_KINDS["memory" if isinstance(row, StoredMemory) else "history"]
    values = {name: getattr(row, name) for name in kind.metadata}
    return {
        **{"session_id": session_id, "project": partition, "project_root": "", "agent": AGENT},
        "timestamp": row.ts.isoformat().replace("+00:00", "Z"),
        "ts_epoch": row.ts.timestamp(),
        **{name: ",".join(v) if isinstance(v, tuple) else v for name, v in values.items()},
    }
