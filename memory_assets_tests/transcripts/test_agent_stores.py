"""Readers of stores that are no files of lines: what is said in them, how they grow and shrink, and
what does not stop them."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_assets.errors import DamagedTranscript
from memory_assets.models import Record
from memory_assets.paths import project_slug
from memory_assets.transcripts import (
    Account,
    ReadReport,
    Rendered,
    Unlisted,
    discover,
    read_session,
    reader_of,
)
from memory_assets.transcripts import databases as opening
from memory_assets.transcripts.readers.cursor import CursorReader
from memory_assets.transcripts.readers.opencode import OpenCodeReader
from memory_assets.transcripts.stored import DatabaseReader
from memory_assets.transcripts.times import nanoseconds, parse_time
from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcripts.agent_databases import (
    CWD,
    SESSION,
    T0,
    Crush,
    Cursor,
    Goose,
    Hermes,
    Kilo,
    OpenCode,
    Store,
    Zed,
    insert,
)
from memory_assets_tests.transcripts.agent_files import (
    FILES,
    Aider,
    Atif,
    Cline,
    ClineProgram,
    GeminiDocument,
    KiloTasks,
    OpenCodeTree,
    Roo,
    SpecStory,
    VsCode,
    VsCodeLog,
)
from memory_assets_tests.transcripts.store_reading import (
    ASKED,
    SAID,
    Make,
    found,
    read,
    store_name,
    stores,
    told,
)
from memory_assets_tests.unprivileged import without_privileges


@stores
def test_what_may_not_be_read_is_noted_and_stops_nothing(tmp_path: Path, make: Make) -> None:
    """Any one file or folder of a store, in turn."""
    store = make(tmp_path / store_name(make))
    store.say(ASKED, SAID)
    for place in sorted(store.root.rglob("*")):
        mode = place.stat().st_mode
        place.chmod(0)
        notes: list[Unlisted] = []
        with without_privileges():
            sources = found(store, notes)
        place.chmod(mode)
        assert sources or notes, place.name


@stores
def test_a_turn_is_read_with_all_that_belongs_to_it(tmp_path: Path, make: Make) -> None:
    """Prompt, call, result, answer and title; project, times, command, tool and model."""
    store = make(tmp_path / store_name(make))
    store.say(ASKED, SAID)
    [source] = found(store)
    report = ReadReport(account=Account(reader_of(source).left_out))
    records = read(source, report)
    assert sorted(kind for kind, _ in told(records)) == sorted(store.kinds)
    texts = dict(told(records))
    assert (texts["prompt"], texts["assistant_text"]) == (ASKED, SAID)
    assert texts.get("title", "The shop") == "The shop"
    [call] = (one for one in records if one.kind == "tool_use")
    if "tool_result" in store.kinds:
        assert "2 passed" in texts["tool_result"]
        assert call.command == "make test"
        [result] = (one for one in records if one.kind == "tool_result")
        assert (result.tool_name, result.command) == (call.tool_name, call.command)
    else:
        assert call.paths
    assert (source.project, source.agent_id) == (project_slug(store.cwd), None)
    assert report.first_cwd == store.cwd
    [asked] = (one for one in records if one.kind == "prompt")
    if store.has_times:
        assert asked.timestamp is not None
        assert abs(asked.timestamp.timestamp() - (T0 + 60_000) / 1000) < 2
    elif store.agent != "zed":  # all that is known is when the session began
        assert asked.timestamp == datetime.fromtimestamp(T0 / 1000, UTC)
    assert report.account is not None
    assert report.account.balance().unexplained == {}
    assert report.unknown_types == {}


@stores
def test_a_text_that_was_cut_within_a_character_is_read(tmp_path: Path, make: Make) -> None:
    """Programs in JavaScript cut by halves of characters, and write half of one as an escape that
    strict parsers of JSON refuse."""
    store = make(tmp_path / store_name(make))
    if store.agent in ("hermes", "aider", "specstory"):
        pytest.skip("what is said is not in JSON there")
    store.say(ASKED, f"{SAID} \ud83d")
    [source] = found(store)
    texts = dict(told(read(source)))
    assert texts["prompt"] == ASKED
    assert texts["assistant_text"].startswith(SAID)


@stores
def test_what_was_said_stays_where_it_is_as_a_session_grows(tmp_path: Path, make: Make) -> None:
    """The lines of a session that grew begin with those that were finished; ids stay."""
    store = make(tmp_path / store_name(make))
    before: list[Record] = []
    finished = b""
    for turn in range(1, 5):
        store.say(f"{ASKED} {turn}", f"{SAID} {turn}")
        [source] = found(store)
        now = read(source)
        ids = {(one.record_uuid, one.kind, one.text, one.byte_start) for one in now}
        kept = {(one.record_uuid, one.kind, one.text, one.byte_start) for one in before}
        assert {one for one in kept - ids if one[1] != "title"} == set()
        [content] = reader_of(source).contents(source)
        assert isinstance(content, Rendered)
        assert content.read(0, len(finished)) == finished
        finished = content.read(0, content.finished)
        before = now
    prompts = [one.text for one in before if one.kind == "prompt"]
    assert prompts == [f"{ASKED} {turn}" for turn in range(1, 5)]


@stores
def test_a_change_is_noticed_without_reading_the_session(tmp_path: Path, make: Make) -> None:
    """A turn, an edit in place, a deletion."""
    store = make(tmp_path / store_name(make))
    store.say(ASKED, SAID)
    [source] = found(store)
    states = [reader_of(source).state(source)]
    assert states == [(source.size, source.mtime_ns)]
    store.say("And the price?", "It is right.")
    states.append(reader_of(source).state(source))
    store.edit("counted twice", "counted three times")
    states.append(reader_of(source).state(source))
    assert len(set(states)) == 3
    assert ("assistant_text", "A sale is counted three times.") in told(read(source))
    store.delete()
    assert reader_of(source).state(source) is None
    assert found(store) == []


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_a_file_is_the_same_however_it_was_saved(tmp_path: Path, make: Make) -> None:
    """With a byte order mark, with the lines of Windows, and with NULs behind its JSON, which a
    loss of power leaves."""
    store = make(tmp_path)
    store.say(ASKED, SAID)
    said = told(read(found(store)[0]))
    for path in (path for path in tmp_path.rglob("*.*") if path.is_file()):
        content = BOM_UTF8 + path.read_bytes().replace(b"\n", b"\r\n")
        path.write_bytes(content + b"\0" * 9 * path.suffix.startswith(".json"))
    assert told(read(found(store)[0])) == said


NEW = "The heron watches a lantern drift beneath seven quiet bridges."


@sweep(
    "make, table, old, new",
    [
        *((make, "", "[", f'["{NEW}", ') for make in (Cline, Roo, ClineProgram, GeminiDocument)),
        *((make, "", "[", f'["{NEW}", ') for make in (Atif, VsCode)),
        *((make, "", "{", f'{{"next": "{NEW}", ') for make in (VsCode, OpenCodeTree, Atif)),
        *((make, "", "\n", f"\n{NEW}\n") for make in (Aider, SpecStory)),
        (VsCodeLog, "", "\n", f'\n{{"kind": 9, "k": ["next"], "v": "{NEW}"}}\n'),
        (Zed, "threads.data", "[", f'["{NEW}", '),
        (Zed, "threads.data", "{", f'{{"next": "{NEW}", '),
        (Goose, "messages.content_json", "[", f"{NEW} ["),
        (Crush, "messages.parts", "[", f"{NEW} ["),
        (Hermes, "messages.tool_calls", "[", f"{NEW} ["),
        (OpenCode, "part.data", "{", f"{NEW} {{"),
    ],
)
def test_what_a_newer_version_writes_otherwise_is_told(
    tmp_path: Path, make: Make, table: str, old: str, new: str
) -> None:
    """A text in place of an object, a field or an operation that is not known, what is no JSON: the
    rest is read, and that something is not is counted."""
    store = make(tmp_path / f"{store_name(make)}-{len(list(tmp_path.iterdir()))}")
    store.say(ASKED, SAID)
    if table:
        table, column = table.split(".")
        with closing(store.open()) as database:
            sql = f"SELECT rowid, CAST({column} AS TEXT) FROM {table}"
            rows = database.execute(sql).fetchall()
            rowid, text = next(row for row in reversed(rows) if old in (row[1] or ""))
            changed = (text.replace(old, new, 1), rowid)
            database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", changed)
            database.commit()
    else:
        store.path.write_text(store.path.read_text().replace(old, new, 1))
    [source] = found(store)
    report = ReadReport(account=Account(reader_of(source).left_out))
    assert ("prompt", ASKED) in told(read(source, report))
    assert report.account is not None
    assert report.account.balance().unexplained or report.unknown_types


def test_a_value_of_another_type_stops_no_other_session(tmp_path: Path) -> None:
    """What cannot be read is said of its own session."""
    store = Zed(tmp_path)
    store.say(ASKED, SAID)
    store.begin_another()
    with closing(store.open()) as database:
        other = database.execute(
            "SELECT id FROM threads WHERE id != ?", (store.session,)
        ).fetchone()
        database.execute("UPDATE threads SET data = 5, data_type = 'zstd' WHERE id = ?", other)
        database.commit()
    whole, damaged = sorted(found(store), key=lambda source: source.member != store.session)
    assert ("prompt", ASKED) in told(read(whole))
    with pytest.raises(DamagedTranscript, match="cannot be unpacked"):
        read(damaged)


@sweep(
    "make, table, columns",
    [
        (OpenCode, "session", "parent_id title version time_created time_updated revert"),
        (Crush, "sessions", "parent_session_id title updated_at"),
        (Goose, "sessions", "name description session_type parent_session_id model_config_json"),
        (Hermes, "sessions", "model parent_session_id ended_at title input_tokens"),
        (Zed, "threads", "parent_id folder_paths summary updated_at"),
    ],
)
def test_columns_that_a_version_has_not_are_done_without(
    tmp_path: Path, make: Make, table: str, columns: str
) -> None:
    """All but those with what was said, and the session that said it."""
    store = make(tmp_path / store_name(make), wal=False)
    store.say(ASKED, SAID)
    with closing(store.open()) as database:
        for column in columns.split():
            database.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        database.commit()
    [source] = found(store)
    assert {("prompt", ASKED), ("assistant_text", SAID)} <= set(told(read(source)))


def test_a_subagents_run_belongs_to_the_session_above_all(tmp_path: Path) -> None:
    """Over generations; nobody typed what it was asked. Where parents go round in a circle, or are
    missing, nothing hangs."""
    store = OpenCode(tmp_path)
    store.say(ASKED, SAID)
    store.begin_another("ses_child", parent_id=OpenCode.session)
    store.begin_another("ses_grandchild", parent_id="ses_child")
    store.begin_another("ses_orphan", parent_id="ses_gone")
    store.begin_another("ses_one", parent_id="ses_two")
    store.begin_another("ses_two", parent_id="ses_one")
    ids = {source.member: (source.session_id, source.agent_id) for source in found(store)}
    assert ids == {
        OpenCode.session: (OpenCode.session, None),
        "ses_child": (OpenCode.session, "ses_child"),
        "ses_grandchild": (OpenCode.session, "ses_grandchild"),
        "ses_orphan": ("ses_gone", "ses_orphan"),
        "ses_one": ("ses_one", None),
        "ses_two": ("ses_two", None),
    }
    [child] = (source for source in found(store) if source.member == "ses_child")
    assert "prompt" not in dict(told(read(child)))
    assert [one.text for one in read(child) if one.subtype == "agent-prompt"] == ["Another one"]


def test_messages_taken_back_are_kept_with_a_mark(tmp_path: Path) -> None:
    """OpenCode hides them; a log of operations cuts them off."""
    store = OpenCode(tmp_path / "opencode")
    store.say(ASKED, SAID)
    store.say("Delete it", "Deleted.")
    with closing(store.open()) as database:
        [last] = database.execute("SELECT max(id) FROM message WHERE id LIKE '%a'").fetchone()
        database.execute("UPDATE session SET revert = ?", (f'{{"messageID": "{last}"}}',))
        database.commit()
    log = VsCodeLog(tmp_path / "log")
    log.say(ASKED, SAID)
    log.say("Delete it", "Deleted.")
    with log.path.open("a") as file:
        file.write('{"kind": 2, "k": ["requests"], "i": 1, "v": []}\n')
    for each in (store, log):
        [source] = found(each)
        marked = {one.text: one.subtype for one in read(source) if one.kind != "title"}
        assert (marked[ASKED], marked[SAID]) == ("", "")
        assert (marked["Delete it"], marked["Deleted."]) == ("abandoned", "abandoned")


def test_a_window_whose_directory_nobody_knows_is_a_project_of_its_id(tmp_path: Path) -> None:
    """Until the editor's file says the directory; chats of one window stay together."""
    chat, cursor = VsCode(tmp_path / "code"), Cursor(tmp_path / "cursor")
    for store in (chat, cursor):
        store.say(ASKED, SAID)
    window = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    chat.path.parent.with_name("workspace.json").unlink()
    chat.path.parent.parent.rename(chat.root / "workspaceStorage" / window)
    with closing(cursor.open()) as database:
        named = f'"id": "w1", "uri": {{"fsPath": "{CWD}"}}'
        sql = "UPDATE cursorDiskKV SET value = replace(value, ?, ?)"
        database.execute(sql, (named, f'"id": "{window}"'))
        database.commit()
    sources = [*found(chat), *found(cursor)]
    assert [(each.project, each.directory) for each in sources] == [(window, "")] * 2
    for store in (chat, cursor):
        folder = store.root / "workspaceStorage" / window
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "workspace.json").write_text(f'{{"folder": "file://{CWD}"}}')
    cursor.path.touch()
    sources = [*found(chat), *found(cursor)]
    assert [(each.project, each.directory) for each in sources] == [(project_slug(CWD), CWD)] * 2


