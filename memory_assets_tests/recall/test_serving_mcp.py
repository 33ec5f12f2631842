"""The MCP server: small definitions, framed answers, errors in words, a clean wire."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent, TextResourceContents

from memory_assets.agents import AGENTS
from memory_assets.recall.names import shortest_id
from memory_assets.redacted_text import FRAME_CLOSING, FRAME_OPENING
from memory_assets.serving import mcp_server
from memory_assets.serving.answer_size import (
    MOST_TOKENS,
    estimate_tokens,
    fit_around,
    page_slices,
    text_pages,
)
from memory_assets.serving.mcp_server import call_tool, tool_definitions
from memory_assets.serving.opened import OpenedMemory
from memory_assets.serving.tool_answers import PAGE_CHARACTERS
from memory_assets.settings import Settings, load_settings
from memory_assets_tests.cli.terminal import Terminal
from memory_assets_tests.recall.conftest import HARBOR, REPORTS, TURN, Asked
from memory_assets_tests.sweep import sweep

NAMES = (
    "recall",
    "timeline",
    "get",
    "cross_query",
    "summarize_session",
    "link_session_to_commit",
    "ask",
    "status",
)
CALLS: dict[str, dict[str, Any]] = {
    "recall": {"query": "why did the daily report test fail"},
    "timeline": {"anchor": TURN},
    "get": {"ids": [TURN]},
    "summarize_session": {"session": REPORTS},
    "status": {},
}


def _memory_command(*arguments: str) -> tuple[str, list[str]]:
    code = "from memory_assets.cli.cli import main; main()"
    return sys.executable, ["-c", code, *arguments]


def _environment(settings: Settings) -> dict[str, str]:
    return {**os.environ, "MEMORY_DATA_DIR": str(settings.data_dir)}


_OPENED: dict[Path, OpenedMemory] = {}


def ask(settings: Settings, name: str, /, **arguments: Any) -> Any:
    """Return a tool's result as the server makes it, from one memory for all tests."""
    opened = _OPENED.setdefault(settings.data_dir, OpenedMemory(settings))
    return call_tool(opened, name, arguments)


def _encoding(name: str) -> Any:
    """Return a model's tokens; its tables take a second to load."""
    import bpe_openai

    return bpe_openai.get_encoding(name)


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_the_definitions_take_fewer_than_1200_tokens(encoding: str) -> None:
    """Names, descriptions, schemas and annotations of all tools, as they go over the wire, with a
    workspace on record, and as many agents as are offered for choice."""
    agents = sorted(AGENTS, key=len)[-8:]
    listed = tool_definitions(agents=agents, workspaces=True)
    assert {"enum": agents} == listed[0].input_schema["properties"]["agent"]
    told = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed]
    tokens = _encoding(encoding).encode(json.dumps(told, separators=(",", ":")))
    assert 500 < len(tokens) < 1_200


def test_the_tools_say_what_they_do_to_the_world() -> None:
    """All read but one, which adds and never destroys; none reaches beyond this machine."""
    assert tuple(tool.name for tool in tool_definitions()) == NAMES
    for tool in tool_definitions():
        assert tool.description and tool.annotations and tool.annotations.read_only_hint is not None
        writes = tool.name == "link_session_to_commit"
        assert tool.annotations.read_only_hint is not writes
        assert not writes or tool.annotations.destructive_hint is False


@sweep(
    "older, kind, given",
    [
        ("search_sessions", "sessions", {"query": "daily report", "limit": 2}),
        ("recall_session", "sessions", {"query": "daily report"}),
        ("search_user_prompts", "prompts", {"query": "daily report"}),
        ("search_observations", "observations", {"query": "daily report"}),
        ("find_by_concept", "observations", {"concept": "what-changed"}),
        ("find_by_type", "observations", {"type": "change"}),
        ("find_by_file", "observations", {"file_path": "harbor/reports/"}),
        ("get_context_timeline", "", {"anchor": "3d0f6a52:2", "depth_before": 1}),
    ],
)
def test_tools_of_older_designs_are_taken_and_not_listed(
    asked: Asked, older: str, kind: str, given: dict[str, Any]
) -> None:
    """Each stands for `recall` of a kind, or for `timeline`, with the older names of arguments."""
    told = ask(asked.settings, older, **given)
    assert older not in NAMES and not told.is_error, told.content
    name, key, more = ("recall", "hits", {"kind": kind}) if kind else ("timeline", "sessions", {})
    same = ask(asked.settings, name, **more, **given).structured_content
    assert told.structured_content[key] == same[key] and same[key]


