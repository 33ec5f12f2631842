"""What the sessions of one project show together: its commands, how its commits are worded, and
the documents that they read."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory_assets.procedures.lasting import Lasting, Seen, shown_by
from memory_assets.procedures.procedures import procedures
from memory_assets.procedures.uses import Use, uses
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.commits import commits_made_by
from memory_assets.session_analysis.files import touched_files
from memory_assets.session_analysis.session import Calls

_HOME = re.compile(r"|~|/root|(?:[A-Za-z]:|/[A-Za-z])?[\\/](?:home|Users)[\\/][^\\/]+")
_FEWEST = 5
_FEWEST_SESSIONS = 2
_SHARE = 0.85
_CONVENTIONAL = re.compile(r"(?P<type>[a-z]+)(?P<scope>\([^)]*\))?!?: \S")
_FEWEST_READERS = 3
_SHARE_OF_SESSIONS = 1 / 3
_MOST_LISTED = 4
_DOCUMENT = re.compile(r"\.(?:md|mdx|rst|txt|adoc|pdf)$", re.IGNORECASE)
_LOADED = re.compile(
    r"(?:^|/)(?:README|CLAUDE|AGENTS|GEMINI|MEMORY|SKILL|CHANGELOG|LICENSE)(?:[.-][\w.-]*)?$"
    r"|^~/\.|/\.claude/|/\.codex/|^/tmp/|^/private/|^/var/|requirements[\w-]*\.txt$",
    re.IGNORECASE,
)
"""What agents read without being told, or what is theirs."""


@dataclass(frozen=True)
class Findings:
    """What one session shows."""

    uses: tuple[Use, ...]
    commits: tuple[Committed, ...]
    reads: tuple[Read, ...]


def findings(session: SessionTurns) -> Findings | None:
    """Return what a session shows, None if it ran in a home directory, which is no project."""
    if _HOME.fullmatch(str(session.project_root).rstrip("/\\")):
        return None
    return Findings(tuple(uses(session)), tuple(committed(session)), tuple(documents_read(session)))


def lasting_of(sessions: Iterable[Findings]) -> list[Lasting]:
    """Return what the sessions of a project show together, the surest first."""
    all_findings = list(sessions)
    lasting = [
        *procedures([use for session in all_findings for use in session.uses]),
        *commit_style([one for session in all_findings for one in session.commits]),
        *documents([one for session in all_findings for one in session.reads]),
    ]
    return sorted(lasting, key=lambda trait: (-trait.confidence, trait.topic))


@dataclass(frozen=True, slots=True)
class Committed(Seen):
    """A commit that a turn made."""

    subject: str


def committed(session: SessionTurns) -> Iterator[Committed]:
    """Yield the commits of a session, in order."""
    calls = Calls()
    for turn in session.turns:
        for record in turn.records:
            for commit in commits_made_by(record, calls.ended(record)):
                yield Committed(session.session_id, turn.id, record.timestamp, str(commit.subject))


def commit_style(commits: Sequence[Committed]) -> list[Lasting]:
    """Return how subjects are worded, if nearly all agree; nothing otherwise."""
    matched = [(commit, _CONVENTIONAL.match(commit.subject)) for commit in commits]
    conventional = [(commit, match) for commit, match in matched if match]
    sessions = {commit.session_id for commit, _ in conventional}
    fewest = max(_FEWEST, _SHARE * len(commits))
    if len(conventional) < fewest or len(sessions) < _FEWEST_SESSIONS:
        return []
    types = Counter(match["type"] for _, match in conventional)
    scoped = sum(match["scope"] is not None for _, match in conventional)
    scope = " with a scope" if scoped >= _SHARE * len(conventional) else ""
    listed = ", ".join(f"`{name}`" for name in sorted(dict(types.most_common(4))))
    text = f"Commit subjects here are conventional commits{scope}; types used: {listed}."
    return [shown_by("commit subjects", text, [commit for commit, _ in conventional])]


@dataclass(frozen=True, slots=True)
class Read(Seen):
    """A document that a turn read."""

    path: str


def documents_read(session: SessionTurns) -> Iterator[Read]:
    """Yield the documents that each turn of a session read."""
    for turn in session.turns:
        for path in touched_files(session, turn.records).read:
            name = str(path).replace("\\", "/")
            if _DOCUMENT.search(name) and not _LOADED.search(name):
                at = turn.records[0].timestamp if turn.records else None
                yield Read(session.session_id, turn.id, at, name)


def documents(reads: Sequence[Read]) -> list[Lasting]:
    """Return the documents that a third of the sessions which read any read, and three at least, in
    one sentence; nothing where there are none."""
    by_path: dict[str, list[Read]] = defaultdict(list)
    for read in reads:
        by_path[read.path].append(read)
    counts = {path: len({read.session_id for read in of}) for path, of in by_path.items()}
    sessions = len({read.session_id for read in reads})
    least = max(_FEWEST_READERS, sessions * _SHARE_OF_SESSIONS)
    often = sorted(
        (path for path in counts if counts[path] >= least), key=lambda p: (-counts[p], p)
    )
    if not often:
        return []
    best = often[:_MOST_LISTED]
    listed = ", ".join(f"`{path}`" for path in best)
    text = f"Documents that sessions of this project read before they work: {listed}."
    return [shown_by("documents", text, [read for path in best for read in by_path[path]])]
