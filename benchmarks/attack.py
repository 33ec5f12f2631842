"""A second attack on redaction: secrets placed where agents leave them, in forms of its own.

    python benchmarks/attack.py [--seed 2] [--leaks] [--unseen re-9]

Each of the placements below holds one value of each of four kinds (a vendor's token, a random
password with symbols, a password that a person chose, hex digits). Each is redacted as a record
of its own session, both passes. A value leaks if half of it in a row (six characters or more), or
half of the form in which it was placed, is in any field of what is left. Placements were written
without looking at what the rules found then (re-6); re-8 was made with them at hand, and
`--unseen re-8` and `--unseen re-9` try 30 others each, written after these. Prints a table by
class, and with `--leaks` the names of what leaked.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import random
import string
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from memory_assets.models import Kind, Record
from memory_assets.redaction import Redactor, load_redactor
from memory_assets.redaction.session_redactor import texts_of

Form = Callable[[str], str]
ALNUM = string.ascii_letters + string.digits


def plain(value: str) -> str:
    """The value as it is."""
    return value


def b64(value: str) -> str:
    """Base64 of a line that assigns it."""
    return base64.b64encode(f"DB_PASSWORD={value}\n".encode()).decode()


def b64_twice(value: str) -> str:
    """Base64 of that base64."""
    return base64.b64encode(b64(value).encode()).decode()


def zipped(value: str) -> str:
    """Base64 of gzip, as `tar cz | base64` prints it."""
    return base64.b64encode(gzip.compress(f"DB_PASSWORD={value}\n".encode(), mtime=0)).decode()


def hexed(value: str) -> str:
    """Hex digits, as `xxd -p` prints them."""
    return value.encode().hex()


def wrapped(value: str) -> str:
    """Broken by a terminal after 12 characters."""
    return f"{value[:12]}\n{value[12:]}"


def spaced(value: str) -> str:
    """A zero-width space after every fourth character, as rich text editors leave them."""
    return "\u200b".join(value[at : at + 4] for at in range(0, len(value), 4))


def fullwidth(value: str) -> str:
    """Full-width letters and digits."""
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in value)


def concatenated(value: str) -> str:
    """Two literals that code joins."""
    return f'{value[:10]}" + "{value[10:]}'


def dumped(value: str) -> str:
    """A hex dump with its text column, sixteen bytes a line."""
    data = f"password={value}".encode()
    return "\n".join(
        f"{at:08x}  {data[at : at + 16].hex(' ')}  |{data[at : at + 16].decode()}|"
        for at in range(0, len(data), 16)
    )


@dataclass(frozen=True)
class Placement:
    """A text around `{v}`: in what class and kind of record, and the form of the value in it."""

    group: str
    template: str
    form: Form = plain
    kind: Kind = "tool_result"
    tool: str = "Bash"
    command: str = ""


def _rows() -> Iterator[Placement]:
    def rows(group: str, *templates: str, **more: object) -> Iterator[Placement]:
        for template in templates:
            yield Placement(group, template, **more)  # type: ignore[arg-type]

    yield from rows(
        "output of a tool",
        "? Enter the admin password: {v}\nWelcome back, admin.",
        "Created user deploy with password {v} (change it at first login)",
        "Generated root credentials\n  username: root\n  password: {v}\n",
        "connecting to amqp://svc:{v}@mq.internal:5672/prod ... ok",
        "export RELEASE_SIGNING_KEY='{v}' # do not commit",
        "secret/data/ci\n====== Data ======\nKey      Value\n---      -----\ntoken    {v}\n",
        "set-cookie: session={v}; Path=/; HttpOnly",
        "Login with: az login --service-principal -u app -p {v} --tenant t",
    )
    yield from rows(
        "edit or notebook",
        'old_string:\nclient = Client(api_key="{v}")\nnew_string:\nclient = Client()',
        "content:\nDATABASES = {{'default': {{'USER': 'app', 'PASSWORD': '{v}'}}}}\n",
        "new_source:\nimport os\nos.environ['SERVICE_TOKEN'] = '{v}'\n",
        "new_source:\n%env API_SECRET={v}\n",
        "new_source:\nlogin(token='{v}')  # notebook_login() does not work here\n",
        "new_string:\nspring.datasource.password={v}\n",
        'new_string:\n  <add key="SmtpPassword" value="{v}" />\n',
        kind="tool_use",
        tool="Edit",
    )
    yield from rows(
        "MCP result",
        '{{"content":[{{"type":"text","text":"{{\\"access_token\\":\\"{v}\\"}}"}}]}}',
        '{{"secrets":[{{"name":"prod-db","value":"{v}"}}]}}',
        '{{"env":[{{"key":"STRIPE_SECRET","value":"{v}","target":["production"]}}]}}',
        "Row 1: id=7 | login=root | passwd={v} | active=t",
        '<secret name="db">\n  <value>{v}</value>\n</secret>',
        tool="mcp__vendor__get",
    )
    yield from rows(
        "prompt or answer",
        "the wifi password is {v}, try again",
        "use this key: {v}",
        "My GitLab PAT ({v}) expired, I think",
        "I rotated it. new secret = {v}",
        "ssh in as root, pw {v}, then restart nginx",
        "![screenshot of the vault, api key {v}](vault.png)",
        '<img src="k.png" alt="admin password: {v}">',
        "> From: ops\n> your temporary password: {v}\n>\nIs that ok?",
        kind="prompt",
        tool="",
    )
    yield from rows(
        "diff",
        "diff --git a/app.py b/app.py\n@@ -1 +1 @@\n-TOKEN = '{v}'\n+TOKEN = os.environ['TOKEN']\n",
        "diff --git a/c.yml b/c.yml\n@@ -3 +3 @@\n-  passphrase: {v}\n+  passphrase: ENC[x]\n",
        "@@ -1 +1 @@\n-requirepass {v}\n+requirepass changed\n",
        "commit 1234567\n    remove hard-coded password {v} from tests\n",
    )
    yield from rows(
        "crash dump or log",
        "Traceback (most recent call last):\n  File 'a.py', line 1\n    connect(password='{v}')\n",
        "KeyError: 'x'\nlocals: {{'self': <C>, 'api_key': '{v}', 'n': 3}}",
        "panic: dial mysql root:{v}@tcp(10.0.0.1:3306)/app: refused",
        "at Object.login (user=bob, password={v})\n    at main.js:1",
        "DEBUG http: POST /login body=user=bob&password={v}&next=/",
        "WARN invalid credentials for bob/{v}",
        "Invalid API key provided: {v}.",
        "core: environ SHELL=/bin/sh\\0DB_PASS={v}\\0HOME=/root\\0",
    )
    yield from rows(
        "shell history",
        "  501  mysql -uroot -p{v} app",
        ": 1700000000:0;curl -u bob:{v} https://h/",
        "  12  echo {v} | sudo -S apt update",
        "  13  sshpass -p {v} ssh root@h",
        "  14  openssl enc -aes-256-cbc -k {v} -in a",
        "  15  redis-cli -a {v} ping",
        "  16  htpasswd -b .htpasswd bob {v}",
        "  17  ldapsearch -D cn=admin -w {v} -b dc=x",
        "  18  zip -P {v} out.zip a",
        "  19  smbclient //h/share -U bob%{v}",
        command="history | tail",
    )
    yield from rows(
        "here-document",
        "command:\ncat > /tmp/a.conf <<EOF\n[client]\nuser=root\npassword={v}\nEOF",
        "command:\nmysql <<SQL\nALTER USER 'a'@'%' IDENTIFIED BY '{v}';\nSQL",
        "command:\npsql <<'X'\nCREATE ROLE a LOGIN PASSWORD '{v}';\nX",
        "command:\npython - <<'PY'\nlogin('bob', password='{v}')\nPY",
        "command:\nftp -n h <<E\nuser bob {v}\nE",
        "command:\nchpasswd <<< 'root:{v}'",
        kind="tool_use",
    )
    yield from rows(
        "URL",
        "GET https://api.h.io/v1/x?api_key={v}&page=2",
        "https://h.io/reset?token={v}",
        "git clone https://oauth2:{v}@git.h.io/a/b.git",
        "redirected to http://localhost:8000/cb#access_token={v}&state=1",
        "https://hooks.h.io/services/T0/B0/{v}",
        "wss://h.io/socket?auth={v}",
    )
    yield from (
        Placement("URL", "https://h.io/cb?password={v}&a=1", lambda v: quote(v, safe="")),
        Placement("encoded", "ZGF0YQ== {v}", b64),
        Placement("encoded", "data:\n  config: {v}\n", b64),
        Placement("encoded", "echo {v} | base64 -d | base64 -d", b64_twice),
        Placement("encoded", "$ tar cz env | base64\n{v}\n", zipped),
        Placement("encoded", "$ xxd -p key\n{v}\n", hexed),
        Placement("encoded", "{v}", dumped, command="hexdump -C key"),
        Placement("encoded", '\\x70ass: "{v}"', lambda v: json.dumps(json.dumps(v))[1:-1]),
        Placement("broken or disguised", "API_KEY={v}\nnext", wrapped),
        Placement("broken or disguised", "password: {v}", spaced),
        Placement("broken or disguised", "password: {v}", fullwidth),
        Placement("broken or disguised", 'api_key = "{v}"', concatenated),
        Placement("broken or disguised", "p\u0430ssword: {v}"),
        Placement("broken or disguised", "\x1b[1mpass\x1b[0mword=\x1b[32m{v}\x1b[0m"),
    )


UNSEEN = (
    "helm upgrade app --set auth.rootToken={v} --set image.tag=2",
    'ansible-playbook site.yml -e "vault_pass={v} env=prod"',
    "docker login -u bob -p {v} reg.h.io",
    'terraform output\nadmin_secret = "{v}"',
    "The bearer for staging changed to {v} yesterday.",
    "2026-11-23 ERROR auth failed: token={v} ip=1.2.3.4",
    '{{"headers":{{"x-acme-key":"{v}"}},"ok":true}}',
    'const stripe = new Stripe("{v}");',
    'conn = psycopg2.connect("dbname=a user=b password={v}")',
    '<input type="password" name="pw" value="{v}">',
    "git remote set-url origin https://bob:{v}@git.h.io/x.git",
    'curl -H "Authorization: Token {v}" https://h.io',
    "export AWS_SESSION_TOKEN={v}",
    "[default]\nregion = eu\napi_secret={v}",
    "- secretRef: db\n  literal: {v}",
    "Slack: @bob here is the staging secret `{v}`",
    "kubectl create secret generic s --from-literal=k={v}",
    "grafana admin login: admin / {v}",
    "set session password to {v} for user 7",
    "wp config create --dbuser=a --dbpass={v}",
    'env: {{ NPM_TOKEN: "{v}", CI: "1" }}',
    'properties.put("sasl.password", "{v}");',
    "vault write auth/approle/login role_id=a secret_id={v}",
    "Your one-time login code/token: {v}. It expires soon.",
    'print(f"token is {v}")\ntoken is {v}',
    'echo "machine h.io login bob password {v}" >> ~/.netrc',
    "SET GLOBAL replication_password = '{v}';",
    "az keyvault secret set --vault-name v --name n --value {v}",
    "| service | access key |\n|---|---|\n| s3 | {v} |",
    'auth:\n  - user: bob\n    key: "{v}"',
)
"""Written after re-8, of which no rule was changed for them."""

LATER = (
    "fyi prod pw changed -> {v} (dont share)",
    "$ heroku config\nSENDGRID_KEY:  {v}\nPORT: 5000",
    "Traceback: InvalidToken('{v}')",
    "docker-compose.yml\n  environment:\n    - REDIS_AUTH={v}",
    "postgres=# alter user bob with encrypted password '{v}';",
    'resource "x" "y" {{\n  admin_pass = "{v}"\n}}',
    "curl https://h.io/v2/users -G --data-urlencode 'token={v}'",
    "Use basic auth: bob / {v}",
    "ssh bob@h.io  # password {v}",
    "<connectionString>Server=h;User=sa;Pwd={v};</connectionString>",
    "INFO  connecting with key={v} region=eu",
    "sudo mount.cifs //h/s /m -o user=bob,pass={v}",
    "import acme\nacme.api_key = '{v}'",
    "client = Client(token='{v}', timeout=3)",
    'await page.fill("#password", "{v}")',
    "psql: FATAL: password authentication failed ({v})",
    "[credentials]\nuser: bob\npass: {v}",
    "nomad var put x password={v}",
    "git push https://bob:{v}@h.io/x.git main",
    "wrangler secret put KEY <<< {v}",
    "POST /oauth/token\ngrant_type=password&username=bob&password={v}",
    "x-webhook-secret: {v}",
    "https://h.io/api/hooks/{v}",
    "https://h.io/accept-invite?token={v}",
    "amqp://svc:{v}@mq:5672/prod",
    "matrix://bob:{v}@h.io/#room",
    "| env | db password |\n|---|---|\n| prod | {v} |",
    "Login Daten: bob, Passwort {v}",
    '{{"type":"password","name":"db","value":"{v}"}}',
    "echo '{v}' > ~/.vault-token",
)
"""Written after re-9, of which no rule was changed for them."""
UNSEEN_SETS = {"re-8": UNSEEN, "re-9": LATER}


def _values(draw: random.Random) -> dict[str, str]:
    def some(alphabet: str, length: int) -> str:
        return "".join(draw.choices(alphabet, k=length))

    word = draw.choice(("Harbor", "Lantern", "Sunset", "Orchid", "Falcon", "Winter"))
    vendors = ("ghp_", "glpat-", "npm_", "hf_")
    lengths = (36, 20, 36, 34)
    at = draw.randrange(len(vendors))
    return {
        "vendor's token": vendors[at] + some(ALNUM, lengths[at]),
        "random password": some(ALNUM, 9) + draw.choice("!$*+") + some(ALNUM, 8),
        "chosen password": f"{word}{draw.randrange(100, 9999)}{draw.choice('!#?')}",
        "hex digits": some("0123456789abcdef", 32),
    }


def left_of(redactor: Redactor, placement: Placement, placed: str) -> str:
    """Return all that is kept of a record with the placement, both passes made."""
    text = placement.template.format(v=placed)
    command = placement.command
    if placement.kind == "tool_use" and text.startswith("command:\n"):
        command = text.removeprefix("command:\n")
    record = Record(
        agent="claude-code",
        session_id="00000000-0000-4000-8000-000000000001",
        agent_id=None,
        seq=0,
        record_uuid="00000000-0000-4000-8000-000000000002",
        parent_uuid=None,
        byte_start=0,
        byte_end=1,
        timestamp=datetime(2026, 1, 1, tzinfo=UTC),
        role="tool" if placement.kind == "tool_result" else "user",
        kind=placement.kind,
        text=text,
        tool_name=placement.tool,
        command=command,
        cwd="/srv/app",
    )
    session = redactor.session(record.session_id)
    first = session.redact_record(record, project="p", project_root="/srv/app")
    return "\n".join(map(str, texts_of(session.propagate(first).record).values()))


def _half_left(value: str, left: str) -> bool:
    """Return True if half of a value stands in a row in what is left."""
    half = max(6, (len(value) + 1) // 2)
    return any(value[at : at + half] in left for at in range(len(value) - half + 1))


def main() -> None:
    """Try every placement with every kind of value, and print what leaked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--leaks", action="store_true", help="name what leaked")
    parser.add_argument("--unseen", choices=UNSEEN_SETS, help="try those written after a ruleset")
    options = parser.parse_args()
    unseen = [Placement("unseen", text) for text in UNSEEN_SETS.get(options.unseen, ())]
    placements = unseen or _rows()
    draw = random.Random(options.seed)
    redactor = load_redactor(key=bytes(32))
    tried: Counter[tuple[str, str]] = Counter()
    leaked: Counter[tuple[str, str]] = Counter()
    for placement in placements:
        for kind, value in _values(draw).items():
            placed = placement.form(value)
            left = left_of(redactor, placement, placed)
            through = _half_left(value, left) or _half_left(placed, left)
            for key in ((placement.group, kind), (placement.group, ""), ("all", kind), ("all", "")):
                tried[key] += 1
                leaked[key] += through
            if through and options.leaks:
                form = (
                    "" if placement.form is plain else f" [{placement.form.__doc__ or 'encoded'}]"
                )
                print(f"{placement.group}, {kind}: {placement.template!r}{form}")
    kinds = list(_values(draw))
    print(f"Ruleset `{redactor.ruleset_version}`, seed {options.seed}.\n")
    print(f"| class | leaked | {' | '.join(kinds)} |\n|{'---|' * (2 + len(kinds))}")
    for group in dict.fromkeys(group for group, _ in tried):
        cells = [f"{leaked[group, kind]} of {tried[group, kind]}" for kind in ("", *kinds)]
        print(f"| {group} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
