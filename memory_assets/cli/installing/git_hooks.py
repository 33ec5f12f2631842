"""`memory install-hooks`: Git runs `memory index` after a pull and after a switch of branch.

The lines are put at the top of the hooks `post-merge` and `post-checkout`, in the directory where
Git looks for hooks, so that the rest of a hook runs as before and decides its exit code:
https://git-scm.com/docs/githooks
"""

from __future__ import annotations

import os
import re
import subprocess
from hashlib import blake2b
from pathlib import Path
from shlex import quote

import click

from memory_assets.cli.commands import PATH, command, completed, flag
from memory_assets.cli.installing.other_programs import replace_file, shell_command
from memory_assets.cli.printing.rendering import print_lines
from memory_assets.errors import ConfigurationError, GitFailed
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.files.shared import locked, replace_text
from memory_assets.stores.workspaces import Workspaces

CHECKOUTS_FILE = "hooked_checkouts.txt"
"""Where in the data directory the checkouts with hooks are noted, for `memory uninstall`."""
_HOOKS = ("post-merge", "post-checkout")
_NEW = b"#!/bin/sh\n"
_SHELL = re.compile(rb"#!\s*(\S*/)?(env\s+)?(ba|da|k|z)?sh\b")
_GIT_SECONDS = 20.0
_OF_A_REPOSITORY = ("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE")
_ANY_LINES = re.compile(rb"# >>> (memory [0-9a-f]{8}) >>>\n.*?# <<< \1 <<<\n", re.DOTALL)


@command("memory install-hooks ~/code/app")
@click.argument("root", type=PATH, default=Path(), help="A Git checkout in a workspace.")
@click.option(
    "--agent",
    shell_complete=completed(lambda: ("claude-code", "codex", "gemini", "qwen")),
    help="Instead, let this agent (claude, codex, gemini, qwen) begin sessions with "
    "`memory context`.",
)
@flag("--user", help="With --agent: in all projects of this user.")
@flag("--uninstall", help="Remove what was added.")
def install_hooks(root: Path, agent: str | None, user: bool, uninstall: bool) -> None:
    """Index after each pull and switch of branch.

    Adds lines to the hooks `post-merge` and `post-checkout` that start `memory index` in the
    background. What is in these hooks, and core.hooksPath, stay as they are. With --agent, adds
    a hook to the settings of an agent instead, so that a new session begins with what is
    remembered about its project.
    """
    directory = root.expanduser().resolve()
    if agent is not None:
        from memory_assets.cli.installing.agent_hooks import change_hook

        change = change_hook(load_settings(), agent, None if user else directory, uninstall)
        print_lines([change])
        return
    if user:
        raise ConfigurationError("--user is for --agent; Git's hooks are those of a checkout")
    checkout, hooks = _of_git(directory)
    if not uninstall:
        _require_inside(checkout, hooks)
    lines = b"" if uninstall else _lines(load_settings(), checkout, directory)
    if not uninstall:
        _note_checkout(load_settings().data_dir, checkout)
    texts = {hooks / name: _with_lines(hooks / name, _mark(checkout), lines) for name in _HOOKS}
    for path, text in texts.items():
        replace_file(path, text, 0o755)
    done = "no longer indexed after" if uninstall else "indexed after"
    print_lines([f"{checkout} is {done} a pull or a switch of branch ({hooks})"])


