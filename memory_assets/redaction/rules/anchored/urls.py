"""Secrets in addresses: what lets whoever has an address do something. Rows as in `table.py`."""

from __future__ import annotations

import re

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    HEX,
    AnchoredRule,
    any_value,
    key_material,
    mixed_password,
    random_value,
    rule,
    typed_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.wordlist import any_of, words

_PARAMETERS = words(
    "code ticket appid app_id sig signature sign oobcode otp hmac magic invite invitation"
    " confirmation confirmation_token dkey auth login_hint_token verify verification confirm reset"
    " private tk tok access mac crumb user_code q-signature x-goog-signature"
)
"""Names of parameters that are no names of secrets elsewhere."""
_SESSIONS = words("st k t s c oh hm link session session_id sessionid sid phpsessid jsessionid")
"""Names of parameters whose values may be harmless ids if they are UUIDs."""
_STEPS = words(
    "/magic /reset /verif /confirm /invit /activat /hook /webhook _hooks /receiver /input /ingest"
    " /heartbeat /eth /rpc /key /token /incoming /trigger /deploy /collect /bot /robot"
    " /private /feed /rss /ical /calendar /subscribe /notify /push /send /ping /sms /rest"
    " /passwordless /signin /sso /unlock /licensed /unsubscribe"
)
"""Beginnings of the part of a path that a secret follows."""
_DRAWN_STEPS = words("/login /sign-in /auth /session /join /share /callback /access")
"""Beginnings that an id follows more often than a secret."""
_KEYED_HOSTS = (
    *(r"infura\.io/(?:ws/)?v3", r"alchemy(?:api)?\.(?:io|com)/v2", r"quiknode\.pro"),
    *(r"blastapi\.io", r"getblock\.io", r"nownodes\.io", r"ankr\.com/\w{1,24}", r"fury\.io"),
    *(r"cloudsmith\.io(?:/basic)?", r"packagecloud\.io", r"cronitor\.link/p", r"logtail\.com"),
    *(r"exchangerate-api\.com/v6", r"(?:darksky|pirateweather)\.net/forecast", r"ntfy\.sh"),
    *(r"logentries\.com/v1/\w{2,16}", r"script\.google\.com/macros/s"),
)
"""Hosts whose paths begin with a key, and what of the path may stand before it."""
_FEEDS = words(
    "npm pypi simple maven2? debian ubuntu apt deb rpm yum nuget gems? conda helm charts composer"
    " cargo docker terraform announce"
)
"""What follows a token in addresses of package registries, and of trackers."""
_NOTIFYING = words(
    "africas apprise apprises bark blink bluesky boxcar bulksms burstsms chanify chime"
    " clickatell clicksend d7sms dapnet dingtalk discord evolution faast fcm feishu flock"
    " fluxer fortysixelks gchat googlechat gotify gotifys guilded hassio hassios httpsms ifttt"
    " join kavenegar kumulos lametric lark lunasea lunaseas mailgun mastodon mastodons matrix"
    " matrixs mattermost messagebird misskey misskeys mmost mmosts msg91 msteams nctalk nctalks"
    " nexmo notica notifiarr notifico ntfy ntfys o365 office365 onesignal opsgenie pagerduty"
    " pagertree parsep parseps plivo popcorn pover prowl psafer psafers pbul pushbullet"
    " pushdeer pushdeers pushed pushjet pushjets pushkey pushme pushover pushplus pushsafer"
    " pushy pushys revolt rocket rockets ryver schan sendgrid sendpulse serverchan ses sfr"
    " simplepush sinch slack smseagle smseagles smsmanager smtp2go sns sparkpost splunk"
    " spugpush spush strmlabs synology synologys telegram tgram threema toot toots twilio twist"
    " twitter victorops voipms vonage wecombot webex whatsapp workflows wxpusher wxteams zapier"
    " zulip"
)
"""Schemes of services that notify, as command lines and settings of such programs address them."""
_PARAMETER_BITS = 12
_USER_BITS = 15
_PATH_BITS = 20
_SHORTEST_HEX = 16
_DRAWN_STEP_BITS = 25
_FRAGMENT_BITS = 30
_ANY_NAME_BITS = 35
"""Bits of evidence that values of these kinds need."""
_NO_FILE = r"(?!\w|@[\w.-]{1,80}/|[\w/+]{0,80}\.(?!ics|xml|rss|json|sh\b)\w)"
_IDS = (
    r"id|cursor|state|nonce|hash|sha\d*|integrity|rev|ref|version|q|query|cb|etag|clid|challenge"
    r"|credential|content|data|text|body|url|uri|redirect\w*|src|image|font|family|next|after|before"
)
"""Ends of names of parameters whose values are drawn and no secrets."""
_PARTS_BITS = 30
_PASSWORD_SCHEMES = words("trojan hysteria hysteria2 hy2 anytls vless tuic nats")
"""Schemes in whose addresses a password, or an id that serves as one, stands in a user's place."""
_NOTIFYING_ENDS = tuple(dict.fromkeys(name[-3:] for name in _NOTIFYING))
"""The pattern begins with these: other addresses, nearly all in any text, are then not tried."""
_NOTIFYING_BITS = 8
_PARTS = re.compile("[/@:]")
_OWN_SCHEME = "".join(
    f"(?<!{scheme})"
    for scheme in words(
        "http https file git ssh s3 gs az op data docker oci ipfs ipns image extension vscode asset"
        " content blob session memory resource chrome jar pkg node webpack cache trace"
    )
)
"""What stands before `://` where a program is addressed, no host or file."""


