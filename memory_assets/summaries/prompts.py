"""The human's requests: the title, the first real request, later changes of direction."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from memory_assets.models import PROGRAM
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.commits import (
    commits,
    is_routine,
    says_little,
    subjects,
)
from memory_assets.session_analysis.phrases import EMPTY, Phrase, closed, leading, shorten
from memory_assets.session_analysis.sentences import (
    Sentence,
    asks,
    condensed,
    own_words,
    request_sentences,
)
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.statements import alike, routine, vocabulary_of

TITLE_LIMIT = 90
REQUEST_LIMIT = 400
_FIRST_REQUEST_LIMIT = 260
_LATER_REQUEST_LIMIT = 110
_MOST_CHANGES, _SHORTEST_REQUEST, _END = 4, 12, 1_000

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
_CUT_OFF = ("…", "...")
_TIMES = re.compile(r"\A\s*\[?\d\d?:\d\d:\d\d[\d.]*\]?:? +|\s*\(\d{4}-\d\d-\d\d[ T][\d:]+Z?\)\s*\Z")
"""The time before a pasted line of a log, and after the title that SpecStory gives."""
_NO_SUBJECT = Phrase(r"(?:wip|fixup!|squash!|merge\b|checkpoint\b|tmp\b|temp\b|save\W*$)")
"""How subjects begin that say nothing of what was done."""
_CLAUSE_END = re.compile(
    r"\s*[;:]\s|,\s|\s[-–—]+\s|[.?!]\s|[，、；：。？！]"
    r"|\s(?=(?:and then|so that|but|because|while|which|when|if)\s)"
)
_SHORTEST_CLAUSE, _LONG_ENOUGH = 16, 40
"""Characters of a clause; a shorter one than the latter stands for too little of its sentence."""
_ENOUGH, _FEWEST_WORDS = 200, 3
_LONG_SUBJECT = 60
_MANY_COMMITS, _STEM = 6, 6
_LONGER_WORD = re.compile(r"[^\W\d_]{4,}")
_TYPE_OF_COMMIT = re.compile(
    r"\A(?:feat|fix|chore|docs|refactor|test|perf|ci|build)"
    r"(?:!?: |\((?P<scope>[^)]*)\)!?(?P<colon>: ))"
)
_BESIDE_THE_PRODUCT = Phrase(r"(?:docs?|tests?|chore|ci|build|rules)\b")
_ASIDE = re.compile(r" ?\([^()]{6,}\)")
_LEAD_IN = re.compile(
    r"\A(?:(?:[Bb]ased on|[Ww]hen|[Ii]f|[Aa]fter|[Ss]ince|[Aa]s|[Ww]hile|[Gg]iven)\b[^,]{3,80}, "
    r"|(?:[Oo]k(?:ay)?,? |[Ss]o,? |[Nn]ow,? )?"
    r"(?:(?:[Cc]an|[Cc]ould) you (?:please )?|[Pp]lease |[Ww]e (?:need|have) to "
    r"|I(?:'d| would) like (?:you )?to |I (?:want|need) (?:you )?to "
    r"|I(?:'ve| have)? noticed (?:that )?|I think (?:that )?))(?=\S)"
)
"""How requests begin without saying anything of what is wanted."""
_DANGLING = re.compile(
    r"(?: (?:and|or|to|the|a|an|of|with|for|in|on|at|by|from|that|is|are|you|we|I|if|not))+(?=…?\Z)"
)
_POINTS_ON = Phrase(
    r"\b(?:that|this|these|those) (?:\w+ ){0,2}\w+\W*$|:$"
    r"|\b(?:this|that|it|these|those|following|below)\W*$"
)
"""How sentences end that need the next one."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_ADDRESS = re.compile(r"https?://\S+")
_PASTED = re.compile(r"\S+@\S+ .{0,60}[%$#] |[^\"\n]*\"\s*$|\W*~?/\S+/\S+\s*$")
_IDLE = Phrase(
    r"\W*(?:hi|hello|good \w+|is|are|do|does|did|have|has|was|were|which|where)\b[^?\n]{0,60}"
    r"\?\s*$"
)
"""Short questions about how things are, with which sessions begin that are about other things."""
_LOGGED = Phrase(
    r"^(?!.*\b(?:i|i'm|we|my|our|you|please)\b).*(?:[{}<>=]|\b(?:error|exception|traceback|fatal|err!|"
    r"warn(?:ing)?)\b|\d\d:\d\d)"
)
"""A pasted line of a log or of data."""
_WANTS = Phrase(
    r"\?\W*$|^\W*(?:what|why|how|where|which)\b"
    r"|\b(?:please|(?:can|could|would) you|i (?:want|need)|we need|help me)\b"
)
_ANSWERING = Phrase(r"\W*(?:yes|no|ok(?:ay)?|sure|yep|\d+)\b[\s,.]")
_TURNING = Phrase(
    r"^\W*(?:no\b|actually|instead|wait|stop|but\b|don'?t|do not|not\b|now\b|also\b|let'?s|"
    r"rather|forget|on second thought|one more|another|next\b|then\b|and (?:then|also|now))"
)
_ASKING = Phrase(
    r"\b(?:can|could|should|please|fix|add|make|change|implement|create|write|remove|update|use|"
    r"check|why|how|what|investigate|look|refactor|move|rename|test|run|review|explain|commit|merge|"
    r"release|deploy|build|find|show|support|debug|document|convert|replace|rebase|push)\b"
)


