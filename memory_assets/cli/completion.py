"""`memory --install-completion` and `--show-completion`: click completes what is typed in bash, zsh
or fish, once a line in their configuration says so."""

from __future__ import annotations

import os
from pathlib import Path

import click

from memory_assets.errors import ConfigurationError

_LINES = {
    "bash": (".bashrc", 'eval "$(_MEMORY_COMPLETE=bash_source memory)"'),
    "zsh": (
        ".zshrc",
        'autoload -Uz compinit && compinit && eval "$(_MEMORY_COMPLETE=zsh_source memory)"',
    ),
    "fish": (
        ".config/fish/completions/memory.fish",
        "_MEMORY_COMPLETE=fish_source memory | source",
    ),
}
"""By shell, a file that it reads, in the home directory, and the line that belongs there."""


def complete(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    """Print the line for the user's shell, or add it to the shell's configuration unless it is
    there, and end the command.

    Raises:
        ConfigurationError: no completion is known for this shell.
    """
    if not wanted:
        return
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in _LINES:
        raise ConfigurationError(f"SHELL is {shell!r}; completion is for {', '.join(_LINES)}")
    name, line = _LINES[shell]
    if option.name == "show_completion":
        click.echo(line)
        ctx.exit()
    file = Path.home() / name
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or line not in file.read_text("utf-8").splitlines():
        with file.open("a", encoding="utf-8") as configuration:
            configuration.write(f"\n{line}\n")
    click.echo(f"{file} has it; shells that start from now on complete `memory`.")
    ctx.exit()