@pytest.mark.parametrize("name", CALLS)
def test_an_answer_comes_structured_and_in_words(asked: Asked, name: str) -> None:
    """With the keys that the tool's output schema promises; recalled text in its frame, and names
    of projects that people use."""
    result = ask(asked.settings, name, **CALLS[name])
    (schema,) = [tool.output_schema for tool in tool_definitions() if tool.name == name]
    assert not result.is_error
    assert set((schema or {}).get("required", ())) <= set(result.structured_content)
    text = result.content[0].text
    if name != "status":
        assert text.startswith(FRAME_OPENING) and text.count(FRAME_CLOSING) == 1
        assert result.structured_content["frame"].startswith(FRAME_OPENING)
    assert HARBOR not in text


def test_hits_are_short_and_name_what_get_gives_in_full(asked: Asked) -> None:
    """The first, which mostly answers, at more length; its id goes into `get`, and the next call is
    written out."""
    result = ask(asked.settings, "recall", query="why did the daily report test fail", n=2)
    hits = result.structured_content["hits"]
    assert len(hits) == 2 and hits[0]["id"].startswith(REPORTS[:8])
    assert all("\n" not in hit["text"] for hit in hits)
    assert 240 < len(hits[0]["text"]) <= 720 and len(hits[1]["text"]) <= 240
    assert f'get(ids=["{hits[0]["id"]}"])' in result.structured_content["next"]
    whole = ask(asked.settings, "get", ids=[hits[0]["id"]]).structured_content["items"][0]
    shown = asked.memory.show(hits[0]["id"])[0]
    assert whole["id"] == hits[0]["id"] and shown["id"].startswith(f"session::{REPORTS}::turn::")
    assert whole["text"].startswith(shown["passages"][0][:100])


@sweep("verb", ["sessions", "blame", "restore", "friction", "how", "usage"])
def test_a_verb_is_answered_as_the_command_of_its_name(asked: Asked, verb: str) -> None:
    """With the same contents, in a frame; ids are short ones, which every tool takes."""
    target = {"blame": "harbor/reports/days.py", "restore": "harbor/reports/days.py", "how": "gh"}
    about = {"target": target[verb]} if verb in target else {}
    result = ask(asked.settings, "ask", verb=verb, **about)
    assert not result.is_error, result.content[0].text
    answer, text = result.structured_content, result.content[0].text
    assert text.startswith(FRAME_OPENING) or "Nothing found" in text
    assert HARBOR not in text, "the key of a partition is for programs"
    key = {"blame": "turns", "restore": "text", "friction": "errors", "how": "commands"}
    assert key.get(verb, {"sessions": "sessions", "usage": "groups"}.get(verb, "")) in answer
    if verb == "how":
        whole = ask(asked.settings, "get", ids=[answer["commands"][0]["turn_id"]])
        assert not whole.is_error and len(answer["commands"][0]["turn_id"]) < 20
        assert ask(asked.settings, "how", tool="gh").structured_content["commands"]


def test_a_day_of_which_nothing_is_on_record_is_said(asked: Asked) -> None:
    """Instead of an empty frame."""
    text = ask(asked.settings, "timeline", anchor="2001-02-03").content[0].text
    assert "Nothing on " in text and "the first day after is 2026-01-08" in " ".join(text.split())


