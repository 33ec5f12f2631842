"""Small stores of agents, written as the agents write them: one session that grows by turns.

The tables have the columns that the readers use, and a few that they do not.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from hashlib import md5, sha256
from pathlib import Path
from typing import Any
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
        if database is not None:
            self.add_turn(database, self.session, self.turns, at, prompt, answer)
            database.commit()
            return
        with closing(self.open()) as own:
            self.add_turn(own, self.session, self.turns, at, prompt, answer)
            own.commit()

    def delete(self) -> None:
        """Delete the session, as the agent does."""
        with closing(self.open()) as database:
            for table, column in self.rows_of_session().items():
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
        """Replace a text in place, a second later."""
        raise NotImplementedError

    def add_session(self, database: sqlite3.Connection, session: str, **more: Any) -> None:
        """Insert the session's row."""
        raise NotImplementedError

    def add_turn(
        self, database: sqlite3.Connection, session: str, n: int, at: int, prompt: str, answer: str
    ) -> None:
        """Insert a turn's rows."""
        raise NotImplementedError

    def rows_of_session(self) -> Mapping[str, str]:
        """Return the tables with rows of a session, and the column that names it."""
        return {"messages": "session_id", "sessions": "id"}


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

    def rows_of_session(self) -> Mapping[str, str]:
        """Return the tables with rows of a session."""
        return {"part": "session_id", "message": "session_id", "session": "id"}

    def edit(self, old: str, new: str) -> None:
        """Replace a text of a part in place."""
        with closing(self.open()) as database:
            sql = "UPDATE part SET data = replace(data, ?, ?), time_updated = time_updated + 1000"
            database.execute(f"{sql} WHERE data LIKE ?", (old, new, f"%{old}%"))
            database.commit()


class Kilo(OpenCode):
    """Kilo since April 2026."""

    agent = "kilo"
    place = "kilo.db"


class Crush(Store):
    """Crush, in a project's own directory."""

    cwd = property(lambda self: str(self.root))

    agent = "crush"
    place = ".crush/crush.db"
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

    def edit(self, old: str, new: str) -> None:
        """Replace a text of a message in place."""
        with closing(self.open()) as database:
            sql = "UPDATE messages SET parts = replace(parts, ?, ?), updated_at = updated_at + 60"
            database.execute(f"{sql} WHERE parts LIKE ?", (old, new, f"%{old}%"))
            database.commit()


class Goose(Store):
    """Goose, schema 15."""

    agent = "goose"
    place = "sessions.db"
    session = "20260601_1"
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

    def edit(self, old: str, new: str) -> None:
        """Replace a text of a message in place."""
        with closing(self.open()) as database:
            sql = "UPDATE messages SET content_json = replace(content_json, ?, ?)"
            sql += ", created_timestamp = created_timestamp + 60"
            database.execute(f"{sql} WHERE content_json LIKE ?", (old, new, f"%{old}%"))
            database.commit()


class Hermes(Store):
    """Hermes, which keeps no directory."""

    cwd = property(lambda self: "")

    agent = "hermes"
    place = "state.db"
    session = "20260601_080000_ab12cd"
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

    def edit(self, old: str, new: str) -> None:
        """Replace a text of a message in place."""
        with closing(self.open()) as database:
            sql = "UPDATE messages SET content = replace(content, ?, ?), timestamp = timestamp + 60"
            database.execute(f"{sql} WHERE content LIKE ?", (old, new, f"%{old}%"))
            database.commit()


class Zed(Store):
    """Zed, version 0.3 of a thread, in plain JSON."""

    agent = "zed"
    has_times = False
    place = "threads/threads.db"
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

    def rows_of_session(self) -> Mapping[str, str]:
        """Return the table with the threads."""
        return {"threads": "id"}

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


class Files(Store):
    """A store that is files; `messages` is what is in them."""

    def begin(self) -> None:
        """Begin with nothing said."""
        self.messages: list[dict[str, Any]] = []
        self.write()

    def write(self) -> None:
        """Write the whole session, as the agent does."""
        raise NotImplementedError

    def turn(self, n: int, at: int, prompt: str, answer: str) -> list[dict[str, Any]]:
        """Return what a turn adds."""
        raise NotImplementedError

    def say(self, prompt: str, answer: str, database: sqlite3.Connection | None = None) -> None:
        """Add a turn."""
        self.turns += 1
        self.messages += self.turn(self.turns, T0 + self.turns * 60_000, prompt, answer)
        self.write()

    def delete(self) -> None:
        """Delete the session's files."""
        self.path.unlink()

    def edit(self, old: str, new: str) -> None:
        """Replace a text."""
        self.messages = json.loads(json.dumps(self.messages).replace(old, new))
        self.write()


