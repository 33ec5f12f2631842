"""`memory init-workspace`: write the files by which editors and agents start this memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from memory_assets import __version__
from memory_assets.cli.commands import PATH, command
from memory_assets.cli.installing.jsonc import Step, value_at, with_value, without_value
from memory_assets.cli.installing.other_programs import memory_program, replace_file, variables
from memory_assets.errors import ConfigurationError
from memory_assets.settings import Settings, load_settings

_TASKS = Path(".vscode", "tasks.json")
_FOLDER = "${workspaceFolder}"
_NEEDED = ("command", "args", "env", "options")
"""Keys that are overwritten in an entry that exists; the others may be the user's choice."""
_Entry = tuple[Sequence[Step], dict[str, Any]]
_WATCH = "memory: watch"
_FULL = "memory: full re-index"
_PLACES: dict[Path, list[tuple[Step, ...]]] = {
    _TASKS: [("tasks", ("label", label)) for label in (_WATCH, _FULL)],
    Path(".vscode", "mcp.json"): [("servers", "memory")],
    Path(".mcp.json"): [("mcpServers", "memory")],
}
"""Where our entries are in each file."""
_OF_REPOSITORY = {
    Path("memory.mk"): "memory.mk",
    Path(".github", "workflows", "vector-index.yml"): "vector-index.yml",
}
"""Files that are all ours, and what they are called in the directory `repository`."""
_MARK = b"# Written by `memory init-workspace`"


@command("memory init-workspace ~/code/app")
@click.argument("root", type=PATH, default=Path(), help="The directory that the editor opens.")
def init_workspace(root: Path) -> None:
    """Set up an editor and agents for a workspace.

    Adds tasks that watch and index it to `.vscode/tasks.json`, and the MCP server to
    `.vscode/mcp.json` and `.mcp.json`; what else is in these files stays as it is. In a Git
    repository, `memory.mk` has targets for make, and a workflow of GitHub indexes what is pushed:
    both install the released package, so that they can be committed.
    """
    directory = root.expanduser().resolve()
    if not directory.is_dir():
        raise ConfigurationError(f"{directory} is no directory; give that of a workspace")
    files = {directory / name: servers for name, servers in _entries(load_settings()).items()}
    contents = {path: _with_entries(path, entries) for path, entries in files.items()}
    if (directory / ".git").exists():
        contents |= {
            directory / name: _of_repository(directory / name, template)
            for name, template in _OF_REPOSITORY.items()
        }
    for path, (before, after) in contents.items():
        if before != after:
            replace_file(path, after)
        click.echo(f"{path}: {'as it was' if before == after else 'written'}")


def files_with_entries(directory: Path) -> list[tuple[Path, bytes]]:
    """Return the files of a directory that have entries of ours, and their contents without them,
    b"" if nothing else is in them."""
    edits = [(path, b"") for path in map(directory.joinpath, _OF_REPOSITORY) if _is_all_ours(path)]
    for name, places in _PLACES.items():
        path = directory / name
        try:
            text = left = path.read_text()
            for place in places:
                if _is_ours(value_at(left, place)):
                    left = without_value(left, place)
        except (OSError, ValueError):
            continue
        if left != text:
            nothing_else = _is_empty(left, str(places[0][0]))
            edits.append((path, b"" if nothing_else else left.encode()))
    return edits


def _of_repository(path: Path, template: str) -> tuple[bytes, bytes]:
    """Return the content of a file that is all ours, before and after; one that somebody else wrote
    stays."""
    before = path.read_bytes() if path.exists() else b""
    if before and not _is_all_ours(path):
        return before, before
    written = Path(__file__).with_name("repository") / template
    return before, written.read_bytes().replace(b"@VERSION@", __version__.encode())


def _is_all_ours(path: Path) -> bool:
    return path.is_file() and path.read_bytes().startswith(_MARK)


def _is_ours(entry: Any) -> bool:
    """Return whether an entry starts this program as `init-workspace` has it started; another
    program may be called `memory`, too."""
    if not isinstance(entry, dict):
        return False
    command = entry.get("command")
    arguments = entry.get("args")
    return (
        isinstance(command, str)
        and Path(command).name in ("memory", "memory.exe")
        and isinstance(arguments, list)
        and arguments[:1] in (["mcp"], ["index"])
    )


def _is_empty(text: str, container: str) -> bool:
    """Return whether a file says nothing but that it has no entries: no other keys, no comments."""
    try:
        values = json.loads(text.removeprefix("\ufeff"))
    except ValueError:  # comments, which somebody wrote
        return False
    return values.keys() <= {container, "version"} and not values.get(container)


def _entries(settings: Settings) -> dict[Path, list[_Entry]]:
    """Return the entries of each file, with their places."""
    environment = variables(settings)
    server = {"command": memory_program(), "args": ["mcp"], "env": environment}
    watch = {"isBackground": True, "runOptions": {"runOn": "folderOpen"}}
    return {
        _TASKS: [
            _task(environment, _WATCH, ["index", _FOLDER, "--watch"], watch),
            _task(environment, _FULL, ["index", _FOLDER, "--full"], {}),
        ],
        Path(".vscode", "mcp.json"): [(("servers", "memory"), {"type": "stdio", **server})],
        Path(".mcp.json"): [(("mcpServers", "memory"), server)],
    }


def _task(
    environment: dict[str, str], label: str, arguments: list[str], more: dict[str, Any]
) -> _Entry:
    """Return a task of VS Code: https://code.visualstudio.com/docs/debugtest/tasks"""
    return ("tasks", ("label", label)), {
        "label": label,
        "type": "process",
        "command": memory_program(),
        "args": arguments,
        "options": {"env": environment},
        **more,
        "presentation": {"reveal": "silent", "panel": "dedicated"},
        "problemMatcher": [],
    }


def _with_entries(path: Path, entries: Sequence[_Entry]) -> tuple[bytes, bytes]:
    """Return the content of a file without and with the entries.

    Raises:
        ConfigurationError: it cannot be changed without harm.
    """
    try:
        before = path.read_bytes() if path.exists() else b""
        text = before.decode()
        if path.name == _TASKS.name and value_at(text, ("version",)) is None:
            text = with_value(text, ("version",), "2.0.0")
        for place, entry in entries:
            members = entry
            if isinstance(value_at(text, place), dict):
                members = {name: entry[name] for name in _NEEDED if name in entry}
            text = _merged(text, place, members)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not what VS Code reads"
        raise ConfigurationError(f"{path} cannot be changed: {reason}; correct it") from None
    return before, text.encode()


def _merged(text: str, place: Sequence[Step], value: Any) -> str:
    """Return a text with a value at a place; an object is merged into the one that is there."""
    if not (isinstance(value, dict) and isinstance(value_at(text, place), dict)):
        return with_value(text, place, value)
    for name, member in value.items():
        text = _merged(text, (*place, name), member)
    return text
