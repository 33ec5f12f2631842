"""Readers of stores over samples of each agent, held against figures counted apart from us.

`expected.json` has them; its counter shares no code with the readers.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
from filelock import FileLock

from memory_assets.models import ABANDONED, Record
from memory_assets.paths import project_of
from memory_assets.transcripts import (
    Account,
    ReadReport,
    Source,
    discover,
    read_session,
    reader_by_agent,
)
from memory_assets_tests.conftest import _unpacked

ROOTS = {
    "opencode/sqlite/.local/share/opencode": "opencode",
    "opencode/sqlite-wal/.local/share/opencode": "opencode",
    "opencode/json-store/.local/share/opencode": "opencode",
    "opencode/export": "opencode",
    "kilo/sqlite/.local/share/kilo": "kilo",
    "crush/swift-kdl": "crush",
    "goose/v15/.local/share/goose": "goose",
    "goose/.local/share/goose": "goose",
    "goose/empty/.local/share/goose": "goose",
    "hermes/.hermes": "hermes",
    "zed/.local/share/zed": "zed",
    "vscode-copilot/Code/User": "vscode-copilot",
    "vscode-copilot/oplog/Code/User": "vscode-copilot",
}
"""Directories of the samples, and the agent that wrote what is in them."""

NOT_AS_COUNTED: dict[tuple[str, str], tuple[int, str]] = {
    ("ses_aaaa0001main", "assistant_messages"): (
        2,
        "the third is the summary of a compaction, which repeats what was said",
    ),
    ("3925110d-c650-5472-9369-3ab18d9abf91", "assistant_messages"): (
        3,
        "the third answers what the program asked of its own accord: no prompt, but an answer",
    ),
}
"""Figures in which we differ, by session and name: ours, and why."""


@dataclass
class Sample:
    """A session as it was read, and the figures that were counted of it."""

    source: Source
    report: ReadReport
    records: list[Record]
    expected: dict[str, Any]

    def texts(self, kind: str) -> list[str]:
        """Return the texts of a kind of record."""
        return [record.text for record in self.records if record.kind == kind]


@pytest.fixture(scope="session")
def samples(of_all_workers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The samples, unpacked for this process alone: reading a database may write beside it."""
    into = of_all_workers / "agent-samples"
    with FileLock(f"{into}.lock"):
        if not into.is_dir():
            _unpacked("agents.tar.xz", into)
    mine = tmp_path_factory.mktemp("agents") / "samples"
    shutil.copytree(into, mine)
    return mine


def sessions_below(samples: Path, root: str, agent: str) -> list[Sample]:
    """Return the sessions that are found below a directory, each with its figures."""
    every = json.loads((samples / "expected.json").read_text())["samples"]
    mine = [one for one in every if one["path"].startswith(f"{root}/") and "human_prompts" in one]
    by_id = {one["session_id"]: one for one in mine}
    found = []
    for source in discover({agent: [samples / root]}):
        report = ReadReport(account=Account(reader_by_agent(agent).left_out_of(source)))
        records = list(read_session(source.path, source=source, report=report))
        own = source.agent_id or source.session_id
        found.append(Sample(source, report, records, by_id[own]))
    read = Counter(str(sample.expected["session_id"]) for sample in found)
    assert read == Counter(by_id.keys()), "each session is found, once, and nothing else"
    return found


def directory_of(named: str) -> str:
    """Return the path that a figure names by a URL or as it is."""
    parsed = urlparse(named)
    return unquote(parsed.path) if parsed.scheme == "file" else named


def moment_of(stamp: str) -> datetime:
    """Return a time in a figure."""
    found = datetime.fromisoformat(stamp)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


@pytest.mark.parametrize(("root", "agent"), ROOTS.items())
def test_every_figure_of_every_session_is_found(samples: Path, root: str, agent: str) -> None:
    """Prompts, answers, calls, failures, title, project, start, parent."""
    for sample in sessions_below(samples, root, agent):
        expected = sample.expected
        taken_back = {one.record_uuid for one in sample.records if one.subtype == ABANDONED}
        records = [one for one in sample.records if one.record_uuid not in taken_back]
        for name in list(expected):
            if differs := NOT_AS_COUNTED.get((expected["session_id"], name)):
                expected[name] = differs[0]
        told = Counter(record.kind for record in records)
        answers = {one.record_uuid for one in records if one.kind == "assistant_text"}
        prompts = [one.text for one in records if one.kind == "prompt"]
        assert told["prompt"] == expected["human_prompts"], expected
        assert len(answers) == expected["assistant_messages"], expected
        assert told["tool_use"] == expected["tool_calls"], expected
        if expected["first_prompt_40"]:
            assert prompts[0].strip()[:40].strip() == expected["first_prompt_40"].strip()
        if expected["title"]:
            assert sample.texts("title") == [expected["title"]]
        if expected["project"]:
            assert sample.source.project == project_of(directory_of(expected["project"]))
        if expected["start"]:
            first = sample.report.first_timestamp
            assert first is not None
            assert abs((first - moment_of(expected["start"])).total_seconds()) < 1
        by_agent = expected.get("session_type") != "scheduled" and expected.get("subagent", False)
        assert (sample.source.agent_id is not None) == by_agent
        if "parent" in expected:
            assert sample.source.session_id == expected["parent"]
        failed = sum(record.is_error for record in records if record.kind == "tool_result")
        if "tool_errors" in expected:
            assert failed == expected["tool_errors"]
        types = sample.report.record_types
        if agent == "crush":
            messages = sum(types[f"message/{role}"] for role in ("user", "assistant", "tool"))
            figures = messages, types["file-version"]
            assert figures == (expected["messages"], expected["file_versions"])


@pytest.mark.parametrize(("root", "agent"), ROOTS.items())
def test_every_line_and_text_is_accounted_for(samples: Path, root: str, agent: str) -> None:
    """It is on record, or the reader's table says why not."""
    for sample in sessions_below(samples, root, agent):
        report = sample.report
        assert report.conserved
        assert (report.bad_line_count, report.pending_bytes) == (0, 0)
        assert report.account is not None
        unexplained = report.account.balance().unexplained
        assert unexplained == {}, (sample.source.locator, unexplained)
        assert report.unknown_types == {}, sample.source.locator
