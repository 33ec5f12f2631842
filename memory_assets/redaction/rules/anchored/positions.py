"""Passwords and tokens told by their position behind a command's verb. Rows as in `table.py`.

Nothing names them: what a user is added with, what is piped to a program that keeps secrets, what
an installer is given.
"""

from __future__ import annotations

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    HEX,
    AnchoredRule,
    argument_password,
    drawn_value,
    mixed_password,
    placed_password,
    quoted_password,
    rule,
    strong_value,
    typed_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.judging.phrases import Look, is_words, look_of

_PLAIN = r"[^\s\"'|;&<>()`,$\\]{4,400}"
_VALUE = rf"[\"']?(?P<secret>(?<=\")[^\"\n$]{{4,200}}|(?<=')[^'\n]{{4,200}}|{_PLAIN})"
_WORD = r"[^\s\"'|;&<>()]{1,120}"
_OPTIONS = r"(?:-{1,2}[\w-]{1,24}(?:[ =][^\s|;&-][^\s|;&]{0,60})? ){0,4}?"
_KEEPS = (
    r"(?:[^\n|;&]{0,80}(?:\b(?:secrets?|credentials?|env|token) (?:set|put|add|create|versions"
    r"|store|insert|update)\b|--password-stdin|--passphrase-fd|--with-token|--token-stdin)"
    r"|(?:sudo )?(?:\w{0,12}passwd|kinit|cryptsetup|kubeseal|pass insert|vault login|secret-tool"
    r"|keyctl padd|systemd-creds encrypt)\b|sudo -S"
    r"|gh auth login)"
)
"""Programs that take a secret from their input."""
_INSTALLED_BITS = 12


def _installed(value: str) -> bool:
    """Return True if `value`, an argument of an installer, is a token: no version, path or name."""
    return values.is_uuid(value) or (
        mixed_password(value) and is_generated(value, _INSTALLED_BITS) and not values.is_slug(value)
    )


def _not_a_name(value: str) -> bool:
    """Return True if `value`, where a password is one of several arguments, has digits or signs."""
    return (mixed_password(value) or is_words(value)) and argument_password(value)


def _is_stored(value: str) -> bool:
    """Return True if `value`, stored as a secret, is one, or an object with one."""
    return typed_password(value) or (value.startswith(('{"', "{'")) and values.has_digit(value))


def _argument_of_client(value: str) -> bool:
    """Return True if `value`, the last argument of a client's constructor, was drawn or is words in
    one."""
    return (
        values.is_joined(value)
        or look_of(value) is Look.CHOSEN
        or (
            strong_value(value)
            and argument_password(value)
            and is_generated(value, _INSTALLED_BITS)
        )
    )


