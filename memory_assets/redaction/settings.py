"""What a user may set about redaction. Nothing here can turn it off."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RedactionSettings:
    """Limits of the file-content policy.

    `max_file_bytes`: contents of a file larger than this (UTF-8 bytes) that a tool call
    read or wrote are replaced by `<redacted-file-contents-of-N-bytes>`. 8 KiB keeps
    what one reads on a screen or two and drops whole files: memory needs to know
    that a file was read, the file itself is better found in the repository.
    `allowlist`: globs of paths whose contents stay whatever their size; they are still
    scanned for secrets.
    """

    max_file_bytes: int = 8_192
    allowlist: tuple[str, ...] = ()
