"""What of a turn is embedded, how it is labelled, where texts are cut, and that no word is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.chunking import (
    CHUNKER_VERSION,
    build_turns,
    chunk_turn,
    content_hash,
    prompt_passages,
)
from memory_assets.chunking.passages import MAX_CHARACTERS, split_passages
from memory_assets.chunking.printed import MAX_LINE, MAX_LINES, Whole
from memory_assets.embedding import load_word_pieces
from memory_assets.models import ABANDONED, Chunk, Turn
from memory_assets.redacted_text import RedactedText, seal
from memory_assets_tests.chunking.conftest import Script
from memory_assets_tests.sweep import sweep

PIECES = load_word_pieces()
LONG = "The retry never fired because the client closed the socket first. " * 40


def _turn(script: Script) -> Turn:
    (turn,) = build_turns(script.records)
    return turn


def _chunks(script: Any) -> list[Chunk]:
    return chunk_turn(_turn(script), PIECES)


def _text(script: Any) -> str:
    return "\n\n".join(chunk.text for chunk in _chunks(script))


def test_short_turn_is_one_chunk_with_the_turns_id(script: Script) -> None:
    """Prompt and answer stand together, without labels, as they read."""
    (chunk,) = _chunks(script.prompt("why is CI red?").says("The linker broke."))
    assert chunk.text == "why is CI red?\n\nThe linker broke."
    assert (chunk.id, chunk.turn_id, chunk.part) == (chunk.turn_id, "session::s1::turn::0", 0)
    assert (chunk.role, chunk.prompt_uuid) == ("turn", "main-0")
    assert chunk.chunker_version == CHUNKER_VERSION
    assert chunk.content_hash == content_hash("why is CI red?\n\nThe linker broke.")


def test_what_was_said_on_an_abandoned_branch_says_so(script: Script) -> None:
    """In the text that is searched and shown; the prompt itself is as it was typed."""
    script.prompt("use SQLite").says("We decided on SQLite.")
    script.records = [replace(record, subtype=ABANDONED) for record in script.records]
    (chunk,) = _chunks(script)
    assert chunk.text == (
        "[abandoned branch] use SQLite\n\n[abandoned branch] We decided on SQLite."
    )
    assert [prompt.text for prompt in prompt_passages(_turn(script), PIECES)] == ["use SQLite"]


def test_parts_of_a_long_turn_are_numbered(script: Script) -> None:
    """Part 0 has the turn's id, part k that id and `::part::k`."""
    chunks = _chunks(script.prompt("why?").says(LONG))
    assert len(chunks) > 2
    assert [chunk.id for chunk in chunks] == [
        "session::s1::turn::0",
        *(f"session::s1::turn::0::part::{k}" for k in range(1, len(chunks))),
    ]
    assert [chunk.part for chunk in chunks] == list(range(len(chunks)))


def test_role_says_whose_words_a_passage_holds(script: Script) -> None:
    """Only the prompt: user; only the assistant: assistant; both: turn."""
    roles = [chunk.role for chunk in _chunks(script.prompt(LONG).says(LONG))]
    assert roles[0] == "user"
    assert roles[-1] == "assistant"
    assert set(roles) <= {"user", "turn", "assistant"}


def test_prompt_uuid_is_on_the_one_passage_where_it_begins(script: Script) -> None:
    """After a long preamble that is not part 0; indented prompts count too."""
    script.says(LONG).prompt("   why?\n" + LONG).says(LONG)
    chunks = _chunks(script)
    holders = [chunk for chunk in chunks if chunk.prompt_uuid]
    assert len(holders) == 1
    assert "why?" in holders[0].text
    assert holders[0].part > 0


def test_turn_without_words_has_no_chunks(script: Script) -> None:
    """A prompt of white space, such as an image alone, gives no passage."""
    assert _chunks(script.prompt("  \n")) == []
    assert prompt_passages(_turn(script), PIECES) == []


def test_blocks_of_one_message_stand_together(script: Script) -> None:
    """Prose split over records by parallel tool calls is joined by its message id."""
    script.prompt("go").says("First half.", "m1").runs("make", "ok").says("Second half.", "m1")
    assert "First half.\n\nSecond half." in _text(script)


def test_what_is_not_said_is_left_out(script: Script) -> None:
    """No thinking, injected text, titles, summaries, attachments, nor tool output."""
    script.prompt("go").says("Done.")
    for kind in ("thinking", "system", "title", "summary", "attachment"):
        script.add(kind, f"hidden {kind}")
    script.runs("make test", "hidden output: 41 passed")
    assert "hidden" not in _text(script)


