"""What came of a turn that is a hit: whether a later turn answers its question, takes back what it
did, or mends what it found.

A proposal, an option list or a finding is found by the same words as what was decided or done
about it, and often before it. Reordering the hits does not help, telling does. It is told only
where the session shows it, from the rows of the keyword index: what was said, and the digest of
the calls. Of a later session it is told that it reverts a commit, which it names, or that it edits
a file of the hit's and says that what the hit tells of by a name of code is gone or another now.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from memory_assets.recall.search.answer import Hit, Later
from memory_assets.recall.search.excerpts import (
    beside,
    breaks_off,
    excerpt,
    says_nothing,
    share_of_words,
)
from memory_assets.session_analysis.statements import CORRECTS
from memory_assets.stores.keyword_index.blocks import file_name_mark, mark_term, unpack_postings
from memory_assets.stores.keyword_index.index import IndexedRow, KeywordIndex
from memory_assets.tool_names import kind_of_tool

_TURNS = 12
"""Turns after a hit that are read."""
_TOLD = 20
"""Hits of which it is told: nobody reads on so far."""
_LONGEST_ANSWER = 300
"""Characters of a prompt that answers a question; a longer one asks for something of its own."""
_SHORTEST, _OUTCOME = 15, 160
"""Characters of a sentence that tells what was done."""
_ENDING = 400
"""Characters at the end of a reply in which it asks what to do."""
_DIGEST_LINE = re.compile(r"(?P<tool>[A-Za-z_][\w.-]*)(?P<failed> error)?: (?P<target>\S.*)")
_ASKS = re.compile(
    r"\b(?:which (?:one|option|of|would|do|approach|way)|(?:would|do) you (?:like|prefer|want)|"
    r"want me to|should (?:I|we)|shall (?:I|we)|let me know (?:which|whether|if|how)|"
    r"what do you (?:think|prefer)|thoughts|your call|sound good|proceed)\b"
    r"(?:[^?]*\?|[^?\n]*:\W*\n\W*1\b)"
    r"|\b(?:let me know (?:which|whether|if|how)|say the word|tell me which)\b",
    re.IGNORECASE,
)
_PICKS = re.compile(
    r"\W*(?:(?:yes|yep|yeah|sure|ok(?:ay)?|please|let'?s|i(?:'d| would)?|we|no|nope|lgtm|just)"
    r"[\s,.!]+)*"
    r"(?:(?:do|go (?:with|for|ahead)|use|take|pick|choose|prefer|implement|fix|proceed)\b"
    r"|(?:option|approach|variant|plan)\s*\(?[a-e1-9]\b|[a-e1-9]\W*$"
    r"|[1-9a-e]\)?\s+(?:and|but|please)\b"
    r"|the (?:first|second|third|last|latter|former)\b|both\b|neither\b|all of (?:them|it)\b)"
    r"|\W*(?:yes|yep|yeah|sure|no|nope|go ahead|do it|please do|lgtm)\b|\W*ok(?:ay)?\W*$",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"\W*(?:(?:yes|yep|yeah|sure|no|ok(?:ay)?|please|now|then|and|so|just|let'?s|can you|could you|"
    r"you can|it|this|that|[1-9a-e])\b[\s,.!]*)*"
    r"(?:(?:(?:try|run|do|check|start) (?:it |this |that )?(?:once )?)?(?:again|more)|retry|next|"
    r"(?:go|carry|keep) (?:on|going|trying|ahead)|continue|proceed|resume|do (?:it|so|that))?"
    r"(?: (?:please|now|again|with (?:it|that|this)|where you (?:left off|stopped)|from there))*"
    r"\W*",
    re.IGNORECASE,
)
"""A prompt that only goes on with what was asked for before."""
_SOON, _MOST_WORDS = 3, 0.5
"""Turns after one without an answer that may answer it; they have more than this share of the words
of its prompt or of the question."""
_REVERTING = re.compile(r"\bgit (?:revert|restore|checkout --|reset --hard)(?!\S)")
_TAKES_BACK = re.compile(
    r"\b(?:revert(?:ed|ing)?|undo(?:ne)?|undid|roll(?:ed|ing)? (?:it |this |that )?back|"
    r"back(?:ed)? (?:it |this |that )?out|put (?:it|that|this) back)\b",
    re.IGNORECASE,
)
_TOOK_BACK = re.compile(
    r"\b(?:reverted|undid|undone|rolled (?:\w+ )?back|backed (?:\w+ )?out|restored|is back)\b",
    re.IGNORECASE,
)
_ASKS_TO_MEND = re.compile(
    r"\W*(?:(?:yes|yep|sure|ok(?:ay)?|please|can you|could you|let'?s|now|then)[\s,.]+)*"
    r"(?:fix|mend|address|correct|resolve|repair|patch|implement|do|go ahead|apply)\b",
    re.IGNORECASE,
)
_REPORTS = re.compile(r"\W*(?:(?:I|we)(?:'ve| have)? |all )?(?:done|[a-z]+ed)\b", re.IGNORECASE)
_BARE = 80
"""Characters of an answer up to which it says little without what was done."""
_SUPERSEDES = re.compile(
    r"\b(?:supersed(?:e[sd]?|ing)|revert(?:ed|s)|undid|undone|rolled back|backed out|"
    r"replac(?:ed|es)|removed|dropped|deleted|no longer|retired|switched (?:from|back)|"
    r"now \w+s? .{1,80} (?:instead of|rather than))\b",
    re.IGNORECASE,
)
_MENDED = re.compile(
    r"\b(?:fixed|mended|addressed|corrected|resolved|repaired|patched|now (?:handles|works|"
    r"returns|passes))\b",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(
    r"\?|\b(?:not|n't|n’t|will|would|should|could|if|let me|let's|I'll|going to|need to|before|"
    r"fail\w*)\b",
    re.IGNORECASE,
)
_CONCEDES = re.compile(
    r"\W*(?:(?:ah|oh|hm+|sorry|ok(?:ay)?)[,!. —-]+)?"
    r"(?:you(?:'|’)?(?:re| are) (?:absolutely |completely |quite )?right\b(?! to (?:ask|wonder))|"
    r"good catch|my mistake|my bad|i was wrong|i misread|"
    r"i misunderstood|i (?:mis|over)looked|that (?:reframes|changes) )",
    re.IGNORECASE,
)
_FINDS = re.compile(
    r"\b(?:bug|issue|problem|race|leak|root cause|culprit|broken|wrong|missing|fails?|failing|"
    r"should (?:be|have|not)|incorrect|mismatch|vulnerab\w+|stale|crash\w*)\b",
    re.IGNORECASE,
)
_TELLS_OF_A_COMMIT = re.compile(r"\b(?:commit|push)", re.IGNORECASE)
_COMMIT = re.compile(r"\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,40}\b")
_SHORT_COMMIT = 7
"""Characters of a commit's SHA that git prints, at least."""
_MOST_ROWS = 100
"""Rows that name a commit, or touched a file, which are read, the last ones."""
_NAME = re.compile(r"[A-Za-z_]\w*(?:[._/-]\w+)+|\w*[a-z][A-Z]\w*|\w+_\w+|\w+\(\)")
_ITEM = re.compile(r"\s*(?:[-*•✅✓]|\d+[.)])\s")
_CODE = re.compile(r"^ *```.*?(?:^ *```|\Z)", re.DOTALL | re.MULTILINE)
_MARKUP = str.maketrans("", "", "*`")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True)
class SessionTurn:
    """One turn of a session: what was typed, what was replied, the names of the files that were
    edited, and the commands that were run."""

    id: str
    index: int
    prompt: str
    reply: str
    edited: frozenset[str]
    commands: str

    @property
    def asks(self) -> bool:
        """Whether its reply ends by asking what to do."""
        return _ASKS.search(self.reply[-_ENDING:]) is not None


