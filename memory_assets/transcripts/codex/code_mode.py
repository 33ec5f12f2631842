"""What a script of Codex's code mode did: its commands, its patches, and whose end an output tells.

A script is one call, `exec`, with one output. Its patches become calls of their own, with the
patch as it was applied, because the script has it escaped. `patch_apply_end` tells how a patch
ended, and names the files of one that the script does not hold as a literal; it follows the
script's call and precedes its output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from memory_assets.transcripts.codex.lines import Output, command_line, parse_arguments
from memory_assets.transcripts.codex.scripts import ToolCall, calls_tools, literals, tool_calls
from memory_assets.transcripts.fields import text_field
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import Call, Frame
from memory_assets.transcripts.texts import patch_paths, paths_in

PATCH = "apply_patch"
_BEGIN = "*** Begin Patch"
_SHELLS = frozenset({"exec_command", "shell_command", "shell", "local_shell", "unified_exec"})
_SCRIPT_FIELDS = ("input", "code", "script", "source")
_MOST_PATCHES = 200


@dataclass
class Script:
    """A script whose output is to come."""

    call_id: str
    frame: Frame
    commands: tuple[str, ...]
    paths: tuple[str, ...]
    patches: list[str]
    """The patches whose end was not told yet."""

    @property
    def call(self) -> Call:
        """The script as one call: its commands are one list of commands."""
        return Call("exec", self.paths, "\n".join(self.commands))


def script_in(item: JsonObject) -> str:
    """Return the script that a call item runs, or ""."""
    if item.get("name") == PATCH:
        return ""
    given: Any = item.get("input") if item.get("type") == "custom_tool_call" else None
    if item.get("type") == "function_call" and "tools" in text_field(item, "arguments"):
        arguments = parse_arguments(item.get("arguments"))
        if isinstance(arguments, dict):
            given = next(filter(None, (text_field(arguments, name) for name in _SCRIPT_FIELDS)), "")
    is_script = isinstance(given, str) and (item.get("name") == "exec" or calls_tools(given))
    return given if isinstance(given, str) and is_script else ""


def script_effects(script: str, call_id: str, frame: Frame) -> Script:
    """Return what a script does, as far as its text tells."""
    commands, paths, patches = list[str](), list[str](), list[str]()
    for called in tool_calls(script):
        if called.name.rpartition("__")[2] in _SHELLS:
            commands += filter(None, [_command(called)])
        elif called.name == PATCH:
            patches += filter(None, [_patch(called)])
        else:
            paths += paths_in(called.argument)
    if not patches and _BEGIN in script:
        patches = [text for text in literals(script) if text.lstrip().startswith(_BEGIN)]
    patches = list(dict.fromkeys(patches))[:_MOST_PATCHES]
    paths += [path for patch in patches for path in patch_paths(patch)]
    return Script(call_id, frame, tuple(commands), tuple(dict.fromkeys(paths)), patches)


def _command(called: ToolCall) -> str:
    given = called.argument
    if isinstance(given, dict):
        return command_line(given)
    return given if isinstance(given, str) else ""


def _patch(called: ToolCall) -> str:
    given = called.argument
    if isinstance(given, dict):
        given = next((v for k in ("input", "patch") if isinstance(v := given.get(k), str)), "")
    return given if isinstance(given, str) and _BEGIN in given else ""


def end_of(event: JsonObject) -> tuple[str, bool]:
    """Return what an event `patch_apply_end` printed, and whether it failed."""
    printed = (text_field(event, "stdout"), text_field(event, "stderr"))
    return "\n".join(text.strip() for text in printed if text.strip()), event.get(
        "success"
    ) is False


def changes_of(event: JsonObject) -> dict[str, JsonObject]:
    """Return the changes of an event by path."""
    changes = event.get("changes")
    if not isinstance(changes, dict):
        return {}
    return {path: change for path, change in changes.items() if isinstance(change, dict) and path}


def patch_of_changes(patches: Iterable[str], changes: Iterable[str]) -> str:
    """Return the first of the patches that can have made the changes of some files, or ""."""
    changed = [path.replace("\\", "/") for path in changes]
    for patch in patches:
        named = [path.replace("\\", "/").removeprefix("./") for path in patch_paths(patch)]
        if named and all(any(_ends_with(path, name) for name in named) for path in changed):
            return patch
    return ""


def _ends_with(path: str, name: str) -> bool:
    return path == name or path.endswith(f"/{name.lstrip('/')}")


def changes_as_patch(changes: dict[str, JsonObject]) -> str:
    """Return the changes of an event as the patch that makes them."""
    lines = [_BEGIN]
    for path, change in changes.items():
        lines += _section(path, change)
    return "\n".join([*lines, "*** End Patch"])


def _section(path: str, change: JsonObject) -> Iterator[str]:
    kind = text_field(change, "type")
    if kind == "add":
        yield f"*** Add File: {path}"
        yield from (f"+{line}" for line in text_field(change, "content").splitlines())
    elif kind == "delete":
        yield f"*** Delete File: {path}"
    else:
        yield f"*** Update File: {path}"
        if moved := text_field(change, "move_path"):
            yield f"*** Move to: {moved}"
        for line in text_field(change, "unified_diff").splitlines():
            if line.startswith("@@"):
                yield f"@@{line.rpartition('@@')[2].rstrip()}"
            elif not line.startswith("\\"):
                yield line


def ends_by_command(script: Script, output: Output) -> list[tuple[str, str, bool]]:
    """Return command, text and failure of each end that an output tells, where it tells one for
    each of the script's commands; else the output as one."""
    ends = [piece for piece in output.pieces if piece.is_end]
    if len(script.commands) < 2 or len(ends) != len(script.commands):
        return [("\n".join(script.commands), output.text, output.failed)]
    texts, waiting, failed = list[str](), list[str](), list[bool]()
    for piece in output.pieces:
        waiting.append(piece.text)
        if piece.is_end:
            texts.append(_lines(waiting))
            failed.append(bool(piece.exit_code))
            waiting = []
    texts[-1] = _lines([texts[-1], *waiting])
    return list(zip(script.commands, texts, failed, strict=True))


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text)