class VsCode(Files):
    """VS Code's chat before 1.109: a JSON document."""

    agent = "vscode-copilot"
    place = f"workspaceStorage/w1/chatSessions/{SESSION}.json"

    def document(self) -> dict[str, Any]:
        """Return the session."""
        facts = {"version": 3, "sessionId": SESSION, "creationDate": T0, "customTitle": "The shop"}
        return {**facts, "responderUsername": "GitHub Copilot", "requests": self.messages}

    def write(self) -> None:
        """Write the document."""
        workspace = json.dumps({"folder": f"file://{CWD}"})
        self.path.parent.with_name("workspace.json").write_text(workspace)
        self.path.write_text(json.dumps(self.document()))

    def turn(self, n: int, at: int, prompt: str, answer: str) -> list[dict[str, Any]]:
        """Return the request of a turn."""
        call = {"id": f"c{n}", "name": "run_in_terminal", "arguments": '{"command": "make test"}'}
        rounds = [{"response": "", "toolCalls": [call]}, {"response": answer, "toolCalls": []}]
        results = {f"c{n}": {"content": [{"value": "2 passed"}]}}
        metadata: dict[str, Any] = {"toolCallRounds": rounds, "toolCallResults": results}
        metadata |= {"promptTokens": 9, "outputTokens": 4}
        request = {"requestId": f"request_{n:08}-0000-4000-8000-000000000000", "timestamp": at}
        request |= {"message": {"text": prompt}, "modelId": "copilot/m-1"}
        attached = {
            "kind": "file",
            "name": "shop.py",
            "value": {"uri": {"fsPath": f"{CWD}/shop.py"}},
        }
        request |= {"variableData": {"variables": [attached]}}
        result = {"timings": {"totalElapsed": 900}, "metadata": metadata}
        return [request | {"response": [{"value": answer}], "result": result}]


class VsCodeLog(VsCode):
    """VS Code's chat since 1.109: a log of operations."""

    place = f"workspaceStorage/w1/chatSessions/{SESSION}.jsonl"

    def write(self) -> None:
        """Write the log, a line for each request."""
        super().write()
        first = self.document() | {"requests": []}
        lines: list[dict[str, Any]] = [{"kind": 0, "v": first}]
        lines += [{"kind": 2, "k": ["requests"], "v": [each]} for each in self.messages]
        self.path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


class Cline(Files):
    """Cline's extension."""

    agent = "cline"
    session = "1780300800000"
    place = f"tasks/{session}/ui_messages.json"

    def write(self) -> None:
        """Write the record of the screen, and the extension's list of tasks."""
        self.path.write_text(json.dumps(self.messages))
        listing = self.root / "state" / "taskHistory.json"
        listing.parent.mkdir(exist_ok=True)
        item = {"id": self.session, "task": "The shop", "cwdOnTaskInitialization": CWD}
        listing.write_text(json.dumps([item | {"modelId": "m-1"}]))

    def turn(self, n: int, at: int, prompt: str, answer: str) -> list[dict[str, Any]]:
        """Return the rows of a turn."""
        request = '{"request": "x", "tokensIn": 9, "tokensOut": 4}'
        return [
            {"ts": at, "type": "say", "say": "user_feedback" if n > 1 else "task", "text": prompt},
            {"ts": at + 1, "type": "say", "say": "api_req_started", "text": request},
            {"ts": at + 2, "type": "ask", "ask": "command", "text": "make test"},
            {"ts": at + 3, "type": "say", "say": "command_output", "text": "2 passed"},
            {"ts": at + 4, "type": "say", "say": "completion_result", "text": answer},
        ]


class Roo(Cline):
    """Roo Code, whose first text is the prompt."""

    agent = "roo"

    def write(self) -> None:
        """Write the record of the screen, and the task's own facts."""
        super().write()
        item = {"id": self.session, "task": "The shop", "workspace": CWD}
        self.path.with_name("history_item.json").write_text(json.dumps(item))

    def turn(self, n: int, at: int, prompt: str, answer: str) -> list[dict[str, Any]]:
        """Return the rows of a turn."""
        rows = super().turn(n, at, prompt, answer)
        return [rows[0] | {"say": "text" if n == 1 else "user_feedback"}, *rows[1:]]


