"""The hits of a search on a terminal: title, age and a short id on one line, then the stretch of
the text that answers, with the words of the question marked. Pipes get `answer_lines.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import count, groupby
from typing import TYPE_CHECKING, Any

from memory_assets.recall.names import OF_SESSIONS, short_form
from memory_assets.recall.over import OWN
from memory_assets.recall.sessions.session import asked_in, done_in
from memory_assets.serving.answer_lines import (
    NOT_SURE,
    age,
    answering_turn_id,
    copies_note,
    later_lines,
    place_in_turn,
    project_name,
    unsure_note,
)
from memory_assets.serving.layout import Layout, cells, cut_to_width, styled, wrapped
from memory_assets.serving.visible_text import printable, without_markdown
from memory_assets.writing_systems import UNSPACED, pieces

if TYPE_CHECKING:
    from memory_assets.recall import Memory

_EXACT_LINES = 3
"""Most lines of a hit of an exact search."""
_FIRST_HITS_LINES = (7, 3, 2)
"""Most lines of text of the first hits: the first one mostly answers (docs/retrieval.md,
"Excerpts"). Ten hits fit two screens of 24 lines."""
_LATER_HITS_LINES = 2
_INDENT = "   "
_LEAST_TITLE = 16
"""Cells of a title below which age and place give way to it."""
_MOST_PLACE = 24
_TELLING_WORDS = 4
"""A shorter prompt, such as "go ahead", does not tell one turn from others."""


Ranked = tuple[int, Mapping[str, Any]]
"""A hit with its number, from 1."""


def terminal_lines(
    memory: Memory,
    answer: Mapping[str, Any],
    layout: Layout,
    *,
    by_time: bool = False,
) -> Iterator[str]:
    """Yield the lines of an answer; in a `full` layout, the whole text of each hit. Hits of one
    session stand together below the best of them; `by_time`, only those that follow one another."""
    if answer["weak"]:
        yield cut_to_width(unsure_note(answer["missing"]), layout.width)
    view = HitView(memory, answer, layout)
    for group in by_session(answer["hits"], by_time=by_time):
        for position, ranked in enumerate(group):
            yield from view.lines(ranked, again=position > 0)
    if not answer["hits"]:
        yield "Nothing found."


def what_to_type(memory: Memory, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the command that shows the first hit of an answer in full, or the turn that answers
    what it asks."""
    for first in answer["hits"][:1]:
        short = memory.short_ids([_session_of(first)])
        if turn_id := answering_turn_id(first):
            shown_id = _shown_id({**first, "id": turn_id, "turn_id": turn_id}, short)
            yield f"memory show {shown_id}: all of the turn that answers the first one"
            return
        shown_id = _shown_id(first, short)
        records = " --records" if "record" in first["metadata"] else ""
        yield f"memory show {shown_id}{records}: all of the first one"


def by_session(hits: Sequence[Mapping[str, Any]], *, by_time: bool) -> list[list[Ranked]]:
    """Return hits in groups of one session each, in the order of their best hits; `by_time`, in the
    order of the hits. They are numbered as they stand there."""
    if by_time:
        groups = [list(group) for _, group in groupby(hits, key=_session_of)]
    else:
        of_session: dict[str, list[Mapping[str, Any]]] = {}
        for hit in hits:
            of_session.setdefault(_session_of(hit), []).append(hit)
        groups = list(of_session.values())
    numbers = count(1)
    return [[(next(numbers), hit) for hit in group] for group in groups]


def _session_of(hit: Mapping[str, Any]) -> str:
    return str(hit["metadata"]["session_id"])


