"""Sentences that tell passwords, and such as tell none, made of templates and drawn values.

`told_templates.txt` has a template a line. `{S}` and `{S2}` are passwords, `{P}` a passphrase,
`{N}` a number; the others are none: `{X}` looks like one, `{H}` hosts, `{U}` users, `{F}` files,
`{T}` tickets, `{V}` versions, `{B}` names of code, `{D}` dates, `{E}` variables.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memory_assets.word_lists import words

TEMPLATES = Path(__file__).with_name("told_templates.txt")
_ENGLISH = [
    "harbor",
    "kettle",
    "walnut",
    "otter",
    "lantern",
    "copper",
    "meadow",
    "falcon",
    "orchid",
    "thistle",
    "maple",
    "tundra",
    "velvet",
    "canyon",
    "willow",
    "summit",
    "raven",
    "fjord",
    "marble",
    "heron",
    "ember",
    "quarry",
    "ripple",
    "mango",
    "sierra",
    "pelican",
    "badger",
    "teapot",
    "gravel",
    "hopper",
    "cinnamon",
    "saddle",
    "anchor",
    "violet",
    "spoon",
    "pebble",
    "cactus",
    "noodle",
    "wizard",
    "dragon",
    "banana",
    "monkey",
    "tiger",
    "butter",
    "cloud",
    "rocket",
    "puzzle",
    "summer",
    "winter",
    "autumn",
    "coffee",
    "cookie",
    "ginger",
    "pepper",
    "biscuit",
    "pickle",
    "donkey",
    "goblin",
    "castle",
    "bridge",
    "window",
    "garden",
    "river",
    "ocean",
    "island",
    "forest",
    "desert",
    "thunder",
    "rabbit",
    "turtle",
    "penguin",
    "muffin",
    "waffle",
    "pancake",
    "trumpet",
    "violin",
    "guitar",
    "piano",
    "sunset",
    "sunrise",
    "moonlight",
    "stardust",
    "blanket",
    "pillow",
    "candle",
    "mirror",
    "ladder",
    "hammer",
    "shovel",
    "bucket",
    "basket",
    "carrot",
    "potato",
    "onion",
    "tomato",
    "pumpkin",
    "cherry",
    "plum",
    "apricot",
    "clover",
    "daisy",
    "tulip",
    "sparrow",
    "robin",
    "eagle",
    "beaver",
    "moose",
    "squirrel",
    "hedgehog",
    "lobster",
    "shrimp",
    "oyster",
    "salmon",
    "herring",
]
_OTHERS = [
    "kessel",
    "gurke",
    "brille",
    "wolke",
    "schrank",
    "kaffee",
    "zucker",
    "apfel",
    "birne",
    "kirsche",
    "regenbogen",
    "himmel",
    "wiese",
    "garten",
    "fenster",
    "treppe",
    "keller",
    "zwiebel",
    "kuchen",
    "lampe",
    "schraube",
    "hammer",
    "nordlicht",
    "schnecke",
    "igel",
    "fuchs",
    "dachs",
    "eule",
    "falke",
    "ahorn",
    "eiche",
    "birke",
    "tanne",
    "sonne",
    "mond",
    "sterne",
    "winter",
    "sommer",
    "herbst",
    "flieder",
    "lavendel",
    "brezel",
    "semmel",
    "kartoffel",
    "kohlrabi",
    "rhabarber",
    "quark",
    "honig",
    "Käse",
    "Gießkanne",
    "Tür",
    "Bär",
    "Löwe",
    "soleil",
    "lune",
    "étoile",
    "chouette",
    "jardin",
    "fenêtre",
    "fromage",
    "camembert",
    "baguette",
    "cerise",
    "pomme",
    "tortue",
    "papillon",
    "girasol",
    "ventana",
    "azul",
    "verde",
    "rojo",
    "luna",
    "perro",
    "gato",
    "manzana",
    "tortuga",
    "caracola",
    "montaña",
    "gatto",
    "nero",
    "settebello",
    "tramonto",
    "limoncello",
    "grappa",
    "pizza",
    "gelato",
    "mare",
    "sole",
    "luna",
    "jabuticaba",
    "tucano",
    "abacaxi",
    "saudade",
    "praia",
    "coruja",
    "tigre",
    "delfin",
    "elefante",
    "bruma",
    "neige",
    "orage",
    "baicai",
    "xiaojie",
    "lanhai",
    "sakura",
    "mochi",
    "kaminari",
    "neko",
    "tanuki",
    "fuji",
    "polder",
    "dijk",
    "molen",
    "kaas",
    "fiets",
    "appel",
    "boter",
    "sneeuw",
    "zima",
    "slonce",
    "kwiat",
    "borsuk",
    "wiewiorka",
    "medved",
    "sneg",
    "zvezda",
    "lilja",
    "fjell",
    "björn",
    "räv",
]
_WORDS = _ENGLISH * 2 + _OTHERS
_FILLINGS = {
    "H": [
        "db1.example.com",
        "build-03",
        "pi",
        "10.0.0.4",
        "staging",
        "web-prod-2",
        "files.intern.example",
        "nas",
        "the-nas",
        "bastion",
        "grafana.corp.local",
        "ip-10-2-3-4",
        "jenkins2",
        "node14",
        "host7.lan",
        "vps",
        "the-router",
        "prod-eu1",
        "https://wiki.example.com/login",
        "k8s-master-01",
        "gitlab.lan:8443",
    ],
    "U": [
        "admin",
        "root",
        "svc-reader",
        "klaus",
        "ines",
        "pi",
        "deploy",
        "contractor-07",
        "ann.b",
        "test_user1",
        "jdoe",
        "ops-bot",
        "qa2",
        "maria",
        "alice",
        "bob",
        "guest",
        "svc_ingest",
        "praktikum3",
        "a.meier@firma.example",
        "user42",
        "Postgres",
        "sa",
        "operator",
    ],
    "F": [
        "/etc/app/db.conf",
        ".env.local",
        "auth.py",
        "config/settings.yml",
        "LoginForm.tsx",
        "~/.pgpass",
        "docker-compose.yml",
        "src/auth/login.ts",
        "test_login.py",
        "vault/prod.yaml",
        "README.md",
        "~/safe.kdbx",
        "application-prod.properties",
        "login-v2.html",
        "pw_reset.sql",
        "useLogin.ts",
    ],
    "T": words("OPS-2291 #4431 INC0012345 SEC-17 PR#88 JIRA-1203 #12 GH-204"),
    "V": [
        "v2.3.1",
        "3.11",
        "2024.1",
        "PostgreSQL16",
        "python3.12",
        "1.19.0-rc1",
        "Node18",
        "12.4",
        "OpenSSL3",
        "v1",
    ],
    "D": [
        "2024-05-01",
        "Friday",
        "12:30",
        "May-3rd",
        "yesterday",
        "2025-11-03T10:00",
        "monday",
        "31.12.",
    ],
    "E": words("DB_PASSWORD $PGPASSWORD APP_SECRET ${DB_PASS} GRAFANA_ADMIN_PASSWORD"),
    "B": [
        "feature/login-v2",
        "auth_token_v2",
        "user_sessions",
        "AES-256-GCM",
        "bcrypt",
        "argon2id",
        "sha256",
        "refreshToken",
        "useAuthStore",
        "LoginService",
        "app_db",
        "Kontor-5G",
        "oauth2-proxy",
        "PBKDF2",
        "is_password_set",
        "validatePassword()",
        "PASSWORD_HASHERS",
        "pg_hba",
        "auth.login.title",
        "WIP-login",
        "HTTP401",
        "x-auth-token",
        "test-runner-2",
        "kv-v2",
        "ed25519",
        "passlib[bcrypt]",
        "pwd_context",
        "2fa-setup",
        "login_attempts",
        "zxcvbn",
        "react-hook-form",
        "SecureField2",
        "LoginController2",
        "constantTimeCompare2",
        "Uint8Array",
        "RoundTripper",
        "io.PipeWriter",
        "seal_aes_gcm",
        "FIDO2",
        "OAuth2",
        "Pass2Render",
        "NIST800-63B",
        "GPIO17",
        "wlan0",
        "ttys001",
        "qt6-wayland",
        "protocol.V0",
        "XtsAes128",
        "chacha20-poly1305",
        "page.evaluate()",
        "side-by-side",
        "non-fatal",
        "one-time-code",
        "req_011Ca22moueotAja6uwop4cY",
        "28d1aa6e28e7f9b",
        "WPA2-PSK",
        "models.CharField(max_length=128)",
        "token_urlsafe(16)",
        "getpass()",
        "end-to-end",
        "server-side",
        "case-sensitive",
        "HMAC-SHA1",
        "E2E",
        "TestLoginV2Fails",
        "self.password2",
        "form.password1",
        "$password",
        "$1",
        "%s",
        "{password}",
        "<password>",
        "********",
        "1Password",
        "KeePassXC2",
        "x509",
        "ssh-ed25519",
        "Argon2id",
        "PasswordField",
        "user.pw_hash",
        "login_form.html",
        "SecretStr",
        "SecretBytes",
        "AuthToken",
        "PasswordHash",
        "UserCredentials",
    ],
}
_SIGNS = "!#$%&*+?@^~=;"
_FORMS = (
    *["w0"] * 8, *["W00"] * 10, *["W0!"] * 5, *["w-w-0"] * 6, *["W-W-0"] * 5, *["w-w-w"] * 6,
    *["W_W"] * 4, *["w_w"] * 4, *["w_0"] * 4, *["W_0"] * 3, *["W.0"] * 3, *["W.w"] * 3,
    *["w.w.0"] * 2, *["WW"] * 4, *["WW0"] * 4, *["W!W"] * 5, *["w!w"] * 4, *["W!W0"] * 3,
    *["w!0"] * 3, *["lw"] * 2, *["l-w"] * 2, *["L0"] * 3, *["w0w"] * 3, *["0W"] * 2, *["0w0"] * 2,
    *["U-0"] * 2, *["U0"] * 2, *["x"] * 8, *["W-x"] * 3, *["w"] * 5, *["ww"] * 4, *["W"] * 3,
    *["www"] * 2, "0w&w", "0w&w", "W/w/0", "W#0", "w~0", "W;W;0",
)  # fmt: skip
"""How chosen passwords are made: `w` a word, `W` with a capital, `U` in capitals, `l` and `L` with
digits for letters, `0` a number, `!` a sign, `x` drawn characters; the rest stands for itself."""
_LEET = {"a": "4", "e": "3", "i": "1", "o": "0", "s": "5"}
_SLOT = re.compile(r"\{(S2?|P|N|X|H2?|U2?|F|T|V|B|D|E)\}")
_QUOTES = ("``", "''", '""', "“”")
_FIRST = (*[""] * 7, "ok, ", "Hi! ", "fyi ", "Note: ", "> ", "- ", "so ", "btw ", "Update: ")
_LAST = (*[""] * 6, ".", " please", "?", ", thanks", " (I checked)", ". Then restart it.", "!")


class Sentence(NamedTuple):
    """A text, who wrote it, what it is (`prose`, `harmless`), and the ranges of its secrets."""

    author: str
    kind: str
    text: str
    secrets: tuple[tuple[int, int], ...]


def sentences(number: int, seed: int) -> Iterator[Sentence]:
    """Yield so many texts of one or two templates."""
    chance = random.Random(seed)
    lines = TEMPLATES.read_text("utf-8").splitlines()
    templates = [line.replace("\\n", "\n") for line in lines if line and line[0] != "#"]
    for _ in range(number):
        text, secrets = chance.choice(_FIRST), list[tuple[int, int]]()
        for part in range(1 + (chance.random() < 0.25)):
            if part:
                text += chance.choice((". ", "\n", " — "))
            text = _filled(text, chance.choice(templates), secrets, chance)
        yield Sentence("made", "prose", text + chance.choice(_LAST), tuple(secrets))


def _filled(text: str, template: str, secrets: list[tuple[int, int]], chance: random.Random) -> str:
    """Return `text` and the template with drawn values, and note its secrets."""
    at = 0
    for slot in _SLOT.finditer(template):
        text += template[at : slot.start()]
        at = slot.end()
        kind = slot[1][0]
        value = _value(kind, chance)
        secret = kind in "SPN"
        quotes = ""
        if chance.random() < 0.12 and kind not in "ND" and text[-1:] not in "\"'`“«„「":
            quotes = chance.choice(_QUOTES if secret else _QUOTES[:1])
        text += quotes[:1]
        if secret:
            secrets.append((len(text), len(text) + len(value)))
        text += value + quotes[1:]
    return text + template[at:]


def _value(kind: str, chance: random.Random) -> str:
    """Return a drawn value for a slot."""
    if kind in "SX":
        return "".join(_piece(letter, chance) for letter in chance.choice(_FORMS))
    if kind == "P":
        said = [chance.choice(_WORDS) for _ in range(chance.randint(3, 6))]
        if chance.random() < 0.4:
            said[chance.randrange(1, len(said))] = chance.choice(("the", "in", "of", "und", "de"))
        return " ".join(said)
    if kind == "N":
        return "".join(chance.choices(string.digits, k=chance.choice((4, 4, 4, 5, 6, 6, 8))))
    return chance.choice(_FILLINGS[kind])


def _piece(letter: str, chance: random.Random) -> str:
    word = chance.choice(_WORDS)
    if letter in "lL":
        word = "".join(_LEET.get(sign, sign) if chance.random() < 0.45 else sign for sign in word)
    if letter in "wl":
        return word
    if letter in "WL":
        return word[0].upper() + word[1:]
    if letter == "U":
        return word.upper()
    if letter == "0":
        return str(chance.choice((chance.randint(1, 99), chance.randint(100, 2030))))
    if letter == "!":
        return chance.choice(_SIGNS)
    if letter == "x":
        return "".join(
            chance.choices(string.ascii_letters + string.digits * 2, k=chance.randint(7, 16))
        )
    return letter
