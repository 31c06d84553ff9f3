"""Whether a shuffler permutes uniformly: exact tests on batches of marked messages.

All that is needed of a shuffler is that the order in which messages leave is uniform and
independent of all else, that no message is added, lost or repeated, and that no batch below the
minimum leaves at all (docs/theory-audit.md, section 7).
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import hypergeom

from shuffledp import _check
from shuffledp.audit import limits
from shuffledp.audit.judge import Finding
from shuffledp.described import Described
from shuffledp.errors import rejected

Places = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]
Shuffle = Callable[[list[str]], list[str]]

MIXING, MESSAGES = "mixing", "messages"
# Blocks of a batch of which it is counted how many of the first ones stay first.
_SCALES = (2, 4, 16)
_BINS = 8
# P(k matches) <= 1/k!: what lies beyond this many is below 1e-80.
_MATCHES = 60
_POWER = 0.9


@dataclass(frozen=True, kw_only=True)
class ShufflerPlan(Described):
    """An audit of a shuffler.

    Parameters
    ----------
    messages : int
        Of one batch, 16 to 1e6.
    batches : int
        How many, 2 to 1e5.
    shards : int
        Messages arrive in so many equal groups, one after the other.
    minimum : int, optional
        The minimum batch: one message fewer has to leave nothing.
    alpha : float
        Level of all tests together.
    seed : int
        Of the marks of the messages.
    """

    messages: int = 1_000
    batches: int = 100
    shards: int = 1
    minimum: int | None = None
    alpha: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        _check.count("messages", self.messages, low=16, high=10**6)
        _check.count("batches", self.batches, low=2, high=10**5)
        _check.count("shards", self.shards, high=self.messages // 8)
        _check.count("seed", self.seed, low=0, high=2**63 - 1)
        object.__setattr__(self, "alpha", _check.real("alpha", self.alpha, low=1e-12, high=0.5))
        if self.minimum is not None:
            _check.count("minimum", self.minimum, low=2)
            if self.minimum > self.messages:
                raise rejected("minimum", self.minimum, f"at most messages = {self.messages:,}")

    @property
    def scales(self) -> tuple[int, ...]:
        """Into how many blocks a batch is cut."""
        wanted = {*_SCALES, self.shards} - {1}
        return tuple(sorted(s for s in wanted if 2 * s <= self.messages))


@dataclass
class ShufflerTally:
    """Counts over all batches; what a result is made of.

    Attributes
    ----------
    kept : int
        Disjoint neighbours that leave in the order they came in.
    positions : ndarray, shape (3, bins)
        Where the first, the middle and the last message leave.
    blocks : dict of scale to lists of ints
        For each batch, messages of the first block that leave in the first block; of the last.
    adjacent, fixed, repeated : int
        Neighbours that leave as neighbours; messages that keep their place; places that two
        batches, one after the other, treat alike.
    lost, foreign, copies, replays : int
        Messages that do not leave, leave though they never came, leave more than once, or leave
        though they belong to an earlier batch.
    early : int
        Messages that left a batch below the minimum.
    """

    kept: int = 0
    positions: Any = field(default_factory=lambda: np.zeros((3, _BINS), dtype=np.int64))
    blocks: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)
    adjacent: int = 0
    fixed: int = 0
    repeated: int = 0
    pairs: int = 0
    whole: int = 0
    lost: int = 0
    foreign: int = 0
    copies: int = 0
    replays: int = 0
    early: int = 0

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        table = dataclasses.asdict(self) | {"positions": self.positions.tolist()}
        table["blocks"] = {str(s): [list(v) for v in pair] for s, pair in self.blocks.items()}
        return table


@dataclass(frozen=True)
class ShufflerResult:
    """All hypotheses about a shuffler with Holm's p-values, and the counts behind them."""

    plan: ShufflerPlan
    tally: ShufflerTally
    findings: tuple[Finding, ...]
    detectable: float

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
                f"**{self.verdict}** at level {plan.alpha:g}: {plan.batches:,} batches of "
                f"{plan.messages:,} messages, {len(self.findings)} hypotheses."
            ),
            "",
        ]
        for finding in self.refutations:
            seen = "" if finding.count is None else f", {finding.count:,} of {finding.reports:,}"
            lines.append(f"- {finding.cell}{seen} (adjusted p {finding.adjusted:.3g})")
        lines.append(
            f"- Smallest violation found with power {_POWER:g}: neighbours that keep their order "
            f"with probability {math.ceil(self.detectable * 1e4) / 1e4:.4f} in place of 1/2."
        )
        return "\n".join(lines) + "\n"


