"""Passwords that are arguments of calls which log in. Rows as in `table.py`."""

from __future__ import annotations

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    AnchoredRule,
    argument_password,
    drawn_or_chosen,
    likely_password,
    placed_password,
    rule,
    strong_value,
    typed_password,
)
from memory_assets.redaction.rules.judging.given import Place, is_given, is_passphrase
from memory_assets.redaction.rules.judging.likelihood import evidence

_QUOTED = r"(?:\"[^\"\n]{1,120}\"|'[^'\n]{1,120}')"
_ANY = rf"(?:{_QUOTED}|[\w.:$>-]{{1,60}})"
_SECRET = r"(?:[rbu]?)\\?[\"'](?P<secret>[^\"'\n\\]{3,100})\\?[\"']"
_NEXT = r",\s{0,40}"
_BITS = 8
"""Bits of evidence that a password needs where the call's name is one of other calls, too."""


def _is_password(value: str) -> bool:
    """Return True if `value`, of a call with a common name, is a password."""
    return (
        strong_value(value)
        or likely_password(value)
        or (argument_password(value) and evidence(value) >= _BITS)
    )


def _is_literal(value: str) -> bool:
    """Return True if `value`, a literal where code has a password or a key, is one, words too."""
    return is_given(value, Place.LITERAL) or is_passphrase(value, quoted=True)


_OF_PASSWORD = r"[\w.>$-]{0,40}?(?:pass(?:word|wd|phrase)?|pwd|pw|secret|pin)\w{0,8}"
_NO_ALGORITHM = r"b?(?!\\?[\"'](?:[HREP]S\d|Ed|sha|md5|base64|hex|utf|aes|gcm))"
_MAILING = "|".join(
    rf"(?<={end}\.)"
    for end in (
        "ftp",
        "ftps",
        "tp_ssl",
        "smtp",
        "imap",
        "mail",
        "server",
        "conn",
        "session",
        "pop",
        "pop3",
    )
)
"""Variables of which a `login` takes a user and a password."""

