"""One answer everywhere: library, command line, MCP and HTTP, asked the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from mcp import Client
from starlette.testclient import TestClient
from typer.testing import CliRunner

from memory_assets.cli.cli import app
from memory_assets.recall.search.request import parse_kinds, parse_time
from memory_assets.recall.summarize import session_overview
from memory_assets.recall.timeline.timeline import timeline
from memory_assets.serving.http_api import build_app
from memory_assets.serving.mcp_server import build_server

REPORTS = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"
TURN = f"session::{REPORTS}::turn::2"
SEARCHES: list[dict[str, Any]] = [
    {"query": "why did the daily report test fail"},
    {"query": "what blocked the migration", "n": 3},
    {"query": "login loop", "kind": "prompts", "n": 5},
    {"query": "what did we change", "kind": "summaries", "n": 4},
    {"query": "email worker killed", "kind": "all", "n": 12},
    {"query": "redirect loop", "kind": "observations", "n": 5},
    {"query": "what was decided", "kind": "observations", "file": "reports.py"},
    {"query": "lighthouse", "project": "-home-mara-code-harbor-api", "n": 6},
    {"query": "lighthouse", "since": "2026-02-02", "until": "2026-02-03"},
    {"query": "git push", "tool": "Bash", "n": 7},
    {"query": "report days", "file": "reports.py"},
    {"query": "stale lock file", "agent": "codex", "n": 2},
    {"query": "nothing is as old as this", "until": "2000-01-01"},
    {"query": "naïve Größe — ünïcode «quotes» & <tags> 你好"},
]
_AROUND = ("frame", "frame_end", "next")
TIMELINES: list[dict[str, Any]] = [
    {"anchor": TURN},
    {"anchor": REPORTS, "before": "3", "after": "8"},
    {"anchor": "2026-04-20", "before": "30d", "after": "2", "scope": "all"},
    {"anchor": f"prompt::{REPORTS}::1", "before": "0", "after": "50", "kinds": ["prompts"]},
    {"anchor": TURN, "before": "1", "after": "1", "full": True},
]


class _Everywhere:
    """The four ways in."""

    def __init__(self, asked: Any, http: TestClient) -> None:
        self.memory = asked.memory
        self.settings = asked.settings
        self._http = http
        self._server = build_server(asked.settings)

    def cli(self, *arguments: str) -> Any:
        """What `memory ... --json` prints."""
        environment = {"MEMORY_DATA_DIR": str(self.settings.data_dir)}
        result = CliRunner().invoke(app, [*arguments, "--json"], env=environment)
        assert result.exit_code in (0, 3), result.output
        return json.loads(result.stdout)

    def http(self, path: str, **parameters: Any) -> Any:
        """What a GET gives, its frame left out."""
        response = self._http.get(path, params=parameters)
        assert response.status_code == 200, response.text
        answer = response.json()
        assert answer.pop("frame") and answer.pop("frame_end")
        return answer

    def mcp(self, name: str, /, **arguments: Any) -> Any:
        """The structured answer of a tool, its frame and next call left out."""

        async def call() -> Any:
            async with Client(self._server) as client:
                return await client.call_tool(name, arguments)

        result = asyncio.run(call())
        assert not result.is_error, result.content
        told = json.loads(json.dumps(result.structured_content))
        return {name: value for name, value in told.items() if name not in _AROUND}


@pytest.fixture(scope="module")
def everywhere(asked: Any) -> Iterator[_Everywhere]:
    """The memory, asked in four ways."""
    server = build_app(asked.settings)
    with TestClient(server, base_url="http://127.0.0.1") as http:  # type: ignore[arg-type]
        yield _Everywhere(asked, http)


def _options(asked: dict[str, Any]) -> list[str]:
    names = {"kind": "--in", "n": "-n"}
    return [
        part
        for name, value in asked.items()
        if name != "query"
        for part in (names.get(name, f"--{name}"), str(value))
    ]


@pytest.mark.parametrize("asked_for", SEARCHES, ids=lambda case: case["query"][:20])
def test_a_search_finds_the_same_everywhere(
    everywhere: _Everywhere, asked_for: dict[str, Any]
) -> None:
    """Whole answers of library, command line and HTTP; ids, scores, coverage and what was not
    used of MCP, whose texts are the same, cut."""
    given = {"n": 10, **asked_for}
    filters = {name: given[name] for name in given if name not in ("query", "kind")}
    for name in ("since", "until"):
        if name in filters:
            filters[name] = parse_time(filters[name])
    kinds = parse_kinds(given.get("kind", "sessions"))
    library = everywhere.memory.search(given["query"], kinds=kinds, **filters).to_dict()
    library = json.loads(json.dumps(library))
    assert everywhere.cli("search", given["query"], *_options(given)) == library
    renamed = {{"query": "q", "kind": "in"}.get(name, name): given[name] for name in given}
    assert everywhere.http("/search", **renamed) == library
    told = everywhere.mcp("recall", **given)
    hits, wanted = told.pop("hits"), library.pop("hits")
    assert told == library
    assert [(hit["id"], hit["turn_id"], hit["score"]) for hit in hits] == [
        (hit["id"], hit["turn_id"], hit["score"]) for hit in wanted
    ]
    for hit, whole in zip(hits, wanted, strict=True):
        assert hit["text"].strip("…") in " ".join(whole["text"].split())


@pytest.mark.parametrize("asked_for", TIMELINES, ids=lambda case: str(case["anchor"])[-20:])
def test_a_timeline_is_the_same_everywhere(
    everywhere: _Everywhere, asked_for: dict[str, Any]
) -> None:
    """The same items in the same places."""
    given = {"before": "10", "after": "10", **asked_for}
    full, kinds = given.pop("full", False), given.pop("kinds", None)
    more = {"kinds": kinds} if kinds else {}
    detail = "full" if full else "index"
    library = timeline(everywhere.memory, detail=detail, **given, **more).to_dict()
    arguments = [given["anchor"], "--before", given["before"], "--after", given["after"]]
    arguments += [part for kind in kinds or () for part in ("--kind", kind)]
    arguments += ["--scope", given["scope"]] if "scope" in given else []
    assert everywhere.cli("timeline", *arguments, *(["--full"] if full else [])) == library
    wanted = {**given, "detail": detail, **({"kinds": ",".join(kinds)} if kinds else {})}
    assert everywhere.http("/timeline", **wanted) == library
    told = everywhere.mcp("timeline", **given, full=full, **more)
    if full:
        for part, same in zip(told["sessions"], library["sessions"], strict=True):
            for item, whole in zip(part["items"], same["items"], strict=True):
                assert whole["text"].startswith(item["text"].rstrip("…"))
                item["text"] = whole["text"]
    assert told == library


def test_a_turn_and_its_session_are_the_same_everywhere(everywhere: _Everywhere) -> None:
    """The turn in full, the session's overview, and the state of the memory."""
    shown = {"id": TURN, "rows": everywhere.memory.show(TURN, 1)}
    shown = json.loads(json.dumps(shown))
    assert everywhere.cli("show", TURN, "--around", "1") == shown
    assert everywhere.http(f"/turns/{quote(TURN)}", around=1) == shown
    text = everywhere.mcp("get", ids=[TURN])["items"][0]["text"]
    rows = [row for row in shown["rows"] if row["id"] == TURN]
    assert text == "\n".join(rows[0]["passages"])
    overview = json.loads(json.dumps(session_overview(everywhere.memory, REPORTS).to_dict()))
    assert everywhere.cli("summarize", REPORTS) == overview
    assert everywhere.http(f"/sessions/{REPORTS}") == overview
    assert everywhere.mcp("summarize_session", session=REPORTS) == overview


