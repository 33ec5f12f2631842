"""URLs, headers, commands, keys over many lines, encoded and coloured text."""

from __future__ import annotations

import base64
from collections.abc import Callable
from itertools import product

from memory_assets.redaction import Redactor
from memory_assets_tests.redaction.goes import goes, stays
from memory_assets_tests.sweep import sweep

Fake = Callable[..., str]
Named = Callable[[str], str]


@sweep(
    "text, rule",
    [
        ("postgres://app:{s}@db.internal:5432/prod", "url-password"),
        ("origin\thttps://oauth2:{s}@github.com/acme/app.git (fetch)", "url-password"),
        ("redis://:{s}@cache:6379/0", "url-password"),
        ("https://{s}@sentry.example/42", "url-token"),
        ("https://hooks.slack.com/services/{s}", "webhook-url"),
        ('curl -H "Authorization: Bearer {s}" https://x', "bearer-token"),
        ("headers={'authorization': 'Bearer {s}', 'accept': '*/*'}", "bearer-token"),
        ("curl -H 'x-api-key: {s}' https://x", "assigned-secret"),
        ("curl -s -u admin:{s} https://x", "curl-user"),
        ("sshpass -p {s} ssh host", "command-password"),
        ("Cookie: theme=dark; session={s}; lang=en", "cookie"),
        ("Set-Cookie: sid={s}; Path=/", "cookie"),
        ("$2b$12${s}{s}", "password-hash"),
        ("jdbc:postgresql://db:5432/app?user=app&password={s}", "jdbc-url"),
        ("machine api.example.com login app password {s}", "netrc-password"),
        ("AccountName=app;AccountKey={s}{s}==;EndpointSuffix=x", "azure-account-key"),
        ("Endpoint=sb://x/;SharedAccessKey={s}{s}=", "url-parameter"),
        ("https://x/blob?sv=2022-11-02&sig={s}{s}%3D", "url-parameter"),
        ("Authorization: SSWS {s}", "assigned-secret"),
        ("Authorization: Token token={s}", "assigned-secret"),
        ("PRIVATE-TOKEN: {s}", "assigned-secret"),
        ('#define API_KEY "{s}"', "assigned-secret"),
        ('<Pass encoding="base64">{s}</Pass>', "assigned-password"),
        ("The default password is '{s}'", "spoken-password"),
        ('new NetworkCredential("app", "{s}")', "network-credential"),
        ('ConvertTo-SecureString "{s}" -AsPlainText -Force', "secure-string"),
        ("net user app {s} /add", "windows-user-password"),
        ("Private-Lines: 1\n{s}{s}\n", "putty-private-key"),
    ],
)
def test_secrets_told_by_their_surroundings(
    text: str, rule: str, redactor: Redactor, fake: Fake
) -> None:
    """The credential goes, under the rule that knows the surroundings."""
    value = fake("Qz7{a:24}")
    result = redactor.redact(text.replace("{s}", value))
    assert value not in result.text
    assert rule in {finding.rule for finding in result.findings}


def test_only_the_password_of_a_url_goes(redactor: Redactor, named: Named) -> None:
    """Scheme, user, host and path stay."""
    text = "postgres://app:" + "Tr0ub4dor" + "@db.internal:5432/prod?sslmode=require"
    kept = redactor.redact(text).text
    assert (
        named(kept)
        == "postgres://app:<redacted:url-password>@db.internal:5432/prod?sslmode=require"
    )


test_urls_and_commands_without_secrets_stay = stays(
    "References, stand-ins and plain URLs are not touched.",
    "postgres://localhost:5432/app",
    "postgresql://${DB_USER}:${DB_PASS}@${DB_HOST}/app",
    "mongodb+srv://<username>:<password>@cluster.mongodb.net/app",
    "https://user:***@host/x",
    "git@github.com:acme/app.git",
    "http://localhost:8080/path@2x.png",
    "curl -u $USER:$TOKEN https://x",
    "mkdir -p src/components && docker run -p 8080:8080 image",
    "Bearer token authentication is required",
    "Authorization: Bearer $TOKEN",
    "document.cookie = name",
    "cost is $2 or $5 a month",
)


def test_basic_credentials_are_told_by_decoding(redactor: Redactor) -> None:
    """`Basic` with what decodes to user:password goes; other words after it stay."""
    encoded = base64.b64encode(b"admin:" + b"hunter2").decode()
    assert encoded not in redactor.redact(f"Authorization: Basic {encoded}").text
    assert redactor.redact("Authorization: Basic realm").text == "Authorization: Basic realm"


