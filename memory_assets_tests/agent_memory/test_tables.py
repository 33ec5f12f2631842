"""What agents wrote becomes tables, vectors and indexes like everything else."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from memory_assets.pipeline.agent_memory.gateway import EVERYWHERE, redaction_for
from memory_assets.pipeline.checks.checks import Verified, verify_project
from memory_assets.pipeline.ingest.passes import WRITTEN, Task, run_task
from memory_assets.pipeline.ingest.steps import Materialized
from memory_assets.pipeline.plan.plan import partitions_with_agent_memory, plan_agent_memory
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.recall.audit.audit import tag_holders
from memory_assets.recall.memory import Memory
from memory_assets.redaction import value_hash
from memory_assets.serving.layout import ENDLESS, Layout
from memory_assets.serving.pages.site import build_site
from memory_assets.serving.views import Terminal, audit_view
from memory_assets.stores.agents.journal import FILE_NAME, AgentJournal
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.files.sqlite import SqliteStore
from memory_assets.stores.lake.schemas import AGENT_HISTORY, AGENT_MEMORY
from memory_assets_tests.agent_memory.conftest import NOW, TOKEN, Agents
from memory_assets_tests.kills import killed_at

PLAIN = "agent-memory"


def ingest(agents: Agents) -> dict[str, StageReport]:
    """Run all stages of what has work; return their reports by asset. No check may fail."""
    reports = {}
    for work in list(plan_agent_memory(agents.components)):
        for outcome in run_task(agents.components, Task(work.project, WRITTEN.assets)):
            if isinstance(outcome, Verified):
                assert outcome.verdict.passed, outcome
            else:
                assert isinstance(outcome, Materialized), outcome
                reports[outcome.asset] = outcome.report
    assert list(plan_agent_memory(agents.components)) == []
    return reports


def rows(agents: Agents, table: Any, partition: str = PLAIN) -> list[dict[str, Any]]:
    """The rows of a partition."""
    found: list[dict[str, Any]] = agents.components.lake.read_partition(
        table, partition
    ).to_pylist()
    return found


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory, engines: dict[str, Any]) -> Iterator[Agents]:
    """A memory with a conversation, a memory about a project and one about none, ingested; not to
    be changed."""
    made = Agents(tmp_path_factory.mktemp("ingested") / "memory", engines)
    gateway = made.gateway()
    for at, text in enumerate(("Which broker do we use?", "RabbitMQ, since the spring.")):
        gateway.append_history("c1", "user" if at == 0 else "assistant", text, at, NOW)
    gateway.write_memory("The user likes brief answers.", "preference", 0.9, NOW, "c1")
    made.gateway("-srv-harbor").write_memory("Payments go through Stripe.", "fact", 0.8, NOW)
    ingest(made)
    yield made
    chroma_server.stop(made.data_dir)


def test_a_tag_leads_to_what_agents_wrote(wordy: Agents) -> None:
    """Memories and turns with the same value, where no session has it."""
    gateway = wordy.gateway()
    gateway.write_memory(f"Deploy with {TOKEN}.", "fact", 0.9, NOW, "c1")
    gateway.append_history("c1", "user", f"It is {TOKEN}, yes {TOKEN}.", 0, NOW)
    ingest(wordy)
    (told,), (kept,) = rows(wordy, AGENT_HISTORY), rows(wordy, AGENT_MEMORY)
    (tag,) = set(re.findall(r"<redacted:\S+?>", told["text"]))
    found = tag_holders(wordy.components.lake, tag)
    counts = {each["id"]: each["count"] for each in found["others"]}
    assert counts == {told["id"]: 2, kept["id"]: 1} and found["sessions"] == []
    client = TestClient(build_site(wordy.components.settings), base_url="http://127.0.0.1")
    page = client.get(f"/page/tag/{tag.strip('<>').removeprefix('redacted:')}").text
    leads = re.findall(r'href="(/page/(?:memory|audit)/[^"]+)" data-item', page)
    assert len(leads) == 2 and "in 2 rows of documents" in page
    shown = "\n".join(
        audit_view(Terminal(Memory(wordy.components.settings), Layout(ENDLESS)), found)
    )
    assert len(found["others"]) == 2 and all(each["id"] in shown for each in found["others"])
    assert all(client.get(unescape(lead)).status_code == 200 for lead in leads)


def test_rows_are_as_they_were_written(ingested: Agents) -> None:
    """A conversation and each memory in the place of a session; projects are partitions."""
    turns = rows(ingested, AGENT_HISTORY)
    assert [(row["session_id"], row["turn_index"], row["role"]) for row in turns] == [
        ("c1", 0, "user"),
        ("c1", 1, "assistant"),
    ]
    (memory,) = rows(ingested, AGENT_MEMORY)
    assert (memory["type"], memory["conversation_id"]) == ("preference", "c1")
    (other,) = rows(ingested, AGENT_MEMORY, f"{PLAIN}:-srv-harbor")
    assert other["text"] == "Payments go through Stripe."
    assert partitions_with_agent_memory(ingested.components) == [PLAIN, f"{PLAIN}:-srv-harbor"]


def test_every_check_passes(ingested: Agents) -> None:
    """Ids in Chroma and the keyword index equal those of the tables."""
    verdicts = list(verify_project(ingested.components, PLAIN))
    assert [each for each in verdicts if each.failed] == []
    counts = ((each.subject, each.verdict.counts) for each in verdicts)
    rows_in = {subject: count["rows"] for subject, count in counts if "rows" in count}
    assert rows_in["agent_history_collection"] == 2
    assert rows_in["agent_memory_collection"] == 1


def test_it_is_searched_like_everything_else(ingested: Agents) -> None:
    """By kind, by project, shown and audited by id, and counted in the status."""
    memory = Memory(ingested.components.settings)
    vars(memory)["embedder"] = ingested.components.embedder
    (hit,) = memory.search("credit card payments", kinds=("memory",), n=1).hits
    assert hit.text == "Payments go through Stripe."
    assert hit.metadata["type"] == "fact"
    turns = memory.search("broker", kinds=("history",)).hits
    assert {each.metadata["role"] for each in turns} == {"user", "assistant"}
    assert len(memory.search("broker", kinds=("all",)).hits) == 4
    assert [row["text"] for row in memory.show(turns[0].id, 1)] == [
        "Which broker do we use?",
        "RabbitMQ, since the spring.",
    ]
    from memory_assets.recall.audit.audit import audit

    found = audit(memory, hit.id, bytes(32))
    assert found.intact and found.kind == "memory"
    assert [each["what"] for each in found.to_dict()["trail"]] == ["stored"]
    assert "Trail     stored " in "\n".join(
        audit_view(Terminal(memory, Layout(ENDLESS)), found.to_dict())
    )
    assert {run["stage"] for run in found.runs} >= {"agent_memory", "agent_memory_collection"}
    coverage = memory.status()["coverage"]
    assert coverage["history"]["complete"] and coverage["memory"]["rows"] == 2


def test_only_what_is_new_is_made(wordy: Agents) -> None:
    """A conversation that did not change is not made again; nothing is done twice."""
    gateway = wordy.gateway()
    for at in range(5):
        gateway.append_history("c1", "user", f"Question number {at}", at, NOW)
    gateway.append_history("c2", "user", "Another question", 0, NOW)
    assert ingest(wordy)["agent_history"].rows_written == 6
    assert ingest(wordy) == {}
    gateway.append_history("c1", "assistant", "An answer", 5, NOW)
    report = ingest(wordy)["agent_history"]
    assert (report.changed, report.rows, report.rows_written) == (1, 7, 6)


def test_a_turn_that_comes_late_takes_its_place(wordy: Agents) -> None:
    """Turns may be appended in any order; the table has them in theirs."""
    gateway = wordy.gateway()
    gateway.append_history("c1", "user", "first", 0, NOW)
    gateway.append_history("c1", "user", "third", 2, NOW)
    ingest(wordy)
    gateway.append_history("c1", "user", "second", 1, NOW)
    ingest(wordy)
    assert [row["text"] for row in rows(wordy, AGENT_HISTORY)] == ["first", "second", "third"]


def test_a_secret_that_becomes_known_is_taken_out_everywhere(wordy: Agents) -> None:
    """Of the journal, too, with no byte left, though the process was killed before it rewrote the
    file, and another process has it open."""
    value = "xk9-qpz4vrw2-mnt7731-bd6"
    gateway = wordy.gateway()
    gateway.append_history("c1", "user", f"I wrote {value} on the board.", 0, NOW)
    gateway.write_memory(f"The board says {value}.", "fact", 0.9, NOW)
    ingest(wordy)
    assert value in rows(wordy, AGENT_HISTORY)[0]["text"]
    known = value_hash(value, wordy.components.install_key)
    assert known is not None
    wordy.components.catalog.known_secrets.add("elsewhere", {known: "generic-secret"})
    wordy.close()
    again = Agents(wordy.data_dir, wordy.engines, given=wordy.given)
    assert killed_at(AgentJournal, "compact", 0, lambda: ingest(again)) == -signal.SIGKILL
    assert list(plan_agent_memory(wordy.components))
    assert value.encode() not in (wordy.data_dir / FILE_NAME).with_suffix(".db-wal").read_bytes()
    for _ in range(2):  # the journal's own change is taken in by the second
        for work in list(plan_agent_memory(wordy.components)):
            list(run_task(wordy.components, Task(work.project, WRITTEN.assets)))
    assert value not in rows(wordy, AGENT_HISTORY)[0]["text"]
    assert value not in rows(wordy, AGENT_MEMORY)[0]["text"]
    assert value.encode() not in wordy.bytes_at_rest()


def test_known_secrets_are_read_once_for_all_texts(
    wordy: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And again when another one is known."""
    secrets = wordy.components.catalog.known_secrets
    asked, rows = list[str](), SqliteStore.rows

    def noted(store: SqliteStore, sql: str, *values: object) -> list[Any]:
        asked.append(sql)
        return rows(store, sql, *values)

    monkeypatch.setattr(SqliteStore, "rows", noted)
    redact = redaction_for(wordy.components, EVERYWHERE).redact
    for number in range(3):
        known = value_hash(f"xk9-qpz4vrw2-mnt7731-bd{number}", wordy.components.install_key)
        assert known is not None
        secrets.add("elsewhere", {known: "generic-secret"})
        asked.clear()
        assert [redact(text) for text in ("one", "two", "three")] == ["one", "two", "three"]
        assert sum("hash" in sql and "FROM known_values" in sql for sql in asked) == 1


def test_what_is_forgotten_leaves_no_byte(wordy: Agents) -> None:
    """One conversation; the other, and the memories, stay. It can be written again."""
    gateway = wordy.gateway()
    gateway.append_history("c1", "user", "The heliotrope budget is tight.", 0, NOW)
    gateway.append_history("c2", "user", "The garden is fine.", 0, NOW)
    gateway.write_memory("The garden is in Lisbon.", "fact", 0.9, NOW, "c2")
    ingest(wordy)
    assert b"heliotrope" in wordy.bytes_at_rest()
    gateway.append_history("c1", "user", "Another heliotrope, not ingested.", 1, NOW)
    report = wordy.forget(session="c1")
    assert (report.sessions, report.journal_rows) == (1, 2)
    assert b"heliotrope" not in wordy.bytes_at_rest()
    assert ingest(wordy) == {}
    assert [row["session_id"] for row in rows(wordy, AGENT_HISTORY)] == ["c2"]
    assert len(rows(wordy, AGENT_MEMORY)) == 1
    assert gateway.append_history("c1", "user", "hello again", 0, NOW).new
    assert ingest(wordy)["agent_history"].rows == 2
