"""`memory doctor`: what it finds, and what it says to do."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memory_assets.cli.doctor_command import Finding, _chroma_mcp, diagnose
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.gateway_usage import FILE_NAME, spent_since
from memory_assets_tests.cli.findings import finding_of
from memory_assets_tests.command_line import run_here
from memory_assets_tests.embedding.model_endpoint import KEY, served


def test_an_installation_in_order_has_nothing_to_mend(sample_settings: Settings) -> None:
    """Each part is found: rules, model, key, transcripts, git, room on the disk."""
    findings = dict(diagnose(sample_settings))
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
    findings = dict(diagnose(settings))
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
    kept_in: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device id and events that an earlier version recorded, in the cache or, as on macOS, beside
    the configuration; other programs share them, so it is the user who deletes them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    monkeypatch.setenv(kept_in, str(tmp_path / "cache"))
    settings = load_settings(data_dir=tmp_path / "memory", embedder="none")
    left = tmp_path / "cache" / "Microsoft" / "DeveloperTools" / ".onnxruntime"
    left.mkdir(parents=True)
    found = finding_of("telemetry", settings)
    assert found.ok and str(left) in found.found and "Delete `deviceid`" in found.remedy
    assert left.is_dir()


NOBODY = "http://127.0.0.1:9"
"""Where nothing listens."""


def _found(name: str, **given: Any) -> Finding:
    """What the doctor finds of one part."""
    return finding_of(name, load_settings(**given))


def test_models_that_the_settings_name_are_asked(tmp_path: Path) -> None:
    """Each endpoint once, and what each says; the requests are among the costs."""
    with served() as endpoint:
        names = {
            "embedder": f"openai:all-minilm@{endpoint.url},{NOBODY}/v1",
            "summarizer": f"openai:gpt@{endpoint.url}",
            "embedder_key": KEY,
            "summarizer_key": KEY,
        }
        vectors = _found("embedding model", data_dir=tmp_path, **names)
        host = f"127.0.0.1:{endpoint.server_port}"
        assert vectors.found.startswith(f"all-minilm: {host} answers in ")
        assert not vectors.ok and "127.0.0.1:9 does not answer" in vectors.found
        assert _found("summaries", data_dir=tmp_path, **names).ok
        (spent,) = [each for each in spent_since(tmp_path / FILE_NAME, 0) if not each.failed][:1]
        assert (spent.consumer, spent.route, spent.requests) == ("doctor", "chat/completions", 1)
        summaries = _found("summaries", data_dir=tmp_path, **names | {"summarizer_key": "wrong"})
        assert not summaries.ok and "refuses the key (HTTP 401)" in summaries.found
        assert summaries.remedy.startswith("Start it, or correct MEMORY_SUMMARIZER")


def test_servers_of_collections_are_asked(tmp_path: Path) -> None:
    """A Chroma, its token and what is no Chroma; a qdrant that is away."""
    chroma_server.ensure_running(tmp_path / "server", 60.0)
    try:
        running = chroma_server.running(tmp_path / "server")
        assert running is not None
        given = {"data_dir": tmp_path / "memory", "embedder": "none", "chroma_url": running.url}
        token = chroma_server.token(tmp_path / "server")
        well = _found("Chroma", **given, chroma_token=token)
        assert well.ok and well.found.endswith(": 0 collections"), well
        refused = _found("Chroma", **given, chroma_token="another token")
        assert (refused.ok, refused.remedy) == (False, "Correct MEMORY_CHROMA_TOKEN.")
    finally:
        chroma_server.stop(tmp_path / "server")
    away = _found("Chroma", **given)
    assert not away.ok and f"{running.url} does not answer" in away.found
    given = {"vector_backend": "qdrant", "qdrant_url": NOBODY, "embedder": "none"}
    qdrant = _found("qdrant", data_dir=tmp_path / "memory", **given)
    assert (qdrant.ok, qdrant.remedy) == (False, "Start it, or correct QDRANT_URL.")


class _ChromaMcp(BaseHTTPRequestHandler):
    """An MCP server over HTTP with two collections."""

    def do_POST(self) -> None:
        """Answer one request of JSON-RPC; a notification has no answer."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        version = asked.get("params", {}).get("protocolVersion")
        known = {"protocolVersion": version, "capabilities": {"tools": {}}}
        results = {
            "initialize": {**known, "serverInfo": {"name": "chroma", "version": "0.2.6"}},
            "tools/list": {"tools": []},
            "tools/call": {"content": [{"type": "text", "text": each} for each in ("own.a", "b")]},
        }
        result = results.get(asked["method"], {})
        said = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": result}).encode()
        self.send_response(200 if "id" in asked else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said) if "id" in asked else 0))
        self.end_headers()
        self.wfile.write(said if "id" in asked else b"")

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def test_chroma_mcp_is_asked(tmp_path: Path) -> None:
    """Where the settings name it: one that answers, whose collections with our prefix are counted,
    and one that is away."""
    given: dict[str, Any] = {"data_dir": tmp_path / "memory"}
    with ThreadingHTTPServer(("127.0.0.1", 0), _ChromaMcp) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_port}/mcp"
        well = _chroma_mcp(load_settings(**given, mcp_endpoint=here))
        prefixed = _chroma_mcp(load_settings(**given, mcp_endpoint=here, mcp_prefix="own."))
        server.shutdown()
    assert well.ok and well.found.endswith(" ms: 2 collections"), well
    assert prefixed.ok and prefixed.found.endswith(" ms: 1 collection"), prefixed
    away = _chroma_mcp(load_settings(**given, mcp_endpoint=f"{NOBODY}/mcp"))
    assert (away.ok, away.remedy) == (False, "Start it, or correct MCP_ENDPOINT.")