def test_a_log_of_operations_may_be_torn(tmp_path: Path) -> None:
    """A half-written last line waits for its rest; one within is counted."""
    store = VsCodeLog(tmp_path)
    store.say(ASKED, SAID)
    with store.path.open("a") as file:
        file.write('{"kind": 1, "k": ["cust')
    [source] = found(store)
    report = ReadReport()
    texts = told(read(source, report))
    assert ("prompt", ASKED) in texts
    assert report.unknown_types == {}
    with store.path.open("a") as file:
        file.write('\n{"kind": 1, "k": ["customTitle"], "v": "Stock"}\n')
    report = ReadReport()
    assert ("title", "Stock") in told(read(found(store)[0], report))
    assert report.unknown_types == {"unreadable": 1}


def test_what_a_program_asked_is_no_persons_prompt(tmp_path: Path) -> None:
    """Sessions that a schedule began, and text that is hidden from the user."""
    store = Goose(tmp_path)
    store.say(ASKED, SAID)
    with closing(store.open()) as database:
        hidden = [{"type": "text", "text": "Summary so far"}]
        values = {"role": "user", "content_json": hidden, "created_timestamp": T0 // 1000 + 90}
        metadata = {"userVisible": False, "agentVisible": True}
        insert(database, "messages", session_id=store.session, metadata_json=metadata, **values)
        database.commit()
    store.begin_another("20260601_3", session_type="scheduled")
    prompts = {
        source.member: [text for kind, text in told(read(source)) if kind == "prompt"]
        for source in found(store)
    }
    assert prompts == {store.session: [ASKED], "20260601_3": []}


LEDGER = """
    CREATE TABLE usage_ledger(id INTEGER PRIMARY KEY, session_id TEXT, created_timestamp INTEGER,
        model TEXT, input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER,
        cache_read_tokens INTEGER, cache_write_tokens INTEGER);
"""


def test_goose_says_what_each_request_took(tmp_path: Path) -> None:
    """In a table since schema 14, where it stood when the answer came; before, of the session."""
    store = Goose(tmp_path)
    store.say(ASKED, SAID)
    with closing(store.open()) as database:
        database.execute("UPDATE sessions SET accumulated_total_tokens = 1300")
        database.execute("UPDATE sessions SET accumulated_input_tokens = 900")
        database.execute("UPDATE sessions SET accumulated_output_tokens = 40")
        database.execute("UPDATE sessions SET accumulated_cache_read_tokens = 360")
        database.commit()
    [source] = found(store)
    [whole] = (one for one in read(source) if any(one.tokens))
    assert (whole.kind, whole.tokens) == ("title", (900, 40, 360, 0, 0))
    with closing(store.open()) as database:
        database.executescript(LEDGER)
        for turn, (given, total) in enumerate(((500, 520), (500, 820)), 1):
            values = {"session_id": store.session, "model": "m-2", "total_tokens": total}
            values |= {"created_timestamp": T0 // 1000 + 60 * turn + 30, "input_tokens": given}
            counts = {"output_tokens": 20, "cache_read_tokens": 300, "cache_write_tokens": 0}
            insert(database, "usage_ledger", **values, **counts)
        database.commit()
    store.say("And the price?", "It is right.")
    records = read(found(store)[0])
    took = [one for one in records if any(one.tokens)]
    assert [one.tokens for one in took] == [(200, 20, 300, 0, 0), (500, 20, 300, 0, 0)]
    assert {one.model for one in took} == {"m-2"}
    said = [one.text for one in records]
    assert said.index(SAID) < records.index(took[0]) < said.index("And the price?")


def test_hermes_says_what_a_session_took(tmp_path: Path) -> None:
    """In its row, which is read with the title."""
    store = Hermes(tmp_path)
    store.say(ASKED, SAID)
    with closing(store.open()) as database:
        for name, count in (("input", 900), ("output", 40)):
            database.execute(f"UPDATE sessions SET {name}_tokens = {count}")
        database.commit()
    [whole] = (one for one in read(found(store)[0]) if any(one.tokens))
    assert (whole.kind, whole.tokens, whole.model) == ("title", (900, 40, 0, 0, 0), "m-1")


def test_a_session_that_goes_on_after_a_compaction_repeats_nothing(tmp_path: Path) -> None:
    """Hermes begins another one with what was said before."""
    store = Hermes(tmp_path)
    store.say(ASKED, SAID)
    with closing(store.open()) as database:
        store.add_session(database, "second", parent_session_id=store.session)
        store.add_turn(database, "second", 1, T0 + 60_000, ASKED, SAID)
        store.add_turn(database, "second", 2, T0 + 120_000, "Go on", "Yes.")
        database.commit()
    [second] = (source for source in found(store) if source.member == "second")
    report = ReadReport()
    assert [text for kind, text in told(read(second, report)) if kind == "prompt"] == ["Go on"]
    assert (report.parent_session, report.dropped["copied-history"]) == (store.session, 4)


def test_only_rows_of_conversations_are_asked_for(tmp_path: Path) -> None:
    """Cursor keeps its tokens in the same database, OpenCode what it shares sessions with."""
    asked: list[str] = []
    kept: tuple[tuple[Store, DatabaseReader, str], ...] = (
        (Cursor(tmp_path / "c"), CursorReader(), "cursorAuth"),
        (OpenCode(tmp_path / "o"), OpenCodeReader(), "share"),
    )
    for store, reader, secret in kept:
        store.say(ASKED, SAID)
        with opening.open_database(store.path) as database:
            database._connection.set_trace_callback(asked.append)
            members = list(reader.members(database, store.path))
            [source] = found(store)
            facts = reader.facts(database, source)
            assert facts is not None
            list(reader.member_rows(database, source, facts))
        assert len(members) == 1
        assert not any(secret in sql for sql in asked)
    assert asked


def test_drafts_are_no_sessions(tmp_path: Path) -> None:
    """A conversation without a message, a chat without a request, a thread without a row."""
    for make in (Cursor, Crush, Goose, Hermes, OpenCode, VsCodeLog):
        assert found(make(tmp_path / store_name(make))) == []


@sweep(
    "value",
    [
        *(T0 // 1000, T0, T0 * 1000, T0 * 1_000_000, T0 / 1000 + 0.0),
        *(str(T0), "2026-06-01T08:00:00Z", "2026-06-01 08:00:00"),
    ],
)
def test_times_are_told_by_their_magnitude(value: object) -> None:
    """Seconds, milliseconds, microseconds, nanoseconds, ISO."""
    found_time = parse_time(value)
    assert found_time is not None
    assert found_time.timestamp() == T0 / 1000


@sweep("value", [None, "", "soon", True, -5, 0, float("nan"), 1e300, [], 10**30])
def test_what_is_no_time_is_none(value: object) -> None:
    """Nothing is raised."""
    assert parse_time(value) is None
    assert nanoseconds(value) == 0


def test_kilos_two_stores_are_one_agent(tmp_path: Path) -> None:
    """Each source is read by the reader of its kind."""
    database, tasks = Kilo(tmp_path / "share"), KiloTasks(tmp_path / "code")
    for store in (database, tasks):
        store.say(ASKED, SAID)
    roots = {"kilo": (database.root, tasks.root)}
    sources = list(discover(roots))
    assert {source.session_id for source in sources} == {Kilo.session, KiloTasks.session}
    assert all(("prompt", ASKED) in told(read(source)) for source in sources)
    assert SESSION not in {source.session_id for source in sources}


def test_messages_that_share_an_id_are_each_a_record_of_their_own(tmp_path: Path) -> None:
    """Programs that publish transcripts blank ids: each prompt begins a turn all the same."""
    said = ("Why does the heron sink?", "And the kestrel?", "Why does the heron sink?")
    messages = [
        {
            "info": {"id": "BLANKED", "role": "user", "time": {"created": 1_780_000_000_000 + at}},
            "parts": [{"type": "text", "text": text}],
        }
        for at, text in enumerate(said)
    ]
    info = {"id": "ses_1", "projectID": "p", "directory": "/w", "time": {}}
    (tmp_path / "ses_1.json").write_text(json.dumps({"info": info, "messages": messages}))
    (source,) = discover({"opencode": (tmp_path,)})
    records = list(read_session(source.path, source=source))
    assert tuple(record.text for record in records if record.kind == "prompt") == said
    assert len({record.record_uuid for record in records if record.kind == "prompt"}) == 3
