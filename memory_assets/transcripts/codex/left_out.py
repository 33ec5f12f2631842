"""What Codex writes and its reader leaves out on purpose."""

from memory_assets.transcripts.account import LeftOut

_INSTRUCTIONS = "instructions of the program and its settings to the model"
_TOOLS = "descriptions of the program's tools"
_IDS = "ids of the program's interface to the model"
_DIFF = "the lines around a patch, and where it applies; its call is kept"
_COPIES = "what is shown of a call and its result, whose items are kept"
_PIXELS = "pixels of an image"
_FRAMES = "what stands around an image"
_ABOVE_REQUEST = "what an editor puts above a request; the request and files named are kept"
_TYPED = "response_item.payload.message.user.content.input_text.text"

LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut(
        "", "0.118.0", "the history of the thread that this one goes on", dropped="copied-history"
    ),
    LeftOut("response_item.payload.reasoning.encrypted_content", "0.34.0", "encrypted thoughts"),
    LeftOut("response_item.payload.*.id", "0.142.0", _IDS),
    LeftOut("response_item.payload.message.*.content.input_image", "0.126.0-alpha.8", _PIXELS),
    LeftOut(_TYPED, "0.126.0-alpha.8", _FRAMES, "<image name="),
    LeftOut(_TYPED, "0.126.0-alpha.8", _FRAMES, "</image>"),
    *(
        LeftOut(place, since, _ABOVE_REQUEST, opens)
        for place in (_TYPED, "event_msg.payload.user_message.message")
        for since, opens in (
            ("0.142.2", "## Code review guidelines:"),
            ("0.126.0-alpha.8", "# Files mentioned by the user:"),
            ("", "# Context from my IDE setup:"),
            ("", "## Prior conversation with Codex:"),
            ("", "# Review findings:"),
        )
    ),
    LeftOut("response_item.payload.message.developer", "0.118.0", _INSTRUCTIONS),
    LeftOut("compacted.payload.replacement_history.message.developer", "0.118.0", _INSTRUCTIONS),
    LeftOut("compacted.payload.replacement_history.compaction.id", "0.142.2", _IDS),
    LeftOut("event_msg.payload.item_completed.item.*.id", "0.142.4", _IDS),
    LeftOut("response_item.payload.ghost_snapshot", "0.77.0", "ids of commits that no branch has"),
    LeftOut("event_msg.payload.exec_command_end", "0.118.0", _COPIES),
    LeftOut("event_msg.payload.mcp_tool_call_end", "0.142.0", _COPIES),
    LeftOut("event_msg.payload.web_search_end", "0.120.0", _COPIES),
    LeftOut("event_msg.payload.patch_apply_end.changes.*.update", "0.118.0", _DIFF),
    LeftOut(
        "event_msg.payload.patch_apply_end.changes.*.delete", "0.140.0", "content of a deleted file"
    ),
    LeftOut("session_meta.payload.base_instructions", "0.118.0", _INSTRUCTIONS),
    LeftOut("session_meta.payload.git", "0.34.0", "the commit at the session's start"),
    LeftOut("session_meta.payload.dynamic_tools", "0.126.0-alpha.8", _TOOLS),
    LeftOut("response_item.payload.tool_search_output.tools", "0.142.0", _TOOLS),
    LeftOut("turn_context.payload.summary", "0.77.0", "a setting of the session"),
    LeftOut("turn_context.payload.permission_profile", "0.125.0", "a setting of the session"),
    LeftOut(
        "turn_context.payload.file_system_sandbox_policy",
        "0.144.0-alpha.4",
        "a setting of the session",
    ),
    LeftOut("turn_context.payload.sandbox_policy", "0.144.0-alpha.4", "a setting of the session"),
    LeftOut("turn_context.payload.developer_instructions", "0.126.0-alpha.8", _INSTRUCTIONS),
    LeftOut("turn_context.payload.collaboration_mode.settings", "0.118.0", _INSTRUCTIONS),
)
"""By path of keys."""
