"""Signed tokens and private keys without their armour.

Rows as `tokens.py` describes them.
"""

from __future__ import annotations

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
