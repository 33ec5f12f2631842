"""Whose words are found as what: an ingest of sessions in which persons, plans, programs and
machines speak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memory_assets.pipeline.checks.source_turns import count_sources
from memory_assets.pipeline.checks.verify import prompts_in_one_chunk
from memory_assets.pipeline.ownership.repeated_prompts import Opening, orchestrated_sessions
from memory_assets.recall.memory import Memory
from memory_assets.recall.sessions.conversation import Conversations
from memory_assets.record_identity import RecordIdentity
from memory_assets.serving.answer_lines import search_notes
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.redaction.test_records import plain_record
from memory_assets_tests.transcripts.conftest import ClaudeLines, CodexLines

SIDE = (
    "<system-reminder>This is a side question from the user. You must answer this question "
    "directly in a single response.\n</system-reminder>\n\n"
)


class _Desk:
    """Writes sessions of one project into the directories of the agents."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._number = 0

    def claude(self, **given: Any) -> ClaudeLines:
        """A new session's lines."""
        self._number += 1
        session = f"11111111-0000-4000-8000-{self._number:012x}"
        return ClaudeLines(session=session, **given)

    def keep(self, project: str, lines: ClaudeLines, name: str = "") -> str:
        """Write a session's file, or one of its agents', whose records have ids of the session's;
        return its id. Records that are in an earlier file have theirs already."""
        place = self.root / "claude/projects" / project / (name or f"{lines.session}.jsonl")
        place.parent.mkdir(parents=True, exist_ok=True)
        ids = f'"{lines.session[-8:]}-0000-0000-0000-'.encode()
        lines.lines = [line.replace(b'"00000000-0000-0000-0000-', ids) for line in lines.lines]
        place.write_bytes(lines.bytes())
        return lines.session

    def keep_codex(self, lines: CodexLines) -> str:
        """Write a rollout; return its thread."""
        place = self.root / "codex/sessions/2026/03/01"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"rollout-2026-03-01T09-00-00-{lines.thread}.jsonl").write_bytes(lines.bytes())
        return lines.thread


SHED = "-home-ada-engine"


@pytest.fixture(scope="module")
def sessions() -> dict[str, str]:
    """The ids of the sessions by what they are about."""
    return {}


@pytest.fixture(scope="module")
def spoken(
    tmp_path_factory: pytest.TempPathFactory, engines: dict[str, Any], sessions: dict[str, str]
) -> Iterator[SampleMemory]:
    """A memory, without vectors, of the sessions of this module."""
    root = tmp_path_factory.mktemp("whose-words")
    desk = _Desk(root / "transcripts")
    _sessions_of_persons(desk, sessions)
    _sessions_of_programs(desk, sessions)
    made = SampleMemory(root, engines, vectors=False)
    made.run()
    yield made
    made.close()


