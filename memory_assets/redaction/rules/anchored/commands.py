"""Secrets among the arguments of commands. Rows as in `table.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.redaction.rules.anchored.positions import POSITIONS
from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    HEX,
    AnchoredRule,
    any_value,
    argument_password,
    drawn_value,
    likely_password,
    mixed_password,
    placed_password,
    rule,
    rule_above,
    typed_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated

_SECRET = r"[\"']?(?P<secret>(?<=\")[^\"\n]{4,200}|(?<=')[^'\n]{4,200}|[^\s\"'|;&<>()`,]{4,200})"
_SHORT_ARGUMENTS = r"(?:[ \t]{1,4}[^\s|;&]{1,80}){0,12}?[ \t]{1,4}"
_ARGUMENT = r"[\"']?(?P<secret>[^\"'\s$%=][^\"'\s]{3,400})"
_NAME = r"\w{0,40}(?i:pass|pwd|secret|token|key|auth|cred)\w{0,24}"

_ANY_ARGUMENT = r"[\"']?(?P<secret>[^\s\"'$%=|;&<>()`,-][^\s\"'|;&<>()`,]{5,400})"
_SETTING = r"(?:auth-?|api-?)?(?:token|key|secret|license|password)"
_LITERAL = re.compile(
    rf"--from-literal[= ][\"']?(?P<name>[\w.-]{{1,80}})={_ARGUMENT}|(?<!\\)(?P<end>\n)"
)
_OF_PLACE = re.compile(r"(?i)user|login|name|host|url|port|addr|region|mail|bucket|env$|id$|db$")
_LONGEST_COMMAND = 1_000
_PORT = re.compile(r"^\d+(?:/\w+)?$|:\d+(?:/\w+)?$")
_DRAWN = 6
_CERTAIN = 22
"""Bits of evidence after options that take all kinds of values."""


def _drawn_argument(value: str) -> bool:
    """Return True if `value` can only be a password or token: an argument where settings are given,
    too."""
    return (
        mixed_password(value) and (is_generated(value, _DRAWN) or values.is_chosen(value))
    ) or values.is_uuid(value)


def _stored_in_vault(value: str) -> bool:
    """Return True if `value`, stored in a vault among settings, is a secret."""
    return _drawn_argument(value) or likely_password(value)


def _given_password(value: str) -> bool:
    """Return True if `value`, of an option for passwords, is one: also a word."""
    return typed_password(value) or (len(value) >= 4 and argument_password(value))


def _literals(text: str, command: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the values of a secret that is created of literals, but for those that name a user or
    a host."""
    for literal in _LITERAL.finditer(text, command.end(), command.end() + _LONGEST_COMMAND):
        if literal["end"]:
            return
        if typed_password(literal["secret"]) and _OF_PLACE.search(literal["name"]) is None:
            yield literal.span("secret")


def _is_cookie(value: str) -> bool:
    """Return True if `value`, of a cookie on a command line, was drawn."""
    return typed_password(value) and (
        is_generated(value, _DRAWN) or (values.is_hex(value) and len(value) >= 16)
    )


def _password_of_user(value: str) -> bool:
    """Return True if `value`, of an option -p after a user, is a password, no port or priority."""
    return mixed_password(value) and _PORT.search(value) is None


def _certain_argument(value: str) -> bool:
    """Return True if `value` is a token, after an option that takes all kinds of values."""
    return ":" not in value and is_generated(value, _CERTAIN)