def title(session: SessionTurns) -> RedactedText:
    """Return the best title there is, at most `TITLE_LIMIT` characters.

    In order: the user's own, the agent's, the one that the session's own leaf names, the subjects
    of its commits, the beginning of the first request; without a human that of an agent's.
    Notices, frames and cut-off texts are none.
    """
    for given in _given(session):
        text = given.squeezed().sub(_TIMES, "")
        if text and not _NO_TITLE.match(text) and not text.endswith(_CUT_OFF):
            return _clause(text)
    if committed := _committed(subjects(commits(session))):
        return committed
    asked = requests(session)
    asked.sort(key=_says_little)
    typed = [turn.typed.text for turn in session.turns if turn.typed is not None]
    greetings = [text for text in typed if not text.startswith(("/", "<"))]
    others = list(_without_a_human(session))  # without them too little is said for a summary
    for text in (*asked, *(greetings[:1] if others else ()), *others):
        told = request_sentences(text.sub(_TIMES, ""))
        is_plan = text.lstrip().startswith("#")
        first = sorted(told[:2], key=lambda one: _says_little(one.text))
        if told[1:] and _LOGGED.search(told[0].text):
            first = [one for one in told[-1:] if _WANTS.search(one.text)] + first
        for sentence in first:
            return _open(_clause(sentence.text) if is_plan else _begun(sentence.text, told))
        if text.strip():
            return _clause(text.cut(0, 400).squeezed())
    return EMPTY


def _committed(made: Sequence[RedactedText]) -> RedactedText:
    """Return the subjects of a session's commits that fit, the one that says most of all first; ""
    if it made none that says anything.

    What a session is about is said by its first commits, what follows repairs them; of many
    commits by the one whose words most others have.
    """
    made = [one for one in made if not _NO_SUBJECT.match(one)]
    telling = [
        one
        for one in made
        if not is_routine(one) and (len(one) >= _LONG_SUBJECT or not says_little(one))
    ]
    if len(telling) < 2:
        return next(map(_clause, telling or reversed(made)), EMPTY)
    if len(telling) >= _MANY_COMMITS:
        bags = [_stems(one) for one in made]
        telling.sort(
            key=lambda one: (bool(_BESIDE_THE_PRODUCT.match(one)), -_shared(_stems(one), bags))
        )
    first, *others = (one.sub(_TYPE_OF_COMMIT, r"\g<scope>\g<colon>") for one in telling)
    room = TITLE_LIMIT - len(first) - 2
    new = (one for one in reversed(others) if len(one) <= room and not _stems(one) & _stems(first))
    second = next(new, EMPTY)
    return join("; ", (first, second)) if second else _clause(telling[0])


def _stems(subject: str) -> frozenset[str]:
    """Return the beginnings of a subject's longer words, which most forms of a word share."""
    return frozenset(word.lower()[:_STEM] for word in _LONGER_WORD.findall(subject))


def _shared(stems: frozenset[str], bags: Sequence[frozenset[str]]) -> float:
    """Return how many subjects have each word of one, so that long ones do not gain by length."""
    return sum(stem in bag for stem in stems for bag in bags) / math.sqrt(len(stems) or 1)


def _begun(sentence: RedactedText, told: Sequence[Sentence]) -> RedactedText:
    """Return a sentence of a request as a title, with those after it where it is short or points
    to them, without its lead-in and asides where it is long."""
    if len(sentence) > TITLE_LIMIT:
        bare = sentence.sub(_ASIDE, "").sub(_LEAD_IN, "")
        return _clause(bare if len(bare) >= _LONG_ENOUGH else sentence).sub(_DANGLING, "")
    if len(sentence) >= _LONG_ENOUGH and not _POINTS_ON.search(sentence):
        return sentence
    texts = [one.text for one in told]
    return join(" ", leading(texts[texts.index(sentence) :], TITLE_LIMIT + 2))


def _says_little(text: str) -> tuple[bool, bool]:
    """Return how little a request tells as a title: of few words, or pasted, then answering."""
    words = _WORD.findall(_ADDRESS.sub("", text[:_ENOUGH]))
    few = len(words) < _FEWEST_WORDS or _PASTED.match(text) is not None or _IDLE.match(text)
    return bool(few), _ANSWERING.match(text) is not None