def test_prompts_and_sessions_are_offered(asked: Asked) -> None:
    """The slash commands of the plugin as prompts; sessions as resources, by the beginnings of
    their ids, too; what is not there is an error in words."""
    opened = OpenedMemory(asked.settings)
    listed = {each.name: each for each in mcp_server.list_prompts().prompts}
    assert set(listed) == {"recall", "resume-work"}
    told = mcp_server.get_prompt("recall", {"question": "why $x?"}).messages[0].content
    assert isinstance(told, TextContent) and "why $x?" in told.text and "$ARG" not in told.text
    for name, said in (("recall", "question: is missing"), ("x", "no prompt x")):
        with pytest.raises(MCPError, match=said):
            mcp_server.get_prompt(name, {})
    sessions = mcp_server.list_resources(opened).resources
    of_uri = {each.uri: each.description for each in sessions}
    assert of_uri[f"memory://session/{REPORTS}"] == "claude-code, 2026-03-30 08:09Z, harbor-api"
    (read,) = mcp_server.read_resource(opened, f"memory://session/{REPORTS[:8]}").contents
    assert isinstance(read, TextResourceContents) and read.text.startswith(FRAME_OPENING)
    assert "Daily report" in read.text
    with pytest.raises(MCPError, match="no session nobody"):
        mcp_server.read_resource(opened, "memory://session/nobody")


