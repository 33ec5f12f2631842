"""The redactor loads whole or not at all, and nothing can turn it off."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import pytest

import memory_assets.redaction
from memory_assets.errors import RedactionUnavailable
from memory_assets.redaction import RedactionSettings, Redactor, load_redactor
from memory_assets.redaction.anchored import ANCHORED_RULES
from memory_assets.redaction.redactor import build_redactor
from memory_assets.redaction.tokens import TOKEN_FORMATS

PACKAGE = Path(memory_assets.redaction.__file__).parent
TESTS = Path(__file__).parent


def test_a_rule_that_does_not_compile_refuses_to_load() -> None:
    """A malformed row raises RedactionUnavailable that names the rule."""
    with pytest.raises(RedactionUnavailable, match="broken-rule") as caught:
        build_redactor(RedactionSettings(), [("broken-rule", "xyz_{q:30}")], ANCHORED_RULES)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_rule_that_misses_its_canary_refuses_to_load() -> None:
    """A row whose tokens the engine cannot find raises RedactionUnavailable."""
    with pytest.raises(RedactionUnavailable, match="too-short misses its canary") as caught:
        build_redactor(RedactionSettings(), [("too-short", "zz_{a:4}")], ANCHORED_RULES)
    assert "zz_" not in str(caught.value)


def test_a_rule_that_touches_harmless_text_refuses_to_load() -> None:
    """A row that would take lockfile hashes for tokens raises RedactionUnavailable."""
    rows = [*TOKEN_FORMATS, ("greedy", "sha512-{b:30,}")]
    with pytest.raises(RedactionUnavailable, match="greedy touches harmless text"):
        build_redactor(RedactionSettings(), rows, ANCHORED_RULES)


def test_a_missing_anchored_rule_is_noticed() -> None:
    """An anchored rule whose pattern no longer finds its sample refuses to load."""
    broken = dataclasses.replace(ANCHORED_RULES[0], sample="nothing to see")
    with pytest.raises(RedactionUnavailable, match=ANCHORED_RULES[0].name):
        build_redactor(RedactionSettings(), TOKEN_FORMATS, (broken,))


def test_settings_cannot_turn_redaction_off() -> None:
    """The settings hold limits of the file-content policy and nothing else."""
    names = {field.name for field in dataclasses.fields(RedactionSettings)}
    assert names == {"max_file_bytes", "allowlist"}


def test_the_package_reads_no_environment() -> None:
    """No module of the package imports `os`, so no variable can reach it."""
    for module in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert "os" not in {alias.name.split(".")[0] for alias in node.names}, module.name
            elif isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] != "os", module.name


def test_the_version_follows_rules_and_settings(redactor: Redactor) -> None:
    """Equal tables and settings give one version; a changed row or limit another."""
    assert load_redactor().ruleset_version == redactor.ruleset_version
    other_limit = load_redactor(RedactionSettings(max_file_bytes=1))
    other_rules = build_redactor(RedactionSettings(), TOKEN_FORMATS[1:], ANCHORED_RULES)
    versions = {r.ruleset_version for r in (redactor, other_limit, other_rules)}
    assert len(versions) == 3
    assert all(len(version) < 24 for version in versions)


def test_no_rule_name_stands_twice() -> None:
    """Each rule is one row."""
    rules = [row[0] for row in TOKEN_FORMATS] + [rule.name for rule in ANCHORED_RULES]
    assert len(rules) == len(set(rules))


@pytest.mark.parametrize(
    "path", [*PACKAGE.glob("*.py"), *TESTS.glob("*.py")], ids=lambda path: path.name
)
def test_no_token_is_written_out_in_the_source(path: Path, redactor: Redactor) -> None:
    """Samples and fakes are made at run time: no tracked file holds what looks like a token."""
    vendors = {row[0] for row in TOKEN_FORMATS}
    found = [f.rule for f in redactor.find(path.read_text(encoding="utf-8")) if f.rule in vendors]
    assert not found
