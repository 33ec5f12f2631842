"""Secrets that no vendor, format or assignment tells, but their place and look: of addresses,
commands, headers, lists and sentences."""

from __future__ import annotations

from memory_assets.redaction import Redactor
from memory_assets_tests.sweep import sweep

DRAWN = "q8Kd93wdlsF93kdLs9fbd93kXl2p"
HEXADECIMAL = "9f8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d"
CHOSEN = "lantern4711!"

ADDRESSES = (
    "gotify://push.acme.io/{s}",
    "mailer://postmaster@mg.acme.io/{s}",
    "line://{s}",
    "https://eth.acme.io/v2/{s}",
    "https://wh.acme.io/in/{s}",
    "https://acme.io/rest/1/{s}/crm.json",
    "https://acme.io/api?_signature={s}",
    "https://acme.io/x.m3u8?t=exp=1~acl=/*~hmac={s}",
    "https://acme.io/owa/calendar/bob@acme.io/{s}/calendar.ics",
)
COMMANDS = (
    "twine upload -u bob -p {s} dist/*",
    "bcp x out y -U sa -P {s}",
    "hydra -l bob -p {s} ssh://h",
    "winrs -u:bob -p:{s} cmd",
    "wget --user=bob --password={s} https://acme.io/x",
    "unrar x -p{s} a.rar",
    "ssh-keygen -t rsa -N '{s}' -f k",
    "ansible-vault encrypt_string '{s}' --name db",
    "redis-server --requirepass {s}",
    "echo {s} | passwd --stdin bob",
    "curl -b 'theme=dark; id={s}' https://acme.io",
)
HEADERS = (
    "X-Client-Secret: {s}",
    "X-Auth-Token: {s}",
    '{"X-Api-Key": "{s}"}',
    "Authorization: Token {s}",
    "Authorization: NTLM {s}",
)
SENTENCES = (
    "secret '{s}'",
    "user bob pass {s}",
    "root:{s}",
    "admin / {s}",
    "id/secret: acme-web / {s}",
    "wifi key {s}",
)


@sweep(
    "text, value",
    [
        *((text, DRAWN) for text in (*ADDRESSES, *COMMANDS, *HEADERS, *SENTENCES)),
        *((text, HEXADECIMAL) for text in ADDRESSES if "wh." not in text),
        *((text, CHOSEN) for text in (*COMMANDS[:-1], *HEADERS[:4], *SENTENCES)),
        ("acme '{s}' acme 'x'", HEXADECIMAL),
        ("acme '{s}'", DRAWN[:18]),
        ("acme key {s}", DRAWN),
        ("Authorization: Bearer {s}", "mytoken1"),
        ("https://acme.io/?access_token={s}", "foo123bar"),
        ("java -Dcorp.keyStorePassword={s} -jar a.jar", "opensesame"),
        ("docker run -e POSTGRES_PASSWORD={s} postgres", "opensesame"),
        ("    POSTGRES_PASSWORD: {s}\n", "opensesame"),
        ("<password>  {s}  </password>", "plainWords"),
        ("nuget push x.nupkg -k {s} -s acme", "7b3c1d2e-4f5a-4b7c-8d9e-0f1a2b3c4d5e"),
        ("License: {s}", "G99ZV-V4582-G7X8A-J345F-PW0U5"),
        ("Backup codes:\n{s}\n", "87f2v-gmmtx1\n6oxwp-fad35"),
        ("password {s}", "8d1QBFJ!nFetoO"),
        ("https://acme.io/password/reset/{s}", DRAWN * 12),
        ("https://acme.io/api/v1/{s}", DRAWN * 6),
        ("https://acme.io/verify/{s}@acme.io", DRAWN),
        ("Server=db;Database=x;--password={s}", "harbor"),
        ("https://acme.io/a?st=1~acl=/*~hmac={s}", HEXADECIMAL),
    ],
)
def test_a_secret_goes_that_its_place_and_look_tell(
    text: str, value: str, redactor: Redactor
) -> None:
    """Without a rule for its vendor, whoever it is."""
    assert value not in redactor.redact(text.replace("{s}", value)).text


@sweep(
    "text",
    [
        "chrome-extension://aapbdbdomjkkjkaonfhkkikfgjllcleb/x2.html",
        f"s3://bucket/{DRAWN}",
        "go.mod h1://M430hNH3e8CDv4i8SJesb26816Mpa6GIZaiP4pNQU=",
        "https://acme.io/rest/2/issues-by-project-1234567/list",
        f"https://acme.io/v2/{DRAWN}.tar.gz",
        "https://acme.io/?page_token=foo123bar&n=2",
        "docker run -u root -p 8080:80 -p 127.0.0.1:5432:5432/tcp acme",
        "journalctl -u nginx -p err",
        "ssh -l bob -p 2222 acme.io",
        "python3 -u train.py -p llama3-8b",
        "mkdir -p build1 && cp -u a1 b1",
        "wget --user=bob --password=$PASSWORD https://acme.io",
        "use --password=PASSWORD or --password=<password>",
        "<password>string</password>",
        "<label>Password</label>",
        "    DB_PASSWORD: required\n",
        "docker run -e DB_PASSWORD=changeme acme",
        "X-Request-Id: 9f8b7c6d5e4f3a2b",
        "max-tokens: 4096, session-key: step-2",
        "Authorization: see section2",
        "key sha256! and the token utf16!",
        "root:x:0:0:root:/root:/bin/bash",
        "admin / users2",
        f"Cache hit for key: node-v0-linux-x64-{HEXADECIMAL}",
        f"describe commit '{HEXADECIMAL}'",
        f"No session '{HEXADECIMAL}' is open",
        "accessor: 'rA1wk0Y45YCufyfq'",
    ],
)
def test_ordinary_text_in_the_same_places_stays(text: str, redactor: Redactor) -> None:
    """Ports, priorities, files, hashes, settings and references."""
    assert redactor.find(text) == ()
