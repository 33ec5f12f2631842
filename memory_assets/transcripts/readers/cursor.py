"""Cursor's conversations in the editor, in its databases `state.vscdb`.

Where: since 2025 in the user data's `globalStorage/state.vscdb`, a row for each conversation
(`composerData:<id>`) and for each message (`bubbleId:<conversation>:<id>`); before, whole in the
`ItemTable` of each workspace's database. Only rows of these keys are read: the same tables hold the
program's tokens. Transcripts of Cursor's agent are `cursor_agent.py`'s.

A conversation renders to its facts, a line for each message in the order of its headers, and its
name last. Conversations without a message are drafts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memory_assets.errors import TranscriptError
from memory_assets.models import Record
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.base import Source
from memory_assets.transcripts.databases import LENGTH, Database, open_database, token_of
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.fields import (
    from_json,
    object_field,
    objects_in,
    parsed,
    rows_of,
    text_field,
)
from memory_assets.transcripts.ids import safe_id
from memory_assets.transcripts.json_documents import directory_of, named_by_hash, path_of
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import Frame, Outcome, tokens_in
from memory_assets.transcripts.stored import DatabaseReader, Member, StoredParser, session_rows
from memory_assets.transcripts.texts import render_value
from memory_assets.transcripts.times import nanoseconds, parse_time
from memory_assets.transcripts.unread import Columns

_DATABASE = "state.vscdb"
_GLOBAL = Path("globalStorage", _DATABASE)
_COMPOSERS, _CHATS = "composer.composerData", "workbench.panel.aichat.view.aichat.chatdata"
_MEMBERS = f"""
SELECT substr(data.key, 14) AS id, CAST(data.value AS TEXT) AS value,
    bubbles.number AS number, bubbles.bytes AS bytes
FROM cursorDiskKV AS data
LEFT JOIN (SELECT substr(key, 10, 36) AS composer, count(*) AS number,
        sum({LENGTH}(value)) AS bytes FROM cursorDiskKV
        WHERE key >= 'bubbleId:' AND key < 'bubbleId;' AND value IS NOT NULL
        GROUP BY substr(key, 10, 36)) AS bubbles
    ON bubbles.composer = substr(data.key, 14)
WHERE data.key >= 'composerData:' AND data.key < 'composerData;' AND data.value IS NOT NULL
    AND (bubbles.number > 0 OR {LENGTH}(data.value) > 4096 OR instr(data.value, '"type":') > 0)
