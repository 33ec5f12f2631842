"""What comes before each command."""

from __future__ import annotations

from memory_assets.cli.printing import rendering
from memory_assets.private_files import take_from_others
from memory_assets.settings import Settings


def prepare(settings: Settings) -> None:
    """Turn notices on, correct file modes, and complete a forgetting that was interrupted."""
    rendering.show_notices()
    take_from_others(settings.data_dir)
    path = settings.data_dir / "forgotten.db"
    if path.exists():
        from memory_assets.stores.tombstones import unfinished

        if unfinished(path):
            from memory_assets.cli.removal_commands import complete_forgetting

            complete_forgetting(settings)
