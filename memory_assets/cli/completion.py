"""`memory --install-completion` and `--show-completion`: a line in the configuration of bash, zsh
or fish that lets click complete what is typed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click

from memory_assets.errors import ConfigurationError

_LINES = {
    "bash": b'eval "$(_MEMORY_COMPLETE=bash_source memory)"',
    "zsh": b'autoload -Uz compinit && compinit && eval "$(_MEMORY_COMPLETE=zsh_source memory)"',
    "fish": b"_MEMORY_COMPLETE=fish_source memory | source",
}
"""By shell, the line that belongs into its configuration."""


def complete(ctx: click.Context, option: click.Parameter, is_given: bool) -> None:
    """Print the line for the user's shell, or add it to the shell's configuration unless it is
    there, and end the command.

    Raises:
        ConfigurationError: no completion is known for this shell.
    """
    if not is_given:
        return
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in _LINES:
        raise ConfigurationError(f"SHELL is {shell!r}; completion is for {', '.join(_LINES)}")
    line = _LINES[shell]
    file = _configuration(shell)
    if option.name == "show_completion":
        click.echo(line)
        ctx.exit()
    file.parent.mkdir(parents=True, exist_ok=True)
    before = file.read_bytes() if file.exists() else b""
    if line not in before.splitlines():
        with file.open("ab") as configuration:
            ends_a_line = not before or before.endswith(b"\n")
            configuration.write((b"" if ends_a_line else b"\n") + line + b"\n")
    click.echo(f"{file} has it; shells that start from now on complete `memory`.")
    ctx.exit()


def without_completion() -> Iterator[tuple[Path, bytes]]:
    """Yield the configuration files that have the line, and their contents without it, empty if
    only white space is left."""
    for shell, line in _LINES.items():
        file = _configuration(shell)
        lines = file.read_bytes().splitlines(keepends=True) if file.is_file() else []
        others = [existing for existing in lines if existing.rstrip(b"\r\n") != line]
        if others != lines:
            rest = b"".join(others)
            yield file, rest if rest.strip() else b""


def _configuration(shell: str) -> Path:
    """Return the file, of those that a shell reads when it starts, in which its line belongs."""
    match shell:
        case "zsh":
            return Path(os.environ.get("ZDOTDIR") or Path.home()) / ".zshrc"
        case "fish":
            own = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
            return Path(own) / "fish" / "completions" / "memory.fish"
        case _:
            return Path.home() / ".bashrc"
