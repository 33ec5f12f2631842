"""`memory plugin`: the plugin for Claude Code as a directory that starts this installation.

https://code.claude.com/docs/en/plugins-reference. The directory is also a marketplace with this one
plugin, because Claude Code installs from marketplaces. It runs a copy of what it installs, so the
plugin names this installation by an absolute path.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from shlex import quote
from typing import Any

import click

from memory_assets.cli.commands import PATH, command
from memory_assets.cli.installing.other_programs import memory_program, shell_command, variables
from memory_assets.errors import ConfigurationError
from memory_assets.paths import PLUGIN_DIR
from memory_assets.settings import Settings, load_settings

_NAMES = {"plugin.json": "memory", "marketplace.json": "memory-assets"}
"""The names by which the files in `.claude-plugin` show that a plugin is this one."""


@command()
@click.argument(
    "directory",
    type=PATH,
    required=False,
    help="Where to write it; otherwise into the data directory.",
)
def plugin(directory: Path | None) -> None:
    """Write the plugin for Claude Code.

    It has the MCP server, a hook by which a new session begins with what is remembered, a skill
    that says when to search, and the slash commands /memory:recall and /memory:resume-work. Prints
    the two commands that install it.
    """
    settings = load_settings()
    target = (directory or settings.data_dir / "claude-plugin").expanduser().resolve()
    write_plugin(settings, target)
    click.echo(f"The plugin is in {target}. Install it with:")
    click.echo(f"claude plugin marketplace add {quote(str(target))}")
    click.echo("claude plugin install memory@memory-assets")


def is_plugin(directory: Path) -> bool:
    """Return whether a directory holds this plugin, and not another one."""
    try:
        manifests = {name: _read(directory / ".claude-plugin" / name) for name in _NAMES}
    except (OSError, ValueError):
        return False
    return all(
        isinstance(manifest, dict) and manifest.get("name") == _NAMES[name]
        for name, manifest in manifests.items()
    )


def write_plugin(settings: Settings, target: Path) -> None:
    """Write the plugin, over an earlier one.

    Raises:
        ConfigurationError: the target is a file, holds links or something else, or cannot be
            written.
    """
    try:
        if target.exists() and not target.is_dir():
            raise ConfigurationError(f"{target} is a file; name a directory")
        if target.exists() and any(target.iterdir()) and not is_plugin(target):
            raise ConfigurationError(f"{target} holds something else; name another directory")
        if any(path.is_symlink() for path in target.rglob("*")):  # of a directory from elsewhere
            raise ConfigurationError(f"{target} holds links to other files; remove it")
        shutil.copytree(PLUGIN_DIR, target, dirs_exist_ok=True)
        server = _read(target / ".mcp.json")
        server["mcpServers"]["memory"] |= {"command": memory_program(), "env": variables(settings)}
        _write(target / ".mcp.json", server)
        hooks = _read(target / "hooks" / "hooks.json")
        for group in hooks["hooks"]["SessionStart"]:
            for hook in group["hooks"]:
                arguments = hook["command"].removeprefix("memory ")
                hook["command"] = f"{shell_command(settings)} {arguments}"
        _write(target / "hooks" / "hooks.json", hooks)
    except OSError as error:
        raise ConfigurationError(f"{target} cannot be written: {error.strerror}") from None


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", "utf-8")