def _sessions_of_persons(desk: _Desk, sessions: dict[str, str]) -> None:
    planning = desk.claude()
    planning.user("How could the tool inventory move to SQLite?")
    planning.says("I plan it.")
    sessions["planning"] = desk.keep(SHED, planning)

    plan = desk.claude()
    plan.user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    plan.user(
        "Implement the following plan:\n\n# Move the tool inventory to SQLite\n\n1. Schema\n\n"
        "If you need specific details from before exiting plan mode, read the full transcript at: "
        f"/home/ada/.claude/projects/{SHED}/{planning.session}.jsonl"
    )
    plan.says("schema.sql and scanner.py are done; 212 tools were imported.")
    plan.user("Also add a unique index on the barcode")
    plan.says("Added unique index tools_barcode.")
    sessions["plan"] = desk.keep(SHED, plan)

    asked = desk.claude()
    asked.user("Rename the database tables")
    asked.says("I rename them now.")
    aside = desk.claude(sidechain=True, agent_id="aside_question-00aa")
    aside.session, aside.lines = asked.session, list(asked.lines)
    aside.user(f"{SIDE}what was the name of the old customers table?")
    aside.says("It was tbl_kunden.")
    asked.lines += [b""] * 4  # the main agent goes on for longer
    asked.says("All tables are renamed.")
    asked.user("And now the views")
    asked.says("Done.")
    sessions["aside"] = desk.keep(SHED, asked)
    desk.keep(SHED, aside, f"{asked.session}/subagents/agent-aside_question-00aa.jsonl")

    kiosk = desk.claude()
    source = {"type": "text", "data": "# Requirements\n\nThe kiosk prints a receipt in Faroese.\n"}
    document = {"type": "document", "source": source, "title": "requirements_4.2.md"}
    kiosk.user([document, {"type": "text", "text": "build this receipt printer"}])
    kiosk.says("I read the requirements.")
    sessions["document"] = desk.keep(SHED, kiosk)

    note = desk.claude()
    note.user("<user-memory-input>always run the weft tests</user-memory-input>")
    note.user("Why does the shuttle stall?")
    note.says("The counter wraps.")
    sessions["note"] = desk.keep(SHED, note)

    mill = desk.claude()
    mill.user("Grind size histogram is off by one bucket")
    mill.says("The edges were passed as centres; fixed.")
    mill.user("Plot it as steps")
    mill.says("plot.py uses plt.stairs now.")
    sessions["mill"] = desk.keep(SHED, mill)
    branch = desk.claude()
    own = branch.session.encode()
    copies = [line.replace(mill.session.encode(), own) for line in mill.lines]
    origin = b',"forkedFrom":{"sessionId":"%s"}}' % mill.session.encode()
    branch.lines = [*(copy[:-1] + origin for copy in copies), *copies]
    branch.user("Try a logarithmic axis instead")
    branch.says("The x axis is logarithmic in this branch.")
    sessions["branch"] = desk.keep(SHED, branch)

    warm = desk.claude(sidechain=True, agent_id="a1")
    warm.user("Warmup")
    warm.says("Hello! I'm ready.")
    sessions["warm-up"] = desk.keep(SHED, warm, "agent-a1.jsonl")

    codex = CodexLines()
    codex.meta()
    codex.prompt("A previous agent produced the plan below. Implement it.\n\n# Label printer queue")
    codex.says("queue.py is there and prints labels in order.")
    sessions["codex"] = desk.keep_codex(codex)


OBSERVERS = "-home-ada--claude-mem-observer-sessions"
OBSERVED = (
    "Hello memory agent, you are continuing to observe the primary Claude session.\n\n"
    "<observed_from_primary_session>\n<user_request>Why do the harp strings detune?</user_request>"
    "\n</observed_from_primary_session>"
)


def _sessions_of_programs(desk: _Desk, sessions: dict[str, str]) -> None:
    harp = desk.claude()
    harp.user("Why do the harp strings detune after the humidity sensor update?")
    harp.says("tune.py multiplies humidity by 3.")
    sessions["harp"] = desk.keep(SHED, harp)

    flags: dict[str, dict[str, Any]] = {
        "observer by source": {"promptSource": "sdk"},
        "observer by entrypoint": {"entrypoint": "sdk-cli"},
        "observer by directory": {"cwd": "/home/ada/.claude-mem/observer-sessions"},
    }
    for name, fields in flags.items():
        observer = desk.claude()
        observer.queue("enqueue", OBSERVED)
        observer.queue("dequeue")
        observer.user(OBSERVED, **fields)
        said = "Harp strings detune because tune.py multiplies humidity by 3."
        observer.says(f"<observation>{said}</observation>", **fields)
        sessions[name] = desk.keep(OBSERVERS, observer)

    job = desk.claude()
    job.user("Translate the harp manual", entrypoint="sdk-ts", promptSource="sdk")
    job.calls("Bash", "t1", command="git commit -m 'Translate the manual'")
    job.result("t1", "[main 1a2b3c4] Translate the manual")
    job.says("Fixed: the manual is translated.", entrypoint="sdk-ts")
    sessions["job"] = desk.keep(SHED, job)

    taken_over = desk.claude()
    taken_over.user("Begin the harp catalogue", entrypoint="sdk-ts")
    taken_over.says("The catalogue is begun.", entrypoint="sdk-ts")
    taken_over.user("Add the lyres to the catalogue", entrypoint="cli")
    taken_over.says("The lyres are in.", entrypoint="cli")
    sessions["taken over"] = desk.keep(SHED, taken_over)

    review = CodexLines(thread="019d7e36-577c-7d90-9f1c-a447ba225500")
    review.meta()
    review.user_item("The following is the Codex agent history whose request action you review.")
    review.says("The change to the harp is safe to make.")
    sessions["review"] = desk.keep_codex(review)


