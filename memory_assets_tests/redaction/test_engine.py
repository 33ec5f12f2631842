"""Hyperscan and the standard library find the same, and no rule can hold a text up."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import importlib
import importlib.util
import itertools
import json
import lzma
import os
import random
import re
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_assets.errors import RedactionUnavailable, TranscriptError
from memory_assets.paths import user_cache_dir
from memory_assets.redaction import RedactionSettings, Redactor, load_redactor
from memory_assets.redaction.engine.hyperscan_triggers import HyperscanTriggers
from memory_assets.redaction.engine.scanner import TIMED_OUT, Scanner, Span, load_scanner
from memory_assets.redaction.engine.selftest import BENIGN, structural_canaries
from memory_assets.redaction.engine.token_runs import compile_formats
from memory_assets.redaction.engine.triggers import ANCHORED, ASSIGNED
from memory_assets.redaction.redactor import build_redactor
from memory_assets.redaction.rules.anchored.table import ANCHORED_RULES, AnchoredRule
from memory_assets.redaction.rules.contexts import samples
from memory_assets.redaction.rules.judging.names import KEYWORDS
from memory_assets.redaction.rules.token_formats.tokens import TOKEN_FORMATS
from memory_assets.redaction.views.sightings import line_joined
from memory_assets.transcripts import read_session
from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcript_files import source_of

CHECKOUT = Path(__file__).resolve().parents[2]
FORMATS = compile_formats(TOKEN_FORMATS)

pytest.importorskip("hyperscan", reason="Hyperscan is not installed: there is one engine only")


@pytest.fixture(scope="module")
def plain() -> Scanner:
    """The engine that needs the standard library only."""
    return load_scanner(FORMATS, ANCHORED_RULES, "re")


@pytest.fixture(scope="module")
def fast() -> Scanner:
    """The engine on Hyperscan."""
    return load_scanner(FORMATS, ANCHORED_RULES, "hyperscan")


def _labelled_texts() -> list[str]:
    data = Path(os.environ.get("MEMORY_BENCH_DATA", CHECKOUT.parent / "shared" / "data"))
    archive = data / "redaction.jsonl.xz"
    if not archive.is_file():
        pytest.skip("redaction.jsonl.xz is not beside the checkout (set MEMORY_BENCH_DATA)")
    with lzma.open(archive, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def _record_texts(transcripts: Path, step: int = 1) -> Iterator[str]:
    for path in sorted(transcripts.rglob("*.jsonl"))[::step]:
        with contextlib.suppress(TranscriptError):
            for record in read_session(path, source=source_of(path)):
                yield record.text


def _samples() -> Iterator[str]:
    for token_format in FORMATS:
        yield from (template.sample for template in token_format.templates)
    yield from (rule.sample for rule in ANCHORED_RULES)
    yield from (text for _, text, _ in structural_canaries())
    yield from (text for _, text, _ in samples())
    yield from BENIGN


SAMPLES = tuple(_samples())


@pytest.mark.parametrize("of", [16, pytest.param(4, marks=pytest.mark.long)])
def test_both_engines_find_the_same_in_labelled_texts(
    plain: Scanner, fast: Scanner, of: int
) -> None:
    """Every span of one labelled item of so many is the same, rule by rule."""
    texts = _labelled_texts()[::of]
    assert not [n for n, text in enumerate(texts) if plain.scan(text) != fast.scan(text)]


_GLUE = (
    *("", " ", "\n", "=", ": ", '"', "'", "\\n", "\\", "?", "é", "ı", "K", "-", "_", ".", "/"),
    *("%20", "\r\n", "\n  +"),
)
_WORDS = (
    *(keyword.decode() for keyword in KEYWORDS),
    *("api_key", "PASSWORD", "--token", "github", "Vault", "slack", "kind: Secret", "data:\n"),
    *("://", "user:pa55@", "Bearer ", "cookie: a=", "<redacted:x:0123456789ab>", "é漢", "0123"),
    *("/home/al", "/Users/jo/", "@ex.io", "%3D", "\\n", "\x1b[1m"),
)


@pytest.fixture(scope="module")
def redactors() -> tuple[Redactor, Redactor]:
    """The whole redactor on either engine."""
    plain = load_redactor(RedactionSettings(engine="re"), key=bytes(32))
    return plain, load_redactor(RedactionSettings(engine="hyperscan"), key=bytes(32))


def _same(redactors: tuple[Redactor, Redactor], text: str) -> bool:
    plain, fast = redactors
    return plain.redact(text) == fast.redact(text)


def _disguised(text: str) -> Iterator[str]:
    """Yield `text` as each view, and two of them, would have to read it."""
    yield from (json.dumps({"a": text}), json.dumps(json.dumps([text])), quote(text))
    encoded = base64.b64encode(text.encode()).decode()
    yield from (encoded, f"+{encoded}", quote(encoded), json.dumps(encoded))
    for at in (len(text) // 2, len(text) - 6, 6):
        for end in ("\n", "\r\n", "\\\n", "\n  ", "\n> ", "\n   12\u2192", "\n+"):
            yield text[:at] + end + text[at:]
        yield f"{text[:at]}\x1b[0m{text[at:]}"


def test_both_engines_make_the_same_views(redactors: tuple[Redactor, Redactor]) -> None:
    """Canaries escaped, encoded, coloured or cut by a line end come out the same."""
    samples = (*SAMPLES[::45], "DB_PASSWORD=hunter2Qx9", "https://app:Pa55w0rdX@db.internal/x")
    for sample in samples:
        for text in _disguised(sample):
            assert _same(redactors, text), ascii(text)[:60]


@sweep(
    "text",
    [
        "see /home/alice/notes and C:\\Users\\alice\\x",
        '{"path": "C:\\\\Users\\\\alice\\\\x", "b": "\\/home\\/alice\\/x"}',
        "/home/alice/home/bob /Users/Jane/x=/home/jane.doe",
        "write to alice.smith@acme-corp.io or a@b.co",
        "https:///home/alice:s3cretQx9@host.example.net/",
        "token=/home/alice/8Qd3kPz71LmN0xYbT5wR",
        "/home/user/x and nobody else",
    ],
)
def test_both_engines_find_the_same_persons(
    text: str, redactors: tuple[Redactor, Redactor]
) -> None:
    """Home directories and addresses come out the same, secrets beside them, too."""
    assert _same(redactors, text)


def test_every_line_end_inside_a_token_is_reported(fast: Scanner) -> None:
    """Hyperscan names each line end at which the view joins lines, however the token is made
    and whatever stands around it."""
    draw, joints = random.Random(7), 0
    ends = ("\n", "\r\n", "\\\n", "\n  ", "\n> ", "\n 12\t", "\n+", "\n   3:", "\n\u00e9")
    for _ in range(5_000):
        head, rest = (
            "".join(draw.choices("aZ0+/_-.~%@#!$^*bQ7kX9mN", k=k))
            for k in draw.choices((2, 3, 4, 6, 9, 30), k=2)
        )
        text = draw.choice(("", 'x="', "é", "\n")) + head + draw.choice(ends) + rest
        text += draw.choice(("", " ", "\n", "==", '"', ")", "é", "\\"))
        line_ends = [line_end.start() for line_end in re.finditer("\n", text)]
        found = {at for at in line_ends if line_joined(text, [at]) is not None}
        joints += len(found)
        assert found <= set(fast.look(text).joints or ()), ascii(text)
    assert joints > 500


def _matching(tree: Iterable[Any], draw: random.Random) -> str:
    """Return a random text that a parsed pattern matches."""

    def written(nodes: Iterable[Any]) -> str:
        return "".join(map(one, nodes))

    def one(node: Any) -> str:
        name, value = str(node[0]), node[1]
        if name == "LITERAL":
            return chr(value)
        if name == "BRANCH":
            return written(draw.choice(value[1]))
        if name == "SUBPATTERN":
            text = written(value[3])
            return draw.choice((text, text.upper(), text.title())) if value[1] & re.I else text
        if name.endswith("REPEAT"):
            least, most, nodes = value
            count = draw.randint(least, min(most, least + draw.choice((0, 1, 9, 40))))
            return "".join(written(nodes) for _ in range(count))
        return draw.choice(_members(f"{name} {value}", node)) if name != "AT" else ""

    return written(tree)


_parser: Any = importlib.import_module("re._parser")
_compiler: Any = importlib.import_module("re._compiler")
_CLASSES: dict[str, str] = {}


def _members(key: str, node: Any) -> str:
    """Return the ASCII characters of a class, by its description."""
    if key not in _CLASSES:
        matches = _compiler.compile(_parser.SubPattern(_parser.State(), [node])).match
        _CLASSES[key] = "".join(filter(matches, map(chr, range(128))))
    return _CLASSES[key]


def test_no_trigger_is_overlooked_wherever_it_stands() -> None:
    """Hyperscan reports what a trigger's pattern matches, however far into a text it stands: what
    it does faster than byte by byte has had faults. Of the triggers of rows, of which the self-test
    tries each, a sixth."""
    templates = [template for row in FORMATS for template in row.templates]
    finder = HyperscanTriggers(templates, ANCHORED_RULES, user_cache_dir())
    scan = finder._databases.scanner("places")
    draw, overlooked = random.Random(3), set()
    for number, trigger in enumerate(finder._triggers):
        if trigger.kind in ("", ANCHORED) and number % 6:
            continue
        source = trigger.source.decode("latin-1")
        tree = _parser.parse(source.replace(r"\z", r"\Z"))
        for _ in range(40 if trigger.kind == ASSIGNED else 2):
            begin = 0 if source.startswith("^") else draw.randrange(120)
            lead = "".join(draw.choices("xyz.-7", k=begin - 1)) + " " * bool(begin)
            text = lead + _matching(tree, draw)
            tail = "" if r"\z" in source else "".join(draw.choices(" xyz.", k=draw.randrange(60)))
            reports: list[tuple[int, ...]] = []
            scan((text + tail).encode(), lambda *report, to=reports: to.append(report[:3]))
            ends = [end for reported, _, end in reports if reported == number]
            if not ends or not (trigger.once or any(begin < end <= len(text) for end in ends)):
                overlooked.add((source[:60], text + tail))
    assert not overlooked


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(SAMPLES) | st.sampled_from(_WORDS) | st.text(max_size=40),
            st.sampled_from(_GLUE),
            st.integers(0, 30),
        ),
        max_size=8,
    )
)
def test_both_engines_redact_any_text_the_same(
    redactors: tuple[Redactor, Redactor], parts: list[tuple[str, str, int]]
) -> None:
    """Canaries, keywords, escapes and arbitrary characters in any order, cut anywhere and joined by
    what views take away."""
    text = "".join(part[cut if len(part) > 2 * cut else 0 :] + glue for part, glue, cut in parts)
    assert _same(redactors, text)


@pytest.mark.parametrize("every", [20, pytest.param(1, marks=pytest.mark.long)])
def test_both_engines_redact_transcripts_the_same(
    redactors: tuple[Redactor, Redactor], dev_transcripts: Path, every: int
) -> None:
    """The whole redaction of a sample of real records is the same."""
    texts = [text for text in _record_texts(dev_transcripts, 8) if text][::every]
    assert len(texts) > 100
    assert not [number for number, text in enumerate(texts) if not _same(redactors, text)]


@sweep(
    "text",
    [
        "https://app.example.org/list?token=123456789012&page=2",
        "acme-api: 6c8ba06cb14a32d508948606d8b5d9c8f70e493b",
        "linode_api_key = f6d4b2907e5c3a18f6d4b2907e5c3a18\nAKI{}F2PCZM9WJ6TG3QD0\x1f".format("A"),
        "\u212aafka key = 3f2b8c1e7d4a4f6b9c0d1e2f3a4b5c6d",
        'AKI{}F2PCZM9WJ6TG3QD0"f6d4b2907e5c3a18f6d4b2907e5c3a18='.format("A"),
        'AKI{}F2PCZM9WJ6TG3QD0"f6d4b2907e5c3a18f6d4b2907e5c3a18é'.format("A"),
        'password := flag.String("password", "Juniper2001")',
        "tool --psk s3cr3tP@ss!",
        "<psk>sommer2024!</psk>",
        "define('psk','sommer2024!')",
        '(setq wifi_psk "6f9619ff-8b86-d011-b42d-00cf4fc964ff")',
        "token=Zq8-Lm2-Pw9 ./run.sh",
        'wpa_passphrase "My hunter2abcd Home"',
        "FERNET_KEYS: 1+ivESnZ2bxAQRpx0HsFozcIArswgLQxQ76D8NcTS5o: ,",
        "$ export THE_VALUE=cRxqPehpNKq5Rtp+QvXBPb6p6n7d+2n4a6dLZqhGQVz2w4ln\n",
    ],
)
def test_both_engines_agree_where_they_did_not(
    redactors: tuple[Redactor, Redactor], text: str
) -> None:
    """Texts on which the engines once differed come out the same."""
    assert _same(redactors, text)


WIDE = ("é", "K", "ſ", "ı", "漢", "\u2003", "\x85", "٣", "🔑")


@sweep("wide", WIDE)
def test_both_engines_find_the_same_around_characters_beyond_ascii(
    wide: str, plain: Scanner, fast: Scanner
) -> None:
    """A character beyond ASCII inside, before or behind a canary changes nothing in one
    engine that it does not change in the other. The samples take turns: each stands beside
    one of the characters."""
    for sample in SAMPLES[WIDE.index(wide) :: len(WIDE)]:
        middle = len(sample) // 2
        for text in (
            f"{wide}{sample}{wide}",
            sample[:middle] + wide + sample[middle:],
            sample.replace("k", wide).replace("i", wide).replace("s", wide),
            sample.replace(" ", wide),
        ):
            assert plain.scan(text) == fast.scan(text), ascii(text)[:40]


@pytest.mark.parametrize("engine", ["re", "hyperscan"])
def test_each_engine_passes_the_self_test(engine: str) -> None:
    """Either engine loads whole, and the version of the rules does not tell which it is."""
    loaded = load_redactor(RedactionSettings(engine=engine), key=bytes(32))
    assert loaded.ruleset_version == load_redactor(key=bytes(32)).ruleset_version


@pytest.mark.parametrize("engine", ["re", "hyperscan"])
def test_a_rule_that_misses_its_canary_refuses_to_load_in_each_engine(engine: str) -> None:
    """The self-test runs through the engine in use, and names the rule."""
    broken = dataclasses.replace(ANCHORED_RULES[0], sample="nothing to see")
    with pytest.raises(RedactionUnavailable, match=ANCHORED_RULES[0].name):
        build_redactor(RedactionSettings(engine=engine), TOKEN_FORMATS[:1], (broken,), bytes(32))


def test_without_hyperscan_the_standard_library_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where Hyperscan cannot be imported, `auto` still finds everything, and `hyperscan`
    refuses."""
    monkeypatch.setitem(sys.modules, "hyperscan", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    scanner = load_scanner(FORMATS, ANCHORED_RULES, "auto", tmp_path)
    sample = FORMATS[0].templates[0].sample
    assert [span.rule for span in scanner.scan(f"see {sample} there")] == [FORMATS[0].name]
    with pytest.raises(RedactionUnavailable, match="Hyperscan"):
        load_scanner(FORMATS, ANCHORED_RULES, "hyperscan", tmp_path)


def test_an_unknown_engine_is_refused(tmp_path: Path) -> None:
    """A misspelt engine is an error, not the default."""
    with pytest.raises(RedactionUnavailable, match="'re2'"):
        load_scanner(FORMATS, ANCHORED_RULES, "re2", tmp_path)


def test_threads_share_a_scanner(plain: Scanner, fast: Scanner) -> None:
    """Scans in several threads at once give what they give one after the other."""
    texts = [f"{first}\n{second}" for first, second in itertools.pairwise(SAMPLES)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fast.scan, texts)) == [plain.scan(text) for text in texts]


