"""The human's requests: the title, the first real request, the weightiest later ones."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence, Set

from memory_assets.models import PROGRAM, Turn
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.commits import (
    by_weight,
    commits,
    commits_that_stayed,
    is_beside,
    is_routine,
    makes_commits,
    says_little,
    subjects,
)
from memory_assets.session_analysis.files import tool_kind, touched, weights
from memory_assets.session_analysis.phrases import (
    EMPTY,
    Phrase,
    base_name,
    closed,
    distinct,
    leading,
    listing,
    names,
    shorten,
)
from memory_assets.session_analysis.sentences import (
    Sentence,
    asks,
    condensed,
    own_words,
    plain_text,
    request_sentences,
    sentences,
)
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.shell import segments
from memory_assets.session_analysis.statements import (
    STEM,
    alike,
    is_answered,
    routine,
    stems,
    vocabulary_of,
)

TITLE_LIMIT, LONG_TITLE_LIMIT, _HALF = 90, 120, 64
REQUEST_LIMIT = 600
_FIRST_REQUEST_LIMIT = 260
_LATER_REQUEST_LIMIT = 110
_MOST_LATER, _SHORTEST_REQUEST, _END = 5, 12, 1_000

_TITLES = ("custom-title", "ai-title", "session-name", "thread-name", "session_info", "name")
_NO_TITLE = Phrase(
    r"<[a-z]|caveat:|\[request interrupted|\[image|api error|invalid api key|credit balance|"
    r"prompt is too long|please run /login|unknown (?:skill|slash command)|no response requested|"
    r"this session is being continued|implement the following plan|a previous agent produced|"
    r"(?:identifying|analy[sz]ing|understanding|determining|summarizing) (?:the )?"
    r"(?:conversation|session|user|request|topic)|"
    r"(?:review|fix|update|check|explain|analy[sz]e|debug|test) (?:the |a )?"
    r"(?:code(?:base)?|changes?|bugs?|issues?|prs?|pull requests?|project|files?|repo(?:sitory)?)"
    r"(?: changes?)?\W*$|"
    r"warmup\W*$|hello memory agent|new (?:session|chat|conversation)\W*$|untitled\W*$"
)
"""How texts begin that agents put where a title belongs."""
_SAYS_NOTHING = Phrase(
    r"(?:pick(?:ing)? up|continu\w+|resum\w+)\b.{0,30}$|"
    r"[\w.-]*\b[0-9a-f]{8}\b[\w.-]*\W*$|"
    r".*\btask-\d+$|\w{1,12}\W*$"
)
"""Titles of agents and programs that name no work: to go on, an id, a word."""
_CUT_OFF = ("…", "...")
_TIMES = re.compile(
    r"\A\s*\[?\d\d?:\d\d:\d\d[\d.]*\]?:? +|(?<!\s)\s*\(\d{4}-\d\d-\d\d[ T][\d:]+Z?\)\s*\Z"
)
"""The time before a pasted line of a log, and after the title that SpecStory gives."""
_LABEL = re.compile(r"\A\W*(?:[Cc]onversation |[Ss]ession )?[Tt]itle: *\"?(?P<title>.+?)\"?\Z")
"""What some agents write before a title."""
_NO_SUBJECT = Phrase(r"(?:wip|fixup!|squash!|merge\b|checkpoint\b|tmp\b|temp\b|save\W*$)")
"""How subjects begin that say nothing of what was done."""
_CLAUSE_END = re.compile(
    r"\s*[;:]\s|,\s|\s[-–—]+\s|[.?!]\s|[，、；：。？！]"
    r"|\s(?=(?:and then|so that|but|because|while|which|when|if)\s)"
)
_SHORTEST_CLAUSE, _LONG_ENOUGH = 16, 40
"""Characters of a clause; a shorter one than the latter stands for too little of its sentence."""
_ENOUGH, _FEWEST_WORDS, _TELLING_WORDS = 200, 3, 6
_LONG_SUBJECT = 60
_MANY_COMMITS = 6
_LONG_SESSION, _NEARLY_NOTHING, _LEAST = 3, 6, 0.1
_TYPE_OF_COMMIT = re.compile(
    r"\A(?:feat|fix|chore|docs|refactor|test|perf|ci|build)"
    r"(?:!?: |\((?P<scope>[^)]*)\)!?(?P<colon>: ))"
)
_ASIDE = re.compile(r" ?\([^()]{6,}\)")
_LEAD_IN = re.compile(
    r"\A(?:(?:[Bb]ased on|[Ff]or|[Ww]hen|[Ii]f|[Aa]fter|[Ss]ince|[Aa]s|[Ww]hile|[Gg]iven)\b"
    r"[^,]{3,80}, |(?:[Oo]k(?:ay)?,? |[Ss]o,? |[Nn]ow,? )?"
    r"(?:(?:[Cc]an|[Cc]ould) you (?:please )?|[Pp]lease |[Ww]e (?:need|have) to "
    r"|I(?:'d| would) like (?:you )?to |I (?:want|need) (?:you )?to "
    r"|I(?:'ve| have)? noticed (?:that )?|I think (?:that )?))(?=\S)"
)
"""How requests begin without saying anything of what is wanted."""
_DANGLING = re.compile(
    r"(?: (?:and|or|to|the|a|an|of|with|for|in|on|at|by|from|that|is|are|you|we|I|if|not))+(?=…?\Z)"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_LEADING_ADDRESS = re.compile(r"\Ahttps?://\S*?(?P<name>[\w.-]+)/?(?:[?#]\S*)? +")
_PASTED = re.compile(r"\S+@\S+ .{0,60}[%$#] |[^\"\n]*\"\s*$|\W*~?/\S+/\S+\s*$")
_IDLE = Phrase(
    r".{0,90}\b(?:pick up|continue|resume) (?:from )?where we\b|"
    r"\W*(?:hi|hello|good \w+|is|are|do|does|did|have|has|was|were|which|where)\b[^?\n]{0,60}\?\s*$"
)
"""Short questions about how things are, with which sessions begin that are about other things."""
_LOGGED = Phrase(
    r"^(?!.*\b(?:i|i'm|we|my|our|you|please)\b).*(?:[{}<>=]|\b(?:error|exception|traceback|fatal|err!|"
    r"warn(?:ing)?)\b|\d\d:\d\d)"
)
"""A pasted line of a log or of data."""
_WANTS = Phrase(
    r"[?？]\W*$|^\W*(?:what|why|how|where|which)\b"
    r"|\b(?:please|(?:can|could|would) (?:you|we)|i (?:want|need)|we need|help me)\b"
    r"|[吗呢]\W*$|帮我|请|教我|怎么|如何|为什么|什么|したい|ほしい|ください|して\W*$|教えて|ですか"
    r"|\b(?:bitte|kannst du|könntest du|warum|wie|was)\b"
)
_REFERS = Phrase(
    r"\b(?:this|that|it|them|these|those|ones?|all|issues|everything|yes|no|ok)\b|https?:|…|^\W*(?:/|also|then)"
)
"""What a request has that is about something said before it."""
_A_FEW_RECORDS = 3
_ANNOUNCES = Phrase(
    r"\W*(?:(?:ok(?:ay)?|good|great|perfect|now|next|first|then|alright)[,.!:]* )*"
    r"let me (?!know\b)(?!.*\b(?:if|when|once|whether) you\b)"
)
"""How a message ends that was followed by a call which the record has no more."""
_BREAKS_OFF = names("interrupt api-error")
_IS_A_PLAN = re.compile(r"\Afile_?path: \S*\bplan", re.IGNORECASE)
_FOR_NOTHING = Phrase(
    r"(?!.*\b(?:and|but|just|only)\b.*\b(?:fix|add|make|change|use|run)\b)"
    r"\W*(?:(?:thanks?|thank you|ok(?:ay)?|great|good|nice|please|no|and|but|then|just)[\s,.!]+)*"
    r"(?:(?:keep|leave) (?:it|this|that|them|everything)|(?:do not|don't|dont) "
    r"(?:change|touch|edit|modify|do|commit|push|delete|remove|worry))\b[^,.;:!?\n]{0,60}\W*$"
)
"""Requests to leave things as they are."""
_REMOVAL = Phrase(r"\b(?:delete|remove|clean|drop|move|rename)\b")
_OF_THE_TALK = Phrase(r"\bmakes? sense\b|\bdid you mean\b|\bno need\b")
"""Questions about what was said, which ask for nothing."""
_VAGUE = frozenset(
    word[:STEM]
    for word in names(
        "implement review update change check merge continue start setup project code branch files "
        "ticket issue task plan flow requirements session master into from with work"
    )
)
"""Beginnings of the words of a title that name no work."""
_ASKING = Phrase(
    r"\b(?:can|could|should|please|fix|add|make|change|implement|create|write|remove|update|use|"
    r"check|why|how|what|investigate|look|refactor|move|rename|test|run|review|explain|commit|merge|"
    r"release|deploy|build|find|show|support|debug|document|convert|replace|rebase|push)\b"
)


def title(session: SessionTurns) -> RedactedText:
    """Return the best title there is, at most `TITLE_LIMIT` characters, and what most of the work
    was about where that title tells nothing of it, both in `LONG_TITLE_LIMIT`.

    In order: the user's own, the agent's, the one that the session's own leaf names, the subjects
    of its commits, the request that most work followed; without a human that of an agent's.
    Notices, frames, names of programs and cut-off texts are none.
    """
    for by_user, given in _given(session):
        text = plain_text(given.squeezed().sub(_TIMES, "")).sub(_LABEL, r"\g<title>")
        if not text or _NO_TITLE.match(text) or text.endswith(_CUT_OFF):
            continue
        if by_user or not _SAYS_NOTHING.match(text):
            return _clause(text) if by_user else _with_the_rest(session, text)
    committed = _committed(subjects(commits(session)))
    main = _main_request(session) if not committed else EMPTY
    return committed or (_with_the_rest(session, main) if main else EMPTY)


def _with_the_rest(session: SessionTurns, main: RedactedText) -> RedactedText:
    """Return a title; after it the most telling commit, or the request that most work followed, if
    most of the work is in turns that have none of its words."""
    heavy = weights(session)
    words = stems(main)
    rest: list[tuple[float, Turn]] = []
    for weight, turn in zip(heavy, session.turns, strict=True):
        prose = [one.text for one in turn.records if one.kind == "assistant_text"]
        said = " ".join(
            (turn.prompt.text[:_END] if turn.prompt else "", *(one[:_END] for one in prose[-1:]))
        )
        if 3 * len(words & stems(said)) < len(words):
            rest.append((weight, turn))
    others = {turn.id for _, turn in rest}
    if len(words - _VAGUE) < 2:
        others = {turn.id for turn in session.turns}
    elif len(_asked(session)) < _LONG_SESSION or 2 * sum(one for one, _ in rest) < sum(heavy):
        return _clause(main)
    committed = [
        call.made.subject
        for call in by_weight(commits_that_stayed(session))
        if call.turn.id in others
    ]
    told = [
        one.sub(_TYPE_OF_COMMIT, r"\g<scope>\g<colon>")
        for one in committed[:1]
        if not says_little(one) and not is_beside(one) and not is_routine(one)
    ]
    asked = sorted(_asked_in(session, others), key=lambda one: -one[0])[:1]
    for text in (*told, *(one for _, text in asked if _stands_alone(one := _as_title(text)))):
        if not words & stems(text):
            first = _clause(main, _HALF)
            return join("; ", (first, _clause(text, LONG_TITLE_LIMIT - len(first) - 2)))
    return _clause(main)


def _stands_alone(text: str) -> bool:
    """Return True if a request says what it is about, and asks for something."""
    asks_for = _WANTS.search(text) or _ASKING.match(text.lstrip('"'))
    return (
        asks_for is not None and len(stems(text)) >= _FEWEST_WORDS and _REFERS.search(text) is None
    )


def _main_request(session: SessionTurns) -> RedactedText:
    """Return the beginning of the first request that says something, of the heaviest where nearly
    nothing was done for that; without a human another agent's."""
    asked = sorted(_asked(session), key=lambda one: _says_little(one[1]))
    heaviest = max(asked, key=lambda one: one[0], default=None)
    if heaviest is not None and _NEARLY_NOTHING * asked[0][0] < heaviest[0]:
        asked[:0] = [heaviest] if _stands_alone(_as_title(heaviest[1])) else []
    typed = [turn.typed.text for turn in session.turns if turn.typed is not None]
    greetings = [text for text in typed if not text.startswith(("/", "<"))]
    others = list(_without_a_human(session))  # without them too little is said for a summary
    texts = (*(text for _, text in asked), *(greetings[:1] if others else ()), *others)
    return next((begun for text in texts if (begun := _as_title(text))), EMPTY)


