"""Claims: commits of a session, from its records and from the repository.

Without a repository only what the session's own `git commit` printed is claimed. With one,
a printed SHA counts only if git made that commit while the call ran, so a log that quotes a
commit proves nothing; and commits that repeat the session's own, merge its pull requests, or
add the lines it wrote are found.

Evidence has grades, strongest first, each with how far it can be trusted. If several sessions claim
one commit, the best claim is kept.
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
"""Changes whenever the same session and repository would give other claims."""


class Evidence(StrEnum):
    """Why a commit is claimed for a session."""

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
"""Scores where nothing more is known. A printed SHA that git confirms has `CONFIRMED`; lines
and files rise with the share of lines found, to `MOST_BY_LINES`."""
IN_WORDS = {
    Evidence.BY_HAND: "linked by hand",
    Evidence.BY_HAND_UNCHECKED: "linked by hand, unknown to git",
    Evidence.TRAILER: "its message names the session",
    Evidence.PRINTED: "committed in the session",
    Evidence.SAME_CHANGE: "repeats a commit of the session",
    Evidence.PULL_REQUEST: "of a pull request of the session",
    Evidence.TIME_AND_FILES: "its lines were written in the session",
}
"""The evidence as a person is told it, who does not know the grades of docs/commits.md."""
SURE = 0.9
"""From this score on a commit is a session's without a word of doubt (docs/commits.md)."""
CONFIRMED = 0.98
OPENED_HERE = 0.95
"""Score of a pull request itself (not of the commit that merged it) that the session opened."""
MOST_BY_LINES = 0.85
CLOCK = timedelta(seconds=3)
"""How far the clocks of git (whole seconds) and of the transcript may be apart."""


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
    """Return the rows of claims, given with commit ("" for a pull request) and evidence, without
    those by time and files on a commit that is another's by better evidence: who typed the lines
    first need not be who committed them."""
    ranked = [(commit, strength(evidence), row) for commit, evidence, row in claims]
    weakest = strength(Evidence.TIME_AND_FILES)
    proven = {commit for commit, rank, _ in ranked if rank < weakest} - {""}
    return [row for commit, rank, row in ranked if rank < weakest or commit not in proven]


_LATEST = timedelta(days=14)
"""How long after a session's last line a commit can still be claimed by its lines."""
_ENOUGH_LINES = 0.6
_FEWEST = 2
"""Lines that tell one piece of code from another: fewer in a commit prove nothing."""
_NUMBER = re.compile(r"#?(\d+)$")
_MERGES = re.compile(r"^Merge pull request #(\d+) |\(#(\d+)\)$")


def attribute(work: SessionWork, repository: Repository | None) -> list[Claim]:
    """Return the claims of one session, each commit once with its strongest evidence, in the
    order of its turns."""
    printed = [printed_claim(own) for own in work.commits if own.certain]
    links = [_linked(link) for link in _distinct_pull_requests(work.pull_requests)]
    first = work.first_at
    if repository is None or first is None:
        return _with_replacements(_strongest([*printed, *links]), work)
    there = repository.commits(first - timedelta(days=1))
    claims = _own_in_repository(work, repository, there)
    confirmed = {claim.sha: (claim, claim.known) for claim in claims if claim.known is not None}
    claims += _by_trailer(work, there)
    claims += same_author_time(work, confirmed, there)
    claims += _by_pull_request(work.pull_requests, there)
    proven = {claim.sha for claim in claims}
    claims += _by_lines(work, repository, [one for one in there if one.sha not in proven])
    return _with_replacements(_strongest([*claims, *links]), work)


def _own_in_repository(
    work: SessionWork, repository: Repository, there: Sequence[RepositoryCommit]
) -> list[Claim]:
    """The session's own commits, with their full SHA where git has them."""
    claims: list[Claim] = []
    for own in work.commits:
        known = _made_by_call(own, repository, there)
        if known is not None:
            claims.append(replace(printed_claim(own), sha=known.sha, score=CONFIRMED, known=known))
        elif own.certain and own.made.sha and not _is_anothers(own, repository):
            claims.append(printed_claim(own))
    return claims


def _is_anothers(own: OwnCommit, repository: Repository) -> bool:
    """Return whether Git has a commit with that SHA, which the call cannot have made."""
    return own.began is not None and bool(repository.resolve(own.made.sha))