POSITIONS: tuple[AnchoredRule, ...] = (
    *(rule("command-secret", anchor, typed_password,
           rf"{anchor}(?:-\w{{1,3}} )?(?:[\"']%s(?:\\n)?[\"'] )?[\"']?"
           rf"(?:[\w.-]{{1,40}}:(?=[^\n]{{4,200}}chpasswd))?"
           rf"(?P<secret>{_PLAIN}(?:\\n{_PLAIN})?)(?:\\n)?[\"']? ?\| ?{_KEEPS}",
           f"{anchor}{FILL[:12]} | docker login -u app --password-stdin")
      for anchor in ("echo ", "printf ", "yes ")),
    rule("command-secret", "(echo ", typed_password,
         rf"\(echo [\"']?(?P<secret>{_PLAIN})[\"']? ?(?:;|&&) ?echo [\"']?(?P=secret)[\"']?\) ?\|",
         f"(echo {FILL[:12]}; echo {FILL[:12]}) | smbpasswd -s app"),
    rule("command-secret", "; echo ", typed_password,
         rf"; ?echo [\"']?(?P<secret>{_PLAIN})[\"']?\) ?\| ?(?:sudo )?\w{{0,12}}passwd",
         f"(echo {FILL[:12]}; echo {FILL[:12]}) | smbpasswd -s app"),
    *(rule("command-secret", anchor, typed_password,
           rf"(?i)(?<![\w-]){anchor}[^\n|;&<]{{0,100}}<<< ?{_VALUE}",
           f"docker {anchor}create db - <<< {FILL[:12]}")
      for anchor in ("secret ", "secrets ", "pass ", "passwd ", "credential ", "secret-tool ",
                     "cryptsetup ", "sudo -s ")),
    *(rule("command-secret", anchor, typed_password,
           rf"(?i){anchor}[ =][\"']?(?:echo|printf)(?: -n)? {_VALUE}",
           f"restic --{anchor} 'echo {FILL[:12]}'")
      for anchor in ("password-command", "password_command", "askpass_command")),
    *(rule("command-secret", anchor, accept, rf"(?i){before}{_VALUE}", f"{sample}{FILL[:16]}")
      for anchor, before, accept, sample in (
          ("alias set ", rf"\balias set {_WORD} https?://{_WORD} {_WORD} ", typed_password,
           "mc alias set b http://s3 app "),
          ("host add ", rf"\bhost add {_WORD} https?://{_WORD} {_WORD} ", typed_password,
           "mc config host add b http://s3 app "),
          ("user add ", rf"\buser add {_WORD} (?!-){_WORD} ", _not_a_name,
           "mc admin user add b app "),
          ("user add ", r"\buser add [\w.-]{1,60}:", typed_password, "etcdctl user add app:"),
          ("add_user ", rf"\badd_user {_WORD} ", _not_a_name, "rabbitmqctl add_user app "),
          ("change_password ", rf"\bchange_password {_WORD} ", typed_password,
           "rabbitmqctl change_password app "),
          *((user, rf"(?<!\S){user}\S{{1,60}} (?=[^\n>]{{0,200}}\bon )(?:[^\s>]\S{{0,60}} ){{0,8}}"
             r"[\"']?>", typed_password, f"{user}app on >") for user in ("setuser ", "user ")),
          ("user ", rf"(?<=ftp> )user {_WORD} ", placed_password, "ftp> user app "),
          ("wpa_passphrase ",
           rf"\bwpa_passphrase (?:\"[^\"\n]{{1,32}}\"|'[^'\n]{{1,32}}'|{_WORD}) ",
           typed_password, "wpa_passphrase Home "),
          ("set_network ", r"\bset_network \d{1,3} (?:psk|password|sae_password) '?",
           typed_password, "wpa_cli set_network 0 psk "),
          ("pm2 link ", rf"\bpm2 link {_WORD} ", drawn_value, "pm2 link aB3cD4 "),
          ("pm2 link ", r"\bpm2 link ", drawn_value, "pm2 link "),
          ("+login ", r"(?<!\S)\+login (?!anonymous)[\w.@-]{1,60} ", typed_password,
           "steamcmd +login app "),
          (" put ", r"(?<=\w) put [\w./-]{0,80}(?:pass(?:word|wd)?|pwd|secret) ", placed_password,
           "consul kv put app/password "),
          *((f"{name} ", rf"(?:(?<=set )|(?<![^\n])){name} ", placed_password, f"{name} ")
            for name in ("requirepass", "masterauth")),
          ("nickserv", r"\bnickserv :?identify (?:\w{1,30} (?=\S+$))?", typed_password,
           "/msg NickServ IDENTIFY "),
          ("bw unlock ", r"\bbw unlock (?!-)", placed_password, "bw unlock "),
          *((f"{shell.lower()} ", rf"(?<![\w-]){shell} (?:[-/]\w{{1,3}} |--\w{{1,12}} ){{0,2}}"
             r"\w{0,48}(?:pass(?:word|wd|phrase)?|pwd|_pw) ", placed_password,
             f"{shell} APP_PASSWORD ")
            for shell in ("set -x", "set -gx", "set -Ux", "setenv", "setx", "export", "ENV")),
          ("env:set ", rf"\benv:set {_WORD} ", drawn_value, "netlify env:set A "),
          ("sh -s -- ", r"\bsh -s -- (?:--?[\w-]{1,24}[ =])?", _installed,
           "| sudo sh -s -- "),
          ("install.sh ", rf"install\.sh {_OPTIONS}(?:--?[\w-]{{1,24}}[ =])?", _installed,
           "./install.sh --enroll "),
          (" install ", r"(?:(?<=ervice)|(?<=nector)|(?<= agent)|(?<=daemon)|(?<=runner)) install "
           r"(?:--?[\w-]{1,24}[ =])?", _installed, "cloudflared service install "),
          ("authorize", rf"\bauthorize[-_]account {_WORD} ", placed_password,
           "b2 authorize-account 00 "),
          ("key import ", rf"\bkey import (?:-\S{{1,20}} )?{_WORD} ", drawn_value,
           "garage key import GK0 "),
          ("auth init ", r"\bauth init (?:-t|--access-token)[ =]", drawn_value,
           "doctl auth init -t "),
          ("mysqladmin ", rf"\bmysqladmin {_OPTIONS}password ", typed_password,
           "mysqladmin -u root password "),
          ("passwd -", r"\bpasswd (?:-\w{1,6} ){1,3}(?:-salt \S{1,40} )?", _not_a_name,
           "openssl passwd -6 "),
          ("passwd -", rf"passwd -\w{{0,6}}b\w{{0,6}} {_WORD} {_WORD} ", typed_password,
           "mosquitto_passwd -b f app "),
          ("net user ", r"\bnet user (?:/add )?[\w.-]{1,60} (?![/*])(?!\S{3,80} /add)",
           _not_a_name, "net user app "),
          ("set password ", r"(?<=user )set password \d{1,3} ", typed_password,
           "ipmitool user set password 2 "),
          ("password ", rf"(?<=user )password {_OPTIONS}(?:-p|--password)[ =]", typed_password,
           "influx user password -n app -p "),
          (" login ", r"(?<=\w) login [\w.+-]{1,60}@[\w.-]{1,60} (?!-)", _not_a_name,
           "bw login app@example.com "),
          ("--enroll", r"--enroll(?:ment)?(?:-token|-key)?[ =]", _installed, "agent --enroll "))),
    *(rule("command-secret", anchor, _is_stored,
           rf"{anchor}[^\n|;&]{{0,200}}?--(?:value|data|body|payload|plaintext|secret-(?:string|value))"
           rf"[ =](?:\"(?P<quoted>)|'(?P<single>))?(?P<secret>(?(quoted)(?:[^\"\\\n]|\\.){{4,400}}"
           rf"|(?(single)[^'\n]{{4,400}}|{_PLAIN})))",
           f"cli {anchor}--name app --value {FILL[:12]}")
      for anchor in ("secret:create ", "secret create ", "secrets create ", "create-secret ",
                     "put-secret-value ", "create-password-alias ", "secret set ", "add-secret ")),
    *(rule("command-secret", anchor, accept, rf"(?i){before}{_VALUE}", f"{sample}{FILL[:16]}")
      for anchor, before, accept, sample in (
          ("config set --secret ", r"config set --secret [\w.:/-]{1,80} ", typed_password,
           "pulumi config set --secret app "),
          ("env set ", r"\benv set [A-Za-z_]\w{1,60} ", drawn_value, "convex env set APP "),
          ("secrets set ", r"\bsecrets set [\"']?[\w.:-]{1,80}[\"']? (?!-)", typed_password,
           "dotnet user-secrets set Db:Pw "),
          ("secret set ", r"\bsecret set [\w.:/-]{1,80} (?!-)", drawn_value, "cli secret set app "),
          *((f"{flag} ", rf"{flag}[ =]", drawn_value, f"lego {flag} ")
            for flag in ("--hmac",)),
          ("bash -s -- ", r"bash -s -- (?:--?[\w-]{1,24}[ =])?", _installed, "| bash -s -- "),
          *((f"{word}", rf"{word}[\w-]{{0,40}}\.sh {_OPTIONS}(?:--?[\w-]{{1,24}}[ =])?",
             _installed, f"./{word}agent.sh ")
            for word in ("install-", "install_", "setup-", "enroll-", "register-")),
          *((f"{flag} ", rf"(?<=\s){flag} [\w.@+-]{{1,60}}:", placed_password,
             f"cli {flag} app:")
            for flag in ("--creds", "--dest-creds", "--src-creds", "-auth", "--basic-auth")),
          *((f"{flag}=", rf"(?<=\s){flag}=[\w.@+-]{{1,60}}:", placed_password, f"cli {flag}=app:")
            for flag in ("--creds", "--dest-creds", "--src-creds", "--auth")))),
    *(rule("command-secret", f"<({program} ", typed_password,
           rf"<\({program} (?:-\w{{1,3}} |[\"']?%s(?:\\n)?[\"']? )?"
           rf"(?:{_VALUE}[\"']?)[ ]?\)",
           f"tool --password <({program} {FILL[:12]})")
      for program in ("echo", "printf")),
    rule("command-secret", "add-mask]", typed_password,
         r"add-mask\](?P<secret>[^\s\"'$]{4,400})", "##[add-mask]" + FILL[:20]),
    rule("command-secret", "mkpasswd ", _not_a_name,
         r"mkpasswd (?:-\S{1,20} (?:[\w-]{1,12} )?){0,4}[\"']?(?P<secret>[^\s\"'()|;&]{4,100})",
         "$(mkpasswd " + FILL[:12] + ")"),
    rule("command-secret", "issecret=true", typed_password,
         r"(?i)issecret=true[^\]\n]{0,80}\](?P<secret>[^\s\"'$]{4,400})",
         "##vso[task.setvariable variable=app;issecret=true]" + FILL[:12]),
    *(rule("login-call", f"{made}(", _argument_of_client,
           rf"(?i){made}\(\s{{0,8}}(?:{quote}[^{quote}\n]{{1,120}}{quote},\s{{0,40}}){{1,3}}"
           rf"{quote}(?P<secret>[^{quote}\n\\]{{6,200}}){quote}\s{{0,8}}[,)]",
           f"new {made}({quote}ci{quote}, {quote}{FILL[:16]}{quote})")
      for quote in "\"'" for made in ("client", "admin", "connection", "session", "login")),
    rule("login-call", "userpassword(", typed_password,
         r"(?i)userpassword\(\s{0,8}[\"'][^\"'\n]{1,80}[\"'],\s{0,8}"
         r"[\"'](?P<secret>[^\"'\n]{4,100})[\"']",
         'db.changeUserPassword("app", "' + FILL[:12] + '")'),
    *(rule("login-call", f"{name}{quote}", quoted_password,
           rf"(?i)(?<=[\w-]){name}{quote},\s{{0,24}}(?:\w{{1,20}}\s?=\s?[^,()\n]{{1,80}},\s{{0,24}}){{0,5}}"
           rf"(?:default|value|initial)\s?=\s?{quote}(?P<secret>[^{quote}\n]{{4,200}}){quote}",
           f"add_argument({quote}--{name}{quote}, default={quote}{FILL[:12]}{quote})")
      for name in ("pass", "passwd", "secret", "passphrase") for quote in "\"'"),
    rule("command-secret", "::add-mask::", typed_password,
         r"::add-mask::(?P<secret>[^\s\"'$]{4,400})",
         "::add-mask::" + FILL[:20]),
    rule("command-secret", "setcookie ", typed_password,
         r"(?<=-)setcookie [\"']?(?P<secret>[^\s\"'$]{4,255})",
         "erl -setcookie " + FILL[:20]),
    rule("tls-key-log", "_secret", bool,
         r"(?i)(?:(?<=exporter)|(?<=traffic))_secret(?:_\d)? "
         r"(?P<secret>[0-9a-f]{64} [0-9a-f]{64,128})(?!\w)",
         f"CLIENT_TRAFFIC_SECRET_0 {HEX} {HEX}"),
    rule("tls-key-log", "client_random ", bool,
         r"(?i)client_random (?P<secret>[0-9a-f]{64} [0-9a-f]{96})(?!\w)",
         f"CLIENT_RANDOM {HEX} {HEX}{HEX[:32]}"),
)  # fmt: skip
