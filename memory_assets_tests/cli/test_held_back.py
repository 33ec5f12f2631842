"""`memory ingest`, `status` and `verify` with files and directories that cannot be read, listed
or named: what is held back is told with cause and remedy, and everything else goes on."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from memory_assets.cli import exit_codes
from memory_assets.serving.pages.site import build_site
from memory_assets.settings import Settings, load_settings
from memory_assets.status.health import last_checks
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.runs.ledger import ledger_of
from memory_assets_tests.command_line import run_here
from memory_assets_tests.transcripts.agent_databases import Goose, insert
from memory_assets_tests.unprivileged import without_privileges

TIDEPOOL = "-Users-jonas-work-tidepool-web"
HARBOR = "-home-mara-code-harbor-api"
SESSIONS = 9
ROLLOUT = "rollout-2026-05-01T10-00-00-{}.jsonl"


@dataclass
class Shell:
    """The command line over a copy of the sample, as a user whom permissions apply to."""

    settings: Settings
    roots: dict[str, Path]

    def run(self, *arguments: str) -> tuple[int, str]:
        """Run a command; return its exit code and all that it printed."""
        environment = {
            "MEMORY_DATA_DIR": str(self.settings.data_dir),
            "MEMORY_PROJECTS_DIR": str(self.roots["claude"]),
            "MEMORY_CODEX_DIR": str(self.roots["codex"]),
            "MEMORY_PI_DIR": str(self.roots["pi"]),
            "MEMORY_EMBEDDER": "none",
        }
        with without_privileges():
            done = run_here(environment, *arguments)
        said = done.stdout + done.stderr
        assert "Traceback" not in said, said
        return done.returncode, said

    def catalog(self) -> Catalog:
        """The memory's catalogue."""
        return Catalog(self.settings.data_dir / "catalog.db")

    def copy(self, session: Path, place: bytes) -> Path:
        """Put a copy of a transcript at a place below the agents' directories, given in bytes."""
        path = Path(os.fsdecode(os.fsencode(self.roots["claude"].parent.parent) + b"/" + place))
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(session, path)
        return path


@pytest.fixture
def shell(sample_settings: Settings, sample_roots: dict[str, Path]) -> Iterator[Shell]:
    """A memory of which nothing is made yet."""
    yield Shell(sample_settings, sample_roots)
    chroma_server.stop(sample_settings.data_dir)


def _told_while_held_back(shell: Shell) -> Iterator[str]:
    """What two ingests, the status and a verification say, none of them that all is well."""
    for command, expected in [
        ("ingest", exit_codes.ERROR),
        ("ingest", exit_codes.ERROR),
        ("status", exit_codes.FINE),
        ("verify", exit_codes.CHECK_FAILED),
    ]:
        code, said = shell.run(command)
        assert code == expected, said
        assert "Nothing to do" not in said and "Everything on record" not in said
        yield said


def test_what_may_not_be_read_is_told_until_it_may(shell: Shell) -> None:
    """A session's file, a whole project and a rollout lose their permissions after they were
    taken in: no session counts as gone, each is named with cause and remedy by `ingest`,
    `status` and `verify`, none of which says that all is well. With the permissions back a plain
    `memory ingest` takes everything in."""
    code, said = shell.run("ingest")
    assert code == exit_codes.FINE, said
    session = sorted((shell.roots["claude"] / HARBOR).glob("*.jsonl"))[0]
    with session.open("a") as file:
        file.write('{"type":"mode","mode":"plan"}\n')
    thread = "0199a213-81a0-7800-8aa0-bbab2a035a53"
    (source,) = list(shell.roots["codex"].rglob("*.jsonl"))[:1]
    rollout = shell.copy(source, b"codex/sessions/2026/05/01/" + ROLLOUT.format(thread).encode())
    closed = {session: 0o644, rollout: 0o644, shell.roots["claude"] / TIDEPOOL: 0o755}
    for path in closed:
        path.chmod(0)
    for said in _told_while_held_back(shell):
        assert "all ingested" not in said and session.stem in said
        assert f"of {HARBOR}" not in said and f"project={HARBOR}" not in said
        for path in closed:
            assert f"{path}" in said
        assert said.count("permission denied") >= 3 and "chmod u+r" in said
    catalog = shell.catalog()
    assert not [row.path for row in catalog.sources.rows() if row.gone_at]
    assert [held.passing for held in catalog.quarantine.entries()] == [True]
    catalog.close()
    code, said = shell.run("status", "--json")
    current = json.loads(said)
    assert len(current["unlisted"]) == 2 and len(current["quarantined"]) == 1
    assert current["freshness"]["vanished_files"] == 0
    for path, mode in closed.items():
        path.chmod(mode)
    code, said = shell.run("ingest")
    assert code == exit_codes.FINE and f"{SESSIONS + 1} sessions" in said, said
    code, said = shell.run("ingest")
    assert code == exit_codes.FINE and "Nothing to do: everything is up to date" in said


