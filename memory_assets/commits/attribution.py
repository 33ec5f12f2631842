"""Claims: commits of a session, from its records and from the repository.

Without a repository only commits that the session's own `git commit` printed are claimed. With one,
a printed SHA counts only if git made that commit while the call ran, so that a log that quotes a
commit proves nothing. Commits that repeat the session's own, merge its pull requests or add lines
that it wrote are claimed, too.

Evidence has grades, each with a score; if several sessions claim one commit, the best claim counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from memory_assets.commits.repository import Repository, RepositoryCommit
from memory_assets.commits.work import (
    OwnCommit,
    OwnPullRequest,
    SessionWork,
    Written,
    telling_line,
    trailer_names,
)
from memory_assets.models import Turn
from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis.commits import replaced_commits
from memory_assets.session_analysis.phrases import EMPTY

ATTRIBUTION_VERSION = "commits-9"
"""Raised by hand whenever the same session and repository would give other claims."""


class Evidence(StrEnum):
    """Why a commit is claimed for a session, strongest first."""

    BY_HAND = "by-hand"
    """A human said so: `memory link`."""
    BY_HAND_UNCHECKED = "by-hand-unchecked"
    """A human said so of a commit that git does not have: `memory link --force`."""
    TRAILER = "trailer"
    """The commit's message names the session."""
    PRINTED = "printed"
    """Git printed the SHA in answer to the session's own `git commit`."""
    SAME_CHANGE = "same-change"
    """It repeats a commit of the session (rebase, amend, cherry-pick): the same author time and
    subject."""
    PULL_REQUEST = "pull-request"
    """It merges a pull request that the session opened or merged."""
    TIME_AND_FILES = "time-and-files"
    """Most of the lines it adds were written by the session before, into the same files."""


SCORES = {
    Evidence.BY_HAND: 1.0,
    Evidence.BY_HAND_UNCHECKED: 0.9,
    Evidence.TRAILER: 0.99,
    Evidence.PRINTED: 0.95,
    Evidence.SAME_CHANGE: 0.9,
    Evidence.PULL_REQUEST: 0.8,
    Evidence.TIME_AND_FILES: 0.6,
}
"""Score of each grade, 0 to 1. A printed SHA that git confirms has `CONFIRMED`; the score by time
and files grows with the share of lines found, up to `MOST_BY_LINES`."""
IN_WORDS = {
    Evidence.BY_HAND: "linked by hand",
    Evidence.BY_HAND_UNCHECKED: "linked by hand, unknown to git",
    Evidence.TRAILER: "its message names the session",
    Evidence.PRINTED: "committed in the session",
    Evidence.SAME_CHANGE: "repeats a commit of the session",
    Evidence.PULL_REQUEST: "of a pull request of the session",
    Evidence.TIME_AND_FILES: "its lines were written in the session",
}
"""The evidence in words, for people who do not know the grades of docs/commits.md."""
SURE = 0.9
"""Score from which a commit is shown as the session's without a note of doubt (docs/commits.md)."""
CONFIRMED = 0.98
OPENED_HERE = 0.95
"""Score of a pull request that the session opened; the commit that merged it has its own."""
MOST_BY_LINES = 0.85
CLOCK = timedelta(seconds=3)
"""Largest difference between the clocks of git (whole seconds) and of the transcript."""


def strength(evidence: str) -> int:
    """Return the rank of a grade, 0 the strongest."""
    return list(Evidence).index(Evidence(evidence))


@dataclass(frozen=True, slots=True)
class Claim:
    """One commit of the session or, if `sha` is "", one pull request.

    `known` is git's own commit, if git was asked and has it, and is NOT redacted; `subject`,
    `branch` and `pull_request` come from the session and are redacted.
    """

    turn: Turn
    sha: str
    evidence: Evidence
    score: float
    timestamp: datetime | None
    subject: RedactedText = EMPTY
    branch: RedactedText = EMPTY
    pull_request: RedactedText = EMPTY
    from_commit: str = ""
    replaced_by: str = ""
    known: RepositoryCommit | None = None


_Row = TypeVar("_Row")


