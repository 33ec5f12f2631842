"""Classify Codex's texts with the role "user": typed by the human, or injected.

958 of 2,257 `role: "user"` items seen are injected: the environment, AGENTS.md, notices
of subagents and aborted turns, plugins, skills, the prompts of reviewers. Each submitted
text has an event `user_message`; it may come from another thread (`<codex_delegation>`).
Editors put their context above a heading.
"""

from __future__ import annotations

import re
from typing import Any

from memory_assets.transcripts.fields import text_field
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.rendering import IMAGE, content_text
from memory_assets.transcripts.session import Said

_INJECTED_PREFIXES = (
    ("<environment_context>", "environment"),
    ("# AGENTS.md instructions", "instructions"),
    ("<user_instructions>", "instructions"),
    ("<INSTRUCTIONS>", "instructions"),
    ("<permissions instructions>", "instructions"),
    ("<subagent_notification>", "task-notification"),
    ("<turn_aborted>", "interrupt"),
    ("<user_shell_command>", "bash-input"),
    ("<recommended_plugins>", "meta"),
    ("<skill>", "meta"),
    ("<codex_delegation>", "machine-prompt"),
    ("The following is the Codex agent history", "machine-prompt"),
    ("Another language model started to solve this problem", "compact-summary"),
)
_WRAPPED = re.compile(r"<([a-z]+_[a-z_]+)>.*</\1>", re.DOTALL)
_REQUEST_HEADING = "## My request for Codex:"
_EDITOR_CONTEXT = ("# Context from my IDE setup:", "# Files mentioned by the user:")
_IMAGE_TAG = re.compile(r"<image name=[^>\n]*>\n?|</image>\n?")


def classify_submitted(text: str) -> Said:
    """Classify `text`, without the context that an editor put above the request."""
    text = text.strip()
    for prefix, subtype in _INJECTED_PREFIXES:
        if text.startswith(prefix):
            kind: Any = "summary" if subtype == "compact-summary" else "system"
            return Said(kind, subtype, text)
    if _WRAPPED.fullmatch(text):
        return Said("system", "meta", text)
    if text.startswith(_EDITOR_CONTEXT) and _REQUEST_HEADING in text:
        text = text.partition(_REQUEST_HEADING)[2].strip()
    return Said("prompt", "", text)


def event_text(event: JsonObject) -> str:
    """Return the text of a `user_message` event; an image alone is a placeholder."""
    text = text_field(event, "message").strip()
    if text:
        return text
    return IMAGE if event.get("images") or event.get("local_images") else ""


def item_text(content: Any) -> str:
    """Return the text of a message item, without the tags that frame its images."""
    return _IMAGE_TAG.sub("", content_text(content)).strip()
