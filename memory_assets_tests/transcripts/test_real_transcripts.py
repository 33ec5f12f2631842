"""All readers over real sessions of 20 repositories, held against counts made apart from us.

`facts.json` is a strong hint, not an oracle: where we differ, the file was looked at.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memory_assets.models import Record
from memory_assets.transcripts import Account, ReadReport, Source, discover, read_session, reader_of
from memory_assets_tests.transcript_files import source_of

MORE_PROMPTS_THAN_COUNTED = {
    "7f78a542-6201-447a-8277-213165356894": (
        6,
        "two queued prompts that the count takes for doubles because the compaction summary "
        "quotes them, and four typed while a tool ran, which stand beside its result",
    ),
    "70d782f7-b303-4e48-9512-6bec16c37abd": (1, "typed while a tool ran: beside its result"),
    "2095544c-fa50-4027-b664-c37e578957ce": (
        5,
        "queued prompts that the count takes for doubles: the compaction summary quotes them",
    ),
    "ff59cfd2-09dc-4a18-8c9f-0d46c3d4e8cd": (
        1,
        "queued, ignored by the agent, and typed again three minutes later: two prompts",
    ),
}
"""Sessions in which we find more human prompts than facts.json, and why."""

SAME_NUMBER_OTHER_PROMPTS = {
    "e8811ad6-93d9-4ee6-997d-2447a5d496f3": (
        "the count has a queued prompt that was taken back into the editor, and lacks one "
        "that went into the running turn: the compaction summary quotes it"
    )
}


@dataclass
class Read:
    source: Source
    report: ReadReport
    records: list[Record]
    facts: dict[str, Any]


@pytest.fixture(scope="module")
def everything(dev_transcripts: Path) -> list[Read]:
    """Every session of the evaluation data, found by discovery and read."""
    facts = json.loads((dev_transcripts / "facts.json").read_text())["files"]
    found = []
    for owner in sorted(path for path in dev_transcripts.iterdir() if path.is_dir()):
        roots = {"claude-code": owner / "claude", "codex": owner / "codex", "pi": owner / "pi"}
        for source in discover({agent: [root] for agent, root in roots.items()}):
            report = ReadReport(account=Account(reader_of(source).left_out_of(source)))
            records = list(read_session(source.path, source=source, report=report))
            key = str(source.path.relative_to(dev_transcripts))
            found.append(Read(source, report, records, facts[key]))
    return found


def test_every_transcript_is_found(everything: list[Read]) -> None:
    """Discovery finds the 185 Claude Code, 41 Codex and 9 Pi files, and nothing else."""
    assert Counter(read.source.agent for read in everything) == {
        "claude-code": 185,
        "codex": 41,
        "pi": 9,
    }


def test_no_text_is_in_a_place_that_no_reader_knows(everything: list[Read]) -> None:
    """What a walk over the objects finds is on record or left out for a reason."""
    unexplained = {}
    for read in everything:
        assert read.report.account is not None
        if paths := read.report.account.balance().unexplained:
            unexplained[read.source.path.name] = sorted(paths)
    assert unexplained == {}


def test_every_object_and_every_line_is_accounted_for(everything: list[Read]) -> None:
    """Records in = kept + dropped by reason, and each byte is of a line or pending."""
    for read in everything:
        report = read.report
        assert report.records == report.kept + report.dropped.total(), read.source.path.name
        assert read.report.blocks == len(read.records)
        assert read.report.bytes_read == read.source.size
        assert read.report.complete_offset + read.report.pending_bytes == read.source.size


def test_nothing_in_the_data_is_unknown(everything: list[Read]) -> None:
    """Each record type of 67 Claude Code versions and the others has a rule."""
    unknown: Counter[str] = Counter()
    for read in everything:
        unknown += read.report.unknown_types
    assert not unknown


def test_no_subagent_speaks_as_a_human(everything: list[Read]) -> None:
    """Subagent files, guardians and inline sidechains hold no prompt."""
    subagents = [read for read in everything if read.source.agent_id is not None]
    assert len(subagents) == 31
    for read in subagents:
        assert read.report.prompts == 0
        assert all(record.is_sidechain for record in read.records)
    for read in everything:
        prompts = [record for record in read.records if record.kind == "prompt"]
        assert len(prompts) == read.report.prompts
        assert not any(record.is_sidechain or record.role != "user" for record in prompts)


def test_claude_prompts_agree_with_the_facts(everything: list[Read]) -> None:
    """The number of human prompts is the counted one, but for the explained sessions."""
    differences = {}
    for read in everything:
        facts = read.facts
        if read.source.agent == "claude-code" and not facts["is_subagent"]:
            counted = facts["human_prompts"] + facts["human_prompts_only_in_queue"]
            if read.report.prompts != counted:
                differences[read.source.session_id] = read.report.prompts - counted
    assert differences == {
        session: more for session, (more, _) in MORE_PROMPTS_THAN_COUNTED.items()
    }


def test_claude_prompts_begin_as_the_facts_say(everything: list[Read]) -> None:
    """Not only as many: the same ones, compared by their first letters."""
    for read in everything:
        facts = read.facts
        session = read.source.session_id
        if read.source.agent != "claude-code" or facts["is_subagent"]:
            continue
        if session in MORE_PROMPTS_THAN_COUNTED or session in SAME_NUMBER_OTHER_PROMPTS:
            continue
        heads = facts["prompt_heads"] + facts["queue_only_heads"]
        plain = Counter(_beginning(head) for head in heads if not head.startswith("<"))
        said = [record.text for record in read.records if record.kind == "prompt"]
        ours = Counter(_beginning(text) for text in said)
        assert not plain - ours, session


def _beginning(text: str) -> str:
    return re.sub(r"\A\[image[^]]*\]", "", text).strip()[:25].strip()


def test_codex_and_pi_prompts_agree_with_the_facts(everything: list[Read]) -> None:
    """In files of humans each user_message event, or user message, is one prompt."""
    delegated = {"019f046d-f5fa-75c3-98e4-fa591d856a51": 1}  # its first text is another thread's
    for read in everything:
        if read.source.agent == "claude-code" or read.source.agent_id is not None:
            continue
        types = read.facts["types"]
        counted = types.get("event_msg/user_message", 0) + types.get("message:user", 0)
        counted -= delegated.get(read.source.session_id, 0)
        assert read.report.prompts == counted, read.source.path.name


def test_bad_lines_agree_with_the_facts(everything: list[Read]) -> None:
    """As many lines are bad."""
    for read in everything:
        counted = read.facts["bad_lines"]
        assert read.report.bad_line_count == len(counted or ()), read.source.path


def test_results_know_their_calls(everything: list[Read]) -> None:
    """Nearly every tool result carries the name of its tool."""
    named = Counter(
        bool(record.tool_name)
        for read in everything
        for record in read.records
        if record.kind == "tool_result"
    )
    assert named[False] <= 0.01 * named.total()


def test_forks_share_the_ids_of_what_they_copied(
    everything: list[Read], dev_transcripts: Path
) -> None:
    """Copied records can be told by their uuids in the four families of forks."""
    forks = json.loads((dev_transcripts / "facts.json").read_text())["forks"]
    by_name = {read.source.path.name: read for read in everything}
    assert forks
    for fork in forks:
        ids = []
        for side in "ab":
            records = by_name[Path(fork[side]).name].records
            ids.append({record.record_uuid for record in records})
        assert ids[0] & ids[1], fork


def test_a_session_grows_without_changing_what_was(dev_transcripts: Path) -> None:
    """Each later state of a session begins with the prompts of each earlier one."""
    sessions = sorted(path for path in dev_transcripts.glob("*/growth/*") if path.is_dir())
    assert sessions
    for session in sessions:
        paths = sorted(session.glob("*/**/*.jsonl"))
        states = [list(read_session(path, source=source_of(path))) for path in paths]
        assert len(states) > 3
        prompts = [[r for r in state if r.kind == "prompt"] for state in states]
        final = [(prompt.record_uuid, prompt.text) for prompt in prompts[-1]]
        assert sum(assert_begins(state, final) for state in prompts) > len(final)


def test_any_state_of_a_file_begins_with_the_same_prompts(
    everything: list[Read], tmp_path: Path
) -> None:
    """Cut after any line, a real file gives the first of its prompts, with the same ids."""
    cut = tmp_path / "cut.jsonl"
    compared = 0
    for read in everything:
        if read.source.size > 1_000_000:
            continue
        content = read.source.path.read_bytes().splitlines(keepends=True)
        final = [(r.record_uuid, r.text) for r in read.records if r.kind == "prompt"]
        for part in (0.4, 0.8):
            cut.write_bytes(b"".join(content[: int(len(content) * part)]))
            records = list(read_session(cut, source=read.source))
            compared += assert_begins([r for r in records if r.kind == "prompt"], final)
    assert compared > 500


def assert_begins(prompts: list[Record], final: list[tuple[str, str]]) -> int:
    """Assert that `prompts` are the first of `final`, but for queued ones at their end.

    Returns how many agree.
    """
    agreeing = 0
    for prompt, later in zip(prompts, final, strict=False):
        if (prompt.record_uuid, prompt.text) != later:
            break
        agreeing += 1
    rest = prompts[agreeing:]
    assert all(prompt.subtype in ("queued", "program") for prompt in rest)
    return agreeing


_FIELDS = (
    *("input_tokens", "output_tokens"),
    *("cache_read_input_tokens", "cache_creation_input_tokens"),
)


def test_claude_sessions_took_what_ccusage_counts(everything: list[Read]) -> None:
    """Within one in two hundred: forks are ours once and warm-ups not at all, which are half a
    percent of what was given without a cache, and a hundredth of that of the rest."""
    of_claude = [read for read in everything if read.source.agent == "claude-code"]
    ours: Counter[str] = Counter()
    met: set[str] = set()
    for record in (record for read in of_claude for record in read.records):
        if record.tokens and record.record_uuid not in met:
            met.add(record.record_uuid)
            ours.update(dict(zip(_FIELDS, record.tokens, strict=False)))
    counted = _counted([read.source.path for read in of_claude])
    for name in _FIELDS:
        assert abs(ours[name] - counted[name]) <= counted[name] / 200, (name, ours, counted)


def _counted(paths: list[Path]) -> Counter[str]:
    answers: dict[tuple[str, str], dict[str, int]] = {}
    for path in paths:
        for line in path.read_bytes().splitlines():
            try:
                record: dict[str, Any] = json.loads(line)
                message = record["message"]
                usage = {name: message["usage"].get(name, 0) for name in _FIELDS}
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            key = (message.get("id", ""), record.get("requestId", ""))
            if sum(usage.values()) > sum(answers.get(key, {}).values()):
                answers[key] = usage
    total: Counter[str] = Counter()
    for usage in answers.values():
        total.update(usage)
    return total
