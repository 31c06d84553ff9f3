"""Whether a shuffler permutes uniformly: exact tests on batches of marked messages.

All that is needed of a shuffler is that the order in which messages leave is uniform and
independent of all else, that no message is added, lost or repeated, and that no batch below the
minimum leaves at all (docs/theory-audit.md, section 7).
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.audit import limits
from shuffledp.audit.judge import Finding
from shuffledp.audit.permutations import of_dummies, of_messages, of_mixing, of_traces
from shuffledp.audit.shuffler_counts import (
    BINS,
    MARK,
    MOST_TRACES,
    ShufflerPlan,
    ShufflerTally,
    Trace,
    shuffler_start,
)
from shuffledp.audit.words import in_markdown
from shuffledp.errors import rejected

Places = npt.NDArray[np.int64]

_POWER = 0.9
# What is seen beside every line of a command.
ALWAYS_BESIDE = ("length", "pause")
# Messages of a batch that are looked for in later ones, and in how many of them.
_REMEMBERED, _BATCHES_REMEMBERED = 1_000, 16


@dataclass(frozen=True)
class Left:
    """A message as it left, with what left beside it.

    Attributes
    ----------
    message : str
        What came in.
    traces : dict of str to float or str
        Whatever else is seen of it: the length of its line, the pause before it, fields of an
        envelope. Under the claim none of it says where the message came in.
    """

    message: str
    traces: dict[str, float | str] = field(default_factory=dict)


Shuffle = Callable[[list[str]], Sequence[str] | Sequence[Left]]


@dataclass(frozen=True)
class ShufflerResult:
    """All hypotheses about a shuffler with Holm's p-values, and the counts behind them."""

    plan: ShufflerPlan
    tally: ShufflerTally
    findings: tuple[Finding, ...]
    detectable: float

    @property
    def complete(self) -> bool:
        """Whether all batches of the plan were sent."""
        return self.tally.done == self.plan.batches

    @property
    def refutations(self) -> tuple[Finding, ...]:
        """What is refuted, the smallest p-value first."""
        found = [finding for finding in self.findings if finding.adjusted <= self.plan.alpha]
        return tuple(sorted(found, key=lambda finding: finding.p))

    @property
    def verdict(self) -> str:
        """One of "refuted" and "not refuted"."""
        return "refuted" if self.refutations else "not refuted"

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        return {
            "verdict": self.verdict,
            "plan": dataclasses.asdict(self.plan),
            "tally": self.tally.to_dict(),
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
            "detectable": self.detectable,
        }

    def text(self) -> str:
        """For a reader, in Markdown."""
        plan = self.plan
        lines = [
            "## The shuffler",
            "",
            (
                f"**{self.verdict}** at level {plan.alpha:g}: {self.tally.done:,} batches of "
                f"{plan.messages:,} messages, {len(self.findings)} hypotheses."
            ),
            "",
        ]
        for finding in self.refutations:
            seen = "" if finding.count is None else f", {finding.count:,} of {finding.reports:,}"
            lines.append(f"- {in_markdown(finding.cell)}{seen} (adjusted p {finding.adjusted:.3g})")
        if math.isfinite(self.detectable):
            lines.append(
                f"- Smallest violation found with power {_POWER:g}: neighbours that keep their "
                f"order with probability {math.ceil(self.detectable * 1e4) / 1e4:.4f} in place of "
                "1/2."
            )
        else:
            lines.append("- So few batches would have shown no violation.")
        lines += [f"- Not covered: {words}." for words in plan.uncovered]
        return "\n".join(lines) + "\n"


