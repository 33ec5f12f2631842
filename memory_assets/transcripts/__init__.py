"""Readers of coding agents' transcripts: from files to unredacted `Record`s, streaming.

Belongs here: the formats of the agents, finding their files, reading lines that may be broken. Each
agent has its `Reader`s. Does not: redaction, turns, anything that writes. Nothing in this package
logs, and no error or report contains text of a transcript.
"""

from memory_assets.agents import HISTORY_FILE
from memory_assets.transcripts.account import Account, Balance
from memory_assets.transcripts.base import Known, Note, ReadReport, Source, Unlisted, ignore
from memory_assets.transcripts.content import (
    COMPRESSED,
    Content,
    Rendered,
    is_compressed,
    plain_name,
    take_fingerprint,
)
from memory_assets.transcripts.registry import (
    READER_VERSIONS,
    READERS,
    discover,
    read_session,
    reader_of,
    readers_by_agent,
    write_alike,
)
from memory_assets.transcripts.texts import content_bytes

__all__ = [
    "COMPRESSED",
    "HISTORY_FILE",
    "READERS",
    "READER_VERSIONS",
    "Account",
    "Balance",
    "Content",
    "Known",
    "Note",
    "ReadReport",
    "Rendered",
    "Source",
    "Unlisted",
    "content_bytes",
    "discover",
    "ignore",
    "is_compressed",
    "plain_name",
    "read_session",
    "reader_of",
    "readers_by_agent",
    "take_fingerprint",
    "write_alike",
]
