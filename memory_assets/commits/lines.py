"""The share of a commit's lines that a session wrote."""

from __future__ import annotations

from memory_assets.commits.evidence import CLOCK
from memory_assets.commits.repository import Repository, RepositoryCommit
from memory_assets.commits.work import SessionWork, Written, telling_line
from memory_assets.session_analysis.phrases import relative

_FEWEST = 2
"""Lines that tell one piece of code from another: fewer in a commit prove nothing."""


def share_written(
    work: SessionWork, commit: RepositoryCommit, repository: Repository
) -> tuple[float, Written | None]:
    """Return the share of a commit's distinctive lines that the session had written into its
    files, and the last call that wrote one; (0, None) if the commit has too few such lines."""
    by_file = {path: _written_before(work, path, commit) for path in commit.files}
    if not any(by_file.values()):
        return 0.0, None
    total = found = 0
    last: Written | None = None
    for path, lines in repository.added_lines(commit.sha).items():
        for line in {telling_line(line) for line in lines} - {""}:
            total += 1
            writer = next(
                (one for one in reversed(by_file.get(path, [])) if line in one.lines), None
            )
            if writer is not None:
                found += 1
                if last is None or (writer.at and last.at and writer.at > last.at):
                    last = writer
    return (found / total, last) if total >= _FEWEST else (0.0, None)


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
    bare = relative(one.path, [])
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
