"""Cloud platforms, hosting, networks and what keeps secrets.

Rows as `tokens.py` describes them.
"""

from __future__ import annotations

from memory_assets.redaction.rules.wordlist import words

CLOUD: tuple[tuple[str, ...], ...] = (
    ("aws-access-key-id", "AKIA{u:16}", "ASIA{u:16}", "ABIA{u:16}", "ACCA{u:16}", "A3T{u:17}"),
    ("aws-bedrock-key", "ABSK{e:100,}", "bedrock-api-key-{e:28,}"),
    ("google-api-key", "AIza{w:35,}"),
    ("google-api-key-base64", "QUl6YVN5{b:30,}"),
    ("google-oauth-secret", "GOCSPX-{w:24,}"),
    ("google-oauth-token", "ya29.{w:30,}", "1//0{w:30,}"),
    ("gemini-key", "AQ.Ab8{w:40,}"),
    ("azure-devops-token", "{a:76}AZDO{a:4}"),
    ("alibaba-access-key-id", "LTAI{a:17,}"),
    ("tencent-secret-id", "AKID{a:32,}"),
    ("yandex-key", "AQVN{w:35,}", "t1.{w:16,}.{w:86,}", "YCAJE{w:20,}", "YCM{w:37,}"),
    ("digitalocean-token", "dop_v1_{h:64}", "doo_v1_{h:64}", "dor_v1_{h:64}"),
    ("heroku-key", "HRKU-{w:36,}"),
    ("fly-token", "fo1_{w:43,}", "fm1a_{e:100,}", "fm1r_{e:100,}", "fm1_{e:100,}", "fm2_{e:100,}"),
    ("render-key", "rnd_{a:28,}"),
    ("netlify-token", "nfp_{a:36,}", "nfc_{a:36,}", "nfo_{a:36,}"),
    ("vercel-token", *(f"vc{kind}_{{w:50,}}" for kind in "aciprk")),
    ("deno-token", "ddp_{a:36,}", "ddo_{a:36,}", "ddw_{a:36,}"),
    ("scaleway-key", "SCW{u:17}"),
    ("exoscale-key", "EXO{h:24}"),
    ("upcloud-token", "ucat_{u:26}"),
    ("openshift-token", "sha256~{w:43,}"),
    ("cloudflare-origin-key", "v1.0-{h:24}-{h:140,}"),
    ("tailscale-key", *(
        f"tskey-{k}-{{a:10,}}-{{a:15,}}" for k in words("api auth client secret scim webhook"))),
    ("docker-token", "dckr_pat_{w:27,}", "dckr_oat_{w:27,}"),
    ("docker-swarm-token", "SWMTKN-1-{l:40,}-{l:20,}", "SWMKEY-1-{b:40,}"),
    ("aws-session-token", "IQoJb3JpZ2lu{e:100,}", "FwoGZXIvYXdz{e:100,}", "FQoGZXIvYXdz{e:100,}"),
    ("google-hmac-id", "GOOG1E{u:55}", "GOOG1E{u:57}", "GOOG{u:20}"),
    ("google-authorization-code", "4/0A{w:50,}"),
    ("alibaba-sts-id", "STS.N{a:20,}"),
    ("digitalocean-spaces-key", "DO00{u:16}", "DO801{u:15}"),
    ("cloudflare-token", "cfut_{w:40,}", "cfat_{w:40,}", "cfk_{w:40,}"),
    ("vercel-blob-token", "vercel_blob_rw_{a:16}_{a:28,}"),
    ("aiven-password", "AVNS_{w:17,}"),
    ("neon-password", "npg_{a:12,}"),
    ("xata-key", "xau_{a:40,}"),
    ("rancher-token", "token-{l:5}:{l:54}", "kubeconfig-user-{l:10}:{l:54}"),
    ("k3s-token", "K10{h:64}::{t:10,}"),
    ("portainer-token", "ptr_{e:40,}"),
    ("netbird-token", "nbp_{a:36}"),
    ("infisical-token", "st.{h:24}.{h:32}.{h:32}"),
    ("bitwarden-token", "0.{uuid}.{a:30}:{e:20,}"),
    ("akamai-token", "akab-{w:16}-{w:16}"),
    ("hashicorp-boundary-token", "at_{a:10}_{a:100,}"),
    ("zerotier-secret", "{h:10}:0:{h:128}:{h:128}"),
    ("backblaze-key", "K00{d:1}{a:27,}"),
    ("dropbox-token", "sl.u.{w:100,}", "sl.{w:120,}"),
    ("lambda-cloud-key", "secret_{a:20,}_{h:32}.{a:32}"),
    ("volcengine-access-key", "AKLT{a:30,}"),
    ("huawei-access-key", "HPUA{u:16,}"),
)  # fmt: skip

KEYS: tuple[tuple[str, ...], ...] = (
    (
        "json-web-token",
        "eyJ{w:14,}.{w:10,}.{w:10,}.{w:10,}.{w:10,}",
        "eyJ{w:14,}.{w:10,}.{w:10,}",
        "eyJ{w:14,}.eyJ{w:10,}",
    ),
    ("private-key-base64", *(f"LS0tLS1CRUdJTi{k}{{e:20,}}" for k in (
        "BSU0EgUFJJVkFURSBLRVkt", "BQUklWQVRFIEtFWS0tLS0t", "BPUEVOU1NIIFBSSVZBVEUgS0VZ",
        "BFQyBQUklWQVRFIEtFWS0t", "BFTkNSWVBURUQgUFJJVkFURSBL"))),
    ("private-key-openssh", "b3BlbnNzaC1rZXktdjE{e:20,}"),)  # fmt: skip
"""Signed tokens and private keys without their armour."""
