"""The files of the deployment say what they should, and agree with what was tested."""

from __future__ import annotations

import json
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from memory_assets_tests.agent_memory.chroma_mcp_processes import CHROMA_MCP, PROXY, compose_file
from memory_assets_tests.conftest import REPOSITORY


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """The services by name."""
    found: dict[str, Any] = compose_file()["services"]
    return found


def test_the_compose_file_has_the_form_of_the_specification() -> None:
    """By the schema that check-jsonschema brings along."""
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    schemas = files("check_jsonschema") / "builtin_schemas" / "vendor"
    schema = json.loads((schemas / "compose-spec.json").read_text("utf-8"))
    jsonschema.validate(compose_file(), schema)


def test_chroma_is_the_version_of_the_wheel_and_keeps_its_files(services: dict[str, Any]) -> None:
    """In a volume where the image writes; another version might not read them."""
    chroma = services["chroma"]
    assert chroma["image"] == f"chromadb/chroma:{version('chromadb')}"
    assert chroma["volumes"] == ["chroma:/data"]
    assert chroma["healthcheck"]["test"][1] == "bash"


def test_only_dagsters_page_is_published_and_to_this_machine_only(services: dict[str, Any]) -> None:
    """Whatever reaches Chroma or chroma-mcp may read and write all memories: they ask for no
    password."""
    published = {name: each["ports"] for name, each in services.items() if "ports" in each}
    assert published == {"dagster": ["127.0.0.1:3000:3000"]}
    assert not any(each.get("network_mode") or each.get("privileged") for each in services.values())


def test_the_images_have_what_was_tested(services: dict[str, Any]) -> None:
    """The versions of the environments that the tests of chroma-mcp build; files that exist."""
    built = {each["build"]["dockerfile"] for each in services.values() if "build" in each}
    texts = {name: (REPOSITORY / name).read_text() for name in built}
    for requirement in (*CHROMA_MCP, *PROXY):
        assert f'"{requirement}"' in texts["deploy/chroma-mcp/Dockerfile"]
    for line in "\n".join(texts.values()).splitlines():
        if line.startswith("COPY") and "--from" not in line:
            assert all((REPOSITORY / name).exists() for name in line.split()[1:-1])


def test_the_chat_reaches_memory_by_mcp_only(services: dict[str, Any]) -> None:
    """It is told no address of Chroma, and waits for chroma-mcp."""
    chat = services["agent-app"]
    assert chat["environment"]["MCP_ENDPOINT"] == "http://chroma-mcp:8080/mcp"
    assert not any("CHROMA" in name for name in chat["environment"])
    assert set(chat["depends_on"]) == {"chroma-mcp"}
