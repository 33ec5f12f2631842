"""Deferring summaries, observations and commits of a long session while it is growing.

They are made from the whole session, and out of date with its next turn. So while a long
session only grows, they are made again when it has grown by a tenth, or when nothing was
added for some minutes (`rest_minutes` in the settings).
"""

from __future__ import annotations

from dataclasses import replace

from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.schema import Product

_SHORT_ROWS = 2_000
"""Sessions with at most so many rows of redacted_records are never deferred."""
_GROWTH = 1.1


def with_made_of(product: Product, source: Product, version: str) -> Product:
    """Return a product with the fact `made_of`: the records and version that it was made from."""
    made_of = (source.facts.get("lineage"), source.rows, version)
    return replace(product, facts={**product.facts, "made_of": made_of})


class Deferral:
    """Decides which products of a project are deferred."""

    def __init__(self, components: Components, project: str) -> None:
        self._components = components
        self._project = project
        self._grew_at: dict[str, float] | None = None

    def is_deferred(self, source: Product, product: Product, version: str) -> bool:
        """Whether a product need not be made again yet, though the redacted records `source`
        have grown since."""
        lineage, rows, made_by = product.facts.get("made_of") or (None, 0, "")
        return (
            made_by == version
            and lineage is not None
            and lineage == source.facts.get("lineage")
            and source.rows > _SHORT_ROWS
            and source.rows < rows * _GROWTH
            and not self._is_quiet(source.session_id)
        )

    def _is_quiet(self, session_id: str) -> bool:
        if self._grew_at is None:
            self._grew_at = {}
            for row in self._components.catalog.sources.rows(self._project):
                at = max(self._grew_at.get(row.session_id, 0.0), row.mtime_ns / 1e9)
                self._grew_at[row.session_id] = at
        quiet = self._components.clock() - self._grew_at.get(session_id, 0.0)
        return quiet >= self._components.settings.rest_minutes * 60
