"""What `memory ingest` prints at its end: what was done, what there is, what to type next."""

from __future__ import annotations

import html
import re
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from rich.console import Console

from memory_assets.agents import AGENTS
from memory_assets.cli.printing import rendering
from memory_assets.errors import NotFound
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.versions import note_versions
from memory_assets.project_names import with_spoken_projects
from memory_assets.serving.answer_lines import clock
from memory_assets.serving.visible_text import visible
from memory_assets.status.status import status as status_of
from memory_assets.status.words import counted, sample_note
from memory_assets.stores.lake.schemas import SESSION_SUMMARIES
from memory_assets.word_lists import word_set
from memory_assets.writing_systems import marks_in_words

_MARKUP = re.compile(
    r"<[^<>\s][^<>\n]{0,200}>?|\]\([^()\n]{0,400}\)|[*`#~|>\[\]]+|(?<!\w)_(?=[^\W_])|(?<=[^\W_])_(?!\w)"
    r"|^-+|!(?=\[)"
)
"""What in a title is markup, and no word to search for."""
_NEWEST = 60
"""The number of newest sessions from which a title to search for is taken."""
_QUESTION_WORDS = 10
_MEGABYTE = 1e6
_EMPTY = word_set(
    "a an and are be branch by can changes do does first fix for from go have hello help hi how i "
    "if in is issue it its let look make me my now of on open or out please read repo review see "
    "so tell test thanks that the them then there these this to up us use was we what which why "
    "with you your"
)
"""Words that say nothing of what a session was about."""
_KIND = re.compile(
    r"(?:build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(?:\([^()]*\))?!?: *"
)
"""What begins the subject of a commit and is no word of it."""
_POLITE = re.compile(r"(?:(?:please|can you|could you|let['’]s|now|ok|then)[ ,]+)+", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?<=\w)['’]s\b")
_CLAUSE = re.compile(r"(?:\S+ ){2,}?\S+(?=[.,;:!?] | [–—] )")
"""The first clause of a title, if it has three words."""
_ASKS = word_set("are did do does how is was were what when where which who why")
_DEEDS = word_set(
    "add address allow avoid build bump change clean configure convert create debug delete deploy "
    "disable drop enable extend extract fix handle implement improve increase install integrate "
    "introduce investigate make merge migrate move optimize prevent publish reduce refactor "
    "release remove rename reorganize repair replace reset resolve restore restrict rewrite rotate "
    "set simplify speed split support switch unify update upgrade use wire write"
)
"""Verbs of titles that say what is to be done."""
_POINTS = word_set(
    "above all below everything following he her here his it its latest me my our she "
    "that their them these they this those your"
)
"""Words that point at what only the session's own reader had before their eyes."""
_NAMED = re.compile(r"[^\W_][-_./+][^\W_]|[A-Z]|\d")
"""What a name of something has: a capital, a digit, or a sign within it."""
_QUESTION_MOST = 12
_LEADS_ON = word_set(
    "a an and are as at by for from if in into is it of on or that the to two with"
)
"""Words that no question ends with."""
_FIRST_QUESTIONS = 3
"""Questions that are suggested after a first ingest."""


def print_report(
    components: Components,
    report: dict[str, Any],
    console: Console,
    *,
    as_json: bool,
    is_first: bool,
) -> dict[str, Any]:
    """Print the result of the runs and the totals of the memory, after a first ingest also where
    the sessions are from, and what to type next; return the present status."""
    note_versions(components)
    current = status_of(components.settings)
    if as_json:
        rendering.print_json({**report, "status": current})
        return current
    spoken = components.catalog.spoken_projects()
    failed = [f"{project}: {reason}" for project, reason in report["failed"].items()]
    for label, lines in (
        ("[red]failed[/red]", failed),
        ("[red]check failed[/red]", report["checks_failed"]),
        ("[yellow]check warns[/yellow]", report["warnings"]),
    ):
        for line in lines:
            console.print(f"{label} {rendering.escaped(with_spoken_projects(line, spoken))}")
    for line in sample_note(current, spoken):
        console.print(f"[yellow]warning[/yellow] {rendering.escaped(line)}")
    if not report["work"] and (current["quarantined"] or current["unlisted"]):
        console.print(f"Nothing changed but what is held back ({report['seconds']} s).")
    elif not report["work"]:
        console.print(f"Nothing to do: everything is up to date ({report['seconds']} s).")
    else:
        console.print(f"{counted(report['projects'], 'project')} in {report['seconds']} s.")
    is_complete = not (report["failed"] or report["checks_failed"])
    rendering.print_totals(current, spoken, console, is_complete=is_complete)
    for line in _by_agent(components) if is_first else ():
        console.print(rendering.escaped(line))
    for line in _what_to_type(components, _FIRST_QUESTIONS if is_first else 1):
        console.print(rendering.escaped(line), soft_wrap=True)  # to be copied
    return current


def _by_agent(components: Components) -> Iterator[str]:
    """Yield what came from each agent: sessions, when they were, and the size of their files."""
    for agent, sessions, size, first, last in components.catalog.rows(
        "SELECT agent, COUNT(DISTINCT session_id), SUM(size),"
        " MIN(facts ->> '$.first_timestamp'), MAX(facts ->> '$.last_timestamp')"
        " FROM sources GROUP BY agent ORDER BY 2 DESC"
    ):
        days = dict.fromkeys(clock(time)[:10] for time in (first, last) if time)
        name = AGENTS[agent].title if agent in AGENTS else agent
        sessions_text = f"{counted(sessions, 'session')} of {' to '.join(days) or 'no time'}"
        size_text = f"{size / 1e6:.0f} MB" if size >= _MEGABYTE else f"{size / 1e3:.0f} kB"
        yield f"{name}: {sessions_text}, {size_text}."


def _what_to_type(components: Components, most: int) -> Iterator[str]:
    """Yield questions that this memory can answer, at most so many, and then, if it is more than
    one, what else to look at."""
    program = "memory" if shutil.which("memory") == sys.argv[0] else sys.argv[0]
    lead = "\nTry: "
    for question in islice(suggested_questions(components), most):
        yield f"{lead}{shlex.join([program, 'search', *question.split()])}"
        lead = "     "
    if lead != "\nTry: " and most > 1:
        yield f"Then: {program} sessions: what was done; {program} open: the page in a browser"


def suggested_questions(components: Components) -> Iterator[str]:
    """Yield searches that have hits, made of titles of the newest sessions, without tags of
    redaction, elements or signs of Markdown: what reads as a question about a named thing, of
    each project one, then the others, then other questions, then words alone."""
    ranks: dict[str, tuple[int, int]] = {}
    of_project: Counter[tuple[str, int]] = Counter()
    for project, session_id in components.catalog.sources.newest_sessions(_NEWEST):
        question = _question(components, project, session_id)
        if question and question not in ranks:
            level = _level(question.split())
            ranks[question] = level, of_project[project, level]
            of_project[project, level] += 1
    yield from sorted(ranks, key=ranks.__getitem__)


def _question(components: Components, project: str, session_id: str) -> str:
    try:
        summaries = components.lake.read(
            SESSION_SUMMARIES, project, session_id, ["title", "prompts"]
        )
    except NotFound:
        return ""
    for summary in summaries.to_pylist():
        words = question_of(str(summary["title"] or ""))
        if summary["prompts"] and len(words) > 1 and {word.lower() for word in words} - _EMPTY:
            return " ".join(words)
    return ""


def _level(words: list[str]) -> int:
    """Return 0 for a question about a named thing, 1 for another one, 2 for words alone."""
    if _ASKS.isdisjoint(words[:3]):
        return 2
    is_whole = words[0] in _ASKS and len(words) < _QUESTION_MOST
    points = not _POINTS.isdisjoint(word.lower() for word in words)
    return 0 if is_whole and not points and _NAMED.search(" ".join(words)) else 1


def question_of(title: str) -> list[str]:
    """Return what a title asks for as a question ("how did we add ..."), or its first words where
    it says no deed: without signs that a shell takes for its own, that stand alone, or that end a
    word. Vowels that are written as marks belong to their words."""
    signs = re.compile(
        rf"(?<!\S)-+|[^\w{marks_in_words()}\s./:,+%@-]+|(?<!\w)[-.,:]+(?!\w)|[.,:]+(?!\S)"
    )
    text = words_of(title)
    for start in (_KIND, _POLITE):
        text = text[begin.end() :] if (begin := start.match(text)) else text
    text = _POSSESSIVE.sub("", text)
    clause = _CLAUSE.match(text)
    words = signs.sub(" ", clause.group() if clause else text).split()[:_QUESTION_WORDS]
    while words and words[-1].lower() in _LEADS_ON:
        words.pop()
    first = words[0].lower() if len(words) > 2 else ""
    if first in _DEEDS:
        return ["how", "did", "we", first, *words[1:]]
    return [first, *words[1:]] if first in _ASKS else words


def words_of(title: str) -> str:
    """Return a title without markup, escaped or not, and without the mark of what was cut."""
    text = visible(html.unescape(title))
    return " ".join(_MARKUP.sub(" ", text).removesuffix("…").split())
