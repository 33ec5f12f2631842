"""Vectors from an OpenAI-compatible endpoint: a real HTTP server with the packaged model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from typing import Any

import numpy as np
import pytest

from memory_assets.embedding import load_embedder
from memory_assets.embedding.endpoint import BATCH, EndpointEmbedder
from memory_assets.errors import EmbedderUnavailable
from memory_assets.http.client import HttpServer
from memory_assets.http.model_endpoint import RateLimit
from memory_assets_tests.embedding.model_endpoint import KEY, Client, ModelEndpoint, served


@pytest.fixture
def endpoint() -> Iterator[ModelEndpoint]:
    """A model behind a key."""
    with served() as started:
        yield started


def test_vectors_are_those_of_the_model_in_batches_of_fifty(endpoint: ModelEndpoint) -> None:
    """In the order of the texts, whatever the order of the answer."""
    texts = [f"text {number}" for number in range(2 * BATCH + 3)]
    endpoint.alter = lambda answer: {**answer, "data": answer["data"][::-1]}
    vectors = Client(endpoint.url).embedder.embed(texts)
    assert [len(asked["input"]) for asked in endpoint.asked] == [50, 50, 3]
    assert np.allclose(vectors, endpoint.model.embed(texts), atol=1e-6)


def test_requests_are_made_at_once_and_within_the_limit(endpoint: ModelEndpoint) -> None:
    """Of many texts, in their order; evenly spread over the minute, and all wait for as long as the
    endpoint asks one of them to."""
    texts = [f"text {number}" for number in range(4 * BATCH)]
    endpoint.silent_seconds = 0.1
    servers = [HttpServer(endpoint.url, KEY, 30.0)]
    vectors = EndpointEmbedder("all-minilm", servers, parallel=4).embed(texts)
    assert endpoint.most_under_way == 4
    assert np.allclose(vectors, endpoint.model.embed(texts), atol=1e-6)
    endpoint.begun.clear()
    limit = RateLimit(600)
    started = time.monotonic()
    EndpointEmbedder("all-minilm", servers, parallel=4, limit=limit).embed(texts)
    earliest = started + np.arange(4) * 0.1
    assert (np.array(endpoint.begun) >= earliest - 0.001).all()  # a busy machine delays them
    endpoint.begun.clear()
    endpoint.failures = [(429, {"Retry-After": "1"})]
    EndpointEmbedder("all-minilm", servers, parallel=2, limit=RateLimit()).embed(texts)
    first, *others = endpoint.begun
    assert sum(at < first + 0.9 for at in others) <= 2 < len(others)


def test_a_name_says_model_and_endpoints(endpoint: ModelEndpoint) -> None:
    """The family is the model's, wherever it runs: its vectors are compared with local ones."""
    name = f"openai:ollama/all-minilm:latest@{endpoint.url}"
    embedder = load_embedder(name, key=KEY)
    assert (embedder.family, embedder.dimension) == ("all-MiniLM-L6-v2", 384)
    assert embedder.embedder_id == "all-MiniLM-L6-v2/endpoint/ollama.all-minilm:latest/384"
    assert embedder.embed(["a", ""]).shape == (2, 384)
    assert load_embedder("openai:all-minilm:33m@http://x/v1").family == "all-minilm:33m"


@pytest.mark.parametrize(
    "name", ["openai:model", "openai:@http://x", "openai:m@ftp://x", "openai:m@http://u:p@x/v1"]
)
def test_another_form_of_a_name_is_refused(name: str) -> None:
    """With the form that is right, or where a key belongs; the key is not shown."""
    with pytest.raises(EmbedderUnavailable, match=r"MODEL@URL|MEMORY_EMBEDDER_KEY") as raised:
        load_embedder(name)
    assert "u:p" not in str(raised.value)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_may_pass_is_asked_again_ever_more_slowly(
    endpoint: ModelEndpoint, status: int
) -> None:
    """A rate limit, or a failure of the endpoint."""
    endpoint.failures = [(status, {})] * 3
    client = Client(endpoint.url)
    assert client.embedder.embed(["a"]).shape == (1, 384)
    assert client.waited == [1.0, 2.0, 4.0]
    assert [use.status for use in client.uses] == [status] * 3 + [200]


