"""One answer everywhere: library, command line, MCP and HTTP, asked the same."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from mcp import Client
from starlette.testclient import TestClient

from memory_assets.cli.cli import memory as command_line
from memory_assets.errors import ConfigurationError
from memory_assets.recall import Memory
from memory_assets.recall.cross_query.cross_query import cross_query
from memory_assets.recall.names import shortest_id
from memory_assets.recall.sessions.session import session_overview
from memory_assets.recall.sessions.timeline import timeline
from memory_assets.requests.arguments import Arguments, Interface, declared
from memory_assets.requests.questions import (
    FrictionRequest,
    HowRequest,
    RestoreRequest,
    SessionsRequest,
    ShowRequest,
    UsageRequest,
)
from memory_assets.requests.search import OF_DOCUMENTS, CrossQueryRequest, SearchRequest
from memory_assets.serving.answer_lines import record_lines
from memory_assets.serving.http_api import build_app
from memory_assets.serving.mcp_server import build_server, call_tool
from memory_assets.serving.opened import OpenedMemory
from memory_assets.serving.pages.site import build_site
from memory_assets.settings import Settings
from memory_assets_tests.command_line import run_here
from memory_assets_tests.recall.conftest import (
    CORPUS,
    DOCUMENTS,
    HARBOR,
    LOCAL,
    REPORTS,
    TURN,
    WORKSPACE,
    Asked,
)
from memory_assets_tests.sweep import sweep

SEARCHES: list[dict[str, Any]] = [
    {"query": "why did the daily report test fail"},
    {"query": "login loop", "kinds": "prompts", "n": 5},
    {"query": "email worker killed", "kinds": "all", "n": 12},
    {"query": "redirect loop", "kinds": "observations", "n": 5},
    {"query": "lighthouse", "project": "-home-mara-code-harbor-api", "n": 6},
    {"query": "git push", "tool": "Bash", "n": 7},
    {"query": "nothing is as old as this", "until": "2000-01-01"},
    {"query": "lighthouse", "session": "aaaaaaaa", "mode": "semantic"},
    {
        "query": "lighthouse",
        "recent": True,
        "full": True,
        "machine": True,
        "hidden": True,
        "n": 200,
    },
    {"query": "redirect loop", "type": "bugfix", "concept": "problem-solution"},
    {"concept": "gotcha", "since": "2026-01-01", "n": 3},
    {"file": "reports.py", "mode": "keyword", "fallback": False},
    {"query": "lighthouse", "project": "harbor-api", "session": "session::aaaa", "n": 2},
    {"query": "lighthouse", "project": "/home/mara/code/harbor-api/docs", "sort": "date"},
    {"query": "lock file", "agent": "Codex", "mode": "Hybrid", "kinds": "Sessions"},
    {"query": "git", "tool": "bash", "since": "yesterday", "until": "today"},
    {"query": "day", "kinds": "observations", "file": "harbor/reports/"},
    {"agent": "codex", "kinds": "all", "n": 30},
    {"tool": "BASH", "until": "2026-05-01T09:30"},
    {"recent": True, "kinds": "prompts"},
    {"sort": "date", "n": 3},
    {"query": "zzzzqqqq"},
    {"query": "lihgthouse keeping", "n": 2},
    {"query": "who paints the lighthouse door", "mode": "exact"},
    {"query": '"tending the lamp"', "kinds": "all", "n": 3, "exact": True},
    {"query": "midnights, each turned into UTC", "mode": "exact", "kinds": "workspace"},
    {"query": "redirect loop", "over": "all", "n": 3},
    {"query": "naïve Größe — ünïcode «quotes» & <tags> 你好"},
]
NONSENSE: list[tuple[dict[str, Any], str]] = [
    ({"query": ""}, "query is empty"),
    ({"query": "x", "kinds": "dreams"}, "cannot search in dreams; choose from sessions"),
    ({"query": "x", "mode": "psychic"}, "there is no 'psychic'; choose from hybrid, sem"),
    ({"query": "x", "project": "nowhere"}, "known are: "),
    ({"query": "x", "project": "a" * 1_001}, "1001 characters are more than 1000"),
    ({"query": "x", "project": "-"}, ""),
    ({"query": "x", "agent": "nobody"}, "choose from"),
    ({"query": "x", "session": "0"}, ""),
    ({"query": "x", "sort": "size"}, "there is no 'size'; choose from"),
    ({"query": "x", "since": "2026-05-02", "until": "2026-05-01"}, "since: 2026-05-0"),
    ({"query": "x", "session": "no-such-session"}, "no-such-session"),
    ({"query": "x", "session": "a" * 501}, "501 characters are more than 500"),
    ({"query": "x", "since": "whenever"}, "since: 'whenever' is not a time"),
    ({"query": "x", "until": "2026-13-01"}, "is not a time"),
    ({"query": "x", "tool": "a" * 1_001}, "1001 characters are more than 1000"),
    ({"query": "x", "tool": "Bash", "kinds": "prompts"}, "filters sessions only"),
    ({"query": "x", "tool": "Bash", "kinds": "observations"}, "filters sessions only"),
    ({"query": "x", "file": "a" * 1_001}, "1001 characters are more than 1000"),
    ({"query": "x", "file": "a.py", "kinds": "all"}, "sessions, observations and workspace"),
    ({"query": "x", "concept": "git"}, "there is no 'git'; choose from how-it-works, why"),
    (
        {"query": "x", "concept": "gotcha", "tool": "Bash"},
        "observations cannot be filtered by tool",
    ),
    ({"query": "x", "type": "poem"}, "there is no 'poem'; choose from bugfix, feature"),
    ({"query": "x", "type": "bugfix", "mode": "keyword"}, "not by keywords"),
    ({"query": "x", "n": 0}, "give a whole number from 1 to 200, not 0"),
    ({"query": " ", "mode": "exact"}, "query is empty"),
    ({"query": '"x"', "kinds": "summaries"}, ""),
    ({"query": "x", "mode": "exact", "file": "reports.py"}, ""),
    ({"query": "x", "n": 201}, "give a whole number from 1 to 200, not 201"),
    ({"query": "x", "n": "many"}, "give a whole number from 1 to 200, not 'many'"),
    ({"query": "x", "over": "nobody"}, "nobody"),
]
CROSS_QUERIES: list[dict[str, Any]] = [
    {"query": "why does a migration hang on staging", "n": 3, "where": {"bucket": "ops"}},
    {"corpus_query": "dough", "session_query": "lighthouse", "project": "harbor-api", "n": 2},
    {"document": next(iter(DOCUMENTS)), "collection": CORPUS, "agent": "Claude", "n": 4},
    {"query": "lock", "since": "2026-01-01", "until": "2026-03-01", "assume_same_embedder": True},
    {"session": "session::bbbb"},
]
_AROUND = ("frame", "frame_end", "next")
_IDS = ("id", "turn_id")
TIMELINES: list[dict[str, Any]] = [
    {"anchor": TURN},
    {"anchor": REPORTS, "before": "3", "after": "8"},
    {"anchor": "2026-04-20", "before": "9d", "after": "2", "scope": "all"},
    {"anchor": f"prompt::{REPORTS}::1", "before": "0", "after": "50", "kinds": ["prompts"]},
    {"anchor": TURN, "before": "1", "after": "1", "full": True},
]
VERBS: list[tuple[type[Arguments], dict[str, Any]]] = [
    (SessionsRequest, {"project": "harbor-api", "n": 3}),
    (UsageRequest, {"by": "agent"}),
    (HowRequest, {"tool": "gh", "n": 5}),
    (FrictionRequest, {"sessions": 2}),
    (RestoreRequest, {"file": "harbor/reports/days.py"}),
]


class _Everywhere:
    """The four ways in."""

    def __init__(self, memory: Memory, http: TestClient) -> None:
        assert isinstance(memory.settings, Settings)
        self.memory = memory
        self.settings = memory.settings
        self._http = http
        self._server = build_server(memory.settings)

    def cli(self, *arguments: str) -> Any:
        """What `memory ... --json` prints, its frame left out."""
        result = self._run(*arguments)
        assert result.exit_code in (0, 3), result.output
        answer = json.loads(result.stdout)
        return {name: value for name, value in answer.items() if name not in _AROUND[:2]}

    def _run(self, *arguments: str) -> Any:
        environment = {"MEMORY_DATA_DIR": str(self.settings.data_dir), "COLUMNS": "10000"}
        return CliRunner().invoke(command_line, [*arguments, "--json"], env=environment)

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

    def short_id(self, row: Mapping[str, Any], name: str = "id") -> Any:
        """The id of a row as the tools of MCP tell it."""
        session = row.get("session_id") or row["metadata"]["session_id"]
        return row[name] and shortest_id(self.memory, row[name], session)

    def short_items(self, items: list[dict[str, Any]], session: str) -> list[dict[str, Any]]:
        """The items of a session as the tools of MCP tell them."""
        ids = [
            {name: self.short_id({**item, "session_id": session}, name) for name in _IDS}
            for item in items
        ]
        return [{**item, **short} for item, short in zip(items, ids, strict=True)]

    def http_search(self, **parameters: Any) -> Any:
        """The answer of a search by HTTP, of the values as they are in a query string."""
        plain = {name: str(value).lower() if isinstance(value, bool) else value
                 for name, value in parameters.items()}  # fmt: skip
        return self.http("/search", **plain)

    def refusals(self, asked: dict[str, Any]) -> dict[str, str]:
        """The messages that a search is refused with, by the way it was asked."""
        told = {}
        with pytest.raises(ConfigurationError) as error:
            self.memory.search(**asked)
        told["library"] = str(error.value)
        refused = self._run("search", *_options(asked)).exception
        assert isinstance(refused, ConfigurationError)
        told["cli"] = str(refused)
        response = self._http.get("/search", params=_named(asked, "http"))
        assert 400 <= response.status_code < 500
        told["http"] = response.json()["error"]["message"]
        given = _named(asked, "mcp")
        told["mcp"] = call_tool(OpenedMemory(self.settings), "recall", given).content[0].text  # type: ignore[union-attr]
        return told


@contextmanager
def _everywhere(memory: Memory) -> Iterator[_Everywhere]:
    server = build_app(memory.settings)
    with TestClient(server, base_url="http://127.0.0.1") as http:
        yield _Everywhere(memory, http)


@pytest.fixture(scope="module")
def everywhere(asked: Asked) -> Iterator[_Everywhere]:
    """The memory, asked in four ways."""
    with _everywhere(asked.memory) as opened:
        yield opened


@pytest.fixture(scope="module")
def documents_everywhere(documented: Memory) -> Iterator[_Everywhere]:
    """The memory with a workspace, asked in four ways."""
    with _everywhere(documented) as opened:
        yield opened


def _named(
    asked: dict[str, Any], interface: Interface, request: type[Arguments] = SearchRequest
) -> dict[str, Any]:
    """Return the values by what they are called at an interface, those left out that it lacks."""
    names = {each.name: each.name_at(interface) for each in declared(request)}
    return {name: value for key, value in asked.items() if (name := names[key]) is not None}


def _options(asked: dict[str, Any], request: type[Arguments] = SearchRequest) -> list[str]:
    words = []
    for name, value in _named(asked, "cli", request).items():
        if isinstance(value, bool):
            words.append(name if value else name.replace("--", "--no-"))
        elif isinstance(value, dict):
            words += [part for pair in value.items() for part in (name, "=".join(pair))]
        else:
            words += [name, str(value)] if name.startswith("-") else [str(value)]
    return words


def test_every_argument_of_a_search_is_asked_everywhere_and_refused() -> None:
    """An argument that is added must be added to the cases."""
    names = {each.name for each in declared(SearchRequest)} - {
        *("interactive", "pager"),  # of a terminal
        "least",  # of searches over several memories, offered nowhere
        "page",  # of agents, for whom answers are cut
        *(*OF_DOCUMENTS, "workspace"),  # asked below
    }
    assert {name for case in SEARCHES for name in case} == names
    assert {name for case, _ in NONSENSE for name in case} == names - {
        *("recent", "full", "fallback", "machine", "hidden", "exact")
    }


@sweep("asked_for", SEARCHES)
def test_a_search_finds_the_same_everywhere(
    everywhere: _Everywhere, asked_for: dict[str, Any]
) -> None:
    """Whole answers of library, command line and HTTP; ids (short ones), scores, weakness, coverage
    and what was not used of MCP, whose texts are the same, cut."""
    given = {"n": 10, **asked_for}
    library = json.loads(json.dumps(everywhere.memory.search(**given).to_dict()))
    assert everywhere.cli("search", *_options(given)) == library
    assert everywhere.http_search(**_named(given, "http")) == library
    told = everywhere.mcp("recall", **_named(given, "mcp"))
    hits, wanted = told.pop("hits"), library.pop("hits")
    told.pop("project", None)  # once for all hits
    assert told == library
    told_of_each = [[hit["id"], hit["score"], hit["weak"], hit.get("later")] for hit in hits]
    assert told_of_each == [
        [everywhere.short_id(hit), round(hit["score"], 2), hit["weak"], hit["later"]]
        for hit in wanted
    ]
    for hit, whole in zip(hits, wanted, strict=True):
        told = " ".join(f"{whole['text']} {whole.get('beside', '')}".split())
        parts = [part.strip("… ") for part in hit["text"].split(" … ")]
        assert [part for part in parts if part not in told] == []


@sweep(
    "asked_for",
    [
        {},
        {"file_type": "ADR"},
        {"service": "svc-mail", "n": 3},
        {"workspace": WORKSPACE.name},
        {"domain": "post"},
        {"file_type": "python", "service": "svc-mail", "domain": "post", "mode": "keyword"},
    ],
)
def test_documents_are_found_and_filtered_alike_everywhere(
    documents_everywhere: _Everywhere, asked_for: dict[str, Any]
) -> None:
    """By library, command line and HTTP; by MCP as far as its tool has the filters."""
    given = {"query": "send a letter", "kinds": "workspace", "n": 10, **asked_for}
    library = json.loads(json.dumps(documents_everywhere.memory.search(**given).to_dict()))
    assert library["hits"]
    assert documents_everywhere.cli("search", *_options(given)) == library
    assert documents_everywhere.http_search(**_named(given, "http")) == library
    if {"domain", "mode"}.isdisjoint(given):
        known = ("file_type", "service", "workspace")
        filters = {name: given[name] for name in known if name in given}
        told = documents_everywhere.mcp(
            "workspace_search", query=given["query"], top_k=given["n"], **filters
        )
        ids = [hit["id"] for hit in library["hits"]]
        assert [hit["id"] for hit in told["hits"]] == ids


@pytest.mark.parametrize(
    "wrong",
    [{"file_type": "cobol"}, {"service": "svc-none"}, {"domain": "none"}, {"kinds": "prompts"}],
    ids=str,
)
def test_unknown_kinds_of_documents_are_refused_alike_everywhere(
    documents_everywhere: _Everywhere, wrong: dict[str, Any]
) -> None:
    """With the values that there are; by MCP of the filters that its tool has."""
    given = {"query": "letter", "kinds": "workspace", "service": "svc-mail", **wrong}
    (said,) = {
        message
        for interface, message in documents_everywhere.refusals(given).items()
        if interface != "mcp"
    }
    assert "there are: " in said or "add --in workspace" in said
    if wrong.keys() <= {"file_type", "service"}:
        opened = OpenedMemory(documents_everywhere.settings)
        told = call_tool(opened, "workspace_search", {"query": "letter", **wrong})
        assert told.is_error and told.content[0].text == said  # type: ignore[union-attr]


def test_every_argument_of_a_cross_query_is_asked_everywhere() -> None:
    """An argument that is added must be added to the cases."""
    names = {each.name for each in declared(CrossQueryRequest)} - {"workspace", "pager"}
    assert {name for case in CROSS_QUERIES for name in case} == names


@pytest.mark.parametrize("asked_for", CROSS_QUERIES, ids=lambda case: str(case)[:40])
def test_a_cross_query_finds_the_same_everywhere(
    everywhere: _Everywhere, corpus: Callable[..., str], asked_for: dict[str, Any]
) -> None:
    """Whole answers of library, command line, HTTP and MCP."""
    corpus()
    given = {"n": 10, **asked_for}
    library = json.loads(json.dumps(cross_query(everywhere.memory, **given)))
    assert library["documents"]
    assert everywhere.cli("cross-query", *_options(given, CrossQueryRequest)) == library
    plain = {name: str(value).lower() if isinstance(value, bool) else value
             for name, value in _named(given, "http", CrossQueryRequest).items()}  # fmt: skip
    plain |= {f"where.{key}": value for key, value in given.get("where", {}).items()}
    assert everywhere.http("/cross-query", **plain) == library
    assert everywhere.mcp("cross_query", **_named(given, "mcp", CrossQueryRequest)) == library


@sweep("asked_for, words", NONSENSE)
def test_nonsense_is_refused_with_the_same_words_everywhere(
    everywhere: _Everywhere, asked_for: dict[str, Any], words: str
) -> None:
    """Library, command line, MCP and HTTP, which say what would be right; before the colon is the
    argument's name there, between backquotes what is called there."""
    said = everywhere.refusals(asked_for).values()
    same = {re.sub("`.*?`", "", message) for message in said}
    assert len({message.partition(": ")[2] or message for message in same}) == 1
    assert all(words in message for message in said), said


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
    for part in library["sessions"]:
        part["items"] = everywhere.short_items(part["items"], part["session_id"])
    assert told == library