def test_an_agents_directory_that_may_not_be_listed_leaves_the_others(shell: Shell) -> None:
    """Codex's sessions cannot be entered: those of the other agents are taken in, it is named,
    and the exit code says that this is not all."""
    (shell.roots["codex"] / "sessions").chmod(0)
    code, said = shell.run("ingest")
    (shell.roots["codex"] / "sessions").chmod(0o755)
    assert code == exit_codes.ERROR and "permission denied" in said
    assert str(shell.roots["codex"] / "sessions") in said
    assert "6 claude-code, 1 pi" in said


def test_names_that_are_not_utf8_are_told_and_the_rest_goes_on(shell: Shell) -> None:
    """At every level: a project's directory, a session's file, a subagent's directory and file,
    a date's directory of Codex, a rollout, a session of Pi; beside them names with newlines and
    terminal escapes. All other files of all agents are taken in; no such name becomes a
    partition, a tag or a row; what is printed holds no control character; a new name heals."""
    session = sorted((shell.roots["claude"] / HARBOR).glob("*.jsonl"))[0]
    rollout = sorted(shell.roots["codex"].rglob("*.jsonl"))[0]
    of_pi = sorted(shell.roots["pi"].rglob("*.jsonl"))[0]
    claude = b"claude/projects/"
    harbor = claude + HARBOR.encode()
    name = ROLLOUT.format("0199a213-81a0-7800-8aa0-bbab2a035a54").encode()
    parent = session.stem.encode()
    held_back = {
        shell.copy(session, claude + b"-bad\xff/" + parent + b".jsonl").parent: r"-bad\xff",
        shell.copy(session, claude + b"-new\nline/a.jsonl").parent: r"-new\nline",
        shell.copy(session, harbor + b"/bad\xfe.jsonl"): r"bad\xfe.jsonl",
        shell.copy(session, harbor + b"/" + parent + b"/subagents/d\xfd/agent-a.jsonl").parent: (
            r"d\xfd"
        ),
        shell.copy(session, harbor + b"/" + parent + b"/subagents/agent-\xfc.jsonl"): (
            r"agent-\xfc.jsonl"
        ),
        shell.copy(rollout, b"codex/sessions/2026/\xfb/" + name).parent: r"2026/\xfb",
        shell.copy(rollout, b"codex/sessions/2026/05/rollout-\xfa.jsonl"): (r"rollout-\xfa.jsonl"),
        shell.copy(of_pi, b"pi/agent/sessions/x/\xf9.jsonl"): r"x/\xf9.jsonl",
    }
    taken_in = shell.copy(rollout, b"codex/sessions/2026/05/rollout-a\n\x1b[31mb.jsonl")
    for said in _told_while_held_back(shell):
        for shown in held_back.values():
            assert f"{shown} (" in said, (shown, said)
        assert said.count("to do: rename it") == len(held_back)
        assert all(one.isprintable() or one == "\n" for one in said)
    code, said = shell.run("status", "--json")
    assert len(json.loads(said)["unlisted"]) == len(held_back)
    catalog = shell.catalog()
    rows = catalog.sources.rows()
    catalog.close()
    assert str(taken_in) in {row.path for row in rows}
    assert len({(row.project, row.session_id) for row in rows}) == SESSIONS + 1
    with closing(ledger_of(shell.settings.data_dir)) as ledger:
        keys = ledger.unreported_partitions()
    for key in {*keys, *(row.project for row in rows)}:
        assert key.isprintable() and "bad" not in key and "line" not in key
    for path in held_back:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shell.copy(session, harbor + b"/33333333-3333-4333-8333-333333333333.jsonl")
    code, said = shell.run("ingest")
    assert code == exit_codes.FINE and f"{SESSIONS + 2} sessions" in said, said


_PROMPT = "Why does the tide table of the harbour begin at noon and not at midnight?"
_VISION = "The tide table begins at noon because its author slept until then."
_EVERYTHING = "Everything on record can be found"
_AT = "2027-01-01T00:00:0{}Z"


