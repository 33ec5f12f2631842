"""Reading shell commands just far enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.redacted_text import seal
from memory_assets.session_analysis.shell import meaningful, segments


def _programs(command: str) -> list[str]:
    return [segment.program for segment in segments(seal(command))]


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("cd /x && pytest -q | tail -5", ["cd", "pytest", "tail"]),
        ("TZ=UTC timeout 60 .venv/bin/pytest tests", ["pytest"]),
        ("uv run python -m pytest", ["pytest"]),
        ("echo 'a && b; c' ; ls", ["echo", "ls"]),
        ("git commit -m \"$(cat <<'EOF'\nfix: a && b\nEOF\n)\" && git push", ["git", "git"]),
        ("python - <<'EOF'\nimport os && rm\nEOF\nls", ["python", "ls"]),
        ("npm test 2>&1", ["npm"]),
        ("", []),
    ],
)
def test_programs_are_found_past_wrappers_and_quotes(command: str, programs: list[str]) -> None:
    """Quotes and here-documents hide operators; wrappers and assignments hide the program."""
    assert _programs(command) == programs


def test_setting_up_and_filtering_is_not_meaningful() -> None:
    """cd, echo and a piped tail say nothing about what was run."""
    found = meaningful(seal("cd /x && go test ./... 2>&1 | grep -v ok | tail -3 && echo done"))
    assert [segment.text for segment in found] == ["go test ./... 2>&1"]


def test_the_file_a_command_writes_to_is_known() -> None:
    """Redirections to a file count, those to /dev/null do not."""
    written = [s.writes for s in segments(seal("cat > notes.md <<'E'\nhi\nE\nls > /dev/null"))]
    assert written == ["notes.md", None]


@given(st.text(alphabet=st.sampled_from("ab \"'\\|&;<>$()\n-=/E"), max_size=120))
def test_any_command_line_is_read_without_crashing(command: str) -> None:
    """Broken quoting included; the programs' text comes from the command itself."""
    for segment in segments(seal(command)):
        assert segment.text in command
