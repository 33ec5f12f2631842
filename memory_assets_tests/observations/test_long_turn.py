"""A turn of very many calls: what is observed of it takes a time in proportion to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from memory_assets.chunking import build_turns
from memory_assets.commits import session_work
from memory_assets.models import RedactedRecord
from memory_assets.observations import observe
from memory_assets.redacted_text import seal
from memory_assets.session_analysis import session_turns
from memory_assets_tests.proportion import in_proportion
from memory_assets_tests.redacted_sessions import redacted

_CALLS = (
    ("pytest tests/test_{n}.py", "FAILED tests/test_{n}.py::test_x - AssertionError: boom {n}"),
    ("sed -i s/a/b/ src/m{n}.py", ""),
    ("git commit -m 'change {n}'", "[main abc1234] change {n}\n 1 file changed"),
    ("make build{n}", "error: cannot build {n}"),
)


def _records(calls: int) -> Iterator[RedactedRecord]:
    """One turn, in which each result stands before its call, as in some files."""
    yield redacted("user", "prompt", "please do all of it")
    for number in range(calls):
        command, output = (text.format(n=number) for text in _CALLS[number % len(_CALLS)])
        call = redacted("assistant", "tool_use", f"command:\n{command}", seq=2 * number + 2)
        call = replace(
            call,
            record_uuid=f"c{number}",
            command=seal(command),
            tool_name=seal("Bash"),
            tool_use_id=f"t{number}",
        )
        yield replace(
            call,
            record_uuid=f"r{number}",
            seq=2 * number + 1,
            role="tool",
            kind="tool_result",
            text=seal(output),
            is_error=output[:1] in "Fe" and bool(output),
        )
        yield call


def _derive(calls: int) -> None:
    records = list(_records(calls))
    session = session_turns(records, list(build_turns(records)))
    list(observe(session))
    session_work(session)


def test_four_times_the_calls_take_about_four_times_as_long() -> None:
    """Errors that no later run ended were compared with all later ones: sixteen times."""
    assert in_proportion(_derive, 1_000)
