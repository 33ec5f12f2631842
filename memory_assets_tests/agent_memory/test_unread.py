"""What agents write is found at once by its words, and taken in by a watcher."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.recall.agent_rows import memories, memory_of, short_memory_ids
from memory_assets.recall.audit.audit import audit
from memory_assets.recall.memory import Memory
from memory_assets.recall.show import whole_text
from memory_assets.requests.agent_memory import MemoriesRequest
from memory_assets.serving.layout import Layout
from memory_assets.serving.views import Terminal, memories_view
from memory_assets.watching.followed import Journal
from memory_assets.watching.pending import Changes
from memory_assets_tests.agent_memory.conftest import NOW, Agents
from memory_assets_tests.agent_memory.test_tables import ingest


def texts(agents: Agents, query: str, **more: Any) -> list[str]:
    """The texts of the hits, best first."""
    memory = Memory(agents.components.settings)
    return [str(hit.text) for hit in memory.search(query, kinds=("memory", "history"), **more).hits]


def test_a_memory_is_found_before_it_is_ingested(wordy: Agents) -> None:
    """In a memory where nothing was ever ingested, and beside what is; once each, with the marks
    of what it is; by time and by the newest, too."""
    gateway = wordy.gateway()
    with pytest.raises(NotFound, match="memory ingest"):
        texts(wordy, "stripe payments")
    gateway.write_memory("Payments go through Stripe.", "fact", 0.8, NOW)
    assert texts(wordy, "stripe payments") == ["Payments go through Stripe."]
    gateway.append_history("c1", "user", "Do refunds go through Stripe?", 0, NOW)
    ingest(wordy)
    both = ["Payments go through Stripe.", "Do refunds go through Stripe?"]
    assert texts(wordy, "stripe payments") == both
    gateway.append_history("c1", "assistant", "Stripe takes refunds, too.", 1, NOW)
    gateway.write_memory("Invoices are sent by Stripe.", "fact", 0.8, "2026-11-24T09:00:00Z")
    found = texts(wordy, "stripe")
    assert sorted(found) == sorted(
        [*both, "Stripe takes refunds, too.", "Invoices are sent by Stripe."]
    )
    assert texts(wordy, "", since="2026-11-24T00:00:00Z") == ["Invoices are sent by Stripe."]
    assert texts(wordy, "zebra") == []
    (hit,) = Memory(wordy.components.settings).search("sent invoices", kinds=("memory",), n=1).hits
    assert (hit.metadata["type"], hit.metadata["project"]) == ("fact", "agent-memory")
    assert hit.why == {"words": 1.0, "journal": 1.0} and not hit.weak
    ingest(wordy)
    assert sorted(texts(wordy, "stripe")) == sorted(found)


def test_a_watcher_takes_in_what_agents_write(wordy: Agents) -> None:
    """It notices each change of the journal's files once, and has work only where the tables are
    behind."""
    changes = Changes()
    follows = Journal(wordy.components, changes)
    assert not follows.refresh() and changes.drain() == ([], False)
    assert list(follows.plans()) == [] and not wordy.components.journal.projects()
    for text in ("We use pnpm.", "Logs go to Loki."):
        wordy.gateway("-srv-harbor").write_memory(text, "fact", 0.9, NOW)
        follows.refresh()
        paths, _ = changes.drain()
        assert follows.projects_of(paths) == ["agent-memory:-srv-harbor"]
        assert follows.still_differ("agent-memory:-srv-harbor")
        ingest(wordy)
        assert not follows.still_differ("agent-memory:-srv-harbor")
        assert list(follows.plans()) == [("agent-memory:-srv-harbor", None)]
        follows.refresh()
        changes.drain()
        follows.refresh()
        assert changes.drain() == ([], False) and follows.projects_of(["elsewhere"]) == []


def test_a_memory_is_named_by_a_beginning_that_no_other_has(wordy: Agents) -> None:
    """What several begin with is refused, with a list of them."""
    gateway = wordy.gateway()
    texts = ("We use pnpm.", "Logs go to Loki.")
    ids = [gateway.write_memory(text, "fact", 0.9, NOW).memory_id for text in texts]
    memory = Memory(wordy.components.settings)
    for each in ids:
        assert memory.show(each[:20]) == memory.show(each)
        assert audit(memory, each[:20], bytes(32)).id == each
    with pytest.raises(ConfigurationError, match=f"2 memories begin with 'memory::': {min(ids)}"):
        memory.show("memory::")


def test_a_terminal_lists_beginnings_of_ids_that_no_other_memory_has(wordy: Agents) -> None:
    """Listed or not: nobody is told an id that names two."""
    stored = wordy.gateway().write_memory("We use pnpm.", "fact", 0.9, NOW)
    journal = wordy.components.journal
    (memory,) = journal.memories({"memory_id": stored.memory_id})
    names = ("aaaaaaaa0b", "aaaaaaaa0c0", "aaaaaaaa0c1", "bbbbbbbbbb")
    alike = [replace(memory, memory_id=f"memory::{name}") for name in names]
    journal.put_memories(alike)
    shown = Memory(wordy.components.settings)
    listed = {"memories": memories(shown, MemoriesRequest(n=2))}
    told = " ".join(memories_view(Terminal(shown, Layout(100)), listed)).split()
    ids = [each for each in told if each.startswith("memory::")]
    assert len(ids) == 2
    for each in (*ids, "memory::aaaaaaaa0b", "memory::aaaaaaaa0c1", "memory::bbbbbbbb"):
        assert each in short_memory_ids(shown).values()
        assert memory_of(shown, whole_text(shown, each)["id"])


def test_what_is_not_ingested_yet_is_shown_and_audited(wordy: Agents) -> None:
    """From the journal, before anything was ever ingested, and with turns beside it; the audit says
    that the tables do not have it yet, and is intact."""
    gateway = wordy.gateway()
    stored = gateway.write_memory("Payments go through Stripe.", "fact", 0.8, NOW, "c1")
    turn = gateway.append_history("c1", "user", "Do refunds go through Stripe?", 0, NOW)
    memory = Memory(wordy.components.settings)
    (shown,) = memory.show(stored.memory_id)
    assert (shown["text"], shown["type"]) == ("Payments go through Stripe.", "fact")
    assert (
        whole_text(memory, f"message::{turn.message_id}")["text"] == "Do refunds go through Stripe?"
    )
    found = audit(memory, stored.memory_id, bytes(32))
    assert found.intact and [each["what"] for each in found.trail] == ["stored"]
    assert "not ingested yet" in found.rows[0]["reason"] and not found.runs
    ingest(wordy)
    before = memory.show(f"message::{turn.message_id}")
    gateway.append_history("c1", "assistant", "They do.", 1, NOW)
    assert memory.show(f"message::{turn.message_id}") == before
    beside = memory.show(f"message::{turn.message_id}", 1)
    assert [row["text"] for row in beside] == ["Do refunds go through Stripe?", "They do."]
    assert audit(memory, stored.memory_id, bytes(32)).rows[0]["file"].endswith(".parquet")
