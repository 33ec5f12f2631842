"""The pages in a browser: hostile transcripts, keys alone, dark, a phone. One Chromium for all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from memory_assets.serving.pages import session_page
from memory_assets.serving.pages.prose import with_tags
from memory_assets.serving.pages.site import build_site
from memory_assets.settings import Settings, load_settings
from memory_assets_tests.browser import AXE, CHROMIUM, Browser, chromium, served
from memory_assets_tests.command_line import run_here
from memory_assets_tests.conftest import forget_own_settings

HOSTILE = "eeeeeeee-0000-4000-8000-000000000001"
LONG = "eeeeeeee-0000-4000-8000-000000000002"
ATTACKED = "-srv-attacked"
TURNS = 100
ATTEMPTS = (
    "<script>window.xss=1</script>",
    "<img src=x onerror=window.xss=2>",
    "<img src=http://evil.example/pixel.png>",
    "<svg onload=window.xss=3>",
    "<svg><script href=data:,window.xss=4></script></svg>",
    "<iframe srcdoc='<script>parent.xss=5</script>'></iframe>",
    "<a href=javascript:window.xss=6 autofocus>x</a>",
    "[click](javascript:window.xss=7)",
    "![picture](http://evil.example/a.png)",
    "<javascript:window.xss=8>",
    '"><script>window.xss=9</script>',
    "' autofocus onfocus='window.xss=10",
    "</title><script>window.xss=11</script>",
    "</textarea></pre></details><script>window.xss=12</script>",
    "--><script>window.xss=13</script><!--",
    "<style>@import 'http://evil.example/a.css'</style>",
    "<link rel=stylesheet href=http://evil.example/b.css>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<base href=http://evil.example/>",
    "<form action=http://evil.example/><button autofocus>go</button></form>",
    "{{ 7*'7' }}{% include '/etc/passwd' %}",
    '```js" onmouseover=window.xss=14\n</code></pre><script>window.xss=15</script>\n```',
    '<redacted:pem" onclick=window.xss=16:0123456789ab>',
    "&lt;redacted:pem:0123456789ab&gt;<b onclick=window.xss=17>",
    "<object data=http://evil.example/o></object><embed src=http://evil.example/e>",
)


def _record(number: int, role: str, content: Any, session: str, **more: Any) -> dict[str, Any]:
    return {
        "type": role,
        "uuid": f"{session[:7]}{session[-1]}-0000-4000-8000-{number:012}",
        "sessionId": session,
        "cwd": "/srv/attacked",
        "timestamp": f"2026-03-{1 + number // 1440:02}T{number // 60 % 24:02}:{number % 60:02}:00Z",
        "message": {"id": f"msg_{session[-1]}_{number}", "role": role, "content": content},
        **more,
    }


def _hostile() -> Iterator[dict[str, Any]]:
    """Each attempt as a prompt, a reply, a call's tool, command, file and output, and a branch."""
    yield {"type": "summary", "summary": ATTEMPTS[12], "leafUuid": "x"}
    for number, text in enumerate(ATTEMPTS):
        at = number * 8
        said = {"session": HOSTILE, "gitBranch": text}
        yield _record(at, "user", f"attempt {number} {text}", **said)
        yield _record(at + 1, "assistant", [{"type": "text", "text": f"reply {text}"}], **said)
        calls = (("Bash", {"command": f"echo {text}"}), ("Edit", {"file_path": f"/srv/{text}"}))
        for place, (tool, given) in enumerate((*calls, (text, {"prompt": text}))):
            call = {"type": "tool_use", "id": f"t{number}{place}", "name": tool, "input": given}
            yield _record(at + 2 + place, "assistant", [call], **said)
            result = {"tool_use_id": call["id"], "content": text, "is_error": place == 0}
            yield _record(at + 5 + place, "user", [{"type": "tool_result", **result}], **said)


def _long() -> Iterator[dict[str, Any]]:
    for number in range(TURNS):
        yield _record(2 * number, "user", f"lantern question {number}", LONG)
        reply = [{"type": "text", "text": f"Lantern answer {number}.\n\n" * 5}]
        yield _record(2 * number + 1, "assistant", reply, LONG)


