"""What lines are read from, files and sessions that are rendered in memory: in whatever state it
is, what is whole is read, one line at a time, and the rest reported."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import DamagedTranscript, TranscriptError
from memory_assets.paths import is_gone, locator_of, split_locator
from memory_assets.transcripts import content as contents
from memory_assets.transcripts import lines, read_session, take_fingerprint
from memory_assets.transcripts.base import ReadReport
from memory_assets.transcripts.content import CHANGING, FileContent, Rendered
from memory_assets.transcripts.lines import objects_in
from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcript_files import source_of
from memory_assets_tests.transcripts.conftest import ClaudeLines, CodexLines, PiLines, Write

A = b'{"type":"user","n":1}'
B = b'{"type":"user","n":2}'


def read(path: Path) -> tuple[list[lines.Located], ReadReport]:
    """Read all objects of a file, and check that all are counted."""
    report = ReadReport()
    found = list(lines.read_objects(path, report))
    assert report.records == len(found)
    return found, report


def numbers(found: list[lines.Located]) -> list[Any]:
    """Return the n of each object."""
    return [value["n"] for _, _, value in found]


def test_offsets_bound_each_object(write: Write) -> None:
    """The byte range of an object, cut out of the file, is that object."""
    content = A + b"\n" + '{"type":"ü","n":3}'.encode() + B + b"\n\n" + B + b"\n"
    path = write(content)
    found, _ = read(path)
    assert [content[start:end] for start, end, _ in found] == [
        A,
        '{"type":"ü","n":3}'.encode(),
        B,
        B,
    ]


def test_a_half_written_last_line_waits(write: Write) -> None:
    """An unfinished last line is pending, not bad, and the offset stays before it."""
    found, report = read(write(A + b"\n" + B[:-3]))
    assert numbers(found) == [1]
    assert report.bad_line_count == 0
    assert report.complete_offset == len(A) + 1
    assert report.pending_bytes == len(B) - 3


def test_a_whole_last_line_without_newline_is_read(write: Write) -> None:
    """A last line that lacks only its newline counts as complete."""
    found, report = read(write(A + b"\n" + B))
    assert numbers(found) == [1, 2]
    assert (report.lines, report.complete_offset, report.pending_bytes) == (2, 43, 0)


@sweep(
    "line, recovered, is_bad",
    [
        (b"", [], False),
        (b"  \t", [], False),
        (A + B, [1, 2], True),
        (b"\0" * 5_000 + B, [2], True),
        (b'{"type":"user","message":{"content":"cut of' + B, [2], True),
        (b'{"type":"user","cwd":"a"b","data":{"type":"user","n":9},"uuid":"x"}', [], True),
        (b'{"n":"\xff\xfe"}', [], True),
        (b'{"n":1', [], True),
        (b"no json at all", [], True),
        *((line, [], True) for line in (b"[1,2]", b'"text"', b"null")),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, [], True),
        (b'{"a":' * 980 + b"1" + b"}" * 980, [], True),
        (b'{"a":' + b"[" * lines.MAX_DEPTH + b"]" * lines.MAX_DEPTH + b"}", [], True),
        (b'{"\\u0000":' + b"[" * 900 + b"]" * 900 + b"}", [], True),
    ],
)
def test_what_is_whole_in_an_odd_line_is_read(
    write: Write, line: bytes, recovered: list[int], is_bad: bool
) -> None:
    """Two records glued, NULs, a record behind a torn one, but no part of a broken one; the line is
    counted if it is neither blank nor one object, and its neighbours are kept."""
    found, report = read(write(A + b"\n" + line + b"\n" + B + b"\n"))
    assert numbers(found) == [1, *recovered, 2]
    assert (report.lines, report.bad_line_count) == (3, is_bad)


def test_a_run_of_nuls_at_the_end_waits(write: Write) -> None:
    """A block of them left by a power loss is no line yet."""
    _, report = read(write(A + b"\n" + b"\0" * 143_000))
    assert (report.bad_line_count, report.pending_bytes) == (0, 143_000)


def test_only_newlines_end_lines(write: Write) -> None:
    """U+2028, U+0085 and carriage returns inside strings do not split a record."""
    text = "a\u2028b\u0085c\x0b"
    content = ('{"type":"user","n":"' + text.replace("\x0b", "\\u000b") + '"}\r\n').encode()
    found, report = read(write(content))
    assert numbers(found) == [text]
    assert report.bad_line_count == 0


def test_nul_characters_and_lone_surrogates_are_replaced(write: Write) -> None:
    """Every string that is handed on can be encoded and stored."""
    content = rb'{"n":"a\u0000b","k\ud800":["\udc00x","\ud83d\ude00"]}' + b"\n"
    [(_, _, value)], report = read(write(content))
    assert value == {"n": "a\ufffdb", "k\ufffd": ["\ufffdx", "\U0001f600"]}
    assert report.bad_line_count == 0


def test_a_line_over_the_cap_is_skipped(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line longer than the cap is reported, and reading goes on behind it."""
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1_000_000)
    long = b'{"n":"' + b"x" * 5_000_000 + b'"}'
    found, report = read(write(A + b"\n" + long + b"\n" + B + b"\n"))
    assert numbers(found) == [1, 2]
    assert report.bad_line_count == 1