def _made_by_call(
    own: OwnCommit, repository: Repository, there: Iterable[RepositoryCommit]
) -> RepositoryCommit | None:
    """The commit that git made while the call ran, of that SHA, or of that subject where git
    was quiet; None if there is none, or more than one."""
    if own.began is None or own.ended is None:
        return None
    begin, end = own.began - CLOCK, own.ended + CLOCK
    if own.made.sha:
        known = [repository.commit(sha) for sha in repository.resolve(own.made.sha)]
        fitting = [one for one in known if one and begin <= one.committed_at <= end]
        same = [one for one in fitting if same_subject(own.made.subject, one.subject)]
        fitting = same or fitting
    else:
        fitting = [
            one
            for one in there
            if begin <= one.committed_at <= end and same_subject(own.made.subject, one.subject)
        ]
    return fitting[0] if len(fitting) == 1 else None


def _by_trailer(work: SessionWork, there: Iterable[RepositoryCommit]) -> list[Claim]:
    """Commits whose message names the session."""
    return [
        _git_claim(work, commit, Evidence.TRAILER)
        for commit in there
        if any(_names(name, work.names) for name in trailer_names(commit.message))
    ]


def _names(value: str, names: set[str]) -> bool:
    """Return True if a trailer's value is a name of the session, or ends with it after a dash."""
    return value in names or any(value.endswith(f"-{name}") for name in names if len(name) >= 32)


def _distinct_pull_requests(all_of_them: Iterable[OwnPullRequest]) -> list[OwnPullRequest]:
    """Each address once; that it was opened here outweighs a mere link."""
    best: dict[str, OwnPullRequest] = {}
    for one in all_of_them:
        if one.address not in best or (one.opened and not best[one.address].opened):
            best[one.address] = one
    return [one for one in best.values() if "://" in one.address]


def _linked(one: OwnPullRequest) -> Claim:
    evidence = Evidence.PULL_REQUEST
    score = OPENED_HERE if one.opened else SCORES[evidence]
    return Claim(one.turn, "", evidence, score, one.timestamp, pull_request=one.address)


def _by_pull_request(
    links: Iterable[OwnPullRequest], there: Iterable[RepositoryCommit]
) -> list[Claim]:
    """Return the commits that merged pull requests which the session opened or merged."""
    opened = [(link, _NUMBER.search(link.address)) for link in links if link.opened]
    numbers = {number.group(1): link for link, number in opened if number}
    claims = []
    for commit in there:
        merges = _MERGES.search(commit.subject)
        link = numbers.get(merges.group(1) or merges.group(2)) if merges else None
        if link and not (link.timestamp and commit.committed_at < link.timestamp):
            score = SCORES[Evidence.PULL_REQUEST]
            claims.append(replace(_linked(link), sha=commit.sha, score=score, known=commit))
    return claims


def _by_lines(
    work: SessionWork, repository: Repository, others: Iterable[RepositoryCommit]
) -> list[Claim]:
    """Return the commits most of whose lines the session had written into their files."""
    times = [one.at for one in work.written if one.at is not None]
    if not times:
        return []
    begin, end = min(times), max(times) + _LATEST
    claims = []
    for commit in others:
        if len(commit.parents) > 1 or not begin <= commit.authored_at <= end:
            continue
        share, last = _share_written(work, commit, repository)
        if last is not None and share >= _ENOUGH_LINES:
            score = SCORES[Evidence.TIME_AND_FILES]
            score += (MOST_BY_LINES - score) * (share - _ENOUGH_LINES) / (1 - _ENOUGH_LINES)
            evidence = Evidence.TIME_AND_FILES
            claims.append(
                Claim(last.turn, commit.sha, evidence, round(score, 3), last.at, known=commit)
            )
    return claims


def _share_written(
    work: SessionWork, commit: RepositoryCommit, repository: Repository
) -> tuple[float, Written | None]:
    """Return the share of a commit's distinctive lines that the session had written into its
    files, and the last call that wrote one; (0, None) if the commit has too few such lines."""
    by_file = {path: _written_before(work, path, commit) for path in commit.files}
    if not any(by_file.values()):
        return 0.0, None
    total = matched = 0
    last: Written | None = None
    for path, lines in repository.added_lines(commit.sha).items():
        for line in {telling_line(line) for line in lines} - {""}:
            total += 1
            writer = next(
                (one for one in reversed(by_file.get(path, [])) if line in one.lines), None
            )
            if writer is not None:
                matched += 1
                if last is None or (writer.at and last.at and writer.at > last.at):
                    last = writer
    return (matched / total, last) if total >= _FEWEST else (0.0, None)