@dataclass(frozen=True)
class Shown:
    """The browser, and the address and settings of the server that it looks at."""

    browser: Browser
    url: str
    settings: Settings


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """A memory of two sessions that somebody else wrote, served, and a browser."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (Debian: chromium)")
    root = tmp_path_factory.mktemp("attacked")
    project = root / "projects" / ATTACKED
    project.mkdir(parents=True)
    for name, records in ((HOSTILE, _hostile()), (LONG, _long())):
        lines = "".join(f"{json.dumps(each)}\n" for each in records)
        (project / f"{name}.jsonl").write_text(lines)
    with pytest.MonkeyPatch.context() as patch:
        forget_own_settings(patch, root / "home")
        settings = load_settings(
            data_dir=root / "data", projects_dir=root / "projects", embedder="none"
        )
        where = {
            "MEMORY_DATA_DIR": str(settings.data_dir),
            "MEMORY_PROJECTS_DIR": str(root / "projects"),
            "MEMORY_EMBEDDER": settings.embedder,
        }
        done = run_here(where, "ingest")
        assert done.returncode == 0, done.stderr
        with served(build_site(settings)) as url, chromium(root / "profile") as browser:
            browser.size(1200)
            yield Shown(browser, url, settings)


PAGES = (
    "/",
    "/?q=attempt+reply&n=50",
    "/?in=all&sort=date&n=100",
    f"/page/session/{HOSTILE}",
    "/page/projects",
    f"/page/project/{ATTACKED}",
    "/page/observations",
    f"/page/timeline?anchor={HOSTILE}&before=50&after=50&detail=full",
    "/page/health",
    "/page/overview",
    f"/page/audit/session::{HOSTILE}::turn::3",
    f"/page/markdown/{HOSTILE}",
    *(f"/?q={quote(text)}" for text in ATTEMPTS[:12:4]),
)


PAGES_OF_EACH_KIND = (
    PAGES[1].replace("50", "5"),
    PAGES[3],
    PAGES[5],
    PAGES[7],
    "/page/health",
    "/page/overview",
)


@pytest.mark.parametrize("path", PAGES)
def test_no_text_of_a_transcript_acts_in_the_browser(shown: Shown, path: str) -> None:
    """Nothing runs, nothing is loaded from elsewhere, and the policy has nothing to refuse, also
    when all is unfolded and everything is passed over with the mouse or focused."""
    browser = shown.browser
    browser.forget()
    browser.open(f"{shown.url}{path}")
    browser.evaluate(
        "document.querySelectorAll('details').forEach((each) => { each.open = true; });"
        "document.querySelectorAll('main *').forEach((each) => {"
        " each.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})); each.focus?.(); })"
    )
    assert browser.evaluate("typeof window.xss") == "undefined"
    assert browser.evaluate("location.href").startswith(shown.url)
    assert browser.messages == []
    own = (shown.url, "data:")  # Chromium's icon of a date picker; others' would be refused
    assert [each for each in browser.requested if not each.startswith(own)] == []
    if path.startswith("/page/markdown"):
        return
    assert browser.evaluate("document.querySelectorAll('script').length") == 1
    never = "img, iframe, object, embed, base, style, form[action^=http], main link, main meta"
    assert browser.evaluate(f"document.querySelectorAll('{never}').length") == 0
    led = browser.evaluate("[...document.links].map((each) => each.href)")
    assert {each.split("/")[2] for each in led} <= {shown.url.split("/")[2], "127.0.0.1:3000"}


def test_every_page_fits_a_phone(shown: Shown) -> None:
    """Tables and charts that are wider scroll for themselves; each page is in sight, and with
    filters that hold, the first hit."""
    shown.browser.size(390)
    for path in PAGES[:-4]:
        shown.browser.open(f"{shown.url}{path}")
        assert shown.browser.evaluate("document.documentElement.scrollWidth") <= 390, path
        if not path.startswith("/page/markdown"):
            links = "[...document.querySelectorAll('.top a')].map((each) => each.offsetLeft)"
            assert max(shown.browser.evaluate(links)) < 390
    shown.browser.open(f"{shown.url}{PAGES[1]}")
    first = "document.querySelector('.hits li').getBoundingClientRect().top"
    assert shown.browser.evaluate(first) < 450
    shown.browser.size(1200)


@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core: `make test` brings it by npm")
def test_axe_finds_no_page_that_shuts_anybody_out(shown: Shown) -> None:
    """On a phone in the dark, where targets are nearest; benchmarks/accessibility.py does it for
    all pages of the sample in three views."""
    shown.browser.size(390, dark=True)
    for path in ("/", *PAGES_OF_EACH_KIND):
        shown.browser.open(f"{shown.url}{path}")
        shown.browser.wait_for("document.querySelector('[data-more$=parts]') === null")
        shown.browser.evaluate(  # the others are as these are
            "document.querySelectorAll('.turn ~ .turn ~ .turn').forEach((each) => each.remove())"
        )
        assert shown.browser.violations() == [], path
    shown.browser.size(1200)


def test_a_saved_session_is_shown_from_its_file_alone(shown: Shown, tmp_path: Path) -> None:
    """With its style, which its own policy allows by hash; nothing in it acts."""
    browser = shown.browser
    file = tmp_path / "saved.html"
    file.write_bytes(httpx.get(f"{shown.url}/page/export/{HOSTILE}").content)
    browser.forget()
    browser.open(file.as_uri())
    assert browser.evaluate("typeof window.xss") == "undefined"
    assert browser.messages == [] and browser.requested == [file.as_uri()]
    assert browser.evaluate("getComputedStyle(document.querySelector('.prompt')).whiteSpace") == (
        "pre-wrap"
    )


def test_the_page_is_used_with_keys_alone(shown: Shown) -> None:
    """Search while typing, go through the hits, open one, light and dark, the list of keys."""
    browser = shown.browser
    browser.open(f"{shown.url}/page/health")
    browser.press("/")
    browser.wait_for("location.pathname === '/' && document.activeElement.id === 'q'")
    browser.press(*"lantern question 42")
    browser.wait_for("document.querySelector('#hits mark') && location.search.includes('42')")
    browser.press("Escape", "j", "j", "k")
    first = browser.evaluate("document.activeElement.matches('.hits li:first-child a')")
    assert first
    browser.press("?")
    assert browser.evaluate("document.querySelector('#keys').open")
    browser.press("Escape")
    browser.wait_for("!document.querySelector('#keys').open")
    before = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    browser.press("t")
    after = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after
    browser.evaluate("document.querySelector('.hits a').focus()")
    browser.press("Enter")
    browser.wait_for("location.hash.startsWith('#turn-')")
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == after
    browser.press("t")
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == before
    browser.press("Tab")
    assert browser.evaluate("document.activeElement !== document.body")


def _open_palette(shown: Shown) -> None:
    """Press Ctrl-K on a page, and wait for the offers."""
    shown.browser.open(f"{shown.url}/page/health")
    shown.browser.evaluate(
        "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true}))"
    )
    shown.browser.wait_for("document.querySelectorAll('#palette-offers a').length > 3")


def test_the_palette_goes_where_one_types(shown: Shown) -> None:
    """Ctrl-K opens it over any page; the first offer is followed by Enter."""
    browser = shown.browser
    _open_palette(shown)
    for typed, offered in (("attempt", "attempt 0"), ("usage", "Usage")):
        browser.evaluate(
            f"document.querySelector('#palette-text').value = '{typed}';"
            "document.querySelector('#palette-text').dispatchEvent(new Event('input'))"
        )
        first = "(document.querySelector('#palette-offers a')?.textContent || '')"
        assert browser.wait_for(f"{first}.includes('{offered}')")
        assert browser.evaluate("typeof window.xss") == "undefined"
    browser.press("Enter")
    assert browser.wait_for("location.pathname === '/page/usage'")


def test_the_palette_is_used_with_keys_alone(shown: Shown) -> None:
    """A letter is typed also when an offer has the focus; Escape closes it at once."""
    browser = shown.browser
    _open_palette(shown)
    browser.press("ArrowDown", "u")
    assert browser.wait_for("document.querySelector('#palette-text').value") == "u"
    browser.press("Escape")
    assert browser.wait_for("!document.querySelector('#palette').open")


def test_the_first_page_loads_its_overview(shown: Shown) -> None:
    """Into its place, without a click; its fields are others than those of the search."""
    shown.browser.open(f"{shown.url}/")
    assert shown.browser.wait_for("document.querySelector('.overview .chart') !== null")
    ids = "[...document.querySelectorAll('[id]')].map((each) => each.id)"
    assert len(found := shown.browser.evaluate(ids)) == len(set(found))


def test_a_new_turn_appears_and_is_listed(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a reload: what is not there yet is asked for again and again, here a hundred times
    as often."""
    monkeypatch.setattr(session_page, "_POLL_SECONDS", ((timedelta.max, 60),))
    browser = shown.browser
    hurry = "const slow = setInterval; setInterval = (deed, ms) => slow(deed, ms / 100)"
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source=hurry)
    last = f"turn-{TURNS - 1}"
    browser.open(f"{shown.url}/page/session/{LONG}?turn={TURNS - 1}")
    browser.evaluate(
        f"document.querySelector('#{last}').remove();"
        f"document.querySelector('.side a[href$={last}]').closest('li').remove()"
    )
    assert browser.wait_for(f"document.querySelector('#{last}') !== null")
    assert browser.wait_for(f"document.querySelector('.side a[href$={last}]') !== null")
    browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])


