"""A record that takes too long, or never comes to rest, is withheld whole; the others are not."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from memory_assets.pipeline.checks.verify import rows_conserved
from memory_assets.pipeline.redact import redacted_records as redact
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets.pipeline.stage.components import Components
from memory_assets.redaction import Redactor, keep_lines, load_redactor, session_redactor
from memory_assets.redaction.redactor import build_redactor
from memory_assets.redaction.rules.anchored.table import AnchoredRule
from memory_assets.redaction.settings import RedactionSettings
from memory_assets.redaction.time_budget import OutOfTime, TimeBudget, within_budget
from memory_assets.redaction.version import ruleset_version
from memory_assets.settings import Settings
from memory_assets.status import words
from memory_assets.status.status import status
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT
from memory_assets_tests.redaction.test_records import plain_record

HARBOR = "-home-mara-code-harbor-api"
SECRET = "password: Tr0ub4dor-and-more"
ENDLESS = "pw x1 " + "$argon2id$" * 900 + "&&"
"""Each pass over it finds a piece of the hash that the pass before left."""


@pytest.fixture
def hurried() -> Redactor:
    """A redactor that gives no record any time."""
    return load_redactor(RedactionSettings(record_seconds=1e-9), key=bytes(32))


def test_a_loop_ends_when_its_time_is_over() -> None:
    """Counted by a clock that goes on by a second at each look."""
    now = iter(range(1_000_000))
    done: list[int] = []
    with pytest.raises(OutOfTime), TimeBudget(5, lambda: float(next(now))):
        done.extend(within_budget(range(100_000)))
    assert 0 < len(done) < 1_000
    assert len(list(within_budget(range(100_000)))) == 100_000


def test_a_limit_inside_a_limit_gives_back_the_outer_one() -> None:
    """The outer one applies again afterwards."""
    with pytest.raises(OutOfTime), TimeBudget(-1):
        with TimeBudget(60):
            list(within_budget(range(3)))
        list(within_budget(range(3)))


def test_a_record_out_of_time_is_a_tag_and_is_counted(hurried: Redactor) -> None:
    """All that is free text goes, in every field; ids and the directory stay."""
    record = plain_record(text=f"a {SECRET} b", command=f"echo {SECRET}", paths=("a/b.py",))
    redaction = hurried.session("s").redact_record(record, project="p", project_root="/srv/app")
    left = redaction.record
    assert left.text.startswith("<redacted:timed-out:") and left.text.endswith(">")
    assert left.command.startswith("<redacted:timed-out:")
    assert [str(path)[:20] for path in left.paths] == ["<redacted:timed-out:"]
    assert {(found.field, found.rule) for found in redaction.findings} == {
        (name, "timed-out") for name in ("text", "command", "paths[0]")
    }
    assert left.record_uuid == record.record_uuid and left.redactions == 3


def test_a_record_without_anything_to_look_at_needs_no_time(hurried: Redactor) -> None:
    """Ordinary text is kept whatever the limit."""
    record = plain_record(text="all is well")
    left = hurried.session("s").redact_record(record, project="p", project_root="/srv/app").record
    assert left.text == "all is well"


def test_the_second_pass_has_a_limit_of_its_own(hurried: Redactor, redactor: Redactor) -> None:
    """A record in which another one's secret is looked for too long is withheld, too."""
    session = redactor.session("s")
    first = session.redact_record(
        plain_record(text="see Tr0ub4dor-and-more there"), project="p", project_root="/srv"
    )
    session.redact_record(plain_record(text=SECRET), project="p", project_root="/srv")
    assert "Tr0ub4dor" not in session.propagate(first).record.text
    session._redactor = hurried
    session._second_pass.clear()
    left = session.propagate(first)
    assert left.record.text.startswith("<redacted:timed-out:")
    assert "timed-out" in {found.rule for found in left.findings}