class HitView:
    """The lines of the hits of one answer."""

    def __init__(self, memory: Memory, answer: Mapping[str, Any], layout: Layout) -> None:
        self._now = datetime.now(UTC)
        self._answer = answer
        self._layout = layout
        self._width = layout.room
        self._lake = memory.lake
        rows = [hit["metadata"] for hit in answer["hits"]]
        sessions = [(row["project"], row["session_id"]) for row in rows]
        self._turns = {
            hit["turn_id"]: session
            for hit, session in zip(answer["hits"], sessions, strict=True)
            if not hit["metadata"].get("title")
        }
        self._titles = memory.titles(sessions)
        self._short = memory.short_ids(session_id for _, session_id in sessions)
        self._projects = {project for project, _ in sessions}

    @cached_property
    def _actions(self) -> dict[str, str]:
        return done_in(self._lake, self._turns)

    @cached_property
    def _prompts(self) -> dict[str, str]:
        return asked_in(self._lake, self._turns)

    def lines(self, ranked: Ranked, *, again: bool = False) -> Iterator[str]:
        """Yield what the turn of a hit did, the title of its session, age and id, then the text
        that answers; `again`, indented below another hit of the session, without its title. A weak
        one is called so, unless all are."""
        rank, hit = ranked
        indent = _INDENT if again else ""
        weak = f"{NOT_SURE}: " if hit["weak"] and not self._answer["weak"] else ""
        shown_id = printable(_shown_id(hit, self._short))
        room = self._width - len(indent) - len(_INDENT)
        below = shown_id == hit["id"] and cells(shown_id) + 2 + _LEAST_TITLE > room  # a long path
        yield indent + _head(
            f"{rank}. ",
            weak + self._title(hit, again),
            (age(hit["metadata"].get("timestamp"), self._now), "" if below else shown_id),
            self._place(hit) if not again else "",
            self._width - len(indent),
            self._layout,
        )
        indent += _INDENT
        if below:
            yield indent + self._layout.styled(shown_id, "cyan")
        if copies := copies_note(hit["metadata"]):
            yield indent + cut_to_width(printable(copies), room)
        most = _FIRST_HITS_LINES[rank - 1] if rank <= len(_FIRST_HITS_LINES) else _LATER_HITS_LINES
        for line in self._text(hit, room, most):
            yield f"{indent}{line}".rstrip()
        for line in later_lines(hit):
            yield indent + cut_to_width(printable(line), room)

    def _place(self, hit: Mapping[str, Any]) -> str:
        """Return the project of a hit, if the hits are of several, and its memory, if that was
        pulled."""
        metadata = hit["metadata"]
        memory = f"in {metadata['memory']}" if metadata.get("memory", OWN) != OWN else ""
        several = len(self._projects) > 1 or "memory" in metadata
        project = project_name(metadata) if several else ""
        most = min(_MOST_PLACE, self._width // 4)
        return cut_to_width(printable(f"{project} {memory}".strip()), most)

    def _text(self, hit: Mapping[str, Any], room: int, most: int) -> Iterator[str]:
        """Yield the lines of a hit's text, `most` of them, after where it stands if it was searched
        for as it is written."""
        query = self._answer["query"]
        if self._answer["mode"] != "exact":
            title = self._title(hit, again=False)
            yield from _body(hit, query, room, most, self._layout, title)
            return
        if "record" in hit["metadata"]:
            yield cut_to_width(printable(f"{place_in_turn(hit['metadata'])}:"), room)
        literal = re.compile(r"\s+".join(map(re.escape, query.split())), re.IGNORECASE)
        for line in wrapped(" ".join(printable(hit["text"]).split()), room)[:_EXACT_LINES]:
            yield literal.sub(lambda match: self._layout.styled(match[0], "marked"), line)

    def _title(self, hit: Mapping[str, Any], again: bool) -> str:
        if "file_path" in (row := hit["metadata"]):
            name = row["file_path"].rpartition("/")[2]  # the id beside it has the whole path
            return printable(f"{name}:{row['line_start']}  {row['section_heading']}").rstrip()
        own = hit["metadata"].get("title") or self._actions.get(hit["turn_id"], "")
        of_session = self._titles.get(hit["metadata"]["session_id"], "")
        if again:
            title = own or self._distinguishing_prompt(hit) or "same session"
        elif own and of_session and own not in of_session and not hit["metadata"].get("title"):
            title = f"{own} · {of_session}"
        else:
            title = own or of_session or hit["text"]
        return without_markdown(printable(" ".join(title[: 2 * self._width].split())))

    def _distinguishing_prompt(self, hit: Mapping[str, Any]) -> str:
        """Return what was asked in the turn of a hit, "" if that does not tell it from others."""
        prompt = self._prompts.get(hit["turn_id"], "")
        words = prompt[: self._width].split()
        return prompt if sum(map(_count_of_words, words)) >= _TELLING_WORDS else ""


def _count_of_words(run: str) -> int:
    """Return how many words a run without blanks has, about: in scripts without them, half as many
    as there are pieces."""
    return max(1, len(pieces(run)) // 2) if UNSPACED.search(run) else 1


def _shown_id(hit: Mapping[str, Any], short: Mapping[str, str]) -> str:
    """Return the shortest id by which `memory show` knows a hit, with the `short` ids of sessions;
    of a passage, its turn's; of a document, a memory or a turn of an agent, the whole one."""
    if "file_path" in hit["metadata"] or not hit["id"].startswith(OF_SESSIONS):
        return str(hit["id"])
    session = hit["metadata"]["session_id"]
    shown = hit["turn_id"] if hit["id"].startswith("session::") else hit["id"]
    return short_form(shown.replace(session, short[session]))


def _head(
    rank: str, title: str, facts: tuple[str, str], place: str, width: int, layout: Layout
) -> str:
    """Return the first line of a hit; place and age are left out where they leave the title no
    room."""
    age, shown_id = facts
    for part in ((age, shown_id, place), (age, shown_id), (shown_id or age,)):
        facts_text = "  ".join(filter(None, part))
        room = width - len(rank) - cells(facts_text) - 2
        if room >= _LEAST_TITLE:
            break
    title = layout.styled(cut_to_width(title, max(room, 1)), "bold")
    return f"{rank}{title}  {layout.styled(facts_text, 'cyan')}"


def _body(
    hit: Mapping[str, Any],
    query: str,
    room: int,
    most: int,
    layout: Layout,
    shown_title: str,
) -> Iterator[str]:
    """Yield the text that answers: whole, or the stretch of it that fits a few lines, nothing if it
    is the title again."""
    from memory_assets.recall.search.excerpts import excerpt

    text = printable(hit["text"])
    title = hit["metadata"].get("title") or ""  # stands above, and an observation's text repeats it
    prompt_text = hit["text"][: hit["prompt_length"]] or (
        title if hit["text"].startswith(title) else ""
    )
    prompt = len(printable(prompt_text))
    if prompt_text is title:
        prompt += len(text[prompt:]) - len(text[prompt:].lstrip(".:;… \n"))
    answering = excerpt(text, query, most * (room - 8), prompt, printable(hit["beside"]))
    full = layout.full
    paragraphs = without_markdown(text).splitlines() if full else [without_markdown(answering)]
    lines = [line for paragraph in paragraphs for line in wrapped(paragraph, room)]
    if not full and lines == [shown_title]:
        return
    for line in lines if full else lines[:most]:
        yield _marked(line, query) if layout.colours else line
    if full:
        yield ""


def _marked(line: str, query: str) -> str:
    """Return a line with the words of the question marked."""
    from memory_assets.recall.search.excerpts import marked_words

    return "".join(
        styled(word, "marked") if is_match else word for word, is_match in marked_words(line, query)
    )
