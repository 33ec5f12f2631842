"""Files of secrets: wherever a call shows or writes them, their contents go whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from memory_assets.models import Kind, Record
from memory_assets.redaction import RedactionSettings
from memory_assets.redaction.policy.contents import ContentPolicy, contents_tag
from memory_assets.redaction.policy.sensitive_paths import is_sensitive
from memory_assets_tests.proportion import in_proportion
from memory_assets_tests.records import record
from memory_assets_tests.sweep import sweep

BODY = "COLOUR=mauve"
"""No rule would find it: only the path says that it must go."""
POLICY = ContentPolicy(RedactionSettings())
RESULT = record(tool_name="Bash", cwd="/home/dev/app")
CALL = replace(RESULT, kind="tool_use", role="assistant")


def after(record: Record, policy: ContentPolicy = POLICY) -> str:
    """Return the record's text with what the policy cuts replaced."""
    text = record.text
    for start, end in reversed(policy.cuts(record, "/home/dev/app")):
        text = text[:start] + contents_tag(record.text[start:end]) + text[end:]
    return text


@sweep(
    "command",
    [
        "cat .env",
        "cat a.py .env",
        "cat a.py && head -3 ./deploy/.env.prod | cut -d= -f2",
        "sudo cat /etc/shadow",
        "sed -n 1,5p .env",
        "xxd server.key",
        "base64 -w0 id_rsa",
        "grep -v '^#' .env",
        "grep -rh COLOUR .env src/",
        "cat .env*",
        "cat {.env,.env.local}",
        "cat ~/.aws/credentials 2>/dev/null || echo none",
        "ssh host 'cat /srv/.env | grep COLOUR'",
        "docker exec web cat /app/.env",
        'bash -lc "cat .env"',
        "find . -name .env -exec cat {} +",
        "for f in 1 2; do cat $f/.env; done",
        "while read l; do echo $l; done < .env",
        'echo "$(cat .env)"',
        "git show HEAD~3:deploy/.env",
        "python3 -c \"print(open('.env').read())\"",
        "Get-Content -Path .env | Select-String COLOUR",
        "type C:\\app\\.env",
        "# don't do this\ncat .env; make test",
        "openssl rsa -in server.key -text",
        "op item get 'signing key' --format json | head -50",
        "aws secretsmanager get-secret-value --secret-id x",
        "kubectl get secret web -o yaml",
    ],
)
def test_commands_that_show_a_file_of_secrets(command: str) -> None:
    """The whole output goes, since nothing tells which part of it is the file."""
    assert after(replace(RESULT, text=BODY, command=command)) == contents_tag(BODY)


@sweep(
    "command",
    [
        "cp .env.example .env && make",
        "ls -la .env",
        "git add .env",
        "source .env && npm test",
        "export $(cat .env | xargs) && npm start",
        "TOKEN=$(cat .vault-token) make",
        "grep -q COLOUR .env && make",
        "cat .env > /tmp/copy && make",
        "op read op://vault/item | gh secret set NAME",
        'git commit -m "never cat .env"',
        "rg process.env src",
        "",
    ],
)
def test_commands_that_only_name_a_file_of_secrets(command: str) -> None:
    """Output of another command stays, though it works with such a file."""
    assert after(replace(RESULT, text=BODY, command=command)) == BODY


def test_matches_in_several_files() -> None:
    """Of a search's output only the lines of the file of secrets go, its name stays."""
    given = (
        "src/a.py:3:x = COLOUR\n"
        ".env-1-# colours\n.env:2:COLOUR=mauve\n.env-3-SIZE=9\n"
        "--\nsrc/b-2-b.py-7-y = 1\n\x1b[35mconf/.env.local\x1b[0m:COLOUR=red"
    )
    for call in (
        {"command": "grep -rn -C1 COLOUR .env src conf"},
        {"command": "cd app && rg COLOUR"},
        {"tool_name": "Grep", "paths": ("/home/dev/app",)},
    ):
        left = after(replace(RESULT, text=given, **call))
        assert "mauve" not in left and "SIZE" not in left and "=red" not in left
        assert left.startswith("src/a.py:3:x = COLOUR\n.env-<redacted-file-contents-of-")
        assert "\n--\nsrc/b-2-b.py-7-y = 1\n" in left


def test_matches_below_a_heading() -> None:
    """`rg --heading` prints the path once, above its lines."""
    given = "src/a.py\n3:x = COLOUR\n\n.env\n2:COLOUR=mauve\n3-SIZE=9\n\nREADME.md\n1:COLOUR"
    left = after(replace(RESULT, text=given, command="rg --heading COLOUR"))
    assert left == given.replace(
        "2:COLOUR=mauve\n3-SIZE=9", contents_tag("2:COLOUR=mauve\n3-SIZE=9")
    )


def test_a_search_in_one_file_of_secrets() -> None:
    """Matches without file names are known by the call's path."""
    given = replace(RESULT, text=f"2:{BODY}", tool_name="Grep", paths=("api/.env",))
    assert after(given) == contents_tag(f"2:{BODY}")


