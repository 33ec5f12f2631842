"""Secrets recognised by their surroundings: URLs, headers, commands, hashes.

One row each: where to look (`anchor`, a lower-case literal), what must be there (`pattern`, matched
at the anchor, with the secret in the group `secret`), what the secret must look like (`accept`),
and a made-up `sample` for the self-test.
"""

from __future__ import annotations

import re

from memory_assets.redaction.rules import values
from memory_assets.redaction.rules.anchored_calls import CALLS
from memory_assets.redaction.rules.anchored_commands import COMMANDS
from memory_assets.redaction.rules.anchored_files import FILES
from memory_assets.redaction.rules.anchored_keys import PRIVATE_KEYS
from memory_assets.redaction.rules.anchored_prose import PROSE
from memory_assets.redaction.rules.anchored_rule import (
    AnchoredRule,
    anchored_rule,
    any_value,
    plausible_key,
    random_value,
    token_value,
)
from memory_assets.redaction.rules.formats import sample_characters

_FILL = sample_characters("A-Za-z0-9", 60)
_JDBC_PASSWORD = re.compile(
    r"(?i)password=[^&;\s]{3}|://[^/@\s]{1,80}:[^/@\s]{3,80}@|:[^/@\s]{1,40}/[^/@\s]{3,40}@"
)
_HEX = sample_characters("0-9a-f", 60)
_PATH_IN_URL = re.compile(r"\d{1,5}/")


def _odd_password(value: str) -> bool:
    """Return True if `value` contains characters that a password in a URL should have escaped."""
    return "/" in value and _PATH_IN_URL.match(value) is None and any_value(value)


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