def _as_title(text: RedactedText) -> RedactedText:
    """Return what a request asks for: of its first sentences that which says something, the last
    one below a pasted log, the one that asks where the first is long and does not."""
    told = request_sentences(text.sub(_TIMES, ""))
    if not told:
        return _clause(text.cut(0, 400).squeezed())
    first = min(told[:2], key=lambda one: _says_little(one.text)).text
    wants = [one.text for one in told[1:] if _WANTS.search(one.text) and not one.item]
    if wants and _LOGGED.search(told[0].text):
        first = wants[-1]
    elif len(first) > TITLE_LIMIT and not _WANTS.search(first):
        first = next(filter(_stands_alone, wants), first)
    if text.lstrip().startswith("#"):
        return _open(_clause(first))
    return _open(_begun(first, told).sub(_LEADING_ADDRESS, r"\g<name>: "))


def _committed(wordings: Sequence[RedactedText]) -> RedactedText:
    """Return the subjects of a session's commits that fit, the one that says most of all first; ""
    if it made none that says anything.

    What a session is about is said by its first commits, what follows repairs them; of many
    commits by the one whose words most others have.
    """
    wordings = [one for one in wordings if not _NO_SUBJECT.match(one)]
    telling = [
        one
        for one in wordings
        if not is_routine(one) and (len(one) >= _LONG_SUBJECT or not says_little(one))
    ]
    if len(telling) < 2:
        return next(map(_clause, telling or wordings), EMPTY)
    if len(telling) >= _MANY_COMMITS:
        bags = [stems(one) for one in wordings]
        telling.sort(key=lambda one: (is_beside(one), -_shared(stems(one), bags)))
    first, *others = (one.sub(_TYPE_OF_COMMIT, r"\g<scope>\g<colon>") for one in telling)
    room = TITLE_LIMIT - len(first) - 2
    new = (one for one in reversed(others) if len(one) <= room and not stems(one) & stems(first))
    second = next(new, EMPTY)
    return join("; ", (first, second)) if second else _clause(telling[0])


