"""A session as a page: read as a conversation, in windows, and taken along."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from starlette.testclient import TestClient

from memory_assets.recall.memory import Memory
from memory_assets.recall.sessions.conversation import entries_of
from memory_assets.recall.sessions.session import sessions_of_same_files
from memory_assets.requests.agent_memory import PinRequest
from memory_assets.serving.agent_memory import AgentMemory
from memory_assets.serving.pages import session_page
from memory_assets.serving.pages.prose import diff_lines, prose
from memory_assets.serving.pages.site import build_site
from memory_assets.stores.lake.schemas import SESSION_SUMMARIES
from memory_assets_tests.recall.conftest import HARBOR, LOCAL, LOGIN, LONG, REPORTS, Asked
from memory_assets_tests.redacted_sessions import redacted


def test_a_session_reads_as_a_conversation(client: TestClient) -> None:
    """Prompts, prose, folded calls with their command and the head of an error, a subagent within
    its turn, observations and commits beside theirs."""
    text = client.get(f"/page/session/{REPORTS[:8]}").text
    assert '<h1 dir="auto">Daily report test fails after the clock change</h1>' in text
    assert re.search(r'<div class="prompt" dir="auto">good find\. fix it', text)
    assert "<code>day_bounds</code>" in text
    assert re.search(r'<details class="call failed">\s*<summary>.*git push.*no upstream', text)
    assert re.search(r'<details class="subagent">\s*<summary>Subagent <code>b41c07e</code>', text)
    assert '<span class="tool">Commit</span> 4be91c7' in text
    assert re.search(r'href="/page/timeline\?anchor=commit%3A%3A[^"]+">around it</a>', text)
    assert '<span class="added">' in text
    assert re.search(r'<h2 id="turn-0-title".*? tokens, \$ ', text, re.DOTALL)
    assert [f'id="turn-{index}"' in text for index in range(5)] == [True] * 4 + [False]


def test_beside_a_session_stand_its_turns_and_what_leads_on(client: TestClient) -> None:
    """The prompt of each turn, model, the command that resumes it, its commits at their turn,
    files, and the sessions before and after it that changed the same ones. Its title comes first,
    also on a phone."""
    text = client.get(f"/page/session/{REPORTS}").text
    assert text.index("<h1 ") < text.index('aria-label="Turns"') < text.index('id="turn-0"')
    assert re.search(rf'href="/page/session/{REPORTS}\?turn=0#turn-0"[^>]*><span', text)
    assert f"claude --resume {REPORTS}" in text and "<dt>Changed</dt>" in text
    assert re.search(r"/page/timeline\?anchor=file%3A[^\"]+\"><code>", text)
    live = client.get(f"/page/live/{REPORTS}?after=2").text
    assert 'id="turn-2"' in live and 'id="turn-1"' not in live and "<html" not in live


def test_a_session_that_grows_keeps_no_other_from_being_kept(copied: Callable[..., Memory]) -> None:
    """Of a session that is read again and again while it goes on, only its last state is kept."""
    memory = copied()
    project = memory.catalog.products.project_of(LOGIN)
    assert project is not None
    kept = memory.conversations.turns(project, LOGIN)
    for state in "12":
        with memory.catalog.transaction() as connection:
            connection.execute(
                "UPDATE products SET output_hash = ? WHERE stage = ? AND session_id = ?",
                (state, "redacted_records", REPORTS),
            )
        assert memory.conversations.turns(HARBOR, REPORTS)
    assert memory.conversations.turns(project, LOGIN) is kept


def test_sessions_of_the_same_files_are_the_nearest_before_and_after(asked: Asked) -> None:
    """Of the project; none where no other changed any of them."""
    rows = sorted(
        (row for row in asked.rows("session_summaries") if row["project"] == HARBOR),
        key=lambda row: row["ended_at"],
    )
    for at, row in enumerate(rows):
        earlier, later = sessions_of_same_files(asked.memory.lake, HARBOR, row["session_id"])
        own = set(row["files_modified"])
        before = [each for each in rows[:at] if own & set(each["files_modified"])]
        after = [each for each in rows[at + 1 :] if own & set(each["files_modified"])]
        assert (earlier or {}).get("session_id") == (before[-1]["session_id"] if before else None)
        assert (later or {}).get("session_id") == (after[0]["session_id"] if after else None)
    assert sessions_of_same_files(asked.memory.lake, HARBOR, "nobody") == (None, None)


def test_a_redaction_is_a_tag_with_its_rule(client: TestClient) -> None:
    """It leads to where else the same value stood; in what folds, it is no link."""
    text = client.get(f"/page/session/{LOGIN}").text
    assert re.search(r'<a class="redacted" href="/page/tag/[a-z0-9-]+:[0-9a-f]{12}"', text)
    for summary in re.findall(r"<summary>.*?</summary>", text):
        assert "<a " not in summary


def test_the_words_of_the_question_are_marked_in_the_turn_that_a_hit_opens(
    client: TestClient,
) -> None:
    """In prompts and prose, there alone; the hit's address carries the question, which is nowhere
    else in the page."""
    hits = client.get("/page/hits", params={"q": "clocks <b>changed"}).text
    (address,) = re.findall(rf'href="(/page/session/{REPORTS}\?turn=0&amp;q=[^"]+)"', hits)
    text = client.get(address.replace("&amp;", "&")).text
    turn, others = text.partition('id="turn-0"')[2].split('id="turn-1"')
    assert re.search(r'<div class="prose" dir="auto">.*?<mark>clocks</mark>', turn, re.S)
    assert "<mark" not in others and "<b>" not in text and "&lt;b" not in text
    assert "<mark" not in client.get(f"/page/session/{REPORTS}?turn=0").text
    hostile = prose("a <b>clock</b> *clock* [clock](http://x.example)", "clock <b>")
    assert "<b>" not in hostile and "<a" not in hostile and "<em><mark>clock</mark></em>" in hostile


def test_the_id_of_any_row_opens_the_session_at_its_turn(asked: Asked, client: TestClient) -> None:
    """So that links survive a new ingest."""
    row = next(row for row in asked.rows("observations") if row["session_id"] == REPORTS)
    for any_id, turn in (
        (f"session::{REPORTS}::turn::2::part::0", 2),
        (row["id"], row["turn_index"]),
        (f"prompt::{REPORTS}::1", 1),
    ):
        text = client.get(f"/page/session/{any_id}").text
        assert re.findall(r'class="turn wanted" id="turn-(\d+)"', text) == [str(turn)]
    assert client.get("/page/session/nobody").status_code == 404
    assert client.get(f"/page/session/{REPORTS}?turn=x").status_code == 400


def test_turns_come_in_windows_on_both_sides(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With links to the next ones, which the script replaces by the turns."""
    monkeypatch.setattr(session_page, "WINDOW", 1)
    middle = client.get(f"/page/session/{LONG}?from=1").text
    assert re.findall(r'id="turn-(\d)"', middle) == ["1"]
    earlier, later = re.findall(r'data-more="([^"]+)"', middle)
    before = client.get(earlier.replace("&amp;", "&")).text
    assert re.findall(r'id="turn-(\d)"', before) == ["0"] and "data-more" not in before
    after = client.get(later).text
    assert re.findall(r'id="turn-(\d)"', after) == ["2"] and "data-more" not in after
    assert re.findall(r'id="turn-(\d)"', client.get(f"/page/session/{LONG}?from=99").text) == ["2"]