PROGRAMS = (
    *("observer by source", "observer by entrypoint", "observer by directory", "job", "review"),
)


def _prompts(memory: SampleMemory, session: str) -> list[str]:
    rows = [row for row in memory.rows("user_prompts") if row["session_id"] == session]
    return [row["text"] for row in sorted(rows, key=lambda row: row["turn_index"])]


def _turns(memory: SampleMemory, session: str) -> dict[int, str]:
    told: dict[int, str] = {}
    for row in memory.rows("turn_chunks"):
        if row["session_id"] == session:
            told[row["turn_index"]] = told.get(row["turn_index"], "") + row["text"]
    return told


def test_a_plan_begins_a_turn_and_is_no_typed_prompt(
    spoken: SampleMemory, sessions: dict[str, str]
) -> None:
    """It is found with the turn, and only what was typed is among the prompts."""
    assert _prompts(spoken, sessions["plan"]) == ["Also add a unique index on the barcode"]
    assert _prompts(spoken, sessions["codex"]) == []
    turns = _turns(spoken, sessions["plan"])
    assert "Move the tool inventory to SQLite" in turns[0] and "212 tools" in turns[0]
    assert turns[1].startswith("Also add")
    titles = {row["session_id"]: row["title"] for row in spoken.rows("session_summaries")}
    assert titles[sessions["plan"]].startswith("Move the tool inventory to SQLite")
    assert titles[sessions["codex"]] == "Label printer queue"
    counts = {row["session_id"]: row["prompts"] for row in spoken.rows("session_summaries")}
    assert counts[sessions["plan"]] == 1 and counts[sessions["codex"]] == 0


def test_a_plan_names_the_session_that_made_it(
    spoken: SampleMemory, sessions: dict[str, str]
) -> None:
    """Where that is in memory; what was asked of a side agent is shown as a turn like any other."""
    shown = Conversations(Memory(spoken.settings))
    (first, *_) = shown.window(sessions["plan"], 9).turns
    (plan,) = [entry for entry in first.entries if entry.kind == "prompt"]
    assert (plan.subtype, plan.subject) == ("plan", sessions["planning"])
    aside = shown.window(sessions["aside"], 9).turns[1]
    assert [entry.kind for entry in aside.entries] == ["prompt", "assistant_text"]


def test_a_side_question_is_a_turn_between_those_of_the_main_agent(
    spoken: SampleMemory, sessions: dict[str, str]
) -> None:
    """What the main agent still says to its own prompt stays there."""
    said = ["Rename the database tables", "what was the name of the old customers table?"]
    assert _prompts(spoken, sessions["aside"]) == [*said, "And now the views"]
    turns = _turns(spoken, sessions["aside"])
    assert "All tables are renamed." in turns[0] and "tbl_kunden" not in turns[0]
    assert "tbl_kunden" in turns[1] and "renamed" not in turns[1]
    records = [
        row for row in spoken.rows("redacted_records") if row["session_id"] == sessions["aside"]
    ]
    assert len(records) == len({row["record_uuid"] for row in records}) == 7


def test_a_document_and_a_note_are_found_with_their_turn(
    spoken: SampleMemory, sessions: dict[str, str]
) -> None:
    """They are a person's words, though no prompts."""
    assert _prompts(spoken, sessions["document"]) == ["build this receipt printer"]
    told = _turns(spoken, sessions["document"])[0]
    assert "requirements_4.2.md" in told and "Faroese" in told
    assert _prompts(spoken, sessions["note"]) == ["Why does the shuttle stall?"]
    assert "always run the weft tests" in _turns(spoken, sessions["note"])[0]


