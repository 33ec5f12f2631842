"""What the agent found out by the way, and said between a look and what it did thereupon.

A finding is told by its place: the agent looked at something (a call failed, a file was read), said
how things are, and then changed something or ended its turn. Words decide only whether a sentence
says that something is amiss, is needed or has a limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memory_assets.models import RedactedRecord, Turn
from memory_assets.observations.linear import NAME
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis.failures import Run, may_change
from memory_assets.session_analysis.files import tool_kind
from memory_assets.session_analysis.open_ends import left_open
from memory_assets.session_analysis.phrases import EMPTY, Phrase
from memory_assets.session_analysis.scores import CAUSE, DID, NOW, PLANNING, states_nothing
from memory_assets.session_analysis.sentences import sentences
from memory_assets.session_analysis.statements import POINTS_BACK
from memory_assets.writing_systems import IDEOGRAPHIC

SHORTEST, LONGEST = 28, 260
_LONGEST_AROUND = 2 * LONGEST
"""Characters of a sentence with what announces it and what is done thereupon. A longer one is
pasted: no pattern is tried on it, some of which would try each place in a run of punctuation."""
_COLON = re.compile(r":\Z")
_LOOKED_AT = 6
"""Sentences at the beginning of a message: what was found stands there, what was done after it."""
_IDEOGRAPH = re.compile(f"[{IDEOGRAPHIC}]")
_LATIN = re.compile(r"[A-Za-z]{3,}")
_PATH = re.compile(r"[a-z_]{2,}/(?=[\s.,]|$)|(?:^| )\.\w{2,}")
_WORD = re.compile(rf"[^\W\d_{IDEOGRAPHIC}]{{3,}}")
_AMISS = Phrase(
    r"n't\b|\b(?:not|cannot|no|never|only|missing|lacks?|needs?|requires?|must|fail(?:s|ed|ing)?|"
    r"because|caus(?:e|ed|es)|instead|wrong|bug|too|without|conflict\w*|broken|breaks?|hard-?cod\w+|"
    r"ignor\w+|exclud\w+|exceeds?|overrid\w+|reject(?:s|ed)|den(?:y|ied|ies)|stale|unsupported|"
    r"deprecated|silently|pre-existing|buried|accidental\w*|actual(?:ly)?|so|before|"
    r"nicht|keine?n?|fehlt|fehlgeschlagen|weil|muss|nur|ursache|falsch)\b"
    r"|不|没|無|无|缺|错|原因|导致|限制|必须|因为|太|只|拒绝|失败|冲突|已存在"
    r"|ない|ません|ため|必要|失敗|誤|問題|対象|足り|古い"
)
"""What says that something is amiss, needed or limited."""
_REASON = Phrase(
    r"\b(?:because|due to|so|why|caus(?:e|ed|es)|instead|rather than|means|too|exceeds?|requires?|"
    r"pre-existing|only (?:when|if|looks?|fires?|works?|reads?|supports?|uses?)|"
    r"weil|daher|deshalb)\b"
    r"|[,;] not\b|\b(?:not|n't) .*\bbut\b|(?:does(?:n't| not)|cannot|can't) (?:support|see|handle)|"
    r"\bwhich (?:is|makes|means|does)\b"
    r"|原因|因为|导致|所以|限制|不支持|不符合|缺少|没有|太|不是|ため|ので|から、|のみ|対象"
)
"""What gives a reason, or says what it is that is not as it was taken to be."""
_ANNOUNCES = Phrase(
    r"\W*(?:[^:：.—–]{0,80}\b(?:found|issues?|problems?|bugs?|cause|case|quirk|gap|detail|error|"
    r"catch|culprit|mismatch|reason|finding|insight|ursache|fehler)\b[^:：.—–]{0,40}[:：]"
    r"|(?:[^:：.—–]{0,40}\b(?:issues?|problems?|bugs?|cause|culprit|ursache|fehler)"
    r"|found (?:it|the \w+)) ?[—–]+"
    r"|[^:：—–]{0,16}(?:原因|问题|問題)[^:：—–]{0,8}(?:[:：]| ?[—–]+))\s*(?=\S)"
)
"""How a sentence says that it comes to what was found."""
_FAULT = Phrase(r"issue|problem|bug|cause|quirk|culprit|mismatch|原因|问题|問題|fehler|ursache")
_AND_SO = re.compile(
    r"(?:\s[—–-]+\s(?:[a-z]+ing|so I|[Ll]et me|I)\b|[,;] (?:so I|[Ll]et me|I'm|I’m)\b)[^—–]*\Z"
)
"""What the agent does thereupon, at the end of the same sentence."""
_OF_THE_WAY = Phrase(
    r"\W*(?:(?:i(?:'m|'ve|'d|'ll)?|we(?:'re|'ve|'ll)?|my|no need|now|next|then|also|done|good|"
    r"great|perfect|red|green|still|only|waiting|nothing|all|both|yes|right|recommended|best|"
    r"honest|exactly|correct|actually|jetzt|ich|edit \d|if|is|are|was|were|and|or|but|however|"
    r"since it|as it|because|why|same|not yet|to recap|no luck|one|git|uses|output|wait|got it|"
    r"need|land|run|add|use|fix|even|line \d+|there(?:'s| is| are) no|"
    r"no (?:changes|errors|issues|problems|output|results)|"
    r"the (?:[\w-]+ ){0,3}(?:scan|search|grep|check|diff|review|workflow|audit|suite|tests?|run|"
    r"changes?|patch|output|plan))\b|\w+ing\b(?! (?:is|are|was|were)\b)|[\w-]+ed (?:the|and|it)\b"
    r"|让我|现在|如果|先|接下来|我|好的|但|不过|所以|因此|次に|まず|では|ただ)"
)
"""How progress, plans and replies begin, and what goes on from somewhere else."""
_UNSURE = Phrase(
    r"\b(?:might|maybe|perhaps|possibly|plausible|likely|probably|seems?|appears?|would|will|"
    r"should|could|vielleicht|wahrscheinlich|as expected|expected(?:ly)?|confirmed|passes|passing|"
    r"all green|as intended|cleanly|good fit|recommend|worth|reasonable|accurate|"
    r"correctly|riskier|no longer|needs? a new|"
    r"received|reports|reporting|already (?:describes?|covers?|owns?|handles?|has|have)|"
    r"the (?:right|simplest|best) (?:fix|approach|way)|background tasks?|working[- ]tree|my|"
    r"our tests?|(?:this|the first|[\w-]+) (?:shell|attempt|invocation)|to be running|which i|"
    r"let me|i'll|i'm|i'd|"
    r"i (?:need|can|want|have to|had|hadn't|did|didn't|added|commented))\b"
    r"|\b(?:isn't|aren't|not) (?:running|up|available|found|responding)\b|\bno such file\b"
    r"|可能|也许|大概|应该|还没|かもしれ|でしょう|と思|ください|しておく|必要があ"
    r"|(?:し|み|き|り|い|え|め|け)(?:ます|ました)。?$"
)
"""Guesses, opinions, what went as it was to, and what is of the moment."""
_GRAVE = Phrase(
    r"\W*(?:(?:severity|schweregrad)\W+)?(?:critical|blockers?|high|major|medium|p[0-2]|严重|致命|"
    r"重大|高)\b(?: ?\d+)?(?:[ /](?:severity|priority|risk|issues?|findings?)){0,2}"
    r"\W*(?:[:：|—–)\]-]\W*|$)"
)
"""The label of what a review found; it may be a heading."""
_NOTE = Phrase(
    r"\W*(?:(?:important|one|two|three|a few|side|worth|please) )?(?:notes?|noting|caveats?|"
    r"heads[- ]up|gotchas?|warning|limitations?|known issues?|hinweis|achtung|注意(?:点|事项)?|"
    r"補足|备注|备註|説明)(?: (?:that|on|for|about)[^:：]{0,30})?\W*(?:[:：—–]\W*|$)"
)
"""The label of what the agent wants to have known."""
_TO_YOU = Phrase(r"\byour?\b|[你您]")
_CAUSE = Phrase(
    r"\W*(?:the )?(?:root cause|problem|bug|cause|what happened|bottom line|ursache|grund|"
    r"根本原因|原因|问题|問題|結論|结论) ?[:：] ?(?=\S)"
)
"""The label of a cause."""
_NO_FINDING = Phrase(
    r"\W*(?:none|no|nothing|0|n/a|无|なし|keine?)\b|.*\b(?:fixed|resolved|none)\W*$"
)
_OF_THE_STATE = Phrase(
    r"\b(?:untracked|untouched|restart|"
    r"(?:not|nothing|without) (?:\w+ )?(?:committed|pushed|staged))\b"
)
_WAS_SO = Phrase(
    r"\b(?:was|were|had|did(?:n't| not)|used) .*\b(?:so|because|since|due to|which|while)\b|"
    r"原因|なため|たため"
)
"""How a report of what was changed says what was wrong before."""
_WAS = Phrase(r"^\W*\.?/|\b(?:was|were|had|could|untracked)\b|\bto-?dos?\W*$")
_MOST_OF_A_MESSAGE = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence that says how something is; `record` holds it. `then`: what the agent says that it
    does thereupon. `run`: the run that failed before it. `mended`: a change follows it."""

    text: RedactedText
    record: RedactedRecord
    then: RedactedText = EMPTY
    run: Run | None = None
    mended: bool = False


