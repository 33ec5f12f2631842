"""Vendors' tokens are found wherever they stand; what merely resembles them stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memory_assets.redaction import Redactor
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.token_formats.contextual import CONTEXT_FORMATS
from memory_assets.redaction.rules.token_formats.tokens import TOKEN_FORMATS
from memory_assets_tests.sweep import sweep

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


@sweep("row", TOKEN_FORMATS)
def test_every_format_is_found_in_every_context(
    row: tuple[str, ...], redactor: Redactor, fake: Fake
) -> None:
    """A random token of each template leaves no text behind, whatever stands around it; one of two
    tokens in each context."""
    for template in row[1:]:
        for seed in range(2):
            token = fake(template, seed)
            for context in CONTEXTS[seed::2]:
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
def test_the_tag_names_the_rule(
    template: str, rule: str, redactor: Redactor, fake: Fake, named: Callable[[str], str]
) -> None:
    """The most telling rule gives the tag, also where an assignment covers the same value."""
    for text in ("see {} there", 'API_KEY="{}"', "password: {}"):
        (finding,) = redactor.find(text.format(fake(template)))
        assert (finding.rule, named(finding.tag)) == (rule, f"<redacted:{rule}>")


@sweep("row", CONTEXT_FORMATS)
def test_keys_without_a_shape_are_found_beside_their_vendor(
    row: tuple[str, ...], redactor: Redactor, fake: Fake
) -> None:
    """A random key of each template goes where the vendor's name and `key` stand before it."""
    vendor = row[1].split()[0]
    for template in row[2:]:
        for seed in range(2):
            key = fake(template, seed)
            for context in ("{v}_api_key = {s}", '"{v}": {"api_key": "{s}"}', "{v} API key: {s}"):
                text = context.replace("{v}", vendor).replace("{s}", key)
                assert key not in redactor.redact(text).text, (row[0], template, context)


@sweep(
    "text",
    [
        "origin https://github.com/acme/app.git (push)\n    {s} docs: a fix",
        '"headRepository": "datadog/agent", "headSha": "{s}"',
        "branch: {s}",
        "segment {s} of 3",
        "stripe@{s}",
        "cloudflare commit {s}",
    ],
)
def test_a_hash_beside_a_vendor_is_no_key(text: str, redactor: Redactor, fake: Fake) -> None:
    """A commit's id stays where the vendor's name stands before it by chance."""
    for seed in range(3):
        whole = text.replace("{s}", fake("{h:40}", seed))
        assert redactor.redact(whole).text == whole


@pytest.mark.parametrize(
    "template",
    ["acme_live_{a:24}", "zx_{a:40}", "acme-key-{h:32}", "qqx_{h:40}", "ab.cd.Qz7x{a:40}"],
)
def test_tokens_of_unknown_vendors_are_found_by_their_build(
    template: str, redactor: Redactor, fake: Fake
) -> None:
    """A short prefix and a long random body are a token, whoever hands it out."""
    token = fake(template)
    assert token not in redactor.redact(f"use {token} for staging").text


@pytest.mark.parametrize("prefix", ["gh" + "p_", "npm" + "_"])
def test_a_valid_checksum_is_proof(prefix: str, redactor: Redactor, fake: Fake) -> None:
    """A token that contains what stand-ins contain goes all the same if its checksum holds."""
    body = fake("{a:20}") + "xxxxx" + fake("{a:5}", 1)
    token = prefix + body + values.checksum(body)
    assert token not in redactor.redact(f"see {token} there").text
    wrong = prefix + body + "000000"
    assert wrong in redactor.redact(f"see {wrong} there").text


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
    "hf_requiredCharacteristicTypesForDisplayMetadata",
    "prod_Nd7x{a:10}",
    "user_2abc{a:23}",
    "agent_{h:40}",
    "ws_{h:50}",
    "xy_{h:50}",
    "mise-v0-linux-x64-{h:64}",
    "Tracker-Cache_{h:40}",
    "index-{a:8}.js",
    "img-{h:32}.png",
    "Pass = `entire` plugin",
    'example: "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"',
    "csrf-token={b:64}==",
    '<img src="data:image/png;base64,PHN2ZyBm{b:80}" />',
    "from app.resource_v1beta2_api import ResourceV1beta2Api as api",
    "TestRunIntegrationSyncOverSSHShimV2",
    "tests/test_auth_k3.py::test_password_reset_token_is_invalidated[param8] PASSED",
)


@sweep("template", BENIGN)
def test_what_is_no_secret_stays(template: str, redactor: Redactor, fake: Fake) -> None:
    """Hashes, ids, paths, images and stand-ins are not touched."""
    for seed in range(5):
        text = fake(template, seed)
        assert redactor.redact(f"see {text} there").text == f"see {text} there"
