"""The Dagster graph: it loads without heavy imports, and says what each asset is."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import dagster as dg
import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from memory_assets.dagster import tenants
from memory_assets.dagster.assets.maintenance import known_secrets
from memory_assets.dagster.definitions import ASSETS, WORKSPACE_ASSETS, build_defs, defs
from memory_assets.errors import ConfigurationError
from memory_assets.serving.pages.site import with_manual
from memory_assets.settings import load_settings
from memory_assets.stores.lake.schemas import TABLES
from memory_assets.stores.runs.names import INGEST_JOB, RECHECK_JOB, WORKSPACE_JOB, is_valid_key
from memory_assets_tests.command_line import run_program
from memory_assets_tests.sweep import sweep

GRAPH = {
    "raw_sessions": set(),
    "redacted_records": {"raw_sessions"},
    "redaction_audit": {"redacted_records"},
    "turn_chunks": {"redacted_records"},
    "turn_embeddings": {"turn_chunks"},
    "session_collection": {"turn_embeddings"},
    "user_prompts": {"redacted_records"},
    "prompt_embeddings": {"user_prompts"},
    "prompt_collection": {"prompt_embeddings"},
    "session_summaries": {"redacted_records"},
    "summary_embeddings": {"session_summaries"},
    "summary_collection": {"summary_embeddings"},
    "observations": {"redacted_records"},
    "observation_embeddings": {"observations"},
    "observation_collection": {"observation_embeddings"},
    "session_commits": {"redacted_records"},
    "retrieved_documents": {"redacted_records"},
    "session_usage": {"redacted_records"},
    "keyword_index": {
        "turn_embeddings",
        "prompt_embeddings",
        "summary_embeddings",
        "observation_embeddings",
    },
}
OF_WORKSPACES: dict[str, set[str]] = {
    "workspace_documents": set(),
    "workspace_chunks": {"workspace_documents"},
    "workspace_embeddings": {"workspace_chunks"},
    "workspace_collection": {"workspace_embeddings"},
    "workspace_keyword_index": {"workspace_embeddings"},
}
_PARTITIONED = (*ASSETS, *WORKSPACE_ASSETS)
SPECS = {spec.key.to_user_string(): spec for asset in _PARTITIONED for spec in asset.specs}


def test_definitions_are_loadable() -> None:
    """Dagster accepts the graph as a whole."""
    dg.Definitions.validate_loadable(defs)


def test_what_runs_by_itself_says_what_it_does() -> None:
    """Dagster's page shows no docstring of a sensor or schedule."""
    silent = []
    for location in (defs.get_repository_def(), tenants.defs.get_repository_def()):
        silent += [each.name for each in location.sensor_defs if not each.description]
        silent += [each.name for each in location.schedule_defs if not each.description]
    assert silent == []


def test_the_graph_is_the_designed_one() -> None:
    """Assets and their dependencies, by name: a changed lineage shows up here."""
    graph = {
        name: {dep.asset_key.to_user_string() for dep in spec.deps} for name, spec in SPECS.items()
    }
    assert graph == GRAPH | OF_WORKSPACES


def test_the_groups_read_from_left_to_right() -> None:
    """Collapsed to groups, the lineage in the UI has no circle, begins with the transcripts
    and ends with what looks after the whole."""
    specs = {spec.key: spec for spec in defs.resolve_all_asset_specs()}
    upstream: dict[str, set[str]] = {str(spec.group_name): set() for spec in specs.values()}
    for spec in specs.values():
        groups = {str(specs[dep.asset_key].group_name) for dep in spec.deps}
        upstream[str(spec.group_name)] |= groups - {str(spec.group_name)}
    order = list(TopologicalSorter(upstream).static_order())
    assert not upstream["transcripts"] and order[-1] == "maintenance"
    assert order.index("collections") == len(order) - 2


def test_what_finds_a_secret_blocks_what_is_downstream() -> None:
    """No other check does (`pipeline/test_verify_command.py`: which table has which checks)."""
    specs = [spec for asset in _PARTITIONED for spec in asset.check_specs]
    scanners = {"no_secrets_remain", "independent_scanner_finds_nothing"}
    assert {spec.key for spec in specs if spec.blocking} == {
        spec.key for spec in specs if spec.name in scanners
    }


@pytest.mark.parametrize("name", sorted(SPECS))
def test_every_asset_says_what_it_is(name: str) -> None:
    """Group, kind, description, code version and partitions are there for the UI."""
    spec = SPECS[name]
    assert spec.group_name and spec.kinds and spec.code_version
    assert spec.description and len(spec.description) > 40
    assert isinstance(spec.partitions_def, dg.DynamicPartitionsDefinition)


def test_owners_and_tags_are_those_of_the_settings(tmp_path: Path) -> None:
    """Of every asset; what Dagster would not take is refused by name."""
    told = {"asset_owners": "ada@example.org, team:search", "asset_tags": "domain=agents,tier=2"}
    with_own = build_defs(load_settings(data_dir=tmp_path, **told))
    for spec in with_own.resolve_all_asset_specs():
        assert spec.owners == ["ada@example.org", "team:search"], spec.key
        assert spec.tags.items() >= {"domain": "agents", "tier": "2"}.items(), spec.key
    assert all(spec.owners == ["team:memory"] for spec in defs.resolve_all_asset_specs())
    for name, wrong in (("asset_owners", "ada"), ("asset_tags", "domain")):
        with pytest.raises(ConfigurationError, match=name.upper()):
            load_settings(data_dir=tmp_path, **{name: wrong})