ANCHORED_RULES: tuple[AnchoredRule, ...] = (
    anchored_rule(
        "url-password",
        b"://",
        r"://[^\s/@:\"'<>`\\]{0,120}:(?P<secret>[^\s/\"'<>`\\]{1,400})@(?=[\w\[$%{-])",
        any_value,
        "postgres://app:" + _FILL[:14] + "@db.internal:5432/app",
    ),
    anchored_rule(
        "url-password",
        b"://",
        r"://[^\s/@:\"'<>`\\]{1,60}:(?P<secret>[^\s\"'<>`\\?#]{4,100})@[\w.-]{1,80}:\d{2,5}\b",
        _odd_password,
        "postgres://app:p/" + _FILL[:14] + "@db.internal:5432/app",
    ),
    anchored_rule(
        "url-token",
        b"://",
        r"://(?P<secret>[\w.~%+=-]{16,400})(?::x-oauth-basic)?@(?=\w)",
        random_value,
        "https://" + _FILL[:32] + "@git.example.com/app.git",
    ),
    anchored_rule(
        "url-path-key",
        b"://",
        r"://[\w.-]{1,80}(?:infura\.io/(?:ws/)?v3|alchemy(?:api)?\.(?:io|com)/v2|quiknode\.pro)/"
        r"(?P<secret>[\w-]{20,80})",
        plausible_key,
        "https://mainnet.infura.io/v3/" + _HEX[:32],
    ),
    anchored_rule(
        "webhook-url",
        b"://",
        r"://(?i:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
        r"|[\w.-]{1,80}/hooks/catch/|(?:[\w-]{1,60}\.)?webhook\.office\.com/webhookb2/"
        r"|outlook\.office(?:365)?\.com/webhook/|[\w.:-]{1,80}/hooks/(?=[a-z0-9]{26}\b)"
        r"|(?:\w{1,9}\.)?discord(?:app)?\.com/api/webhooks/(?=\d{15,22}/)|hook\.\w{2,5}\.make\.com/"
        r"|open\.(?:feishu|larksuite)\.\w{2,3}/open-apis/bot/v2/hook/|hc-ping\.com/"
        r"|maker\.ifttt\.com/(?:trigger|use)/[\w-]{1,60}(?:/json)?/with/key/"
        r"|events\.(?:eu\.)?pagerduty\.com/integration/)"
        r"(?P<secret>[\w/@-]{7,400})",
        lambda value: values.is_plausible_token(value.replace("/", "")),
        f"https://hooks.slack.com/services/T{_FILL[:9].upper()}/B{_FILL[9:18].upper()}/{_FILL[:24]}",
    ),
    anchored_rule(
        "bearer-token",
        b"bearer",
        r"(?i:bearer)(?:[ \t]{1,4}|%20|\+)(?P<secret>[\w.~+/=:-]{10,4000})",
        token_value,
        "Bearer " + _FILL[:32],
    ),
    anchored_rule(
        "azure-client-secret",
        b"~",
        r"(?P<secret>[\w.~-]{3}\dQ~[\w.~-]{31,40})",
        values.is_plausible_token,
        "k7Q8Q~" + _FILL[:34],
        5,
    ),
    anchored_rule(
        "curl-user",
        b"curl",
        r"curl\b(?:[^\n\\]|\\.|\\\n){0,240}?\s(?:-u|--user|--proxy-user)[ =]{0,2}"
        r"(?P<secret>[^\s\"'\\:]{1,80}:(?:'[^'\n]{3,200}'|\"[^\"\n]{3,200}\")|\"[^\"\n]{3,200}\"|'[^'\n]{3,200}'|[^\s\"'\\]{3,200})",
        _user_and_password,
        "curl -s -u admin:" + _FILL[:12] + " https://example.invalid",
    ),
    anchored_rule(
        "command-password",
        b" -p ",
        r" -p (?P<secret>[^\s\"'-][^\s\"']{3,200}|\"[^\"\n]{4,200}\"|'[^'\n]{4,200}')",
        lambda value: not values.is_reference(value.strip("'\"")),
        "sshpass -p " + _FILL[:12] + " ssh host",
    ),
    anchored_rule(
        "azure-account-key",
        b"accountkey",
        r"(?i:accountkey)\s{0,4}[=:]\s{0,4}[\"']?(?P<secret>[A-Za-z0-9+/]{20,120}={0,2})",
        values.is_mixed,
        "AccountKey=" + _FILL[:43] + _FILL[:43] + "==",
    ),
    anchored_rule(
        "shared-access-key",
        b"sharedaccess",
        r"(?i:sharedaccess(?:key|secret))(?:value)?\s{0,4}=\s{0,4}(?P<secret>[A-Za-z0-9+/]{20,120}={0,2})",
        token_value,
        "Endpoint=sb://x;SharedAccessKey=" + _FILL[:43] + "=",
    ),
    anchored_rule(
        "shared-access-signature",
        b"sig=",
        r"sig=(?P<secret>[A-Za-z0-9%+/_-]{40,90}={0,2})",
        lambda value: "%" in value or values.is_random(value),
        "?sv=2022-11-02&sig=" + _FILL[:40] + "%3D",
    ),
    *(
        anchored_rule(
            f"azure-{service}-marked-key",
            mark.lower().encode(),
            rf"(?P<secret>[A-Za-z0-9+/]{{{before}}}{re.escape(mark)}[A-Za-z0-9+/]{{{after}}}={{0,2}})(?![\w+/])",
            values.is_plausible_token,
            _FILL[:before] + _FILL[: max(before - 60, 0)] + mark + _FILL[:after],
            before,
        )
        for service, mark, before, after in (
            ("storage", "+ASt", 76, 6),
            ("cosmos", "ACDb", 76, 6),
            ("batch", "+ABa", 76, 6),
            ("api-management", "APIM", 76, 6),
            ("event-hub", "+AEh", 33, 6),
            ("service-bus", "+ASb", 33, 6),
            ("relay", "+ARm", 33, 6),
            ("iot-hub", "AIoT", 33, 6),
            ("functions", "AzFu", 44, 8),
            ("search", "AzSe", 42, 6),
            ("cache", "AzCa", 33, 6),
            ("registry", "+ACR", 42, 6),
        )
    ),
    anchored_rule(
        "braintree-token",
        b"access_token$",
        r"(?P<secret>access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32})",
        values.is_plausible_token,
        "access_token$production$" + _HEX[:16] + "$" + _HEX[:32],
    ),
    anchored_rule(
        "facebook-app-token",
        b"|",
        r"(?P<secret>\d{15,16}\|[\w-]{27})(?![\w-])",
        lambda value: values.is_random(value.partition("|")[2], 8),
        "1308742762612587|" + _FILL[:27],
        16,
    ),
    anchored_rule(
        "sentry-dsn",
        b"://",
        r"://(?P<secret>[0-9a-f]{32}(?::[0-9a-f]{32})?@[\w.-]{1,60}/\d{1,20})",
        lambda value: len(set(value[:32])) >= 6,
        "https://" + _HEX[:32] + "@o1.ingest.sentry.example/42",
    ),
    anchored_rule(
        "jdbc-url",
        b"jdbc:",
        r"(?P<secret>jdbc:[a-z0-9]{2,20}:[^\s\"'<>`]{10,600})",
        lambda value: _JDBC_PASSWORD.search(value) is not None,
        "jdbc:postgresql://db.internal:5432/app?user=app&password=" + _FILL[:12],
    ),
    anchored_rule(
        "netrc-password",
        b"machine",
        r"machine\s{1,8}[\w.:-]{1,100}\s{1,8}login\s{1,8}\S{1,100}\s{1,8}password\s{1,8}(?P<secret>\S{3,200})",
        any_value,
        "machine api.example.com login app password " + _FILL[:12],
    ),
    anchored_rule(
        "vault-unseal-key",
        b"unseal",
        r"(?i)unseal(?: key(?: \d)?:)?\s{1,4}(?P<secret>[A-Za-z0-9+/]{43,64}={0,2})",
        token_value,
        "vault operator unseal " + _FILL[:44],
    ),
    anchored_rule(
        "initial-password",
        b"following password",
        r"(?i)following password[\w ]{0,40}:?\s{1,24}(?P<secret>[0-9a-f]{32})\b",
        token_value,
        "use the following password to proceed to installation:\n\n" + _HEX[:32],
    ),
    anchored_rule(
        "spoken-password",
        b"password is",
        r"(?i)password is(?: now| set to)?:?\s{1,3}\\?([\"'`])(?P<secret>[^\s\"'`\\]{4,80})\\?\1",
        any_value,
        "The default password is '" + _FILL[:12] + "'",
    ),
    anchored_rule(
        "spoken-password-of-user",
        b"password for",
        r"(?i)password for (?:the )?(?:user |account )?\\?[\"'`]?[\w@.-]{1,60}\\?[\"'`]? is:?"
        r"\s{1,3}\\?([\"'`])(?P<secret>[^\s\"'`\\]{4,80})\\?\1",
        any_value,
        "the password for user 'app' is '" + _FILL[:12] + "'",
    ),
    anchored_rule(
        "network-credential",
        b"networkcredential",
        r"(?i)networkcredential\(\s{0,8}\"[^\"\n]{1,120}\"\s{0,8},\s{0,40}\"(?P<secret>[^\"\n]{3,120})\"",
        any_value,
        'new NetworkCredential("app@example.com", "' + _FILL[:12] + '")',
    ),
    anchored_rule(
        "directory-entry-password",
        b"directoryentry",
        r"(?i)directoryentry\((?:\s{0,40}\"[^\"\n]{0,160}\"\s{0,8},){2}\s{0,40}\"(?P<secret>[^\"\n]{3,120})\"",
        any_value,
        'new DirectoryEntry("LDAP://x", "app", "' + _FILL[:12] + '")',
    ),
    anchored_rule(
        "secure-string",
        b"convertto-securestring",
        r"(?i)convertto-securestring\s{1,4}(?:-string\s{1,4})?[\"'](?P<secret>[^\"'\n]{3,200})[\"']",
        any_value,
        'ConvertTo-SecureString "' + _FILL[:12] + '" -AsPlainText -Force',
    ),
    anchored_rule(
        "windows-user-password",
        b"net user",
        r"(?i)net user (?:/add )?[\w.-]{1,60} (?P<secret>[^\s/\"'*][^\s\"']{3,80}) /add",
        any_value,
        "net user app " + _FILL[:12] + " /add",
    ),
    anchored_rule(
        "sidekiq-credential",
        b"contribsys",
        r"(?i)contribsys(?:__|\.)com\w{0,12}[\"']?[\]\s]{0,8}(?:[:=?|>,]{1,3})\s{0,4}[\"'`]?"
        r"(?P<secret>[0-9a-f]{8}:[0-9a-f]{8})",
        lambda value: True,
        "BUNDLE_ENTERPRISE__CONTRIBSYS__COM: " + _HEX[:8] + ":" + _HEX[8:16],
    ),
    anchored_rule(
        "travis-encrypted-value",
        b"secure:",
        r"secure:\s{1,4}[\"']?(?P<secret>[A-Za-z0-9+/=\\]{80,1200})",
        lambda value: values.is_random(value),
        'secure: "' + _FILL + _FILL + '="',
    ),
    anchored_rule(
        "putty-private-key",
        b"private-lines",
        r"(?i)private-lines: \d{1,3}\r?\n(?P<secret>(?:[A-Za-z0-9+/=]{1,80}\r?\n?){1,200})",
        lambda value: len(value) >= 32,
        "Private-Lines: 1\n" + _FILL,
    ),
    anchored_rule(
        "password-hash",
        b"$",
        r"(?P<secret>\$(?:2[abxy]?\$\d\d\$[./A-Za-z0-9]{50,60}|[15689]\$(?:rounds=\d{1,9}\$)?[^$\s:]{0,40}\$[./A-Za-z0-9]{22,100}"
        r"|9\$[./A-Za-z0-9-]{16,100}|y\$[./\w]{1,10}\$[./\w]{1,90}\$[./\w]{20,90}|argon2i?d?\$[^\s\"']{20,300}|krb5(?:asrep|tgs|pa)\$[^\s\"']{20,4000}"
        r"|pbkdf2[\w-]{0,20}\$[^\s\"']{20,300}|scrypt\$[^\s\"']{20,300}|S\$[./A-Za-z0-9]{52}|P\$[./A-Za-z0-9]{31}|apr1\$[^$\s]{1,10}\$[./A-Za-z0-9]{22}))",
        lambda value: len(set(value)) >= 10,
        "$2b$12$" + _FILL[:53],
    ),
    *COMMANDS,
    *CALLS,
    *FILES,
    *PRIVATE_KEYS,
    *PROSE,
)
"""Tried in order at every place where the anchor stands; all that match are reported."""

PASSWORD_COMMANDS = re.compile(
    r"(?<![^\s;&|(/`$])(?:sshpass|login|psexec(?:\.exe)?|plink|pscp|mysql\w*|mariadb|mongo\w*|cqlsh|cypher-shell|useradd|usermod|clickhouse-client)\s",
    re.IGNORECASE,
)
"""Programs, as words of a command, whose `-p` takes a password (that of mkdir does not)."""

COMMAND_ENDS = ("\n", ";", "&&", "|", ", ")

__all__ = ["ANCHORED_RULES", "COMMAND_ENDS", "PASSWORD_COMMANDS", "AnchoredRule"]
