"""Redact one session's records twice: each by itself, then for the secrets found in all of them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memory_assets.errors import RedactionFailed, Unsettled
from memory_assets.models import Record, RedactedRecord
from memory_assets.record_identity import RecordIdentity
from memory_assets.redacted_text import RedactedText, seal
from memory_assets.redaction.edits import (
    FILE_CONTENTS,
    FORGOTTEN_TEXT,
    KNOWN_SECRET,
    PRINTED_SECRET,
    Edit,
    WayBack,
    outside,
)
from memory_assets.redaction.engine.scanner import TIMED_OUT, UNSETTLED
from memory_assets.redaction.findings import (
    Finding,
    RecordRedaction,
    Redaction,
    secret_and_personal,
)
from memory_assets.redaction.known_secrets import KnownValues, is_guessable, value_hash
from memory_assets.redaction.policy.printed_secrets import printed_secrets
from memory_assets.redaction.propagation import SessionValues
from memory_assets.redaction.tags import Inert, Tagger
from memory_assets.redaction.time_budget import Deadline, OutOfTime, TimeBudget
from memory_assets.word_lists import words

if TYPE_CHECKING:
    from memory_assets.redaction.text_redactor import TextRedactor

LONG_FIELDS = ("text", "command", "project_root")
SHORT_FIELDS = ("tool_name", "cwd", "git_branch", "subtype", "model", "agent_version")
_PATHS = "paths["


def in_fields(parts: Iterable[tuple[str, Iterable[Finding]]]) -> tuple[Finding, ...]:
    """Return findings together with the names of their fields."""
    return tuple(
        [
            Finding(rule, start, end, tag, name)  # `_replace` takes four times as long
            for name, findings in parts
            for rule, start, end, tag, _ in findings
        ]
    )


def texts_of(record: RedactedRecord) -> dict[str, str]:
    """Return every text of a record by its field's name."""
    texts = {name: getattr(record, name) for name in (*LONG_FIELDS, *SHORT_FIELDS)}
    texts.update((f"{_PATHS}{number}]", path) for number, path in enumerate(record.paths))
    return texts


def redacted_again(first: RecordRedaction, again: Mapping[str, Redaction]) -> RecordRedaction:
    """Return a record after some of its redacted fields were redacted again; its findings are
    positions in the texts before the first redaction."""
    changes: dict[str, Any] = {}
    paths: list[RedactedText] = list(first.record.paths)
    for name, part in again.items():
        if name.startswith(_PATHS):
            paths[int(name[len(_PATHS) : -1])] = part.text
        else:
            sealed = isinstance(getattr(first.record, name), RedactedText)
            changes[name] = part.text if sealed else str(part.text)
    all_findings: list[Finding] = []
    for name in texts_of(first.record):
        of_field = (f for f in (*first.findings, *first.personal) if f.field == name)
        findings = sorted(of_field, key=_place)
        if name in again:
            findings = _combined(findings, again[name])
        all_findings += in_fields([(name, findings)])
    secret, personal = secret_and_personal(all_findings)
    record = replace(first.record, **changes, paths=tuple(paths), redactions=len(secret))
    return RecordRedaction(record, secret, personal)


_place = attrgetter("start")


def _combined(old: list[Finding], again: Redaction) -> list[Finding]:
    """Return the findings of both redactions of one text, without those of the first that the
    second one covers."""
    way_back = WayBack(old)
    new = sorted(map(way_back.moved, (*again.findings, *again.personal)), key=_place)
    return sorted([*outside(old, new), *new], key=_place)


_SHORT = 256
_REMEMBERED = 8_192
_SECONDS_PER_CHARACTER = 1e-6
_MOST_SLOW_RECORDS = 30
"""How many records of a session may use up all their time."""
_WHEN_USED_UP = 0.01
"""The share of `record_seconds` that each record has left after that."""
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_PLAIN_ID = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:toolu_|msg_|call_|[xk]-)[A-Za-z0-9]{8,48}"
)
"""Ids as agents make them: too short on structure to hide a secret, so not scanned."""
_ID_FIELDS = words(
    "session_id agent_id record_uuid parent_uuid tool_use_id message_id spawned_agent_id"
)
_ids_of = attrgetter(*_ID_FIELDS)
_shared_of = attrgetter(*SHORT_FIELDS)