def with_later(hits: Sequence[Hit], index: KeywordIndex, query: str) -> list[Hit]:
    """Return hits, those that are turns of sessions with what came of them later, where that is
    known; of the first `_TOLD` hits. One that says nothing has beside it what the turn that answers
    says to the query."""
    return [
        _told(hit, index, query) if place < _TOLD and hit.id.startswith("session::") else hit
        for place, hit in enumerate(hits)
    ]


def _told(hit: Hit, index: KeywordIndex, query: str) -> Hit:
    session = str(hit.metadata["project"]), str(hit.metadata["session_id"])
    first = int(hit.metadata["turn_index"])
    turns = turns_from(index, *session, first)
    if not turns:
        return hit
    later = (
        _reverted_elsewhere(hit, turns[0], index)
        or later_of(hit.turn_id, turns, query)
        or _superseded_elsewhere(hit, turns[0], index)
    )
    if later is None or later.how != "answered" or not says_nothing(turns[0].reply):
        return replace(hit, later=later)
    answering = next(turn for turn in turns if turn.id == later.turn_id)
    said = beside([(_CODE.sub("\n", answering.reply), 0)], query, only_calls=True)
    return replace(hit, later=later, beside=said)


def _reverted_elsewhere(hit: Hit, turn: SessionTurn, index: KeywordIndex) -> Later | None:
    """Return the turn of another, later session that reverted a commit which this one tells of."""
    lines = [line for line in turn.reply.splitlines() if _TELLS_OF_A_COMMIT.search(line)]
    commits = {sha[:_SHORT_COMMIT] for line in lines for sha in _COMMIT.findall(line)}
    for commit in sorted(commits):
        for other in _turns_with(index.terms_with(commit), hit, index):
            named = re.compile(rf"\b{commit}")
            by_command = re.search(rf"\bgit revert\b[^,\n]*\b{commit}", other.commands)
            done = _sentence(other.reply, _TOOK_BACK)
            if by_command or (done and named.search(done)):
                return Later(
                    other.id, "reverted", done or _cut(by_command[0] if by_command else "")
                )
    return None


