"""The title of a session: one from user or agent, else its main tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memory_assets.models import PROGRAM, Turn
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis.commits import (
    CommitCall,
    commits_that_stayed,
    is_routine,
    most_significant_first,
    says_little,
)
from memory_assets.session_analysis.files import touched_files, turn_weights
from memory_assets.session_analysis.phrases import EMPTY, Phrase, base_name, shorten
from memory_assets.session_analysis.sentences import (
    is_request,
    plain_text,
    request_sentences,
    without_frame,
)
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.statements import are_alike, repeated_prompt_turns, word_stems
from memory_assets.summaries.prompts import LOGGED, WANTS, tells_nothing, without_end
from memory_assets.word_lists import word_set

TITLE_LIMIT = 120
_FIRST = 72
"""Least room of the first of two tasks in a title, in characters."""
_VAGUE = 64
"""Characters of a request below which a file's name is added to it."""
_HEAD = 80
"""Characters of a request by which it is judged whether it begins a task."""

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
_SHORTEST_CLAUSE = 16
"""Least characters of a clause."""
_LONG_ENOUGH = 40
"""Least characters of a clause that may replace its sentence."""
_PLANS = ".claude/plans/"
_COMMON_FILES = word_set("index main mod lib app init __init__ types package")
"""Names of files that every other project has, too."""
_FEWEST_WORDS = 3
_LONG_SESSION = 3
"""Turns from which the main task is added to a given title."""
_RECENT = 50
"""Tasks that a prompt may repeat."""
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
    replacements = list(_without_a_human(session))  # without them too little is said for a summary
    texts = (*(greetings[:1] if replacements else ()), *replacements)
    return next((request for text in texts if (request := _request_and_details(text)[0])), EMPTY)


def _tasks(session: SessionTurns) -> list[_Task]:
    """Return the tasks of a session, oldest first. Prompts that continue a task ("yes", "fix it",
    "commit"), or repeat it, belong to it."""
    repeated = repeated_prompt_turns(session)
    by_humans = any(turn.typed is not None and is_request(turn.typed) for turn in session.turns)
    tasks: list[_Task] = []
    for weight, turn in zip(turn_weights(session), session.turns, strict=True):
        prompt = turn.prompt
        request = more = EMPTY
        of_program = by_humans and prompt is not None and prompt.subtype == PROGRAM
        if prompt and is_request(prompt) and turn.id not in repeated and not of_program:
            request, more = _request_and_details(without_frame(prompt.text))
        words = word_stems(request)
        task = next(
            (
                earlier_task
                for earlier_task in tasks[-_RECENT:]
                if are_alike(words, earlier_task.words)
            ),
            None,
        )
        first = not tasks or tells_nothing(tasks[-1].asked)
        if task is None and request and (first or _begins_task(request)):
            tasks.append(_Task(request, more, words))
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
    informative = [task_item for task_item in tasks if not tells_nothing(task_item.asked)] or tasks[
        :1
    ]
    total_weight = sum(task_item.weight for task_item in tasks)
    task = next((task_item for task_item in tasks if best and task_item.holds(best)), None)
    did_most_work = task is not None and 2 * task.weight >= total_weight
    if best and (did_most_work or not informative or not is_routine(best.made.subject)):
        only = main = _clause(_subject(best))
    elif informative:
        task = informative[0]
        only = _with_details(session, task)
        main = task.asked if _begins_task(task.asked) or not task.more else only
    else:
        return EMPTY
    other = _other_task(session, tasks, main, task)
    if other is None or 5 * other[0] < total_weight:
        return only
    _, at, text = other
    return _join(main, text, other_first=task is not None and at < tasks.index(task))


def _other_task(
    session: SessionTurns, tasks: Sequence[_Task], main: RedactedText, titled_task: _Task | None
) -> tuple[float, int, RedactedText] | None:
    """Return the task with the most work that a title does not mention: its weight, its index, and
    its largest commit, or its request."""
    words = word_stems(main)
    ranked_commits = most_significant_first(
        [commit for commit in _titled_commits(session) if not is_routine(commit.made.subject)]
    )
    candidates: list[tuple[float, int, RedactedText]] = []
    for place, task in enumerate(tasks):
        commits = [commit for commit in ranked_commits if task.holds(commit)]
        if task is titled_task:
            commits = [commit for commit in commits if not says_little(commit.made.subject)]
        texts = [_subject(commit) for commit in commits]
        if not texts and task is not titled_task and _begins_task(task.asked):
            texts = [task.asked]
        others = [text for text in texts if len(words & word_stems(text)) < 2]
        if others:
            candidates.append((task.weight * len(others) / len(texts), place, others[0]))
    return max(candidates, key=lambda commit: commit[0], default=None)