def without_contested_guesses(claims: Iterable[tuple[str, str, _Row]]) -> list[_Row]:
    """Return the rows of claims, given as commit ("" for a pull request), evidence and row, without
    those by time and files on commits that have a claim by better evidence: the session that first
    wrote the lines need not be the one that committed them."""
    ranked = [(commit, strength(evidence), row) for commit, evidence, row in claims]
    weakest = strength(Evidence.TIME_AND_FILES)
    proven = {commit for commit, rank, _ in ranked if rank < weakest} - {""}
    return [row for commit, rank, row in ranked if rank < weakest or commit not in proven]


_LATEST = timedelta(days=14)
"""Time after a session's last written line in which commits can be claimed by lines."""
_ENOUGH_LINES = 0.6
"""Share of a commit's distinctive lines that the session must have written."""
_FEWEST = 2
"""Distinctive lines that a commit must have to be claimed by lines."""
_NUMBER = re.compile(r"#?(\d+)$")
_MERGES = re.compile(r"^Merge pull request #(\d+) |\(#(\d+)\)$")


def attribute(work: SessionWork, repository: Repository | None) -> list[Claim]:
    """Return the claims of one session, each commit once with its strongest evidence, in the
    order of its turns."""
    printed = [printed_claim(own) for own in work.commits if own.certain]
    links = [_claim_link(link) for link in _distinct_pull_requests(work.pull_requests)]
    first = work.first_at
    if repository is None or first is None:
        return _with_replacements(_strongest([*printed, *links]), work)
    commits = repository.commits(first - timedelta(days=1))
    claims = _claim_own_commits(work, repository, commits)
    confirmed = {claim.sha: (claim, claim.known) for claim in claims if claim.known is not None}
    claims += _claim_by_trailer(work, commits)
    claims += claim_same_changes(work, confirmed, commits)
    claims += _claim_by_pull_request(work.pull_requests, commits)
    proven = {claim.sha for claim in claims}
    unproven = [commit for commit in commits if commit.sha not in proven]
    claims += _claim_by_lines(work, repository, unproven)
    return _with_replacements(_strongest([*claims, *links]), work)


def _claim_own_commits(
    work: SessionWork, repository: Repository, commits: Sequence[RepositoryCommit]
) -> list[Claim]:
    """Return the claims on the session's own commits, with their full SHA if git has them."""
    claims: list[Claim] = []
    for own in work.commits:
        commit = _find_commit_of_call(own, repository, commits)
        if commit is not None:
            claim = replace(printed_claim(own), sha=commit.sha, score=CONFIRMED, known=commit)
            claims.append(claim)
        elif (
            own.certain
            and own.made.sha
            # git's commit of that SHA was made by another call
            and (own.began is None or not repository.resolve(own.made.sha))
        ):
            claims.append(printed_claim(own))
    return claims


def _find_commit_of_call(
    own: OwnCommit, repository: Repository, commits: Iterable[RepositoryCommit]
) -> RepositoryCommit | None:
    """Return the commit that git made while the call ran, with the printed SHA, or with the subject
    if git printed none; None if there is none or more than one."""
    if own.began is None or own.ended is None:
        return None
    begin, end = own.began - CLOCK, own.ended + CLOCK
    if own.made.sha:
        commits = filter(None, map(repository.commit, repository.resolve(own.made.sha)))
    fitting = [commit for commit in commits if begin <= commit.committed_at <= end]
    same = [commit for commit in fitting if same_subject(own.made.subject, commit.subject)]
    if same or not own.made.sha:
        fitting = same
    return fitting[0] if len(fitting) == 1 else None


def _claim_by_trailer(work: SessionWork, commits: Iterable[RepositoryCommit]) -> list[Claim]:
    """Return the claims on commits whose message names the session."""
    return [
        _git_claim(work, commit, Evidence.TRAILER)
        for commit in commits
        if any(_names_session(name, work.names) for name in trailer_names(commit.message))
    ]


def _names_session(value: str, names: set[str]) -> bool:
    """Return True if a trailer's value is a name of the session, or ends with it after a dash."""
    return value in names or any(value.endswith(f"-{name}") for name in names if len(name) >= 32)


def _distinct_pull_requests(links: Iterable[OwnPullRequest]) -> list[OwnPullRequest]:
    """Return each pull request with an address once, preferably as opened by the session."""
    best: dict[str, OwnPullRequest] = {}
    for link in links:
        if link.address not in best or (link.opened and not best[link.address].opened):
            best[link.address] = link
    return [link for link in best.values() if "://" in link.address]


