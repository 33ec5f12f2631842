"""Record types, subtypes and attachments of Claude Code that are handled by tables.

New types appear monthly; a type in no table is counted as unknown and skipped.
"""

from __future__ import annotations

from memory_assets.transcripts.fields import names

NOISE = {
    name: reason
    for reason, dropped in (
        ("progress", "progress"),
        ("file-history", "file-history-snapshot file-history-delta"),
        (
            "session-state",
            "permission-mode mode last-prompt agent-name agent-color agent-setting bridge-session "
            "frame-link tag worktree-state attribution-snapshot content-replacement "
            "marble-origami-commit marble-origami-snapshot",
        ),
    )
    for name in dropped.split()
}
"""Record types without a word of the conversation, and the reason they are dropped for."""

SYSTEM_NOISE = names(
    "stop_hook_summary turn_duration api_error microcompact_boundary bridge_status informational "
    "model_refusal_fallback memory_saved agents_killed api_metrics scheduled_task_fire "
    "permission_retry file_snapshot"
)
ATTACHMENT_NOISE = names(
    "task_reminder todo_reminder hook_success hook_additional_context hook_system_message "
    "hook_non_blocking_error hook_blocking_error hook_cancelled hook_stopped_continuation "
    "hook_error_during_execution hook_permission_decision edited_text_file edited_image_file "
    "skill_listing dynamic_skill deferred_tools_delta mcp_instructions_delta agent_listing_delta "
    "nested_memory relevant_memories diagnostics command_permissions auto_mode auto_mode_exit "
    "opened_file_in_ide date_change goal_status plan_mode plan_mode_exit plan_mode_reentry "
    "plan_file_reference directory already_read_file compact_file_reference invoked_skills "
    "task_status output_style ultra_effort total_tokens_reminder token_usage budget_usd "
    "async_hook_response mcp_resource agent_mention critical_system_reminder compaction_reminder "
    "context_efficiency companion_intro verify_plan_reminder structured_output max_turns_reached"
)

TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}
SPOKEN = frozenset({"assistant", "user", "system", "attachment"})
"""The types whose records have a uuid, a place in the tree, and an envelope."""