def _with_main_task(
    session: SessionTurns, main: RedactedText, tasks: Sequence[_Task]
) -> RedactedText:
    """Return a title, in a long session with the task that has most of the work, if they have no
    words in common."""
    turns, total_weight = sum(len(task.turns) for task in tasks), sum(task.weight for task in tasks)
    other = _other_task(session, tasks, main, None)
    if other is None or turns < _LONG_SESSION or 2 * other[0] < total_weight:
        return _clause(main)
    return _clause(main) if word_stems(main) & word_stems(other[2]) else _join(main, other[2])


def _join(main: RedactedText, other: RedactedText, *, other_first: bool = False) -> RedactedText:
    room = TITLE_LIMIT - len("; ")
    main = _clause(main, max(room - len(other), _FIRST))
    other = _clause(other, room - len(main))
    return join("; ", (other, main) if other_first else (main, other))


def _with_details(session: SessionTurns, task: _Task) -> RedactedText:
    """Return a request; a short one with its next sentences, or, if there are none, with the file
    that was changed most often for it."""
    request = task.asked
    short = len(request.sub(_URL, "")) < _LONG_ENOUGH
    if short and task.more:
        return _clause(task.more)
    files = [
        base_name(path)
        for turn in task.turns
        for path in touched_files(session, turn.records).modified
        if _PLANS not in path
    ]
    request_words = request.lower()
    heads = ((name, name.split(".")[0].lower()) for name in files if "." in name)
    telling_names = [
        name for name, head in heads if head not in request_words and head not in _COMMON_FILES
    ]
    most_changed = max(telling_names, key=files.count, default=EMPTY)
    if most_changed and len(request) < _VAGUE and (short or not _begins_task(request)):
        return _clause(compose("{} ({})", request, most_changed))
    return _clause(request)


def _begins_task(text: RedactedText) -> bool:
    """Return True if a request begins a task: it names its subject, and does not point back."""
    head = text.sub(_ASIDE, "")[:_HEAD]
    little = len(word_stems(head)) < _FEWEST_WORDS or tells_nothing(head)
    if little or _GOES_ON.match(head) or LOGGED.match(head):
        return False
    return _STATES.match(head) is None or _IDENTIFIER.search(head) is not None


def _titled_commits(session: SessionTurns) -> list[CommitCall]:
    """Return the commits that stayed, oldest first, without those with an empty subject such as
    "wip"."""
    calls = commits_that_stayed(session)
    return [call for call in calls if not _NO_SUBJECT.match(call.made.subject)]


def _subject(call: CommitCall) -> RedactedText:
    """Return a commit's subject without its type, with its scope unless that is a number."""
    return call.made.subject.sub(_TYPE_OF_COMMIT, r"\g<scope>\g<colon>")


def _request_and_details(text: RedactedText) -> tuple[RedactedText, RedactedText]:
    """Return the request in a prompt: its first informative sentence, or the last one after a
    pasted log, without lead-in; and the same with its next sentences, if there are any."""
    statements = request_sentences(text.sub(_TIMES, ""))
    if not statements:
        return _clause(text.cut(0, 400).squeezed()), EMPTY
    first = min(statements[:2], key=lambda sentence: tells_nothing(sentence.text)).text
    wants = [
        sentence.text
        for sentence in statements[1:]
        if WANTS.search(sentence.text) and not sentence.item
    ]
    if wants and LOGGED.search(statements[0].text):
        first = wants[-1]
    if text.lstrip().startswith("#"):
        return without_end(_clause(first)), EMPTY
    bare = first.sub(_LEAD_IN, "")
    if len(word_stems(bare)) < 2:
        bare = first
    texts = [sentence.text for sentence in statements]
    after = [
        sentence for sentence in texts[texts.index(first) + 1 :][:2] if not _URL.match(sentence)
    ]
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
    clause_ends = (end.start() for end in _CLAUSE_END.finditer(text, _SHORTEST_CLAUSE, limit + 1))
    ends = [end for end in clause_ends if text.count("(", 0, end) == text.count(")", 0, end)]
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
