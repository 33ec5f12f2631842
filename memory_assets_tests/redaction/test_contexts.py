"""Any secret of the labelled data, inserted in any context, is gone in its plain form."""

from __future__ import annotations

import base64
import itertools
import json
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.redaction import Redactor
from memory_assets.redaction.propagation import core, may_propagate
from memory_assets_tests.records import record

CHECKOUT = Path(__file__).resolve().parents[2]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()


CONTEXTS: dict[str, Callable[[str], str]] = {
    "bare": lambda s: s,
    "export": lambda s: f"$ export THE_VALUE={s}\n$ make\n",
    "yaml": lambda s: f"env:\n  - name: X\n    value: {s}\n",
    "json": lambda s: json.dumps({"a": [1, {"value": s}]}),
    "escaped json": lambda s: json.dumps(json.dumps({"value": s})),
    "thrice escaped": lambda s: json.dumps(json.dumps(json.dumps({"value": s}))),
    "url": lambda s: f"GET https://svc.example.net/v1?x={quote(s, safe='')}&page=2",
    "diff": lambda s: f"@@ -1 +1 @@\n-old\n+{s}\n",
    "docker": lambda s: f"docker run --rm -e A={s} -p 80:80 img",
    "log": lambda s: f"2026-01-02T03:04:05Z DEBUG sent {{'x': '{s}'}}",
    "numbered": lambda s: f"     1→a\n     2→{s}\n     3→b\n",
    "coloured": lambda s: f"\x1b[31m{s}\x1b[0m\n",
    "base64": _base64,
    "base64 in text": lambda s: f"$ base64 x\n{_base64('a ' + s + ' z')}\n",
    "quoted": lambda s: f"say `{s}` or '{s}', or ({s}).",
}


def _caught() -> list[tuple[str, str]]:
    """Return (text, secret) of the labelled items whose secret the rules find."""
    beside = CHECKOUT.parent / "shared" / "data"
    archive = Path(os.environ.get("MEMORY_BENCH_DATA", beside)) / "redaction.jsonl.xz"
    if not archive.is_file():
        pytest.skip("redaction.jsonl.xz is not beside the checkout (set MEMORY_BENCH_DATA)")
    with lzma.open(archive, "rt", encoding="utf-8") as lines:
        items = [json.loads(line) for line in lines]
    return [
        (item["text"], item["secrets"][0])
        for item in items
        if item["label"] == "positive"
        and len(item["secrets"]) == 1
        and len(item["spans"]) == 1
        and item["text"][slice(*item["spans"][0])] == item["secrets"][0]
        and not _goes_on(item["text"], item["spans"][0][1])
    ]


def _goes_on(text: str, end: int) -> bool:
    """Return whether an item labels only the beginning of a token."""
    return text[end : end + 2].replace("-", "a").replace(".", "a").isalnum()


class Items(list[tuple[str, str]]):
    """The labelled items; a list of this length has no business in a test's report."""

    def __repr__(self) -> str:
        return f"Items({len(self)})"


@pytest.fixture(scope="module")
def caught() -> Items:
    """The labelled items, read once."""
    return Items(_caught())


def _assert_gone(redactor: Redactor, secret: str, text: str) -> None:
    for spelled in (secret, json.dumps(secret)[1:-1], quote(secret, safe="")):
        assert spelled not in text
    for run in text.split():
        assert _base64(secret)[:-4] not in run
    assert redactor.redact(text).text == text


def _redacted(
    redactor: Redactor, told: str, secret: str, others: list[str], place: int
) -> list[str]:
    """Return what a session's records become that hold a telling text among others; nothing
    where the secret is not found, or is not one that goes wherever it stands."""
    given_texts = [*others[:place], told, *others[place:]]
    session = redactor.session("s")
    first = [
        session.redact_record(record(text, seq=seq), project="p", project_root="/r")
        for seq, text in enumerate(given_texts)
    ]
    own = core("", secret)
    if own in first[place].record.text or not may_propagate(own) or len(own) < 12:
        return []
    done = [session.propagate(redaction) for redaction in first]
    assert [session.propagate(redaction) for redaction in done] == done
    return [str(redaction.record.text) for redaction in done]


def test_a_secret_found_once_is_gone_from_every_context(redactor: Redactor, caught: Items) -> None:
    """Every second labelled secret, each in three contexts by turns: no plain form is left."""
    gone = 0
    turns = itertools.cycle(sorted(CONTEXTS))
    for told, secret in caught[::2]:
        others = [CONTEXTS[next(turns)](secret) for _ in range(3)]
        done = _redacted(redactor, told, secret, others, 0)
        gone += bool(done)
        for text in done:
            _assert_gone(redactor, secret, text)
    assert gone > 500


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_secret_goes_from_records_before_it_too(
    redactor: Redactor, caught: Items, data: st.DataObject
) -> None:
    """Whatever the contexts, whichever record came first, the result is at rest."""
    told, secret = caught[data.draw(st.integers(0, len(caught) - 1))]
    names = data.draw(st.lists(st.sampled_from(sorted(CONTEXTS)), min_size=1, max_size=4))
    place = data.draw(st.integers(0, len(names)))
    for text in _redacted(
        redactor, told, secret, [CONTEXTS[name](secret) for name in names], place
    ):
        _assert_gone(redactor, secret, text)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_redaction_of_labelled_text_is_idempotent(
    redactor: Redactor, caught: Items, data: st.DataObject
) -> None:
    """Real and made-up texts side by side, cut anywhere, come to rest at once."""
    numbers = data.draw(st.lists(st.integers(0, len(caught) - 1), min_size=1, max_size=3))
    between = data.draw(st.sampled_from(["\n", " ", "", "\\n"]))
    joined = between.join(caught[number][0] for number in numbers)
    cut = data.draw(st.integers(0, min(len(joined), 400)))
    once = redactor.redact(joined[cut:])
    assert redactor.redact(once.text) == type(once)(once.text, ())
