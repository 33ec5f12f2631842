"""Later turns that change what a hit says: they answer its question, revert what it did, or fix
what it found.

A proposal, an option list or a finding is found by the same words as what was decided or done
about it, and often before it. Reordering the hits does not help, naming the later turn does. It is
named only where the session shows it, by the rows of the keyword index: what was said, and the
digest of the calls. A turn of a later session is named if it reverts a commit by its SHA, or if it
edits a file that the hit edited and says that code which the hit names is gone or replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from memory_assets.recall.search.answer import Hit, Later
from memory_assets.recall.search.excerpts import (
    best_sentences,
    breaks_off,
    excerpt,
    says_nothing,
    share_of_words,
)
from memory_assets.session_analysis.statements import CORRECTS
from memory_assets.stores.keyword_index.blocks import file_name_mark, mark_term, unpack_postings
from memory_assets.stores.keyword_index.index import IndexedRow, KeywordIndex
from memory_assets.tool_names import kind_of_tool

_MOST_TURNS = 12
"""Turns after a hit that are read."""
_MOST_HITS = 20
"""Hits for which later turns are looked up: nobody reads further."""
_LONGEST_ANSWER = 300
"""Characters of a prompt that answers a question; a longer one asks for something of its own."""
_SHORTEST_DEED = 15
"""Least characters of a sentence that says what was done."""
_LONGEST_DEED = 160
"""Most characters of one."""
_QUESTION_CHARACTERS = 400
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
_TURNS_TO_ANSWER = 3
"""Turns after one without a reply that may answer it."""
_SHARE_OF_WORDS = 0.5
"""An answering turn has more than this share of the words of the prompt or of the question."""
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
_SHORT_ANSWER = 80
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
        return _ASKS.search(self.reply[-_QUESTION_CHARACTERS:]) is not None


def with_later(hits: Sequence[Hit], index: KeywordIndex, query: str) -> list[Hit]:
    """Return hits; of the first `_MOST_HITS`, turns of sessions get the later turn that answers,
    reverts or fixes them, if one is known. A hit without a reply gets sentences of the answering
    turn as its `beside`."""
    return [
        _with_later_turn(hit, index, query)
        if place < _MOST_HITS and hit.id.startswith("session::")
        else hit
        for place, hit in enumerate(hits)
    ]


def _with_later_turn(hit: Hit, index: KeywordIndex, query: str) -> Hit:
    session = str(hit.metadata["project"]), str(hit.metadata["session_id"])
    first = int(hit.metadata["turn_index"])
    turns = turns_from(index, *session, first)
    if not turns:
        return hit
    later = (
        _find_revert_elsewhere(hit, turns[0], index)
        or later_of(hit.turn_id, turns, query)
        or _find_superseding_turn(hit, turns[0], index)
    )
    if later is None or later.how != "answered" or not says_nothing(turns[0].reply):
        return replace(hit, later=later)
    answering = next(turn for turn in turns if turn.id == later.turn_id)
    said = best_sentences([(_CODE.sub("\n", answering.reply), 0)], query, only_calls=True)
    return replace(hit, later=later, beside=said)


def _find_revert_elsewhere(hit: Hit, turn: SessionTurn, index: KeywordIndex) -> Later | None:
    """Return the turn of a later session that reverted a commit which this turn names."""
    lines = [line for line in turn.reply.splitlines() if _TELLS_OF_A_COMMIT.search(line)]
    commits = {sha[:_SHORT_COMMIT] for line in lines for sha in _COMMIT.findall(line)}
    for commit in sorted(commits):
        for other in _turns_with(index.terms_with(commit), hit, index):
            named = re.compile(rf"\b{commit}")
            by_command = re.search(rf"\bgit revert\b[^,\n]*\b{commit}", other.commands)
            done = _last_done_sentence(other.reply, _TOOK_BACK)
            if by_command or (done and named.search(done)):
                return Later(
                    other.id, "reverted", done or _shorten(by_command[0] if by_command else "")
                )
    return None


def _find_superseding_turn(hit: Hit, turn: SessionTurn, index: KeywordIndex) -> Later | None:
    """Return the last turn of a later session of the project that edited a file which this turn
    edited, and says that code which this turn names is gone or replaced."""
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
        for sentence in map(_strip_markup, _SENTENCE.split(other.reply)):
            own = names & set(_NAME.findall(sentence))
            of_code = [name for name in own if re.split(r"[/\\]", name)[-1] not in turn.edited]
            if (
                (of_code or (own and _TOOK_BACK.search(sentence)))
                and _SUPERSEDES.search(sentence)
                and not _NOT_DONE.search(sentence)
            ):
                return Later(other.id, "superseded", _shorten(sentence))
    return None


def _turns_with(
    terms: Iterable[str], hit: Hit, index: KeywordIndex, says: re.Pattern[str] | None = None
) -> Iterator[SessionTurn]:
    """Yield the turns of other sessions after a hit that contain one of `terms`, oldest first; with
    `says`, only those of the hit's project with a passage that matches it."""
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
    """Return the last passages of turns that contain one of `terms`."""
    places = {
        (block, int(row))
        for term in terms
        for block, packed in index.postings(term)
        for row in unpack_postings([0], [packed])[0]
    }
    rows = index.rows(sorted(places)[-_MOST_ROWS:])
    return [row for row in rows if row is not None and row.id.startswith("session::")]


