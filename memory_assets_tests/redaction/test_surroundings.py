"""Secrets that a command, a call, a file's layout or a sentence tells: row by row."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memory_assets.redaction import Redactor
from memory_assets.redaction.rules.anchored.table import ANCHORED_RULES, AnchoredRule
from memory_assets_tests.redaction.goes import stays
from memory_assets_tests.sweep import sweep

Fake = Callable[..., str]

PASSWORDS = (
    "mysql -h db -uroot -p{s} app",
    "sshpass -p'{s}' scp a b:",
    "redis-cli -h cache -a {s} ping",
    "openssl rsa -in k.pem -passin pass:{s}",
    "keytool -genkey -storepass {s} -alias a",
    "gpg --batch --passphrase {s} -d f.gpg",
    "sqlcmd -S db -U sa -P {s} -Q x",
    "mongo -u root -p {s} --quiet",
    "smbclient //srv/s -U app%{s}",
    "ldapsearch -x -D cn=admin -w {s} -b dc=x",
    "echo {s} | docker login -u app --password-stdin",
    "echo '{s}' | sudo -S apt install x",
    "echo root:{s} | chpasswd",
    "7z x a.7z -p{s}",
    "zip -P {s} out.zip f",
    "sqlplus scott/{s}@orcl",
    "http -a app:{s} GET :8080/x",
    "ENV JWT_SECRET {s}",
    "setx APP_SECRET {s}",
    "$ printenv DB_PASSWORD\n{s}\n$ ",
    'ds.setPassword("{s}");',
    'find(By.ID, "password").send_keys("{s}")',
    'smtp.login("app", "{s}")',
    'get(url, auth=("app", "{s}"))',
    'mysql_connect("localhost", "root", "{s}");',
    'DriverManager.getConnection(url, "app", "{s}");',
    'add_argument("--password", default="{s}")',
    "<key>password</key>\n<string>{s}</string>",
    "<name>app.password</name>\n<value>{s}</value>",
    '"db_password": {\n "sensitive": true,\n "type": "string",\n "value": "{s}"\n}',
    '[{"key": "password", "value": "{s}"}]',
    "| user | password |\n|---|---|\n| app | {s} |",
    "| user | password |\n|---|---|\n| app | yyy12 |\n| dev | {s} |\n",
    "user,password\napp,{s}",
    'psk="{s}"',
    ': PSK "{s}"',
    "ALTER USER app IDENTIFIED BY '{s}';",
    "app:{s}@tcp(127.0.0.1:3306)/app",
    "db.corp.io:5432:app:app:{s}\n",
    'BUNDLE_GEMS__CORP__IO: "app:{s}"',
    "chpasswd:\n  list: |\n    root:{s}",
    "rootpw --plaintext {s}",
    "The password is {s}.",
    "New Password: {s}",
    "Root password for the box: `{s}`",
    "creds: admin / {s}",
    "set `DB_PASSWORD` to `{s}` in production",
    "senha: {s}",
    "contraseña: {s}",
    "mot de passe : {s}",
    "hasło: {s}",
    "пароль: {s}",
    "密码: {s}",
    "**DB_PASSWORD**: {s}",
)


@sweep("text", PASSWORDS)
@sweep("value", ["Tr0ub4dor5", "hunter2x29", "LnECmBHGqopvgX"])
def test_the_password_goes_and_its_surroundings_stay(
    text: str, value: str, redactor: Redactor
) -> None:
    """What a person or a machine chose as a password goes; user, host and flags stay."""
    kept = redactor.redact(text.replace("{s}", value)).text
    assert value not in kept
    before, after = text.split("{s}")
    assert kept.startswith(before[:-1].rstrip("/"))
    assert kept.endswith(after)


def test_a_password_in_a_url_may_have_a_slash(redactor: Redactor) -> None:
    """What ought to have been escaped does not end the password."""
    kept = redactor.redact("postgres://app:p@ss/S3cr3t7@db:5432/x").text
    assert kept.startswith("postgres://app:<redacted:url-password:")
    assert kept.endswith("@db:5432/x")


@sweep("rule", ANCHORED_RULES)
def test_every_rule_finds_its_canary_among_other_text(
    rule: AnchoredRule, redactor: Redactor
) -> None:
    """A rule's sample loses its secret wherever in a text it stands."""
    text = f"first line\n{rule.sample}"
    assert redactor.redact(text).text != text


