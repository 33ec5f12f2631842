"""OpenClaw's sessions, which have Pi's format 3:
`~/.openclaw/agents/<agent>/sessions/<session id>.jsonl`. Copies of sessions (`*.checkpoint.*`)
are left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memory_assets.transcripts.discovery import File, Walk
from memory_assets.transcripts.pi.reader import PiReader

_DEPTH = 3
_COPIES = (".checkpoint.", ".deleted.", ".reset.")


class OpenClawReader(PiReader):
    """Reads OpenClaw's sessions."""

    agent = "openclaw"

    def files(self, walk: Walk, root: Path) -> Iterator[File]:
        """Yield the sessions of each agent below `~/.openclaw`, or a directory of sessions."""
        base = walk.root(root / "agents", root)
        for file in walk.transcripts(base, _DEPTH) if base else ():
            path = Path(file[0].path)
            is_copy = any(copy in path.name for copy in _COPIES)
            if not is_copy and (path.parent.name == "sessions" or base == root):
                yield file
