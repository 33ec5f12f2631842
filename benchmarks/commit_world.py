"""A git repository, a human and coding sessions at work in it at once, with the truth.

Every commit is made by git itself at a simulated time; the sessions' transcripts are Claude
Code's, with the output that git gave. The truth says of each commit which sessions stand
behind it, and of some that they may be named or not.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_WORD_LIST = (
    "anchor basket beacon bridge bucket buffer canvas carrier channel cluster compass counter "
    "depot drawer engine ferry filter fixture folder frame garden harbor header index inlet "
    "journal kernel ladder lantern ledger lever manifest marker meter mirror needle orchard "
    "packet panel parser patch pier planner pocket portal queue radar ramp record relay ribbon"
)
WORDS = _WORD_LIST.split()


@dataclass
class Session:
    """A transcript in the making; `branch` is where it works, `trailer` what it signs with."""

    id: str
    directory: Path
    branch: str
    trailer: str = ""
    lines: list[dict[str, object]] = field(default_factory=list)
    calls: int = 0

    def prompt(self, at: datetime, text: str) -> None:
        """The human asks."""
        self._record("user", at, text)

    def call(
        self, at: datetime, name: str, given: dict[str, str], output: str, seconds: float = 2.0
    ) -> None:
        """A tool call and its result."""
        self.calls += 1
        call_id = f"toolu_{self.calls:06d}"
        use = {"type": "tool_use", "id": call_id, "name": name, "input": given}
        self._record("assistant", at, [use])
        done = at + timedelta(seconds=seconds)
        result = {"type": "tool_result", "tool_use_id": call_id, "content": output}
        self._record("user", done, [result])

    def _record(self, role: str, at: datetime, content: object) -> None:
        self.lines.append(
            {
                "type": role,
                "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.id} {len(self.lines)}")),
                "parentUuid": None,
                "isSidechain": False,
                "sessionId": self.id,
                "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "cwd": str(self.directory),
                "gitBranch": self.branch,
                "version": "2.1.129",
                "message": {"role": role, "content": content, "id": f"msg_{len(self.lines)}"},
            }
        )

    def write(self, projects: Path) -> Path:
        """Write the transcript where Claude Code would."""
        path = projects / "-world" / f"{self.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        return path


class World:
    """The repository, its clock, and the truth: for each commit who `must` be named for it,
    and who `may`."""

    def __init__(self, root: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = START
        self.directory = root / "code" / "harbor"
        self.directory.mkdir(parents=True)
        self.home = root / "home"
        self.home.mkdir()
        self.sessions: list[Session] = []
        self.must: dict[str, set[str]] = {}
        self.may: dict[str, set[str]] = {}
        self.kinds: dict[str, str] = {}
        self.git("init", "--quiet", "--initial-branch=main")
        self.save("README.md", ["# Harbor", "A place for ships."])
        self.commit("Begin", set(), "human")

    def git(self, *arguments: str, given: str | None = None, author: datetime | None = None) -> str:
        """Run git at the simulated time and return what it printed."""
        moment = f"{int(self.now.timestamp())} +0000"
        authored = f"{int((author or self.now).timestamp())} +0000"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Mara",
            "GIT_AUTHOR_EMAIL": "mara@example.com",
            "GIT_COMMITTER_NAME": "Mara",
            "GIT_COMMITTER_EMAIL": "mara@example.com",
            "GIT_COMMITTER_DATE": moment,
            "GIT_EDITOR": "true",
        }
        if arguments[0] not in ("rebase", "cherry-pick"):
            environment["GIT_AUTHOR_DATE"] = authored
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.directory,
            env=environment,
            input=given,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def pass_time(self, seconds: float | None = None) -> datetime:
        """Let the clock run on."""
        self.now += timedelta(seconds=seconds or self.random.randint(20, 400))
        return self.now

    def head(self) -> str:
        """The commit that is checked out."""
        return self.git("rev-parse", "HEAD").strip()

    def truth(self, sha: str, must: set[str], kind: str, may: set[str] | None = None) -> None:
        """Note who stands behind a commit."""
        self.must[sha], self.may[sha], self.kinds[sha] = must, may or set(), kind

    def new_session(self, *, signs: bool = False) -> Session:
        """A session that works on a branch of its own or on main."""
        number = len(self.sessions)
        name = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        branch = "main" if self.random.random() < 0.5 else f"work-{number}"
        trailer = f"https://claude.ai/code/session_{name[:8]}{number:04d}" if signs else ""
        session = Session(name, self.directory, branch, trailer)
        self.sessions.append(session)
        self.switch(branch)
        session.prompt(self.pass_time(), f"Please work on the {self.word()} {self.word()}.")
        return session

    def switch(self, branch: str) -> None:
        """Check a branch out, a new one from main."""
        known = self.git("branch", "--list", branch)
        self.git("switch", "--quiet", *([branch] if known else ["-c", branch, "main"]))

    def word(self) -> str:
        """One of the words."""
        return self.random.choice(WORDS)

    def code(self, count: int) -> list[str]:
        """Lines that nobody wrote before."""
        return [
            f"def {self.word()}_{self.word()}_{self.random.randint(0, 10**6)}(): "
            f"return {self.random.randint(0, 10**6)}"
            for _ in range(count)
        ]

    def save(self, path: str, lines: list[str]) -> None:
        """Append lines to a file."""
        full = self.directory / path
        full.parent.mkdir(parents=True, exist_ok=True)
        with full.open("a") as file:
            file.write("".join(line + "\n" for line in lines))

    def new_path(self) -> str:
        """A file that nobody else works on."""
        return f"src/{self.word()}/{self.word()}_{self.random.randint(0, 10**6)}.py"

    def commit(self, subject: str, must: set[str], kind: str, may: set[str] | None = None) -> str:
        """The human commits all that lies there."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", subject)
        sha = self.head()
        self.truth(sha, must, kind, may)
        return sha

    def edit(self, session: Session, path: str, lines: list[str]) -> None:
        """The session writes lines into a file."""
        full = self.directory / path
        before = full.read_text().splitlines()[-1] if full.exists() else ""
        given = {"file_path": str(full)}
        if before:
            given |= {"old_string": before, "new_string": "\n".join([before, *lines])}
        else:
            given["content"] = "\n".join(lines)
        session.call(self.pass_time(), "Edit" if before else "Write", given, "done", 0.4)
        self.save(path, lines)

    def run(
        self, session: Session, command: str, act: Callable[[], str], seconds: float = 2.0
    ) -> None:
        """The session runs a command; `act` does it, a second after the call."""
        began = self.pass_time()
        self.now += timedelta(seconds=1)
        output = act()
        session.call(began, "Bash", {"command": command}, output, seconds)
        self.now += timedelta(seconds=seconds)

    def collide(self, subject: str) -> tuple[str, str]:
        """Make two commits whose SHAs begin with the same seven digits, children of HEAD, the
        second three days after the first; return both."""
        tree = self.git("rev-parse", "HEAD^{tree}").strip()
        parent = self.head()
        later = self.now + timedelta(days=3)

        def content(moment: datetime, number: int) -> bytes:
            stamp = f"Mara <mara@example.com> {int(moment.timestamp())} +0000"
            text = (
                f"tree {tree}\nparent {parent}\nauthor {stamp}\ncommitter {stamp}\n\n"
                f"{subject} {number}\n"
            )
            return text.encode()

        def sha(body: bytes) -> str:
            return hashlib.sha1(b"commit %d\0" % len(body) + body).hexdigest()

        seen = {sha(content(self.now, n))[:7]: n for n in range(40_000)}
        number = 0
        while (begin := sha(content(later, number))[:7]) not in seen:
            number += 1
        bodies = content(self.now, seen[begin]), content(later, number)
        first, second = (
            self.git("hash-object", "-t", "commit", "-w", "--stdin", given=body.decode()).strip()
            for body in bodies
        )
        for branch, made in (("first", first), ("second", second)):
            self.git("branch", f"{branch}-{first[:12]}", made)
        return first, second