_BY_PROGRAM = (
    ("mysql", r"mysql\w{0,12}", r"-p", "mysql -p"),
    ("mariadb", r"mariadb[\w-]{0,12}", r"-p", "mariadb -p"),
    ("sshpass", r"sshpass", r"-p", "sshpass -p"),
    ("7z", r"7z[ar]?", r"-p", "7z -p"),
    ("redis-cli", r"redis-cli", r"(?:-a|--pass)[ =]", "redis-cli -a "),
    ("keytool", r"keytool", r"-(?:store|key|deststore|srcstore)pass[ =]", "keytool -storepass "),
    ("jarsigner", r"jarsigner", r"-(?:store|key)pass[ =]", "jarsigner -storepass "),
    ("sqlcmd", r"sqlcmd", r"-P ?", "sqlcmd -P "),
    ("mosquitto_", r"mosquitto_\w{2,6}", r"(?:-P|--pw) ", "mosquitto_pub -P "),
    ("zip ", r"zip", r"(?:-P|--password) ", "zip -P "),
    ("ldap", r"ldap\w{3,10}", r"-w ", "ldapsearch -w "),
    ("openssl", r"openssl(?: \w{2,12})", r"(?:-pass(?:in|out)? pass:|-k )",
     "openssl rsa -passin pass:"),
    ("xfreerdp", r"xfreerdp", r"/p:", "xfreerdp /p:"),
    ("cmdkey", r"cmdkey", r"/pass:", "cmdkey /pass:"),
    ("snmp", r"snmp\w{2,10}", r"-[AXc] ", "snmpwalk -A "),
    ("rar ", r"(?:un)?rar", r"-h?p", "unrar x -p"),
    ("ssh-keygen", r"ssh-keygen", r"-[NP] ", "ssh-keygen -N "),
    ("ldappasswd", r"ldappasswd", r"-[as] ", "ldappasswd -s "),
    ("rclone", r"rclone", "obscure ", "rclone obscure "),
    ("ansible-vault", r"ansible-vault", "encrypt_string ", "ansible-vault encrypt_string "),
    ("htpasswd", r"htpasswd(?= [^|;&\n]{0,24}-\w{0,6}b)(?: -\w{1,6}(?: \d{1,2})?){1,4}"
     r"(?:(?<=n\w)|(?<=n)|(?: [^\s-]\S{0,80}))(?: [^\s-]\S{0,80})", "",
     "htpasswd -b users app "),
    ("nmcli", r"nmcli", r"(?:password|wifi-sec\.psk|wep-key0) ", "nmcli password "),
    ("http", r"https?", r"(?:-a|--auth)[ =][^\s:@/]{1,60}:", "http -a app:"),
    ("ipmitool", r"ipmitool", r"-P ", "ipmitool -P "),
    ("kinit", r"kinit", r"<<< ", "kinit <<< "),
    ("vncpasswd", r"vncpasswd", r"<<< ", "vncpasswd <<< "),
    ("security ", r"security", r"-[pw] ", "security unlock-keychain -p "),
    ("lftp", r"lftp", r"-u [^\s,]{1,60},", "lftp -u app,"),
    ("bundle ", r"bundle", r"config (?:set )?(?:--\w{1,8} )?[\w.-]{1,80} [^\s:]{1,60}:",
     "bundle config gems.example.com app:"),
    ("drush", r"drush", r"(?:user:password|user-password|upwd) \S{1,60} ", "drush upwd app "),
    ("grafana", r"grafana[- ]cli", r"reset-admin-password ", "grafana-cli reset-admin-password "),
    ("bitcoin-cli", r"bitcoin-cli", r"(?:walletpassphrase|encryptwallet) ",
     "bitcoin-cli walletpassphrase "),
    ("samba-tool", r"samba-tool",
     r"(?:user (?:create|add) \S{1,60} |--newpassword=)", "samba-tool user create app "),
    ("x11vnc", r"x11vnc", r"-(?:store)?passwd ", "x11vnc -passwd "),
    ("hydra", r"hydra", r"-p ", "hydra -p "),
    ("plink", r"plink", r"-pw ", "plink -pw "),
    ("pscp", r"pscp", r"-pw ", "pscp -pw "),
    ("k3s ", r"k3s(?: agent| server)", r"(?:-t|--token)[ =]", "k3s agent -t "),
    ("rcon", r"rcon(?:-cli)?", r"(?:-p|--password)[ =]", "mcrcon -p "),
    ("espota", r"espota(?:\.py)?", r"(?:-a|--auth=?) ?", "espota.py -a "),
    ("webrepl", r"webrepl\w*(?:\.py)?", r"-p ", "webrepl_cli.py -p "),
)  # fmt: skip
"""Beginning of the program's name, the name, what stands right before its password, and a sample of
all before the password."""

