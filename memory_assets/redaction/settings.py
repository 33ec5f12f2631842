"""The settings of redaction. None of them can turn it off."""

from __future__ import annotations

from dataclasses import dataclass

PERSONAL_KINDS = ("home-directory", "email", "phone", "ipv4")
"""Kinds of personal data that can be removed; the first two are by default."""

ENGINES = ("auto", "hyperscan", "re")
"""`auto` is Hyperscan where it is installed, else the standard library's `re`."""


@dataclass(frozen=True, slots=True)
class RedactionSettings:
    """Limits of the file-content policy, and the kinds of personal data to take out.

    `max_file_bytes`: contents of a file larger than this (UTF-8 bytes) that a tool call
    read or wrote are replaced by `<redacted-file-contents-of-N-bytes>`. 8 KiB keeps
    what one reads on a screen or two and drops whole files: memory needs to know
    that a file was read, the file itself is better found in the repository.
    `allowlist`: globs of paths whose contents stay whatever their size; they are still
    scanned for secrets.
    `engine`: what finds the places to look at, one of `ENGINES`; the findings are the same.
    `personal`: kinds of `PERSONAL_KINDS` that go; secrets go whatever it says.
    `record_seconds`: CPU seconds that one record may take, and one more for each million of its
    characters, before it is withheld whole.
    """

    max_file_bytes: int = 8_192
    allowlist: tuple[str, ...] = ()
    engine: str = "auto"
    personal: tuple[str, ...] = PERSONAL_KINDS[:2]
    record_seconds: float = 10.0

    def __post_init__(self) -> None:
        """Raise `ValueError` for an unknown kind of personal data."""
        unknown = sorted(set(self.personal) - set(PERSONAL_KINDS))
        if unknown:
            raise ValueError(f"unknown kind of personal data: {unknown[0]}")