def _superseded_elsewhere(hit: Hit, turn: SessionTurn, index: KeywordIndex) -> Later | None:
    """Return the last turn of another, later session of the project that edited a file of this
    one's and says that something which this one tells of by a name of code is gone, or another."""
    names = set(_NAME.findall(turn.reply))
    if not names:
        return None
    terms = [
        term
        for name in sorted(turn.edited)
        for term in index.terms_with(mark_term(file_name_mark(name)))
    ]
    for other in reversed(list(_turns_with(terms, hit, index, says=_SUPERSEDES))):
        if not other.edited & turn.edited:
            continue
        for sentence in map(_plain, _SENTENCE.split(other.reply)):
            own = names & set(_NAME.findall(sentence))
            of_code = [name for name in own if re.split(r"[/\\]", name)[-1] not in turn.edited]
            if (
                (of_code or (own and _TOOK_BACK.search(sentence)))
                and _SUPERSEDES.search(sentence)
                and not _NOT_DONE.search(sentence)
            ):
                return Later(other.id, "superseded", _cut(sentence))
    return None


def _turns_with(
    terms: Iterable[str], hit: Hit, index: KeywordIndex, says: re.Pattern[str] | None = None
) -> Iterator[SessionTurn]:
    """Yield the turns of other sessions after a hit that have a term, oldest first; if `says`,
    those of the hit's project with such a passage."""
    about = hit.metadata
    rows = {
        str(row.metadata["turn_id"]): row
        for row in _rows_with(terms, index)
        if row.metadata["session_id"] != about["session_id"]
        and str(row.metadata["timestamp"]) > str(about["timestamp"])
        and (
            says is None
            or (row.metadata["project"] == about["project"] and says.search(row.text) is not None)
        )
    }
    for row in sorted(rows.values(), key=lambda turn_row: str(turn_row.metadata["timestamp"])):
        session = str(row.metadata["project"]), str(row.metadata["session_id"])
        place = int(row.metadata["turn_index"])
        yield from turns_from(index, *session, place, place)


def _rows_with(terms: Iterable[str], index: KeywordIndex) -> list[IndexedRow]:
    """Return the last passages of turns that have one of some terms."""
    places = {
        (block, int(row))
        for term in terms
        for block, packed in index.postings(term)
        for row in unpack_postings([0], [packed])[0]
    }
    rows = index.rows(sorted(places)[-_MOST_ROWS:])
    return [row for row in rows if row is not None and row.id.startswith("session::")]


