"""Decisions by choice: the human's answers to questions that the agent asked, by a tool or not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memory_assets.models import RedactedRecord, Turn
from memory_assets.observations.moments import TITLE_LIMIT, Moment, stated
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis.phrases import Phrase, shorten, unescaped
from memory_assets.session_analysis.sentences import own_words, plain_text, sentences

TRADE_OFF = compose("trade-off")
_RECOMMENDED = re.compile(r"\s*\(Recommended\).*")
_ANSWERED = re.compile(
    r"(?:User has answered your questions?|Your questions have been answered):\s*"
)
_ANSWER = re.compile(
    r"\"(?P<question>[^\n]{8,600}?)\"\s*=\s*\"(?P<answer>[^\"\n]{1,300})\"(?!\s*=)"
)
_JSON = r"\"(?:[^\"\\]|\\.)"
_ASKED_FOR = re.compile(rf"\"id\":\"(?P<id>[\w-]+)\"[^{{}}]*?\"question\":(?P<question>{_JSON}*\")")
_GIVEN = re.compile(rf"\"(?P<id>[\w-]+)\":\{{\"answers\":\[(?P<answer>{_JSON}{{1,300}}\")")
_PICKED = Phrase(
    r"\W*(?:(?:ok(?:ay)?|yes|yeah|or|so|then|hmm+|sure)[,. ]+|no[,.] ?)*"
    r"(?:(?:let'?s|i'?d|i|we|please|can you|you can|just) ){0,2}"
    r"(?P<verb>(?:do|go with|go for|take|pick|choose|try|prefer|like it to do|want) )?"
    r"(?:option |number |approach |#)?"
    r"(?P<labels>(?:[a-e]|\d)(?:(?:, ?and |, ?| and | ?& ?)(?:[a-e]|\d))*)"
    r"(?: works(?: (?:for me|fine|well))?\W*"
    r"| (?:for now|please|then|makes sense|(?:is|sounds|(?:does )?seems?|looks)(?: \w+)? "
    r"(?:good|great|fine|best|better|right|ok(?:ay)?|nice|reasonable|simple[rst]*|safe[rst]*))\b.*"
    r"|[.!]?|(?(verb)[.,;!].*|, (?:but|and|then|please)\b.*))$"
)
_LABEL_FIRST = re.compile(
    r"(?:(?:[Yy]es|[Oo]k)[, ]+)?(?:to )?(?:[Oo]ption )?"
    r"(?P<labels>(?:[B-E]|\d|(?<=ption )A)[.):,;]?|A[.):,;])\s+"
    r"(?:[Ww]/|(?:[Pp]lease|[Ww]ith|(?:[Aa]lso|[Tt]hen)(?! (?:\w+s|was|had|will|can|could|would)"
    r"\b)|[Ff]or now|[Ll]et'?s|[Aa]nd (?:then|also|please|with)|"
    r"[Bb]ut (?!(?:it|that|this|is|i|I)\b))\b)(?=(?:\W+\w+){2})"
)
"""A label, and words that take it and add something: others may speak of what it stands for."""
_REFUSES = Phrase(
    r"n't\b|\b(?:no|not|never|none|neither|nor|cannot|dont|bad|wrong|wors[et]|too \w+|slow\w*|"
    r"los(?:e|es|ing|t|s)|terribl[ey]|poor\w*|ugly|overkill|hate|dislike|fear|worr\w+|doubt\w*|"
    r"unacceptable|reject\w*|avoid\w*|against|over|fail\w*|crash\w*|br(?:eak|oke)\w*|unless|risky?)\b"
)
_OTHER_LABEL = re.compile(r"\b[A-E]\b")
_AGREES = Phrase(
    r"\W*(?:yes|yep|yeah|yup|ok(?:ay)?|sure|go(?: ahead| for it)?|do it|sounds good|agreed|"
    r"please do|好的?|可以|はい|お願いします|それで|ja)\W*$"
)
_RECOMMENDS = re.compile(
    r"\b(?:[Rr]ecommend(?:ation|ing)?|[Pp]refer(?:ence)?|lean(?:ing)?)\b\W+(?:(?:is|would be|to|"
    r"towards?|go|going|with|for|do|doing|us(?:e|ing)|tak(?:e|ing)|[Oo]ption|approach)\W+)*"
    r"(?P<labels>[A-E]|\d)\b(?![.,]\d)"
)
_GO_AHEAD = Phrase(
    r"(?:^|[—–,;:] )\W*(?:so,? |then,? )?(?:which one|ok(?:ay)?|agreed|proceed|go ahead|"
    r"sounds? (?:good|right|ok(?:ay)?)|(?:(?:shall|should|can|may) (?:i|we)|(?:do you )?want me to|"
    r"would you like me to) (?:proceed|go ahead|go (?:with|for)|do|implement|build|use|take)"
    r"(?: with)?(?: (?:it|that|this|so|(?:option )?(?P<label>[a-e]|\d)))?(?: then| now| here)?)"
    r"\W*\?\W*$"
)
"""Questions that end a message and that a yes answers by what was recommended."""
_PART = re.compile(r"(?<=[.!?])\s+|\n+")
_OPTION = Phrase(
    r"\s*(?:[-*+•|]\s+)?(?:#{1,4}\s+)?(?:\*\*)?\(?(?:option )?(?P<label>[a-e]|\d)"
    r"(?:[.):]|\*\*)+\s*(?:[-–—:]\s*)?(?P<text>\S.{6,})$"
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_FEWEST_WORDS = 7
"""Of an option; of shorter ones that were judged, three in four told nothing by themselves."""
_LONGEST_PICK = 220
_ASKS = Phrase(r"[?？]|\b(?:tell me|explain|why|how|what)\b")
_ASKING = 900
"""Characters at the end of a message in which a question makes its list one of options."""
_OFFERS = Phrase(
    r"\b(?:which|prefer|closest|fits best|best fit|what would you like|(?:or|want) [^.?!\n]{3,160})"
    r"[^.!\n]{0,160}\?|\bwant (?:me )?to\W*:"
)
_CLARIFIES = Phrase(
    r"\b(?:do you mean|did you mean|clarify|are you (?:referring|asking|seeing|talking)|"
    r"repl(?:y|ies) with a number)\b"
)
_PROCESS = Phrase(
    r".*[:?]$|\W*(?:all of (?:the above|them)|everything\b|"
    r"proceed|continue|go (?:on|ahead)|stage|commit|push|merge|review|walk|verify|"
    r"start\b|stop|wait|nothing|something else|done|resume|show|inline execution|subagent|"
    r"run |test |load |investigate|fix|close|check|rebase|debug|try |mark |"
    r"keep (?:it|them) |.*\b(?:(?:commit|push|delete) (?:and|it|this|to|now|the)|your branch|"
    r"i(?:'ll| can| will))\b)"
)
_CELL_ENDS, _TAIL = (
    re.compile(r"\s*\|\s*(?=\S)"),
    re.compile(r"[\s|]+\Z|,? (?:or|and)\Z|(?<=[.!]) [^.!]*:\Z"),
)
"""Between the cells of a row, and what stands at the end of an option for the sake of its list."""
_GOES_ON = Phrase(
    r"like to (?:do|proceed|continue|handle)\b|\bproceed\b|\bready to\b|\b(?:shall|should) i\b|"
    r"^(?:is|are|have|has|did|does|do you (?:have|mean)|can|could|who)\b|"
    r"\bwhat(?:'s| is) (?:\S+ ){0,2}(?:your|ip|name|email|url|address)\b|\bplease run\b|\bsudo\b|"
    r"^which (?:\w+ )?(?:prs?|pull requests?|issues?|todos?|tickets?|files?|phases?|claims?)\b|"
    r"\b(?:look|sound)s? right\b|\bre(?:work|start|produce)\b|\b(?:do|did) you mean\b|"
    r"\b(?:start with|first|next|today|focus|sequence|priorit\w+|tackle|autonomous|thorough|"
    r"upload|track(?:ed)?|commit\w*|branch\w*|prs?|pull requests?|push\w*|merge[ds]?|rebase|"
    r"worktree|sessions?|tasks?|todos?|planning|phases?|milestones?|sprint|roadmap|review|"
    r"restart|install\w*|audit\w*|verify|investigat\w+|analy[sz]\w+|progress|backlog|"
    r"(?:the|of|in) scope|dispatch\w*|budget|spend|docs?|documentation|readme|changelog|guide|"
    r"report|add (?:\w+ )?tests|initiali[sz]e)\b"
)
"""Questions about how to go on with the work, or for what the human knows."""
_NO_CHOICE = Phrase(
    r"^(?:yes|no|ok(?:ay)?|sure|continue|proceed|done|n/?a|none|stop|restore|cancel|later|all|"
    r"everything|#?\d+)\b.{0,12}$|^both(?: options)?$|"
    r"^(?:skip|there (?:is|are)|i'll|help|explain|show|what|how|why|can|could|wait|i think|i would|"
    r"i'd|let me|all of|confirm|approve|revise|honestly)\b|"
    r"\b(?:these|above|branch|milestone|commit|session|execute|proceed|continue|start|stop|skip|"
    r"later|done|now|first|next|push|plan|discuss|looks good|draft|run|verif\w+|research|analysis|"
    r"help me|explain|not yet|not sure|recommend|everything)\b|[?,]$"
)
"""Answers that choose nothing, or only how to go on."""
_LONGEST_CHOICE = 60
"""Characters of an answer; what is longer was typed, and has no room in a title."""


def chosen(turn: Turn, before: Turn | None) -> Iterator[Moment]:
    """Yield the choices of a turn: answers to a tool that asks, and a prompt that names options
    which the turn `before` ended with."""
    for record, pairs in answers(turn):
        if pairs := [pair for pair in pairs if _decides(*pair)]:
            facts = [compose("{} {}", question, answer) for question, answer in pairs]
            question, answer = pairs[0]
            title = compose("{} → {}", shorten(question, TITLE_LIMIT - len(answer) - 3), answer)
            account = [compose("The user chose, when asked."), *facts[:3]]
            yield stated("decision", (turn,), record, title, account, facts, [TRADE_OFF])
    if before is not None and turn.typed is not None:
        yield from _picked(turn, turn.typed, before)


def _decides(question: str, answer: str) -> bool:
    """Return True if an answer decides about the product: neither it nor its question is about how
    to go on."""
    asked, said = question.replace("’", "'"), answer.replace("’", "'")
    about_the_way = _GOES_ON.search(asked) or _NO_CHOICE.search(said)
    return not about_the_way and len(answer) <= _LONGEST_CHOICE


def answers(
    turn: Turn,
) -> Iterator[tuple[RedactedRecord, list[tuple[RedactedText, RedactedText]]]]:
    """Yield each result of a tool that asks, with its questions and answers."""
    asked: dict[str, RedactedText] = {}
    for record in turn.records:
        if record.tool_name == "request_user_input":
            if record.kind == "tool_use":
                asked = {
                    match["id"]: _unquoted(record.text, match, "question")
                    for match in _ASKED_FOR.finditer(record.text)
                }
            else:
                given = _GIVEN.finditer(record.text)
                pairs = [
                    (asked[match["id"]], _answer(_unquoted(record.text, match, "answer")))
                    for match in given
                    if match["id"] in asked
                ]
                yield record, pairs
        elif record.kind == "tool_result" and (opening := _ANSWERED.search(record.text)):
            given = _ANSWER.finditer(record.text, opening.end())
            pairs = [
                (
                    record.text.cut(*match.span("question")).squeezed(),
                    _answer(record.text.cut(*match.span("answer"))),
                )
                for match in given
            ]
            yield record, pairs


def _unquoted(text: RedactedText, match: re.Match[str], group: str) -> RedactedText:
    start, end = match.span(group)
    return unescaped(text.cut(start + 1, end - 1)).squeezed()


def _answer(text: RedactedText) -> RedactedText:
    return text.sub(_RECOMMENDED, "").squeezed()


def _picked(turn: Turn, prompt: RedactedRecord, before: Turn) -> Iterator[Moment]:
    words = own_words(prompt.text).squeezed()
    message = _last_message(before)
    if message is None or words.endswith(("?", "？")):
        return
    end = message.text[-_ASKING:]
    asks = "?" in end or "？" in end
    offers = (_RECOMMENDS.search(end) or _OFFERS.search(end)) is not None
    named = _PICKED.match(words) if len(words) <= 160 else None
    if named is not None:
        offers = offers and (asks or bool(named["verb"]))
    elif _AGREES.match(words):
        named = _advised(end)
    elif len(words) <= _LONGEST_PICK and not _ASKS.search(words):
        named = _LABEL_FIRST.match(words)
    if named is None or not offers or _CLARIFIES.search(end):
        return
    rest = "" if _AGREES.match(words) else words[named.end("labels") :].replace("’", "'")
    plainly = named.groupdict().get("verb") is not None
    if _OTHER_LABEL.search(rest) or (not plainly and _REFUSES.search(rest)):
        return
    options = _options(message.text)
    labels = re.findall(r"[a-e]|\d", re.sub(r"\band\b", "", named["labels"].lower()))
    picked = [options[label] for label in labels if label in options]
    picked = [option for option in picked if not _PROCESS.match(option)]
    if not (len(labels) == len(picked) == 1 and _describes(picked[0])):
        return
    title = compose("Chosen: {}", shorten(picked[0], 110))
    asked = [one.text for one in sentences(message.text.cut(-_ASKING)) if one.text.endswith("?")]
    question = [compose("Asked: {}", one) for one in asked[-1:]]
    account = [compose("The user chose among options."), *question]
    yield stated("decision", (before, turn), prompt, title, account, picked, [TRADE_OFF])


def _advised(end: str) -> re.Match[str] | None:
    """Return the one recommendation in the end of a message that a yes takes up: none where the
    sentence speaks against or of two, or where the last question asks for something else."""
    parts = _PART.split(end.rstrip().replace("’", "'"))
    advice = [
        match
        for part in parts
        if not _REFUSES.search(part) and len({*_OTHER_LABEL.findall(part)}) <= 1
        for match in [_RECOMMENDS.search(part)]
        if match is not None
    ]
    asked = _GO_AHEAD.search(parts[-1])
    labels = {match["labels"] for match in advice}
    if asked is None or len(labels | ({asked["label"].upper()} if asked["label"] else set())) != 1:
        return None
    return advice[0] if advice else None


def _last_message(turn: Turn) -> RedactedRecord | None:
    """Return the last words of a turn; None if they are a subagent's."""
    message = next((r for r in reversed(turn.records) if r.kind == "assistant_text"), None)
    return message if message is not None and message.agent_id is None else None


def _describes(option: RedactedText) -> bool:
    """Return True unless an option is a name in few words, which says little by itself."""
    return len(_WORD.findall(option)) >= _FEWEST_WORDS


def _options(text: RedactedText) -> dict[str, RedactedText]:
    """Return the options that a message lists, by label; of two with one label the last."""
    options: dict[str, RedactedText] = {}
    lines: Sequence[RedactedText] = text.lines()
    for line in lines:
        if option := _OPTION.match(line):
            told = plain_text(line.cut(option.start("text"))).sub(_TAIL, "").sub(_CELL_ENDS, ": ")
            options[option["label"].lower()] = told
    return options
