"""The partitions of what agents wrote themselves, and the ids of its rows."""

from __future__ import annotations

AGENT = "agent-memory"
"""The value of the column `agent` in rows that an agent wrote itself; partition keys begin so."""
MEMORY_HEAD = "memory::"
"""The ids of memories begin so."""
MESSAGE_HEAD = "message::"
"""The ids of turns begin so."""
SUMMARY_HEAD = "history-summary::"
"""The ids of summaries of turns begin so."""


def partition_of(project: str) -> str:
    """Return the partition key of agents' memory about a project ("" for no project)."""
    return f"{AGENT}:{project}" if project else AGENT


def is_agent_memory(partition: str) -> bool:
    """Return True if a partition key is one of agents' memory."""
    return partition.split(":", 1)[0] == AGENT


def project_in(partition: str) -> str:
    """Return the project of a partition key that `partition_of` made."""
    return partition.partition(":")[2]