ORDER BY data.key
"""
_BUBBLE = """
SELECT substr(key, 47) AS id, CAST(value AS TEXT) AS value FROM cursorDiskKV
WHERE key >= ? AND key < ? AND value IS NOT NULL
"""
_ITEM = "SELECT CAST(value AS TEXT) AS value FROM ItemTable WHERE key = ?"
_READ = "bubbleId:* composerData:*"
_PROGRAMS_OWN = (
    "agentKv:* messageRequestContext:* checkpointId:* codeBlockDiff:* inlineDiff* patch-graph:* "
    "codeBlockPartialInlineDiffFates:* ofsContent:* expectedContent-* composer.content.* "
    "composerVirtualRowHeights:*"
)
"""Requests to the model with files, and edits, as the editor needs them: messages and calls are in
the bubbles."""
_CONTEXT = "what the editor attached to a prompt"
_SHOWN = "a text or a result as it is shown"
_PERSON = (1, "user")
_SENT = ("clientStartTime", "clientRpcSendTime", "clientEndTime")
"""Times of a bubble; the first one counts from the start of the editor in some versions."""
_ANSWERS = ("output", "contents", "content")


class CursorParser(StoredParser):
    """The state of reading one conversation."""

    def _message(self, name: str, role: str, row: JsonObject) -> Outcome:
        bubble = object_field(row, "bubble")
        timing, kind = object_field(bubble, "timingInfo"), bubble.get("type")
        known = (bubble.get("createdAt"), *map(timing.get, _SENT))
        at = next(filter(None, map(parse_time, known)), None)
        model = text_field(object_field(bubble, "modelInfo"), "modelName")
        own = bubble.get("bubbleId") or bubble.get("id")
        frame = self._frame(bubble, own, at, model or text_field(bubble, "modelType"))
        text = text_field(bubble, "text") or text_field(bubble, "rawText")
        if kind in _PERSON:
            text = text or _plain(bubble.get("initText"))
            records = self._user_text(frame, text)
            for path in _selected(bubble):
                records += self._attached(frame, path)
            return records
        if kind not in (2, "ai"):
            return self._unknown("bubble", str(kind))
        thought = text_field(object_field(bubble, "thinking"), "text")
        records = self._records(frame, "thinking", thought)
        records += self._records(frame, "assistant_text", text)
        if tool := object_field(bubble, "toolFormerData"):
            records += self._tool(tool, frame)
        counts = object_field(bubble, "tokenCount")
        tokens = tokens_in(counts, ("inputTokens", "outputTokens"))
        return self._with_tokens(records, frame, tokens)

    def _tool(self, tool: JsonObject, frame: Frame) -> list[Record]:
        name, call_id = text_field(tool, "name"), safe_id(tool.get("toolCallId"))
        given = tool.get("rawArgs") or tool.get("params")
        records = [self._call(frame, call_id, name, given)]
        status = text_field(tool, "status")
        if status in ("completed", "error", "cancelled", "rejected") or tool.get("result"):
            texts = (_result(tool.get("result")), render_value(tool.get("error") or ""))
            text = "\n".join(filter(None, texts))
            failed = status in ("error", "cancelled", "rejected")
            records.append(self._answered(frame, call_id, text, is_error=failed))
        return records


class CursorReader(DatabaseReader):
    """Reads the conversations of Cursor's editor."""

    agent = "cursor"
    version = "5"
    session = CursorParser
    left_out = (
        LeftOut("bubble.bubble.*.richText", _SHOWN),
        LeftOut("bubble.bubble.richText", _SHOWN),
        LeftOut("bubble.bubble.*.initText", _SHOWN),
        LeftOut("bubble.bubble.user.mentions", _CONTEXT),
        LeftOut("bubble.bubble.context", _CONTEXT),
        LeftOut("bubble.bubble.promptDryRunInfo", "what the editor counted before it sent"),
        LeftOut("bubble.bubble.*.symbolLinks", _CONTEXT),
        LeftOut("bubble.bubble.*.codeBlocks", "code of the answer, which is kept"),
        LeftOut("bubble.bubble.codeBlocks", "code of the answer, which is kept"),
        LeftOut("bubble.bubble.*.suggestedDiffs", "code of the answer, which is kept"),
        LeftOut("bubble.bubble.attachedCodeChunks", _CONTEXT),
        LeftOut("bubble.bubble.user", _CONTEXT),
        LeftOut("bubble.bubble.capabilityStatuses", "what the editor had to do"),
        LeftOut("bubble.bubble.relevantFiles", _CONTEXT),
        LeftOut("bubble.bubble.toolFormerData.params", "a call as the editor reads it"),
        LeftOut("bubble.bubble.toolFormerData.result", _SHOWN),
        LeftOut("bubble.bubble.toolFormerData.additionalData", _SHOWN),
        LeftOut("bubble.bubble.thinking.signature", "signature of a thought"),
        LeftOut("bubble.bubble.ai", "ids of the program's interface to the model"),
    )
    known = (
        Columns("cursorDiskKV", "key value", keys=f"{_READ} {_PROGRAMS_OWN}"),
        Columns("ItemTable", "key value"),
        Columns("composerHeaders", "*", "lists of the conversations, which have the same"),
    )

    def __init__(self) -> None:
        super().__init__()
        self._kept: tuple[tuple[Path, str] | None, dict[str, JsonObject]] = (None, {})

    def containers(self, walk: Walk, root: Path) -> Iterator[Path]:
        """Yield the databases in the editor's user data."""
        yield root / _GLOBAL
        for entry in walk.entries(root / "workspaceStorage"):
            yield Path(entry.path, _DATABASE)

    def members(self, database: Database, path: Path) -> Iterator[Member]:
        """Yield the conversations with messages."""
        if path.parent.name != "globalStorage":
            yield from _old_members(database, path)
            return
        if not database.columns("cursorDiskKV"):
            return
        workspaces: dict[str, str] | None = None
        for row in database.rows(_MEMBERS):
            data = from_json(row["value"])
            if not isinstance(data, dict) or not (row["number"] or _inline(data)):
                continue
            if not _headers(data) and not _inline(data):
                continue
            cwd = _directory(data, path)
            if not cwd:
                if workspaces is None:
                    workspaces = _workspaces(path)
                cwd = workspaces.get(row["id"], "")
            size = (row["bytes"] or 0) + (row["number"] or 0) + len(row["value"])
            parent = text_field(object_field(data, "subagentInfo"), "parentComposerId")
            window = named_by_hash(text_field(object_field(data, "workspaceIdentifier"), "id"))
            updated = nanoseconds(_updated(data))
            yield Member(str(row["id"]), cwd, size, updated, parent, stand_in=window)

    def facts(self, database: Database, source: Source) -> JsonObject | None:
        """Return a conversation without its messages, or an old one with them."""
        if source.path.parent.name != "globalStorage":
            return self._old(database, source.path).get(source.member)
        sql = "SELECT CAST(value AS TEXT) AS value FROM cursorDiskKV WHERE key = ?"
        row = next(database.rows(sql, f"composerData:{source.member}"), None)
        data = from_json(row["value"]) if row else None
        return data if isinstance(data, dict) else None

    def member_rows(
        self, database: Database, source: Source, facts: JsonObject
    ) -> Iterator[JsonObject]:
        """Yield a conversation."""
        if source.path.parent.name != "globalStorage":
            messages = rows_of(facts.get("bubbles")) or _inline(facts)
            yield from _rendered(facts, messages, _folder_of(source.path))
            return
        bounds = (f"bubbleId:{source.member}:", f"bubbleId:{source.member};")
        by_id = {row["id"]: parsed(row["value"]) for row in database.rows(_BUBBLE, *bounds)}
        bubbles = [by_id.get(text_field(header, "bubbleId")) for header in _headers(facts)]
        found_bubbles = rows_of([bubble for bubble in bubbles if bubble is not None])
        yield from _rendered(facts, found_bubbles or _inline(facts), _directory(facts, source.path))

    def _old(self, database: Database, path: Path) -> dict[str, JsonObject]:
        """Return a workspace's conversations, which are in one value: of the last one that was
        asked for they are kept until it changes."""
        token = (path, token_of(path))
        if self._kept[0] != token:
            self._kept = (token, _old_conversations(database))
        return self._kept[1]