def test_digest_names_commands_changes_and_errors(script: Script) -> None:
    """One line a tool, one an error: what ran, what changed, what failed."""
    script.prompt("go").opens("Read", "/home/ada/app/README.md")
    script.opens("Edit", "/home/ada/app/src/a.py").opens("Edit", "/home/ada/app/src/b.py")
    script.runs("cd /home/ada/app && make test", "Exit code 2\ncc -c a.c\na.c:1: fatal error: x.h")
    script.runs("make lint", "Exit code 1\ncc -c\nfatal error: y.h\nmore", is_error=True)
    text = _text(script)
    assert "Edit: src/a.py, src/b.py" in text
    assert "Bash: make test, make lint" in text
    assert "Bash error: fatal error: y.h" in text
    assert text.index("Edit:") < text.index("Read: README.md")


def test_digest_is_quiet_about_the_agents_own_trouble(script: Script) -> None:
    """Refused permissions and unread files are no errors of the work."""
    script.prompt("go").runs("rm x", "This command requires approval", is_error=True)
    chunk = _chunks(script)[0]
    assert chunk.errors == ()
    assert "approval" not in chunk.text


@pytest.mark.parametrize(
    ("tool", "answer", "said", "is_error"),
    [
        (
            "AskUserQuestion",
            'User has answered your questions: "Which?"="Keep the cask". You can now continue.',
            '"Which?"="Keep the cask".',
            False,
        ),
        (
            "Bash",
            "The user doesn't want to proceed. To tell you how to proceed, the user said:\nuse uv",
            "use uv",
            True,
        ),
        (
            "AskUserQuestion",
            'Your questions have been answered: "Which server?"="the one under the stairs". '
            "You can continue with these in mind.",
            '"Which server?"="the one under the stairs".',
            False,
        ),
        (
            "request_user_input",
            '{"answers":{"server":{"answers":["the one under the stairs","user_note: not the loud '
            'one"]},"when":{"answers":["tonight"]}}}',
            '"the one under the stairs","user_note: not the loud one"\n"tonight"',
            False,
        ),
        (
            "ExitPlanMode",
            "The user doesn't want to proceed with this tool use. The tool use was rejected. To "
            "tell you how to proceed, the user said:\nnot to tape, to the cellar server",
            "not to tape, to the cellar server",
            True,
        ),
        (
            "Write",
            "The user doesn't want to proceed with this tool use (eg. no file was written). To "
            "tell you how to proceed, the user said:\nuse the old format",
            "use the old format",
            True,
        ),
        (
            "Edit",
            "The user doesn't want to proceed with this tool use. The tool use was rejected. The "
            "user provided the following reason for the rejection:  keep the captain's own words",
            "keep the captain's own words",
            True,
        ),
    ],
)
def test_answers_and_refusals_are_kept_in_each_agents_wording(
    script: Script, tool: str, answer: str, said: str, is_error: bool
) -> None:
    """The words around them are the agent's, and fall away."""
    script.prompt("Plan the archive").add("tool_result", answer, tool=tool, is_error=is_error)
    (chunk,) = _chunks(script)
    assert (chunk.text, chunk.role) == (f"Plan the archive\n\n{said}", "user")


def test_plan_put_to_the_human_is_prose(script: Script) -> None:
    """The plan an agent submits for approval is something it said."""
    script.prompt("go").add("tool_use", "plan:\n# Pin openssl\nThen rebuild.", tool="ExitPlanMode")
    assert _text(script) == "go\n\n# Pin openssl\nThen rebuild."


def test_facts_are_the_whole_turns_on_every_passage(script: Script) -> None:
    """A filter by tool or file finds the turn whichever passage answers."""
    script.prompt("go").opens("Edit", "/home/ada/app/src/a.py").says(LONG).runs("make")
    chunks = _chunks(script)
    assert len(chunks) > 2
    assert {chunk.tools_used for chunk in chunks} == {("Edit", "Bash")}
    assert {chunk.files for chunk in chunks} == {("src/a.py",)}
    assert {chunk.commands for chunk in chunks} == {("make",)}


def test_lists_are_capped_and_changed_files_come_first(script: Script) -> None:
    """A turn that read 300 files and ran 100 long commands stays small, its change in front."""
    script.prompt("go")
    for number in range(300):
        script.opens("Read", f"/home/ada/app/{number}.py")
    script.opens("Edit", "/home/ada/app/changed.py")
    for number in range(100):
        script.runs(f"echo {number} {'x' * 500}", f"error {number} {'x' * 500}", is_error=True)
    chunk = _chunks(script)[0]
    assert chunk.files[0] == "changed.py"
    assert (len(chunk.files), len(chunk.commands), len(chunk.errors)) == (100, 30, 20)
    assert max(map(len, chunk.commands)) <= 160
    assert max(map(len, chunk.errors)) <= 240


def test_span_of_records_and_time_is_the_turns(script: Script) -> None:
    """Seqs are of the main file; the end is the last record's time, subagents included."""
    script.prompt("one").says("a").prompt("two").says("helper", agent_id="x").says("b")
    first, second = build_turns(script.records)
    (chunk,) = chunk_turn(first, PIECES)
    assert (chunk.first_seq, chunk.last_seq) == (0, 1)
    (chunk,) = chunk_turn(second, PIECES)
    assert (chunk.first_seq, chunk.last_seq) == (2, 3)
    assert chunk.timestamp == second.records[0].timestamp
    assert chunk.ended_at == script.records[-1].timestamp


