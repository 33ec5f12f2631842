"""What agents wrote themselves: memories and conversations from the journal, and rows by id
(`memory::<hash>`, `message::<message id>`, `history-summary::<conversation>::<n>`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from memory_assets.agent_memory.ports import ConversationTurn, StoredMemory
from memory_assets.agent_memory.similarity import difference
from memory_assets.agent_memory_models import AgentMemory, AgentTurn
from memory_assets.chunking import content_hash
from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.recall.names import comma_list, project_written_about
from memory_assets.recall.rows import rows_of, with_iso_times
from memory_assets.requests.agent_memory import MemoriesRequest
from memory_assets.stores.agents.journal import has_journal
from memory_assets.stores.agents.partitions import (
    MEMORY_HEAD,
    MESSAGE_HEAD,
    SUMMARY_HEAD,
    partition_of,
)
from memory_assets.stores.agents.rows import row_of_memory, row_of_turn
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import AGENT_HISTORY, AGENT_MEMORY, HISTORY_SUMMARIES, Table
from memory_assets.stores.stores import Stores

_NOT_SHOWN = ("stored_at", "at_turn")
_ORDERS = {"date": "-ts", "confidence": "-confidence"}
_ALL = 10_000
"""As many memories as one request may be for."""
_SHORTEST = 8
_LEFT_OUT = ("content_hash", "project_root", "ruleset_version")


@dataclass(frozen=True)
class NamedRow:
    """A memory, a turn, or a summary of turns that an id names, and the products of its partition
    by stage."""

    id: str
    table: Table
    partition: str
    session_id: str
    products: Mapping[str, Product]

    @property
    def kind(self) -> str:
        """The word for such a row: "memory", "message" or "history-summary"."""
        return self.id.partition("::")[0]


def memories(stores: Stores, request: MemoriesRequest) -> list[dict[str, Any]]:
    """Return the memories that a request is for, as JSON. They need not be ingested."""
    if not has_journal(stores.data_dir):
        return []
    project = project_written_about(stores, request.project) if request.project else ""
    wanted = {"type": request.type, "conversation_id": request.conversation, "project": project}
    where = {name: value for name, value in wanted.items() if value}
    return _memories_as_json(
        stores, stores.journal.memories(where, limit=request.n, sort=_ORDERS[request.sort])
    )


def memory_of(stores: Stores, memory_id: str) -> dict[str, Any]:
    """Return one memory as JSON.

    Raises:
        NotFound: there is none of this id.
    """
    if has_journal(stores.data_dir):
        for shown in _memories_as_json(stores, stores.journal.memories({"memory_id": memory_id})):
            return shown
    raise NotFound(f"no {memory_id} in memory")


def _memories_as_json(stores: Stores, memories: Sequence[StoredMemory]) -> list[dict[str, Any]]:
    """Return memories as JSON, with why they are archived, and in what they differ from each that
    they contradict."""
    archived = stores.journal.archived()
    named = {name for memory in memories for name in memory.contradicts}
    stored = stores.journal.memories() if named else []
    old_texts = {memory.memory_id: memory.text for memory in stored if memory.memory_id in named}
    return [
        {
            **_as_json(memory),
            "differences": [
                difference(memory.text, old_texts[name]) if name in old_texts else ""
                for name in memory.contradicts
            ],
            "archived": archived.get(memory.memory_id, ""),
        }
        for memory in memories
    ]


def conversation(
    stores: Stores, conversation_id: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the turns of a conversation in order, and the memories that come from it, as JSON.

    Raises:
        NotFound: there is neither.
    """
    turns = []
    if has_journal(stores.data_dir):
        turns = [_as_json(turn) for turn in stores.journal.turns(conversation_id)]
    remembered = memories(stores, MemoriesRequest(conversation=conversation_id, n=_ALL))
    if not (turns or remembered):
        raise NotFound(f"no conversation {conversation_id} in memory")
    return turns, remembered


def partition_about(project: str) -> str:
    """Return the partition key of what agents wrote about a project, "" for none."""
    return partition_of(project)


def _as_json(written: StoredMemory | ConversationTurn) -> dict[str, Any]:
    values = {name: field for name, field in asdict(written).items() if name not in _NOT_SHOWN}
    return {**values, "ts": written.ts.isoformat().replace("+00:00", "Z")}