def _written_before(work: SessionWork, path: str, commit: RepositoryCommit) -> list[Written]:
    return [
        one
        for one in work.written
        if one.at is not None
        and one.at <= commit.authored_at + CLOCK
        and same_file(one, work.session.project_root, path)
    ]


def same_file(one: Written, root: str, path: str) -> bool:
    """Return True if a call's path means the repository's file `path`.

    A path below the session's root or working directory must end there exactly or lead to
    it; an absolute one from elsewhere (a worktree, another machine) must end with the whole
    of `path`, which then has a directory.
    """
    written = one.path.replace("\\", "/")
    bare = written.removeprefix("./")
    if bare == path:
        return True
    for base in (root, one.cwd):
        prefix = base.rstrip("/\\").replace("\\", "/") + "/"
        if len(prefix) > 1 and written.startswith(prefix):
            inside = written[len(prefix) :]
            return inside == path or (base == one.cwd and path.endswith("/" + inside))
    if not written.startswith(("/", "~")) and written[1:2] != ":":
        return path.endswith("/" + bare) or bare.endswith("/" + path)
    return "/" in path and written.endswith("/" + path)


def _git_claim(work: SessionWork, commit: RepositoryCommit, evidence: Evidence) -> Claim:
    """A claim whose turn is the one that ran when the commit was made, else the last."""
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
    """Each commit and each pull request once."""
    best: dict[str, Claim] = {}
    for claim in claims:
        key = claim.sha or claim.pull_request
        if not key:
            continue  # git was quiet, and nobody can say which commit it was
        rank = (strength(claim.evidence), -claim.score)
        if key not in best or rank < (strength(best[key].evidence), -best[key].score):
            best[key] = claim
    return sorted(
        best.values(), key=lambda claim: (claim.turn.turn_index, claim.sha, claim.pull_request)
    )


def _with_replacements(claims: Iterable[Claim], work: SessionWork) -> list[Claim]:
    """Return claims, those on commits that the session replaced with what took their place, by the
    longest SHA that is claimed."""
    claims = list(claims)
    whole = {claim.sha for claim in claims if claim.sha}
    marks = {
        _longest(old, whole): _longest(new, whole)
        for old, new in replaced_commits(work.session).items()
    }
    return [replace(one, replaced_by=marks.get(one.sha, "") if one.sha else "") for one in claims]


def _longest(sha: str, whole: Iterable[str]) -> str:
    """Return the SHA that is claimed and begins with a short one; the short one if none does."""
    return next((one for one in whole if sha and one.startswith(sha)), sha)


Confirmed = tuple[Claim, RepositoryCommit]
"""A commit that the session made and that git has."""


def printed_claim(own: OwnCommit) -> Claim:
    """Return the claim on a commit that git printed, not confirmed by any repository."""
    commit, score = own.made, SCORES[Evidence.PRINTED]
    return Claim(
        own.turn, commit.sha, Evidence.PRINTED, score, own.ended, commit.subject, commit.branch
    )


def same_subject(mine: str, theirs: str) -> bool:
    """Return whether two subjects are equal but for white space, redaction, and the end of a
    long one."""
    plain = " ".join(theirs.split())
    bare = mine.removesuffix("…")
    if "<redacted" in bare:
        return plain.startswith(bare.partition("<redacted")[0])
    return plain == bare or (mine.endswith("…") and plain.startswith(bare))


def same_author_time(
    work: SessionWork, own: Mapping[str, Confirmed], there: Iterable[RepositoryCommit]
) -> list[Claim]:
    """Return the claims on commits whose author time and subject are those of a commit of the
    session: rebase, amend and cherry-pick keep both. Where git has that commit no more, the
    author time must lie within the call that made it."""
    claims = []
    known = {(claim.turn.id, claim.timestamp) for claim, _ in own.values()}
    lost = [
        (printed_claim(commit), commit.began - CLOCK, commit.ended + CLOCK)
        for commit in work.commits
        if commit.certain
        and commit.began
        and commit.ended
        and (commit.turn.id, commit.ended) not in known
    ]
    for commit in there:
        if commit.sha in own:
            continue
        sources = [
            claim
            for claim, mine in own.values()
            if mine.authored_at == commit.authored_at
            and mine.subject == commit.subject
            and set(mine.files) & set(commit.files)
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