def later_of(turn_id: str, turns: Sequence[SessionTurn], query: str = "") -> Later | None:
    """Return what came of a turn, by the turns of its session in order; of what answers a query,
    the words that do."""
    place = next((at for at, turn in enumerate(turns) if turn.id == turn_id), None)
    if place is None or place == len(turns) - 1:
        return None
    turn, later = turns[place], turns[place + 1 :]
    return (
        _taken_back(turn, later)
        or _answered(turn, later[0], query)
        or _gone_on_with(turn, later, query)
        or _disputed(turn, later[0])
        or _mended(turn, later)
    )


def _taken_back(turn: SessionTurn, later: Sequence[SessionTurn]) -> Later | None:
    """Return the turn that took back what this one edited: the first after it that edits any of its
    files again and says so, or whose command does."""
    if not turn.edited:
        return None
    for place, other in enumerate(later):
        touched = other.edited & turn.edited
        asked = len(other.prompt) <= _LONGEST_ANSWER and _TAKES_BACK.search(other.prompt)
        by_command = _REVERTING.search(other.commands)
        if (asked and (place == 0 or touched)) or (by_command and touched and place == 0):
            done = _sentence(other.reply, _TOOK_BACK)
            if done:
                return Later(other.id, "reverted", done)
        if touched:  # a later revert is of this edit rather than of the hit's
            return None
    return None


def _gone_on_with(turn: SessionTurn, later: Sequence[SessionTurn], query: str) -> Later | None:
    """Return the turn that reports on what was asked in one that breaks off: of those whose prompts
    only go on with it, or repeat it, the first that ends with a report; of one that says nothing,
    also the next turn that says something and has its words."""
    silent = says_nothing(turn.reply)
    if not silent and not breaks_off(turn.reply):
        return None
    going_on = list(takewhile(lambda other: _goes_on(turn.prompt, other.prompt), later))
    reports = [other for other in going_on if not breaks_off(other.reply)]
    if silent and not reports:
        asked = [text for text in (query, turn.prompt) if len(text) >= _SHORTEST]
        reports = [
            other
            for other in (*going_on, *later[:_SOON])
            if not says_nothing(other.reply)
            and any(share_of_words(other.reply, text) > _MOST_WORDS for text in asked)
        ]
    if not reports:
        return None
    return Later(reports[0].id, "answered", _saying(reports[0], query or turn.prompt))


def _goes_on(asked: str, prompt: str) -> bool:
    repeats = len(asked) >= _SHORTEST and prompt.startswith(asked)
    return repeats or _GOES_ON.fullmatch(prompt) is not None


def _saying(turn: SessionTurn, query: str) -> str:
    """Return what a turn says to a query, without blocks of code."""
    said = excerpt(_CODE.sub("\n", turn.reply), query, _OUTCOME)
    return _plain(said.removeprefix("…"))


def _answered(turn: SessionTurn, after: SessionTurn, query: str = "") -> Later | None:
    """Return the next turn if its prompt answers the question that this one ends with."""
    prompt = " ".join(after.prompt.split())
    if not turn.asks or not prompt or len(prompt) > _LONGEST_ANSWER or prompt.endswith("?"):
        return None
    if not any(map(_PICKS.match, _SENTENCE.split(prompt))):
        return None
    done = ""
    if len(prompt) <= _BARE:
        done = _reported(after.reply) or _saying(after, query or turn.prompt)
    return Later(after.id, "answered", _cut(f"{prompt} → {done}" if done else prompt))


def _disputed(turn: SessionTurn, after: SessionTurn) -> Later | None:
    """Return the next turn if its prompt objects to this one, or its reply concedes that."""
    prompt = " ".join(after.prompt.split())
    if not turn.reply or not prompt or len(prompt) > _LONGEST_ANSWER:
        return None
    if CORRECTS.match(prompt) or _CONCEDES.match(after.reply):
        return Later(after.id, "disputed", _cut(prompt))
    return None


