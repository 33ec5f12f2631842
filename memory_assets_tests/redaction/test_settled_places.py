"""Secrets of words in places that settle what they are: settings with a name and a quoted value,
arguments, dialogues of servers, settings of devices, rows of bytes and of words."""

from __future__ import annotations

from memory_assets.redaction import Redactor
from memory_assets_tests.sweep import sweep

BYTES = "5c 91 0a c4 77 5e b2 08 d6 41 9c e3 20 7b 58 aa"
PHRASE = "ankle brave cloth dizzy eager fable gadget habit icon jelly kitten lemon"

SETTLED = (
    ('#define WIFI_PSK  "lemonade4two"', "lemonade4two"),
    ('#define OTA_PW    "thyme"', "thyme"),
    ('#define  AP_PASSWORD\t"rosemary"', "rosemary"),
    ('self.jwt_secret = "heron-boat"', "heron-boat"),
    ('rcon_password "zombie_uh_oh"', "zombie_uh_oh"),
    ('set g_password "wednesday"', "wednesday"),
    ('hostname "x"\nsv_password "owls"\n', "owls"),
    ('gpg --batch --passphrase "new oak chair" -d x', "new oak chair"),
    ("gpg2 --passphrase 'thin red kettle' --decrypt y", "thin red kettle"),
    ('borg --passphrase="wet grey stone" list', "wet grey stone"),
    (" wpa-psk ascii 0 corridorlight\n!\n", "corridorlight"),
    ("set psksecret harvestmoon\n", "harvestmoon"),
    ("  plain-text-password-value tangerine;", "tangerine"),
    ("USER bob\n331 Password required\nPASS kartoffel\n230 ok", "kartoffel"),
    ("> USER scans\n< 331 go on\n> PASS herbst-laub\n< 230 ok", "herbst-laub"),
    ("+OK ready\nUSER ada\n+OK\nPASS quince\n+OK", "quince"),
    ("community string: ward-rw", "ward-rw"),
    ("snmp-community = kestrel", "kestrel"),
    ("Community string: printers-ro", "printers-ro"),
    (f"Session key (hex): {BYTES}", BYTES),
    (f"AppKey: {BYTES.replace(' ', ':')}", BYTES.replace(" ", ":")),
    (f"secret key = {BYTES.upper()}", BYTES.upper()),
    (f"seed phrase for the wallet: {PHRASE}", PHRASE),
    (f"The mnemonic is\n{PHRASE}, keep it", PHRASE),
    (f"Recovery words, in order: {PHRASE.replace(' ', ', ')}.", PHRASE.replace(" ", ", ")),
)


@sweep("text,value", SETTLED)
def test_words_go_where_the_place_settles_that_they_are_a_secret(
    text: str, value: str, redactor: Redactor
) -> None:
    """Each place with three values of different looks."""
    assert value not in redactor.redact(text).text


@sweep(
    "text",
    [
        '#define PASSWORD_LABEL "Enter your password"',
        'bind "rcon_password" to x',
        'the option `--passphrase "..."` is',
        "USER story\nthis must\nPASS tests\n",
        "the community string is documented",
        "community string: public",
        f"Public key: {BYTES.replace(' ', ':')}",
        f"key fingerprint: {BYTES.replace(' ', ':')}",
        "The recovery words are stored in the safe and should never be typed on a computer",
        "A seed phrase is: twelve words that are used when the device was lost and must stay safe",
    ],
)
def test_what_only_resembles_such_a_place_stays(text: str, redactor: Redactor) -> None:
    """Labels, results of tests, public keys, sentences."""
    assert redactor.find(text) == ()
