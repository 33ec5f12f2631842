"""Reading a command takes time in proportion to its length, whatever is repeated in it."""

from __future__ import annotations

import cProfile
import pstats
from dataclasses import replace

from memory_assets.redaction.policy import shell_commands, vault_commands
from memory_assets.redaction.policy.command_files import files_read, files_shown, written
from memory_assets_tests.redaction.test_sensitive_files import BODY, CALL, POLICY, after
from memory_assets_tests.sweep import sweep

REPEATED = (
    "a>b|",
    "a|",
    "a>b;",
    "echo a>b|",
    "echo a|tee b|",
    "a<<E|",
    "cat .env>b|",
    "pass x|",
    "pass x>b|",
    "X=$(pass x);",
    "op -a ",
    "xargs op ",
    "kubectl -x get -y ",
    "sudo -u a ",
    "bash -c 'a' ",
    "$(a)",
)
SIZE = 3_000


def _read(command: str) -> None:
    shell_commands.parsed.cache_clear()
    list(written(command))
    list(files_shown(command))
    files_read(command)
    vault_commands.opens_vault(command)


def _calls(command: str) -> int:
    profile = cProfile.Profile()
    profile.runcall(_read, command)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@sweep("repeated", REPEATED)
def test_four_times_the_command_is_four_times_the_work(repeated: str) -> None:
    """Counted in calls of functions."""
    _read(repeated * 10)
    short, long = (repeated * (size // len(repeated)) for size in (SIZE, 4 * SIZE))
    assert _calls(long) < 4.5 * _calls(short) + 500


def test_many_targets_are_one_stretch() -> None:
    """With more files than are told apart, one file of secrets takes all that is written."""
    names = " ".join(f">out{number}" for number in range(40))
    command = f"echo {BODY} {names} >.env && make"
    assert BODY not in after(replace(CALL, text=f"command:\n{command}", command=command), POLICY)
    harmless = f"echo {BODY} {names} && make"
    call = replace(CALL, text=f"command:\n{harmless}", command=harmless)
    assert after(call, POLICY) == call.text


def test_a_long_pipeline_is_one_stretch() -> None:
    """A file at the end of a long pipeline holds what was written at its beginning."""
    command = f"echo {BODY} | {'cat | ' * 40} tee .env"
    left = after(replace(CALL, text=f"command:\n{command}", command=command), POLICY)
    assert BODY not in left and left.endswith("tee .env")
