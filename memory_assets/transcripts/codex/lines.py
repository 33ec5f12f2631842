"""The shape of one Codex line: its type, its payload, its name in the report; its texts, typed by
the human or injected; its tool calls and their outputs.

New types appear with each release; a type in no table is counted as unknown.

958 of 2,257 `role: "user"` items seen are injected: the environment, AGENTS.md, notices
of subagents and aborted turns, plugins, skills, the prompts of reviewers. Each submitted
text has an event `user_message`; it may come from another thread (`<codex_delegation>`).
Editors put their context above a heading.

Shapes of calls by version: `shell` with an argument list, `shell_command` and `exec_command`
with a string, `local_shell_call` with an action, `apply_patch` as a custom tool whose input is
the patch, `exec` with a script that calls these (`code_mode.py`). Outputs are JSON
(`{"output", "metadata": {"exit_code"}}`), text with a line "Process exited with code N" or "Exit
code: N", or a list of content blocks, of which some may be the JSON of how commands ended
(`{"chunk_id", "exit_code", "output"}`, of a running one `session_id` in place of the code).
"""

from __future__ import annotations

import re
import shlex
from typing import Any, NamedTuple

from memory_assets.models import Tokens
from memory_assets.transcripts.authorship import ClassifiedText, classify_text
from memory_assets.transcripts.fields import from_json, object_field, text_field
from memory_assets.transcripts.ids import type_name
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import STATE, Call, tokens_of_prompt
from memory_assets.transcripts.texts import (
    IMAGE,
    block_text,
    content_text,
    patch_paths,
    paths_in,
    render_input,
)
from memory_assets.word_lists import word_set

ENVELOPES = frozenset({"response_item", "event_msg"})
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
CALLS = word_set("function_call custom_tool_call local_shell_call web_search_call tool_search_call")
BARE_ITEMS = (CALLS - {"tool_search_call"}) | OUTPUTS | {"message", "reasoning"}
"""Items that the oldest files hold without `{timestamp, type, payload}` around them."""

NOISE_LINES = word_set("world_state inter_agent_communication_metadata state token_usage_record")
"""Types without a word of the conversation."""
NOISE_ITEMS = {
    "ghost_snapshot": "file-history",
    "tool_search_output": "tool-listing",
    "compaction": "replacement-history",
    "compaction_summary": "replacement-history",
    "context_compaction": "replacement-history",
    "image_generation_call": STATE,
    "other": STATE,
}
"""Types of items that are dropped, with the reason."""

DOUBLED_EVENTS = word_set(
    "exec_command_end patch_apply_end mcp_tool_call_end web_search_end dynamic_tool_call_request "
    "dynamic_tool_call_response view_image_tool_call"
)
"""Events that repeat what a call's items say; only their failure is noted."""
_ITEM_EVENTS = {"FileChange": "patch_apply_end", "CommandExecution": "exec_command_end"}
"""Completed items that newer builds write in place of these events."""
NOISE_EVENTS = word_set(
    "task_started task_complete turn_started turn_complete turn_aborted "
    "context_compacted sub_agent_activity item_started exec_command_begin "
    "exec_command_output_delta patch_apply_begin mcp_tool_call_begin web_search_begin "
    "background_event stream_error plan_update turn_diff entered_review_mode warning "
    "agent_message_delta agent_reasoning_delta agent_reasoning_section_break "
    "agent_reasoning_raw_content session_configured thread_goal_updated exec_approval_request "
    "apply_patch_approval_request request_user_input collab_agent_spawn_begin "
    "collab_agent_spawn_end collab_agent_interaction_begin collab_agent_interaction_end "
    "collab_waiting_begin collab_waiting_end collab_close_begin collab_close_end "
    "thread_settings_applied mcp_startup_update mcp_startup_complete skills_update_available "
    "deprecation_notice shutdown_complete model_reroute"
)
_REQUEST_HEADING = re.compile(r"^#{1,4} My request for Codex:?[ \t\r]*$", re.MULTILINE)
_MENTIONED = re.compile(
    r"^# Files mentioned by the user:[ \t\r]*\n(?:\s*## [^\n]+: [^\n]+\n)+", re.MULTILINE
)
_MENTIONED_PATH = re.compile(r"^## [^\n]+?: (.+)$", re.MULTILINE)
_ABOVE = re.compile(
    r"(?>(?:# AGENTS\.md instructions[^\n]*\n\s*)?"
    r"<(INSTRUCTIONS|user_instructions|environment_context|recommended_plugins)>.*?</\1>\s*)++"
    r"(?=[^\s<])",
    re.DOTALL,
)
_IMAGE_TAG = re.compile(r"<image name=[^>\n]*>\n?|</image>\n?")
_SHELL = re.compile(
    r"(?:.*[/\\])?(?:bash|sh|zsh|dash|fish|powershell|pwsh|cmd)(?:\.exe)?", re.DOTALL
)
_RUN_FLAGS = frozenset({"-c", "-lc", "-ic", "-Command", "/c"})
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.MULTILINE)
_EXIT_CODE_WITHIN = 400
"""Characters of an output's head in which its exit code stands."""
_FAILURES = (
    *("error:", "failed in sandbox", "apply_patch verification failed", "execution error"),
    "Script failed",
)
_END_FIELDS = word_set("chunk_id exit_code session_id wall_time_seconds original_token_count")
"""Fields of the JSON of how a command ended, beside its output."""


