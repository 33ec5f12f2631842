"""Sentences on work that a session left open, and standing instructions of its user.

Readers of these sentences did not see the session, so each kind has the narrowest rule that finds
most of them: a miss costs less than a wrong hit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain

from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis.phrases import Phrase, distinct
from memory_assets.session_analysis.sentences import Sentence, parse_sentences
from memory_assets.word_lists import word_set

_SHORTEST = 12
_LONGEST = 320
_LONGEST_INSTRUCTION = 160
_MOST_UNDER_A_HEADING = 2
_NEAR = 60
"""Characters after an open end in which a negation may follow."""
_HEADING = Phrase(
    r"^\W*(?:next|next (?:steps?|up|actions?)|what'?s (?:next|left|still (?:open|missing))|"
    r"(?:still )?(?:remaining|outstanding|pending)(?: \w+)?|to-?dos?|follow-?ups?|left to do|"
    r"still (?:to do|open)|open (?:items?|questions?|issues?)|not (?:yet )?(?:done|covered))\W*$"
)
_UNDONE = r"(?:uncommitted|unpushed|untested|unverified)\b"
OPEN = Phrase(
    r"(?:\bnot|n't)(?: (?:yet|been|be|actually|get|got))* "
    r"(?:pushed?|committed?|merged?|deploy(?:ed)?|released?|published?|tested|verified|verify|wired|"
    r"implement(?:ed)?|started?|finished?|applied|covered yet|done|run)\b(?! into)|"
    rf"\b{_UNDONE}|"
    r"\bremaining (?:work|steps?|items?|tasks?|issues?|questions?|todos?|blockers?|parts?)\b|"
    r"^\W*remaining\b|\bremaining\W*$|\bremains? (?:to be|open)\b|"
    r"(?:^\W*|\b(?:is|are|remains?|still|left|the|an?|one|two|\d+) )unresolved\b|"
    r"\b(?:outstanding|left to do|still (?:to do|open|missing|todo|pending)|is pending|"
    r"are pending|what's left|to be done|needs? (?:your|manual|a human)|blocked (?:on|by)|"
    r"(?:^\W*|(?:is|are|am|'m|'re|'s|still|now|been) )waiting (?:on|for)|"
    r"say the word|when you're ready|"
    r"ready (?:to|for) (?:commit|push|merge|deploy|review)|follow-?ups?|not yet)\b|"
    r"\bto-?dos?\b(?=\W*:| (?:is|are|remain\w*|left|for the)\b)|"
    r"\b(?:still|currently) (?:fails?|failing|broken|needs?|does(?:n't| not)|cannot|can't)\b|"
    r"\byou(?:'ll| will)? (?:still )?need to\b|^\W*next(?: steps?| up)?: |"
    r"(?<!that )\bnothing (?:is |was |has been )?(?:pushed|committed|deployed)"
    r"(?: or \w+)?(?: yet| so far| anywhere| to (?:\S+ )?\S*\w)?\b"
    r"(?! (?!(?:because|since|as|and)\b)\w)(?!, but\b)|"
    r"^\W*(?:quit and )?(?:restart|relaunch|reload) (?:(?:the|your|this|it|both|all)\b|"
    r"(?:(?!(?:is|are|was|of|not|will|can)\b)[\w.-]+ ){1,3}(?:to|so that)\b)|"
    r"\bneeds? a restart\b|"
    r"^\W*(?:下一步|接下来|次の?ステップ|次は)"
)
OFFER = Phrase(
    r"^\W*(?:(?:so|ok|okay|or|and)[, ]+)?(?:would you (?:like|prefer|rather)|do you want|"
    r"want me to|should (?:I|we)|shall (?:I|we)|which (?:one|option|of|would|do)|"
    r"let me know (?:which|whether|when|if you(?:'d| would)? (?:want|like|prefer))|"
    r"if you(?:'d)? (?:like|want)[^.]*, I can)\b|"
    r"\b(?:want me to|would you like me to|do you want me to|shall I|should I)\b[^.]*\?|"
    r"^\W*(?:需要|要不要|是否).*[吗？?]|(?:よい|いい|します|しましょう)か\W*$"
)
NOT_LEFT = Phrase(
    r"\b(?:no|nothing|none|zero|without|never mind)"
    r"(?: (?:is|are|was|else|other|more|further|code))* "
    r"(?:left|remaining|outstanding|pending|unresolved|open|follow-?ups?|todos?|uncommitted|"
    r"remains?)\b|"
    r"\b(?:all|every|the) (?:of the |other )?(?:remaining|outstanding|pending)[^.]{0,40}"
    r"(?:\bdone|fixed|resolved|addressed|pass\w*|complete\w*|updated|removed)\b|"
    r"\b(?:doesn't|don't|does not|do not|needn't) (?:yet )?(?:need|have) (?:to|a restart)\b|"
    r"\b(?:not|n't|no longer) (?:needed|necessary|required)\b|"
    r"\b(?:pre-?existing|intentionally|deliberately|by design|as (?:requested|asked|you asked)|"
    r"other than|instead of|rather than|but (?:it |they )?now)\b"
)
"""Sentences that name open work only to say that there is none, or that it is not to be done."""
_LEFT_UNDONE = Phrase(
    rf"^\W*(?:(?:an?|one|two|\d+|some|all|the|my|also|still) )*{_UNDONE}"
    r"(?! (?:[\w-]+ ){1,3}(?:is|are|gets?|can|will|must)\b(?! (?:still|left|in|on|at)\b))|"
    r"(?:(?<!that )\b(?:is|are|was|were|remains?|stays?|still|left|now|but)|\bit's)"
    rf"(?: (?:local|dirty|staged|untracked)(?:,| and| but)?)* {_UNDONE}|"
    r"(?:\b(?:I|we|you|there|branch|checkout|directory|repo|repository|\w*tree)|\S/\S+)"
    rf"(?: \w+)? (?:have|has|is|are)(?: [\w,]+){{0,3}} {_UNDONE}|"
    rf"\b(?:leaves?|left) [^.]{{1,80}} {_UNDONE}(?=\W*$|[,;]| (?:for|after|until)\b)|"
    rf"[(—–] ?(?:still |local,? )?{_UNDONE}"
)
"""The state of this work, not what a product does with uncommitted files."""
_UNDONE_ALONE = re.compile(_UNDONE)
_OF_A_PRODUCT = Phrase(
    rf"\b(?:if|when(?:ever)?|whether|which|unless|while|until)\b[^.,;:]{{0,40}}\b{_UNDONE}|"
    r"\b(?:lists|shows|counts|prints|marks|hides|skips|ignores|refuses) [^.;]{0,60}\bnot (?:yet )?"
    r"(?:pushed|committed|merged|tested)\b"
)
"""Conditions, and what a program does with what is not committed."""
_PLANS = Phrase(
    r"^\W*(?:(?:now|next|first|then|good|great|ok(?:ay)?)[,.!]* )*"
    r"(?:I'll|I'm|I am|I can|let me|let's)\b"
)
"""Announcements of the agent's next action: the message was cut off, and the action followed."""
_COMMIT = re.compile(r"\W*(?=[a-f]*\d)[0-9a-f]{7,40}\b")
"""A sentence that begins with a commit describes its content."""
_CONDITION = Phrase(r"^\W*(?:if|when|once|unless|depending|even (?:if|when|with|though))\b")
_ONCE_AND_FOR_ALL = Phrase(
    r"(?:^|[,;:(.] ?)(?:[-*•] ?)?(?:please |but |and |also |so |ok |okay |again,? |as always,? )*"
    r"(?:(?:always|never|prefer) (?!\w+(?:ed|s)\b)[a-z]"
    r"|let's (?:always|never|keep|stick (?:to|with)) [a-z]"
    r"|let's use [^.]* (?:instead of|rather than) "
    r"|(?:don't|do not|stop) (?:ever )?[a-z]+\b[^.]*\b(?:ever|unless|anymore|any more|again|"
    r"without (?:asking|my)|until I|in this (?:repo|project|codebase))\b"
    r"|(?:remember (?:that|to) [a-z]))"
    r"|\bfrom now on\b|\bgoing forward\b|\bin (?:the )?future,? (?:always|never|please|don't|do)\b"
    r"|(?<!that )(?<!this )(?<!it )\b(?:must|should) (?:never|always) [a-z]"
    r"|\bwe (?:explicitly |really |definitely )?(?:don't|do not|never) want (?!to\b)[a-z]"
    r"|\bwe (?:need to |should |must )?(?:also )?(?:need to )?make sure (?:that )?all [a-z]"
    r"|(?:^|[,;:(.] ?|\b(?:but|and|however),? )(?:please )?(?:don't|dont|do not) "
    r"(?:commit|push|publish|share|edit|use) (?!it\b|this\b|that\b|these\b)[a-z]"
    r"|\bi (?:only want|don't want to (?:use|pay)|dont want to (?:use|pay)) [a-z]"
    r"|(?:不要|别(?!人|的|处)|禁止)(?!.*[吗么？])|(?:使わ|し|せ)ないで"
    r"|^\W*bitte .{0,60}\b(?:nicht|keine?n?)\b"
)
_NOT_STANDING = Phrase(
    r"\b(?:can|could|would|should|why|how|what|when did|did) "
    r"(?:you|we|I|it|this|that|not)\b|\?$|"
    r"\b(?:never|always) "
    r"(?:saw|seen|got|had|been|was|were|is|are|worked|works|happens|happened)\b|"
    r"\b(?:right now|for now|for the moment|this time|just this|yet)\b|"
    r"\b(?:error|warning|exception):"
)
_WORD = re.compile(r"[^\W\d_]{3,}|\w*[_\d/]\w*")
_EMPTY_WORDS = word_set(
    "the and for you are was not yet how why can did its let one way now but all any has had "
    "which what when would could should shall like want next steps step then this that these those "
    "there here with from your yours have them they with also else more less need needs remaining "
    "outstanding todo pending still open left following option options first other anything "
    "something everything done know make sure push commit repo repository changes"
)
"""Words without information in a single sentence."""
_QUOTED = re.compile(r"\"[^\"]{12,}(?:\"|$)|“[^”]{12,}(?:”|$)|^>.*$", re.M)
"""Quotations of other texts, which are no requests."""
_PIECE = re.compile(r"(?<=[.!?\n;])\s+|\n")


