"""Secrets in settings, dumps and tables, away from their name or without one. Rows as in
`table.py`."""

from __future__ import annotations

import re

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    HEX,
    AnchoredRule,
    any_value,
    key_material,
    mixed_password,
    placed_password,
    random_value,
    rule,
    typed_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.word_lists import words

_NAMES = ("password", "passwd", "secret", "token", "apikey", "api_key", "passphrase", "psk")


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
    rule("shared-key", ': psk "', any_value, r"(?i): psk \"(?P<secret>[^\"\n]{4,200})\"",
         '%any : PSK "' + FILL[:20] + '"'),
    rule("sql-password", "identified ", typed_password,
         r"(?i)identified (?:with [\w\"']{1,40} )?(?:by|as)\s{1,12}(?:-> {0,8})?(?:password )?"
         r"(?P<quote>['\"])(?P<secret>(?:(?!(?P=quote))[^\n]){4,200})(?P=quote)",
         "ALTER USER app IDENTIFIED BY '" + FILL[:12] + "';"),
    rule("grub-password", "grub.pbkdf2", key_material,
         r"grub\.pbkdf2\.sha512\.\d{1,9}\.(?P<secret>[0-9A-Fa-f.]{64,600})",
         "grub.pbkdf2.sha512.10000." + HEX.upper() + "." + HEX.upper()),
    rule("host-login", ":", typed_password,
         _NO_SCHEME + r":(?P<secret>[^\s:\"'`/<>(){}]{5,80})@(?=\d{1,3}(?:\.\d{1,3}){3}(?![\w.]))",
         "deploy:" + FILL[:12] + "@192.0.2.7"),
    rule("host-login", ":", typed_password,
         _NO_SCHEME + r":(?P<secret>[^\s:@\"'`/<>(){}]{6,80})"
         r"@(?!sha\d)(?=[\w-]{1,60}(?:\.[\w-]{1,60}){1,4}:\d{2,5}(?!\w))",
         "deploy:" + FILL[:12] + "@db.example.com:5432"),
    *(rule("pgpass", f":{port}:", placed_password,
           rf":{re.escape(port)}:[\w.*-]{{1,60}}:[\w.*-]{{1,60}}:(?P<secret>[^\s:\"']{{4,100}})(?=\s|$)",
           f"db.example.com:{port}:app:app:{FILL[:12]}\n")
      for port in ("5432", "*")),
    rule("openvpn-login", "<auth-user-pass>", any_value,
         r"<auth-user-pass>\s{1,4}\S{1,80}\n(?P<secret>\S{4,100})\s{1,4}</auth",
         "<auth-user-pass>\napp\n" + FILL[:12] + "\n</auth-user-pass>"),
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
    rule("wifi-key", "key content", typed_password,
         r"(?i)key content[ ]{0,20}: (?P<secret>\S{8,64})(?=\s|$)",
         "    Key Content            : " + FILL[:12]),
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
    *(rule("mysql-dsn", ":", accept,
           rf"(?<=\w):(?P<secret>[^\s:\"'`/<{{]{{4,80}})@{host}",
           f"app:{FILL[:12]}@{sample}")
      for host, accept, sample in (
          (r"(?:tcp6?|udp|unix|cloudsql\w{0,8})?\(", typed_password, "tcp(127.0.0.1:3306)/app"),
          (r"/\w{1,40}(?=[?\s\"'`]|$)", placed_password, "/app?parseTime=true"))),
    rule("bundler-credential", "bundle_", mixed_password,
         r"BUNDLE_[A-Z0-9_]{2,80}:\s[\"']?[^\s:\"']{1,60}:(?P<secret>[^\s\"':/]{6,200})",
         'BUNDLE_GEMS__EXAMPLE__COM: "app:' + FILL[:20] + '"'),
    rule("kickstart-password", "rootpw ", placed_password,
         r"rootpw (?:--plaintext |--iscrypted )?(?P<secret>[^\s-]\S{3,200})",
         "rootpw --plaintext " + FILL[:12]),
)  # fmt: skip
