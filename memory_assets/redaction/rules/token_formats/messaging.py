"""Chat, mail, telephony, notifications, social networks.

Rows as `tokens.py` describes them.
"""

from __future__ import annotations

MESSAGING: tuple[tuple[str, ...], ...] = (
    (
        "slack-token",
        *(f"xox{kind}-{{w:24,}}" for kind in "abceoprs"),
        "xoxe.xoxp-{w:40,}",
        "xoxe.xoxb-{w:40,}",
        "xapp-{d:1,}-{u:9,}-{d:9,}-{a:40,}",
    ),
    ("sendgrid-key", "SG.{w:18,24}.{w:35,}"),
    ("mailgun-key", "key-{h:32}", "pubkey-{h:32}"),
    ("mailchimp-key", "{h:32}-us{d:1,2}"),
    ("brevo-key", "xkeysib-{h:64}-{a:16}", "xsmtpsib-{h:64}-{a:16}"),
    ("mailersend-token", "mlsn.{a:50,}"),
    ("resend-key", "re_{a:8}_{a:24}"),
    ("twilio-key", "SK{h:32}"),
    ("telnyx-key", "KEY{x:32}_{a:22}"),
    ("telegram-token", "{d:8,10}:AA{w:32,34}"),
    ("discord-token", "{a:23,28}.{w:6}.{w:27,38}"),
    ("intercom-token", "dG9r{a:54,}"),
    ("pinterest-token", "pina_{w:40,}"),
    ("twitch-key", "live_{d:6,}_{a:28,}"),
    ("facebook-token", "EAA{a:100,}", "EAAM{a:80,}", "EAAC{a:80,}", "EAAE{a:80,}", "EAAG{a:80,}"),
    ("lichess-token", "lip_{a:20}"),
    ("riot-key", "RGAPI-{l:8}-{l:4}-{l:4}-{l:4}-{l:12}"),
    ("onesignal-key", "os_v2_app_{l:100,}", "os_v2_org_{l:100,}"),
    ("slack-workflow-token", "xwfp-{w:24,}"),
    ("matrix-token", "syt_{a:4,}_{a:20}_{a:6}", "mct_{a:30}_{a:6}", "mat_{a:30}_{a:6}"),
    ("ably-key", "{w:6}.{w:6}:{w:43}"),
    ("pubnub-key", "sec-c-{e:40,}", "sub-c-{uuid}", "pub-c-{uuid}"),
    ("infobip-key", "{h:32}-{uuid}"),
    ("mandrill-key", "md-{w:22}"),
    ("convertkit-key", "kit_{a:32}"),
    ("twilio-account", "AC{h:32}"),
    ("courier-key", "pk_prod_{u:28}", "pk_test_{u:28}"),
    ("instagram-token", "IGQV{w:60,}", "IGAA{w:60,}", "THAA{w:60,}"),
    ("linkedin-secret", "WPL_AP1.{w:16}.{e:4,10}"),
    (
        "twitter-bearer-token",
        "AAAAAAAAAAAAAAAAAAAA{a:10,100}%2{w:30,}",
        "AAAAAAAAAAAAAAAAAAAA{a:10,100}%3{w:30,}",
    ),
    ("tiktok-token", "act.{a:40,}", "clt.{a:40,}"),
    ("amazon-login-token", "Atza|{w:100,}", "Atzr|{w:100,}"),
    ("agora-key", "007eJx{e:40,}"),
    ("checkly-key", "cu_{h:32}", "sv_{h:32}"),
)  # fmt: skip
