"""Small databases of agents, written as the agents write them: one session that grows by turns.

The tables have the columns that the readers use, and a few that they do not.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from hashlib import md5, sha256
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

CWD = "/home/ada/shop"
T0 = 1_780_300_800_000
"""Milliseconds: 2026-06-01 08:00 UTC."""
SESSION = "5e551071-0000-4000-8000-000000000001"


class Store:
    """A store of one agent below `root`."""

    agent = ""
    place = ""
    session = SESSION
    tables = ""
    has_times = True
    """Whether messages have times."""
    is_strict = True
    """Whether tables of other names are an error, and not a store without sessions."""
    kinds: tuple[str, ...] = ("assistant_text", "prompt", "title", "tool_result", "tool_use")
    """Kinds of records that a turn has, and the session's title, where the agent keeps it."""
    rows: ClassVar[Mapping[str, str]] = {"messages": "session_id", "sessions": "id"}
    """The tables with rows of a session, and the column that names it."""
    texts = ("", "", "", 0)
    """Table and column of the texts, that of the time of a change, and how much later one is."""

    def __init__(self, root: Path, wal: bool = True) -> None:
        self.root = root
        self.path = root / self.place
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.turns = 0
        self._wal = wal
        self.begin()

    @property
    def cwd(self) -> str:
        """The directory that a session of it is known to be of."""
        return CWD

    def begin(self) -> None:
        """Make the tables and the session."""
        with closing(self.open()) as database:
            database.executescript(self.tables)
            self.add_session(database, self.session)
            database.commit()

    def open(self) -> sqlite3.Connection:
        """Return a connection as the agent has one."""
        database = sqlite3.connect(self.path)
        if self._wal:
            database.execute("PRAGMA journal_mode = WAL")
        return database

    def say(self, prompt: str, answer: str, database: sqlite3.Connection | None = None) -> None:
        """Add a turn: a prompt, a call of a tool and an answer."""
        self.turns += 1
        at = T0 + self.turns * 60_000
        with closing(self.open()) if database is None else nullcontext(database) as own:
            self.add_turn(own, self.session, self.turns, at, prompt, answer)
            own.commit()

    def delete(self) -> None:
        """Delete the session, as the agent does."""
        with closing(self.open()) as database:
            for table, column in self.rows.items():
                database.execute(f"DELETE FROM {table} WHERE {column} = ?", (self.session,))
            database.commit()

    def begin_another(self, session: str = "", **more: Any) -> None:
        """Add another session, of one turn."""
        session = session or f"{self.session[:-1]}2"
        with closing(self.open()) as database:
            self.add_session(database, session, **more)
            self.add_turn(database, session, 900, T0, "Another one", "Yes.")
            database.commit()

    def edit(self, old: str, new: str) -> None:
        """Replace a text in place, some time later."""
        table, text, changed, later = self.texts
        sql = f"UPDATE {table} SET {text} = replace({text}, ?, ?), {changed} = {changed} + ?"
        with closing(self.open()) as database:
            database.execute(f"{sql} WHERE {text} LIKE ?", (old, new, later, f"%{old}%"))
            database.commit()

    def add_session(self, database: sqlite3.Connection, session: str, **more: Any) -> None:
        """Insert the session's row."""
        raise NotImplementedError

    def add_turn(
        self, database: sqlite3.Connection, session: str, n: int, at: int, prompt: str, answer: str
    ) -> None:
        """Insert a turn's rows."""
        raise NotImplementedError


def insert(database: sqlite3.Connection, table: str, **values: Any) -> None:
    """Insert a row; lists and objects as JSON."""
    marks = ", ".join("?" * len(values))
    row = [json.dumps(each) if isinstance(each, dict | list) else each for each in values.values()]
    database.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", row)