def _mended(turn: SessionTurn, later: Sequence[SessionTurn]) -> Later | None:
    """Return the turn that mended what this one found: one that was asked to, edits a file that
    this one speaks of, and says that it is done, with two of its names of code."""
    if turn.edited or not _FINDS.search(turn.reply):
        return None
    names = set(_NAME.findall(turn.reply))
    for place, other in enumerate(later):
        if place and not _ASKS_TO_MEND.match(other.prompt):
            continue
        spoken_of = any(file in turn.reply for file in other.edited)
        if not spoken_of or len(names & set(_NAME.findall(other.reply))) < 2:
            continue
        done = _sentence(other.reply, _MENDED)
        if done and (place == 0 or _shares(done, turn.reply)):
            return Later(other.id, "fixed", done)
    return None


def _sentence(text: str, pattern: re.Pattern[str]) -> str:
    """Return the last sentence of a text that has a pattern and says that it is done; "" if there
    is none."""
    for sentence in reversed(_SENTENCE.split(text)):
        if pattern.search(sentence) and not _NOT_DONE.search(sentence):
            return _cut(_plain(sentence))
    return ""


def _reported(reply: str) -> str:
    """Return the first sentence of a reply that begins with what was done, not in a list of what
    should be; "" if there is none."""
    heading = ""
    for part in _SENTENCE.split(reply):
        sentence = _plain(part)
        if part.rstrip(" *").endswith(":"):
            heading = sentence
        elif part.strip() and not _ITEM.match(part):
            heading = ""
        is_told = len(sentence) >= _SHORTEST and _REPORTS.match(sentence)
        if is_told and not _NOT_DONE.search(f"{heading} {sentence}"):
            return sentence
    return ""


def _plain(sentence: str) -> str:
    return " ".join(sentence.split()).translate(_MARKUP).strip("#-✅→•: ")


def _shares(sentence: str, text: str) -> bool:
    """Whether a text has two of a sentence's longer words, or one of its names of code."""
    words = {word for word in re.findall(r"[A-Za-z-]{6,}", sentence) if word in text}
    return len(words) > 1 or any(name in text for name in _NAME.findall(sentence))


def _cut(text: str) -> str:
    return text if len(text) <= _OUTCOME else f"{text[: _OUTCOME - 1].rsplit(' ', 1)[0]}…"


def turns_from(
    index: KeywordIndex, project: str, session_id: str, first: int, last: int | None = None
) -> list[SessionTurn]:
    """Return a turn of a session and those after it, as the index has them."""
    span = project, session_id, first, first + _TURNS if last is None else last
    rows = index.rows_of("sessions", *span)
    prompts: dict[str, str] = {}
    for row in index.rows_of("prompts", *span):
        turn_id = str(row.metadata["turn_id"])
        prompts[turn_id] = f"{prompts.get(turn_id, '')}{row.text}"
    passages: dict[str, list[IndexedRow]] = {}
    for row in rows:
        passages.setdefault(str(row.metadata["turn_id"]), []).append(row)
    turns = [_turn(turn_id, own, prompts.get(turn_id, "")) for turn_id, own in passages.items()]
    return sorted(turns, key=lambda turn: turn.index)


def _turn(turn_id: str, rows: Sequence[IndexedRow], prompt: str) -> SessionTurn:
    said: list[str] = []
    edited: set[str] = set()
    commands: list[str] = []
    ordered = sorted(rows, key=_part)
    tools = {tool for row in ordered for tool in str(row.metadata.get("tools_used")).split(",")}
    digest = False  # of the calls, with which a turn's text ends
    for line in "\n".join(row.text for row in ordered).splitlines():
        call = _DIGEST_LINE.fullmatch(line)
        digest |= call is not None and call["tool"] in tools
        if not digest:
            said.append(line)
        elif call and not call["failed"]:
            kind, target = kind_of_tool(call["tool"]), call["target"]
            if kind == "write":
                edited |= {re.split(r"[/\\]", path)[-1] for path in target.split(", ")}
            elif kind == "shell":
                commands.append(target)
    whole = "\n".join(said)
    reply = whole[len(prompt) :] if prompt and whole.startswith(prompt[:80]) else whole
    index = int(ordered[0].metadata.get("turn_index") or 0)
    return SessionTurn(
        turn_id, index, prompt, reply.strip(), frozenset(edited), "\n".join(commands)
    )


def _part(row: IndexedRow) -> int:
    return int(row.metadata.get("part") or 0)
