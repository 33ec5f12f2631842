"""`memory forget --containing`: a secret that redaction missed, and the sessions that hold it."""

from __future__ import annotations

import base64
import html
import io
import json
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
from filelock import FileLock

from memory_assets.cli import removal
from memory_assets.cli.ingesting.ingest import IngestResult
from memory_assets.pipeline.checks.text_columns import text_columns
from memory_assets.pipeline.removal import forget as forgetting
from memory_assets.redacted_text import seal
from memory_assets.redaction.forgotten_texts import ForgottenTexts, hash_of_text
from memory_assets.stores.agents.waiting import Waiting
from memory_assets_tests.cli.terminal import Terminal
from memory_assets_tests.cli.test_cli import Cli
from memory_assets_tests.git_commands import git
from memory_assets_tests.kills import Killed
from memory_assets_tests.transcript_files import BEGIN, claude_lines, write_claude, write_lines

HOLDER, OTHER, TELLER = (f"77777777-aaaa-4aaa-8aaa-00000000000{number}" for number in (1, 2, 3))
PLAIN = "the gate opens for quartz heron nineteen"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A memory of two sessions, one of which holds a text that no rule finds."""
    cli = Cli(tmp_path_factory.mktemp("forget"))
    claude = cli.data_dir.with_name("claude")
    write_claude(claude, HOLDER, "/home/mira/repo", f"remember that {PLAIN}", "close the gate")
    write_claude(claude, OTHER, "/home/mira/repo", "paint the buoys")
    cli.own |= {"MEMORY_EMBEDDER": "none", "MEMORY_PROJECTS_DIR": str(claude)}
    assert cli.run("ingest").returncode == 0
    return cli


@pytest.fixture
def machine(made: Cli, tmp_path: Path) -> Cli:
    """A copy of that memory."""
    copy = Cli(tmp_path / "copy")
    copy.own = {**made.own, "MEMORY_DATA_DIR": str(copy.data_dir)}
    shutil.copytree(made.data_dir, copy.data_dir)
    return copy


def _memory(machine: Cli, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(given))
        return machine.run(*arguments)


def _files_with(machine: Cli, text: str) -> list[Path]:
    everything = (path for path in machine.data_dir.rglob("*") if path.is_file())
    return [path for path in everything if text.encode() in _unpacked(path)]


def _unpacked(path: Path) -> bytes:
    """The bytes of a file; of a table, whose pages are compressed, its texts as well."""
    data = path.read_bytes()
    columns = text_columns(pq.ParquetFile(path).read()) if path.suffix == ".parquet" else ()
    return data + "\0".join(str(value) for column in columns for value in column.values).encode()


def test_a_piped_text_and_its_sessions_leave_no_byte(machine: Cli) -> None:
    """Only the session that holds it goes, the answer never repeats the text, and another ingest
    does not bring it back."""
    done = _memory(machine, "forget", "--containing", "--yes", "--json", given=f"{PLAIN}\n")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [each["session_id"] for each in answer["sessions"]] == [HOLDER]
    assert answer["forgotten"] and answer["stays"]["still_holding"] == []
    assert PLAIN not in done.stdout + done.stderr
    assert _memory(machine, "ingest").returncode == 0
    assert _files_with(machine, PLAIN) == []
    listed = json.loads(_memory(machine, "sessions", "--json").stdout)["sessions"]
    assert [each["session_id"] for each in listed] == [OTHER]


def test_a_dry_run_only_lists(machine: Cli) -> None:
    """Part of the text, plain, is enough to find the session."""
    done = _memory(machine, "forget", "--containing", "--dry-run", "--json", given="quartz heron")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [each["session_id"] for each in answer["sessions"]] == [HOLDER]
    assert not answer["forgotten"]
    listed = json.loads(_memory(machine, "sessions", "--json").stdout)["sessions"]
    assert len(listed) == 2


@pytest.mark.parametrize(
    ("arguments", "asks", "says"),
    [
        (("forget", HOLDER), "Type yes: ", "Nothing was removed."),
        (("forget", "--containing"), "(not shown): ", "no text was given"),
    ],
)
def test_the_end_of_input_answers_a_question_with_nothing(
    machine: Cli, arguments: tuple[str, ...], asks: str, says: str
) -> None:
    """Ctrl-D removes nothing, and what is said then has a line of its own."""
    terminal = Terminal(machine.environment, *arguments)
    terminal.until(asks)
    terminal.press("\x04")
    code, shown = terminal.end()
    assert code == 2 and shown.startswith("\r\n") and shown.count(says) == 1


def test_what_other_programs_keep_is_named(machine: Cli) -> None:
    """Where no session holds the text, too."""
    note = machine.data_dir / "note.txt"
    note.write_text("the buoys are painted opal")
    for more in ((), ("--cut",)):
        done = _memory(machine, "forget", "--containing", *more, "--yes", given="painted opal")
        assert done.returncode == 3 and "note.txt" in done.stderr


@pytest.mark.parametrize("more", [("--before", "2001-01-01"), ("--project", "elsewhere")])
def test_a_session_that_other_options_leave_out_is_no_file_that_holds_the_text(
    machine: Cli, more: tuple[str, str]
) -> None:
    """The files are searched only where nothing but the text was asked for."""
    done = _memory(machine, "forget", "--containing", *more, "--yes", given=PLAIN)
    assert done.returncode == 3 and "meets the other options" in done.stderr
    assert "files do" not in done.stderr


def test_a_file_that_cannot_be_read_is_not_said_to_hold_the_text(machine: Cli) -> None:
    """Nothing is known of it, which the answer to a cut says."""
    (machine.data_dir / "note.gz").write_bytes(b"\x1f\x8b not packed")
    done = _memory(machine, "forget", "--containing", "--yes", given="painted opal")
    assert done.returncode == 3 and "files do" not in done.stderr
    done = _memory(machine, "forget", "--containing", "--cut", "--yes", "--json", given=PLAIN)
    stays = json.loads(done.stdout)["stays"]
    assert done.returncode == 1 and stays["still_holding"] == []
    assert [Path(path).name for path in stays["unreadable"]] == ["note.gz"]


def test_what_waits_goes_with_a_text_in_any_form(machine: Cli) -> None:
    """Of a chat's other store, which no command of this memory sends; other lines stay. No session
    need hold it."""
    spelled = json.dumps('"a" & b: quartz')
    with pytest.MonkeyPatch.context() as patch:
        for name, value in machine.own.items():
            patch.setenv(name, value)
        waiting = Waiting.of(machine.data_dir, "other")
        for text in ("paint the buoys", f"say {spelled}"):
            waiting.add({"text": seal("x"), "tags": [seal(text)]})
        done = _memory(machine, "forget", "--containing", "--yes", given='"a" & b: quartz')
        assert done.returncode == 0 and "1 line that waited" in done.stderr
        assert [entry["tags"] for entry in waiting.entries()] == [["paint the buoys"]]


def test_no_text_is_refused(machine: Cli) -> None:
    """An empty text would be in every session."""
    done = _memory(machine, "forget", "--containing", "--yes", given="\n")
    assert done.returncode == 2 and "no text was given" in done.stderr
    assert len(json.loads(_memory(machine, "sessions", "--json").stdout)["sessions"]) == 2


def test_a_text_is_cut_out_and_its_sessions_stay(machine: Cli, tmp_path: Path) -> None:
    """Of a session, of a document and of what an agent wrote, in each form that programs give a
    text; no byte is left, the rest is found, and what comes later never has it."""
    secret = 'quartz/"heron" <né>'
    document = tmp_path / "notes" / "gate.md"
    document.parent.mkdir()
    document.write_text(f"The gate\n\nopens for {secret} and nobody else.\n")
    once = base64.b64encode(f"gate={secret};".encode())
    powershell = base64.b64encode(f"gate={secret};".encode("utf-16-le"))
    percent = quote(secret, safe="")
    forms = [json.dumps(secret), html.escape(secret), html.escape(secret, quote=False), percent]
    forms += [quote(percent, safe=""), secret.encode().hex(), unicodedata.normalize("NFD", secret)]
    forms += [each.decode() for each in (once, base64.b64encode(once), powershell)]
    said = f"the gate takes {secret}, or {', or '.join(forms)}"
    claude = tmp_path / "claude"
    shutil.copytree(machine.own["MEMORY_PROJECTS_DIR"], claude)
    machine.own["MEMORY_PROJECTS_DIR"] = str(claude)
    write_claude(claude, TELLER, "/home/mira/repo", said, "paint the gate blue")
    for command in (("ingest",), ("index", str(document.parent))):
        assert _memory(machine, *command).returncode == 0
    _memory(machine, "remember", f"the gate has the text {secret} on it", "--type", "fact")
    assert all(_files_with(machine, form) for form in (secret, *forms[:2]))

    done = _memory(machine, "forget", "--containing", "--cut", "--yes", "--json", given=secret)

    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert {each["session_id"] for each in answer["sessions"]} >= {TELLER, "gate.md"}
    assert answer["cut"] and answer["stays"]["still_holding"] == []
    assert not any(_files_with(machine, form) for form in (secret, *forms))
    write_claude(claude, TELLER, "/home/mira/repo", said, "paint the gate blue", f"use {secret}")
    assert _memory(machine, "ingest").returncode == 0
    assert _files_with(machine, secret) == []
    shown = _memory(machine, "show", f"{TELLER}:0", "--records").stdout
    assert (
        shown.count("<redacted:forgotten-text:") == 2 * len(said.split(", or "))
        and "the gate takes" in shown
    )
    again = _memory(machine, "forget", "--containing", "--cut", "--yes", given=secret)
    assert again.returncode == 0, again.stderr


def test_a_text_is_cut_out_of_the_name_of_a_model(machine: Cli, tmp_path: Path) -> None:
    """A field that is no text of the transcript, but comes from it."""
    lines = claude_lines(TELLER, "/home/mira/repo", "paint the gate")
    lines[1]["message"]["model"] = PLAIN
    write_lines(tmp_path / "claude" / "repo" / f"{TELLER}.jsonl", lines)
    machine.own["MEMORY_PROJECTS_DIR"] = str(tmp_path / "claude")
    assert _memory(machine, "ingest").returncode == 0
    done = _memory(machine, "forget", "--containing", "--cut", "--yes", given=PLAIN)
    assert done.returncode == 0, done.stdout
    assert _files_with(machine, PLAIN) == []


def test_a_document_whose_name_holds_the_text_is_left_out(machine: Cli, tmp_path: Path) -> None:
    """Names are kept as they are, so that it goes, and is not read again; other documents stay, and
    later cuts succeed."""
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in (f"{PLAIN}.md", "gate.md"):
        (notes / name).write_text("# Gates\n\nThe gate is painted with pale cobalt twice.\n")
    del machine.own["MEMORY_EMBEDDER"]
    assert _memory(machine, "index", str(notes)).returncode == 0
    for text in (PLAIN, "pale cobalt"):
        done = _memory(machine, "forget", "--containing", "--cut", "--yes", given=text)
        assert done.returncode == 0, done.stdout
    assert _memory(machine, "index", str(notes)).returncode == 0
    assert _files_with(machine, PLAIN) == _files_with(machine, "pale cobalt") == []
    found = _memory(machine, "search", "painted gate", "--in", "workspace", "--json").stdout
    assert [hit["id"] for hit in json.loads(found)["hits"]] == ["notes::gate.md::0"]


def test_a_killed_cut_of_what_no_record_holds_is_completed_by_the_next_command(
    machine: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a title that stands in two lines in its record, and of the subject of a linked commit that
    Git has: they are made again, and then all files are rewritten, whatever the moment at which the
    cut was interrupted."""
    claude, repository = tmp_path / "claude", tmp_path / "repo"
    repository.mkdir()
    git(repository, "init", "--quiet", at=BEGIN)
    git(repository, "commit", "--quiet", "--allow-empty", "-m", PLAIN, at=BEGIN)
    write_claude(claude, TELLER, str(repository), PLAIN.replace(" for ", "\n for "), "paint it")
    machine.own["MEMORY_PROJECTS_DIR"] = str(claude)
    _in(machine, tmp_path / "begun")
    assert _memory(machine, "ingest").returncode == 0
    monkeypatch.chdir(repository)
    assert _memory(machine, "link", TELLER, "HEAD").returncode == 0
    holding = {path.parents[1].name for path in _files_with(machine, PLAIN)}
    assert holding >= {"session_summaries", "commit_links"} and "redacted_records" not in holding

    for moment in ("mark_affected", "redact_links", "rewrite_stores", "compact"):
        _in(machine, Path(shutil.copytree(tmp_path / "begun", tmp_path / moment)))
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(forgetting, moment, _killed)
            _memory(machine, "forget", "--containing", "--cut", "--yes", given=PLAIN)
        assert "Completing" in _memory(machine, "sessions").stderr
        assert _files_with(machine, PLAIN) == []
        assert "Completing" not in _memory(machine, "sessions").stderr