def unwrap(line: JsonObject) -> tuple[str, JsonObject]:
    """Return (line type, payload), also for the bare lines of the oldest files."""
    payload = line.get("payload")
    kind = line.get("type")
    if isinstance(payload, dict):
        return (kind if isinstance(kind, str) else ""), payload
    if isinstance(kind, str) and kind in BARE_ITEMS:
        return "response_item", line
    if kind is None and "id" in line and "timestamp" in line:
        return "session_meta", line
    if "record_type" in line:
        return "state", line
    return (kind if isinstance(kind, str) else ""), line


def line_name(kind: str, payload: JsonObject) -> str:
    """Return a line's type, with its payload's type where there is one."""
    name = type_name(kind)
    return f"{name}/{type_name(payload.get('type'))}" if kind in ENVELOPES else name


def plain_text(payload: JsonObject) -> str:
    """Return the text of a payload, for comparing it with others."""
    for key in ("message", "text", "input", "arguments"):
        if value := text_field(payload, key):
            return value
    return content_text(payload.get("content"))


def event_of(payload: JsonObject) -> tuple[str, JsonObject]:
    """Return an event's type and content; a completed item is returned as its older event:
    builds of 2026-08 and later write a human's text so and without `user_message`."""
    kind = text_field(payload, "type")
    if kind != "item_completed":
        return kind, payload
    item = object_field(payload, "item")
    older = {"UserMessage": "user_message", "AgentMessage": "agent_message"}
    event = {"message": content_text(item.get("content")) or text_field(item, "text")}
    if (ended := _ITEM_EVENTS.get(text_field(item, "type"))) is not None:
        failed = text_field(item, "status") in ("failed", "declined")
        return ended, item | {"call_id": item.get("id"), "success": not failed}
    return older.get(text_field(item, "type"), "item_completed"), event


def classify_submitted(text: str) -> ClassifiedText:
    """Classify `text`, without the context that an editor put above the request."""
    return classify_text(_request(_below_wrappers(text.strip())))


def _below_wrappers(text: str) -> str:
    """Return what stands below the instructions and the environment that Codex put above a text,
    or the whole where nothing does."""
    return text[wrappers.end() :] if (wrappers := _ABOVE.match(text)) else text


def _request(text: str) -> str:
    """Return the text below the heading that editors put between their context and what was typed;
    the last one, because the context can quote earlier ones."""
    if not text.startswith("#"):
        return text
    headings = list(_REQUEST_HEADING.finditer(text))
    return (text[headings[-1].end() :].strip() if headings else "") or text


