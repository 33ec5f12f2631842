"""Secrets in settings, dumps and tables, away from their name or without one. Rows as in
`anchored.py`."""

from __future__ import annotations

from memory_assets.redaction.rules.anchored_rule import (
    AnchoredRule,
    anchored_rule,
    any_value,
    anything,
    key_material,
    mixed_password,
    plausible_key,
    quoted_password,
    random_value,
    spoken_password,
    token_value,
    typed_password,
)
from memory_assets.redaction.rules.formats import sample_characters

_FILL = sample_characters("A-Za-z0-9", 60)
_HEX = sample_characters("0-9a-f", 64)
_NAMES = ("password", "passwd", "secret", "token", "apikey", "api_key", "passphrase", "psk")
_ROW = r"\|[^\n]{0,160}\n"
_FILE_ROW = r"[^\n]{0,160}\n"
_MORE_ROWS = range(3)


def _rows(row: str, count: int) -> str:
    return f"(?:{row}){{{count}}}" if count else ""


FILES: tuple[AnchoredRule, ...] = (
    *(
        anchored_rule(
            "paired-secret",
            f"{name}</key>".encode(),
            rf"(?i){name}</key>\s{{0,40}}<string>(?P<secret>[^<\n]{{4,400}})</string>",
            typed_password,
            f"<key>app_{name}</key>\n<string>{_FILL[:20]}</string>",
        )
        for name in _NAMES
    ),
    *(
        anchored_rule(
            "paired-secret",
            f"{name}</name>".encode(),
            rf"(?i){name}</name>\s{{0,40}}<value>(?P<secret>[^<\n]{{4,400}})</value>",
            typed_password,
            f"<name>app.{name}</name>\n<value>{_FILL[:20]}</value>",
        )
        for name in _NAMES
    ),
    anchored_rule(
        "paired-secret",
        b"password><value>",
        r"(?i)password><value>(?P<secret>[^<\n]{4,400})</value>",
        typed_password,
        "<AdministratorPassword><Value>" + _FILL[:12] + "</Value>",
    ),
    anchored_rule(
        "paired-secret",
        b'"key"',
        r"(?i)\"key\"\s{0,4}:\s{0,4}\"[\w.-]{0,40}(?:password|passwd|secret|token|api_?key)\"\s{0,4},"
        r"\s{0,24}\"value\"\s{0,4}:\s{0,4}\"(?P<secret>[^\"\n]{4,400})\"",
        quoted_password,
        '[{"key": "password", "value": "' + _FILL[:12] + '"}]',
    ),
    anchored_rule(
        "terraform-output",
        b'"sensitive": true',
        r"(?i)\"sensitive\": true,\s{1,24}\"type\": \"string\",\s{1,24}"
        r"\"value\": \"(?P<secret>[^\"\n]{4,400})\"",
        typed_password,
        '"sensitive": true,\n "type": "string",\n "value": "' + _FILL[:16] + '"',
    ),
    anchored_rule(
        "terraform-output",
        b'"result": "',
        r"\"result\": \"(?P<secret>[^\"\n]{8,200})\",\s{1,24}\"special\": ",
        mixed_password,
        '"attributes": {"result": "' + _FILL[:20] + '", "special": false',
    ),
    anchored_rule(
        "html-password",
        b'type="password"',
        r"(?i)type=\"password\"[^<>\n]{0,160}?\svalue=\"(?P<secret>[^\"<>\n]{4,80})\"",
        quoted_password,
        '<input type="password" name="pass" value="' + _FILL[:12] + '">',
    ),
    *(
        anchored_rule(
            "table-password",
            b"password |",
            rf"(?i)password \|\r?\n\|[-:| ]{{2,120}}\n{_rows(_ROW, row)}"
            r"(?:\|[^|\n]{0,80}){1,6}?\|\s`?(?P<secret>[^\s|`]{4,80})`?\s{1,20}\|\s{0,4}(?:\r?\n|$)",
            typed_password,
            "| user | password |\n|---|---|\n"
            + "| x | yyyyy12 |\n" * row
            + f"| app | {_FILL[:12]} |\n",
        )
        for row in _MORE_ROWS
    ),
    *(
        anchored_rule(
            "table-password",
            b",password\n",
            rf"(?i),password\n{_rows(_FILE_ROW, row)}[^,\n]{{1,80}}(?:,[^,\n]{{0,80}}){{0,4}}?,"
            r"(?P<secret>[^\s,\"']{4,80})(?=\r?\n|$)",
            typed_password,
            "user,password\n" + "x,yyyyy12\n" * row + f"app,{_FILL[:12]}\n",
        )
        for row in _MORE_ROWS
    ),
    *(
        anchored_rule(
            "table-secret",
            f"{name} |".encode(),
            rf"(?i){name} \|\s`?(?P<secret>[^\s|`]{{6,200}})`?\s{{1,20}}\|",
            accept,
            f"| APP_{name.upper()} | {_FILL[:20]} |",
        )
        for name, accept in (
            ("password", spoken_password),
            ("secret", random_value),
            ("token", random_value),
            ("key", random_value),
        )
    ),
    anchored_rule(
        "wifi-key",
        b"psk=",
        r"(?i)(?<!-)psk=(?!wpa)\"?(?P<secret>[^\s\"]{8,64})(?![^\s\"])",
        mixed_password,
        'psk="' + _FILL[:12] + '"',
    ),
    anchored_rule(
        "shared-key",
        b': psk "',
        r"(?i): psk \"(?P<secret>[^\"\n]{4,200})\"",
        any_value,
        '%any : PSK "' + _FILL[:20] + '"',
    ),
    anchored_rule(
        "shared-key",
        b'secret "',
        r"(?i)secret \"(?P<secret>[^\"\s]{8,200})\"",
        token_value,
        'key "app" { algorithm hmac-sha256; secret "' + _FILL[:43] + '="; };',
    ),
    *(
        anchored_rule(
            "gradle-password",
            f"{name}password ".encode(),
            rf"(?i){name}password [\"'](?P<secret>[^\"'\n]{{4,100}})[\"']",
            quoted_password,
            f'{name}Password "{_FILL[:12]}"',
        )
        for name in ("store", "key")
    ),
    anchored_rule(
        "sql-password",
        b"identified ",
        r"(?i)identified (?:with [\w\"']{1,40} )?(?:by|as) (?:password )?"
        r"'(?P<secret>[^'\n]{4,200})'",
        typed_password,
        "ALTER USER app IDENTIFIED BY '" + _FILL[:12] + "';",
    ),
    anchored_rule(
        "mysql-dsn",
        b":",
        r"(?<=\w):(?P<secret>[^\s:@\"'`/<{]{4,80})@(?:tcp|unix)\(",
        typed_password,
        "app:" + _FILL[:12] + "@tcp(127.0.0.1:3306)/app",
    ),
    anchored_rule(
        "assigned-password",
        b'<pass encoding="base64">',
        r"(?i)<pass encoding=\"base64\">(?P<secret>[A-Za-z0-9+/]{4,200}={0,2})<",
        any_value,
        '<Pass encoding="base64">' + _FILL[:12] + "</Pass>",
    ),
    anchored_rule(
        "signed-request",
        b", signature=",
        r"(?i), signature=(?P<secret>[0-9a-f]{64})(?!\w)",
        key_material,
        "AWS4-HMAC-SHA256 Credential=x, SignedHeaders=host, Signature=" + _HEX,
    ),
    anchored_rule(
        "pgpass",
        b":5432:",
        r":5432:[\w.*-]{1,60}:[\w.*-]{1,60}:(?P<secret>[^\s:\"']{4,100})(?=\s|$)",
        any_value,
        "db.example.com:5432:app:app:" + _FILL[:12] + "\n",
    ),
    anchored_rule(
        "pgpass",
        b":*:",
        r":\*:[\w.*-]{1,60}:(?P<secret>[^\s:\"']{6,100})(?=\s|$)",
        mixed_password,
        "db.example.com:*:*:app:" + _FILL[:12] + "\n",
    ),
    anchored_rule(
        "bundler-credential",
        b"bundle_",
        r"BUNDLE_[A-Z0-9_]{2,80}:\s[\"']?[^\s:\"']{1,60}:(?P<secret>[^\s\"':/]{6,200})",
        mixed_password,
        'BUNDLE_GEMS__EXAMPLE__COM: "app:' + _FILL[:20] + '"',
    ),
    anchored_rule(
        "mail-relay-password",
        b"]:",
        r"\]:\d{2,5}\s{1,8}[^\s:]{1,80}:(?=\S{10})(?P<secret>[^\s:/]{6,100})(?=\s|$)",
        mixed_password,
        "[smtp.example.com]:587 app@example.com:" + _FILL[:16],
    ),
    anchored_rule(
        "openvpn-login",
        b"<auth-user-pass>",
        r"<auth-user-pass>\s{1,4}\S{1,80}\n(?P<secret>\S{4,100})\s{1,4}</auth",
        any_value,
        "<auth-user-pass>\napp\n" + _FILL[:12] + "\n</auth-user-pass>",
    ),
    anchored_rule(
        "cloud-init-password",
        b"chpasswd:",
        r"chpasswd:\s{1,12}(?:expire: ?\w{4,5}\s{1,12})?list: ?\|?\s{1,12}"
        r"(?:- )?[\w.-]{1,40}:(?P<secret>\S{4,100})",
        typed_password,
        "chpasswd:\n  list: |\n    root:" + _FILL[:12],
    ),
    anchored_rule(
        "kickstart-password",
        b"rootpw ",
        r"rootpw (?:--plaintext |--iscrypted )?(?P<secret>[^\s-]\S{3,200})",
        mixed_password,
        "rootpw --plaintext " + _FILL[:12],
    ),
    anchored_rule(
        "ansible-vault",
        b"$ansible_vault;",
        r"\$ANSIBLE_VAULT;[\w.;-]{1,60}"
        r"(?P<secret>(?:(?:\r?\n|\\n)[ \t]{0,24}[0-9a-f]{20,80}){1,400})",
        key_material,
        "$ANSIBLE_VAULT;1.1;AES256\n  " + _HEX,
    ),
    anchored_rule(
        "password-hash",
        b"pbkdf2_sha",
        r"(?P<secret>pbkdf2_sha\d{1,3}\$\d{2,9}\$[^\s$\"']{1,64}\$[\w./+-]{20,100}={0,2})",
        key_material,
        "pbkdf2_sha256$260000$" + _FILL[:22] + "$" + _FILL[:43] + "=",
    ),
    *(
        anchored_rule(
            "password-hash",
            f"{{{mark.lower()}".encode(),
            rf"(?i)\{{{mark}\d{{0,3}}\}}(?P<secret>[A-Za-z0-9+/]{{24,140}}={{0,2}})",
            key_material,
            f"userPassword: {{{mark}}}{_FILL[:32]}",
        )
        for mark in ("SSHA", "SMD5")
    ),
    anchored_rule(
        "windows-hash",
        b":::",
        r"(?P<secret>[0-9a-fA-F]{32}:[0-9a-fA-F]{32}):::",
        key_material,
        f"app:500:{_HEX[:32]}:{_HEX[8:40]}:::",
        65,
    ),
    *(
        anchored_rule(
            "device-password",
            f"{word} 7 ".encode(),
            rf"(?i){word} 7 (?P<secret>[0-9a-f]{{8,80}})(?!\w)",
            lambda value: any(map(str.isdigit, value)),
            f"username app {word} 7 0822455D0A16{_HEX[:6].upper()}",
        )
        for word in ("password", "key", "secret")
    ),
    *(
        anchored_rule(
            "device-password",
            f"{kind}-server key ".encode(),
            rf"{kind}-server key (?:[0-9] )?(?P<secret>\S{{6,100}})",
            mixed_password,
            f"{kind}-server key {_FILL[:14]}",
        )
        for kind in ("tacacs", "radius")
    ),
    anchored_rule(
        "device-password",
        b"snmp-server community ",
        r"snmp-server community (?P<secret>\S{4,64})",
        mixed_password,
        "snmp-server community " + _FILL[:12] + " RO",
    ),
    anchored_rule(
        "signed-url",
        b"x-amz-signature=",
        r"(?i)x-amz-signature=(?P<secret>[0-9a-f]{64})",
        key_material,
        "https://x/k?X-Amz-Signature=" + _HEX,
    ),
    anchored_rule(
        "signed-url",
        b"&signature=",
        r"(?i)&signature=(?P<secret>[\w%+/-]{20,400}={0,2})",
        lambda value: "%" in value or random_value(value),
        "https://x/k?AWSAccessKeyId=x&Signature=" + _FILL[:26] + "%3D&Expires=1",
    ),
    anchored_rule(
        "telegram-url",
        b"telegram.org/",
        r"telegram\.org/(?:file/)?bot(?P<secret>\d{6,12}:[\w-]{30,40})",
        plausible_key,
        "https://api.telegram.org/bot8812345678:AA" + _FILL[:33] + "/sendMessage",
    ),
    anchored_rule(
        "slack-token",
        b"xoxd-",
        r"(?P<secret>xoxd-[\w%+/-]{30,400}={0,2})",
        plausible_key,
        "xoxd-" + _FILL + "%2B" + _FILL[:20],
    ),
    *(
        anchored_rule(
            name,
            mark.lower().encode(),
            rf"(?<![A-Za-z0-9+/])(?P<secret>{mark}[A-Za-z0-9+/_-]{{100,1000}}={{0,2}})",
            random_value,
            mark + _FILL * 3,
        )
        for name, mark in (("aws-bedrock-key", "ABSK"), ("1password-token", "ops_eyJ"))
    ),
    anchored_rule(
        "sanctum-token",
        b"|",
        r"(?<=\d)\|(?=[0-9a-z]{0,40}[A-Z])(?P<secret>[A-Za-z0-9]{40,48})(?!\w)",
        random_value,
        "18|" + _FILL[:40],
    ),
    anchored_rule(
        "webex-token",
        b"_pf84_",
        r"(?P<secret>[A-Za-z0-9]{64}_PF84_[0-9a-f-]{36})",
        anything,
        _FILL + _FILL[:4] + "_PF84_3f2b8c1e-7d4a-4f6b-9c0d-1e2f3a4b5c6d",
        64,
    ),
)
