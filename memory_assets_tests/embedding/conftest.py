"""The tests of embedding load the model anew, and embed each text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memory_assets_tests.loaded_engines import loaded_each_time


@pytest.fixture(scope="module", autouse=True)
def _loaded_each_time() -> Iterator[None]:
    """Undo what is done for all other tests."""
    with loaded_each_time():
        yield
