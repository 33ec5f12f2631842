"""A memory that several modules ask."""

from __future__ import annotations

import pytest

from memory_assets_tests.cli.test_cli import Cli


@pytest.fixture(scope="session")
def by_words(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A memory of the sample without vectors, and a memory of an agent."""
    cli = Cli(tmp_path_factory.mktemp("by_words"))
    cli.own["MEMORY_EMBEDDER"] = "none"
    assert cli.run("remember", "Deploys fail without a \x1b[31mlock file.").returncode == 0
    assert cli.run("ingest").returncode == 0
    return cli