def test_a_confirmation_that_takes_too_long_redacts_the_text() -> None:
    """When the clock runs out while a rule looks, the whole text is one `timed-out` span."""
    now = [0.0]

    def slow(value: str) -> bool:
        now[0] += 600.0
        return False

    rule = AnchoredRule("slow", b"slow:", "slow:(?P<secret>.)", slow, "slow:x")
    scanner = Scanner((), (rule,), clock=lambda: now[0])
    text = "before slow:x after"
    assert scanner.scan(text) == [Span(0, len(text), TIMED_OUT)]
    assert now == [600.0]


def test_many_slow_confirmations_end_early() -> None:
    """The clock is read while a text is looked at, not only at its end."""
    calls = []

    def slow(value: str) -> bool:
        calls.append(value)
        return False

    rule = AnchoredRule("slow", b"slow:", "slow:(?P<secret>.)", slow, "slow:x")
    scanner = Scanner((), (rule,), clock=lambda: float(len(calls)))
    text = "slow:x " * 10_000
    assert scanner.scan(text) == [Span(0, len(text), TIMED_OUT)]
    assert len(calls) < 100


def test_time_enough_is_no_time_out(plain: Scanner) -> None:
    """A clock that stands still never ends a scan."""
    text = "password='Tr0ub4dor&3' " * 500
    scanner = Scanner(FORMATS, ANCHORED_RULES, clock=lambda: 0.0)
    assert scanner.scan(text) == plain.scan(text) != []
