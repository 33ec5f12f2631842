"""Secrets that a command shown beside them prints, and those that a driver of browsers types. Rows
as in `table.py`."""

from __future__ import annotations

import re

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    AnchoredRule,
    any_value,
    drawn_value,
    likely_password,
    login_password,
    quoted_password,
    rule,
    typed_password,
)
from memory_assets.redaction.rules.judging.phrases import is_mixture, is_said, is_words

_TELLING = r"(?:password|passwd|pwd|passphrase|secret|token|api_?key)"
_WRITES = (
    r"(?:clear\(\)\.)?(?:first\(\)\.|last\(\)\.)?(?:send_?keys|fill|type|press_?sequentially"
    r"|set_?value|enter_?text|set_?text|input|change)\("
)
"""What drivers call to type into a field."""
_TYPED = r"[\"'](?P<secret>[^\"'\n\\]{4,100})[\"']"
_OF_EVENT = r"(?:\{\s?target:\s?\{\s?value:\s?)?"
_MEMBER = r"[\"']?\w{1,20}[\"']?\s?[:=]\s?(?:[\"'][^\"'\n]{0,80}[\"']|[\w.]{1,20}),\s{0,24}"


def _is_typed(value: str) -> bool:
    """Return True if `value`, typed into a field for passwords, is one."""
    return quoted_password(value) or likely_password(value)


def _is_printed(value: str) -> bool:
    """Return True if `value`, alone below a command that prints a secret, is no message."""
    return any_value(value) and not value.endswith((":", "...")) and "://" not in value


def _is_prompted(value: str) -> bool:
    """Return True if `value`, behind a prompt for passwords or in a form, is one: also a word."""
    return typed_password(value) and login_password(value) and not is_said(value)


def _is_beside(value: str) -> bool:
    """Return True if `value`, the cell beside one that says "password", has the form of one."""
    return likely_password(value) or is_mixture(value) or is_words(value)