def test_the_comparison_with_the_files_agrees(spoken: SampleMemory) -> None:
    """It knows which prompts were typed, and reads the files of side questions."""
    count = count_sources(spoken.components, spoken.projects())
    assert count.gaps == [] and count.passed
    plans_and_programs = 2 + 5
    typed = count.sets["prompts"].at_source
    assert count.sets["sessions"].at_source == typed + plans_and_programs
    assert all(prompts_in_one_chunk(spoken.components, each).passed for each in spoken.projects())


def _hits(memory: SampleMemory, query: str, **more: Any) -> set[str]:
    found = Memory(memory.settings).search(query, mode="keyword", n=50, **more).hits
    return {str(hit.metadata["session_id"]) for hit in found}


@pytest.mark.parametrize("kinds", [("sessions",), ("summaries",)])
def test_what_programs_asked_is_found_when_wanted(
    spoken: SampleMemory, sessions: dict[str, str], kinds: tuple[str, ...]
) -> None:
    """It is kept, and left out of the hits unless `machine` or its session asks for it."""
    of_programs = {sessions[name] for name in PROGRAMS}
    assert sessions["harp"] in _hits(spoken, "harp", kinds=kinds)
    assert not of_programs & _hits(spoken, "harp manual observe", kinds=kinds)
    assert of_programs <= _hits(spoken, "harp manual observe", kinds=kinds, machine=True)
    assert not of_programs & _hits(spoken, "", kinds=kinds, sort="date")
    assert of_programs <= _hits(spoken, "", kinds=kinds, sort="date", machine=True)
    own = sessions["observer by source"]
    assert _hits(spoken, "observe", kinds=kinds, session=own) == {own}


def test_what_is_left_out_is_told_where_nothing_else_answers(spoken: SampleMemory) -> None:
    """A search of a project of programs alone does not look empty."""
    memory = Memory(spoken.settings)
    answer = memory.search("harp", mode="keyword", project=OBSERVERS)
    assert (answer.hits, answer.machine) == ((), 1)
    told = "1 turn of programs left out; `memory search --machine` has them, too."
    assert told in search_notes(answer.to_dict())
    assert memory.search("harp", mode="keyword", project=OBSERVERS, machine=True).machine == 0


def test_what_programs_asked_is_no_prompt_and_no_observation(
    spoken: SampleMemory, sessions: dict[str, str]
) -> None:
    """Of a session that a person took over, the person's part is theirs."""
    of_programs = {sessions[name] for name in PROGRAMS}
    for table in ("user_prompts", "observations"):
        assert not of_programs & {row["session_id"] for row in spoken.rows(table)}
    assert _prompts(spoken, sessions["taken over"]) == ["Add the lyres to the catalogue"]
    marks = {row["turn_id"]: row["by_program"] for row in spoken.rows("turn_chunks")}
    own = f"session::{sessions['taken over']}::turn"
    assert (marks[f"{own}::0"], marks[f"{own}::1"]) == (True, False)
    summaries = {row["session_id"]: row for row in spoken.rows("session_summaries")}
    assert {name for name, row in summaries.items() if row["by_program"]} == of_programs
    assert summaries[sessions["taken over"]]["title"] == "Add the lyres to the catalogue"


NIGHTLY = (
    "Look through the open issues of the lighthouse repository, pick the oldest without a label, "
    "label it and say in one sentence why. Today is {}."
)


def _orchestrated(*sessions: Sequence[str]) -> list[int]:
    """Return the numbers of the sessions, each given by its prompts, that are an orchestrator's."""
    rows = []
    for number, prompts in enumerate(sessions):
        opening = Opening(RecordIdentity(bytes(32)))
        for text in prompts:
            kind, subtype = ("prompt", "command") if text.startswith("/") else ("prompt", "")
            opening.see(plain_record(text=text, kind=kind, subtype=subtype))
        facts: Any = {"opening": list(opening.fact)} if opening.fact else {}
        row = SourceRow(
            "claude-code", SHED, str(number), "", f"{number}.jsonl", 1, 0, "", "", None, facts=facts
        )
        rows.append(row)
    return sorted(map(int, orchestrated_sessions(rows)))