class OpenCode(Store):
    """OpenCode 1.2."""

    agent = "opencode"
    place = "opencode.db"
    session = "ses_5e551071ffe0000000000000001"
    rows: ClassVar = {"part": "session_id", "message": "session_id", "session": "id"}
    texts = ("part", "data", "time_updated", 1000)
    tables = """
        CREATE TABLE session(id text PRIMARY KEY, project_id text, parent_id text, slug text,
            directory text NOT NULL, title text NOT NULL, version text NOT NULL, share_url text,
            revert text, time_created integer NOT NULL, time_updated integer NOT NULL);
        CREATE TABLE message(id text PRIMARY KEY, session_id text NOT NULL,
            time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
        CREATE TABLE part(id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
            time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
        CREATE TABLE session_share(session_id text PRIMARY KEY, id text, secret text, url text);
    """

    def add_session(self, database: sqlite3.Connection, session: str, **more: Any) -> None:
        """Insert the session's row."""
        values = {"id": session, "directory": CWD, "title": "The shop", "version": "1.2.3"}
        insert(database, "session", **values | {"time_created": T0, "time_updated": T0} | more)

    def add_message(
        self, database: sqlite3.Connection, session: str, own: str, at: int, data: Any, *parts: Any
    ) -> None:
        """Insert a message with its parts."""
        times = {"time_created": at, "time_updated": at}
        insert(database, "message", id=own, session_id=session, data=data, **times)
        for place, part in enumerate(parts):
            part_id = f"prt_{at:013}{place}_{crc32(own.encode()):08x}"
            ids = {"id": part_id, "message_id": own, "session_id": session}
            insert(database, "part", **ids, data=part, **times)

    def add_turn(
        self, database: sqlite3.Connection, session: str, n: int, at: int, prompt: str, answer: str
    ) -> None:
        """Insert a turn's rows."""
        asked = {"role": "user", "time": {"created": at}, "agent": "build"}
        text = {"type": "text", "text": prompt}
        self.add_message(database, session, f"msg_{session[4:]}_{n:04}a", at, asked, text)
        times = {"start": at + 1000, "end": at + 2000}
        state = {"status": "completed", "input": {"command": "make test"}, "output": "2 passed"}
        tool = {"type": "tool", "callID": f"call_{n}", "tool": "bash", "state": state}
        tool["state"]["time"] = times  # type: ignore[index]
        done = {"role": "assistant", "modelID": "m-1", "time": {"created": at, "completed": at}}
        done |= {"tokens": {"input": 9, "output": 4}}
        said = {"type": "text", "text": answer}
        self.add_message(database, session, f"msg_{session[4:]}_{n:04}b", at, done, tool, said)
        database.execute("UPDATE session SET time_updated = ? WHERE id = ?", (at, session))


class Kilo(OpenCode):
    """Kilo since April 2026."""

    agent = "kilo"
    place = "kilo.db"


