"""Products that are made of a whole session, and how seldom a long one is worth it.

A summary of a session that goes on is out of date with its next turn, and costs the whole
session. So while a long session only grows, it is made again when the session has grown by
a tenth, or has rested for some minutes; until then it waits.
"""

from __future__ import annotations

import time
from dataclasses import replace

from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.schema import Product

_SHORT_ROWS = 2_000
"""Rows of redacted_records up to which a session is not worth waiting for."""
_GROWTH = 1.1


def with_made_of(product: Product, source: Product, version: str) -> Product:
    """Return a product with the fact that tells which records it was made of."""
    made_of = (source.facts.get("lineage"), source.rows, version)
    return replace(product, facts={**product.facts, "made_of": made_of})


class Deferral:
    """Which sessions of a project wait for a rest."""

    def __init__(self, components: Components, project: str) -> None:
        self._components = components
        self._project = project
        self._grew_at: dict[str, float] | None = None

    def waits(self, source: Product, made: Product, version: str) -> bool:
        """Whether `made` may stay as it is for now, though the session (a product of
        redacted_records) has grown since."""
        lineage, rows, made_by = made.facts.get("made_of") or (None, 0, "")
        return (
            made_by == version
            and lineage is not None
            and lineage == source.facts.get("lineage")
            and source.rows > _SHORT_ROWS
            and source.rows < rows * _GROWTH
            and not self._has_rested(source.session_id)
        )

    def _has_rested(self, session_id: str) -> bool:
        if self._grew_at is None:
            self._grew_at = {}
            for row in self._components.catalog.sources.rows(self._project):
                at = max(self._grew_at.get(row.session_id, 0.0), row.mtime_ns / 1e9)
                self._grew_at[row.session_id] = at
        quiet = time.time() - self._grew_at.get(session_id, 0.0)
        return quiet >= self._components.settings.rest_minutes * 60
