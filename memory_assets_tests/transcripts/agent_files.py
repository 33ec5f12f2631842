"""Small files of agents, written as the agents write them: one session that grows by turns; and the
list of all stores that tests write, databases and files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_assets_tests.transcripts.agent_databases import (
    CWD,
    SESSION,
    T0,
    Crush,
    Cursor,
    CursorChat,
    Goose,
    Hermes,
    Kilo,
    OpenCode,
    Store,
    Zed,
    iso,
)


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


DATABASES: tuple[Callable[..., Store], ...] = (
    *(OpenCode, Kilo, Crush, Goose, Hermes, Zed),
    *(Cursor, CursorChat),
)
FILES: tuple[Callable[..., Store], ...] = (
    *(VsCode, VsCodeLog, Cline, Roo, KiloTasks, ClineProgram),
    *(OpenCodeTree, GeminiDocument, Atif, Aider, SpecStory),
)
STORES = (*DATABASES, *FILES)