def open_ends(message: RedactedText) -> list[RedactedText]:
    """Return the sentences of a closing message that name what was left to do or to decide: an
    offer or a question with which it ends, then the others in their order."""
    parts = [part for part in parse_sentences(message) if _is_specific(_with_straight_quotes(part))]
    offers = [part.text for part in parts[-2:] if OFFER.search(_with_straight_quotes(part))]
    return distinct([*offers, *left_open(message)])


def left_open(message: RedactedText) -> list[RedactedText]:
    """Return the sentences of a closing message that name what was left to do, at most
    `_MOST_UNDER_A_HEADING` of a list of them."""
    named: list[RedactedText] = []
    under: Counter[tuple[str, str]] = Counter()
    for part in parse_sentences(message):
        place = (part.heading, part.lead)
        if _is_specific(_with_straight_quotes(part)) and is_open(part, is_first=not under[place]):
            under[place] += 1
            if under[place] <= _MOST_UNDER_A_HEADING:
                named.append(part.text)
    return named


def _is_specific(text: str) -> bool:
    """Whether a sentence names its subject, so that it can be read alone."""
    words = {word.lower() for word in _WORD.findall(text)} - _EMPTY_WORDS
    return len(text) >= _SHORTEST and len(words) > 1


def is_open(part: Sentence, *, is_first: bool = True) -> bool:
    """Return True if a sentence names open work, by its words or by its heading; a sentence below a
    heading that is no item only if it `is_first`."""
    text = _with_straight_quotes(part)
    if len(text) > _LONGEST or text.endswith((":", "?")) or _CONDITION.match(text):
        return False
    opened = OPEN.search(text)
    if opened and _UNDONE_ALONE.fullmatch(opened[0]) and not _LEFT_UNDONE.search(text):
        opened = None
    near = text[: opened.end() + _NEAR] if opened else text
    if any(rule.search(near) for rule in (NOT_LEFT, _OF_A_PRODUCT, _PLANS)) or _COMMIT.match(text):
        return False
    listed = (part.item and _HEADING.search(part.lead)) or _HEADING.search(part.heading)
    return bool(opened or (listed and (part.item or is_first)))


def _with_straight_quotes(part: Sentence) -> str:
    return part.text.replace("’", "'")


def standing_instructions(prompt: str) -> Iterator[str]:
    """Yield the sentences of a prompt that hold beyond this session: always, never, from now on,
    let's keep, we don't want."""
    pieces = _PIECE.split(_QUOTED.sub(" ", prompt.replace("’", "'")))
    sentences = (" ".join(piece.split()).strip("-*• ") for piece in pieces)
    clauses = (
        sentence.split(", ") if len(sentence) > _LONGEST_INSTRUCTION else [sentence]
        for sentence in sentences
    )
    for words in chain.from_iterable(clauses):
        if not _SHORTEST <= len(words) <= _LONGEST_INSTRUCTION or _NOT_STANDING.search(words):
            continue
        if _ONCE_AND_FOR_ALL.search(words):
            yield words
