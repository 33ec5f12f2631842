"""GitHub Copilot Chat in VS Code and its relatives: a file for each session, a JSON document, or
since 1.109 a log of operations that comes to that document.

Where: `workspaceStorage/<id>/chatSessions/` in the editor's user data, whose `workspace.json` names
the directory; `globalStorage/emptyWindowChatSessions/` of windows without one.

A session renders to its facts, a line for each request with its answer, and last its title. A
request that somebody took back is kept with a mark, as long as the log has it.

A line of such a log is `{kind, k, v, i}`: 0 sets the whole document, 1 a value at the path `k`, 2
cuts the list there to `i`, if that is given, and appends `v`, 3 deletes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from memory_assets.errors import DamagedTranscript, TranscriptError, printable
from memory_assets.models import ABANDONED, Record
from memory_assets.paths import project_slug
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.authorship import UNKNOWN, Origin
from memory_assets.transcripts.base import Known, Note, Source, ignore
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.fields import (
    from_json,
    object_field,
    objects_in,
    rows_of,
    text_field,
)
from memory_assets.transcripts.ids import safe_id
from memory_assets.transcripts.json_documents import bytes_of, directory_of, named_by_hash, path_of
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.reader import RenderingReader
from memory_assets.transcripts.session import Frame, Outcome, tokens_in
from memory_assets.transcripts.stored import StoredParser, session_rows

_OF_WINDOWS = (
    Path("globalStorage", "emptyWindowChatSessions"),
    Path("globalStorage", "transferredChatSessions"),
)
_LOG = ".jsonl"
_ENDINGS = (_LOG, ".json")
_SMALL = 1 << 15
"""A file that is smaller may have no request: it is looked into before it counts."""
_DEEPEST = 60
"""A value nested deeper is not followed."""
_NO_DOCUMENT = "it is no session of the chat"
_OF_A_SESSION = frozenset({"requests", "sessionId", "creationDate"})
_RESTORE = (
    "if another agent wrote it, move it to its directory; else restore it, or delete it in the "
    "editor; it is read again when it changes"
)
_UNREADABLE = "unreadable"
_SHOWN = "an answer or a call as it is shown"
_REPEATED = "a prompt as the program sent it"


class ChatParser(StoredParser):
    """The state of reading one session."""

    def _message(self, name: str, role: str, row: JsonObject) -> Outcome:
        if name != "request":
            return self._unknown(name)
        metadata = object_field(object_field(row, "result"), "metadata")
        model = text_field(metadata, "resolvedModel") or text_field(row, "modelId")
        frame = self._frame(row, row.get("requestId"), row.get("timestamp"), model)
        self._branch = ABANDONED if row.get("undone") else ""
        return self._request(row, metadata, frame)

    def _request(self, row: JsonObject, metadata: JsonObject, frame: Frame) -> list[Record]:
        by_program = row.get("isSystemInitiated") is True
        text = text_field(object_field(row, "message"), "text")
        origin = Origin("machine", "meta") if by_program else UNKNOWN
        records = self._user_text(frame, text, origin)
        for variable in objects_in(object_field(row, "variableData").get("variables")):
            path = _path_in(variable.get("value")) or text_field(variable, "name")
            records += self._attached(frame, path)
        result = object_field(row, "result")
        elapsed = object_field(result, "timings").get("totalElapsed")
        if frame.timestamp and isinstance(elapsed, int | float) and 0 <= elapsed < 1e9:
            frame = replace(frame, timestamp=frame.timestamp + timedelta(milliseconds=elapsed))
        tokens = tokens_in(metadata, ("promptTokens", "outputTokens"))
        answered = self._with_tokens(self._answer(row, metadata, frame), frame, tokens)
        records += answered if isinstance(answered, list) else []
        if error := text_field(object_field(result, "errorDetails"), "message"):
            records += self._records(frame, "system", error, "api-error", is_error=True)
        elif row.get("isCanceled") is True:
            records += self._records(frame, "system", "canceled", "interrupt")
        return records

    def _answer(self, row: JsonObject, metadata: JsonObject, frame: Frame) -> list[Record]:
        """Return what was thought, said and called. The rounds of a request have the calls whole,
        and what the model said; the parts that are shown count where they say more."""
        parts, rounds = objects_in(row.get("response")), objects_in(metadata.get("toolCallRounds"))
        results = object_field(metadata, "toolCallResults")
        said = "".join(text_field(round_, "response") for round_ in rounds)
        pieces = [_shown(part) for part in parts]
        whole = all(piece.strip() in said for piece in pieces if piece.strip())
        records: list[Record] = []
        for part in parts:
            if part.get("kind") == "thinking":
                text = _text_in(part.get("value"))
                records += self._records(frame, "thinking", text)
        for round_ in rounds:
            thought = _text_in(object_field(round_, "thinking").get("text"))
            if not any(thought in record.text for record in records):
                records += self._records(frame, "thinking", thought)
            if whole:
                text = text_field(round_, "response")
                records += self._records(frame, "assistant_text", text)
            for call in objects_in(round_.get("toolCalls")):
                records += self._called_with_result(call, results, frame)
        if not any(round_.get("toolCalls") for round_ in rounds):
            for part in parts:
                records += self._shown_call(part, frame)
        if not whole:
            text = "".join(pieces)
            records += self._records(frame, "assistant_text", text)
        return records

    def _called_with_result(
        self, call: JsonObject, results: JsonObject, frame: Frame
    ) -> Iterator[Record]:
        own, name = text_field(call, "id"), text_field(call, "name")
        yield self._call(frame, safe_id(own), name, call.get("arguments"))
        if isinstance(result := results.get(own), dict):
            texts = [_text_in(part.get("value")) for part in objects_in(result.get("content"))]
            yield self._answered(frame, safe_id(own), "\n".join(filter(None, texts)))

    def _shown_call(self, part: JsonObject, frame: Frame) -> Iterator[Record]:
        """Return a call of which only what was shown is left."""
        kind = part.get("kind")
        if kind == "toolInvocationSerialized":
            call_id, name = safe_id(part.get("toolCallId")), text_field(part, "toolId")
            line = object_field(object_field(part, "toolSpecificData"), "commandLine")
            command = text_field(line, "original")
            invocation = {"message": _text_in(part.get("invocationMessage"))}
            yield self._call(frame, call_id, name, {"command": command} if command else invocation)
            failed = part.get("isComplete") is False
            text = _text_in(part.get("pastTenseMessage"))
            yield self._answered(frame, call_id, text, is_error=failed)
        elif kind == "textEditGroup":
            groups = part.get("edits")
            groups = groups if isinstance(groups, list) else []
            edits = [edit for group in groups for edit in objects_in(group)]
            text = "\n".join(text_field(edit, "text") for edit in edits)
            given = {"path": _path_in(part.get("uri")), "content": text}
            yield self._call(frame, "", "textEditGroup", given)


class VsCodeCopilotReader(RenderingReader):
    """Reads the sessions of VS Code's chat."""

    agent = "vscode-copilot"
    version = "4"
    session = ChatParser
    left_out = (
        LeftOut("beside.inputState", "a draft that was never sent"),
        LeftOut("request.result.metadata.renderedUserMessage", _REPEATED),
        LeftOut("request.result.metadata.renderedGlobalContext", _REPEATED),
        LeftOut("request.message.parts", "the parts of a prompt, which is kept whole"),
        LeftOut("request.result.metadata.codeBlocks", "code of the answer, which is kept"),
        LeftOut("request.result.metadata.toolCallResults", "how a result is laid out"),
        LeftOut("request.result.metadata", "ids of the program's interface to the model"),
        LeftOut("request.response", _SHOWN),
        LeftOut("request.agent", "the chat's own description of itself"),
        LeftOut("request.variableData", "a file that was attached; its name is kept"),
        LeftOut("request.contentReferences", "files that an answer refers to"),
        LeftOut("request.codeCitations", "public code that an answer resembles"),
        LeftOut("request.followups", "questions that the program proposes"),
        LeftOut("request.editedFileEvents", "files that were edited; the calls name them"),
        LeftOut("request.responseMarkdownInfo", _SHOWN),
        LeftOut("request.responseId", "ids of the program's interface to the model"),
        LeftOut("request.modelId", "the model's name, which is kept"),
        LeftOut("request.*.baseUri", "the directory of the window"),
    )

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield the sessions in the user data of an editor, each once."""
        walk = Walk(self.agent, note)
        base = walk.root(root)
        best: dict[str, Source] = {}
        for source in self._files(walk, base, known) if base else ():
            held = best.get(source.session_id)
            if held is None or _rank(source) > _rank(held):
                best[source.session_id] = source
        yield from sorted(best.values(), key=lambda source: str(source.path))

    def _files(self, walk: Walk, root: Path, known: Known) -> Iterator[Source]:
        for folder, workspace in _folders(walk, root):
            directory = directory_of(workspace) if workspace else ""
            named = directory or named_by_hash(folder.parent.name)
            for entry, size, mtime_ns in walk.transcripts(folder, 0, _ENDINGS):
                path = Path(entry.path)
                source = known(path, size, mtime_ns)
                if source is None:
                    if size < _SMALL and is_empty(path):
                        continue
                    ids = (safe_id(path.stem), None)
                    source = Source(self.agent, "", *ids, path, size, mtime_ns)
                yield replace(source, project=project_slug(named), directory=directory)

    def rows(self, source: Source) -> Iterator[JsonObject]:
        """Yield the rows of a session."""
        document, taken_back, unreadable_lines = document_of(source.path)
        facts = {
            "id": document.pop("sessionId", None),
            "cwd": directory_of(source.path.parent.parent / "workspace.json"),
            "version": f"document-{document.pop('version', None)}",
            "start": document.pop("creationDate", None),
        }
        title = {"title": document.pop("customTitle", None)}
        rows: list[JsonObject] = []
        for place, request in enumerate(rows_of(document.pop("requests", None))):
            rows += taken_back.pop(place, ())
            undone = {"undone": True} if request.get("shouldBeRemovedOnSend") else {}
            rows.append({"type": "request", **request, **undone})
        rows += (row for undone_rows in taken_back.values() for row in undone_rows)
        rows += ({"type": _UNREADABLE, "line": number} for number in unreadable_lines)
        yield from session_rows(facts, title, rows, document)


def _folders(walk: Walk, root: Path) -> Iterator[tuple[Path, Path | None]]:
    """Yield the directories with sessions, and the file that names the directory of each."""
    has_sessions = False
    for entry in walk.entries(root / "workspaceStorage"):
        folder = Path(entry.path) / "chatSessions"
        if walk.is_there(folder, S_ISDIR):
            has_sessions = True
            yield folder, folder.parent / "workspace.json"
    for place in _OF_WINDOWS:
        if walk.is_there(root / place, S_ISDIR):
            has_sessions = True
            yield root / place, None
    if not has_sessions and root.name in ("chatSessions", *(place.name for place in _OF_WINDOWS)):
        yield root, root.parent / "workspace.json"


def _rank(source: Source) -> tuple[bool, int, int]:
    """Return which of two files of a session counts: a log, else the larger."""
    return source.path.suffix == _LOG, source.size, source.mtime_ns


def _shown(part: JsonObject) -> str:
    """Return the text of a part of an answer as it is shown."""
    if "kind" not in part:
        return _text_in(part.get("value"))
    if part["kind"] == "inlineReference":
        reference = part.get("inlineReference")
        name = text_field(reference, "name") if isinstance(reference, dict) else ""
        return name or _path_in(reference).rpartition("/")[2]
    return ""


def _path_in(value: Any) -> str:
    """Return the path in a URI, or in what holds one."""
    for _ in range(_DEEPEST):
        if isinstance(value, str):
            return path_of(value)
        if not isinstance(value, dict):
            return ""
        if path := text_field(value, "fsPath") or text_field(value, "path"):
            return path
        value = value.get("uri") or value.get("location")
    return ""


def _text_in(value: Any, depth: int = 0) -> str:
    """Return the text of a value: a string, what holds one, or a tree of elements whose leaves
    are texts."""
    if isinstance(value, str):
        return value
    if depth > _DEEPEST:
        return ""
    if isinstance(value, list):
        return "".join(_text_in(part, depth + 1) for part in value)
    if not isinstance(value, dict):
        return ""
    if "node" in value or "children" in value:
        return _text_in(value.get("node") or value["children"], depth + 1)
    text = _text_in(value.get("text") or value.get("value"), depth + 1)
    return f"\n{text}" if value.get("lineBreakBefore") else text


def is_empty(path: Path) -> bool:
    """Return whether a session can be read and has no request."""
    try:
        document, taken_back, _ = document_of(path)
    except TranscriptError:  # its reading says why
        return False
    return not document.get("requests") and not taken_back


def document_of(path: Path) -> tuple[JsonObject, dict[int, list[JsonObject]], list[int]]:
    """Return a session's document, the requests that were taken back, by the place that they had,
    and the numbers of lines of a log that cannot be read."""
    data = bytes_of(path)
    if path.suffix == _LOG:
        document, taken_back, bad = replayed(data.split(b"\n"))
    else:
        taken_back, bad = {}, []
        document = from_json(data)
    is_other = not isinstance(document, dict) or (document and not document.keys() & _OF_A_SESSION)
    if is_other or not isinstance(document.get("requests", []), list | dict):
        raise DamagedTranscript(f"{printable(path)}: {_NO_DOCUMENT}", _NO_DOCUMENT, _RESTORE)
    return document, taken_back, bad


def replayed(lines: Iterable[bytes]) -> tuple[Any, dict[int, list[JsonObject]], list[int]]:
    """Return what a log of operations comes to: the document, the requests that were taken back,
    and the numbers of the lines that are no operation, a half-written last one aside."""
    state: Any = None
    removed: dict[int, list[JsonObject]] = {}
    bad: list[int] = []
    number, operation = 0, None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        operation = from_json(line)
        try:
            state = _applied(state, operation, removed)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            bad.append(number)
    if operation is None and bad[-1:] == [number]:  # half-written: no newline is behind it
        bad.pop()
    present = (
        {_id(request) for request in objects_in(state.get("requests"))}
        if isinstance(state, dict)
        else set()
    )
    kept = {
        place: [
            {"type": "request", **request, "undone": True}
            for request in requests
            if _id(request) not in present
        ]
        for place, requests in removed.items()
    }
    return state, {place: requests for place, requests in kept.items() if requests}, bad


def _applied(state: Any, operation: Any, removed: dict[int, list[JsonObject]]) -> Any:
    """Return the state after an operation."""
    kind = operation["kind"]
    if kind == 0:
        return operation["v"]
    *above, last = operation["k"]
    at = state
    for step in above:
        at = at[step]
    if kind == 1:
        at[last] = operation.get("v")
    elif kind == 2:
        values = at.setdefault(last, []) if isinstance(at, dict) else at[last]
        if (cut := operation.get("i")) is not None:
            if operation["k"] == ["requests"] and values[cut:]:
                removed.setdefault(cut, []).extend(objects_in(values[cut:]))
            del values[cut:]
        values += operation.get("v") or []
    elif kind == 3:
        if isinstance(at, dict):
            at.pop(last, None)
        else:
            del at[last]
    else:
        raise ValueError
    return state


def _id(request: JsonObject) -> str:
    return text_field(request, "requestId")
