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
from memory_assets.redaction.rules.judging.likelihood import evidence
from memory_assets.word_lists import words

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


_MAILING = "|".join(
    rf"(?<={end}\.)" for end in words("ftp ftps tp_ssl smtp imap mail server conn session pop pop3")
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
                         "usernamepasswordcredentials", "basiccredentials")),
          ("wifi.begin(", r"wifi\.begin", _ANY + _NEXT, typed_password, 'WiFi.begin("app", '),
          *((f"{name}(", name, rf"(?:{_ANY}{_NEXT}){{1,2}}", likely_password,
             f'{name}("app", "a@example.com", ')
            for name in ("create_superuser", "createsuperuser", "create_user", "createuser",
                         "adduser", "add_user", "digestauth", "ntlmauth", "credentials.basic",
                         "signin", "sign_in", "signinwithemailandpassword", "authenticate",
                         "createuserwithemailandpassword", "client.auth")),
          *((f"{name}(", name, "b?", placed_password, f"{name}(")
            for name in ("password_hash", "hash_password", "hashpassword", "make_password",
                         "verify_password", "verifypassword", "check_password", "bcrypt.hash",
                         "bcrypt.hashsync", "bcrypt.hashpw", "argon2.hash", "comparepassword")),
          *((f"{name}(", name, rf"[^()\n]{{1,120}}?{_NEXT}b?", drawn_or_chosen, f'{name}(x, ')
            for name in ("jwt.sign", "jwt.verify", "jwt.encode", "jwt.decode", "createhmac")),
          *((f"{name}(", name, r"b?(?!\\?[\"']pk_)", drawn_or_chosen, f"{name}(")
            for name in ("hmac.new", "fernet", "cookieparser", "stripe")),
          *((f"{name}(", name, (_ANY + _NEXT) * 2, argument_password, f'{name}("x", "app", ')
            for name in ("mysql_connect", "mysqli_connect", "mysql_pconnect", "mysqli", "pdo",
                         "mysqldb.connect", "pymysql.connect",
                         "ftp", "odbc_connect", "getconnection", "ftp_login",
                         "ftp_tls", "db2_connect", "ibase_connect")))),
)  # fmt: skip
