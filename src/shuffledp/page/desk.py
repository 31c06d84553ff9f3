"""Who works out what is asked: processes that are ended when it takes too long or is not wanted.

One request of a kind is worked on at a time. A newer request of the same kind from the same page
takes the older one's place; requests of other pages wait, a few of them. Some processes stand by,
so that the next question need not wait for imports.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["LIMITS", "Desk"]

# Seconds for one request of a kind. A person waits that long; the command line has no limit.
LIMITS: dict[str, float] = {
    "epsilon": 60.0,
    "curve": 120.0,
    "compare": 300.0,
    "deployment": 30.0,
    "report": 300.0,
}
# One is at work while a slider moves, one takes over if that is ended.
_STANDING_BY = 2
# What is not wanted any more may finish if it does so that soon: starting anew costs more.
_GRACE = 0.2
_TICK = 0.05
# Requests of one kind that wait: as many pages as anybody has open.
_MOST_WAITING = 8

Reply = tuple[int, dict[str, Any]]


def _refusal(status: int, words: str) -> Reply:
    return status, {"error": words}


class _Worker:
    """A process with `shuffledp.page.work.main`."""

    def __init__(self) -> None:
        # The paths of this process: what is imported there is what is imported here.
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; from shuffledp.page.work import main; main()"
        )
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(  # noqa: S603 (this interpreter, with a fixed program)
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **one_thread},
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for the server, which ends its workers
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        if self.process.stdout is not None:
            for line in self.process.stdout:
                self.lines.put(line)
        self.lines.put(None)

    def ask(self, kind: str, fields: Mapping[str, str], seconds: float) -> None:
        """Hand over a request; if the process is gone, `lines` ends."""
        if self.process.stdin is None:
            return
        asked = {"kind": kind, "fields": dict(fields), "seconds": seconds}
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps(asked) + "\n")
            self.process.stdin.flush()

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what it was not told is lost with it
                    pipe.close()


@dataclass(eq=False)
class _Ticket:
    client: str
    superseded: float | None = None


@dataclass(eq=False)
class _Line:
    """Requests of one kind: who is served, and who waits."""

    tickets: list[_Ticket] = field(default_factory=list)


class Desk:
    """Takes requests from any thread.

    Parameters
    ----------
    limits : mapping, optional
        Seconds for a request, by kind.
    """

    def __init__(self, limits: Mapping[str, float] = LIMITS) -> None:
        self._limits = dict(limits)
        self._lines = {kind: _Line() for kind in self._limits}
        self._changed = threading.Condition()
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._closed = False

    def open(self) -> None:
        """Have a process stand by; the second one is started when there is something to do."""
        self._fill(1)

    def ask(self, kind: str, fields: Mapping[str, str], client: str) -> Reply:
        """Answer with an HTTP status and a body; blocks until there is one."""
        ticket, line = _Ticket(client), self._lines[kind]
        with self._changed:
            for other in line.tickets:
                if client and other.client == client:
                    other.superseded = other.superseded or time.monotonic()
            if len(line.tickets) > _MOST_WAITING:
                return _refusal(429, f"{kind}: too many requests wait, wanted fewer pages open")
            line.tickets.append(ticket)
            self._changed.notify_all()
        try:
            return self._served(kind, fields, ticket, line)
        finally:
            with self._changed:
                line.tickets.remove(ticket)
                self._changed.notify_all()

    def close(self) -> None:
        """End every process."""
        with self._changed:
            self._closed = True
            workers = list(self._all)
            self._all.clear()
            self._idle.clear()
            self._changed.notify_all()
        for worker in workers:
            worker.end()

    def _served(self, kind: str, fields: Mapping[str, str], ticket: _Ticket, line: _Line) -> Reply:
        with self._changed:
            # The first in line is served; it leaves the line when it has its answer.
            while line.tickets[0] is not ticket and not ticket.superseded and not self._closed:
                self._changed.wait()
            if ticket.superseded:
                return _refusal(409, f"{kind}: a newer request took its place")
            if self._closed:
                return _refusal(409, f"{kind}: the server is closing")
            worker = self._idle.pop(0) if self._idle else self._start()
        reply = self._work(worker, kind, fields, ticket)
        with self._changed:
            if worker.process.poll() is None and worker in self._all:
                self._idle.insert(0, worker)
            else:
                self._all.discard(worker)
            while len(self._idle) > _STANDING_BY:
                extra = self._idle.pop()
                self._all.discard(extra)
                extra.end()
        self._fill()
        return reply

    def _work(
        self, worker: _Worker, kind: str, fields: Mapping[str, str], ticket: _Ticket
    ) -> Reply:
        seconds = self._limits[kind]
        deadline = time.monotonic() + seconds
        worker.ask(kind, fields, seconds)
        while True:
            try:
                line = worker.lines.get(timeout=_TICK)
            except queue.Empty:
                now = time.monotonic()
                if ticket.superseded is not None and now > ticket.superseded + _GRACE:
                    worker.end()
                    return _refusal(409, f"{kind}: a newer request took its place")
                if now > deadline:
                    worker.end()
                    words = f"{kind}: no answer within {seconds:g} s"
                    return _refusal(422, f"{words}; the command line has no such limit")
                continue
            if line is None:
                worker.end()
                return _refusal(422, f"{kind}: ended without an answer, perhaps for want of memory")
            found = json.loads(line)
            return int(found["status"]), found["body"]

    def _start(self) -> _Worker:
        worker = _Worker()
        self._all.add(worker)
        return worker

    def _fill(self, count: int = _STANDING_BY) -> None:
        """Have processes stand by; they import while nobody waits."""
        with self._changed:
            while len(self._idle) < count and not self._closed:
                self._idle.append(self._start())