COMMANDS: tuple[AnchoredRule, ...] = (
    *(rule("command-secret", anchor, accept,
           rf"(?i)(?<=[\w\"'/\\])(?<!python)(?<!python\d) {user}[ =:]{{0,2}}[\"']?"
           r"[\w.@\\/-]{1,60}[\"']?"
           rf"(?:[ ](?!-u)[^\s|;&]{{1,80}}){{0,4}}?[ ]{option}{_SECRET}",
           f"tool {sample}{FILL[:12]}")
      for anchor, user, option, accept, sample in (
          (" -u", "-u(?:ser(?:name)?)?", "-p[ :=]{0,2}", _password_of_user, "-U app -P "),
          (" -l ", "-l", "-p ", _password_of_user,
           "-l app -p "),
          (" user ", "user", "-p ", _password_of_user, "user app -p "),
          (" --u", "--user(?:name)?", "(?:-p |--?pass(?:word|wd)?[ =])", _given_password,
           "--user=app --password "),
          (" -u", "-u(?:ser(?:name)?)?", "--?pass(?:word|wd)?[ =]", _given_password,
           "-user app -password "),
          (" /u", "/u(?:ser(?:name)?)?", "/p(?:ass(?:word|wd)?)?:", _given_password,
           "/u:app /p:"))),
    *(rule("command-secret", anchor, _given_password,
           rf"{program}{_SHORT_ARGUMENTS if flag else ' '}{flag}{_SECRET}",
           f"{sample}{FILL[:12]} x")
      for anchor, program, flag, sample in _BY_PROGRAM),
    rule("command-secret", " -u ", _given_password,
         r" -U [\"']?[A-Za-z][\w.\\@/-]{0,60}%" + _SECRET, "smbclient -U app%" + FILL[:12]),
    rule("command-secret", "config ", typed_password,
         r"config http-basic\.\S{1,80} \S{1,80} " + _SECRET,
         "poetry config http-basic.x app " + FILL[:12]),
    *(rule("cookie", flag, _is_cookie,
           rf"(?<=\s){flag}[\"'](?:[\w.-]{{1,60}}=[^;\"'\n]{{0,200}};\s?){{0,4}}?[\w.-]{{1,60}}="
           r"(?P<secret>[^\s;\"']{10,2000})", f"curl {flag}'id={FILL[:20]}'")
      for flag in ("-b ", "--cookie ", "--cookie=")),
    *(rule("command-secret", f"{flag} ", typed_password,
           rf"(?i){flag}[ =]{quote}[\w.\[\]-]{{0,40}}"
           r"(?:pass(?:word|wd|phrase)?|pwd|pin|secret|token|api_?key)\]?="
           rf"(?![@<$])(?P<secret>[^\n{stop}]{{4,200}})(?={quote or '[ ]|$'})",
           f"curl {flag} {quote}app_secret={FILL[:12]}{quote}")
      for flag in ("-f", "--form", "--form-string", "--data-urlencode")
      for quote, stop in (("'", "'"), ('"', '"'), ("", r"\s\"'&"))),
    rule("command-secret", "net use ", placed_password,
         rf"(?i)net use (?:\w: )?\\\\\S{{1,100}} (?:/user:\S{{1,60}} )?(?!/){_SECRET}",
         "net use z: \\\\srv\\share " + FILL[:12] + " /user:app"),
    rule("command-secret", "assw", typed_password,
         r"(?i)assw(?:or)?d:?[*?\\\"'}]{1,4};?\s{1,12}(?:\{\s{1,12})?(?:exp_)?send(?: --)? \\?[\"']"
         r"(?P<secret>[^\"'\\\n]{4,100})", 'expect "assword:"; send "' + FILL[:12] + '\\r"'),
    *POSITIONS,
    rule_above("command-secret", "create secret generic ", _literals,
               r"create secret generic (?=[^\n]{1,400}?--from-literal)",
               "kubectl create secret generic app --from-literal=app=" + FILL[:20]),
    rule("command-secret", "setx ", mixed_password, rf"(?i)setx (?:/m )?{_NAME} {_ARGUMENT}",
         "setx APP_SECRET " + FILL[:20]),
    rule("command-secret", "env ", mixed_password, rf"(?<![\w.-])ENV {_NAME} {_ARGUMENT}",
         "ENV APP_SECRET " + FILL[:20]),
    *(rule("printed-secret", anchor, mixed_password,
           rf"{pattern}\r?\n(?P<secret>[^\s<$]\S{{3,400}})(?=\s|$)", f"{sample}\n{FILL[:20]}\n")
      for anchor, pattern, sample in (
          ("printenv ", rf"printenv {_NAME}", "printenv APP_SECRET"),
          ("echo ", rf"echo [\"']?\$\{{?{_NAME}\}}?[\"']?", "echo $APP_SECRET"),
          ("{.data.", r"\{\.data\.[^\n]{1,80}", "{.data.x}' | base64 -d"))),
    *(rule("printed-secret", anchor, drawn_value,
           rf"{pattern}[\"'\])}}]{{0,3}}\r?\n(?:Out\[\d{{1,4}}\]: |=> ?)?[\"']?"
           r"(?P<secret>[^\s<$\"'][^\s\"']{3,400})(?=[\"']?(?:\s|$))",
           f"{sample}\n{FILL[:20]}\n")
      for anchor, pattern, sample in (
          ("environ", rf"environ(?:\.get)?[\[(][\"']{_NAME}", ">>> os.environ['APP_SECRET']"),
          ("env[", rf"(?i:env)\[[\"']{_NAME}", "irb> ENV['APP_SECRET']"),
          ("getenv(", rf"getenv\([\"']{_NAME}", ">>> os.getenv('APP_SECRET')"),
          ("process.env.", rf"process\.env\.{_NAME}", "> process.env.APP_SECRET"),
          ("$env:", rf"(?i:\$env:){_NAME}", "PS> $env:APP_SECRET"))),
    *(rule("printed-secret", f"{program} ", any_value,
           rf"{program}(?: -\w{{1,6}}){{0,3}} [\w.~/-]{{0,80}}?{_NAME}(?:\.\w{{1,6}})?\r?\n"
           r"(?P<secret>[A-Za-z0-9+/]{16,400}={0,2})(?=\s|$)",
           f"$ {program} -p app.key\n{HEX[:32]}\n")
      for program in ("xxd", "base64")),
    *(rule("command-secret", anchor, _drawn_argument,
           rf"(?i){before}{_ANY_ARGUMENT}", f"{sample}{FILL[:20]}")
      for anchor, before, sample in (
          *((f" {flag} ", rf"(?<=[\w)]) {flag} ", f"acmectl {flag} ")
            for flag in ("-k", "-t")),
          ("authtoken ", r"auth-?token ", "ngrok authtoken "),
          *((f" {verb} ", rf"(?<=\w) {verb} {_SETTING} ", f"acmectl config {verb} token ")
            for verb in ("set", "add")),
          (" login ", r"(?<=\w) login (?:--?\w[\w-]{0,20} )?", "cargo login "),
          (" auth ", r"(?<=\w) auth ", "snyk auth "),
          ("--secret ", r"--secret [\w.:/-]{1,60} ", "pulumi config set --secret app "),
          ("<<<", r"<<< ?", "vercel env add APP <<< "),
          ("config:set ", r"config:set [^\n|;&]{0,200}?\b[A-Z_]\w{0,60}=(?!<)",
           "heroku config:set APP="),
          ("put-parameter ", r"put-parameter [^\n|;&]{0,300}?--value[= ]",
           "aws ssm put-parameter --name x --value "),
          ("secret_access_key ", "secret_access_key ", "set aws_secret_access_key "),
          ("vault login ", r"vault login (?!-)", "vault login "),
          ("rclone ", r"rclone [^\n|;&]{1,200}? pass[ =]", "rclone config create x webdav pass "),
      )),
    rule("command-secret", "vault ", _stored_in_vault,
         r"vault (?:kv put|kv patch|write) [^\n|;&]{1,200}?\w=(?!<)" + _ANY_ARGUMENT,
         "vault kv put secret/a b=" + FILL[:20]),
    rule("command-secret", "schtasks ", placed_password,
         rf"(?i)schtasks [^\n|;&]{{1,300}}?/rp {_ANY_ARGUMENT}",
         "schtasks /create /ru app /rp " + FILL[:20]),
    *(rule("named-secret", f" {flag} ", _certain_argument,
           rf"(?<=\w) {flag} {_ANY_ARGUMENT}", f"acmectl {flag} {FILL[:24]}")
      for flag in ("-p", "-a", "-s", "--license", "--otp", "init")),
    *(rule("curl-user", flag, accept,
           rf"(?i){before}{flag}(?:\s|\\\r?\n){{1,8}}[\"']?[\w.@+-]{{1,60}}:"
           r"(?P<secret>[^\s\"'@/:]{4,100})(?=[\s\"']|$)", f"fetch {flag} app:{FILL[:12]} https://x")
      for flag, before, accept in (("-u", r"(?<=\s)", mixed_password),
          ("--user", r"(?<=\s)", mixed_password), ("--proxy-user", r"(?<!\S)", typed_password))),
)  # fmt: skip
