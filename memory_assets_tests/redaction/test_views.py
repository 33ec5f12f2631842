"""Secrets that the plain form of a text hides: escaped, encoded, coloured, wrapped."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import random
from collections.abc import Callable
from urllib.parse import quote

import pytest

from memory_assets.redaction import Redactor
from memory_assets_tests.redaction.goes import stays
from memory_assets_tests.sweep import sweep

Fake = Callable[..., str]
Named = Callable[[str], str]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _stripped(text: str, rounds: int = 1) -> str:
    for _ in range(rounds):
        text = json.dumps(text)[1:-1]
    return text


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_escaped_json_hides_nothing(rounds: int, redactor: Redactor, fake: Fake) -> None:
    """A value with characters that JSON escapes is found whole, however often it was escaped."""
    password = f'{fake("Qz7{a:9}")}"x/9'
    text = json.dumps({"name": "svc", "db": {"password": password}})
    escaped = _stripped(text, rounds)
    kept = redactor.redact(f"log: {escaped} end").text
    assert password[:12] not in kept
    assert kept.startswith("log: ")
    assert kept.endswith(" end")


def test_escapes_of_bytes_hide_nothing(redactor: Redactor, fake: Fake) -> None:
    """A name spelled with `\\x70` is read as one with `p`."""
    password = fake("Qz7{a:9}")
    assert password not in redactor.redact(f"\\x70assword: {password}").text


@pytest.mark.parametrize("form", ["plain", "canonical", "words"])
def test_hex_dumps_hide_nothing(form: str, redactor: Redactor, fake: Fake) -> None:
    """What `xxd -p`, `hexdump -C` and `xxd` print is read as what they printed."""
    value = fake("Qz7{a:30}")
    data = f"user=app\npassword={value}\nport=1\n".encode()
    lines = [data[at : at + 16] for at in range(0, len(data), 16)]
    if form == "plain":
        shown = [line.hex() for line in lines]
    elif form == "canonical":
        text = [line.decode().replace("\n", ".") for line in lines]
        shown = [
            f"{at * 16:08x}  {line[:8].hex(' ')}  {line[8:].hex(' ')}  |{text[at]}|"
            for at, line in enumerate(lines)
        ]
    else:
        shown = [f"{at * 16:08x}: {line.hex(' ', -2)}  {line!r}" for at, line in enumerate(lines)]
    kept = redactor.redact("$ xxd x\n" + "\n".join(shown) + "\nafter").text
    assert kept.startswith("$ xxd x\n")
    assert kept.endswith("\nafter")
    for part in (value[:7], value[-7:]):
        assert part not in kept
        assert part.encode().hex() not in kept.replace(" ", "")


def test_a_secret_that_is_dumped_by_name_goes(redactor: Redactor) -> None:
    """`xxd -p key`: what it prints is the key."""
    value = b"Tr0ub4dor&3 horse".hex()
    assert value not in redactor.redact(f"$ xxd -p deploy.key\n{value}\n").text


def test_compressed_data_in_base64_goes(redactor: Redactor) -> None:
    """Nobody can read it, so nothing is lost, whatever it holds; lines around it stay."""
    data = base64.encodebytes(gzip.compress(random.Random(1).randbytes(300))).decode()
    kept = redactor.redact(f"$ tar cz env | base64\n{data}\n$ ls\n").text
    assert not any(line in kept for line in data.split())
    assert kept.startswith("$ tar cz env | base64\n<redacted:compressed-data:")
    assert kept.endswith("\n$ ls\n")


def test_a_manifest_inside_a_string_is_read_line_by_line(redactor: Redactor) -> None:
    """Rules that go by lines see those of an escaped text."""
    value = _base64("Tr0ub4dor" + "&3")
    manifest = f"apiVersion: v1\nkind: Secret\ndata:\n  blob: {value}\n"
    assert value not in redactor.redact(json.dumps({"manifest": manifest})).text


def test_unicode_escapes_hide_nothing(redactor: Redactor, fake: Fake) -> None:
    """The `\\u003d` and `\\u0026` that some encoders write are read as `=` and `&`."""
    password = fake("Qz7{a:12}")
    text = f'{{"dsn": "host\\u003ddb password\\u003d{password} sslmode\\u003don"}}'
    kept = redactor.redact(text).text
    assert password not in kept
    assert kept.endswith(' sslmode\\u003don"}')


def test_percent_encoding_hides_nothing(redactor: Redactor, fake: Fake) -> None:
    """An assignment inside a URL's query is read decoded, and its span is that of the input."""
    password = f"{fake('Qz7{a:9}')}@#"
    text = f"GET /login?next={quote('password=' + password, safe='')} HTTP/1.1"
    (finding,) = redactor.find(text)
    assert text[finding.start : finding.end] == quote(password, safe="")


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("lead", ["", "x", "xy"])
def test_base64_hides_nothing(
    rounds: int, lead: str, redactor: Redactor, fake: Fake, named: Named
) -> None:
    """A short blob goes whole, encoded once or twice, wherever in it the secret stands."""
    blob = f"{lead}export SMTP_PASSWORD={fake('Qz7{a:20}')}\n"
    for _ in range(rounds):
        blob = _base64(blob)
    assert named(redactor.redact(f"$ base64 x\n{blob}\n").text) == (
        "$ base64 x\n<redacted:encoded-secret>\n"
    )