def _headers(data: JsonObject) -> list[JsonObject]:
    return objects_in(data.get("fullConversationHeadersOnly"))


def _inline(data: JsonObject) -> list[JsonObject]:
    """Return the messages of a conversation that holds them itself."""
    bubbles = objects_in(data.get("conversation"))
    by_id = object_field(data, "conversationMap")
    ordered = (by_id.get(text_field(header, "bubbleId")) for header in _headers(data))
    return bubbles or [message for message in ordered if isinstance(message, dict)]


def _updated(data: JsonObject) -> Any:
    return data.get("lastUpdatedAt") or data.get("lastSendTime") or data.get("createdAt")


def _directory(data: JsonObject, path: Path) -> str:
    """Return the directory that a conversation names, or that its workspace has."""
    named = object_field(data, "workspaceIdentifier")
    uri = object_field(named, "uri")
    if directory := text_field(uri, "fsPath") or text_field(uri, "path"):
        return directory
    own = text_field(named, "id")
    storage = path.parent.parent / "workspaceStorage"
    return directory_of(storage / own / "workspace.json") if own and "/" not in own else ""


def _folder_of(path: Path) -> str:
    return directory_of(path.parent / "workspace.json")


def _workspaces(path: Path) -> dict[str, str]:
    """Return the directories of the workspaces by the conversations that their databases name."""
    cwds: dict[str, str] = {}
    storage = path.parent.parent / "workspaceStorage"
    for other in sorted(storage.glob(f"*/{_DATABASE}")):
        cwd = _folder_of(other)
        if not cwd:
            continue
        try:
            with open_database(other) as database:
                data = _item(database, _COMPOSERS)
        except TranscriptError:
            continue
        named = [
            text_field(composer, "composerId") for composer in objects_in(data.get("allComposers"))
        ]
        selected = data.get("selectedComposerIds")
        named += selected if isinstance(selected, list) else []
        cwds |= {own: cwd for own in named if isinstance(own, str) and own}
    return cwds


