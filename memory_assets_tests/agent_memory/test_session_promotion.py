"""Promotion of what ingested sessions show: by whose evidence, how much at once, and how it is
forgotten."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.agent_memory.memory import FROM_SESSIONS
from memory_assets.agent_memory.ports import StoredMemory
from memory_assets.pipeline.agent_memory import session_promotion
from memory_assets.pipeline.agent_memory import upkeep as nightly
from memory_assets.pipeline.agent_memory.gateway import open_gateway
from memory_assets.pipeline.agent_memory.upkeep import UpkeepReport, keep_up
from memory_assets.pipeline.ingest.passes import WRITTEN, Task, run_task
from memory_assets.pipeline.plan.plan import plan_agent_memory
from memory_assets.pipeline.removal.forget import forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall.names import resolve_project
from memory_assets.redacted_text import seal
from memory_assets.settings import load_settings
from memory_assets.stores.agents.journal import FILE_NAME
from memory_assets.stores.lake.schemas import MEMORY_TRAIL
from memory_assets_tests.recall.worked import Call, Worked, shell

APP = "/work/app"
PROJECT = "-work-app"
DAY = 86_400.0
THEN = "2026-03-01T09:00:00Z"
GO_ON = Call(text="Go on.")
TESTS = "Tests in this project: `mise run test`."


class Upkeep(Worked):
    """Sessions, and the nights after them."""

    now = 1_800_000_000.0
    promote = "on"
    waits = 120.0
    """How long a lock is awaited."""

    def night(self) -> UpkeepReport:
        """Ingest what is new, and keep memories, a day later."""
        self.memory()
        self.now += DAY
        return keep_up(self.components())

    def components(self) -> Components:
        """What the memory is made of."""
        given = {"promote": self.promote, "lock_timeout_seconds": self.waits}
        settings = load_settings(**self.settings(), **given)
        return Components(settings, clock=lambda: self.now)

    def take_in(self) -> None:
        """Make tables of the memories, as an ingest does."""
        components = self.components()
        for work in list(plan_agent_memory(components)):
            list(run_task(components, Task(work.project, WRITTEN.assets)))

    def remembered(self) -> dict[str, StoredMemory]:
        """The memories of the project that are not archived, by their text."""
        found = self.components().journal.memories({"project": PROJECT}, archived=False)
        return {str(each.text): each for each in found}

    def trail(self, text: str) -> list[tuple[str, str, tuple[str, ...]]]:
        """What happened to a memory: what, by whom, from what."""
        trail = self.components().journal.trail(self.remembered()[text].memory_id)
        return [(each.what, each.who, each.of) for each in trail]

    def forget(self, **selection: Any) -> int:
        """Forget what is selected, and return the number of sessions."""
        found = select(self.components(), Selection(**selection))
        return forget(self.components(), found, erase_traces=lambda names: 0).sessions

    def lose_journal(self) -> None:
        """Delete the journal."""
        for end in ("", "-wal", "-shm"):
            (self.root / "data" / f"{FILE_NAME}{end}").unlink(missing_ok=True)

    def files_with(self, word: str) -> list[Path]:
        """The files of the memory in which a word stands."""
        files = (path for path in (self.root / "data").rglob("*") if path.is_file())
        return [path for path in files if word.encode() in path.read_bytes()]


@pytest.fixture
def upkeep(tmp_path: Path) -> Upkeep:
    """No session yet."""
    return Upkeep(tmp_path)


@pytest.fixture
def twice(upkeep: Upkeep) -> Callable[..., str]:
    """Writes a session that runs commands in two turns."""

    def written(name: str, *commands: str, days: int = 0) -> str:
        calls = [shell(command) for command in commands]
        return upkeep.session(name, *calls, GO_ON, *calls, cwd=APP, days=days)

    return written


def test_it_is_asked_for_and_at_most_three_a_night(
    upkeep: Upkeep, twice: Callable[..., str]
) -> None:
    """The surest first, the others the next night, and then nothing, for no session is new. The
    trail names the turns."""
    one = twice("1", "mise run test", "mise run fmt", "mise run lint", "mise run build")
    two = twice("2", "mise run test", days=1)
    upkeep.promote = "off"
    assert upkeep.night() == UpkeepReport()
    upkeep.promote = "on"
    assert upkeep.night().promoted_from_sessions == 3 and TESTS in upkeep.remembered()
    assert upkeep.night().promoted_from_sessions == 1 and len(upkeep.remembered()) == 4
    assert upkeep.night().promoted_from_sessions == 0
    memory = upkeep.remembered()[TESTS]
    assert (memory.type, memory.source, memory.contradicts) == ("project", "import", ())
    assert memory.ts.isoformat().startswith("2026-03-31")
    turns = tuple(f"session::{name}::turn::{at}" for name in (one, two) for at in (0, 1))
    assert upkeep.trail(TESTS) == [("stored", "import", ()), ("promoted", "upkeep", turns)]


def test_what_is_seen_again_is_renewed(upkeep: Upkeep, twice: Callable[..., str]) -> None:
    """With the newer time, and the new turns in the trail; not by an older session."""
    twice("1", "mise run test", days=1)
    upkeep.night()
    twice("2", "mise run test")
    assert upkeep.night().promoted_from_sessions == 0
    new = twice("3", "mise run test", days=5)
    assert upkeep.night().promoted_from_sessions == 1
    (memory,) = upkeep.remembered().values()
    assert memory.ts.isoformat().startswith("2026-04-04")
    *_, renewed, promoted = upkeep.trail(TESTS)
    assert renewed[0] == "renewed" and f"session::{new}::turn::1" in promoted[2]


def test_what_is_said_anew_takes_the_place(upkeep: Upkeep, twice: Callable[..., str]) -> None:
    """A project has one memory of each topic; the one before is archived."""
    twice("1", "mise run test")
    upkeep.night()
    (old,) = upkeep.remembered().values()
    twice("2", "mise run test", "mise run test:ci", days=1)
    upkeep.night()
    assert list(upkeep.remembered()) == [
        "Tests in this project: `mise run test`, `mise run test:ci`."
    ]
    assert list(upkeep.components().journal.archived()) == [old.memory_id]


def test_what_an_agent_wrote_stays_as_it_is(upkeep: Upkeep, twice: Callable[..., str]) -> None:
    """Though it says nearly what sessions show."""
    said = "Tests in this project run by `mise run test`."
    gateway(upkeep).write_memory(said, "project", 0.9, "2026-03-01T09:00:00Z")
    twice("1", "mise run test", "mise run fmt")
    upkeep.night()
    remembered = upkeep.remembered()
    assert remembered[said].also == () and TESTS in remembered and len(remembered) == 3
    assert all(each.contradicts == () for each in remembered.values())


def test_a_project_with_memories_is_still_named_by_its_end(
    upkeep: Upkeep, twice: Callable[..., str]
) -> None:
    """The partition of its memories ends alike, and is not meant."""
    twice("1", "mise run test")
    upkeep.night()
    upkeep.take_in()
    catalog = upkeep.components().catalog
    assert f"agent-memory:{PROJECT}" in catalog.projects()
    assert resolve_project(catalog, "app") == PROJECT


def test_what_a_user_says_in_sessions_to_last_is_promoted(upkeep: Upkeep) -> None:
    """Once, however often it is said."""
    said = "Never commit without signing."
    for name in ("1", "2"):
        upkeep.session(name, Call(text=f"Look at it. {said}"), shell("ls"), cwd=APP)
    assert upkeep.night().promoted_from_sessions == 1
    (memory,) = upkeep.remembered().values()
    assert (str(memory.text), memory.type) == (said, "preference")


def test_forgetting_a_session_forgets_what_it_showed(
    upkeep: Upkeep, twice: Callable[..., str]
) -> None:
    """No byte of it stays. What another session shows, too, is promoted again from that alone."""
    gone = twice("1", "mise run test", "mise run reef", days=1)
    kept = twice("2", "mise run test")
    assert upkeep.night().promoted_from_sessions == 2
    upkeep.take_in()
    assert upkeep.files_with(gone) and upkeep.files_with("memory_trail")
    assert upkeep.forget(session=gone) == 1
    assert upkeep.remembered() == {}
    assert upkeep.files_with(gone) == [] and upkeep.files_with("reef") == []
    assert upkeep.components().lake.projects(MEMORY_TRAIL) == []
    assert upkeep.night().promoted_from_sessions == 1
    assert list(upkeep.remembered()) == [TESTS]
    assert upkeep.trail(TESTS)[-1][2] == tuple(f"session::{kept}::turn::{at}" for at in (0, 1))


def test_forgetting_a_session_forgets_what_it_showed_without_the_journal(
    upkeep: Upkeep, twice: Callable[..., str]
) -> None:
    """Its copy has it, and what a conversation said, too; the next ingest does not put back what
    was forgotten."""
    gateway(upkeep).append_history("c-quay", "user", "Never commit the heliotrope plan.", 0, THEN)
    gone = twice("1", "mise run test", "mise run reef")
    kept = twice("2", "mise run build", days=1)
    assert (upkeep.night().promoted_from_sessions, len(upkeep.remembered())) == (3, 4)
    upkeep.take_in()
    upkeep.lose_journal()
    upkeep.forget(session=gone)
    assert upkeep.files_with(gone) == []
    upkeep.take_in()
    assert set(upkeep.remembered()) == {
        "Never commit the heliotrope plan.",
        "Build in this project: `mise run build`.",
    }
    assert upkeep.files_with(kept)
    upkeep.lose_journal()
    upkeep.forget(conversation="c-quay")
    upkeep.take_in()
    assert list(upkeep.remembered()) == ["Build in this project: `mise run build`."]
    assert upkeep.files_with("heliotrope") == [] == upkeep.files_with("c-quay")


def test_a_memory_that_was_forgotten_is_not_promoted_again(
    upkeep: Upkeep, twice: Callable[..., str]
) -> None:
    """Though sessions go on to show it."""
    twice("1", "mise run test")
    upkeep.night()
    (memory,) = upkeep.remembered().values()
    upkeep.forget(session=memory.memory_id.removeprefix("memory::"))
    twice("2", "mise run test", days=1)
    assert upkeep.night().promoted_from_sessions == 0 and upkeep.remembered() == {}


SAID = "Never commit without signing."


def says(upkeep: Upkeep, name: str = "1", said: str = SAID) -> str:
    """Write a session whose user says so."""
    return upkeep.session(name, Call(text=f"Look at it. {said}"), shell("ls"), cwd=APP)


def gateway(upkeep: Upkeep) -> MemoryGateway:
    """The gateway to what is about the project of the sessions."""
    return open_gateway(upkeep.components(), PROJECT)


def test_what_an_agent_wrote_outlives_a_session_that_says_it(upkeep: Upkeep) -> None:
    """It is not promoted, since it is on record, and the session is not named in its trail."""
    gateway(upkeep).write_memory(SAID, "preference", 0.9, THEN, "c1")
    written = upkeep.remembered()
    session = says(upkeep)
    assert upkeep.night().promoted_from_sessions == 0
    upkeep.take_in()
    assert upkeep.remembered() == written
    upkeep.forget(session=session)
    assert upkeep.remembered() == written


def test_what_a_conversation_says_outlives_a_session_that_says_it(upkeep: Upkeep) -> None:
    """Also when upkeep promoted it from the conversation."""
    gateway(upkeep).append_history("c1", "user", SAID, 0, THEN)
    assert upkeep.night().promoted == 1
    session = says(upkeep)
    assert upkeep.night().promoted_from_sessions == 0
    upkeep.take_in()
    upkeep.forget(session=session)
    assert list(upkeep.remembered()) == [SAID]


def test_what_was_promoted_is_an_agents_when_it_writes_it(upkeep: Upkeep) -> None:
    """Without the tag and the topic, and of the agent's conversation; it outlives the session."""
    session = says(upkeep)
    upkeep.night()
    written = gateway(upkeep).write_memory(SAID, "preference", 0.9, THEN, "c1", tags=["git"])
    assert written.outcome == "renewed"
    upkeep.take_in()
    memory = upkeep.remembered()[SAID]
    assert (memory.tags, memory.entities, memory.source) == (("git",), (), "tool")
    assert memory.conversation_id == "c1"
    upkeep.forget(session=session)
    assert list(upkeep.remembered()) == [SAID]


