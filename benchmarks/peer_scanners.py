"""Other secret scanners that PyPI carries, each behind one function: texts in, spans out.

    python benchmarks/peer_scanners.py NAME < texts.jsonl > spans.jsonl

Runs by itself, without this project, in whatever Python has the scanner, so that their
dependencies stay out of ours. Each line of the input is `{"text": ...}`; each line of
the output is the list of `[start, end, rule]` in characters; one last line has the
seconds of CPU, start-up aside, and the version. Defaults everywhere, nothing is asked
over the network. Scanners that work on files get each text as a file of its own.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

Found = list[tuple[int, int, str]]
Scan = Callable[[Sequence[str]], Iterator[Found]]

SHORTEST_VALUE = 6


class Lines:
    """A text's lines, and where a value that stands on one of them begins."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def start(self, number: int) -> int:
        """Return where a line begins, counted from 1."""
        return self._starts[min(max(number - 1, 0), len(self._starts) - 1)]

    def spans(self, number: int, value: str, rule: str) -> Iterator[tuple[int, int, str]]:
        """Yield where `value` stands on the line or after it; the whole line if it does not."""
        begin = self.start(number)
        at = self.text.find(value, begin) if value else -1
        if at < 0 and value:
            at = self.text.find(value)
        if at >= 0:
            yield at, at + len(value), rule
        else:
            yield begin, max(self.start(number + 1) - 1, begin), rule


def betterleaks(texts: Sequence[str]) -> Iterator[Found]:
    """`pip install betterleaks-py`: the Go engine in the process."""
    import betterleaks as engine  # type: ignore[import-not-found]

    engine.scan_string("warm")
    for text in texts:
        lines = Lines(text)
        found: Found = []
        for finding in engine.scan_string(text.replace("\0", " ")):
            place = finding.location
            at = text.find(finding.match.value, lines.start(place.start_line))
            if at < 0:  # decoded: what it was decoded from
                raw = text.encode("utf-8", "surrogatepass").split(b"\n")
                begin = lines.start(place.start_line) + _characters(
                    raw, place.start_line, place.start_column - 1
                )
                end = lines.start(place.end_line) + _characters(
                    raw, place.end_line, place.end_column
                )
                found.append((begin, end, finding.rule_id))
            else:
                found.append((at, at + len(finding.match.value), finding.rule_id))
        yield found


def _characters(lines: list[bytes], number: int, column: int) -> int:
    line = lines[min(max(number - 1, 0), len(lines) - 1)]
    return len(line[: max(column, 0)].decode("utf-8", "ignore"))


def kingfisher(texts: Sequence[str]) -> Iterator[Found]:
    """`pip install kingfisher-secret-scanner`: the Rust engine in the process."""
    from kingfisher_sdk import DetectionScanner  # type: ignore[import-not-found]

    scanner = DetectionScanner()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        found: Found = []
        for finding in scanner.scan(data):
            if not finding.visible:
                continue
            place = finding.location
            start = len(data[: place["start_offset"]].decode("utf-8", "ignore"))
            end = len(data[: place["end_offset"]].decode("utf-8", "ignore"))
            at = text.find(finding.secret, start, end) if finding.secret else -1
            if at >= 0:
                start, end = at, at + len(finding.secret)
            found.append((start, end, finding.rule_id))
        yield found


def detect_secrets(texts: Sequence[str]) -> Iterator[Found]:
    """`pip install detect-secrets`: its default plugins and filters, file by file."""
    from detect_secrets import SecretsCollection  # type: ignore[import-not-found]
    from detect_secrets.settings import default_settings  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as folder, default_settings():
        file = Path(folder) / "record.txt"
        for text in texts:
            file.write_text(text, encoding="utf-8", errors="replace", newline="")
            secrets = SecretsCollection()
            secrets.scan_file(str(file))
            lines = Lines(text)
            yield [
                span
                for _, secret in secrets
                for span in lines.spans(secret.line_number, secret.secret_value or "", secret.type)
            ]


def credsweeper(texts: Sequence[str]) -> Iterator[Found]:
    """`pip install credsweeper`: its rules and its model, over a directory of files."""
    from credsweeper.app import CredSweeper  # type: ignore[import-not-found]
    from credsweeper.file_handler.files_provider import FilesProvider  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        files = []
        for number, text in enumerate(texts):
            file = Path(folder) / f"{number:06}.txt"
            file.write_text(text, encoding="utf-8", errors="replace", newline="")
            files.append(str(file))
        sweeper = CredSweeper(json_filename=str(report))
        with contextlib.redirect_stdout(io.StringIO()):
            sweeper.run(content_provider=FilesProvider(files))
        by_text: dict[int, Found] = {}
        for credential in json.loads(report.read_text() if report.exists() else "[]"):
            for part in credential["line_data_list"]:
                number = int(Path(part["path"]).stem)
                lines = Lines(texts[number])
                spans = lines.spans(part["line_num"], part["value"] or "", credential["rule"])
                by_text.setdefault(number, []).extend(spans)
    for number in range(len(texts)):
        yield by_text.get(number, [])


def trufflehog3(texts: Sequence[str]) -> Iterator[Found]:
    """`pip install trufflehog3`: its rules and entropy, over a directory of files."""
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(texts):
            file = Path(folder) / f"{number:06}.txt"
            file.write_text(text, encoding="utf-8", errors="replace", newline="")
        command = [
            str(Path(sys.executable).parent / "trufflehog3"),
            *("--no-history", "--format", "JSON", "--zero", folder),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        by_text: dict[int, Found] = {}
        for issue in json.loads(done.stdout or "[]"):
            number = int(Path(issue["path"]).stem)
            spans = Lines(texts[number]).spans(
                int(issue["line"] or 1), issue["secret"], issue["rule"]["id"]
            )
            by_text.setdefault(number, []).extend(spans)
    for number in range(len(texts)):
        yield by_text.get(number, [])


PEERS: dict[str, tuple[str, Scan]] = {
    "betterleaks": ("betterleaks-py", betterleaks),
    "kingfisher": ("kingfisher-secret-scanner", kingfisher),
    "detect-secrets": ("detect-secrets", detect_secrets),
    "credsweeper": ("credsweeper", credsweeper),
    "trufflehog3": ("trufflehog3", trufflehog3),
}
"""Scanners by name: what to install, and how it scans."""


def everywhere(text: str, found: Found) -> Found:
    """Return `found` and every other place of the text where a found value stands, since
    whoever redacts by these scanners would replace the value, not the place."""
    spans = set(found)
    for start, end, rule in found:
        value = text[start:end]
        at = text.find(value) if len(value) >= SHORTEST_VALUE else -1
        while at >= 0:
            spans.add((at, at + len(value), rule))
            at = text.find(value, at + len(value))
    return sorted(spans)


def main() -> int:
    """Scan what stands on standard input; 3 where the scanner is not installed."""
    name = sys.argv[1]
    distribution, scan = PEERS[name]
    try:
        version = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return 3
    texts = [json.loads(line)["text"] for line in sys.stdin]
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        for _ in scan(["warm"]):
            pass
        began = _cpu()
        found = list(scan(texts))
        seconds = _cpu() - began
    for text, spans in zip(texts, found, strict=True):
        out.write(json.dumps(everywhere(text, spans)) + "\n")
    out.write(json.dumps({"seconds": seconds, "version": version}) + "\n")
    return 0


def _cpu() -> float:
    """Return the CPU seconds of this process, its threads and its children."""
    times = os.times()
    return float(times.user + times.system + times.children_user + times.children_system)


if __name__ == "__main__":
    sys.exit(main())
