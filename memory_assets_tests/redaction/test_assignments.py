"""The value given to a name that speaks of a secret goes, in every syntax; the rest stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memory_assets.redaction import Redactor
from memory_assets_tests.redaction.goes import goes, stays
from memory_assets_tests.sweep import sweep

Fake = Callable[..., str]

SYNTAXES = (
    "{n}={s}",
    "export {n}={s}\n",
    "cd app && {n}={s} make test",
    "docker run -e {n}={s} -p 80:80 image",
    "$ {n}='{s}' ./run",
    "  {n}: {s}\n",
    "  {n}: '{s}'",
    '{"a": 1, "{n}": "{s}", "b": 2}',
    '"{\\"{n}\\": \\"{s}\\"}"',
    '{n} = "{s}"',
    '{n}: str = "{s}"',
    'const {n}: string = "{s}";',
    'client = Client({n}="{s}", timeout=30)',
    "'{n}' => '{s}',",
    'config["{n}"] = "{s}"',
    '{n} := "{s}"',
    'System.setProperty("{n}", "{s}")',
    "env('{n}', '{s}')",
    "<{n}>{s}</{n}>",
    '<add key="{n}" value="{s}" />',
    "- name: {n}\n  value: {s}\n",
    "tool --{n} {s} --verbose",
    "tool --{n}={s}",
    "GET https://host/items?{n}={s}&page=2",
    "     3→{n}={s}\n     4→LOG=debug",
    "+{n}={s}",
    "\x1b[1m{n}\x1b[0m=\x1b[32m{s}\x1b[0m",
)


@sweep("syntax", SYNTAXES)
@sweep("name", ["DB_PASSWORD", "client_secret", "apiKey", "auth-token"])
def test_only_the_value_goes(syntax: str, name: str, redactor: Redactor, fake: Fake) -> None:
    """Name, syntax and neighbours stay; the value is replaced."""
    value = fake("Qz7{a:24}")
    text = syntax.replace("{n}", name).replace("{s}", value)
    kept = redactor.redact(text).text
    assert value not in kept
    before, after = text.split(value)
    assert kept.startswith(before) or "\x1b" in text
    assert kept.endswith(after) or "\x1b" in text
    assert kept.count("<redacted:") == 1


@sweep("value", ["hunter2", "Quartz#Violet124", "p@ss-w0rd", "s3cr3t!"])
@sweep("text", ["DB_PASSWORD={s}\n", 'password: "{s}"', "--password {s}"])
def test_passwords_need_not_look_random(value: str, text: str, redactor: Redactor) -> None:
    """What a person chose as a password goes as well."""
    assert value not in redactor.redact(text.replace("{s}", value)).text


BENIGN = (
    "password = get_password(user)",
    "token: string;",
    "tokens: int = 256",
    "max_tokens=4096, total_tokens: 81920",
    "apiKey: this.config.apiKey,",
    "const apiKey = await authStorage.getApiKey(name);",
    "api_key=api_key, base_url=base_url",
    "password: Optional[str] = None",
    "password = os.environ['DB_PASSWORD']",
    'api_key = os.getenv("API_KEY")',
    "const token = process.env.GITHUB_TOKEN;",
    "API_KEY=${API_KEY}",
    "API_KEY=$API_KEY",
    "TOKEN=$(gh auth token)",
    "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
    "apiKey: {{ .Values.apiKey }}",
    "apiKey: <YOUR_API_KEY>",
    'api_key="your-api-key"',
    "OPENAI_API_KEY=sk-...",
    "PASSWORD=changeme",
    'password: "********"',
    "password=xxxxxxxx",
    "secretName: my-tls-secret",
    "secret_hash: sha256:abcdef0123456789",
    "public_key = ssh-rsa",
    'key: "value"',
    "keys: [a, b, c]",
    "tokenizer = AutoTokenizer.from_pretrained(name)",
    "--- PASS: TestRotateTokensV2 (0.01s)",
    "author: Jane",
    "auth: vi.fn(),",
    "authorization required",
    "--list-secret-keys 8E1F",
    "--pass: #34d399;",
    '{"verdict": "pass", "assertions": 3}',
    "nextPageToken: CAUQAA",
    "csrf: false",
    "password_file: /run/secrets/db",
    "The password must have 8 characters.",
)


test_code_placeholders_and_references_stay = stays(
    "Types, calls, references, stand-ins and prose are not secrets.",
    *BENIGN,
)


@pytest.mark.parametrize(
    "template",
    ["{u:16}A7B2", "Qx{a:14}9z", "Kd7/{a:30}x3/{a:20}Q==", "ab1-{l:8}-4{l:20}"],
)
def test_secrets_of_many_builds(template: str, redactor: Redactor, fake: Fake) -> None:
    """Upper case, base64 with slashes, parts joined by hyphens: most of such values go."""
    text = 'api_secret = "{s}"'
    values = [fake(template, seed) for seed in range(20)]
    left = sum(value in redactor.redact(text.replace("{s}", value)).text for value in values)
    assert left <= 2


def test_a_value_is_removed_wherever_it_stands_in_the_text(redactor: Redactor, fake: Fake) -> None:
    """A secret told by its name goes from the bare mentions around it too."""
    value = fake("{h:32}")
    text = f"first {value}\nexport DATADOG_API_KEY={value}\nlater {value}."
    assert value not in redactor.redact(text).text


WORDS_THAT_ARE_SECRETS = (
    ("DB_PASSWORD={s} DB_NAME=wiki", "toor"),
    ("set ADMINPW={s}", "Kranwagen"),
    ("$ansible_become_pass: {s}", "Zitronenfalter"),
    ("    MARIADB_PASSWORD: {s}\n", "Streusel"),
    ('#define WIFI_PSK "{s}"', "toaster-oven-5"),
    ("JWT_SECRET={s} node server.js", "dont-tell-anyone"),
    ('export GPG_PASSPHRASE="{s}"', "my aunt has nine canaries"),
    ('PASS="{s}"; export PASS', "Ham\\$ter Wheel"),
    ('local password = "{s}"', "MurlocsRule"),
    ("<client_secret>{s}</client_secret>", "centrifuge"),
    ('let pin: &str = "{s}";', "2468"),
    ("self.pin = {s}  # door", "6174"),
    ("flash.ps1 -Pin {s} -Verbose", "7734"),
    ("| system | user | password |\n|---|---|---|\n| wiki | ed | {s} |\n", "Quill_Pen"),
    ("user=bob&pwd={s}", "kettle"),
    ('POSTGRES_PASSWORD="{s}"', "q{w}e9R"),
    ("\ufeffDB_PASSWORD={s}", "kettle"),
    ("\ufeffuser,password\nbob,{s}\n", "kettle"),
    ("Device;AdminLogin;AdminKey\nLaser;maker;{s}\n", "brandloch"),
)


test_a_name_that_says_it_without_doubt_gives_any_value = goes(
    "Words, phrases and numbers are secrets behind such a name.",
    *WORDS_THAT_ARE_SECRETS,
)


test_what_stands_in_place_of_a_value_stays = stays(
    "Labels, states, types, code, references, constants and options.",
    '"password": "Passwort",',
    '"newPassword": "Wachtwoord wijzigen"',
    '"form.bot_password": "Пароль для бота"',
    "password: OK",
    "password: SecretStr",
    "password: accepted",
    "user.password = hashed",
    "PASSWORD=${1:-none}",
    "password: /run/secrets/db",
    'PASSWORD = "CHANGE_PASSWORD"',
    "\tPassword        string\n\tTheme           string\n\tTimezone        bool\n",
    "psk=wpa2-eap",
    "led_pin = 1023",
    "--ask-vault-pass --limit web03",
    "tar --password doesnt exist, you mean gpg",
    "| name | code |\n|---|---|\n| Germany | deutschland |\n",
    "| user | pin |\n|---|---|\n| a1 | Optional[str] |\n",
    "passphrase    Optional[str]",
    "password: 4096",
    "postal_access_code: 10115",
    "led pin: 1305",
    "gpio pin 1305",
    "| Device | Pass |\n|---|---|\n| Pixel | flaky |\n",
    "| account | key |\n|---|---|\n| a1 | primary |\n",
    "device,key\na,volume\nb,brightness\n",
)
