"""A memory whose model is at an endpoint: ingest, search, costs, and an endpoint that is away."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import pytest

from memory_assets.paths import SAMPLE_DIR
from memory_assets.recall import open_memory
from memory_assets.requests.search import SearchRequest
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests import command_line
from memory_assets_tests.cli.test_cli import Cli, Done
from memory_assets_tests.embedding.model_endpoint import KEY, ModelEndpoint, served

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