def test_what_removes_is_tagged_and_made_by_its_job_alone() -> None:
    """No asset that removes or archives is made by "Materialize all"."""
    tagged = {
        spec.key.to_user_string()
        for spec in defs.resolve_all_asset_specs()
        if "memory/removes" in spec.tags
    }
    assert tagged == {"retained_sessions", "kept_memories"}
    graph = defs.resolve_asset_graph()
    assert tagged == {
        key.to_user_string() for key in graph.get_all_asset_keys() - graph.executable_asset_keys
    }


def test_every_description_leads_to_a_document_that_memory_dev_serves() -> None:
    """Rendered, with headings that can be linked to; other paths are Dagster's."""
    client = TestClient(with_manual(PlainTextResponse("Dagster")))
    names = set[str]()
    for spec in defs.resolve_all_asset_specs():
        link = re.search(r"\n\nMore: \[(docs/[a-z-]+\.md)\]\(/\1\)$", spec.description or "")
        assert link, spec.key
        names.add(link[1])
    assert len(names) > 10
    for name in names:
        answer = client.get(f"/{name}")
        assert answer.status_code == 200 and "<h1 id=" in answer.text, name
        assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "pictures/" not in client.get("/docs/page.md").text
    assert client.get("/docs/nowhere.md").status_code == 404
    assert client.get("/docs/..%2FREADME.md").status_code == 404
    assert client.get("/assets").text == "Dagster"


@pytest.mark.parametrize("name", sorted(SPECS.keys() & TABLES.keys()))
def test_every_table_has_a_schema_with_described_columns(name: str) -> None:
    """The UI shows each column with its type and meaning."""
    schema = SPECS[name].metadata["dagster/column_schema"]
    assert [column.name for column in schema.columns] == TABLES[name].schema.names
    assert all(column.description for column in schema.columns)


def test_columns_of_collections_have_their_types() -> None:
    """Vectors, numbers, and lists as one string, as Chroma keeps them."""
    schema = SPECS["session_collection"].metadata["dagster/column_schema"]
    types = {column.name: column.type for column in schema.columns}
    assert types["embedding"].startswith(("fixed_size_list", "list"))
    assert (types["ts_epoch"], types["timestamp"], types["tools_used"]) == (
        "double",
        "string",
        "string",
    )
    assert types["turn_index"].startswith("int")
    assert all(column.description for column in schema.columns)


def test_a_stopped_sensor_shows_in_the_catalogue() -> None:
    """What lags when nothing runs has a freshness policy: the collections of transcripts, and
    the nightly report."""
    policies = {
        spec.key.to_user_string(): spec.freshness_policy
        for spec in defs.resolve_all_asset_specs()
        if spec.freshness_policy is not None
    }
    assert policies.keys() == {
        "session_collection",
        "prompt_collection",
        "summary_collection",
        "observation_collection",
        "memory_status",
    }


def test_dg_finds_the_project() -> None:
    """`[tool.dg]` in the project's root names the module with the definitions."""
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["tool"][
        "dg"
    ]
    assert settings["directory_type"] == "project"
    module = import_module(settings["project"]["code_location_target_module"])
    assert module.defs is defs


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("dg", "list", "defs", "--json"), marks=pytest.mark.long),
        pytest.param(("dg", "check", "defs", "--no-check-yaml"), marks=pytest.mark.long),
        pytest.param(
            ("dagster", "asset", "list", "-m", "memory_assets.dagster.definitions"),
            marks=pytest.mark.long,
        ),
    ],
    ids=" ".join,
)
def test_dagsters_commands_find_the_project(command: tuple[str, ...], tmp_path: Path) -> None:
    """In a checkout, as docs/runs.md says."""
    program = Path(sys.executable).with_name(command[0])
    if not program.exists():
        pytest.skip("pip install dagster-dg-cli")
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "DAGSTER_HOME": "",
        "DG_CLI_CONFIG": str(tmp_path / "none.toml"),
        "MEMORY_DATA_DIR": str(tmp_path / "memory"),
    }
    said = run_program([program, *command[1:]], cwd=Path(__file__).parents[2], env=environment)
    if "list" in command:
        assert all(name in said.stdout for name in GRAPH)


def test_the_search_for_known_secrets_is_one_asset_for_all_projects() -> None:
    """With a job of its own; the job of a project does not run it."""
    (spec,) = known_secrets.specs
    assert spec.partitions_def is None and spec.description and spec.code_version
    assert {dep.asset_key.to_user_string() for dep in spec.deps} == {"redacted_records"}
    nodes = {
        name: {node.name for node in defs.resolve_job_def(name).all_node_defs}
        for name in (INGEST_JOB, WORKSPACE_JOB, RECHECK_JOB)
    }
    assert nodes[RECHECK_JOB] == {"known_secrets"}
    assert "known_secrets" not in nodes[INGEST_JOB]
    assert nodes[WORKSPACE_JOB] == OF_WORKSPACES.keys()
    assert nodes[INGEST_JOB] == GRAPH.keys() - {"redaction_audit"}  # made with the records


@sweep(
    "key, valid",
    [
        ("-home-ada-code-engine", True),
        ("C--Users-ada", True),
        ("a,b", False),
        ("a/b", False),
        ("..", False),
        ("a...b", False),
        ("a\x00b", False),
        ("", False),
    ],
)
def test_partition_keys_are_safe(key: str, valid: bool) -> None:
    """Names that Dagster, its UI or a path cannot take are not made partitions."""
    assert is_valid_key(key) is valid