def _claude(number: int, **fields: object) -> str:
    record = {"uuid": f"u{number}", "sessionId": "s1", "version": "9.0.0", "cwd": "/w/harbour"}
    return json.dumps({**record, "timestamp": _AT.format(number), **fields}) + "\n"


_PLACES = {
    "dream.vision.told": ["9.0.0"],
    "user.message.user.content.omen.sign": ["9.0.0"],
    "session_meta.payload.prophecy": ["9.9.9"],
    "response_item.payload.vision_call.content": ["9.9.9"],
    "oracle_item.payload.said": ["9.9.9"],
    "message.message.user.aura": ["v9"],
    "message.message.assistant.content.omen.sign": ["v9"],
    "vision.content": ["v9"],
    "assistant.content.omen.sign": [],
    "messages.aura": [],
    "visions.told": [],
}
"""What the new versions of the four agents write, and which they are."""


def _lines(path: Path, *records: dict[str, object]) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records))


def _of_codex(root: Path) -> None:
    """A field of a known record, an item and a record of new types, and a file."""
    name = "22222222-2222-7222-8222-222222222222"
    meta = {"id": name, "cwd": "/w/harbour", "cli_version": "9.9.9", "prophecy": _VISION}
    said = [{"type": "input_text", "text": _PROMPT}]
    message = {"type": "message", "role": "user", "content": said}
    _lines(
        root / "sessions" / "2027" / "01" / "01" / f"rollout-2027-01-01T00-00-00-{name}.jsonl",
        {"timestamp": _AT.format(0), "type": "session_meta", "payload": meta},
        {"timestamp": _AT.format(1), "type": "response_item", "payload": message},
        {
            "timestamp": _AT.format(2),
            "type": "response_item",
            "payload": {"type": "vision_call", "content": _VISION},
        },
        {"timestamp": _AT.format(3), "type": "oracle_item", "payload": {"said": _VISION}},
    )
    (root / "oracle_2.sqlite").write_bytes(b"unknown")


def _of_pi(root: Path) -> None:
    """The same of Pi, and a new kind of content."""
    name = "33333333-3333-4333-8333-333333333333"
    said = {"role": "user", "content": [{"type": "text", "text": _PROMPT}], "aura": _VISION}
    omen = {"role": "assistant", "content": [{"type": "omen", "sign": _VISION}]}
    path = root / "agent" / "sessions" / "--w--" / f"2027-01-01T00-00-00-000Z_{name}.jsonl"
    common = {"timestamp": _AT.format(1)}
    _lines(
        path,
        {"type": "session", "version": 9, "id": name, "cwd": "/w/harbour", **common},
        {"type": "message", "id": "m1", "parentId": None, "message": said, **common},
        {"type": "vision", "id": "m2", "parentId": "m1", "content": _VISION, **common},
        {"type": "message", "id": "m3", "parentId": "m2", "message": omen, **common},
    )
    (path.parent / "dreams.tar.gz").write_bytes(b"unknown")


