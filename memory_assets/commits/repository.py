"""A git repository on disk, read only: commits, patches, blame.

Git runs without any configuration of the user or the repository that could start another program
(hooks, pagers, file system monitors, external diffs, text converters, signature checks), without
prompts, network and optional locks, and with a time limit. Its output is not redacted: `str`, never
to be stored as it is.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import SequenceMatcher
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from memory_assets.errors import GitFailed, NotFound

MOST_COMMITS = 20_000
_MOST_MESSAGE = 8_000
_EXACT_LINES = 2_000
_TIMEOUT_SECONDS = 20.0
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.quotePath=false",
    "core.attributesFile=/dev/null",
    "log.showSignature=false",
    "log.follow=false",
    "log.mailmap=false",
    "diff.external=",
    "diff.renames=false",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.algorithm=myers",
    "blame.ignoreRevsFile=",
    "color.ui=false",
    "protocol.allow=never",
    "submodule.recurse=false",
)
_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_PAGER": "cat",
    "GIT_ASKPASS": "",
}
_SHA = re.compile(r"[0-9a-f]{4,40}")
_PATCH = ("diff-tree", "-p", "--no-ext-diff", "--no-textconv")
_FIELDS = "%x01%H%x00%P%x00%at%x00%ct%x00%s%x00%B%x00"


@dataclass(frozen=True, slots=True)
class RepositoryCommit:
    """A commit in git. `files` are relative to the repository's root, none for a merge. Times are
    UTC, in whole seconds. NOT redacted."""

    sha: str
    parents: tuple[str, ...]
    authored_at: datetime
    committed_at: datetime
    subject: str
    message: str
    files: tuple[str, ...]


class Repository:
    """Reads one repository; never writes to it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def at(cls, path: Path) -> Repository | None:
        """Return the repository that contains `path`, a directory or a file; None if there is none,
        or git is missing or does not trust its owner."""
        directory = path if os.path.isdir(path) else path.parent  # noqa: PTH112
        try:
            if not os.path.isdir(directory):  # noqa: PTH112 - no error where it is not allowed
                return None
            top = _git(directory, ["rev-parse", "--show-toplevel"])
        except (GitFailed, OSError):
            return None
        root = top.decode("utf-8", "surrogateescape").rstrip("\n")
        return cls(Path(root)) if root else None

    @cached_property
    def state(self) -> str:
        """Return a hash of HEAD and all refs, which changes with every commit or fetch."""
        refs = self._try(["for-each-ref", "--format=%(objectname)%(refname)"])
        head = self._try(["rev-parse", "HEAD"])
        return blake2b(refs + head, digest_size=16).hexdigest()

    def commits(self, since: datetime | None = None) -> list[RepositoryCommit]:
        """Return the commits that any ref or reflog reaches, committed after `since`, newest
        first, at most `MOST_COMMITS`."""
        after = [f"--since={int(since.timestamp())}"] if since is not None else []
        return list(self._log("--all", "--reflog", f"--max-count={MOST_COMMITS}", *after))

    def commit(self, sha: str) -> RepositoryCommit | None:
        """Return one commit by its full SHA; None if git does not have it."""
        try:
            return next(self._log("--max-count=1", sha, "--"), None)
        except GitFailed:
            return None

    def resolve(self, name: str) -> list[str]:
        """Return the full SHAs of the commits that a SHA or its beginning can mean; one for a
        revision such as `HEAD~1` or a branch."""
        if _SHA.fullmatch(name):
            shas = self._try(["rev-parse", f"--disambiguate={name}"]).decode().split()
            input_lines = "".join(f"{sha}\n" for sha in shas).encode()
            kinds = self._try(["cat-file", "--batch-check"], input_lines)
            lines = (line.split() for line in kinds.decode().splitlines())
            commits = [line[0] for line in lines if len(line) == 3 and line[1] == "commit"]
            if commits:
                return commits
        if name.startswith("-"):
            return []
        commit = self._try(["rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"])
        return commit.decode().split()

    def files(self) -> list[str]:
        """Return the files of HEAD and of the index, relative to the root."""
        names = self._try(["ls-files", "-z"]) + self._try(
            ["ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD"]
        )
        return sorted(set(names.decode("utf-8", "surrogateescape").split("\0")) - {""})

    def added_lines(self, sha: str) -> dict[str, list[str]]:
        """Return the lines that a commit added, by file."""
        patch = self._try([*_PATCH, "--root", "-r", "-U0", sha])
        added: dict[str, list[str]] = {}
        path = ""
        header = True
        for line in patch.decode("utf-8", "replace").split("\n"):
            if line.startswith("diff --git "):
                header, path = True, ""
            elif header and line.startswith("+++ "):
                path = line[4:].removeprefix("b/").rstrip("\t")
            elif line.startswith("@@ "):
                header = False
            elif not header and line.startswith("+") and path:
                added.setdefault(path, []).append(line[1:])
        return added

    def blame(self, path: str, line: int | None = None) -> dict[str, list[int]]:
        """Return the commits that last changed a file's lines, or one line of it, with their line
        numbers in the file on disk. Lines that are not committed are left out.

        Git blames HEAD, because for a file on disk it would run filters that the repository names.

        Raises:
            GitFailed: HEAD has no such file.
            NotFound: the file has fewer lines.
        """
        committed = _git(self.root, ["cat-file", "blob", f"HEAD:{path}"])
        file = self.root / path
        lines_on_disk = _lines(file.read_bytes() if file.is_file() else committed)
        if line is not None and line > len(lines_on_disk):
            raise NotFound(f"no line {line} in {path}: it has {len(lines_on_disk)}")
        places = matching_lines(_lines(committed), lines_on_disk)
        wanted = [place for place, number in places.items() if line in (None, number)]
        if not wanted:
            return {}
        only = [f"-L{wanted[0]},{wanted[0]}"] if line is not None else []
        output = _git(
            self.root, ["blame", "--porcelain", "--no-textconv", *only, "HEAD", "--", path]
        )
        blamed: dict[str, list[int]] = {}
        for match in re.finditer(rb"^([0-9a-f]{40}) \d+ (\d+)", output, re.MULTILINE):
            number = places.get(int(match.group(2)))
            if number is not None:
                blamed.setdefault(match.group(1).decode(), []).append(number)
        return blamed

    def _log(self, *which: str) -> Iterator[RepositoryCommit]:
        log = _git(self.root, ["log", f"--format={_FIELDS}", "--name-only", *which])
        for entry in log.decode("utf-8", "replace").split("\x01")[1:]:
            sha, parents, authored, committed, subject, message, files = entry.split("\0", 6)
            yield RepositoryCommit(
                sha,
                tuple(parents.split()),
                datetime.fromtimestamp(int(authored), UTC),
                datetime.fromtimestamp(int(committed), UTC),
                subject,
                message[:_MOST_MESSAGE],
                tuple(line for line in files.split("\n") if line),
            )

    def _try(self, arguments: Sequence[str], input_bytes: bytes | None = None) -> bytes:
        """Return git's output; empty if git fails."""
        try:
            return _git(self.root, arguments, input_bytes)
        except GitFailed:
            return b""


