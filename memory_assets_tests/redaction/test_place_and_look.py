"""Secrets that no vendor, format or assignment tells, but their place and look: of addresses,
commands, headers, lists and sentences."""

from __future__ import annotations

from memory_assets.redaction import Redactor
from memory_assets_tests.redaction.goes import goes, stays

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


test_a_secret_goes_that_its_place_and_look_tell = goes(
    "Without a rule for its vendor, whoever it is.",
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
)


test_ordinary_text_in_the_same_places_stays = stays(
    "Ports, priorities, files, hashes, settings and references.",
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
)


UUID = "7b3c1d2e-4f5a-4b7c-8d9e-0f1a2b3c4d5e"
LETTERS = "qwhdkzjxlwpovnms"
PARTED = "8Qd3_" + "kLm9-Zx7vB2nQ4wE"


test_a_name_for_secrets_is_enough_for_what_no_word_is = goes(
    "Words with digits, groups, numbers, letters, signs of shells, arguments, one run of both.",
    ('{"client_secret": "{s}"}', "mySuperLantern42"),
    ('{"client_secret": "{s}"}', "pl4yground"),
    ("deploy --target-token {s} --stats", "lantern1234"),
    ("password: {s}", "myL4nt3rn!"),
    ("acme_token: {s}", "qj8d7391-zk51-9f0a-qw83-0f1a2b3c4dzz"),
    ("ACME_SECRET={s}", "91738462519283746152938471625938"),
    ("db_password: {s}\n", LETTERS),
    ("mysql --password {s} --host db", LETTERS),
    ("PSWRD={s}", "kd8Qw3zL1x"),
    ("MYSQLPASS: {s}", "kd8Qw3zL1x"),
    ("API_TOKEN={s}\n", "kd8Q&w3zL1x;9fQ<2b"),
    ("  api_token: {s}\n", "kd8Qw3(zL1x9)fQ2b"),
    ('secret = "{s}"', "kQ8d/Xw3zL1x9fZ2"),
    ('client.setToken("{s}")', "kd8Qw3zL1x9f"),
    ('Credentials.withSecret("{s}")', HEXADECIMAL + "zq"),
    ("flickr KEY {s}", DRAWN),
    ("fastforex {s}", DRAWN),
    ("sendbird secret {s}", HEXADECIMAL[:24]),
    ("acme-token-{s}", UUID),
    ("acmeSECRET-{s}", HEXADECIMAL),
    ("acme-secret-{s}", PARTED),
    ("use acme_api_KEY_{s} now", PARTED),
)


test_names_in_code_beside_names_for_secrets_stay = stays(
    "Types, words, calls, ids and paths.",
    "privateKey: Uint8Array;",
    "constructor(private web3AuthVerifier: Web3AuthVerifierService) {",
    "password: getpassword",
    "token: decode(b64url, x)",
    "auth.getToken('accessToken2')",
    "flickr key photos/72157 of set 2",
    f"idempotency-key-{UUID}",
    f"session-{UUID}",
    "acme-secret-rotator-7d9f8b6c5d-x2v9q",
    "the stripe docs v2 and github actions/checkout@v4",
    "token = src/Client2/Token2Parser",
    "retry_token=20260101000000",
)


def test_a_line_of_parameters_is_no_one_value(redactor: Redactor) -> None:
    """A secret ends where the next parameter begins."""
    text = redactor.redact(f"token={DRAWN}&user=bob&page=2\n").text
    assert DRAWN not in text and text.endswith("&user=bob&page=2\n")
