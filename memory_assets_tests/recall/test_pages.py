"""The pages: what they show, that text of a transcript stays text, and who may see them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from unittest.mock import MagicMock

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from memory_assets.requests.arguments import declared
from memory_assets.requests.search import SearchRequest
from memory_assets.serving.pages import login, prose, rendering
from memory_assets.serving.pages.search_page import _distance, _projects
from memory_assets.serving.pages.site import build_site
from memory_assets.serving.visible_text import without_markdown
from memory_assets.settings import load_settings
from memory_assets_tests.recall.conftest import LOCAL, REPORTS, TOKEN, Asked
from memory_assets_tests.sweep import sweep

PAGES = ("/", "/?q=lighthouse", "/page/hits?q=lighthouse", "/page/nowhere")


@pytest.fixture
def guarded(asked: Asked) -> Iterator[TestClient]:
    """A browser that is asked for a token."""
    site = build_site(asked.settings, token=TOKEN)
    with TestClient(site, base_url=LOCAL, follow_redirects=False) as client:
        yield client


@pytest.mark.parametrize("path", PAGES)
def test_a_page_may_load_its_own_files_alone(client: TestClient, path: str) -> None:
    """No script or style within it, nothing from elsewhere, no frame of another page."""
    response = client.get(path)
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert response.headers["cache-control"] == "no-store"
    assert not re.search(
        r"<style|\sstyle=|\son\w+=|javascript:|<script(?! src=\"/page/)", response.text
    )
    assert not re.findall(r"(?:src|srcset)=\"(?!/page/)", response.text)


def test_the_form_has_each_argument_that_a_search_over_http_takes(client: TestClient) -> None:
    """From the one declaration, with its choices."""
    names = {name for each in declared(SearchRequest) if (name := each.name_at("http"))}
    text = client.get("/").text
    assert set(re.findall(r'<(?:input|select) id="\w+" name="(\w+)"', text)) == names
    assert '<option value="trade-off">trade-off</option>' in text and 'maxlength="2000"' in text


def test_before_anything_is_asked_the_newest_sessions_are_shown(client: TestClient) -> None:
    """Beside what an overview will show; the numbers lead to what they count. The list alone is
    what the page renews."""
    text = client.get("/").text
    assert '<a href="/page/sessions">11 sessions</a>' in text
    assert f"/page/session/{REPORTS}" in text and 'data-more="/page/overview/parts"' in text
    side = client.get("/page/side").text
    assert side.count("<li>") >= 9 and "<html" not in side and side.strip()[:20] in text


def test_hits_of_one_session_are_one_with_the_others_folded(client: TestClient) -> None:
    """Each of these leads to its turn; the sum counts all of them, and among how many turns they
    were found, unless a filter left fewer."""
    text = client.get("/page/hits", params={"q": "daily report test", "n": "10"}).text
    hits = json.loads(client.get("/search", params={"q": "daily report test", "n": "10"}).text)
    sessions = {each["metadata"]["session_id"] for each in hits["hits"]}
    assert text.count("<article>") == len(sessions) < len(hits["hits"])
    assert f"{len(hits['hits'])} hits among" in text
    asked = {"q": "daily report test", "n": "10", "since": "2026-03-30"}
    filtered = client.get("/page/hits", params=asked).text
    assert re.search(r"\d hits?\.", filtered) and " among " not in filtered
    assert re.search(rf'<li><a href="/page/session/{REPORTS}\?turn=\d+[^>]*>Turn \d+</a>', text)


def test_filters_are_lists_and_dates_pickers(asked: Asked, client: TestClient) -> None:
    """Projects as people name them; times in words become days; one that is none stays text."""
    text = client.get("/", params={"q": "x", "since": "2026-03-30", "project": "harbor-api"}).text
    assert f'<option value="{asked.harbor}">harbor-api</option>' in text
    assert '<option value="harbor-api" selected>' in text
    assert re.search(r'name="since" type="date" value="2026-03-30"', text)
    assert 'name="since" type="date"' in client.get("/page/sessions?since=last+week").text


def test_the_palette_offers_what_fits(client: TestClient) -> None:
    """Pages, projects, sessions and files; what is typed can be searched for as well."""
    assert 'href="/page/health"' in client.get("/page/palette").text
    text = client.get("/page/palette", params={"q": "harbor"}).text
    assert ">project</span> harbor-api" in text and 'href="/?q=harbor"' in text
    text = client.get("/page/palette", params={"q": "days.py"}).text
    assert ">file</span> harbor/reports/days.py" in text


def test_the_palette_offers_what_fits_best_first(client: TestClient) -> None:
    """A name that is what is typed before one that begins so, that has it, that has its words; no
    session of whose title half of the words are not typed, though its summary has them."""
    names = ["days.py", "days.pyc", "old days.py", "py of days", "harbor"]
    assert [_distance("Days.py", name) for name in names] == [0, 1, 2, 4, 5]
    assert _distance("the daily report", "Report that is daily") == 3
    text = client.get("/page/palette", params={"q": "daily report test"}).text
    (session, *_) = re.findall(r"<li>(.*?)</li>", text, re.DOTALL)
    assert f'href="/page/session/{REPORTS}"' in session
    lisbon = client.get("/page/palette", params={"q": "Lisbon"}).text
    assert "Lisbon" in client.get(f"/page/session/{REPORTS}").text and REPORTS not in lisbon


def test_the_palette_tells_projects_of_one_name_apart() -> None:
    """By their directories."""
    roots = {"a": "/srv/harbor", "b": "~/harbor", "c": "/srv/quay"}
    memory = MagicMock(**{"catalog.sources.project_roots.return_value": roots})
    assert [name for _, name, _ in _projects(memory, "harb")] == [
        *("harbor  /srv/harbor", "harbor  ~/harbor")
    ]
    assert [name for _, name, _ in _projects(memory, "quay")] == ["quay"]


def test_a_hit_says_why_it_is_one_and_leads_to_its_turn(client: TestClient) -> None:
    """The words of the question are marked in the stretch that answers."""
    text = client.get("/", params={"q": "daily report after the clock change"}).text
    assert re.search(rf'href="/page/session/{REPORTS}\?turn=\d+&amp;q=daily[^"]*#turn-\d+"', text)
    assert "<mark>" in text and "words <meter" in text and "meaning <meter" in text
    assert "answers this with probability" in text and "Everything up to" in text


def test_what_nothing_answers_is_said_plainly(client: TestClient) -> None:
    """Before the nearest hits."""
    text = client.get("/", params={"q": "how long must bread dough rise at room temperature"}).text
    assert "<strong>Not sure" in text


def test_filters_alone_list_the_newest_that_pass(client: TestClient) -> None:
    """Fields left empty count as not given."""
    text = client.get("/page/hits", params={"agent": "codex", "q": "", "since": ""}).text
    assert "<html" not in text and "codex" in text
    assert "claude-code" not in text


def test_filters_that_hold_are_named_where_they_fold(client: TestClient) -> None:
    """So that hits stand on the first screen of a phone."""
    text = client.get("/", params={"q": "lighthouse", "agent": "codex", "n": "3"}).text
    assert '<details class="filters">\n<summary>Filters: agent codex</summary>' in text


@pytest.mark.parametrize("n", [1, 4])
def test_a_full_list_by_date_leads_to_what_is_older(client: TestClient, n: int) -> None:
    """With its filters, until nothing is left; no session is skipped. A list of one instant leads
    to what is before it."""
    seen, address = set[str](), f"/?in=summaries&sort=date&n={n}"
    for _ in range(20 // n):
        text = client.get(address).text
        seen.update(re.findall(r'<h2 dir="auto"><a href="([^"]+)"', text))
        (address, *_) = [*re.findall(r'href="([^"]+)" data-item>Older ones', text), ""]
        address = unescape(address)
        if not address:
            break
    assert (
        not address and len(seen) == client.get("/status").json()["coverage"]["summaries"]["rows"]
    )


def test_a_list_that_ends_without_a_time_leads_nowhere(asked: Asked, client: TestClient) -> None:
    """What has none is listed last."""
    rows = asked.memory.search("", kinds=["prompts"], sort="date", n=50).hits
    assert len(rows) < 50 and not rows[-1].metadata["timestamp"]
    shown = client.get(f"/?in=prompts&sort=date&n={len(rows)}")
    assert shown.status_code == 200 and "Older ones" not in shown.text


def test_what_makes_no_sense_is_said_beside_the_form(client: TestClient) -> None:
    """In the words of the request, with the form to mend it."""
    response = client.get("/", params={"q": "x", "since": "whenever"})
    assert "is not a time" in response.text and 'value="whenever"' in response.text
    assert client.get("/page/hits", params={"q": "x", "n": "0"}).status_code == 400


def test_text_is_escaped_and_its_redaction_tags_are_links() -> None:
    """Whatever stands between them, and in marked words too."""
    text = "<img src=x onerror=a()> <redacted:pem-key:0123456789ab> </mark>&"
    for shown in (prose.with_tags(text), prose.with_tags(text, "img")):
        assert "<img" not in shown and "</mark>&amp;" not in shown.replace("&lt;/mark&gt;", "")
        assert 'href="/page/tag/pem-key:0123456789ab"' in shown
    assert "&lt;<mark>img</mark>" in prose.with_tags(text, "img")


def test_an_excerpt_has_its_emphasis_and_no_links() -> None:
    """Code and bold, with marks in both; an open mark is left out; nothing leads elsewhere."""
    text = "**bold** `git push` `open [a](http://x) <b> <redacted:pem-key:0123456789ab>"
    shown = prose.inline_prose(text, "push")
    assert "<strong>bold</strong>" in shown and "<code>git <mark>push</mark></code>" in shown
    assert (
        "</code> open a (http://x) &lt;b&gt;" in shown and "/page/tag/pem-key:0123456789ab" in shown
    )


@sweep(
    "text",
    [
        *("2**10 = 1024 and 3**2 = 9", "src/**/a.ts and lib/**/b.ts", "f(**a, **b)"),
        *("2 ** 10", "src/**/x.ts", "src/** only", "a ** b ** c"),
        *("grep --include=*.tsx --include=*.ts", "__init__.py and _a_ of my_name"),
    ],
)
def test_stars_that_are_no_emphasis_stay(text: str) -> None:
    """Powers, patterns of paths and arguments, on a page and on a terminal."""
    assert prose.inline_prose(text) == text == without_markdown(text)
    assert prose.inline_prose(f"**so** {text}") == f"<strong>so</strong> {text}"
    assert without_markdown(f"**so:** `{text}`, **(and)** {text}") == f"so: {text}, (and) {text}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see [the **log**](a/log.md), then", "see the log (a/log.md), then"),
        (f"see [the log](https://a.example/{'x' * 20})", "see the log"),
        ("**[a.md](a.md)** `[a](b)` x[i](y) ![p](q)", "a.md [a](b) x[i](y) ![p](q)"),
        ("```npm test -- --all```\n```sh\nls\n```", "npm test -- --all\nls"),
    ],
)
def test_a_link_is_its_text_on_a_terminal(text: str, shown: str) -> None:
    """And its target if that is short; code and calls stay as they are, without fences."""
    assert without_markdown(text) == shown


def test_a_long_question_is_cut_and_its_answer_shown() -> None:
    """In a list's line; what has no answer is cut at its end."""
    question = f"How should {'the gates of the harbour and ' * 3}the locks be called?"
    shown = rendering.list_line(f"{question} → By their place")
    assert shown.startswith("How should the gates") and shown.endswith("… → By their place")
    assert len(shown) <= 100 and rendering.list_line(question).endswith("…")
    assert rendering.list_line("Which? → This") == "Which? → This"


