"""The title of a session: one from user or agent, else its main tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memory_assets.models import PROGRAM, Turn
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.commits import (
    CommitCall,
    by_weight,
    commits_that_stayed,
    is_routine,
    says_little,
)
from memory_assets.session_analysis.files import touched, weights
from memory_assets.session_analysis.phrases import EMPTY, Phrase, base_name, names, shorten
from memory_assets.session_analysis.sentences import asks, own_words, plain_text, request_sentences
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.statements import alike, routine, stems
from memory_assets.summaries.prompts import LOGGED, WANTS, tells_nothing, without_end

TITLE_LIMIT = 120
_FIRST = 72
"""Least room of the first of two tasks in a title, in characters."""
_VAGUE, _HEAD = 64, 80

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
"""Beginnings of texts in place of a title that are none."""
_SAYS_NOTHING = Phrase(
    r"(?:pick(?:ing)? up|continu\w+|resum\w+)\b.{0,30}$|"
    r"[\w.-]*\b[0-9a-f]{8}\b[\w.-]*\W*$|"
    r".*\btask-\d+$|\w{1,12}\W*$"
)
"""Titles that name no work: to continue, an id, a word."""
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
"""Least characters of a clause, and of one that may replace its sentence."""
_PLANS = ".claude/plans/"
_COMMON_FILES = names("index main mod lib app init __init__ types package")
"""Names of files that every other project has, too."""
_FEWEST_WORDS, _LONG_SESSION, _RECENT = 3, 3, 50
_TYPE_OF_COMMIT = re.compile(
    r"\A(?:feat|fix|chore|docs|refactor|test|perf|ci|build|style)"
    r"(?:!?: |\([\d.-]*\)!?: |\((?P<scope>[^)]*)\)!?(?P<colon>: ))"
)
_ASIDE = re.compile(r" ?\([^()]{6,}\)")
_LEAD_IN = re.compile(
    r"(?i)\A(?:(?:based on|for|when|if|after|since|as|while|given)\b[^,]{3,80}, |"
    r"(?:ok(?:ay)?|so|now|hi|hey|hello|yes|yeah|great|good|thanks|thank you|next|hmm+|also|then|"
    r"right|perfect|agreed|cool|alright|and|question|q|please|just|maybe)\b[,.:!]* |"
    r"(?:can|could|would) (?:you|we|u) |(?:help me|let me|i(?:'ll| will)|let'?s|let us) (?:to )?|"
    r"(?:we|i|you) (?:need|have|should|ought)(?: to)? |i(?:'d| would) like (?:(?:you|us) )?to |"
    r"i (?:just )?(?:want|need|wish)(?: you| us| u)? to |"
    r"i(?:'ve| have)? (?:just )?(?:noticed|saw|see|think|believe|guess|feel|wonder) (?:that )?|"
    r"(?:is it possible|is there (?:a|any) way|would it be possible) to |"
    r"can it be that |do you think )+(?=\S)"
)
"""Beginnings of requests without content."""
_DANGLING = re.compile(
    r"(?: (?:and|or|to|the|a|an|of|with|for|in|on|at|by|from|that|is|are|you|we|I|if|not))+(?=…?\Z)"
)
_URL = re.compile(r"https?://\S+")
_GOES_ON = Phrase(
    r"\W*(?:/|(?:i (?!want|need)|i'(?!d like)\w+|for (?!every|each|all)\w+|\w+ (?:is|are|was|were)|"
    r"it|its|it's|this|that|that's|my|our|your|we|we're|you|they|like|no|not|yes|to|in|on|at|of|"
    r"but|or|if|is|are|was|were|do|does|did|has|have|had|will|would|before|after|unless|while|"
    r"once|since|because|either|still|same|oops|wait|a+h+|o+h+|fuck|sorry|actually|presumably|"
    r"continue|proceed|resume|keep|try|commit|push|merge|verify|looks?|seems?|\w{4,}ed|"
    r"ask|tell|give|show|explain|summari[sz]e|think|who|where|which|when)\b)|"
    r".*\b(?:resume|continue|proceed|try again)\W*$|"
    r".*(?:…|\b(?:this|it|them|these|those|ones|yes|no|ok|(?:do|about) that)\b)"
)
"""Beginnings of prompts that continue the former task, or talk about it."""
_STATES = Phrase(
    r"\W*(?:(?:the|a|an|there|some|operation|error|warning)\b|"
    r"(?!(?:what|why|how)\b)(?:[\w'-]+ ){1,7}(?:is|are|was|were)\b(?!.*\?))"
)
_IDENTIFIER = re.compile(r"\w[._/]\w|\w\(\)|[a-z][A-Z]|--\w")
"""Identifiers, which make a statement a finding to work on."""


@dataclass
class _Task:
    """A request, the same with its next sentences, and the turns that worked on it."""

    asked: RedactedText
    more: RedactedText
    words: frozenset[str]
    weight: float = 0.0
    turns: list[Turn] = field(default_factory=list)

    def holds(self, commit: CommitCall) -> bool:
        """Return whether a commit was made for it."""
        return any(turn.id == commit.turn.id for turn in self.turns)


def title(session: SessionTurns) -> RedactedText:
    """Return the best title there is, in `TITLE_LIMIT` characters.

    In order: the user's own; the agent's, or that of the session's own leaf, each followed by the
    main task if the title does not mention it; the main tasks of the session; without a human, an
    agent's request. Notices, frames, names of programs and cut-off texts are no titles.
    """
    tasks = _tasks(session)
    for by_user, given_title in _given_titles(session):
        text = plain_text(given_title.squeezed().sub(_TIMES, "")).sub(_LABEL, r"\g<title>")
        if not text or _NO_TITLE.match(text) or text.endswith(_CUT_OFF):
            continue
        if by_user:
            return _clause(text)
        if not _SAYS_NOTHING.match(text):
            return _with_main_task(session, text, tasks)
    if named := _title_of_tasks(session, tasks):
        return named
    typed = [turn.typed.text for turn in session.turns if turn.typed is not None]
    greetings = [text for text in typed if not text.startswith(("/", "<"))]
    others = list(_without_a_human(session))  # without them too little is said for a summary
    texts = (*(greetings[:1] if others else ()), *others)
    return next((asked for text in texts if (asked := _request_and_details(text)[0])), EMPTY)


def _tasks(session: SessionTurns) -> list[_Task]:
    """Return the tasks of a session, oldest first. Prompts that continue a task ("yes", "fix it",
    "commit"), or repeat it, belong to it."""
    again = routine(session)
    by_humans = any(turn.typed is not None and asks(turn.typed) for turn in session.turns)
    tasks: list[_Task] = []
    for weight, turn in zip(weights(session), session.turns, strict=True):
        prompt = turn.prompt
        asked = more = EMPTY
        of_program = by_humans and prompt is not None and prompt.subtype == PROGRAM
        if prompt and asks(prompt) and turn.id not in again and not of_program:
            asked, more = _request_and_details(own_words(prompt.text))
        words = stems(asked)
        task = next((one for one in tasks[-_RECENT:] if alike(words, one.words)), None)
        first = not tasks or tells_nothing(tasks[-1].asked)
        if task is None and asked and (first or _begins_task(asked)):
            tasks.append(_Task(asked, more, words))
        if tasks:
            task = task or tasks[-1]
            task.weight += weight
            task.turns.append(turn)
    return tasks


def _title_of_tasks(session: SessionTurns, tasks: Sequence[_Task]) -> RedactedText:
    """Return the first informative commit, else the first request, and the other task with the most
    work, in the order of their requests."""
    best = min(
        _titled_commits(session),
        key=lambda commit: (is_routine(commit.made.subject), says_little(commit.made.subject)),
        default=None,
    )
    telling = [one for one in tasks if not tells_nothing(one.asked)] or tasks[:1]
    whole = sum(one.weight for one in tasks)
    task = next((one for one in tasks if best and one.holds(best)), None)
    most = task is not None and 2 * task.weight >= whole
    if best and (most or not telling or not is_routine(best.made.subject)):
        only = main = _clause(_subject(best))
    elif telling:
        task = telling[0]
        only = _with_details(session, task)
        main = task.asked if _begins_task(task.asked) or not task.more else only
    else:
        return EMPTY
    other = _other_task(session, tasks, main, task)
    if other is None or 5 * other[0] < whole:
        return only
    _, at, text = other
    return _join(main, text, other_first=task is not None and at < tasks.index(task))


def _other_task(
    session: SessionTurns, tasks: Sequence[_Task], main: RedactedText, known: _Task | None
) -> tuple[float, int, RedactedText] | None:
    """Return the task with the most work that a title does not mention: its weight, its index, and
    its largest commit, or its request."""
    words = stems(main)
    ranked_commits = by_weight(
        [one for one in _titled_commits(session) if not is_routine(one.made.subject)]
    )
    candidates: list[tuple[float, int, RedactedText]] = []
    for place, task in enumerate(tasks):
        commits = [one for one in ranked_commits if task.holds(one)]
        if task is known:
            commits = [one for one in commits if not says_little(one.made.subject)]
        texts = [_subject(one) for one in commits]
        if not texts and task is not known and _begins_task(task.asked):
            texts = [task.asked]
        others = [text for text in texts if len(words & stems(text)) < 2]
        if others:
            candidates.append((task.weight * len(others) / len(texts), place, others[0]))
    return max(candidates, key=lambda one: one[0], default=None)


def _with_main_task(
    session: SessionTurns, main: RedactedText, tasks: Sequence[_Task]
) -> RedactedText:
    """Return a title, in a long session with the task that has most of the work, if they have no
    words in common."""
    turns, whole = sum(len(one.turns) for one in tasks), sum(one.weight for one in tasks)
    other = _other_task(session, tasks, main, None)
    if other is None or turns < _LONG_SESSION or 2 * other[0] < whole:
        return _clause(main)
    return _clause(main) if stems(main) & stems(other[2]) else _join(main, other[2])


def _join(main: RedactedText, other: RedactedText, *, other_first: bool = False) -> RedactedText:
    room = TITLE_LIMIT - len("; ")
    main = _clause(main, max(room - len(other), _FIRST))
    other = _clause(other, room - len(main))
    return join("; ", (other, main) if other_first else (main, other))


def _with_details(session: SessionTurns, task: _Task) -> RedactedText:
    """Return a request; a short one with its next sentences, or, if there are none, with the file
    that was changed most often for it."""
    asked = task.asked
    short = len(asked.sub(_URL, "")) < _LONG_ENOUGH
    if short and task.more:
        return _clause(task.more)
    files = [
        base_name(path)
        for turn in task.turns
        for path in touched(session, turn.records).modified
        if _PLANS not in path
    ]
    known = asked.lower()
    heads = ((one, one.split(".")[0].lower()) for one in files if "." in one)
    named = [one for one, head in heads if head not in known and head not in _COMMON_FILES]
    most = max(named, key=files.count, default=EMPTY)
    if most and len(asked) < _VAGUE and (short or not _begins_task(asked)):
        return _clause(compose("{} ({})", asked, most))
    return _clause(asked)


def _begins_task(text: RedactedText) -> bool:
    """Return True if a request begins a task: it names its subject, and does not point back."""
    head = text.sub(_ASIDE, "")[:_HEAD]
    little = len(stems(head)) < _FEWEST_WORDS or tells_nothing(head)
    if little or _GOES_ON.match(head) or LOGGED.match(head):
        return False
    return _STATES.match(head) is None or _IDENTIFIER.search(head) is not None


def _titled_commits(session: SessionTurns) -> list[CommitCall]:
    """Return the commits that stayed, oldest first, without those with an empty subject such as
    "wip"."""
    made = commits_that_stayed(session)
    return [one for one in made if not _NO_SUBJECT.match(one.made.subject)]


def _subject(one: CommitCall) -> RedactedText:
    """Return a commit's subject without its type, with its scope unless that is a number."""
    return one.made.subject.sub(_TYPE_OF_COMMIT, r"\g<scope>\g<colon>")


