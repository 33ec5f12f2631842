"""Readers over samples of each agent, held against figures counted apart from us.

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
from memory_assets.paths import project_slug
from memory_assets.transcripts import Account, ReadReport, Source, discover, read_session, reader_of
from memory_assets.transcripts.readers.cline import PARTIAL
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
    "cursor/v3/Cursor/User": "cursor",
    "cline/Code/User/globalStorage/saoudrizwan.claude-dev": "cline",
    "cline/.cline/data": "cline",
    "kilo/Code/User/globalStorage/kilocode.kilo-code": "kilo",
    "roo/Code/User/globalStorage/rooveterinaryinc.roo-cline": "roo",
    "cursor/Cursor/User": "cursor",
    "cursor/empty-composers/Cursor/User": "cursor",
    "vscode-copilot/oplog/Code/User": "vscode-copilot",
    "copilot-cli/.copilot/session-state": "copilot-cli",
    "copilot-cli/synthetic/.copilot": "copilot-cli",
    "cursor/.cursor": "cursor",
    "cursor/agent/.cursor": "cursor",
    "gemini/.gemini": "gemini",
    "gemini/jsonl/.gemini/tmp": "gemini",
    "qwen/.qwen": "qwen",
    "droid/.factory": "droid",
    "openclaw/.openclaw": "openclaw",
    "cowork/.config/Claude/local-agent-mode-sessions": "cowork",
    "atif": "atif",
    "aider": "aider",
    "specstory": "specstory",
}
"""Directories of the samples, and the agent that wrote what is in them."""

_COMPRESSED = "before the program compressed the conversation: it was typed, and answered"
_COMPRESSED_SESSION = "5295ee40-ec59-5a1d-93fd-8b67138933ca"
_ECHO = "three are the echo, the output and the caveat of the command /exit"
_OF_TASK = "what a tool asked of its agent is no title of the session that the agent works for"
NOT_AS_COUNTED: dict[tuple[str, str], tuple[Any, str]] = {
    (_COMPRESSED_SESSION, "human_prompts"): (2, _COMPRESSED),
    (_COMPRESSED_SESSION, "assistant_messages"): (3, _COMPRESSED),
    (_COMPRESSED_SESSION, "first_prompt_40"): ("Write a long report", _COMPRESSED),
    (_COMPRESSED_SESSION, "start"): ("2026-06-01T08:00:20Z", "its first message is older"),
    ("b74a75a7-6235-53a6-b95c-5d5072632794", "title"): (None, _OF_TASK),
    ("ses_aaaa0001main", "assistant_messages"): (
        2,
        "the third is the summary of a compaction, which repeats what was said",
    ),
    ("3925110d-c650-5472-9369-3ab18d9abf91", "assistant_messages"): (
        3,
        "the third answers what the program asked of its own accord: no prompt, but an answer",
    ),
    ("e317d7b9-3289-4345-9c97-0bb1e3d998c8", "human_prompts"): (8, _ECHO),
    ("b9a0d834-5e25-45ad-9a0c-dd0bead5b38a", "human_prompts"): (1, _ECHO),
    ("44444444-aaaa-bbbb-cccc-000000000006", "assistant_messages"): (
        1,
        "the other three are calls, in the form of 2025",
    ),
    ("44444444-aaaa-bbbb-cccc-000000000006", "start"): (
        "2025-07-10T09:00:00Z",
        "with dashes, it is the name of the file",
    ),
}
"""Figures in which we differ, by session and name: ours, and why."""

TORN = {"b137117b-70b4-5f81-97f6-da3f727ab977": 23}
"""Bytes of a half-written last line, which one of the samples has on purpose."""


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
        report = ReadReport(account=Account(reader_of(source).left_out_of(source)))
        records = list(read_session(source.path, source=source, report=report))
        own = source.agent_id or source.session_id
        if agent == "aider":  # which has no ids
            assert report.first_timestamp is not None
            own = f"run {report.first_timestamp.astimezone():%Y-%m-%d %H:%M:%S}"
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
    if stamp.endswith(" local"):
        return datetime.fromisoformat(stamp.removesuffix(" local")).astimezone()
    found = datetime.fromisoformat(stamp)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


@pytest.mark.parametrize(("root", "agent"), ROOTS.items())
def test_every_figure_of_every_session_is_found(samples: Path, root: str, agent: str) -> None:
    """Prompts, answers, calls, failures, title, project, start, parent."""
    for sample in sessions_below(samples, root, agent):
        expected = sample.expected
        taken_back = {one.record_uuid for one in sample.records if one.subtype == ABANDONED}
        of_agent = sample.source.agent_id is not None or agent == "specstory"
        records = [one for one in sample.records if of_agent or not one.is_sidechain]
        records = [one for one in records if one.record_uuid not in taken_back]
        for name in list(expected):
            if differs := NOT_AS_COUNTED.get((expected["session_id"], name)):
                expected[name] = differs[0]
        if agent == "specstory":  # whose headings are dates
            expected["title"] = None
        told = Counter(record.kind for record in records)
        answers = {
            one.record_uuid
            for one in records
            if one.kind == "assistant_text" and one.subtype != PARTIAL
        }
        prompts = [one.text for one in records if one.kind == "prompt"]
        assert told["prompt"] == expected["human_prompts"], expected
        assert len(answers) == expected["assistant_messages"], expected
        assert told["tool_use"] == expected["tool_calls"], expected
        if expected["first_prompt_40"]:
            assert prompts[0].strip()[:40].strip() == expected["first_prompt_40"].strip()
        if expected["title"]:
            assert sample.texts("title") == [expected["title"]]
        if expected["project"]:
            directory = directory_of(expected["project"])
            directory = str(samples / directory) if agent == "aider" else directory
            in_folder = "transcript" in expected.get("store", "")  # a folder's name, without "/"
            assert sample.source.project == project_slug(f"{'/' * in_folder}{directory}")
        if expected["start"]:
            first = sample.report.first_timestamp
            assert first is not None
            after = (moment_of(expected["start"]) - first).total_seconds()
            is_fork = sample.report.parent_session is not None  # begins with older messages
            assert abs(after) < 1 or (is_fork and after > 0)
        by_agent = expected.get("session_type") != "scheduled" and expected.get("subagent", False)
        assert (sample.source.agent_id is not None) == by_agent
        if "parent" in expected:
            assert sample.source.session_id == expected["parent"]
        failed = sum(record.is_error for record in records if record.kind == "tool_result")
        if "tool_errors" in expected:
            assert failed == expected["tool_errors"]
        if agent == "crush":
            versions = sample.report.dropped["file-version"]
            assert versions == expected["file_versions"]
            assert sample.report.records - versions - 2 == expected["messages"]


@pytest.mark.parametrize(("root", "agent"), ROOTS.items())
def test_every_line_and_text_is_accounted_for(samples: Path, root: str, agent: str) -> None:
    """It is on record, or the reader's table says why not."""
    for sample in sessions_below(samples, root, agent):
        report = sample.report
        assert report.records == report.kept + report.dropped.total()
        pending = TORN.get(sample.source.session_id, 0)
        assert (report.bad_line_count, report.pending_bytes) == (0, pending)
        assert report.account is not None
        unexplained = report.account.balance().unexplained
        assert unexplained == {}, (sample.source.locator, unexplained)
        assert report.unknown_types == {}, sample.source.locator


@pytest.mark.parametrize("root", ["opencode/export", "qwen/.qwen", "gemini/.gemini"])
def test_answers_took_what_their_messages_say(samples: Path, root: str) -> None:
    """All kinds of tokens together are the total that the agent itself wrote."""
    for sample in sessions_below(samples, root, ROOTS[root]):
        text = sample.source.path.read_text()
        try:
            document = json.loads(text)
            written = document["messages"]
        except (ValueError, KeyError):
            written = [json.loads(line) for line in text.splitlines()]
        total = sum(map(_total, written))
        assert sum(sum(record.tokens[:4]) for record in sample.records) == total


def _total(message: dict[str, Any]) -> int:
    """Return the total that a message says that it took."""
    said = message.get("info", message)
    counted = said.get("tokens") or said.get("usageMetadata") or {}
    return int(counted.get("total") or counted.get("totalTokenCount") or 0)
