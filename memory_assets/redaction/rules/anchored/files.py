"""Secrets in settings, dumps and tables, away from their name or without one. Rows as in
`table.py`."""

from __future__ import annotations

import re

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    HEX,
    AnchoredRule,
    any_value,
    drawn_or_chosen,
    key_material,
    mixed_password,
    placed_password,
    quoted_password,
    random_value,
    rule,
    spoken_password,
    strong_value,
    token_value,
    typed_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.word_lists import words

_NAMES = ("password", "passwd", "secret", "token", "apikey", "api_key", "passphrase", "psk")
_TELLING = r"(?:password|passwd|pwd|passphrase|secret|token|api_?key)"
_ENDS = (
    r"(?:(?:sign\w{2,4}|access|private|secret|service|deploy|license)[_-]?key"
    r"|[_-](?:pat|pass|auth|creds?))"
)
"""Ends of names whose values are secrets if they look it."""
_LAST_ON_LINE = r"[\"']?(?P<secret>[^\s\"'{}$]{5,400})(?=[\"']?(?:\s|$))"


def _is_braced(value: str) -> bool:
    """Return True if `value`, in the braces of a connection string, is no variable's name."""
    return mixed_password(value) and any(not (sign.isalnum() or sign in "_.[]()") for sign in value)


_NO_SCHEME = r"(?<=\w)" + "".join(
    rf"(?<!\b{scheme})"
    for scheme in words(
        "mailto acct sip sips xmpp ssh scp git ftp npm link from to cc by author user email mail"
    )
)
"""Behind a user, who is no scheme and no name of a field with an address."""