@pytest.mark.parametrize(
    "prompt",
    [
        NIGHTLY.format("2026-03-0{}"),
        "It is 0{}:30. " + NIGHTLY.format("Monday"),
        "Run 3f2a90b{}-77aa-4c1d-9f00-0123456789ab: " + NIGHTLY.format("a day"),
        "Проверь состояние маяка и запиши одну строку в журнал смены, больше ничего",
        "检查灯塔仓库中未标记的问题，选择最早的一个，并用一句话说明原因。",
    ],
    ids=["day", "time", "run", "other letters", "no blanks"],
)
def test_one_long_prompt_of_many_sessions_is_an_orchestrators(prompt: str) -> None:
    """Five sessions without another word, though moment or run differ in the prompt."""
    assert _orchestrated(*([prompt.format(n)] for n in range(1, 6))) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "sessions",
    [
        [["continue"]] * 9,
        [["/review the open changes of this branch against main, and say what is wrong"]] * 9,
        [[NIGHTLY]] * 4,
        [[NIGHTLY], [NIGHTLY, "yes"], [NIGHTLY, "why?"], *[[NIGHTLY]] * 4],
        [[NIGHTLY + f" Begin with issue {number}."] for number in range(9)],
    ],
    ids=["short", "command", "few", "talked on", "another task each"],
)
def test_people_repeat_themselves(sessions: list[list[str]]) -> None:
    """Short prompts, commands, a few sessions, sessions in which somebody goes on, and prompts
    that differ in their task are people's."""
    assert _orchestrated(*sessions) == []


@pytest.fixture(scope="module")
def memory(
    tmp_path_factory: pytest.TempPathFactory, engines: dict[str, Any]
) -> Iterator[SampleMemory]:
    """A memory without vectors: four nightly sessions and one of a person, then the fifth."""
    root = tmp_path_factory.mktemp("nightly")
    place = root / "transcripts/claude/projects" / SHED
    place.mkdir(parents=True)
    made = SampleMemory(root, engines, vectors=False)
    for night in range(1, 5):
        _write(place, night, NIGHTLY.format(f"2026-03-0{night}"))
    _write(place, 9, "Why does the lighthouse lamp flicker?")
    made.run()
    assert len(_asked(made)) == 5
    _write(place, 5, NIGHTLY.format("2026-03-05"))
    made.run()
    yield made
    made.close()


def _write(place: Path, number: int, prompt: str) -> None:
    lines = ClaudeLines(session=f"22222222-0000-4000-8000-{number:012x}")
    lines.user(prompt)
    lines.says(f"Issue {number} is about the lamp of the lighthouse.")
    ids = f'"{number:08x}-0000-0000-0000-'.encode()
    changed = [line.replace(b'"00000000-0000-0000-0000-', ids) for line in lines.lines]
    lines.lines = changed
    (place / f"{lines.session}.jsonl").write_bytes(lines.bytes())


def _asked(memory: SampleMemory) -> list[str]:
    return [row["text"] for row in memory.rows("user_prompts")]


def test_the_session_that_makes_it_many_marks_the_earlier_ones(memory: SampleMemory) -> None:
    """None of them is a person's prompt, title or hit any more; all are kept."""
    assert _asked(memory) == ["Why does the lighthouse lamp flicker?"]
    search = Memory(memory.settings).search
    persons = {hit.metadata["session_id"][-1] for hit in search("lighthouse", mode="keyword").hits}
    assert persons == {"9"}
    every = search("lighthouse", mode="keyword", machine=True).hits
    assert {hit.metadata["session_id"][-1] for hit in every} == set("123459")
    summaries = {
        row["session_id"][-1]: row["by_program"] for row in memory.rows("session_summaries")
    }
    assert [name for name, by_program in summaries.items() if not by_program] == ["9"]


def test_the_comparison_with_the_files_expects_no_prompt_of_them(memory: SampleMemory) -> None:
    """`memory verify` knows whose they are."""
    count = count_sources(memory.components, [SHED])
    assert not count.gaps
