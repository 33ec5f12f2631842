"""Sessions that grow, in whatever steps and order, are as if all had been taken in at once."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_assets.pipeline.tables import derive, turn_chunks
from memory_assets_tests.pipeline.conftest import UP_TO_SUMMARIES, SampleMemory
from memory_assets_tests.transcript_files import claude_line

STAGES = (*UP_TO_SUMMARIES, "turn_embeddings", "prompt_embeddings")
TABLES = ("redacted_records", "redaction_audit", *STAGES[2:])


def _facts(memory: SampleMemory, project: str | None) -> dict[Any, Any]:
    """What the ledger and the products count, but for hashes that tell how they came about."""
    catalog = memory.components.catalog
    counted: dict[Any, Any] = {
        (row.project, row.session_id, row.agent_id): (row.facts, row.fingerprint, row.family)
        for row in catalog.sources.rows(project)
    }
    history = {"lineage", "made_of", "made_with", "turn_states"}
    for stage in TABLES[:4]:
        for key, product in catalog.products.of_stage(stage).items():
            if project not in (None, key[0]):
                continue
            facts = {name: fact for name, fact in product.facts.items() if name not in history}
            counted[(stage, *key)] = (product.rows, facts)
    return counted


def _assert_same(memory: SampleMemory, fresh: SampleMemory, project: str | None = None) -> None:
    grown, at_once = memory.lake_state(project), fresh.lake_state(project)
    for name in TABLES:
        assert grown[name] == at_once[name], name
    assert _facts(memory, project) == _facts(fresh, project)


class Growing:
    """The transcripts of a memory, taken back to nothing, which grow again in steps."""

    def __init__(self, memory: SampleMemory, seed: int) -> None:
        self._memory = memory
        self._drawn = random.Random(seed)
        self._whole = {path: path.read_bytes() for path in memory.transcripts.rglob("*.jsonl")}
        self.kept = 0
        for path in self._whole:
            path.unlink()

    def step(self, *, last: bool = False) -> None:
        """Let some of the files grow, to any byte, and take them in."""
        for path, content in self._whole.items():
            length = path.stat().st_size if path.exists() else 0
            if not last and self._drawn.random() < 0.4:
                continue
            end = len(content) if last else self._drawn.randint(length, len(content))
            if end > length:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("ab") as file:
                    file.write(content[length:end])
        self.kept += _rows_kept(self._memory.run(STAGES))


def _rows_kept(reports: Any) -> int:
    """How many rows were taken again instead of being redacted."""
    return sum(
        int(report.details.get("rows_kept", 0))
        for (stage, _), report in reports.items()
        if stage == "redacted_records"
    )


@pytest.mark.parametrize("few_records", [0, pytest.param(1_000, marks=pytest.mark.long)])
def test_sessions_that_grow_byte_by_byte_are_what_they_are_at_once(
    fresh: SampleMemory, finished: SampleMemory, monkeypatch: pytest.MonkeyPatch, few_records: int
) -> None:
    """Half lines, forks, subagents, queued prompts, secrets: same rows, same counts, whether turns
    keep their rows or not."""
    monkeypatch.setattr(turn_chunks, "_FEW_RECORDS", few_records)
    growing = Growing(fresh, seed=few_records)
    for _ in range(3):
        growing.step()
    growing.step(last=True)
    assert growing.kept > 100
    _assert_same(fresh, finished)


def _kept_again(memory: SampleMemory) -> int:
    """Take in what changed; return how many rows were not redacted again."""
    return _rows_kept(memory.run(STAGES, [memory.harbor]))


def _at_once(memory: SampleMemory, fresh: SampleMemory) -> Any:
    """The same transcripts, taken in at once."""
    for path in memory.transcripts.rglob("*.jsonl"):
        target = fresh.transcripts / path.relative_to(memory.transcripts)
        target.write_bytes(path.read_bytes())
    fresh.run(STAGES, [fresh.harbor])
    return fresh


def test_a_value_shown_earlier_is_taken_out_of_what_is_added(
    memory: SampleMemory, fresh: SampleMemory, fake_token: str
) -> None:
    """A password that nobody may keep a hash of, and a token, bare in the new records."""
    password = "Tr0ub4dor&37x"
    memory.append(memory.flaky, f"set DB_PASSWORD={password}", f"export GITHUB_TOKEN={fake_token}")
    memory.run(STAGES, [memory.harbor])
    memory.append(memory.flaky, f"is it still {password} ?", f"or rather {fake_token} ?")
    assert _kept_again(memory) > 40
    held = repr(memory.lake_state())
    assert password not in held
    assert fake_token not in held
    _assert_same(memory, _at_once(memory, fresh), memory.harbor)


def test_a_value_that_what_is_added_gives_away_goes_from_earlier_records_too(
    memory: SampleMemory, fresh: SampleMemory
) -> None:
    """It stood there bare, and nobody could know; the session is redacted whole."""
    password = "Tr0ub4dor&37x"
    memory.append(memory.flaky, f"note {password} perhaps", "I will")
    memory.run(STAGES, [memory.harbor])
    assert password in repr(memory.lake_state())
    memory.append(memory.flaky, f"yes, DB_PASSWORD={password}", "thanks")
    assert _kept_again(memory) == 0
    assert password not in repr(memory.lake_state())
    _assert_same(memory, _at_once(memory, fresh), memory.harbor)


def test_a_value_that_stands_in_no_earlier_record_costs_no_whole_session(
    memory: SampleMemory, fresh: SampleMemory
) -> None:
    """The earlier ones are searched, and stay."""
    memory.append(memory.flaky, "first DB_PASSWORD=Gh7&kk2!pqLm", "done")
    memory.run(STAGES, [memory.harbor])
    memory.append(memory.flaky, "now DB_PASSWORD=Zz9!kq4&vvTr", "done")
    assert _kept_again(memory) > 40
    _assert_same(memory, _at_once(memory, fresh), memory.harbor)


@pytest.mark.parametrize(
    "rewrite",
    [
        "head",
        "edit",
        *(
            pytest.param(way, marks=pytest.mark.long)
            for way in ("middle", "truncated", "shorter then longer")
        ),
    ],
)
def test_a_file_that_was_rewritten_keeps_the_rows_of_unchanged_records(
    memory: SampleMemory, fresh: SampleMemory, rewrite: str
) -> None:
    """Whatever was done to it: it is the same as if it had been taken in so at once."""
    path = memory.path(memory.flaky)
    lines = path.read_bytes().splitlines(keepends=True)
    if rewrite == "head":
        path.write_bytes(b"".join(lines[2:] + lines[:2]))
        memory.append(memory.flaky, "and one more question", "with an answer")
    elif rewrite == "middle":
        path.write_bytes(b"".join(lines[:9] + lines[12:]))
    elif rewrite == "truncated":
        path.write_bytes(b"".join(lines[: len(lines) // 2]))
    elif rewrite == "edit":
        path.write_bytes(b"".join(line.replace(b"flaky", b"shaky") for line in lines))
    else:
        path.write_bytes(b"".join(lines[:-3]))
        memory.append(memory.flaky, "something else " * 300, "an answer " * 300)
    _kept_again(memory)
    _assert_same(memory, _at_once(memory, fresh), memory.harbor)


def test_a_secret_that_is_edited_away_frees_the_rows_that_it_was_taken_out_of(
    memory: SampleMemory, fresh: SampleMemory
) -> None:
    """The record that gave it away is gone, so that nobody could know it in the others."""
    memory.append(memory.flaky, "DB_PASSWORD=Tr0ub4dor&37x", "done", "is it Tr0ub4dor&37x ?", "no")
    memory.run(STAGES, [memory.harbor])
    assert "Tr0ub4dor&37x" not in repr(memory.lake_state())
    path = memory.path(memory.flaky)
    path.write_text(path.read_text().replace("DB_PASSWORD=Tr0ub4dor&37x", "nothing"))
    assert _kept_again(memory) == 0
    assert "is it Tr0ub4dor&37x ?" in repr(memory.lake_state())
    _assert_same(memory, _at_once(memory, fresh), memory.harbor)


def test_a_crash_between_rows_and_ledger_costs_a_whole_session_and_nothing_else(
    memory: SampleMemory, fresh: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lake is ahead of the catalogue: what it holds is not built upon."""
    memory.append(memory.flaky, "a question before the crash", "an answer")

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    memory.run(["raw_sessions"], [memory.harbor])
    with monkeypatch.context() as patch:
        patch.setattr(memory.components.catalog.redactions, "put", crash)
        with pytest.raises(KeyboardInterrupt):
            memory.run(["redacted_records"], [memory.harbor])
    memory.append(memory.flaky, "a question after it", "another answer")
    assert _kept_again(memory) == 0
    memory.append(memory.flaky, "and then", "all is well")
    assert _kept_again(memory) > 40
    _assert_same(memory, _at_once(memory, fresh), memory.harbor)


