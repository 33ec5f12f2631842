"""Passwords go from where a login needs one, whatever they look like, and what stands for one
stays."""

from __future__ import annotations

from itertools import product

from memory_assets.redaction import Redactor
from memory_assets_tests.redaction.goes import goes, stays
from memory_assets_tests.sweep import sweep

SIGNS = "$2N!Pz6Xl}BOi"


@sweep(
    "text, value",
    [
        ("postgres://app:{s}@db/shop", "!Qz7kd93wL"),
        ("postgres://app:{s}@db/shop", SIGNS),
        ("postgres://app:{s}@db/shop", "{BF~iEvdTkZ2^k"),
        ("postgres://app:{s}@db.acme.io:5432/shop", "z'SkOO8$tu<9kd"),
        ("postgres://app:${DB_LOGIN:-{s}}@db:5432/shop", "lantern"),
        ('create_engine("postgresql://%s:%s@db/shop" % ("app", "{s}"))', "lantern4711"),
        ('"postgres://{}:{}@db/shop".format("app", "{s}")', "lantern4711"),
        ("admin:{s}@192.0.2.7", "lantern"),
        ("app:{s}@rabbit1:5672", "lantern4711"),
    ],
)
def test_a_password_behind_a_user_goes_with_its_signs(
    text: str, value: str, redactor: Redactor
) -> None:
    """Also signs that references and ends of texts begin with, defaults and formats."""
    redacted = redactor.redact(text.replace("{s}", value)).text

    assert value not in redacted
    assert redacted.startswith(text.partition("{s}")[0])
    assert redacted.endswith(text.partition("{s}")[2])


test_the_password_of_a_connection_string_goes = goes(
    "Wherever it stands in the string; of Oracle behind a slash.",
    ("Server=db;Database=shop;User Id=sa;Password={s};Encrypt=True", "toor"),
    ("Server=db;User Id=sa;Password={s}", "x)IXK_,ICQw"),
    ("Password={s};Persist Security Info=True;User ID=sa", "lantern"),
    ("Host=db;Username=app;Password={s};Database=shop", "N1|Pd&hddhNc-7{e"),
    ("psql 'host=db user=app password={s} dbname=shop'", "lantern"),
    ("expdp system/{s}@orcl schemas=HR", "lantern"),
    ('cx_Oracle.connect("scott/{s}@db.acme.io/orcl")', "tiger"),
)


test_a_word_is_a_password_where_a_call_logs_in = goes(
    "Databases, brokers, directories and commands.",
    *product(
        [
            'mysqli_connect("localhost", "root", "{s}", "shop")',
            "new PDO('pgsql:host=db', 'app', '{s}')",
            'DriverManager.getConnection(URL, "root", "{s}")',
            'pika.PlainCredentials("app", "{s}")',
            'ldap.simple_bind_s("cn=admin,dc=x", "{s}")',
            'ftp.login("bob", "{s}")',
            "sqlcmd -S db -U sa -P {s}",
        ],
        ["qwerty"],
    ),
)


test_a_secret_of_an_address_goes_by_its_place = goes(
    "Names in brackets, hashes beside a user, codes, hosts that programs call.",
    ("https://acme.io/x?user%5Bpassword%5D={s}", "sunshine"),
    ("https://acme.io/x?username=bob&pw={s}", "admin"),
    ("user[login]=bob&user[password]={s}", "sunshine"),
    ("https://acme.io/feed?user=bob&hash={s}", "9f8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d"),
    ("https://api.acme.io/v1/x?cle={s}", "9f8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d"),
    ("https://acme.io/verify?code={s}", "904172"),
    ("https://acme.io/cb?code={s}", "x7kq9zw2p"),
    ("https://mcp.acme.io/{s}/mcp", "7b3c1d2e-4f5a-4b7c-8d9e-0f1a2b3c4d5e"),
    ("https://hooks.acme.io/{s}", "x7Kq9zW2pL"),
)


test_what_stands_for_a_password_stays = stays(
    "Stand-ins, references, code, and addresses beside each other.",
    "postgres://user:password@localhost/db",
    "postgres://$PGUSER:$PGPASSWORD@$PGHOST/db",
    "postgres://app:${DB_PASS}@db/shop",
    "https://x:$(cat token)@git.acme.io/app",
    '{"home": "http://acme.io:8080", "mail": "bob@acme.io"}',
    "Server=db;Database=shop;User Id=myUsername;Password=myPassword;",
    'f"Server={host};User Id={user};Password={password};"',
    "this.user=e;this.password=t;",
    "connect(user=user, password=password, host=host)",
    "sqlplus username/password@database",
    'login("#user", "#password")',
    "https://acme.io/x?show_password=1&key=name&code=404",
    "https://acme.io/login?next=/x&reset_password=done",
    "mailto:bob@192.0.2.7 and from:bob@acme.io:8080",
    "meet at 12:30@cafe, image:latest@sha256:abc",
)