def _given(session: SessionTurns) -> Iterator[RedactedText]:
    """Yield the titles that user and agent gave, the best kind first, the last of each first; those
    of subagents' runs only where the session has none."""
    titles = [record for record in reversed(session.records) if record.kind == "title"]
    given: dict[str, list[RedactedText]] = {}
    for record in [each for each in titles if not each.is_sidechain] or titles:
        given.setdefault(record.subtype, []).append(record.text)
    for subtype in dict.fromkeys((*_TITLES, *sorted(given))):
        yield from given.get(subtype, ())
    # The last `leaf-summary` whose leaf is a record of this session; others are foreign.
    own = {record.record_uuid for record in session.records}
    leaves = [r for r in session.records if r.subtype == "leaf-summary" and r.parent_uuid in own]
    yield from (leaf.text for leaf in leaves[-1:])


def _clause(text: RedactedText) -> RedactedText:
    """Return a text that fits, else its first clauses that do, else as many words as fit."""
    if len(text) <= TITLE_LIMIT:
        return text
    found = (end.start() for end in _CLAUSE_END.finditer(text, _SHORTEST_CLAUSE, TITLE_LIMIT + 1))
    ends = [end for end in found if text.count("(", 0, end) == text.count(")", 0, end)]
    return (
        text.cut(0, ends[-1]) if ends and ends[-1] >= _LONG_ENOUGH else shorten(text, TITLE_LIMIT)
    )


def _without_a_human(session: SessionTurns) -> Iterator[RedactedText]:
    """Return texts that can replace a request: another agent's prompt, then the answer."""
    for record in session.records:
        if record.subtype == "agent-prompt" and not record.text.startswith("Message Type"):
            yield record.text
    for record in session.records:
        text = record.text.strip()
        if record.kind == "assistant_text" and len(text) > 24 and text[0] not in "{[":
            yield record.text


def requests(session: SessionTurns) -> list[RedactedText]:
    """Return the prompts that ask for something, oldest first: the human's and the plans that
    they handed over; where there are none, a program's."""
    again = routine(session)
    prompts = [
        turn.prompt for turn in session.turns if turn.prompt is not None and turn.id not in again
    ]
    of_humans = [prompt for prompt in prompts if prompt.subtype != PROGRAM]
    prompts = of_humans or prompts
    return [own_words(prompt.text) for prompt in prompts if asks(prompt)]


def request(session: SessionTurns) -> RedactedText:
    """Return the first real request, then the later changes of direction, shortened."""
    asked = requests(session)
    if not asked:
        return EMPTY
    telling = (len(text.squeezed()) >= _SHORTEST_REQUEST for text in asked)
    asked = asked[next((place for place, tells in enumerate(telling) if tells), 0) :]
    first = _with_its_end(asked[0])
    later = _changes_of_direction(first, asked[1:], REQUEST_LIMIT - len(first) - len(" Then: "))
    if not first:
        return later
    return compose("{} Then: {}", closed(first), later) if later else first


def _with_its_end(text: RedactedText) -> RedactedText:
    """Return the first sentences of a request, and its last one, in which what is wanted stands
    after a list or pasted lines: before the others where these ask for nothing."""
    begun, told = condensed(text, _FIRST_REQUEST_LIMIT), request_sentences(text.cut(-_END))
    end = told[-1].text if told and not text.lstrip().startswith("#") else EMPTY
    if not _ASKING.search(end) or end in begun or len(end) > _FIRST_REQUEST_LIMIT:
        return begun
    if _WANTS.search(end) and not _ASKING.search(begun):
        return join(" ", (end, condensed(text, max(_FIRST_REQUEST_LIMIT - len(end), TITLE_LIMIT))))
    return join(" ", (begun, end)) if len(begun) + len(end) < _FIRST_REQUEST_LIMIT else begun


def _changes_of_direction(
    first: RedactedText, asked: list[RedactedText], room: int
) -> RedactedText:
    """Return as many later requests as fit, first those that change the direction, none that says
    again what another one says."""
    short = [condensed(text, _LATER_REQUEST_LIMIT) for text in asked]
    order = sorted(range(len(short)), key=lambda place: (-_weight(short[place]), place))
    chosen: list[int] = []
    told = [vocabulary_of(first)]
    for place in order:
        cost, words = len(short[place]) + 2, vocabulary_of(short[place])
        known = any(alike(words, other) for other in told)
        if len(chosen) < _MOST_CHANGES and _weight(short[place]) > 0 and cost <= room and not known:
            chosen.append(place)
            told.append(words)
            room -= cost
    return join("; ", (_open(short[place]) for place in sorted(chosen)))


def _weight(text: RedactedText) -> float:
    if len(text) < _SHORTEST_REQUEST:
        return 0.0
    turning = 1.5 if _TURNING.search(text) else 0.0
    return turning + (1.0 if _ASKING.search(text) else 0.0) + (0.2 if len(text) > 40 else 0.0)


def _open(text: RedactedText) -> RedactedText:
    return text.cut(0, len(text) - 1) if text.endswith((".", ";", ":", ",")) else text
