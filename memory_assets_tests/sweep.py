"""One test over the rows of a table, which lists those that fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

_SHOWN = 40


def sweep(names: str, rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test on every row in turn, and fail with a list of the rows that it fails on.

    As `pytest.mark.parametrize`, but for rows by the dozen: a case each would cost fixtures
    and a report each. The rows share the test's fixtures, so each leaves them as it met them.
    """
    given = [name.strip() for name in names.split(",")]
    table = [(row,) if len(given) == 1 else tuple(row) for row in rows]
    assert table, "there is nothing to test"

    def over_rows(test: Callable[..., None]) -> Callable[..., None]:
        def all_rows(**fixtures: Any) -> None:
            failed = []
            for row in table:
                try:
                    test(**dict(zip(given, row, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - listed below
                    failed.append(f"{row!r:.300}: {type(error).__name__}: {error!s:.500}")
            rest = len(failed) - _SHOWN
            more = [f"... and {rest} more"] if rest > 0 else []
            assert not failed, "\n".join(
                [f"{len(failed)} of {len(table)} rows fail", *failed[:_SHOWN], *more]
            )

        signature = inspect.signature(test)
        parameters = signature.parameters
        fixtures = [parameters[name] for name in parameters if name not in given]
        all_rows.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        all_rows.__name__, all_rows.__doc__ = test.__name__, test.__doc__
        all_rows.__module__ = test.__module__
        return all_rows

    return over_rows
