"""Kinds of secrets that earlier rules missed, and harmless things that they touched."""

from __future__ import annotations

import pytest

from memory_assets.redaction import Redactor
from memory_assets_tests.redaction.missed_kinds import filled
from memory_assets_tests.redaction.missed_kinds_texts import HARMLESS, SECRETS

SEEDS = range(4)


@pytest.mark.parametrize("kind", SECRETS)
def test_secrets_of_a_kind_go(kind: str, redactor: Redactor) -> None:
    """Each text does something that no other test does: another rule, another step of the code."""
    for template in SECRETS[kind]:
        for seed in SEEDS:
            text, secrets = filled(template, seed)
            kept = redactor.redact(text).text
            assert not [secret for secret in secrets if secret in kept], template


@pytest.mark.parametrize("kind", HARMLESS)
def test_harmless_neighbours_stay(kind: str, redactor: Redactor) -> None:
    """What looks like the kind and is no secret is not touched, whatever values it has."""
    for template in HARMLESS[kind]:
        for seed in SEEDS:
            text, _ = filled(template, seed)
            assert redactor.redact(text).text == text, template