class Crush(Store):
    """Crush, in a project's own directory."""

    cwd = property(lambda self: str(self.root))

    agent = "crush"
    place = ".crush/crush.db"
    texts = ("messages", "parts", "updated_at", 60)
    tables = """
        CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
            message_count INTEGER DEFAULT 0, updated_at INTEGER NOT NULL,
            created_at INTEGER NOT NULL);
        CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
            parts TEXT NOT NULL, model TEXT, created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL, finished_at INTEGER);
        CREATE TABLE files (id TEXT PRIMARY KEY, session_id TEXT, path TEXT, content TEXT,
            version INTEGER, created_at INTEGER, updated_at INTEGER);
    """

    def add_session(self, database: sqlite3.Connection, session: str, **more: Any) -> None:
        """Insert the session's row."""
        values = {"id": session, "title": "The shop", "updated_at": T0 // 1000}
        insert(database, "sessions", **values, created_at=T0 // 1000, **more)

    def add_turn(
        self, database: sqlite3.Connection, session: str, n: int, at: int, prompt: str, answer: str
    ) -> None:
        """Insert a turn's rows."""
        call = {"id": f"call_{n}", "name": "bash", "input": '{"command": "make test"}'}
        result = {"tool_call_id": f"call_{n}", "name": "bash", "content": "2 passed"}
        messages = (
            ("user", [{"type": "text", "data": {"text": prompt}}]),
            (
                "assistant",
                [
                    {"type": "tool_call", "data": call},
                    {"type": "finish", "data": {"reason": "tool_use"}},
                ],
            ),
            ("tool", [{"type": "tool_result", "data": result}]),
            (
                "assistant",
                [
                    {"type": "text", "data": {"text": answer}},
                    {"type": "finish", "data": {"reason": "end_turn"}},
                ],
            ),
        )
        for place, (role, parts) in enumerate(messages):
            own = f"{n:08}-0000-4000-8000-{place:012}"
            times = {"created_at": at // 1000 + place, "updated_at": at // 1000 + place}
            values = {"id": own, "session_id": session, "role": role, "parts": parts}
            insert(database, "messages", **values, model="m-1", **times)


class Goose(Store):
    """Goose, schema 15."""

    agent = "goose"
    place = "sessions.db"
    session = "20260601_1"
    texts = ("messages", "content_json", "created_timestamp", 60)
    tables = """
        CREATE TABLE sessions(id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '',
            description TEXT NOT NULL DEFAULT '', session_type TEXT NOT NULL DEFAULT 'user',
            working_dir TEXT NOT NULL, created_at TIMESTAMP, updated_at TIMESTAMP,
            model_config_json TEXT, parent_session_id TEXT, accumulated_total_tokens INTEGER,
            accumulated_input_tokens INTEGER DEFAULT 9, accumulated_output_tokens INTEGER DEFAULT 4,
            accumulated_cache_read_tokens INTEGER, accumulated_cache_write_tokens INTEGER);
        CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT,
            session_id TEXT NOT NULL, role TEXT NOT NULL, content_json TEXT NOT NULL,
            created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP, metadata_json TEXT);
    """

    def add_session(self, database: sqlite3.Connection, session: str, **more: Any) -> None:
        """Insert the session's row."""
        values = {"id": session, "name": "The shop", "working_dir": CWD}
        when = "2026-06-01 08:00:00"
        model = {"model_name": "m-1"}
        times = {"created_at": when, "updated_at": when}
        insert(database, "sessions", **{**values, **times, "model_config_json": model, **more})

    def add_turn(
        self, database: sqlite3.Connection, session: str, n: int, at: int, prompt: str, answer: str
    ) -> None:
        """Insert a turn's rows."""
        value = {"name": "developer__shell", "arguments": {"command": "make test"}}
        call = {"status": "success", "value": value}
        result = {"status": "success", "value": {"content": [{"type": "text", "text": "2 passed"}]}}
        for place, (role, block) in enumerate(
            (
                ("user", {"type": "text", "text": prompt}),
                ("assistant", {"type": "toolRequest", "id": f"t{n}", "toolCall": call}),
                ("user", {"type": "toolResponse", "id": f"t{n}", "toolResult": result}),
                ("assistant", {"type": "text", "text": answer}),
            )
        ):
            ids = {"message_id": f"msg_{n:08}-0000-4000-8000-{place:012}", "session_id": session}
            content = {"content_json": [block], "created_timestamp": at // 1000 + place}
            insert(database, "messages", **ids, role=role, **content)


class Hermes(Store):
    """Hermes, which keeps no directory."""

    cwd = property(lambda self: "")

    agent = "hermes"
    place = "state.db"
    session = "20260601_080000_ab12cd"
    texts = ("messages", "content", "timestamp", 60)
    tables = """
        CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT,
            parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, title TEXT,
            input_tokens INTEGER DEFAULT 9, output_tokens INTEGER DEFAULT 4);
        CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
            role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT,
            timestamp REAL NOT NULL, reasoning TEXT);
    """

    def add_session(self, database: sqlite3.Connection, session: str, **more: Any) -> None:
        """Insert the session's row."""
        values = {"id": session, "source": "cli", "model": "m-1", "started_at": T0 / 1000}
        insert(database, "sessions", **values, title="The shop", **more)

    def add_turn(
        self, database: sqlite3.Connection, session: str, n: int, at: int, prompt: str, answer: str
    ) -> None:
        """Insert a turn's rows."""
        function = {"name": "terminal", "arguments": '{"command": "make test"}'}
        calls = [{"id": f"c{n}", "type": "function", "function": function}]
        answered = {"content": "2 passed", "tool_call_id": f"c{n}", "tool_name": "terminal"}
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": prompt},
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", **answered},
            {"role": "assistant", "content": answer},
        ]
        for place, values in enumerate(messages):
            insert(database, "messages", session_id=session, timestamp=at / 1000 + place, **values)


class Zed(Store):
    """Zed, version 0.3 of a thread, in plain JSON."""

    agent = "zed"
    has_times = False
    place = "threads/threads.db"
    rows: ClassVar = {"threads": "id"}
    tables = """
        CREATE TABLE threads(id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL,
            data_type TEXT NOT NULL, data BLOB NOT NULL, parent_id TEXT, folder_paths TEXT);
    """

    def begin(self) -> None:
        """Make the table."""
        self.messages: list[Any] = []
        super().begin()

    def add_session(self, database: sqlite3.Connection, session: str, **more: Any) -> None:
        """Insert the thread."""
        self._save(database, session, T0, **more)

    def add_turn(
        self, database: sqlite3.Connection, session: str, n: int, at: int, prompt: str, answer: str
    ) -> None:
        """Rewrite the thread with a turn more."""
        user = {"id": f"{n:08}-0000-4000-8000-000000000000", "content": [{"Text": prompt}]}
        use = {"id": f"z{n}", "name": "terminal", "input": {"command": "make test"}}
        result = {"tool_name": "terminal", "is_error": False, "content": {"Text": "2 passed"}}
        agent = {"content": [{"ToolUse": use}, {"Text": answer}], "tool_results": {f"z{n}": result}}
        self.messages += [{"User": user}, {"Agent": agent}]
        self._save(database, session, at)

    def _save(self, database: sqlite3.Connection, session: str, at: int, **more: Any) -> None:
        seconds = at // 1000 - T0 // 1000
        when = f"2026-06-01T08:{seconds // 60:02}:{seconds % 60:02}.000+00:00"
        thread: dict[str, Any] = {"version": "0.3.0", "title": "The shop"}
        thread |= {"messages": self.messages}
        asked = [each["User"]["id"] for each in self.messages if "User" in each]
        counts = {"input_tokens": 9, "output_tokens": 4}
        thread |= {"request_token_usage": dict.fromkeys(asked, counts)}
        values: dict[str, Any] = {"id": session, "summary": "The shop", "updated_at": when}
        values |= {"data_type": "json"}
        values |= {"data": json.dumps(thread).encode(), "folder_paths": CWD, **more}
        database.execute("DELETE FROM threads WHERE id = ?", (session,))
        insert(database, "threads", **values)

    def edit(self, old: str, new: str) -> None:
        """Replace a text in the thread."""
        self.messages = json.loads(json.dumps(self.messages).replace(old, new))
        with closing(self.open()) as database:
            self._save(database, self.session, T0 + (self.turns + 1) * 60_000)
            database.commit()


class Cursor(Store):
    """Cursor's editor, with a row for each message."""

    agent = "cursor"
    is_strict = False
    place = "globalStorage/state.vscdb"
    tables = """
        CREATE TABLE ItemTable(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
        CREATE TABLE cursorDiskKV(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
        INSERT INTO ItemTable VALUES('cursorAuth/accessToken', 'not to be read');
    """

    def begin(self) -> None:
        """Make the tables."""
        self.headers: dict[str, list[dict[str, Any]]] = {}
        super().begin()

    def add_session(self, database: sqlite3.Connection, session: str, **more: Any) -> None:
        """Insert the conversation."""
        self._save(database, session, T0, **more)

    def _save(self, database: sqlite3.Connection, session: str, at: int, **more: Any) -> None:
        headers = self.headers.setdefault(session, [])
        data = {"composerId": session, "name": "The shop", "createdAt": T0, "lastUpdatedAt": at}
        data |= {"fullConversationHeadersOnly": headers, "status": "completed", "_v": 13}
        data |= {"workspaceIdentifier": {"id": "w1", "uri": {"fsPath": CWD}}, **more}
        insert(database, "cursorDiskKV", key=f"composerData:{session}", value=data)

    def add_turn(
        self, database: sqlite3.Connection, session: str, n: int, at: int, prompt: str, answer: str
    ) -> None:
        """Insert a turn's rows."""
        tool = {"name": "run_terminal_cmd", "toolCallId": f"t{n}", "status": "completed"}
        tool |= {"rawArgs": '{"command": "make test"}', "result": '{"output": "2 passed"}'}
        counted = {"tokenCount": {"inputTokens": 9, "outputTokens": 4}}
        bubbles: list[dict[str, Any]] = [
            {"type": 1, "text": prompt},
            {"type": 2, "text": "", "toolFormerData": tool},
            {"type": 2, "text": answer, "modelInfo": {"modelName": "m-1"}} | counted,
        ]
        for place, bubble in enumerate(bubbles):
            own = f"{n:08}-0000-4000-8000-{place:012}"
            self.headers[session].append({"bubbleId": own, "type": bubble["type"]})
            bubble |= {"bubbleId": own, "timingInfo": {"clientStartTime": at + place + 0.25}}
            insert(database, "cursorDiskKV", key=f"bubbleId:{session}:{own}", value=bubble)
        self._save(database, session, at)

    def delete(self) -> None:
        """Delete the conversation; its messages stay, as the editor leaves them."""
        with closing(self.open()) as database:
            sql = "DELETE FROM cursorDiskKV WHERE key = ?"
            database.execute(sql, (f"composerData:{self.session}",))
            database.commit()

    def edit(self, old: str, new: str) -> None:
        """Replace a text of a message in place."""
        with closing(self.open()) as database:
            sql = "UPDATE cursorDiskKV SET value = replace(value, ?, ?) WHERE value LIKE ?"
            database.execute(sql, (old, new, f"%{old}%"))
            self._save(database, self.session, T0 + (self.turns + 1) * 60_000)
            database.commit()


class CursorChat(Store):
    """A chat of Cursor's command line: blobs that are named after what they hold."""

    agent = "cursor"
    has_times = False
    place = f"chats/{md5(CWD.encode()).hexdigest()}/{SESSION}/store.db"
    tables = """
        CREATE TABLE blobs(id TEXT PRIMARY KEY, data BLOB);
        CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
    """

    def begin(self) -> None:
        """Make the tables."""
        self.messages: list[dict[str, Any]] = []
        super().begin()

    def add_session(self, database: sqlite3.Connection, session: str, **more: Any) -> None:
        """Say where the chat begins."""
        self._save(database)

    def add_turn(
        self, database: sqlite3.Connection, session: str, n: int, at: int, prompt: str, answer: str
    ) -> None:
        """Add a turn's messages, and a root that leads to all."""
        if not self.messages:
            self._add("system", "You are a coding assistant.")
            self._add("user", f"<user_info>\nShell: bash\nWorkspace Path: {CWD}\n</user_info>")
        call = {"toolCallId": f"t{n}", "toolName": "Shell"}
        self._add("user", f"<user_query>\n{prompt}\n</user_query>")
        self._add("assistant", {"type": "tool-call", **call, "args": {"command": "make test"}})
        self._add("tool", {"type": "tool-result", **call, "result": "2 passed"})
        self._add("assistant", {"type": "text", "text": answer})
        self._save(database)

    def _add(self, role: str, content: Any) -> None:
        self.messages.append({"role": role, "content": [content] if role != "user" else content})

    def _save(self, database: sqlite3.Connection) -> None:
        leaves = [self._put(database, json.dumps(each).encode()) for each in self.messages]
        halves = [leaves[: len(leaves) // 2], leaves[len(leaves) // 2 :]]
        nodes = [
            self._put(database, b"".join(b"\x0a\x20" + each for each in half)) for half in halves
        ]
        root = self._put(database, b"".join(b"\x12\x20" + each for each in nodes) + b"\x18\x05")
        facts: dict[str, Any] = {"agentId": self.path.parent.name, "latestRootBlobId": root.hex()}
        facts |= {"name": "The shop", "createdAt": T0, "lastUsedModel": "m-1"}
        value = json.dumps(facts).encode().hex()
        database.execute("INSERT OR REPLACE INTO meta VALUES('0', ?)", (value,))

    def _put(self, database: sqlite3.Connection, data: bytes) -> bytes:
        digest = sha256(data)
        database.execute("INSERT OR IGNORE INTO blobs VALUES(?, ?)", (digest.hexdigest(), data))
        return digest.digest()

    def delete(self) -> None:
        """Delete the chat's directory."""
        shutil.rmtree(self.path.parent)

    def begin_another(self, session: str = "", **more: Any) -> None:
        """Add another chat, of one turn."""
        OtherCursorChat(self.root, self._wal).say("Another one", "Yes.")

    def edit(self, old: str, new: str) -> None:
        """Lead to another message."""
        self.messages = json.loads(json.dumps(self.messages).replace(old, new))
        with closing(self.open()) as database:
            self._save(database)
            database.commit()


class OtherCursorChat(CursorChat):
    """Another chat in the same directory."""

    place = CursorChat.place.replace(SESSION, f"{SESSION[:-1]}2")


def iso(at: int) -> str:
    """Return milliseconds as a time in ISO 8601."""
    return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%dT%H:%M:%S.000Z}"
