"""The Dagster resource `memory`: the settings of this process, and what a run opens with them.

It has no configuration. Where the memory lies, which Chroma is used and how long sessions
are kept is decided by the environment of the process (and memory.toml) alone, so that
nobody who can launch a run, in the launchpad or by GraphQL, can point it elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import dagster as dg

from memory_assets.pipeline.stage.components import Components, redaction_settings
from memory_assets.redaction import ruleset_version
from memory_assets.settings import Settings, load_settings


@dataclass(frozen=True)
class MemoryResource:
    """The settings of one memory, and the run that uses it ("" outside of runs)."""

    settings: Settings
    run_id: str = ""

    def components(self) -> Components:
        """Return the stores and engines, opened once a process: models load once."""
        components = _components(self.settings)
        components.catalog.products.run_id = self.run_id
        return components


MemoryParam = dg.ResourceParam[MemoryResource]
"""The type of a parameter `memory` that Dagster fills with the resource of that name."""


def memory_resource(settings: Settings | None = None) -> dg.ResourceDefinition:
    """Return the resource that opens the memory of `settings`, or (None) of those that the
    environment has when a run or a tick begins. Any run configuration for it is refused."""

    def opened(context: dg.InitResourceContext) -> MemoryResource:
        run_id = context.run.run_id if context.run else ""
        return MemoryResource(settings or load_settings(), run_id)

    return dg.ResourceDefinition(
        opened,
        config_schema={},
        description="The memory's stores and engines; set by MEMORY_* variables, not by runs.",
    )


def present_ruleset_version() -> str:
    """Return the version of the redaction rules under the settings of the environment: the
    code version of redacted_records, by which its partitions show as out of date."""
    return ruleset_version(redaction_settings(load_settings()))


@lru_cache(maxsize=4)
def _components(settings: Settings) -> Components:
    return Components(settings)
