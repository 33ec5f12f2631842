"""A secret found today is looked for in yesterday's sessions; and rules that change cost
only what they change."""

from __future__ import annotations

from typing import Any

from memory_assets.pipeline.redact import known_secrets as recheck
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TURN_CHUNKS
from memory_assets_tests.pipeline.conftest import SampleMemory

REDACT = ("raw_sessions", "redacted_records")
BARE = "qW3" + "eRt6Yu8Io1Pa5Sd7Fg9Hj2"
"""A value that no rule knows by its looks."""
LANTERN = "-home-mara-code-lantern"


def _yesterday_and_today(memory: SampleMemory) -> None:
    """A session that held the value bare, and, a run later, one of another project that
    gives it away."""
    memory.append(memory.flaky, f"what is {BARE} for?", f"I have not met {BARE} before.")
    memory.run(projects=[memory.harbor])
    assert BARE in repr(memory.rows(REDACTED_RECORDS.name, memory.harbor))
    other = next(
        row.session_id
        for row in memory.components.catalog.sources.rows()
        if row.project != memory.harbor and row.agent == "claude-code" and not row.agent_id
    )
    memory.append(other, f"export PAYMENTS_API_KEY={BARE}", "Done.")
    memory.run()


def test_yesterdays_session_is_marked_and_redacted_again(memory: SampleMemory) -> None:
    """Found in one project, it goes from another one's records, chunks and collections,
    under the same digits."""
    _yesterday_and_today(memory)
    assert recheck.is_due(memory.components)
    report = recheck.mark_affected(memory.components)
    assert (report.affected_sessions, report.holding) == (1, 1)
    (work,) = memory.behind()
    assert (work.project, work.reason) == (memory.harbor, "1 session holds a secret found since")
    memory.run(projects=[memory.harbor])
    assert BARE not in repr(memory.lake_state())
    assert memory.behind() == []
    memory.assert_collections_equal_the_lake()
    tags = {
        row["tag"].rpartition(":")[2]: row["session_id"]
        for row in memory.rows("redaction_audit")
        if row["length"] == len(BARE)
    }
    assert memory.flaky in tags.values()


def test_a_search_that_found_nothing_is_not_made_twice(memory: SampleMemory) -> None:
    """Each session is searched once for a value; then the catalogue alone says so."""
    recheck.mark_affected(memory.components)
    assert not recheck.is_due(memory.components)
    again = recheck.mark_affected(memory.components)
    assert (again.searched, again.values, again.affected_sessions) == (0, 0, 0)
    assert memory.behind() == []


def test_a_session_is_not_searched_for_what_it_was_redacted_with(fresh: SampleMemory) -> None:
    """A cold ingest is one pass: each session is searched for what came after it only, and
    the last one for nothing."""
    fresh.run(REDACT)
    sessions = fresh.components.catalog.known_secrets.unchecked_sessions()
    values = fresh.components.catalog.known_secrets.since(0)
    assert (
        0 < len(sessions) < len(fresh.components.catalog.products.of_stage(REDACTED_RECORDS.name))
    )
    assert {session.through for session in sessions} < {0, *(value.number for value in values)}
    assert recheck.mark_affected(fresh.components).searched == len(sessions)


def test_a_session_is_redacted_with_what_those_collected_before_it_gave_away(
    fresh: SampleMemory,
) -> None:
    """Though their rows are written together, and their secrets noted after that."""
    first, second = sorted((fresh.flaky, fresh.fork))
    fresh.append(first, f"export PAYMENTS_API_KEY={BARE}", "Done.")
    fresh.append(second, f"what is {BARE} for?", f"I have not met {BARE} before.")
    fresh.run(REDACT, [fresh.harbor])
    assert BARE not in repr(fresh.rows(REDACTED_RECORDS.name))


def test_records_that_change_during_a_search_are_searched_again(memory: SampleMemory) -> None:
    """The mark is of the records that were read, and of no others."""
    memory.components.catalog.known_secrets.add("elsewhere", {b"k" * 16: "some-rule"})
    session = next(
        found
        for found in memory.components.catalog.known_secrets.unchecked_sessions()
        if found.session_id == memory.flaky
    )
    memory.append(memory.flaky, "a new question", "a new answer")
    memory.components.catalog.known_secrets.add("elsewhere", {b"l" * 16: "some-rule"})
    memory.run(REDACT, [memory.harbor])
    memory.components.catalog.known_secrets.add("elsewhere", {b"m" * 16: "some-rule"})
    memory.components.catalog.known_secrets.note_checked(session, 10_000, holds=True)
    left = {
        found.session_id for found in memory.components.catalog.known_secrets.unchecked_sessions()
    }
    assert memory.flaky in left
    assert memory.components.catalog.known_secrets.affected_sessions() == {}


