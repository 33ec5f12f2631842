"""What was said on a branch that somebody went back from is not told as what was done."""

from __future__ import annotations

from memory_assets.chunking import build_turns
from memory_assets.models import ABANDONED
from memory_assets.observations import observe
from memory_assets.session_analysis import session_turns
from memory_assets_tests.redacted_sessions import Script as Session
from memory_assets_tests.summaries.conftest import Make, Script


def _went_back(session: Session) -> None:
    session.prompt("Store the sail plan in SQLite or in JSON, whichever is simpler?")
    session.say("SQLite is simpler, because of the joins that the race log needs.")
    session.add(
        "user", "prompt", "Let's use SQLite instead of JSON for the plan.", subtype=ABANDONED
    )
    session.say(
        "We decided to use SQLite for the sail plan because joins matter.", subtype=ABANDONED
    )
    session.prompt("Let's use JSON instead of SQLite for the plan.")
    session.say("I chose JSON over SQLite because people read the file by hand.")


def test_a_summary_tells_the_branch_that_counts(script: Make) -> None:
    """With the number of prompts that were abandoned; they are no prompts of the summary."""
    session: Script = script()
    _went_back(session)
    summary = session.summary()
    told = " ".join((summary.completed, summary.learned, summary.request, summary.investigated))
    assert "because joins matter" not in told and "JSON" in told
    assert "One prompt abandoned." in summary.notes
    assert (summary.turns, summary.prompts) == (3, 2)


def test_no_observation_comes_from_an_abandoned_branch() -> None:
    """A decision that was taken back is none."""
    session = Session()
    _went_back(session)
    turns = session_turns(session.records, build_turns(session.records))
    told = [str(one.text) for one in observe(turns)]
    assert any("use JSON instead" in text for text in told)
    assert not any("use SQLite instead" in text for text in told)
