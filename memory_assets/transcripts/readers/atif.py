"""Documents in the Agent Trajectory Interchange Format (ATIF 1.0 to 1.8), for agents that have no
reader: one `.json` a session, below a directory that the user names, and where Devin's CLI puts
them.

A document is `{schema_version, session_id, agent{name, version, model_name}, steps[]}`. A step has
a `source` (system, user, agent), a message, calls of tools and what came of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memory_assets.models import Record
from memory_assets.transcripts.account import LeftOut
from memory_assets.transcripts.base import Source
from memory_assets.transcripts.discovery import File, Identity, Walk
from memory_assets.transcripts.fields import object_field, objects_in, text_field
from memory_assets.transcripts.ids import safe_id, safe_name, type_name
from memory_assets.transcripts.json_documents import field_in_head, rows_of_document
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.reader import RenderingReader
from memory_assets.transcripts.session import (
    COPIED,
    Frame,
    Outcome,
    SessionParser,
    tokens_of_prompt,
)
from memory_assets.transcripts.texts import content_text

_DEPTH = 4
_SCHEMA = "ATIF-"
_COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens")
_DIRECTORIES = ("cwd", "working_dir", "working_directory", "workspace")
"""Fields of `extra` that may name the directory."""


class AtifParser(SessionParser):
    """The state of reading one document."""

    def take(self, row: JsonObject) -> list[Record]:
        """Return the `Record`s of a step."""
        if "schema_version" in row:
            return self._resolve(self._header(row))
        source = type_name(row.get("source"))
        if row.get("is_copied_context") is True:
            return self._resolve(COPIED)
        step = f"step {row.get('step_id')}" if row.get("step_id") else None
        model = text_field(row, "model_name")
        frame = self._frame(row, step, row.get("timestamp"), model)
        return self._resolve(self._step(source, row, frame))

    def _header(self, document: JsonObject) -> str:
        agent, extra = object_field(document, "agent"), object_field(document, "extra")
        named = [text_field(place, name) for place in (extra, agent) for name in _DIRECTORIES]
        return self._begin(
            session=document.get("session_id"),
            cwd=next(filter(None, named), ""),
            version=text_field(agent, "version"),
            model=safe_name(text_field(agent, "model_name")),
        )

    def _step(self, source: str, row: JsonObject, frame: Frame) -> Outcome:
        text = content_text(row.get("message"))
        records: list[Record] = []
        if source == "user":
            records += self._user_text(frame, text)
        elif source == "system":
            records += self._records(frame, "system", text, "injected")
        elif source == "agent":
            thought = text_field(row, "reasoning_content")
            records += self._records(frame, "thinking", thought)
            records += self._records(frame, "assistant_text", text)
        else:
            return self._unknown(source)
        records += [self._asked(call, frame) for call in objects_in(row.get("tool_calls"))]
        results = object_field(row, "observation").get("results")
        records += [self._result(result, frame) for result in objects_in(results)]
        return self._with_tokens(
            records, frame, tokens_of_prompt(object_field(row, "metrics"), _COUNTS)
        )

    def _asked(self, call: JsonObject, frame: Frame) -> Record:
        call_id, name = safe_id(call.get("tool_call_id")), text_field(call, "function_name")
        return self._call(frame, call_id, name, call.get("arguments"))

    def _result(self, result: JsonObject, frame: Frame) -> Record:
        call_id = safe_id(result.get("source_call_id"))
        return self._answered(frame, call_id, content_text(result.get("content")))


class AtifReader(RenderingReader):
    """Reads documents in ATIF."""

    agent = "atif"
    version = "4"
    parser = AtifParser
    left_out = (
        LeftOut("", "steps that repeat others after a compaction", dropped=COPIED),
        LeftOut("agent", "the program's name, settings and descriptions of tools"),
        LeftOut("final_metrics", "figures"),
        LeftOut("notes", "notes on the document"),
    )

    def identify(self, path: Path, head: bytes) -> Identity:
        """Return the session's id, or the file's name, and the directory that a document names,
        else the one that it is in."""
        own = safe_id(field_in_head(head, "session_id")) or safe_id(path.stem)
        named = (field_in_head(head, name) for name in _DIRECTORIES)
        return Identity(own, directory=next(filter(None, named), "") or str(path.parent))

    def files(self, walk: Walk, root: Path) -> Iterator[File]:
        """Yield the documents below a directory."""
        files = walk.transcripts(walk.root(root), _DEPTH, (".json",))
        for file in files:
            if field_in_head(walk.head(file), "schema_version").startswith(_SCHEMA):
                yield file

    def rows(self, source: Source) -> Iterator[JsonObject]:
        """Yield the document without its steps, and each step."""
        return rows_of_document(source.path, "steps")
