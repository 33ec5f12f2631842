"""Tests of one sentence over the rows of a table: what goes from a text, and what stays of it."""

from __future__ import annotations

from collections.abc import Callable

from memory_assets.redaction import Redactor
from memory_assets_tests.sweep import sweep


def goes(about: str, *rows: tuple[str, str]) -> Callable[..., None]:
    """Return a test that a value goes from a text in which it stands for `{s}`, for each row of
    both; `about` says which rows these are."""

    def test(text: str, value: str, redactor: Redactor) -> None:
        assert value not in redactor.redact(text.replace("{s}", value)).text

    test.__doc__ = about
    return sweep("text, value", rows)(test)


def stays(about: str, *texts: str) -> Callable[..., None]:
    """Return a test that nothing of these texts is redacted; `about` says which texts these are."""

    def test(text: str, redactor: Redactor) -> None:
        assert redactor.redact(text).text == text

    test.__doc__ = about
    return sweep("text", texts)(test)
