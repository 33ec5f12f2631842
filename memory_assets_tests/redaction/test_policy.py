"""File contents: which calls carry them, what is too large, what may stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory_assets.models import Record
from memory_assets.redaction import RecordRedaction, RedactionSettings, Redactor, load_redactor
from memory_assets.redaction.policy.command_files import files_read
from memory_assets_tests.records import record as plain_record
from memory_assets_tests.sweep import sweep

LIMIT = 200
LARGE = "x = 1  # nothing secret\n" * 20
SMALL = "x = 1\n"


@pytest.fixture(scope="module")
def strict() -> Redactor:
    """A redactor with a low limit that lets the documentation stay."""
    return load_redactor(
        RedactionSettings(max_file_bytes=LIMIT, allowlist=("docs/**", "*.rst")), bytes(32)
    )


def record(text: str, **fields: Any) -> Record:
    """Return a tool result in the project."""
    return plain_record(text, **{"cwd": "/home/dev/app", **fields})


def redacted(redactor: Redactor, given: Record, root: str = "/home/dev/app") -> RecordRedaction:
    """Redact one record of a session."""
    session = redactor.session(given.session_id)
    return session.redact_record(given, project="p", project_root=root)


def kept(redactor: Redactor, given: Record) -> str:
    """Return the text that stays of a record."""
    return redacted(redactor, given).record.text


def tag(text: str) -> str:
    """Return what stands in place of `text`."""
    return f"<redacted-file-contents-of-{len(text.encode())}-bytes>"


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_name": "Read", "paths": ("src/a.py",)},
        {"tool_name": "NotebookRead", "paths": ("a.ipynb",)},
        {"tool_name": "read", "paths": ("src/a.py",), "agent": "pi"},
        {"tool_name": "mcp__fs__read_file", "paths": ("src/a.py",)},
        {"tool_name": "Bash", "command": "cat src/a.py"},
        {"tool_name": "Bash", "command": "cd src && cat a.py | head -100"},
        {"tool_name": "shell", "command": "sed -n '1,200p' src/a.py", "agent": "codex"},
        {"tool_name": "exec_command", "command": "nl -ba src/a.py | sed -n '1,80p'"},
        {"tool_name": "Bash", "command": "grep -n x src/a.py"},
    ],
)
def test_large_reads_are_replaced(strict: Redactor, fields: dict[str, Any]) -> None:
    """What a tool or a command printed of a file over the limit becomes a tag with its size."""
    assert kept(strict, record(LARGE, **fields)) == tag(LARGE)
    assert kept(strict, record(SMALL, **fields)) == SMALL


@pytest.mark.parametrize(
    "command",
    ["pytest -q", "make test | tail -50", "cargo build 2>&1", "git log", "cat a && ./run"],
)
def test_output_of_other_commands_stays(strict: Redactor, command: str) -> None:
    """Tests and builds print no file."""
    assert kept(strict, record(LARGE, tool_name="Bash", command=command)) == LARGE


def test_large_writes_keep_the_path(strict: Redactor) -> None:
    """Of a writing call's input the contents go, the file's name stays."""
    text = f"file_path: src/a.py\ncontent:\n{LARGE}"
    written = record(text, kind="tool_use", tool_name="Write", paths=("src/a.py",))
    assert kept(strict, written) == f"file_path: src/a.py\ncontent:\n{tag(LARGE)}"


def test_large_edits_and_patches_go(strict: Redactor) -> None:
    """Old and new text of an edit count together; a patch keeps the names of its files."""
    both = f"{LARGE[:150]}\nnew_string:\n{LARGE[:150]}"
    edit = record(f"file_path: a.py\nold_string:\n{both}", kind="tool_use", tool_name="Edit")
    assert kept(strict, edit) == f"file_path: a.py\nold_string:\n{tag(both)}"
    head = "*** Begin Patch\n*** Update File: a.py\n"
    patch = record(head + LARGE, kind="tool_use", tool_name="apply_patch")
    assert kept(strict, patch) == head + tag(LARGE)


def test_a_large_here_document_goes(strict: Redactor) -> None:
    """A file written by `cat > file <<EOF` loses its body, in the text and in the command."""
    command = f"cat > src/a.py <<'EOF'\n{LARGE}EOF\nmake"
    given = record(f"command:\n{command}", kind="tool_use", tool_name="Bash", command=command)
    done = redacted(strict, given, root="").record
    body = LARGE.removesuffix("\n")
    assert done.command == f"cat > src/a.py <<'EOF'\n{tag(body)}\nEOF\nmake"
    assert done.text == f"command:\n{done.command}"


def test_size_is_counted_in_utf8_bytes(strict: Redactor) -> None:
    """Wide characters and lone surrogates count as the bytes they take."""
    text = "é" * (LIMIT // 2)
    read = {"tool_name": "Read", "paths": ("a",)}
    assert kept(strict, record(text, **read)) == text
    assert kept(strict, record(text + "é", **read)) == tag(text + "é")
    assert kept(strict, record("\ud800" * 100, **read)) == "<redacted-file-contents-of-300-bytes>"


@pytest.mark.parametrize(
    "path",
    ["docs/a.md", "/home/dev/app/docs/a.md", "./docs/b/../a.md", "docs\\a.md", "/etc/x/readme.rst"],
)
def test_allowlisted_paths_stay(strict: Redactor, path: str) -> None:
    """A path that matches a glob, as it is or below the root, keeps its contents."""
    assert kept(strict, record(LARGE, tool_name="Read", paths=(path,))) == LARGE


@pytest.mark.parametrize(
    "paths",
    [
        ("docs/../secret/a.md",),
        ("docs/../../app2/docs.md",),
        ("/home/dev/app/docs/../a.md",),
        ("docs\\..\\a.md",),
        ("/other/docs/a.md",),
        ("DOCS/a.md",),
        ("docs/a.md", "src/a.py"),
        (),
    ],
)
def test_paths_that_leave_the_allowlist_do_not_stay(
    strict: Redactor, paths: tuple[str, ...]
) -> None:
    """Dots are resolved first, and every path of a call must be allowed."""
    assert kept(strict, record(LARGE, tool_name="Read", paths=paths)) == tag(LARGE)


def test_allowlisted_contents_are_scanned(strict: Redactor, named: Callable[[str], str]) -> None:
    """The allowlist keeps text, not secrets."""
    text = LARGE + "DB_PASSWORD=" + "Tr0ub4dor" + "3x\n"
    left = kept(strict, record(text, tool_name="Read", paths=("docs/a.md",)))
    assert named(left) == LARGE + "DB_PASSWORD=<redacted:assigned-password>\n"


def test_redact_takes_a_path_too(strict: Redactor) -> None:
    """`redact(text, path)` treats the text as that file's contents and reports one finding; those
    of a file of secrets go whatever their size."""
    assert strict.redact("A=1\n", "certs/server.PEM").text == tag("A=1\n")
    result = strict.redact(LARGE, "src/a.py")
    assert result.text == tag(LARGE)
    (finding,) = result.findings
    assert (finding.rule, finding.start, finding.end) == ("file-contents", 0, len(LARGE))
    assert strict.redact(LARGE, "docs/a.md").text == LARGE
    assert strict.redact(result.text, "src/a.py").text == result.text


@sweep(
    "command, files",
    [
        ("cat a.py b.py", ("a.py", "b.py")),
        ("head -n 20 a.py", ("a.py",)),
        ("cd x; FOO=1 cat 'my file.txt' | grep y | sort", ("my file.txt",)),
        ("rg -n needle src", ("src",)),
        ("cat a | python run.py", ()),
        ("echo hello", ()),
        ("cat 'unclosed", ("unclosed",)),
        ("for f in a b; do sudo cat lib/$f; done", ("lib/$f",)),
        ("# don't\ncat a.py", ("a.py",)),
        ("jq .name package.json", ("package.json",)),
        ("gh pr list | grep open", ()),
        ("sed -i s/a/b/ a.py", ()),
        ("", ()),
    ],
)
def test_files_that_a_command_prints(command: str, files: tuple[str, ...]) -> None:
    """Only commands that print files and nothing else name them."""
    assert files_read(command) == files
