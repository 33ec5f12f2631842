"""Two tenants of one data directory never see each other, over every verb."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from starlette.testclient import TestClient

from memory_assets.cli import exit_codes
from memory_assets.cli.installing.other_programs import variables
from memory_assets.errors import ConfigurationError
from memory_assets.serving.agent_memory import AgentMemory
from memory_assets.serving.http_api import build_app
from memory_assets.serving.mcp_server import call_tool
from memory_assets.serving.opened import OpenedMemory
from memory_assets.serving.pages.site import build_site
from memory_assets.settings import Settings, load_settings
from memory_assets_tests.agent_memory.conftest import NOW
from memory_assets_tests.command_line import run_here

Run = Callable[..., CompletedProcess[str]]
SECRET = "zanzibarquartz"
OVER_HTTP = ("/search?q=lab&in=all", "/page/memories", "/page/conversation/c1")


def settings_of(base: Path, tenant: str | None) -> Settings:
    """The settings of a tenant."""
    return load_settings(data_dir=base, tenant=tenant, embedder="none")


def tool(settings: Settings, name: str, **arguments: Any) -> str:
    """The text that a tool of an agent's server answers, errors too."""
    answer = call_tool(OpenedMemory(settings), name, arguments, AgentMemory(settings))
    return " ".join(getattr(each, "text", "") for each in answer.content)


def over_http(settings: Settings, path: str) -> str:
    """What a server of a tenant answers, by the API or as a page."""
    app = (build_site if path.startswith("/page/") else build_app)(settings)
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        return client.get(path).text


def test_two_tenants_never_see_each_other(tmp_path: Path) -> None:
    """What one remembers, appends and ingests is in no list, context, search, id, status or error
    of the other, nor of who has none; nor can the other forget it."""
    (tmp_path / "projects").mkdir()

    def run(tenant: str, *arguments: str) -> CompletedProcess[str]:
        environment = {
            "MEMORY_DATA_DIR": str(tmp_path / "memory"),
            "MEMORY_PROJECTS_DIR": str(tmp_path / "projects"),
            "MEMORY_EMBEDDER": "none",
            "MEMORY_TENANT": tenant,
        }
        return run_here(environment, *arguments)

    ada = settings_of(tmp_path / "memory", "ada")
    turn = {"conversation_id": "c1", "role": "user", "turn_index": 0, "ts": NOW}
    tool(ada, "append_history", text=f"Where is the {SECRET}?", **turn)
    stored = run(
        "ada", "remember", f"The {SECRET} is in the lab.", "--conversation", "c1", "--json"
    )
    memory_id = json.loads(stored.stdout)["memory_id"]
    assert run("ada", "ingest", "--json").returncode == exit_codes.FINE
    mine = ("search", SECRET, "--in", "all"), ("memories",), ("context", "--conversation", "c1")
    by_id = ("show", memory_id), ("audit", memory_id)
    for arguments in (*mine, *by_id):
        shown = run("ada", *arguments).stdout
        assert (memory_id if arguments[0] == "audit" else SECRET) in shown, arguments
    assert all(SECRET in over_http(ada, path) for path in OVER_HTTP)
    for tenant in ("bob", ""):
        run(tenant, "remember", "Bob likes tea.")
        for arguments in (*mine, *by_id, ("status", "--json"), ("forget", memory_id, "--yes")):
            said = run(tenant, *arguments)
            assert SECRET not in said.stdout + said.stderr, (tenant, arguments)
        bob = settings_of(tmp_path / "memory", tenant or None)
        told = tool(bob, "context", conversation="c1", latest="the lab?")
        told += tool(bob, "recall", query="lab", kind="all") + tool(bob, "get", id=memory_id)
        assert SECRET not in told
        for path in (*OVER_HTTP, f"/turns/{memory_id}", f"/page/memory/{memory_id}"):
            assert SECRET not in over_http(bob, path), path
        assert '"outcome": "stored"' in run(tenant, "remember", "The lab is shut.", "--json").stdout
        run(tenant, "forget", "--conversation", "c1", "--yes")
    assert SECRET in run("ada", "memories").stdout
    assert "tea" not in run("ada", "memories").stdout
    assert SECRET in tool(ada, "context", conversation="c1", latest="")


def test_a_tenant_has_a_directory_of_its_own(tmp_path: Path) -> None:
    """Which a process that is started for it is given, and does not look for in itself; a name that
    leads elsewhere is refused."""
    settings = settings_of(tmp_path, "ada")
    assert settings.data_dir == tmp_path / "tenants" / "ada"
    assert settings_of(settings.data_dir, "ada").data_dir == settings.data_dir
    assert settings_of(tmp_path, None).data_dir == tmp_path
    given = {"MEMORY_DATA_DIR": str(settings.data_dir), "MEMORY_TENANT": "ada"}
    assert variables(settings) == given
    for name in ("../bob", "a/b", "Ada", "", "-", "a" * 40):
        if name:
            with pytest.raises(ConfigurationError, match="MEMORY_TENANT"):
                settings_of(tmp_path, name)