def checkouts_with_hooks(data_dir: Path) -> list[Path]:
    """Return the checkouts to which hooks were ever added for this memory."""
    path = data_dir / CHECKOUTS_FILE
    return [Path(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def _note_checkout(data_dir: Path, checkout: Path) -> None:
    data_dir.mkdir(parents=True, exist_ok=True)
    path = data_dir / CHECKOUTS_FILE
    with locked(path.with_suffix(".lock"), 30.0, f"{path} is being written"):
        noted = checkouts_with_hooks(data_dir)
        if checkout not in noted:
            replace_text(path, "".join(f"{folder}\n" for folder in (*noted, checkout)))


def hooks_of(directory: Path) -> list[tuple[Path, bytes]]:
    """Return the hooks of the checkout that a directory is in which have lines of ours, whatever
    checkout these are for, and their contents without them, b"" if nothing else is in them."""
    try:
        _, hooks = _of_git(directory)
    except (ConfigurationError, GitFailed):
        return []
    edits = []
    for path in (hooks / name for name in _HOOKS):
        text = path.read_bytes() if path.is_file() else b""
        left = _ANY_LINES.sub(b"", text)
        if left != text:
            edits.append((path, b"" if left == _NEW else left))
    return edits


def _of_git(directory: Path) -> tuple[Path, Path]:
    """Return the top directory of a checkout, and the directory where Git looks for its hooks.

    Raises:
        ConfigurationError: the directory is in no checkout.
        GitFailed: git cannot be run.
    """
    top = Path(_rev_parse(directory, "--show-toplevel")).resolve()
    return top, top / _rev_parse(top, "--git-path", "hooks")


def _require_inside(checkout: Path, hooks: Path) -> None:
    """Raise `ConfigurationError` if Git looks for the hooks of a checkout elsewhere, or one of them
    is a link to elsewhere: they would be those of other repositories as well, or other
    programs'."""
    own = (checkout, (checkout / _rev_parse(checkout, "--git-common-dir")).resolve())

    def is_own(path: Path) -> bool:
        return any(path.resolve().is_relative_to(directory) for directory in own)

    if not is_own(hooks):
        raise ConfigurationError(
            f"core.hooksPath leads out of this checkout, to {hooks}: nothing is added to hooks "
            "that other repositories may run. Set it to a directory of the checkout, as with "
            f"git -C {checkout} config core.hooksPath .githooks"
        )
    for path in (hooks / name for name in _HOOKS):
        if not is_own(path):
            raise ConfigurationError(
                f"{path} is a link that leads out of this checkout: nothing is added to a hook "
                "that other repositories may run. Put a file of its own in its place."
            )


def _rev_parse(directory: Path, *arguments: str) -> str:
    """Return the answer of `git rev-parse` for a directory, without the variables by which Git's
    hooks and aliases name another repository."""
    kept = {name: value for name, value in os.environ.items() if name not in _OF_A_REPOSITORY}
    try:
        done = subprocess.run(
            ["git", "-C", directory, "rev-parse", *arguments],
            env=kept,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=True,
        )
    except subprocess.CalledProcessError:
        raise ConfigurationError(f"{directory} is not a Git checkout") from None
    except (OSError, subprocess.TimeoutExpired):
        raise GitFailed("git cannot be run; is it installed?") from None
    return os.fsdecode(done.stdout).removesuffix("\n")


def _mark(checkout: Path) -> bytes:
    """Return the name of a checkout's lines: worktrees may share one directory of hooks."""
    return b"memory " + blake2b(os.fsencode(checkout), digest_size=4).hexdigest().encode()


def _lines(settings: Settings, checkout: Path, directory: Path) -> bytes:
    """Return the lines of a hook that index the workspace of a directory. They do nothing if files
    instead of a branch were checked out (then the third argument of `post-checkout` is 0), and in
    another checkout, because worktrees share hooks."""
    roots = {workspace.root for workspace in Workspaces(settings.data_dir).all()}
    root = next((parent for parent in (directory, *directory.parents) if parent in roots), checkout)
    program = shell_command(settings, "nohup ")
    is_in_checkout = f'"$(pwd -P)" = {quote(str(checkout))}'
    return os.fsencode(
        f'if [ "${{0##*/}}:${{3-}}" != post-checkout:0 ] && [ {is_in_checkout} ]\n'
        f"then {program} index {quote(str(root))} "
        "</dev/null >/dev/null 2>&1 &\nfi\n"
    )


def _with_lines(path: Path, mark: bytes, lines: bytes) -> bytes:
    """Return the text of a hook with these lines of ours, b"" if nothing else is left.

    Raises:
        ConfigurationError: it is a program of another kind, or switched off.
    """
    before = path.read_bytes() if path.exists() else _NEW
    begin = b"# >>> %b >>>\n" % mark
    end = b"# <<< %b <<<\n" % mark
    text = re.sub(re.escape(begin) + b".*?" + re.escape(end), b"", before, flags=re.DOTALL)
    if not lines:
        return b"" if text == _NEW else text
    if not _SHELL.match(text):
        raise ConfigurationError(f"{path} is not a shell script; let it start `memory index`")
    if path.exists() and not os.access(path, os.X_OK):
        raise ConfigurationError(f"{path} is switched off; make it executable, or move it away")
    first, _, rest = text.partition(b"\n")
    return b"%b\n%b%b%b%b" % (first, begin, lines, end, rest)
