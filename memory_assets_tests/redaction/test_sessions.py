"""What a session showed once goes everywhere in it; known values go in every session."""

from __future__ import annotations

import base64
import dataclasses
import json
import traceback
from collections.abc import Callable, Sequence
from urllib.parse import quote

import pytest

from memory_assets.errors import RedactionFailed, RedactionUnavailable
from memory_assets.models import Record
from memory_assets.redaction import (
    KnownValues,
    RecordRedaction,
    Redactor,
    SessionRedactor,
    load_redactor,
    value_hash,
)
from memory_assets.redaction.propagation import SessionValues, core, may_propagate
from memory_assets.word_lists import words
from memory_assets_tests.records import record
from memory_assets_tests.sweep import sweep

Fake = Callable[..., str]
KEY = bytes(32)
PASSWORD = "Quartz#V" + 'i"olet/124'


def run(session: SessionRedactor, records: Sequence[Record]) -> list[RecordRedaction]:
    """Return the records after both passes."""
    first = [session.redact_record(r, project="p", project_root="/r") for r in records]
    return [session.propagate(redaction) for redaction in first]


def texts(redactor: Redactor, *given: str) -> list[str]:
    """Return texts of one session after both passes."""
    session = redactor.session("s")
    return [str(done.record.text) for done in run(session, [record(text) for text in given])]


SPELLINGS: dict[str, Callable[[str], str]] = {
    "bare": lambda value: f"the password is {value} ok",
    "json": lambda value: json.dumps({"said": value}),
    "json twice": lambda value: json.dumps(json.dumps({"said": value})),
    "percent": lambda value: f"GET /?q={quote(value, safe='')}&n=1",
    "percent, lower case": lambda value: f"/{quote(value, safe='').lower()}",
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 after one": lambda value: base64.b64encode(f"x{value}y".encode()).decode(),
    "base64 after two": lambda value: base64.b64encode(f"xy{value}z".encode()).decode(),
    "base64 in base64's URL alphabet": lambda value: base64.urlsafe_b64encode(
        f"?>{value}".encode()
    ).decode(),
    "inside a word": lambda value: f"prefix_{value}_suffix",
    "after an escape": lambda value: f'"a\\n{value}"',
}


