"""Splitting agents' Markdown into plain sentences, and condensing the request in a human prompt.

Code fences, rules and comments are dropped; headings become the context of the sentences below
them, and the rows of a table are items; emphasis, code marks and link targets are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memory_assets.models import RedactedRecord
from memory_assets.redacted_text import RedactedText, join
from memory_assets.session_analysis.phrases import EMPTY, Phrase, shorten, with_full_stop

_FENCE = re.compile(r"\s*(```+|~~~+)")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+|\s*\*\*[^*]{1,80}?(:\*\*|\*\*:?)\s*$")
_ITEM = re.compile(r"\s*(?:[-*+•✅✓✔☑❌✗✘→▸►●○]️?|(?:\*\*)?\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?")
_GRADE = re.compile(
    r"\W*(?:severity|priority|impact|risk|confidence)\W+[\w /-]{2,24}\W*$", re.IGNORECASE
)
"""A line that grades what its heading names."""
_NOT_PROSE = re.compile(
    r"\s*(?:\|.*|[-=_*─━═~\s`]{3,}|`?★.*|<!--.*|<(?!redacted)/?[a-z][\w-]*(?:\s[^>]*)?>\s*)$"
)
_ROW = re.compile(r"\s*\|(?P<cells>.*\w.*?)\|?\s*$")
_BELOW_THE_NAMES = re.compile(r"\s*\|[\s:|-]+$")
"""The line between the names of a table's columns and its rows."""
_CELL_ENDS = re.compile(r"(?:\s*\|\s*[\W_]*)+(?=[\w\"'`/.$-])")
_LINK = re.compile(r"!?\[(?P<label>[^\]\n]{0,300})\]\((?:[^()\s]|\([^()\s]*\))*\)")
_DEBRIS = re.compile(
    r"::[a-z][\w-]*\{[^}\n]*\}?"
    r"|[│┃┆╎▌▏✅✓✔☑❌✗✘️]|\*\*|`+|~~"
    r"|(?<![\w*])\*(?P<soft>\w[^*\n]*?)\*(?![\w*])"
)
_LEADING = re.compile(r"\A(?:(?!#\d)[^\w\"'(<\[/.$@¿¡]+|\d{1,2}(?:[.)]| —)\s+(?=\S))+")
_BOUNDARY = re.compile(r"[.!?…][\"')\]]*(?=\s)|[。！？]")
_CODE = re.compile(r"(?<!`)`([^`\n]{1,200})`(?!`)")
_DOT = re.compile(r"[.!?…](?:\s|$)")
_CLOSES = re.compile(r"[^()\n]{0,120}\)")
_GOES_ON = ("...", "…", "...)", "…)", '..."', "...'", '…"', '…")', '...")')
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|approx|cf|resp|incl|Mr|Mrs|Dr|St|(?-i:[A-Z]))\.[)\]\"']*$|^\d{1,2}\.$",
    re.IGNORECASE,
)
_SENTENCES_OF_A_REQUEST = 4
_OF_A_SHELL = re.compile(r"(?:^| )[$\\] ")
_SMALL_TALK = Phrase(
    r"\W*(?:hi|hey|hello|hallo|yes|yep|yeah|no|ok(?:ay)?|sure|thanks?|thank you|"
    r"great|good|nice|perfect|cool|please|continue|go(?: on| ahead)?|resume last session|"
    r"proceed|do it|try again|next|done|lgtm|looks? good|wait|warmup|"
    r"(?:test(?:ing)?|resume|retry|stop)(?! (?:the|an?|my|our|all)\b))\b[\s\w,.!]{0,12}$"
)
_HEAD_OF_A_NOTICE = 300
_NOTICE = Phrase(
    r"(?!.*(?:\?|\b(?:i|i'm|my|we|our|please|why|how)\b))\W*(?:"
    r"(?:critical|warning|notice|reminder|important)\W+)?(?:"
    r"<?/?system[ _-]?(?:reminder|notice|message|warning)s?\b|"
    r"(?:automated|automatic|harness|agent) (?:reminder|notice|message|warning)\b|"
    r"(?:the |your )?(?:tool|token|context|turn|step|time|usage|rate|session|iteration|output)s?"
    r"(?:[ -](?:call|use|window))? (?:(?:soft|hard) )?(?:budget|limit|quota|cap)\b.{0,40}?"
    r"\b(?:reached|exceeded|exhausted|used|remaining|left|hit)\b|"
    r"max(?:imum)? (?:number of )?(?:steps|turns|iterations|tool calls) (?:reached|exceeded)\b|"
    r"you(?:'ve| have) (?:used|reached|exceeded|hit|consumed) (?:\S+ ){0,6}?"
    r"(?:tool calls|tokens|turns|steps|iterations|(?:budget|limit|quota))\b|"
    r"\d+ (?:tool calls|tokens|turns|steps|iterations) (?:left|remaining)\b|"
    r"stop hook (?:feedback|prevented|blocked|blocking)\b)"
)
"""Beginnings of notices that an agent's harness adds as if the person had typed them."""
_MOVING = Phrase(
    r"(?:ok(?:ay)?,? )?(?:(?:let'?s )?(?:get|go) back to|(?:git )?(?:switch|checkout|pull|"
    r"fetch)(?: to)?|open|cd)\b[\w\s./-]{0,40}"
)
"""Prompts that only change the directory or branch."""
_PASTED = re.compile(
    r"^\s*(?:\[Image|\[Pasted|<[a-z][\w-]*[ >]|\{|Traceback|at \S+ \(|\d{4}-\d\d-\d\d[T ]|\$ "
    r"|❯|⎿|⏺|> |\d\d?:\d\d(?::\d\d)? ?[AP]M|\[\[ ## \w+ ## \]\]|@\[\w+\]:)"
)
_PLAN = re.compile(
    r"^\s*(?:implement the following plan:?|A previous agent produced the plan below[^\n]*)\s*",
    re.IGNORECASE,
)
_OPENING_HEADING = re.compile(r"\s*#{1,3} +(?:Plan ?: *)?(\S.*)")
_FRAME = re.compile(
    r"\A\s*(?:<!--[^>]*-->\s*)?(?:You are [^\n]{1,300}\n+)?Task:\s*(?:\[[^\]\n]{0,300}\]\s*)?"
    r"|\A[\s\S]{0,9000}?\nBase directory for this skill:[^\n]*\n(?:[^\n]+\n)*\n+(?=\S)"
)
_PLANNED = re.compile(
    r'\A\s*You are [^\n]{1,200}\n[\s\S]{0,1500}?"summary": "(?P<what>(?:[^"\\\n]|\\.){12,600})"'
)
"""Text before the task in prompts of programs: the agent's role, or a skill; and a plan in JSON."""
_QUOTED = re.compile(r"^ *(?:>|❯) ?", re.MULTILINE)
_AROUND = re.compile(r"\A\s*\"(?=\s*#)|\A\s*❯\s*")
_IMAGE = re.compile(r"\[(?:Image|image|document)[^\]]{0,300}\]\s*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence or list item; `heading` is the one above it, `lead` its list's lead-in.

    `before` is the previous sentence of its paragraph, `indent` the blanks before an item.
    """

    text: RedactedText
    heading: RedactedText = EMPTY
    lead: RedactedText = EMPTY
    item: bool = False
    before: RedactedText = EMPTY
    indent: int = 0


@dataclass(slots=True)
class _Block:
    lines: list[RedactedText]
    heading: RedactedText
    lead: RedactedText
    item: bool
    indent: int = 0


@lru_cache(maxsize=1_000)
def parse_sentences(text: RedactedText) -> tuple[Sentence, ...]:
    """Return the sentences of a Markdown text in order, without its markup.

    The sentences of recent texts are cached, because several callers read each session.
    """
    statements: list[Sentence] = []
    for block in _blocks(text):
        marked = join(" ", block.lines)
        codes = [code[1] for code in _CODE.finditer(marked) if _DOT.search(code[1])]
        before = EMPTY
        for sentence in split_sentences(plain_text(marked), codes):
            where = block.heading, block.lead, block.item, before, block.indent
            statements.append(Sentence(sentence, *where))
            before = sentence
    return tuple(statements)


def plain_text(text: RedactedText) -> RedactedText:
    """Return one paragraph without emphasis, code marks, link targets and leading symbols."""
    text = text.sub(_LINK, r"\g<label>") if "](" in text else text
    plain = text.sub(_DEBRIS, r"\g<soft>").squeezed()
    return plain.sub(_LEADING, "")


def split_sentences(plain: RedactedText, codes: Sequence[str] = ()) -> Iterator[RedactedText]:
    """Yield the sentences of one paragraph of plain text, none that ends within one of `codes`."""
    at = 0
    spans = [(begin, begin + len(code)) for code in codes if (begin := plain.find(code)) >= 0]
    for boundary in _BOUNDARY.finditer(plain):
        end = boundary.end()
        if _ABBREVIATION.search(plain[max(at, end - 12) : end].lstrip()):
            continue
        if plain.endswith(_GOES_ON, 0, end) and plain[end : end + 2].strip().islower():
            continue
        goes_on = plain[end : end + 2].strip().islower()
        if any(begin < end < last or (end == last and goes_on) for begin, last in spans):
            continue
        if plain.count("(", at, end) > plain.count(")", at, end) and _CLOSES.match(plain, end):
            continue
        yield from _trimmed(plain.cut(at, end))
        at = end
    yield from _trimmed(plain.cut(at))


def _trimmed(text: RedactedText) -> Iterator[RedactedText]:
    trimmed = text.trimmed()
    if mark := _LEADING.match(trimmed):
        trimmed = trimmed.cut(mark.end())
    if trimmed:
        yield trimmed


def _blocks(text: RedactedText) -> list[_Block]:
    blocks: list[_Block] = []
    heading = lead = EMPTY
    continues = False  # whether the next line of prose is part of the last block
    fence = ""
    for line in text.lines():
        mark = _FENCE.match(line)
        if mark or fence:
            if mark and not fence:
                fence = mark.group(1)
            elif mark and mark.group(1).startswith(fence):
                fence = ""
            continues = False
            continue
        title, item, row = _HEADING.match(line), _ITEM.match(line), _ROW.match(line)
        if title and not title.group(1) and _GRADE.match(line):
            title = None
        ends = bool(title or row or not line.strip() or _NOT_PROSE.match(line))
        if continues and (ends or item):
            lead = _lead_in(blocks[-1], lead)
        if row:
            cells = line.cut(*row.span("cells")).sub(_CELL_ENDS, " — ")
            blocks.append(_Block([cells], heading, lead, item=True))
        elif _BELOW_THE_NAMES.match(line):
            names = (plain_text(line) for block in blocks[-1:] for line in block.lines)
            lead = join(" ", (*((lead,) if lead else ()), *names))
            del blocks[-1:]
        elif title:
            heading, lead = plain_text(line), EMPTY
        elif item and not ends:
            indent = len(line) - len(line.lstrip())
            blocks.append(_Block([line.cut(item.end())], heading, lead, item=True, indent=indent))
        elif continues and not ends:
            blocks[-1].lines.append(line)
        elif not ends:
            blocks.append(_Block([line], heading, EMPTY, item=False))
            lead = EMPTY
        continues = not ends
    return blocks


def _lead_in(block: _Block, lead: RedactedText) -> RedactedText:
    """Return the last line of a paragraph that introduces a list by a colon, else ""; `lead` of an
    item."""
    if block.item:
        return lead
    last = block.lines[-1]
    return plain_text(last) if last.rstrip().endswith(":") else EMPTY


def is_notice(prompt: str) -> bool:
    """Return True for a notice of the program around the agent, which nobody typed."""
    return _NOTICE.match(prompt[:_HEAD_OF_A_NOTICE]) is not None


def is_request(prompt: RedactedRecord) -> bool:
    """Return True if a prompt is a request, not a greeting, a "go on", a bare command or a notice
    of the program around the agent."""
    text = without_frame(prompt.text).strip()
    if is_notice(text):
        return False
    if not text or (len(text) < 60 and (_SMALL_TALK.fullmatch(text) or _MOVING.fullmatch(text))):
        return False
    return not (prompt.subtype == "command" and " " not in text and text.startswith("/"))


def without_frame(text: RedactedText) -> RedactedText:
    """Return a prompt without marks of images, documents and quotations around all of it, the
    opening of a plan, and the text of a program or a skill around a task."""
    text = text.sub(_PLAN, "").sub(_IMAGE, "").sub(_FRAME, "")
    if planned := _PLANNED.match(text):
        return text.cut(*planned.span("what"))
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and all(_QUOTED.match(line) for line in lines):
        text = text.sub(_QUOTED, "")
    return text.sub(_AROUND, "")


def request_sentences(text: RedactedText) -> Sequence[Sentence]:
    """Return a prompt's sentences without pasted output; a plan's heading counts as the first."""
    head = text.cut(0, 6_000)
    statements = parse_sentences(
        join("\n", (line for line in head.lines() if not _PASTED.match(line)))
    )
    opening = _OPENING_HEADING.match(head)
    if opening:
        return [Sentence(with_full_stop(plain_text(head.cut(*opening.span(1))))), *statements]
    return statements


def condense(text: RedactedText, limit: int, *, filled: bool = False) -> RedactedText:
    """Return the first sentences that fit. Only the first one is shortened if it is too long; with
    `filled` also a later one, if half of the room would be empty."""
    kept: list[RedactedText] = []
    for sentence in request_sentences(text)[:_SENTENCES_OF_A_REQUEST]:
        used = sum(len(part) + 1 for part in kept)
        if used + len(sentence.text) > limit:
            if not kept or (filled and 2 * used < limit and not _OF_A_SHELL.search(sentence.text)):
                kept.append(shorten(sentence.text, limit - used))
            break
        kept.append(sentence.text)
    if not kept and text.strip():
        return shorten(text.cut(0, limit * 2).squeezed(), limit)
    return join(" ", kept)
