"""The fields `investigated` (files, commands, searches) and `learned` (findings)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory_assets.models import RedactedRecord
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.files import Touched
from memory_assets.session_analysis.phrases import (
    EMPTY,
    Phrase,
    base_name,
    closed,
    distinct,
    leading,
    listing,
    shorten,
)
from memory_assets.session_analysis.scores import DID, NOW, PLANNING, cause_score, states_nothing
from memory_assets.session_analysis.sentences import split
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.statements import (
    POINTS_BACK,
    SHORTEST,
    Said,
    choose,
    in_context,
    readable,
)

LEARNED_LIMIT = 400
_LEARNED_MOST = 3
_INVESTIGATED_LIMIT = 400
_TASK_LIMIT = 70
_MOST_FINDINGS, _FINDING_LIMIT = 4, 130
_HEAD_OF_A_PROMPT = 600
_GRAVE = ("critical", "blocking", "p0", "high", "major", "required", "must", "p1", "medium",
          "important", "should", "p2", "low", "minor", "p3", "nit")  # fmt: skip
_GRAVITY = Phrase(
    rf"\W*(?:\d+\W+)?(?P<gravity>{'|'.join(_GRAVE)})\b(?: (?:severity|priority|risk|issues?|"
    r"findings?|fixes|changes))?(?=\W*$|\s*[:/)\]—–-])"
)
"""How a finding, or the heading above it, begins that says how grave it is."""
_FINDINGS = Phrase(
    r"\b(?:findings?|issues?|problems?|bugs?|concerns?|risks?|gaps?|suggestions?|improvements?|"
    r"required|important|critical|nits?|should (?:fix|remove)|redundant|potential\w*)\b"
)
_FOUND = Phrase(
    r"\b(?:bugs?|issues?|problems?|causes?) (?:\w+ )?(?:found|identified|fixed)\b|"
    r"\b(?:found|identified) (?:\S+ ){0,3}(?:bugs|issues|problems|causes)\b|\broot causes?\b|"
    r"\bwhat (?:was|went|is) wrong\b|^\W*(?:key |main )?findings\W*$"
)
"""Headings of lists that say what was found, whoever asked for it."""
_GOES_ON = Phrase(
    r"\W*(?:but|and|or|also|plus|great|perfect|yes|no|ok|however|instead|worse|still|uses|adds|"
    r"returns|makes|runs|handles|keeps|sets|calls|gets|has|does|allows|prevents|ensures)\b"
)
_FRAGMENT = re.compile(r"[a-z]+ |[A-Z][a-z]+ing (?!is |was |the \w+ (?:is|was) )")
_AMISS = Phrase(
    r"n't\b|\b(?:not?|never|missing|without|still|wrong|fails?|should|could|only|duplicat\w+|unused|"
    r"redundant|mismatch\w*|inconsisten\w+|leak\w*|race|stale|incorrect\w*|ignor\w+|drop\w*|"
    r"overstat\w+|omits?|lacks?|instead|but|conflates?|too|breaks?|lost|trivial)\b"
)
"""What says that something is amiss, not only that it is there."""
_NO_FINDINGS = Phrase(r"\W*(?:no |none\b|nothing\b|fixed\b|all |whether\b|how\b)")
_REVIEWS = Phrase(
    r"\b(?:re)?view(?:ed|er|ing)?\b|\baudit\b|\bfeedback\b|\bdouble.?check\b|\bfind(?:ings?)? "
    r"(?:any |all )?(?:bugs|issues|problems)\b|\bcode ?rabbit\b|\bcomments? (?:on|from)\b|"
    r"\bcritique\b|\bany (?:bugs|issues|problems|gaps)\b"
)


def learned(session: SessionTurns, said: list[Said], done: RedactedText) -> RedactedText:
    """Return what reviews found, then the sentences that state a cause or a finding, none that
    `done` holds already."""
    found = leading(_review(session, said), LEARNED_LIMIT)
    room = LEARNED_LIMIT - sum(len(one) + 1 for one in found)
    stated = choose(
        (one for one in said if not _dangles(one)),
        cause_score,
        room=max(room, 0),
        most=_LEARNED_MOST - min(len(found), _LEARNED_MOST),
        threshold=1.5,
        beside=[*split(done), *found],
    )
    return join(" ", distinct([*found, stated]))


def _dangles(one: Said) -> bool:
    """Return True if the subject of a sentence, or what it goes on from, stands elsewhere."""
    text = in_context(one)
    if text.count('"') % 2 or _FRAGMENT.match(text):  # of a quotation, or a clause, that goes on
        return True
    return (POINTS_BACK.match(text) or _GOES_ON.match(text)) is not None


def _review(session: SessionTurns, said: list[Said]) -> list[RedactedText]:
    """Return the findings of the last review that has any, the gravest first, shortened."""
    by_turn: dict[int, list[tuple[int, int, RedactedText]]] = {}
    for place, one in enumerate(said):
        if not one.closing or one.sentence.before or one.plain.endswith("?"):
            continue
        heading = one.sentence.heading or one.sentence.lead
        label = _GRAVITY.match(one.plain) or _GRAVITY.match(heading)
        listed = one.sentence.item and _FINDINGS.search(heading) and _AMISS.search(one.plain)
        asked = _REVIEWS.search(_prompt(session, one.turn)) and (label or listed)
        told = one.sentence.item and _FOUND.search(heading) and _AMISS.search(one.plain)
        if not (asked or (told and readable(one.plain))) or len(one.plain) < SHORTEST:
            continue
        if (
            POINTS_BACK.match(one.plain)
            or _NO_FINDINGS.match(one.plain)
            or (DID.search(one.plain) and not label)
        ):
            continue
        grave = _GRAVE.index(label["gravity"]) if label else len(_GRAVE)
        text = closed(shorten(one.text, _FINDING_LIMIT))
        by_turn.setdefault(one.turn, []).append((grave, place, text))
    found = by_turn[max(by_turn)] if by_turn else []
    return [text for _, _, text in sorted(found, key=lambda each: each[:2])][:_MOST_FINDINGS]


def _prompt(session: SessionTurns, turn: int) -> str:
    prompt = session.turns[turn].prompt
    return prompt.text[:_HEAD_OF_A_PROMPT] if prompt is not None else ""


def answered(session: SessionTurns, said: list[Said], done: RedactedText) -> RedactedText:
    """Return how the last message begins that answers a question: where something was `done`, one
    that asks to be told something."""
    question, least = (_TELL_ME, 1.2) if done else (_QUESTION, 1.0)
    beside = list(split(done))
    for place in reversed(range(len(session.turns))):
        asked = session.turns[place].typed
        if asked is None or not question.search(asked.text[:2_000]):
            continue
        answer = [one for one in said if one.turn == place]
        told = choose(
            answer, _answer_score, room=LEARNED_LIMIT, most=2, threshold=least, beside=beside
        )
        if told:
            return told
    return EMPTY


def _answer_score(one: Said) -> float:
    if not one.closing or not readable(one.plain) or one.plain.endswith("?"):
        return 0.0
    if _OPTION.match(one.plain) or _OPTION.search(one.sentence.lead):
        return 0.0
    if any(each.search(one.plain) for each in (PLANNING, DID, NOW)) or _dangles(one):
        return 0.0
    if one.plain.startswith(("I ", '"')) or states_nothing(one.plain):
        return 0.0
    return 1.0 if one.sentence.item else 1.2


_OPTION = Phrase(
    r"\W*(?:option|approach|alternative) \w+\b|.*\b(?:options|approaches|alternatives)\b"
)
_QUESTION = Phrase(
    r"\?|^\W*(?:how|what|why|which|where|who|when|can|is|are|does|do|did|should|could|explain|"
    r"investigate|check|look (?:at|into)|analy[sz]e|review|compare|research|find out|debug)\b"
)
_TELL_ME = Phrase(
    r"(?:^|[.!>\n])[ \"'(]*(?:so |and |but |hm+,? )*"
    r"(?:how|what|why|which|who|(?:can you |please )?(?:explain|tell me))\b"
)
"""Not what is answered by yes or no: what a later turn builds makes a no untrue."""
_GLOB = re.compile(r"^\*|\*\*/|/\*")
_QUERY = re.compile(r"^(?:query|url): (.{4,120})$", re.MULTILINE)
_DESCRIPTION = re.compile(r"^description: (.{4,120})$", re.MULTILINE)


def investigated(session: SessionTurns, files: Touched) -> RedactedText:
    """Return "Read …; searched for …; looked up …; subagents: …", as far as there is any."""
    searches = [text for text in files.searches if len(text) <= 40 and not _GLOB.search(text)]
    web = [one for one in session.records if "web" in one.tool_name.lower()]
    looked_up = _inputs((one for one in web if one.agent_id is None), _QUERY)
    tasks = (one for one in session.records if one.tool_name.lower() in ("task", "agent"))
    parts: list[RedactedText] = []
    for first, later, found, most in (
        ("Read {}", "read {}", distinct(base_name(path) for path in files.read), 6),
        ("Searched for {}", "searched for {}", searches, 3),
        ("Looked up {}", "looked up {}", looked_up, 3),
        ("Had subagents do: {}", "had subagents do: {}", _inputs(tasks, _DESCRIPTION), 3),
    ):
        if found:
            parts.append(compose(later if parts else first, listing(found, most)))
    while parts and sum(len(part) + 2 for part in parts) > _INVESTIGATED_LIMIT:
        parts.pop()
    return compose("{}.", join("; ", parts)) if parts else EMPTY


def _inputs(records: Iterable[RedactedRecord], field: re.Pattern[str]) -> list[RedactedText]:
    """Return the values of a field in the inputs of calls, shortened, each once."""
    texts = (record.text for record in records if record.kind == "tool_use")
    found = ((text, value) for text in texts if (value := field.search(text)))
    return distinct(
        shorten(text.cut(*value.span(1)).squeezed(), _TASK_LIMIT) for text, value in found
    )
