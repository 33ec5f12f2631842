"""The policy for file contents: which calls contain them, and which may be kept.

Contents over the size limit, and those of files that exist to hold secrets, are replaced by
`<redacted-file-contents-of-N-bytes>`, N being the number of UTF-8 bytes. Paths on the allowlist are
kept, whatever their size; a file of secrets only if a glob names its kind. What is kept is scanned
like all other text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memory_assets.models import Record
from memory_assets.redaction.policy.allowlist import Allowlist, real_path
from memory_assets.redaction.policy.command_files import files_read, files_shown, searches, written
from memory_assets.redaction.policy.file_sections import (
    diff_sections,
    has_sections,
    match_sections,
    patch_sections,
)
from memory_assets.redaction.policy.sensitive_paths import hints, is_sensitive, names_secrets
from memory_assets.redaction.policy.vault_commands import opens_vault
from memory_assets.redaction.settings import RedactionSettings
from memory_assets.redaction.time_budget import within_budget
from memory_assets.tool_names import kind_of_tool

CONTENT_KEY = re.compile(
    r"^(?:content|contents|file_text|fileText|text|old_string|new_string|oldString|newString"
    r"|old_str|new_str|oldText|newText|old_text|new_text|new_source|insert_text|edits|patch|diff"
    r"|input|code|code_edit|replacement|replacements|search|replace|data|body)(?::\n|: )",
    re.MULTILINE,
)
"""The beginning of the contents in a writing call's rendered input."""

_CONTENTS_TAG = re.compile(r"<redacted-file-contents-of-\d+-bytes>")
_OUTPUT_HEAD = re.compile(
    r"(?:(?:Chunk ID|Wall time|Process exited with code|Process running|Original token count"
    r"|Exit code|Script completed|Total output lines)[^\n]{0,200}\n){1,8}Output:\n"
)
"""What Codex writes before a command's own output."""
_LITERAL = re.compile(
    r"\"(?:[^\"\\]|\\.)*+(\")?|'(?:[^'\\\n]|\\.)*+(')?|`(?:[^`\\]|\\.)*+(`)?", re.DOTALL
)
"""A string literal up to its end, which is a group, or as far as it goes."""
_QUOTE = re.compile(r"[\"'`]")
_WRITES = re.compile(
    r">|<<|\*\*\* |\b(?:tee|sed|perl|[Aa][Cc]|[Ss][Cc])\b|-(?:[Cc]on|[Ff]ile|[Ii]tem)"
)
"""Occurs in every command that writes a file."""
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "\n": ""}
_CALLS_TOOLS = re.compile(r"\btools\.\w+\(")
"""Occurs in code that runs commands as string literals: `tools.exec_command({cmd: "..."})`."""
_LONGEST_COMMAND = 2_000_000

Cut = tuple[int, int]


def contents_tag(contents: str) -> str:
    """Return the tag that replaces `contents`."""
    return f"<redacted-file-contents-of-{byte_length(contents)}-bytes>"


