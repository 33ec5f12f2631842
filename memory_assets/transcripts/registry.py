"""The list of readers, and choosing the reader of a file by its content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from memory_assets.errors import TranscriptError
from memory_assets.models import Record
from memory_assets.transcripts.base import (
    FROM_THE_START,
    Known,
    Note,
    ReadReport,
    Resume,
    Source,
    ignore,
    nothing_known,
)
from memory_assets.transcripts.claude.reader import ClaudeCodeReader
from memory_assets.transcripts.codex.reader import CodexReader
from memory_assets.transcripts.lines import read_head
from memory_assets.transcripts.pi.reader import PiReader
from memory_assets.transcripts.reader import Reader

READERS: tuple[Reader, ...] = (ClaudeCodeReader(), CodexReader(), PiReader())
READER_VERSIONS: Mapping[str, str] = {reader.agent: reader.version for reader in READERS}


def reader_by_agent(agent: str) -> Reader:
    """Return the reader of `agent`; raise `TranscriptError` if there is none."""
    for reader in READERS:
        if reader.agent == agent:
            return reader
    known = ", ".join(reader.agent for reader in READERS)
    raise TranscriptError(f"no reader for agent {agent!r}; there are readers for {known}")


def read_session(
    path: Path,
    *,
    source: Source | None = None,
    report: ReadReport | None = None,
    resume: Resume = FROM_THE_START,
) -> Iterator[Record]:
    """Return the records of one transcript file, in file order, lazily.

    With `resume`, only the records after an earlier checkpoint are returned; `report` still
    covers the whole file. Records after the new checkpoint are tentative: the next reading
    returns them again.

    The reader is chosen by content, for an empty file by `source.agent`. Ids come from
    `source`, else from the file. Bad lines are listed in `report`, which is complete once the
    iterator is exhausted; they raise nothing. Raises `TranscriptError` if the file cannot be
    opened or no reader recognises it, and `ResumeFailed` (also while it is read) if the part
    before the checkpoint has changed.
    """
    head = read_head(path)
    report = report if report is not None else ReadReport()
    if not head and source is None:
        return iter(())
    reader = next((reader for reader in READERS if reader.sniff(head)), None)
    if reader is None and source is not None:
        reader = reader_by_agent(source.agent)
    if reader is None:
        raise TranscriptError(f"{path}: no reader knows this content")
    if source is None:
        session_id, agent_id = reader.identify(path, head)
        source = Source(reader.agent, "", session_id, agent_id, path, 0, 0)
    return reader.read(replace(source, agent=reader.agent, path=path), report, resume)


def discover(
    roots: Mapping[str, Path], known: Known = nothing_known, note: Note = ignore
) -> Iterator[Source]:
    """Yield every transcript under `roots` (agent name -> its directory), agent by agent
    in the order of `READERS`, and in a fixed order within each.

    `note` is called with each file and directory that could not be read. Roots that do not
    exist are skipped. Raises `TranscriptError` for an agent without a reader.
    """
    for agent in roots:
        reader_by_agent(agent)
    for reader in READERS:
        if reader.agent in roots:
            yield from reader.discover(roots[reader.agent], known, note)