def test_a_cut_that_another_process_is_at_is_left_to_it(
    machine: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as it lives; a command goes on without."""
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(forgetting, "mark_affected", _killed)
        _memory(machine, "forget", "--containing", "--cut", "--yes", given=PLAIN)
    with FileLock(machine.data_dir / "forgotten.cut.lock"):
        listed = _memory(machine, "sessions")
        assert listed.returncode == 0 and "Completing" not in listed.stderr
    assert "Completing" in _memory(machine, "sessions").stderr
    assert _files_with(machine, PLAIN) == []


def test_a_cut_that_failed_is_said_and_tried_again(
    machine: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command itself, and by each next one until it succeeds."""
    with monkeypatch.context() as patch:
        failed = IngestResult(failed={"repo": "redacted_records: no room"})
        patch.setattr(removal, "_update_projects", lambda *_, **__: failed)
        done = _memory(machine, "forget", "--containing", "--cut", "--yes", given=PLAIN)
        assert done.returncode == 1 and "repo failed: redacted_records: no room" in done.stdout
        assert "was cut out" not in done.stdout
        assert "no room" in _memory(machine, "sessions").stderr
    assert "failed" not in _memory(machine, "sessions").stderr
    assert _files_with(machine, PLAIN) == []
    assert "Completing" not in _memory(machine, "sessions").stderr


def _in(machine: Cli, data_dir: Path) -> None:
    machine.data_dir = data_dir
    machine.own["MEMORY_DATA_DIR"] = str(data_dir)


def _killed(*_: object) -> None:
    raise Killed


def test_a_cut_is_of_everything(machine: Cli) -> None:
    """It is refused for a part of the memory, and without a text."""
    for arguments in (["--cut"], ["--cut", "--containing", "--project", "repo"]):
        refused = _memory(machine, "forget", *arguments, given=PLAIN)
        assert refused.returncode == 2 and "--cut needs --containing" in refused.stderr


def test_forgotten_texts_are_known_by_keyed_hashes_alone() -> None:
    """They are found at any place, among characters of several bytes, and with no other key."""
    key, text = bytes(32), "né 4711"
    hashes = frozenset([hash_of_text(text, key)])
    found = list(ForgottenTexts(key, hashes).spans(f"ééné 4711né 4711x né 4712 {text[:-1]}"))
    assert [(start, end) for start, end, _ in found] == [(2, 9), (9, 16)]
    assert not list(ForgottenTexts(bytes(31) + b"1", hashes).spans(text))
    assert text.encode() not in b"".join(hashes)


@pytest.mark.parametrize(
    ("data", "hits"),
    [
        ("harbour gate", ["harbour gate"]),
        ("harbour gates", ["harbour gate", "harbour gates"]),
        ("xx harbour gat", []),
        ("aaaaaaa", ["aaa", "aaa"]),
        ("-oil", ["oil"]),
    ],
)
def test_texts_of_one_beginning_are_told_apart(data: str, hits: list[str]) -> None:
    """Up to the last byte, short ones too; one that overlaps itself is found once."""
    key, texts = bytes(32), ("harbour gate", "harbour gates", "aaa", "oil")
    known = ForgottenTexts(key, [hash_of_text(text, key) for text in texts])
    assert sorted(data[start:end] for start, end, _ in known.spans(data)) == hits
