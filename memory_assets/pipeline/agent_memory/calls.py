"""The calls by which an agent uses its own memory, in plain values, for the interfaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from memory_assets.agent_memory.history import checked_turn
from memory_assets.agent_memory.memory import Surroundings, Written, checked_memory
from memory_assets.agent_memory.ports import ConversationTurn, Summarized
from memory_assets.errors import NotFound, StoreError
from memory_assets.pipeline.agent_memory.gateway import (
    limits_of,
    open_gateway,
    policy_of,
    redaction_to_wait,
)
from memory_assets.pipeline.stage.engines import Engines
from memory_assets.settings import Settings
from memory_assets.stores.agents.journal import has_journal
from memory_assets.stores.agents.partitions import MESSAGE_HEAD, partition_of
from memory_assets.stores.agents.waiting import Waiting
from memory_assets.stores.stores import Stores

if TYPE_CHECKING:
    from memory_assets.agent_memory.gateway import MemoryGateway


_MOST_SUMMARIES = 4
"""Summaries in one context, of some 200 tokens each."""


class AgentCalls:
    """Agents' memory in one data directory. `busy_seconds` is how long to wait for a lock of
    another process."""

    def __init__(self, settings: Settings, busy_seconds: float) -> None:
        self.engines = Engines(settings)
        self.engines.journal_seconds = busy_seconds
        if has_journal(settings.data_dir):
            _ = self.engines.journal

    def gateway(self, project: str, *others: str) -> MemoryGateway:
        """Return the gateway to what agents wrote about a project ("": about none); it also reads
        what is about the others."""
        return open_gateway(self.engines, project, others=others)

    def context(
        self,
        projects: Sequence[str],
        conversation_id: str,
        latest: str,
        budget: int | None,
        framed: Callable[[Sequence[str]], str],
        work: Sequence[str] = (),
        short: Callable[[str], str] = str,
    ) -> dict[str, Any]:
        """Return a context as JSON: its text, tokens and budget, and what was left out. `work` are
        lines on what was done in the projects before; `short` shortens ids of sessions and
        turns."""
        from memory_assets.agent_memory.context import ContextBuilder

        settings = self.engines.settings
        limits = limits_of(settings)
        limits = replace(limits, budget=budget) if budget else limits
        count = self.engines.tokens.count_tokens
        beside = partial(summaries_beside, self.engines)
        gateway = self.gateway(*(projects or [""])) if has_memory(settings) else None
        builder = ContextBuilder(gateway, count, framed, limits, beside, work, short)
        built = builder.build_context(conversation_id, latest)
        return {**asdict(built), "budget": limits.budget}


def summaries_beside(stores: Stores, turns: Sequence[ConversationTurn]) -> list[Summarized]:
    """Return, in order, the last summaries that cover other turns of a conversation than these:
    earlier turns, or turns that retention has cut. None of them if the conversation is not
    ingested, or the lake cannot be read."""
    key = (partition_of(turns[0].project), turns[0].conversation_id)
    try:
        product = stores.catalog.products.of_session(*key).get("history_summaries")
        if product is None or not product.rows:
            return []
        from memory_assets.stores.lake.schemas import HISTORY_SUMMARIES

        rows = stores.lake.read_rows(HISTORY_SUMMARIES, *key)
    except (NotFound, StoreError, KeyError):  # KeyError: of a version without a column
        return []
    shown = {f"{MESSAGE_HEAD}{turn.message_id}" for turn in turns}
    summaries = [
        Summarized(row.id, row.first_turn, row.last_turn, row.ended_at, row.text)
        for row in rows
        if not shown.issuperset(row.message_ids)
    ]
    return summaries[-_MOST_SUMMARIES:]


def has_memory(settings: Settings) -> bool:
    """Whether an agent ever wrote anything here."""
    return has_journal(settings.data_dir)


def has_sessions(stores: Stores, project: str) -> bool:
    """Whether a project has sessions on record, without opening the lake, which imports pyarrow."""
    return stores.has_catalog and bool(stores.catalog.products.spans(project))


def send_waiting(settings: Settings, send: Callable[[dict[str, Any]], None]) -> int:
    """Send the waiting turns and memories, and return their number (`Waiting.send`)."""
    return Waiting(settings.data_dir).send(send)


def let_wait(settings: Settings, values: dict[str, Any], error: StoreError) -> dict[str, Any]:
    """Keep a turn or a memory until the memory can be written, and return the answer to the
    request. `values` are by the request's field names; a turn has a `role`. Values that would be
    refused later are refused now, while the caller can be told.

    Raises:
        BadArgument: a value is not allowed.
        StoreError: as many memories wait as may be stored in a window.
    """
    engines, waiting = Engines(settings), Waiting(settings.data_dir)
    redaction = redaction_to_wait(engines)
    stored = {**values, "ts": values["ts"] or datetime.now(UTC).isoformat()}
    if "role" in values:
        turn = checked_turn(
            redaction,
            values["conversation"],
            values["role"],
            values["text"],
            values["turn_index"],
            stored["ts"],
            message_id=values["message_id"] or "",
            channel=values["channel"] or "",
        )
        waiting.keep({**stored, "text": turn.text, "message_id": turn.message_id})
        return {"message_id": turn.message_id, "new": True, "waits": str(error)}
    policy = policy_of(settings)
    memory = checked_memory(
        policy,
        Surroundings(redaction, engines.tokens.count_tokens),
        values["text"],
        values["type"],
        values["confidence"],
        stored["ts"],
        values["conversation"],
        entities=values["entities"] or (),
        tags=values["tags"] or (),
        source=values["source"],
    )
    if isinstance(memory, Written):
        return asdict(memory)
    if sum("role" not in stored for stored in waiting.entries()) >= policy.max_per_window:
        raise error
    labels = {"entities": memory.entities or None, "tags": memory.tags or None}
    waiting.keep({**stored, "text": memory.text, **labels})
    return asdict(Written("waits", reason=str(error)))