@pytest.mark.parametrize("lines_around", [0, 150])
def test_base64_of_utf_16_hides_nothing(lines_around: int, redactor: Redactor, fake: Fake) -> None:
    """PowerShell takes commands so."""
    setting = f"$env:API_KEY = '{fake('{a:32}')}'"
    others = "Get-ChildItem\n" * lines_around

    def encoded(text: str) -> str:
        return base64.b64encode(text.encode("utf-16-le")).decode()

    text = f"pwsh -EncodedCommand {encoded(others + setting + others)}"
    kept = redactor.redact(text).text
    assert "<redacted:" in kept
    assert encoded(setting)[40:80] not in kept
    harmless = f"pwsh -EncodedCommand {encoded(others + 'Get-Process')}"
    assert redactor.redact(harmless).text == harmless


def test_of_a_large_blob_only_the_secret_goes(redactor: Redactor, fake: Fake) -> None:
    """What stands around the secret in a long blob stays, in whole groups of four."""
    token = fake("ghp_{a:36}")
    plain = "nothing to see in this line\n" * 200 + f"token {token}\n" + "nor in that one\n" * 200
    blob = _base64(plain)
    kept = redactor.redact(blob).text
    before, _, after = kept.partition("<redacted:encoded-secret:")
    assert base64.b64decode(before).decode().startswith("nothing to see")
    assert base64.b64decode(after.partition(">")[2]).decode().endswith("nor in that one\n")
    assert token[:12] not in base64.b64decode(before).decode()


def test_base64_in_escaped_json_is_read(redactor: Redactor, fake: Fake) -> None:
    """Readings stack: a blob in a string in a string."""
    token = fake("ghp_{a:36}")
    blob = _base64(f'{{"auths": {{"token": "{token}"}}}}')
    text = _stripped(json.dumps({"out": f"line\n{blob}\n"}))
    assert blob[20:] not in redactor.redact(text).text


@pytest.mark.parametrize(
    ("joint", "first", "second"),
    [
        ("\n", "", ""),
        ("\r\n", "", ""),
        ("\\\n", "", ""),
        ("\n    ", "", ""),
        ("\n> ", "> ", ""),
        ("\n+", "+", ""),
        ("\n    13→", "    12→", ""),
        ("\n13\t", "12\t", ""),
        ("\n13:", "12:", ""),
    ],
    ids=repr,
)
def test_a_wrapped_token_is_found_across_the_joint(
    joint: str, first: str, second: str, redactor: Redactor, fake: Fake, named: Named
) -> None:
    """A token that a line end cut in two goes whole, with what stands at the joint."""
    token = fake("ghp_{a:36}")
    text = f"{first}TOKEN={token[:15]}{joint}{token[15:]}\nDone.\n"
    assert named(redactor.redact(text).text) == f"{first}TOKEN=<redacted:github-token>\nDone.\n"


def test_wrapped_base64_is_joined_and_decoded(redactor: Redactor, fake: Fake) -> None:
    """`base64` breaks lines at 76 characters; the secret may stand at a break."""
    password = fake("Qz7{a:20}")
    blob = _base64("PORT=8080\n" * 4 + f"SMTP_PASSWORD={password}\n" + "LOG=debug\n" * 9)
    lines = [blob[start : start + 76] for start in range(0, len(blob), 76)]
    kept = redactor.redact("$ base64 .env\n" + "\n".join(lines) + "\n$ ls\n").text
    assert kept.endswith("\n$ ls\n")
    left = kept.replace("\n", "")
    assert lines[0][60:] not in left
    assert lines[1][:40] not in left


