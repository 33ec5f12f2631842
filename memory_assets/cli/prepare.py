"""What every command does first."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from memory_assets.cli.printing import rendering
from memory_assets.errors import StoreError
from memory_assets.paths import tombstones_copies
from memory_assets.private_files import take_from_others
from memory_assets.settings import Settings


def prepare(settings: Settings) -> None:
    """Turn notices on, correct file modes, and complete a forgetting that was interrupted, or that
    the data directory knows nothing of: it came back from a backup, or lost its tombstones."""
    rendering.show_notices()
    take_from_others(settings.data_dir)
    path = settings.data_dir / "forgotten.db"
    if copies := tombstones_copies(settings.data_dir):
        _take_over(settings, path, copies)
    if path.exists():
        from memory_assets.stores.tombstones import unfinished

        if unfinished(path):
            from memory_assets.cli.removal import complete_forgetting

            complete_forgetting(settings)


def _take_over(settings: Settings, path: Path, copies: Sequence[Path]) -> None:
    """Add to the tombstones what only their copies have, and to `excluded.txt` the sources that
    these entries exclude; all excluded sources, if that file is gone. A `StoreError` is ignored
    here: commands that need the tombstones raise it again."""
    from memory_assets.install_key import load_install_key
    from memory_assets.status.excluded import FILE_NAME, add_lines
    from memory_assets.stores.files.shared import is_writable
    from memory_assets.stores.tombstones import Tombstones

    with suppress(StoreError):
        tombstones = Tombstones(path, load_install_key())
        if not is_writable(path.parent):
            return
        is_there = (settings.data_dir / FILE_NAME).exists()
        before = set(tombstones.excluded()) if is_there else set()
        has_news = [tombstones.take_over(copy) for copy in copies]
        lines = tombstones.excluded() if any(has_news) or not is_there else []
        if new := [line for line in lines if line not in before]:
            add_lines(settings.data_dir, new)
