"""Who works out what is asked: a process for each request, which can be ended at any time.

A newer request of the same kind from the same page takes the older one's place; a few processes may
work at once. They are forked from one that has imported all that is needed, so that an answer does
not wait for imports.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Mapping
from typing import Any

from shuffledp.page.work import Reply, answered

__all__ = ["LIMITS", "Desk"]

# Seconds for one request of a kind. A person waits that long; the command line has no limit.
LIMITS: dict[str, float] = {
    "epsilon": 60.0,
    "curve": 120.0,
    "compare": 300.0,
    "deployment": 30.0,
    "report": 300.0,
}
# Processes at once: all kinds of a page, and those of another one.
_MOST = 2 * len(LIMITS)
# Not on Windows, where every process imports all by itself.
_START = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


class Desk:
    """Takes requests from any thread.

    Parameters
    ----------
    limits : mapping, optional
        Seconds for a request, by kind.
    """

    def __init__(self, limits: Mapping[str, float] = LIMITS) -> None:
        self._limits = dict(limits)
        self._context: Any = multiprocessing.get_context(_START)
        self._changing = threading.Lock()
        # Each process that works: its kind and its page.
        self._working: dict[Any, tuple[str, str]] = {}
        self._closed = False

    def open(self) -> None:
        """Have the process that others are forked from import what they need."""
        if _START == "forkserver":
            from multiprocessing import forkserver

            # NumPy's threads would be more than the processors there are.
            for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
                os.environ.setdefault(name, "1")
            self._context.set_forkserver_preload([answered.__module__])
            forkserver.ensure_running()

    def ask(self, kind: str, fields: Mapping[str, str], client: str) -> Reply:
        """Answer with an HTTP status and a body; blocks until there is one."""
        seconds = self._limits[kind]
        with self._changing:
            if self._closed:
                return _refusal(409, f"{kind}: the server is closing")
            for other, whose in [*self._working.items()]:
                if client and whose == (kind, client):
                    self._end(other)
            if len(self._working) >= _MOST:
                return _refusal(429, f"{kind}: too many requests, wanted fewer pages open")
            here, there = self._context.Pipe(duplex=False)
            asked = (there, kind, dict(fields), seconds)
            process = self._context.Process(target=answered, args=asked, daemon=True)
            process.start()
            self._working[process] = (kind, client)
        there.close()
        words = f"{kind}: no answer within {seconds:g} s; the command line has no such limit"
        try:
            if here.poll(seconds):
                return here.recv()
        except EOFError:
            words = f"{kind}: ended without an answer, perhaps for want of memory"
            if process not in self._working:
                return _refusal(409, f"{kind}: a newer request took its place")
        finally:
            here.close()
            with self._changing:
                self._end(process)
        return _refusal(422, words)

    def close(self) -> None:
        """End every process."""
        with self._changing:
            self._closed = True
            for process in [*self._working]:
                self._end(process)

    def _end(self, process: Any) -> None:
        """End a process, unless it was ended before, and wait until it is gone."""
        if self._working.pop(process, None) is not None:
            process.kill()
            process.join()


def _refusal(status: int, words: str) -> Reply:
    return status, {"error": words}