def test_a_text_that_never_comes_to_rest_is_withheld(redactor: Redactor) -> None:
    """Before, it held its whole session back."""
    record = plain_record(text=ENDLESS)
    redaction = redactor.session("s").redact_record(record, project="p", project_root="/srv")
    assert redaction.record.text.startswith("<redacted:unsettled:")
    assert {found.rule for found in redaction.findings} == {"unsettled"}


def slow_redactor() -> Redactor:
    """A redactor whose one rule takes .01 CPU seconds at each of its places."""

    def slow(value: str) -> bool:
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass
        return value == "y"

    rule = AnchoredRule("slow", b"slow:", "slow:(?P<secret>.)", slow, "slow:y")
    return build_redactor(RedactionSettings(record_seconds=0.2), (), (rule,), bytes(32))


def test_slow_records_of_a_session_do_not_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a session's time is used up, its slow records are withheld soon, ordinary ones kept."""
    monkeypatch.setattr(session_redactor, "_MOST_SLOW_RECORDS", 2)
    session = slow_redactor().session("s")

    def text_of(text: str) -> str:
        record = plain_record(text=text)
        return session.redact_record(record, project="p", project_root="/srv/app").record.text

    slow = "slow:x " * 5
    assert text_of(slow) == slow
    for _ in range(2):
        assert text_of("slow:x " * 64).startswith("<redacted:timed-out:")
    assert text_of(slow).startswith("<redacted:timed-out:")
    assert text_of("all is well") == "all is well"


def test_a_document_out_of_time_is_withheld(hurried: Redactor) -> None:
    """Nothing of it is kept but its lines' number, whatever it says."""
    text = f"a\n{SECRET}\nb\n"
    redaction = hurried.session("workspace::a.md").redact(text)
    assert {found.rule for found in redaction.findings} == {"timed-out"}
    assert keep_lines(text, redaction) == f"{redaction.findings[0].tag}\n\n\n"


def test_a_slow_rule_costs_its_record_only() -> None:
    """The limit is seen between the places of a text."""
    session = slow_redactor().session("s")
    hostile = session.redact_record(
        plain_record(text="slow:x " * 5_000), project="p", project_root="/srv"
    )
    assert hostile.record.text.startswith("<redacted:timed-out:")
    kept = session.redact_record(plain_record(text="slow:x"), project="p", project_root="/srv")
    assert kept.record.text == "slow:x"


def test_the_limit_is_no_part_of_the_rules_version() -> None:
    """Another limit redacts no memory again."""
    assert ruleset_version(RedactionSettings(record_seconds=99.0)) == ruleset_version()


def test_withheld_records_are_said_and_counted(sample_settings: Settings) -> None:
    """In the asset's metadata, the check's, the audit and the status; the session is taken in."""
    components = Components(replace(sample_settings, record_seconds=1e-9))
    scan.scan_project(components, HARBOR)
    redact.redact_project(components, HARBOR)
    assert components.catalog.quarantine.entries() == []
    rows = components.lake.read_partition(REDACTED_RECORDS, HARBOR).to_pylist()
    withheld = [row for row in rows if row["text"].startswith("<redacted:timed-out:")]
    assert 0 < len(withheld) <= len(rows)
    audit = components.lake.read_partition(REDACTION_AUDIT, HARBOR).to_pylist()
    assert {row["rule"] for row in audit if row["seq"] == withheld[0]["seq"]} >= {"timed-out"}
    timed_out = [row for row in audit if row["rule"] == "timed-out"]
    traced = {(row["session_id"], row["agent_id"], row["seq"]) for row in timed_out}
    report = redact.redact_project(components, HARBOR)
    assert report.details["withheld"] == len(traced)
    assert len(traced) >= len(withheld)
    assert redact.audit_project(components, HARBOR).details["rule_timed-out"] == len(timed_out)
    verdict = rows_conserved(components, HARBOR)
    assert verdict.passed and verdict.counts["withheld"] == len(traced)
    said = words.totals(status(components.settings))
    assert f"{len(traced)} records withheld whole" in said
