"""The settings that a search needs, read without pydantic, which takes 0.12 s of CPU to import;
a cold search by words takes 0.23 s."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from memory_assets.paths import DATA_DIR, KNOWN_AGENTS, SETTINGS_FILE, transcript_roots

_PREFIX = "MEMORY_"
_ANY_TEXT = {
    "DATA_DIR",
    "PROJECTS_DIR",
    "CODEX_DIR",
    "PI_DIR",
    "CHROMA_URL",
    "EMBEDDER",
    "SUMMARIZER",
    "HTTP_TOKEN",
}
"""Settings that accept any text, and paths."""
_DURATION = re.compile(r"[1-9]\d{0,8}(\.\d{1,6})?")


class ReaderSettings(Protocol):
    """The settings that answering needs; `Settings` implements them."""

    @property
    def data_dir(self) -> Path:
        """The data directory."""
        ...

    @property
    def chroma_url(self) -> str | None:
        """A Chroma server, or None for the local one."""
        ...

    @property
    def chroma_idle_seconds(self) -> float:
        """Seconds without a request after which the local server stops."""
        ...

    @property
    def embedder(self) -> str:
        """Name of the embedding model."""
        ...

    @property
    def recent_days(self) -> int:
        """The window of `--recent` in days."""
        ...

    def transcript_roots(self) -> dict[str, Path]:
        """Return the directory to read per agent."""
        ...


@dataclass(frozen=True)
class QuickSettings:
    """A reader's settings as the environment gives them."""

    data_dir: Path
    roots: Mapping[str, Path]
    chroma_url: str | None = None
    chroma_idle_seconds: float = 600.0
    embedder: str = "all-MiniLM-L6-v2"
    recent_days: int = 90

    def transcript_roots(self) -> dict[str, Path]:
        """Return the directory to read per agent."""
        return dict(self.roots)


def quick_settings() -> QuickSettings | None:
    """Return the settings from the environment alone, or None where it takes all of them to
    know: there is a memory.toml, or a value that has to be checked."""
    values = {
        name.upper().removeprefix(_PREFIX): value
        for name, value in os.environ.items()
        if name.upper().startswith(_PREFIX) and value
    }
    idle = values.pop("CHROMA_IDLE_SECONDS", "600")
    if SETTINGS_FILE.exists() or not values.keys() <= _ANY_TEXT or not _DURATION.fullmatch(idle):
        return None

    def path(name: str) -> Path | None:
        return Path(values[name]).expanduser().absolute() if name in values else None

    explicit = {
        "claude-code": path("PROJECTS_DIR"),
        "codex": path("CODEX_DIR"),
        "pi": path("PI_DIR"),
    }
    return QuickSettings(
        path("DATA_DIR") or DATA_DIR,
        transcript_roots(explicit, KNOWN_AGENTS),
        values.get("CHROMA_URL"),
        float(idle),
        values.get("EMBEDDER", QuickSettings.embedder),
    )
