"""Commands that print secrets of a vault: their output goes whole, whatever options stand
before, between and after the subcommands."""

from __future__ import annotations

from dataclasses import replace

from memory_assets.redaction import RedactionSettings
from memory_assets.redaction.policy.contents import ContentPolicy, contents_tag
from memory_assets_tests.redaction.test_sensitive_files import BODY, RESULT, after
from memory_assets_tests.redaction.vault_commands import HARMLESS, PRINTS_SECRETS
from memory_assets_tests.sweep import sweep

POLICY = ContentPolicy(RedactionSettings())


@sweep("command", PRINTS_SECRETS)
def test_the_output_goes(command: str) -> None:
    """The output of a command that prints secrets becomes a tag with its size."""
    assert after(replace(RESULT, text=BODY, command=command)) == contents_tag(BODY)


@sweep("command", HARMLESS)
def test_the_output_of_a_neighbour_stays(command: str) -> None:
    """A command that prints no secret keeps its output, though its words are alike."""
    assert after(replace(RESULT, text=BODY, command=command)) == BODY


def test_code_that_calls_a_shell_tool_is_read() -> None:
    """The command is a string literal in JavaScript."""
    command = 'await tools.exec_command({cmd: "kubectl -n prod get secret x -o yaml"})'
    assert after(replace(RESULT, text=BODY, command=command)) == contents_tag(BODY)
