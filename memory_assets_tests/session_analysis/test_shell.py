"""Reading shell commands just far enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.redacted_text import seal
from memory_assets.session_analysis.shell import segments, working_segments
from memory_assets_tests.sweep import sweep


def _programs(command: str) -> list[str]:
    return [segment.program for segment in segments(seal(command))]


@sweep(
    "command, programs",
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


@sweep(
    "command, told",
    [
        (
            r"Get-ChildItem 'C:\x' | Where-Object { $_.Length -gt 1MB } | Select-Object -First 5",
            [
                r"Get-ChildItem 'C:\x' | Where-Object { $_.Length -gt 1MB }"
                " | Select-Object -First 5"
            ],
        ),
        (
            'for ($i=0; $i -lt 3; $i++) { try { Invoke-WebRequest http://x } catch { "$i bad" } }',
            ["Invoke-WebRequest http://x"],
        ),
        (
            "$env:CI='1'; npm test; if ($LASTEXITCODE -ne 0) { exit 1 } else { git push }",
            ["npm test", "git push"],
        ),
        (
            "& 'C:\\Program Files\\Git\\bin\\git.exe' commit -m \"a; b | c\"",
            ["& 'C:\\Program Files\\Git\\bin\\git.exe' commit -m \"a; b | c\""],
        ),
        (
            "@'\nhello; it | x\n'@ | Set-Content -Path notes.md",
            ["@'\nhello; it | x\n'@ | Set-Content -Path notes.md"],
        ),
        (
            "Set-Location C:\\x; .\\gradlew.bat test | Out-String",
            [".\\gradlew.bat test | Out-String"],
        ),
        ("$files = @('a','b'); $x = 5; Write-Host \"$x; done\"", []),
        (
            'powershell.exe -NoProfile -Command "npm run lint; npm test"',
            ["npm run lint", "npm test"],
        ),
        ('cmd /c "npm run lint && npm test"', ["npm run lint", "npm test"]),
        ("dir /s /b | findstr cart && del old.txt", ["dir /s /b", "del old.txt"]),
        (
            "Get-Process |\n  Where-Object CPU -gt 10 |\r\n\r\n  Stop-Process",
            ["Get-Process | Where-Object CPU -gt 10 | Stop-Process"],
        ),
        ("Get-Item a\n  | Sort-Object b\nGet-Date", ["Get-Item a | Sort-Object b", "Get-Date"]),
        (
            "gci *.log | % { $_.Name }\n(Get-Item a)\nnpm test",
            ["gci *.log | % { $_.Name }", "npm test"],
        ),
    ],
)
def test_a_pipeline_of_windows_shells_is_one_command(command: str, told: list[str]) -> None:
    """What stands in blocks and strings separates nothing; the commands in statements count."""
    assert [segment.text for segment in working_segments(seal(command))] == told


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        (".\\.venv\\Scripts\\python.exe -m pytest tests; $LASTEXITCODE", ["pytest"]),
        ('& "C:\\tools\\npm.cmd" test | Tee-Object log.txt', ["npm"]),
        ("git commit -m 'Add Get-Foo support' && git push", ["git", "git"]),
        ("for f in *.py; do echo Get-Item $f; done", ["for", "echo", "done"]),
        ("{" * 3_000 + " Get-Item", []),
    ],
)
def test_programs_are_found_in_windows_command_lines(command: str, programs: list[str]) -> None:
    """Without directory and ending; a cmdlet's name in another shell's line changes nothing."""
    assert _programs(command) == programs


def test_setting_up_and_filtering_is_not_meaningful() -> None:
    """cd, echo and a piped tail say nothing about what was run."""
    found = working_segments(
        seal("cd /x && go test ./... 2>&1 | grep -v ok | tail -3 && echo done")
    )
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


def test_the_commands_of_a_long_turn_are_taken_apart_once() -> None:
    """Passes over it find them, however many they are, as long as they are not long."""
    short = [seal(f"ls {number}") for number in range(12_000)]
    known = [segments(command) for command in short]
    assert all(segments(command) is parts for command, parts in zip(short, known, strict=True))
    for number in range(9):
        segments(seal(f"ls {number} " + "x" * 500_000))
    assert segments(short[0]) == known[0] and segments(short[0]) is not known[0]
