"""The reference of the command line, docs/commands.md, from its own help.

    python -m memory_assets_tests.cli.commands_reference

prints it; `make reference` writes it.
"""

from __future__ import annotations

import click

from memory_assets.cli.cli import memory

HEAD = """# Commands

What `memory --help` and the `--help` of each command print (`make reference`).
"""


def commands() -> dict[str, click.Command]:
    """Return the commands by their names, in the order of `memory --help`."""
    context = click.Context(memory, info_name="memory")
    found = {name: memory.get_command(context, name) for name in memory.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def reference() -> str:
    """Return the page: a section for each command."""
    context = click.Context(memory, info_name="memory", terminal_width=80)
    sections = [f"```text\n{memory.get_help(context)}\n```\n"]
    for name, command in commands().items():
        own = click.Context(command, parent=context, info_name=name)
        sections.append(f"## `memory {name}`\n\n```text\n{command.get_help(own)}\n```\n")
    return "\n".join([HEAD, *sections])


if __name__ == "__main__":
    print(reference(), end="")  # noqa: T201
