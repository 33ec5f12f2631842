"""Messages whose content is a list of typed blocks, as most agents keep them: what an agent says,
thinks, calls and is answered stands in blocks of types and fields of its own (`Shapes`), by default
those of Anthropic's interface (`text`, `thinking`, `tool_use`, `tool_result`).

And parts of messages in the form of Google's interface, as Gemini CLI and Qwen Code keep them:
`{text}`, `{text, thought: true}`, `{functionCall}`, `{functionResponse}`, `{inlineData}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from memory_assets.models import Kind, Record
from memory_assets.transcripts.authorship import UNKNOWN, Origin
from memory_assets.transcripts.fields import object_field, objects_in, text_field
from memory_assets.transcripts.ids import safe_id, type_name
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import Call, Frame, SessionParser
from memory_assets.transcripts.texts import block_text, content_text, image_text, render_value

_PROMPT_BLOCKS = frozenset({"text", "image", "document", "file"})


class TextBlock(NamedTuple):
    """A block with a text: the kind of its record, and the field that has the text."""

    kind: Kind
    text: str


class CallBlock(NamedTuple):
    """A block that calls a tool: the fields with the call's id, the tool's name and its input."""

    id: str
    name: str
    given: str


class ResultBlock(NamedTuple):
    """A block with the result of a call: the fields with the call's id, its content, and whether
    the call failed."""

    id: str
    content: str
    failed: str


Shapes = Mapping[str, TextBlock | CallBlock | ResultBlock | None]
"""By the type of a block, what it is; None for one that says nothing."""
ANSWER = TextBlock("assistant_text", "text")
_ANTHROPIC: Shapes = {
    "text": ANSWER,
    "thinking": TextBlock("thinking", "thinking"),
    **dict.fromkeys(
        ("tool_use", "server_tool_use", "mcp_tool_use"), CallBlock("id", "name", "input")
    ),
    "tool_result": ResultBlock("tool_use_id", "content", "is_error"),
    **dict.fromkeys(("redacted_thinking", "fallback")),
}


def blocks_of(content: Any) -> list[JsonObject]:
    """Return content as blocks: a text is one block, what is neither is none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objects_in(content)


class ShapedParser(SessionParser):
    """The state of reading messages with blocks."""

    shapes: ClassVar[Shapes] = _ANTHROPIC
    """The blocks of what an agent says."""
    blocks_are = "assistant"
    """What blocks of unknown types are counted as."""

    def _block(self, block: JsonObject, frame: Frame) -> list[Record]:
        """Return the record of a block, or none. A server's tools answer in types of their own."""
        kind = type_name(block.get("type"))
        shape = self.shapes.get("tool_result" if kind.endswith("_tool_result") else kind)
        if isinstance(shape, TextBlock):
            return self._records(frame, shape.kind, text_field(block, shape.text))
        if isinstance(shape, CallBlock):
            call_id, name = self._call_id(block.get(shape.id)), text_field(block, shape.name)
            return [self._call(frame, call_id, name, block.get(shape.given))]
        if isinstance(shape, ResultBlock):
            text, failed = self._result_text(block.get(shape.content)), block.get(shape.failed)
            call_id = self._call_id(block.get(shape.id))
            return [self._answered(frame, call_id, text, is_error=failed is True)]
        if kind not in self.shapes:
            self._report.see_unknown(f"{self.blocks_are}/{kind}")
        return []

    def _call_id(self, value: object) -> str:
        """Return the id of a call."""
        return safe_id(value)

    def _result_text(self, content: Any) -> str:
        """Return the text of a call's result."""
        return content_text([content] if isinstance(content, dict) else content)


class BlockParser(ShapedParser):
    """The state of reading a file with messages of Anthropic's interface."""

    def _from_user(self, content: Any, frame: Frame, origin: Origin = UNKNOWN) -> list[Record]:
        """Return the records under the user's name: the answers of tools, and the text of all text
        blocks, as one."""
        records: list[Record] = []
        texts: list[str] = []
        for block in blocks_of(content):
            kind = type_name(block.get("type"))
            if kind == "tool_result":
                records += self._block(block, frame)
            elif kind in _PROMPT_BLOCKS:
                texts.append(block_text(block))
            else:
                self._report.see_unknown(f"user/{kind}")
        text = "\n".join(text for text in texts if text)
        return records + self._user_text(frame, text, origin)

    def _from_assistant(self, content: Any, frame: Frame) -> list[Record]:
        """Return the records of what an agent said, thought and called."""
        return [record for block in blocks_of(content) for record in self._block(block, frame)]


def parts_of(content: Any) -> list[JsonObject]:
    """Return content as parts: a text is one part, a part alone is a list of it."""
    if isinstance(content, str):
        return [{"text": content}]
    if isinstance(content, dict):
        return [content]
    listed = content if isinstance(content, list) else []
    parts = [{"text": part} if isinstance(part, str) else part for part in listed]
    return [part for part in parts if isinstance(part, dict)]


def text_of_parts(parts: Any) -> str:
    """Return the text of parts, without thoughts."""
    texts = [_part_text(part) for part in parts_of(parts)]
    return "\n".join(text for text in texts if text)


def answer_text(part: JsonObject) -> tuple[str, bool]:
    """Return the text of a part that answers a call, and whether the call failed."""
    response = object_field(object_field(part, "functionResponse"), "response")
    if error := response.get("error"):
        return render_value(error), True
    if "output" in response:
        return render_value(response["output"]), False
    return (render_value(response) if response else ""), False


class PartsParser(SessionParser):
    """The state of reading messages with parts."""

    def _answers(self, parts: Any, frame: Frame, *, failed: bool = False) -> list[Record]:
        """Return the records of the parts that answer calls; `failed` says so of all."""
        records: list[Record] = []
        for part in parts_of(parts):
            if answered := object_field(part, "functionResponse"):
                text, has_error = answer_text(part)
                call_id, unknown = safe_id(answered.get("id")), Call(text_field(answered, "name"))
                is_error = failed or has_error
                records.append(self._answered(frame, call_id, text, unknown, is_error=is_error))
        return records


def _part_text(part: JsonObject) -> str:
    if part.get("thought") is True:
        return ""
    if "inlineData" in part or "fileData" in part:
        data = object_field(part, "inlineData")
        return image_text(text_field(data, "mimeType"), text_field(data, "data"))
    return text_field(part, "text")