def test_what_was_promoted_is_a_conversations_when_it_says_it(upkeep: Upkeep) -> None:
    """And is forgotten with that."""
    session = says(upkeep)
    upkeep.night()
    gateway(upkeep).append_history("c1", "user", SAID, 0, THEN)
    assert upkeep.night().promoted == 1
    upkeep.forget(session=session)
    assert list(upkeep.remembered()) == [SAID]
    upkeep.forget(conversation="c1")
    assert upkeep.remembered() == {}


def test_an_agents_memory_that_was_tagged_outlives_the_session(upkeep: Upkeep) -> None:
    """As an earlier version tagged what an agent had written and a session said again."""
    session = says(upkeep)
    upkeep.night()
    journal = upkeep.components().journal
    (promoted,) = upkeep.remembered().values()
    gateway(upkeep).write_memory(SAID, "preference", 0.9, THEN)
    tagged = replace(promoted, tags=(seal(FROM_SESSIONS),))
    journal.put_memories([tagged])
    upkeep.forget(session=session)
    assert list(upkeep.remembered()) == [SAID]


def test_what_an_agent_said_again_no_longer_names_a_forgotten_session(upkeep: Upkeep) -> None:
    """Its trail names the other session; no byte of the first is left."""
    gone, kept = says(upkeep, "1"), says(upkeep, "2")
    upkeep.night()
    gateway(upkeep).write_memory(SAID, "preference", 0.9, THEN, "c1")
    upkeep.take_in()
    upkeep.forget(session=gone)
    (_, promoted, _) = upkeep.trail(SAID)
    assert promoted == ("promoted", "upkeep", (f"session::{kept}::turn::1",))
    upkeep.take_in()
    assert upkeep.files_with(gone) == []
    upkeep.forget(session=kept)
    assert [each[:2] for each in upkeep.trail(SAID)] == [("stored", "import"), ("renewed", "tool")]


