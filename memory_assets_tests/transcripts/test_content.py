"""What lines are read from: files, and sessions that are rendered in memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_assets.errors import DamagedTranscript
from memory_assets.paths import is_gone, locator_of, split_locator
from memory_assets.transcripts import content as contents
from memory_assets.transcripts import take_fingerprint
from memory_assets.transcripts.base import ReadReport
from memory_assets.transcripts.content import FileContent, Rendered
from memory_assets.transcripts.lines import objects_in

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
    rendered = Rendered.of([ROWS[0], None, ROWS[1]], tmp_path)
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
