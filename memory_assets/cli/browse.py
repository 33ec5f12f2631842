"""`memory search -i`: go through the hits of an answer with keys, and open them."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Self

from memory_assets.cli.asking import print_view
from memory_assets.cli.printing import rendering
from memory_assets.cli.printing.hit_view import HitView, by_session
from memory_assets.errors import ConfigurationError
from memory_assets.requests.questions import ShowRequest
from memory_assets.serving.answer_lines import unsure_note
from memory_assets.serving.layout import Layout
from memory_assets.serving.views import rows_view

if TYPE_CHECKING:
    from memory_assets.recall import Memory

_NEXT = ("n", "j", " ", "\x1b[B", "\x1bOB")
"""Keys as a terminal sends them; of an arrow both of its escape sequences."""
_PREVIOUS = ("p", "k", "\x1b[A", "\x1bOA")
_OPEN = ("\r", "\n")
_QUIT = ("q", "\x1b", "\x03", "\x04", "")
"""With Escape, Ctrl-C, Ctrl-D, and the end of the input."""
_HELP = "n next  p previous  Enter open  q quit"
_OWN_SCREEN = "\x1b[?1049h"
_USUAL_SCREEN = "\x1b[?1049l"
_ESCAPE_SECONDS = 0.05
"""An escape that nothing follows for so long is the Escape key, not the beginning of an arrow."""
_LOCAL_FLAGS = 3
"""Index of the local flags in the list that `termios.tcgetattr` returns, by its documentation."""
_CLEAR = "\x1b[H\x1b[2J"


def require_terminal() -> None:
    """Raise `ConfigurationError` unless keys can be read and hits be shown."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigurationError("-i needs a terminal; leave it out")


def browse(memory: Memory, answer: Mapping[str, Any], *, by_time: bool) -> None:
    """Show the hits, one of them marked, until the user quits: `n` and `p` (or arrows) go to the
    next and to the one before, Enter opens the hit in the pager. Ctrl-C quits, too."""
    order = [
        (ranked, chosen > 0)
        for group in by_session(answer["hits"], by_time=by_time)
        for chosen, ranked in enumerate(group)
    ]
    if not order:
        rendering.print_lines(["Nothing found."])
        return
    chosen = 0
    with suppress(KeyboardInterrupt), _Keys() as keys:
        while True:
            _draw(memory, answer, order, chosen)
            pressed = keys.pressed()
            if pressed in _QUIT:
                return
            if pressed in _NEXT:
                chosen = min(chosen + 1, len(order) - 1)
            elif pressed in _PREVIOUS:
                chosen = max(chosen - 1, 0)
            elif pressed in _OPEN:
                with keys.suspended():
                    _open(memory, order[chosen][0][1])


def _draw(memory: Memory, answer: Mapping[str, Any], order: Sequence[Any], chosen: int) -> None:
    """Draw the hits that fit the screen, with the chosen one among them."""
    size = get_terminal_size()
    view = HitView(memory, answer, Layout(size.columns - 2, rendering.has_colours(sys.stdout)))
    drawn = [
        [
            f"{'>' if line == 0 and place == chosen else ' '} {text}"
            for line, text in enumerate(lines)
        ]
        for place, (ranked, again) in enumerate(order)
        for lines in [list(view.lines(ranked, again=again))]
    ]
    room = max(size.lines - 2, len(drawn[chosen]))
    first_shown = chosen
    used_lines = len(drawn[chosen])
    while first_shown > 0 and used_lines + len(drawn[first_shown - 1]) <= room:
        first_shown -= 1
        used_lines += len(drawn[first_shown])
    shown = [line for lines in drawn[first_shown:] for line in lines][:room]
    weak = f"{unsure_note(answer['missing'])}  " if answer["weak"] else ""
    rendering.write_lines(
        [f"{_CLEAR}{weak}{chosen + 1} of {len(order)}  {_HELP}", *shown], sys.stdout
    )


def _open(memory: Memory, hit: Mapping[str, Any]) -> None:
    """Print a hit in full through the pager, then wait for Enter, because a pager may return at
    once and leave the text on the screen."""
    request = ShowRequest(hit["id"])
    rendering.write_lines([_CLEAR], sys.stdout)
    print_view(rows_view, memory, memory.ask(request), full=True)
    rendering.write_lines(["Press Enter to go back."], sys.stdout)
    sys.stdin.readline()


class _Keys:
    """The keys of a terminal, read one by one. A context that shows the terminal's alternate
    screen, and restores screen and mode at its end."""

    def __init__(self) -> None:
        try:
            import termios
            import tty
        except ImportError as error:  # not a Unix
            raise ConfigurationError("-i needs a Unix terminal; leave it out") from error
        self._descriptor = sys.stdin.fileno()
        self._usual = termios.tcgetattr(self._descriptor)
        self._termios = termios
        self._tty = tty

    def __enter__(self) -> Self:
        rendering.write_lines([_OWN_SCREEN], sys.stdout)
        self._read_at_once()
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()
        rendering.write_lines([_USUAL_SCREEN], sys.stdout)

    def pressed(self) -> str:
        """Return the next key, an arrow as its escape sequence; "" at the end of the input."""
        key = os.read(self._descriptor, 1)
        if key == b"\x1b" and select.select([self._descriptor], [], [], _ESCAPE_SECONDS)[0]:
            key += os.read(self._descriptor, 2)
        return key.decode("utf-8", "replace")

    def _read_at_once(self) -> None:
        """Read each key as it comes, Ctrl-C included: its signal could arrive just before a read
        begins, which would then wait for another key."""
        self._tty.setcbreak(self._descriptor, self._termios.TCSADRAIN)
        mode = self._termios.tcgetattr(self._descriptor)
        mode[_LOCAL_FLAGS] &= ~self._termios.ISIG
        self._termios.tcsetattr(self._descriptor, self._termios.TCSADRAIN, mode)

    def _restore(self) -> None:
        self._termios.tcsetattr(self._descriptor, self._termios.TCSADRAIN, self._usual)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Restore the mode of the terminal for a pager while the block lasts."""
        self._restore()
        try:
            yield
        finally:
            self._read_at_once()