def _item(database: Database, key: str) -> JsonObject:
    if not database.columns("ItemTable"):
        return {}
    row = next(database.rows(_ITEM, key), None)
    parsed = from_json(row["value"]) if row else None
    return parsed if isinstance(parsed, dict) else {}


def _old_conversations(database: Database) -> dict[str, JsonObject]:
    """Return the conversations that a workspace's database holds whole, by their ids."""
    composers = objects_in(_item(database, _COMPOSERS).get("allComposers"))
    tabs = objects_in(_item(database, _CHATS).get("tabs"))
    named = {
        text_field(composer, "composerId"): composer for composer in composers if _inline(composer)
    }
    named |= {text_field(tab, "tabId"): tab for tab in tabs if objects_in(tab.get("bubbles"))}
    return {own: entry for own, entry in named.items() if own}


def _old_members(database: Database, path: Path) -> Iterator[Member]:
    cwd = _folder_of(path)
    for own, data in _old_conversations(database).items():
        size = len(render_value(data))
        updated = nanoseconds(_updated(data))
        yield Member(own, cwd, size, updated, stand_in=named_by_hash(path.parent.name))


def _rendered(data: JsonObject, bubbles: list[JsonObject], cwd: str) -> Iterator[JsonObject]:
    version = data.get("_v")
    facts = {
        "id": data.get("composerId") or data.get("tabId"),
        "cwd": cwd,
        "version": f"v{version}" if isinstance(version, int) else "",
        "start": data.get("createdAt") or data.get("lastSendTime"),
        "model": text_field(object_field(data, "modelConfig"), "modelName"),
    }
    rows = ({"type": "bubble", "bubble": bubble} for bubble in bubbles)
    yield from session_rows(facts, {"title": data.get("name") or data.get("chatTitle")}, rows)


def _result(result: Any) -> str:
    """Return the text of a tool's result, which is JSON: its output or contents, else all."""
    answer = from_json(result) if isinstance(result, str) else result
    if isinstance(answer, dict):
        for name in _ANSWERS:
            if text := text_field(answer, name):
                return text
    return render_value(result or "")


def _selected(bubble: JsonObject) -> list[str]:
    """Return the files that a person attached to a prompt."""
    context = object_field(bubble, "context")
    named = objects_in(context.get("fileSelections")) + objects_in(bubble.get("fileSelections"))
    uris = (object_field(selection, "uri") for selection in named)
    paths = (text_field(uri, "fsPath") or path_of(text_field(uri, "external")) for uri in uris)
    return list(dict.fromkeys(filter(None, paths)))


def _plain(rich: Any) -> str:
    """Return the text of a rich text, a tree of nodes in JSON."""
    tree = from_json(rich)
    if tree is None:
        return rich if isinstance(rich, str) else ""
    texts: list[str] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            texts += [node["text"]] if isinstance(node.get("text"), str) else []
            texts += ["\n"] if node.get("type") == "linebreak" else []
            stack += reversed([child for child in node.values() if isinstance(child, dict | list)])
        elif isinstance(node, list):
            stack += reversed(node)
    return "".join(texts)
