"""What the tools of all agents do, by their names and arguments."""

from __future__ import annotations

from typing import Any

import pytest

from memory_assets.recall.files.restore import FileEvent, file_events
from memory_assets.redacted_text import seal
from memory_assets.session_analysis.files import tool_kind
from memory_assets.transcripts.session import call_of
from memory_assets.transcripts.texts import render_input
from memory_assets_tests.redacted_sessions import ROOT, redacted
from memory_assets_tests.sweep import sweep

FILE = f"{ROOT}/a.py"


@sweep(
    "names, kind",
    [
        ("Edit apply_patch str_replace_editor", "write"),  # Claude Code, Codex
        ("edit write apply_patch multiedit", "write"),  # OpenCode, Kilo, Crush
        ("developer__text_editor edit_file StrReplace search_replace", "write"),  # Goose, Cursor
        ("replace_string_in_file insert_edit_into_file create_file textEditGroup", "write"),
        ("write_to_file replace_in_file editedExistingFile newFileCreated appliedDiff", "write"),
        ("editor patch", "write"),
        ("read view read_file read_files readFile", "read"),
        ("grep glob grep_search codebase_search codebaseSearch search_files", "search"),
        ("bash developer__shell run_terminal_cmd run_in_terminal terminal", "shell"),
        ("execute_command run_commands run_shell_command", "shell"),
        ("todowrite task webfetch", ""),
    ],
)
def test_tools_are_told_by_their_names(names: str, kind: str) -> None:
    """Whatever server or extension stands before them."""
    for name in names.split():
        assert tool_kind(redacted("assistant", "tool_use", "x", tool_name=seal(name))) == kind, name


def events(name: str, arguments: dict[str, Any]) -> list[FileEvent]:
    """Return what a call did to the file, which its reader has made a record of."""
    call = call_of(name, arguments)
    more: dict[str, Any] = {"tool_name": seal(name), "tool_use_id": "t1"}
    more |= {"command": seal(call.command), "paths": tuple(map(seal, call.paths))}
    asked = redacted("assistant", "tool_use", render_input(arguments), **more)
    return list(file_events([asked, redacted("tool", "tool_result", "ok", **more)], FILE))


@sweep(
    "name, arguments",
    [
        ("edit", {"filePath": FILE, "oldString": "x", "newString": "y"}),
        ("edit", {"oldString": "x", "newString": "y", "filePath": FILE, "replaceAll": True}),
        ("edit", {"file_path": FILE, "old_string": "x", "new_string": "y"}),
        ("search_replace", {"file_path": "a.py", "old_string": "x", "new_string": "y"}),
        (
            "developer__text_editor",
            {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"},
        ),
        ("replace_string_in_file", {"filePath": FILE, "oldString": "x", "newString": "y"}),
        ("editor", {"path": FILE, "old_text": "x", "new_text": "y"}),
        (
            "replace_in_file",
            {"path": FILE, "diff": "------- SEARCH\nx\n=======\ny\n+++++++ REPLACE\n"},
        ),
        (
            "apply_diff",
            {
                "diff": "<<<<<<< SEARCH\n:start_line:3\n-------\nx\n=======\ny\n>>>>>>> REPLACE",
                "path": FILE,
            },
        ),
        (
            "multi_replace_string_in_file",
            {
                "explanation": "swap",
                "replacements": [{"filePath": FILE, "oldString": "x", "newString": "y"}],
            },
        ),
    ],
)
def test_an_edit_is_one_of_its_file(name: str, arguments: dict[str, Any]) -> None:
    """With what it replaced by what."""
    [event] = events(name, arguments)
    assert (event.kind, event.edits) == ("edited", (("x", "y"),))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write", {"content": "one\ntwo", "filePath": FILE}),
        ("write", {"file_path": FILE, "content": "one\ntwo"}),
        ("create_file", {"filePath": FILE, "content": "one\ntwo"}),
        ("newFileCreated", {"path": "a.py", "content": "one\ntwo"}),
        ("developer__text_editor", {"command": "write", "path": "a.py", "file_text": "one\ntwo"}),
    ],
)
def test_a_written_file_is_known_whole(name: str, arguments: dict[str, Any]) -> None:
    """So it can be restored."""
    [event] = events(name, arguments)
    assert (event.kind, event.text) == ("written", "one\ntwo")


def test_a_patch_names_its_files() -> None:
    """OpenCode's stands in a field of its own."""
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"
    assert call_of("apply_patch", {"patchText": patch}).paths == ("a.py",)
    [event] = events("apply_patch", {"patchText": patch})
    assert [(hunk.old, hunk.new) for hunk in event.hunks] == [(("x",), ("y",))]


def test_an_editors_command_is_no_shells() -> None:
    """It says what is done with a file; one that shows it changes nothing."""
    asked = {"command": "view", "path": "a.py"}
    assert call_of("text_editor", asked).command == ""
    [event] = events("developer__text_editor", asked)
    assert event.kind == "read"


def test_files_in_a_list_are_named() -> None:
    """Of Cline's reads, of edits of several files."""
    asked = {"files": [{"path": "a.py", "start_line": 1}, {"path": "b.py"}]}
    assert call_of("read_files", asked).paths == ("a.py", "b.py")
    assert call_of("run_commands", {"commands": ["ls", "pwd"]}).command == "ls\npwd"