PLAN = "Never commit the heliotrope plan without signing."


@pytest.mark.parametrize(
    ("module", "reads", "kind"),
    [(session_promotion, "candidates", "session"), (nightly, "parse_sentences", "conversation")],
)
def test_what_is_forgotten_while_it_is_read_is_not_promoted(
    upkeep: Upkeep, monkeypatch: pytest.MonkeyPatch, module: Any, reads: str, kind: str
) -> None:
    """Forgetting waits for the promotion, and removes what that has stored."""
    if kind == "session":
        name = upkeep.session("1", Call(text=f"Look at it. {PLAN}"), shell("ls"), cwd=APP)
        upkeep.memory()
    else:
        name = "c-quay"
        gateway(upkeep).append_history(name, "user", PLAN, 0, THEN)
        upkeep.take_in()
    read, asked, waited = getattr(module, reads), list[Future[int]](), list[bool]()
    with ThreadPoolExecutor(1) as other:

        def read_and_forgotten(given: Any) -> Any:
            found = list(read(given))
            asked.append(other.submit(lambda: upkeep.forget(**{kind: name})))
            try:
                asked[-1].result(timeout=2)
            except TimeoutError:
                waited.append(True)
            return found

        monkeypatch.setattr(module, reads, read_and_forgotten)
        upkeep.now += DAY
        keep_up(upkeep.components())
        assert waited and len(asked) == 1 and asked[0].result(timeout=60) >= 1
    assert upkeep.remembered() == {}
    assert upkeep.files_with("heliotrope") == [] == upkeep.files_with(name)


def test_what_another_process_writes_waits_until_the_next_night(upkeep: Upkeep) -> None:
    """The memories of the project are kept all the same."""
    upkeep.session("1", Call(text=f"Look at it. {PLAN}"), shell("ls"), cwd=APP)
    gateway(upkeep).append_history("c-quay", "user", "I prefer tabs over spaces.", 0, THEN)
    gateway(upkeep).write_memory("The queue is RabbitMQ.", "fact", 0.9, THEN)
    upkeep.memory()
    upkeep.now += DAY
    with ExitStack() as locks:
        for each in (PROJECT, f"agent-memory:{PROJECT}"):
            locks.enter_context(upkeep.components().project_lock(each))
        upkeep.waits = 0.1
        assert keep_up(upkeep.components()) == UpkeepReport(memories=1)
    assert upkeep.night() == UpkeepReport(memories=3, promoted=1, promoted_from_sessions=1)
