"""Commits that repeat a session's own: rebased, amended, squashed, cherry-picked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from memory_assets.commits.evidence import CLOCK, SCORES, Claim, Evidence
from memory_assets.commits.repository import Repository, RepositoryCommit
from memory_assets.commits.work import OwnCommit, SessionWork

Confirmed = tuple[Claim, RepositoryCommit]
"""A commit that the session made and that git has."""

_MOST_SQUASHED = 40
_REPEATS = re.compile(r"\(cherry picked from commit ([0-9a-f]{40})\)")
_SQUASHED = re.compile(r"^Squashed commit of the following:", re.MULTILINE)
_SQUASHED_COMMIT = re.compile(r"^commit ([0-9a-f]{40})$", re.MULTILINE)


def said(own: OwnCommit) -> Claim:
    """Return the claim on a commit that git printed, not confirmed by any repository."""
    made, score = own.made, SCORES[Evidence.PRINTED]
    return Claim(own.turn, made.sha, Evidence.PRINTED, score, own.ended, made.subject, made.branch)


def same_subject(mine: str, theirs: str) -> bool:
    """Return whether two subjects are equal but for white space, redaction, and the end of a
    long one."""
    plain = " ".join(theirs.split())
    bare = mine.removesuffix("…")
    if "<redacted" in bare:
        return plain.startswith(bare.partition("<redacted")[0])
    return plain == bare or (mine.endswith("…") and plain.startswith(bare))


def same_change(
    repository: Repository,
    own: Mapping[str, Confirmed],
    there: Sequence[RepositoryCommit],
    by_sha: Mapping[str, RepositoryCommit],
) -> list[Claim]:
    """Return the claims on commits with the patch id of one of the session's, or of several in
    a row, and on those whose message says what they repeat."""
    if not own:
        return []
    others = [commit for commit in there if commit.sha not in own and len(commit.parents) == 1]
    if not others:
        return []
    files = {path for _, commit in own.values() for path in commit.files}
    likely = [commit.sha for commit in others if files.intersection(commit.files)]
    patches = repository.patch_ids([*own, *likely])
    origin: dict[str, str] = {patches[sha]: sha for sha in own if sha in patches}
    for first, last in _rows(own, by_sha):
        squashed = repository.patch_id_between(first, last)
        if squashed:
            origin.setdefault(squashed, last)
    claims = []
    for commit in others:
        source = origin.get(patches.get(commit.sha, ""), "")
        source = source or next((sha for sha in _repeated(commit.message) if sha in own), "")
        if source and commit.committed_at >= own[source][1].committed_at:
            claims.append(_repeats(own[source][0], commit))
    return claims


def _rows(
    own: Mapping[str, Confirmed], by_sha: Mapping[str, RepositoryCommit]
) -> list[tuple[str, str]]:
    """(parent of the first, last) of every run of two and more of the session's commits that
    follow each other."""
    runs: list[tuple[str, str]] = []
    for last in own:
        at = last
        for length in range(1, _MOST_SQUASHED):
            commit = by_sha.get(at)
            if commit is None or len(commit.parents) != 1:
                break
            if length >= 2:
                runs.append((commit.parents[0], last))
            at = commit.parents[0]
            if at not in own:
                break
    return runs


def _repeated(message: str) -> list[str]:
    """The commits that a cherry-pick's or a squash's message names."""
    named = _REPEATS.findall(message)
    if _SQUASHED.search(message):
        named += _SQUASHED_COMMIT.findall(message)
    return named


def same_author_time(
    work: SessionWork, own: Mapping[str, Confirmed], there: Iterable[RepositoryCommit]
) -> list[Claim]:
    """Return the claims on commits whose author time and subject are those of a commit of the
    session: rebase, amend and cherry-pick keep both. Where git has that commit no more, the
    author time must lie within the call that made it."""
    claims = []
    known = [(claim, commit) for claim, commit in own.values()]
    found = {(claim.turn.id, claim.timestamp) for claim, _ in known}
    lost = [
        (said(made), made.began - CLOCK, made.ended + CLOCK)
        for made in work.commits
        if made.certain and made.began and made.ended and (made.turn.id, made.ended) not in found
    ]
    for commit in there:
        if commit.sha in own:
            continue
        sources = [
            claim
            for claim, mine in known
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