@pytest.mark.parametrize(("request_type", "asked_for"), VERBS, ids=str)
def test_a_verb_is_answered_alike_everywhere(
    everywhere: _Everywhere, request_type: type[Arguments], asked_for: dict[str, Any]
) -> None:
    """Whole answers of library, command line and HTTP; of MCP see `test_serving_mcp.py`."""
    verb = request_type.__name__.removesuffix("Request").lower()
    library = json.loads(json.dumps(everywhere.memory.ask(request_type(**asked_for))))
    assert everywhere.cli(verb, *_options(asked_for, request_type)) == library
    assert everywhere.http(f"/{verb}", **_named(asked_for, "http", request_type)) == library


def test_a_turn_and_its_session_are_the_same_everywhere(everywhere: _Everywhere) -> None:
    """The turn in full, the session's overview, and the state of the memory."""
    shown = {"id": TURN, "rows": everywhere.memory.show(TURN, 1)}
    shown = json.loads(json.dumps(shown))
    assert everywhere.cli("show", TURN, "--around", "1") == shown
    assert everywhere.http(f"/turns/{quote(TURN)}", around=1) == shown
    text = everywhere.mcp("get", ids=[TURN])["items"][0]["text"]
    rows = [row for row in shown["rows"] if row["id"] == TURN]
    assert text.partition("\n\nChanged: ")[0] in "\n\n".join(rows[0]["passages"])
    overview = json.loads(json.dumps(session_overview(everywhere.memory, REPORTS)))
    assert everywhere.cli("summarize", REPORTS) == overview
    assert everywhere.http(f"/sessions/{REPORTS}") == overview
    for kind in ("turns", "observations", "commits"):
        overview[kind] = everywhere.short_items(overview[kind], REPORTS)
    assert everywhere.mcp("summarize_session", session=REPORTS) == overview


