"""Raw counts on the disk while an audit runs: the file of an audit without what follows from it."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from shuffledp.audit.saved import SAVED_FORMAT, digest_of, read_table
from shuffledp.errors import ParameterError
from shuffledp.outputs import writing

# Seconds between two checkpoints: what is lost, and a small part of the time it takes to write one.
_EVERY = 10.0


class Checkpoint:
    """Raw counts of an audit that runs, in a file that is always whole.

    Parameters
    ----------
    path : str or Path
        Written every ten seconds, and when the audit ends or is interrupted; one that is there
        already is continued.
    source : dict
        Where the reports come from; a checkpoint of another source is refused.
    """

    def __init__(
        self,
        path: str | Path,
        source: Mapping[str, Any],
        *,
        every: float = _EVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path, self.source = Path(path), dict(source)
        # The first counts are written at once.
        self._every, self._clock, self._last = every, clock, -math.inf
        self._parts: dict[str, dict[str, Any]] = {}
        self._written = True
        if self.path.exists():
            table = read_table(self.path)
            name = f"checkpoint {str(path)!r}"
            if table.get("sha256") != digest_of(table["parts"]):
                raise ParameterError(f"{name}: damaged, its counts are not those that were kept")
            if not table.get("stopped", False):
                raise ParameterError(f"{name}: an audit that is done; wanted a checkpoint")
            if table.get("source") != self.source:
                before = table.get("source", {})
                keys = sorted({*before, *self.source})
                other = ", ".join(k for k in keys if before.get(k) != self.source.get(k))
                words = "of another program or other options, wanted the same or another file"
                raise ParameterError(f"{name}: {words} (other: {other})")
            self._parts = table["parts"]

    def start(self, part: str, plan: Mapping[str, Any]) -> dict[str, Any] | None:
        """What is counted of a part already; None where nothing is."""
        known = self._parts.get(part)
        if known is None:
            return None
        if known["plan"] != json.loads(json.dumps(plan)):
            words = f"its {part} has another plan, wanted the same options or another file"
            raise ParameterError(f"checkpoint {str(self.path)!r}: {words}")
        return known

    def keep(self, part: str, plan: Mapping[str, Any], tally: Any) -> None:
        """Remember counts, and write them if it is time."""
        self._parts[part] = {"plan": dict(plan), "tally": tally}
        self._written = False
        if self._clock() - self._last >= self._every:
            self.write()

    def write(self) -> None:
        """Put it on the disk, whole."""
        if self._written:
            return
        table = {
            "format": SAVED_FORMAT,
            "stopped": True,
            "source": self.source,
            "sha256": digest_of(self._parts),
            "parts": self._parts,
        }
        with writing([("checkpoint", self.path)]) as held:
            held.write(self.path, json.dumps(table, allow_nan=False) + "\n")
        self._last, self._written = self._clock(), True

    def remove(self) -> None:
        """The audit is done: nobody continues it."""
        self.path.unlink(missing_ok=True)
