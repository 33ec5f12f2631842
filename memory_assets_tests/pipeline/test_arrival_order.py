"""Whatever the order in which files came and grew, the tables are those of all files at once."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.transcript_files import claude_line

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
HOME = "-home-ada-engine"
PROJECTS = (HOME, "-home-ada-backup")
STYLES = ("ids rewritten", "ids kept", "origin named")
"""What tells a fork's copies: nothing but their uuids, the session that they name, `forkedFrom`."""


@dataclass
class Files:
    """Transcripts as Claude Code writes them, by path, as lists of lines."""

    clock: int = 0
    lines: dict[Path, list[dict[str, Any]]] = field(default_factory=dict)

    def begin(self, project: str = HOME) -> Path:
        """Begin a session."""
        path = Path(project) / f"{UUID(int=0xA000 - 7919 * len(self.lines) % 4096)}.jsonl"
        self.lines[path] = []
        return path

    def say(self, path: Path) -> None:
        """Let a session go on with a prompt and its answer."""
        for role in ("user", "assistant"):
            self.clock += 1
            text = f"{role} says in {path.stem[-4:]} what number {self.clock} of all is"
            at = START + timedelta(minutes=self.clock)
            own = {"uuid": str(UUID(int=0xE000_0000 + self.clock)), "role": role}
            line = claude_line(path.stem, self.clock, text, "/home/ada/engine", at, **own)
            self.lines[path].append(line)

    def fork(self, original: Path, length: int, style: str, project: str = HOME) -> Path:
        """Begin a session with copies of the first `length` lines of another one."""
        path = self.begin(project)
        for line in self.lines[original][:length]:
            copied = {**line, "sessionId": line["sessionId"] if style == STYLES[1] else path.stem}
            if style == STYLES[2]:
                copied["forkedFrom"] = {"sessionId": original.stem, "messageUuid": line["uuid"]}
            self.lines[path].append(copied)
        return path


@st.composite
def _families(draw: st.DrawFn) -> Files:
    """Sessions that fork each other and go on by turns; some files are copied to another
    project."""
    files = Files()
    files.say(files.begin())
    for _ in range(draw(st.integers(3, 9))):
        path = draw(st.sampled_from(list(files.lines)))
        if draw(st.booleans()):
            files.say(path)
        elif len(files.lines) < 5:
            length = draw(st.integers(1, len(files.lines[path])))
            style, project = draw(st.sampled_from(STYLES)), draw(st.sampled_from(PROJECTS))
            files.fork(path, length, style, project)
    if draw(st.booleans()):
        path = draw(st.sampled_from(list(files.lines)))
        other = PROJECTS[path.parts[0] == PROJECTS[0]]
        files.lines.setdefault(Path(other) / path.name, list(files.lines[path]))
    return files


def _write(memory: SampleMemory, path: Path, lines: Sequence[dict[str, Any]]) -> None:
    target = memory.transcripts / "claude" / "projects" / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _tables(memory: SampleMemory) -> dict[str, list[dict[str, Any]]]:
    """The tables of a memory in which nothing is left to be done."""
    for _ in range(4):
        memory.run()
        if not memory.behind():
            return memory.lake_state()
    raise AssertionError(memory.behind())


def _at_once(root: Path, engines: dict[str, Any], files: Files) -> dict[str, Any]:
    memory = SampleMemory(root / "at-once", engines, vectors=False)
    for path, lines in files.lines.items():
        _write(memory, path, lines)
    tables = _tables(memory)
    memory.close()
    return tables


def _arriving(
    root: Path, engines: dict[str, Any], files: Files, seed: int, steps: int = 4
) -> dict[str, Any]:
    """The tables of a memory that took in beginnings of these files, in steps."""
    memory = SampleMemory(root / "in-steps", engines, vectors=False)
    drawn = random.Random(seed)
    lengths = dict.fromkeys(files.lines, 0)
    for step in range(1, steps + 1):
        for path, lines in files.lines.items():
            if step < steps and drawn.random() < 0.4:
                continue
            lengths[path] = len(lines) if step == steps else drawn.randint(0, len(lines))
            if lengths[path]:
                _write(memory, path, lines[: lengths[path]])
        if step < steps and any(lengths.values()):
            memory.run()
    tables = _tables(memory)
    memory.close()
    return tables


@given(files=_families(), seed=st.integers(0, 1_000))
@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_the_tables_do_not_depend_on_the_order_of_arrival(
    tmp_path: Path, engines: dict[str, Any], files: Files, seed: int
) -> None:
    """Originals, forks, forks of forks and copies in another project, each met at any length and
    before or after the others."""
    for each in tmp_path.iterdir():
        shutil.rmtree(each)
    in_steps = _arriving(tmp_path, engines, files, seed)
    at_once = _at_once(tmp_path, engines, files)
    for name, rows in at_once.items():
        assert in_steps[name] == rows, name


@pytest.mark.parametrize("style", STYLES)
def test_an_original_and_its_fork_that_grew_in_turn_keep_what_each_wrote(
    tmp_path: Path, engines: dict[str, Any], style: str
) -> None:
    """Both were taken in when neither had gone on: the fork, whose name comes first, then
    counted as the original, and went on doing so."""
    files = Files()
    original = files.begin()
    files.say(original)
    fork = files.fork(original, 2, style)
    assert fork < original
    memory = SampleMemory(tmp_path, engines, vectors=False)
    for grown in (None, original, fork, original):
        if grown is not None:
            files.say(grown)
        for path, lines in files.lines.items():
            _write(memory, path, lines)
        memory.run()
    assert (memory.turns(original.stem), memory.turns(fork.stem)) == ([0, 1, 2], [1])
    requests = {row["session_id"]: row["request"] for row in memory.rows("session_summaries")}
    memory.close()
    assert "what number 1 of all" in requests[original.stem]
