"""Dagster resources: configuration in, the pipeline's components out. No asset logic."""

from __future__ import annotations

from functools import lru_cache

import dagster as dg

from memory_assets.pipeline.components import Components
from memory_assets.settings import Settings, load_settings


class MemoryResource(dg.ConfigurableResource[Components]):
    """The stores and engines of one memory.

    Components are shared by the steps of a process, so that models load once a run.
    """

    settings_json: str = ""
    """`Settings` as JSON; empty: as the environment and memory.toml say."""

    @classmethod
    def of(cls, settings: Settings) -> MemoryResource:
        """Return the resource that stands for settings already loaded."""
        return cls(settings_json=settings.model_dump_json())

    def settings(self) -> Settings:
        """Return the settings that this resource stands for."""
        if not self.settings_json:
            return load_settings()
        return Settings.model_validate_json(self.settings_json)

    def components(self) -> Components:
        """Return the components, opened once a process."""
        return _components(self.settings())


@lru_cache(maxsize=4)
def _components(settings: Settings) -> Components:
    return Components(settings)