def test_a_path_breaks_between_its_words() -> None:
    """Escaped before."""
    shown = prose.breakable("src/<b>/two_words.py")
    assert shown == "src/&lt;b&gt;/<wbr>two_<wbr>words.py"


def test_a_file_of_the_pages_is_kept_under_the_hash_of_its_content(client: TestClient) -> None:
    """Others than those are not there."""
    for name in rendering.STATIC:
        assert "immutable" in client.get(rendering.static_url(name)).headers["cache-control"]
    assert client.get("/page/static/..%2frendering.py").status_code == 404
    assert client.get("/page/static/site.py").status_code == 404


def test_before_the_first_ingest_the_page_says_what_to_do(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """503, in words."""
    settings = load_settings(data_dir=tmp_path_factory.mktemp("none"))
    with TestClient(build_site(settings), base_url=LOCAL) as client:
        response = client.get("/")
        assert response.status_code == 503 and "memory ingest" in response.text


def _sign_in(client: TestClient, token: str, follows: str = "/") -> tuple[int, str, str]:
    answer = client.post("/page/login", data={"token": token, "next": follows})
    headers = answer.headers
    return answer.status_code, headers.get("location", ""), headers.get("set-cookie", "")


def test_with_a_token_a_form_asks_for_it_and_a_cookie_stands_for_it(guarded: TestClient) -> None:
    """The page that was asked for follows; scripts and other sites cannot use the cookie."""
    refused = guarded.get("/?q=lighthouse")
    assert refused.status_code == 401 and 'name="token"' in refused.text
    assert "lighthouse" not in refused.text.replace('value="/?q=lighthouse"', "")
    assert _sign_in(guarded, "wrong")[0] == 401
    status, follows, cookie = _sign_in(guarded, TOKEN, "/?q=lighthouse")
    assert (status, follows) == (303, "/?q=lighthouse")
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and TOKEN not in cookie
    assert "<article>" in guarded.get(follows).text
    assert guarded.get("/search?q=lighthouse").status_code == 401


def test_a_cookie_that_nobody_was_given_admits_nobody(guarded: TestClient) -> None:
    """The token itself does, as for the API."""
    for value in (TOKEN, "99999999999.0", "", "x", "²."):
        refused = guarded.get("/", headers={b"Cookie": f"{login.COOKIE}={value}".encode()})
        assert refused.status_code == 401
    assert guarded.get("/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize("follows", ["//evil.example", "/\\evil.example", "https://evil.example"])
def test_signing_in_leads_nowhere_else(guarded: TestClient, follows: str) -> None:
    """But to the first page."""
    assert _sign_in(guarded, TOKEN, follows)[1] == "/"


def test_wrong_tokens_are_slowed_and_the_owner_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the form and as bearer tokens, which are counted together; after ten of them."""
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("memory_assets.serving.http_server.asyncio.sleep", wait)
    signs_in = login.SignIn(PlainTextResponse("fine"), TOKEN)
    client = TestClient(signs_in, base_url=LOCAL, follow_redirects=False)
    wrong = {"Authorization": "Bearer wrong"}
    assert [_sign_in(client, "wrong")[0] for _ in range(10)] == [401] * 10
    assert not waited
    assert client.get("/", headers=wrong).status_code == 401
    assert _sign_in(client, "wrong")[0] == 401
    assert len(waited) == 2
    assert _sign_in(client, TOKEN)[0] == 303
    assert client.get("/").text == "fine"
    assert len(waited) == 2


def test_a_cookie_ends_and_is_random() -> None:
    """Two sign-ins have nothing in common; twelve hours later both are over."""
    now = [1_000.0]
    signs_in = login.SignIn(PlainTextResponse("fine"), TOKEN, clock=lambda: now[0])
    client = TestClient(signs_in, base_url=LOCAL, follow_redirects=False)
    first, second = (_sign_in(client, TOKEN)[2] for _ in range(2))
    assert first != second
    assert client.get("/").status_code == 200
    now[0] += 12 * 3600 + 1
    assert client.get("/").status_code == 401