def test_it_waits_as_long_as_it_is_asked_to(endpoint: ModelEndpoint) -> None:
    """By a number of seconds or a date; not above a minute, which the error says."""
    endpoint.failures = [(429, {"Retry-After": "17"})]
    endpoint.failures += [(429, {"Retry-After": formatdate(time.time() + 40, usegmt=True)})]
    client = Client(endpoint.url)
    client.embedder.embed(["a"])
    assert client.waited[0] == 17.0 and 30 < client.waited[1] <= 40
    endpoint.failures = [(429, {"Retry-After": "3600"})]
    client = Client(endpoint.url)
    client.fails(r"HTTP 429\) and asks to wait 3600 s")
    assert client.waited == []


@pytest.mark.parametrize(
    "status, reason", [(401, "MEMORY_EMBEDDER_KEY"), (404, "no such model"), (400, "HTTP 400")]
)
def test_what_will_not_pass_is_asked_once(
    endpoint: ModelEndpoint, status: int, reason: str
) -> None:
    """A wrong key, a wrong name, a request that is refused."""
    endpoint.failures = [(status, {})]
    client = Client(endpoint.url)
    client.fails(reason)
    assert client.waited == [] and len(endpoint.asked) == 1


@pytest.mark.parametrize(
    "alter, reason",
    [
        (lambda answer: {**answer, "data": []}, "0 vectors to 1 texts"),
        (lambda answer: {"choices": []}, "something else than embeddings"),
        (lambda answer: _with(answer, [0.5] * 1536), "1536 numbers; memory holds 384"),
        (lambda answer: _with(answer, [float("nan")] * 384), "NaN"),
        (lambda answer: _with(answer, [0.0] * 384), "zero"),
        (lambda answer: _with(answer, ["a"] * 384), "something else than embeddings"),
    ],
)
def test_an_answer_that_is_no_embedding_is_refused(
    endpoint: ModelEndpoint, alter: Callable[[dict[str, Any]], dict[str, Any]], reason: str
) -> None:
    """Too few, other things, vectors of another length or without a direction."""
    endpoint.alter = alter
    Client(endpoint.url).fails(reason)


def _with(answer: dict[str, Any], vector: list[Any]) -> dict[str, Any]:
    return {**answer, "data": [{**row, "embedding": vector} for row in answer["data"]]}


def test_the_next_endpoint_of_a_model_is_asked_when_one_fails(endpoint: ModelEndpoint) -> None:
    """One is gone; no time is lost by waiting. A request that is not answered counts as such."""
    with served() as gone:
        url = gone.url
    client = Client(url, endpoint.url)
    assert client.embedder.embed(["a"]).shape == (1, 384)
    assert client.waited == [] and [use.status for use in client.uses] == [0, 200]
    used = client.uses[-1]
    assert (used.model, used.input_tokens, used.cost_usd) == ("all-minilm", 3, 0.0001)
    assert used.provider == f"127.0.0.1:{endpoint.server_port}"


def test_an_endpoint_that_is_silent_is_given_up(endpoint: ModelEndpoint) -> None:
    """After the time limit, in every round."""
    endpoint.silent_seconds = 0.5
    client = Client(endpoint.url, seconds=0.02)
    client.fails("does not answer")
    assert client.waited == [1.0, 2.0, 4.0, 8.0]


def test_a_model_of_many_lengths_is_asked_for_ours(endpoint: ModelEndpoint) -> None:
    """OpenAI's third generation; others would refuse the argument."""
    for model, asked in (("openai/text-embedding-3-small", 384), ("all-minilm", None)):
        Client(endpoint.url, model=model).embedder.embed(["a"])
        assert endpoint.asked[-1].get("dimensions") == asked
