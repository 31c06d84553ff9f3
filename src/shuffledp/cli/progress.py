"""What a command says on stderr while it works: never on stdout, never before a second has gone.

It is one line after a second, then every five seconds, and after a minute every half: enough to
tell work from a hang. ``--quiet`` or SHUFFLEDP_QUIET=1 turns it off.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import click

from shuffledp.values.characters import visible

# Seconds after which a line is due: what takes longer than a second is not silent.
_DUE = (1.0, *(5.0 * k for k in range(1, 12)))
# Seconds between later lines: an hour's log has 130 of them.
_EVERY = 30.0


@contextlib.contextmanager
def progress(message: str) -> Iterator[Progress]:
    """Say on stderr that something runs, from a second on; ``update`` says what.

    Parameters
    ----------
    message : str
        What runs, in a few words.
    """
    current = Progress(message)
    if _quiet():
        yield current
        return
    done = threading.Event()
    thread = threading.Thread(target=_lines, args=(current, done), daemon=True)
    thread.start()
    try:
        yield current
    finally:
        done.set()
        thread.join()


class Progress:
    """The message, written by the one who works and read by the one who shows."""

    def __init__(self, message: str) -> None:
        self.message = visible(message)

    def update(self, message: str) -> None:
        """Replace the message: what is being done now."""
        self.message = visible(message)


def _quiet() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().params.get("quiet"))


def _lines(current: Progress, done: threading.Event) -> None:
    """A line each time one is due."""
    start = time.monotonic()
    for seconds in _times():
        if done.wait(max(0.0, start + seconds - time.monotonic())):
            return
        elapsed = f" ({seconds:.0f} s)" if seconds > _DUE[0] else ""
        click.echo(f"working: {current.message}{elapsed}", err=True)


def _times() -> Iterator[float]:
    yield from _DUE
    seconds = _EVERY
    while True:
        if seconds > _DUE[-1]:
            yield seconds
        seconds += _EVERY


def teller(status: Progress, prefix: str) -> Callable[[str], None]:
    """What tells it what is being computed."""
    return lambda message: status.update(f"{prefix}: {message}")


class Left:
    """How much is done, and for how long it will go on at this rate."""

    def __init__(self, status: Progress, what: str, total: int) -> None:
        self._status, self._what, self._total = status, what, total
        self._start = time.monotonic()

    def __call__(self, done: int) -> None:
        """So many are done."""
        rate = (time.monotonic() - self._start) / max(1, done)
        left = f", about {_duration(rate * (self._total - done))} left"
        more = left if done < self._total else ""
        self._status.update(f"{done:,} of {self._total:,} {self._what}{more}")


def _duration(seconds: float) -> str:
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"