def test_the_state_of_the_memory_is_the_same_everywhere(everywhere: _Everywhere) -> None:
    """Counts and coverage; bytes on disk may move meanwhile."""
    library = json.loads(json.dumps(everywhere.memory.status()))
    told = [everywhere.cli("status"), everywhere.http("/status")]
    for name in ("agents", "projects", "stages", "coverage", "quarantined"):
        assert all(each[name] == library[name] for each in told)
    assert everywhere.mcp("status")["coverage"] == library["coverage"]


def test_many_ask_at_once_and_each_gets_its_own_answer(everywhere: _Everywhere) -> None:
    """Sixteen requests in flight over one server."""
    wanted = {
        question: everywhere.http("/search", q=question, n=3)
        for question in ("why did the test fail", "lighthouse lamp", "git push", "lock file")
    }

    async def all_at_once() -> list[tuple[str, Any]]:
        async with Client(build_server(everywhere.settings)) as client:
            questions = [*wanted] * 4
            calls = [client.call_tool("recall", {"query": each, "n": 3}) for each in questions]
            return list(zip(questions, await asyncio.gather(*calls), strict=True))

    for question, result in asyncio.run(all_at_once()):
        assert not result.is_error, result.content
        ids = [hit["id"] for hit in result.structured_content["hits"]]
        assert ids == [hit["id"] for hit in wanted[question]["hits"]]
