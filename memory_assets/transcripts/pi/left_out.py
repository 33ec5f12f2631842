"""What Pi writes and its reader leaves out on purpose."""

from memory_assets.transcripts.account import LeftOut

_SIGNATURE = "signature of a thought or a call"
_IDS = "ids of the program's interface to the model"
_FILES = "a file that is on disk; its name is kept"

LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut("message.message.assistant.content.thinking.thinkingSignature", "v1", _SIGNATURE),
    LeftOut("message.message.assistant.content.toolCall.thoughtSignature", "v3", _SIGNATURE),
    LeftOut("message.message.assistant.content.text.textSignature", "v3", _SIGNATURE),
    LeftOut("message.message.assistant.content.toolCall.id", "v3", _IDS),
    LeftOut("message.message.toolResult.toolCallId", "v3", _IDS),
    LeftOut("message.message.assistant.responseId", "v3", _IDS),
    LeftOut("message.message.assistant.content.toolCall.partialJson", "v1", "a call as it came in"),
    LeftOut("message.message.user.content.text.text.<skill>", "v3", _FILES),
    LeftOut("message.message.user.content.text.text.<file>", "", _FILES),
    LeftOut("message.message.toolResult.details.command", "v3", "a command as it was run"),
    LeftOut("message.message.bashExecution.fullOutputPath", "v1", _FILES),
    LeftOut("session.branchedFrom", "v1", "the file of the session that it was forked from"),
    LeftOut("message.message.toolResult.details.diff", "v1", "an edit as a diff; the call is kept"),
)
"""By path of keys."""
