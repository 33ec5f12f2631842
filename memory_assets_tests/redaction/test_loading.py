"""The redactor loads whole or not at all, and nothing can turn it off."""

from __future__ import annotations

import ast
import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

import memory_assets.redaction
from memory_assets.errors import RedactionUnavailable
from memory_assets.redaction import (
    RedactionSettings,
    Redactor,
    at_rest,
    load_redactor,
    ruleset_version,
    version,
)
from memory_assets.redaction import redactor as redactor_module
from memory_assets.redaction.engine import pattern_cache
from memory_assets.redaction.engine.pattern_cache import code_digest
from memory_assets.redaction.engine.scanner import Scanner
from memory_assets.redaction.engine.token_runs import compile_formats
from memory_assets.redaction.redactor import build_redactor
from memory_assets.redaction.rules.anchored.table import ANCHORED_RULES
from memory_assets.redaction.rules.token_formats.tokens import TOKEN_FORMATS
from memory_assets_tests.command_line import run_code
from memory_assets_tests.sweep import sweep

PACKAGE = Path(memory_assets.redaction.__file__).parent
TESTS = Path(__file__).parent
KEY = bytes(32)
PLAIN = RedactionSettings(engine="re")
"""With the engine that compiles nothing, where rules of a test's own are loaded: what refuses
them is the same (`test_engine.py`)."""


def test_a_rule_that_does_not_compile_refuses_to_load() -> None:
    """A malformed row raises RedactionUnavailable that names the rule."""
    with pytest.raises(RedactionUnavailable, match="broken-rule") as caught:
        build_redactor(PLAIN, [("broken-rule", "xyz_{q:30}")], ANCHORED_RULES, KEY)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@sweep("rows", [[], TOKEN_FORMATS[:1], [("short-start", "{a:8}:{a:40}")]])
def test_few_formats_find_what_they_describe_and_nothing_else(
    rows: list[tuple[str, ...]],
) -> None:
    """A scanner of few rows or none reads any run of characters without an error."""
    scanner = Scanner(compile_formats(rows), ())
    assert scanner.scan("see kJ8mN2pQ7rT4_vX9zB3cD6fG1hJ5kL:8nM2pQ4rS6tU8vW0 there") == []


def test_a_rule_that_touches_harmless_text_refuses_to_load() -> None:
    """A row that would take lockfile hashes for tokens raises RedactionUnavailable."""
    rows = [*TOKEN_FORMATS, ("greedy", "sha512-{b:30,}")]
    with pytest.raises(RedactionUnavailable, match="greedy touches harmless text"):
        build_redactor(PLAIN, rows, ANCHORED_RULES, KEY)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache directory, empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "memory_assets"


def _tests_run(load: Callable[[], object]) -> int:
    """Return how often loading asks for the self-test, which takes two seconds and is not run."""
    with patch.object(redactor_module, "run_self_test") as tested:
        load()
    return tested.call_count


def _load_shipped(*, test: bool = False) -> Redactor:
    return load_redactor(PLAIN, KEY, test=test)


