"""Codex's tool calls and their outputs: commands, files, exit codes.

Shapes by version: `shell` with an argument list, `shell_command` and `exec_command` with
a string, `local_shell_call` with an action, `apply_patch` as a custom tool whose input is
the patch. Outputs are JSON (`{"output", "metadata": {"exit_code"}}`), text with a line
"Process exited with code N" or "Exit code: N", or a list of content blocks.
"""

from __future__ import annotations

import re
import shlex
from typing import Any, NamedTuple

import orjson

from memory_assets.transcripts.fields import object_field, text_field
from memory_assets.transcripts.lines import MAX_DEPTH, JsonObject, clean, exceeds_depth
from memory_assets.transcripts.rendering import content_text, patch_paths, paths_in, render_input
from memory_assets.transcripts.session import Call

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "fish", "powershell", "pwsh", "cmd"})
_RUN_FLAGS = frozenset({"-c", "-lc", "-ic", "-Command", "/c"})
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.MULTILINE)
_EXIT_CODE_WITHIN = 400
"""Characters of an output's head in which its exit code stands."""
_FAILURES = ("error:", "failed in sandbox", "apply_patch verification failed", "execution error")


class Output(NamedTuple):
    """A tool's output as text, and its exit code where it says one."""

    text: str
    exit_code: int | None
    failed: bool


def parse_arguments(value: Any) -> Any:
    """Return a call's arguments: the JSON object in a string, or the value itself."""
    if not isinstance(value, str):
        return value
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
    if not isinstance(parsed, dict):
        return value
    if "\\u0000" in value:
        return value if exceeds_depth(parsed, MAX_DEPTH) else clean(parsed)
    return parsed


def describe_call(item: JsonObject) -> tuple[Call, str]:
    """Return a call item's (name, files, command) and its readable input."""
    kind = item.get("type")
    if kind == "local_shell_call":
        action = object_field(item, "action")
        call = Call("local_shell", paths_in(action), command_line(action))
        return call, render_input(action)
    if kind == "web_search_call":
        return Call("web_search"), render_input(object_field(item, "action"))
    if kind == "tool_search_call":
        return Call("tool_search"), render_input(parse_arguments(item.get("arguments")))
    name = text_field(item, "name")
    if kind == "custom_tool_call":
        given = text_field(item, "input")
        command = given if name == "exec" else ""
        return Call(name, patch_paths(given), command), given
    arguments = parse_arguments(item.get("arguments"))
    command = command_line(arguments) if isinstance(arguments, dict) else ""
    paths = paths_in(arguments) or patch_paths(command)
    if not paths and isinstance(arguments, dict):
        paths = patch_paths(text_field(arguments, "input") or text_field(arguments, "patch"))
    return Call(name, paths, command), render_input(arguments)


def command_line(arguments: JsonObject) -> str:
    """Return the shell command of a call's arguments: `["bash", "-lc", X]` is X."""
    for key in ("cmd", "command"):
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            words = [word for word in value if isinstance(word, str)]
            if len(words) == 3 and _is_shell(words[0]) and words[1] in _RUN_FLAGS:
                return words[2]
            if words and words[0] == "apply_patch":
                return " ".join(words)
            return shlex.join(words)
    return ""


def parse_output(value: Any) -> Output:
    """Return the output of a call."""
    metadata: JsonObject = {}
    failed = False
    if isinstance(value, str) and value.startswith('{"'):
        parsed = parse_arguments(value)
        value = parsed if isinstance(parsed, dict) and "output" in parsed else value
    if isinstance(value, dict):
        metadata = object_field(value, "metadata")
        failed = value.get("success") is False
        value = value.get("output", value.get("content"))
    text = content_text(value)
    code = metadata.get("exit_code")
    if not isinstance(code, int) or isinstance(code, bool):
        found = _EXIT_CODE.search(text, 0, _EXIT_CODE_WITHIN)
        code = int(found.group(1)[:9]) if found else None
    return Output(text, code, failed or bool(code) or text.startswith(_FAILURES))


def _is_shell(word: str) -> bool:
    return re.split(r"[/\\]", word)[-1].removesuffix(".exe") in _SHELLS
