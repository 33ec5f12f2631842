"""The list of readers, and choosing the reader of a file by its content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from memory_assets.errors import TranscriptError
from memory_assets.models import Record
from memory_assets.transcripts.base import (
    Known,
    Note,
    ReadReport,
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
    end: int | None = None,
) -> Iterator[Record]:
    """Return the records of one transcript file, in file order, lazily.

    With `end`, only the first bytes are read: lines written later are left for the next reading.
    The reader is chosen by content, for an empty file by `source.agent`. Ids come from
    `source`, else from the file. Bad lines are listed in `report`, which is complete once the
    iterator is exhausted; they raise nothing. Raises `TranscriptError` if the file cannot be
    opened or no reader recognises it.
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
    return reader.read(replace(source, agent=reader.agent, path=path), report, end)


def discover(
    roots: Mapping[str, Sequence[Path]], known: Known = nothing_known, note: Note = ignore
) -> Iterator[Source]:
    """Yield every transcript under `roots` (agent name -> its directories), agent by agent
    in the order of `READERS`, and in a fixed order within each directory. What is below several
    of an agent's directories comes once.

    `note` is called with each file and directory that could not be read. Roots that do not
    exist are skipped. Raises `TranscriptError` for an agent without a reader.
    """
    for agent in roots:
        reader_by_agent(agent)
    for reader in READERS:
        found: set[tuple[Path, str, str | None]] = set()
        for root in roots.get(reader.agent, ()):
            for source in reader.discover(root, known, note):
                place = source.path, source.session_id, source.agent_id
                if place not in found:
                    found.add(place)
                    yield source