def _shared(stems: frozenset[str], bags: Sequence[frozenset[str]]) -> float:
    """Return how many subjects have each word of one, so that long ones do not gain by length."""
    return sum(stem in bag for stem in stems for bag in bags) / math.sqrt(len(stems) or 1)


def _begun(sentence: RedactedText, told: Sequence[Sentence]) -> RedactedText:
    """Return a sentence of a request as a title, with those after it where it is short, without its
    lead-in and asides where it is long."""
    if len(sentence) > TITLE_LIMIT:
        bare = sentence.sub(_ASIDE, "").sub(_LEAD_IN, "").sub(_LEAD_IN, "")
        return _clause(bare if len(bare) >= _LONG_ENOUGH else sentence).sub(_DANGLING, "")
    if len(sentence) >= _LONG_ENOUGH:
        return sentence
    texts = [one.text for one in told]
    return join(" ", leading(texts[texts.index(sentence) :], TITLE_LIMIT + 2))


def _says_little(text: str) -> bool:
    """Return True if a request tells little as a title: of few words, idle, or pasted."""
    words = _WORD.findall(text[:_ENOUGH])
    few = len(words) < _FEWEST_WORDS and len(vocabulary_of(text[:_ENOUGH])) < _TELLING_WORDS
    return few or _PASTED.match(text) is not None or _IDLE.match(text) is not None


