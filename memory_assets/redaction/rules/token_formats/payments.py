"""Payments, banking, shops, crypto currencies.

Rows as `tokens.py` describes them.
"""

from __future__ import annotations

PAYMENTS: tuple[tuple[str, ...], ...] = (
    (
        "stripe-key",
        *(f"{kind}_{mode}_{{a:16,}}" for kind in ("sk", "rk") for mode in ("live", "test", "prod")),
        "whsec_{e:24,}",
    ),
    ("adyen-key", "AQE{a:1}hm{e:60,}"),
    ("square-token", "sq0atp-{w:22,}", "sq0csp-{w:43,}", "sq0idp-{w:22,}", "EAAA{w:56,}"),
    ("shopify-token", *(f"{kind}_{{x:32}}" for kind in ("shpat", "shpca", "shppa", "shpss"))),
    ("razorpay-key", "rzp_live_{a:14,}", "rzp_test_{a:14,}"),
    ("plaid-token", *(f"access-{k}-{{uuid}}" for k in ("sandbox", "development", "production"))),
    ("flutterwave-key", "FLWSECK-{a:32,}", "FLWSECK_TEST-{a:12,}"),
    ("midtrans-key", "Mid-server-{w:16,}", "Mid-client-{w:16,}"),
    ("easypost-key", "EZAK{a:54}", "EZTK{a:54}"),
    ("shippo-token", "shippo_live_{h:40}", "shippo_test_{h:40}"),
    ("duffel-token", "duffel_live_{w:43}", "duffel_test_{w:43}"),
    ("lob-key", *(f"{m}_{k}{{h:31,40}}" for m in ("live", "test") for k in ("", "pub_"))),
    ("branch-key", "key_live_{a:32}", "key_test_{a:32}"),
    ("klaviyo-key", "pk_{l:34}"),
    ("clickup-token", "pk_{d:5,}_{u:32}"),
    ("checkout-key", "sk_{uuid}", "sk_sbox_{l:20,}"),
    ("paddle-key", "pdl_live_apikey_{w:40,}", "pdl_sdbx_apikey_{w:40,}"),
    ("polar-token", *(f"polar_{k}_{{w:30,}}" for k in ("pat", "oat", "at", "rt", "cs"))),
    ("ramp-secret", "ramp_sec_{a:40,}"),
    ("mercury-token", "mercury_production_{W:40,}", "mercury_sandbox_{W:40,}"),
    ("persona-key", "persona_production_{w:20,}", "persona_sandbox_{w:20,}"),
    (
        "stripe-other-key",
        "sk_org_{a:20,}",
        "ek_live_{a:20,}",
        "ek_test_{a:20,}",
        "rkcs_live_{a:20,}",
    ),
    ("klarna-key", "klarna_live_api_{e:30,}", "klarna_test_api_{e:30,}"),
    ("highnote-key", "sk_live_{b:60,}", "sk_test_{b:60,}", "rk_live_{b:60,}"),
    ("fleetbase-key", "flb_live_{a:20,}", "flb_test_{a:20,}"),
    ("woocommerce-key", "ck_{h:40}", "cs_{h:40}"),
    ("amazon-marketplace-token", "amzn.mws.{uuid}"),
    ("amazon-login-secret", "amzn1.oa2-cs.v1.{h:60,}"),
    (
        "ebay-secret",
        "PRD-{h:8,12}-{h:4,8}-{h:4}-{h:4}-{h:4,8}",
        "SBX-{h:8,12}-{h:4,8}-{h:4}-{h:4}-{h:4,8}",
    ),
    ("shopify-app-token", *(f"{k}_{{x:32,}}" for k in ("shpua", "shptka", "atkn"))),
    ("brex-token", "bxt_{a:40,}"),
    ("gocardless-token", "sandbox_{w:40}", "live_{w:40}"),
    ("extended-private-key", "xprv{a:107}", "yprv{a:107}", "zprv{a:107}", "tprv{a:107}"),
    ("nostr-key", "nsec1{l:58}"),
    ("monzo-token", "mnzconf.{e:30,}", "mnzpub.{e:30,}"),
    ("xendit-key", "xnd_production_{a:40,}", "xnd_development_{a:40,}"),
    ("coinbase-commerce-key", "organizations/{uuid}/apiKeys/{uuid}"),
    ("bitgo-token", "v2x{h:64}"),
    ("tatum-key", "t-{h:24}-{h:24}"),
    ("toss-key", "live_sk_{a:24,}", "test_sk_{a:24,}", "live_gsk_{a:24,}", "test_gsk_{a:24,}"),
    ("iyzico-key", "sandbox-{a:32}"),
)  # fmt: skip