FILES: tuple[AnchoredRule, ...] = (
    *(rule("paired-secret", f"{name}</key>", typed_password,
           rf"(?i){name}</key>\s{{0,40}}<string>(?P<secret>[^<\n]{{4,400}})</string>",
           f"<key>app_{name}</key>\n<string>{FILL[:20]}</string>")
      for name in _NAMES),
    *(rule("paired-secret", f"{name}</name>", typed_password,
           rf"(?i){name}</name>\s{{0,40}}<value>(?P<secret>[^<\n]{{4,400}})</value>",
           f"<name>app.{name}</name>\n<value>{FILL[:20]}</value>")
      for name in _NAMES),
    rule("paired-secret", "password><value>", typed_password,
         r"(?i)password><value>(?P<secret>[^<\n]{4,400})</value>",
         "<AdministratorPassword><Value>" + FILL[:12] + "</Value>"),
    rule("paired-secret", 'value"', quoted_password,
         r"(?i)value\"\s{0,4}:\s{0,4}\"(?P<secret>[^\"\n]{4,400})\"\s{0,4},\s{0,24}"
         rf"\"\w{{0,12}}(?:key|name)\"\s{{0,4}}:\s{{0,4}}\"[\w.-]{{0,40}}{_TELLING}[\w-]{{0,4}}\"",
         '{"value": "' + FILL[:12] + '", "name": "APP_PASSWORD"}'),
    rule("paired-secret", "value:", quoted_password,
         r"(?i)value:[ \t]{1,8}[\"']?(?P<secret>[^\s\"'{}]{5,400})[\"']?[ \t]{0,4}\r?\n"
         rf"[ \t]{{0,24}}(?:key|name):[ \t]{{1,8}}[\"']?[\w.-]{{0,40}}{_TELLING}(?=[\"']?\s)",
         "- value: " + FILL[:20] + "\n  name: APP_PASSWORD\n"),
    *(rule("paired-secret", anchor, drawn_or_chosen,
           rf"(?i){anchor}[\t ]{{1,8}}[\"']?[\w.-]{{0,40}}{_ENDS}[\"']?[ \t]{{0,4}}\r?\n"
           rf"[ \t]{{0,24}}val(?:ue)?:[ \t]{{1,8}}{_LAST_ON_LINE}",
           f"- {anchor} APP_PAT\n  value: {FILL[:20]}\n")
      for anchor in ("key:", "name:")),
    *(rule("paired-secret", f'{key}"', drawn_or_chosen,
           rf"(?i){key}\"\s{{0,4}}:\s{{0,4}}\"[\w.-]{{0,40}}{_ENDS}\"\s{{0,4}},"
           r"\s{0,24}\"\w{0,12}value\"\s{0,4}:\s{0,4}\"(?P<secret>[^\"\n]{4,400})\"",
           f'[{{"{key}": "APP_PAT", "value": "{FILL[:20]}"}}]')
      for key in ("key", "name")),
    *(rule("blank-separated", name, typed_password,
           rf"(?i){name}\w{{0,12}}[ \t]{{1,8}}REG_(?:EXPAND_)?SZ[ \t]{{1,8}}"
           r"(?P<secret>\S{4,400})",
           f"    App{name.title()}    REG_SZ    {FILL[:12]}")
      for name in ("password", "secret", "token")),
    rule("wifi-key", "key content", typed_password,
         r"(?i)key content[ ]{0,20}: (?P<secret>\S{8,64})(?=\s|$)",
         "    Key Content            : " + FILL[:12]),
    rule("variable-default", 'variable "', quoted_password,
         rf"(?i)variable \"[\w-]{{0,40}}{_TELLING}\w{{0,12}}\" \{{"
         r"(?:\s{1,12}(?:type|description|sensitive|nullable)[ ]{0,12}=[^\n]{1,120}){1,4}"
         r"\s{1,12}default[ ]{0,12}=[ ]{0,12}\"(?P<secret>[^\"\n]{4,400})\"",
         'variable "app_password" {\n  type = string\n  default = "' + FILL[:20] + '"'),
    rule("terraform-output", '"sensitive": true', typed_password,
         r"(?i)\"sensitive\": true,\s{1,24}\"type\": \"string\",\s{1,24}"
         r"\"value\": \"(?P<secret>[^\"\n]{4,400})\"",
         '"sensitive": true,\n "type": "string",\n "value": "' + FILL[:16] + '"'),
    rule("terraform-output", '"result": "', placed_password,
         r"\"result\": \"(?P<secret>[^\"\n]{8,200})\",\s{1,24}\"special\": ",
         '"attributes": {"result": "' + FILL[:20] + '", "special": false'),
    rule("html-password", 'type="password"', quoted_password,
         r"(?i)type=\"password\"[^<>\n]{0,160}?\svalue=\"(?P<secret>[^\"<>\n]{4,80})\"",
         '<input type="password" name="pass" value="' + FILL[:12] + '">'),
    *(rule("table-secret", f"{name} ", accept,
           rf"(?i){name}[ ]{{1,40}}\|[ ]?`?(?P<secret>[^\s|`]{{6,200}})`?[ ]{{0,20}}(?:\||\r?\n|$)",
           f"| APP_{name.upper()} | {FILL[:20]} |")
      for name, accept in (("password", spoken_password), ("secret", drawn_or_chosen),
          ("token", drawn_or_chosen), ("key", random_value))),
    rule("shared-key", ': psk "', any_value, r"(?i): psk \"(?P<secret>[^\"\n]{4,200})\"",
         '%any : PSK "' + FILL[:20] + '"'),
    rule("shared-key", 'secret "', token_value, r"(?i)secret \"(?P<secret>[^\"\s]{8,200})\"",
         'key "app" { algorithm hmac-sha256; secret "' + FILL[:43] + '="; };'),
    *(rule("gradle-password", f"{name}password ", quoted_password,
           rf"(?i){name}password [\"'](?P<secret>[^\"'\n]{{4,100}})[\"']",
           f'{name}Password "{FILL[:12]}"')
      for name in ("store", "key")),
    rule("sql-password", "identified ", typed_password,
         r"(?i)identified (?:with [\w\"']{1,40} )?(?:by|as)\s{1,12}(?:-> {0,8})?(?:password )?"
         r"(?P<quote>['\"])(?P<secret>(?:(?!(?P=quote))[^\n]){4,200})(?P=quote)",
         "ALTER USER app IDENTIFIED BY '" + FILL[:12] + "';"),
    rule("host-login", ":", strong_value,
         r"(?<=\w)(?<!mailto)(?<!acct)(?<!sip)(?<!xmpp):(?P<secret>[^\s:@\"'`/<>(){}]{6,80})"
         r"@(?=[\w-]{1,60}(?:\.\w|:\d))", "deploy:" + FILL[:12] + "@db.example.com"),
    rule("grub-password", "grub.pbkdf2", key_material,
         r"grub\.pbkdf2\.sha512\.\d{1,9}\.(?P<secret>[0-9A-Fa-f.]{64,600})",
         "grub.pbkdf2.sha512.10000." + HEX.upper() + "." + HEX.upper()),
    rule("mysql-dsn", ":", typed_password,
         r"(?<=\w):(?P<secret>[^\s:\"'`/<]{4,80})@(?:tcp6?|udp|unix|cloudsql\w{0,8})?\(",
         "app:" + FILL[:12] + "@tcp(127.0.0.1:3306)/app"),
    rule("mysql-dsn", ":", placed_password,
         r"(?<=\w):(?P<secret>[^\s:\"'`/<{]{4,80})@/\w{1,40}(?=[?\s\"'`]|$)",
         "app:" + FILL[:12] + "@/app?parseTime=true"),
    rule("host-login", ":", typed_password,
         _NO_SCHEME + r":(?P<secret>[^\s:\"'`/<>(){}]{5,80})@(?=\d{1,3}(?:\.\d{1,3}){3}(?![\w.]))",
         "deploy:" + FILL[:12] + "@192.0.2.7"),
    rule("host-login", ":", typed_password,
         _NO_SCHEME + r":(?P<secret>[^\s:@\"'`/<>(){}]{6,80})"
         r"@(?!sha\d)(?=[\w-]{1,60}(?:\.[\w-]{1,60}){1,4}:\d{2,5}(?!\w))",
         "deploy:" + FILL[:12] + "@db.example.com:5432"),
    rule("host-login", ":", mixed_password,
         _NO_SCHEME + r":(?P<secret>[^\s:@\"'`/<>(){}]{6,80})"
         r"@(?!sha\d)(?=[A-Za-z][\w-]{1,60}:\d{4,5}(?!\w))",
         "deploy:" + FILL[:12] + "@db:5432"),
    rule("host-login", "proxy", typed_password,
         r"(?i)proxy\w{0,8}[\"']?\s{0,4}[=:]\s{0,4}[\"']?[\w.-]{1,60}:"
         r"(?P<secret>[^\s:@/\"'<>]{4,80})@(?=\w)", "http_proxy=app:" + FILL[:12] + "@proxy:3128"),
    rule("host-login", "turn", typed_password,
         r"(?i)turns?:[^\s:@/\"'`]{1,80}:(?P<secret>[^\s:@\"'`]{6,100})@(?=\w)",
         "turn:app:" + FILL[:12] + "@turn.example.com:3478"),
    rule("odbc-password", "={", _is_braced,
         r"(?i)(?<=pwd|ord)=\{(?P<secret>(?:[^{}\n\"']|\}\}){4,100})\}(?=[;\"'\s]|$)",
         "PWD={" + FILL[:9] + ";7!};"),
    rule("git-credential", "username=", typed_password,
         r"(?i)username=\S{1,80}\r?\npassword=(?P<secret>\S{4,200})(?=\s|$)",
         "host=git.example.com\nusername=app\npassword=" + FILL[:12] + "\n"),
    rule("assigned-password", '<pass encoding="base64">', any_value,
         r"(?i)<pass encoding=\"base64\">(?P<secret>[A-Za-z0-9+/]{4,200}={0,2})<",
         '<Pass encoding="base64">' + FILL[:12] + "</Pass>"),
    rule("signed-request", ", signature=", key_material,
         r"(?i), signature=(?P<secret>[0-9a-f]{64})(?!\w)",
         "AWS4-HMAC-SHA256 Credential=x, SignedHeaders=host, Signature=" + HEX),
    rule("pgpass", ":5432:", any_value,
         r":5432:[\w.*-]{1,60}:[\w.*-]{1,60}:(?P<secret>[^\s:\"']{4,100})(?=\s|$)",
         "db.example.com:5432:app:app:" + FILL[:12] + "\n"),
    rule("pgpass", ":*:", placed_password,
         r":\*:[\w.*-]{1,60}:(?P<secret>[^\s:\"']{6,100})(?=\s|$)",
         "db.example.com:*:*:app:" + FILL[:12] + "\n"),
    rule("bundler-credential", "bundle_", mixed_password,
         r"BUNDLE_[A-Z0-9_]{2,80}:\s[\"']?[^\s:\"']{1,60}:(?P<secret>[^\s\"':/]{6,200})",
         'BUNDLE_GEMS__EXAMPLE__COM: "app:' + FILL[:20] + '"'),
    rule("mail-relay-password", "]:", placed_password,
         r"\]:\d{2,5}\s{1,8}[^\s:]{1,80}:(?=\S{10})(?P<secret>[^\s:/]{6,100})(?=\s|$)",
         "[smtp.example.com]:587 app@example.com:" + FILL[:16]),
    rule("openvpn-login", "<auth-user-pass>", any_value,
         r"<auth-user-pass>\s{1,4}\S{1,80}\n(?P<secret>\S{4,100})\s{1,4}</auth",
         "<auth-user-pass>\napp\n" + FILL[:12] + "\n</auth-user-pass>"),
    rule("cloud-init-password", "chpasswd:", typed_password,
         r"chpasswd:\s{1,12}(?:expire: ?\w{4,5}\s{1,12})?list: ?\|?\s{1,12}"
         r"(?:- )?[\w.-]{1,40}:(?P<secret>\S{4,100})",
         "chpasswd:\n  list: |\n    root:" + FILL[:12]),
    rule("kickstart-password", "rootpw ", placed_password,
         r"rootpw (?:--plaintext |--iscrypted )?(?P<secret>[^\s-]\S{3,200})",
         "rootpw --plaintext " + FILL[:12]),
    rule("ansible-vault", "$ansible_vault;", key_material,
         r"\$ANSIBLE_VAULT;[\w.;-]{1,60}"
         r"(?P<secret>(?:(?:\r?\n|\\n)[ \t]{0,24}[0-9a-f]{20,80}){1,400})",
         "$ANSIBLE_VAULT;1.1;AES256\n  " + HEX),
    rule("password-hash", "pbkdf2_sha", key_material,
         r"(?P<secret>pbkdf2_sha\d{1,3}\$\d{2,9}\$[^\s$\"']{1,64}\$[\w./+-]{20,100}={0,2})",
         "pbkdf2_sha256$260000$" + FILL[:22] + "$" + FILL[:43] + "="),
    rule("windows-hash", ":::", key_material, r"(?P<secret>[0-9a-fA-F]{32}:[0-9a-fA-F]{32}):::",
         f"app:500:{HEX[:32]}:{HEX[8:40]}:::", 65),
    *(rule("device-password", f"{word} 7 ", lambda value: any(map(str.isdigit, value)),
           rf"(?i){word} 7 (?P<secret>[0-9a-f]{{8,80}})(?!\w)",
           f"username app {word} 7 0822455D0A16{HEX[:6].upper()}")
      for word in ("password", "key", "secret")),
    rule("slack-token", "xoxd-", values.is_plausible_token,
         r"(?P<secret>xoxd-[\w%+/-]{30,400}={0,2})", "xoxd-" + FILL + "%2B" + FILL[:20]),
    *(rule("listed-secret", f'"{name}"', any_value,
           rf'(?i)"{name}"\s{{0,4}}:\s{{0,8}}\[\s{{0,40}}\{{[^{{}}\[\]]{{0,200}}?"value"\s{{0,4}}:\s{{0,4}}"'
           r'(?P<secret>[^"\n]{4,400}|[^\]]{4,4000}?)(?="\s{0,40}\}\s{0,40}\])',
           f'"{name}":[{{"name":"db","value":"{FILL[:12]}"}}]')
      for name in ("secrets", "credentials")),
    rule("listed-secret", "<secret", any_value,
         r"(?i)<secret(?:\s[^<>]{0,120})?>\s{0,40}<value>(?P<secret>[^<>\n]{4,400})</value>",
         '<secret name="db"><value>' + FILL[:12] + "</value></secret>"),
    *(rule("compressed-data", mark.lower(), key_material,
           r"(?<![A-Za-z0-9+/])(?<![A-Za-z0-9+/]{20}\n)(?<![A-Za-z0-9+/]{20}\r\n)"
           rf"(?P<secret>{re.escape(mark)}[A-Za-z0-9+/]{{20,9000}}"
           r"(?:\r?\n[A-Za-z0-9+/]{1,9000}){0,2000}={0,2})", mark + FILL)
      for mark in ("H4sI", "UEsDB", "/Td6WFo", "QlpoOT", "KLUv/")),
    rule("sanctum-token", "|", random_value,
         r"(?<=\d)\|(?=[0-9a-z]{0,40}[A-Z])(?P<secret>[A-Za-z0-9]{40,48})(?!\w)",
         "18|" + FILL[:40]),
    rule("webex-token", "_pf84_", bool, r"(?P<secret>[A-Za-z0-9]{64}_PF84_[0-9a-f-]{36})",
         FILL + FILL[:4] + "_PF84_3f2b8c1e-7d4a-4f6b-9c0d-1e2f3a4b5c6d", 64),
)  # fmt: skip