LOGINS: tuple[AnchoredRule, ...] = (
    *(rule("login-call", anchor, accept,
           rf"(?i){pattern}\(\s{{0,8}}{before}{_SECRET}\s{{0,8}}[,)]", f'{sample}"{FILL[:12]}")')
      for anchor, pattern, before, accept, sample in (
          ("login(", rf"(?:{_MAILING})login", _ANY + _NEXT, argument_password,
           'smtp.login("app", '),
          ("login(", "login", _QUOTED + _NEXT + r"(?:Some\()?", _is_password, 'login("app", '),
          ("connect(", "connect", rf"[^()\n]{{1,120}}{_NEXT}{_QUOTED}{_NEXT}", strong_value,
           'mysql_connect("localhost", "root", '),
          ("credentials(", "credentials", rf"(?:{_QUOTED}{_NEXT}){{1,3}}", strong_value,
           'Credentials("Realm", "host", "app", '),
          ("bind(", "bind",
           r"(?:\$?\w{1,20},\s{0,4})?[\"'](?:cn|uid|dc|ou)=[^\"'\n]{1,120}[\"']" + _NEXT,
           argument_password, 'ldap.bind("cn=app", '),
          ("bind_s(", "bind_s", _QUOTED + _NEXT, argument_password, 'simple_bind_s("cn=app", '),
          ("connection(", "connection",
           r"\w{1,20},\s{0,4}[\"'](?:cn|uid|dc|ou)=[^\"'\n]{1,120}[\"']" + _NEXT,
           argument_password, 'Connection(server, "cn=app", '),
          *((f"{name}(", name, _ANY + _NEXT + r"(?:Some\()?", argument_password, f'{name}("app", ')
            for name in ("auth=", "basic_auth", "basicauth", "oci_connect", "oci_pconnect",
                         "plaincredentials", "passwordauthentication", "userpasscredentials",
                         "usernamepasswordcredentials", "basiccredentials", "proxyauth",
                         "digestauth", "ntlmauth", "passwordcredential", "username_pw_set",
                         "basic.auth", "check_pw", "checkpw", "credentials.basic")),
          *((f"{name}(", name, _ANY + _NEXT, typed_password, f'{name}("app", ')
            for name in ("wifi.begin", "softap", "wlan.connect", "wifi.connect")),
          *((f"{name}.connect(", rf"{name}\.connect", (_ANY + _NEXT) * 2, _is_literal,
             f'{name}.connect("x", "app", ') for name in ("client", "mqtt")),
          *((f"{name}(", name, rf"{_OF_PASSWORD},\s{{0,8}}", _is_literal, f"{name}(password, ")
            for name in ("strcmp", "strncmp", "strcasecmp", "compare_digest", "secure_compare",
                         "timingsafeequal", "hash_equals")),
          *((f"{name}.equals", rf"(?<![a-z]){name}\.equals(?:ignorecase)?", "", _is_literal,
             f"{name}.equals(") for name in ("password", "passwd", "pwd", "pw")),
          *((f"{name}.set", rf"{name}(?:field|box|input)?\.set(?:_?text|_?value)", "", _is_literal,
             f"{name}.setText(") for name in ("password", "passwordfield")),
          *((f"{name}(", rf"(?<=\.){name}",
             r"(?P<quote>[\"'`])(?:(?!(?P=quote))[^\n]){0,80}?pass(?:(?!(?P=quote))[^\n]){0,40}"
             rf"(?P=quote){_NEXT}", _is_literal, f'page.{name}("#password", ')
            for name in ("fill", "type")),
          *((f"{name}(", name, rf"(?:{_ANY}{_NEXT}){{1,2}}", likely_password,
             f'{name}("app", "a@example.com", ')
            for name in ("create_superuser", "createsuperuser", "create_user", "createuser",
                         "adduser", "add_user", "signin", "sign_in",
                         "signinwithemailandpassword", "authenticate",
                         "createuserwithemailandpassword", "client.auth")),
          ("create_superuser(", "create_superuser", (_ANY + _NEXT) * 2, _is_literal,
           'create_superuser("app", "a@example.com", '),
          *((f"{name}(", name, "b?", placed_password, f"{name}(")
            for name in ("password_hash", "hash_password", "hashpassword", "make_password",
                         "verify_password", "verifypassword", "check_password", "bcrypt.hash",
                         "bcrypt.hashsync", "bcrypt.hashpw", "argon2.hash", "comparepassword",
                         "bcrypt")),
          *((f"{name}(", name, rf"[^()\n]{{1,120}}?{_NEXT}{_NO_ALGORITHM}", _is_literal,
             f'{name}(x, ')
            for name in ("jwt.sign", "jwt.verify", "jwt.encode", "jwt.decode", "createhmac",
                         "pbkdf2_hmac", "aes.encrypt", "aes.decrypt", "createcipheriv",
                         "pgp_sym_encrypt", "pgp_sym_decrypt", "aes_encrypt", "aes_decrypt")),
          *((f"{name}(", name, _NO_ALGORITHM, _is_literal, f"{name}(")
            for name in ("hmac.new", "cookieparser", "aes.new", "secretkeyspec")),
          *((f"{name}(", name, r"b?(?!\\?[\"']pk_)", drawn_or_chosen, f"{name}(")
            for name in ("fernet", "stripe")),
          *((f"{name}(", name, (_ANY + _NEXT) * 2, argument_password, f'{name}("x", "app", ')
            for name in ("mysql_connect", "mysqli_connect", "mysql_pconnect", "mysqli", "pdo",
                         "mysqldb.connect", "pymysql.connect",
                         "ftp", "odbc_connect", "getconnection", "ftp_login",
                         "ftp_tls", "db2_connect", "ibase_connect")))),
)  # fmt: skip
