"""Whether a shuffler permutes uniformly: exact tests on batches of marked messages.

All that is needed of a shuffler is that the order in which messages leave is uniform and
independent of all else, that no message is added, lost or repeated, and that no batch below the
minimum leaves at all (docs/theory-audit.md, section 7).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.audits import limits
from shuffledp.audits.plan import Tell
from shuffledp.audits.result import (
    POWER,
    Finding,
    Plain,
    Result,
    adjusted,
)
from shuffledp.errors import rejected
from shuffledp.values.described import Described

Places = npt.NDArray[np.int64]

MIXING, MESSAGES = "mixing", "messages"
# Blocks of a batch of which it is counted how many of the first ones stay first.
_SCALES = (2, 4, 16)
# Equal parts of a batch, for where a message leaves.
BINS = 8
# What has probability 0.
LOST, FOREIGN = "messages that did not leave", "messages that did not come in with the batch"
COPIES = "messages that left more than once"
MISSING, EARLY = "dummies that were not added", "messages of a batch below the minimum"
_WRONG: tuple[str, ...] = (LOST, FOREIGN, COPIES, MISSING, EARLY)
# What is seldom: at most one a batch on the average.
ADJACENT, FIXED = "neighbours that leave as neighbours", "messages that keep their place"
REPEATED = "places that two batches treat alike"
_MATCHES: tuple[str, ...] = (ADJACENT, FIXED, REPEATED)
# Where dummies leave.
_HALF, _RUNS = "dummies in the first half of what leaves", "runs in which dummies leave"


@dataclass(frozen=True, kw_only=True)
class ShufflerPlan(Plain, Described):
    """An audit of a shuffler.

    Parameters
    ----------
    messages : int
        Of one batch, 16 to 1e6.
    batches : int
        How many, 2 to 1e5.
    shards : int
        Number of equal groups in which messages arrive, one after the other.
    minimum : int, optional
        The minimum batch: one message fewer has to leave nothing.
    alpha : float
        Level of all tests together.
    seed : int
        Of the marks of the messages.
    dummies : int
        Messages of its own that it adds to every batch that leaves, at most 1e6.
    uncovered : tuple of str
        What is declared of it beside this, and is not tested.
    """

    messages: int = 1_000
    batches: int = 100
    shards: int = 1
    minimum: int | None = None
    alpha: float = 0.05
    seed: int = 0
    dummies: int = 0
    uncovered: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check.count("messages", self.messages, low=16, high=10**6)
        _check.count("batches", self.batches, low=2, high=10**5)
        _check.count("shards", self.shards, high=self.messages // 8)
        _check.count("seed", self.seed, low=0, high=2**63 - 1)
        _check.count("dummies", self.dummies, low=0, high=10**6)
        object.__setattr__(self, "alpha", _check.real("alpha", self.alpha, low=1e-12, high=0.5))
        if self.minimum is not None:
            _check.count("minimum", self.minimum, low=2)
            if self.minimum > self.messages:
                raise rejected("minimum", self.minimum, f"at most messages = {self.messages:,}")

    @property
    def drawn(self) -> dict[str, tuple[int, int, int]]:
        """Hypergeometric counts of a batch: messages, those marked among them, and those drawn."""
        n, d, found = self.messages, self.dummies, {}
        for scale in sorted({*_SCALES, self.shards} - {1}):
            if 2 * scale <= n:
                name = f"messages of the first 1/{scale} that leave first"
                found[name] = (n, n // scale, n // scale)
        if d:
            found |= {_HALF: (n + d, d, (n + d) // 2), _RUNS: (n + d, n + 1, d)}
        return found


@dataclass
class ShufflerTally(Plain):
    """Counts over all batches; what a result is made of.

    Attributes
    ----------
    batches, pairs : int
        Batches that were whole, and pairs of them that are compared.
    wrong : dict of str to int
        What has probability 0.
    kept : int
        Disjoint neighbours that leave in the order they came in.
    positions : ndarray, shape (3, BINS)
        Where the first, the middle and the last message leave.
    drawn : dict of str to list of int
        For each batch, the counts of ``ShufflerPlan.drawn``.
    matches : dict of str to int
        Neighbours, places and places of two batches that are alike.
    """

    batches: int = 0
    pairs: int = 0
    wrong: dict[str, int] = field(default_factory=dict)
    kept: int = 0
    positions: Places = field(default_factory=lambda: np.zeros((3, BINS), dtype=np.int64))
    drawn: dict[str, list[int]] = field(default_factory=dict)
    matches: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def empty(plan: ShufflerPlan) -> ShufflerTally:
        """All counts zero."""
        return ShufflerTally(
            wrong=dict.fromkeys(_WRONG, 0),
            matches=dict.fromkeys(_MATCHES, 0),
            drawn={name: [] for name in plan.drawn},
        )


def audit_shuffler(
    program: Callable[[list[str]], Sequence[str]], plan: ShufflerPlan, *, tell: Tell | None = None
) -> Result:
    """Send batches of marked messages through a shuffler and test what leaves.

    Parameters
    ----------
    program : callable
        Messages of a batch, in the order they come in -> messages in the order they leave.
    plan : ShufflerPlan
        How many, and what is claimed.
    tell : callable, optional
        Told how many batches are done.
    """
    tally = ShufflerTally.empty(plan)
    if plan.minimum is not None:
        tally.wrong[EARLY] = len(program(_marked(plan, plan.batches)[: plan.minimum - 1]))
    before: Places | None = None
    for batch in range(plan.batches):
        sent = _marked(plan, batch)
        now = _received(sent, [*map(str, program(list(sent)))], tally, plan.dummies)
        if now is not None:
            _count(tally, plan, now, before)
        before = now if batch % 2 == 0 else None
        if tell is not None:
            tell(batch + 1)
    return _judged(plan, tally)


def _marked(plan: ShufflerPlan, batch: int) -> list[str]:
    """Messages that nobody can tell apart by where they came from."""
    generator = np.random.Generator(np.random.Philox(key=[plan.seed, batch]))
    marks = generator.integers(0, 2**64 - 1, size=plan.messages, dtype=np.uint64, endpoint=True)
    made = [f"{mark:016x}" for mark in marks.tolist()]
    if len(set(made)) < len(made):  # one time in 2^24 for a million messages: other marks
        made = [f"{mark:016x}" for mark in range(batch << 32, (batch << 32) + plan.messages)]
    return made


def _received(
    sent: Sequence[str], out: Sequence[str], tally: ShufflerTally, dummies: int
) -> Places | None:
    """Where each message left, or None where messages are missing or there are others."""
    index, seen = frozenset(sent), {mark: place for place, mark in enumerate(out)}
    others = sum(mark not in index for mark in out)
    known = len(index & seen.keys())
    found = {
        COPIES: len(out) - others - known,
        LOST: len(index) - known,
        FOREIGN: max(others - dummies, 0),
        MISSING: max(dummies - others, 0),
    }
    for name, count in found.items():
        tally.wrong[name] += count
    return None if any(found.values()) else np.array([seen[m] for m in sent], dtype=np.int64)


def _count(tally: ShufflerTally, plan: ShufflerPlan, found: Places, before: Places | None) -> None:
    """Count a whole batch, whose messages left at these places."""
    n, d = plan.messages, plan.dummies
    places = np.argsort(np.argsort(found))
    tally.batches += 1
    tally.kept += int(np.count_nonzero(places[0 : n // 2 * 2 : 2] < places[1::2]))
    for row, message in enumerate((0, n // 2, n - 1)):
        tally.positions[row, int(places[message]) * BINS // n] += 1
    for name, (_, size, _) in plan.drawn.items():
        if name in (_HALF, _RUNS):
            own = np.zeros(n + d, dtype=np.bool_)
            own[found] = True
            half, starts = own[: (n + d) // 2], ~own & np.append(np.True_, own[:-1])
            counts = np.count_nonzero(~half if name == _HALF else starts)
        else:
            counts = np.count_nonzero(places[:size] < size)
        tally.drawn[name].append(int(counts))
    tally.matches[ADJACENT] += int(np.count_nonzero(np.diff(places) == 1))
    tally.matches[FIXED] += int(np.count_nonzero(places == np.arange(n)))
    if before is not None:
        tally.matches[REPEATED] += int(np.count_nonzero(found == before))
        tally.pairs += 1


def _judged(plan: ShufflerPlan, tally: ShufflerTally) -> Result:
    findings = [*_findings(plan, tally)]
    pairs = plan.batches * (plan.messages // 2)
    found = limits.detectable(pairs, 0.5, 0.5 * plan.alpha / len(findings), power=POWER)
    place = next(i for i, one in enumerate(findings) if one.kind == MIXING)
    findings[place] = dataclasses.replace(findings[place], detectable=found)
    said = tuple(f"Not covered: {words}." for words in plan.uncovered)
    sample = f"{plan.batches:,} batches of {plan.messages:,} messages"
    return Result(plan, tally, plan.alpha, sample, adjusted(findings), said=said)


def _findings(plan: ShufflerPlan, tally: ShufflerTally) -> Iterator[Finding]:
    """What has probability 0, and whether the orders are uniform and independent (Lemma 7.1)."""
    n, many = plan.messages, tally.batches
    for name, count in tally.wrong.items():
        p = 0.0 if count else 1.0
        yield Finding(MESSAGES, "all", name, p, n * plan.batches, count, (0.0, 0.0))
    pairs = many * (n // 2)
    p = limits.two_sided(tally.kept, pairs, 0.5, 0.5)
    yield Finding(MIXING, "all", "neighbours in the same order", p, pairs, tally.kept, (0.5, 0.5))
    law = np.bincount(np.arange(n) * BINS // n) / n
    for row, name in zip(tally.positions, ("first", "middle", "last"), strict=True):
        p = limits.multinomial(row, law, law)
        yield Finding(MIXING, "all", f"where the {name} message leaves", p, many)
    for name, (size, marked, draws) in plan.drawn.items():
        counts = tally.drawn[name]
        p = limits.combined([limits.drawn(k, n=size, marked=marked, draws=draws) for k in counts])
        yield Finding(MIXING, "all", name, p, draws * many, sum(counts))
    for name, count in tally.matches.items():
        times = tally.pairs if name == REPEATED else many
        p = limits.at_most_poisson(count, times)
        yield Finding(MIXING, "all", name, p, n * times, count)


def messages_of(lines: Sequence[bytes]) -> list[str]:
    """Messages that a command wrote, one a line, as they came or as JSON texts.

    A last carriage return is no part of a message: some programs end lines with two characters.
    """
    return [_message(line.removesuffix(b"\r")) for line in lines if line.strip()]


def _message(line: bytes) -> str:
    text = line.decode(errors="replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    # A message written as it is may look like a number, 12e4 for one.
    return found if isinstance(found, str) else text
