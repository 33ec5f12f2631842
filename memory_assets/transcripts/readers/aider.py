"""Aider: a text for each project, `.aider.chat.history.md`, below a directory that the user names.

The file is only appended to. `# aider chat started at <local time>` begins a run, which is a
session; lines that begin with `#### ` are the user's, `> ` the program's output, and all others the
model's answer, its edits included. There are no ids, and only a run has a time. Tokens, the model
and the files that were changed are taken from the program's output.

Two of the user's blocks are the program's: `/ask X`, `/code X` and `/architect X` are followed by X
as a block of its own, and in architect mode the answer is handed to the editing model as one
(`base_coder.py` and `architect_coder.py` of aider 0.86).

A run renders to its start, and a line for each block of such lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from memory_assets.models import MACHINE_PROMPT, Record, Tokens
from memory_assets.transcripts.authorship import PERSON, Origin
from memory_assets.transcripts.base import Source
from memory_assets.transcripts.databases import token_of
from memory_assets.transcripts.discovery import Walk
from memory_assets.transcripts.fields import text_field
from memory_assets.transcripts.json_documents import text_of
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import Call, Frame, Outcome
from memory_assets.transcripts.stored import (
    BESIDE,
    SESSION,
    ContainerReader,
    Member,
    StoredParser,
    deleted_error,
)
from memory_assets.transcripts.times import nanoseconds

_FILE = ".aider.chat.history.md"
_START = re.compile(r"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[^\n]*\n?", re.M)
_USER, _OUTPUT = re.compile(r"####(?: |$)"), re.compile(r">(?: |$)")
_TYPED = re.compile(r"^####(?: [^\n]*)?  $", re.M)
"""A line of the user as the program writes it, which tells it from a heading in an answer."""
_ASKING = re.compile(r"/(?:ask|code|architect)\s+(?=\S)")
"""Commands behind which a person asks for something."""
_THOUGHT = re.compile(
    r"(?:<think[^>\n]*>|-+\s+► \*\*THINKING\*\*)?(.*?)"
    r"^(?:</think[^>\n]*>\s*$|-+\s+► \*\*ANSWER\*\*)",
    re.DOTALL | re.MULTILINE,
)
"""What a model thought before its answer, as it marks it or as the program does."""
_CONFIRMED = re.compile(r"[^\n]*\(Y\)es/\(N\)o[^\n]*: \w*|<blank>")
"""An answer to a question of the program's; a line that was left empty."""
_MARKED = re.compile(r'Find the "AI" comments below[^\n]*(?:\n[^\n]+)*\n\n+')
"""What the program asks where a comment in a file ends in `AI!`; these lines follow."""
_SHORTEST_PLAN = 60
"""Characters: a person may well type what a shorter answer said."""
_MODEL = re.compile(r"(?:Main model|Model): (\S+)")
_EDITED = re.compile(r"Applied edit to (\S.*)")
_TOKENS = re.compile(r"Tokens: (\S{1,20}) sent, (?:[^\n]{0,200}, )?(\S{1,20}) received")
_FACTORS = {"k": 1_000, "M": 1_000_000}


_Block = tuple[str, str]
"""Whose it is, and its text."""


class _Run(NamedTuple):
    """A run of the program: its id, when it began (local time), its text, what stands before the
    first of its file, whether it is the last."""

    id: str
    start: str
    text: str
    before: str
    is_last: bool


class AiderParser(StoredParser):
    """The state of reading one run."""

    def _message(self, name: str, role: str, row: JsonObject) -> Outcome:
        place = f"{self._source.session_id}/{row.get('place')}"
        frame, text = self._frame(row, place), text_field(row, "text")
        if name == "user":
            return self._typed(text, frame)
        if name in ("command", "plan"):
            subtype = "local-command" if name == "command" else MACHINE_PROMPT
            return self._user_text(frame, text, Origin("machine", subtype))
        if name == "thought":
            return self._records(frame, "thinking", text)
        if name == "answer":
            return self._records(frame, "assistant_text", text)
        if name == "output":
            return self._output(text, frame)
        return self._unknown(name)

    def _typed(self, text: str, frame: Frame) -> list[Record]:
        is_command = text.startswith("/") and not _ASKING.match(text)
        if is_command or _CONFIRMED.fullmatch(text):
            return self._user_text(frame, text, Origin("machine", "local-command"))
        if text.startswith("!"):
            call = Call("shell", (), text[1:].strip())
            return [self._called(frame, "", call, text, role="user", subtype="user-shell")]
        records: list[Record] = []
        if marked := _MARKED.match(text):
            records = self._user_text(frame, marked.group().strip(), Origin("machine"))
            text = text[marked.end() :]
        return records + self._user_text(frame, text, PERSON)

    def _output(self, text: str, frame: Frame) -> list[Record]:
        """Return what the program printed: the files that it changed, and all of it."""
        if model := _MODEL.search(text):
            self._model = model.group(1)
        records: list[Record] = []
        for path in dict.fromkeys(name.strip() for name in _EDITED.findall(text)):
            records.append(self._called(frame, "", Call("edit", (path,)), f"path: {path}"))
        records += self._records(frame, "system", text, "local-command-output")
        counts = [tuple(map(_count, count)) for count in _TOKENS.findall(text)]
        sent, received = (sum(count[at] for count in counts) for at in (0, 1))
        with_tokens = self._with_tokens(records, frame, Tokens(sent, received))
        return with_tokens if isinstance(with_tokens, list) else records