def test_the_mark_is_in_the_fingerprint_of_the_work(memory: SampleMemory) -> None:
    """A run key counts for ever: another search that finds something asks for another run."""
    before = memory.behind
    assert before() == []
    session = _as_unchecked(memory)
    memory.components.catalog.known_secrets.note_checked(session, 1, holds=True)
    (first,) = memory.behind()
    memory.components.catalog.known_secrets.note_checked(session, 2, holds=True)
    (second,) = memory.behind()
    assert first.fingerprint != second.fingerprint


def _as_unchecked(memory: SampleMemory) -> Any:
    memory.components.catalog.known_secrets.add("elsewhere", {b"n" * 16: "some-rule"})
    return next(
        found
        for found in memory.components.catalog.known_secrets.unchecked_sessions()
        if found.session_id == memory.flaky
    )


def test_what_is_known_outlives_the_catalogue(memory: SampleMemory) -> None:
    """The audit files carry the keyed hashes; values are known again when they are adopted,
    and nothing of them is plaintext."""
    known = memory.components.catalog.known_secrets.rules()
    assert known
    memory.lose_the_catalogue()
    assert memory.behind()
    assert memory.components.catalog.known_secrets.rules().keys() == known.keys()


def test_a_known_value_goes_from_a_vanished_session_too(wordy: SampleMemory) -> None:
    """Its source is gone; its records are redacted again where they lie."""
    wordy.append(wordy.flaky, f"what is {BARE} for?", "I do not know.")
    wordy.run(projects=[wordy.harbor])
    wordy.path(wordy.flaky).unlink()
    other = next(
        row.session_id
        for row in wordy.components.catalog.sources.rows()
        if row.project != wordy.harbor and row.agent == "claude-code" and not row.agent_id
    )
    wordy.append(other, f"export PAYMENTS_API_KEY={BARE}", "Done.")
    wordy.run()
    recheck.mark_affected(wordy.components)
    wordy.run()
    assert BARE not in repr(wordy.lake_state())
    assert wordy.behind() == []


def test_a_rule_that_touches_one_turn_embeds_one_turn(memory: SampleMemory) -> None:
    """New rules make every session's records again; vectors are reused for every text that
    came out the same, and one text did not."""
    memory.append(memory.flaky, "what does zebra-4711-quagga mean?", "Nothing.")
    memory.run()
    inner = memory.components.redactor

    class Stricter:
        """The same rules and one more, that knows one word."""

        ruleset_version = f"{inner.ruleset_version}-stricter"

        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

        def session(self, session_id: str, known: frozenset[bytes] = frozenset()) -> Any:
            return StricterSession(inner.session(session_id, known))

    class StricterSession:
        def __init__(self, session: Any) -> None:
            self._session = session

        def __getattr__(self, name: str) -> Any:
            return getattr(self._session, name)

        def redact_record(self, record: Any, **where: Any) -> Any:
            from dataclasses import replace

            text = record.text.replace("zebra-4711-quagga", "ghp_" + "Zq4xW7" * 6)
            return self._session.redact_record(replace(record, text=text), **where)

    memory.reopen(redactor=Stricter())
    reports = memory.run()
    redone = sum(r.changed for (stage, _), r in reports.items() if stage == "redacted_records")
    assert redone == len(memory.components.catalog.products.of_stage(REDACTED_RECORDS.name))
    embedded = {
        stage: sum(
            int(r.details.get("texts_embedded", 0)) for (s, _), r in reports.items() if s == stage
        )
        for stage in ("turn_embeddings", "prompt_embeddings")
    }
    assert embedded == {"turn_embeddings": 1, "prompt_embeddings": 1}
    assert "zebra-4711" not in repr(memory.rows(TURN_CHUNKS.name))
    memory.assert_collections_equal_the_lake()