PRINTED: tuple[AnchoredRule, ...] = (
    rule("printed-secret", "ugfzc3dvcmq6", any_value,
         r"(?i)ugfzc3dvcmq6\r?\n(?:[CS<>]{1,2}:? ?)?(?P<secret>[a-z0-9+/]{6,200}={0,2})(?=\r?\n|$)",
         f"S: 334 UGFzc3dvcmQ6\nC: {FILL[:12]}\n"),
    rule("printed-secret", "cat ", likely_password,
         r"(?<=[$>#] )cat [\w./~-]{0,60}pass(?:w(?:or)?d)?s?(?:\.\w{1,6})?\r?\n"
         r"(?P<secret>[^\s<\"']{5,100})(?=\r?\n|$)", f"$ cat pass.txt\n{FILL[:12]}\n"),
    *(rule("printed-secret", anchor, _is_printed,
           rf"(?:(?<=[$>#] )|(?<=sudo )|(?<![^\n])){pattern}[^\n|&;>]{{0,160}}"
           r"(?:\| ?base64 (?:-d|-D|--decode))?\r?\n"
           r"(?P<secret>[^\s<$\[{\"'][^\s\"']{5,400})(?=\r?\n|$)",
           f"$ {sample}\nharborwalnut\n")
      for anchor, pattern, sample in (
          ("security find-", r"security find-(?:generic|internet)-password (?=[^\n]*-w)",
           "security find-generic-password -w -s app"),
          ("pass show ", "pass show ", "pass show app/db"),
          ("op read ", "op read ", "op read op://vault/app/password"),
          ("bw get password ", "bw get password ", "bw get password app"),
          ("vault kv get ", "vault kv get (?=[^\n]*-field)", "vault kv get -field=x secret/db"),
          ("gcloud secrets versions ", "gcloud secrets versions access ",
           "gcloud secrets versions access latest --secret=db"),
          ("gh auth token", "gh auth token", "gh auth token"),
          ("aws secretsmanager get-", r"aws secretsmanager get-secret-value (?=[^\n]*text)",
           "aws secretsmanager get-secret-value --secret-id db --output text"),
          ("secret-tool lookup ", "secret-tool lookup ", "secret-tool lookup app db"),
          ("heroku auth:token", "heroku auth:token", "heroku auth:token"))),
    *(rule("printed-secret", anchor, typed_password,
           rf"(?i){before}[^\n]{{0,80}}?{_TELLING}[\w\"'\])]{{0,20}}\r?\n"
           r"(?:Out ?\[\d{1,4}\]: )?[\"'](?P<secret>[^\"'\n]{4,400})[\"'](?=\r?\n|$)",
           f"{sample}settings.SECRET_KEY\n'{FILL[:20]}'")
      for anchor, before, sample in ((">>> ", ">>> ", ">>> "), ("irb> ", "irb> ", "irb> "),
                                     ("(pdb) ", r"\(pdb\) ", "(Pdb) p "),
                                     ("ipdb> ", "ipdb> ", "ipdb> "),
                                     ("in [", r"in \[\d{1,4}\]: ", "In [1]: "))),
    *(rule("printed-secret", word, drawn_value,
           rf"(?i)(?<=[\w.-]){word}[\"'\])}}]{{0,3}}\r?\n[\"'](?P<secret>[^\s\"']{{16,400}})[\"'](?=\r?\n|$)",
           f"$ cli get --query app.{word}\n'{FILL[:24]}'\n")
      for word in ("secret", "token", "key")),
    *(rule("set-password", anchor, _is_typed,
           rf"(?i)(?<![a-z]){word}(?: (?:field|(?:text)?box|input))?[\"'\]/][\"'\])/i\s]{{0,8}}"
           rf"(?:\.{_WRITES}{_OF_EVENT}"
           rf"|,\s{{0,24}}(?:{_MEMBER}){{0,3}}"
           rf"(?:[\"']?(?:text|value|input|content|keys)[\"']?\s?[:=]\s?|{_OF_EVENT[:-1]})){_TYPED}",
           f"get('{anchor}').fill('{FILL[:12]}')")
      for anchor, word in (("pass", "pass(?:word|wd)?"), ("pwd", "pwd"))),
    *(rule("printed-secret", prompt, _is_prompted,
           rf"(?i){re.escape(prompt)}[^\n:]{{0,80}}: ?"
           r"(?P<secret>[^\s\"'`<>{}\[\](),;=:]{4,64})(?=[ \t]*(?:\r?\n|$))",
           f"{prompt}: harborwalnut\n")
      for prompt in ("new password", "current password", "old password", "new passphrase",
                     "sudo] password for ", "enter passphrase", "pem pass phrase",
                     "enter password", "passphrase again", "password again")),
    rule("sql-password", "set password", typed_password,
         r"(?i)set password[^\n=;]{0,80}= ?(?:password\()?\s{0,24}'(?P<secret>[^'\n]{4,100})'",
         "SET PASSWORD FOR app = \n'" + FILL[:12] + "'"),
    *(rule("paired-secret", word, _is_beside,
           rf"(?i)(?:(?<=[|│] )|(?<=[|│])|(?<=[|│] \*\*)){word}\**[ \t]{{0,40}}[|│]"
           r"[ \t]{0,8}[`\"*]{0,3}(?P<secret>[^\s|│`*\"]{5,100})"
           r"[`\"*]{0,3}[ \t]{0,40}[|│]?[ \t]*(?=\r?\n|$)",
           f"| {word} | {FILL[:12]} |")
      for word in ("password", "passphrase", "passwort")),
    rule("set-password", 'password"', _is_typed,
         r"(?i)password\" (?:with|as|to) \"(?P<secret>[^\"\n]{4,100})\"",
         'I fill in "Password" with "' + FILL[:12] + '"'),
)  # fmt: skip