def _given(session: SessionTurns) -> Iterator[tuple[bool, RedactedText]]:
    """Yield the titles that user and agent gave, and whether the user gave them, the best kind
    first, the last of each first; those of subagents' runs only where the session has none."""
    titles = [record for record in reversed(session.records) if record.kind == "title"]
    given: dict[str, list[RedactedText]] = {}
    for record in [titled for titled in titles if not titled.is_sidechain] or titles:
        given.setdefault(record.subtype, []).append(record.text)
    for subtype in dict.fromkeys((*_TITLES, *sorted(given))):
        yield from ((subtype == _TITLES[0], text) for text in given.get(subtype, ()))
    # The last `leaf-summary` whose leaf is a record of this session; others are foreign.
    own = {record.record_uuid for record in session.records}
    leaves = [r for r in session.records if r.subtype == "leaf-summary" and r.parent_uuid in own]
    yield from ((False, leaf.text) for leaf in leaves[-1:])


def _clause(text: RedactedText, limit: int = TITLE_LIMIT) -> RedactedText:
    """Return a text that fits, else its first clauses that do, else as many words as fit."""
    if len(text) <= limit:
        return text
    places = (end.start() for end in _CLAUSE_END.finditer(text, _SHORTEST_CLAUSE, limit + 1))
    ends = [end for end in places if text.count("(", 0, end) == text.count(")", 0, end)]
    return text.cut(0, ends[-1]) if ends and ends[-1] >= _LONG_ENOUGH else shorten(text, limit)