def _of_goose(root: Path) -> None:
    """A new kind of content in a database, a new column and a new table."""
    store = Goose(root)
    store.say(_PROMPT, "Because its author slept.")
    with closing(store.open()) as database:
        content = {"content_json": [{"type": "omen", "sign": _VISION}]}
        row = {"message_id": "m9", "session_id": store.session, "role": "assistant"}
        database.execute("ALTER TABLE messages ADD COLUMN aura TEXT")
        database.execute("CREATE TABLE visions(session_id TEXT, told TEXT)")
        insert(
            database, "messages", **row, **content, created_timestamp=1_780_300_900, aura=_VISION
        )
        insert(database, "visions", session_id=store.session, told=_VISION)
        database.commit()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a memory over one session of Claude Code; nothing is made yet."""
    project = tmp_path / "projects" / "-w-harbour"
    project.mkdir(parents=True)
    message = {"role": "user", "content": _PROMPT}
    (project / "s1.jsonl").write_text(_claude(1, type="user", message=message))
    for other in ("codex", "pi", "goose"):
        (tmp_path / other).mkdir()
    yield {
        "HOME": str(tmp_path / "home"),
        "MEMORY_CODEX_DIR": str(tmp_path / "codex"),
        "MEMORY_PI_DIR": str(tmp_path / "pi"),
        "MEMORY_ROOTS": f"goose={tmp_path / 'goose'}",
        "MEMORY_DATA_DIR": str(tmp_path / "memory"),
        "MEMORY_PROJECTS_DIR": str(tmp_path / "projects"),
        "MEMORY_EMBEDDER": "none",
    }


def test_new_records_and_files_are_told_on_the_day_they_come(
    home: dict[str, str], tmp_path: Path
) -> None:
    """Nothing is missing at first. Then a record of a new type comes, a part of a known one, a
    file, a table and a column, of four agents: `ingest`, `status`, `doctor` and the page of health
    say where, how much and of which version, the check warns, and nothing says that everything can
    be found; no text of them is told."""
    done = run_here(home, "ingest")
    assert done.returncode == exit_codes.FINE and _EVERYTHING in done.stdout, done.stdout
    project = tmp_path / "projects" / "-w-harbour"
    content = [{"type": "text", "text": "Go on."}, {"type": "omen", "sign": _VISION}]
    with (project / "s1.jsonl").open("a") as file:
        file.write(_claude(2, type="user", message={"role": "user", "content": content}))
        file.write(_claude(3, type="dream", vision={"told": f"{_VISION} Or so it is said."}))
    (project / "dreams.db").write_bytes(b"unknown")
    _of_codex(tmp_path / "codex")
    _of_pi(tmp_path / "pi")
    _of_goose(tmp_path / "goose")
    done = run_here(home, "ingest")
    assert done.returncode == exit_codes.FINE, done.stdout + done.stderr
    assert "raw_sessions.text_is_explained" in done.stdout
    for command in ("status", "doctor"):
        done.stdout += run_here(home, command).stdout
    lines = {line.strip() for line in done.stdout.splitlines() if "no reader knows" in line}
    kinds = "6 records of kinds that no reader knows: assistant/omen, block/omen, dream and 3 more."
    assert kinds in lines
    told = min((line for line in lines if "no reader knows: dream" in line), key=len)
    size = 11 * len(_VISION) + len(" Or so it is said.")
    assert told.startswith(f"{size} B of text in 4 sessions are in places that no reader knows: ")
    assert "; 3 files in the agents' directories that no reader knows: " in told
    assert done.stdout.count(told) == 3, done.stdout
    assert _EVERYTHING not in done.stdout and _VISION not in done.stdout
    account = json.loads(run_here(home, "status", "--json").stdout)["account"]
    assert {place: each["versions"] for place, each in account["unexplained"].items()} == _PLACES
    assert account["files_unknown"] == {
        "claude-code *.db": 1,
        "codex *.sqlite": 1,
        "pi *.tar.gz": 1,
    }
    assert account["files_unknown_first"]["claude-code *.db"] == str(project / "dreams.db")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in home.items():
            patch.setenv(name, value)
        site = build_site(load_settings())
    page = TestClient(site, base_url="http://127.0.0.1:8765").get("/page/health").text
    assert f'<p class="problem">{told}</p>' in unescape(page)
    (check,) = [
        each for each in last_checks(tmp_path / "memory") if each["check"] == "text_is_explained"
    ]
    assert {other["result"] for other in check["others"]} == {"warning"}


def test_files_of_another_agent_are_named_with_what_to_do(
    home: dict[str, str], tmp_path: Path
) -> None:
    """A rollout, a database and a document in Claude Code's directory give no words, and are not
    passed over in silence: they are named, and the settings that say where they belong."""
    project = tmp_path / "projects" / "-w-harbour"
    _of_codex(tmp_path / "elsewhere")
    (rollout,) = (tmp_path / "elsewhere").rglob("*.jsonl")
    strange = {project / rollout.name: rollout.read_bytes()}
    strange[project / "s2.jsonl"] = b"SQLite format 3\0" + bytes(100) + b"\n"
    strange[project / "s3.jsonl"] = json.dumps({"chats": [_PROMPT]}, indent=1).encode() + b"\n"
    for path, content in strange.items():
        path.write_bytes(content)
    done = run_here(home, "ingest")
    assert done.returncode == exit_codes.FINE, done.stdout + done.stderr
    (told,) = (line for line in done.stdout.splitlines() if line.startswith("Of no known kind: "))
    assert " and 1 more. If another agent wrote them, move them to its directory" in told
    assert "MEMORY_CODEX_DIR" in told and "MEMORY_ROOTS" in told
    assert _EVERYTHING not in done.stdout
    account = json.loads(run_here(home, "status", "--json").stdout)["account"]
    assert sorted(account["transcripts_unknown"]) == sorted(map(str, strange))
    assert str(project / "s1.jsonl") not in told
