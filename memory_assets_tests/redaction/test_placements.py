"""Secrets by where they stand: lists of pairs, columns, before their word, below it."""

from __future__ import annotations

import base64
from collections.abc import Callable

from memory_assets.redaction import Redactor
from memory_assets_tests.redaction.goes import stays
from memory_assets_tests.sweep import sweep

Fake = Callable[..., str]
HEXADECIMAL = "9f8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d"
PASSWORDS = ["Tr0ub4dor5kQ7", "xK9vQ2mLpwZ4", "kJ8mN2pQ7rT4vX9zB3cD6fG1"]


@sweep(
    "text",
    [
        "logins: admin:{s}, bob:{t}, carol:{s}",
        "creds: alice:{s} bob:{t}",
        "ids and passwords: u1 {s} u2 {t}",
        "id/password: 1001/{s}, 1002/{t}",
        "id: admin pw: {s} id: root pw: {t}",
        "passwords: alice={s} bob={t}",
        "Test users (login / password): alice / {s}, bob / {t}",
        'passwords = {"alice": "{s}", "bob": "{t}"}',
        "passwords:\n- alice: {s}\n- bob: {t}\n",
        "Passwords:\nalice {s}\nbob   {t}\n",
        "logins:\n  alice / {s}\n  bob / {t}\n",
        "NAME    PASSWORD        AGE\nalice   {s}   5d\nbob     {t}   5d\n",
        "name  secret\n----  ------\nalice {s}\nbob   {t}\n",
        "ID  NAME   API KEY   CREATED\n1   al b   {s}   2026-01-01\n2   bob    {t}   2026\n",
        "user\tpassword\nalice\t{s}\nbob\t{t}\n",
        "username:password\nalice:{s}\nbob:{t}\n",
        'user,password,role\nalice,{s},admin\nbob,"{t}",dev\n',
        "id;login;password\n1;alice;{s}\n2;bob;{t}\n",
    ],
)
@sweep("value", [*PASSWORDS[:2], HEXADECIMAL])
def test_every_secret_of_a_list_goes(text: str, value: str, redactor: Redactor) -> None:
    """Pairs on one line or on several, and columns that blanks, tabs or commas separate."""
    if value == HEXADECIMAL and text.startswith(("ids", "id:", "name ", "Test")):
        return  # which a word alone does not tell from a hash
    kept = redactor.redact(text.replace("{s}", value).replace("{t}", PASSWORDS[2])).text
    assert value not in kept
    assert PASSWORDS[2] not in kept


@sweep(
    "text",
    [
        "{s} is the acme token",
        "{s} is the admin password.",
        "`{s}` is my API key",
        "'{s}' - that's the db password",
        "{s} (the staging password)",
        "{s} <- root password",
        "use {s} as the password",
        "use {s} as password for alice",
        "log in with {s} as your password",
        "{s} ist das Passwort",
        "The value {s} is the secret key",
        "echo {s} | base64",
        "echo -n '{s}' | base64 -w0",
        "echo -n app:{s} | base64",
    ],
)
@sweep("value", PASSWORDS)
def test_a_value_before_its_word_goes(text: str, value: str, redactor: Redactor) -> None:
    """The word that says what a value is may follow it."""
    kept = redactor.redact(text.replace("{s}", value)).text
    assert value not in kept
    assert kept.endswith(text.split("{s}")[1])


def test_what_base64_is_asked_to_decode_goes(redactor: Redactor) -> None:
    """`echo X | base64 -d`, where X decodes to a password or to user and password."""
    for plain in (PASSWORDS[0], "app:" + PASSWORDS[1]):
        encoded = base64.b64encode(plain.encode()).decode()
        assert encoded not in redactor.redact(f"echo '{encoded}' | base64 -d").text
    words = base64.b64encode(b"hello world, all is well").decode()
    assert words in redactor.redact(f"echo {words} | base64 -d").text


@sweep(
    "text",
    [
        "- value: {s}\n  name: DB_PASSWORD\n",
        "- Key: DbPassword\n  Value: {s}\n",
        "- key: db_password\n  val: {s}\n",
        'variable "db_password" {\n  description = "x"\n  type = string\n  default = "{s}"\n}',
        "requirepass {s}\n",
        "secret\t{s}\n",
        "smtp_pass            {s}\n",
        "token = <<-EOT\n    {s}\n  EOT\n",
        "api_key = '''\n{s}\n'''\n",
        'api_key = """\\\n{s}\\\n"""\n',
        "In [3]: os.environ['ACME_TOKEN']\nOut[3]: '{s}'\n",
        ">>> os.getenv('ACME_TOKEN')\n'{s}'\n",
        "> process.env.ACME_TOKEN\n'{s}'\n",
        "irb> ENV['TOKEN']\n=> \"{s}\"",
        "PS> $env:ACME_TOKEN\n{s}\n",
        "ngrok config add-authtoken {s}",
        "snyk auth {s}",
        "cargo login {s}",
        "acme config set api-key {s}",
        "pulumi config set --secret app {s}",
        "Digest username=a, response=" + HEXADECIMAL + " x {s} is the token",
        "https://app.corp.io/sign-in/{s}",
        "https://app.corp.io/l?t={s}",
        "https://app.corp.io/?h={s}",
        "https://rpc.corp.io/{s}/send",
        "https://app.corp.io/api/v1/{s}/telemetry",
        "https://{s}:@app.corp.io/v1",
        "https://app.corp.io/feed/{s}/all.xml",
        "acme -p {s}",
        "< x-acme: {s}\n",
        "curl -H 'X-Foo: {s}' https://x",
    ],
)
def test_a_drawn_value_goes_where_little_else_stands(text: str, redactor: Redactor) -> None:
    """Manifests, settings, shells of languages, arguments, addresses, headers of any name."""
    kept = redactor.redact(text.replace("{s}", PASSWORDS[2])).text
    assert PASSWORDS[2] not in kept
    assert HEXADECIMAL not in kept


