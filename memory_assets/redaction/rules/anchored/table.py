"""Secrets recognised by their surroundings: URLs, headers, calls, commands, hashes.

One row each: where to look (`anchor`, a lower-case literal), what must be there (`pattern`, matched
at the anchor, with the secret in the group `secret`), what the secret must look like (`accept`),
and a made-up `sample` for the self-test.
"""

from __future__ import annotations

import re

from memory_assets.redaction.rules.anchored.commands import COMMANDS
from memory_assets.redaction.rules.anchored.connections import CONNECTIONS
from memory_assets.redaction.rules.anchored.files import FILES
from memory_assets.redaction.rules.anchored.keys import PRIVATE_KEYS
from memory_assets.redaction.rules.anchored.lines_below import LINES_BELOW
from memory_assets.redaction.rules.anchored.logins import LOGINS
from memory_assets.redaction.rules.anchored.named_elsewhere import NAMED_ELSEWHERE
from memory_assets.redaction.rules.anchored.printed import PRINTED
from memory_assets.redaction.rules.anchored.prose import PROSE
from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    HEX,
    AnchoredRule,
    any_value,
    key_material,
    quoted_password,
    rule,
    spoken_password,
    token_value,
)
from memory_assets.redaction.rules.anchored.spoken import SPOKEN
from memory_assets.redaction.rules.anchored.urls import URLS
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated

_JDBC_PASSWORD = re.compile(
    r"(?i)password=[^&;\s]{3}|//[^/@\s]{1,80}:[^/@\s]{3,80}@|:[^/@\s]{1,40}/[^/@\s]{3,40}@"
)
_HEADER_BITS = 12
_CERTAIN_BITS = 25
_PATH_IN_URL = re.compile(r"\d{1,5}(?:[/?#]|$)")
_QUOTED = r"(?:\"[^\"\n]{1,80}\"|'[^'\n]{1,80}')"
_SECRET = r"\\?[\"'](?P<secret>[^\"'\n\\]{4,100})\\?[\"']"


def _odd_password(value: str) -> bool:
    """Return True if `value` contains characters that a password in a URL should have escaped."""
    return (
        any(map(value.__contains__, "/?#"))
        and _PATH_IN_URL.match(value) is None
        and any_value(value)
    )


def _user_and_password(value: str) -> bool:
    user, colon, password = value.strip("'\"").partition(":")
    if colon and not password:
        return len(user) >= 10 and values.is_mixed(user) and not values.is_reference(user)
    return (
        bool(colon and password)
        and not values.is_reference(password)
        and not values.is_reference(user)
        and not values.is_placeholder(password)
        and not password.startswith(("<", "/"))
    )


def _is_credential(value: str) -> bool:
    """Return True if `value`, after a scheme in a header, is drawn or hexadecimal."""
    return token_value(value) and (values.is_hex(value) or is_generated(value, _HEADER_BITS))


def _is_certain_credential(value: str) -> bool:
    """Return True if `value`, in a header of any name, is drawn and no id."""
    return is_generated(value, _CERTAIN_BITS)


CALLS: tuple[AnchoredRule, ...] = (
    *(rule("set-password", anchor, quoted_password,
           rf"(?i){anchor}\({arguments}", f"x.{anchor}(" + sample + '"' + FILL[:12] + '")')
      for anchor in ("setpassword", "set_password", "setpasswd", "withpassword", "setsecret")
      for arguments, sample in (
          (rf"\s{{0,24}}{_SECRET}", ""),
          (rf"\s{{0,24}}(?:{_QUOTED},\s{{0,24}}){{1,3}}{_SECRET}\s{{0,4}},?\s{{0,24}}\)",
           '"app", '))),
    *(rule("default-password", f"password{quote},", quoted_password,
           rf"(?i)password{quote},[^\n]{{0,100}}?\bdefault\s?=\s?{_SECRET}",
           f"add_argument({quote}--password{quote}, default={quote}{FILL[:12]}{quote})")
      for quote in "\"'"),
    rule("environment-default", "env.", quoted_password,
         r"(?i)env\.\w{0,60}(?:pass|pwd|secret|token|key|phrase)\w{0,24}\s?(?:\|\||\?\?)\s?"
         + _SECRET, "process.env.APP_SECRET || '" + FILL[:20] + "'"),
)  # fmt: skip
"""Secrets passed to calls without a name."""

