"""Engines that a test session loads once, for many memories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory_assets.pipeline.stage.components import Components


def give(components: Components, engines: Mapping[str, Any]) -> None:
    """Have a memory use these engines, by the names of its properties, instead of loading some."""
    components.opened.update(engines)
    of_runs = {"embedder", "summarizer"} & engines.keys()
    vars(components).update({name: engines[name] for name in of_runs})
