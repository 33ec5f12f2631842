"""Secrets told by their place in an address, or by words that announce them, without vendors."""

from __future__ import annotations

from memory_assets.redaction import Redactor
from memory_assets_tests.redaction.goes import goes, stays

DRAWN = "q8Kd93wdlsF93kdLs9fbd93kXl2p"
HEXADECIMAL = "9f8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d"
CHOSEN = "lantern4711"
UUID = "7b3c1d2e-4f5a-4b7c-8d9e-0f1a2b3c4d5e"
SEED = "KVKFKRCPNZQUYMLXOVYDSQKJKZDTSRLD".replace("K", "4")


test_a_password_goes_wherever_an_address_has_its_user = goes(
    "With an `@` in the user, the password alone, without a scheme, in braces.",
    ("smtp://bob@acme.io:{s}@mail.acme.io:587", CHOSEN),
    ("trojan://{s}@vpn.acme.io:443", CHOSEN),
    ("tuic://{s}@vpn.acme.io:443", UUID),
    ("http_proxy=bob:{s}@proxy:3128", "lantern"),
    ("fetch --proxy-user bob:{s} https://acme.io", "lantern"),
    ("turn:1700000000:{s}@turn.acme.io:3478", "WnpwL6nK53/mbyZ5"),
    ("bob:{s}@192.0.2.7", CHOSEN),
    ("bob:{s}@tcp(db.acme.io:3306)/shop", "l@ntern4711"),
    ("bob:{s}@/shop?parseTime=true", CHOSEN),
    ("UID=sa;PWD={{s}};Encrypt=yes", "lan;tern4711"),
    ("host=acme.io\nusername=bob\npassword={s}\n", "lantern"),
)


test_a_part_of_a_path_or_fragment_goes_that_gives_access = goes(
    "Links for one person, private packages, intakes of logs, streams, keys of pastes.",
    ("https://acme.io/unsubscribe/{s}", HEXADECIMAL),
    ("https://acme.io/licensed/{s}/acme.tar.gz", UUID),
    ("https://acme.io/t/{s}/get/main", HEXADECIMAL),
    ("https://acme.io/u/{s}/", DRAWN),
    ("https://repo.acme.io/{s}/npm/", HEXADECIMAL),
    ("http://tracker.acme.io/{s}/announce", HEXADECIMAL),
    ("https://acme-collector.acme.io/v1/accounts/1/events/{s}", HEXADECIMAL),
    ("http://tv.acme.io/live/bob/{s}/17.ts", CHOSEN),
    ("https://chat.whatsapp.com/{s}", DRAWN[:22]),
    ("https://acme.io/paste?17#{s}", DRAWN),
    ("https://acme.io/#json=632011801321,{s}", DRAWN),
)


test_a_parameter_goes_that_gives_access = goes(
    "Codes of all lengths, keys of any name, what pages for accounts are called with.",
    ("https://acme.io/callback?code={s}", HEXADECIMAL[:20]),
    ("https://acme.io/a?s={s}", HEXADECIMAL),
    ("https://acme.io/a?access={s}&v=1", HEXADECIMAL),
    ("https://acme.io/a?wskey={s}", "U2rRn9PUMYx4"),
    ("https://acme.io/verify?email=bob@acme.io&hash={s}", HEXADECIMAL * 2),
    ("https://acme.io/verify?otp={s}&user=12", "904172"),
)


test_addresses_without_a_secret_stay = stays(
    "Hashes of contents, headings, slugs, numbers and references.",
    f"https://acme.io/app.js?hash={HEXADECIMAL[:20]}",
    f"https://acme.io/verify?id={UUID[:8]}",
    f"https://acme.io/{HEXADECIMAL}/index.html",
    f"https://github.com/acme/app/tree/{HEXADECIMAL}12345678/helm",
    "https://acme.io/t/how-to-rotate-a-token-2024/1234",
    "https://acme.io/u/bob2024/settings",
    "https://acme.io/docs#how-to-set-up-oauth2-for-2024",
    "https://acme.io/pull/12#discussion_r1234567890",
    "https://acme.io/live/docs/section2/17.html",
    "https://acme.io/?opt=904172&spin=110001",
    "nats://localhost:4222 and trojan://{host}@x",
    'print(f"password={password!r}")',
    "git@github.com:acme/app.git and bob@192.0.2.7:/srv",
    "the proxy: see docs:port@host",
)


test_a_value_goes_that_words_announce = goes(
    "Labels above it, words between, other languages, an equals sign inside, lists.",
    ("Client Secret\n{s}", DRAWN),
    ("API Token\n\n    {s}\n", HEXADECIMAL),
    ("master key {s}", DRAWN),
    ("encryption key → {s}", HEXADECIMAL),
    ("totp seed {s}", SEED),
    ("sk: {s}", HEXADECIMAL),
    ("bindpw {s}", "lantern"),
    ('key := []byte("{s}")', DRAWN),
    ('client.basic_auth("bob", Some("{s}"))', CHOSEN),
    ("MYSQLPWD={s}", CHOSEN),
    ("InstrumentationKey={s};", UUID),
    ("senha do admin: {s}", "rosebud77"),
    ("пароль от админки: {s}", CHOSEN),
    ("ключ доступа: {s}", HEXADECIMAL),
    ("şifresi: {s}", CHOSEN),
    ("mật khẩu: {s}", CHOSEN),
    ("the pw is {s}, said bob", "Kq8zx=W2p7"),
    (f'tokens: ["{HEXADECIMAL}", "{{s}}"]', DRAWN),
)


def test_lines_of_a_private_key_go_without_armour(redactor: Redactor) -> None:
    """What a sentence announces as a private key goes to its last line."""
    lines = [DRAWN * 2 + "0Aa8", "Zk" + DRAWN * 2 + "Qp", "x7" + DRAWN]
    text = redactor.redact("the private key, no header:\n\n" + "\n".join(lines) + "\n").text
    assert not any(line in text for line in lines)


test_words_that_announce_no_secret_stay = stays(
    "Public keys, titles, files, rules for passwords, words that end in `sk`.",
    f"public key:\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA{DRAWN}{DRAWN}\n",
    f"fix token\n{HEXADECIMAL[:12]}",
    "The private key is here:\n\n    config/certs/server2024.key\n",
    "забыли пароль? смотрите раздел: помощь",
    "a senha deve ter: 8 caracteres",
    "task: build2024 and risk: high2",
    "the master key of users2024 was dropped",
)