def test_a_passed_self_test_counts_for_the_same_code_only(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shipped rules are tested once; again for other code, when the note of it is damaged or
    cannot be written, and when asked."""
    assert _tests_run(_load_shipped) == 1
    assert _tests_run(_load_shipped) == 0
    assert _tests_run(lambda: _load_shipped(test=True)) == 1
    (passed,) = cache.glob("self-test-*.passed")
    passed.write_bytes(b"")
    assert _tests_run(_load_shipped) == 1
    monkeypatch.setattr(redactor_module, "code_digest", lambda: "other")
    assert _tests_run(_load_shipped) == 1
    assert _tests_run(_load_shipped) == 0
    monkeypatch.setattr(redactor_module, "code_digest", lambda: "")
    assert _tests_run(_load_shipped) == _tests_run(_load_shipped) == 1


def test_a_failed_self_test_is_not_noted(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that miss a canary refuse to load each time."""
    broken = (dataclasses.replace(ANCHORED_RULES[0], sample="nothing to see"),)
    monkeypatch.setattr(redactor_module, "ANCHORED_RULES", broken)
    for _ in range(2):
        with pytest.raises(RedactionUnavailable, match=ANCHORED_RULES[0].name):
            load_redactor(PLAIN, KEY)
    assert not [*cache.glob("*.passed")]


def test_an_engine_that_fails_here_gives_way_to_the_standard_library(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where Hyperscan overlooks a canary, redaction goes on without it and says so, unless it was
    asked for."""
    pytest.importorskip("hyperscan", reason="Hyperscan is not installed: there is one engine only")

    def fails_compiled(scanner: Scanner, *_: object) -> None:
        if scanner.digest:
            raise RedactionUnavailable("redaction rule pin misses its canary")

    monkeypatch.setattr(redactor_module, "run_self_test", fails_compiled)
    redactor = load_redactor(RedactionSettings(), KEY, test=True)
    assert "Tr0ub4dor9" not in redactor.redact("DB_PASSWORD=Tr0ub4dor9").text
    (said,) = caplog.messages
    assert "without Hyperscan" in said and "pin misses" in said
    with pytest.raises(RedactionUnavailable, match="pin misses its canary"):
        load_redactor(RedactionSettings(engine="hyperscan"), KEY, test=True)


def test_rules_of_ones_own_are_tested_each_time(cache: Path) -> None:
    """What another process found of the shipped rules says nothing about others."""

    def load() -> None:
        build_redactor(PLAIN, TOKEN_FORMATS, ANCHORED_RULES[:1], KEY)

    assert _tests_run(_load_shipped) == _tests_run(load) == _tests_run(load) == 1


def test_the_code_digest_follows_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any module of redaction counts; without source there is no digest."""
    digests = [code_digest()]
    copy = shutil.copytree(PACKAGE, tmp_path / "redaction")
    monkeypatch.setattr(pattern_cache, "_PACKAGE", copy)
    digests.append(code_digest.__wrapped__())
    with (copy / "rules" / "judging" / "values.py").open("a") as file:
        file.write("# changed\n")
    digests.append(code_digest.__wrapped__())
    assert digests[0] == digests[1] != digests[2]
    with patch.object(Path, "read_bytes", side_effect=OSError):
        assert code_digest.__wrapped__() == ""


def test_settings_cannot_turn_redaction_off() -> None:
    """The settings hold limits of the file-content policy and of the time a record may take (it is
    withheld then), kinds of personal data and which engine looks (they find the same), no more."""
    names = {field.name for field in dataclasses.fields(RedactionSettings)}
    assert names == {"max_file_bytes", "allowlist", "personal", "engine", "record_seconds"}


def test_the_package_reads_no_environment() -> None:
    """No module of the package asks for a variable, so none can reach it."""
    for module in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                assert node.attr not in ("environ", "environb", "getenv"), module.name
            elif isinstance(node, ast.ImportFrom):
                assert node.module != "os" or not {n.name for n in node.names} & {
                    "environ",
                    "getenv",
                }, module.name


def test_the_version_follows_rules_and_settings(redactor: Redactor) -> None:
    """Equal tables and settings give one version; a changed row or limit another."""
    assert load_redactor(key=KEY).ruleset_version == redactor.ruleset_version
    other_limit = load_redactor(RedactionSettings(max_file_bytes=1), KEY)
    other_rules = build_redactor(PLAIN, TOKEN_FORMATS[1:], ANCHORED_RULES, KEY)
    versions = {r.ruleset_version for r in (redactor, other_limit, other_rules)}
    assert len(versions) == 3
    assert all(len(version) < 24 for version in versions)


def test_the_version_is_known_without_loading(redactor: Redactor) -> None:
    """The version of the shipped rules is that of a loaded redactor; each setting has its own."""
    assert ruleset_version() == redactor.ruleset_version
    versions = {
        ruleset_version(settings)
        for settings in (
            RedactionSettings(),
            RedactionSettings(max_file_bytes=1),
            RedactionSettings(allowlist=("a",)),
            RedactionSettings(personal=()),
            RedactionSettings(personal=("email",)),
        )
    }
    assert len(versions) == 5


def test_the_version_is_the_same_in_every_process(redactor: Redactor) -> None:
    """It depends on no hash seed, no order of imports and no key."""
    code = "from memory_assets.redaction import ruleset_version; print(ruleset_version())"
    for seed in ("1", "2"):
        environment = {
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": str(PACKAGE.parents[1]),
            "HOME": "/nonexistent",
        }
        shown = run_code(code, env=environment)
        assert shown.stdout.strip() == redactor.ruleset_version


def test_without_a_key_it_refuses_to_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no tags, no redaction: the error says what to do."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    with pytest.raises(RedactionUnavailable, match=r"install\.key"):
        load_redactor()


def test_no_rule_name_stands_twice() -> None:
    """Each format is one row; anchored rules of one name differ in where they look or how."""
    formats = [row[0] for row in TOKEN_FORMATS]
    assert len(formats) == len(set(formats))
    anchored = [(rule.name, rule.anchor, rule.pattern) for rule in ANCHORED_RULES]
    assert len(anchored) == len(set(anchored))


@sweep("path", [*PACKAGE.glob("*.py"), *TESTS.glob("*.py")])
def test_no_token_is_written_out_in_the_source(path: Path, redactor: Redactor) -> None:
    """Samples and fakes are made at run time: no tracked file holds what looks like a token."""
    vendors = {row[0] for row in TOKEN_FORMATS}
    found = [f.rule for f in redactor.find(path.read_text(encoding="utf-8")) if f.rule in vendors]
    assert not found


def test_the_version_stays_when_a_constant_moves_to_another_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else everybody's sessions would be redacted again for it."""
    before, modules = ruleset_version(), list(version._modules())
    monkeypatch.setattr(version, "_modules", lambda: reversed(modules))
    assert ruleset_version() == before


def test_how_much_is_remembered_does_not_change_the_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It changes no redaction."""
    before = ruleset_version()
    monkeypatch.setattr(at_rest, "_MOST", 7)
    assert ruleset_version() == before
