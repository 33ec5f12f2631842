"""The list of readers, and the reader of a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from memory_assets.errors import TranscriptError
from memory_assets.models import Record
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, ignore, nothing_known
from memory_assets.transcripts.claude.reader import ClaudeCodeReader, CoworkReader
from memory_assets.transcripts.codex.reader import CodexReader
from memory_assets.transcripts.content import Content
from memory_assets.transcripts.reader import Reader
from memory_assets.transcripts.readers import OTHER_READERS
from memory_assets.transcripts.readers.pi import OpenClawReader, PiReader

READERS: tuple[Reader, ...] = (
    ClaudeCodeReader(),
    CodexReader(),
    PiReader(),
    OpenClawReader(),
    CoworkReader(),
    *OTHER_READERS,
)
"""An agent with stores of several kinds has several readers: the first that `holds` a source reads
it, and a session that several have is the first one's."""
_BY_AGENT: dict[str, list[Reader]] = {}
for _reader in READERS:
    _BY_AGENT.setdefault(_reader.agent, []).append(_reader)
READER_VERSIONS: Mapping[str, str] = {
    agent: "-".join(reader.version for reader in readers) for agent, readers in _BY_AGENT.items()
}


def readers_by_agent(agent: str) -> Sequence[Reader]:
    """Return the readers of `agent`; raise `TranscriptError` if there are none."""
    if agent not in _BY_AGENT:
        agents = ", ".join(_BY_AGENT)
        raise TranscriptError(f"no reader for agent {agent!r}; there are readers for {agents}")
    return _BY_AGENT[agent]


def write_alike(agent: str, other: str) -> bool:
    """Return whether two agents' sessions can be moved from one's directory to the other's."""
    own, others = (_BY_AGENT[name][0].format for name in (agent, other))
    return bool(own) and own == others


def reader_of(source: Source) -> Reader:
    """Return the reader of a source; raise `TranscriptError` if its agent has none."""
    readers = readers_by_agent(source.agent)
    return next((reader for reader in readers if reader.holds(source)), readers[-1])


def read_session(
    path: Path,
    *,
    source: Source,
    report: ReadReport | None = None,
    end: int | None = None,
    contents: Sequence[Content] | None = None,
) -> Iterator[Record]:
    """Return the records of a source that lies at `path`, in order, lazily.

    With `end`, only the first bytes are read: lines written later are left for the next reading.
    `contents`: what the lines are read from, where that is known already. Bad lines are listed in
    `report`, which is complete once the iterator is exhausted; they raise nothing. Raises
    `TranscriptError` if a store or, while it is read, a file cannot be read.
    """
    reader = reader_of(source)
    source = replace(source, path=path)
    contents = reader.contents(source) if contents is None else contents
    return reader.read(source, report if report is not None else ReadReport(), end, contents)


def discover(
    roots: Mapping[str, Sequence[Path]], known: Known = nothing_known, note: Note = ignore
) -> Iterator[Source]:
    """Yield every transcript under `roots` (agent name -> its directories), agent by agent
    in the order of `READERS`, and in a fixed order within each directory. What is below several
    of an agent's directories comes once, and so does a session that several of its stores have.

    `note` is called with each file and directory that could not be read. Roots that do not
    exist are skipped. Raises `TranscriptError` for an agent without a reader.
    """
    for agent in roots:
        readers_by_agent(agent)
    for agent, readers in _BY_AGENT.items():
        places: set[tuple[str, str, str | None]] = set()
        for root, reader in product(roots.get(agent, ()), readers):
            for source in reader.discover(root, known, note):
                locator = "" if reader.once or len(readers) > 1 else source.locator
                place = locator, source.session_id, source.agent_id
                if place not in places:
                    places.add(place)
                    yield source
