"""The ledger of transcripts, as a lookup for the walk of the agents' directories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from memory_assets.paths import split_locator
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets.transcripts import Known, Source


class LedgerSources(Known):
    """The sources of the ledger by path. `tokens`: of containers all of whose sessions were in it
    as they are when the container had this token. `seen` are the tokens of this walk."""

    def __init__(
        self, rows: Iterable[SourceRow], tokens: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._rows = {row.path: row for row in rows}
        self._tokens = tokens
        self._members: dict[str, list[SourceRow]] | None = None
        self.seen: dict[str, str] = {}

    def __call__(self, path: Path, size: int, mtime_ns: int) -> Source | None:
        """Return the transcript that the ledger has there; None if it has none, has it without a
        directory (earlier versions did not ask for it), or the file has changed."""
        row = self._rows.get(str(path))
        if row is None or row.directory is None or (row.size, row.mtime_ns) != (size, mtime_ns):
            return None
        return _source_at(row, path)

    def members(self, container: Path, token: str) -> Sequence[Source] | None:
        """Return the sessions of a container that did not change since the ledger had all."""
        return self.last_seen(container) if self._tokens.get(str(container)) == token else None

    def last_seen(self, container: Path) -> Sequence[Source]:
        """Return the sessions of a container that the ledger has as present."""
        if self._members is None:
            self._members = {}
            for path, row in self._rows.items():
                container_path, member = split_locator(path) if "#" in path else (path, "")
                if member and row.gone_at is None:
                    self._members.setdefault(container_path, []).append(row)
        rows = self._members.get(str(container), ())
        return [_source_at(row, container) for row in rows]

    def see(self, container: Path, token: str) -> None:
        """Note the token of a container whose sessions are listed."""
        self.seen[str(container)] = token


def source_of(row: SourceRow) -> Source:
    """Return the source that a row of the ledger describes."""
    path, member = split_locator(row.path)
    return Source(
        *(row.agent, row.project, row.session_id, row.agent_id or None),
        *(Path(path), row.size, row.mtime_ns),
        tuple(map(Path, row.facts.get("parts", ()))),
        directory=row.directory or "",
        member=member,
    )


def _source_at(row: SourceRow, path: Path) -> Source:
    """Return the source of one path; its further files are found by themselves."""
    return replace(source_of(row), path=path, parts=())