def test_the_records_of_a_turn_are_the_same_everywhere(everywhere: _Everywhere) -> None:
    """Page by page; over MCP in lines."""
    first = f"session::{REPORTS}::turn::0"
    asked = ShowRequest(first, around=1, records=True, subagents=True)
    library = json.loads(json.dumps(everywhere.memory.ask(asked)))
    options = ("--around", "1", "--records", "--subagents")
    assert everywhere.cli("show", first, *options) == library
    path = f"/turns/{quote(first)}"
    assert everywhere.http(path, around=1, records="1", subagents="true", page=1) == library
    assert library["pages"] == 1 and "passages" in library["rows"][0]
    told = everywhere.mcp("get", ids=[first], records=True, subagents=True)["items"][0]["text"]
    own = [each for each in library["records"] if each["turn_id"] == first]
    assert told == "\n".join(record_lines(own))
    assert any(each["agent_id"] for each in own) and "1 failed, 311 passed" in told


def test_the_state_of_the_memory_is_the_same_everywhere(everywhere: _Everywhere) -> None:
    """Counts and coverage; bytes on disk may move meanwhile."""
    library = json.loads(json.dumps(everywhere.memory.status()))
    told = [everywhere.cli("status"), everywhere.http("/status")]
    for name in ("agents", "projects", "stages", "coverage", "quarantined"):
        assert all(each[name] == library[name] for each in told)
    assert everywhere.mcp("status")["coverage"] == library["coverage"]


def test_a_damaged_file_is_told_with_the_name_of_its_project(
    copied: Callable[..., Memory],
) -> None:
    """That readers use, in the command that mends it, too: by the command line, MCP, HTTP and the
    page."""
    memory = copied()
    for path in (memory.data_dir / "lake" / "turn_chunks").rglob("*.parquet"):
        path.write_bytes(b"damaged")
    site = TestClient(build_site(memory.settings), base_url=LOCAL)
    told = [
        run_here({"MEMORY_DATA_DIR": str(memory.data_dir)}, "show", TURN).stderr,
        str(call_tool(OpenedMemory(memory.settings), "get", {"ids": [TURN]}).content),
        site.get(f"/turns/{quote(TURN)}").text,
        site.get(f"/page/timeline?anchor={quote(TURN)}").text,
    ]
    for message in (" ".join(each.split()) for each in told):
        assert "is damaged" in message and "--project=harbor-api" in message
        assert f"--project={HARBOR}" not in message


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
        assert ids == [everywhere.short_id(hit) for hit in wanted[question]["hits"]]