@sweep("earlier", [True, False])
@sweep("spelling", SPELLINGS)
def test_a_value_goes_everywhere_in_its_session(
    spelling: str, earlier: bool, redactor: Redactor
) -> None:
    """Found in one record, it goes from all others, however it is spelled there."""
    value = PASSWORD if "percent, lower" not in spelling else "quartz#v" + "iolet/124"
    written = SPELLINGS[spelling](value)
    telling = f"DB_PASSWORD='{value}'"
    given = [written, telling] if earlier else [telling, written]
    done = texts(redactor, *given)[0 if earlier else 1]
    assert "<redacted:assigned-password:" in done
    for part in (value, quote(value, safe=""), value[3:9], written[len(written) // 2 :]):
        assert part not in done


def test_the_tag_is_the_same_everywhere(redactor: Redactor) -> None:
    """Spelled in base64 or plainly, the value has one tag in its session."""
    done = run(
        redactor.session("s"),
        [record(f"PASSWORD='{PASSWORD}'"), *(record(SPELLINGS[s](PASSWORD)) for s in SPELLINGS)],
    )
    tags = {finding.tag for redaction in done for finding in redaction.findings}
    assert len({tag for tag in tags if "assigned-password" in tag}) == 1


def test_findings_after_propagation_refer_to_the_input(redactor: Redactor, fake: Fake) -> None:
    """Replacing each finding's span of the input by its tag gives the text, in every field."""
    token = fake("ghp_{a:36}")
    text = (
        f"/home/alice/{PASSWORD}/a {token} b {PASSWORD} alice@corp-mail.io {token[:6]} {PASSWORD}"
    )
    given = [
        record(text, command=f"echo {PASSWORD} {token}", paths=("a", f"/home/alice/{PASSWORD}")),
        record(f"PASSWORD='{PASSWORD}'"),
    ]
    first = run(redactor.session("s"), given)[0]
    fields = {
        "text": (text, first.record.text),
        "command": (given[0].command, first.record.command),
        "paths[1]": (given[0].paths[1], first.record.paths[1]),
    }
    for name, (before, after) in fields.items():
        rebuilt, position = "", 0
        found = [f for f in (*first.findings, *first.personal) if f.field == name]
        for finding in sorted(found, key=lambda f: f.start):
            assert position <= finding.start < finding.end
            rebuilt += before[position : finding.start] + finding.tag
            position = finding.end
        assert rebuilt + before[position:] == after
    assert first.record.redactions == len(first.findings)
    assert PASSWORD not in str(dataclasses.asdict(first.record))


def test_nothing_to_do_returns_the_same_object(redactor: Redactor) -> None:
    """A record that holds none of the session's values is left as it is."""
    session = redactor.session("s")
    first = session.redact_record(record("all fine"), project="p", project_root="/r")
    assert session.propagate(first) is first
    session.redact_record(record(f"PASSWORD='{PASSWORD}'"), project="p", project_root="/r")
    assert session.propagate(first) is first


def test_both_passes_are_idempotent(redactor: Redactor) -> None:
    """What has been through both passes is at rest under either."""
    session = redactor.session("s")
    given = [record(SPELLINGS[name](PASSWORD)) for name in SPELLINGS]
    for done in run(session, [*given, record(f"PASSWORD='{PASSWORD}'")]):
        assert session.propagate(done) is done
        assert redactor.redact(done.record.text).text == done.record.text


def test_a_session_redacted_again_gives_the_same(redactor: Redactor) -> None:
    """Tags are keyed, not drawn: the same session gives the same records."""
    given = [record(SPELLINGS[name](PASSWORD)) for name in SPELLINGS]
    given.append(record(f"PASSWORD='{PASSWORD}' alice@corp-mail.io"))
    assert run(redactor.session("s"), given) == run(redactor.session("s"), given)
    assert run(redactor.session("s"), given) != run(redactor.session("t"), given)


def test_values_in_withheld_contents_count(redactor: Redactor) -> None:
    """A password in a file whose contents do not stay still goes from what follows."""
    read = record(f"DB_PASSWORD='{PASSWORD}'\n", tool_name="Read", paths=(".env",))
    later = record(f"I used {PASSWORD} to log in")
    done = run(redactor.session("s"), [read, later])
    assert done[0].record.text.startswith("<redacted-file-contents-of-")
    assert PASSWORD not in done[1].record.text


@sweep(
    "value",
    words(
        "postgres admin password secret1 12345678 2026-11 hunter my-secret-name Production"
        " user.name ab12 correct-horse-battery-staple changeit"
    ),
)
def test_words_and_numbers_do_not_propagate(value: str) -> None:
    """What could stand in prose for other reasons is left alone elsewhere."""
    assert not may_propagate(value)


@pytest.mark.parametrize("value", words("hunter22 Tr0u#b P@ssw0rd ab12cd34ef56 Qz7Xw9Lp4Kt2"))
def test_what_mixes_kinds_of_characters_propagates(value: str) -> None:
    """A digit or symbol among letters makes a value of its own."""
    assert may_propagate(value)


def test_short_values_go_as_whole_words_only(redactor: Redactor) -> None:
    """A short value inside a longer word is another word."""
    value = "Tr0ub4d" + "or"
    done = texts(redactor, f"PASSWORD='{value}'", f"x{value} {value}y {value}. \\n{value},")[1]
    assert done.startswith(f"x{value} {value}y <redacted:")
    assert done.count("<redacted:") == 2


def test_the_core_of_a_value() -> None:
    """Quotes, schemes, users and final punctuation are no part of the secret."""
    assert core("bearer-token", "Bearer abc123.") == "abc123"
    assert core("curl-user", '"admin:Tr0ub4dor"') == "Tr0ub4dor"
    assert core("assigned-password", "'Tr0ub4dor',") == "Tr0ub4dor"


def test_a_value_goes_without_its_padding_too(redactor: Redactor, fake: Fake) -> None:
    """`x==` was told; `x` stands elsewhere, and `x==` goes whole."""
    value = fake("{b:40}")
    told, bare, padded = texts(redactor, f"capella_api_secret = '{value}=='", value, f"<{value}==>")
    assert value not in told + bare + padded
    assert "=" not in padded


def test_the_user_of_credentials_goes_where_it_is_a_key(redactor: Redactor, fake: Fake) -> None:
    """`curl -u KEY:` names a key; `curl -u deploy:PASSWORD` a person."""
    key, password = fake("{b:32}"), fake("{b:24}", 2)
    told = f"curl -u {key}:{password} https://a.example"
    assert key not in "".join(texts(redactor, told, key))
    assert texts(redactor, f"curl -u deploy:{password} https://a.example", "deploy")[1] == "deploy"


def test_a_value_goes_without_its_vendors_prefix_too(redactor: Redactor, fake: Fake) -> None:
    """`key-x` was told; `x` stands elsewhere."""
    value = fake("{h:32}")
    assert value not in "".join(texts(redactor, f"mailgun_api_key = 'key-{value}'", f"of {value}"))


def test_lines_of_a_key_go_by_themselves(redactor: Redactor, fake: Fake) -> None:
    """A line of a private key that is quoted alone goes as well."""
    lines = [fake("{b:64}", number) for number in range(4)]
    key = "\n".join(("-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"))
    done = texts(redactor, key, f"it begins with {lines[0]} and so on")
    assert lines[0] not in done[1]


def test_known_values_go_in_other_sessions(redactor: Redactor, fake: Fake) -> None:
    """A hash taken from one session is enough to take the value out of another."""
    value = fake("{a:32}")
    one = redactor.session("one")
    run(one, [record(f"API_KEY={value}")])
    (known,) = one.known_values
    assert known == value_hash(value, KEY)
    for text in (f"see {value} there", f'"a\\n{value}"', f"?x=%3D{value}&", f"\x1b[1m{value}"):
        assert value in redactor.redact(text).text, "it must be known by its hash alone"
        other = redactor.session("other", frozenset(one.known_values))
        (done,) = run(other, [record(text)])
        assert value not in done.record.text
        assert (
            value
            not in run(other, [record(base64.b64encode(value.encode()).decode())])[0].record.text
        )
        assert [finding.rule for finding in done.findings] == ["known-secret"]
        (again,) = run(
            redactor.session("other", frozenset(one.known_values)), [record(done.record.text)]
        )
        assert again.record.text == done.record.text


def test_guessable_values_leave_no_hash(redactor: Redactor) -> None:
    """Passwords as people make them are tagged per session and known to no other."""
    session, other = redactor.session("one"), redactor.session("two")
    given = [record(f"PASSWORD='{PASSWORD}'"), record("url postgres://a:" + "summer2026x@db/x")]
    one, two = run(session, given), run(other, given)
    assert session.known_values == {}
    for left, right in zip(one, two, strict=True):
        assert left.findings[0].tag != right.findings[0].tag


def test_vendor_tokens_have_the_same_tag_in_every_session(redactor: Redactor, fake: Fake) -> None:
    """So that one can ask which sessions hold a key."""
    token = fake("ghp_{a:36}")
    tags = {
        run(redactor.session(name), [record(f"see {token}")])[0].findings[0].tag for name in "ab"
    }
    assert len(tags) == 1
    assert load_redactor(key=b"k" * 32).redact(f"see {token}").findings[0].tag not in tags


def test_known_values_are_found_in_bytes(fake: Fake) -> None:
    """Offsets in any bytes, whatever stands around."""
    value = fake("{a:40}")
    hashed = value_hash(value, KEY)
    assert hashed is not None
    known = KnownValues(KEY, frozenset({hashed}))
    assert list(known.hits(b"\0\xff" + value.encode() + b"\0")) == [2]
    assert list(known.spans(f"é {value}, x{value}")) == [(2, 42)]
    assert not list(KnownValues(KEY).spans(value))


def test_a_known_value_without_length_is_refused(fake: Fake) -> None:
    """It would be at every place of a text, so that the search would not end."""
    damaged = KnownValues(KEY, frozenset({bytes(16)}))
    with pytest.raises(RedactionUnavailable, match=r"move catalog\.db"):
        damaged.are_in(fake("{a:40}"))


@pytest.mark.timeout(60)
def test_thousands_of_values_are_affordable(fake: Fake) -> None:
    """The search costs what the text costs, hardly what the values do: one after the other they
    would take minutes."""
    values = [fake("ghp_{a:36}", seed) for seed in range(3_000)]
    search = SessionValues()
    for value in values:
        search.remember(value, "github-token")
    text = "some ordinary words of a long build log, line by line\n" * 20_000 + values[7]
    search.edits("warm up")
    found = search.edits(text)
    assert {(edit.start, edit.end) for edit in found} == {(len(text) - 40, len(text))}


def test_nothing_shows_the_values(redactor: Redactor) -> None:
    """Neither the session nor what it gives back shows a value in its repr."""
    session = redactor.session("s")
    done = run(session, [record(f"PASSWORD='{PASSWORD}'")])
    values = SessionValues()
    values.remember(PASSWORD, "x")
    values.edits("x")
    assert PASSWORD not in repr(session) + repr(done) + repr(values) + str(vars(session))


def test_a_failing_second_pass_leaks_nothing(
    redactor: Redactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong becomes RedactionFailed with ids only."""
    session = redactor.session("s")
    done = run(session, [record(f"PASSWORD='{PASSWORD}'")])[0]

    def explode(self: SessionValues, text: str) -> list[object]:
        raise ValueError(f"{text} {PASSWORD}")

    monkeypatch.setattr(SessionValues, "edits", explode)
    session.redact_record(record("PASSWORD='x9" + PASSWORD + "'"), project="p", project_root="/r")
    with pytest.raises(RedactionFailed, match="record 0 could not be redacted again") as caught:
        session.propagate(done)
    assert caught.value.__context__ is None
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))
