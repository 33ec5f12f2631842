"""`memory doctor`: what it finds, and what it says to do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from memory_assets.cli.doctor_command import diagnose
from memory_assets.settings import Settings, load_settings
from memory_assets_tests.command_line import run_here


def test_an_installation_in_order_has_nothing_to_mend(sample_settings: Settings) -> None:
    """Each part is found: rules, model, key, transcripts, git, room on the disk."""
    findings = {finding.name: finding for finding in diagnose(sample_settings)}
    assert all(finding.ok for finding in findings.values()), findings
    assert "claude-code" in findings["transcripts"].found
    assert findings["embedding model"].found.startswith("all-MiniLM-L6-v2")
    assert findings["memory"].remedy == "Run `memory ingest`."


@pytest.mark.parametrize(
    ("changed", "name", "remedy"),
    [
        ({"projects_dir": "/no/such/directory"}, "transcripts", "MEMORY_PROJECTS_DIR"),
        ({"data_dir": "/proc/memory"}, "data directory", "room"),
        ({"embedder": "no-such-model"}, "embedding model", "known: all-MiniLM-L6-v2"),
    ],
)
def test_what_is_wrong_is_named_with_a_remedy(
    changed: dict[str, str], name: str, remedy: str, tmp_path: Path
) -> None:
    """The other parts are looked at all the same."""
    settings = load_settings(**{"data_dir": tmp_path / "memory", **changed})
    findings = {finding.name: finding for finding in diagnose(settings)}
    assert not findings[name].ok and remedy in f"{findings[name].found} {findings[name].remedy}"
    assert findings["git"].ok and findings["redaction"].ok


def test_the_exit_code_says_whether_all_is_well(tmp_path: Path) -> None:
    """0 and 1; `--json` has the same findings for programs."""
    environment = {"MEMORY_DATA_DIR": str(tmp_path / "memory")}
    well = run_here(environment, "doctor", "--json")
    assert well.returncode == 0 and json.loads(well.stdout)["ok"] is True
    environment["MEMORY_CODEX_DIR"] = str(tmp_path / "nothing")
    wrong = run_here(environment, "doctor", "--json")
    assert wrong.returncode == 1 and json.loads(wrong.stdout)["ok"] is False


@pytest.mark.parametrize("kept_in", ["XDG_CACHE_HOME", "XDG_CONFIG_HOME"])
def test_what_onnxruntime_left_is_said(
    kept_in: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled_rules: Path
) -> None:
    """A device id and events that an earlier version recorded, in the cache or, as on macOS, beside
    the configuration; other programs share them, so it is the user who deletes them."""
    shutil.copytree(compiled_rules, tmp_path / "other")
    shutil.copytree(compiled_rules, tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    monkeypatch.setenv(kept_in, str(tmp_path / "cache"))
    settings = load_settings(data_dir=tmp_path / "memory", embedder="none")
    left = tmp_path / "cache" / "Microsoft" / "DeveloperTools" / ".onnxruntime"
    left.mkdir(parents=True)
    (found,) = [each for each in diagnose(settings) if each.name == "telemetry"]
    assert found.ok and str(left) in found.found and "Delete `deviceid`" in found.remedy
    assert left.is_dir()
