"""Where things are when nothing is set: this project, the agents' directories, the sample.

No pydantic here, so that what must start at once can know it (`overview/`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parent.parent
SAMPLE_DIR = PROJECT_ROOT / "data" / "sample"
KNOWN_AGENTS = ("claude-code", "codex", "pi")
NO_EMBEDDER = "none"


def transcript_roots(explicit: Mapping[str, Path | None], agents: Sequence[str]) -> dict[str, Path]:
    """Return the directory to read per agent; empty values are left out.

    A directory given explicitly replaces all defaults, so that `--projects-dir` never
    drags in another agent's home. Without any, each agent's own default is used where it
    exists, and the shipped sample where none does.
    """
    roots = {agent: path for agent, path in explicit.items() if path is not None}
    if not roots:
        roots = {agent: path for agent, path in _default_roots().items() if path.is_dir()}
    if not roots:
        roots = sample_roots()
    return {agent: path for agent, path in roots.items() if agent in agents}


def sample_roots() -> dict[str, Path]:
    """Return the directories of the sample sessions that ship with the project."""
    return {
        "claude-code": SAMPLE_DIR / "claude" / "projects",
        "codex": SAMPLE_DIR / "codex",
        "pi": SAMPLE_DIR / "pi",
    }


def _default_roots() -> dict[str, Path]:
    home = Path.home()
    claude = Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    codex = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    return {"claude-code": claude / "projects", "codex": codex, "pi": home / ".pi"}