def mentioned_files(text: str) -> tuple[str, list[str]]:
    """Return the list of files that an editor put above a request because the user named them, and
    their paths; nothing where there is none."""
    heading = _REQUEST_HEADING.search(text)
    listed = _MENTIONED.search(text, 0, heading.start()) if heading else None
    if listed is None:
        return "", []
    paths = map(str.strip, _MENTIONED_PATH.findall(listed.group()))
    return listed.group().strip(), list(paths)


def event_text(event: JsonObject) -> str:
    """Return the text of a `user_message` event; an image alone is a placeholder."""
    text = text_field(event, "message").strip()
    if text:
        return text
    return IMAGE if event.get("images") or event.get("local_images") else ""


def item_text(content: Any) -> str:
    """Return the text of a message item, without the tags that frame its images."""
    return _IMAGE_TAG.sub("", content_text(content)).strip()


class Piece(NamedTuple):
    """A part of an output, and whether it tells how one command ended."""

    text: str
    exit_code: int | None = None
    is_end: bool = False


class Output(NamedTuple):
    """A tool's output as text, and its exit code where it says one."""

    text: str
    exit_code: int | None
    failed: bool
    pieces: tuple[Piece, ...] = ()


def parse_arguments(value: Any) -> Any:
    """Return a call's arguments: the JSON object in a string, or the value itself."""
    parsed = from_json(value)
    return parsed if isinstance(parsed, dict) else value


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
        return Call(name, patch_paths(given)), given
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
            if len(words) == 3 and _SHELL.fullmatch(words[0]) and words[1] in _RUN_FLAGS:
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
    if isinstance(value, dict) and _tells_end(value):
        value = [value]
    if isinstance(value, dict):
        metadata = object_field(value, "metadata")
        failed = value.get("success") is False
        value = value.get("output", value.get("content"))
    pieces = (
        [piece for block in value for piece in _pieces(block)] if isinstance(value, list) else []
    )
    text = "\n".join(piece.text for piece in pieces if piece.text) or content_text(value)
    code = metadata.get("exit_code")
    if not isinstance(code, int) or isinstance(code, bool):
        codes = [piece.exit_code for piece in pieces if piece.exit_code is not None]
        code = next(filter(None, codes), codes[0] if codes else _exit_code(text))
    return Output(text, code, failed or bool(code) or text.startswith(_FAILURES), tuple(pieces))


def _exit_code(text: str) -> int | None:
    match = _EXIT_CODE.search(text, 0, _EXIT_CODE_WITHIN)
    return int(match.group(1)[:9]) if match else None


def _pieces(block: Any) -> list[Piece]:
    """Return a content block as it is; of one that is the JSON of how commands ended, for each the
    text that other versions write in its place."""
    if isinstance(block, dict) and _tells_end(block):
        return [_piece(block)]
    text = block_text(block)
    ended = _ended(from_json(text)) if text.lstrip()[:1] in ("{", "[") else []
    if ended:
        return [_piece(entry) for entry in ended]
    code = _EXIT_CODE.match(text)
    return [Piece(text, int(code.group(1)[:9]) if code else None, code is not None)]


def _ended(value: Any) -> list[JsonObject]:
    """Return the ends of commands that a value is: one, a list of them, or an object of them;
    also as `Promise.allSettled` wraps them."""
    if isinstance(value, dict) and _tells_end(value):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ended = [object_field(item, "value") or item for item in items if isinstance(item, dict)]
    return ended if ended and len(ended) == len(items) and all(map(_tells_end, ended)) else []


def _tells_end(value: JsonObject) -> bool:
    return isinstance(value.get("output"), str) and not _END_FIELDS.isdisjoint(value)


def _piece(ended: JsonObject) -> Piece:
    code, running = ended.get("exit_code"), ended.get("session_id")
    head = ""
    if isinstance(code, int):
        head = f"Process exited with code {code}\n"
    elif isinstance(running, int | str) and str(running).isalnum():
        head = f"Process running with session ID {running}\n"
    exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
    return Piece(f"{head}Output:\n{ended['output']}", exit_code, True)


def answer_tokens(usage: JsonObject) -> Tokens:
    """Return the tokens of a usage object."""
    return tokens_of_prompt(usage, ("input_tokens", "output_tokens", "cached_input_tokens"))
