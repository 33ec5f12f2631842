"""A user's home with a session of every agent in the place where it keeps them on Linux."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from memory_assets.paths import SAMPLE_DIR
from memory_assets_tests.transcripts.agent_databases import Store
from memory_assets_tests.transcripts.agent_files import STORES
from memory_assets_tests.transcripts.other_agents import LINES, put

_SHARE, _CODE = ".local/share", ".config/Code/User"
_EXTENSIONS = f"{_CODE}/globalStorage"
OF_STORES: dict[str, str] = {
    "OpenCode": f"{_SHARE}/opencode",
    "Kilo": f"{_SHARE}/kilo",
    "Crush": "code/shop",
    "Goose": f"{_SHARE}/goose/sessions",
    "Hermes": ".hermes",
    "Zed": f"{_SHARE}/zed",
    "Cursor": ".config/Cursor/User",
    "CursorChat": ".cursor",
    "VsCode": _CODE,
    "VsCodeLog": ".vscode-server/data/User",
    "Cline": f"{_EXTENSIONS}/saoudrizwan.claude-dev",
    "ClineProgram": ".cline/data",
    "Roo": f"{_EXTENSIONS}/rooveterinaryinc.roo-cline",
    "KiloTasks": f"{_EXTENSIONS}/kilocode.kilo-code",
    "OpenCodeTree": ".local/share/opencode-dev",
    "GeminiDocument": ".gemini/tmp",
    "Atif": f"{_SHARE}/devin/cli/transcripts",
    "Aider": "code/shop",
    "SpecStory": "code/shop",
}
"""Where each store is, below the home, by the name of its class."""
OF_LINES = {
    "copilot-cli": ".copilot",
    "cursor": ".cursor",
    "gemini": ".gemini",
    "qwen": ".qwen",
    "droid": ".factory",
    "openclaw": ".openclaw",
    "cowork": ".config/Claude/local-agent-mode-sessions",
}
"""Where each agent has its directory, below the home."""


def furnish(home: Path) -> list[Store]:
    """Give a home a session of every agent, two of those with several kinds of stores; return the
    stores that are no files of lines. Skips a test elsewhere than on Linux."""
    if sys.platform != "linux":
        pytest.skip("the places are those of Linux")
    shutil.copytree(SAMPLE_DIR / "claude" / "projects", home / ".claude" / "projects")
    shutil.copytree(SAMPLE_DIR / "codex", home / ".codex")
    shutil.copytree(SAMPLE_DIR / "pi", home / ".pi")
    for agent in LINES:
        put(home / OF_LINES[agent], agent)
    stores = []
    for make in STORES:
        store = make(home / OF_STORES[make.__name__])
        store.say("Why is the stock negative?", "A sale is counted twice.")
        stores.append(store)
    listed = home / _SHARE / "crush" / "projects.json"
    listed.parent.mkdir(parents=True)
    project = {"path": str(home / OF_STORES["Crush"]), "data_dir": ".crush"}
    listed.write_text(json.dumps({"projects": [project]}))
    return stores
