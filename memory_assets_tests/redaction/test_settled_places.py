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
    (" neighbor 192.0.2.77 password tamarind\n", "tamarind"),
    ("crypto isakmp key driftwood address 198.51.100.4", "driftwood"),
    ("radius-server host 192.0.2.5 key nutcracker", "nutcracker"),
    ("set ipsec peer x authentication pre-shared-secret bluebottle", "bluebottle"),
    ("snmp-server community turnstile RW", "turnstile"),
    ("line con 0\n exec-timeout 5 0\n password gooseberry\n login\n", "gooseberry"),
    ("register => 4411:sandpiper@pbx.example.com/100", "sandpiper"),
    ('wpa2-pre-shared-key="tall amber jars"', "tall amber jars"),
    ("tunnel_shared: Xq3vT8mPz1Lk9Rb6Wn4c", "Xq3vT8mPz1Lk9Rb6Wn4c"),
    ("user cache on >marigold ~* +@read\n", "marigold"),
    ("ACL SETUSER queue on resetkeys >cormorant +@all", "cormorant"),
    ("CONFIG SET masterauth bulrush", "bulrush"),
    ("requirepass sycamore\n", "sycamore"),
    ("setx DB_PASSWORD toadstool", "toadstool"),
    ("FROM x\nENV ADMIN_PASSWORD blackthorn\n", "blackthorn"),
    ("TF_VAR_root_password=cuttlefish terraform apply", "cuttlefish"),
    ("vault kv put secret/shop db_password=barnacle", "barnacle"),
    ("consul kv put shop/smtp/password hollyhock", "hollyhock"),
    ("kcadm.sh set-password -r x --username eva --new-password larkspur", "larkspur"),
    ("net rpc join -U admin%woodpecker", "woodpecker"),
    ("plink -ssh ops@h -pw starling ls", "starling"),
    ("b2 authorize-account 0012ab peppercorn", "peppercorn"),
    ("yes chickweed | passwd ops", "chickweed"),
    ("erl -name a@h -setcookie dandelion", "dandelion"),
    ("erlangCookie: rosehip\n", "rosehip"),
    ("K3S_TOKEN=pintail k3s server", "pintail"),
    ("parse_master_key: ptarmigan\n", "ptarmigan"),
    ("k3s agent -s https://h:6443 --token turnstone", "turnstone"),
    ("ftp> user eva dotterel", "dotterel"),
    ("/msg NickServ IDENTIFY nightjar", "nightjar"),
    ("ConvertTo-SecureString -Force -AsPlainText 'wheatear'", "wheatear"),
    ("New-Object System.Net.NetworkCredential('svc', 'dunlin')", "dunlin"),
    ('bcrypt.hashSync("goldcrest", 10)', "goldcrest"),
    ("<tr><td>Password</td><td>fieldfare</td></tr>", "fieldfare"),
    ("BASIC_AUTH=guest:redstart", "redstart"),
    ("creds:\n  eva\n  whinchat\n", "whinchat"),
    ("h.example:*:*:app:linnet-song\n", "linnet-song"),
    ("user=app\npass=kittiwake\nhost=db\n", "kittiwake"),
    ("$cfg['mail']['pass'] = 'guillemot';", "guillemot"),
    ("(\n    [user] => eva\n    [pass] => razorbill\n)", "razorbill"),
    ('["pass"]=>\n  string(9) "treecreep"\n  ["host"]=>\n  string(1) "h"', "treecreep"),
    ("[1001]\ntype=friend\nsecret=bittern\nhost=dynamic\n", "bittern"),
    ('variable "db_pw" {\n  type = string\n  default = "gannet"\n}', "gannet"),
    ("Use `marmalade` as the password for the demo.", "marmalade"),
    ("Agent: Which passphrase?\nUser: capercaillie\nAgent: ok", "capercaillie"),
    ("il codice del garage è 71934", "71934"),
    ("the old PIN was 7719", "7719"),
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
        "snmp-server community public RO",
        "key-string length 32",
        "pre-shared-key authentication is required",
        "mysql -u app -p shop < dump.sql",
        "ENV PASSWORD_FILE /run/secrets/db",
        "set -x DB_PASSWORD (pass show db)",
        "kcadm.sh set-password --new-password $PW",
        'pass = 12\nfail = 0\nhost = "ci"',
        "const res = { user: name, pass: true }",
        "shared: 'libfoo', settings: 'x'",
        'variable "db_pw" {\n  type = string\n  default = null\n}',
        "[id=arn:aws:secretsmanager:eu-west-1:123456789012:secret:login-lkX8Wm]",
        "MASTER_KEY=required",
        "the pre-shared-key exchange failed during phase 1",
        "each option key maps to a handler",
        "The authentication-key rollover happens weekly",
        "HTTP_AUTH=basic:digest",
        "image: nginx:latest@registry:5000",
        "select -pw option",
        "env:\n  host: x\n  secret: app-config",
        'results = {"pass": "green", "fail": "red", "host": "ci"}',
        "ftp> user list",
        "use email as the password hint",
        "Which plan?\nUser: Papierflieger wants the small one",
        f"Public key: {BYTES.replace(' ', ':')}",
        f"key fingerprint: {BYTES.replace(' ', ':')}",
        "The recovery words are stored in the safe and should never be typed on a computer",
        "A seed phrase is: twelve words that are used when the device was lost and must stay safe",
    ],
)
def test_what_only_resembles_such_a_place_stays(text: str, redactor: Redactor) -> None:
    """Labels, results of tests, public keys, sentences."""
    assert redactor.find(text) == ()