def _is_parameter(value: str) -> bool:
    """Return True if `value`, of a parameter, was drawn."""
    return values.is_uuid(value) or _is_session(value)


def _is_session(value: str) -> bool:
    """Return True if `value`, of a parameter, was drawn and is no UUID."""
    if not typed_password(value):
        return False
    return is_generated(value, _PARAMETER_BITS) or (
        values.is_hex(value) and len(value) >= _SHORTEST_HEX
    )


def _is_user(value: str) -> bool:
    """Return True if `value`, in the place of a user, was drawn."""
    return random_value(value) or (
        any_value(value)
        and (
            is_generated(value, _USER_BITS)
            or values.is_uuid(value)
            or (values.is_hex(value) and len(value) >= 16)
        )
    )


def _is_sole_user(value: str) -> bool:
    """Return True if `value`, in the place of a user who needs no password, serves as one."""
    return mixed_password(value) or values.is_uuid(value)


def _is_step(value: str) -> bool:
    """Return True if `value`, a part of a path, was drawn."""
    return any(
        is_generated(part, _PATH_BITS)
        or values.is_uuid(part)
        or (values.is_hex(part) and len(part) >= 20)
        for part in value.split("/")
    )


def _is_drawn_step(value: str) -> bool:
    """Return True if `value`, a part of a path that may be an id, was drawn."""
    return is_generated(value, _DRAWN_STEP_BITS)


def _is_certain(value: str) -> bool:
    """Return True if `value` was drawn at random, under whatever name."""
    return is_generated(value, _ANY_NAME_BITS)


def _is_certain_fragment(value: str) -> bool:
    """Return True if `value`, all or the last part of a fragment, was drawn, as no heading is."""
    return is_generated(value, _FRAGMENT_BITS)


def _is_part_of_address(value: str) -> bool:
    """Return True if `value`, a part of an address of a scheme of its own, was drawn."""
    return is_generated(value, _PATH_BITS) or (values.is_hex(value) and len(value) >= 32)


def _is_notifying(value: str) -> bool:
    """Return True if some part of `value`, an address of a service that notifies, was drawn."""
    return any(
        is_generated(part, _NOTIFYING_BITS)
        or values.is_uuid(part)
        or (values.is_hex(part) and len(part) >= 16)
        for part in _PARTS.split(value)
        if len(part) >= 8
    )


