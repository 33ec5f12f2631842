"""Which paths name a file of secrets."""

from __future__ import annotations

from memory_assets.redaction.policy.sensitive_paths import (
    HINTS,
    SENSITIVE_NAMES,
    SENSITIVE_PLACES,
    is_sensitive,
)
from memory_assets.word_lists import words
from memory_assets_tests.sweep import sweep


@sweep(
    "path",
    words(
        r".ENV server.PEM app/.env.local ~/.ssh/deploy /run/secrets/db C:\Users\dev\.env .env*"
        r" {a,.env} src/../.env file:///app/.env .env::$DATA .env/"
    ),
)
def test_files_that_exist_to_hold_secrets(path: str) -> None:
    """However the path is written; every name and place of the table is tried below."""
    assert is_sensitive(path)


@sweep(
    "path",
    words(
        ".env.example .env.sample example.env id_rsa.pub .ssh/known_hosts .ssh/config config.json"
        " auth.json locales/en/auth.json tokens.json shadow docs/shadow.md src/env.py env.d.ts"
        " .env.d.ts process.env src/credentials.ts secrets.md keys.md hosts.yml src/config"
        " cacert.pem settings.xml * **/*.ts /"
    ),
)
def test_ordinary_files(path: str) -> None:
    """Examples, public halves, code, documents and names that mean nothing by themselves."""
    assert not is_sensitive(path)


@sweep("pattern", [*SENSITIVE_NAMES, *SENSITIVE_PLACES])
def test_every_pattern_has_a_hint(pattern: str) -> None:
    """The quick look never hides a path that a pattern would match, and the pattern works."""
    path = pattern.replace("[0-9]", "0").replace("*", "x")
    assert any(hint in path for hint in HINTS)
    assert is_sensitive(f"/home/dev/{path}")
    assert is_sensitive(path.upper())
