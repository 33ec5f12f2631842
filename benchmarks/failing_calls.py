"""Writes, fsyncs, renames and opens that fail, for tests and benchmarks: the n-th call on files
below a directory, of this program and those that it starts.

`failing_calls.c` is compiled with `cc` and preloaded (Linux). Which call fails how is said through
shared memory, so that it can be changed while the programs run.
"""

from __future__ import annotations

import errno
import mmap
import shutil
import struct
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
CALLS = {"write": 1, "fsync": 2, "rename": 3, "open": 4}
CHANGE = "change"
"""A call of any kind that changes what is on the disk: all of them fail from some moment on where
the disk is full for good, or read-only."""
_NUMBERS = {**CALLS, CHANGE: 5}
ERRORS = {name: getattr(errno, name) for name in ("EIO", "ENOSPC", "EINTR", "EMFILE", "EACCES")}
STORES = (
    *("chroma", "lake", "catalog.db", "keywords.db"),
    *("lineage.db", "forgotten.db", "agent_memory.db"),
)
"""What a path has in its name below the data directory, by the store that it belongs to."""
_LAYOUT = struct.Struct("@8q512s64s512s")
_AHEAD = 7
"""Which number of the layout is the seconds that the clock is ahead."""
_FOR_EVER = 2**62


class NoCompiler(Exception):
    """The library cannot be made here; the message says why."""


@dataclass(frozen=True)
class Fault:
    """The `nth` call of a kind (from 1) that fails on the files of a store ("": of all), and, where
    it is lasting, every later one."""

    call: str
    store: str
    nth: int
    error: str
    lasting: bool = False

    def __str__(self) -> str:
        lasting = " and all later ones" if self.lasting else ""
        return f"{self.error} in {self.call} {self.nth}{lasting} of {self.store or 'any store'}"


class FailingCalls:
    """The library, compiled into `directory`, and what it is told: nothing fails at first."""

    def __init__(self, directory: Path) -> None:
        """Compile it.

        Raises:
            NoCompiler: there is no `cc`, or it refuses the source.
        """
        compiler = shutil.which("cc")
        if compiler is None:
            raise NoCompiler("no C compiler (cc) is on PATH")
        library = directory / "failing_calls.so"
        command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NoCompiler(f"cc refuses failing_calls.c: {done.stderr[-300:]}")
        self._control = directory / "failing_calls.control"
        self._control.write_bytes(bytes(_LAYOUT.size))
        self._listed = Path(f"{self._control}.calls")
        with self._control.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _LAYOUT.size)
        self.environment = {"LD_PRELOAD": str(library), "FAILING_CALLS": str(self._control)}
        """What a program must be started with."""

    def arm(self, directory: Path, fault: Fault) -> None:
        """Let a call on files below a directory fail from now on."""
        last = _FOR_EVER if fault.lasting else fault.nth
        number = getattr(errno, fault.error)
        numbers = (1, _NUMBERS[fault.call], fault.nth, last, number, 0, 0)
        self._put(numbers, directory, fault.store)

    def list_calls(self, directory: Path) -> None:
        """List the calls on files below a directory from now on, and let none fail."""
        self._listed.write_bytes(b"")  # kept: programs have it open
        self._put((2, 0, 0, 0, 0, 0, 0), directory, "")

    def disarm(self) -> str:
        """Let no call fail from now on, and return the path below the directory of the one that
        failed last, or ""."""
        values = _LAYOUT.unpack(self._shared[:])
        self._shared[:8] = bytes(8)
        path: bytes = values[10]
        return path.split(b"\0", 1)[0].decode("utf-8", "replace")

    def listed(self) -> Counter[tuple[str, str]]:
        """Return how often each kind of call was made, by kind and store; "": in all of them."""
        names = {str(number): name for name, number in _NUMBERS.items()}
        found = Counter[tuple[str, str]]()
        for line in self._listed.read_text("utf-8", "replace").splitlines():
            number, _, path = line.partition(" ")
            found.update((names[number], store) for store in (*STORES, "") if store in path)
        return found

    def set_clock(self, ahead: float) -> None:
        """Let the clock be so many seconds ahead of the machine's, or behind it, from now on."""
        at = _AHEAD * 8
        self._shared[at : at + 8] = struct.pack("@q", round(ahead))

    def _put(self, numbers: tuple[int, ...], directory: Path, store: str) -> None:
        below = f"{directory.resolve()}/".encode()
        (ahead,) = struct.unpack_from("@q", self._shared, _AHEAD * 8)
        self._shared[8:] = _LAYOUT.pack(*numbers, ahead, below, store.encode(), b"")[8:]
        self._shared[:8] = struct.pack("@q", numbers[0])
