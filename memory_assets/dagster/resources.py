"""The [resources](https://docs.dagster.io/guides/build/external-resources): `memory`, the settings
of this process with the stores and engines that a run opens, and `workers`, its processes.

They have no run configuration. The data directory, Chroma's address and the retention policy
come from the process's environment and memory.toml only, so that nobody who can launch a run,
in the launchpad or by GraphQL, can change them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import dagster as dg

from memory_assets.pipeline.ingest.workers import Workers
from memory_assets.pipeline.stage.components import Components, components_of
from memory_assets.pipeline.stage.engines import redaction_settings
from memory_assets.redaction import ruleset_version
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.runs.ledger import KEPT
from memory_assets.stores.runs.names import projects_of


@dataclass(frozen=True)
class MemoryResource:
    """The settings of one memory, and the id of the run that uses it ("" outside of runs)."""

    settings: Settings
    run_id: str = ""

    def components(self) -> Components:
        """Return the stores and engines for this run; they are opened once for each process."""
        return components_of(self.settings).for_run(self.run_id)


MemoryParam = dg.ResourceParam[MemoryResource]
"""The type of the parameter `memory` of assets, sensors and schedules: Dagster passes the
resource of that name."""


def memory_resource(settings: Settings | None = None) -> dg.ResourceDefinition:
    """Return the resource for `settings` or, if None, for the settings of the environment at
    the beginning of a run or tick. Run configuration for it is refused. While a run works, the
    ledger has it, so that the command line knows of it."""

    def opened(context: dg.InitResourceContext) -> Iterator[MemoryResource]:
        present, run = settings or load_settings(), context.run
        if run is None:
            yield MemoryResource(present)
            return
        memory = MemoryResource(present, run.run_id)
        ledger = memory.components().runs
        with ledger.under_way(run.run_id, run.job_name, projects_of(run), history=KEPT):
            yield memory

    return dg.ResourceDefinition(
        opened,
        config_schema={},
        description="The memory's stores and engines; set by MEMORY_* variables, not by runs.",
    )


def present_ruleset_version() -> str:
    """Return the version of the redaction rules under the settings of the environment: the
    [code version](https://docs.dagster.io/guides/build/assets/asset-versioning-and-caching) of
    redacted_records, by which Dagster shows partitions as out of date."""
    return ruleset_version(redaction_settings(load_settings()))


@dg.resource(required_resource_keys={"memory"}, description="The processes of one batch.")
def workers(context: dg.InitResourceContext) -> Iterator[Workers]:
    """Open the processes that run the steps of a batch, for the length of the run."""
    memory: MemoryResource = context.resources.memory
    opened = Workers(memory.components())
    try:
        yield opened
    finally:
        opened.close()


WorkersParam = dg.ResourceParam[Workers]


def resources(settings: Settings | None = None) -> dict[str, dg.ResourceDefinition]:
    """Return the resources of a run, on the memory of `settings` or, without, of the
    environment. Assets hand each other nothing, so that a run can go on where another failed; what
    the ops of a batch hand each other stays in memory, and a batch is repeated whole."""
    return {
        "memory": memory_resource(settings),
        "workers": workers,
        "of_this_process": dg.mem_io_manager,
    }