def _request_and_details(text: RedactedText) -> tuple[RedactedText, RedactedText]:
    """Return the request in a prompt: its first informative sentence, or the last one after a
    pasted log, without lead-in; and the same with its next sentences, if there are any."""
    statements = request_sentences(text.sub(_TIMES, ""))
    if not statements:
        return _clause(text.cut(0, 400).squeezed()), EMPTY
    first = min(statements[:2], key=lambda one: tells_nothing(one.text)).text
    wants = [one.text for one in statements[1:] if WANTS.search(one.text) and not one.item]
    if wants and LOGGED.search(statements[0].text):
        first = wants[-1]
    if text.lstrip().startswith("#"):
        return without_end(_clause(first)), EMPTY
    bare = first.sub(_LEAD_IN, "")
    if len(stems(bare)) < 2:
        bare = first
    texts = [one.text for one in statements]
    after = [one for one in texts[texts.index(first) + 1 :][:2] if not _URL.match(one)]
    more = without_end(join(" ", (bare, *after))) if after else EMPTY
    if len(bare) < len(first) and bare.endswith("?"):
        bare = bare.cut(0, len(bare) - 1)
    return without_end(_clause(bare)), more


def _given_titles(session: SessionTurns) -> Iterator[tuple[bool, RedactedText]]:
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
    if len(text) > limit:
        text = text.sub(_ASIDE, "")
    if len(text) <= limit:
        return text
    places = (end.start() for end in _CLAUSE_END.finditer(text, _SHORTEST_CLAUSE, limit + 1))
    ends = [end for end in places if text.count("(", 0, end) == text.count(")", 0, end)]
    if ends and ends[-1] >= min(_LONG_ENOUGH, limit // 2):
        return text.cut(0, ends[-1])
    return shorten(text, limit).sub(_DANGLING, "")


def _without_a_human(session: SessionTurns) -> Iterator[RedactedText]:
    """Return texts that can replace a request: another agent's prompt, then the answer."""
    for record in session.records:
        if record.subtype == "agent-prompt" and not record.text.startswith("Message Type"):
            yield record.text
    for record in session.records:
        text = record.text.strip()
        if record.kind == "assistant_text" and len(text) > 24 and text[0] not in "{[":
            yield record.text
