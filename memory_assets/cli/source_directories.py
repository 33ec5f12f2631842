"""The directories that `memory ingest` reads: do they exist, and do they hold transcripts?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.paths import is_gone
from memory_assets.pipeline.scan.on_disk import TranscriptsOnDisk
from memory_assets.settings import Settings

_SETTINGS = {
    "claude-code": ("projects_dir", "MEMORY_PROJECTS_DIR", "PROJECT/SESSION.jsonl"),
    "codex": ("codex_dir", "MEMORY_CODEX_DIR", "sessions/YYYY/MM/DD/rollout-*.jsonl"),
    "pi": ("pi_dir", "MEMORY_PI_DIR", "agent/sessions/PROJECT/*.jsonl"),
}
"""By agent: its setting, that setting's variable, and where transcripts lie below the directory."""


def require_directories(roots: Mapping[str, Path]) -> None:
    """Return if every root is a directory, or cannot be looked at (that is reported later).

    Raises:
        ConfigurationError: no agent is selected, or a root is no directory.
    """
    if not roots:
        raise ConfigurationError("no agent is selected; see MEMORY_AGENTS and --agent")
    for agent, path in roots.items():
        if is_gone(path) or os.path.isfile(path):  # noqa: PTH113 - one that may not be read: later
            raise ConfigurationError(
                f"the {agent} directory {path} does not exist. Set --projects-dir, or "
                "MEMORY_PROJECTS_DIR, MEMORY_CODEX_DIR, MEMORY_PI_DIR, to where it is."
            )


def require_transcripts(
    roots: Mapping[str, Path], found: TranscriptsOnDisk, sessions_on_record: bool
) -> None:
    """Return if there is something to ingest, or sessions on record to bring up to date.

    Raises:
        NotFound: no root holds a transcript, and nothing is on record.
    """
    nothing = not (found.sources or found.forgotten or found.unlisted)
    if nothing and not sessions_on_record:
        raise NotFound(" ".join(_no_transcripts(agent, path) for agent, path in roots.items()))


def empty_directories(settings: Settings, found: TranscriptsOnDisk) -> Iterator[str]:
    """Yield a line for each directory that a setting names and that holds no transcripts."""
    if found.forgotten:
        return  # forgotten sessions are counted by project, not by agent
    agents = {source.agent for sources in found.sources.values() for source in sources}
    agents |= {unlisted.agent for unlisted in found.unlisted}
    for agent, path in settings.transcript_roots().items():
        if agent not in agents and getattr(settings, _SETTINGS[agent][0]) is not None:
            yield _no_transcripts(agent, path)


def _no_transcripts(agent: str, path: Path) -> str:
    _, variable, layout = _SETTINGS[agent]
    return f"{path} holds no transcripts of {agent}: expected {layout} there ({variable})."
