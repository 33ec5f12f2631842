"""Projects, timeline, observations, health and origin as pages, and the figures behind them."""

from __future__ import annotations

import re
import shutil
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from memory_assets.paths import KNOWN_AGENTS, SAMPLE_DIR
from memory_assets.recall import Memory
from memory_assets.recall.sessions.activity import activity, changed_files
from memory_assets.recall.sessions.recent_work import left_open
from memory_assets.recall.sessions.usage import usage_over_time
from memory_assets.requests.agent_memory import RememberRequest
from memory_assets.requests.questions import UsageRequest
from memory_assets.serving.agent_memory import AgentMemory
from memory_assets.serving.pages import overview_page
from memory_assets.serving.pages.charts import (
    agent_mark,
    heat_map,
    hours_of_week,
    span_bar,
    stacked_weeks,
)
from memory_assets.serving.pages.site import build_site
from memory_assets.status.health import redactions_by_rule
from memory_assets.stores.catalog.schema import Quarantined
from memory_assets.stores.lake.schemas import REDACTION_AUDIT
from memory_assets.stores.runs.ledger import CANCELED, FAILURE, SUCCESS, EndedRun, RunLedger
from memory_assets.stores.runs.names import INGEST_BATCH
from memory_assets_tests.recall.conftest import HARBOR, LOCAL, LOGIN, LONG, REPORTS, Asked

DAGSTER = "https://dagster.example"
"""On another machine, so that nobody looks whether it answers."""


def test_activity_counts_turns_and_sessions_by_day(asked: Asked) -> None:
    """By agent and project, newest project first; a turn without a time is in no day."""
    found = {each.project: each for each in activity(asked.memory)}
    harbor = found[HARBOR]
    assert harbor.sessions == harbor.agents.total() == 6 and harbor.root == "~/code/harbor-api"
    assert harbor.turns == harbor.turns_by_day.total() + 1
    assert harbor.sessions_by_week.total() == 6 and harbor.first_day == date(2026, 2, 1)
    days = [each.last_day for each in activity(asked.memory)]
    assert days == sorted(days, reverse=True)
    assert [each.project for each in activity(asked.memory, HARBOR)] == [HARBOR]


def test_charts_say_in_words_what_they_show() -> None:
    """For who cannot see them; a single turn is seen beside many; what is before is left out."""
    last = date(2026, 4, 7)
    chart = heat_map(Counter({last: 100, last - timedelta(days=1): 1}), last, "turns")
    assert 'aria-label="101 turns on 2 days, 2025-04-07 to 2026-04-07"' in chart
    assert re.search(r'class="heat-1"[^>]*><title>1 turn on 2026-04-06', chart)
    assert re.search(r'class="heat-4"[^>]*><title>100 turns on 2026-04-07', chart)
    assert ">0</text>" in chart and ">100 turns a day</text>" in chart  # what colours stand for
    assert ">7 turns</text>" in hours_of_week(Counter({(0, 9): 7}), "turns")
    bars = stacked_weeks({"harbor": Counter({date(2026, 4, 6): 4})}, last, "sessions").image
    assert 'height="80.0"' in bars and "at most 4 in one" in bars and ">4</text>" in bars
    assert 'aria-label="bytes 10 to 20 of 40"' in span_bar(10, 20, 40)
    assert "bytes 0 to 0 of 1" in span_bar(0, 0, 0)


def test_each_agent_has_a_colour_of_its_own() -> None:
    """A dot before its name, wherever a page names it; the name itself is in words."""
    marks = [str(agent_mark(name)) for name in KNOWN_AGENTS]
    colours = [re.findall(r'fill="(hsl[^"]+)"', mark) for mark in marks]
    assert len({colour for (colour,) in colours}) == len(KNOWN_AGENTS)
    assert [re.sub(r"<[^>]+>", "", mark) for mark in marks] == list(KNOWN_AGENTS)
    assert "<b>" not in agent_mark("<b>")


def test_projects_are_listed_and_each_has_a_page(asked: Asked, client: TestClient) -> None:
    """With activity, agents, the files that most sessions changed, and its sessions."""
    text = client.get("/page/projects").text
    assert text.index("tidepool-web") < text.index("harbor-api") and 'class="chart"' in text
    one = client.get("/page/project/harbor-api").text
    assert "<h1>harbor-api</h1>" in one and f"/page/session/{REPORTS}" in one
    assert changed_files(asked.memory, HARBOR, 1)[0][0] in one
    assert client.get("/page/project/nowhere").status_code == 404


