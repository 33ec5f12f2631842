"""Adversarial texts, and all that one record passes through, to measure that both are linear."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from memory_assets.chunking import build_turns, chunk_turn, prompt_passages
from memory_assets.commits import session_work
from memory_assets.embedding import WordPieces
from memory_assets.keywords import text_terms
from memory_assets.models import Record, RedactedRecord
from memory_assets.observations import observe
from memory_assets.redacted_text import seal
from memory_assets.redaction import Redactor
from memory_assets.serving.visible_text import visible
from memory_assets.session_analysis import session_turns
from memory_assets.session_analysis import shell as analysed_shell
from memory_assets.summaries import load_summarizer
from memory_assets.transcripts import read_session
from memory_assets_tests.records import record
from memory_assets_tests.redacted_sessions import redacted
from memory_assets_tests.transcript_files import source_of

UNITS = (
    *("a>b|", "a|", "a>b;", "echo a>b|", "|", "||", "&&", ";", ">", "<", "2>&1 ", ">(", "<("),
    *("a<<E\nx\nE\n", "a<<E|", "<<E ", "<<E\n", "cat <<'A'\n", "\nE", "tee .env<<E\n", "<<< "),
    *('"', "'", "\"'", "`", "`\\", '\\"', '\\\\"', '"$(', '"`', 'bash -c "', "sh -c '", "'\\''"),
    *("$(", "$( ", "$(a)", ")", "(", "[", "{", '{"', "[[", "${A:-", "A=$(x) ", "$(cat .env)"),
    *("\\", "\\\\", "\\n", "\\\\n", "\\u0041", "\\u", "\\x41", "a\\\n", "%41", "%25", "%2541"),
    *("QUJD", "UVVKRA==", "QUJDREVGR0hJSktM", "UVVKRFJFVkdSMGhKU2t0TQ==\n", "eyJhIjoiYiJ9.", "/"),
    *("A=1 ", "A=b\n", "export A=b;", "password=a1b2c3d4e5\n", "key=", "token: ", "=\n", "=="),
    *("a", " ", "\n", "\t", "\r", "0", "-", "_", "é", "你", "\u200b", "😀", ".", ",", "#", "@"),
    *("http://a:b@", "a@b ", "--token ", "-p x ", "curl -H 'a: ", "cookie: a=", "Bearer a", "AKIA"),
    *("H4sIa1B2c3D4e5F6g7H8i9J0\n", "xxd\n000010: 6161 ", '"secrets":[{"value":"x"', 'k="a" + '),
    *("| a ", "|--", "| token |\n|--|\n| a1 |\n", "insert into a values ('a1'),", "-----BEGIN "),
    *("kind: Secret\ndata:\n", "KEY-----", "<redacted:x:0123456789ab>", "<redacted-", "$argon2id$"),
    *("\x1b[0m", "\x1b[31ma", "\x1b]", "C:\\", "/home/alice/a ", "\\\\wsl$\\", "~/", "../"),
    *(
        "*** Update File: .env\n",
        "*** Begin Patch\n",
        "diff --git a/.env b/.env\n",
        "@@ -1 +1 @@\n",
    ),
    *(
        "--- a/.env\n+++ b/.env\n@@\n-a\n",
        "+++ ",
        ".env:1:x\n",
        ".env-1-",
        ".env\n",
        "x/.env\n1:a\n",
    ),
    *(
        "cat .env;",
        "pass x|",
        "X=$(pass x);",
        "op -a ",
        "xargs op ",
        "sudo -u a ",
        "docker exec a ",
    ),
    *(
        'tools.exec_command({cmd: "cat .env"})',
        "git commit -m 'a';",
        "[main abc1234] a\n",
        "fixed ",
    ),
    *(
        "Error: a\n",
        "FAILED a::b\n",
        "Traceback (most recent call last):\n",
        "a.py:1: ",
        "1. ",
        "- ",
    ),
    *(
        "```\n",
        "**a** ",
        "[a](b) ",
        "<a>",
        "</recalled-memory",
        "<recalled-memory v1>",
        "http://a/",
    ),
)
"""What texts are made of by repetition: whatever begins something in some grammar."""


@dataclass(frozen=True)
class Shape:
    """A text of any length: a head, then parts that are repeated one after the other, a tail."""

    head: str
    repeated: tuple[str, ...]
    tail: str

    def text(self, length: int) -> str:
        """Return about so many characters of it."""
        share = length // len(self.repeated)
        middle = "".join(unit * (share // len(unit)) for unit in self.repeated)
        return f"{self.head}{middle}{self.tail}"


def shapes(count: int, seed: int) -> Iterator[Shape]:
    """Yield each unit alone, then random combinations: several in turn, one after the other,
    between a beginning and an end of other kinds."""
    for unit in UNITS:
        yield Shape("", (unit,), "")
    draw = random.Random(seed)
    for _ in range(count):
        first, second, third = draw.sample(UNITS, 3)
        yield draw.choice(
            (
                Shape("", (first + second,), ""),
                Shape(first, (second,), third),
                Shape("", (first, second), ""),
                Shape(first, (second + third,), first),
                Shape("", (first, second + third), ""),
            )
        )


_WORTH_COMPARING = 0.1
"""CPU seconds up to which a text is fast, however it compares with a shorter one."""


def growth(step: Callable[[str], float], shape: Shape, length: int) -> float:
    """Return how many times as long four times `length` takes; 1 if it is fast. The least of
    several runs counts, because others use the machine; and where it is steep, the less steep of
    this and the next four times, because a length from which on more is done is no slope."""
    longer = step(shape.text(4 * length))
    if longer <= _WORTH_COMPARING:
        return 1.0
    shorter = min(step(shape.text(length)) for _ in range(2))
    for _ in range(3):
        if longer <= 7 * shorter:
            break
        longer = min(longer, step(shape.text(4 * length)))
        shorter = max(shorter, step(shape.text(length)))
    times = longer / shorter
    return times if times <= 7 else min(times, step(shape.text(16 * length)) / longer)


CALL = record(
    timestamp=datetime(2026, 1, 1, tzinfo=UTC),
    role="assistant",
    kind="tool_use",
    tool_name="Bash",
    tool_use_id="t1",
    cwd="/srv/app",
)
RECORDS: dict[str, Callable[[str], Record]] = {
    "command": lambda text: replace(CALL, text=f"command:\n{text}", command=text),
    "command into a file": lambda text: replace(
        CALL, text=f"command:\n{text}", command=f"{text} > .env"
    ),
    "code that runs commands": lambda text: replace(
        CALL, text=(code := f'tools.exec_command({{cmd: "{text}"}}) .env > x'), command=code
    ),
    "output": lambda text: replace(
        CALL, role="tool", kind="tool_result", text=text, command="grep -r a . ; cat .env.example"
    ),
    "output of it": lambda text: replace(
        CALL, role="tool", kind="tool_result", text="done with .env", command=text
    ),
    "prompt": lambda text: replace(CALL, role="user", kind="prompt", tool_name="", text=text),
    "answer": lambda text: replace(CALL, kind="assistant_text", tool_name="", text=text),
}


class Stages:
    """The steps that a record passes through, as functions of a text."""

    def __init__(self, redactor: Redactor, tokens: WordPieces, directory: Path) -> None:
        self._redactor = redactor
        self._tokens = tokens
        self._file = directory / "00000000-0000-4000-8000-000000000001.jsonl"
        self._summarizer = load_summarizer()

    def steps(self) -> dict[str, Callable[[str], float]]:
        """Return by name what measures the CPU seconds of a step."""
        redacting = {
            f"redact: {kind}": lambda text, kind=kind: self._redact(kind, text) for kind in RECORDS
        }
        deriving = {
            f"derive: {kind}": lambda text, kind=kind: self._derive(kind, text)
            for kind in ("command", "output", "prompt", "answer")
        }
        return {"read: json": self._read, **redacting, **deriving}

    def _redact(self, kind: str, text: str) -> float:
        record = RECORDS[kind](text)
        session = self._redactor.session("s")
        begin = time.thread_time()
        session.propagate(session.redact_record(record, project="p", project_root="/srv"))
        return time.thread_time() - begin

    def _derive(self, kind: str, text: str) -> float:
        """Measure what is made of a record, as if nothing in it had been redacted."""
        analysed_shell.forget_segments()
        given = RECORDS[kind](text)
        records = [
            redacted("user", "prompt", "fix it"),
            _as_it_is(given, seq=1),
            _as_it_is(replace(given, role="tool", kind="tool_result"), seq=2),
        ]
        begin = time.thread_time()
        turns = list(build_turns(records))
        for turn in turns:
            passages = [row.text for row in chunk_turn(turn, self._tokens)]
            passages += [row.text for row in prompt_passages(turn, self._tokens)]
            for passage in passages:
                list(text_terms(visible(passage)))
        whole = session_turns(records, turns)
        self._summarizer.summarize(whole)
        observe(whole)
        session_work(whole)
        return time.thread_time() - begin

    def _read(self, text: str) -> float:
        line = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user"}}
        line["message"]["content"] = [{"type": "text", "text": text}]  # type: ignore[index]
        self._file.write_text(f"{json.dumps(line)}\n{text}\n", encoding="utf-8")
        begin = time.thread_time()
        list(read_session(self._file, source=source_of(self._file)))
        return time.thread_time() - begin


def _as_it_is(record: Record, seq: int) -> RedactedRecord:
    return redacted(
        record.role,
        record.kind,
        record.text,
        seq=seq,
        record_uuid=f"u{seq}",
        command=seal(record.command),
        tool_name=seal(record.tool_name),
        tool_use_id=record.tool_use_id,
        is_error=record.kind == "tool_result",
    )
