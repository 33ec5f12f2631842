"""Sessions of orchestrators that nothing but one prompt in many sessions shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memory_assets.pipeline.checks.source_turns import count_sources
from memory_assets.pipeline.ownership.repeated_prompts import Opening, of_orchestrators
from memory_assets.recall.memory import Memory
from memory_assets.record_identity import RecordIdentity
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.redaction.test_records import plain_record
from memory_assets_tests.transcripts.conftest import ClaudeLines

NIGHTLY = (
    "Look through the open issues of the lighthouse repository, pick the oldest without a label, "
    "label it and say in one sentence why. Today is {}."
)
SHED = "-home-ada-engine"


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
    return sorted(map(int, of_orchestrators(rows)))


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
    assert len(_prompts(made)) == 5
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


def _prompts(memory: SampleMemory) -> list[str]:
    return [row["text"] for row in memory.rows("user_prompts")]


def test_the_session_that_makes_it_many_marks_the_earlier_ones(memory: SampleMemory) -> None:
    """None of them is a person's prompt, title or hit any more; all are kept."""
    assert _prompts(memory) == ["Why does the lighthouse lamp flicker?"]
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
