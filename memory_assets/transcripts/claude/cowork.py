"""Claude desktop's sessions ("Cowork"), which have Claude Code's format:
`<organisation>/<workspace>/local_<id>/.claude/projects/<directory>/<session id>.jsonl` in
`local-agent-mode-sessions`. Title and folder of the user's stand in `local_<id>.json`; the
directory that the records name is one of a virtual machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from memory_assets.models import Record
from memory_assets.paths import project_of
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore
from memory_assets.transcripts.claude.reader import ClaudeCodeReader
from memory_assets.transcripts.claude.records import ClaudeSession
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.fields import derived_id, parse_time, text_field
from memory_assets.transcripts.json_documents import object_beside
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import Frame, Session

_HOME = "local_"
_DEPTH = 2


class CoworkReader(ClaudeCodeReader):
    """Reads the sessions of Claude desktop."""

    agent = "cowork"

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield the sessions below `local-agent-mode-sessions`, each with the project of the folder
        that the user chose."""
        walk = Walk(self.agent, note)
        base = walk.root(root)
        for home in _homes(walk, base, _DEPTH) if base else ():
            folder = _folder(_about(home))
            for source in super().discover(home / ".claude", known, note):
                yield replace(source, project=project_of(folder)) if folder else source

    def begin(self, source: Source, report: ReadReport, end: int | None = None) -> Session:
        """Return the state of reading a transcript."""
        home = next(
            (parent for parent in source.path.parents if parent.name.startswith(_HOME)), None
        )
        about = _about(home) if home else {}
        report.see_cwd(_folder(about))
        report.see_time(parse_time(about.get("createdAt")))
        return CoworkSession(source, report, "" if source.agent_id else text_field(about, "title"))


class CoworkSession(ClaudeSession):
    """The state of reading one file: its title comes with its first record."""

    def __init__(self, source: Source, report: ReadReport, title: str) -> None:
        super().__init__(source, report)
        self._title_beside = title

    def take(self, record: JsonObject, start: int, end: int) -> list[Record]:
        """Return the `Record`s that this object gives."""
        records = super().take(record, start, end)
        title, self._title_beside = self._title_beside, ""
        if not title or not records:
            self._title_beside = title
            return records
        uuid = derived_id(self._source.agent, self._source.session_id, title)
        frame = Frame(start, end, uuid, records[0].timestamp, content=title)
        return records + self._one(frame, "title", title, "session-name")


def _homes(walk: Walk, folder: Path, depth: int) -> Iterator[Path]:
    for entry in walk.entries(folder):
        if walk.is_directory(entry, follow_symlinks=False):
            if entry.name.startswith(_HOME):
                yield Path(entry.path)
            elif depth:
                yield from _homes(walk, Path(entry.path), depth - 1)


def _about(home: Path) -> JsonObject:
    """Return the facts that stand beside a session's directory."""
    return object_beside(home.with_name(f"{home.name}.json"))


def _folder(about: JsonObject) -> str:
    folders = about.get("userSelectedFolders")
    first = folders[0] if isinstance(folders, list) and folders else ""
    return first if isinstance(first, str) else ""
