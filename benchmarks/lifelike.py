"""Transcripts like those of agents at work, in any amount, the same for the same seed.

    python benchmarks/lifelike.py DIR [--megabytes 100] [--sessions 1000] [--projects 30]

Three of four sessions are Claude Code's, the rest Codex's and Pi's, in the shapes that the
sample's builders write. Sizes of sessions and projects are skewed as real ones are: most
are small, a few are large. Three quarters of the bytes are tool calls and their results.
All words are ours, drawn from lists; a few sessions show a made-up secret.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "data" / "sample"))

from generator.claude import ClaudeSession
from generator.codex import CodexSession
from generator.pi import PiSession

Session = ClaudeSession | CodexSession | PiSession
_NOUN_LIST = (
    "account anchor archive basket batch beacon branch bridge bucket buffer bundle cache canvas "
    "carrier cartridge catalog channel circuit cluster column compass counter courier crate "
    "cursor curve deck depot digest dock drawer engine envelope ferry filter fixture flag folder "
    "forge frame garden gateway glacier grid harbor hatch header hedge hinge index inlet invoice "
    "journal kernel kiln ladder lantern ledger lever lighthouse locker loom manifest marker "
    "meadow meter mill mirror needle notebook orchard outlet oven packet paddle panel parser "
    "patch pebble pier pipeline planner platform pocket portal prism pulley queue quarry rack "
    "radar ramp record reef registry relay render report ribbon river router saddle sample "
    "scheduler schema shelf shutter signal slot socket spindle spool stable stencil stream "
    "summit switch table tackle tariff thread ticket tide timber token tower track trigger "
    "tunnel turbine valley valve vault vendor vessel wagon warehouse weather widget window"
)
_VERB_LIST = (
    "add apply attach build cancel check clear close collect commit compare compute connect copy "
    "count create decode delete detach drain drop encode expand fetch filter find flush format "
    "gather handle join keep load lock log merge move normalise open parse pause poll prune push "
    "queue read rebuild reduce refresh reject release remove rename replace reset resolve retry "
    "rotate save scan schedule send skip sort split start stop store strip swap trim update "
    "validate verify wait warn wrap write"
)
_NOUNS, _VERBS = _NOUN_LIST.split(), _VERB_LIST.split()
_EXTENSIONS = ("py", "ts", "go", "rs", "sql", "md", "yaml", "toml", "json", "css")
_POOL = 12_000
_DAY = datetime(2026, 3, 2, 8, tzinfo=UTC)


class Writer:
    """Draws texts of each genre; lines come from pools made once, texts are never the same."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        makers: dict[str, Callable[[], str]] = {
            "prose": self._sentence,
            "code": self._code,
            "log": self._log_line,
            "listing": self._listing,
            "found": lambda: f"{self.path()}:{self.random.randrange(1, 900)}:{self._code()}",
            "tests": self._test_line,
            "data": self._data,
        }
        self._pools = {name: [make() for _ in range(_POOL)] for name, make in makers.items()}

    def noun(self) -> str:
        """One noun."""
        return self.random.choice(_NOUNS)

    def name(self) -> str:
        """An identifier."""
        return f"{self.random.choice(_VERBS)}_{self.noun()}"

    def path(self) -> str:
        """A relative path."""
        return f"src/{self.noun()}/{self.noun()}_{self.noun()}.{self.random.choice(_EXTENSIONS)}"

    def text(self, genre: str, size: int) -> str:
        """About `size` characters of a genre."""
        pool = self._pools[genre]
        width = sum(map(len, pool[:200])) / 200 + 1
        lines = self.random.choices(pool, k=max(1, round(size / width)))
        if genre == "prose":
            for at in range(6, len(lines), 7):
                lines[at] += "\n\n"
            return " ".join(lines)
        return "\n".join(lines)

    def sized(self, median: int, most: int = 30_000) -> int:
        """A size: half of them below the median, a few much above."""
        return min(most, int(self.random.lognormvariate(0, 1.1) * median) + 20)

    def _sentence(self) -> str:
        draw, noun = self.random.choice, self.noun
        shapes = (
            f"The {noun()} {noun()} should {draw(_VERBS)} each {noun()} before {noun()}s do.",
            f"I will {draw(_VERBS)} the {noun()} in `{self.path()}` and {draw(_VERBS)} it again.",
            f"`{self.name()}` returns an empty {noun()} when the {noun()} has no {noun()}.",
            f"That is why the {noun()} waits: nobody asks the {noun()} to {draw(_VERBS)}.",
            f"Can you {draw(_VERBS)} the {noun()} so that it does not {draw(_VERBS)}?",
            f"All {self.random.randrange(3, 400)} tests pass now; the {noun()} stays as it was.",
        )
        return draw(shapes)

    def _code(self) -> str:
        draw, noun, name = self.random.choice, self.noun, self.name
        indent, number = "    " * self.random.randrange(4), self.random.randrange(99)
        shapes = (
            f"{indent}def {name()}({noun()}: str, size: int = {number}) -> None:",
            f"{indent}{noun()} = self.{name()}({noun()}.{noun()}, values[{number}])",
            f'{indent}if {noun()} is None: raise ValueError("no {noun()} for {noun()}")',
            f"{indent}return {{key: {name()}(value) for key, value in {noun()}.items()}}",
            f"{indent}from {noun()}.{noun()} import {name()}, {name()}",
            f"{indent}const key = await {noun()}.{draw(_VERBS)}({noun()}.id, {{ limit: 20 }});",
            f"{indent}# {self._sentence()}",
            f'{indent}assert {name()}("{noun()}-{self._hex(8)}") == {noun()}',
            "",
        )
        return draw(shapes)

    def _log_line(self) -> str:
        moment, noun = _DAY + timedelta(seconds=self.random.randrange(10_000_000)), self.noun
        level = self.random.choice(("INFO", "DEBUG", "WARNING", "ERROR"))
        number = self.random.randrange(100_000)
        return (
            f"{moment:%Y-%m-%dT%H:%M:%S}.{number % 1000:03d}Z {level:7} {noun()}.{noun()} "
            f"{self.name()} id={uuid.UUID(int=self.random.getrandbits(128))} ms={number / 7:.1f}"
        )

    def _listing(self) -> str:
        size = self.random.randrange(40, 90_000)
        when = f"Mar {size % 28 + 1:2d} 10:{size % 60:02d}"
        return f"-rw-r--r-- 1 mara staff {size:7d} {when} {self.path()}"

    def _test_line(self) -> str:
        outcome = self.random.choice(("PASSED", "PASSED", "PASSED", "FAILED", "SKIPPED"))
        return f"tests/test_{self.noun()}.py::test_{self.name()}_{self.noun()} {outcome}"

    def _data(self) -> str:
        return (
            f'  {{"{self.noun()}_id": {self.random.randrange(10**6)}, "{self.noun()}": '
            f'"{self._hex(32)}", "url": "https://{self.noun()}.example/{self.noun()}/{self.noun()}"}},'
        )

    def _hex(self, count: int) -> str:
        return f"{self.random.getrandbits(4 * count):0{count}x}"