def test_pages_lead_to_dagster_while_it_answers(asked: Asked) -> None:
    """Links of their own are left out where it does not, or its address is none; the words of
    others stay."""
    leads = f"/assets/redacted_records?view=partitions&amp;partition={HARBOR}"
    with socket.create_server(("127.0.0.1", 0)) as answering:
        answers = f"http://127.0.0.1:{answering.getsockname()[1]}"
        none = "http://localhost:3000x"
        for url, links in ((answers, True), ("http://127.0.0.1:1", False), (none, False)):
            settings = replace(asked.settings, dagster_url=url)
            with TestClient(build_site(settings), base_url=LOCAL) as client:
                project, health = (
                    client.get(path).text for path in ("/page/project/harbor-api", "/page/health")
                )
            assert (f"{url}{leads}" in project) is ("Lineage in Dagster" in project) is links
            assert (f"{url}/assets/" in health) is links
            assert ("harbor-api" in health and "Report in Dagster" not in health) or links


def test_the_overview_says_what_was_done_when_and_what_it_took(
    asked: Asked, client: TestClient
) -> None:
    """By day and hour, model and project; newest decisions, fixes and open ends; files; figures
    lead to what they count. The part that the first page loads is the same."""
    text = client.get("/page/overview").text
    part = client.get("/page/overview/parts").text
    assert part.strip() in text and "<html" not in part
    for heading in (
        "Turns by day",
        "Turns by weekday and hour",
        "Tokens by model and week",
        "Fixed",
    ):
        assert heading in part
    days = {day for each in activity(asked.memory) for day in each.turns_by_day}
    day = max(days)
    assert f'<a href="/page/sessions?since={day}&amp;until={day + timedelta(days=1)}"' in part
    assert re.search(r'href="/page/sessions\?file=[^"]+">\d+ sessions?</a>', part)
    hours = sum(each.turns_by_hour.total() for each in activity(asked.memory))
    assert f"{hours} turns by weekday and hour</caption>" in part
    table = part.partition('<table class="hours">')[2].partition("</table>")[0]
    cells = re.findall(r'<td class="heat-(\d)".*?>(\d+)</span></td>', table)
    assert len(cells) == 7 * 24 and sum(int(count) for _, count in cells) == hours
    assert all((level == "0") == (count == "0") for level, count in cells)
    usage = usage_over_time(asked.memory, UsageRequest())
    assert usage["models"] == asked.memory.ask(UsageRequest(by="model"))["groups"]
    weeks = sum(each.total() for each in usage["tokens_by_week"].values())
    assert 0 < weeks <= sum(each["tokens"] for each in usage["models"])