def findings(turn: Turn, failed: Mapping[int, Run]) -> Iterator[Finding]:
    """Yield what a turn found by the way, at most one a message, then what its last message tells.
    `failed` has the runs that failed by the identity of their result."""
    own = [record for record in turn.records if record.agent_id is None]
    for place, record in enumerate(own):
        if record.kind != "assistant_text":
            continue
        looked = _results_before(own, place)
        run = next((failed[id(one)] for one in reversed(looked) if id(one) in failed), None)
        has_failed = run is not None or any(_failed(one) for one in looked)
        following = next((one for one in own[place + 1 :] if one.kind == "tool_use"), None)
        writes = following is not None and tool_kind(following) == "write"
        if following is None:
            yield from _told_at_the_end(record, own, bool(looked), has_failed)
        elif looked:
            yield from _by_the_way(record, run, has_failed, may_change(following), writes)


def _by_the_way(
    record: RedactedRecord, run: Run | None, has_failed: bool, changes: bool, writes: bool
) -> Iterator[Finding]:
    """Yield what is said first of those sentences of a message that say how something is: that is
    introduced as the cause, comes before a change, or after a failure with its reason."""
    said = sentences(record.text)[:_LOOKED_AT]
    for number, sentence in enumerate(said):
        text = EMPTY if sentence.item else _statement(sentence.text)
        is_cause = bool(text) and CAUSE.search(sentence.text) is not None
        if text and (is_cause or writes or (has_failed and _REASON.search(text))):
            is_fault = is_cause or has_failed or len(text) < len(sentence.text)
            after = said[number + 1].text if number + 1 < len(said) else EMPTY
            plans = PLANNING.search(after.replace("’", "'")) is not None
            then = after.sub(_COLON, ".") if changes and (plans or is_fault) else EMPTY
            yield Finding(text, record, then, run, mended=writes and is_fault)
            return


