"""Editors and agents find a workspace's memory by files that keep what else is in them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets import __version__
from memory_assets.cli.installing.init_workspace import files_with_entries
from memory_assets.cli.installing.jsonc import value_at, with_value
from memory_assets_tests.cli.commands_reference import commands
from memory_assets_tests.command_line import run_here, run_program
from memory_assets_tests.workspaces.conftest import write

TASKS = """{
\t// What we build.
\t"version": "2.0.0",
\t"tasks": [
\t\t{
\t\t\t"label": "build", /* first, always */
\t\t\t"command": "make // not a comment",
\t\t}, // of the build
\t\t// and no more
\t],
}
"""
LAYOUTS = (
    "",
    "{}",
    "\ufeff{ }\r\n",
    '{"a": {"b": [1]}}',
    '{"a": 1, // one\n}',
    '{\r\n    "list": [], // none\r\n    "a": "x, }"\r\n}\r\n',
    '// before\n{ "list": [ {"id": "other"}, {"id": "ours", "n": 1 /* , */ } /* all */ ] } // end',
    '{"list": [\n  1,\n  2, // two\n]}',
)


def _set_up(root: Path) -> str:
    done = run_here({"MEMORY_DATA_DIR": str(root / "data")}, "init-workspace", str(root))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_new_workspace_gets_files_of_the_known_forms(tmp_path: Path) -> None:
    """By code.visualstudio.com/docs/reference/tasks-appendix and
    .../docs/copilot/reference/mcp-configuration. One task watches when the folder is opened,
    unseen; another makes everything again."""
    _set_up(tmp_path)
    written = json.loads((tmp_path / ".vscode/tasks.json").read_bytes())
    watch, full = written["tasks"]
    assert written["version"] == "2.0.0" and watch["args"][0] == "index"
    assert watch["isBackground"] and watch["runOptions"] == {"runOn": "folderOpen"}
    assert watch["presentation"] == {"reveal": "silent", "panel": "dedicated"}
    assert watch["problemMatcher"] == [] and "--watch" in watch["args"]
    assert watch.keys() - full.keys() == {"isBackground", "runOptions"}
    commands()[full["args"][0]].make_context("memory", full["args"][1:])
    editor = json.loads((tmp_path / ".vscode/mcp.json").read_bytes())["servers"]["memory"]
    agents = json.loads((tmp_path / ".mcp.json").read_bytes())["mcpServers"]["memory"]
    assert editor == {"type": "stdio", **agents}
    environment = {"MEMORY_DATA_DIR": str(tmp_path / "data")}
    assert agents == {"command": agents["command"], "args": ["mcp"], "env": environment}
    assert Path(agents["command"]).is_file()


def test_comments_and_other_entries_survive(tmp_path: Path) -> None:
    """Each line that was there is there, in order; a second time changes no byte."""
    path = tmp_path / ".vscode" / "tasks.json"
    other = '{"mcpServers": {"other": {"command": "x"}}}'
    write(tmp_path, {".vscode/tasks.json": TASKS, ".mcp.json": other})
    path.chmod(0o640)
    assert _set_up(tmp_path).count(": written") == 3
    before, after = TASKS.splitlines(), path.read_text().splitlines()
    assert after[: len(before) - 2] == before[:-2] and after[-2:] == before[-2:]
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]) == [
        "other",
        "memory",
    ]
    contents = {each: each.read_bytes() for each in tmp_path.rglob("*.json")}
    assert _set_up(tmp_path).count(": as it was") == 3
    assert {each: each.read_bytes() for each in tmp_path.rglob("*.json")} == contents


def test_what_a_user_chose_for_our_entries_stays(tmp_path: Path) -> None:
    """The program and its arguments are set again, because they may have moved."""
    _set_up(tmp_path)
    tasks, servers = tmp_path / ".vscode" / "tasks.json", tmp_path / ".mcp.json"
    chosen = tasks.read_text().replace("folderOpen", "default").replace("--watch", "--old")
    tasks.write_text(chosen)
    servers.write_text('{"mcpServers": {"memory": {"command": "old", "env": {"OWN": "1"}}}}')
    _set_up(tmp_path)
    assert tasks.read_text() == chosen.replace("--old", "--watch")
    server = json.loads(servers.read_text())["mcpServers"]["memory"]
    assert server["command"] != "old" and list(server["env"]) == ["OWN", "MEMORY_DATA_DIR"]


OUR_SERVER = '{"command": "/venv/bin/memory", "args": ["mcp"]}'


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        (".mcp.json", f'{{"mcpServers": {{"memory": {OUR_SERVER}}}}}', {}),
        (".mcp.json", f'{{"mcpServers": {{"memory": {OUR_SERVER}}}, "own": 1}}', {"own": 1}),
        (
            ".vscode/mcp.json",
            f'{{"inputs": [{{"id": "token"}}], "servers": {{"memory": {OUR_SERVER}}}}}',
            {"inputs": [{"id": "token"}]},
        ),
        (
            ".mcp.json",
            f'// Mine.\n{{"mcpServers": {{"memory": {OUR_SERVER}}}}}',
            {"mcpServers": {}},
        ),
    ],
)
def test_a_file_goes_only_with_nothing_of_the_users_in_it(
    tmp_path: Path, name: str, text: str, left: dict[str, Any]
) -> None:
    """Keys of any other name keep it, and comments do; without them it is to be deleted."""
    write(tmp_path, {name: text})
    ((path, content),) = files_with_entries(tmp_path)
    assert path == tmp_path / name and bool(content) == bool(left)
    if left:
        assert value_at(content.decode(), ()).items() >= left.items()
        assert value_at(content.decode(), ("mcpServers", "memory")) is None


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "/opt/memory.sh", "args": ["mcp"]},
        {"command": "memory.py", "args": ["mcp"]},
        {"command": "memory"},
        {"command": "memory", "args": []},
        {"command": "memory", "args": ["serve", "mcp"]},
        {"command": "npx", "args": ["@modelcontextprotocol/server-memory"]},
    ],
)
def test_the_entry_of_another_program_called_memory_is_not_ours(
    tmp_path: Path, entry: dict[str, Any]
) -> None:
    """Ours is `memory` or `memory.exe` with `mcp` or `index` first."""
    write(tmp_path, {".mcp.json": json.dumps({"mcpServers": {"memory": entry}})})
    assert files_with_entries(tmp_path) == []


def test_a_repository_gets_targets_and_a_workflow_of_the_released_package(tmp_path: Path) -> None:
    """Without a path of this machine; written again, they are as they were, of another version they
    are renewed, and what somebody else wrote stays. They go as they came."""
    workflow, targets = tmp_path / ".github/workflows/vector-index.yml", tmp_path / "memory.mk"
    _set_up(tmp_path)
    assert not targets.exists()  # no repository
    (tmp_path / ".git").mkdir()
    _set_up(tmp_path)
    for path in (workflow, targets):
        assert f"=={__version__}" in path.read_text() and str(tmp_path) not in path.read_text()
    (tmp_path / "memory").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (tmp_path / "memory").chmod(0o755)
    make = [
        "make",
        "--no-print-directory",
        "--file=memory.mk",
        f"MEMORY={tmp_path}/memory",
        "vector-search",
        "Q=a 'b' $HOME",
    ]
    done = run_program(make, cwd=tmp_path)
    assert done.stdout == "search|--in|workspace|a 'b' $HOME|"
    targets.write_text(targets.read_text().replace(__version__, "0.0.1"))
    workflow.write_text("name: mine\n")
    assert f"{targets}: written" in (said := _set_up(tmp_path))
    assert f"{workflow}: as it was" in said and workflow.read_text() == "name: mine\n"
    assert (targets, b"") in files_with_entries(tmp_path)
    assert workflow not in dict(files_with_entries(tmp_path))


@pytest.mark.parametrize("text", ["{", "[]", "{'a': 1}", '{"tasks": {}}', '{"a": 1} x', "\x00"])
def test_a_file_of_another_form_is_left_alone(tmp_path: Path, text: str) -> None:
    """The error names it, and no file is written."""
    write(tmp_path, {".vscode/tasks.json": text})
    done = run_here({"MEMORY_DATA_DIR": str(tmp_path / "data")}, "init-workspace", str(tmp_path))
    assert done.returncode == 2 and "tasks.json" in done.stderr
    assert [path.name for path in tmp_path.rglob("*.json")] == ["tasks.json"]
    assert (tmp_path / ".vscode" / "tasks.json").read_text() == text


@pytest.mark.parametrize("text", LAYOUTS)
def test_a_value_is_put_into_any_layout(text: str) -> None:
    """Comments, line ends and other values stay; the second time changes nothing."""
    path = ("list", ("id", "ours"), "new")
    value = {"deep": ["ö", 1, None]}
    if value_at(text, ("list", ("id", "ours"))) is None:
        after = with_value(text, path[:2], {"id": "ours", "new": value})
    else:
        after = with_value(text, path, value)
    assert value_at(after, path) == value and with_value(after, path, value) == after
    comments = re.compile(r"// \w+|/\*.*?\*/")
    assert comments.findall(after) == comments.findall(text)
    assert after.count("\r\n") == (after.count("\n") if "\r\n" in text else 0)
    kept = value_at(after, ())
    kept["list"] = [each for each in kept["list"] if each != value_at(after, path[:2])]
    before = value_at(text, ())
    before["list"] = [each for each in before.get("list", ()) if each != value_at(text, path[:2])]
    assert kept == before


_NAMES = st.sampled_from(["a", "b", '"', "}", "//", ",]"])
_VALUES = st.recursive(
    st.none() | st.integers() | _NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(_NAMES, _VALUES, max_size=3), _NAMES, _NAMES, _VALUES)
def test_only_the_value_at_the_path_changes(
    before: dict[str, Any], outer: str, inner: str, value: Any
) -> None:
    """Whatever names and texts look like."""
    text = json.dumps(before, indent=2).replace("\n", " // }, no\n").rstrip()
    if not isinstance(before.get(outer, {}), dict):
        with pytest.raises(ValueError):
            with_value(text, (outer, inner), value)
        return
    after = with_value(text, (outer, inner), value)
    expected = {**before, outer: {**before.get(outer, {}), inner: value}}
    assert value_at(after, ()) == expected