def secret(label: str) -> str:
    """A made-up token with the shape of a vendor's, of its own for each label."""
    return "gh" + "p_" + hashlib.sha256(label.encode()).hexdigest()[:36]


def _exchange(writer: Writer, session: Session, cwd: str, shown: str) -> None:
    """One step of an agent: a tool call with its result."""
    draw = writer.random.random()
    path, thought = writer.path(), writer.text("prose", writer.sized(500, 6_000))
    if isinstance(session, CodexSession):
        genre = writer.random.choice(("code", "log", "found", "tests", "listing", "data"))
        if draw < 0.15:
            session.patch(f"{cwd}/{path}", "@@\n+" + writer.text("code", 400).replace("\n", "\n+"))
        else:
            session.run(f"sed -n 1,200p {path}{shown}", writer.text(genre, writer.sized(1_900)))
        if draw > 0.7:
            session.say(writer.text("prose", 200))
        return
    think, say = (thought if draw < 0.5 else ""), (thought[:180] if draw > 0.6 else "")
    if isinstance(session, PiSession):
        genre = writer.random.choice(("code", "log", "found", "tests", "data"))
        result = writer.text(genre, writer.sized(1_700))
        session.call("bash", {"command": f"rg {writer.noun()} {path}{shown}"}, result, think=think)
    elif draw < 0.35:
        content = writer.text("code", writer.sized(2_600, 7_500))
        facts = {"type": "text", "file": {"filePath": f"{cwd}/{path}", "content": content}}
        session.call("Read", {"file_path": f"{cwd}/{path}"}, content, facts=facts, think=think)
    elif draw < 0.55:
        old, new = (writer.text("code", writer.sized(300, 4_000)) for _ in range(2))
        session.edit(f"{cwd}/{path}", old, new, say=say)
    elif draw < 0.6:
        session.write(f"{cwd}/{path}", writer.text("code", writer.sized(1_800, 8_000)))
    else:
        genre = writer.random.choice(("log", "found", "tests", "listing", "data"))
        output = writer.text(genre, writer.sized(1_500))
        session.bash(f"make {writer.name()}{shown}", output, say=say, error=draw > 0.95)


