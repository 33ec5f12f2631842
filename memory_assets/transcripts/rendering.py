"""Readable text of tool calls and message content: parsed values, never raw JSON escapes."""

from __future__ import annotations

import re
from typing import Any

import orjson

IMAGE = "[image]"
DOCUMENT = "[document]"

PATH_KEYS = (
    "file_path",
    "notebook_path",
    "path",
    "filePath",
    "absolute_path",
    "relative_path",
    "target_file",
    "paths",
    "file_paths",
)
"""Fields of a tool's input that name files or directories."""
UNRENDERED = "[value]"

_PATCH_FILE = re.compile(
    r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE
)
_PLACEHOLDERS = {"image": IMAGE, "input_image": IMAGE, "document": DOCUMENT}


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
    found: list[str] = []
    for key in PATH_KEYS:
        item = value.get(key)
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, list):
            found += [path for path in item if isinstance(path, str)]
    return tuple(dict.fromkeys(path for path in found if path))


def patch_paths(patch: str) -> tuple[str, ...]:
    """Return the files that an apply_patch text adds, updates, deletes or moves to."""
    if "*** " not in patch:
        return ()
    return tuple(dict.fromkeys(path.strip() for path in _PATCH_FILE.findall(patch)))


def content_text(content: Any) -> str:
    """Return message content as text: a string, or a list of blocks joined by newlines.

    Images and documents become placeholders; blocks of other kinds give their `text`.
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
        if kind in _PLACEHOLDERS:
            return _PLACEHOLDERS[kind]
        if kind == "tool_reference":
            name = block.get("tool_name")
            return f"[tool {name}]" if isinstance(name, str) else ""
    return ""
