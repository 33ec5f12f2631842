"""What Claude Code writes and its reader leaves out on purpose."""

from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.claude.queue import WITHDRAWN

_PIXELS = "pixels of an image, or pages of a document that is no text"
_HARNESS = "lists of tools, skills and agents, and reminders, by the program for the model"
_IDS = "ids of records and requests"
_HOOKS = "what hooks, which are the user's own programs, said to the model"
_COPIES = "the tool's own form of what its call or its result has"
_FILES = "content of a file that is on disk; its path is kept"
_EDITOR = "notices of the editor: what is open, what its checkers say"
_NAMES = "the name of a command, whose arguments are kept"
_NOTICE = "notices of the program to the model"

LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut("", "", "a prompt of another session of the same history", dropped="other-session"),
    LeftOut("", "2.0.72", "the program's own warming up, without a task", dropped="warm-up"),
    LeftOut("*.uuid", "2.0.76", _IDS),
    LeftOut("*.parentUuid", "2.0.76", _IDS),
    LeftOut("system.*.uuid", "2.1.7", _IDS),
    LeftOut("system.*.parentUuid", "2.1.5", _IDS),
    LeftOut("user.sourceToolAssistantUUID", "2.1.5", _IDS),
    LeftOut("summary.leafUuid", "2.1.7", _IDS),
    LeftOut(
        "assistant.message.message.assistant.content.thinking.signature",
        "2.0.5",
        "signature of a thought",
    ),
    LeftOut("user.message.user.content.tool_result.content.image.source", "2.1.6", _PIXELS),
    LeftOut("user.message.user.content.image.source", "2.0.72", _PIXELS),
    LeftOut("user.message.user.content.document.source.base64", "2.0.5", _PIXELS),
    LeftOut("user.toolUseResult.image.source", "2.1.6", _PIXELS),
    LeftOut("user.toolUseResult.image.file.*.base64", "2.1.7", _PIXELS),
    LeftOut("user.toolUseResult.pdf.file.base64", "2.0.5", _PIXELS),
    LeftOut("user.toolUseResult.originalFile", "1.0.120", "a file before an edit that is kept"),
    LeftOut(
        "user.toolUseResult.originalFileContents", "1.0.111", "a file before an edit that is kept"
    ),
    LeftOut("user.toolUseResult.*.originalFile", "2.1.22", "a file before an edit that is kept"),
    LeftOut("user.toolUseResult.structuredPatch", "1.0.98", _COPIES),
    LeftOut("user.toolUseResult.*.structuredPatch", "2.1.12", _COPIES),
    LeftOut(
        "user.toolUseResult.stdout", "2.0.72", "the rest of an output that the model did not see"
    ),
    LeftOut(
        "user.toolUseResult.content", "2.1.2", "the rest of an output that the model did not see"
    ),
    LeftOut("user.message.user.content.<system-reminder>", "1.0.98", _HARNESS),
    LeftOut("user.message.user.content.text.text.<system-reminder>", "2.1.33", _HARNESS),
    LeftOut("attachment.attachment.skill_listing", "2.1.101", _HARNESS),
    LeftOut("attachment.attachment.agent_listing_delta", "2.1.170", _HARNESS),
    LeftOut("attachment.attachment.deferred_tools_delta", "2.1.91", _HARNESS),
    LeftOut("attachment.attachment.mcp_instructions_delta", "2.1.91", _HARNESS),
    LeftOut("attachment.attachment.hook_success", "2.1.101", _HOOKS),
    LeftOut("attachment.attachment.hook_additional_context", "2.1.101", _HOOKS),
    LeftOut("attachment.attachment.hook_system_message", "2.1.101", _HOOKS),
    LeftOut("attachment.attachment.hook_non_blocking_error", "2.1.119", _HOOKS),
    LeftOut("system.stop_hook_summary", "2.0.64", _HOOKS),
    LeftOut("system.microcompact_boundary", "2.1.14", _NOTICE),
    LeftOut("system.informational", "2.1.119", _NOTICE),
    LeftOut("system.api_error", "2.1.179", _NOTICE),
    LeftOut("system.bridge_status", "2.1.101", _NOTICE),
    LeftOut("user.toolUseResult", "2.1.91", _COPIES, "InputValidationError:"),
    LeftOut(
        "progress.data.agent_progress.message.user.toolUseResult",
        "2.1.22",
        _COPIES,
        "InputValidationError:",
    ),
    LeftOut("user.toolUseResult.filePath", "2.0.75", _COPIES),
    LeftOut("user.toolUseResult.url", "2.1.9", _COPIES),
    LeftOut("user.toolUseResult.create", "2.0.75", _COPIES),
    LeftOut("user.toolUseResult.gitOperation", "2.1.179", _COPIES),
    LeftOut("user.message.user.content.<command-message>", "1.0.98", _NAMES),
    LeftOut("user.message.user.content.<command-name>", "2.1.199", _NAMES),
    LeftOut("user.message.user.content.text.text.<ide_opened_file>", "2.0.74", _EDITOR),
    LeftOut("attachment.attachment.opened_file_in_ide", "2.1.119", _EDITOR),
    LeftOut("attachment.attachment.plan_mode_exit", "2.1.119", _HARNESS),
    LeftOut("progress.data.hook_progress", "2.1.9", _HOOKS),
    LeftOut("progress.data.agent_progress.normalizedMessages", "2.1.9", _COPIES),
    LeftOut("attachment.attachment.edited_text_file", "2.1.101", _FILES),
    LeftOut("attachment.attachment.file.content", "2.1.104", _FILES),
    LeftOut("attachment.attachment.nested_memory", "", _FILES),
    LeftOut("attachment.attachment.diagnostics", "2.1.104", _EDITOR),
    LeftOut("attachment.attachment.plan_mode", "2.1.101", _HARNESS),
    LeftOut(
        "progress.data.bash_progress", "2.1.9", "an output as it grew; all of it is the result"
    ),
    LeftOut("", "2.1.9", "a queued text that its writer took back", dropped=WITHDRAWN),
    LeftOut("queue-operation.content", "2.1.3", "the command that ends the program", "/exit"),
    LeftOut("queue-operation.content", "2.1.5", _NOTICE, "<task-notification>"),
    LeftOut("queue-operation.content", "2.1.49", _NOTICE, '{"task_id"'),
)
"""By path of keys."""

OF_SUBAGENTS: tuple[LeftOut, ...] = (
    LeftOut("progress.data.agent_progress", "", "a subagent's messages, which its own file has"),
)
"""What is left out of a session whose subagents' files are there."""