def audit_shuffler(
    program: Shuffle,
    plan: ShufflerPlan,
    *,
    tell: Callable[[int], None] | None = None,
    start: ShufflerTally | None = None,
    keep: Callable[[ShufflerTally], None] | None = None,
) -> ShufflerResult:
    """Send batches of marked messages through a shuffler and test what leaves.

    Parameters
    ----------
    program : callable
        Messages of a batch, in the order they come in -> messages in the order they leave; as
        ``Left`` where something else leaves with them.
    plan : ShufflerPlan
        How many, and what is claimed.
    tell : callable, optional
        Told how many batches are done.
    start : ShufflerTally, optional
        Counts of the batches that are done already.
    keep : callable, optional
        Given the counts after every two batches (which are compared with each other). It has to
        copy what it keeps.
    """
    tally = start or ShufflerTally(blocks={scale: ([], []) for scale in plan.scales})
    if plan.minimum is not None and not tally.done:
        tally.early = len(program(_marked(plan, plan.batches)[: plan.minimum - 1]))
    done = range(max(0, tally.done - _BATCHES_REMEMBERED), tally.done)
    earlier = deque((_kept_marks(_marked(plan, b)) for b in done), maxlen=_BATCHES_REMEMBERED)
    before: _Batch | None = None
    for batch in range(tally.done, plan.batches):
        sent = _marked(plan, batch)
        left = _left(program(list(sent)))
        found = _received(sent, [one.message for one in left], earlier, tally, plan.dummies)
        earlier.append(_kept_marks(sent))
        now = None
        if found is not None:
            if plan.dummies:
                _count_dummies(tally, plan, found)
            kept = [left[place] for place in np.sort(found).tolist()]
            now = _Batch(np.argsort(np.argsort(found)), _values(kept))
            _count(tally, plan, now, before if batch % 2 else None)
        before = now
        tally.done = batch + 1
        if keep is not None and batch % 2:
            keep(tally)
        if tell is not None:
            tell(batch + 1)
    return shuffler_result(plan, tally)


@dataclass(frozen=True)
class _Batch:
    """Where each message left, and what left beside it, in the order in which it left."""

    places: Places
    traces: dict[str, Any]


def _kept_marks(sent: Sequence[str]) -> frozenset[str]:
    return frozenset(sent[:_REMEMBERED])


def _left(out: Iterable[str | Left]) -> list[Left]:
    return [one if isinstance(one, Left) else Left(str(one)) for one in out]


def _values(left: Sequence[Left]) -> dict[str, Any]:
    """By name, a number for each message that orders what left beside it."""
    names = list(dict.fromkeys(name for one in left for name in one.traces))
    if len(names) > MOST_TRACES:
        raise rejected("fields beside messages", len(names), f"at most {MOST_TRACES}")
    found = {}
    for name in names:
        column = [one.traces.get(name, "") for one in left]
        if any(isinstance(value, str) for value in column):
            column = np.unique([str(value) for value in column], return_inverse=True)[1].tolist()
        found[name] = np.asarray(column, dtype=np.float64)
    return found


