"""Values of a record: times, ids and names made safe, deterministic ids, readable text of tool
calls and message content, text between tags, and content in comparable form.

Ids and names are stored without redaction (ids must stay joinable), so a value that does
not look like an id or a name is never returned as one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from memory_assets.record_identity import DERIVED, looks_stored
from memory_assets.record_identity import text_hash as text_hash

_UNIQUE = 32
"""An id of so many characters is no other record's by chance."""
_ID = re.compile(r"[A-Za-z0-9_.:|/=+-]{1,128}")
_NAME = re.compile(r"[A-Za-z0-9_.:/@<>()\[\] +-]{1,100}")
_TYPE = re.compile(r"[A-Za-z]+(?:[_./:-][A-Za-z]+)*\d{0,2}")
UNNAMED_TYPE = "(not a name)"
NO_TYPE = "(none)"
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


_LONGEST_NUMBER = 20
_MOST_COUNTED = 10**12
"""No count of tokens is larger; one that is would not fit a column."""
_EARLIEST = 946_684_800
"""Seconds of the year 2000: a smaller number is no time of a session."""


def text_field(record: dict[str, Any], name: str) -> str:
    """Return the string at `name`, or ""."""
    value = record.get(name)
    return value if isinstance(value, str) else ""


def object_field(record: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object at `name`, or an empty one."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; none of anything else."""
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def entries_of(value: Any) -> list[Any]:
    """Return the entries of a list, or of an object that has them by their ids; what is neither is
    the only one, and None is none. So what a newer version writes otherwise is seen, too."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else [] if value is None else [value]


def rows_of(value: Any) -> list[dict[str, Any]]:
    """Return the entries of a value as objects; one that is none is the `value` of its own."""
    return [one if isinstance(one, dict) else {"value": one} for one in entries_of(value)]


def count_field(record: dict[str, Any], name: str) -> int:
    """Return a field that is a count, 0 if it is none."""
    value = record.get(name)
    return value if type(value) is int and 0 < value < _MOST_COUNTED else 0  # no bool


def parse_time(value: object) -> datetime | None:
    """Return a time as aware UTC, whether it is ISO 8601, a number of seconds, milliseconds,
    microseconds or nanoseconds, such a number as text, or one already; None if it is none."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, str) and len(value) < _LONGEST_NUMBER and value.strip().isdecimal():
        value = int(value)
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                return moment.replace(tzinfo=UTC)
            return moment.astimezone(UTC)
        if per_second := _units(value):
            return datetime.fromtimestamp(value / per_second, UTC)  # type: ignore[operator]
    except (ValueError, OverflowError, OSError):
        pass
    return None


def nanoseconds(value: object) -> int:
    """Return a time, in whatever form, as nanoseconds; 0 for what is none."""
    if isinstance(value, str):
        moment = parse_time(value)
        value = moment and moment.timestamp()
    per_second = _units(value)
    return int(value * (1e9 / per_second)) if per_second else 0  # type: ignore[operator]


def _units(value: object) -> float:
    """Return how many units a second has in which a number is a time, by its magnitude: dates of
    these decades are told apart. 0 for what is no such number, as a time since a window opened."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    if value != value or value < _EARLIEST or value > 1e20:
        return 0.0
    return next(
        (unit for limit, unit in ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6)) if value < limit), 1e9
    )


def from_json(value: object) -> Any:
    """Return what a text of JSON says; None if it is none. Programs in JavaScript cut texts within
    a character, and escape the half of it, which strict parsers refuse; editors put a byte order
    mark before a file, and a loss of power leaves NULs behind it."""
    if isinstance(value, bytes):
        value = value.removeprefix(BOM_UTF8).rstrip(b"\0")
    if not isinstance(value, str | bytes):
        return None
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        pass
    try:
        text = value if isinstance(value, str) else value.decode()
        return storable(json.loads(text, parse_constant=str)) if "\\u" in text else None
    except (ValueError, RecursionError):
        return None


def parsed(text: object) -> Any:
    """Return what a text of JSON says; where it is none, the text as it is."""
    value = from_json(text)
    return text if value is None else value


def storable(value: Any) -> Any:
    """Return `value` with NUL characters and lone surrogates in its strings replaced."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [storable(item) for item in value]
    return value


def clean_text(text: str) -> str:
    """Return `text` with NUL characters and lone surrogates as U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def derived_id(*parts: str) -> str:
    """Return an id that is a function of `parts` alone. It confirms a guess of them, so it
    is keyed before it is written (`RecordIdentity.stored`)."""
    digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{DERIVED}{digest[:32]}"


def record_id(agent: str, session_id: str, value: object, start: int) -> str:
    """Return the id of a record: the agent's own if it looks unique, else one derived from it and
    the session, or without one from the place where the record starts."""
    own = safe_id(value)
    return own if len(own) >= _UNIQUE else derived_id(agent, session_id, own or f"@{start}")


def safe_id(value: object) -> str:
    """Return `value` if it is an id, a digest of it if it is other text, "" if it is no text.

    Equal values give equal ids, so copies stay recognisable even where a tool mangled their
    ids. A value in the form of our own derived ids is digested, because no agent wrote it.
    """
    if not isinstance(value, str) or not value:
        return ""
    return value if _ID.fullmatch(value) and not looks_stored(value) else derived_id(value)


def safe_name(value: str) -> str:
    """Return `value` if it can be the name of a model or a version, else ""."""
    return value if _NAME.fullmatch(value) else ""


def type_name(value: object) -> str:
    """Return `value` if it can be the name of a record type, else a stand-in."""
    return _type_name(value) if isinstance(value, str) else NO_TYPE


@lru_cache(maxsize=512)
def _type_name(value: str) -> str:
    return value if len(value) <= 48 and _TYPE.fullmatch(value) else UNNAMED_TYPE


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


class Enclosed(NamedTuple):
    """An opening tag, whose group 1 is the tag's name, and where its closing begins and ends."""

    opening: re.Match[str]
    end: int
    after: int


def find_enclosed(text: str, opening: re.Pattern[str]) -> Iterator[Enclosed]:
    """Yield each opening that its closing tag follows; what is inside is not searched again."""
    missing: set[str] = set()
    at = 0
    while (begin := opening.search(text, at)) is not None:
        closing = f"</{begin.group(1)}>"
        end = -1 if closing in missing else text.find(closing, begin.end())
        if end < 0:
            missing.add(closing)
            at = begin.end()
            continue
        at = end + len(closing)
        yield Enclosed(begin, end, at)


def replace_enclosed(
    text: str,
    opening: re.Pattern[str],
    put: Callable[[re.Match[str]], str],
    *,
    blanks: bool = False,
) -> str:
    """Return `text` with what `put` returns for an opening in place of all that it encloses, and,
    if `blanks`, of the blanks behind it."""
    parts: list[str] = []
    at = 0
    for element in find_enclosed(text, opening):
        parts += [text[at : element.opening.start()], put(element.opening)]
        at = element.after
        while blanks and text[at : at + 1].isspace():
            at += 1
    return "".join((*parts, text[at:])) if parts else text
