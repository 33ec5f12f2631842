"""A real repository at a simulated time, and sessions that work in it, as turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from memory_assets.chunking import build_turns
from memory_assets.commits import Claim, Repository, SessionWork, attribute, session_work
from memory_assets.models import Kind, RedactedRecord, Role
from memory_assets.redacted_text import seal
from memory_assets.session_analysis import session_turns
from memory_assets_tests.git_commands import git
from memory_assets_tests.redacted_sessions import START, redacted


@dataclass
class Workshop:
    """A repository and a clock."""

    root: Path
    now: datetime = START

    def git(self, *arguments: str, later: float = 0.0) -> str:
        """Run git, `later` seconds after what happened last."""
        self.now += timedelta(seconds=later)
        return git(self.root, *arguments, at=self.now)

    def save(self, path: str, *lines: str) -> Path:
        """Append lines to a file of the working tree."""
        full = self.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        with full.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        return full

    def commit(self, subject: str, later: float = 60.0) -> str:
        """The human commits everything."""
        self.git("add", "--all", later=later)
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD").strip()

    def repository(self) -> Repository:
        """What the code under test reads."""
        found = Repository.at(self.root)
        assert found is not None
        return found


@dataclass
class Session:
    """A session in the workshop, record by record."""

    shop: Workshop
    id: str
    records: list[RedactedRecord] = field(default_factory=list)

    def add(self, role: Role, kind: Kind, text: str, **more: object) -> Session:
        """Append a record at the shop's time."""
        place = len(self.records)
        own = {
            "project": "-shop",
            "project_root": seal(str(self.shop.root)),
            "session_id": self.id,
            "seq": place,
            "record_uuid": f"{self.id}-{place}",
            "byte_start": place * 100,
            "byte_end": place * 100 + 99,
            "timestamp": self.shop.now,
            "cwd": seal(str(self.shop.root)),
        }
        self.records.append(redacted(role, kind, text, **own | more))
        return self

    def prompt(self, text: str) -> Session:
        """The human types."""
        self.shop.now += timedelta(seconds=10)
        return self.add("user", "prompt", text)

    def run(self, command: str, output: str | Callable[[], str], *, error: bool = False) -> Session:
        """A shell command; `output` may do it, a second later."""
        self.shop.now += timedelta(seconds=10)
        more = {"tool_name": seal("Bash"), "tool_use_id": f"t{len(self.records)}"}
        self.add("assistant", "tool_use", f"command: {command}", command=seal(command), **more)
        self.shop.now += timedelta(seconds=1)
        told = output if isinstance(output, str) else output()
        self.shop.now += timedelta(seconds=1)
        return self.add("tool", "tool_result", told, command=seal(command), is_error=error, **more)

    def write(self, path: str, *lines: str, into: str | None = None) -> Session:
        """The session writes lines into a file, for real; `into` is the path as it names it."""
        self.shop.now += timedelta(seconds=10)
        full = self.shop.save(path, *lines)
        named = into or str(full)
        text = f"file_path: {named}\nold_string: x\nnew_string:\n" + "\n".join(lines)
        more = {"tool_name": seal("Edit"), "tool_use_id": f"t{len(self.records)}"}
        self.add("assistant", "tool_use", text, paths=(seal(named),), **more)
        return self.add("tool", "tool_result", "ok", paths=(seal(named),), **more)

    def commits(self, path: str, subject: str, *lines: str) -> str:
        """Write, add and commit; return the SHA."""
        self.write(path, *(lines or (f"def {subject.lower().replace(' ', '_')}(): pass",)))
        command = f'git add {path} && git commit -m "{subject}"'

        def act() -> str:
            self.shop.git("add", path)
            return self.shop.git("commit", "-m", subject)

        self.run(command, act)
        return self.shop.git("rev-parse", "HEAD").strip()

    def work(self) -> SessionWork:
        """What the session says of itself."""
        return session_work(session_turns(self.records, build_turns(self.records)))

    def claims(self, *, asked: bool = True) -> dict[str, Claim]:
        """The claims by commit (or pull request), with or without git's word."""
        found = attribute(self.work(), self.shop.repository() if asked else None)
        return {claim.sha or claim.pull_request: claim for claim in found}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    """A repository with one commit."""
    root = tmp_path / "shop"
    root.mkdir()
    made = Workshop(root)
    made.git("init", "--quiet", "--initial-branch=main")
    made.save("README.md", "# Shop", "All about ships and harbors.")
    made.commit("Begin")
    yield made


@pytest.fixture
def session(shop: Workshop) -> Session:
    """A session that was asked something."""
    return Session(shop, "0b7c1f52-8c1e-4b7d-9f32-6a1f0c9be741").prompt("Build the harbor please")


@pytest.fixture
def other(shop: Workshop) -> Session:
    """Another one."""
    return Session(shop, "5d2e9a10-27d5-4c38-b0e9-f14d2a7c5e60").prompt("Build the pier please")