def test_lines_longer_than_a_block_are_joined(write: Write) -> None:
    """A line that spans several reads is whole, at its right offset."""
    text = "é" * 1_600_000
    content = A + b"\n" + ('{"n":"' + text + '"}').encode() + b"\n" + B + b"\n"
    found, _ = read(write(content))
    assert numbers(found) == [1, text, 2]
    assert content[found[2][0] : found[2][1]] == B


def test_a_missing_file_is_a_transcript_error(tmp_path: Path) -> None:
    """A file that cannot be opened raises the package's own error, at the first object."""
    with pytest.raises(TranscriptError, match="cannot be read"):
        list(lines.read_objects(tmp_path / "gone.jsonl", ReadReport()))


ROWS = [{"id": 1, "text": "first"}, {"id": 2, "text": "second"}]


def test_rendered_rows_are_read_as_the_lines_of_a_file(tmp_path: Path) -> None:
    """Objects, offsets, sizes and fingerprints are those of a file with the same lines."""
    rendered = Rendered.of(ROWS, tmp_path)
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b"".join(rendered.text()))
    plain = FileContent(file)
    reports = ReadReport(), ReadReport()
    assert list(objects_in(rendered.text(), reports[0])) == list(
        objects_in(plain.text(), reports[1])
    )
    assert reports[0] == reports[1]
    assert rendered.size == plain.size
    for length in (0, 7, plain.size):
        one, other = (take_fingerprint([each], length, b"key") for each in (rendered, plain))
        assert one == other
        assert rendered.read(3, length) == plain.read(3, length)


def test_what_may_still_change_is_not_settled(tmp_path: Path) -> None:
    """It stands behind what stays as it is."""
    rendered = Rendered.of([ROWS[0], {"type": CHANGING[0], **ROWS[1]}], tmp_path)
    assert rendered.finished == Rendered.of(ROWS[:1], tmp_path).size < rendered.size


def test_what_json_cannot_say_does_not_stop_a_line() -> None:
    """Lone surrogates and huge integers are replaced; no other row suffers."""
    line = contents.line_of({"text": "a\ud800b", "number": 1 << 70, "nested": [{"x": "\udfff"}]})
    assert json.loads(line) == {
        "text": "a\ufffdb",
        "number": str(1 << 70),
        "nested": [{"x": "\ufffd"}],
    }


