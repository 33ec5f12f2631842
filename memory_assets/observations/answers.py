"""Findings: what the agent answers, finds in a review or recommends where it was asked to look."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise

from memory_assets.models import Turn
from memory_assets.observations.choices import TRADE_OFF
from memory_assets.observations.moments import NAME, Moment, only_documents
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.files import touched
from memory_assets.session_analysis.phrases import (
    EMPTY,
    Phrase,
    base_name,
    has_no_blanks,
    names,
    shorten,
)
from memory_assets.session_analysis.scores import (
    DID,
    DOUBTFUL,
    GUESSED,
    NOW,
    PLANNING,
    done_score,
    states_nothing,
)
from memory_assets.session_analysis.sentences import condensed, own_words
from memory_assets.session_analysis.statements import (
    POINTS_BACK,
    Said,
    readable,
    vocabulary_of,
    without_colon,
)

_LONGEST_PROMPT, _LONGEST_CONSENT = 1_500, 400
_SHORT_CONSENT = 4
"""Words of a consent that does not say to what."""
_HEAD_OF_A_PROMPT = 600
_SHORTEST_REPLY = 160
_QUESTION_LIMIT, _QUESTION_IN_TITLE = 160, 70
_FIRST, _MOST_BESIDE = 1, 4
"""Sentences of a reply that an answer begins in, and how many that support it are told."""
_FEWEST_LETTERS = 8
"""Of a question that stands in a title."""
_FEWEST_WORDS = 6
"""Of what is recommended."""
_SHARED, _FEWEST_SHARED = 0.4, 3
"""Share of the words, and how many, that a statement has in common with what takes it back."""
_ASKS = Phrase(
    r"(?:^|[.!>\n,:])[ \"'(]*"
    r"(?:so |and |but |please |now |ok(?:ay)?,? |can you |could you |hm+,? )*"
    r"(?:how|what|why|which|where|who|is|are|was|were|has|have|does|do|did|can (?!you\b)|"
    r"should|could|explain|tell me|investigate|"
    r"check|look (?:at|into)|analy[sz]e|compare|(?:re)?search|find|debug|determine|confirm|"
    r"(?:re-?)?(?:re)?view|audit|inspect|evaluate|study|calculate|measure|"
    r"spawn|try|test|benchmark|profile|see (?:if|whether))\b|"
    r"[？吗?]|什么|怎么|如何|为什么|多少|哪|なぜ|どう|何|ですか|ますか|教えて|調べて|"
    r"\b(?:wie|was|warum|welche\w*|wo|erklär\w*)\b"
)
"""Prompts that want to know something."""
_OF_THE_MOMENT = Phrase(
    r"\b(?:commit\w*|push\w*|merge[ds]?|rebas\w*|branch\w*|pull requests?|prs?|worktree|stash\w*|"
    r"session|background task|context window|next|recommend\w*|suggest\w*|"
    r"ideas?|plan|status|progress|(?:you|we) (?:done|finished)|image of|continue|proceed|url|"
    r"description|"
    r"file read|drafts?|how (?:big|hard|long|confident)|confident|stale|issues?|changelog|tickets?|"
    r"how (?:do|can|should|would) (?:i|we) (?:\w+ )?"
    r"(?:test|run|start|open|install|use|try))\b|"
    r"改善案|下一步|接下来|建议|方法|手順|怎么(?:用|跑|运行|提交)|填什么"
)
"""Prompts about the state of the work, about what to do, or for a procedure."""
_CONCLUDES = Phrase(
    r"\W*(?:(?:the|key|main|overall|my|final|short|direct) )?(?:root causes?|causes?|conclusions?|"
    r"verdict|bottom line|findings?|answer|tl;?dr|in short|diagnosis|结论|直接答案|原因|結論|fazit)"
    r"\b\W*"
)
_SUMS_UP = Phrase(r"\W*(?:summary|overall)\b\W*$")
_PROPOSES = Phrase(
    r"\b(?:plan|recommend\w*|propos\w*|suggest\w*|i(?:'d| would)|next|steps?|options?|decisions?|"
    r"implement\w*|optimi[sz]ations?|work ?arounds?|alternatives?|how to|sources?|commands?|setup|"
    r"fix(?:es)?|usage|examples?|means|either|ways?)\b|建议|计划|提案|おすすめ|vorschl\w*"
)
"""What stands above proposals, which may come to nothing."""
_LEADS_IN = Phrase(
    r"\W*(?:here(?:'s| is| are)\b|(?:I|you|we|your|my|let|if|to|and|also|but|plus)"
    r"(?:'\w+)?\b|你|我|建议|好|可以|以下|下面|for example\b|"
    r".*\b(?:let me know|happy to|below|following|(?:I|we)(?:'d| would))\b|"
    r"(?:both|all|some) \w+ \w+ \w+\W*$|short answer\b|"
    r"(?:test|use|add|run|scan|try|set|keep|make|open|click|go|check|update|create|"
    r"recommended|reviewed|caveats?)\b)|"
    r".*(?:下面是|(?:まとめ|整理し|説明し|確認し|紹介し|挙げ|見てい|取れ)(?:き)?ま(?:す|した|しょう))。?$"
)
_STATE = Phrase(
    r"\b(?:commit(?:s|ted)?|push(?:ed)?|merged|rebased?|branch|working tree|worktree|untracked|"
    r"staged|PR|pull request|this (?:session|tool)|locked|logged in|nothing to|no action|refusing|"
    r"connected|running|already (?:been )?(?:executed|done)|PID|RSS|right now|at the moment|"
    r"yet|output|work(?:s|ing) (?:correctly|fine|well|now))\b"
)
"""What holds for the moment."""
_VERB = Phrase(
    r"\b(?:is|are|was|were|does|do|has|have|can|cannot|must|need|\w+n't|"
    r"(?:use|need|mean|store|support|require|work|fail|return|read|come|give|make|take|call|show|"
    r"cause|break|sync|contain|include|hold|keep|run|write|send|get|let|depend|live|guarantee|"
    r"dominate|consume|handle|ignore|expect|match|exclude|treat|cover|skip|drop|load|parse|check|"
    r"point|render|trigger|track|map|leave|fall|lack|miss|compile|require|own|block|allow|prevent|"
    r"reject|accept|default|start|stop|add|remove|set|build)s)\b"
)
_LIMITS = Phrase(
    r"\b(?:not|only|never|cannot|no|none|neither|without|requires?|needs?|must|because|since|"
    r"instead|rather than|due to|unless|until|so that|but)\b|n't\b|不|没|未|无|只|必须|因为|原因|"
    r"ない|ません|なし|だけ|のみ|ため|オーバー|\b(?:nicht|kein\w*|nur|weil)\b"
)
"""What is worth knowing of how something is: what it cannot do, needs, does instead, and why."""
_RESEARCHES = Phrase(r"web|fetch|search_query|wiki|context7")
"""Tools that look elsewhere than in the project."""
_CANNOT = Phrase(
    r"\b(?:isn't|aren't|not) (?:available|supported|possible|exposed)\b|"
    r"\b(?:doesn't|don't|does not|do not) (?:support|expose|provide|allow|offer)\b|"
    r"\bonly (?:supports?|works? with|allows?)\b|\bthere is no way\b"
)
"""What cannot be had, whatever was asked."""
_DENIES = Phrase(
    r"^\W*there (?:is|are)(?:n't| no)\b|"
    r"\b(?:currently|today|so far|for now)\b"
)
"""What later turns may have made otherwise."""
_AFFIRMS = Phrase(r"\W*(?:yes|no|nope|correct|right|是的|はい|いいえ|ja|nein)\b\W*")
_PROCESS = Phrase(
    r"\bI (?:\w+ed|found|saw|ran|read|looked|have|didn't)\b|"
    r"^\W*(?:verification|validation|tests|verified|confirmed)\b|"
    r"\b(?:looks? good|ready to merge|tests? pass(?:es|ed)?|passed)\b"
)
"""What the agent did to find out, and verdicts on what is about to be merged."""
_REVIEWS = Phrase(
    r"\b(?:re-?)?review(?:ed|er|ing)?\b|\baudit\w*\b|\bdouble.?check\b|\bcritique\b|"
    r"\b(?:find|any) (?:any |all )?(?:bugs|issues|problems|gaps)\b"
)
_GRAVITY = Phrase(
    r"\W*(?:severity\W+)?(?:critical|blocking|p[0-2]|high|major|medium|important)\b"
    r"(?: (?:severity|priority|risk))?\s*[:)\]—–-]+\s*"
)
_FINDINGS = Phrase(
    r"\b(?:findings|issues?|problems?|bugs?|concerns?|risks?|gaps?|critical|substantive|high|"
    r"medium|blocking|blockers?)\b|問題|指摘|问题"
)
_ADVISES = re.compile(
    r"\W*(?:(?:[Ss]o|[Mm]y take)[:,] )?(?:(?:(?:[Mm]y |[Ff]inal |[Oo]verall )?[Rr]ecommendation|"
    r"[Mm]y (?:pick|vote|lean|preference)|[Bb]ottom line|[Rr]ecommended(?: path| approach)?)"
    r"(?: is|:)\s+(?=\S)|I(?:'d| would)? (?:strongly )?recommend(?: that)?\s+(?=\S)|"
    r"I(?:'d| would) (?=(?:go with|use|pick|choose|keep|drop|remove|add|move|split|skip|leave|make|"
    r"change|put|avoid|stick|replace|store|treat|default)\b))"
)
_SOFTLY = Phrase(r"\W*I(?:'d| would) (?!recommend)")
"""How advice begins that is none of the conclusions of a reply unless it is agreed to."""
_NO_ADVICE = Phrase(
    r"\W*(?:(?:option |approach )?\(?[a-e\d]\b(?! \(\w)|(?:that|this|these|it|if|not|to|"
    r"against|optional|approve|ship|review|update|check|run|commit|push|merge|rebase|start|test|verify|"
    r"implement in)\b)"
    r"|.*\b(?:if you|depending on|invoke|changelog|readme|next i|commit|PR|pull request|"
    r"/\w+:\w+)\b|.*\?$"
)
_PICKS = re.compile(
    r"\b(?:option|approach|number|do|use|using|with|take|pick|choose|try|prefer|want)"
    r"(?: (?:the|an?|option|approach|number))* #?(?P<what>[A-E]\b|\d\b|\w{4,})"
)
_SAME = names(
    "that this your these those them both what recommended suggested same changes fixes "
    "plan option approach you"
)
"""What a consent takes, and words that take what was recommended."""
_ASKS_ELSE = Phrase(
    r".*\b(?:commit|push|merge|PR|pull request|test|run|restart|deploy|first|other|next|also|"
    r"instead|or)\b.*\?$"
)
"""Last questions that a consent answers, not what was recommended before them."""
_CONSENTS = Phrase(
    r"\W*(?:(?:ok(?:ay)?|yes|yeah|yep|sure|great|perfect|cool|good|right|exactly)\b[,.! ]*)*"
    r"(?:ok(?:ay)?|yes|yeah|yep|sure|great|perfect|cool|agreed?|i agree|sounds \w+|go ahead|"
    r"go for it|do (?:it|that|this)|let'?s (?:do|go|use|apply|implement|build|add)|"
    r"implement (?:this|it|that|your)|make (?:this|that|the) change|please (?:do|implement|apply)|"
    r"your (?:recommendation|suggestion))\b(?!.*\b(?:but|however|instead|except|not|rather|maybe|"
    r"first|wait|why|what)\b|.*n't\b|.*\?)"
)
_DOUBTS = Phrase(
    r"\W*(?:na+h?|nope|no|really|but|hm+|wait|are you sure|i (?:do|will|prefer|doubt|disagree))\b|"
    r".*\b(?:can(?:'t|not) be (?:right|true)|are you sure|i(?:'d| would) (?:rather|prefer)|instead|"
    r"isn'?t (?:it|that)|(?:does|did|is|was)(?:n't| not) (?:true|right|correct))\b"
)
_RETRACTS = Phrase(
    r"\b(?:I (?:was|am) (?:wrong|mistaken)|I (?:conflated|misread|misspoke|misunderstood|"
    r"overstated)|my (?:earlier|previous) \w+|contrary to what I|I (?:said|claimed) earlier|"
    r"correction:|I stand corrected)|^\W*(?:you'?re|you are) (?:\w+ )?right\b|"
    r"失礼しました|訂正し|すみません|申し訳|对不起|抱歉|你说得对|我错了|entschuldig\w*"
)


def findings(
    session: SessionTurns, said: Mapping[str, Sequence[Said]], withdrawn: frozenset[str]
) -> Iterator[Moment]:
    """Yield what the turns tell that were asked something and changed nothing, one at most each.

    What later turns change may be so no more: then only what names none of their files and says a
    limit or a reason. `withdrawn` has the turns to which the next prompt objects.
    """
    later: set[str] = set()
    taken_back: list[frozenset[str]] = []
    moments: list[Moment] = []
    after: Turn | None = None
    doubted = False
    questions = _questions(session, said)
    for turn in reversed(session.turns):
        modified = touched(session, turn.records).modified
        if only_documents(modified):
            modified = []
        if not modified and turn.id not in withdrawn and not doubted:
            reply = [one for one in said[turn.id] if one.closing and not one.recap]
            told = _told(turn, questions.get(turn.id, EMPTY), reply, after, later)
            moments += [one for one in told if not _is_in(one.title, taken_back)][:1]
        later |= {base_name(path) for path in modified}
        after, doubted = turn, False
        for one, following in pairwise([*said[turn.id], *said[turn.id][-1:]]):
            if (one.closing or one.place <= _FIRST) and _RETRACTS.search(one.plain):
                doubted = doubted or one.place <= _FIRST
                taken_back.append(vocabulary_of(f"{one.plain} {following.plain}"))
    yield from reversed(moments)


def _questions(
    session: SessionTurns, said: Mapping[str, Sequence[Said]]
) -> dict[str, RedactedText]:
    """Return what each turn was asked by its typed prompt, and by that of the turn before, if the
    agent had not replied yet; without those that are too long."""
    questions: dict[str, RedactedText] = {}
    open_question = EMPTY
    for turn in session.turns:
        if turn.typed is not None:
            parts = [part for part in (open_question, own_words(turn.typed.text)) if part]
            if sum(map(len, parts)) <= _LONGEST_PROMPT:
                questions[turn.id] = join("\n", parts)
        replied = any(one.closing for one in said[turn.id])
        open_question = EMPTY if replied else questions.get(turn.id, EMPTY)
    return questions


def _is_in(title: RedactedText, others: Sequence[frozenset[str]]) -> bool:
    words = vocabulary_of(title)
    return any(
        len(words & other) >= max(_FEWEST_SHARED, _SHARED * min(len(words), len(other)))
        for other in others
    )


def _told(
    turn: Turn,
    question: RedactedText,
    reply: Sequence[Said],
    after: Turn | None,
    later: set[str],
) -> Iterator[Moment]:
    if not question:
        return
    next_prompt = own_words(after.typed.text).replace("’", "'") if after and after.typed else ""
    consents = len(next_prompt) <= _LONGEST_CONSENT and _CONSENTS.match(next_prompt) is not None
    if len(next_prompt.split()) <= _SHORT_CONSENT and reply and _ASKS_ELSE.match(reply[-1].plain):
        consents = False
    if _DOUBTS.match(next_prompt) and not consents:
        return
    yield from _advised(turn, question, reply, after if consents else None)
    if not later and _REVIEWS.search(question[:_HEAD_OF_A_PROMPT]):
        yield from _reviewed(turn, question, reply)
    limits = any(one.place <= _FIRST and _CANNOT.search(one.plain) for one in reply)
    if (limits or _ASKS.search(question)) and not _OF_THE_MOMENT.search(question):
        yield from _answered(turn, question, reply, later)


def _moment(
    turn: Turn,
    question: RedactedText,
    one: Said,
    title: RedactedText,
    told: Sequence[RedactedText],
) -> Moment:
    return Moment(
        type="discovery",
        anchor=one.record,
        began=one.record,
        turns=(turn,),
        title=title,
        narrative=[compose("Asked: {}", condensed(question, _QUESTION_LIMIT)), *told],
        facts=[told[0]],
        concepts=[compose("how-it-works"), compose("gotcha")],
    )


def _advised(
    turn: Turn, question: RedactedText, reply: Sequence[Said], consent: Turn | None
) -> Iterator[Moment]:
    """Yield what a reply recommends, once; as a decision if the next prompt consents."""
    advice = [
        (without_colon(one, whole_only=True), label.end())
        for one in reply
        if (label := _ADVISES.match(one.plain))
    ]
    if len(advice) != 1:
        return
    one, begin = advice[0]
    text = one.text.cut(begin)
    if not readable(text) or _NO_ADVICE.match(text) or len(text.split()) < _FEWEST_WORDS:
        return
    if consent is not None and consent.typed is not None and _takes_other(consent.typed.text, text):
        return
    after = (other for other in reply if other.place > one.place)
    beside = [other.text for other in after if _holds(other)][:2]
    told = [compose("The agent recommended: {}", text), *beside]
    if consent is None or consent.typed is None:
        if NAME.search(text) and not _SOFTLY.match(one.plain):
            yield _moment(turn, question, one, compose("Recommended: {}", text), told)
    else:
        moment = _moment(turn, question, one, compose("Agreed: {}", text), told)
        yield replace(
            moment,
            type="decision",
            anchor=consent.typed,
            turns=(turn, consent),
            concepts=[TRADE_OFF],
        )


def _takes_other(consent: str, advice: str) -> bool:
    """Return True if a consent names what it takes, and the advice does not name that."""
    taken = {match["what"] for match in _PICKS.finditer(consent)}
    words = {word.lower() for word in taken if len(word) > 1} - _SAME
    labels = {word for word in taken if len(word) == 1}
    return any(word not in advice.lower() for word in words) or any(
        re.search(rf"\b{label}\b", advice) is None for label in labels
    )


def _reviewed(turn: Turn, question: RedactedText, reply: Sequence[Said]) -> Iterator[Moment]:
    """Yield what a review found, as one."""
    listed = [one for one in reply if _is_finding(one)]
    texts = [
        one.text.cut(label.end()) if (label := _GRAVITY.match(one.text)) else one.text
        for one in listed
    ]
    verdict = [one.text for one in reply if _concludes(one) and not one.sentence.item][:1]
    if texts:
        told = [*verdict, *texts][:_MOST_BESIDE]
        yield _moment(turn, question, listed[0], told[0], told)


def _is_finding(one: Said) -> bool:
    text, above = one.plain, f"{one.sentence.heading} {one.sentence.lead}"
    if not (_GRAVITY.match(text) or (one.sentence.item and _FINDINGS.search(above))):
        return False
    if one.sentence.before or not readable(text) or not NAME.search(text):
        return False
    return not (
        any(rule.search(text) for rule in (PLANNING, DID, _PROCESS)) or states_nothing(text)
    )


def _answered(
    turn: Turn, question: RedactedText, reply: Sequence[Said], later: set[str]
) -> Iterator[Moment]:
    """Yield the answer to a question: how something is, in the conclusion of the reply or its first
    sentences."""
    reply = [without_colon(one, whole_only=True) for one in reply if one.record is reply[0].record]
    if sum(len(one.text) for one in reply) < _SHORTEST_REPLY:
        return
    concluding = (place for place, one in enumerate(reply) if _concludes(one))
    researched = not later and any(_RESEARCHES.search(one.tool_name) for one in turn.records)
    leading = (
        place
        for place, one in enumerate(reply)
        if _leads(one) and (researched or _LIMITS.search(one.plain))
    )
    place = next(chain(concluding, leading), None)
    if place is None:
        return
    one = reply[place]
    supporting = (other.text for other in reply[place + 1 :] if _supports(other))
    beside = list(islice(supporting, _MOST_BESIDE))
    if later:
        texts = (one.text, *beside, question)
        if not _LIMITS.search(one.plain) or _DENIES.search(one.plain):
            return
        if any(name in text for name in later for text in texts):
            return
    label = _CONCLUDES.match(one.text)
    title = one.text.cut(label.end()) if label and _is_labelled(one) else one.text
    asked = condensed(question, _QUESTION_LIMIT)
    is_short = _FEWEST_LETTERS <= len(asked) <= _QUESTION_IN_TITLE
    if is_short or POINTS_BACK.match(title) or _AFFIRMS.match(title):
        title = compose("{} → {}", shorten(asked, _QUESTION_IN_TITLE), title)
    yield _moment(turn, question, one, title, [one.text, *beside])


def _concludes(one: Said) -> bool:
    sentence = one.sentence
    headed = _CONCLUDES.match(sentence.heading) is not None and not sentence.before
    headed = headed or (_SUMS_UP.match(sentence.heading) is not None and not sentence.item)
    return (headed or _is_labelled(one)) and _states(one)


def _is_labelled(one: Said) -> bool:
    label = _CONCLUDES.match(one.plain)
    return label is not None and one.plain[: label.end()].rstrip().endswith((":", "：", "—"))


def _leads(one: Said) -> bool:
    return one.place <= _FIRST and not one.sentence.item and _states(one)


def _supports(one: Said) -> bool:
    if POINTS_BACK.match(one.text) or _PROPOSES.search(one.sentence.lead):
        return False
    return _holds(one)


def _states(one: Said) -> bool:
    """Return True if a sentence says how something is and stays, in a name and a verb."""
    text = one.plain
    if not (has_no_blanks(text) or (NAME.search(text) and _VERB.search(text))):
        return False
    return not _STATE.search(text) and _holds(one)


def _holds(one: Said) -> bool:
    text = one.plain
    if not readable(text) or text.endswith(("?", "？")) or _PROPOSES.search(one.sentence.heading):
        return False
    if any(rule.search(text) for rule in (PLANNING, DID, NOW, DOUBTFUL, GUESSED, _PROCESS)):
        return False
    return not (_LEADS_IN.match(text) or done_score(one) > 0 or states_nothing(text))
