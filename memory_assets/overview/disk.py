"""The agents' files as they lie now, against what the ledger says of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from memory_assets.stores.catalog_view import CatalogView

_SUFFIX = ".jsonl"
_DEPTH = 8
_OTHERS = frozenset({"history.jsonl", "journal.jsonl", "session_index.jsonl"})
_OTHER_PREFIXES = ("agent-aprompt_suggestion-", "agent-acompact-")
"""Files that no reader takes, told without asking the readers; they decide on any other."""

Facts = tuple[int, int]
"""Size and mtime in nanoseconds."""


@dataclass
class Disk:
    """Files of transcripts on disk, those that differ from the ledger (`pending`, with when
    they were written), and paths that the ledger believes in and that are gone."""

    files: int = 0
    bytes: int = 0
    newest_ns: int = 0
    pending: dict[str, int] = field(default_factory=dict)
    vanished: int = 0


def look(view: CatalogView, roots: Mapping[str, Path], data_dir: Path) -> Disk:
    """Return what is on disk now; costs a stat a file."""
    known: dict[str, tuple[int, int, bool]] = {
        row[0]: (row[1], row[2], row[3] is not None)
        for row in view.rows("SELECT path, size, mtime_ns, gone_at FROM sources")
    }
    disk, unknown, seen = Disk(), dict[str, Facts](), set[str]()
    for root in roots.values():
        for path, facts in _files(root, _DEPTH):
            noted = known.get(path)
            if noted is None:
                unknown[path] = facts
                continue
            seen.add(path)
            _count(disk, facts)
            if noted != (*facts, False):
                disk.pending[path] = facts[1]
    for path, facts in _transcripts_among(unknown, roots, data_dir).items():
        _count(disk, facts)
        disk.pending[path] = facts[1]
    disk.vanished = sum(
        not gone and bool(path) and path not in seen and not os.path.exists(path)  # noqa: PTH110
        for path, (_, _, gone) in known.items()
    )
    return disk


def _count(disk: Disk, facts: Facts) -> None:
    disk.files += 1
    disk.bytes += facts[0]
    disk.newest_ns = max(disk.newest_ns, facts[1])


def _files(directory: Path | str, depth: int) -> Iterator[tuple[str, Facts]]:
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    for entry in entries:
        try:
            if entry.name.endswith(_SUFFIX):
                if entry.name not in _OTHERS and not entry.name.startswith(_OTHER_PREFIXES):
                    status = entry.stat()
                    yield entry.path, (status.st_size, status.st_mtime_ns)
            elif depth and entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, depth - 1)
        except OSError:
            continue


def _transcripts_among(
    unknown: Mapping[str, Facts], roots: Mapping[str, Path], data_dir: Path
) -> dict[str, Facts]:
    """Return those that the readers take for transcripts and nobody has forgotten."""
    if not unknown:
        return {}
    from memory_assets.install_key import load_install_key
    from memory_assets.stores.tombstones import FILE_NAME, Forgotten, Tombstones
    from memory_assets.transcripts import discover

    tombstones = data_dir / FILE_NAME
    forgotten = Forgotten()
    if tombstones.exists():
        forgotten = Tombstones(tombstones, load_install_key()).forgotten()
    return {
        path: unknown[path]
        for source in discover(roots)
        if (path := str(source.path)) in unknown
        and (source.project, source.session_id) not in forgotten
    }
