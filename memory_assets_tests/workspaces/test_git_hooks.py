"""Hooks that index after a pull and a switch of branch, and leave Git and other hooks alone."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from memory_assets_tests.command_line import run_here, run_program
from memory_assets_tests.workspaces.conftest import write

_OTHER = b"#!/bin/bash -eu\necho other hook >> other.txt\nexit 3\n"


class Checkout:
    """A clone with `origin` beside it, and a memory. `nohup` notes what it has run, and with which
    exit code, in `ended`."""

    def __init__(self, directory: Path) -> None:
        self.origin, self.clone = directory / "origin", directory / "a clone"
        self.hooks = self.clone / ".git" / "hooks"
        self.ended = directory / "ended"
        stub = directory / "bin" / "nohup"
        note = f'"$@"; echo "$? $*" >> {shlex.quote(str(self.ended))}\n'
        write(stub.parent, {"nohup": f"#!/bin/sh\n{note}"})
        stub.chmod(0o755)
        self.memory = {"MEMORY_DATA_DIR": str(directory / "data"), "MEMORY_EMBEDDER": "none"}
        self.environment = {
            **os.environ,
            **self.memory,
            "PATH": f"{stub.parent}:{os.environ['PATH']}",
            "GIT_CONFIG_GLOBAL": os.devnull,
            **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "mara"),
            **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "mara@example.com"),
        }
        self.git("init", "--quiet", "--initial-branch=main", str(self.origin), of=directory)
        self.commit({"README.md": "# Harbor\n\nThe first text.\n"})
        self.git("clone", "--quiet", str(self.origin), str(self.clone), of=directory)

    def git(self, *arguments: str, of: Path | None = None) -> str:
        """Run git in the clone; it must succeed. Return what it printed."""
        command = ["git", "-C", str(of or self.clone), *arguments]
        done = run_program(command, env=self.environment)
        return done.stdout + done.stderr

    def commit(self, files: dict[str, str | bytes]) -> None:
        """Commit files in `origin`."""
        write(self.origin, files)
        self.git("add", "--all", of=self.origin)
        self.git("commit", "--quiet", "--message=x", of=self.origin)

    def hook(self, name: str, *arguments: str, inside: Path | None = None) -> int:
        """Run a hook as Git does, wait for what it starts, and return its exit code."""
        code = f"trap wait EXIT; . {shlex.quote(str(self.hooks / name))}"
        command = ["sh", "-c", code, str(self.hooks / name), *arguments]
        return subprocess.run(command, cwd=inside or self.clone, env=self.environment).returncode

    def install(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `memory install-hooks` for the clone."""
        return run_here(self.memory, "install-hooks", str(self.clone), *arguments)

    def ends(self) -> list[str]:
        """What has been run so far, a line each."""
        return self.ended.read_text().splitlines() if self.ended.exists() else []

    def wait_for(self, runs: int) -> list[str]:
        """Wait until so many runs have ended; return their lines."""
        deadline = time.monotonic() + 60
        while len(self.ends()) < runs:
            assert time.monotonic() < deadline, "nothing was indexed"
            time.sleep(0.1)
        return self.ends()

    def found(self, words: str) -> str:
        """What a search of documents prints."""
        return run_here(self.memory, "search", "--in", "workspace", words).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A fresh clone without hooks of ours."""
    return Checkout(tmp_path)


def test_a_pull_and_a_switch_of_branch_are_indexed(checkout: Checkout) -> None:
    """By Git itself, which prints nothing of it."""
    checkout.git("checkout", "--quiet", "-b", "ropes", of=checkout.origin)
    checkout.commit({"ropes.md": "# Ropes\n\nA bowline does not slip.\n"})
    checkout.git("checkout", "--quiet", "main", of=checkout.origin)
    assert checkout.install().returncode == 0
    checkout.commit({"docs/tides.md": "# Tides\n\nThe spring tide floods the quay.\n"})
    assert "nohup" not in checkout.git("pull")
    assert [line.split()[0] for line in checkout.wait_for(1)] == ["0"]
    assert "docs/tides.md" in checkout.found("spring tide")
    checkout.git("checkout", "--quiet", "ropes")
    assert [line.split()[0] for line in checkout.wait_for(2)] == ["0", "0"]
    assert "ropes.md" in checkout.found("bowline")
    assert "docs/tides.md" not in checkout.found("spring tide")


def test_only_a_pull_and_a_switch_of_branch_of_this_checkout_start_it(checkout: Checkout) -> None:
    """Not a checkout of files, and no hook that another checkout shares."""
    assert checkout.install().returncode == 0
    write(checkout.ended.parent / "bin", {"nohup": f"#!/bin/sh\necho $3 >> {checkout.ended}\n"})
    assert checkout.hook("post-checkout", "a", "b", "0") == 0
    assert checkout.hook("post-checkout", "a", "b", "1", inside=checkout.origin) == 0
    assert checkout.ends() == []
    assert checkout.hook("post-checkout", "a", "b", "1") == 0
    assert checkout.hook("post-merge", "0") == 0
    assert len(checkout.ends()) == 2


def test_hooks_that_exist_are_kept(checkout: Checkout) -> None:
    """They run with their exit code; without ours they are what they were, to the byte."""
    post_merge = checkout.hooks / "post-merge"
    post_merge.write_bytes(_OTHER)
    post_merge.chmod(0o750)
    assert checkout.install().returncode == checkout.install().returncode == 0
    assert post_merge.read_bytes().count(b"memory") == (
        (checkout.hooks / "post-checkout").read_bytes().count(b"memory")
    )
    write(checkout.ended.parent / "bin", {"nohup": f"#!/bin/sh\necho $3 >> {checkout.ended}\n"})
    assert checkout.hook("post-merge", "0") == 3
    assert (checkout.clone / "other.txt").read_text() == "other hook\n"
    assert len(checkout.ends()) == 1
    assert checkout.install("--uninstall").returncode == 0
    assert post_merge.read_bytes() == _OTHER and post_merge.stat().st_mode & 0o777 == 0o750
    assert not (checkout.hooks / "post-checkout").exists()
    assert checkout.install("--uninstall").returncode == 0


def test_the_hooks_are_where_git_looks_for_them(checkout: Checkout) -> None:
    """core.hooksPath is followed and not changed."""
    checkout.git("config", "core.hooksPath", "shared hooks")
    before = (checkout.clone / ".git" / "config").read_bytes()
    assert checkout.install().returncode == 0
    assert (checkout.clone / ".git" / "config").read_bytes() == before
    shared = checkout.clone / "shared hooks"
    assert sorted(path.name for path in shared.iterdir()) == ["post-checkout", "post-merge"]
    assert not (checkout.hooks / "post-merge").exists()


@pytest.mark.parametrize("leads", ["{elsewhere}", "../elsewhere", "link"])
def test_hooks_outside_the_checkout_are_left_alone(
    checkout: Checkout, tmp_path: Path, leads: str
) -> None:
    """Other repositories may run them: the error names the directory, and nothing is written."""
    elsewhere = checkout.clone.parent / "elsewhere"
    elsewhere.mkdir()
    (checkout.clone / "link").symlink_to(elsewhere)
    checkout.git("config", "core.hooksPath", leads.format(elsewhere=elsewhere))
    done = checkout.install()
    assert done.returncode == 2 and "core.hooksPath leads out of this checkout" in done.stderr
    assert not list(elsewhere.iterdir())


def test_the_repository_that_a_hook_runs_for_is_not_meant(checkout: Checkout) -> None:
    """Its variables name it; the hooks of the directory that was asked for are extended."""
    environment = {**checkout.memory, "GIT_DIR": str(checkout.origin / ".git")}
    done = run_here(environment, "install-hooks", str(checkout.clone))
    assert done.returncode == 0, done.stderr
    assert (checkout.hooks / "post-merge").exists()
    assert not (checkout.origin / ".git" / "hooks" / "post-merge").exists()


def test_a_hook_that_is_a_link_to_elsewhere_is_left_alone(
    checkout: Checkout, tmp_path: Path
) -> None:
    """As if all were there; no other hook is written, either."""
    shared = tmp_path / "shared"
    shared.write_bytes(_OTHER)
    (checkout.hooks / "post-merge").symlink_to(shared)
    done = checkout.install()
    assert done.returncode == 2 and "leads out of this checkout" in done.stderr
    assert shared.read_bytes() == _OTHER and not (checkout.hooks / "post-checkout").exists()


@pytest.mark.parametrize("text, mode", [(b"#!/usr/bin/env python3\n", 0o755), (_OTHER, 0o644)])
def test_other_programs_and_hooks_switched_off_are_left_alone(
    checkout: Checkout, text: bytes, mode: int
) -> None:
    """The error names the file, and no hook is written."""
    path = checkout.hooks / "post-checkout"
    path.write_bytes(text)
    path.chmod(mode)
    done = checkout.install()
    assert done.returncode == 2 and str(path) in done.stderr
    assert path.read_bytes() == text and not (checkout.hooks / "post-merge").exists()


def test_a_directory_outside_git_is_refused(tmp_path: Path) -> None:
    """With a word on why."""
    done = run_here({"MEMORY_DATA_DIR": str(tmp_path)}, "install-hooks", str(tmp_path / "none"))
    assert done.returncode == 2 and "is not a Git checkout" in done.stderr
