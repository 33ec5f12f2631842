"""Sessions as scripts, and what is observed in them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memory_assets.chunking import build_turns
from memory_assets.models import Observation
from memory_assets.observations import observe
from memory_assets.session_analysis import session_turns
from memory_assets_tests import redacted_sessions


class Script(redacted_sessions.Script):
    """A session, and what is observed in it."""

    def observed(self, kind: str | None = None) -> list[Observation]:
        """What is observed, of one type if given."""
        made = observe(session_turns(self.records, build_turns(self.records)))
        return [one for one in made if kind in (None, one.type)]


Make = Callable[[], Script]


@pytest.fixture
def script() -> Make:
    """A factory of empty sessions."""
    return Script
