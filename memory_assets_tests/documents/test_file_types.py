"""What a file is taken for."""

from __future__ import annotations

import pytest

from memory_assets.documents import KIND_OF, file_type
from memory_assets.documents.chunk import CHUNKERS

MADR = "# T\n\n## Context and Problem Statement\n\n## Considered Options\n\n## Decision Outcome\n"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("README.md", "# Hello\n", "markdown"),
        ("docs/adr/0001-x.md", "# Hello\n", "adr"),
        ("docs/decisions/index.md", "# Hello\n", "markdown"),
        ("notes/x.md", MADR, "adr"),
        ("api.yaml", "#" + " long" * 500 + "\nopenapi: 3.1.0\n", "openapi"),
        ("api.yml", "swagger: '2.0'\n", "openapi"),
        ("api.yml", "\ufeffasyncapi: 3.0.0\r\n", "asyncapi"),
        ("values.yaml", "chart:\n  openapi: 3.1.0\n", "yaml"),
        ("api.json", '{"info": {"openapi": 1}, "openapi": "3.0.0"}', "openapi"),
        ("data.json", '{"info": {"openapi": "3.0.0"}}', "json"),
        ("data.json", '{"info": "\\"openapi\\": 3"}', "json"),
        ("a/Dockerfile.dev", "FROM x", "dockerfile"),
        ("GNUmakefile", "", "makefile"),
        ("bin/run", "#!/usr/bin/env bash\n", "shell"),
        ("bin/run", "#!/usr/bin/env python3\n", "python"),
        ("App.TSX", "", "typescript"),
        ("a.plantuml", "", "plantuml"),
        ("LICENSE", "", "text"),
        ("a.unknown", "openapi: 3", "text"),
    ],
)
def test_a_file_is_known_by_its_name_and_content(path: str, text: str, expected: str) -> None:
    """Content decides where the name leaves it open; a nested version key says nothing."""
    assert file_type(path, text) == expected


def test_every_type_has_a_kind_and_a_chunker() -> None:
    """None is named in one table only."""
    assert set(KIND_OF) == set(CHUNKERS)
    assert set(KIND_OF.values()) == {"docs", "api", "code", "config", "diagram"}
