"""The repository is read, never written, and runs nothing of its own."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from memory_assets.commits import Repository
from memory_assets.errors import GitFailed, NotFound
from memory_assets_tests.commits.conftest import Workshop


def _bytes(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


def _ask_everything(repository: Repository) -> None:
    sha = repository.commits()[0].sha
    assert repository.state and repository.resolve(sha[:7]) == [sha]
    repository.commit(sha)
    repository.added_lines(sha)
    repository.blame("README.md")


def test_asking_changes_not_one_byte(shop: Workshop) -> None:
    """Neither of the working tree nor of .git."""
    shop.save("README.md", "not committed yet, and the index is stale")
    before = _bytes(shop.root)
    _ask_everything(shop.repository())
    assert _bytes(shop.root) == before


def test_no_program_that_the_repository_names_is_run(shop: Workshop, tmp_path: Path) -> None:
    """Not its pager, file system monitor, external diff, text converter, or signer."""
    mark = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f'#!/bin/sh\necho "$0" >> {mark}\ncat\n')
    script.chmod(0o755)
    for name in ("post-checkout", "pre-commit", "reference-transaction"):
        (shop.root / ".git/hooks" / name).write_text(script.read_text())
        (shop.root / ".git/hooks" / name).chmod(0o755)
    shop.save(".gitattributes", "*.md diff=evil filter=evil")
    shop.commit("Attributes", later=5)
    mark.unlink(missing_ok=True)
    for setting in (
        "core.pager",
        "core.fsmonitor",
        "core.sshCommand",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "gpg.program",
    ):
        shop.git("config", setting, str(script))
    shop.git("config", "log.showSignature", "true")
    shop.git("config", "color.ui", "always")
    mark.unlink(missing_ok=True)
    _ask_everything(shop.repository())
    assert not mark.exists()


def test_lines_are_those_of_the_file_as_it_lies_there(shop: Workshop) -> None:
    """What is not committed shifts the others, and is nobody's yet."""
    first = shop.repository().commits()[0].sha
    (shop.root / "README.md").write_text("# New heading\n\n# Shop\nAll about ships and harbors.\n")
    assert shop.repository().blame("README.md") == {first: [3, 4]}
    assert shop.repository().blame("README.md", 3) == {first: [3]}
    assert shop.repository().blame("README.md", 1) == {}
    with pytest.raises(NotFound, match=r"no line 99 in README.md: it has 4"):
        shop.repository().blame("README.md", 99)


def test_where_there_is_no_repository_there_is_none(tmp_path: Path) -> None:
    """Nor for a directory that does not exist."""
    assert Repository.at(tmp_path) is None
    assert Repository.at(tmp_path / "gone") is None


def test_a_file_that_git_does_not_know_cannot_be_blamed(shop: Workshop) -> None:
    """The error names git's verb and the directory, not what git printed."""
    with pytest.raises(GitFailed, match="git cat-file ended with code 128"):
        shop.repository().blame("nowhere.py")


@pytest.mark.parametrize("name", ["--all", "-n1", "zz", "", "--output=pwned"])
def test_what_is_no_commit_resolves_to_none(shop: Workshop, name: str) -> None:
    """An option is never taken for a revision."""
    assert shop.repository().resolve(name) == []
    assert not (shop.root / "pwned").exists()


def test_the_state_changes_with_every_commit(shop: Workshop) -> None:
    """And with nothing else."""
    before = shop.repository().state
    shop.save("a.py", "a line")
    assert shop.repository().state == before
    shop.commit("A line")
    assert shop.repository().state != before