def _may(browser: Browser, *permissions: str) -> None:
    """Let the pages do this alone, as if the browser's window had the focus."""
    browser.call("Emulation.setFocusEmulationEnabled", enabled=True)
    browser.call("Browser.grantPermissions", permissions=list(permissions))


def test_a_turn_is_copied_as_markdown(shown: Shown) -> None:
    """To the clipboard where the browser lets it; elsewhere the Markdown is opened."""
    browser = shown.browser
    browser.open(f"{shown.url}/page/session/{LONG}")
    _may(browser, "clipboardReadWrite", "clipboardSanitizedWrite")
    pressed = "document.querySelector('#turn-1 [data-does=copy]').click()"
    browser.evaluate(pressed)
    browser.wait_for("document.querySelector('#turn-1 h2').textContent.includes('Copied')")
    copied = browser.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("## Turn 1,") and "Lantern answer 1." in copied
    _may(browser, "geolocation")  # and nothing else
    browser.evaluate(pressed)
    browser.wait_for("location.pathname.startsWith('/page/markdown/')")
    browser.call("Browser.resetPermissions")


def test_each_text_of_a_call_is_copied(shown: Shown) -> None:
    """By a button beside it that says what it copies: the call, the answer, a block of code, with
    its redactions as tags; all of one whose beginning is shown, but of a diff what is shown."""
    browser = shown.browser
    browser.open(f"{shown.url}/page/session/{HOSTILE}?turn=0")
    _may(browser, "clipboardReadWrite", "clipboardSanitizedWrite")
    texts = "[...document.querySelectorAll('.turn pre')]"
    assert browser.evaluate(f"{texts}.every((text) => text.nextElementSibling.matches('button'))")
    labels = f"{texts}.map((text) => text.nextElementSibling.getAttribute('aria-label'))"
    assert {"Copy text", "Copy answer"} <= set(browser.evaluate(labels))
    first = "document.querySelector('#turn-0 .call pre')"
    shown_text = browser.evaluate(f"{first}.textContent")
    tag = "<redacted:jwt:0123456789ab>"
    browser.evaluate(f"{first}.insertAdjacentHTML('beforeend', {json.dumps(with_tags(tag))})")

    def copied() -> str:
        """What is in the clipboard once the button beside the text is pressed."""
        button = f"{first}.nextElementSibling"
        browser.evaluate(f"{button}.textContent = 'Copy'; {button}.click()")
        browser.wait_for(f"{button}.textContent === 'Copied'")
        return str(browser.evaluate("navigator.clipboard.readText()"))

    assert copied() == shown_text + tag and "echo" in shown_text
    assert browser.evaluate("document.querySelector('[role=status]').textContent") == "Copied"
    whole = f"/page/record/{HOSTILE}?seq=1"
    browser.evaluate(
        f"{first}.parentElement.insertAdjacentHTML("
        f"'afterend', '<p><a href=\"{whole}\">All</a></p>')"
    )
    assert copied() == httpx.get(f"{shown.url}{whole}").text != ""
    browser.evaluate(f"{first}.className = 'diff'")
    assert copied() == shown_text + tag
    browser.call("Browser.resetPermissions")