class KiloTasks(Roo):
    """Kilo until April 2026."""

    agent = "kilo"


class ClineProgram(Files):
    """Cline's own program."""

    agent = "cline"
    session = "1784094124598_rruoq"
    place = f"sessions/{session}/{session}.messages.json"

    def write(self) -> None:
        """Write the messages and the manifest."""
        self.path.write_text(json.dumps({"version": 1, "messages": self.messages}))
        manifest = {"session_id": self.session, "cwd": CWD, "metadata": {"title": "The shop"}}
        self.path.with_name(f"{self.session}.json").write_text(json.dumps(manifest))

    def turn(self, n: int, at: int, prompt: str, answer: str) -> list[dict[str, Any]]:
        """Return the messages of a turn."""
        use: dict[str, Any] = {"type": "tool_use", "id": f"t{n}", "name": "run_commands"}
        use |= {"input": {"commands": ["make test"]}}
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": f"t{n}"}
        result |= {"content": [{"query": "make test", "result": "2 passed"}]}
        blocks: list[tuple[str, Any]] = [
            ("user", {"type": "text", "text": prompt}),
            ("assistant", use),
            ("user", result),
            ("assistant", {"type": "text", "text": answer}),
        ]
        return [
            {"id": f"msg_{n}_{place}", "role": role, "content": [block], "ts": at + place}
            for place, (role, block) in enumerate(blocks)
        ]


class GeminiDocument(Files):
    """Gemini CLI before April 2026: a document for each session."""

    agent = "gemini"
    place = f"shop/chats/session-2026-06-01T08-00-{SESSION[:8]}.json"

    def write(self) -> None:
        """Write the document, and the mark that says its directory."""
        (self.path.parent.parent / ".project_root").write_text(CWD)
        facts = {"sessionId": SESSION, "projectHash": "0" * 64, "startTime": iso(T0)}
        facts |= {"lastUpdated": iso(T0), "summary": "The shop", "kind": "main"}
        self.path.write_text(json.dumps(facts | {"messages": self.messages}))

    def turn(self, n: int, at: int, prompt: str, answer: str) -> list[dict[str, Any]]:
        """Return the messages of a turn."""
        call: dict[str, Any] = {"id": f"c{n}", "name": "run_shell_command", "status": "success"}
        response = {"functionResponse": {"id": f"c{n}", "response": {"output": "2 passed"}}}
        call |= {"args": {"command": "make test"}, "result": [response]}
        ids = (f"{n:08}-0000-4000-8000-{place:012}" for place in range(2))
        asked, said = (dict[str, Any](id=own, timestamp=iso(at)) for own in ids)
        said |= {"type": "gemini", "content": answer, "model": "m-1", "toolCalls": [call]}
        return [asked | {"type": "user", "content": prompt}, said]


class OpenCodeTree(Files):
    """OpenCode 1.0 and 1.1: a file for the session, for each message and for each part."""

    agent = "opencode"
    session = OpenCode.session
    place = f"storage/session/proj/{OpenCode.session}.json"

    def write(self) -> None:
        """Write all files."""
        times = {"created": T0, "updated": T0 + self.turns}
        facts = {"id": self.session, "directory": CWD, "title": "The shop", "version": "1.0.107"}
        self.path.write_text(json.dumps(facts | {"projectID": "proj", "time": times}))
        storage = self.root / "storage"
        for message in self.messages:
            own = message["info"]["id"]
            self._put(storage / "message" / self.session / f"{own}.json", message["info"])
            for part in message["parts"]:
                self._put(storage / "part" / own / f"{part['id']}.json", part)

    def _put(self, path: Path, value: dict[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value | {"sessionID": self.session}))

    def turn(self, n: int, at: int, prompt: str, answer: str) -> list[dict[str, Any]]:
        """Return the messages of a turn, with their parts."""
        state = {"status": "completed", "input": {"command": "make test"}, "output": "2 passed"}
        tool = {"type": "tool", "callID": f"call_{n}", "tool": "bash", "state": state}
        said: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
            ({"role": "user", "time": {"created": at}}, [{"type": "text", "text": prompt}]),
            (
                {"role": "assistant", "time": {"created": at, "completed": at + 1}},
                [tool, {"type": "text", "text": answer}],
            ),
        ]
        return [
            {
                "info": {"id": f"msg_{n:04}{place}", **info},
                "parts": [
                    {"id": f"prt_{n:04}{place}{number}", **part}
                    for number, part in enumerate(parts)
                ],
            }
            for place, (info, parts) in enumerate(said)
        ]


