"""OpenClaw's sessions, which have Pi's format 3:
`~/.openclaw/agents/<agent>/sessions/<session id>.jsonl`. Copies of sessions (`*.checkpoint.*`)
are left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memory_assets.transcripts.base import Known, Note, Source, ignore
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.pi.reader import PiReader

_DEPTH = 3
_COPIES = (".checkpoint.", ".deleted.", ".reset.")


class OpenClawReader(PiReader):
    """Reads OpenClaw's sessions."""

    agent = "openclaw"

    def discover(self, root: Path, known: Known, note: Note = ignore) -> Iterator[Source]:
        """Yield the sessions of each agent below `~/.openclaw`, or a directory of sessions."""
        walk = Walk(self.agent, note)
        found = walk.root(root / "agents", root)
        if found is None:
            return
        files = walk.transcripts(found, _DEPTH)
        own = (
            each
            for each in files
            if not any(copy in each[0].name for copy in _COPIES)
            and (Path(each[0].path).parent.name == "sessions" or found == root)
        )
        yield from walk.sources(own, known, self._identified)
