"""The collections of memories by type: where each is, and the move between two layouts."""

from __future__ import annotations

import os

import pytest

from memory_assets.errors import ConfigurationError
from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.indexes import collections
from memory_assets.pipeline.indexes.collections import collections_of, rebuild
from memory_assets.pipeline.ingest.passes import WRITTEN, Task, run_task
from memory_assets.pipeline.ingest.steps import StepFailed
from memory_assets.pipeline.plan.plan import plan_agent_memory
from memory_assets.recall.audit.audit import audit
from memory_assets.recall.memory import Memory
from memory_assets.settings import load_settings
from memory_assets.stores.agents.partitions import partition_of
from memory_assets_tests.agent_memory.conftest import NOW, Agents
from memory_assets_tests.agent_memory.test_tables import PLAIN, ingest
from memory_assets_tests.sweep import sweep

ROUTES = "fact=mem_semantic,decision=mem_episodic"


def texts(agents: Agents, name: str) -> set[str]:
    """The documents of a collection in Chroma."""
    if name not in agents.components.vectors.names():
        return set()
    collection = agents.components.vectors.get(name)
    found = collection.documents(sorted(collection.ids({"project": PLAIN})))
    return {str(each.text) for each in found}


@pytest.mark.long
def test_memories_move_to_the_collections_of_their_types(
    agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next ingest moves them, without embedding; killed within, the one after it goes on. A
    search finds them all the same, an audit and a rebuild say where they are. And back; what is
    forgotten before it has moved is forgotten where it is."""
    gateway = agents.gateway()
    for text, kind in (
        ("Stripe it is.", "fact"),
        ("Use pnpm.", "decision"),
        ("Tea.", "preference"),
    ):
        gateway.write_memory(text, kind, 0.9, NOW)
    ingest(agents)
    assert texts(agents, "memory") == {"Stripe it is.", "Use pnpm.", "Tea."}
    split = Agents(agents.data_dir, agents.engines, given={"routes": ROUTES})
    with monkeypatch.context() as patch:
        patch.setattr(collections, "upsert_rows", _stopped)
        outcomes = list(run_task(split.components, Task(PLAIN, WRITTEN.assets)))
        assert any(isinstance(each, StepFailed) for each in outcomes)
    reports = ingest(split)
    assert reports["agent_memory_embeddings"].changed == 0
    assert texts(split, "mem_semantic") == {"Stripe it is."}
    assert texts(split, "mem_episodic") == {"Use pnpm."}
    assert texts(split, "memory") == {"Tea."}
    assert [each for each in verify_project(split.components, PLAIN) if each.failed] == []
    memory = Memory(split.components.settings)
    vars(memory)["embedder"] = split.components.embedder
    (hit,) = memory.search("payments by stripe", kinds=("memory",), n=1).hits
    (row,) = audit(memory, hit.id, bytes(32)).rows
    assert (row["collection"], row["document"]) == ("mem_semantic", "present")
    assert {"memory", "mem_semantic", "mem_episodic"} <= collections_of(split.components).keys()
    assert [each.rows for each in rebuild(split.components, ["mem_semantic"])] == [1]
    assert texts(split, "mem_semantic") == {"Stripe it is."}
    back = Agents(agents.data_dir, agents.engines)
    back.forget(session=hit.id.removeprefix("memory::"))
    assert texts(back, "mem_semantic") == set()  # though the settings no longer name it
    ingest(back)
    assert texts(back, "memory") == {"Use pnpm.", "Tea."}
    assert texts(back, "mem_semantic") == texts(back, "mem_episodic") == set()


@sweep(
    "routes, allowed",
    [
        ("fact", "name=value"),
        ("wish=mem_semantic", "decision"),
        ("fact=prompts", "mem_procedural"),
        ("fact=mem_semantic,Fact=mem_episodic", "'fact' is given twice"),
        ("history=mem_semantic", "history_messages"),
        ("fact=history_messages", "mem_procedural"),
    ],
)
def test_a_route_that_leads_nowhere_is_refused(routes: str, allowed: str) -> None:
    """At the start, by name, with what is allowed."""
    with pytest.raises(ConfigurationError, match=f"MEMORY_ROUTES.*{allowed}"):
        load_settings(routes=routes)


def test_routes_hold_in_any_case_and_with_spaces() -> None:
    """They become what the collections and the types of memories are called."""
    given = "FACT=MEM_SEMANTIC, decision = mem_semantic"
    wanted = ("fact=mem_semantic", "decision=mem_semantic")
    assert load_settings(routes=given).routes == wanted


@pytest.mark.long
def test_processes_make_the_collections_at_once(agents: Agents) -> None:
    """Four, each about a project of its own: every collection that the settings name is there
    once, empty ones too, and nobody's rows are missing in it."""
    given = {"routes": "fact=mem_semantic,history=history_messages"}
    projects = [f"-srv-{name}" for name in ("a", "b", "c", "d")]
    split = Agents(agents.data_dir, agents.engines, given=given)
    for name in projects:
        split.gateway(name).append_history(f"c-{name}", "user", f"Stripe, {name}.", 0, NOW)
    _ = split.components.vectors.names()  # the server is there
    split.components.journal.close()
    split.components.catalog.close()
    running = []
    for name in projects:
        if not (process := os.fork()):
            try:
                own = Agents(agents.data_dir, agents.engines, given=given)
                outcomes = list(run_task(own.components, Task(partition_of(name), WRITTEN.assets)))
                os._exit(sum(isinstance(each, StepFailed) for each in outcomes))
            finally:  # whatever happens, no test goes on in here
                os._exit(99)
        running.append(process)
    assert [os.waitpid(each, 0)[1] for each in running] == [0, 0, 0, 0]
    after = Agents(agents.data_dir, agents.engines, given=given)
    names = after.components.vectors.names()
    assert names == ["history_messages", "history_summaries", "mem_semantic", "memory"]
    assert list(plan_agent_memory(after.components)) == []
    assert after.components.vectors.get("history_messages").count() == 4
    for name in projects:
        verdicts = list(verify_project(after.components, partition_of(name)))
        assert [each for each in verdicts if each.failed] == []


def _stopped(*_: object) -> None:
    """As a process that ends while it writes rows."""
    raise RuntimeError("stopped here")