def _fill(writer: Writer, session: Session, cwd: str, size: int, shown: str) -> None:
    """Add turns until the session has about `size` bytes."""
    written = done = 0
    while written < size:
        session.prompt(writer.text("prose", writer.sized(220, min(4_000, size // 4 + 20))))
        for _ in range(writer.random.randrange(2, 14)):
            _exchange(writer, session, cwd, shown)
            shown = ""
            written += sum(map(len, session.lines[done:]))
            done = len(session.lines)
            if written >= size:
                break
        report = writer.text("prose", writer.sized(700, 5_000))
        if isinstance(session, CodexSession):
            session.say(report, final=True)
        else:
            session.say(report)


def sessions(
    seed: int, total_bytes: int, count: int, projects: int
) -> Iterator[tuple[str, list[str]]]:
    """Yield path and lines of each session; together they have about `total_bytes`."""
    writer = Writer(seed)
    draw = writer.random
    names = [f"/home/mara/work/{writer.noun()}-{writer.noun()}-{n}" for n in range(projects)]
    weights = [1 / (rank + 3) for rank in range(projects)]
    shares = [draw.lognormvariate(0, 1.4) for _ in range(count)]
    scale = total_bytes / sum(shares)
    for number, share in enumerate(shares):
        cwd = names[number] if number < projects else draw.choices(names, weights)[0]
        session_id = str(uuid.UUID(int=draw.getrandbits(128), version=4))
        now = _DAY + timedelta(minutes=13 * number)
        agent = draw.choices(("claude", "codex", "pi"), (75, 15, 10))[0]
        session: Session
        if agent == "claude":
            session = ClaudeSession(session_id, cwd, "2.1.129", "main", now)
        elif agent == "codex":
            session = CodexSession(session_id, cwd, "0.98.0", "main", session_id[:8] * 5, now)
        else:
            session = PiSession(session_id, cwd, now)
        token = f" # GITHUB_TOKEN={secret(session_id)}" if number % 100 == 7 else ""
        _fill(writer, session, cwd, int(share * scale * 0.94), token)
        yield session.path, session.lines


def generate(directory: Path, seed: int, total_bytes: int, count: int, projects: int) -> int:
    """Write the sessions below `directory` and return their bytes."""
    written = 0
    for path, lines in sessions(seed, total_bytes, count, projects):
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        written += target.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return written


def main() -> None:
    """Write transcripts into a directory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--projects", type=int, default=30)
    given = parser.parse_args()
    total = int(given.megabytes * 1e6)
    written = generate(given.directory, given.seed, total, given.sessions, given.projects)
    print(f"{written / 1e6:.1f} MB in {given.sessions} sessions of {given.projects} projects")


if __name__ == "__main__":
    main()
