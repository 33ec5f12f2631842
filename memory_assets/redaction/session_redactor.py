"""Redact the records of one session in two passes: each record by itself, then again for the
secrets that were found in any of them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memory_assets.errors import RedactionFailed, Unsettled
from memory_assets.models import PLAIN_TEXTS, Record, RedactedRecord
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


def label_findings(parts: Iterable[tuple[str, Iterable[Finding]]]) -> tuple[Finding, ...]:
    """Return all findings, each with the name of its field; `parts` are fields and findings."""
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


def apply_second_redaction(
    first: RecordRedaction, redactions: Mapping[str, Redaction]
) -> RecordRedaction:
    """Return the record with some of its fields replaced by a second redaction of their redacted
    texts. Positions of findings stay those in the original texts."""
    changes: dict[str, Any] = {}
    paths: list[RedactedText] = list(first.record.paths)
    for name, redaction in redactions.items():
        if name.startswith(_PATHS):
            paths[int(name[len(_PATHS) : -1])] = redaction.text
        else:
            sealed = isinstance(getattr(first.record, name), RedactedText)
            changes[name] = redaction.text if sealed else str(redaction.text)
    earlier = (*first.findings, *first.personal)
    all_findings: list[Finding] = []
    for name in texts_of(first.record):
        of_field = (finding for finding in earlier if finding.field == name)
        findings = sorted(of_field, key=_start_of)
        if name in redactions:
            findings = _combine_findings(findings, redactions[name])
        all_findings += label_findings([(name, findings)])
    secret, personal = secret_and_personal(all_findings)
    record = replace(first.record, **changes, paths=tuple(paths), redactions=len(secret))
    return RecordRedaction(record, secret, personal)


_start_of = attrgetter("start")


def _combine_findings(findings: list[Finding], redaction: Redaction) -> list[Finding]:
    """Return the findings of two successive redactions of a text, in positions of the original,
    without those of the first that the second covers."""
    way_back = WayBack(findings)
    later = sorted(map(way_back.moved, (*redaction.findings, *redaction.personal)), key=_start_of)
    return sorted([*outside(findings, later), *later], key=_start_of)


_SHORT = 256
"""Characters of a text up to which its redaction is cached."""
_REMEMBERED = 8_192
"""Entries of a cache."""
_SECONDS_PER_CHARACTER = 1e-6
"""CPU seconds that a record may always take for each character of its text."""
_MOST_SLOW_RECORDS = 30
"""Records of a session that may use up all their time."""
_WHEN_USED_UP = 0.01
"""Share of `record_seconds` that each record has left after that."""
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_PLAIN_ID = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:toolu_|msg_|call_|[xk]-)[A-Za-z0-9]{8,48}"
)
"""Ids in the forms that agents generate, which are not scanned for secrets."""
_ID_FIELDS = words(
    "session_id agent_id record_uuid parent_uuid tool_use_id message_id spawned_agent_id"
)
_read_ids = attrgetter(*_ID_FIELDS)
_read_short_fields = attrgetter(*SHORT_FIELDS)


class _Shared(NamedTuple):
    """The redacted fields that many records of a session have in common; `touched` are those with
    findings, by name."""

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
    """A context manager that limits the CPU time of redacting one record: seconds by the length of
    its text, plus overtime as long as the session has some left.

    One object serves all records in turn, because creating one for each would take longer than
    redacting a short record."""

    def __init__(self) -> None:
        self._overtime = 0.0
        self._allowed = 0.0
        self._most = 0.0
        self._begin = 0.0
        self._budget = TimeBudget(0.0)
        self._deadline: Deadline

    def for_text(self, text: str, most: float) -> _SessionTime:
        """Return the context manager for a record with this text, with at most `most` seconds of
        overtime."""
        self._allowed = len(text) * _SECONDS_PER_CHARACTER
        self._most = most
        return self

    def __enter__(self) -> None:
        most = self._most
        overtime = min(most, max(most * _MOST_SLOW_RECORDS - self._overtime, most * _WHEN_USED_UP))
        self._begin = time.monotonic()
        self._budget = TimeBudget(self._allowed + overtime)
        self._deadline = self._budget.__enter__()

    def __exit__(self, *_: object) -> None:
        self._budget.__exit__()
        if time.monotonic() - self._begin > self._allowed:  # CPU time never exceeds elapsed time
            used = time.thread_time() - self._deadline.begin - self._allowed
            self._overtime += max(used, 0.0)


class SessionRedactor:
    """Redacts the records of one session and remembers, in memory only, the secrets it found."""

    def __init__(self, redactor: TextRedactor, session_id: str, known: frozenset[bytes]) -> None:
        self._redactor = redactor
        self._tagger = Tagger(redactor.key, session_id)
        self._identity = RecordIdentity(redactor.key)
        self._known = KnownValues(redactor.key, known)
        self._known_search = self._known_edits if self._known else None
        self._forgotten: dict[bytes, str] = {}
        self._nothing = Redaction(seal(""), ())
        self._values = SessionValues()
        self._cache: dict[str, Redaction] = {}
        self._commands: dict[tuple[str, str, str], Redaction] = {}
        self._shared: dict[tuple[str, ...], _Shared] = {}
        self._ids: dict[str, str] = {}
        self._second_pass: dict[str, Redaction] = {}
        self._values_at_second_pass = 0
        self._time = _SessionTime()

    def __repr__(self) -> str:
        return f"SessionRedactor({self._redactor.ruleset_version!r})"

    @property
    def known_values(self) -> dict[bytes, str]:
        """The rules of the secrets found that cannot be guessed, and of forgotten texts, by keyed
        hash."""
        hashed = (
            (value_hash(value, self._redactor.key), rule)
            for value, rule in self._values.items()
            if not is_guessable(rule, value)
        )
        known_values = {hash_: rule for hash_, rule in hashed if hash_ is not None}
        return known_values | self._forgotten

    @property
    def values_shown(self) -> int:
        """The number of different secrets found so far."""
        return len(self._values)

    def shown_since(self, count: int) -> SessionValues:
        """Return the secrets found after the first `count`, to search records already redacted."""
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
        """Return the redaction of a composed text or a document, known secrets included. Secrets
        found in it are not remembered. A text that takes too long is withheld whole."""
        try:
            with self._time.for_text(text, self._redactor.record_seconds):
                redaction, _ = self._redactor.apply(text, self._tagger, search=self._known_search)
        except (OutOfTime, Unsettled) as failure:
            return self._withhold(text, failure)
        return redaction

    def propagate(self, redaction: RecordRedaction) -> RecordRedaction:
        """Return the record without any secret that was found in another record of the session.

        Call it after `redact_record` has seen all records of the session.

        Raises:
            RedactionFailed: anything went wrong inside; the message holds ids only.
            MemoryError: memory ran out.
        """
        return _fail_closed(lambda: self._propagate(redaction), redaction.record, "redacted again")

    def _propagate(self, redaction: RecordRedaction) -> RecordRedaction:
        if not self._values:
            return redaction
        if len(self._values) != self._values_at_second_pass:
            self._values_at_second_pass = len(self._values)
            self._second_pass.clear()
        texts = texts_of(redaction.record)
        try:
            with self._time.for_text(redaction.record.text, self._redactor.record_seconds):
                redactions = {name: self._redact_again(text) for name, text in texts.items()}
        except (OutOfTime, Unsettled) as failure:
            redactions = {name: self._withhold(text, failure) for name, text in texts.items()}
        changed = {name: part for name, part in redactions.items() if part.text != texts[name]}
        if not changed:
            return redaction
        return apply_second_redaction(redaction, changed)

    def _redact_again(self, text: str) -> Redaction:
        """Return the redaction of a redacted text for the secrets of the session."""
        redaction = self._second_pass.get(text)
        if redaction is None:
            redaction = Redaction(seal(text), ())
            if self._session_edits(text):
                redaction, _ = self._redactor.apply(text, self._tagger, search=self._session_edits)
            if len(text) <= _SHORT:
                _keep(self._second_pass, text, redaction)
        return redaction

    def _session_edits(self, text: str) -> list[Edit]:
        """Return the edits that remove the secrets of the session, outside of tags."""
        inert = Inert(text)
        return [
            edit
            for edit in self._values.edits(text)
            if list(inert.without(edit.start, edit.end)) == [(edit.start, edit.end)]
        ]

    def _known_edits(self, text: str) -> list[Edit]:
        """Return the edits that remove known secrets and forgotten texts; note which of the latter
        occur."""
        edits = [
            Edit(start, end, KNOWN_SECRET, text[start:end])
            for start, end in self._known.spans(text)
        ]
        for start, end, text_hash in self._known.forgotten.spans(text):
            if list(Inert(text).without(start, end)) == [(start, end)]:
                self._forgotten[text_hash] = FORGOTTEN_TEXT
                edits.append(Edit(start, end, FORGOTTEN_TEXT, text[start:end]))
        return edits

    def _redact_record(self, record: Record, project: str, project_root: str) -> RecordRedaction:
        stored_ids = self._ids
        ids = [
            (stored_ids.get(value) or self._storable_id(name, value)) if value else ""
            for name, value in zip(_ID_FIELDS, _read_ids(record), strict=True)
        ]
        _, _, record_uuid, parent_uuid, tool_use_id, message_id, spawned_agent_id = ids
        key = (project, project_root, *_read_short_fields(record))
        shared = self._shared.get(key) or self._redact_shared_fields(key)
        try:
            with self._time.for_text(record.text, self._redactor.record_seconds):
                text, command, paths = self._redact_free_texts(record, project_root)
        except (OutOfTime, Unsettled) as failure:
            text, command, *paths = [
                self._withhold(original, failure)
                for original in (record.text, record.command, *record.paths)
            ]
        parts = [("text", text), ("command", command), *shared.touched]
        if paths:
            parts += [(f"paths[{number}]", path) for number, path in enumerate(paths)]
        changed = _fields_with_findings(parts)
        findings = (
            label_findings([(name, part.findings) for name, part in changed]) if changed else ()
        )
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
        personal = (
            label_findings([(name, part.personal) for name, part in changed]) if changed else ()
        )
        return RecordRedaction(redacted, findings, personal)

    def _redact_free_texts(
        self, record: Record, project_root: str
    ) -> tuple[Redaction, Redaction, list[Redaction]]:
        """Return the text, command and paths of a record, redacted."""
        printed = printed_secrets(record.command, record.text) if record.role == "tool" else ()
        text = self._redact_text(
            record.text,
            self._redactor.policy.cuts(record, project_root),
            [Edit(*span, PRINTED_SECRET, record.text[slice(*span)]) for span in printed],
        )
        command = self._nothing
        if record.command:
            command = self._redact_command(record.command, record.cwd, project_root)
        return text, command, [self._redact_short(path) for path in record.paths]

    def _withhold(self, text: str, failure: OutOfTime | Unsettled) -> Redaction:
        """Return the redaction that replaces a whole text by a tag with the cause of `failure`."""
        if not text:
            return self._nothing
        rule = TIMED_OUT if isinstance(failure, OutOfTime) else UNSETTLED
        tag = self._tagger.tag(rule, text, guessable=True)
        return Redaction(seal(tag), (Finding(rule, 0, len(text), tag),))

    def _storable_id(self, name: str, value: str) -> str:
        """Return an id in the form in which it is stored, and cache it.

        Raises:
            RedactionFailed: the id looks like a secret.
        """
        if not _PLAIN_ID.fullmatch(value) and self._redact_short(value).findings:
            raise RedactionFailed(f"its {name} looks like a secret")
        return _keep(self._ids, value, self._identity.stored(value))

    def _redact_shared_fields(self, key: tuple[str, ...]) -> _Shared:
        """Return the redacted fields of a key: project, its root, and `SHORT_FIELDS`."""
        project, *texts = key
        if self._redact_short(project).findings:
            raise RedactionFailed("its project's name looks like a secret")
        parts = dict(
            zip(("project_root", *SHORT_FIELDS), map(self._redact_short, texts), strict=True)
        )
        values: dict[str, Any] = {name: part.text for name, part in parts.items()}
        for name in PLAIN_TEXTS:
            values[name] = str(values[name])
        shared = _Shared(project=project, touched=_fields_with_findings(parts.items()), **values)
        return _keep(self._shared, key, shared)

    def _redact_command(self, command: str, cwd: str, project_root: str) -> Redaction:
        """Return the redaction of a command, without the file contents that it writes. Results of
        calls repeat the command, so that the last ones are cached."""
        key = (command, cwd, project_root)
        redaction = self._commands.get(key)
        if redaction is None:
            cuts = self._redactor.policy.command_cuts(command, (cwd, project_root))
            redaction = _keep(self._commands, key, self._redact_text(command, cuts), most=64)
        return redaction

    def _redact_short(self, text: str) -> Redaction:
        """Return the redaction of a string that many records share, cached if it is short."""
        redaction = self._cache.get(text)
        if redaction is None:
            redaction = self._redact_text(text)
            if len(text) <= _SHORT:
                _keep(self._cache, text, redaction)
        return redaction

    def _redact_text(
        self,
        text: str,
        ranges: Sequence[tuple[int, int]] = (),
        printed: Sequence[Edit] = (),
    ) -> Redaction:
        """Return the redaction of a text without these ranges and secrets, and remember all secrets
        found, those in the removed contents included."""
        edits = [Edit(start, end, FILE_CONTENTS, "") for start, end in ranges]
        for cut in edits:
            self._remember(self._redactor.secrets(text[cut.start : cut.end]))
        if printed:
            self._remember(printed)
            edits += printed
        redaction, seen = self._redactor.apply(text, self._tagger, edits, self._known_search)
        if seen:
            self._remember(seen)
        return redaction

    def _remember(self, edits: Iterable[Edit]) -> None:
        for edit in edits:
            self._values.remember(edit.value, edit.rule)


def _fail_closed(
    work: Callable[[], RecordRedaction], record: Record | RedactedRecord, done: str
) -> RecordRedaction:
    """Return the result of `work`; turn any error into `RedactionFailed` without its text."""
    try:
        return work()
    except MemoryError:
        raise  # says nothing of the record; the session is tried again by the next run
    except Exception as error:  # noqa: BLE001  the fail-closed boundary
        reason = str(error) if isinstance(error, RedactionFailed) else type(error).__name__
    raise RedactionFailed(f"record {record.seq} could not be {done}: {reason}")


def _fields_with_findings(fields: Iterable[tuple[str, Redaction]]) -> list[tuple[str, Redaction]]:
    """Return the fields with secrets or personal data, by name."""
    return [(name, redaction) for name, redaction in fields if redaction[1] or redaction[2]]


def _keep(cache: dict[_Key, _Value], key: _Key, value: _Value, most: int = _REMEMBERED) -> _Value:
    """Store a value in a cache, emptied first if it is full, and return the value."""
    if len(cache) >= most:
        cache.clear()
    cache[key] = value
    return value