def _without_a_human(session: SessionTurns) -> Iterator[RedactedText]:
    """Return texts that can replace a request: another agent's prompt, then the answer."""
    for record in session.records:
        if record.subtype == "agent-prompt" and not record.text.startswith("Message Type"):
            yield record.text
    for record in session.records:
        text = record.text.strip()
        if record.kind == "assistant_text" and len(text) > 24 and text[0] not in "{[":
            yield record.text


def _asked(session: SessionTurns) -> list[tuple[float, RedactedText]]:
    return session.once(_asked_at_all)


def _asked_at_all(session: SessionTurns) -> list[tuple[float, RedactedText]]:
    return _asked_in(session, {turn.id for turn in session.turns})


def _asked_in(session: SessionTurns, turns: Set[str]) -> list[tuple[float, RedactedText]]:
    """Return the prompts that ask for something, oldest first, each with the weight of its turn:
    the human's and the plans that they handed over; where there are none, a program's. A prompt
    that only had something committed has no weight."""
    again = routine(session)
    commits_only = {call.turn.id for call in commits_that_stayed(session)}
    prompts = [
        (weight, turn.id, turn.prompt)
        for weight, turn in zip(weights(session), session.turns, strict=True)
        if turn.prompt is not None and turn.id in turns - again
    ]
    of_humans = [one for one in prompts if one[2].subtype != PROGRAM]
    return [
        (
            0.0
            if turn in commits_only and len(prompt.text) < _LONG_ENOUGH
            else (weight + _LEAST) * _tells(text),
            text,
        )
        for weight, turn, prompt in of_humans or prompts
        if asks(prompt) and (text := own_words(prompt.text))
    ]


def _tells(text: str) -> float:
    """Return how much of its weight a request keeps: less where it has few words ("do it")."""
    return min(1.0, len(vocabulary_of(text[:_END])) / _TELLING_WORDS)


def request(session: SessionTurns) -> RedactedText:
    """Return the first real request, then the weightiest of each later stretch, shortened."""
    asked = _asked(session)
    telling = (len(text.squeezed()) >= _SHORTEST_REQUEST for _, text in asked)
    asked = asked[next((place for place, tells in enumerate(telling) if tells), 0) :]
    if not asked:
        return EMPTY
    first = _with_its_end(asked[0][1])
    later = _of_each_stretch(first, asked[1:], REQUEST_LIMIT - len(first) - len(" Then: "))
    if not first:
        return later
    return compose("{} Then: {}", closed(first), later) if later else first


def unanswered(session: SessionTurns) -> RedactedText:
    """Return what was asked last of a session that ends without an answer to it, said so; if files
    were changed for it, only where that was broken off. The record of a request that was carried
    out may end with its last call: then there is nothing to tell."""
    places = (place for place, turn in enumerate(session.turns) if turn.prompt is not None)
    place = max(places, default=-1)
    typed = session.turns[place].typed if place >= 0 else None
    if typed is None or not asks(typed) or any(map(_is_reported, session.turns[place:])):
        return EMPTY
    text = own_words(typed.text)
    asked = condensed(text, _LATER_REQUEST_LIMIT)
    wants = not asked.isascii() or _ASKING.search(asked) or _WANTS.search(asked)
    idle = _IDLE.match(text) or _OF_THE_TALK.search(asked) or _FOR_NOTHING.match(text)
    pasted = _LOGGED.match(asked) and not _WANTS.search(text) and not _ASKING.match(asked)
    if not wants or idle or pasted:
        return EMPTY
    records = [record for turn in session.turns[place:] for record in turn.records]
    calls = [
        one
        for one in records
        if one.kind == "tool_use" and one.tool_use_id not in session.failed_calls
    ]
    ran = [one.command for one in calls if one.command]
    if any(_publishes(command) or command in typed.text for command in ran):
        return EMPTY
    if _REMOVAL.search(text) and any(map(_removes, ran)):
        return EMPTY
    if any(one.tool_name == "ExitPlanMode" for one in records):
        return EMPTY  # what was asked for was planned
    if not any(tool_kind(one) == "write" and not _IS_A_PLAN.search(one.text) for one in calls):
        return compose("Asked last, without an answer: {}", closed(_open(asked)))
    results = [one for one in records if one.kind == "tool_result"]
    failed = bool(results) and results[-1].is_error
    if not failed and not any(one.subtype in _BREAKS_OFF for one in records):
        return EMPTY
    changed = distinct(base_name(path) for path in touched(session, records).modified)
    return compose("Broken off, {} changed: {}", listing(changed, 3), closed(_open(asked)))


