"""Line, item and event types of Codex that are handled by tables.

New types appear with each release; a type in no table is counted as unknown.
"""

from __future__ import annotations

ENVELOPES = frozenset({"response_item", "event_msg"})
BARE_ITEMS = frozenset(
    {
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "local_shell_call",
        "custom_tool_call",
        "custom_tool_call_output",
        "web_search_call",
    }
)
"""Items that the oldest files hold without `{timestamp, type, payload}` around them."""

CALLS = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "web_search_call",
        "tool_search_call",
    }
)
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})

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

DOUBLED_EVENTS = frozenset(
    {
        "exec_command_end",
        "patch_apply_end",
        "mcp_tool_call_end",
        "web_search_end",
        "dynamic_tool_call_request",
        "dynamic_tool_call_response",
        "view_image_tool_call",
    }
)
"""Events that repeat what a call's items say; only their failure is noted."""

NOISE_EVENTS = frozenset(
    {
        "token_count",
        "task_started",
        "task_complete",
        "turn_started",
        "turn_complete",
        "turn_aborted",
        "context_compacted",
        "sub_agent_activity",
        "item_started",
        "exec_command_begin",
        "exec_command_output_delta",
        "patch_apply_begin",
        "mcp_tool_call_begin",
        "web_search_begin",
        "background_event",
        "stream_error",
        "plan_update",
        "turn_diff",
        "entered_review_mode",
        "warning",
        "agent_message_delta",
        "agent_reasoning_delta",
        "agent_reasoning_section_break",
        "agent_reasoning_raw_content",
        "session_configured",
        "thread_goal_updated",
        "exec_approval_request",
        "apply_patch_approval_request",
        "request_user_input",
        "collab_agent_spawn_begin",
        "collab_agent_spawn_end",
        "collab_agent_interaction_begin",
        "collab_agent_interaction_end",
        "collab_waiting_begin",
        "collab_waiting_end",
        "collab_close_begin",
        "collab_close_end",
    }
)
