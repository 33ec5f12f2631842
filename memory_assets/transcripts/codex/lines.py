"""The shape of one Codex line: its type, its payload, its name in the report; and the types of
lines, items and events that are handled by tables.

New types appear with each release; a type in no table is counted as unknown.
"""

from __future__ import annotations

from memory_assets.transcripts.fields import names, object_field, text_field, type_name
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.rendering import content_text

ENVELOPES = frozenset({"response_item", "event_msg"})
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
CALLS = names("function_call custom_tool_call local_shell_call web_search_call tool_search_call")
BARE_ITEMS = (CALLS - {"tool_search_call"}) | OUTPUTS | {"message", "reasoning"}
"""Items that the oldest files hold without `{timestamp, type, payload}` around them."""

NOISE_LINES = {
    "world_state": "session-state",
    "inter_agent_communication_metadata": "session-state",
    "state": "session-state",
}
NOISE_ITEMS = {
    "ghost_snapshot": "file-history",
    "tool_search_output": "tool-listing",
    "compaction": "replacement-history",
    "compaction_summary": "replacement-history",
    "context_compaction": "replacement-history",
    "image_generation_call": "session-state",
    "other": "session-state",
}
"""Types without a word of the conversation, and the reason they are dropped for."""

DOUBLED_EVENTS = names(
    "exec_command_end patch_apply_end mcp_tool_call_end web_search_end dynamic_tool_call_request "
    "dynamic_tool_call_response view_image_tool_call"
)
"""Events that repeat what a call's items say; only their failure is noted."""
NOISE_EVENTS = names(
    "token_count task_started task_complete turn_started turn_complete turn_aborted "
    "context_compacted sub_agent_activity item_started exec_command_begin "
    "exec_command_output_delta patch_apply_begin mcp_tool_call_begin web_search_begin "
    "background_event stream_error plan_update turn_diff entered_review_mode warning "
    "agent_message_delta agent_reasoning_delta agent_reasoning_section_break "
    "agent_reasoning_raw_content session_configured thread_goal_updated exec_approval_request "
    "apply_patch_approval_request request_user_input collab_agent_spawn_begin "
    "collab_agent_spawn_end collab_agent_interaction_begin collab_agent_interaction_end "
    "collab_waiting_begin collab_waiting_end collab_close_begin collab_close_end"
)


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
    event = {"message": content_text(item.get("content"))}
    return older.get(text_field(item, "type"), "item_completed"), event