def _marked(plan: ShufflerPlan, batch: int) -> list[str]:
    """Messages that nobody can tell apart by where they came from."""
    generator = np.random.Generator(np.random.Philox(key=[plan.seed, batch]))
    marks = generator.integers(0, 2**64 - 1, size=plan.messages, dtype=np.uint64, endpoint=True)
    made = [f"{mark:016x}" for mark in marks.tolist()]
    if len(set(made)) < len(made):  # one time in 2^24 for a million messages: other marks
        made = [f"{mark:016x}" for mark in range(batch << 32, (batch << 32) + plan.messages)]
    if plan.longest == MARK:
        return made
    ends = np.cumsum(generator.integers(0, plan.longest - MARK + 1, size=plan.messages)).tolist()
    text = generator.bytes(ends[-1] // 2 + 1).hex()
    starts = [0, *ends[:-1]]
    return [mark + text[i:j] for mark, i, j in zip(made, starts, ends, strict=True)]


def _received(
    sent: Sequence[str],
    out: Sequence[str],
    earlier: Iterable[frozenset[str]],
    tally: ShufflerTally,
    dummies: int,
) -> Places | None:
    """Where each message left, or None where messages are missing or there are others."""
    index = {mark: place for place, mark in enumerate(sent)}
    seen: dict[str, int] = {}
    whole, strangers = True, 0
    for place, mark in enumerate(out):
        if mark not in index:
            known = any(mark in marks for marks in earlier)
            tally.replays += known
            strangers += not known
            whole &= not known
        elif mark in seen:
            tally.copies += 1
            whole = False
        else:
            seen[mark] = place
    tally.lost += len(sent) - len(seen)
    tally.foreign += max(strangers - dummies, 0)
    tally.missing += max(dummies - strangers, 0)
    if not whole or len(seen) < len(sent) or strangers != dummies:
        return None
    return np.array([seen[mark] for mark in sent], dtype=np.int64)


def _count_dummies(tally: ShufflerTally, plan: ShufflerPlan, found: Places) -> None:
    """Where dummies left among the messages, which left at these places."""
    own = np.zeros(plan.messages + plan.dummies, dtype=np.bool_)
    own[found] = True
    half = own.size // 2
    tally.dummies[0].append(int(half - np.count_nonzero(own[:half])))
    starts = ~own & np.append(np.True_, own[:-1])
    tally.dummies[1].append(int(np.count_nonzero(starts)))


def _count(tally: ShufflerTally, plan: ShufflerPlan, now: _Batch, before: _Batch | None) -> None:
    n, places = plan.messages, now.places
    even = n // 2 * 2
    tally.whole += 1
    tally.kept += int(np.count_nonzero(places[0:even:2] < places[1:even:2]))
    for row, message in enumerate((0, n // 2, n - 1)):
        tally.positions[row, int(places[message]) * BINS // n] += 1
    for scale in plan.scales:
        size = n // scale
        tally.blocks[scale][0].append(int(np.count_nonzero(places[:size] < size)))
        tally.blocks[scale][1].append(int(np.count_nonzero(places[-size:] >= n - size)))
    tally.adjacent += int(np.count_nonzero(np.diff(places) == 1))
    tally.fixed += int(np.count_nonzero(places == np.arange(n)))
    if before is not None:
        tally.repeated += int(np.count_nonzero(places == before.places))
        tally.pairs += 1
    for name, values in now.traces.items():
        if name not in tally.traces and len(tally.traces) == MOST_TRACES:
            raise rejected("fields beside messages", f"{MOST_TRACES + 1}", f"at most {MOST_TRACES}")
        trace = tally.traces.setdefault(name, Trace())
        _count_trace(trace, n, np.argsort(places), values)
        old = None if before is None else before.traces.get(name)
        if old is None or before is None:
            continue
        if np.unique(values).size == np.unique(old).size == n:
            same = values[places] == old[before.places]
            trace.repeated += int(np.count_nonzero(same))
            trace.pairs += 1


def _count_trace(trace: Trace, n: int, came: Places, values: Any) -> None:
    """``came``: where the message that left at each place came in."""
    if not bool((values != values[0]).any()):
        return
    larger = np.argsort(values, kind="stable")[n - n // 2 :]
    trace.halves.append(int(np.count_nonzero(came[larger] < n // 2)))
    for row, place in enumerate((int(np.argmax(values)), int(np.argmin(values)))):
        trace.extremes[row][int(came[place]) * BINS // n] += 1


def shuffler_result(plan: ShufflerPlan, tally: ShufflerTally) -> ShufflerResult:
    """Judge the counts of a plan."""
    every = [*of_messages(plan, tally), *of_mixing(plan, tally)]
    every += [*of_dummies(plan, tally), *of_traces(plan, tally)]
    adjusted = limits.holm([finding.p for finding in every])
    findings = tuple(
        dataclasses.replace(finding, adjusted=value)
        for finding, value in zip(every, adjusted, strict=True)
    )
    neighbours = tally.done * (plan.messages // 2)
    level = plan.alpha / len(every) / 2.0
    return ShufflerResult(
        plan, tally, findings, limits.detectable(neighbours, 0.5, level, power=_POWER)
    )


def shuffler_from_dict(table: dict[str, Any]) -> ShufflerResult:
    """Judge saved counts again; nothing but plan and counts is read."""
    return shuffler_result(*shuffler_start(table))


def lines_program(run: Callable[[str, int], list[tuple[bytes, float]]]) -> Shuffle:
    """A command that reads messages as JSON text, one a line, and writes them so.

    A line that leaves may also be an envelope, {"message": ..., ...}: its other fields are traces,
    as are what is left of a line's length without its message, and the pause before it. Of a line
    that is not JSON's a last carriage return is no part of the message (some programs end lines
    with two characters, and what comes in has none); its length counts it.
    """

    def program(messages: list[str]) -> list[Left]:
        lines = run("".join(json.dumps(m) + "\n" for m in messages), max(len(messages), 1))
        return [_line(line, pause) for line, pause in lines if line.strip()]

    return program


def _line(line: bytes, pause: float) -> Left:
    text = line.removesuffix(b"\r").decode(errors="replace")
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = text
    # A message written as it is may look like a number, 12e4 for one.
    found = found if isinstance(found, str | dict) else text
    fields = {}
    if isinstance(found, dict) and isinstance(found.get("message"), str):
        fields = {f"field {k}": _field(v) for k, v in found.items() if k != "message"}
        found = found["message"]
    message = str(found)
    spare = len(line) - len(json.dumps(message))
    length, before = ALWAYS_BESIDE
    return Left(message, {length: float(spare), before: pause, **fields})


def _field(value: Any) -> float | str:
    number_like = isinstance(value, int | float) and abs(value) < 1e300
    return float(value) if number_like else json.dumps(value)
