"""A memory whose model is at an endpoint: ingest, search, costs, and an endpoint that is away."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_assets.embedding.endpoint import BATCH
from memory_assets.http.endpoint_use import EndpointUse
from memory_assets.paths import SAMPLE_DIR
from memory_assets.recall import open_memory
from memory_assets.requests.search import SearchRequest
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.gateway_usage import FILE_NAME, GatewayUsage
from memory_assets_tests import command_line
from memory_assets_tests.cli.test_cli import Cli, Done
from memory_assets_tests.embedding.model_endpoint import KEY, ModelEndpoint, served
from memory_assets_tests.workspaces.conftest import write

PROJECT = "-Users-jonas-work-tidepool-web"
TOKEN = "ghp_" + "k3Jq9ZtY7bWx2LmN5pRs8VuC4dFgH6aE1oXi"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ModelEndpoint]:
    """A model behind a key."""
    with served() as started:
        yield started


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory, endpoint: ModelEndpoint) -> Iterator[Cli]:
    """A memory of one project of the sample."""
    cli = Cli(tmp_path_factory.mktemp("endpoint"))
    projects = cli.data_dir.parent / "projects"
    shutil.copytree(SAMPLE_DIR / "claude" / "projects" / PROJECT, projects / PROJECT)
    cli.own |= {
        "MEMORY_PROJECTS_DIR": str(projects),
        "MEMORY_EMBEDDER": f"openai:all-minilm@{endpoint.url}",
        "MEMORY_EMBEDDER_KEY": KEY,
    }
    done = command_line.run_here(cli.own, "ingest")
    assert done.returncode == 0, done.stderr
    yield cli
    chroma_server.stop(cli.data_dir)


def _run(cli: Cli, *arguments: str) -> Done:
    return command_line.run_here(cli.own, *arguments)


def test_requests_are_filled_across_documents(tmp_path: Path, endpoint: ModelEndpoint) -> None:
    """As few as the texts need, each text once; a second run asks nothing."""
    documents = {
        f"docs/{number}.md": f"# Berth {number}\n\nShip {number} waits for the tide at noon.\n"
        for number in range(120)
    }
    write(tmp_path / "harbor", documents)
    cli = Cli(tmp_path / "cli")
    name = f"openai:all-minilm@{endpoint.url}"
    cli.own |= {"MEMORY_EMBEDDER": name, "MEMORY_EMBEDDER_KEY": KEY}
    cli.own |= {"MEMORY_VECTOR_BACKEND": "none", "MEMORY_EMBEDDER_PARALLEL": "2"}
    endpoint.asked.clear()
    for _ in range(2):
        done = _run(cli, "index", str(tmp_path / "harbor"))
        assert done.returncode == 0, done.stderr
        assert len(endpoint.texts) == len(set(endpoint.texts)) >= 120
        assert len(endpoint.asked) == -(-len(endpoint.texts) // BATCH)


def test_questions_are_embedded_there_and_redacted_before(
    ingested: Cli, endpoint: ModelEndpoint
) -> None:
    """A secret in a question stays on the machine."""
    assert len(endpoint.texts) > 5
    done = command_line.run_here(
        ingested.own, "search", f"image upload times out with {TOKEN}", "--json"
    )
    assert done.returncode in (0, 3), done.stderr
    assert json.loads(done.stdout)["mode"] == "hybrid"
    assert "upload" in endpoint.texts[-1] and not any(TOKEN in text for text in endpoint.texts)


def test_costs_are_listed_by_who_asked(ingested: Cli) -> None:
    """With tokens, and the cost as the endpoint says it."""
    _run(ingested, "search", "image upload")
    usage = json.loads(_run(ingested, "costs", "--json").stdout)["usage"]
    by_consumer = {each["consumer"]: each for each in usage}
    assert by_consumer.keys() == {"ingest", "search"}
    for each in usage:
        answered = each["requests"] - each["failed"]
        assert each["model"] == "all-minilm" and each["input_tokens"] >= 3 * answered > 0
        assert each["cost_usd"] == pytest.approx(0.0001 * answered)
    assert "ingest: all-minilm at 127.0.0.1:" in _run(ingested, "costs", "--since", "1h").stdout
    assert _run(ingested, "costs", "--since", "soon").returncode == 2


def test_a_price_stands_in_for_what_the_endpoint_does_not_say(tmp_path: Path) -> None:
    """Of the tokens alone whose cost is unknown; without a price it stays so."""
    usage = GatewayUsage(tmp_path / FILE_NAME)
    small = "text-embedding-3-small"
    for model, cost in ((small, 0.5), (small, None), ("other", None)):
        asked = (time.time(), "gateway", model, 1_000_000, 0, 9, cost, 200)
        usage.note(EndpointUse("embeddings", *asked), consumer="ingest")
    own = {"MEMORY_DATA_DIR": str(tmp_path)}
    for prices, expected in ({}, 0.5), ({"MEMORY_MODEL_PRICES": f"{small}=0.02/0/0"}, 0.52):
        found = json.loads(command_line.run_here(own | prices, "costs", "--json").stdout)["usage"]
        costs = {each["model"]: each["cost_usd"] for each in found}
        assert costs == {small: pytest.approx(expected), "other": None}


def test_without_the_endpoint_words_still_answer(ingested: Cli, endpoint: ModelEndpoint) -> None:
    """The answer says so; a search by meaning alone is an error. Nothing is repeated."""
    settings = load_settings(
        data_dir=ingested.data_dir,
        embedder=f"openai:all-minilm@{endpoint.url}",
        embedder_key="another-made-up-key",
    )
    before = len(endpoint.asked)
    answer = open_memory(settings).search(SearchRequest("image upload"))
    assert answer.hits and "MEMORY_EMBEDDER_KEY" in str(answer.reason)
    assert len(endpoint.asked) == before + 1