def audit_shuffler(
    program: Shuffle, plan: ShufflerPlan, *, tell: Callable[[int], None] | None = None
) -> ShufflerResult:
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
    tally = ShufflerTally(blocks={scale: ([], []) for scale in plan.scales})
    if plan.minimum is not None:
        tally.early = len(program(_marked(plan, plan.batches)[: plan.minimum - 1]))
    before: Places | None = None
    earlier: set[str] = set()
    for batch in range(plan.batches):
        sent = _marked(plan, batch)
        places = _received(sent, program(list(sent)), earlier, tally)
        earlier = {*sent[:_REMEMBERED], *list(earlier)[: 16 * _REMEMBERED]}
        if places is not None:
            _count(tally, plan, places, before if batch % 2 else None)
        before = places
        if tell is not None:
            tell(batch + 1)
    return _result(plan, tally)


# Messages of a batch that are looked for in later ones.
_REMEMBERED = 1_000


def _marked(plan: ShufflerPlan, batch: int) -> list[str]:
    """Messages of one length that nobody can tell apart by where they came from."""
    marks = np.random.Generator(np.random.Philox(key=[plan.seed, batch])).integers(
        0, 2**64 - 1, size=plan.messages, dtype=np.uint64, endpoint=True
    )
    made = [f"{mark:016x}" for mark in marks.tolist()]
    if len(set(made)) < len(made):  # one time in 2^24 for a million messages: other marks
        return [f"{mark:016x}" for mark in range(batch << 32, (batch << 32) + plan.messages)]
    return made


def _received(
    sent: Sequence[str], out: Sequence[str], earlier: set[str], tally: ShufflerTally
) -> Places | None:
    """Where each message left, or None where messages are missing or there are others."""
    index = {mark: place for place, mark in enumerate(sent)}
    seen: dict[str, int] = {}
    whole = len(out) == len(sent)
    for place, mark in enumerate(out):
        if mark not in index:
            tally.replays += mark in earlier
            tally.foreign += mark not in earlier
            whole = False
        elif mark in seen:
            tally.copies += 1
            whole = False
        else:
            seen[mark] = place
    tally.lost += len(sent) - len(seen)
    if not whole or len(seen) < len(sent):
        return None
    return np.array([seen[mark] for mark in sent], dtype=np.int64)


