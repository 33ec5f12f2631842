"""Properties that hold for any text: idempotence, spans of the input, nothing left behind."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.redacted_text import RedactedText
from memory_assets.redaction import RedactionSettings, Redactor, load_redactor
from memory_assets.redaction.engine.selftest import BENIGN, structural_canaries
from memory_assets.redaction.rules.formats import compile_template
from memory_assets.redaction.rules.token_formats.tokens import TOKEN_FORMATS

KEY = bytes(32)

TOKENS = [compile_template(source).sample for row in TOKEN_FORMATS for source in row[1:]]
PIECES = [
    *(text for _, text, _ in structural_canaries()),
    *BENIGN,
    "password",
    "PASSWORD=",
    'token: "',
    "api_key ",
    "Authorization: Bearer ",
    "Basic ",
    "Cookie: a=",
    "://",
    "https://user:",
    "@host/",
    "curl -u ",
    "sshpass -p ",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
    "kind: Secret\ndata:\n  a: ",
    "\x1b[31m",
    "\x1b[0m",
    "<redacted:",
    "<redacted:github-token>",
    "<redacted:github-token:0123456789ab>",
    "<redacted-file-contents-of-9-bytes>",
    "$2b$12$",
    "=",
    ":",
    '"',
    "'",
    "\\",
    '\\"',
    "\\n",
    "\n",
    " ",
    ",",
    "&",
    ">",
    "{",
    "}",
    "/home/alice/",
    "alice@corp-mail.io",
    "C:\\Users\\",
    "\\u003d",
    "%3D",
    "UEFTU1dPUkQ9VHIwdWI0ZG9yM3gK",
    "é→\ud800\u2028",
    "a1B2c3D4e5F6g7H8",
]
texts = st.lists(
    st.sampled_from(PIECES) | st.sampled_from(TOKENS) | st.text(max_size=12), max_size=14
).map("".join)


@pytest.fixture(scope="module")
def small_limit() -> Redactor:
    """A redactor that cuts the contents of files above 64 bytes."""
    return load_redactor(RedactionSettings(max_file_bytes=64), KEY)


@settings(max_examples=150, deadline=None)
@given(texts)
def test_redaction_is_idempotent(redactor: Redactor, text: str) -> None:
    """What was redacted once is left as it is, and nothing more is found in it."""
    once = redactor.redact(text)
    assert isinstance(once.text, RedactedText)
    assert redactor.find(once.text) == ()
    assert redactor.redact(once.text).text == once.text


@settings(max_examples=100, deadline=None)
@given(texts)
def test_file_contents_are_idempotent(small_limit: Redactor, text: str) -> None:
    """The same holds for contents of a file."""
    once = small_limit.redact(text, "src/a.py").text
    assert small_limit.redact(once, "src/a.py").text == once


@settings(max_examples=150, deadline=None)
@given(texts)
def test_findings_refer_to_the_input(redactor: Redactor, text: str) -> None:
    """Replacing each finding's span of the input by its tag gives the redacted text."""
    result = redactor.redact(text)
    rebuilt, position = "", 0
    for finding in sorted((*result.findings, *result.personal), key=lambda f: f.start):
        assert position <= finding.start < finding.end <= len(text)
        rebuilt += text[position : finding.start] + finding.tag
        position = finding.end
    assert rebuilt + text[position:] == result.text
    assert redactor.find(text) == result.findings


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(TOKENS), st.text(max_size=40), st.text(max_size=40))
def test_a_token_between_any_lines_goes(
    redactor: Redactor, token: str, before: str, after: str
) -> None:
    """A vendor's token that stands by itself on a line never survives."""
    assert token not in redactor.redact(f"{before}\n{token}\n{after}").text


def test_loading_twice_gives_the_same_answers(redactor: Redactor) -> None:
    """The engine holds no state that changes what it finds."""
    sample = "\n".join(TOKENS)
    first = redactor.redact(sample)
    assert first == load_redactor(key=KEY).redact(sample)
    assert first == redactor.redact(sample)