def test_the_overview_shows_the_days_that_are_asked_for(asked: Asked, client: TestClient) -> None:
    """All of it: turns, tokens, files, what was decided and left open; a day that is none is said,
    and a time without anything."""
    days = sorted(day for each in activity(asked.memory) for day in each.turns_by_day)
    between = {"since": str(days[0]), "until": str(days[len(days) // 2])}
    whole, part = client.get("/page/overview").text, client.get("/page/overview", params=between)
    for counted in (r"\d+ turns on \d+ days", r"\d+ turns by weekday", r"[\d,]+ tokens from"):
        found = [re.findall(counted, text) for text in (whole, part.text)]
        assert found[0] and found[1] and found[0] != found[1], counted
    assert f'value="{days[0]}"' in part.text and part.text.count("<li>") < whole.count("<li>")
    assert "Nothing was done" in client.get("/page/overview", params={"since": "now"}).text
    wrong = client.get("/page/overview", params={"since": "someday"})
    assert (
        wrong.status_code == 422 and "is not a time" in wrong.text and 'name="until"' in wrong.text
    )


def test_a_time_in_which_no_turn_was_begun_may_have_what_was_left_open(
    asked: Asked, client: TestClient
) -> None:
    """By a session that only ended in it."""
    projects = [each.project for each in activity(asked.memory)]
    ended = max(str(end["ended_at"]) for end in left_open(asked.memory, projects))
    between = {"since": ended, "until": str(datetime.fromisoformat(ended) + timedelta(seconds=1))}
    part = client.get("/page/overview/parts", params=between)
    assert "0 turns on 0 days" in part.text and "Left open" in part.text


def test_sessions_are_listed_and_filtered_by_a_form(asked: Asked, client: TestClient) -> None:
    """Each leads to its page and its project; what a filter cannot mean is said."""
    text = client.get("/page/sessions").text
    sessions = {row["session_id"] for row in asked.rows("turn_chunks")}
    assert set(re.findall(r'href="/page/session/([^"]+)"', text)) == sessions
    assert f"{len(sessions)} of {len(sessions)}" in text and ">harbor-api</a>" in text
    codex = client.get("/page/sessions", params={"agent": "codex", "n": "1"}).text
    assert len(re.findall(r'href="/page/session/', codex)) == 1
    (more,) = re.findall(r'href="(/page/sessions\?[^"]+)" data-item>More', codex)
    assert "agent codex" in codex and client.get(unescape(more)).status_code == 200
    lost = client.get("/page/sessions", params={"project": "nowhere"})
    assert lost.status_code == 404 and 'class="problem"' in lost.text


def test_a_timeline_is_asked_for_by_a_form(client: TestClient) -> None:
    """Around a session, a file, a commit; what it cannot mean is said. Without being asked it shows
    the newest day with anything, with the zone that makes it a day, and leads to the day before
    that."""
    text = client.get("/page/timeline").text
    assert 'name="anchor"' in text
    zone = r"\([A-Z+-][\w:+-]*\)"
    day = re.search(rf"<h1>Timeline: \w+, (\d\d \w+ \d{{4}}) {zone}</h1>", text)
    assert day and "<h2" in text
    (earlier,) = re.findall(r'<a href="([^"]+)" data-item>Earlier: ', text)
    before = client.get(unescape(earlier)).text
    assert "Later: " in before and "Newest: " in before and "<h2" in before
    found = client.get("/page/timeline", params={"anchor": REPORTS[:8], "after": "3"}).text
    assert re.search(rf'<li class="aside">\w+, \d\d \w+ \d{{4}} {zone}</li>', found)
    assert 'class="anchor"' in found and f"/page/session/{REPORTS}?turn=0#turn-0" in found
    of_file = client.get("/page/timeline", params={"anchor": "file:harbor/reports/days.py"})
    assert "Daily report test" in of_file.text
    assert "<span>harbor-api</span>" not in found and ">harbor-api</a>" in found
    lost = client.get("/page/timeline", params={"anchor": "no such thing"})
    assert lost.status_code == 404 and 'value="no such thing"' in lost.text


@pytest.mark.parametrize("reach", ["0", "1"])
def test_a_timeline_goes_on_on_both_sides(client: TestClient, reach: str) -> None:
    """Around its first and its last item, within the same scope, also to a side of which
    nothing was asked for; a project's is a link away."""
    project = client.get("/page/project/harbor-api").text
    (address,) = re.findall(r'href="(/page/timeline\?[^"]+)">Timeline</a>', project)
    assert client.get(unescape(address)).status_code == 200
    narrow = {"anchor": f"session::{REPORTS}::turn::1", "before": reach, "after": reach}
    found = client.get("/page/timeline", params=narrow).text
    further = re.findall(r'href="(/page/timeline\?[^"]+)">(Earlier|Later)</a>', found)
    assert [name for _, name in further] == ["Earlier", "Later"]
    for address, _ in further:
        assert "scope=project" in address
        around = client.get(unescape(address)).text
        items = [set(re.findall(r"<li.*?</li>", text, re.DOTALL)) for text in (found, around)]
        assert 'class="anchor"' in around and items[1] - items[0]


def test_observations_are_filtered_by_type_and_concept(client: TestClient) -> None:
    """One choice keeps the other."""
    text = client.get("/page/observations?type=bugfix").text
    assert "<span>bugfix</span>" in text and "<span>discovery</span>" not in text
    assert "/page/observations?concept=gotcha&amp;type=bugfix" in text
    assert re.search(r'<span title="[^"]+">harbor-api</span>', text)
    nothing = client.get("/page/observations?type=refactor&concept=gotcha").text
    assert "None of these is in memory." in nothing


def test_health_says_what_is_held_back_and_what_to_do(copied: Callable[..., Memory]) -> None:
    """With coverage, lag by project, redactions by rule and project, and sizes over time."""
    memory = copied()
    client = TestClient(build_site(replace(memory.settings, dagster_url=DAGSTER)), base_url=LOCAL)
    text = client.get("/page/health").text
    assert "Everything on record can be found." in text and "<p>Nothing.</p>" in text
    assert "Nothing yet of" in text and ">0</td>" not in text
    assert "json-web-token" in text and "Sizes" in text
    held = Quarantined(HARBOR, LONG, "turn_chunks", "", "it is too long", "", "cut <it>")
    memory.catalog.quarantine.hold(held)
    text = client.get("/page/health").text
    assert "it is too long" in text and "<strong>To do:</strong> cut &lt;it&gt;" in text
    assert (
        f"/assets/redaction_audit?view=partitions&amp;partition={HARBOR}" in text
    )  # each figure leads to its rows
    assert f'/assets/turn_chunks?view=partitions&amp;partition={HARBOR}" title="{HARBOR}"' in text
    assert ">harbor-api</a> (" in text  # by name, as everywhere
    assert '/assets/turn_chunks" rel="noreferrer">sessions</a>' in text
    assert "Changed files" not in text and "<polyline" not in text
    AgentMemory(memory.settings).answer(RememberRequest("The reef is closed.", "fact"))
    text = client.get("/page/health").text
    assert "1 memory waits" in text and "Everything" not in text
    assert ">memory</a>" not in text.partition("Nothing yet of")[2]
    ledger = RunLedger(memory.data_dir / "lineage.db")
    for day, size in (("2026-03-01", 400_000), ("2026-03-11", 900_000)):
        ledger.note_sizes(day, {"lake": size})
    ledger.close()
    (projects,) = memory.settings.transcript_roots()["claude-code"]
    new = projects / HARBOR / f"{REPORTS}.jsonl"
    new.parent.mkdir(parents=True)
    shutil.copyfile(SAMPLE_DIR / "claude" / "projects" / HARBOR / new.name, new)
    text = client.get("/page/health").text
    assert 'aria-label="lake: 400000 bytes on 2026-03-01, 900000 on 2026-03-11"' in text
    behind = text.partition('aria-label="Behind the transcripts"')[2].partition("</table>")[0]
    assert (
        f"/assets/raw_sessions?view=partitions&amp;partition={HARBOR}" in behind
        and "<td>1</td>" in behind
    )
    rules = redactions_by_rule(memory.catalog)
    lake = memory.lake
    found = [lake.read_partition(REDACTION_AUDIT, name) for name in lake.projects(REDACTION_AUDIT)]
    assert sum(each["count"] for each in rules) == sum(map(len, found)) > 0
    assert all(each["count"] == sum(each["projects"].values()) for each in rules)


def test_a_rule_of_many_projects_names_the_first_and_folds_the_others(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them once, in one fold."""
    many = {f"-srv-{number}": 1 for number in range(40)}
    rules = [{"rule": "pem-key", "count": 40, "projects": many}]
    monkeypatch.setattr(overview_page, "redactions_by_rule", lambda _: rules)
    text = client.get("/page/health").text.partition("Redactions by rule</h2>")[2]
    shown, folded = text.partition("</table>")[0].split("<summary>and 28 more</summary>")
    assert shown.count(" (1)") == 12 and folded.count(" (1)") == 28


def test_the_last_result_of_a_check_counts(tmp_path: Path) -> None:
    """That of the run that ended last, or has not ended yet."""
    ledger = RunLedger(tmp_path / "lineage.db")
    for run, ended, result in (("z", "2026-01-01", "failed"), ("a", "2026-01-02", "passed")):
        ledger.note_ended(EndedRun(run, ended_at=ended))
        ledger.note_made(run, "p", "turn_chunks", {}, {"rows_conserved": result})
    assert ledger.latest_checks() == {("p", "turn_chunks"): {"rows_conserved": "passed"}}
    ledger.note_made("m", "p", "turn_chunks", {}, {"rows_conserved": "warning"})
    assert ledger.latest_checks()["p", "turn_chunks"] == {"rows_conserved": "warning"}
    ledger.close()


def test_a_cancelled_ingest_hides_no_failed_one(tmp_path: Path) -> None:
    """Nor is it one that failed; a later one that went through ends the failure."""
    ledger = RunLedger(tmp_path / "lineage.db")

    def ended(day: str, status: str) -> list[str]:
        ledger.note_ended(EndedRun(day, INGEST_BATCH, status, ended_at=day))
        return ledger.failing()

    assert ended("2026-01-01", CANCELED) == []
    assert ended("2026-01-02", FAILURE) == [""]
    assert ended("2026-01-03", CANCELED) == [""]
    assert ended("2026-01-04", SUCCESS) == []
    assert ended("2026-01-05", CANCELED) == []
    ledger.close()


def test_an_audit_is_a_picture_of_the_way_back(client: TestClient) -> None:
    """Answer, chunk, records, source bytes, runs."""
    text = client.get(f"/page/audit/session::{REPORTS}::turn::1").text
    heads = re.findall(r"<li(?: class=\"runs\")?><h2>([^<]+)</h2>", text)
    assert heads == ["Answer", "Chroma and the lake", "Records", "Source", "Runs"]
    assert re.search(r'aria-label="bytes \d+ to \d+ of \d+"', text)
    assert "its hash agrees" in text
    assert client.get("/page/audit/session::nobody::turn::1").status_code == 404


def test_a_tag_leads_to_every_session_that_held_its_value(client: TestClient) -> None:
    """From the tag as it stands in a session."""
    tag = re.search(r'href="(/page/tag/[^"]+)"', client.get(f"/page/session/{LOGIN}").text)
    assert tag is not None
    text = client.get(tag[1]).text
    assert f"/page/session/{LOGIN}" in text and "rotate it" in text
    assert client.get("/page/tag/pem-key:000000000000").status_code == 404