def _told_at_the_end(
    record: RedactedRecord, own: Sequence[RedactedRecord], looked: bool, has_failed: bool
) -> Iterator[Finding]:
    """Yield what a closing message notes and what a review in it found; where nothing was changed,
    what it gives a reason for, too, else what it says was wrong."""
    changed = any(one.kind == "tool_use" and tool_kind(one) == "write" for one in own)
    said = sentences(record.text)
    told: list[RedactedText] = []
    plain = [one.text for one in said[:_LOOKED_AT] if not (one.item or one.heading)]
    stated = [(text, so) for text in plain if (so := _statement(text))]
    reasoned = [so for text, so in stated if CAUSE.search(text) or _REASON.search(so)]
    if has_failed or (looked and not changed):
        told += reasoned[:1]
    elif changed and (causes := [text for text in reasoned if _WAS_SO.search(text)]):
        yield Finding(causes[0], record, mended=True)
    for sentence in said:
        if len(sentence.text) > _LONGEST_AROUND or (changed and _GRAVE.match(sentence.heading)):
            continue
        labelled = next((m for p in (_GRAVE, _NOTE, _CAUSE) if (m := p.match(sentence.text))), None)
        above = sentence.lead if sentence.item else sentence.heading
        if labelled is not None and labelled.end() < len(sentence.text):
            told.append(_finding(sentence.text.cut(labelled.end())))
        elif (not sentence.before and _GRAVE.match(above)) or (
            not sentence.before and _NOTE.match(above) and _AMISS.search(sentence.text)
        ):
            told.append(_finding(sentence.text))
    for text in [text for text in told if text][:_MOST_OF_A_MESSAGE]:
        yield Finding(text, record)


