"""What comes before each command."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from memory_assets.cli.printing import rendering
from memory_assets.errors import StoreError
from memory_assets.paths import tombstones_copy
from memory_assets.private_files import take_from_others
from memory_assets.settings import Settings


def prepare(settings: Settings) -> None:
    """Turn notices on, correct file modes, and complete a forgetting that was interrupted, or that
    the data directory knows nothing of: it came back from a backup, or lost its tombstones."""
    rendering.show_notices()
    take_from_others(settings.data_dir)
    path, copy = settings.data_dir / "forgotten.db", tombstones_copy(settings.data_dir)
    if copy.exists():
        _take_over(settings, path, copy)
    if path.exists():
        from memory_assets.stores.tombstones import unfinished

        if unfinished(path):
            from memory_assets.cli.removal_commands import complete_forgetting

            complete_forgetting(settings)


def _take_over(settings: Settings, path: Path, copy: Path) -> None:
    """Note in the tombstones what their copy has besides. What cannot be used is told by what
    cannot do without it."""
    from memory_assets.install_key import load_install_key
    from memory_assets.stores.files.shared import is_writable
    from memory_assets.stores.tombstones import Tombstones

    with suppress(StoreError):
        known = Tombstones(path, load_install_key())
        if is_writable(path.parent) and known.lacks(copy):
            known.take_over(copy)
