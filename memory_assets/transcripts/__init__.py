"""Readers of coding agents' transcripts: from files to unredacted `Record`s, streaming.

Here belongs what is particular to one agent's file format, the finding of its files,
and the reading of lines that may be broken. One `Reader` per agent, found by content.
Not here: redaction, turns, anything that writes. Nothing in this package logs, and no
error or report carries text of a transcript.
"""

from memory_assets.transcripts.base import BadLine, Known, Reader, ReadReport, Source
from memory_assets.transcripts.fingerprints import file_fingerprint
from memory_assets.transcripts.registry import (
    READER_VERSIONS,
    READERS,
    discover,
    read_session,
    reader_by_agent,
    reader_for,
)

__all__ = [
    "READERS",
    "READER_VERSIONS",
    "BadLine",
    "Known",
    "ReadReport",
    "Reader",
    "Source",
    "discover",
    "file_fingerprint",
    "read_session",
    "reader_by_agent",
    "reader_for",
]
