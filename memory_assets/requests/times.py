"""Parse times and lengths of time as people write them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from memory_assets.errors import BadTime

MAX_COUNT = 50
"""Most items on one side of a timeline."""
_DATE = r"20\d\d-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])(T([01]\d|2[0-3]):[0-5]\d)?"
AGO = rf"^(today|yesterday|last [a-z]+|\d{{1,4}}[hdw]|{_DATE})$"
"""Pattern of times for descriptions; `parse_time` accepts more."""
REACH = r"^([1-4]?\d|50|\d{1,4}[mhdw])$"
"""Pattern of reaches for descriptions."""
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAYS = {"today": 0, "yesterday": 1}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_AGO = re.compile(r"(\d{1,5})([hdw])")
_MONTH_OR_YEAR = re.compile(r"(20\d\d)(?:-(\d\d))?")
_SPAN = re.compile(r"(\d{1,5})([mhdw])")

Reach = int | timedelta
"""How far a timeline goes to one side: a count of items, or a length of time."""


def parse_time(text: str | datetime, now: datetime | None = None) -> datetime:
    """Return the UTC moment of `now`, of `7d`, `12h`, `2w` (ago), of the beginning of `today`,
    `yesterday`, `last monday` (the latest one before today), `this week` or `last week` (its
    Monday), of a month (`2026-11`) or a year, or of an ISO date or time. What names no zone is
    local time.

    Raises:
        BadTime: it is none of these.
    """
    normalized = str(text).strip().lower()
    present = now or datetime.now(UTC)
    if normalized == "now":
        return present
    if ago := _AGO.fullmatch(normalized):
        return present - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        if isinstance(text, datetime):
            moment = text
        elif (days := days_named(normalized, present)) is not None:
            moment = datetime.combine(days[0], time())
        else:
            moment = datetime.fromisoformat(normalized.upper())
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadTime(
            f"{text!r} is not a time; write 7d, 12h, 2w, yesterday, last monday, last week, "
            "last month, 2026-11, 2026-11-01 or 2026-11-01T09:30"
        ) from None


def days_named(text: str, now: datetime | None = None) -> tuple[date, date] | None:
    """Return the first of the local days that a text names and the day after the last, or None if
    it names no whole days: `today`, `last monday`, `last week`, `last month`, `2026-11-01`,
    `2026-11`, `2026`."""
    normalized = " ".join(text.lower().split())
    today = (now or datetime.now(UTC)).astimezone().date()
    monday = today - timedelta(days=today.weekday())
    if normalized in ("this week", "last week"):
        first = monday - timedelta(days=7 * (normalized == "last week"))
        return first, first + timedelta(days=7)
    if normalized in ("this month", "last month"):
        first = today.replace(day=1)
        if normalized == "last month":
            return (first - timedelta(days=1)).replace(day=1), first
        return first, (first + timedelta(days=31)).replace(day=1)
    if normalized in _DAYS:
        day = today - timedelta(days=_DAYS[normalized])
    elif (weekday := normalized.removeprefix("last ")) in _WEEKDAYS:
        day = monday + timedelta(days=_WEEKDAYS.index(weekday))
        day -= timedelta(days=7 * (day >= today))
    else:
        try:
            if many := _MONTH_OR_YEAR.fullmatch(normalized):
                first = date(int(many[1]), int(many[2] or 1), 1)
                if many[2] is None:
                    return first, first.replace(year=first.year + 1)
                return first, (first + timedelta(days=31)).replace(day=1)
            day = date.fromisoformat(normalized)
        except (ValueError, OverflowError):
            return None
    return day, day + timedelta(days=1)


def spoken_time(moment: datetime) -> str:
    """Return a time as `parse_time` takes it, to the minute, in the local zone, which it names:
    `2026-11-01 09:30+01:00`, or `2026-11-01 08:30Z` where local time is UTC."""
    return moment.astimezone().isoformat(" ", "minutes").replace("+00:00", "Z")


TIME: dict[str, Any] = {"wire": str, "reads": parse_time, "max_length": 40, "pattern": AGO}
"""What the arguments that are times have in common."""


def require_order(since: datetime | None, until: datetime | None) -> None:
    """Raise `BadTime` for a time range that holds no time."""
    if since and until and since >= until:
        raise BadTime(
            f"{spoken_time(since)} is not before until ({spoken_time(until)}); exchange them",
            "since",
        )


def is_within(moment: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    """Return True if a time is from `since` on and before `until`; one that is not known is only
    without both."""
    if moment is None:
        return since is None and until is None
    return (since is None or moment >= since) and (until is None or moment < until)


def parse_reach(text: str | Reach) -> Reach:
    """Return a count of items, or a length of time such as `30m`, `2h`, `3d`, `1w`.

    Raises:
        BadTime: it is neither, or the count is not 0 to 50.
    """
    if isinstance(text, timedelta):
        return text
    if span := _SPAN.fullmatch(str(text).strip()):
        return timedelta(**{_UNITS[span[2]]: int(span[1])})
    try:
        count = int(text)
    except (TypeError, ValueError):
        raise BadTime(
            f"{text!r} is neither a count nor a length of time; write 10, 30m, 2h, 3d or 1w"
        ) from None
    if not 0 <= count <= MAX_COUNT:
        raise BadTime(f"ask for 0 to {MAX_COUNT} items on a side, not {count}")
    return count
