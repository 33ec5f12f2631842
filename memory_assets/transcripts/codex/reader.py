"""Codex CLI, its editor and desktop versions: rollouts of 0.x.

Where: `~/.codex/sessions/YYYY/MM/DD/rollout-<local time>-<thread id>.jsonl`, and flat in
`archived_sessions/`. Since 0.137 files that rest are compressed (`.jsonl.zst`) until they are
resumed; since 0.146 a resumed thread goes on in a file of its own (`..-<thread>_<segment>.jsonl`).
Everything else there is left out: `history.jsonl`, databases, logs. A file's first line names its
directory (`cwd`), and for a subagent the parent thread.

Lines are parsed in `records.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from memory_assets.errors import TranscriptError
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.base import Known, Note, Source, ignore
from memory_assets.transcripts.codex.records import CodexParser
from memory_assets.transcripts.content import is_compressed, plain_name
from memory_assets.transcripts.discovery import ENDINGS, SUFFIX, Identity, Walk
from memory_assets.transcripts.fields import object_field, text_field
from memory_assets.transcripts.ids import safe_id
from memory_assets.transcripts.lines import JsonObject, head_objects, read_head
from memory_assets.transcripts.reader import Reader
from memory_assets.transcripts.session import COPIED

_INSTRUCTIONS = "instructions of the program and its settings to the model"
_TOOLS = "descriptions of the program's tools"
_IDS = "ids of the program's interface to the model"
_DIFF = "the lines around a patch, and where it applies; its call is kept"
_COPIES = "what is shown of a call and its result, whose items are kept"
_PIXELS = "pixels of an image"
_FRAMES = "what stands around an image"
_ABOVE_REQUEST = "what an editor puts above a request; the request and files named are kept"
_TYPED = "response_item.payload.message.user.content.input_text.text"
_AS_SHOWN = (
    "event_msg.payload.user_message.message",
    "event_msg.payload.item_completed.item.UserMessage.content.text.text",
)

LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut("", "the history of the thread that this one goes on", dropped=COPIED),
    LeftOut("response_item.payload.reasoning.encrypted_content", "encrypted thoughts"),
    LeftOut("response_item.payload.*.id", _IDS),
    LeftOut("response_item.payload.message.*.content.input_image", _PIXELS),
    LeftOut("response_item.payload.*.output.input_image", _PIXELS),
    LeftOut("event_msg.payload.user_message.local_images", _PIXELS),
    LeftOut(_TYPED, _FRAMES, "<image name="),
    LeftOut(_TYPED, _FRAMES, "</image>"),
    *(
        LeftOut(place, _ABOVE_REQUEST, holds="# My request for Codex")
        for place in (_TYPED, *_AS_SHOWN)
    ),
    LeftOut("response_item.payload.message.developer", _INSTRUCTIONS),
    LeftOut("compacted.payload.replacement_history.message.developer", _INSTRUCTIONS),
    LeftOut("compacted.payload.replacement_history.compaction.id", _IDS),
    LeftOut("event_msg.payload.item_completed.item.*.id", _IDS),
    LeftOut("response_item.payload.ghost_snapshot", "ids of commits that no branch has"),
    LeftOut("event_msg.payload.exec_command_end", _COPIES),
    LeftOut("event_msg.payload.mcp_tool_call_end", _COPIES),
    LeftOut("event_msg.payload.web_search_end", _COPIES),
    LeftOut("event_msg.payload.patch_apply_end.changes.*.update", _DIFF),
    LeftOut("event_msg.payload.patch_apply_end.changes.*.delete", "content of a deleted file"),
    LeftOut("session_meta.payload.base_instructions", _INSTRUCTIONS),
    LeftOut("session_meta.payload.git", "the commit at the session's start"),
    LeftOut("session_meta.payload.dynamic_tools", _TOOLS),
    LeftOut("response_item.payload.tool_search_output.tools", _TOOLS),
    LeftOut("turn_context.payload.summary", "a setting of the session"),
    LeftOut("turn_context.payload.permission_profile", "a setting of the session"),
    LeftOut("turn_context.payload.file_system_sandbox_policy", "a setting of the session"),
    LeftOut("turn_context.payload.sandbox_policy", "a setting of the session"),
    LeftOut("turn_context.payload.developer_instructions", _INSTRUCTIONS),
    LeftOut("turn_context.payload.collaboration_mode.settings", _INSTRUCTIONS),
    LeftOut(
        "event_msg.payload.thread_settings_applied.thread_settings.collaboration_mode.settings",
        _INSTRUCTIONS,
    ),
)
"""By path of keys."""


_FOLDERS = ("sessions", "archived_sessions")
_DEPTH = 3
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_THREAD = re.compile(f"({_UUID})(?:_({_UUID}))?$")
"""The end of a file's name: the thread, and the segment where it is not the thread's first."""
_HEAD_BYTES = 256 << 10
"""Enough for a first line with its instructions; the directory stands before them."""

_ENVELOPE = re.compile(
    rb'\{"timestamp":\s*"[^"]*",\s*(?:"ordinal":\s*\d+,\s*)?"type":\s*"(?:session_meta'
    rb'|response_item|event_msg)"'
)
_META_STRING = rb'"%s":\s*"((?:[^"\\]|\\.)*)"'


class CodexReader(Reader):
    """Reads Codex's rollouts."""

    left_out = LEFT_OUT
    agent = "codex"
    version = "13"
    session = CodexParser

    def identify(self, path: Path, head: bytes) -> Identity:
        """Return the thread's id, for a subagent its parent's and its own, and the directory."""
        meta = _first_meta(head)
        return Identity(*_identify(path, meta), text_field(meta, "cwd"))

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield rollouts under `~/.codex` or one of its two folders.

        A subagent gets the session and project of its topmost ancestor. It is skipped while
        its parent's file cannot be read.
        """
        walk, waiting = Walk(self.agent, note), set[str]()
        inner = [walk.root(root / name) for name in _FOLDERS]
        folders = [folder for folder in inner if folder is not None]
        if not folders and walk.complete and (outer := walk.root(root)) is not None:
            folders = [outer]
        files = [
            source for folder in folders for source in self._walk(walk, folder, known, waiting)
        ]
        sources = _threads(files)
        threads = {source.agent_id or source.session_id: source for source in sources}
        for source in sources:
            top = _top(source, threads)
            if top.agent_id is not None and top.session_id in waiting:
                continue
            if top is not source:
                source = replace(
                    source,
                    session_id=top.session_id,
                    project=top.project,
                    directory=top.directory,
                )
            yield source

    def _walk(self, walk: Walk, folder: Path, known: Known, unread: set[str]) -> Iterator[Source]:
        """Yield the rollouts in a folder; add the threads of those that cannot be read."""

        def identify(path: Path) -> Identity:
            try:
                return self.identify(path, read_head(path, _HEAD_BYTES))
            except TranscriptError:
                unread.add(_identify(path, {})[0])
                raise

        files = walk.transcripts(folder, _DEPTH, ENDINGS)
        rollouts = (file for file in files if file[0].name.startswith("rollout-"))
        return walk.sources(rollouts, known, identify)


def _threads(files: Sequence[Source]) -> list[Source]:
    """Return one source a thread, of its segments in order. Of copies of a segment the first plain
    one counts, else the first."""
    threads: dict[str, dict[str, Source]] = {}
    for file in sorted(files, key=lambda file: is_compressed(file.path)):
        segments = threads.setdefault(file.agent_id or file.session_id, {})
        segments.setdefault(_named(file.path)[1], file)
    by_thread = {}
    for thread, segments in threads.items():
        first, *others = (segments[name] for name in sorted(segments))
        by_thread[thread] = first
        if others:
            by_thread[thread] = replace(
                first,
                size=sum(file.size for file in segments.values()),
                mtime_ns=max(file.mtime_ns for file in segments.values()),
                parts=tuple(file.path for file in others),
            )
    order = dict.fromkeys(file.agent_id or file.session_id for file in files)
    return [by_thread[thread] for thread in order]


def _named(path: Path) -> tuple[str, str]:
    """Return the thread and the segment that a file's name says; segments are UUIDs of version 7,
    so that they sort by time, and the first has none."""
    stem = plain_name(path.name).removesuffix(SUFFIX)
    named = _THREAD.search(stem)
    return (named[1], named[2] or "") if named else (safe_id(stem), "")


def _top(source: Source, threads: dict[str, Source]) -> Source:
    """Return the file of the thread that `source` descends from, as far as it is there."""
    passed = {id(source)}
    while source.agent_id is not None:
        parent = threads.get(source.session_id)
        if parent is None or id(parent) in passed:
            break
        passed.add(id(parent))
        source = parent
    return source


def _identify(path: Path, meta: JsonObject) -> tuple[str, str | None]:
    thread, _ = _named(path)
    spawned_by = object_field(meta, "source").get("subagent")
    if spawned_by is None:
        return thread, None
    own = safe_id(meta.get("id")) or thread
    parent = safe_id(meta.get("parent_thread_id")) or safe_id(meta.get("session_id"))
    if isinstance(spawned_by, dict):
        spawn = object_field(spawned_by, "thread_spawn")
        parent = parent or safe_id(spawn.get("parent_thread_id"))
    parent = parent or safe_id(meta.get("forked_from_id"))
    return (parent if parent and parent != own else own), own


def _first_meta(head: bytes) -> JsonObject:
    """Return the first session_meta; of one that is cut off, the fields that were there, and the
    directory of the first turn."""
    context: JsonObject = {}
    for line in head_objects(head):
        payload = line.get("payload")
        if line.get("type") == "session_meta" and isinstance(payload, dict):
            return payload
        if "type" not in line and "id" in line:
            return line
        if line.get("type") == "turn_context" and isinstance(payload, dict):
            context = context or {"cwd": text_field(payload, "cwd")}
    first = head.partition(b"\n")[0]
    if not _ENVELOPE.match(first):
        return context
    fields: JsonObject = dict(context)
    for name in (b"id", b"cwd", b"parent_thread_id", b"forked_from_id"):
        if match := re.search(_META_STRING % name, first):
            fields[name.decode()] = match.group(1).decode("utf-8", "replace")
    if re.search(rb'"source":\s*\{"subagent":', first):
        fields["source"] = {"subagent": "unknown"}
    return fields
