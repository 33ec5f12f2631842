"""Parts of messages in the form of Google's interface, as Gemini CLI and Qwen Code keep them:
`{text}`, `{text, thought: true}`, `{functionCall}`, `{functionResponse}`, `{inlineData}`."""

from __future__ import annotations

from typing import Any

from memory_assets.transcripts.fields import (
    image_text,
    object_field,
    render_value,
    text_field,
)
from memory_assets.transcripts.lines import JsonObject


def parts_of(content: Any) -> list[JsonObject]:
    """Return content as parts: a text is one part, a part alone is a list of it."""
    if isinstance(content, str):
        return [{"text": content}]
    if isinstance(content, dict):
        return [content]
    listed = content if isinstance(content, list) else []
    parts = [{"text": part} if isinstance(part, str) else part for part in listed]
    return [part for part in parts if isinstance(part, dict)]


def spoken(parts: Any) -> str:
    """Return the text of parts, without thoughts."""
    said = [_said(part) for part in parts_of(parts)]
    return "\n".join(text for text in said if text)


def answer_text(part: JsonObject) -> tuple[str, bool]:
    """Return the text of a part that answers a call, and whether the call failed."""
    response = object_field(object_field(part, "functionResponse"), "response")
    if error := response.get("error"):
        return render_value(error), True
    if "output" in response:
        return render_value(response["output"]), False
    return (render_value(response) if response else ""), False


def _said(part: JsonObject) -> str:
    if part.get("thought") is True:
        return ""
    if "inlineData" in part or "fileData" in part:
        data = object_field(part, "inlineData")
        return image_text(text_field(data, "mimeType"), text_field(data, "data"))
    return text_field(part, "text")
