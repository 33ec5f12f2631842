"""The self-test: made-up secrets that every engine must find, and harmless text that it must not
change."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator

from memory_assets.errors import RedactionUnavailable
from memory_assets.redaction.engine.scanner import Scanner
from memory_assets.redaction.engine.token_runs import TokenFormat
from memory_assets.redaction.rules import contexts
from memory_assets.redaction.rules.anchored.table import AnchoredRule
from memory_assets.redaction.rules.formats import sample_characters

_MIXED = sample_characters("A-Za-z0-9", 64)
_HEX = sample_characters("0-9a-f", 128)
_PASSWORD = "Tr0ub4dor" + "&3"
_PLAIN = _PASSWORD[:-2] + "9"
_BEFORE = "as it was said before\n" * 4
"""Stands before each canary: what Hyperscan does faster than byte by byte, and so may get wrong on
some processor, begins some sixteen bytes into a text."""


def structural_canaries() -> Iterator[tuple[str, str, str]]:
    """Yield (rule, text, secret in it) for the rules that are code instead of rows."""
    yield "assigned-password", f"DB_PASSWORD={_PLAIN}\n", _PLAIN
    yield "assigned-password", f'{{"password": "{_PASSWORD}"}}', _PASSWORD
    yield "assigned-password", f'{{\\"password\\": \\"{_PASSWORD}\\"}}', _PASSWORD
    yield "assigned-secret", f"client_secret: '{_MIXED[:24]}'", _MIXED[:24]
    yield "assigned-secret", f"deploy --api-key {_MIXED[:32]} --now", _MIXED[:32]
    yield "assigned-password", f'flag.String("password", "{_PASSWORD}")', _PASSWORD
    yield "assigned-password", f'password: str = "{_PASSWORD}"', _PASSWORD
    yield "assigned-password", f"<password>{_PLAIN}</password>", _PLAIN
    yield "assigned-password", f"args:\n  - --password\n  - {_PLAIN}\n", _PLAIN
    yield "assigned-secret", f'setToken("{_MIXED[:32]}")', _MIXED[:32]
    yield "named-secret", f"tineye = {_HEX[:32]}", _HEX[:32]
    yield "prefixed-token", f"use acme_v1_{_MIXED[:40]} now", f"acme_v1_{_MIXED[:40]}"
    parted = f"{_MIXED[:4]}_{_MIXED[4:8]}-{_MIXED[8:20]}"
    yield "prefixed-token", f"use acme-secret-{parted} now", parted
    yield "cookie", f"Cookie: theme=dark; sid={_MIXED[:32]}; lang=en", _MIXED[:32]
    body = base64.b64encode(_MIXED.encode()).decode()
    for kind in ("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"):
        for newline in ("\n", "\\n"):
            block = newline.join((f"-----BEGIN {kind}-----", body, f"-----END {kind}-----"))
            yield "private-key", f"key: {block} end", block
    value = base64.b64encode(_PASSWORD.encode()).decode()
    manifest = f"apiVersion: v1\nkind: Secret\ndata:\n  blob: {value}\n"
    yield "kubernetes-secret", manifest, value
    blob = base64.b64encode(f"SMTP_PASSWORD={_PASSWORD}\n".encode()).decode()
    yield "encoded-secret", f"$ base64 settings\n{blob}\n", blob


BENIGN: tuple[str, ...] = (
    f"commit {_HEX[:40]}\nMerge branch 'main'",
    "id: 3f2b8c1e-7d4a-4f6b-9c0d-1e2f3a4b5c6d",
    f'"integrity": "sha512-{_MIXED}{_MIXED[:22]}=="',
    f"github.com/acme/keyring v1.2.3 h1:{_MIXED[:43]}=",
    f'{{"tool_use_id": "toolu_01{_MIXED[:22]}", "id": "msg_01{_MIXED[5:27]}"}}',
    "max_tokens: int = 4096, total_tokens=20481",
    "password = get_password(user)\ntoken: string;\napiKey: this.config.apiKey,",
    'API_KEY = os.environ["API_KEY"]\nexport TOKEN=${CI_TOKEN}',
    "apiKey: <YOUR_API_KEY>\npassword: changeme\nsecret: ${{ secrets.DEPLOY }}",
    "postgres://localhost:5432/app",
    "--- PASS: TestRotateKeys (0.01s)",
    "<redacted:github-token> password=<redacted:assigned-password>",
    "<redacted-file-contents-of-20480-bytes>",
)


def run_self_test(
    scanner: Scanner, formats: Iterable[TokenFormat], anchored: Iterable[AnchoredRule]
) -> None:
    """Prove the scanner on canaries.

    Raises:
        RedactionUnavailable: a rule missed its canary or touched harmless text; the
            message names the rule or the number of the text, never the text.
    """
    for token_format in formats:
        for template in token_format.templates:
            text = f"see {template.sample} there"
            _expect(scanner, token_format.name, text, template.sample)
    for rule in anchored:
        if rule.name not in {span.rule for span in scanner.scan(_BEFORE + rule.sample)}:
            raise RedactionUnavailable(f"redaction rule {rule.name} misses its canary")
    for name, text, secret in (*structural_canaries(), *contexts.samples()):
        _expect(scanner, name, text, secret)
    for number, text in enumerate(BENIGN):
        spans = scanner.scan(text)
        if spans:
            raise RedactionUnavailable(
                f"redaction rule {spans[0].rule} touches harmless text number {number}"
            )


def _expect(scanner: Scanner, rule: str, text: str, secret: str) -> None:
    text = _BEFORE + text
    start = text.index(secret)
    for span in scanner.scan(text):
        if span.rule == rule and span.start <= start and span.end >= start + len(secret):
            return
    raise RedactionUnavailable(f"redaction rule {rule} misses its canary")
