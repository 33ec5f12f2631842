"""Dagster resources: configuration in, the pipeline's components out. No asset logic."""

from __future__ import annotations

from functools import lru_cache

import dagster as dg
from pydantic import PrivateAttr

from memory_assets.pipeline.components import Components
from memory_assets.settings import Settings, load_settings


class MemoryResource(dg.ConfigurableResource[Components]):
    """The stores and engines of one memory.

    Empty values mean: as the environment and memory.toml say. Components are shared by
    the steps of a process, so that models load once a run.
    """

    data_dir: str = ""
    projects_dir: str = ""
    codex_dir: str = ""
    pi_dir: str = ""
    chroma_url: str = ""

    _settings: Settings | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, settings: Settings) -> MemoryResource:
        """Return the resource that stands for settings already loaded."""
        resource = cls()
        resource._settings = settings
        return resource

    def settings(self) -> Settings:
        """Return the settings that this resource stands for."""
        if self._settings is None:
            self._settings = load_settings(
                data_dir=self.data_dir or None,
                projects_dir=self.projects_dir or None,
                codex_dir=self.codex_dir or None,
                pi_dir=self.pi_dir or None,
                chroma_url=self.chroma_url or None,
            )
        return self._settings

    def components(self) -> Components:
        """Return the components, opened once a process."""
        return _components(self.settings())


@lru_cache(maxsize=4)
def _components(settings: Settings) -> Components:
    return Components(settings)
