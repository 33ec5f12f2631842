"""Dagster resources: configuration in, the pipeline's components out. No asset logic."""

from __future__ import annotations

from functools import lru_cache

import dagster as dg
from pydantic import PrivateAttr

from memory_assets.pipeline.components import Components, redaction_settings
from memory_assets.redaction import ruleset_version
from memory_assets.settings import Settings, load_settings


class MemoryResource(dg.ConfigurableResource[Components]):
    """The stores and engines of one memory.

    Components are shared by the steps of a process, so that models load once a run.
    """

    settings_json: str = ""
    """`Settings` as JSON; empty: as the environment and memory.toml say."""

    _run_id: str = PrivateAttr("")

    @classmethod
    def of(cls, settings: Settings) -> MemoryResource:
        """Return the resource that stands for settings already loaded."""
        return cls(settings_json=settings.model_dump_json())

    def settings(self) -> Settings:
        """Return the settings that this resource stands for."""
        if not self.settings_json:
            return load_settings()
        return Settings.model_validate_json(self.settings_json)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Note which run this is: what it makes will say so."""
        self._run_id = context.run.run_id if context.run else ""

    def components(self) -> Components:
        """Return the components, opened once a process."""
        components = _components(self.settings())
        components.catalog.run_id = self._run_id
        return components


def present_ruleset_version() -> str:
    """Return the version of the redaction rules under the settings of the environment: the
    code version of redacted_records, by which its partitions show as out of date."""
    return ruleset_version(redaction_settings(load_settings()))


@lru_cache(maxsize=4)
def _components(settings: Settings) -> Components:
    return Components(settings)
