"""Medians of interleaved runs in CPU time, each with a limit and all within a budget."""

from __future__ import annotations

import signal
import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.cases import FFT_LENGTH

SLOW = 0.7


class TooLong(BaseException):
    """A run went over its limit. Not an Exception, so that nothing measured can catch it."""


@dataclass
class Cell:
    """One thing that is timed again and again.

    Attributes
    ----------
    run : callable
        Does the work from scratch: nothing it uses may have been cached by an earlier run.
    seconds : list of float
        CPU time of each run that finished.
    result : Any
        What the last run gave.
    failure : str
        Why there is no time: a limit that was passed, or the error's text.
    """

    run: Callable[[], Any]
    seconds: list[float] = field(default_factory=list)
    result: Any = None
    failure: str = ""

    @property
    def median(self) -> float | None:
        """Median of the CPU times in seconds, None where no run finished."""
        return statistics.median(self.seconds) if self.seconds else None

    @property
    def slow(self) -> bool:
        """One run of it is enough: it is far above the timer's noise, and it is expensive."""
        return bool(self.seconds) and self.seconds[0] > SLOW


def measure(
    cells: dict[Any, Cell], *, rounds: int, limit: float, budget: float
) -> tuple[tuple[float, float], int]:
    """Run every cell once a round, FFTs between any two; the FFTs' medians and the rounds made.

    Parameters
    ----------
    cells : dict
        What to time, in this order.
    rounds : int
        At most that many times.
    limit, budget : float
        CPU seconds for one run and for all of them; no run is started after that.
    """
    unit = FFTUnit()
    started = time.process_time()
    done = 0
    for _ in range(rounds):
        for cell in cells.values():
            if cell.failure or cell.slow or time.process_time() - started > budget:
                continue
            unit.run()
            _once(cell, limit)
        done += 1
        # Whole rounds only, so that all fast cells are measured equally often.
        again = sum(c.seconds[0] for c in cells.values() if c.seconds and not c.slow)
        if time.process_time() - started + 1.2 * again > budget:
            break
    for cell in cells.values():
        if not cell.seconds and not cell.failure:
            cell.failure = "later"
    return unit.medians, done


def _once(cell: Cell, limit: float) -> None:
    try:
        with _Limit(limit):
            started = time.process_time()
            cell.result = cell.run()
            cell.seconds.append(time.process_time() - started)
    except TooLong:
        cell.failure = f"> {limit:g} s"
    except Exception as error:  # noqa: BLE001 (a benchmark reports what went wrong and goes on)
        cell.failure = type(error).__name__


def peak_memory(run: Callable[[], Any], limit: float) -> float | None:
    """Peak of the memory allocated while it runs, in MB; None if that took too long."""
    tracemalloc.start()
    try:
        with _Limit(limit):
            run()
        return tracemalloc.get_traced_memory()[1] / 1e6
    except (TooLong, Exception):  # noqa: BLE001 (as above)
        return None
    finally:
        tracemalloc.stop()


class FFTUnit:
    """One complex FFT of length 2^18: the unit that makes machines comparable."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._data = rng.normal(size=FFT_LENGTH) + 1j * rng.normal(size=FFT_LENGTH)
        self._first: list[float] = []
        self._second: list[float] = []

    def run(self) -> None:
        """Time two transforms in a row: the second finds its data in the caches."""
        for seconds in (self._first, self._second):
            started = time.process_time()
            np.fft.fft(self._data)
            seconds.append(time.process_time() - started)

    @property
    def medians(self) -> tuple[float, float]:
        """Medians in seconds: right after other work, and right after another transform."""
        return statistics.median(self._first), statistics.median(self._second)


class _Limit:
    """Interrupt the block after so many CPU seconds, where the system has such a timer."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGPROF, self._raise)
            signal.setitimer(signal.ITIMER_PROF, self._seconds)

    def __exit__(self, *exc: object) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, 0.0)

    @staticmethod
    def _raise(*_: object) -> None:
        raise TooLong
