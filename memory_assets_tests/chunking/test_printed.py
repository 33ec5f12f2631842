"""Error lines of tool output and identifiers are kept beside the text, on the first passage."""

from __future__ import annotations

from memory_assets.chunking import build_turns, chunk_turn
from memory_assets.chunking.printed import MAX_LINE, MAX_LINES, Whole
from memory_assets.embedding import load_word_pieces
from memory_assets.models import Chunk
from memory_assets.redacted_text import seal
from memory_assets_tests.chunking.conftest import Script

PIECES = load_word_pieces()
LONG = "The retry never fired because the client closed the socket first. " * 40


def _chunks(script: Script) -> list[Chunk]:
    (turn,) = build_turns(script.records)
    return chunk_turn(turn, PIECES)


def test_lines_that_look_like_errors_are_kept_whether_the_call_failed_or_not(
    script: Script,
) -> None:
    """Each once, without what stands around them; short lines say nothing."""
    script.prompt("build it").says("It broke.")
    script.runs("make", "compiling a.c\n  a.c:3: error: expected ';'\nfatal\ndone", is_error=True)
    script.runs("make || true", "a.c:3: error: expected ';'\nld: cannot find -lfoo\n")
    (chunk,) = _chunks(script)
    assert chunk.error_lines == ("a.c:3: error: expected ';'", "ld: cannot find -lfoo")
    assert "cannot find" not in chunk.text


def test_contents_of_files_are_no_errors(script: Script) -> None:
    """They are source that speaks of errors, unless reading them failed."""
    script.prompt("read it").says("Read.")
    script.add("tool_result", "raise ValueError('not found')", tool="Read", paths=("a.py",))
    script.add("tool_result", "raise KeyError('not found')", tool="Edit", paths=("a.py",))
    script.add("tool_result", "EACCES: permission denied", tool="Read", is_error=True)
    (chunk,) = _chunks(script)
    assert chunk.error_lines == ("EACCES: permission denied",)


def test_a_turn_has_at_most_so_many_lines_of_at_most_so_many_characters(script: Script) -> None:
    """A log of a thousand errors is cut."""
    log = "\n".join(f"error {number}: {'x' * 500}" for number in range(1_000))
    (chunk,) = _chunks(script.prompt("run it").says("Run.").runs("make", log))
    assert len(chunk.error_lines) == MAX_LINES
    assert {len(line) for line in chunk.error_lines} == {MAX_LINE}


def test_whole_output_takes_the_place_of_its_head(script: Script) -> None:
    """Errors stand at the end of long output."""
    script.prompt("run it").says("Run.").runs("make", "compiling")
    (turn,) = build_turns(script.records)
    whole: Whole = {(None, script.records[-1].seq): seal("compiling\nmake: *** [all] Error 2")}
    (chunk,) = chunk_turn(turn, PIECES, whole_outputs=whole)
    assert chunk.error_lines == ("make: *** [all] Error 2",)


def test_identifiers_are_those_of_calls_and_error_lines(script: Script) -> None:
    """Names as code has them; not words, and not those of what was only looked for."""
    script.prompt("rename it").says("Renamed.")
    script.add("tool_use", "old: read_footer\nnew: readFooter(page)", tool="Edit", paths=("a.py",))
    script.add("tool_use", "pattern: lookedFor", tool="Grep")
    script.runs("tsc", "a.ts(1,2): error TS2345: Argument of type 'PageSize' is wrong")
    (chunk,) = _chunks(script)
    assert set(chunk.identifiers) == {"read_footer", "readFooter", "TS2345", "PageSize"}


def test_only_the_first_passage_has_them(script: Script) -> None:
    """They are the turn's, and are counted once."""
    script.prompt("why?").says(LONG).runs("make", "fatal: the socketPool is closed")
    first, *rest = _chunks(script)
    assert first.error_lines and first.identifiers
    assert rest and not any(chunk.error_lines or chunk.identifiers for chunk in rest)
