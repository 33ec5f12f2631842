"""What an agent can ask of its own memory, in plain values: for the interfaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from memory_assets.pipeline.agent_memory.gateway import open_gateway
from memory_assets.pipeline.stage.engines import Engines
from memory_assets.settings import Settings
from memory_assets.stores.agent_journal import FILE_NAME, AgentJournal

if TYPE_CHECKING:
    from memory_assets.agent_memory.gateway import MemoryGateway


class AgentCalls:
    """The memory of one data directory, as agents call it. `busy_seconds` is how long a lock of
    another process is awaited."""

    def __init__(self, settings: Settings, busy_seconds: float) -> None:
        self.engines = Engines(settings)
        path = settings.data_dir / FILE_NAME
        vars(self.engines)["journal"] = AgentJournal(path, seconds=busy_seconds)
        self._gateways: dict[str, MemoryGateway] = {}

    def gateway(self, project: str) -> MemoryGateway:
        """Return the gateway to what is about a project, "" for none."""
        if project not in self._gateways:
            self._gateways[project] = open_gateway(self.engines, project)
        return self._gateways[project]

    def context(
        self,
        project: str,
        conversation_id: str,
        latest: str,
        budget: int | None,
        framed: Callable[[Sequence[str]], str],
    ) -> dict[str, Any]:
        """Return a context as JSON: its text, tokens and budget, and what was left out."""
        from memory_assets.agent_memory.context import ContextBuilder, ContextLimits

        settings = self.engines.settings
        limits = ContextLimits(
            settings.context_token_budget, settings.history_tail_n, settings.top_k
        )
        limits = replace(limits, budget=budget) if budget else limits
        count = self.engines.tokens.count_tokens
        builder = ContextBuilder(self.gateway(project), count, framed, limits)
        made = builder.build_context(conversation_id, latest)
        return {**asdict(made), "budget": limits.budget}


def has_journal(settings: Settings) -> bool:
    """Whether an agent ever wrote anything here."""
    return (settings.data_dir / FILE_NAME).exists()
