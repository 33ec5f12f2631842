"""Vendors' tokens are found wherever they stand; what merely resembles them stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memory_assets.redaction import Redactor
from memory_assets.redaction.tokens import TOKEN_FORMATS

Fake = Callable[..., str]

CONTEXTS = (
    "{s}",
    "use {s} for staging",
    'x = f("{s}")',
    "line\\n{s}\\nline",
    "TOKEN={s} ./run",
    "https://host/cb?x=%3D{s}",
    "[{s}, other]",
    "`{s}`",
)


@pytest.mark.parametrize("row", TOKEN_FORMATS, ids=lambda row: row[0])
def test_every_format_is_found_in_every_context(
    row: tuple[str, ...], redactor: Redactor, fake: Fake
) -> None:
    """A random token of each template leaves no text behind, whatever stands around it."""
    for template in row[1:]:
        for seed in range(2):
            token = fake(template, seed)
            for context in CONTEXTS:
                redacted = redactor.redact(context.replace("{s}", token)).text
                assert token not in redacted, (row[0], context)
                assert redacted.count("<redacted:") == 1, (row[0], context)


@pytest.mark.parametrize(
    ("template", "rule"),
    [
        ("ghp_{a:36}", "github-token"),
        ("sk-ant-api03-{w:93}AA", "anthropic-key"),
        ("sk-proj-{w:120}", "openai-key"),
        ("AKIA{u:16}", "aws-access-key-id"),
        ("xoxb-{d:12}-{d:12}-{a:24}", "slack-token"),
        ("eyJ{a:20}.eyJ{a:40}.{w:43}", "json-web-token"),
        ("npm_{a:36}", "npm-token"),
        ("AIza{w:35}", "google-api-key"),
    ],
)
def test_the_tag_names_the_rule(template: str, rule: str, redactor: Redactor, fake: Fake) -> None:
    """The most telling rule gives the tag, also where an assignment covers the same value."""
    for text in ("see {} there", 'API_KEY="{}"', "password: {}"):
        (finding,) = redactor.find(text.format(fake(template)))
        assert (finding.rule, finding.tag) == (rule, f"<redacted:{rule}>")


BENIGN = (
    "commit {h:40}",
    "{uuid}",
    "index {h:7}..{h:7} 100644",
    "sha256:{h:64}",
    '"integrity": "sha512-{b:86}=="',
    "example.com/mod v1.2.3/go.mod h1:{b:43}=",
    "/nix/store/{l:32}-python3-3.11.7/bin/python3",
    "toolu_01{a:22}",
    "msg_01{a:22}",
    "req_011{a:21}",
    "call_{a:24}",
    '{"id": "resp_{h:48}", "previous_response_id": "resp_{h:48}"}',
    "chatcmpl-{a:29}",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{a:43} dev@laptop",
    "data:image/png;base64,iVBORw0KGgo{b:400}",
    '"signature": "EqQB{b:300}=="',
    "s3://bucket/2026/03/{h:32}/part-006-{uuid}-c000.snappy.parquet",
    "ETag: {h:32}",
    "0x{x:40}",
    "sk-loading-circle-container-with-a-long-class-name",
    "SK_BUFFER_SIZE_MAXIMUM_ALLOWED",
    "hf_hub_download_with_progress",
    "xoxb-your-bot-token-here",
    "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "AKIAIOSFODNN7" + "EXAMPLE",
    "ghp_" + "x" * 36,
    "TestRunIntegrationSyncOverSSHShimV2",
    "tests/test_auth_k3.py::test_password_reset_token_is_invalidated[param8] PASSED",
)


@pytest.mark.parametrize("template", BENIGN)
def test_what_is_no_secret_stays(template: str, redactor: Redactor, fake: Fake) -> None:
    """Hashes, ids, paths, images and stand-ins are not touched."""
    for seed in range(5):
        text = fake(template, seed)
        assert redactor.redact(f"see {text} there").text == f"see {text} there"
