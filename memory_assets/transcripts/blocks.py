"""Messages whose content is a list of typed blocks (`text`, `thinking`, `tool_use`,
`tool_result`), as several agents keep them.

And parts of messages in the form of Google's interface, as Gemini CLI and Qwen Code keep them:
`{text}`, `{text, thought: true}`, `{functionCall}`, `{functionResponse}`, `{inlineData}`.
"""

from __future__ import annotations

from typing import Any

from memory_assets.models import Record
from memory_assets.transcripts.authorship import UNSAID, Origin, authored
from memory_assets.transcripts.fields import (
    block_text,
    content_text,
    image_text,
    object_field,
    objects_in,
    render_input,
    render_value,
    safe_id,
    text_field,
    type_name,
)
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import Call, Frame, Session

_SAID = frozenset({"text", "image", "document", "file"})
_SILENT = frozenset({"redacted_thinking"})


def blocks_of(content: Any) -> list[JsonObject]:
    """Return content as blocks: a text is one block, what is neither is none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objects_in(content)


class BlockSession(Session):
    """The state of reading a file with such messages."""

    def _from_user(self, content: Any, frame: Frame, origin: Origin = UNSAID) -> list[Record]:
        """Return the records under the user's name: the answers of tools, and the text of all text
        blocks, as one."""
        records: list[Record] = []
        texts: list[str] = []
        for block in blocks_of(content):
            kind = type_name(block.get("type"))
            if kind == "tool_result":
                records.append(self._tool_result(block, frame))
            elif kind in _SAID:
                texts.append(block_text(block))
            else:
                self._report.see_unknown(f"user/{kind}")
        said = "\n".join(text for text in texts if text)
        return records + (self._said(frame, authored(said, origin)) if said else [])

    def _from_assistant(self, content: Any, frame: Frame) -> list[Record]:
        """Return the records of what an agent said, thought and called."""
        records: list[Record] = []
        for block in blocks_of(content):
            kind = type_name(block.get("type"))
            if kind == "text":
                text = text_field(block, "text")
                records += self._one(frame, "assistant_text", text)
            elif kind == "thinking":
                records += self._one(frame, "thinking", text_field(block, "thinking"))
            elif kind == "tool_use":
                call = Call.of_block(block, "input")
                text = render_input(block.get("input"))
                records.append(self._called(frame, safe_id(block.get("id")), call, text))
            elif kind == "tool_result":
                records.append(self._tool_result(block, frame))
            elif kind not in _SILENT:
                self._report.see_unknown(f"assistant/{kind}")
        return records

    def _tool_result(self, block: JsonObject, frame: Frame) -> Record:
        text = content_text(block.get("content"))
        failed = block.get("is_error") is True
        return self._answered(frame, safe_id(block.get("tool_use_id")), text, is_error=failed)


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