class _Shared(NamedTuple):
    """The redacted fields that many records of a session have in common, and those in which
    something was found."""

    project: str
    project_root: RedactedText
    tool_name: RedactedText
    cwd: RedactedText
    git_branch: RedactedText
    subtype: str
    model: str
    agent_version: str
    touched: list[tuple[str, Redaction]]


class _SessionTime:
    """Limits the time that redacting each record of a session may take: to what the length of its
    text allows, and what one record may take more while the session has that much left.

    A block for each record, one at a time: made for each, it would take longer than most of what
    redacts a short one."""

    def __init__(self) -> None:
        self._overtime = self._allowed = self._most = self._begin = 0.0
        self._budget = TimeBudget(0.0)
        self._limit: Deadline

    def for_text(self, text: str, most: float) -> _SessionTime:
        """Return the block in which a record with this text is redacted, which may take at most
        `most` seconds more than its length allows."""
        self._allowed, self._most = len(text) * _SECONDS_PER_CHARACTER, most
        return self

    def __enter__(self) -> None:
        most = self._most
        more = min(most, max(most * _MOST_SLOW_RECORDS - self._overtime, most * _WHEN_USED_UP))
        self._begin = time.monotonic()
        self._budget = TimeBudget(self._allowed + more)
        self._limit = self._budget.__enter__()

    def __exit__(self, *_: object) -> None:
        self._budget.__exit__()
        if time.monotonic() - self._begin > self._allowed:  # else the CPU time is not over, either
            used = time.thread_time() - self._limit.begin - self._allowed
            self._overtime += max(used, 0.0)


