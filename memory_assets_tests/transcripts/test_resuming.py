"""Reading stopped and gone on with gives what one reading of the whole file gives."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import ResumeFailed
from memory_assets.models import Record
from memory_assets.paths import SAMPLE_DIR
from memory_assets.transcripts import (
    READERS,
    Checkpoint,
    Reader,
    ReadReport,
    Resume,
    Source,
    mark,
    read_session,
)
from memory_assets_tests.transcripts.conftest import ClaudeLines, PiLines

_OF_ONE_READING = {"checkpoint", "passed_over", "passed_over_before", "at"}
_CUTS = 4


def _reader(path: Path) -> Reader | None:
    return next((reader for reader in READERS if reader.sniff(_head(path))), None)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(1 << 16)


def _source(path: Path) -> Source:
    reader = _reader(path)
    assert reader is not None
    session_id, agent_id = reader.identify(path, _head(path))
    return Source(reader.agent, "", session_id, agent_id, path, path.stat().st_size, 0)


def _facts(report: ReadReport) -> dict[str, Any]:
    return {
        each.name: getattr(report, each.name)
        for each in fields(report)
        if each.name not in _OF_ONE_READING
    }


def _in_steps(source: Source, ends: Iterable[int | None]) -> tuple[list[Record], ReadReport]:
    """Read a file up to each of `ends`, each time from the checkpoint of the time before."""
    kept: list[Record] = []
    seen: set[int] = set()
    start: Checkpoint | None = None
    provisional: list[Record] = []
    report = ReadReport()
    for end in ends:
        report, provisional = ReadReport(), []
        resume = Resume(start, frozenset(seen), end)
        for record in read_session(source.path, source=source, report=report, resume=resume):
            if report.checkpoint is None:
                kept.append(record)
                seen.add(mark(record.record_uuid))
            else:
                provisional.append(record)
        assert report.conserved
        assert report.checkpoint is not None
        seen.update(mark(name) for name, _ in report.passed_over[: report.passed_over_before])
        start = Checkpoint.from_json(report.checkpoint.to_json())
    return kept + provisional, report


def _whole(source: Source) -> tuple[list[Record], ReadReport]:
    report = ReadReport()
    return list(read_session(source.path, source=source, report=report)), report


def _cuts(path: Path, seed: str) -> list[int | None]:
    """Any bytes, and one right before a newline: a whole record that may be gone on with."""
    drawn = random.Random(f"{seed}/{path.name}")
    content = path.read_bytes()
    cuts = [drawn.randrange(len(content) + 1) for _ in range(_CUTS)]
    cuts.append(max(content.find(b"\n", cuts[0]), 0))
    return [*sorted(cuts), None]


def _assert_same(path: Path, cuts: list[int | None]) -> None:
    source = _source(path)
    records, report = _in_steps(source, cuts)
    wanted, wanted_report = _whole(source)
    assert len(records) == len(wanted), (path.name, cuts)
    for made, meant in zip(records, wanted, strict=True):
        assert made == meant, (path.name, cuts, meant.seq)
    assert _facts(report) == _facts(wanted_report), (path.name, cuts)


def _samples() -> list[Path]:
    return sorted(SAMPLE_DIR.rglob("*.jsonl"))


@pytest.mark.parametrize("path", _samples(), ids=lambda path: path.name[-20:])
def test_sample_files_read_in_steps_are_read_whole(path: Path) -> None:
    """Cut at any byte, some dozen times: the same records, the same report."""
    for seed in range(12):
        _assert_same(path, _cuts(path, str(seed)))


def test_copies_of_a_prompt_are_known_across_readings(
    claude: ClaudeLines, pi: PiLines, tmp_path: Path
) -> None:
    """A queued prompt, or one of Pi, that is written again after the checkpoint is no further
    one."""
    claude.user("start")
    typed = claude.queue("enqueue", "use make -j")
    claude.queue("remove")
    claude.says("using -j")
    entry = pi.prompt("use make -j")
    for _ in range(3):
        claude.add(**typed)
        claude.queue("remove")
        claude.says("still")
        pi.add(**entry)
    for name, lines in (("claude", claude), ("pi", pi)):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(lines.bytes())
        ends = [end + 1 for end, byte in enumerate(lines.bytes()) if byte == ord("\n")]
        _assert_same(path, [*ends, None])


@pytest.mark.parametrize("path", _samples(), ids=lambda path: path.name[-20:])
def test_a_checkpoint_holds_no_text(path: Path) -> None:
    """Nothing that anybody said, ran or named stands in it, wherever reading stops."""
    source = _source(path)
    records, report = _whole(source)
    texts = {text for record in records for text in _texts(record) if len(text) > 6}
    assert texts
    for end in _cuts(path, "text"):
        report = ReadReport()
        list(read_session(path, source=source, report=report, resume=Resume(end=end)))
        assert report.checkpoint is not None
        held = report.checkpoint.to_json()
        assert not [text for text in texts if json.dumps(text)[1:-1] in held]


def _texts(record: Record) -> tuple[str, ...]:
    return (record.text, record.command, record.cwd, record.git_branch, *record.paths)


def test_a_file_that_is_not_what_it_was_is_not_gone_on_with(tmp_path: Path) -> None:
    """What the checkpoint refers to must stand where it stood."""
    path = max(_samples(), key=lambda each: each.stat().st_size)
    changed = tmp_path / path.name
    changed.write_bytes(path.read_bytes())
    source, report = _source(changed), ReadReport()
    list(read_session(changed, source=source, report=report, resume=Resume(end=9_000)))
    content = changed.read_bytes()
    changed.write_bytes(b" " * 500 + content[500:])
    with pytest.raises(ResumeFailed):
        list(read_session(changed, source=source, resume=Resume(report.checkpoint)))


@pytest.mark.long
def test_real_files_read_in_steps_are_read_whole(dev_transcripts: Path) -> None:
    """Every third readable file of the evaluation data, cut at random bytes."""
    files = list(_real_files(dev_transcripts))[::3]
    assert len(files) > 60
    for path in files:
        _assert_same(path, _cuts(path, "real"))


def _real_files(root: Path) -> Iterator[Path]:
    return (path for path in sorted(root.rglob("*.jsonl")) if _reader(path) is not None)
