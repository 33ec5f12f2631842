"""Secrets among the arguments of commands. Rows as in `anchored.py`."""

from __future__ import annotations

from memory_assets.redaction.rules.anchored_rule import (
    AnchoredRule,
    anchored_rule,
    any_value,
    mixed_password,
    typed_password,
)
from memory_assets.redaction.rules.formats import sample_characters

_FILL = sample_characters("A-Za-z0-9", 60)
_SECRET = r"[\"']?(?P<secret>(?<=\")[^\"\n]{4,200}|(?<=')[^'\n]{4,200}|[^\s\"'|;&<>()`,]{4,200})"
_SHORT_ARGUMENTS = r"(?:[ \t]{1,4}[^\s|;&]{1,80}){0,12}?[ \t]{1,4}"
_ARGUMENT = r"[\"']?(?P<secret>[^\"'\s$%=][^\"'\s]{3,400})"
_NAME = r"\w{0,40}(?i:pass|pwd|secret|token|key|auth|cred)\w{0,24}"

_BY_PROGRAM = (
    ("mysql", r"mysql\w{0,12}", r"-p"),
    ("mariadb", r"mariadb[\w-]{0,12}", r"-p"),
    ("sshpass", r"sshpass", r"-p"),
    ("7z", r"7z[ar]?", r"-p"),
    ("redis-cli", r"redis-cli", r"(?:-a|--pass)[ =]"),
    ("keytool", r"keytool", r"-(?:store|key|deststore|srcstore)pass[ =]"),
    ("jarsigner", r"jarsigner", r"-(?:store|key)pass[ =]"),
    ("sqlcmd", r"sqlcmd", r"-P ?"),
    ("mosquitto_", r"mosquitto_\w{2,6}", r"(?:-P|--pw) "),
    ("zip ", r"zip", r"(?:-P|--password) "),
    ("ldap", r"ldap\w{3,10}", r"-w "),
    ("smbclient", r"smbclient", r"-U [^\s%]{1,60}%"),
    ("openssl", r"openssl(?: \w{2,12})", r"(?:-pass(?:in|out)? pass:|-k )"),
    ("xfreerdp", r"xfreerdp", r"/p:"),
    ("cmdkey", r"cmdkey", r"/pass:"),
    ("snmp", r"snmp\w{2,10}", r"-[AX] "),
    ("htpasswd", r"htpasswd(?: -\w{0,6}b\w{0,6})(?: [^\s-]\S{0,80}){2}", ""),
    ("nmcli", r"nmcli", r"(?:password|wifi-sec\.psk|wep-key0) "),
    ("http", r"https?", r"(?:-a|--auth)[ =][^\s:@/]{1,60}:"),
    ("ipmitool", r"ipmitool", r"-P "),
    ("kinit", r"kinit", r"<<< "),
    ("vncpasswd", r"vncpasswd", r"<<< "),
)
"""Beginning of the program's name, the name, and what stands right before its password."""

_SAMPLES = {
    "-p": "-p",
    r"(?:-a|--pass)[ =]": "-a ",
    r"-(?:store|key|deststore|srcstore)pass[ =]": "-storepass ",
    r"-(?:store|key)pass[ =]": "-storepass ",
    r"-P ?": "-P ",
    r"(?:-P|--pw) ": "-P ",
    r"(?:-P|--password) ": "-P ",
    r"-w ": "-w ",
    r"-U [^\s%]{1,60}%": "-U app%",
    r"(?:-pass(?:in|out)? pass:|-k )": "-passin pass:",
    r"/p:": "/p:",
    r"/pass:": "/pass:",
    r"-[AX] ": "-A ",
    "": "-b users app ",
    r"(?:password|wifi-sec\.psk|wep-key0) ": "password ",
    r"(?:-a|--auth)[ =][^\s:@/]{1,60}:": "-a app:",
    r"-P ": "-P ",
    r"<<< ": "<<< ",
}
_NAMES = {"mosquitto_": "mosquitto_pub", "zip ": "zip", "ldap": "ldapsearch", "snmp": "snmpwalk"}


def _by_program(anchor: str, program: str, flag: str) -> AnchoredRule:
    space = _SHORT_ARGUMENTS if flag else " "
    name = _NAMES.get(anchor, anchor) + (" rsa" if anchor == "openssl" else "")
    return anchored_rule(
        "command-secret",
        anchor.encode(),
        rf"{program}{space}{flag}{_SECRET}",
        typed_password,
        f"{name} {_SAMPLES[flag]}{_FILL[:12]} x",
    )


