"""The stage of memory_trail: what happened to each memory, as the journal notes it.

A trail only grows. What the lake has of one and the journal has lost is put back there, and with it
what was archived.
"""

from __future__ import annotations

from datetime import UTC, datetime

from memory_assets.agent_memory.trail import TrailEntry
from memory_assets.agent_memory_models import MemoryChange
from memory_assets.errors import DamagedFile, NotFound
from memory_assets.pipeline.agent_memory.tables import TRAIL, by_hash
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.tables.derive import Made, derive_table
from memory_assets.redacted_text import compose
from memory_assets.stores.agents.partitions import AGENT, MEMORY_HEAD, project_in
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import MEMORY_TRAIL


def make_trail(components: Components, partition: str) -> StageReport:
    """Bring the trails of the memories of a partition that changed up to date, and return the
    report."""
    journal, project = components.journal, project_in(partition)

    def make(source: Product) -> Made:
        trail = journal.trail(f"{MEMORY_HEAD}{source.session_id}")
        rows = [
            MemoryChange(
                id=f"trail::{source.session_id}::{number}",
                project=partition,
                project_root=compose(""),
                agent=AGENT,
                session_id=source.session_id,
                timestamp=_moment(each.at),
                what=each.what,
                who=each.who,
                of=each.of,
                why=each.why,
            )
            for number, each in enumerate(trail)
        ]
        return rows, {"agent": AGENT}

    with components.project_lock(partition):
        put_back_trails(components, partition)
        sources = {
            name: Product(MEMORY_TRAIL.name, partition, name, state, state)
            for name, state in by_hash(journal.trail_states(project)).items()
        }
        return derive_table(components, partition, TRAIL, make=make, sources=sources)


def put_back_trails(components: Components, partition: str) -> None:
    """Add to the trails in the journal the entries that only the lake has."""
    journal, project = components.journal, project_in(partition)
    states = by_hash(journal.trail_states(project))
    on_record = components.catalog.products.of_project(MEMORY_TRAIL.name, partition)
    in_lake = set(components.lake.sessions(MEMORY_TRAIL, partition))
    for name in sorted(by_hash(journal.memory_states(project)).keys() & in_lake):
        count = int(states.get(name, "0").partition(":")[0])
        if name in on_record and count >= on_record[name].rows:
            continue
        memory_id = f"{MEMORY_HEAD}{name}"
        try:
            rows = components.lake.read_rows(MEMORY_TRAIL, partition, name)
        except (NotFound, DamagedFile):
            continue
        before = {(row.timestamp, row.what) for row in rows}
        with journal.transaction():
            since = journal.trail(memory_id)
            trail = [
                *(
                    TrailEntry(
                        memory_id, row.timestamp.timestamp(), row.what, row.who, row.of, row.why
                    )
                    for row in rows
                ),
                *(each for each in since if (_moment(each.at), each.what) not in before),
            ]
            journal.replace_trail(memory_id, trail)
            if trail[-1].what == "archived":
                journal.archive(memory_id, trail[-1].why)


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
