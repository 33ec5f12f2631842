"""What the sessions of one project show together; how its commits are worded, and its branches
named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory_assets.procedures.lasting import Lasting, Seen, shown_by
from memory_assets.procedures.procedures import procedures, tools
from memory_assets.procedures.together import (
    Changed,
    Read,
    changed,
    documents,
    documents_read,
    kept_up,
    together,
)
from memory_assets.procedures.traps import traps
from memory_assets.procedures.uses import Use, uses
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.commits import made_in
from memory_assets.session_analysis.phrases import names
from memory_assets.session_analysis.session import Calls

_HOME = re.compile(r"|~|/root|(?:[A-Za-z]:|/[A-Za-z])?[\\/](?:home|Users)[\\/][^\\/]+")


@dataclass(frozen=True)
class Findings:
    """What one session shows."""

    uses: tuple[Use, ...]
    changed: tuple[Changed, ...]
    commits: tuple[Committed, ...]
    reads: tuple[Read, ...]


def findings(session: SessionTurns) -> Findings | None:
    """Return what a session shows, None if it ran in a home directory, which is no project."""
    if _HOME.fullmatch(str(session.project_root).rstrip("/\\")):
        return None
    return Findings(
        tuple(uses(session)),
        tuple(changed(session)),
        tuple(committed(session)),
        tuple(documents_read(session)),
    )


def lasting_of(sessions: Iterable[Findings]) -> list[Lasting]:
    """Return what the sessions of a project show together, the surest first."""
    all_findings = list(sessions)
    every_use = [use for session in all_findings for use in session.uses]
    changes = [one for session in all_findings for one in session.changed]
    reads = [one for session in all_findings for one in session.reads]
    lasting = [
        *procedures(every_use),
        *traps(every_use),
        *tools(every_use),
        *together(changes),
        *kept_up(changes),
        *commit_style([one for session in all_findings for one in session.commits]),
        *documents(reads),
    ]
    return sorted(lasting, key=lambda trait: (-trait.confidence, trait.topic))


_FEWEST = 5
_FEWEST_SESSIONS = 2
_FEWEST_BRANCHES = 3
_SHARE = 0.85
_CONVENTIONAL = re.compile(r"(?P<type>[a-z]+)(?P<scope>\([^)]*\))?!?: \S")
_USUAL = names("feat feature fix bugfix chore docs claude codex cursor copilot origin")
"""Beginnings of branches that say nothing of a project: kinds of work, and names of agents."""
_BRANCH = re.compile(r"(?P<prefix>[\w.-]+)/\S+")


@dataclass(frozen=True, slots=True)
class Committed(Seen):
    """A commit that a turn made."""

    subject: str
    branch: str


def committed(session: SessionTurns) -> Iterator[Committed]:
    """Yield the commits of a session, in order."""
    calls = Calls()
    for turn in session.turns:
        for record in turn.records:
            for commit in made_in(record, calls.ended(record)):
                where = (session.session_id, turn.id, record.timestamp)
                yield Committed(*where, str(commit.subject), str(commit.branch))


def commit_style(commits: Sequence[Committed]) -> list[Lasting]:
    """Return how subjects are worded and branches are named, as far as nearly all agree."""
    lasting = []
    matched = [(commit, _CONVENTIONAL.match(commit.subject)) for commit in commits]
    conventional = [(commit, match) for commit, match in matched if match]
    sessions = {commit.session_id for commit, _ in conventional}
    if (
        len(conventional) >= _FEWEST
        and len(sessions) >= _FEWEST_SESSIONS
        and len(conventional) >= _SHARE * len(commits)
    ):
        types = Counter(match["type"] for _, match in conventional)
        scoped = sum(match["scope"] is not None for _, match in conventional)
        scope = " with a scope" if scoped >= _SHARE * len(conventional) else ""
        listed = ", ".join(f"`{name}`" for name in sorted(dict(types.most_common(4))))
        text = f"Commit subjects here are conventional commits{scope}; types used: {listed}."
        lasting.append(shown_by("commit subjects", text, [commit for commit, _ in conventional]))
    if main := _main_branch(commits):
        text = f"Commits are made on `{main}` itself here, without a branch."
        lasting.append(
            shown_by("main branch", text, [commit for commit in commits if commit.branch == main])
        )
    branches = {commit.branch for commit in commits if _BRANCH.fullmatch(commit.branch)}
    prefixes = Counter(name.split("/")[0] for name in branches)
    if prefixes:
        prefix, count = prefixes.most_common(1)[0]
        told = prefix not in _USUAL and count >= _FEWEST_BRANCHES
        if told and count >= _SHARE * len(branches):
            text = f"Branches here are named `{prefix}/…`."
            evidence = [commit for commit in commits if commit.branch.startswith(f"{prefix}/")]
            lasting.append(shown_by("branch names", text, evidence))
    return lasting


def _main_branch(commits: Sequence[Committed]) -> str:
    """Return the main branch, if the commits of several sessions are on it, "" otherwise."""
    for name in ("main", "master"):
        on_it = [commit for commit in commits if commit.branch == name]
        sessions = {commit.session_id for commit in on_it}
        named = [commit for commit in commits if commit.branch]
        if len(on_it) >= _FEWEST and len(sessions) > 2 and len(on_it) >= _SHARE * len(named):
            return name
    return ""