def _is_reported(turn: Turn) -> bool:
    """Return whether a turn ends with a message that says more than what the agent does next."""
    if not is_answered(turn):
        return False
    prose = [one.text for one in turn.records if one.kind == "assistant_text" and not one.agent_id]
    last = [one.text for one in sentences(prose[-1])][-1:] if prose else []
    begun = len(turn.records) > _A_FEW_RECORDS and any(map(_ANNOUNCES.match, last))
    return not begun


def _publishes(command: RedactedText) -> bool:
    """Return True for a command with which work ends: a commit, a push, a pull request."""
    if makes_commits(command):
        return True
    return any(
        (one.program == "git" and {"push", "merge", "tag"} & {*one.words[1:3]})
        or (one.program == "gh" and {"create", "merge", "comment", "edit"} & {*one.words[1:4]})
        for one in segments(command)
    )


def _removes(command: RedactedText) -> bool:
    """Return True for a command that removes or moves files, branches or work trees."""
    return any(
        one.program in ("rm", "mv")
        or (one.program == "git" and {"-d", "-D", "-m", "--delete", "remove", "rm"} & {*one.words})
        for one in segments(command)
    )


def _with_its_end(text: RedactedText) -> RedactedText:
    """Return the first sentences of a request, and its last one, in which what is wanted stands
    after a list or pasted lines: before the others where these ask for nothing."""
    begun, told = condensed(text, _FIRST_REQUEST_LIMIT), request_sentences(text.cut(-_END))
    end = told[-1].text if told and not text.lstrip().startswith("#") else EMPTY
    if not _ASKING.search(end) or end in begun or len(end) > _FIRST_REQUEST_LIMIT:
        return begun
    if _WANTS.search(end) and not _ASKING.search(begun):
        return join(" ", (end, condensed(text, max(_FIRST_REQUEST_LIMIT - len(end), TITLE_LIMIT))))
    fits = len(begun) + len(end) < _FIRST_REQUEST_LIMIT
    asks_only_there = _WANTS.search(end) and not _WANTS.search(begun)
    return join(" ", (begun, end)) if fits or asks_only_there else begun


def _of_each_stretch(
    first: RedactedText, asked: list[tuple[float, RedactedText]], room: int
) -> RedactedText:
    """Return as many later requests as fit, the weightiest of each of so many stretches of the
    session before others, none that says again what another one says."""
    short = [_begins_or_ends(text) for _, text in asked]
    weight = [
        pair[0] if len(text) >= _SHORTEST_REQUEST else 0.0
        for pair, text in zip(asked, short, strict=True)
    ]
    stretch = [place * _MOST_LATER // len(short) for place in range(len(short))]
    best = {}
    for place in sorted(range(len(short)), key=lambda place: weight[place]):
        best[stretch[place]] = place
    order = sorted(
        range(len(short)), key=lambda place: (best[stretch[place]] != place, -weight[place], place)
    )
    chosen: list[int] = []
    told = [vocabulary_of(first)]
    for place in order:
        cost, words = len(short[place]) + 2, vocabulary_of(short[place])
        known = any(alike(words, other) for other in told)
        if len(chosen) < _MOST_LATER and weight[place] > 0 and cost <= room and not known:
            chosen.append(place)
            told.append(words)
            room -= cost
    return join("; ", (_open(short[place]) for place in sorted(chosen)))


def _begins_or_ends(text: RedactedText) -> RedactedText:
    """Return how a later request begins; its end, where that asks below pasted lines."""
    begun, told = condensed(text, _LATER_REQUEST_LIMIT), request_sentences(text.cut(-_END))
    end = told[-1].text if told else EMPTY
    if end in begun or not _WANTS.search(end) or _ASKING.search(begun) or _WANTS.search(begun):
        return begun
    if _OF_THE_TALK.search(end):
        return begun
    return shorten(end, _LATER_REQUEST_LIMIT)


def _open(text: RedactedText) -> RedactedText:
    return text.cut(0, len(text) - 1) if text.endswith((".", ";", ":", ",")) else text