def later_of(turn_id: str, turns: Sequence[SessionTurn], query: str = "") -> Later | None:
    """Return the later turn that answers, reverts, disputes or fixes a turn, by the turns of its
    session in order; its text is what answers `query`."""
    place = next((at for at, turn in enumerate(turns) if turn.id == turn_id), None)
    if place is None or place == len(turns) - 1:
        return None
    turn, later = turns[place], turns[place + 1 :]
    return (
        _find_revert(turn, later)
        or _find_answer(turn, later[0], query)
        or _find_report(turn, later, query)
        or _find_objection(turn, later[0])
        or _find_fix(turn, later)
    )


def _find_revert(turn: SessionTurn, later: Sequence[SessionTurn]) -> Later | None:
    """Return the turn that reverted the edits of this one: the first that edits one of its files
    again and says that it reverts, or that runs a reverting command."""
    if not turn.edited:
        return None
    for place, other in enumerate(later):
        touched = other.edited & turn.edited
        asked = len(other.prompt) <= _LONGEST_ANSWER and _TAKES_BACK.search(other.prompt)
        by_command = _REVERTING.search(other.commands)
        if (asked and (place == 0 or touched)) or (by_command and touched and place == 0):
            done = _last_done_sentence(other.reply, _TOOK_BACK)
            if done:
                return Later(other.id, "reverted", done)
        if touched:  # a later revert is of this edit rather than of the hit's
            return None
    return None


def _find_report(turn: SessionTurn, later: Sequence[SessionTurn], query: str) -> Later | None:
    """Return the turn that reports on the request of a turn that breaks off: of the next turns
    whose prompts only continue or repeat it, the first that ends with a report; for a turn without
    a reply also one of the next turns with a reply that has its words."""
    has_no_reply = says_nothing(turn.reply)
    if not has_no_reply and not breaks_off(turn.reply):
        return None
    going_on = list(takewhile(lambda other: _continues(turn.prompt, other.prompt), later))
    reports = [other for other in going_on if not breaks_off(other.reply)]
    if has_no_reply and not reports:
        questions = [text for text in (query, turn.prompt) if len(text) >= _SHORTEST_DEED]
        reports = [
            other
            for other in (*going_on, *later[:_TURNS_TO_ANSWER])
            if not says_nothing(other.reply)
            and any(share_of_words(other.reply, text) > _SHARE_OF_WORDS for text in questions)
        ]
    if not reports:
        return None
    return Later(reports[0].id, "answered", _excerpt_for(reports[0], query or turn.prompt))


def _continues(earlier_prompt: str, prompt: str) -> bool:
    repeats = len(earlier_prompt) >= _SHORTEST_DEED and prompt.startswith(earlier_prompt)
    return repeats or _GOES_ON.fullmatch(prompt) is not None


def _excerpt_for(turn: SessionTurn, query: str) -> str:
    """Return the sentences of a reply that answer a query, without blocks of code."""
    said = excerpt(_CODE.sub("\n", turn.reply), query, _LONGEST_DEED)
    return _strip_markup(said.removeprefix("…"))


def _find_answer(turn: SessionTurn, after: SessionTurn, query: str = "") -> Later | None:
    """Return the next turn if its prompt answers the question at the end of this one."""
    prompt = " ".join(after.prompt.split())
    if not turn.asks or not prompt or len(prompt) > _LONGEST_ANSWER or prompt.endswith("?"):
        return None
    if not any(map(_PICKS.match, _SENTENCE.split(prompt))):
        return None
    done = ""
    if len(prompt) <= _SHORT_ANSWER:
        done = _first_report(after.reply) or _excerpt_for(after, query or turn.prompt)
    return Later(after.id, "answered", _shorten(f"{prompt} → {done}" if done else prompt))


