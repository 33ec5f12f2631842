"""Sessions as scripts, and their summaries."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memory_assets.chunking import build_turns
from memory_assets.models import Summary
from memory_assets.session_analysis import session_turns
from memory_assets.summaries import load_summarizer
from memory_assets_tests import redacted_sessions


class Script(redacted_sessions.Script):
    """A session, and what the summarizer makes of it."""

    def summary(self) -> Summary:
        """The extractive summary of all this."""
        return load_summarizer().summarize(session_turns(self.records, build_turns(self.records)))


Make = Callable[[], Script]


@pytest.fixture
def script() -> Make:
    """A factory of empty sessions."""
    return Script