KEYS = (
    ('{"kty": "RSA", "e": "AQAB", "d": "{s}"}', "{w:86}"),
    ('{"kty": "oct", "k": "{s}", "alg": "HS256"}', "{w:43}"),
    ("<Exponent>AQAB</Exponent><P>{s}</P><D>AAAA</D>", "{b:86}=="),
    ("{s}", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{b:800}"),
    ("{s}", "MIIEpAIBAAKCAQEA{b:800}"),
    ("{s}", "MC4CAQAwBQYDK2VwBCIEI{b:43}"),
    ("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{s}\n---- END", "{b:70}"),
    ("-----BEGIN OpenVPN Static key V1-----\n{s}\n-----END", "{h:32}"),
    ("untrusted comment: signify secret key\n{s}\n", "RWRCSw{b:132}"),
    ("{s}\n-----END RSA PRIVATE KEY-----", "{b:64}\n{b:64}\n{b:20}"),
)


@sweep("text, template", KEYS)
def test_private_keys_without_their_armour_go(
    text: str, template: str, redactor: Redactor, fake: Fake
) -> None:
    """JWK, XML, bare DER, OpenVPN, signify, and PEM whose first line was cut off."""
    key = fake(template)
    kept = redactor.redact(text.replace("{s}", key)).text
    assert all(line not in kept for line in key.splitlines())


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("VALUES (1,'{s}','app')", "pbkdf2_sha256$260000${a:22}${a:43}="),
        ("userPassword: {SSHA}{s}", "{b:32}"),
        ("app:500:{s}:::", "{h:32}:{h:32}"),
        ("username app password 7 {s}", "08{d:16}"),
        ('secret "{s}"; ## SECRET-DATA', "$9$n{a:24}"),
    ],
)
def test_password_hashes_go(text: str, template: str, redactor: Redactor, fake: Fake) -> None:
    """Hashes of passwords are as good as passwords to who guesses."""
    value = fake(template)
    assert value not in redactor.redact(text.replace("{s}", value)).text


@sweep(
    "text, template",
    [
        ("https://api.telegram.org/bot{s}/sendMessage", "88{d:8}:AA{w:33}"),
        ("https://open.feishu.cn/open-apis/bot/v2/hook/{s}", "{uuid}"),
        ("https://hc-ping.com/{s}", "{uuid}"),
        ("https://maker.ifttt.com/trigger/x/with/key/{s}", "{a:22}"),
        ("https://events.pagerduty.com/integration/{s}/enqueue", "{h:32}"),
        ("https://discord.com/api/webhooks/{s}", "{d:18}/{w:68}"),
    ],
)
def test_addresses_that_let_anyone_post_go(
    text: str, template: str, redactor: Redactor, fake: Fake
) -> None:
    """The part of a webhook's URL that only its owner knows goes, all of it."""
    value = fake(template)
    kept = redactor.redact(text.replace("{s}", value)).text
    assert value.split("/")[0] not in kept
    assert value.split("/")[-1] not in kept


BENIGN = (
    "mysql -u root -p app < dump.sql",
    "mysql -u root -p$PASS app",
    "mysqladmin --port=3306 -P 3306 ping",
    "openssl rsa -passin env:PASS -in key.pem",
    "openssl req -newkey rsa:4096 -keyout key.pem -out cert.pem -nodes",
    "keytool -genkey -storepass changeit -alias a",
    'echo "$TOKEN" | docker login -u app --password-stdin',
    "echo hello | docker run -i image",
    "ENV TOKEN_TTL 3600s",
    "ENV AUTH_URL https://x.corp.io/v1",
    "kubectl create configmap app --from-literal=LOG_LEVEL=debug2",
    "sqlplus / as sysdba",
    "The password is required",
    "The password is SHA-256 hashed, 8-16 characters long.",
    "the api key is stored in the keyring_v2_backend",
    "New Password: PasswordField",
    "user: string\npassword: string",
    'setPassword("newPassword")',
    'connect("localhost", "root", "password")',
    'signal.connect(x, "clicked", "on_clicked_2")',
    'add_argument("--password", default="")',
    '<input type="password" value="{{ pw }}">',
    "<key>password</key>\n<string>${PW}</string>",
    '{"key": "max_token", "value": "2048"}',
    "| name | password |\n|---|---|\n| string | required() |",
    "| api_key | string | your key |",
    "phrase: the quick brown fox jumps over the lazy dog and then some more words",
    '"d": "M10 10 L20 20"',
    "snmp-server community public RO",
    "5|3f2b8c1e7d4a4f6b9c0d1e2f3a4b5c6d7e8f9a0b",
    "postgresql://USER:PASSWORD@HOST:5432/DATABASE",
    "https://user:pass@corp.io/",
    "POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:?must be set}",
    "AZURE_TENANT_ID=3f2b8c1e-7d4a-4f6b-9c0d-1e2f3a4b5c6d",
    "key: pip-3f2b8c1e7d4a4f6b9c0d1e2f3a4b5c6d7e8f9a0b",
    'password = "HttpPasswordMgr"',
    "'Test2::Event::Pass' => '1.302169',",
    "пароль: неверный",
)


test_references_stand_ins_and_settings_stay = stays(
    "Prompts, variables, types, names in code and plain settings are no secrets.",
    *BENIGN,
)