ANCHORED_RULES: tuple[AnchoredRule, ...] = (
    rule("url-password", "://", _odd_password,
         r"://[^\s/@:\"'<>`\\]{1,60}:(?P<secret>[^\s\"'<>`\\]{4,100})@"
         r"(?:[\w.-]{1,80}:\d{2,5}\b|localhost\b|[\w-]{1,40}(?:\.[\w-]{1,40}){1,5}(?=[/\s\"'?]|$))",
         "postgres://app:p/" + FILL[:14] + "@db.internal:5432/app"),
    rule("webhook-url", "://", lambda value: values.is_plausible_token(value.replace("/", "")),
         r"://(?i:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
         r"|[\w.-]{1,80}/hooks/catch/|(?:[\w-]{1,60}\.)?webhook\.office\.com/webhookb2/"
         r"|outlook\.office(?:365)?\.com/webhook/|[\w.:-]{1,80}/hooks/(?=[a-z0-9]{26}\b)"
         r"|(?:\w{1,9}\.)?discord(?:app)?\.com/api/webhooks/(?=\d{15,22}/)|hook\.\w{2,5}\.make\.com/"
         r"|open\.(?:feishu|larksuite)\.\w{2,3}/open-apis/bot/v2/hook/|hc-ping\.com/"
         r"|maker\.ifttt\.com/(?:trigger|use)/[\w-]{1,60}(?:/json)?/with/key/"
         r"|events\.(?:eu\.)?pagerduty\.com/integration/)" r"(?P<secret>[\w/@-]{7,400})",
         f"https://hooks.slack.com/services/T{FILL[:9].upper()}/B{FILL[9:18].upper()}/{FILL[:24]}"),
    rule("bearer-token", "bearer", token_value,
         r"(?i:bearer)(?:[ \t]{1,4}|%20|\+)(?P<secret>[\w.~+/=:-]{10,4000})",
         "Bearer " + FILL[:32]),
    rule("basic-credential", "basic ", values.is_basic_credential,
         r"(?i:basic) {1,4}[\"']?(?P<secret>[A-Za-z0-9+/]{6,400}={0,2})(?![\w+/=])",
         "Basic YXBwOk" + "h1bnRlcjI="),
    rule("authorization-header", "authorization", _is_credential,
         r"(?i)authorization[\"']?\s{0,4}[:=,]\s{0,4}[\"']?[A-Za-z][\w.-]{1,30}[ \t]{1,4}[\"']?"
         r"(?:\w{3,14}=)?"
         r"(?P<secret>[^\s\"'<>,;(){}]{10,2000})", "Authorization: Acme " + FILL[:32]),
    rule("authorization-header", "authorization", spoken_password,
         r"(?i)authorization[\"']?\s{0,4}[:=,]\s{0,4}[\"']?(?:bearer|token|api-?key|jwt|key)"
         r"[ ]{1,4}(?P<secret>[\w.~+/-]{6,400}={0,2})(?=[\s\"'\\]|$)",
         "Authorization: Token " + FILL[:7]),
    rule("header-value", "x-", _is_certain_credential,
         r"(?i)(?<![\w/.-])x-(?![\w-]{0,40}?(?:id|trace|span|b3|request|cache|etag|nonce|hash|digest"
         r"|checksum|version|rev|build|commit|served|timer|runtime|content|frame|forwarded|cf|sha\d*"
         r"|ray|csrf|xsrf|powered)\b)"
         r"[\w-]{2,40}:[ ]?(?P<secret>[\w.~+/=-]{16,2000})(?=[\s\"']|$)",
         "> X-Acme: " + FILL[:32]),
    rule("digest-response", "response=", key_material,
         r"(?i)response=[\"']?(?P<secret>[0-9a-f]{32,64})(?![\w-])",
         'Digest username="app", response="' + HEX[:32] + '"'),
    rule("azure-client-secret", "~", values.is_plausible_token,
         r"(?P<secret>[\w.~-]{3}\dQ~[\w.~-]{31,40})", "k7Q8Q~" + FILL[:34], 5),
    rule("curl-user", "curl", _user_and_password,
         r"curl\b(?:[^\n\\]|\\.|\\\n){0,240}?\s(?:-u|--user|--proxy-user)[ =]{0,2}"
         r"(?P<secret>[^\s\"'\\:]{1,80}:(?:'[^'\n]{3,200}'|\"[^\"\n]{3,200}\")|\"[^\"\n]{3,200}\"|'[^'\n]{3,200}'|[^\s\"'\\]{3,200})",
         "curl -s -u admin:" + FILL[:12] + " https://example.invalid"),
    rule("command-password", " -p ", lambda value: not values.is_reference(value.strip("'\"")),
         r" -p (?P<secret>[^\s\"'-][^\s\"']{3,200}|\"[^\"\n]{4,200}\"|'[^'\n]{4,200}')",
         "sshpass -p " + FILL[:12] + " ssh host"),
    rule("azure-account-key", "accountkey", values.is_mixed,
         r"(?i:accountkey)\s{0,4}[=:]\s{0,4}[\"']?(?P<secret>[A-Za-z0-9+/]{20,120}={0,2})",
         "AccountKey=" + FILL[:43] + FILL[:43] + "=="),
    *(rule(f"azure-{service}-marked-key", mark.lower(), values.is_plausible_token,
           rf"(?P<secret>[A-Za-z0-9+/]{{{before}}}{re.escape(mark)}[A-Za-z0-9+/]{{{after}}}={{0,2}})(?![\w+/])",
           FILL[:before] + FILL[: max(before - 60, 0)] + mark + FILL[:after], before)
      for service, mark, before, after in (("storage", "+ASt", 76, 6), ("cosmos", "ACDb", 76, 6),
          ("batch", "+ABa", 76, 6), ("api-management", "APIM", 76, 6), ("event-hub", "+AEh", 33, 6),
          ("service-bus", "+ASb", 33, 6), ("relay", "+ARm", 33, 6), ("iot-hub", "AIoT", 33, 6),
          ("functions", "AzFu", 44, 8), ("search", "AzSe", 42, 6), ("cache", "AzCa", 33, 6),
          ("registry", "+ACR", 42, 6))),
    rule("braintree-token", "access_token$", values.is_plausible_token,
         r"(?P<secret>access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32})",
         "access_token$production$" + HEX[:16] + "$" + HEX[:32]),
    rule("facebook-app-token", "|", lambda value: values.is_random(value.partition("|")[2], 8),
         r"(?P<secret>\d{15,16}\|[\w-]{27})(?![\w-])", "1308742762612587|" + FILL[:27], 16),
    rule("sentry-dsn", "://", lambda value: len(set(value[:32])) >= 6,
         r"://(?P<secret>[0-9a-f]{32}(?::[0-9a-f]{32})?@[\w.-]{1,60}/\d{1,20})",
         "https://" + HEX[:32] + "@o1.ingest.sentry.example/42"),
    rule("jdbc-url", "jdbc:", lambda value: _JDBC_PASSWORD.search(value) is not None,
         r"(?P<secret>jdbc:[a-z0-9]{2,20}:[^\s\"'<>`]{10,600})",
         "jdbc:postgresql://db.internal:5432/app?user=app&password=" + FILL[:12]),
    rule("netrc-password", "machine", any_value,
         r"machine\s{1,8}[\w.:-]{1,100}\s{1,8}login\s{1,8}\S{1,100}\s{1,8}password\s{1,8}(?P<secret>\S{3,200})",
         "machine api.example.com login app password " + FILL[:12]),
    rule("vault-unseal-key", "unseal", token_value,
         r"(?i)unseal(?: key(?: \d)?:)?\s{1,4}(?P<secret>[A-Za-z0-9+/]{43,64}={0,2})",
         "vault operator unseal " + FILL[:44]),
    rule("spoken-password", "password is", any_value,
         r"(?i)password is(?: now| set to)?:?\s{1,3}\\?([\"'`])(?P<secret>[^\s\"'`\\]{4,80})\\?\1",
         "The default password is '" + FILL[:12] + "'"),
    rule("network-credential", "networkcredential", any_value,
         r"(?i)networkcredential\(\s{0,8}([\"'])[^\"'\n]{1,120}\1\s{0,8},\s{0,40}\1(?P<secret>[^\"'\n]{3,120})\1",
         'new NetworkCredential("app@example.com", "' + FILL[:12] + '")'),
    rule("directory-entry-password", "directoryentry", any_value,
         r"(?i)directoryentry\((?:\s{0,40}\"[^\"\n]{0,160}\"\s{0,8},){2}\s{0,40}\"(?P<secret>[^\"\n]{3,120})\"",
         'new DirectoryEntry("LDAP://x", "app", "' + FILL[:12] + '")'),
    rule("secure-string", "convertto-securestring", any_value,
         r"(?i)convertto-securestring\s{1,4}(?:-[a-z]{1,12}\s{1,4}){0,3}[\"'](?P<secret>[^\"'\n]{3,200})[\"']",
         'ConvertTo-SecureString "' + FILL[:12] + '" -AsPlainText -Force'),
    rule("windows-user-password", "net user", any_value,
         r"(?i)net user (?:/add )?[\w.-]{1,60} (?P<secret>[^\s/\"'*][^\s\"']{3,80}) /add",
         "net user app " + FILL[:12] + " /add"),
    rule("sidekiq-credential", "contribsys", bool,
         r"(?i)contribsys(?:__|\.)com\w{0,12}[\"']?[\]\s]{0,8}(?:[:=?|>,]{1,3})\s{0,4}[\"'`]?"
         r"(?P<secret>[0-9a-f]{8}:[0-9a-f]{8})",
         "BUNDLE_ENTERPRISE__CONTRIBSYS__COM: " + HEX[:8] + ":" + HEX[8:16]),
    rule("travis-encrypted-value", "secure:", values.is_random,
         r"secure:\s{1,4}[\"']?(?P<secret>[A-Za-z0-9+/=\\]{80,1200})",
         'secure: "' + FILL + FILL + '="'),
    rule("putty-private-key", "private-lines", lambda value: len(value) >= 32,
         r"(?i)private-lines: \d{1,3}\r?\n(?P<secret>(?:[A-Za-z0-9+/=]{1,80}\r?\n?){1,200})",
         "Private-Lines: 1\n" + FILL),
    rule("password-hash", "$", lambda value: len(set(value)) >= 10,
         r"(?P<secret>\$(?:2[abxy]?\$\d\d\$[./A-Za-z0-9]{50,60}|[15689]\$(?:rounds=\d{1,9}\$)?[^$\s:]{0,40}\$[./A-Za-z0-9]{22,100}"
         r"|9\$[./A-Za-z0-9-]{16,100}|y\$[./\w]{1,10}\$[./\w]{1,90}\$[./\w]{20,90}|argon2i?d?\$[^\s\"']{20,300}|krb5(?:asrep|tgs|pa)\$[^\s\"']{20,4000}"
         r"|pbkdf2[\w-]{0,20}\$[^\s\"']{20,300}|scrypt\$[^\s\"']{20,300}|S\$[./A-Za-z0-9]{52}|P\$[./A-Za-z0-9]{31}|apr1\$[^$\s]{1,10}\$[./A-Za-z0-9]{22}))",
         "$2b$12$" + FILL[:53]),
    *COMMANDS,
    *CONNECTIONS,
    *CALLS,
    *LOGINS,
    *FILES,
    *NAMED_ELSEWHERE,
    *LINES_BELOW,
    *SPOKEN,
    *PRINTED,
    *PRIVATE_KEYS,
    *PROSE,
    *URLS,
)  # fmt: skip
"""Tried in order at every place where the anchor stands; all that match are reported."""

PASSWORD_COMMANDS = re.compile(
    r"(?<![^\s;&|(/`$])(?:sshpass|login|mkpasswd|snowsql|psexec(?:\.exe)?|plink|pscp|(?P<asks>mysql\w*|mariadb)|mongo\w*|cqlsh|cypher-shell|useradd|usermod|clickhouse-client)\s",
    re.IGNORECASE,
)
"""Programs, as words of a command, whose `-p` takes a password (that of mkdir does not)."""

DATABASE = re.compile(r" -p [a-z]{1,30} [<>]")
"""What follows those of them that ask for the password (`asks`), with the database to dump or
load."""

COMMAND_ENDS = ("\n", ";", "&&", "|", ", ")

__all__ = ["ANCHORED_RULES", "COMMAND_ENDS", "DATABASE", "PASSWORD_COMMANDS", "AnchoredRule"]
