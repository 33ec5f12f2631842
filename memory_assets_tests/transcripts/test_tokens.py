"""The tokens that transcripts say answers took; `test_real_transcripts.py` has those that ccusage
counts in real ones."""

from __future__ import annotations

from typing import Any

from memory_assets.models import Record, Tokens
from memory_assets.transcripts.session import USAGE
from memory_assets_tests.transcripts.conftest import ClaudeLines, CodexLines, PiLines, Read


def _spent(records: list[Record]) -> Tokens:
    counts = [(*record.tokens, 0, 0, 0, 0, 0)[:5] for record in records]
    return Tokens(*map(sum, zip(*counts, strict=True)))


def _answers(lines: ClaudeLines, output: int, *, message: str, request: str = "r1") -> None:
    """Write a line of an answer, with what it had taken by then."""
    usage = {
        "input_tokens": 7,
        "output_tokens": output,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "cache_creation": {"ephemeral_1h_input_tokens": 5, "ephemeral_5m_input_tokens": 15},
    }
    record = lines.envelope(type="assistant", requestId=request)
    text = {"type": "text", "text": f"Line {len(lines.lines)}."}
    record["message"] = {"id": message, "role": "assistant", "content": [text], "usage": usage}
    lines.add(**record)


def test_an_answer_of_several_lines_counts_once_by_its_largest_count(
    claude: ClaudeLines, read: Read
) -> None:
    """Each line of Claude Code repeats the usage, as far as it is known by then."""
    claude.user("Go on.")
    for output in (1, 1, 40, 12):
        _answers(claude, output, message="m1")
    _answers(claude, 9, message="m2", request="r2")
    assert _spent(read(claude).records) == Tokens(14, 49, 200, 40, 10)


def test_a_side_chain_that_repeats_an_answer_adds_nothing(claude: ClaudeLines, read: Read) -> None:
    """A side question copies the conversation, with requests of its own."""
    claude.user("Go on.")
    _answers(claude, 3, message="m1")
    claude.sidechain = True
    _answers(claude, 3, message="m1", request="r9")
    _answers(claude, 4, message="m2", request="r9")
    assert _spent(read(claude).records).output == 7


def test_an_answer_without_text_is_counted(claude: ClaudeLines, read: Read) -> None:
    """Such as one of encrypted thinking alone."""
    claude.user("Go on.")
    record = claude.envelope(type="assistant", requestId="r1")
    usage = {"input_tokens": 3, "output_tokens": 5}
    block = {"type": "redacted_thinking", "data": "x"}
    record["message"] = {"id": "m", "role": "assistant", "content": [block], "usage": usage}
    claude.add(**record)
    found = read(claude)
    assert _spent(found.records) == Tokens(3, 5)
    assert [one.subtype for one in found.records if one.tokens] == [USAGE]


def test_counts_that_are_none_are_ignored(claude: ClaudeLines, read: Read) -> None:
    """Negative ones, texts, truth values of no count and numbers beyond any column."""
    claude.user("Go on.")
    for number, wrong in enumerate((-5, "many", 10**30, 2.5, None, [3], True)):
        record = claude.envelope(type="assistant", requestId=f"r{number}")
        usage: dict[str, Any] = {"input_tokens": wrong, "output_tokens": 1}
        content = [{"type": "text", "text": "Yes."}]
        message = {"id": f"m{number}", "role": "assistant", "content": content, "usage": usage}
        claude.add(**(record | {"message": message}))
    assert _spent(read(claude).records) == Tokens(0, 7)


def test_codex_counts_each_request_and_not_a_change_of_limits(
    codex: CodexLines, read: Read
) -> None:
    """Cached tokens are part of the input there; a count that is repeated is of nothing new."""
    codex.prompt("Go on.")
    for total, last in ((150, 150), (150, 150), (400, 250)):
        codex.says(f"Step {len(codex.lines)}.")
        codex.event("token_count", info=_info(total, last), rate_limits={})
    codex.event("token_count", info=None, rate_limits={})
    assert _spent(read(codex).records) == Tokens(200, 20, 200)


def _info(total: int, last: int) -> dict[str, Any]:
    def usage(given: int) -> dict[str, int]:
        return {"input_tokens": given, "cached_input_tokens": given // 2, "output_tokens": 10}

    return {"total_token_usage": usage(total), "last_token_usage": usage(last)}


def test_pi_says_what_each_message_took(pi: PiLines, read: Read) -> None:
    """In its own names."""
    pi.prompt("Go on.")
    usage = {"input": 5, "output": 6, "cacheRead": 70, "cacheWrite": 8, "totalTokens": 89}
    pi.message("assistant", [{"type": "text", "text": "Done."}], usage=usage)
    assert _spent(read(pi).records) == Tokens(5, 6, 70, 8)
