"""The fields `investigated` (files, commands, searches) and `learned` (findings)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from memory_assets.models import RedactedRecord
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.commits import commits_that_stayed
from memory_assets.session_analysis.files import Touched, files_changed, touched
from memory_assets.session_analysis.phrases import (
    EMPTY,
    Phrase,
    base_name,
    closed,
    distinct,
    has_no_blanks,
    leading,
    listing,
    shorten,
)
from memory_assets.session_analysis.scores import (
    CAUSE,
    DID,
    NOW,
    PLANNING,
    cause_score,
    done_score,
    states_nothing,
)
from memory_assets.session_analysis.sentences import GRADE, is_notice, split
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.statements import (
    POINTS_BACK,
    SHORTEST,
    Said,
    chosen,
    in_context,
    readable,
    shortened,
    with_lists,
)

LEARNED_LIMIT = 600
_LEARNED_MOST = 4
_AGAIN, _LEAST_CAUSE, _LEAST_SCORE = 0.3, 1.5, 1.2
"""What a sentence loses for each better one of its turn, so that one turn is not all."""
_INVESTIGATED_LIMIT = 400
_TASK_LIMIT = 70
_MOST_FINDINGS, _FINDING_LIMIT = 4, 130
_HEAD_OF_A_PROMPT, _SHORTEST_ITEM = 600, 48
_NAMES_THE_FINDING = 30
"""Characters of a heading above a finding that says which it is."""
_GRAVE = ("critical", "blocking", "p0", "high", "major", "required", "must", "p1", "medium",
          "important", "should", "p2", "low", "minor", "p3", "nit")  # fmt: skip
_GRAVITY = Phrase(
    rf"\W*(?:severity\W+)?(?:\d+\W+)?(?P<gravity>{'|'.join(_GRAVE)})\b"
    r"(?: (?:severity|priority|risk|issues?|findings?|fixes|changes))?(?: \d+)?"
    r"(?=\W*$|\s*[:/)\]—–-])"
)
"""How a finding, or the heading above it, begins that says how grave it is."""
_FINDINGS = Phrase(
    r"\b(?:findings?|issues?|problems?|bugs?|concerns?|risks?|gaps?|suggestions?|improvements?|"
    r"required|important|critical|worth fixing|nits?|should (?:fix|remove)|redundant|"
    r"potential\w*)\b"
)
_FOUND = Phrase(
    r"\b(?:bugs?|issues?|problems?|causes?) (?:\w+ )?(?:found|identified|fixed)\b|"
    r"\b(?:found|identified|flagged|raised) (?:\S+ ){0,3}"
    r"(?:bugs|issues|problems|causes|findings)\b|\broot causes?\b|"
    r"\bwhat (?:was|went|is) wrong\b|^\W*(?:key |main )?findings\W*$"
)
"""Headings of lists that say what was found, whoever asked for it."""
_GOES_ON = Phrase(
    r"\W*(?:but|and|or|also|plus|great|perfect|yes|no|ok|however|instead|worse|still|uses|adds|"
    r"returns|makes|runs|follows|mirrors|builds|passes|matches|works|takes|shows|handles|keeps|sets|calls|gets|has|does|allows|prevents|ensures)\b"
)
_FRAGMENT = re.compile(r"[a-z]+ |[A-Z][a-z]+ing (?!is |was |the \w+ (?:is|was) )")
_AMISS = Phrase(
    r"n't\b|\b(?:not?|never|missing|without|still|wrong|fails?|should|could|only|duplicat\w+|unused|"
    r"redundant|mismatch\w*|inconsisten\w+|leak\w*|race|stale|incorrect\w*|ignor\w+|drop\w*|"
    r"overstat\w+|omits?|lacks?|instead|but|conflates?|too|breaks?|lost|trivial)\b"
)
"""What says that something is amiss, not only that it is there."""
_NOTHING_AMISS = Phrase(
    r"(?!.*\b(?:but|except|however|though|other than|unless|until)\b|.*\?)\W*(?:\w+: )?(?:"
    r"(?:i |we )?(?:found |see |saw |there (?:are|is|were) )?no (?:\w+,? ){0,4}?(?:or \w+ )?"
    r"(?:findings?|issues?|problems?|bugs?|blockers?|defects|regressions?|concerns?)\b|"
    r"(?:all |the |both )?(?:prior|previous|earlier) (?:findings?|issues?|comments?|blockers?) "
    r"(?:\w+ ){0,3}(?:fixed|resolved|addressed|closed)\b|"
    r"(?:approved?|lgtm|(?:safe|ready|good|ok) to (?:merge|ship|land))\b)"
)
"""Verdicts of reviews that find nothing, or nothing more."""
_SAME_CELLS = re.compile(r"(?: — |^)([^—]{2,}) — \1(?: — |$)")
"""A row of a table that says nothing without the names of its columns."""
_MAY_CHANGE = Phrase(
    r"n't\b|\b(?:not?|never|missing|without|still|only|duplicat\w+|unused|stale|ignor\w+|drops|"
    r"omits|lacks|overstates|conflates|leaks|dead|lost|currently|current|right now|at the moment|"
    r"so far|empty|hard-?coded|silently|undocumented|unauthenticated)\b"
)
"""What says that something is amiss, or only how it is for now."""
_IS_PAST = Phrase(r"\b(?:was|were|wasn't|weren't|had|did|didn't)\b|^\W*(?:i|pick|run|use)\b")
_FILES = re.compile(r"[\w./@-]*\w\.[A-Za-z]\w{0,8}\b")
_IDENTIFIERS = re.compile(r"\b(?:[a-z]\w*[a-z][A-Z]\w+|(?:[A-Z][a-z]+){3}\w*|\w{3,}(?=\(\)))")
_REPLACED = re.compile(
    r"(?i)^\W*old_?(?:string|str|text)\b[\s\S]*?(?=\bnew_?(?:str|text)|\Z)|^-.+", re.MULTILINE
)
_SHORT_PROMPT = 200
_WANTS_A_TEXT = Phrase(
    r"\b(?:draft|write|compose|rewrite|rephrase|reword|formulate|prepare|shorten|give me)\b"
    r"[^.?!\n]{0,40}?\b(?:messages?|repl(?:y|ies)|responses?|e-?mails?|mail|comments?|posts?|tweets?|"
    r"announcements?|letters?|essays?|stor(?:y|ies)|poems?|haikus?|lyrics|blurbs?|bio|pitch|"
    r"(?:pr|issue|ticket|pull request) (?:description|text|body)|bug reports?)\b"
)
_REWORDS = Phrase(
    r"\b(?:it|shorter|longer|bit more|formal|friendlier|tone|again|another|casual|version|"
    r"wording)\b"
)
_IS_A_DRAFT = Phrase(
    r"\bhere(?:'s| is) (?:a|an|the|my|your) (?:\w+ ){0,3}"
    r"(?:draft|message|reply|e-?mail|comment|post|tweet|wording|announcement|letter)\b|"
    r"^\W*(?:draft|suggested (?:reply|message|wording|text))\b[^.]{0,30}:?\W*$"
)
"""What stands before a text that is handed over."""
_MENDED = Phrase(
    r"[^—–:.]{3,40}?\b(?:fixed|resolved|prevention|improved|added|removed)\b[^.]* [—–-]+ "
)
"""How an item of a list begins that says what became of a finding."""
_REVIEWS = Phrase(
    r"\b(?:re)?view(?:ed|er|ing)?\b|\baudit\b|\bfeedback\b|\bdouble.?check\b|\bfind(?:ings?)? "
    r"(?:any |all )?(?:bugs|issues|problems)\b|\bcode ?rabbit\b|\bcomments? (?:on|from)\b|"
    r"\bcritique\b|\bany (?:bugs|issues|problems|gaps)\b"
)


def learned(session: SessionTurns, said: list[Said], told: Sequence[RedactedText]) -> RedactedText:
    """Return what reviews found, then the sentences that state a cause or a finding, explain a
    problem or answer a question, none that a field of `told` holds already."""
    said = _without_drafts(session, said)
    found = _review(session, said)
    review = leading((text for _, text in found), LEARNED_LIMIT)
    room = LEARNED_LIMIT - sum(len(one) + 1 for one in review)
    by_place = _Told(session, said, reviewed=bool(review))
    stated = chosen(
        (one for one in with_lists(said) if not _dangles(one)),
        by_place.score,
        room=max(room, 0),
        most=_LEARNED_MOST - min(len(review), _LEARNED_MOST),
        threshold=_LEAST_SCORE,
        beside=[*chain.from_iterable(map(split, told)), *review],
        again=_AGAIN,
    )
    if any(_changed_since(session, one) for one, _ in found):
        review[:1] = [compose("Before later changes: {}", one) for one in review[:1]]
    told_now = [
        _told_as_past(text) if _is_amiss(one.plain) and _changed_since(session, one) else text
        for one, text in stated
    ]
    return join(" ", leading(distinct([*review, *told_now]), LEARNED_LIMIT + 1))


def _is_amiss(text: str) -> bool:
    """Return True if a sentence says that a file, or a name in code, is amiss or so for now,
    the file or name first."""
    amiss = _MAY_CHANGE.search(text)
    named = _FILES.search(text) or _IDENTIFIERS.search(text)
    if amiss is None or named is None:
        return False
    return named.start() < amiss.start() or text.startswith("There ")


def _told_as_past(text: RedactedText) -> RedactedText:
    end = len(text) - text.endswith((".", "。"))
    return compose("{} (before later changes){}", text.cut(0, end), text.cut(end))


def _changed_since(session: SessionTurns, one: Said) -> bool:
    """Return True if a sentence that tells how things are names a file that was changed after it,
    or something in a text that was replaced then."""
    if CAUSE.search(one.plain) or _IS_PAST.search(one.plain):
        return False
    files = {name.rsplit("/", 1)[-1] for name in _FILES.findall(one.plain)}
    named = set(_IDENTIFIERS.findall(one.plain))
    own = session.turns[one.turn].records
    at = next(at for at, record in enumerate(own) if record is one.record)
    later = [*own[at:], *chain(*(turn.records for turn in session.turns[one.turn + 1 :]))]
    if files & {base_name(path) for path in touched(session, later).modified}:
        return True
    if not named:
        return False
    replaced = (
        text[0]
        for record in later
        if record.kind == "tool_use" and record.tool_use_id not in session.failed_calls
        for text in _REPLACED.finditer(record.text)
    )
    return any(name in text for text in replaced for name in named)


def _without_drafts(session: SessionTurns, said: list[Said]) -> list[Said]:
    """Return what was said without the texts that the agent wrote for the person to send or show:
    what stands in them is not what was found out."""
    drafts: set[int] = set()
    for place, turn in enumerate(session.turns):
        asked = turn.typed.text[:_HEAD_OF_A_PROMPT] if turn.typed else ""
        goes_on = place - 1 in drafts and len(asked) < _SHORT_PROMPT and _REWORDS.search(asked)
        if _WANTS_A_TEXT.search(asked) or goes_on:
            drafts.add(place)
    handed_over: set[int] = set()
    kept: list[Said] = []
    for one in said:
        above = f"{one.sentence.heading}\n{one.sentence.lead}"
        if _IS_A_DRAFT.search(above) or id(one.record) in handed_over:
            continue
        if _IS_A_DRAFT.search(one.plain):
            handed_over.add(id(one.record))
        elif one.changed or one.turn not in drafts:
            kept.append(one)
    return kept


class _Told:
    """What a sentence tells by its place: the explanation with which the report on a problem
    begins, or the answer to a question."""

    def __init__(self, session: SessionTurns, said: list[Said], *, reviewed: bool) -> None:
        self._session = session
        asked = [
            turn.typed.text.replace("’", "'")
            if turn.typed and len(turn.typed.text) < _HEAD_OF_A_PROMPT
            else ""
            for turn in session.turns
        ]
        self._problem = [_PROBLEM.search(text) is not None for text in asked]
        committed = {call.turn.id for call in commits_that_stayed(session)}
        why = [_WHY.search(text) is not None for text in asked]
        self._why = {
            one.turn
            for one in said
            if one.closing and why[one.turn] and cause_score(one) >= _LEAST_CAUSE
        }
        self._question = [
            _QUESTION.search(text) is not None
            and _WHAT_NEXT.search(text) is None
            and not (reviewed and _REVIEWS.search(text))
            and turn.id not in committed
            for text, turn in zip(asked, session.turns, strict=True)
        ]
        changed = files_changed(session)
        self._changed_later = [any(changed[place + 1 :]) for place in range(len(changed))]

    def score(self, one: Said) -> float:
        """Return the score of a sentence, 0 for one that is not worth learning."""
        above = f"{one.sentence.heading} {one.sentence.lead}"
        if _finds_nothing(one, _prompt(self._session, one.turn)):
            return 2.0 + one.last
        if not one.changed and _PROPOSES.search(above) and not CAUSE.search(one.plain):
            return 0.0
        cause = cause_score(one)
        least = _LEAST_CAUSE if one.changed or self._may_be_untrue(one) else _LEAST_SCORE
        return max(cause if cause >= least else 0.0, self.explains(one), self.answers(one))

    def _may_be_untrue(self, one: Said) -> bool:
        """Return True if a sentence says that something is not so, and later turns change files."""
        return self._changed_later[one.turn] and _DENIES.search(one.plain) is not None

    def explains(self, one: Said) -> float:
        """Return the score of a sentence as what explains a problem."""
        if not self._problem[one.turn] or not one.changed or one.place > 1:
            return 0.0
        return 1.7 if _tells(one) and not one.sentence.item else 0.0

    def answers(self, one: Said) -> float:
        """Return the score of a sentence as an answer; none that says that something is not so
        where a later turn changes files: it may be untrue then."""
        if not self._question[one.turn] or one.changed or one.turn in self._why:
            return 0.0
        if one.sentence.item and (len(one.plain) < _SHORTEST_ITEM or _SAME_CELLS.search(one.plain)):
            return 0.0
        if not _tells(one) or self._may_be_untrue(one):
            return 0.0
        return (1.3 if one.sentence.item else 1.6) - 0.02 * one.place


def _finds_nothing(one: Said, asked: str) -> bool:
    """Return True for the verdict of a review that nothing, or nothing more, is amiss."""
    if not one.closing or one.changed or not readable(one.plain):
        return False
    return _NOTHING_AMISS.match(one.plain) is not None and _REVIEWS.search(asked) is not None


def _dangles(one: Said) -> bool:
    """Return True if the subject of a sentence, or what it goes on from, stands elsewhere."""
    text = in_context(one)
    if text.count('"') % 2:  # of a quotation that goes on
        return True
    if has_no_blanks(text):
        return POINTS_BACK.match(text) is not None
    fragment = _FRAGMENT.match(text)
    if fragment and f"`{fragment[0].strip()}" not in one.record.text:
        return True
    return (POINTS_BACK.match(text) or _GOES_ON.match(text)) is not None


def _review(session: SessionTurns, said: list[Said]) -> list[tuple[Said, RedactedText]]:
    """Return the findings of the last review that has any, the gravest first, shortened."""
    by_turn: dict[int, list[tuple[int, int, RedactedText]]] = {}
    for place, one in enumerate(said):
        if not one.closing or one.sentence.before or one.plain.endswith("?"):
            continue
        heading = one.sentence.heading or one.sentence.lead
        by_heading = _GRAVITY.match(heading)
        label = _GRAVITY.match(one.plain) or by_heading
        listed = one.sentence.item and _FINDINGS.search(heading) and _AMISS.search(one.plain)
        asked = (label or listed) and _REVIEWS.search(_prompt(session, one.turn))
        told = one.sentence.item and _FOUND.search(heading) and _AMISS.search(one.plain)
        if not (asked or (told and readable(one.plain))):
            continue
        short = len(one.plain) < SHORTEST or GRADE.match(one.plain)
        named = label and len(one.sentence.heading) > _NAMES_THE_FINDING and (short or by_heading)
        if short and not named:
            continue
        if (
            POINTS_BACK.match(one.plain)
            or PLANNING.search(one.plain)
            or ((DID.search(one.plain) or _MENDED.match(one.plain)) and not label)
        ):
            continue
        grave = _GRAVE.index(label["gravity"]) if label else len(_GRAVE)
        text = closed(one.sentence.heading if named else one.text)
        if not any(text == other for _, _, other in by_turn.get(one.turn, ())):
            by_turn.setdefault(one.turn, []).append((grave, place, text))
    graded = sorted(by_turn[max(by_turn)], key=lambda finding: finding[:2]) if by_turn else []
    gravest = graded[:_MOST_FINDINGS]
    room = max(LEARNED_LIMIT // len(gravest) - 2, _FINDING_LIMIT) if gravest else 0
    return [(said[place], shortened(text, room)) for _, place, text in gravest]


def _prompt(session: SessionTurns, turn: int) -> str:
    """Return the head of the prompt that a turn answers, the one before a notice."""
    heads = [
        one.prompt.text[:_HEAD_OF_A_PROMPT] if one.prompt is not None else ""
        for one in reversed(session.turns[: turn + 1])
    ]
    return next((head for head in heads if not is_notice(head)), "")


def _tells(one: Said) -> bool:
    """Return True for a sentence of a closing message that states something else than what was
    done, is wanted or may be done."""
    if not one.closing or not readable(one.plain) or one.plain.endswith(("?", "？")):
        return False
    if _OPTION.match(one.plain) or _OPTION.search(one.sentence.lead):
        return False
    if _LEADS_IN.match(one.plain) or not readable(_NO_PROSE.sub("", one.plain)):
        return False
    if any(pattern.search(one.plain) for pattern in (PLANNING, DID, NOW)) or done_score(one) > 0:
        return False
    return not (one.plain.startswith(("I ", '"')) or states_nothing(one.plain))


_OPTION = Phrase(
    r"\W*(?:option|approach|alternative|step) \w+\b|.*\b(?:options|approaches|alternatives)\b"
)
_QUESTION = Phrase(
    r"\?|(?:^|[.!>\n])[ \"'(]*(?:so |and |but |please |can you |hm+,? )*"
    r"(?:how|what|why|which|where|who|when|can|is|are|does|do|did|should|could|explain|tell|give|"
    r"investigate|check|look (?:at|into)|analy[sz]e|compare|(?:re)?search|find|debug|determine|"
    r"spawn)\b|[？吗]|什么|怎么|如何|为什么|多少|哪|教我|なぜ|どう|何|ですか|ますか|教えて|方法|"
    r"\b(?:wie|was|warum|welche\w*|wo|erklär\w*)\b"
)
_PROBLEM = Phrase(
    r"\b(?:errors?|fail\w*|broken|bugs?|crash\w*|wrong|issues?|problems?|does(?:n't| not)|"
    r"is(?:n't| not)|can(?:'t|not)|won't|never|stuck|hang\w*|slow|why|exception|traceback|"
    r"fix)\b|报错|错误|失败|不行|不了|不能|没有|问题|エラー|動か|失敗|おかし|ない|\b(?:fehler\w*|nicht|kaputt|warum)\b"
)
_WHAT_NEXT = Phrase(
    r"\b(?:next|left|recommend\w*|suggest\w*|remain\w*|ideas?)\b|下一步|建议|候補|おすすめ|nächste"
)
"""Questions whose answers are proposals."""
_PROPOSES = Phrase(
    r"\b(?:plan|recommend\w*|propos\w*|suggest\w*|i(?:'d| would)|next|steps?|options?|decisions?|"
    r"implement\w*|optimi[sz]ations?)\b|建议|计划|提案|おすすめ|vorschl\w*"
)
"""What stands above proposals, which may come to nothing."""
_LEADS_IN = Phrase(
    r"\W*(?:here(?:'s| is| are)\b|(?:I|you|we|assumption)(?:'\w+| \w+)?\b|你|我|建议|"
    r".*\b(?:let me know|happy to)\b|(?:both|all|some) \w+ \w+ \w+\W*$|以下|下面)"
)
_WHY = Phrase(r"\bwhy\b|为什么|なぜ|\bwarum\b")
_NO_PROSE = re.compile(r"https?://\S+|\S*[\w)][./\\:_(]\S+")
_DENIES = Phrase(
    r"\b(?:no|not|never|none|nope|without|missing|only|yet)\b|n't\b|不|没|未|ない|ません|\b(?:nicht|kein\w*)\b"
)
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
    for first, later, texts, most in (
        ("Read {}", "read {}", distinct(base_name(path) for path in files.read), 6),
        ("Searched for {}", "searched for {}", searches, 3),
        ("Looked up {}", "looked up {}", looked_up, 3),
        ("Had subagents do: {}", "had subagents do: {}", _inputs(tasks, _DESCRIPTION), 3),
    ):
        if texts:
            parts.append(compose(later if parts else first, listing(texts, most)))
    while parts and sum(len(part) + 2 for part in parts) > _INVESTIGATED_LIMIT:
        parts.pop()
    return compose("{}.", join("; ", parts)) if parts else EMPTY


def _inputs(records: Iterable[RedactedRecord], field: re.Pattern[str]) -> list[RedactedText]:
    """Return the values of a field in the inputs of calls, shortened, each once."""
    texts = (record.text for record in records if record.kind == "tool_use")
    matches = ((text, value) for text in texts if (value := field.search(text)))
    return distinct(
        shorten(text.cut(*value.span(1)).squeezed(), _TASK_LIMIT) for text, value in matches
    )