def _are_parts(value: str) -> bool:
    """Return True if the parts of `value` together were drawn, and none of them is a hash."""
    parts = value.split("/")
    return is_generated("".join(parts), _PARTS_BITS) and not any(map(values.is_hex, parts))


URLS: tuple[AnchoredRule, ...] = (
    rule("url-password", "://", any_value,
         r"://[^\s/:\"'<>`\\]{0,120}:(?P<secret>[^\s/\"'<>`\\]{1,400})@(?=[\w\[$%{/\"'`<+-])",
         "postgres://app:" + FILL[:14] + "@db.internal:5432/app"),
    rule("url-token", "://", _is_user,
         r"://(?P<secret>[\w.~%+=-]{12,400})(?::[^\s/@\"'<>`\\]{0,100})?@(?=\w)",
         "https://" + FILL[:32] + "@git.example.com/app.git"),
    rule("url-path-key", "://", values.is_plausible_token,
         rf"://(?:[\w-]{{1,60}}\.){{0,4}}(?:{'|'.join(_KEYED_HOSTS)})/"
         r"(?P<secret>[\w-]{16,80})(?=[/?#\s\"'`<>)]|$)",
         f"https://x.quiknode.pro/{HEX[:32]}/"),
    rule("url-path-key", "://", key_material,
         r"://[\w.-]{3,80}/v\d{1,2}/(?P<secret>(?=[^/?#\s]{0,30}\d)[0-9a-f-]{20,64})(?![\w./-])",
         "https://mainnet.example.com/v3/" + HEX[:32]),
    rule("url-path-key", "://", _is_certain,
         r"://[\w.-]{3,80}/v\d{1,2}/(?P<secret>(?=[^/?#\s]{0,40}\d)[\w~-]{20,64})(?![\w./-])",
         "https://mainnet.example.com/v2/" + FILL[:32]),
    rule("url-token", "://", _is_sole_user,
         rf"(?:{'|'.join(f'(?<={scheme})' for scheme in _PASSWORD_SCHEMES)})"
         r"://(?P<secret>[^\s/@:\"'<>`]{4,200})@(?=[\w\[])",
         f"trojan://{FILL[:12]}@vpn.example.com:443"),
    rule("ldap-password", "bindpw=", typed_password,
         r"(?i)bindpw=(?P<secret>[^\s,&\"'<>]{4,100})", "ldap://x/????X-BINDPW=" + FILL[:12]),
    *(rule("url-parameter", f"{name}=", accept,
           rf"(?i)(?<=[?&;#]){name}=(?P<secret>[\w%.~+/=-]{{10,600}})",
           f"https://example.com/callback?{name}={FILL[:32]}")
      for names, accept in ((_PARAMETERS, _is_parameter), (_SESSIONS, _is_session))
      for name in names),
    rule("url-parameter", "hmac=", _is_parameter,
         r"(?i)(?<=~)hmac=(?P<secret>[\w%.+/=-]{10,600})", "?st=1~exp=2~acl=/*~hmac=" + HEX),
    rule("url-parameter", "://", _is_parameter,
         r"://[^\s\"'<>`]{1,300}?[?&;][\w.-]{0,24}(?i:key|token|secret|sig|signature|hmac|auth|ticket|pass)=(?P<secret>[\w%.~+/=-]{12,600})",
         f"https://example.com/v1?appkey={FILL[:32]}"),
    *(rule("url-step", step, _is_step,
           rf"(?i){step}[\w-]{{0,24}}(?:/[\w.@-]{{1,60}}){{0,2}}?(?:/|\?\w{{1,12}}=)"
           r"(?P<secret>(?=[^/?#&\s]{0,40}\d)[\w.~%+-]{16,4000}={0,2}"
           r"(?:/[\w%+-]{16,4000})?)" + _NO_FILE,
           f"https://example.com/build{step}/{FILL[:32]}")
      for step in _STEPS),
    *(rule("url-step", f"{step}/", _is_drawn_step,
           rf"(?i)(?<=\w){step}/(?P<secret>(?=[^/?#&\s]{{0,40}}\d)[\w.~%+-]{{16,4000}})"
           + _NO_FILE, f"https://example.com{step}/{FILL[:32]}")
      for step in _DRAWN_STEPS),
    rule("url-step", "/api/", _is_certain,
         r"/api/(?:[\w.-]{1,24}/){0,3}?(?P<secret>(?=[^/?#&\s]{0,40}\d)[\w~-]{16,2000})" + _NO_FILE,
         f"https://example.com/api/v1/{FILL[:24]}/telemetry"),
    rule("url-step", "://", _is_certain,
         r"://(?i:api|push|(?:web)?hooks?|wh|in|logs?|rpc|collect|notify|ping|get|feeds?|stream"
         r"|gateway|registry|relay)[\w-]{0,30}\.[\w.-]{1,80}"
         r"(?::\d{2,5})?/(?:[\w.-]{1,24}/){0,3}?(?P<secret>(?=[^/?#&\s]{0,40}\d)[\w~-]{16,2000})"
         + _NO_FILE, f"https://api.example.com/{FILL[:24]}/send"),
    rule("url-step", "://", _is_step,
         r"://(?:[\w-]{1,40}\.){0,3}?(?i:hooks?|webhooks?|requestbin|rpc|[\w-]{0,24}(?:rpc|main-?net"
         r"|test-?net|collector|intake|listener|inputs?|ingest|receiver|heartbeat))[\w-]{0,20}\.[\w.-]{1,60}/(?:[\w.-]{1,24}/){0,4}?"
         r"(?P<secret>(?=[^/?#&\s]{0,40}\d)[\w-]{16,2000})" + _NO_FILE,
         f"https://eth-mainnet.example.com/{HEX[:32]}"),
    rule("url-parameter", "://", _is_certain,
         rf"://[^\s\"'<>`]{{1,300}}?[?&;](?![\w.-]{{0,30}}?(?i:{_IDS})=)[\w.-]{{1,30}}="
         r"(?P<secret>(?=[^&#\s]{0,40}\d)[\w.~+/-]{20,400})(?=[&#\s\"'<>`)]|$)",
         f"https://example.com/?h={FILL[:32]}"),
    rule("webhook-url", "://hook", _are_parts,
         r"://hooks?\.[\w.-]{1,80}/(?:[a-z]{1,16}/){0,3}(?P<secret>[\w-]{6,80}(?:/[\w-]{6,80}){0,4})",
         f"https://hooks.example.com/services/T{FILL[:8]}/B{FILL[8:16]}/{FILL[16:40]}"),
    rule("url-parts", "://", _is_part_of_address,
         rf"(?<=[A-Za-z+]{{3}}){_OWN_SCHEME}://(?:[^\s/@:?#\"'<>`\\]{{1,80}}[/@:]){{0,3}}?"
         r"(?P<secret>(?=[^/?#@:\s]{0,60}\d)[\w~+-]{16,200}={0,2})(?![\w.])",
         f"notify://chat.example.com/{FILL[:24]}"),
    rule("url-parts", "://", _are_parts,
         rf"{_OWN_SCHEME}://(?P<secret>[\w-]{{6,80}}(?:/[\w-]{{6,80}}){{1,4}})(?![\w.@:-])",
         f"chat://{FILL[:9]}/{FILL[9:18]}/{FILL[18:42]}"),
    rule("url-parts", "://", _is_notifying,
         rf"(?:{any_of(_NOTIFYING_ENDS)}){_OWN_SCHEME}"
         rf"(?:{'|'.join(f'(?<={name})' for name in _NOTIFYING)})://"
         r"(?P<secret>[\w~+.-]{4,200}(?:[/@:][\w~+.-]{1,200}){0,5})", f"join://{FILL[:12]}", 3),
    rule("url-step", "://", _is_step,
         r"://[\w.-]{1,80}(?::\d{2,5})?/(?:[\w.@%~-]{1,60}/){0,4}?(?:private-)?(?P<secret>(?=[^/?#\s]{0,40}\d)[\w~-]{16,200})"
         r"/(?:[a-z]{1,20}[-_])?(?:feed|basic|calendar|rss|atom|export|events|full)[\w-]{0,20}"
         r"\.(?:xml|ics|rss|json|atom)(?!\w)",
         f"https://example.com/u/{FILL[:32]}/feed.xml"),
    rule("url-step", "://", _is_step,
         r"://[\w.-]{3,80}(?::\d{2,5})?/(?:[\w-]{1,24}/)?(?P<secret>(?=[^/?#\s]{0,40}\d)[\w-]{16,200})"
         rf"/(?:{'|'.join(_FEEDS)})(?![\w-])", f"https://packages.example.com/{HEX[:32]}/pypi/"),
    rule("url-step", "/t/", _is_step,
         r"(?<=\w)/t/(?P<secret>(?=[^/?#\s]{0,40}\d)[\w-]{12,200})(?=/)",
         f"https://conda.example.com/t/{FILL[:20]}/acme"),
    rule("url-step", "://", _is_certain,
         r"://[\w.-]{3,80}(?::\d{2,5})?/(?:[\w.-]{1,24}/){0,3}?[acikmpu]/"
         r"(?P<secret>(?=[^/?#\s]{0,40}\d)[\w-]{16,200})(?![\w.-])",
         f"https://example.com/u/{FILL[:24]}"),
    rule("url-step", "/live/", mixed_password,
         r"/live/[\w.@-]{1,60}/(?P<secret>[\w.@!$~-]{4,80})/\d{1,9}(?:\.(?:ts|m3u8))?(?![\w/.-])",
         f"http://tv.example.com/live/app/{FILL[:10]}/17.ts"),
    rule("url-fragment", "://", _is_certain_fragment,
         r"://[^\s\"'<>`#]{1,300}#(?:[^\s\"'<>`#]{0,80}?[=,/!:])?(?P<secret>(?=[^\s=,/!:]{0,60}\d)[\w-]{16,200})"
         r"(?=[\s\"'<>`)&]|$)", f"https://paste.example.com/?1#{FILL[:44]}"),
    rule("url-invite", "://", values.is_plausible_token,
         r"://(?:chat\.whatsapp\.com/(?:invite/)?|t(?:elegram)?\.me/(?:joinchat/|\+)"
         r"|join\.slack\.com/t/[\w-]{1,60}/shared_invite/)(?P<secret>[\w~-]{16,80})",
         f"https://chat.whatsapp.com/{FILL[:22]}"),
    rule("url-host-key", "://", _is_step,
         r"://(?P<secret>[a-z0-9]{12,40})\.(?:m\.pipedream\.net|x\.requestbin|oast\.\w{2,6})",
         f"https://{HEX[:20]}.m.pipedream.net"),
    *(rule("one-time-code", f"{name}=", str.isdigit,
           rf"(?i)(?<=[?&;]){before}{name}=(?P<secret>\d{{4,8}})(?![\w.%-])",
           f"https://example.com/verify?{sample}{name}=904172", lead)
      for name, before, sample, lead in (("otp", "", "", 0), ("pin", "", "", 0),
          ("passcode", "", "", 0), ("cation_code", "verifi", "verifi", 6))),
    rule("url-parameter", "://", _is_parameter,
         r"://[^\s\"'<>`?]{1,200}?(?i:verif|confirm|reset|activ|subscrib|invit|log-?in|sign-?in|auth)"
         r"[^\s\"'<>`?]{0,80}\?[^\s\"'<>`]{0,200}?(?<=[?&;])(?i:hash|h|c|code|id|x|v|p|data)="
         r"(?P<secret>[\w%.~+/=-]{16,600})",
         f"https://example.com/verify?email=a%40b.example&hash={HEX}"),
)  # fmt: skip