def _finding(text: RedactedText) -> RedactedText:
    """Return what stands behind a label, or below one; "" if it names nothing, or is a plan."""
    plain = text.replace("’", "'")
    if not _is_whole(plain) or not _names_something(plain) or plain.count("[") != plain.count("]"):
        return EMPTY
    if any(pattern.match(plain) for pattern in (_NO_FINDING, POINTS_BACK)):
        return EMPTY
    passing = (PLANNING, _UNSURE, _OF_THE_STATE)
    return EMPTY if any(pattern.search(plain) for pattern in passing) else text


def left_over(turn: Turn) -> Iterator[Finding]:
    """Yield what the last message of a session's last turn leaves open."""
    own = (record for record in reversed(turn.records) if record.agent_id is None)
    last = next((one for one in own if one.kind in ("assistant_text", "tool_use")), None)
    if last is None or last.kind == "tool_use":
        return
    for text in left_open(last.text):
        plain = text.replace("’", "'")
        passing = _WAS.search(plain) or _OF_THE_WAY.match(plain) or POINTS_BACK.match(plain)
        if _names_something(plain) and not passing:
            yield Finding(compose("Left open: {}", text), last)


def _results_before(own: Sequence[RedactedRecord], place: int) -> list[RedactedRecord]:
    """Return what was looked at since the agent last spoke."""
    looked: list[RedactedRecord] = []
    for record in reversed(own[:place]):
        if record.kind == "assistant_text":
            break
        if record.kind not in ("tool_use", "thinking", "prompt"):
            looked.append(record)
    return looked[::-1]


def _failed(record: RedactedRecord) -> bool:
    """Return True if a result, or word of a command that ran beside, says that it failed."""
    return record.is_error or "<status>failed" in record.text[:2_000]


def _statement(text: RedactedText) -> RedactedText:
    """Return what a sentence says to be so, without its announcement; "" if it says nothing that
    lasts."""
    if len(text) > _LONGEST_AROUND:
        return EMPTY
    if announced := _ANNOUNCES.match(text):
        text = text.cut(announced.end())
    text = text.sub(_AND_SO, "")
    plain = text.replace("’", "'")
    if not _is_whole(plain) or plain.count('"') % 2 or " = " in plain:
        return EMPTY
    amiss = _AMISS.search(plain) is not None
    if announced is None:
        on_its_way = _OF_THE_WAY.match(plain) or DID.search(plain)
        tells = amiss and _names_something(plain) and not on_its_way
    else:
        tells = amiss or _FAULT.search(announced[0]) is not None
    if not tells or plain.startswith("one ") or states_nothing(plain) or POINTS_BACK.match(plain):
        return EMPTY
    passing = (PLANNING, NOW, _UNSURE, _TO_YOU, _OF_THE_STATE)
    return EMPTY if any(pattern.search(plain) for pattern in passing) else text


def _is_whole(plain: str) -> bool:
    """Return True if a sentence is long enough to be read by itself, and short enough."""
    if plain.endswith((":", "?", "：", "？")):
        return False
    return width(plain) >= SHORTEST and len(plain) <= LONGEST


def is_of_the_way(text: str) -> bool:
    """Return True if a sentence tells of the agent's own way, or of what would be."""
    plain = text.replace("’", "'")
    return _OF_THE_WAY.match(plain) is not None or " would " in plain


def _names_something(text: str) -> bool:
    """Return True if a text has a name in it; among ideographs any Latin word is one."""
    if NAME.search(text) or _PATH.search(text):
        return True
    return _IDEOGRAPH.search(text) is not None and _LATIN.search(text) is not None


def width(text: str) -> int:
    """Return the length of a text in letters, an ideograph or syllable counted as three."""
    return len(text) + 2 * len(_IDEOGRAPH.findall(text))


def words_of(text: str) -> frozenset[str]:
    """Return what a text is compared by: words of three letters and more, pairs of ideographs."""
    pairs = (a + b for a, b in pairwise(text) if _IDEOGRAPH.match(a) and _IDEOGRAPH.match(b))
    return frozenset([*(word.lower() for word in _WORD.findall(text)), *pairs])