def matching_lines(before: Sequence[bytes], after: Sequence[bytes]) -> dict[int, int]:
    """Return the line numbers, from 1, in the changed text by those in the original."""
    head = 0  # equal lines at the beginning, and, as `tail`, at the end
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    most = min(len(before), len(after)) - head
    while tail < most and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    places = {number: number for number in range(1, head + 1)}
    ours = before[head : len(before) - tail]
    theirs = after[head : len(after) - tail]
    inner = SequenceMatcher(None, ours, theirs, autojunk=len(theirs) > _EXACT_LINES)
    for block in inner.get_matching_blocks():
        for offset in range(block.size):
            places[head + block.a + offset + 1] = head + block.b + offset + 1
    shift = len(after) - len(before)
    for number in range(len(before) - tail + 1, len(before) + 1):
        places[number] = number + shift
    return places


def _lines(text: bytes) -> list[bytes]:
    return text.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n")


def _git(directory: Path, arguments: Sequence[str], input_bytes: bytes | None = None) -> bytes:
    """Return the output of git in a directory, with nothing of the user's configuration.

    Raises:
        GitFailed: git is missing, failed, or took too long.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    command = ["git", "--no-pager", "--no-optional-locks", *settings, *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env=kept | _ENVIRONMENT,
            input=input_bytes if input_bytes is not None else b"",
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise GitFailed("git is not installed; install it to ask repositories") from None
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git {arguments[0]} took longer than {_TIMEOUT_SECONDS:.0f} s") from None
    if done.returncode != 0:
        raise GitFailed(f"git {arguments[0]} ended with code {done.returncode} in {directory}")
    return done.stdout