test_readings_touch_nothing_harmless = stays(
    "Lines, escapes and percent signs of ordinary text give no findings.",
    "API_URL=https://api.example.net/v2\nDEBUG=true\n",
    "token = get_token2\nreturn token\n",
    "commit 1a2b3c4d5e6f7a8b\nMerge2: 9c8b7a6d\n",
    "src/a1.py\nsrc/b2.py\n",
    'print("\\n\\tpassword:\\n")\n',
    "100%25 of %d password%s\n",
    "see https://example.net/a%20b?token=%s",
)


def test_a_line_after_a_whole_token_stays(redactor: Redactor, fake: Fake, named: Named) -> None:
    """What follows a token that ends with its line is not drawn into it."""
    for rest in ("v2ray2\n", "RELEASE_2=x1y2\n", "production\n"):
        text = f"key {fake('AKIA{u:16}')}\n{rest}"
        assert named(redactor.redact(text).text) == f"key <redacted:aws-access-key-id>\n{rest}"


def test_hidden_text_of_terminal_titles_is_scanned(redactor: Redactor, fake: Fake) -> None:
    """What a terminal does not show, the title and the target of a link, is text as well."""
    token = fake("ghp_{a:36}")
    for text in (f"\x1b]0;{token}\x07$ ls", f"\x1b]8;;https://x.example/?t={token}\x1b\\link"):
        assert token not in redactor.redact(text).text


def test_one_secret_has_one_tag_however_it_is_spelled(redactor: Redactor, fake: Fake) -> None:
    """The digest is that of the value, not of its spelling."""
    token = fake("ghp_{a:36}")
    spelled = (
        f"see {token}",
        f"\x1b[1m{token[:9]}\x1b[0m{token[9:]}",
        f"TOKEN={token[:20]}\n{token[20:]}\n",
    )
    assert len({redactor.find(text)[0].tag for text in spelled}) == 1


@sweep(
    "text",
    [
        "<redacted:{s}>",
        "<redacted:x:{s}>",
        "<redacted:github-token:{s}>",
        "<redacted:github-token:0123456789ab {s}>",
        "<redacted:github-token:0123456789a>{s}",
        "<redacted-file-contents-of-9-bytes {s}>",
    ],
)
def test_what_looks_like_a_tag_hides_nothing(text: str, redactor: Redactor, fake: Fake) -> None:
    """Only exact tags are exempt from the scan."""
    token = fake("ghp_{a:36}")
    assert token not in redactor.redact(text.replace("{s}", token)).text


def test_an_exact_tag_is_never_touched(redactor: Redactor, fake: Fake) -> None:
    """Whatever stands around a tag, it stays as it is."""
    tag = "<redacted:github-token:0123456789ab>"
    for text in (f'password = "{tag}"', f"TOKEN={tag}", f"-u admin:{tag} x", f"Bearer {tag}"):
        assert redactor.redact(text).text == text
    token = fake("ghp_{a:36}")
    kept = redactor.redact(f"password={tag}{token}").text
    assert kept.startswith(f"password={tag}<redacted:")
    assert token not in kept


@pytest.mark.parametrize("ending", ["LC_TIME", "PKG-INFO", "BRANCH_NAME"])
@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256"])
def test_a_list_of_checksums_is_not_joined_to_the_names_in_it(
    redactor: Redactor, ending: str, algorithm: str
) -> None:
    """A name at the end of a line and a checksum on the next are two things."""
    first, second = (hashlib.new(algorithm, word).hexdigest() for word in (b"one", b"two"))
    text = f"{first}  usr/share/{ending}\n{second}  usr/share/doc/copyright\n"
    assert redactor.redact(text).findings == ()


def test_a_token_over_many_lines_comes_to_rest(redactor: Redactor) -> None:
    """Every line of a token that was wrapped forty times goes, and the text after it stays."""
    digits = "".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(20))
    body = base64.b64encode(bytes.fromhex(digits) * 3).decode()
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    redacted = redactor.redact(f"API_TOKEN={lines}\nand so on")
    assert len(lines.split("\n")) >= 40
    assert redacted.text.endswith("\nand so on")
    assert not any(line in redacted.text for line in lines.split("\n"))


def test_public_certificates_stay(redactor: Redactor) -> None:
    """The padding that ends one certificate does not make a name of what ends with it."""
    body = base64.b64encode(hashlib.shake_256(b"certificate").digest(900)).decode()
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    certificate = f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n"
    assert redactor.redact(certificate * 2).findings == ()