def byte_length(text: str) -> int:
    """Return the length of `text` in UTF-8; a lone surrogate counts as three bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


class ContentPolicy:
    """Decides which ranges of a record are file contents that have to be replaced."""

    def __init__(self, settings: RedactionSettings) -> None:
        self._limit = settings.max_file_bytes
        self._allowlist = Allowlist(settings.allowlist)

    def cut_contents(self, text: str, paths: Iterable[str], roots: Iterable[str] = ()) -> bool:
        """Return True if `text`, contents of `paths`, is to be replaced.

        `roots` are the directories that relative paths and globs start from.
        """
        all_paths = tuple(paths)
        directories = tuple(root for root in roots if root)
        if not text or _CONTENTS_TAG.fullmatch(text.strip()):
            return False
        if all_paths and all(self._allowlist.allows(path, directories) for path in all_paths):
            return False
        if self._any_sensitive(all_paths, directories):
            return True
        return self._is_large(text)

    def cuts(self, record: Record, project_root: str = "") -> tuple[Cut, ...]:
        """Return the ranges of `record.text` to replace, in order."""
        text = record.text
        roots = (record.cwd, project_root)
        if not text:
            return ()
        tool = kind_of_tool(record.tool_name)
        if record.kind == "tool_use":
            if tool == "write":
                spans = self._call_cuts(text, record.paths, roots)
            else:
                spans = self._command_text_cuts(text, record.command, roots)
        elif record.kind == "tool_result":
            spans = self._result_cuts(record, tool, roots)
        elif record.kind == "attachment" and record.paths and record.subtype != "plan":
            spans = self._whole_text_cuts(text, 0, record.paths, roots)
        else:
            spans = self._section_cuts(text, roots)
        # earlier tags stay, so that records of the lake can be redacted again
        kept = [
            (start, end)
            for start, end in spans
            if not _CONTENTS_TAG.fullmatch(text[start:end].strip())
        ]
        return _merge_ranges(kept) if kept else ()

    def command_cuts(self, command: str, roots: Iterable[str] = ()) -> tuple[Cut, ...]:
        """Return the ranges of a command to replace: contents that it writes into files."""
        return _merge_ranges(self._command_text_cuts(command, command, tuple(roots)))

    def _any_sensitive(self, paths: Iterable[str], roots: tuple[str, ...]) -> bool:
        """Return True if one of `paths`, or the target of its link, is a file of secrets."""
        return any(
            is_sensitive(path) or is_sensitive(real_path(path, roots[0] if roots else ""))
            for path in paths
        )

    def _is_forbidden(self, path: str, roots: tuple[str, ...]) -> bool:
        """Return True if a file holds secrets and is not on the allowlist."""
        return is_sensitive(path) and not self._allowlist.allows(path, roots)

    def _whole_text_cuts(
        self, text: str, start: int, paths: Iterable[str], roots: tuple[str, ...]
    ) -> Iterator[Cut]:
        """Yield the range from `start` to the end if these contents of `paths` are to be cut."""
        if self.cut_contents(text[start:], paths, roots):
            yield start, len(text)

    def _call_cuts(
        self, text: str, paths: tuple[str, ...], roots: tuple[str, ...]
    ) -> Iterable[Cut]:
        """Cut the input of a writing call: by file if it is a patch, else from its contents on."""
        begins = CONTENT_KEY.search(text)
        start = begins.end() if begins else 0
        if not text.startswith("*** Begin Patch", start):
            return self._whole_text_cuts(text, start, paths, roots)
        return [
            (begin, end)
            for path, begin, end in patch_sections(text)
            if self.cut_contents(text[begin:end], (path,), roots)
        ]

    def _result_cuts(self, record: Record, tool: str, roots: tuple[str, ...]) -> Iterable[Cut]:
        text = record.text
        if tool in ("read", "write"):
            short = byte_length(text) <= self._limit
            if short and "\n" not in text.strip() and _tells_only_names(record, tool):
                return ()
            if short and record.is_error and not self._any_sensitive(record.paths, roots):
                return ()
            return self._whole_text_cuts(text, 0, record.paths, roots)
        if tool == "search":
            if not text.startswith("Found ") and self.cut_contents(text, record.paths, roots):
                return [(0, len(text))]
            return self._search_cuts(text, roots)
        head = _OUTPUT_HEAD.match(text)
        start = head.end() if head else 0
        if record.command and len(record.command) <= _LONGEST_COMMAND:
            command = _shell_of(record.command)
            if self._shows_secrets(command, roots):
                return [(start, len(text))]
            files = files_read(command) if self._is_large(text) else ()
            if files and self.cut_contents(text[start:], files, roots):
                return [(start, len(text))]
            if searches(command):
                return self._search_cuts(text, roots)
        return self._section_cuts(text, roots)

    def _is_large(self, text: str) -> bool:
        return len(text) * 3 > self._limit and byte_length(text) > self._limit

    def _shows_secrets(self, command: str, roots: tuple[str, ...]) -> bool:
        if opens_vault(command):
            return True
        return names_secrets(command) and any(
            self._is_forbidden(path, roots) for path in files_shown(command)
        )

    def _search_cuts(self, text: str, roots: tuple[str, ...]) -> Iterable[Cut]:
        """Cut the lines that a search found in files of secrets."""
        sections = [
            (begin, end)
            for _, begin, end in match_sections(text, lambda path: self._is_forbidden(path, roots))
        ]
        return [*sections, *self._section_cuts(text, roots)]

    def _section_cuts(self, text: str, roots: tuple[str, ...]) -> Iterable[Cut]:
        """Cut the parts of diffs and patches, wherever they stand, that are files of secrets."""
        if not has_sections(text):
            return ()
        sections = (*diff_sections(text), *patch_sections(text))
        return [(start, end) for path, start, end in sections if self._is_forbidden(path, roots)]

    def _command_text_cuts(self, text: str, command: str, roots: tuple[str, ...]) -> Iterator[Cut]:
        """Cut what a command writes; `text` holds it verbatim, or escaped in JSON or code."""
        is_code = _calls_tools(text)
        if not (
            self._is_large(text)
            or "*** " in text
            or (hints(text) if is_code else names_secrets(command))
        ):
            return
        if not _WRITES.search(text):  # reads every character, so it is checked last
            return
        command_start = text.find(command) if command else -1
        if command_start >= 0:
            for start, end in self._written_cuts(command, roots):
                yield command_start + start, command_start + end
            if not is_code:
                return
        for literal in within_budget(_closed_literals(text)):
            if "\\" not in literal.group() and not is_code:
                continue
            shift = literal.start() + 1
            plain, sources = _unescape(literal.group()[1:-1])
            for start, end in self._written_cuts(plain, roots):
                yield shift + sources[start], shift + sources[end]

    def _written_cuts(self, command: str, roots: tuple[str, ...]) -> Iterator[Cut]:
        """Cut here-documents, arguments and patches that go into files."""
        if len(command) > _LONGEST_COMMAND:
            return
        patched = list(patch_sections(command))
        for path, start, end in patched:
            if self.cut_contents(command[start:end], (path,), roots):
                yield start, end
        if not self._is_large(command) and not names_secrets(command):
            return
        for start, end, paths in written(command):
            is_patch = any(start <= section.start < end for section in patched)
            if not is_patch and self.cut_contents(command[start:end], paths, roots):
                yield start, end


def _tells_only_names(record: Record, tool: str) -> bool:
    """Return True if a call's one-line answer only confirms it, or says why it failed."""
    if tool == "read":
        return record.is_error
    return any(path in record.text for path in record.paths)


