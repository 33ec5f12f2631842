"""A sweep over rows says which of them fail, and hides none."""

from __future__ import annotations

import pytest

from memory_assets_tests.sweep import sweep


def test_every_failing_row_is_listed_and_no_other() -> None:
    """With what was wrong with it; rows after a failing one are tested too."""
    seen = []

    @sweep("number, name", [(1, "one"), (2, "two"), (3, "three")])
    def odd(number: int, name: str) -> None:
        seen.append(name)
        assert number % 2 == 0, f"{name} is odd"

    with pytest.raises(AssertionError) as told:
        odd()
    assert seen == ["one", "two", "three"]
    said = str(told.value)
    assert "2 of 3 rows fail" in said and "one is odd" in said and "three is odd" in said
    assert "two" not in said


def test_no_rows_are_refused() -> None:
    """A table that became empty would pass unseen."""
    with pytest.raises(AssertionError, match="nothing to test"):
        sweep("number", [])
