"""Upkeep beside other writers: what is forgotten meanwhile is not stored again."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from memory_assets.pipeline.agent_memory import session_promotion
from memory_assets.pipeline.agent_memory import upkeep as nightly
from memory_assets.pipeline.agent_memory.gateway import open_gateway
from memory_assets.pipeline.agent_memory.upkeep import UpkeepReport, keep_up
from memory_assets_tests.agent_memory.test_session_promotion import APP, DAY, PROJECT, THEN, Upkeep
from memory_assets_tests.recall.worked import Call, shell

SAID = "Never commit the heliotrope plan without signing."


@pytest.fixture
def upkeep(tmp_path: Path) -> Upkeep:
    """No session yet."""
    return Upkeep(tmp_path)


def night_while(
    upkeep: Upkeep, patch: pytest.MonkeyPatch, module: Any, reads: str, **forgotten: str
) -> bool:
    """Keep memories; when something was read, forget it in another thread. Return whether that had
    to wait until the memories were kept."""
    read, waited = getattr(module, reads), list[bool]()
    asked: list[Future[int]] = []
    with ThreadPoolExecutor(1) as other:

        def read_and_forgotten(given: Any) -> Any:
            found = list(read(given))
            asked.append(other.submit(upkeep.forget, **forgotten))
            try:
                asked[-1].result(timeout=2)
            except TimeoutError:
                waited.append(True)
            return found

        patch.setattr(module, reads, read_and_forgotten)
        upkeep.now += DAY
        keep_up(upkeep.components())
        assert len(asked) == 1 and asked[0].result(timeout=60) >= 1
    return bool(waited)


def test_a_session_that_is_forgotten_while_it_is_read(
    upkeep: Upkeep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forgetting waits for the promotion, and removes what that has stored."""
    session = upkeep.session("1", Call(text=f"Look at it. {SAID}"), shell("ls"), cwd=APP)
    upkeep.memory()
    with monkeypatch.context() as patch:
        assert night_while(upkeep, patch, session_promotion, "candidates", session=session)
    assert upkeep.remembered() == {}
    assert upkeep.files_with("heliotrope") == [] == upkeep.files_with(session)


def test_a_conversation_that_is_forgotten_while_it_is_read(
    upkeep: Upkeep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forgetting waits for the promotion, and removes what that has stored."""
    gateway = open_gateway(upkeep.components(), PROJECT)
    gateway.append_history("c-quay", "user", SAID, 0, THEN)
    upkeep.take_in()
    with monkeypatch.context() as patch:
        assert night_while(upkeep, patch, nightly, "sentences", conversation="c-quay")
    assert upkeep.remembered() == {}
    assert upkeep.files_with("heliotrope") == [] == upkeep.files_with("c-quay")


def test_what_another_process_writes_waits_until_the_next_night(upkeep: Upkeep) -> None:
    """The memories of the project are kept all the same."""
    upkeep.session("1", Call(text=f"Look at it. {SAID}"), shell("ls"), cwd=APP)
    gateway = open_gateway(upkeep.components(), PROJECT)
    gateway.append_history("c-quay", "user", "I prefer tabs over spaces.", 0, THEN)
    gateway.write_memory("The queue is RabbitMQ.", "fact", 0.9, THEN)
    upkeep.memory()
    upkeep.now += DAY
    with ExitStack() as locks:
        for each in (PROJECT, f"agent-memory:{PROJECT}"):
            locks.enter_context(upkeep.components().project_lock(each))
        upkeep.waits = 0.1
        assert keep_up(upkeep.components()) == UpkeepReport(memories=1)
    assert upkeep.night() == UpkeepReport(memories=3, promoted=1, promoted_from_sessions=1)
