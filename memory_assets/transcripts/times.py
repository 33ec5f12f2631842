"""Times in whatever form agents write them."""

from __future__ import annotations

from datetime import UTC, datetime

_LONGEST_NUMBER = 20
_EARLIEST = 946_684_800
"""Seconds of the year 2000: a smaller number is no time of a session."""


def parse_time(value: object) -> datetime | None:
    """Return a time as aware UTC, whether it is ISO 8601, a number of seconds, milliseconds,
    microseconds or nanoseconds, such a number as text, or one already; None if it is none."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, str) and len(value) < _LONGEST_NUMBER and value.strip().isdecimal():
        value = int(value)
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                return moment.replace(tzinfo=UTC)
            return moment.astimezone(UTC)
        if per_second := _units(value):
            return datetime.fromtimestamp(value / per_second, UTC)  # type: ignore[operator]
    except (ValueError, OverflowError, OSError):
        pass
    return None


def nanoseconds(value: object) -> int:
    """Return a time, in whatever form, as nanoseconds; 0 for what is none."""
    if isinstance(value, str):
        moment = parse_time(value)
        value = moment and moment.timestamp()
    per_second = _units(value)
    return int(value * (1e9 / per_second)) if per_second else 0  # type: ignore[operator]


def _units(value: object) -> float:
    """Return how many units a second has in which a number is a time, by its magnitude: dates of
    these decades are told apart. 0 for what is no such number, as a time since a window opened."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    if value != value or value < _EARLIEST or value > 1e20:
        return 0.0
    return next(
        (unit for limit, unit in ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6)) if value < limit), 1e9
    )