@sweep("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
@sweep("newline, indent", [("\n", ""), ("\r\n", ""), ("\\n", ""), ("\n", "   7→"), ("\n", "+")])
def test_private_keys_go_whole(
    kind: str, newline: str, indent: str, redactor: Redactor, fake: Fake, named: Named
) -> None:
    """A PEM block goes with header and footer, its line ends real or escaped, numbered or not."""
    lines = [f"-----BEGIN {kind}PRIVATE KEY-----", *(fake("{b:64}", n) for n in range(5))]
    lines.append(f"-----END {kind}PRIVATE KEY-----")
    block = (newline + indent).join(lines)
    kept = redactor.redact(f"before {block} after").text
    assert named(kept) == "before <redacted:private-key> after"


def test_a_key_that_is_cut_off_goes_as_far_as_it_stands(
    redactor: Redactor, fake: Fake, named: Named
) -> None:
    """A block without its footer loses its body all the same."""
    body = "\n".join(fake("{b:64}", n) for n in range(4))
    kept = redactor.redact("-----BEGIN RSA PRIVATE KEY-----\n" + body + "\n[truncated]").text
    assert named(kept) == "<redacted:private-key>\n[truncated]"


test_mentions_of_keys_and_public_halves_stay = stays(
    "A header without a body, certificates and public keys are not secrets.",
    'if "-----BEGIN PRIVATE KEY-----" in text: raise ValueError',
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
)


def test_values_of_a_kubernetes_secret_go(redactor: Redactor, named: Named) -> None:
    """Under `data:` of a Secret each value goes, whatever its name."""
    value = base64.b64encode(b"Tr0ub4dor" + b"&3").decode()
    text = f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: app\ndata:\n  blob: {value}\n"
    kept = named(redactor.redact(text).text)
    assert kept == text.replace(value, "<redacted:kubernetes-secret>")
    other = text.replace("Secret", "ConfigMap")
    assert redactor.redact(other).text == other


def test_block_scalars_and_comments_of_a_kubernetes_secret(
    redactor: Redactor, fake: Fake, named: Callable[[str], str]
) -> None:
    """A comment among the entries ends nothing; a value on lines of its own goes as well."""
    value, other = fake("{b:40}", 1), fake("{b:24}", 2)
    text = f"kind: Secret\ndata:\n  # made by hand\n  .conf: |\n    {value}\n  key2: {other}\n"
    kept = named(redactor.redact(text).text)
    assert value not in kept
    assert other not in kept
    assert "# made by hand" in kept


test_a_plain_word_is_a_password_where_only_one_can_stand = goes(
    "In connection strings and files of settings a word without digits goes too.",
    *product(
        [
            "Server=db;User ID=app;Password=mellon;Database=x",
            "export DB_PASSWORD=mellon\n",
            "REACT_APP_PASS=mellon",
        ],
        ["mellon"],
    ),
)


def test_secrets_in_base64_go(redactor: Redactor, fake: Fake, named: Named) -> None:
    """Base64 that decodes to text with a secret goes whole; other base64 stays."""
    hidden = base64.b64encode(f"SMTP_PASSWORD={fake('Qz7{a:20}')}\n".encode()).decode()
    assert named(redactor.redact(f"$ base64 .env\n{hidden}\n").text) == (
        "$ base64 .env\n<redacted:encoded-secret>\n"
    )
    plain = base64.b64encode(b"nothing to see here, move along please").decode()
    assert redactor.redact(plain).text == plain


def test_terminal_colours_hide_nothing(redactor: Redactor, fake: Fake) -> None:
    """A token that `grep --color` cut in two is found, and its span refers to the input."""
    token = fake("ghp_{a:36}")
    split = f"./.env:3:\x1b[01;31m\x1b[K{token[:6]}\x1b[m\x1b[K{token[6:]}\n"
    (finding,) = redactor.find(split)
    assert split[finding.start : finding.end].replace("\x1b[m\x1b[K", "") == token


def test_a_token_wrapped_onto_the_next_line_goes_whole(redactor: Redactor, fake: Fake) -> None:
    """The rest of a wrapped token, alone on its line, goes with its beginning."""
    token = fake("ghp_{a:72}")
    kept = redactor.redact(f"GH_TOKEN={token[:44]}\n{token[44:]}\nDone.").text
    assert token[:44] not in kept
    assert token[44:] not in kept
    assert kept.endswith("\nDone.")


def test_a_kept_line_after_a_tag_stays(redactor: Redactor, fake: Fake) -> None:
    """A tag is inert: its own name assigns nothing to what follows."""
    text = f"DB_PASSWORD={fake('Qz7{a:20}')}\nDB_NAME=cipherbox_staging\n"
    assert redactor.redact(text).text.endswith("\nDB_NAME=cipherbox_staging\n")


test_the_value_of_a_field_or_an_argument_goes = goes(
    "Fields of forms, literals of secrets, arguments of calls and commands: words, too.",
    ("curl -F secret={s} https://example.com", "harborlamp"),
    ('curl -F "token={s}" https://example.com', "harbor lamp"),
    ("curl --data-urlencode 'password={s}' https://example.com", "harbor lamp"),
    ("curl --form 'user[password]={s}'", "Harborlamp"),
    ("net use Z: \\\\nas\\scans /user:scanner {s}", "Scan4Folder"),
    ('ALTER USER app IDENTIFIED BY "{s}";', "Harborlamp4"),
    ('WiFi.begin("castle", "{s}");', "harbor and lamp"),
    ("mesh_key: [{s}]", ", ".join(f"0x{byte:02X}" for byte in range(1, 160, 10))),
    (
        "kubectl create secret generic a --from-literal=b=Kettle4 --from-literal=c={s}",
        "7a2be90c",
    ),
    ("kind: Secret\nstringData:\n  user: app\n  password: {s}\n", "carrots and peas"),
    ("Unseal keys from the init:\n\n1. {s}\n", "JX3vMqT9cLwHs2RzYbN8fKdPg5UeAo1ViC7nBkQxWmE0"),
)


test_fields_and_arguments_without_a_secret_stay = stays(
    "Files, variables, users and what is searched for.",
    "curl -F secret=@secret.txt -F 'token=$TOKEN' https://example.com",
    "kubectl create configmap a --from-literal=b=7a2be90c41",
    "kubectl create secret generic a --from-literal=username=harborlamp",
    "net use Z: \\\\nas\\scans /persistent:no",
    "net use Z: \\\\nas\\scans\nwalnuts",
)