@sweep(
    "text, template",
    [
        ("secret: {s}", "JBSW Y3DP EHPK 3PXP"),
        ("manual entry key\n{s}", "JBSW-Y3DP-EHPK-3PXP"),
        ("enter this code: {s}", "jbsw y3dp ehpk 3pxp mfrg gzdf"),
        ("{s}", "b3BlbnNzaC1rZXktdjEAAAAA{b:70}\n{b:70}"),
        ("{s}", "MIIFHDBOBgkqhkiG9w0BBQ0w{b:64}"),
        ("[DEBUG] Using Key={s}", "{u:8}-{u:8}-{u:8}-{u:8}"),
        ("acme token = '{s}'", "{u:7}-{u:7}-{u:7}-{u:7}"),
    ],
)
def test_grouped_and_bare_keys_go(text: str, template: str, redactor: Redactor, fake: Fake) -> None:
    """Seeds in groups of four, private keys without armour, keys in groups."""
    value = fake(template)
    assert value.splitlines()[0] not in redactor.redact(text.replace("{s}", value)).text


@sweep(
    "text",
    [
        "user,password\nann,%s\nbob,{s}\n",
        "user\tpassword\tnote\nann\tnone\t%s\nbob\t{s}\tnew\n",
        "| user | password |\n|---|---|\n| ann | %s |\n| bob | {s} |\n",
    ],
)
def test_rows_below_a_row_that_is_too_long_are_read(text: str, redactor: Redactor) -> None:
    """Of a line only a thousand characters are looked at, and the next row is the next line."""
    kept = redactor.redact((text % ("a tide " * 300)).replace("{s}", "Quill_Pen")).text
    assert "Quill_Pen" not in kept


BENIGN = (
    "This approach2 is the key to success",
    "MapReduce2 is the key",
    "argon2id is the password hashing algorithm",
    "bcrypt12 is the default for the password",
    "Python3.11 (the token is optional)",
    "utf8mb4 is the charset, id2 is the key",
    "passwords: use argon2id, never md5sum\n",
    "Login: run make2all, then npm10x\n",
    "MODEL         TOKENS   COST\nclaude-3-5    12345    0.5\n",
    "NAME             TYPE                 DATA\ndefault-token-x  kubernetes.io/tls    3  5d\n",
    "name,token,role\nalice,,admin\nbob,none,dev\n",
    "f(user,token,role)\ng(alice,1a2b3c,dev)\n",
    "login(user,password,role)\nlogout(user,Tr0ub4dor5,role)\n",
    "name,password\na sentence, Tr0ub4dor5, and more\n",
    "Pass  Fail  Total\n12    3     15\n",
    "password\t" * 200,
    "user,password,note " * 150,
    "user;password;" * 120 + "\n",
    "user,password\n" + "moor,tide," * 150,
    "echo hello123 | base64",
    "my-secret            Opaque",
    "token                2 days",
    "- name: TOKEN_LIMIT\n  value: 4096\n",
    "x-request-id: 5po8TFGawiYNCc1ct4ofWkBqzIfA6IeO",
    "x-amz-cf-id: 9fG7hJ2kLmNpQrStUvWxYz0A1b2C3d4E5f6G7h8I9j0K==",
    "https://x.io/session/3f2b8c1e-7d4a-4f6b-9c0d-1e2f3a4b5c6d",
    "https://x.io/auth/callback/github-oauth2-provider",
    "https://x.io/share/getting-started-with-node20",
    "https://youtu.be/x?t=1m42s",
    "https://x.io/list?cursor=5po8TFGawiYNCc1ct4ofWkBqzIfA6IeO&fbclid=5po8TFGawiYNCc1ct4ofWkBqzIfA",
    "https://api.x.io/v1/pages/3f2b8c1e7d4a4f6b9c0d1e2f3a4b5c6d",
    "https://api.x.io/v1/files/report-2026-11-23-final.pdf",
    "git auth add key helper2",
    "gpg --export-secret-keys 8E1F899571345D06 > key.asc",
    "secret: THIS WILL WORK HERE",
    "cp -p build/output2 dist",
    "mkdir -p src/components/UserProfile2",
)


test_the_same_places_keep_ordinary_text = stays(
    "Words, counts, ids, algorithms and names of files in the same places stay.",
    *BENIGN,
)