def _find_objection(turn: SessionTurn, after: SessionTurn) -> Later | None:
    """Return the next turn if its prompt objects to this turn, or its reply admits an error."""
    prompt = " ".join(after.prompt.split())
    if not turn.reply or not prompt or len(prompt) > _LONGEST_ANSWER:
        return None
    if CORRECTS.match(prompt) or _CONCEDES.match(after.reply):
        return Later(after.id, "disputed", _shorten(prompt))
    return None


def _find_fix(turn: SessionTurn, later: Sequence[SessionTurn]) -> Later | None:
    """Return the turn that fixed the problem which this one found: its prompt asks for that, it
    edits a file that this turn names, and its reply says that it is done, with two of the names of
    code in this turn."""
    if turn.edited or not _FINDS.search(turn.reply):
        return None
    names = set(_NAME.findall(turn.reply))
    for place, other in enumerate(later):
        if place and not _ASKS_TO_MEND.match(other.prompt):
            continue
        spoken_of = any(file in turn.reply for file in other.edited)
        if not spoken_of or len(names & set(_NAME.findall(other.reply))) < 2:
            continue
        done = _last_done_sentence(other.reply, _MENDED)
        if done and (place == 0 or _have_words_in_common(done, turn.reply)):
            return Later(other.id, "fixed", done)
    return None


def _last_done_sentence(text: str, pattern: re.Pattern[str]) -> str:
    """Return the last sentence of a text that matches a pattern and does not deny it or announce it
    for later; "" if there is none."""
    for sentence in reversed(_SENTENCE.split(text)):
        if pattern.search(sentence) and not _NOT_DONE.search(sentence):
            return _shorten(_strip_markup(sentence))
    return ""


def _first_report(reply: str) -> str:
    """Return the first sentence of a reply that begins with what was done, not in a list of what
    should be; "" if there is none."""
    heading = ""
    for part in _SENTENCE.split(reply):
        sentence = _strip_markup(part)
        if part.rstrip(" *").endswith(":"):
            heading = sentence
        elif part.strip() and not _ITEM.match(part):
            heading = ""
        is_told = len(sentence) >= _SHORTEST_DEED and _REPORTS.match(sentence)
        if is_told and not _NOT_DONE.search(f"{heading} {sentence}"):
            return sentence
    return ""


def _strip_markup(sentence: str) -> str:
    return " ".join(sentence.split()).translate(_MARKUP).strip("#-✅→•: ")


def _have_words_in_common(sentence: str, text: str) -> bool:
    """Whether a text has two of a sentence's longer words, or one of its names of code."""
    words = {word for word in re.findall(r"[A-Za-z-]{6,}", sentence) if word in text}
    return len(words) > 1 or any(name in text for name in _NAME.findall(sentence))


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_DEED else f"{text[: _LONGEST_DEED - 1].rsplit(' ', 1)[0]}…"


def turns_from(
    index: KeywordIndex, project: str, session_id: str, first: int, last: int | None = None
) -> list[SessionTurn]:
    """Return turn `first` of a session and the next `_MOST_TURNS`, or those up to `last`."""
    span = project, session_id, first, first + _MOST_TURNS if last is None else last
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
    lines: list[str] = []
    edited: set[str] = set()
    commands: list[str] = []
    ordered = sorted(rows, key=lambda row: int(row.metadata.get("part") or 0))
    tools = {tool for row in ordered for tool in str(row.metadata.get("tools_used")).split(",")}
    digest = False  # of the calls, with which a turn's text ends
    for line in "\n".join(row.text for row in ordered).splitlines():
        call = _DIGEST_LINE.fullmatch(line)
        digest |= call is not None and call["tool"] in tools
        if not digest:
            lines.append(line)
        elif call and not call["failed"]:
            kind, target = kind_of_tool(call["tool"]), call["target"]
            if kind == "write":
                edited |= {re.split(r"[/\\]", path)[-1] for path in target.split(", ")}
            elif kind == "shell":
                commands.append(target)
    text = "\n".join(lines)
    reply = text[len(prompt) :] if prompt and text.startswith(prompt[:80]) else text
    index = int(ordered[0].metadata.get("turn_index") or 0)
    return SessionTurn(
        turn_id, index, prompt, reply.strip(), frozenset(edited), "\n".join(commands)
    )