@pytest.mark.parametrize("kind", ["tool_result", "prompt"])
def test_diffs(kind: Kind) -> None:
    """Of a diff the part about a file of secrets goes, whoever shows it, its header stays."""
    head = "diff --git a/.env b/.env\n"
    body = f"index 1..2 100644\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-COLOUR=red\n+{BODY}"
    rest = "\ndiff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y"
    shown = replace(RESULT, text=head + body + rest, command="git diff", kind=kind)
    assert after(shown) == head + contents_tag(body) + rest
    plain = f"--- .env.old\t2026-01-01\n+++ .env\t2026-01-02\n@@ -1 +1 @@\n+{BODY}"
    assert BODY not in after(replace(RESULT, text=plain, command="diff -u .env.old .env"))


def test_patches_by_file() -> None:
    """Of apply_patch only the hunks of the file of secrets go: as a tool, as a here-document,
    as an argument list in JSON and inside code that calls tools."""
    secret, plain = f"@@\n-COLOUR=red\n+{BODY}", "@@\n-x\n+y"
    patch = (
        f"*** Begin Patch\n*** Update File: .env\n{secret}\n*** Update File: a.py\n{plain}\n"
        "*** End Patch"
    )
    want = patch.replace(secret, contents_tag(secret))
    assert after(replace(CALL, tool_name="apply_patch", text=patch)) == want
    command = f"apply_patch <<'P'\n{patch}\nP"
    listed = f"command: {orjson.dumps(['bash', '-lc', command]).decode()}"
    code = f"await tools.apply_patch({orjson.dumps(patch).decode()})"
    for given in (
        replace(CALL, tool_name="Bash", text=f"command:\n{command}", command=command),
        replace(CALL, tool_name="shell", text=listed, command=command),
        replace(CALL, tool_name="exec", text=code, command=code),
    ):
        left = after(given)
        assert BODY not in left and "COLOUR" not in left
        assert ".env" in left and "+y" in left and "End Patch" in left
    assert BODY not in _left_of_command(command)


def _left_of_command(command: str) -> str:
    for start, end in reversed(POLICY.command_cuts(command)):
        command = command[:start] + command[end:]
    return command


@sweep(
    "command",
    [
        f"cat > .env <<'EOF'\n{BODY}\nEOF\nmake",
        f"cat <<EOF >> deploy/.env\nA=1\n{BODY}\nEOF",
        f"sudo tee /srv/.env >/dev/null <<-EOF\n\t{BODY}\n\tEOF",
        f"cat <<EOF | sudo tee .env\n{BODY}\nEOF",
        f"ssh host 'cat > .env' <<EOF\n{BODY}\nEOF",
        f"ssh host 'echo {BODY} >> /srv/.env'",
        f'echo "{BODY}" > .env',
        f"printf '%s\\n' '{BODY}' >> .env && make",
        f"echo {BODY} | sudo tee -a .env > /dev/null",
        f"tee .env <<< '{BODY}'",
        f"python tools.py && echo {BODY} > .env",
        f"sed -i 's/^COLOUR=.*/{BODY}/' .env",
        f"Set-Content -Path .env -Value '{BODY}'",
        f'bash -c "echo \\"{BODY}\\" > .env"',
    ],
)
def test_commands_that_write_a_file_of_secrets(command: str) -> None:
    """What goes into the file is cut, in the command and in the call's text, plain or JSON."""
    assert BODY not in _left_of_command(command)
    assert ".env" in _left_of_command(command)
    shown = replace(CALL, text=f"command: {command}", command=command)
    assert BODY not in after(shown)
    listed = orjson.dumps(["bash", "-lc", command]).decode()
    assert BODY not in after(replace(CALL, text=f"command: {listed}", command=command))


def test_writing_elsewhere_stays() -> None:
    """A small here-document into an ordinary file is not touched."""
    for command in (f"cat > a.txt <<EOF\n{BODY}\nEOF", f"echo {BODY} > a.txt", f"echo {BODY}"):
        assert _left_of_command(command) == command


@sweep(
    "tool, text",
    [
        ("Write", f"content: {BODY}"),
        ("Edit", f"old_string: {BODY}\nnew_string: COLOUR=red"),
        ("MultiEdit", f'edits: [{{"old_string":"{BODY}","new_string":"x"}}]'),
        ("NotebookEdit", f"new_source:\n{BODY}"),
        ("edit", f"oldText:\n{BODY}\nnewText:\nx"),
        ("write_to_file", f"content:\n{BODY}"),
    ],
)
def test_edits_of_a_file_of_secrets(tool: str, text: str) -> None:
    """Old and new text of an edit go, the path stays."""
    call = replace(CALL, tool_name=tool, text=f"path: .env\n{text}", paths=(".env",))
    left = after(call)
    assert BODY not in left and "=red" not in left and left.startswith("path: .env\n")


def test_answers_that_hold_no_contents_stay() -> None:
    """That a file was written, or could not be read, is worth remembering."""
    done = replace(RESULT, tool_name="Write", paths=("/a/.env",), text="Wrote /a/.env.")
    assert after(done) == done.text
    missing = replace(done, tool_name="Read", is_error=True, text="File does not exist.")
    assert after(missing) == missing.text
    quoting = replace(done, is_error=True, text=f"String not found in file.\nString: {BODY}")
    assert BODY not in after(quoting)