def written_row(stores: Stores, text: str) -> NamedRow | None:
    """Return what agents wrote under an id, of a memory also under a beginning that no other has;
    None if it is the id of something else.

    Raises:
        ConfigurationError: several memories begin so; lists them.
        NotFound: no agent wrote anything of this id.
    """
    if text.startswith(SUMMARY_HEAD):
        return _summary(stores, text)
    if not text.startswith((MEMORY_HEAD, MESSAGE_HEAD)):
        return None
    if text.startswith(MEMORY_HEAD) and has_journal(stores.data_dir):
        text = _memory_beginning(stores, text)
    head, _, name = text.partition("::")
    table = AGENT_MEMORY if head == "memory" else AGENT_HISTORY
    place = None
    if has_journal(stores.data_dir):
        place = stores.journal.place_of(text if head == "memory" else name)
    if place is None:
        raise NotFound(f"no {head} {name} in memory; `memory memories` lists what there is")
    project, conversation_id = place
    session_id = name if head == "memory" else conversation_id
    partition = partition_of(project)
    products = stores.catalog.products.of_session(partition, session_id)
    return NamedRow(text, table, partition, session_id, products)


def _summary(stores: Stores, text: str) -> NamedRow:
    """Return the summary of turns with an id; raise `NotFound` if there is none."""
    conversation = text.removeprefix(SUMMARY_HEAD).rpartition("::")[0]
    catalog, stage = stores.catalog, HISTORY_SUMMARIES.name
    for partition, *_ in catalog.products.spans(session_id=conversation, stage=stage):
        products = catalog.products.of_session(partition, conversation)
        named = NamedRow(text, HISTORY_SUMMARIES, partition, conversation, products)
        if lake_rows(stores, named):
            return named
    raise NotFound(f"no {text} in memory; `memory search --in history` finds summaries of turns")


def _memory_beginning(stores: Stores, text: str) -> str:
    """Return the id of the only memory that begins so, or the text itself."""
    if stores.journal.place_of(text) is not None:
        return text
    ids = (memory.memory_id for memory in stores.journal.memories())
    begun = [name for name in ids if name.startswith(text)]
    if len(begun) > 1:
        raise ConfigurationError(
            f"{len(begun)} memories begin with {text!r}: {comma_list(begun)}; give more of the id"
        )
    return begun[0] if begun else text


def short_memory_ids(stores: Stores) -> dict[str, str]:
    """Return a beginning of each memory's id that no other has, of eight characters of its hash or
    more."""
    if not has_journal(stores.data_dir):
        return {}
    ids = sorted(memory.memory_id for memory in stores.journal.memories())
    short: dict[str, str] = {}
    for own, *beside in zip(ids, ("", *ids), (*ids[1:], ""), strict=False):
        length = len(MEMORY_HEAD) + _SHORTEST
        while any(other.startswith(own[:length]) for other in beside) and length < len(own):
            length += 1
        short[own] = own[:length]
    return short


def journal_rows(stores: Stores, named: NamedRow, around: int = 0) -> list[dict[str, Any]]:
    """Return the row of an id as the journal has it, so that it need not be ingested; of a turn,
    also so many turns before and after. Of a summary, as the lake has it."""
    if named.table == HISTORY_SUMMARIES:
        return lake_rows(stores, named, around)
    if named.table == AGENT_MEMORY:
        (memory,) = stores.journal.memories({"memory_id": named.id})
        return [_columns(row_of_memory(memory, content_hash(memory.text), ""))]
    turns = stores.journal.turns(named.session_id)
    wanted = named.id.removeprefix(MESSAGE_HEAD)
    place = next(at for at, turn in enumerate(turns) if turn.message_id == wanted)
    near = turns[max(place - around, 0) : place + around + 1]
    return [_columns(row_of_turn(turn, content_hash(turn.text), "")) for turn in near]


def _columns(row: AgentMemory | AgentTurn) -> dict[str, Any]:
    values = asdict(row)
    return {name: list(of) if isinstance(of, tuple) else of for name, of in values.items()}


def lake_rows(stores: Stores, named: NamedRow, around: int = 0) -> list[dict[str, Any]]:
    """Return the lake's row of an id with `around` rows before and after it; [] if it is not
    ingested yet."""
    rows = rows_of(stores.lake, named.table, named.partition, named.session_id)
    places = [place for place, row in enumerate(rows) if row["id"] == named.id]
    return [row for place in places for row in rows[max(place - around, 0) : place + around + 1]]


def shown_rows(stores: Stores, named: NamedRow, around: int = 0) -> list[dict[str, Any]]:
    """Return the row of an id, or a turn with those around it, as `memory show` prints it."""
    return [
        {name: value for name, value in with_iso_times(row).items() if name not in _LEFT_OUT}
        for row in journal_rows(stores, named, around)
    ]


def trail_of(stores: Stores, memory_id: str) -> list[dict[str, Any]]:
    """Return what happened to a memory, in order: when, what, by whom, from what, and why; nothing
    without a journal."""
    if not has_journal(stores.data_dir):
        return []
    return [
        {
            "at": datetime.fromtimestamp(entry.at, UTC).isoformat().replace("+00:00", "Z"),
            **{name: getattr(entry, name) for name in ("what", "who", "why")},
            "of": list(entry.of),
        }
        for entry in stores.journal.trail(memory_id)
    ]
