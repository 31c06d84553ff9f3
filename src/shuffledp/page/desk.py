"""Who works out what is asked: a process for each request, which can be ended at any time.

One request of a kind is worked on at a time. A newer request of the same kind from the same page
takes the older one's place; requests of other pages wait, a few of them. Processes are forked from
one that has imported all that is needed, so that an answer does not wait for imports.
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
# Requests of one kind that wait: as many pages as anybody has open.
_MOST_WAITING = 8
# Not on Windows, where every process imports all by itself.
_START = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


class _Ticket:
    """A request: whether it is still wanted, and the process that works on it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Any = None
        self.dropped = False

    def drop(self) -> None:
        """Nobody wants the answer any more: end the process, whatever it does."""
        with self._lock:
            self.dropped = True
            if self._process is not None:
                self._process.kill()

    def start(self, process: Any) -> bool:
        """Start the process, unless nobody wants its answer."""
        with self._lock:
            if not self.dropped:
                self._process = process
                process.start()
            return not self.dropped

    def end(self) -> None:
        """End the process, and wait until it is gone."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.join()


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
        self._one = {kind: threading.Lock() for kind in self._limits}
        self._changing = threading.Lock()
        self._tickets: dict[str, dict[_Ticket, str]] = {kind: {} for kind in self._limits}
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
        ticket, tickets = _Ticket(), self._tickets[kind]
        with self._changing:
            if self._closed:
                return _refusal(409, f"{kind}: the server is closing")
            for other, page in tickets.items():
                if client and page == client:
                    other.drop()
            if len(tickets) > _MOST_WAITING:
                return _refusal(429, f"{kind}: too many requests wait, wanted fewer pages open")
            tickets[ticket] = client
        try:
            with self._one[kind]:
                return self._worked(kind, fields, ticket)
        finally:
            ticket.end()
            with self._changing:
                del tickets[ticket]

    def close(self) -> None:
        """End every process."""
        with self._changing:
            self._closed = True
            for tickets in self._tickets.values():
                for ticket in tickets:
                    ticket.drop()

    def _worked(self, kind: str, fields: Mapping[str, str], ticket: _Ticket) -> Reply:
        seconds = self._limits[kind]
        here, there = self._context.Pipe(duplex=False)
        asked = (there, kind, dict(fields), seconds)
        process = self._context.Process(target=answered, args=asked, daemon=True)
        started = ticket.start(process)
        there.close()
        with here:
            try:
                if started and here.poll(seconds):
                    return here.recv()
            except EOFError:
                if not ticket.dropped:
                    words = "ended without an answer, perhaps for want of memory"
                    return _refusal(422, f"{kind}: {words}")
        if ticket.dropped:
            return _refusal(409, f"{kind}: a newer request took its place")
        words = f"{kind}: no answer within {seconds:g} s"
        return _refusal(422, f"{words}; the command line has no such limit")


def _refusal(status: int, words: str) -> Reply:
    return status, {"error": words}
