"""The protocol `Summarizer`."""

from __future__ import annotations

from typing import Protocol

from memory_assets.models import Summary
from memory_assets.session_analysis.session import SessionTurns


class Summarizer(Protocol):
    """Turns one session into one `Summary`. It sees redacted text and nothing else."""

    @property
    def summarizer_id(self) -> str:
        """The code version; must change whenever a session would give another summary."""

    def summarize(self, session: SessionTurns) -> Summary:
        """Return the summary of `session`."""