def test_a_text_that_any_session_holds_is_not_embedded_again(memory: SampleMemory) -> None:
    """Another session says the same: it takes the vector from there."""
    said = "which index makes the monthly report slow, and why only there?"
    memory.append(memory.flaky, said, "the one on created_at")
    memory.run(STAGES, [memory.harbor])
    memory.append(memory.fork, said, "the one on created_at")
    reports = memory.run(STAGES, [memory.harbor])
    assert reports["prompt_embeddings", memory.harbor].details["texts_embedded"] == 0
    vectors = memory.rows("prompt_embeddings", memory.harbor)
    by_hash: dict[str, set[tuple[float, ...]]] = {}
    for row in vectors:
        by_hash.setdefault(row["content_hash"], set()).add(tuple(row["vector"]))
    assert {len(same) for same in by_hash.values()} == {1}


@pytest.mark.parametrize("seconds", [3_600, -3_600])
def test_the_summary_of_a_long_session_waits_for_it_to_rest(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    """While it grows by little its summary stays, and that is no work; when it has rested
    it is made again. A file whose time is in the future has rested."""
    monkeypatch.setattr(derive, "_SHORT_ROWS", 1)
    stages = ["raw_sessions", "redacted_records", "session_summaries"]
    (before,) = _summaries(memory)
    memory.append(memory.flaky, "only one more thing", "done, too")
    assert _waiting(memory.run(stages, [memory.harbor])) == 1
    assert _summaries(memory) == [before]
    assert "session_summaries" not in _reasons(memory)
    memory.components.clock = lambda: time.time() + seconds
    assert "session_summaries" in _reasons(memory)
    assert _waiting(memory.run(stages, [memory.harbor])) == 0
    assert _summaries(memory) != [before]


def _reasons(memory: SampleMemory) -> str:
    """What a new process would find to do, the chunks having caught up."""
    memory.run(["turn_chunks", "user_prompts"], [memory.harbor])
    return " ".join(work.reason for work in memory.behind())


def _waiting(reports: Any) -> int:
    """How many summaries the stage says it leaves for later."""
    return sum(
        int(report.details.get("waiting", 0))
        for (stage, _), report in reports.items()
        if stage == "session_summaries"
    )


def _summaries(memory: SampleMemory) -> list[dict[str, Any]]:
    rows = memory.rows("session_summaries", memory.harbor)
    return [row for row in rows if row["session_id"] == memory.flaky]


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


def _made_at_once(root: Path, engines: dict[str, Any], files: Files) -> dict[str, Any]:
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
    max_examples=4,
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
    at_once = _made_at_once(tmp_path, engines, files)
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
