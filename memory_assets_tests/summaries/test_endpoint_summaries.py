"""Summaries by a model at an endpoint: a real HTTP server that writes a fixed text."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_assets.chunking import build_turns
from memory_assets.errors import ConfigurationError
from memory_assets.http.client import HttpServer
from memory_assets.http.endpoint_use import EndpointUse
from memory_assets.http.model_endpoint import ModelEndpoint as Client
from memory_assets.models import Summary
from memory_assets.paths import SAMPLE_DIR
from memory_assets.pipeline.redact import redacted_records as redact
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.tables import whole_sessions
from memory_assets.redacted_text import RedactedText, seal
from memory_assets.session_analysis import session_turns
from memory_assets.settings import load_settings
from memory_assets.stores.gateway_usage import FILE_NAME, spent_since
from memory_assets.stores.lake.schemas import SESSION_SUMMARIES
from memory_assets.summaries import ExtractiveSummarizer, Summarizer
from memory_assets.summaries.endpoint import ROUTE, EndpointSummarizer, load_endpoint_summarizer
from memory_assets_tests.embedding.model_endpoint import KEY, ModelEndpoint, served
from memory_assets_tests.redacted_sessions import Script

PROJECT = "-Users-jonas-work-tidepool-web"
TOKEN = "ghp_" + "k3Jq9ZtY7bWx2LmN5pRs8VuC4dFgH6aE1oXi"


@pytest.fixture
def endpoint() -> Iterator[ModelEndpoint]:
    """A model behind a key."""
    with served() as started:
        yield started


def _redacted(text: str) -> RedactedText:
    return seal(text.replace(TOKEN, "<secret>"))


def _summarizer(endpoint: ModelEndpoint, left: int = 100_000, **given: Any) -> EndpointSummarizer:
    servers = [HttpServer(endpoint.url, KEY)]
    client = Client("MEMORY_SUMMARIZER", "team/small", servers, sleep=lambda _: None, **given)
    return EndpointSummarizer(client, redact=_redacted, left=lambda: left)


def _summary(summarizer: Summarizer, turns: int = 2) -> Summary:
    script = Script()
    for number in range(turns):
        script.prompt(f"Why does the upload number {number} time out?")
        script.say(f"Because the buffer of upload {number} is too small. " + "Words. " * 200)
    return summarizer.summarize(session_turns(script.records, build_turns(script.records)))


def test_the_text_is_the_models_and_the_facts_are_extracted(endpoint: ModelEndpoint) -> None:
    """What it writes is redacted, squeezed and cut to what is embedded; the row names the model."""
    endpoint.reply = f"Uploads\n\ntimed out, {TOKEN}. " + "More words. " * 100
    uses: list[EndpointUse] = []
    made = _summary(_summarizer(endpoint, note=uses.append))
    assert made.text.startswith("Uploads timed out, <secret>. More") and len(made.text) <= 880
    assert made.request.startswith("Why does the upload number 0")
    assert made.summarizer_id == "endpoint/team.small/1"
    (asked,) = endpoint.asked
    assert asked["model"] == "team/small" and asked["max_tokens"] == 300
    assert "upload 0 is too small" in asked["messages"][1]["content"]
    assert [(use.route, use.input_tokens, use.output_tokens) for use in uses] == [(ROUTE, 100, 20)]


def test_a_long_session_is_sent_in_part(endpoint: ModelEndpoint) -> None:
    """Its beginning and its end, in their order."""
    _summary(_summarizer(endpoint), turns=60)
    sent = endpoint.asked[0]["messages"][1]["content"]
    assert len(sent) < 12_200
    ends = [sent.index(f"User: Why does the upload number {number} time") for number in (0, 1, 59)]
    assert ends == sorted(ends) and "User: Why does the upload number 30 time" not in sent


def test_above_the_days_tokens_summaries_are_extracted(endpoint: ModelEndpoint) -> None:
    """Nothing is sent; the row and the reason say so."""
    summarizer = _summarizer(endpoint, left=300)
    made = _summary(summarizer)
    assert made.summarizer_id == ExtractiveSummarizer.summarizer_id and made.text
    assert endpoint.asked == [] and "MEMORY_SUMMARIZER_DAILY_TOKENS" in summarizer.reason


@pytest.mark.parametrize(
    "failure, answered, reason",
    [(401, None, "set MEMORY_SUMMARIZER_KEY"), (0, {"choices": []}, "else than a message")],
)
def test_a_model_that_fails_leaves_extraction(
    endpoint: ModelEndpoint, failure: int, answered: dict[str, Any] | None, reason: str
) -> None:
    """It is not asked again for each session; the reason quotes nothing."""
    endpoint.failures = [(failure, {})] if failure else []
    endpoint.alter = lambda answer: answer if answered is None else answered
    summarizer = _summarizer(endpoint)
    for _ in range(2):
        assert _summary(summarizer).summarizer_id == ExtractiveSummarizer.summarizer_id
    assert len(endpoint.asked) == 1
    assert reason in summarizer.reason and "upload" not in summarizer.reason


def test_another_form_of_a_name_is_refused() -> None:
    """With the form that is right."""
    with pytest.raises(ConfigurationError, match=r"MEMORY_SUMMARIZER is not openai:MODEL@URL"):
        load_endpoint_summarizer(
            "openai:x", key=None, note=lambda use: None, redact=_redacted, left=lambda: 1
        )


def test_a_stage_asks_the_model_within_the_tokens_of_the_day(
    tmp_path: Path, endpoint: ModelEndpoint
) -> None:
    """What was spent is on record in `gateway_usage`, so that another process counts it; another
    run changes nothing, and asks nothing."""
    shutil.copytree(SAMPLE_DIR / "claude" / "projects" / PROJECT, tmp_path / "projects" / PROJECT)
    settings = load_settings(
        data_dir=tmp_path / "data",
        projects_dir=tmp_path / "projects",
        summarizer=f"openai:small@{endpoint.url}",
        summarizer_key=KEY,
        rest_minutes=0,
    )
    components = Components(settings)
    (project,) = on_disk.find_sources(components)
    scan.scan_project(components, project)
    redact.redact_project(components, project)
    whole_sessions.summarise_project(components, project)
    rows: list[Summary] = [
        row
        for session_id in components.catalog.products.of_project("session_summaries", project)
        for row in components.lake.read_rows(SESSION_SUMMARIES, project, session_id)
    ]
    assert {(row.text, row.summarizer_id) for row in rows} == {
        ("written by a model", "endpoint/small/1")
    }
    (spent,) = spent_since(settings.data_dir / FILE_NAME, 0)
    assert (spent.requests, spent.route, spent.consumer) == (len(rows), ROUTE, "ingest")
    again = whole_sessions.summarise_project(components, project)
    assert not again.changed and len(endpoint.asked) == len(rows)
    used = Components(replace(settings, summarizer_daily_tokens=120 * len(rows) + 100))
    _summary(used.summarizer)
    assert "used up" in used.summarizer.reason and len(endpoint.asked) == len(rows)