def _shell_of(command: str) -> str:
    """Return a command, and the commands that it runs if it is code that calls tools."""
    if not _calls_tools(command):
        return command
    shells = [_unescape(literal.group()[1:-1])[0] for literal in _closed_literals(command)]
    return "\n".join((*shells, command))


def _calls_tools(command: str) -> bool:
    return "tools." in command and _CALLS_TOOLS.search(command) is not None


def _closed_literals(text: str) -> Iterator[re.Match[str]]:
    """Yield the closed string literals of a text.

    An opening quote without an end is skipped. All further quotes of its kind in the range that
    was searched are escaped and have no end either, so that they are not searched again.
    """
    position = 0
    unclosed = dict.fromkeys("\"'`", 0)
    while quote := _QUOTE.search(text, position):
        position = quote.start()
        if position >= unclosed[quote.group()] and (literal := _LITERAL.match(text, position)):
            if literal.lastindex:
                yield literal
                position = literal.end()
                continue
            unclosed[quote.group()] = literal.end()
        position += 1


def _unescape(literal: str) -> tuple[str, list[int]]:
    """Return the value of a string literal of JSON or JavaScript, and the position in the literal
    of each of its characters and of its end."""
    pieces: list[str] = []
    sources: list[int] = []
    position = 0
    for escape in _ESCAPE.finditer(literal):
        pieces.append(literal[position : escape.start()])
        sources.extend(range(position, escape.start()))
        code = escape.group()[1:]
        value = chr(int(code[1:], 16)) if len(code) > 1 else _SIMPLE.get(code, code)
        pieces.append(value)
        sources.extend([escape.start()] * len(value))
        position = escape.end()
    pieces.append(literal[position:])
    sources.extend(range(position, len(literal) + 1))
    return "".join(pieces), sources


def _merge_ranges(cuts: Iterable[Cut]) -> tuple[Cut, ...]:
    """Return the ranges in order, merged where they touch or overlap."""
    merged: list[Cut] = []
    for start, end in sorted([cut for cut in cuts if cut[0] < cut[1]]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
