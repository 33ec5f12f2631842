"""The few settings that `memory status` needs, without pydantic (0.2 s of every start)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memory_assets.paths import DATA_DIR, KNOWN_AGENTS, SETTINGS_FILE, transcript_roots

if TYPE_CHECKING:
    from memory_assets.settings import Settings

_PREFIX = "MEMORY_"


@dataclass(frozen=True)
class Where:
    """A memory's data directory, the agents' directories and its Chroma."""

    data_dir: Path
    roots: Mapping[str, Path]
    chroma_url: str | None = None


def where_of(settings: Settings) -> Where:
    """Return the directories and the Chroma server of these settings."""
    return Where(settings.data_dir, settings.transcript_roots(), settings.chroma_url)


def quick_where() -> Where | None:
    """Return directories and Chroma server from the environment, or None if `Settings` is
    needed: there is a memory.toml, or a value that it has to validate."""
    values = {
        name.upper().removeprefix(_PREFIX): value
        for name, value in os.environ.items()
        if name.upper().startswith(_PREFIX) and value
    }
    if SETTINGS_FILE.exists() or "AGENTS" in values:
        return None

    def path(name: str) -> Path | None:
        return Path(values[name]).expanduser().absolute() if name in values else None

    explicit = {
        "claude-code": path("PROJECTS_DIR"),
        "codex": path("CODEX_DIR"),
        "pi": path("PI_DIR"),
    }
    return Where(
        path("DATA_DIR") or DATA_DIR,
        transcript_roots(explicit, KNOWN_AGENTS),
        values.get("CHROMA_URL"),
    )