def test_a_text_that_cannot_be_copied_is_selected(shown: Shown) -> None:
    """Where the browser refuses, or the server has no such text: its answer is no text."""
    browser = shown.browser
    browser.open(f"{shown.url}/page/session/{HOSTILE}?turn=0")
    text = "document.querySelector('#turn-0 .call pre')"
    wrong = f"/page/record/{HOSTILE}?seq=x"
    assert httpx.get(f"{shown.url}{wrong}").status_code == 400
    _may(browser, "clipboardSanitizedWrite")
    browser.evaluate(
        f"{text}.parentElement.insertAdjacentHTML("
        f"'afterend', '<p><a href=\"{wrong}\">All</a></p>');"
        f"{text}.nextElementSibling.click()"
    )
    browser.wait_for(f"{text}.nextElementSibling.textContent === 'Selected; press Ctrl-C'")
    assert browser.evaluate(f"getSelection().toString() === {text}.innerText")
    browser.call("Browser.resetPermissions")


def test_dark_is_what_the_reader_prefers(shown: Shown) -> None:
    """Without a choice of their own."""
    browser = shown.browser
    browser.call("Network.clearBrowserCookies")
    colours = []
    for dark in (False, True):
        browser.size(1200, dark=dark)
        browser.open(f"{shown.url}/")
        colours.append(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    browser.size(1200)
    assert colours[0] != colours[1]


def test_turns_load_on_both_sides_while_one_scrolls(shown: Shown) -> None:
    """From the middle up to the first and down to the last, each once and in order."""
    browser = shown.browser
    browser.open(f"{shown.url}/page/session/{LONG}?turn=60#turn-60")
    turns = "[...document.querySelectorAll('.turn')].map((each) => each.id)"
    browser.wait_for(f"scrollTo(0, 0), {turns}[0] === 'turn-0'")
    last = f"turn-{TURNS - 1}"
    browser.wait_for(f"scrollTo(0, document.body.scrollHeight), {turns}.at(-1) === '{last}'")
    assert browser.evaluate(turns) == [f"turn-{number}" for number in range(TURNS)]


def test_earlier_turns_move_nothing_that_is_seen(shown: Shown) -> None:
    """A reader who scrolls up to the link is left at the turn below it, not taken to the first."""
    browser = shown.browser
    browser.size(1200, 500)
    browser.open(f"{shown.url}/page/session/{LONG}?turn=90#turn-90")
    browser.wait_for("document.querySelector('.turn').id !== 'turn-90'")
    seen = browser.evaluate(
        "(() => { const link = document.querySelector('a.more'); "
        "link.scrollIntoView({ block: 'center' }); return link.nextElementSibling.id; })()"
    )
    browser.wait_for(f"document.querySelector('.turn').id !== '{seen}'")
    top = browser.evaluate(f"document.getElementById('{seen}').getBoundingClientRect().top")
    browser.size(1200)
    assert 0 <= top < 500


def test_the_key_home_leads_to_the_top_and_loads_no_earlier_turns(shown: Shown) -> None:
    """They stay a link."""
    browser = shown.browser
    browser.open(f"{shown.url}/page/session/{LONG}?turn=90#turn-90")
    browser.wait_for("document.querySelectorAll('.turn').length > 40")
    first = browser.evaluate("document.querySelector('.turn').id")
    assert first not in ("turn-0", "turn-90")
    browser.press("Home")
    browser.wait_for("scrollY === 0")
    browser.wait_for("new Promise((resolve) => setTimeout(() => resolve(true), 500))")
    assert browser.evaluate("document.querySelector('.turn').id") == first
    assert browser.evaluate("document.querySelector('a.more').textContent") == "Earlier turns"


def test_the_list_of_turns_is_at_the_turn_that_is_shown(shown: Shown) -> None:
    """Wherever in a long session a link leads."""
    browser = shown.browser
    browser.open(f"{shown.url}/page/session/{LONG}?turn=60#turn-60")
    within = (
        "(() => { const part = document.querySelector('.side').getBoundingClientRect(); "
        "const link = document.querySelector('.side [aria-current]').getBoundingClientRect(); "
        "return link.top >= part.top && link.bottom <= part.bottom; })()"
    )
    assert browser.wait_for(within)


def test_open_leads_to_the_server_that_runs(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """And starts none."""
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    where = {"MEMORY_DATA_DIR": str(shown.settings.data_dir), "MEMORY_EMBEDDER": "none"}
    done = run_here(where, "open", "--port", shown.url.rpartition(":")[2])
    assert done.returncode == 0 and opened == [shown.url], done.stderr


def test_open_starts_a_server_where_none_is(shown: Shown) -> None:
    """Beside another program on the port, too; it ends at SIGTERM."""
    environment = {
        **os.environ,
        "MEMORY_DATA_DIR": str(shown.settings.data_dir),
        "MEMORY_HTTP_TOKEN": "",
        "BROWSER": "echo %s",
    }
    code = "from memory_assets.cli.cli import main; main()"
    with served(_teapot) as other:
        port = other.rpartition(":")[2]
        command = [sys.executable, "-c", code, "open", "--port", port]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as run:
            assert run.stdout
            url = run.stdout.readline().strip()
            try:
                assert url and url != other and "memory" in httpx.get(url).text
            finally:
                run.terminate()
            assert run.wait(timeout=60) == 0


async def _teapot(_: Any, __: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 418, "headers": []})
    await send({"type": "http.response.body", "body": b"short and stout"})