def _claim_link(link: OwnPullRequest) -> Claim:
    evidence = Evidence.PULL_REQUEST
    score = OPENED_HERE if link.opened else SCORES[evidence]
    return Claim(link.turn, "", evidence, score, link.timestamp, pull_request=link.address)


def _claim_by_pull_request(
    links: Iterable[OwnPullRequest], commits: Iterable[RepositoryCommit]
) -> list[Claim]:
    """Return the claims on commits that merged pull requests of the session."""
    opened = [(link, _NUMBER.search(link.address)) for link in links if link.opened]
    numbers = {number.group(1): link for link, number in opened if number}
    claims = []
    for commit in commits:
        merges = _MERGES.search(commit.subject)
        link = numbers.get(merges.group(1) or merges.group(2)) if merges else None
        if link and not (link.timestamp and commit.committed_at < link.timestamp):
            score = SCORES[Evidence.PULL_REQUEST]
            claims.append(replace(_claim_link(link), sha=commit.sha, score=score, known=commit))
    return claims


def _claim_by_lines(
    work: SessionWork, repository: Repository, commits: Iterable[RepositoryCommit]
) -> list[Claim]:
    """Return the claims on commits most of whose lines the session had written before."""
    times = [write.at for write in work.written if write.at is not None]
    if not times:
        return []
    begin, end = min(times), max(times) + _LATEST
    claims = []
    for commit in commits:
        if len(commit.parents) > 1 or not begin <= commit.authored_at <= end:
            continue
        share, latest = _share_written(work, commit, repository)
        if latest is not None and share >= _ENOUGH_LINES:
            evidence = Evidence.TIME_AND_FILES
            score = SCORES[evidence]
            score += (MOST_BY_LINES - score) * (share - _ENOUGH_LINES) / (1 - _ENOUGH_LINES)
            score = round(score, 3)
            claims.append(Claim(latest.turn, commit.sha, evidence, score, latest.at, known=commit))
    return claims


def _share_written(
    work: SessionWork, commit: RepositoryCommit, repository: Repository
) -> tuple[float, Written | None]:
    """Return the share of a commit's distinctive lines that the session had written into the same
    files, and the last call that wrote one; (0, None) if the commit has too few such lines."""
    by_file = {path: _written_before(work, path, commit) for path in commit.files}
    if not any(by_file.values()):
        return 0.0, None
    total = matched = 0
    latest: Written | None = None
    for path, lines in repository.added_lines(commit.sha).items():
        for line in {telling_line(line) for line in lines} - {""}:
            total += 1
            writer = next(
                (write for write in reversed(by_file.get(path, [])) if line in write.lines), None
            )
            if writer is not None:
                matched += 1
                if latest is None or (writer.at and latest.at and writer.at > latest.at):
                    latest = writer
    return (matched / total, latest) if total >= _FEWEST else (0.0, None)


def _written_before(work: SessionWork, path: str, commit: RepositoryCommit) -> list[Written]:
    """Return the session's writes to a file before a commit, oldest first."""
    return [
        write
        for write in work.written
        if write.at is not None
        and write.at <= commit.authored_at + CLOCK
        and same_file(write, work.session.project_root, path)
    ]


def same_file(write: Written, root: str, path: str) -> bool:
    """Return True if a call's path means the repository's file `path`.

    A path below the session's root or working directory must end there exactly or lead to
    it; an absolute one from elsewhere (a worktree, another machine) must end with the whole
    of `path`, which then has a directory.
    """
    written = write.path.replace("\\", "/")
    relative = written.removeprefix("./")
    if relative == path:
        return True
    for base in (root, write.cwd):
        prefix = base.rstrip("/\\").replace("\\", "/") + "/"
        if len(prefix) > 1 and written.startswith(prefix):
            inside = written[len(prefix) :]
            return inside == path or (base == write.cwd and path.endswith("/" + inside))
    if not written.startswith(("/", "~")) and written[1:2] != ":":
        return path.endswith("/" + relative) or relative.endswith("/" + path)
    return "/" in path and written.endswith("/" + path)