def test_a_client_that_asks_for_progress_gets_it(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a call goes on, with the seconds that it took so far."""
    monkeypatch.setattr(mcp_server, "_PROGRESS_SECONDS", 0.0005)
    told: list[str | None] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)
        assert progress > 0 and total is None

    async def run() -> None:
        async with Client(mcp_server.build_server(asked.settings)) as client:
            await client.call_tool("status", {}, progress_callback=note)

    asyncio.run(run())
    assert told and all(each and each.startswith("status: ") for each in told)


def test_pages_put_together_are_the_whole(asked: Asked) -> None:
    """Nothing is lost or told twice between them, over several ids."""
    ids = [f"{asked.long_session[:8]}:{number}" for number in range(3)]
    first = ask(asked.settings, "get", ids=[*ids, "session::nobody::turn::0"]).structured_content
    assert first["pages"] > 1 and "session::nobody::turn::0" in first["missing"]
    told: dict[str, str] = {}
    begins = 0
    for page in range(1, first["pages"] + 1):
        answer = ask(asked.settings, "get", ids=ids, page=page).structured_content
        assert sum(len(item["text"]) for item in answer["items"]) <= PAGE_CHARACTERS
        assert bool(answer["next"]) == (page < first["pages"])
        for item in answer["items"]:
            if item["from_character"] == 0 and item["id"] in told:
                begins = len(told[item["id"]])  # of the calls and what was said on the way
            assert item["from_character"] == len(told.get(item["id"], "")) - begins
            told[item["id"]] = told.get(item["id"], "") + item["text"]
    for turn in ids:
        for passage in asked.memory.show(turn)[0]["passages"]:
            assert passage in told[turn]
    assert ask(asked.settings, "get", ids=ids, page=first["pages"] + 1).is_error


@sweep(
    "name, arguments, told",
    [
        ("cross_query", {"document": "x", "n": 0}, "n: "),
        ("ask", {}, "verb: is missing"),
        ("ask", {"verb": "forget"}, "verb: there is no 'forget'"),
        ("ask", {"verb": "how"}, "target: is missing; give a program"),
        ("ask", {"verb": "usage", "target": "x"}, "target: usage does not take it"),
        ("ask", {"verb": "restore", "target": "no/such.file"}, "no/such.file"),
        ("recall", {"query": "x", "colour": "red"}, "colour: "),
        ("recall", {"query": "x", "project": "nowhere"}, "known are: "),
        ("timeline", {"anchor": "no such thing"}, "nothing in memory is called"),
        ("get", {"ids": ["gibberish"]}, "no session gibberish in memory"),
        ("get", {"ids": []}, "ids: "),
        ("summarize_session", {"session": "nobody"}, '; `ask(verb="sessions")` lists'),
        ("cross_query", {}, "give a query"),
        ("link_session_to_commit", {"session": REPORTS, "commit": "not hex"}, "commit: "),
        ("forget", {}, "there is no tool forget"),
    ],
)
def test_an_error_says_what_to_do_and_shows_no_inside(
    asked: Asked, name: str, arguments: dict[str, Any], told: str
) -> None:
    """As a tool's error, which a model can read and act on."""
    result = ask(asked.settings, name, **arguments)
    assert result.is_error and told in result.content[0].text
    assert "Traceback" not in result.content[0].text and ".py" not in result.content[0].text


def test_a_server_starts_before_there_is_any_memory(tmp_path: Path) -> None:
    """Its tools are listed; each call says what to run."""
    result = ask(load_settings(data_dir=tmp_path / "none"), "recall", query="anything")
    assert result.is_error and "memory ingest" in result.content[0].text


def test_standard_output_carries_the_protocol_alone(asked: Asked) -> None:
    """Every line is a JSON-RPC message, also to a client of an old version of the protocol, and the
    process ends with its input, once it has answered what came before the end. Half a character in
    a query and parameters that are no object have their answer, too."""
    hello = (
        '{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"a","version":"1"}}'
    )
    call = '{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n'
    asking = '{"name":"recall","arguments":{"query":"login \\ud800 \\ud83d\\ude00"}}'
    requests = [
        call % (1, "initialize", hello),
        '{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
        call % (2, "tools/call", asking),
        call % (3, "tools/call", '["recall"]'),
        call % (4, "tools/list", "[1]"),
        call % (5, "tools/call", '{"name":"status"}'),
    ]
    program, arguments = _memory_command("mcp")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(
        [program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(asked.settings),
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write("".join(requests))
        process.stdin.close()
        lines = process.stdout.readlines()
        assert process.wait(timeout=120) == 0
    answers = {answer["id"]: answer for answer in map(json.loads, lines)}
    assert sorted(answers) == [1, 2, 3, 4, 5] and len(lines) == 5
    assert answers[1]["result"]["instructions"]
    assert answers[1]["result"]["protocolVersion"] == "2024-11-05"
    assert not answers[2]["result"]["isError"] and not answers[5]["result"]["isError"]
    assert "error" in answers[3]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert used.ru_utime - before.ru_utime < 6.0


def test_ctrl_c_ends_a_server_that_waits_for_input(asked: Asked) -> None:
    """At once, as any command."""
    terminal = Terminal(_environment(asked.settings), "mcp")
    terminal.press('{"jsonrpc":"2.0","id":7,"method":"ping"}\n')
    terminal.until('"result":')
    terminal.press("\x03")
    code, shown = terminal.end()
    assert code == 130 and shown.endswith("^C\r\nStopped.\r\n")


_CLIENT = """
import json, subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
client = {"name": "test", "version": "1"}
hello = {"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": client}
message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
server.stdin.write(json.dumps(message).encode() + b"\\n")
server.stdin.flush()
answer = json.loads(server.stdout.readline())
print(server.pid, answer["result"]["protocolVersion"], flush=True)
time.sleep(1_000)
"""


def test_a_server_ends_with_a_client_that_is_killed(asked: Asked) -> None:
    """Which cannot say goodbye. A version of the protocol that never was is answered with one that
    is known."""
    program, arguments = _memory_command("mcp")
    with subprocess.Popen(
        [sys.executable, "-c", _CLIENT, program, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=_environment(asked.settings),
    ) as client:
        assert client.stdout
        pid, version = client.stdout.readline().split()
        client.kill()
    assert version.startswith("20")
    deadline = time.monotonic() + 30
    while _runs(pid):
        assert time.monotonic() < deadline, "the server goes on without its client"
        time.sleep(0.05)


def _runs(pid: str) -> bool:
    """Whether a process is there that has not ended."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, check=False)
    return bool(state.stdout.strip()) and not state.stdout.startswith(b"Z")


def test_the_sdks_client_is_served_over_http(asked: Asked) -> None:
    """On loopback, at /mcp; the address is told on standard error; SIGTERM ends it. The agents to
    choose from are those on record."""
    program, arguments = _memory_command("mcp", "--http", "--port", "0")
    with subprocess.Popen(
        [program, *arguments], stderr=subprocess.PIPE, text=True, env=_environment(asked.settings)
    ) as process:
        assert process.stderr
        url = process.stderr.readline().split()[-1]

        async def run() -> Any:
            async with Client(streamable_http_client(url)) as client:
                return await client.list_tools(), await client.call_tool(
                    "timeline", {"anchor": TURN}
                )

        try:
            listed, found = asyncio.run(run())
        finally:
            process.terminate()
        assert process.wait(timeout=120) == 0
    assert url.startswith("http://127.0.0.1:") and url.endswith("/mcp")
    assert tuple(tool.name for tool in listed.tools) == NAMES
    agents = listed.tools[0].input_schema["properties"]["agent"]
    assert agents == {"enum": ["claude-code", "codex", "pi"]}
    assert found.structured_content["anchor"]["id"] == TURN


_LARGE: dict[str, dict[str, Any]] = {
    "recall": {"query": "lighthouse report test", "n": 200, "kind": "all"},
    "timeline": {"anchor": REPORTS, "before": 50, "after": 50, "full": True, "scope": "all"},
    "summarize_session": {"session": REPORTS},
    "how": {"tool": "git", "n": 50},
    "status": {},
    **{f"ask {verb}": {"verb": verb, "n": 100} for verb in ("sessions", "friction")},
    "ask usage": {"verb": "usage"},
    "ask restore": {"verb": "restore", "target": "harbor/reports/days.py"},
    "ask blame": {"verb": "blame", "target": "harbor/reports/days.py"},
    "ask how": {"verb": "how", "target": "git", "n": 50},
}


@sweep("name", _LARGE)
def test_no_answer_is_longer_than_an_agent_takes(asked: Asked, name: str) -> None:
    """Both forms together, whatever is asked for; what was left out is in the next call."""
    result = ask(asked.settings, name.split()[0], **_LARGE[name])
    assert not result.is_error and tokens_of(result) < MOST_TOKENS


def tokens_of(result: Any) -> int:
    """The tokens of an answer in both of its forms."""
    structured = json.dumps(result.structured_content, ensure_ascii=False)
    both = structured + "".join(part.text for part in result.content)
    return max(len(_encoding(encoding).encode(both)) for encoding in ("o200k_base", "cl100k_base"))


def test_the_pages_of_a_search_have_all_hits_once(asked: Asked) -> None:
    """In order, by following the next call; there is no page after the last."""
    query: dict[str, Any] = {"query": "lighthouse report test", "n": 200, "kind": "all"}
    hits = asked.memory.search(query["query"], kinds="all", n=200).hits
    wanted = [shortest_id(asked.memory, hit.id, hit.metadata["session_id"]) for hit in hits]
    found: list[str] = []
    page = 1
    while True:
        answer = ask(asked.settings, "recall", **query, page=page).structured_content
        found += [hit["id"] for hit in answer["hits"]]
        page += 1
        if f"recall(..., n=200, page={page})" not in answer["next"]:
            break
    assert found == wanted and page > 2
    past = ask(asked.settings, "recall", **query, page=page)
    assert past.is_error and "there is no page" in past.content[0].text
    assert "larger n" in past.content[0].text


def test_a_long_text_is_paged_by_what_it_comes_to_in_tokens() -> None:
    """Chinese has one a character, so a page of it is shorter; nothing is lost between pages."""
    for text in (
        " " * 20_000 + "\n" * 20_000,
        "服务端的计划改好了。" * 4_000,
        "plain words of English " * 2_000,
        "🔥🦊👩‍👩‍👧" * 3_000,
        "쿼리의 조인이 틀려서 " * 2_000,
        "",
        "x" * 30_000,
    ):
        parts = list(text_pages(text, PAGE_CHARACTERS, 7_000))
        assert "".join(parts) == text
        assert all(
            len(part) <= PAGE_CHARACTERS and estimate_tokens(part) <= 7_001 for part in parts
        )
        assert all(parts) or text == ""
        for encoding in ("o200k_base", "cl100k_base"):
            count = _encoding(encoding).encode
            assert all(2 * len(count(part)) < MOST_TOKENS for part in parts)


def test_a_timeline_that_does_not_fit_keeps_what_is_nearest() -> None:
    """As much on either side of the anchor, more on one where the other ends."""
    assert fit_around([10] * 9, 4, most=50) == slice(2, 7)
    assert fit_around([10] * 9, 0, most=50) == slice(0, 5)
    assert fit_around([10] * 9, 8, most=50) == slice(4, 9)
    assert fit_around([], 0, most=50) == slice(0, 1)
    assert page_slices([30, 30, 30, 90, 1], most=60) == [
        slice(0, 2),
        slice(2, 3),
        slice(3, 4),
        slice(4, 5),
    ]