def _count(tally: ShufflerTally, plan: ShufflerPlan, places: Places, before: Places | None) -> None:
    n = plan.messages
    even = n // 2 * 2
    tally.whole += 1
    tally.kept += int(np.count_nonzero(places[0:even:2] < places[1:even:2]))
    for row, message in enumerate((0, n // 2, n - 1)):
        tally.positions[row, int(places[message]) * _BINS // n] += 1
    for scale in plan.scales:
        size = n // scale
        tally.blocks[scale][0].append(int(np.count_nonzero(places[:size] < size)))
        tally.blocks[scale][1].append(int(np.count_nonzero(places[-size:] >= n - size)))
    tally.adjacent += int(np.count_nonzero(np.diff(places) == 1))
    tally.fixed += int(np.count_nonzero(places == np.arange(n)))
    if before is not None:
        tally.repeated += int(np.count_nonzero(places == before))
        tally.pairs += 1


def matches_law(n: int) -> Floats:
    """P(k of n keep their place) = (1/k!) sum_(i <= n - k) (-1)^i/i!, k up to 60."""
    d = _derangements(n)
    return np.array([d[n - k] / math.factorial(k) for k in range(min(n, _MATCHES) + 1)])


def successions_law(n: int) -> Floats:
    """P(k of the n - 1 neighbours leave as neighbours) = ((n-k) d(n-k) + d(n-k-1))/(k! n).

    d(m) is the share of permutations of m that keep nothing in its place; the permutations of m
    without a succession number D(m) + D(m-1) (Whitworth; Tanny 1976).
    """
    d = _derangements(n)
    return np.array(
        [
            ((n - k) * d[n - k] + d[n - k - 1]) / (math.factorial(k) * n)
            for k in range(min(n - 1, _MATCHES) + 1)
        ]
    )


def _derangements(n: int) -> list[float]:
    """D(m)/m! for m = 0 .. n; the series has no more digits after 30 terms."""
    terms = np.cumsum([(-1.0) ** i / math.factorial(i) for i in range(40)])
    return [float(terms[min(m, 39)]) for m in range(n + 1)]


def of_sum(law: Floats, times: int, count: int) -> float:
    """P(a sum of so many independent draws >= count), rounded up."""
    if times == 0:
        return 1.0
    total = np.array([1.0])
    power, rest = law, times
    while rest:
        if rest & 1:
            total = np.convolve(total, power)
        rest >>= 1
        if rest:
            power = np.convolve(power, power)
    tail = float(total[count:].sum()) if count < total.size else 0.0
    # Draws beyond 60 are left out of the law: below 1e-80 each.
    return min(1.0, tail * (1.0 + limits.SLACK) + times * 1e-80 + 1e-15 * times)


def _result(plan: ShufflerPlan, tally: ShufflerTally) -> ShufflerResult:
    every = [*_of_messages(plan, tally), *_of_mixing(plan, tally)]
    adjusted = limits.holm([finding.p for finding in every])
    findings = tuple(
        dataclasses.replace(finding, adjusted=value)
        for finding, value in zip(every, adjusted, strict=True)
    )
    neighbours = plan.batches * (plan.messages // 2)
    level = plan.alpha / len(every) / 2.0
    return ShufflerResult(
        plan, tally, findings, limits.detectable(neighbours, 0.5, level, power=_POWER)
    )


def _of_messages(plan: ShufflerPlan, tally: ShufflerTally) -> Iterator[Finding]:
    sent = plan.messages * plan.batches
    for name, count in (
        ("messages that did not leave", tally.lost),
        ("messages that never came in", tally.foreign),
        ("messages that left more than once", tally.copies),
        ("messages of an earlier batch", tally.replays),
        ("messages of a batch below the minimum", tally.early),
    ):
        yield Finding(MESSAGES, "all", name, 0.0 if count else 1.0, sent, count, (0.0, 0.0))


def _of_mixing(plan: ShufflerPlan, tally: ShufflerTally) -> Iterator[Finding]:
    n, whole = plan.messages, tally.whole
    pairs = whole * (n // 2)
    p = limits.two_sided(tally.kept, pairs, 0.5, 0.5) if pairs else 1.0
    yield Finding(MIXING, "all", "neighbours in the same order", p, pairs, tally.kept, (0.5, 0.5))
    edges = [-(-n * b // _BINS) for b in range(_BINS + 1)]
    law = np.diff(edges) / n
    for row, name in enumerate(("first", "middle", "last")):
        p = limits.multinomial(tally.positions[row], law, law)
        yield Finding(MIXING, "all", f"where the {name} message leaves", p, whole)
    for scale, (first, last) in tally.blocks.items():
        size = n // scale
        for words, counts in (("first", first), ("last", last)):
            p = limits.combined([_hypergeometric(count, n, size) for count in counts])
            name = f"messages of the {words} 1/{scale} that leave {words}"
            yield Finding(MIXING, "all", name, p, whole * size, sum(counts))
    for name, count, law, times in (
        ("neighbours that leave as neighbours", tally.adjacent, successions_law(n), whole),
        ("messages that keep their place", tally.fixed, matches_law(n), whole),
        ("places that two batches treat alike", tally.repeated, matches_law(n), tally.pairs),
    ):
        yield Finding(MIXING, "all", name, of_sum(law, times, count), times * n, count)


def _hypergeometric(count: int, n: int, size: int) -> float:
    """Two-sided p-value of how many of a block of this size stay in it."""
    tails = hypergeom.sf(count - 1, n, size, size), hypergeom.cdf(count, n, size, size)
    return min(1.0, 2.0 * min(float(t) for t in tails) * (1.0 + limits.SLACK) + limits.SMALLEST)


def lines_program(run: Callable[[str, int], list[bytes]]) -> Shuffle:
    """A command that reads messages as JSON text, one a line, and writes them so."""

    def program(messages: list[str]) -> list[str]:
        lines = run("".join(json.dumps(m) + "\n" for m in messages), max(len(messages), 1))
        found = []
        for line in lines:
            if line.strip():
                try:
                    found.append(str(json.loads(line)))
                except ValueError:
                    found.append(line.decode(errors="replace"))
        return found

    return program
