"""Secrets among the arguments of commands. Rows as in `anchored.py`."""

from __future__ import annotations

from memory_assets.redaction.rules.anchored_rule import (
    AnchoredRule,
    any_value,
    mixed_password,
    rule,
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

COMMANDS: tuple[AnchoredRule, ...] = (
    *(rule("command-secret", anchor, typed_password,
           rf"{program}{_SHORT_ARGUMENTS if flag else ' '}{flag}{_SECRET}",
           f"{_NAMES.get(anchor, anchor)}{' rsa' * (anchor == 'openssl')}"
           f" {_SAMPLES[flag]}{_FILL[:12]} x")
      for anchor, program, flag in _BY_PROGRAM),
    rule("command-secret", "sqlplus", typed_password,
         r"sqlplus(?: -\w{1,8}){0,4} [\"']?[\w.]{1,60}/(?P<secret>[^\s\"'@/]{4,100})",
         "sqlplus app/" + _FILL[:12] + "@orcl"),
    rule("command-secret", "-keypass ", typed_password, rf"(?i)-keypass {_SECRET}",
         "-keypass " + _FILL[:12]),
    rule("command-secret", "--passphrase ", typed_password, rf"--passphrase {_SECRET}",
         "gpg --batch --passphrase " + _FILL[:12] + " -d x"),
    rule("command-secret", "net use ", mixed_password,
         rf"(?i)net use (?:\w: )?\\\\\S{{1,100}} (?!/){_SECRET}",
         "net use z: \\\\srv\\share " + _FILL[:12] + " /user:app"),
    rule("command-secret", "echo ", typed_password,
         rf"echo (?:-n )?{_SECRET}[\"']? ?\| ?"
         r"(?:[^\n|;&]{2,80}--password-stdin|sudo -S|kinit|cryptsetup|vncpasswd"
         r"|gpg [^\n]{0,80}--passphrase-fd|gh auth login)",
         "echo " + _FILL[:12] + " | docker login -u app --password-stdin"),
    rule("command-secret", "echo ", typed_password,
         r"echo (?:-n |-e )?[\"']?[\w.-]{1,40}:(?P<secret>[^\s\"']{4,100})[\"']? ?\| ?"
         r"(?:sudo )?chpasswd", 'echo "root:' + _FILL[:12] + '" | chpasswd'),
    rule("command-secret", "password-file=<(", typed_password,
         rf"password-file=<\((?:echo|printf)(?: -n)? {_SECRET}",
         "--password-file=<(echo " + _FILL[:12] + ")"),
    rule("command-secret", "assword:", typed_password,
         r"(?i)assword:\*?\\?[\"'}]{1,2};?\s{1,12}(?:exp_)?send(?: --)? \\?[\"']"
         r"(?P<secret>[^\"'\\\n]{4,100})", 'expect "assword:"; send "' + _FILL[:12] + '\\r"'),
    rule("command-secret", "secret set ", typed_password,
         r"secret set [^\n]{1,120}?(?:--body|-b|--value)[ =]" + _ARGUMENT,
         'gh secret set APP --body "' + _FILL[:20] + '"'),
    rule("command-secret", "secrets set ", typed_password, r"secrets set [\w.-]{1,60}=" + _ARGUMENT,
         "fly secrets set APP=" + _FILL[:20]),
    rule("command-secret", "create secret generic ", mixed_password,
         r"create secret generic [^\n]{1,200}?--from-literal[= ][\"']?[\w.-]{1,80}=" + _ARGUMENT,
         "kubectl create secret generic app --from-literal=app=" + _FILL[:20]),
    rule("command-secret", "setx ", mixed_password, rf"(?i)setx (?:/m )?{_NAME} {_ARGUMENT}",
         "setx APP_SECRET " + _FILL[:20]),
    rule("command-secret", "env ", mixed_password, rf"(?<![\w.-])ENV {_NAME} {_ARGUMENT}",
         "ENV APP_SECRET " + _FILL[:20]),
    *(rule("printed-secret", anchor, mixed_password,
           rf"{pattern}\r?\n(?P<secret>[^\s<$]\S{{3,400}})(?=\s|$)", f"{sample}\n{_FILL[:20]}\n")
      for anchor, pattern, sample in (
          ("printenv ", rf"printenv {_NAME}", "printenv APP_SECRET"),
          ("echo ", rf"echo [\"']?\$\{{?{_NAME}\}}?[\"']?", "echo $APP_SECRET"),
          ("{.data.", r"\{\.data\.[^\n]{1,80}base64 -{1,2}[dD]\w{0,5}", "{.data.x}' | base64 -d"))),
    rule("command-secret", ":_auth", any_value,
         r"(?i):_auth(?:token)?[ =][\"']?(?P<secret>[\w.+/=-]{16,400})",
         "npm config set //registry.example.com/:_authToken " + _FILL[:32]),
    rule("command-secret", "git config", mixed_password,
         r"git config [^\n]{0,80}?(?i:password|token|secret)\w{0,12} " + _ARGUMENT,
         "git config --global app.password " + _FILL[:20]),
)  # fmt: skip
