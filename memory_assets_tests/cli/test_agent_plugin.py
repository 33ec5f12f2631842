"""The plugin for Claude Code: valid as it is shipped, and written so that it starts this
installation."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from memory_assets import __version__
from memory_assets.cli import exit_codes
from memory_assets.cli.installing.other_programs import memory_program
from memory_assets.paths import PLUGIN_DIR
from memory_assets.serving.mcp_server import tool_definitions
from memory_assets_tests.command_line import run_here

_TEXT = {"type": "string", "minLength": 1}
_HOOK = {
    "type": "object",
    "required": ["type", "command"],
    "additionalProperties": False,
    "properties": {"type": {"const": "command"}, "command": _TEXT, "timeout": {"type": "number"}},
}
_GROUP = {
    "type": "object",
    "required": ["hooks"],
    "additionalProperties": False,
    "properties": {"matcher": _TEXT, "hooks": {"type": "array", "items": _HOOK, "minItems": 1}},
}
_NAME = {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]*$"}
_PERSON = {"type": "object", "required": ["name"], "properties": {"name": _TEXT}}
SCHEMAS: dict[str, dict[str, Any]] = {
    ".claude-plugin/plugin.json": {
        "type": "object",
        "required": ["name", "version", "description"],
        "additionalProperties": False,
        "properties": {
            **dict.fromkeys(("description", "license", "homepage", "repository"), _TEXT),
            "name": _NAME,
            "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
            "author": _PERSON,
            "keywords": {"type": "array", "items": _TEXT},
        },
    },
    ".claude-plugin/marketplace.json": {
        "type": "object",
        "required": ["name", "owner", "plugins"],
        "additionalProperties": False,
        "properties": {
            "name": _NAME,
            "description": _TEXT,
            "owner": _PERSON,
            "plugins": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["name", "source"],
                    "properties": {"name": _NAME, "source": {"pattern": r"^\./"}},
                },
            },
        },
    },
    ".mcp.json": {
        "type": "object",
        "required": ["mcpServers"],
        "additionalProperties": False,
        "properties": {
            "mcpServers": {
                "additionalProperties": {
                    "type": "object",
                    "required": ["command", "args"],
                    "properties": {
                        "command": _TEXT,
                        "args": {"type": "array", "items": _TEXT},
                        "env": {"additionalProperties": _TEXT},
                    },
                }
            }
        },
    },
    "hooks/hooks.json": {
        "type": "object",
        "required": ["hooks"],
        "properties": {
            "hooks": {
                "propertyNames": {"enum": ["SessionStart"]},
                "additionalProperties": {"type": "array", "items": _GROUP},
            }
        },
    },
}
"""What the published schemas of plugins and marketplaces (schemastore.org,
claude-code-plugin-manifest and claude-code-marketplace, April 2026) say of the parts that are used
here, and nothing beside them."""


def _require_valid(directory: Path) -> None:
    for name, schema in SCHEMAS.items():
        jsonschema.validate(json.loads((directory / name).read_text()), schema)


def test_the_plugin_is_as_its_schema_says() -> None:
    """Manifest, marketplace, MCP server and hook; the version is that of the package."""
    _require_valid(PLUGIN_DIR)
    manifest = json.loads((PLUGIN_DIR / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["version"] == __version__


@pytest.mark.parametrize("path", sorted(PLUGIN_DIR.rglob("*.md")), ids=lambda path: path.stem)
def test_skills_and_commands_say_when_they_are_for(path: Path) -> None:
    """In their heads; the tools that they name are there, and the verbs of `ask`."""
    _, head, text = path.read_text().split("---\n", 2)
    said = dict(line.split(": ", 1) for line in head.strip().splitlines())
    assert said["description"] and len(said["description"]) < 1024
    if path.name == "SKILL.md":
        assert said["name"] == path.parent.name
    listed = {tool.name: tool for tool in tool_definitions()}
    named = set(re.findall(r"`(\w+)`", text)) - {"project", "verb", "n", "memory"}
    assert named and named <= set(listed)
    verbs = set(listed["ask"].input_schema["properties"]["verb"]["enum"])
    assert set(re.findall(r"`ask` with verb (\w+)", text)) <= verbs


def test_the_written_plugin_starts_this_installation(tmp_path: Path) -> None:
    """MCP server and hook, with this memory; writing it again changes nothing; a directory that
    holds something else is left alone."""
    environment = {"HOME": str(tmp_path), "MEMORY_DATA_DIR": str(tmp_path / "a memory")}
    done = run_here(environment, "plugin")
    written = tmp_path / "a memory" / "claude-plugin"
    assert done.returncode == exit_codes.FINE and str(written) in done.stdout
    _require_valid(written)
    before = {path: path.read_bytes() for path in written.rglob("*") if path.is_file()}
    server = json.loads((written / ".mcp.json").read_text())["mcpServers"]["memory"]
    assert server["command"] == memory_program() and server["args"] == ["mcp"]
    assert server["env"] == {"MEMORY_DATA_DIR": str(tmp_path / "a memory")}
    (group,) = json.loads((written / "hooks" / "hooks.json").read_text())["hooks"]["SessionStart"]
    assert group["hooks"][0]["command"] == (
        f"MEMORY_DATA_DIR='{tmp_path}/a memory' {memory_program()} context --project ."
    )
    run_here(environment, "plugin")
    assert {path: path.read_bytes() for path in written.rglob("*") if path.is_file()} == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    refused = run_here(environment, "plugin", str(tmp_path / "other"))
    assert refused.returncode == exit_codes.USAGE and "holds something else" in refused.stderr


@pytest.mark.parametrize(
    "manifests",
    [
        {"plugin.json": '{"name": "other"}', "marketplace.json": '{"name": "memory-assets"}'},
        {"plugin.json": '{"name": "memory"}', "marketplace.json": '{"name": "other"}'},
        {"plugin.json": '{"name": "memory"}'},
        {"plugin.json": "[]", "marketplace.json": "not JSON"},
    ],
)
def test_another_plugin_is_left_alone(tmp_path: Path, manifests: dict[str, str]) -> None:
    """Ours has both names: of the plugin, and of the marketplace."""
    (tmp_path / "own" / ".claude-plugin").mkdir(parents=True)
    for name, text in manifests.items():
        (tmp_path / "own" / ".claude-plugin" / name).write_text(text)
    refused = run_here({"MEMORY_DATA_DIR": str(tmp_path)}, "plugin", str(tmp_path / "own"))
    assert refused.returncode == exit_codes.USAGE and "holds something else" in refused.stderr
    written = {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert written == manifests


@pytest.mark.parametrize("link", [".mcp.json", "skills"])
def test_nothing_is_written_through_a_link(tmp_path: Path, link: str) -> None:
    """To a file or a directory: in a data directory that came from elsewhere, it leads anywhere."""
    environment = {"HOME": str(tmp_path), "MEMORY_DATA_DIR": str(tmp_path / "memory")}
    assert run_here(environment, "plugin").returncode == exit_codes.FINE
    planted = tmp_path / "memory" / "claude-plugin" / link
    own = tmp_path / "own"
    planted.rename(own)
    planted.symlink_to(own)
    (own if own.is_file() else own / "note.txt").write_text("own")
    refused = run_here(environment, "plugin")
    assert refused.returncode == exit_codes.USAGE and "holds links" in refused.stderr
    assert (own if own.is_file() else own / "note.txt").read_text() == "own"


def test_a_file_is_no_place_for_a_plugin(tmp_path: Path) -> None:
    """Said as an error of usage; the file stays as it was."""
    (tmp_path / "notes.txt").write_text("own")
    refused = run_here({"MEMORY_DATA_DIR": str(tmp_path)}, "plugin", str(tmp_path / "notes.txt"))
    assert refused.returncode == exit_codes.USAGE and "name a directory" in refused.stderr
    assert (tmp_path / "notes.txt").read_text() == "own"