def test_what_does_not_fit_into_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its path and the reason, and nothing of its text."""
    monkeypatch.setattr(contents, "MAX_RENDERED_BYTES", 20)
    with pytest.raises(DamagedTranscript, match="too large to be held in memory") as raised:
        Rendered.of(ROWS, tmp_path / "x.db")
    assert "second" not in str(raised.value)


@pytest.mark.parametrize("member", ["ses_20b5", "20250724_1", "a.b/c#d", "message$$call"])
def test_a_locator_names_container_and_member(tmp_path: Path, member: str) -> None:
    """Whatever characters either has; a path without a member is its own locator."""
    for path in (tmp_path / "opencode.db", tmp_path / "C#" / "x#y.db"):
        assert split_locator(locator_of(path, member)) == (str(path), member)
        assert split_locator(locator_of(path, "")) == (str(path), "")


def test_a_paths_own_sharp_is_no_member(tmp_path: Path) -> None:
    """Transcripts have a suffix, members have none."""
    for name in ("C#/session.jsonl", "a#b.jsonl", "a#b.jsonl.zst", "x#"):
        assert split_locator(str(tmp_path / name)) == (str(tmp_path / name), "")


def test_a_member_is_not_gone_while_its_container_is_there(tmp_path: Path) -> None:
    """Whether the session is in it, only the container can say."""
    database = tmp_path / "x.db"
    locator = locator_of(database, "ses_1")
    assert is_gone(locator)
    database.touch()
    assert not is_gone(locator)


MEGABYTE = 1 << 20


def fill(path: Path, lines: list[bytes], size: int) -> None:
    """Write copies of `lines`, with fresh ids, until the file has `size` bytes."""
    written = number = 0
    with path.open("wb") as file:
        while written < size:
            for line in lines:
                number += 1
                written += file.write(line.replace(b"@@@@@@@@", b"%08d" % number) + b"\n")


def peak_of_reading(path: Path, agent: str = "") -> tuple[int, ReadReport]:
    """Return the most bytes that were allocated at once while reading, and the report."""
    report = ReadReport()
    tracemalloc.start()
    for _ in read_session(path, source=source_of(path, agent), report=report):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, report


def claude_lines(claude: ClaudeLines) -> list[bytes]:
    """Return lines of a Claude Code session that can be repeated."""
    claude.user("run it")
    claude.calls("Bash", "toolu_@@@@@@@@", command="make")
    claude.result("toolu_@@@@@@@@", "x" * 4_000)
    claude.says("done")
    for number, line in enumerate(claude.lines):
        record = json.loads(line) | {"uuid": f"@@@@@@@@-{number}"}
        claude.lines[number] = json.dumps(record, separators=(",", ":")).encode()
    return claude.lines


def codex_lines(codex: CodexLines) -> list[bytes]:
    """Return lines of a Codex rollout that can be repeated."""
    codex.lines[0] = codex.lines[0].replace(b'"originator"', b'"spare":"@@@@@@@@","originator"')
    codex.prompt("run it @@@@@@@@")
    codex.item("function_call", name="shell", call_id="call_@@@@@@@@", arguments="{}")
    codex.item("function_call_output", call_id="call_@@@@@@@@", output="x" * 4_000)
    codex.says("done @@@@@@@@")
    return codex.lines


def pi_lines(pi: PiLines) -> list[bytes]:
    """Return lines of a Pi session that can be repeated."""
    pi.prompt("run it")
    call = {"type": "toolCall", "id": "t@@@@@@@@", "name": "bash", "arguments": {"command": "x"}}
    pi.message("assistant", [call])
    pi.message("toolResult", [{"type": "text", "text": "x" * 4_000}], toolCallId="t@@@@@@@@")
    for number, line in enumerate(pi.lines):
        entry = json.loads(line)
        own = {} if entry["type"] == "session" else {"id": f"{number}@@@@@@@@"}
        pi.lines[number] = json.dumps(entry | own, separators=(",", ":")).encode()
    return pi.lines


@pytest.mark.parametrize(
    ("builder", "agent", "lines_of"),
    [
        ("claude", "claude-code", claude_lines),
        pytest.param("codex", "codex", codex_lines, marks=pytest.mark.long),
        pytest.param("pi", "pi", pi_lines, marks=pytest.mark.long),
    ],
)
def test_memory_does_not_follow_the_size_of_the_file(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    builder: str,
    agent: str,
    lines_of: Callable[[Any], list[bytes]],
) -> None:
    """Of 12 MB, a few are held: blocks of one megabyte, and a mark for each record."""
    path, size = tmp_path / "long.jsonl", 12
    fill(path, lines_of(request.getfixturevalue(builder)), size * MEGABYTE)
    peak, report = peak_of_reading(path, agent)
    assert report.bytes_read >= size * MEGABYTE
    assert report.kept > 300 * size
    assert peak < 8 * MEGABYTE


def test_a_line_over_the_cap_is_never_held(tmp_path: Path) -> None:
    """A line of 150 MB is passed over in blocks, and what follows it is read."""
    path = tmp_path / "wide.jsonl"
    good = b'{"type":"user","uuid":"1","sessionId":"s","message":{"content":"hello"}}\n'
    with path.open("wb") as file:
        file.write(good)
        file.write(b'{"type":"user","x":"')
        for _ in range(150):
            file.write(b"x" * MEGABYTE)
        file.write(b'"}\n' + good.replace(b'"1"', b'"2"'))
    peak, report = peak_of_reading(path)
    assert report.prompts == 2
    assert report.bad_line_count == 1
    assert peak < 72 * MEGABYTE