def _git_claim(work: SessionWork, commit: RepositoryCommit, evidence: Evidence) -> Claim:
    """Return the claim of the turn that ran when the commit was made, else of the last turn."""
    turns = work.session.turns
    before = [
        turn
        for turn in turns
        if any(r.timestamp is not None and r.timestamp <= commit.committed_at for r in turn.records)
    ]
    turn = (before or list(turns))[-1]
    score = SCORES[evidence]
    return Claim(turn, commit.sha, evidence, score, commit.committed_at, known=commit)


def _strongest(claims: Iterable[Claim]) -> list[Claim]:
    """Return the best claim on each commit and pull request, in the order of turns."""
    best: dict[str, Claim] = {}
    for claim in claims:
        key = claim.sha or claim.pull_request
        if not key:
            continue  # git printed nothing, so the commit is unknown
        rank = (strength(claim.evidence), -claim.score)
        if key not in best or rank < (strength(best[key].evidence), -best[key].score):
            best[key] = claim
    return sorted(
        best.values(), key=lambda claim: (claim.turn.turn_index, claim.sha, claim.pull_request)
    )


def _with_replacements(claims: Iterable[Claim], work: SessionWork) -> list[Claim]:
    """Return the claims; those on commits that the session replaced name the replacement by the
    longest claimed SHA."""
    claims = list(claims)
    claimed_shas = {claim.sha for claim in claims if claim.sha}
    replacements = {
        _longest(old, claimed_shas): _longest(new, claimed_shas)
        for old, new in replaced_commits(work.session).items()
    }
    return [
        replace(claim, replaced_by=replacements.get(claim.sha, "") if claim.sha else "")
        for claim in claims
    ]


def _longest(sha: str, claimed_shas: Iterable[str]) -> str:
    """Return a claimed SHA that begins with `sha`; `sha` itself if none does."""
    return next((claimed for claimed in claimed_shas if sha and claimed.startswith(sha)), sha)


Confirmed = tuple[Claim, RepositoryCommit]
"""A claim on a commit of the session that git has, and that commit."""


def printed_claim(own: OwnCommit) -> Claim:
    """Return the claim on a commit that git printed, not confirmed by any repository."""
    commit = own.made
    score = SCORES[Evidence.PRINTED]
    return Claim(
        own.turn, commit.sha, Evidence.PRINTED, score, own.ended, commit.subject, commit.branch
    )


def same_subject(printed: str, subject: str) -> bool:
    """Return True if a printed and redacted subject can be that of a commit: equal apart from white
    space, redaction tags, and the end of a long one."""
    plain = " ".join(subject.split())
    bare = printed.removesuffix("…")
    if "<redacted" in bare:
        return plain.startswith(bare.partition("<redacted")[0])
    return plain == bare or (printed.endswith("…") and plain.startswith(bare))


def claim_same_changes(
    work: SessionWork, own: Mapping[str, Confirmed], commits: Iterable[RepositoryCommit]
) -> list[Claim]:
    """Return the claims on commits with the author time and subject of a commit of the session:
    rebase, amend and cherry-pick keep both. If git no longer has that commit, the author time must
    be within the call that made it."""
    claims = []
    confirmed_calls = {(claim.turn.id, claim.timestamp) for claim, _ in own.values()}
    lost = [
        (printed_claim(commit), commit.began - CLOCK, commit.ended + CLOCK)
        for commit in work.commits
        if commit.certain
        and commit.began
        and commit.ended
        and (commit.turn.id, commit.ended) not in confirmed_calls
    ]
    for commit in commits:
        if commit.sha in own:
            continue
        sources = [
            claim
            for claim, own_commit in own.values()
            if own_commit.authored_at == commit.authored_at
            and own_commit.subject == commit.subject
            and set(own_commit.files) & set(commit.files)
        ]
        sources += [
            claim
            for claim, begin, end in lost
            if begin <= commit.authored_at <= end and same_subject(claim.subject, commit.subject)
        ]
        claims += [_repeats(source, commit) for source in sources[:1]]
    return claims


def _repeats(source: Claim, commit: RepositoryCommit) -> Claim:
    return replace(
        source,
        sha=commit.sha,
        evidence=Evidence.SAME_CHANGE,
        score=SCORES[Evidence.SAME_CHANGE],
        from_commit=source.sha,
        known=commit,
    )