def test_user_prompts_hold_the_prompt_alone(script: Any) -> None:
    """In passages with ids `prompt::<session>::<turn>[::<n>]`."""
    script.prompt(LONG).says("Done.")
    prompts = prompt_passages(_turn(script), PIECES)
    assert len(prompts) > 1
    assert [prompt.id for prompt in prompts][:2] == ["prompt::s1::0", "prompt::s1::0::1"]
    assert " ".join(prompt.text for prompt in prompts).split() == LONG.split()
    assert {prompt.record_uuid for prompt in prompts} == {"main-0"}


def test_unredacted_text_is_refused(script: Script) -> None:
    """A record whose text is a plain string cannot become a chunk."""
    turn = _turn(script.prompt("go").says("Done."))
    plain = replace(turn.records[1], text=cast(RedactedText, "a plain string"))
    with pytest.raises(TypeError, match="RedactedText"):
        chunk_turn(replace(turn, records=(turn.records[0], plain)), PIECES)


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


LIMIT = 32

WORDS = st.one_of(
    st.sampled_from(["build", "linker", "`make`", "src/a.py:12", "—", "naïve", "日本語", "🙂"]),
    st.text(min_size=1, max_size=12),
    st.text(alphabet="abcXYZ019+/", min_size=90, max_size=260),
)
GAPS = st.sampled_from([" ", "\n", "\n\n", ". ", "\n```\n", "\t", "\n# "])
TEXTS = st.lists(st.tuples(WORDS, GAPS), max_size=80).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)


def _passages(text: str, limit: int = LIMIT, edges: tuple[int, ...] = ()) -> list[str]:
    return [text[start:end] for start, end in split_passages(text, PIECES, limit, edges)]


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_passages_are_within_the_limit_and_lose_nothing_but_white_space(text: str) -> None:
    """Whatever the text, counted by the real word pieces: they are disjoint, in order, not blank,
    and cover every character that is not white space."""
    spans = split_passages(text, PIECES, LIMIT)
    passages = [text[start:end] for start, end in spans]
    assert all(PIECES.count_tokens(passage) <= LIMIT for passage in passages)
    assert all(passage and passage == passage.strip() for passage in passages)
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    assert all(
        end <= start and not text[end:start].strip()
        for end, start in zip(ends, starts, strict=True)
    )


def test_short_text_is_one_passage() -> None:
    """Text within the limit is left whole; blank text gives none."""
    assert _passages("Pinned openssl.\n\nThe build is green.") == [
        "Pinned openssl.\n\nThe build is green."
    ]
    assert _passages(" \n ") == []


_STALE = "The cache was stale. " * 4
_GREEK = "alpha beta gamma delta " * 3
_FIX = "Here is the fix that worked for the flaky test in the suite."
_FENCED = "```python\nalpha = 1\n\nbeta = 2\ngamma = 3\ndelta = 4\n```"
_LINKER = "The linker could not find the library on the build machine. "


@sweep(
    "text, edges, first",
    [
        # An edge between blocks is preferred to a later line or sentence end, ...
        (_STALE + "Then the build passed. " * 6, (0, len(_STALE)), _STALE),
        # ... a blank line to a later line end, unless it stands within a fence, ...
        (_GREEK + "\n\n" + "one two three\n" * 12, (), _GREEK),
        (f"{_FIX}\n{_FENCED}\nDone.", (), _FIX),
        # ... and the end of a sentence to one of a word.
        (_LINKER * 6, (), _LINKER * 2),
    ],
)
def test_a_text_is_cut_where_it_is_best(text: str, edges: tuple[int, ...], first: str) -> None:
    """Its first passage ends there."""
    assert _passages(text, edges=edges)[0] == first.strip()


def test_a_run_of_letters_is_bounded() -> None:
    """It comes out whole; what counts as one word piece ends at the character cap."""
    for text, limit in (("aGVsbG8/d29ybGQ+" * 313, 256), ("x" * 10_000, LIMIT)):
        passages = _passages(text, limit)
        assert "".join(passages) == text
        assert all(PIECES.count_tokens(passage) <= limit for passage in passages)
        assert max(map(len, passages)) <= MAX_CHARACTERS


@pytest.mark.parametrize("limit", [8, 64, 256])
def test_limit_is_used_well(limit: int) -> None:
    """Plain prose fills passages to over half of the limit on average."""
    text = "We moved the retry into the client and the timeout went away. " * 80
    counts = [PIECES.count_tokens(passage) for passage in _passages(text, limit)]
    assert sum(counts) / len(counts) > limit / 2