COMMANDS: tuple[AnchoredRule, ...] = (
    *(_by_program(*row) for row in _BY_PROGRAM),
    anchored_rule(
        "command-secret",
        b"sqlplus",
        r"sqlplus(?: -\w{1,8}){0,4} [\"']?[\w.]{1,60}/(?P<secret>[^\s\"'@/]{4,100})",
        typed_password,
        "sqlplus app/" + _FILL[:12] + "@orcl",
    ),
    anchored_rule(
        "command-secret",
        b"-keypass ",
        rf"(?i)-keypass {_SECRET}",
        typed_password,
        "-keypass " + _FILL[:12],
    ),
    anchored_rule(
        "command-secret",
        b"--passphrase ",
        rf"--passphrase {_SECRET}",
        typed_password,
        "gpg --batch --passphrase " + _FILL[:12] + " -d x",
    ),
    anchored_rule(
        "command-secret",
        b"net use ",
        rf"(?i)net use (?:\w: )?\\\\\S{{1,100}} (?!/){_SECRET}",
        mixed_password,
        "net use z: \\\\srv\\share " + _FILL[:12] + " /user:app",
    ),
    anchored_rule(
        "command-secret",
        b"echo ",
        rf"echo (?:-n )?{_SECRET}[\"']? ?\| ?"
        r"(?:[^\n|;&]{2,80}--password-stdin|sudo -S|kinit|cryptsetup|vncpasswd"
        r"|gpg [^\n]{0,80}--passphrase-fd|gh auth login)",
        typed_password,
        "echo " + _FILL[:12] + " | docker login -u app --password-stdin",
    ),
    anchored_rule(
        "command-secret",
        b"echo ",
        r"echo (?:-n |-e )?[\"']?[\w.-]{1,40}:(?P<secret>[^\s\"']{4,100})[\"']? ?\| ?"
        r"(?:sudo )?chpasswd",
        typed_password,
        'echo "root:' + _FILL[:12] + '" | chpasswd',
    ),
    anchored_rule(
        "command-secret",
        b"password-file=<(",
        rf"password-file=<\((?:echo|printf)(?: -n)? {_SECRET}",
        typed_password,
        "--password-file=<(echo " + _FILL[:12] + ")",
    ),
    anchored_rule(
        "command-secret",
        b"assword:",
        r"(?i)assword:\*?\\?[\"'}]{1,2};?\s{1,12}(?:exp_)?send(?: --)? \\?[\"']"
        r"(?P<secret>[^\"'\\\n]{4,100})",
        typed_password,
        'expect "assword:"; send "' + _FILL[:12] + '\\r"',
    ),
    anchored_rule(
        "command-secret",
        b"secret set ",
        r"secret set [^\n]{1,120}?(?:--body|-b|--value)[ =]" + _ARGUMENT,
        typed_password,
        'gh secret set APP --body "' + _FILL[:20] + '"',
    ),
    anchored_rule(
        "command-secret",
        b"secrets set ",
        r"secrets set [\w.-]{1,60}=" + _ARGUMENT,
        typed_password,
        "fly secrets set APP=" + _FILL[:20],
    ),
    anchored_rule(
        "command-secret",
        b"create secret generic ",
        r"create secret generic [^\n]{1,200}?--from-literal[= ][\"']?[\w.-]{1,80}=" + _ARGUMENT,
        mixed_password,
        "kubectl create secret generic app --from-literal=app=" + _FILL[:20],
    ),
    anchored_rule(
        "command-secret",
        b"setx ",
        rf"(?i)setx (?:/m )?{_NAME} {_ARGUMENT}",
        mixed_password,
        "setx APP_SECRET " + _FILL[:20],
    ),
    anchored_rule(
        "command-secret",
        b"env ",
        rf"(?<![\w.-])ENV {_NAME} {_ARGUMENT}",
        mixed_password,
        "ENV APP_SECRET " + _FILL[:20],
    ),
    *(
        anchored_rule(
            "printed-secret",
            anchor,
            rf"{pattern}\r?\n(?P<secret>[^\s<$]\S{{3,400}})(?=\s|$)",
            mixed_password,
            f"{sample}\n{_FILL[:20]}\n",
        )
        for anchor, pattern, sample in (
            (b"printenv ", rf"printenv {_NAME}", "printenv APP_SECRET"),
            (b"echo ", rf"echo [\"']?\$\{{?{_NAME}\}}?[\"']?", "echo $APP_SECRET"),
            (
                b"{.data.",
                r"\{\.data\.[^\n]{1,80}base64 -{1,2}[dD]\w{0,5}",
                "{.data.x}' | base64 -d",
            ),
        )
    ),
    anchored_rule(
        "command-secret",
        b":_auth",
        r"(?i):_auth(?:token)?[ =][\"']?(?P<secret>[\w.+/=-]{16,400})",
        any_value,
        "npm config set //registry.example.com/:_authToken " + _FILL[:32],
    ),
    anchored_rule(
        "command-secret",
        b"git config",
        r"git config [^\n]{0,80}?(?i:password|token|secret)\w{0,12} " + _ARGUMENT,
        mixed_password,
        "git config --global app.password " + _FILL[:20],
    ),
)