class SessionRedactor:
    """Redacts the records of one session and remembers, in memory only, the secrets it found."""

    def __init__(self, redactor: TextRedactor, session_id: str, known: frozenset[bytes]) -> None:
        self._redactor = redactor
        self._tagger = Tagger(redactor.key, session_id)
        self._identity = RecordIdentity(redactor.key)
        self._known = KnownValues(redactor.key, known)
        self._known_search = self._known_values if self._known else None
        self._forgotten: dict[bytes, str] = {}
        self._nothing = Redaction(seal(""), ())
        self._values = SessionValues()
        self._cache: dict[str, Redaction] = {}
        self._commands: dict[tuple[str, str, str], Redaction] = {}
        self._shared: dict[tuple[str, ...], _Shared] = {}
        self._ids: dict[str, str] = {}
        self._second: dict[str, Redaction] = {}
        self._values_at_second = 0
        self._time = _SessionTime()

    def __repr__(self) -> str:
        return f"SessionRedactor({self._redactor.ruleset_version!r})"

    @property
    def known_values(self) -> dict[bytes, str]:
        """The rule of every secret found that nobody can guess, and of every forgotten text, by
        its keyed hash."""
        hashed = (
            (value_hash(value, self._redactor.key), rule)
            for value, rule in self._values.items()
            if not is_guessable(rule, value)
        )
        known_values = {known: rule for known, rule in hashed if known is not None}
        return known_values | self._forgotten

    @property
    def values_shown(self) -> int:
        """The number of different secrets found so far."""
        return len(self._values)

    def shown_since(self, count: int) -> SessionValues:
        """Return the secrets found after the first `count`, to search other records for them."""
        return self._values.after(count)

    def redact_record(self, record: Record, *, project: str, project_root: str) -> RecordRedaction:
        """Return `record` with every free string redacted and file contents cut by policy.

        Raises:
            RedactionFailed: anything went wrong inside; the message holds ids only.
            MemoryError: memory ran out.
        """
        return _fail_closed(
            lambda: self._redact_record(record, project, project_root), record, "redacted"
        )

    def redact(self, text: str, *, session_id: str = "") -> Redaction:
        """Return a composed text, or a document, without secrets, known ones included; secrets
        found in it are not remembered. Like a record it is withheld whole if it takes too long."""
        try:
            with self._time.for_text(text, self._redactor.record_seconds):
                redaction, _ = self._redactor.apply(text, self._tagger, also=self._known_search)
        except (OutOfTime, Unsettled) as failure:
            return self._withheld(text, failure)
        return redaction

    def propagate(self, redaction: RecordRedaction) -> RecordRedaction:
        """Return the record without any secret that was found in another record of the session.

        To be called after all records have been through `redact_record`.

        Raises:
            RedactionFailed: anything went wrong inside; the message holds ids only.
            MemoryError: memory ran out.
        """
        return _fail_closed(lambda: self._propagate(redaction), redaction.record, "redacted again")

    def _propagate(self, redaction: RecordRedaction) -> RecordRedaction:
        if not self._values:
            return redaction
        if len(self._values) != self._values_at_second:
            self._values_at_second = len(self._values)
            self._second.clear()
        texts = texts_of(redaction.record)
        try:
            with self._time.for_text(redaction.record.text, self._redactor.record_seconds):
                again = {name: self._again(text) for name, text in texts.items()}
        except (OutOfTime, Unsettled) as failure:
            again = {name: self._withheld(text, failure) for name, text in texts.items()}
        changed = {name: part for name, part in again.items() if part.text != texts[name]}
        if not changed:
            return redaction
        return redacted_again(redaction, changed)

    def _again(self, text: str) -> Redaction:
        """Return a redacted text without the session's secrets."""
        known = self._second.get(text)
        if known is None:
            known = Redaction(seal(text), ())
            if self._own_values(text):
                known, _ = self._redactor.apply(text, self._tagger, also=self._own_values)
            if len(text) <= _SHORT:
                _keep(self._second, text, known)
        return known

    def _own_values(self, text: str) -> list[Edit]:
        inert = Inert(text)
        return [
            edit
            for edit in self._values.edits(text)
            if list(inert.without(edit.start, edit.end)) == [(edit.start, edit.end)]
        ]

    def _known_values(self, text: str) -> list[Edit]:
        edits = [
            Edit(start, end, KNOWN_SECRET, text[start:end])
            for start, end in self._known.spans(text)
        ]
        for start, end, known in self._known.forgotten.spans(text):
            if list(Inert(text).without(start, end)) == [(start, end)]:
                self._forgotten[known] = FORGOTTEN_TEXT
                edits.append(Edit(start, end, FORGOTTEN_TEXT, text[start:end]))
        return edits

    def _redact_record(self, record: Record, project: str, project_root: str) -> RecordRedaction:
        known = self._ids
        ids = [
            (known.get(value) or self._stored_id(name, value)) if value else ""
            for name, value in zip(_ID_FIELDS, _ids_of(record), strict=True)
        ]
        _, _, record_uuid, parent_uuid, tool_use_id, message_id, spawned_agent_id = ids
        key = (project, project_root, *_shared_of(record))
        shared = self._shared.get(key) or self._shared_fields(key)
        try:
            with self._time.for_text(record.text, self._redactor.record_seconds):
                text, command, paths = self._free_texts(record, project_root)
        except (OutOfTime, Unsettled) as failure:
            text, command, *paths = [
                self._withheld(given, failure)
                for given in (record.text, record.command, *record.paths)
            ]
        parts = [("text", text), ("command", command), *shared.touched]
        if paths:
            parts += [(f"paths[{at}]", path) for at, path in enumerate(paths)]
        touched = _touched(parts)
        findings = in_fields([(name, part.findings) for name, part in touched]) if touched else ()
        redacted = RedactedRecord(  # by position: by name it takes twice as long
            shared.project,
            shared.project_root,
            record.agent,
            record.session_id,
            record.agent_id,
            record.seq,
            record_uuid,
            parent_uuid or None,
            record.byte_start,
            record.byte_end,
            record.timestamp,
            record.role,
            record.kind,
            text.text,
            shared.subtype,
            shared.tool_name,
            tool_use_id,
            record.is_error,
            tuple([path.text for path in paths]) if paths else (),
            command.text,
            shared.cwd,
            shared.git_branch,
            shared.model,
            shared.agent_version,
            record.is_sidechain,
            message_id,
            spawned_agent_id,
            record.tokens,
            len(findings),
            self._redactor.ruleset_version,
        )
        personal = in_fields([(name, part.personal) for name, part in touched]) if touched else ()
        return RecordRedaction(redacted, findings, personal)

    def _free_texts(
        self, record: Record, project_root: str
    ) -> tuple[Redaction, Redaction, list[Redaction]]:
        """Return the text, command and paths of a record, redacted."""
        printed = printed_secrets(record.command, record.text) if record.role == "tool" else ()
        text = self._apply(
            record.text,
            self._redactor.policy.cuts(record, project_root),
            [Edit(*span, PRINTED_SECRET, record.text[slice(*span)]) for span in printed],
        )
        command = self._nothing
        if record.command:
            command = self._command(record.command, record.cwd, project_root)
        return text, command, [self._short(path) for path in record.paths]

    def _withheld(self, text: str, failure: OutOfTime | Unsettled) -> Redaction:
        """Return a text of which nothing is left but a tag, which says what stopped redaction."""
        if not text:
            return self._nothing
        rule = TIMED_OUT if isinstance(failure, OutOfTime) else UNSETTLED
        tag = self._tagger.tag(rule, text, guessable=True)
        return Redaction(seal(tag), (Finding(rule, 0, len(text), tag),))

    def _stored_id(self, name: str, value: str) -> str:
        """Return an id as it may be written, and keep it in `_ids`.

        Raises:
            RedactionFailed: it looks like a secret.
        """
        if not _PLAIN_ID.fullmatch(value) and self._short(value).findings:
            raise RedactionFailed(f"its {name} looks like a secret")
        return _keep(self._ids, value, self._identity.stored(value))

    def _shared_fields(self, key: tuple[str, ...]) -> _Shared:
        """Return the fields of a project's name and root and `SHORT_FIELDS`, redacted."""
        project, *texts = key
        if self._short(project).findings:
            raise RedactionFailed("its project's name looks like a secret")
        parts = dict(zip(("project_root", *SHORT_FIELDS), map(self._short, texts), strict=True))
        values: dict[str, Any] = {name: part.text for name, part in parts.items()}
        for name in ("subtype", "model", "agent_version"):  # plain strings in a row
            values[name] = str(values[name])
        shared = _Shared(project=project, touched=_touched(parts.items()), **values)
        return _keep(self._shared, key, shared)

    def _command(self, command: str, cwd: str, project_root: str) -> Redaction:
        """Return a command without the contents that it writes. A call's result repeats it, so the
        last ones are remembered."""
        key = (command, cwd, project_root)
        known = self._commands.get(key)
        if known is None:
            cuts = self._redactor.policy.command_cuts(command, (cwd, project_root))
            known = _keep(self._commands, key, self._apply(command, cuts), most=64)
        return known

    def _short(self, text: str) -> Redaction:
        """Return the redaction of a string that many records share, from a cache."""
        redaction = self._cache.get(text)
        if redaction is None:
            redaction = self._apply(text)
            if len(text) <= _SHORT:
                _keep(self._cache, text, redaction)
        return redaction

    def _apply(
        self, text: str, contents: Sequence[tuple[int, int]] = (), printed: Sequence[Edit] = ()
    ) -> Redaction:
        given = [Edit(start, end, FILE_CONTENTS, "") for start, end in contents] if contents else []
        for cut in given:
            self._remember(self._redactor.secrets(text[cut.start : cut.end]))
        if printed:
            self._remember(printed)
            given += printed
        redaction, seen = self._redactor.apply(text, self._tagger, given, self._known_search)
        if seen:
            self._remember(seen)
        return redaction

    def _remember(self, edits: Iterable[Edit]) -> None:
        for edit in edits:
            self._values.remember(edit.value, edit.rule)


def _fail_closed(
    work: Callable[[], RecordRedaction], record: Record | RedactedRecord, done: str
) -> RecordRedaction:
    """Return what `work` returns, or raise `RedactionFailed` without the text of any error."""
    try:
        return work()
    except MemoryError:
        raise  # says nothing of the record; the session is tried again by the next run
    except Exception as error:  # noqa: BLE001  the fail-closed boundary
        reason = str(error) if isinstance(error, RedactionFailed) else type(error).__name__
    raise RedactionFailed(f"record {record.seq} could not be {done}: {reason}")


def _touched(parts: Iterable[tuple[str, Redaction]]) -> list[tuple[str, Redaction]]:
    """Return the fields in which something was found."""
    return [(name, part) for name, part in parts if part[1] or part[2]]


def _keep(cache: dict[_Key, _Value], key: _Key, value: _Value, most: int = _REMEMBERED) -> _Value:
    """Add a value to a cache, which is emptied when it is full, and return it."""
    if len(cache) >= most:
        cache.clear()
    cache[key] = value
    return value