class AiderReader(ContainerReader):
    """Reads Aider's histories."""

    agent = "aider"
    version = "3"
    session = AiderParser

    def containers(self, walk: Walk, root: Path) -> Iterator[Path]:
        """Yield the history of each directory, from this one down."""
        return (folder / _FILE for folder in walk.folders(root))

    def members_of(self, path: Path) -> Iterator[Member]:
        """Yield the runs in which the user wrote anything."""
        written = int(token_of(path).split(":")[1])
        for run in _runs(path):
            if any(kind == "user" for kind, _ in _blocks_of(run.text)):
                mtime_ns = written if run.is_last else nanoseconds(_moment(run.start))
                yield Member(run.id, str(path.parent), len(run.before + run.text), mtime_ns)

    def rows(self, source: Source) -> Iterator[JsonObject]:
        """Yield a run."""
        run = next((run for run in _runs(source.path) if run.id == source.member), None)
        if run is None:
            raise deleted_error(source.path)
        facts = {"id": run.id, "start": _moment(run.start), "cwd": str(source.path.parent)}
        yield {"type": SESSION, **facts}
        for place, (kind, text) in enumerate(_with_the_programs_own(_blocks_of(run.text))):
            yield {"type": kind, "place": place, "text": text}
        if run.before:
            yield {"type": BESIDE, "text": run.before}


def _runs(path: Path) -> list[_Run]:
    """Return the runs in a history. An id is made of the directory's name, the start, and the
    number among runs of one second."""
    before, *pieces = _START.split(text_of(path))
    runs: list[_Run] = []
    met: dict[str, int] = {}
    for start, body in zip(pieces[::2], pieces[1::2], strict=True):
        met[start] = met.get(start, 0) + 1
        own = uuid5(NAMESPACE_URL, f"aider:{path.parent.name}:{start}:{met[start]}")
        runs.append(_Run(str(own), start, body, "" if runs else before.strip(), False))
    return [*runs[:-1], *(run._replace(is_last=True) for run in runs[-1:])]


def _blocks_of(text: str) -> list[_Block]:
    """Return the blocks of a run, each with whose it is. Blank lines between them are nobody's, and
    part two texts of the user."""
    blocks: list[_Block] = []
    kind = ""
    lines: list[str] = []

    def end_block() -> None:
        if block := "\n".join(lines).strip():
            blocks.append((kind, block))
        lines.clear()

    written = text.split("\n")
    user = _TYPED if _TYPED.match(next(filter(_USER.match, written), "")) else _USER
    for line in written:
        line_kind, content = "answer", line
        if user.match(line):
            line_kind, content = "user", line[5:].rstrip()
        elif _OUTPUT.match(line):
            line_kind, content = "output", line[2:]
        if line_kind == "answer" and not line.strip() and kind != "answer":
            if kind == "user":
                end_block()
            continue
        if line_kind != kind:
            end_block()
        kind = line_kind
        lines.append(content)
    end_block()
    return blocks


def _with_the_programs_own(blocks: list[_Block]) -> Iterator[_Block]:
    """Yield the blocks; a command whose text follows as a block of its own is a `command`, the
    user's block that repeats the answer before it a `plan`, what comes before an answer's words a
    `thought`."""
    openings: set[str] = set()
    answered: set[str] = set()
    for place, (kind, text) in enumerate(blocks):
        lines = _lines(text)
        if kind == "user":
            asking = _ASKING.match(text)
            if asking and ("user", text[asking.end() :]) == (*blocks, ("", ""))[place + 1]:
                kind = "command"
            elif (
                len(text) > _SHORTEST_PLAN
                and lines[0] in openings
                and sum(map(answered.__contains__, lines)) > 0.9 * len(lines)
            ):
                kind = "plan"
            openings, answered = set(), set()
        else:  # lines of an answer that begin with `>` look like the program's
            answered.update(lines)
        if kind == "answer":
            openings.add(lines[0])
            if thought := _THOUGHT.match(text):
                yield "thought", thought.group(1).strip()
                text = text[thought.end() :].strip()
                openings.add(_lines(text)[0])
        yield kind, text


def _lines(text: str) -> list[str]:
    return [line for part in text.split("\n") if (line := part.lstrip("> ").strip())] or [text]


def _moment(start: str) -> str:
    """Return when a run began: its time is this machine's."""
    try:
        return datetime.fromisoformat(start).astimezone(UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def _count(shown: str) -> int:
    """Return a number as the program shows it ("2.1k")."""
    factor = _FACTORS.get(shown[-1], 1)
    try:
        return int(float(shown.rstrip("kM").replace(",", "")) * factor)
    except ValueError:
        return 0