def test_a_text_is_found_in_all_turns_of_a_session(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in those that are not shown, and in output; in any case and over line breaks. It leads
    to its turn, where its words are marked; what a person typed stays text."""
    monkeypatch.setattr(session_page, "WINDOW", 1)
    text = client.get(f"/page/session/{REPORTS}?find=GIT%20%20Push").text
    assert "Found in 1 turn<" in text and 'id="turn-3"' not in text
    link = re.search(r'<a href="([^"]+find=[^"]+)"[^>]*>(.*?)</a>', text, re.S)
    assert link is not None and "<mark>git</mark> <mark>push</mark>" in link[2]
    monkeypatch.undo()
    turn = client.get(link[1].replace("&amp;", "&")).text.partition('id="turn-3"')[2]
    assert "<mark>push</mark>" in turn
    monkeypatch.setattr(session_page, "_PLACES", 1)
    assert "The first 1 of them." in client.get(f"/page/session/{REPORTS}?find=t").text
    assert "Found in 4 turns<" in client.get(f"/page/session/{REPORTS}?find=t").text
    hostile = client.get(f"/page/session/{REPORTS}", params={"find": '"><b>('}).text
    assert "Found in no turn" in hostile and "<b>" not in hostile
    assert "Found in" not in client.get(f"/page/session/{REPORTS}?find=%20").text


def test_a_turn_and_a_session_are_copied_as_markdown(client: TestClient) -> None:
    """Prompts as quotations, calls on one line each."""
    response = client.get(f"/page/markdown/{REPORTS}?turn=3")
    assert response.headers["content-type"].startswith("text/plain")
    assert response.text.startswith("## Turn 3,")
    assert "> commit on a branch and open a PR" in response.text
    assert "- Bash: git push (failed: " in response.text
    whole = client.get(f"/page/markdown/{REPORTS}").text
    assert whole.startswith("# Daily report test") and whole.count("\n## Turn ") == 4
    assert client.get(f"/page/markdown/{REPORTS}?turn=99").status_code == 404


def test_the_line_of_an_error_that_says_most_heads_a_failed_call() -> None:
    """Not what the agent put around the output; all of it is in the fold."""
    output = "Chunk ID: 7d6e8b\nWall time: 0.1 seconds\nfine\nrg: regex parse error: unclosed group"
    call = redacted("assistant", "tool_use", "x", tool_use_id="c")
    result = redacted("user", "tool_result", output, tool_use_id="c", is_error=True)
    (entry,) = entries_of([call, result])
    assert entry.error == "rg: regex parse error: unclosed group" and entry.result == output


def test_a_record_can_be_read_in_full(client: TestClient) -> None:
    """As plain text; what is not there is said."""
    text = client.get(f"/page/session/{LONG}").text
    response = client.get(f"/page/record/{LONG}?seq=1")
    assert response.text.startswith("Lighthouse keeping, part 0.")
    assert "Lighthouse keeping, part 69." in text
    assert response.headers["x-content-type-options"] == "nosniff"
    assert client.get(f"/page/record/{LONG}?seq=99").status_code == 404


def test_a_session_is_saved_as_one_file_that_needs_nothing_else(client: TestClient) -> None:
    """Its own policy allows its style, by hash, and nothing else; nothing in it leads elsewhere."""
    response = client.get(f"/page/export/{LOGIN}")
    assert 'attachment; filename="session-' in response.headers["content-disposition"]
    style = re.search(r"<style>(.*?)</style>", response.text, re.DOTALL)
    assert style is not None
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    assert f"default-src &#39;none&#39;; style-src &#39;sha256-{digest}&#39;" in response.text
    assert "<script" not in response.text and "href=" not in response.text
    assert '<span class="redacted">' in response.text and "data-more" not in response.text


def test_links_and_images_of_prose_stay_text() -> None:
    """And so does HTML; its marks for emphasis, lists, tables and code are understood."""
    shown = prose(
        "# Head\n[a](javascript:b) ![i](http://x/y.png) <http://x> <img src=x onerror=y>\n\n"
        "| a |\n|:-:|\n| **b** |\n\n[r]: http://z\n\n"
        '```js" onclick=x\n<redacted:pem:0123456789ab>\n```'
    )
    assert "<strong>b</strong>" in shown and '<p class="heading">Head</p>' in shown
    assert "[a](javascript:b)" in shown and "&lt;img src=x" in shown
    assert not re.search(r"<img|<h1|style=|<[^>]*onclick", shown)
    assert re.findall(r'href="([^"]*)"', shown) == ["/page/tag/pem:0123456789ab"]
    assert prose("*" * 50_000).startswith("<pre>")
    assert '<table tabindex="0">' in prose("| wide |\n|---|\n| table |")  # scrolls with keys


def test_lines_of_a_diff_are_told_apart() -> None:
    """Each is escaped."""
    shown = diff_lines("@@\n-a <b>\n+c\n d")
    assert shown.split("\n")[1] == '<span class="removed">-a &lt;b&gt;</span>'
    assert shown.endswith('<span class="added">+c</span>\n d')


def test_a_session_is_asked_for_further_turns_while_it_may_go_on(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newer its last turn, the more often; one that ended more than a day ago is not asked."""
    assert "data-follow" not in client.get(f"/page/session/{REPORTS}").text
    monkeypatch.setattr(session_page, "_POLL_SECONDS", ((timedelta(1), 5), (timedelta(9_999), 60)))
    follow = f'data-follow="/page/live/{REPORTS}" data-seconds="60"'
    assert follow in client.get(f"/page/session/{REPORTS}").text


def test_a_call_says_how_long_it_took() -> None:
    """From its own time to that of its answer; nothing where one of them is not known, or the
    answer is said to be the older one."""
    asked = datetime(2026, 3, 1, tzinfo=UTC)
    call = {"tool_use_id": "t1", "tool_name": "Bash"}
    took = []
    for answered in (asked + timedelta(seconds=2.5), None, asked - timedelta(seconds=1)):
        (entry,) = entries_of(
            [
                redacted("assistant", "tool_use", "command: make", timestamp=asked, **call),
                redacted("tool", "tool_result", "done", seq=1, timestamp=answered, **call),
            ]
        )
        took.append(entry.seconds)
    assert took == [2.5, None, None]


def test_results_join_their_calls_and_subagents_nest() -> None:
    """Also a subagent of a subagent; a result without its call stands alone."""
    call = {"tool_name": "Task", "tool_use_id": "t1"}
    entries = entries_of(
        [
            redacted("user", "prompt", "go", seq=0),
            redacted("assistant", "tool_use", "prompt: look", seq=1, **call),
            redacted("tool", "tool_result", "done", seq=2, spawned_agent_id="a", **call),
            redacted("user", "system", "look", seq=0, agent_id="a"),
            redacted("tool", "tool_result", "", seq=1, agent_id="a", spawned_agent_id="b"),
            redacted("assistant", "assistant_text", "deep", seq=0, agent_id="b"),
            redacted("assistant", "assistant_text", "back", seq=2, agent_id="a"),
            redacted("tool", "tool_result", "lost", seq=3, tool_use_id="t9", is_error=True),
        ]
    )
    assert [each.kind for each in entries] == ["prompt", "call", "subagent", "call"]
    _, task, outer, alone = entries
    assert (task.result, task.subject, task.result_seq) == ("done", "look", 2)
    assert (alone.text, alone.result, alone.failed) == ("", "lost", True)
    kinds = [each.kind for each in outer.entries]
    assert kinds == ["system", "call", "subagent", "assistant_text"] and outer.calls == 1
    assert [each.text for each in outer.entries[2].entries] == ["deep"]


def test_a_result_that_a_file_has_before_its_call_joins_it() -> None:
    """Claude Code 2.1 writes so now and then where calls run side by side."""
    call = {"tool_use_id": "t1"}
    (entry,) = entries_of(
        [
            redacted("tool", "tool_result", "12 lines", seq=4, is_error=True, **call),
            redacted("assistant", "tool_use", "path: a.go", seq=5, tool_name="Read", **call),
        ]
    )
    assert (entry.tool, entry.subject, entry.seq) == ("Read", "a.go", 5)
    assert (entry.result, entry.result_seq, entry.failed) == ("12 lines", 4, True)


def test_a_session_without_a_summary_is_shown(copied: Callable[..., Memory]) -> None:
    """One that was not summarized yet, pinned or not; saved, too."""
    memory = copied()
    memory.lake.partition(SESSION_SUMMARIES, HARBOR).remove([REPORTS])
    with TestClient(build_site(memory.settings), base_url=LOCAL) as client:
        text = client.get(f"/page/session/{REPORTS}").text
        assert 'id="turn-0"' in text and "<dt>Changed</dt>" not in text
        assert 'id="turn-0"' in client.get(f"/page/export/{REPORTS}").text
        AgentMemory(memory.settings).answer(PinRequest.from_values("http", {"id": REPORTS}))
        assert "<dt>Pinned</dt>" in client.get(f"/page/session/{REPORTS}").text