def test_what_codex_says_of_a_command_stays() -> None:
    """Time and exit code before `Output:` are no contents."""
    head = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n"
    given = replace(RESULT, tool_name="exec_command", text=head + BODY, command="cat .env")
    assert after(given) == head + contents_tag(BODY)


def test_commands_inside_code() -> None:
    """Code that calls tools is searched for the commands it runs."""
    for command in ("cat src/tools.py .env", "python tools.py && cat .env"):
        assert after(replace(RESULT, text=BODY, command=command)) == contents_tag(BODY)
    code = 'const r = await tools.exec_command({cmd:"cd app && cat .env"}); text(r)'
    given = replace(RESULT, tool_name="exec", text=BODY, command=code)
    assert after(given) == contents_tag(BODY)


def test_links_lead_to_what_they_point_at(tmp_path: Path) -> None:
    """A link with a harmless name to a file of secrets is a file of secrets."""
    (tmp_path / ".env").write_text(BODY)
    (tmp_path / "settings.txt").symlink_to(".env")
    read = replace(RESULT, tool_name="Read", text=BODY, cwd=str(tmp_path))
    for path in ("settings.txt", str(tmp_path / "settings.txt")):
        assert after(replace(read, paths=(path,))) == contents_tag(BODY)


def test_links_out_of_the_allowlist(tmp_path: Path) -> None:
    """What an allowed place links to must be allowed too; a linked root is the same root."""
    real = tmp_path / "real"
    (real / "docs").mkdir(parents=True)
    (real / "src").mkdir()
    for name in ("docs/a.md", "src/a.py", ".env"):
        (real / name).write_text(BODY)
    (real / "docs" / "out.md").symlink_to("../src/a.py")
    (real / "docs" / "env.md").symlink_to("../.env")
    (real / "docs" / "in.md").symlink_to("a.md")
    (real / "docs" / "loop.md").symlink_to("loop.md")
    root = tmp_path / "linked"
    root.symlink_to(real)
    for glob in ("docs/**", f"{root}/docs/**", f"{real}/docs/**"):
        policy = ContentPolicy(RedactionSettings(max_file_bytes=4, allowlist=(glob,)))
        for base in (root, real):
            allowed = {
                name: not policy.cut_contents(BODY, (f"docs/{name}",), (str(base),))
                for name in ("a.md", "in.md", "out.md", "env.md")
            }
            if str(base) in glob or not glob.startswith("/"):
                assert allowed == {"a.md": True, "in.md": True, "out.md": False, "env.md": False}
            assert not allowed["out.md"] and not allowed["env.md"]
        policy.cut_contents(BODY, ("docs/loop.md",), (str(root),))


def test_the_allowlist_and_files_of_secrets() -> None:
    """A file of secrets stays only where a glob names its kind, and letters count."""
    wide = ContentPolicy(RedactionSettings(allowlist=("config/**", "*")))
    assert wide.cut_contents(BODY, ("config/.env",))
    named = ContentPolicy(RedactionSettings(allowlist=("**/.env.test", "certs/*.pem")))
    assert not named.cut_contents(BODY, ("app/.env.test",))
    assert not named.cut_contents(BODY, ("certs/a.pem",))
    assert named.cut_contents(BODY, ("app/.ENV.test",))
    assert named.cut_contents(BODY, ("app/.env",))


@sweep(
    "text",
    [
        "\0.env",
        "a/" * 1_000 + ".env",
        "../" * 1_000,
        "*" * 4_000,
        "{" * 1_000 + ".env",
        "$(" * 4_000,
        '"$(cat ' * 1_000,
        "cat <<A <<B\n" * 1_000,
        "<<A\n" * 4_000,
        "'\"`\\" * 2_000,
        "bash -c 'bash -c \"bash -c x" * 400,
        "--- a\n+++ b\n" * 2_000,
        "diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n" * 1_000,
        "-1" * 10_000 + "-",
        ".env-" * 4_000,
        '"\\' * 4_000,
        "x:" * 10_000,
        "*** Update File: .env\n" * 2_000,
    ],
)
def test_odd_paths_and_commands(text: str) -> None:
    """Nothing raises and nothing takes long, whatever stands in a path, command or output."""
    assert in_proportion(lambda size: _decide(text[:size]), len(text) // 4)


def _decide(text: str) -> None:
    is_sensitive(text)
    policy = ContentPolicy(RedactionSettings(max_file_bytes=100, allowlist=("docs/**",)))
    policy.cut_contents("x", (text,), ("/home",))
    for kind in ("tool_use", "tool_result"):
        for tool in ("Bash", "Grep", "Edit"):
            for command in (text, f"cat .env {text}", f"grep -rn x . > .env\n{text}"):
                record = replace(RESULT, text=text, tool_name=tool, command=command, kind=kind)
                cuts = policy.cuts(record, "/home/dev")
                ends = [position for cut in cuts for position in cut]
                assert ends == sorted(ends) and all(0 <= end <= len(text) for end in ends)
