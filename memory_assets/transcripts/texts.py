"""Readable text of message content and of tool calls, the files that calls name, and content in
comparable form."""

from __future__ import annotations

import base64
import re
from typing import Any

import orjson

from memory_assets.transcripts.fields import object_field, text_field

_BLOCKS = ("message", "content", "summary", "output", "item", "review_output")
"""Fields whose value is a text, or blocks that hold one."""
_VALUES = (
    *("text", "thinking", "name", "input", "arguments", "action", "command", "prompt", "plan"),
    *("planContent", "filename", "planFilePath", "thread_name", "overall_explanation"),
    "errorMessage",
)
KEYS_WITH_TEXT = frozenset((*_BLOCKS, *_VALUES))
"""Keys from which readers take text."""
_DEEPEST = 20
IMAGE = "[image]"
DOCUMENT = "[document]"
PATH_KEYS = (
    *("file_path", "notebook_path", "path", "filePath", "absolute_path", "relative_path"),
    *("target_file", "paths", "file_paths", "relative_workspace_path", "relativeWorkspacePath"),
    "targetFile",
)
"""Fields of a tool's input that name files or directories."""
UNRENDERED = "[value]"
_PATCH_FILE = re.compile(
    r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE
)
_IMAGES = ("image", "input_image")
_DATA_URL = re.compile(r"data:([^;,]*);base64,")
_IMAGE_TYPE = re.compile(r"image/([\w.-]{1,20})")


def content_bytes(content: Any) -> bytes:
    """Return the texts of an object, or of a part of one, as bytes that are equal for copies.

    Forks and resumes copy a record with its uuid and rewrite its envelope (session, directory,
    version, time); some write a text as a list with one block. They keep every value that a
    reader takes text from, so only these values are compared.
    """
    said = _comparable(content, _DEEPEST)
    try:
        return orjson.dumps(said, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):  # numbers and depths that orjson refuses
        return repr(said).encode("utf-8", "surrogatepass")


def _comparable(value: Any, deepest: int) -> list[Any]:
    if isinstance(value, str):
        return [value]
    if deepest == 0:
        return [value]
    if isinstance(value, list | tuple):
        return [piece for item in value for piece in _comparable(item, deepest - 1)]
    if not isinstance(value, dict):
        return []
    pieces: list[Any] = []
    for name in _BLOCKS:
        if name in value:
            pieces += _comparable(value[name], deepest - 1)
    return pieces + [value[name] for name in _VALUES if name in value]


def render_value(value: Any) -> str:
    """Return `value` as text: strings as they are, all else as compact JSON."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # orjson.JSONEncodeError: nested too deeply, or an integer too large
        return UNRENDERED


def render_input(value: Any) -> str:
    """Return a tool's input as "key: value" lines; a value of several lines is printed
    verbatim below its key."""
    if not isinstance(value, dict):
        return "" if value is None else render_value(value)
    lines = []
    for key, item in value.items():
        text = render_value(item)
        lines.append(f"{key}:\n{text}" if "\n" in text else f"{key}: {text}")
    return "\n".join(lines)


def paths_in(value: Any) -> tuple[str, ...]:
    """Return the file paths that a tool's input names, in order, each once."""
    if not isinstance(value, dict):
        return ()
    listed: list[str] = []
    for key in PATH_KEYS:
        item = value.get(key)
        if isinstance(item, str):
            listed.append(item)
        elif isinstance(item, list):
            listed += [path for path in item if isinstance(path, str)]
    return tuple(dict.fromkeys(path for path in listed if path))


def patch_paths(patch: str) -> tuple[str, ...]:
    """Return the files that an apply_patch text adds, updates, deletes or moves to."""
    if "*** " not in patch:
        return ()
    return tuple(dict.fromkeys(path.strip() for path in _PATCH_FILE.findall(patch)))


def document_text(block: Any) -> str:
    """Return title and text of a block that is an attached document; "" if it has no text."""
    if not isinstance(block, dict) or block.get("type") != "document":
        return ""
    source = object_field(block, "source")
    text = ""
    if source.get("type") == "text":
        text = text_field(source, "data")
    elif source.get("type") == "content":
        text = content_text(source.get("content"))
    elif text_field(source, "media_type").startswith("text/"):
        text = _decoded(text_field(source, "data"))
    return "\n\n".join(part for part in (text_field(block, "title"), text) if part) if text else ""


def _decoded(encoded: str) -> str:
    """Return the text in base64; "" if it is none."""
    try:
        return base64.b64decode(encoded, validate=True).decode().replace("\0", "\ufffd")
    except ValueError:
        return ""


def _image_block(block: dict[str, Any]) -> str:
    """Return what stands for an image, which is in base64 in the block, or in an address in it."""
    source = object_field(block, "source") or block
    media_type = text_field(source, "media_type") or text_field(source, "mimeType")
    encoded = text_field(source, "data")
    address = text_field(block, "image_url")
    if data_url := _DATA_URL.match(address):
        media_type, encoded = data_url[1], address[data_url.end() :]
    return image_text(media_type, encoded)


def image_text(media_type: str, encoded: str) -> str:
    """Return what stands for an image in base64: its type and size, where its type is known."""
    media = _IMAGE_TYPE.match(media_type)
    if media is None or not encoded:
        return IMAGE
    return f"[image: {media[1].upper()}, {max(1, len(encoded) * 3 // 4_000)} kB]"


def content_text(content: Any) -> str:
    """Return message content as text: a string, or a list of blocks joined by newlines.

    Images, and documents without a text, become placeholders, of images with type and size; blocks
    of other kinds give their `text`.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(text for block in content if (text := block_text(block)))


def block_text(block: Any) -> str:
    """Return the text of one content block, or ""."""
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return ""
    text = block.get("text")
    if isinstance(text, str):
        return text
    kind = block.get("type")
    if isinstance(kind, str):
        if text := document_text(block):
            return text
        if kind in _IMAGES:
            return _image_block(block)
        if kind == "document":
            return DOCUMENT
        if kind == "tool_reference":
            name = block.get("tool_name")
            return f"[tool {name}]" if isinstance(name, str) else ""
    return ""
