"""Charts as SVG: days as squares, weeks as bars, sizes as lines; hours as a table. The stylesheet
has their colours."""

from __future__ import annotations

from calendar import day_abbr
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from markupsafe import Markup

from memory_assets.paths import KNOWN_AGENTS
from memory_assets.serving.answer_lines import short_count
from memory_assets.status.words import counted

WEEKS = 53
_SIDE = 12
"""Side of the square of a day, in units of the image, as all lengths here."""
_GAP = 2
_LEFT = 30
"""Room for the names of days, left of the squares."""
_TOP = 16
"""Room for the names of months, above the squares."""
_LINE_HEIGHT = 40
_BAR_HEIGHT = 80
_STEP = _SIDE + _GAP
_LEVELS = 4
_GOLDEN_ANGLE = 137.5
"""Degrees between the hues of neighbours, which keeps any number of them apart."""


def heat_map(
    counts: Counter[date],
    last: date,
    noun: str,
    address: Callable[[date], str] | None = None,
) -> Markup:
    """Return the year up to `last` as an image: a column a week, a square a day, darker the more
    there is of `noun`; with `address`, each day with something leads to one."""
    monday = last - timedelta(days=last.weekday(), weeks=WEEKS - 1)
    shown = {day: count for day, count in counts.items() if monday <= day <= last}
    days = counted(len(shown), "day")
    label = f"{_amount(sum(shown.values()), noun)} on {days}, {monday} to {last}"
    parts = [*_months(monday), *_names(), *_squares(shown, monday, last, noun, address)]
    parts += _scale(_TOP + 7 * _STEP + _SIDE // 2, max(shown.values(), default=0), f"{noun} a day")
    return _image(label, _TOP + 8 * _STEP + _SIDE // 2, parts, leads=address is not None)


def hours_of_week(counts: Counter[tuple[int, int]], noun: str) -> Markup:
    """Return counts by weekday (0: Monday) and hour as a table, a cell darker the more there is of
    `noun`: its number is read, and shown where the mouse is."""
    most = max(counts.values(), default=0) or 1
    cell = Markup('<td class="heat-{}" title="{}, {} {}:00"><span class="unseen">{}</span></td>')
    rows = [
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            day_abbr[day],
            Markup("").join(
                cell.format(_level(count, most), _amount(count, noun), day_abbr[day], hour, count)
                for hour in range(24)
                for count in [counts[day, hour]]
            ),
        )
        for day in range(7)
    ]
    hours = Markup("").join(
        Markup('<th scope="col"><span{}>{}</span></th>').format(
            Markup("") if hour % 3 == 0 else Markup(' class="unseen"'), hour
        )
        for hour in range(24)
    )
    scale = _image(f"darkest: {most} {noun}", _SIDE, [*_scale(0, most, noun)])
    return Markup(
        '<table class="hours"><caption class="unseen">{} {} by weekday and hour</caption>'
        "<thead><tr><td></td>{}</tr></thead><tbody>{}</tbody></table>{}"
    ).format(counts.total(), noun, hours, Markup("").join(rows), scale)


@dataclass(frozen=True)
class StackedWeeks:
    """A chart of weeks, and the level of the colour of each name in it; the others are one."""

    image: Markup
    levels: Mapping[str, int]


def stacked_weeks(counts: Mapping[str, Counter[date]], last: date, unit: str) -> StackedWeeks:
    """Return the counts of each name by week, up to that of `last`, as stacked bars: the largest
    names by themselves, the others together."""
    named = list(counts)[:_LEVELS]
    others = list(counts)[_LEVELS:]
    rest: Counter[date] = Counter()
    for name in others:
        rest.update(counts[name])
    rows = [(name, counts[name], _LEVELS - at) for at, name in enumerate(named)]
    rows += [("others", rest, 0)] if others else []
    monday = last - timedelta(days=last.weekday(), weeks=WEEKS - 1)
    starts = [monday + timedelta(weeks=number) for number in range(WEEKS)]
    most = max((sum(weeks[start] for _, weeks, _ in rows) for start in starts), default=0) or 1
    in_all = sum(weeks[start] for _, weeks, _ in rows for start in starts)
    scale = f"$ {most:,.0f}" if unit == "dollars" else short_count(round(most))
    parts = [*_months(monday), _label(0, _TOP + 8, scale)]
    for number, start in enumerate(starts):
        top = float(_TOP + _BAR_HEIGHT)
        for name, weeks, level in rows:
            if not weeks[start]:
                continue
            height = _BAR_HEIGHT * weeks[start] / most
            top -= height
            parts.append(
                Markup(
                    '<rect class="level-{}" x="{}" y="{:.1f}" width="{}" height="{:.1f}">'
                    "<title>{}: {}, week of {}</title></rect>"
                ).format(
                    *(level, _LEFT + number * _STEP, top, _SIDE, max(height, 0.5)),
                    *(name or "(not said)", _amount(round(weeks[start]), unit), start),
                )
            )
    label = f"{in_all:,.0f} {unit} from the week of {monday} on, at most {most:,.0f} in one"
    return StackedWeeks(
        _image(label, _TOP + _BAR_HEIGHT, parts), {name: level for name, _, level in rows}
    )


def span_bar(start: int, end: int, size: int) -> Markup:
    """Return where bytes from `start` to `end` lie in a file of `size`, as an image."""
    width = _LEFT + WEEKS * _STEP
    size = max(size, end, 1)
    left = width * start / size
    right = width * end / size
    parts = [
        Markup('<rect class="heat-0" width="{}" height="12"/>').format(width),
        Markup('<rect class="heat-4" x="{:.1f}" width="{:.1f}" height="12"/>').format(
            left, max(right - left, 2)
        ),
    ]
    return _image(f"bytes {start} to {end} of {size}", 12, parts)


def agent_mark(name: str) -> Markup:
    """Return an agent's name behind a dot of its own colour."""
    place = KNOWN_AGENTS.index(name) if name in KNOWN_AGENTS else len(KNOWN_AGENTS)
    hue = round(place * _GOLDEN_ANGLE) % 360
    light = (40, 52)[place % 2]
    return Markup(
        '<span class="agent"><svg viewBox="0 0 8 8" aria-hidden="true">'
        '<circle cx="4" cy="4" r="4" fill="hsl({}, 60%, {}%)"/></svg>{}</span>'
    ).format(hue, light, name)


def sparkline(values: Mapping[date, int], name: str) -> Markup:
    """Return how a number of bytes moved from day to day, as an image; nothing of a single day."""
    if len(values) < 2:
        return Markup("")
    first = min(values)
    last = max(values)
    most = max(values.values()) or 1
    days = (last - first).days
    width = WEEKS * _STEP
    points = " ".join(
        f"{width * (day - first).days / days:.1f},"
        f"{_LINE_HEIGHT - (_LINE_HEIGHT - 2) * size / most:.1f}"
        for day, size in values.items()
    )
    label = f"{name}: {values[first]} bytes on {first}, {values[last]} on {last}"
    return _image(
        label, _LINE_HEIGHT, [Markup('<polyline class="line" points="{}"/>').format(points)]
    )


def _image(label: str, height: int, parts: list[Markup], *, leads: bool = False) -> Markup:
    """Return an image with a label; one with links in it is a group to screen readers."""
    return Markup(
        '<svg class="chart" role="{}" aria-label="{}" viewBox="0 0 {} {}">{}</svg>'
    ).format(
        *("group" if leads else "img", label, _LEFT + WEEKS * _STEP, height),
        Markup("").join(parts),
    )


def _months(monday: date) -> Iterator[Markup]:
    before = monday.month
    for number in range(1, WEEKS):
        start = monday + timedelta(weeks=number)
        if start.month != before:
            before = start.month
            yield _label(_LEFT + number * _STEP, _TOP - 5, f"{start:%b}")


def _names() -> Iterator[Markup]:
    for number in (0, 2, 4):
        yield _label(0, _TOP + number * _STEP + _SIDE - 2, day_abbr[number])


def _scale(y: int, most: int, unit: str) -> Iterator[Markup]:
    """Yield what the colours stand for: none of `unit`, and up to `most`."""
    yield _label(_LEFT, y + _SIDE - 2, "0")
    for level in range(_LEVELS + 1):
        yield Markup('<rect class="heat-{}" x="{}" y="{}" width="{}" height="{}" rx="2"/>').format(
            level, _LEFT + _SIDE + level * _STEP, y, _SIDE, _SIDE
        )
    yield _label(
        _LEFT + _SIDE + (_LEVELS + 1) * _STEP + _GAP, y + _SIDE - 2, f"{short_count(most)} {unit}"
    )


def _amount(count: int, unit: str) -> str:
    """Return a count of `unit`, which is a plural."""
    return counted(count, unit.removesuffix("s"))


def _label(x: int, y: int, text: str) -> Markup:
    return Markup('<text x="{}" y="{}">{}</text>').format(x, y, text)


def _level(count: int, most: int) -> int:
    return -(-_LEVELS * count // most)  # rounded up: one is seen, too


def _squares(
    shown: dict[date, int],
    monday: date,
    last: date,
    noun: str,
    address: Callable[[date], str] | None,
) -> Iterator[Markup]:
    most = max(shown.values(), default=0) or 1
    day = monday
    while day <= last:
        week, row = divmod((day - monday).days, 7)
        count = shown.get(day, 0)
        level = _level(count, most)
        number = _amount(count, noun)
        square = Markup(
            '<rect class="heat-{}" x="{}" y="{}" width="{}" height="{}" rx="2">'
            "<title>{} on {}</title></rect>"
        ).format(level, _LEFT + week * _STEP, _TOP + row * _STEP, _SIDE, _SIDE, number, day)
        if address is not None and count:
            link = Markup('<a href="{}" aria-label="{} on {}">{}</a>')
            square = link.format(address(day), number, day, square)
        yield square
        day += timedelta(days=1)