class Atif(Files):
    """A document in the Agent Trajectory Interchange Format, which has no title."""

    agent = "atif"
    place = f"{SESSION}.json"
    kinds = ("assistant_text", "prompt", "tool_result", "tool_use")

    def write(self) -> None:
        """Write the document."""
        agent = {"name": "devin", "version": "1.0", "model_name": "m-1"}
        facts: dict[str, Any] = {"schema_version": "ATIF-v1.5", "session_id": SESSION}
        facts |= {"extra": {"cwd": CWD}, "agent": agent, "steps": self.messages}
        self.path.write_text(json.dumps(facts))

    def turn(self, n: int, at: int, prompt: str, answer: str) -> list[dict[str, Any]]:
        """Return the steps of a turn."""
        call = {"tool_call_id": f"c{n}", "function_name": "shell"}
        result = {"source_call_id": f"c{n}", "content": "2 passed"}
        steps: list[dict[str, Any]] = [
            {"source": "user", "message": prompt},
            {"source": "agent", "message": "", "tool_calls": [call]},
            {"source": "agent", "message": answer, "metrics": {"prompt_tokens": 9}},
        ]
        call |= {"arguments": {"command": "make test"}}  # type: ignore[dict-item]
        steps[1] |= {"observation": {"results": [result]}}
        return [
            {"step_id": 3 * n + place, "timestamp": iso(at), **step}
            for place, step in enumerate(steps)
        ]


class Text(Files):
    """A store that is a text in the project itself; `messages` are its turns."""

    has_times = False
    cwd = property(lambda self: str(self.root))
    before = ""

    def write(self) -> None:
        """Write the text."""
        said = "".join(each["text"] for each in self.messages)
        self.path.write_text(f"{self.before}{said}")


class Aider(Text):
    """Aider, which keeps no results of commands and no title."""

    agent = "aider"
    place = ".aider.chat.history.md"
    kinds = ("assistant_text", "prompt", "tool_use")
    before = (
        f"\n# aider chat started at {datetime.fromtimestamp(T0 / 1000):%Y-%m-%d %H:%M:%S}\n\n"
        "> Model: m-1 with diff format  \n"
    )

    def turn(self, n: int, at: int, prompt: str, answer: str) -> list[dict[str, Any]]:
        """Return the lines of a turn."""
        told = "> Tokens: 2.1k sent, 210 received. Cost: $0.01  \n> Applied edit to shop.py  \n"
        return [{"text": f"\n#### {prompt}  \n\n{answer}\n\n{told}"}]


class SpecStory(Text):
    """SpecStory's text of a session of Claude Code."""

    agent = "specstory"
    place = ".specstory/history/2026-06-01_08-00-00Z-why.md"
    has_times = True
    before = (
        "<!-- Generated by SpecStory, Markdown v2.1.0 -->\n\n# The shop\n\n"
        f"<!-- Claude Code Session {SESSION} (2026-06-01 08:00:00Z) -->\n"
    )

    def turn(self, n: int, at: int, prompt: str, answer: str) -> list[dict[str, Any]]:
        """Return the lines of a turn."""
        when = iso(at)[:19].replace("T", " ")
        frame = '<tool-use data-tool-type="shell" data-tool-name="Bash"><details>'
        call = "<summary>Tool use: **Bash**</summary>\n\n`make test`\n\n```text\n2 passed\n```"
        used = f"{frame}\n{call}\n</details></tool-use>"
        asked = f"\n_**User ({when}Z)**_\n\n{prompt}\n\n---\n"
        return [{"text": f"{asked}\n_**Agent (m-1 {when}Z)**_\n\n{used}\n\n{answer}\n\n---\n"}]


def iso(at: int) -> str:
    """Return milliseconds as a time in ISO 8601."""
    return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%dT%H:%M:%S.000Z}"


DATABASES: tuple[Callable[..., Store], ...] = (
    *(OpenCode, Kilo, Crush, Goose, Hermes, Zed),
    *(Cursor, CursorChat),
)
FILES: tuple[Callable[..., Store], ...] = (
    *(VsCode, VsCodeLog, Cline, Roo, KiloTasks, ClineProgram),
    *(OpenCodeTree, GeminiDocument, Atif, Aider, SpecStory),
)
STORES = (*DATABASES, *FILES)
