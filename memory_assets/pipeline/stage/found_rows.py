"""What checks found right in this process, which need not be looked at again."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.lake.schemas import Table


class FoundRows:
    """The `rows` of each session of a table that a check found right, in this process and in its
    present state; `pending` are the others. `beside` has what the state of each session depends on
    apart from its rows, `more` what all depend on."""

    def __init__(
        self,
        components: Components,
        project: str,
        table: Table,
        check: str,
        beside: Mapping[str, object] = MappingProxyType({}),
        more: object = None,
    ) -> None:
        self._components, self._key = components, (project, check)
        stamps = components.lake.partition(table, project).stamps()
        self._states = {
            name: hash((more, stamps.get(name), beside.get(name)))
            for name in stamps.keys() | beside.keys()
        }
        before = components.rows_found.get(self._key, {})
        self.rows = {
            name: rows for name, (state, rows) in before.items() if self._states.get(name) == state
        }
        self.pending = sorted(self._states.keys() - self.rows.keys())

    def doubt(self) -> None:
        """Have all sessions looked at again."""
        self.rows.clear()
        self.pending = sorted(self._states)

    def note(self) -> None:
        """Note what was found right."""
        noted = {name: (self._states[name], rows) for name, rows in self.rows.items()}
        self._components.rows_found[self._key] = noted
