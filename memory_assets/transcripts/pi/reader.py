"""Pi coding agent, session formats 1 to 3.

Where: `~/.pi/agent/sessions/--<directory>--/<ISO time>_<session id>.jsonl`. The first
line is the session's header with its directory, and where it was forked from.

Entries are parsed in `records.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memory_assets.paths import project_of
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.fields import object_field, safe_id, text_field
from memory_assets.transcripts.lines import JsonObject, head_objects, read_head
from memory_assets.transcripts.pi.left_out import LEFT_OUT
from memory_assets.transcripts.pi.records import PiSession
from memory_assets.transcripts.reader import Reader

_FOLDERS = (Path("agent", "sessions"), Path("sessions"))
_DEPTH = 2


class PiReader(Reader):
    """Reads Pi's sessions."""

    left_out = LEFT_OUT
    agent = "pi"
    version = "3"

    def sniff(self, head: bytes) -> bool:
        """Return whether any line is a session header or an entry with a message in it."""
        return any(_is_header(entry) or _is_message(entry) for entry in head_objects(head))

    def identify(self, path: Path, head: bytes) -> tuple[str, str | None]:
        """Return (the id at the end of the file's name, None): Pi has no subagent files."""
        return safe_id(path.name.removesuffix(".jsonl").rpartition("_")[2]), None

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield sessions under `~/.pi`, its `agent` folder, or the `sessions` in it."""
        walk = Walk(self.agent, note)
        found = walk.root(*(root / folder for folder in _FOLDERS), root)
        if found is None:
            return
        yield from walk.sources(walk.transcripts(found, _DEPTH), known, self._identified)

    def begin(self, source: Source, report: ReadReport) -> PiSession:
        """Return the state of reading a session, dead branches included."""
        return PiSession(source, report)

    def _identified(self, path: Path) -> tuple[str, str, str | None]:
        head = read_head(path)
        header = next((item for item in head_objects(head) if _is_header(item)), {})
        return project_of(text_field(header, "cwd")), *self.identify(path, head)


def _is_header(entry: JsonObject) -> bool:
    return entry.get("type") == "session" and "timestamp" in entry and "cwd" in entry


def _is_message(entry: JsonObject) -> bool:
    role = object_field(entry, "message").get("role")
    return entry.get("type") == "message" and isinstance(role, str) and "sessionId" not in entry
