"""Claude Code's `history.jsonl`: the prompts of sessions whose transcripts are lost.

Where: next to the `projects` directory. A line is `{display, pastedContents, timestamp
(Unix ms), project (directory), sessionId}`; it survives the deletion of transcripts after
30 days. Early versions wrote no sessionId: their prompts are grouped by project and by
pauses of more than an hour.

Only sessions without a transcript are yielded, once they are a day old, each as a session
of prompts alone, with a title that says so. (`pipeline/scan/raw_sessions.py` drops prompts
without a sessionId that a transcript contains, by their times.)
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from memory_assets.models import Record
from memory_assets.paths import project_slug
from memory_assets.transcripts.base import ReadReport, Source
from memory_assets.transcripts.fields import clean_text, object_field, text_field
from memory_assets.transcripts.ids import derived_id, safe_id
from memory_assets.transcripts.lines import JsonObject, read_objects
from memory_assets.transcripts.session import EMPTY, Outcome, SessionParser

TITLE = "Prompts only: the transcript is gone"
_PAUSE_MS = 3_600_000
_REST_SECONDS = 86_400.0
"""A session younger than this may have a transcript yet to come."""
_UNNAMED = "history-"


@dataclass
class _Extent:
    """The end of a session's last line, and the times of its prompts."""

    end: int
    times_ms: list[int]
    directory: str = ""


class _Sessions:
    """Assigns each line to a session, in file order."""

    def __init__(self) -> None:
        self.open: dict[str, tuple[str, int]] = {}

    def of(self, entry: JsonObject) -> tuple[str, str]:
        """Return the project and the session of a line; "" for neither."""
        project, when = project_slug(clean_text(text_field(entry, "project"))), _milliseconds(entry)
        named = safe_id(entry.get("sessionId"))
        if named:
            return project, named
        session_id, last = self.open.get(project, ("", 0))
        if not session_id or when - last > _PAUSE_MS:
            session_id = f"{_UNNAMED}{derived_id(project, str(when)).removeprefix('x-')}"
        self.open[project] = (session_id, when)
        return project, session_id


class HistoryParser(SessionParser):
    """The state of reading one session's prompts out of the history."""

    def __init__(self, source: Source, report: ReadReport) -> None:
        super().__init__(source, report)
        self._sessions = _Sessions()
        self._begun = False

    def take(self, record: JsonObject) -> list[Record]:
        """Return the prompt of a line, if it is this session's; before the first, a title."""
        if self._sessions.of(record)[1] != self._source.session_id:
            return self._resolve("other-session")
        return self._resolve(self._prompt(record))

    def _prompt(self, entry: JsonObject) -> Outcome:
        text = _text(entry)
        if not text:
            return EMPTY
        if text.startswith("/") and len(text.split()) == 1:
            return "command"
        self._cwd = ""
        self._begin(session=entry.get("sessionId"), cwd=text_field(entry, "project"))
        frame = self._frame(None, at=_milliseconds(entry))
        place = self._source.session_id, str(self._byte_start)
        frame.record_uuid = derived_id("history", *place, text)
        records: list[Record] = []
        if not self._begun:
            self._begun = True
            records += self._records(frame, "title", TITLE, "custom-title")
        return [*records, self._record(frame, "prompt", text, subtype="history")]


def lost_sessions(path: Path, present: Container[str], agent: str) -> Iterator[Source]:
    """Yield the sessions that the history knows and that are not among `present`.

    The size of such a source is where its last line ends, and its time is that of its last
    prompt, so that a prompt typed elsewhere does not change it.

    Raises:
        OSError, TranscriptError: the history is not there, or cannot be read.
    """
    status = path.stat()
    sessions = _sessions_of(path, status.st_size, status.st_mtime_ns)
    now_ms = time.time() * 1000
    for (project, session_id), extent in sessions.items():
        last_ms = max(extent.times_ms)
        age_ms = now_ms - last_ms  # less than 0 of a clock that was wrong: it goes on no more
        if session_id not in present and not 0 <= age_ms <= _REST_SECONDS * 1000:
            yield Source(
                *(agent, project, session_id, None, path, extent.end, last_ms * 1_000_000),
                directory=extent.directory,
            )


def unnamed_prompts_ms(source: Source) -> list[int]:
    """Return when the prompts of a session of the history were typed (Unix ms), if the history
    does not name the session: only by their times can a transcript be known to hold them.
    Empty for one that has a name of its own.

    Raises:
        OSError, TranscriptError: the history cannot be read.
    """
    if not source.session_id.startswith(_UNNAMED):
        return []
    status = source.path.stat()
    sessions = _sessions_of(source.path, status.st_size, status.st_mtime_ns)
    matching = (extent for (_, name), extent in sessions.items() if name == source.session_id)
    return next((extent.times_ms for extent in matching), [])


@lru_cache(maxsize=4)
def _sessions_of(path: Path, size: int, mtime_ns: int) -> dict[tuple[str, str], _Extent]:
    """Return the sessions of a history as it is now; read once for each state of the file."""
    extents: dict[tuple[str, str], _Extent] = {}
    sessions = _Sessions()
    for _, end, entry in read_objects(path, ReadReport()):
        key = sessions.of(entry)
        if not _text(entry) or not key[1]:
            continue
        when = _milliseconds(entry)
        directory = clean_text(text_field(entry, "project"))
        extent = extents.setdefault(key, _Extent(end, [], directory))
        extent.end = end + 1
        extent.times_ms.append(when)
    return extents


def _milliseconds(entry: JsonObject) -> int:
    value = entry.get("timestamp")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value < 1e14 else 0


def _text(entry: JsonObject) -> str:
    """Return the typed text with pasted contents inserted where they were pasted."""
    text = text_field(entry, "display").strip()
    for number, pasted in sorted(object_field(entry, "pastedContents").items()):
        content = text_field(pasted, "content") if isinstance(pasted, dict) else ""
        if not content:
            continue
        begin = text.find(f"[Pasted text #{number}")
        close = text.find("]", begin)
        if begin >= 0 and close >= 0:
            text = f"{text[:begin]}{content}{text[close + 1 :]}"
        else:
            text = f"{text}\n{content}"
    return text
