"""Finding what agents wrote that is not yet in the lake, its vectors or its indexes."""

from __future__ import annotations

from collections.abc import Iterator

from memory_assets.pipeline.agent_memory.tables import made_with, outdated
from memory_assets.pipeline.indexes.collections import forget_lost_store
from memory_assets.pipeline.plan.plan import ProjectPlan, derived_reason
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.status import counted
from memory_assets.stores.agents.journal import FILE_NAME, has_journal
from memory_assets.stores.agents.journal_file import COPIED, recover_damaged
from memory_assets.stores.agents.partitions import is_agent_memory, partition_of, project_in
from memory_assets.stores.lake.schemas import AGENT_HISTORY, AGENT_MEMORY

RECOVERED = "the journal was lost or damaged, and begun again with its copy"
"""The reason of the first ingest after that."""


def plan_agent_memory(components: Components) -> Iterator[ProjectPlan]:
    """Yield the partitions of what agents wrote that have work to do, sorted. Where no agent ever
    wrote anything, nothing is opened. A damaged journal is begun again with its copy."""
    if recover_damaged(components.data_dir / FILE_NAME):
        components.opened.pop("journal", None)
    partitions = written(components)
    if partitions:
        forget_lost_store(components)
    for partition in partitions:
        count = outdated(components, partition)
        reason = f"{counted(count, 'conversation')} or memories new or changed" if count else ""
        if has_journal(components.data_dir) and components.journal.version == COPIED:
            reason = RECOVERED
        reason = reason or derived_reason(components, partition)
        if reason:
            state = str(components.journal.state_of(project_in(partition)))
            fingerprint = input_hash(made_with(components), reason, state)
            yield ProjectPlan(partition, reason, fingerprint)


def written(components: Components) -> list[str]:
    """Return the partitions of what agents wrote, sorted. Where no agent ever wrote anything, no
    journal is made."""
    lake = components.lake
    found = {*lake.projects(AGENT_HISTORY), *lake.projects(AGENT_MEMORY)}
    found |= {name for name in components.catalog.projects() if is_agent_memory(name)}
    if has_journal(components.data_dir):
        found |= set(map(partition_of, components.journal.projects()))
    return sorted(found)
