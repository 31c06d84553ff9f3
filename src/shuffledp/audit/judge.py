"""From a plan and its counts to a result: every number at the stated level, jointly.

The level alpha is divided before the counts are seen: tests (Holm), limits of nested events, and
limits of all cells. By the union bound all statements of a result hold together with probability
at least 1 - alpha, if reports are independent and have the claimed law (docs/theory-audit.md).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.audit import limits
from shuffledp.audit.plan import BOXES, AuditPlan, Design, PairDesign
from shuffledp.audit.tally import LOW_BITS, SPARE, Tally
from shuffledp.values.described import shown

Floats = npt.NDArray[np.floating]

LAW, GUARANTEE, INDEPENDENCE = "law", "guarantee", "independence"
RESOLUTION = "resolution"
POWER = 0.9


@dataclass(frozen=True)
class Finding:
    """One hypothesis, what was claimed, what was seen, and its p-value.

    Attributes
    ----------
    kind : str
        "law", "guarantee", "independence" or "resolution".
    subject, cell : str
        Which inputs, and which cell, event or statistic.
    count, reports : int
        Observed; of a statistic of all cells the number of reports alone.
    claimed : tuple of two floats, or None
        Ends of the claimed probability.
    observed : float or None
        count / reports.
    p : float
        p-value of this hypothesis alone.
    adjusted : float
        Holm's, over all of them: refuted where it is at most the level of the tests.
    """

    kind: str
    subject: str
    cell: str
    p: float
    reports: int
    count: int | None = None
    claimed: tuple[float, float] | None = None
    adjusted: float = 1.0

    @property
    def observed(self) -> float | None:
        """Share of the reports."""
        return None if self.count is None else self.count / max(self.reports, 1)


def findings(plan: AuditPlan, tally: Tally, found: Design) -> list[Finding]:
    """All hypotheses of a plan, with Holm's adjusted p-values."""
    every = [
        *_of_cells(plan, tally, found),
        *_of_all_cells(plan, tally, found),
        *_of_guarantee(plan, tally, found),
        *_of_independence(plan, tally, found),
        *_of_writing(plan, tally, found),
    ]
    adjusted = limits.holm([finding.p for finding in every])
    return [
        dataclasses.replace(finding, adjusted=value)
        for finding, value in zip(every, adjusted, strict=True)
    ]


def test_level(plan: AuditPlan) -> float:
    """The part of alpha that the tests share."""
    return plan.alpha * plan.spend[0]


test_level.__test__ = False  # type: ignore[attr-defined]  # pytest: a level of tests, not a test


def _under(plan: AuditPlan, i: int) -> str:
    return f"input {shown(plan.values()[i])}"


def grouped(row: Any, groups: Any) -> Any:
    """Sums over groups of cells."""
    return np.bincount(groups, weights=row, minlength=int(groups.max()) + 1)


def _of_cells(plan: AuditPlan, tally: Tally, found: Design) -> list[Finding]:
    """Message space, groups of cells, and the best event of every pair: exact binomial tests."""
    made = []
    reading = found.reading
    for i in range(len(plan.asked)):
        n, outside = int(tally.reports[i]), int(tally.counts[i, -1])
        made.append(
            Finding(
                LAW,
                _under(plan, i),
                "outside the message space",
                0.0 if outside else 1.0,
                n,
                outside,
                (0.0, 0.0),
            )
        )
        counts = grouped(tally.counts[i, :-1], found.groups)
        low, high = (grouped(row[i], found.groups) for row in (reading.low, reading.high))
        ends = [*zip(found.group_names, counts, low, high, strict=True)]
        # Events that are groups, or those of other pairs, are no hypotheses of their own.
        known = {(found.groups == g).tobytes() for g in range(len(found.group_names))}
        for pair in found.pairs:
            inside = pair.events[pair.best]
            if i in pair.pair and inside.tobytes() not in known:
                known.add(inside.tobytes())
                ends.append(
                    (
                        _event_words(plan, pair),
                        tally.counts[i, :-1][inside].sum(),
                        reading.low[i][inside].sum(),
                        reading.high[i][inside].sum(),
                    )
                )
        for name, count, least, most in ends:
            claimed = (min(float(least), 1.0), min(float(most), 1.0))
            p = limits.two_sided(int(count), n, *claimed)
            made.append(Finding(LAW, _under(plan, i), name, p, n, int(count), claimed))
    return made


def _event_words(plan: AuditPlan, pair: PairDesign) -> str:
    x0, x1 = (shown(plan.values()[i]) for i in pair.pair)
    return f"reports that speak most for {x0} against {x1}"


def _of_all_cells(plan: AuditPlan, tally: Tally, found: Design) -> list[Finding]:
    """All cells at once: exact multinomial test; on the line also DKW on either side."""
    made = []
    reading = found.reading
    for i in range(len(plan.asked)):
        counts, n = tally.counts[i, :-1], int(tally.reports[i])
        p = limits.multinomial(counts, reading.low[i], reading.high[i])
        made.append(Finding(LAW, _under(plan, i), "all cells (multinomial)", p, n))
        if reading.line:
            share, law = np.cumsum(counts)[:-1] / max(n, 1), np.cumsum(reading.mass[i])[:-1]
            doubt = reading.rel + reading.err + limits.SLACK
            for words, gap in (("below", share - law), ("above", law - share)):
                p = limits.dkw(float(gap.max(initial=0.0)) - doubt, n)
                name = f"reports too far {words} (empirical process)"
                made.append(Finding(LAW, _under(plan, i), name, p, n))
    return made


def _of_guarantee(plan: AuditPlan, tally: Tally, found: Design) -> list[Finding]:
    """P0(S) <= e^eps P1(S) + delta, whatever the law, for events named before."""
    made = []
    n = tally.reports.tolist()
    for pair in found.pairs:
        inside = np.append(pair.events[pair.best], np.False_)
        events = [(_event_words(plan, pair), tally.counts[:, inside].sum(axis=1))]
        events.append(("outside the message space", tally.counts[:, -1]))
        if found.unit > 0.0:
            events += [
                (f"no multiple of {found.unit * 2.0**-shift:.3g}", tally.low_bits[:, j])
                for j, shift in enumerate(LOW_BITS)
            ]
        i, j = pair.pair
        subject = f"{_under(plan, i)} against {shown(plan.values()[j])}"
        for place, (name, counts) in enumerate(events):
            share = pair.shares[pair.best] if place == 0 else 0.5
            ratio = limits.Ratio(int(counts[i]), n[i], int(counts[j]), n[j], share)
            p = ratio.p_value(pair.epsilon * (1.0 + 1e-12), delta=pair.delta)
            grow = math.exp(min(pair.epsilon, 700.0))
            seen = int(counts[j]) / max(n[j], 1)
            claimed = (0.0, min(1.0, grow * seen + pair.delta))
            made.append(Finding(GUARANTEE, subject, name, p, n[i], int(counts[i]), claimed))
    return made


def _of_writing(plan: AuditPlan, tally: Tally, found: Design) -> list[Finding]:
    """The guarantee for how reports are written: spare characters, alone and in the best event."""
    if tally.written is None:
        return []
    made, n = [], tally.reports.tolist()
    for pair in found.pairs:
        i, j = pair.pair
        inside = np.append(pair.events[pair.best], np.False_)
        events = [tally.written[:, chosen].sum(axis=1) for chosen in (inside, slice(None))]
        options = []
        for words, counts in zip((" among the best event", ""), events, strict=True):
            for spare in range(SPARE):
                first, second = int(counts[i, spare]), int(counts[j, spare])
                ratio = limits.Ratio(first, n[i], second, n[j], 0.5)
                p = ratio.p_value(pair.epsilon * (1.0 + 1e-12), delta=pair.delta)
                options.append((p, spare, words, first))
        p, spare, words, first = min(options, key=lambda option: option[0])
        name = f"reports written with {spare} (mod {SPARE}) spare characters{words}"
        subject = f"{_under(plan, i)} against {shown(plan.values()[j])}"
        made.append(Finding(GUARANTEE, subject, name, min(1.0, len(options) * p), n[i], first))
    return made


def _of_independence(plan: AuditPlan, tally: Tally, found: Design) -> list[Finding]:
    """Neighbours, the same place of two calls, and the law given the input before."""
    made = []
    reading = found.reading
    many = len(plan.asked)
    names = ("neighbours of a call in the same cell", "the same place of two calls in one cell")
    for lag, name in enumerate(names):
        parts = []
        for i in range(many):
            for j in range(many):
                count, pairs = (int(v) for v in tally.agree[lag, i, j])
                low = float((reading.low[i] * reading.low[j]).sum()) * (1.0 - limits.SLACK)
                high = float((reading.high[i] * reading.high[j]).sum()) * (1.0 + limits.SLACK)
                if pairs:
                    parts.append(limits.two_sided(count, pairs, low, min(high, 1.0)))
        count, pairs = (int(v) for v in tally.agree[lag].reshape(-1, 2).sum(axis=0))
        made.append(Finding(INDEPENDENCE, "all inputs", name, limits.combined(parts), pairs, count))
        if reading.equal is not None:
            words = name.replace("in the same cell", "equal").replace("in one cell", "equal")
            made.append(_repeated(tally.equal[lag], words))
            if lag == 0:
                made.append(_of_resolution(tally.equal[lag, 1], reading.equal))
    for i in range(many):
        for j in range(many):
            counts = grouped(tally.after[i, j, :-1], found.coarsest).astype(np.int64)
            low, high = (grouped(r[j], found.coarsest) for r in (reading.low, reading.high))
            p = limits.multinomial(counts, np.minimum(low, 1.0), np.minimum(high, 1.0))
            words = f"{_under(plan, j)} asked after {shown(plan.values()[i])}"
            made.append(Finding(INDEPENDENCE, words, "all cells", p, int(counts.sum())))
    return made


def _repeated(equal: Any, words: str) -> Finding:
    """Near pairs that are equal more often than far ones of the same two inputs.

    Given how many of both are equal, those that are near are hypergeometric, whatever the
    probability is (docs/theory-audit.md, Lemma 4.2); the union bound over the inputs.
    """
    (near, far), groups = equal.reshape(2, -1, 2), equal[0].size // 2
    p = 1.0
    for (a, m), (b, others) in zip(near.tolist(), far.tolist(), strict=True):
        if a:
            p = min(p, limits.more_often((a, m), (b, others)))
    count, pairs = (int(v) for v in near.sum(axis=0))
    return Finding(INDEPENDENCE, "all inputs", words, min(1.0, groups * p), pairs, count)


def _of_resolution(far: Any, equal: float) -> Finding:
    """Far pairs that are equal more often than six digits make them."""
    count, pairs = (int(v) for v in far.reshape(-1, 2).sum(axis=0))
    p = limits.upper_tail(count, pairs, equal) if pairs else 1.0
    words = "equal though far apart: rounded to fewer than six digits, or noise from a grid"
    return Finding(RESOLUTION, "all inputs", words, p, pairs, count, (0.0, equal))


@dataclass(frozen=True)
class PairLimits:
    """What the counts say of an ordered pair of inputs, all at one joint level.

    Attributes
    ----------
    pair : tuple
        The two values.
    claimed, delta : float
        The claimed guarantee.
    neighbours : bool
        Whether the two are known to be neighbours.
    lower : float
        Lower confidence bound of eps at this delta.
    event : str
        Of the best event.
    points : tuple of (p1, p0)
        For every nested event: upper limit under the second input, lower limit under the first.
    detectable : tuple of two floats
        Claimed probability of the best event under the first input, and the smallest larger one
        that the tests would have found with power 0.9; inf where there is none.
    detectable_epsilon : float
        Its log ratio to the claimed probability under the second input.
    """

    pair: tuple[Any, Any]
    claimed: float
    delta: float
    neighbours: bool
    lower: float
    event: str
    points: tuple[tuple[float, float], ...]
    detectable: tuple[float, float]
    detectable_epsilon: float


def pair_limits(plan: AuditPlan, tally: Tally, found: Design, tests: int) -> list[PairLimits]:
    """Limits of the nested events of every ordered pair, at their part of the level."""
    level = plan.alpha * plan.spend[1]
    n = tally.reports.tolist()
    made = []
    for pair in found.pairs:
        points, lower = [], 0.0
        i, j = pair.pair
        for inside, share, weight in zip(pair.events, pair.shares, pair.weights, strict=True):
            if level * weight <= 0.0:
                continue
            mask = np.append(inside, np.False_)
            counts = tally.counts[:, mask].sum(axis=1)
            ratio = limits.Ratio(int(counts[i]), n[i], int(counts[j]), n[j], share)
            low, high = ratio.ends(level * weight)
            points.append((high, low))
            lower = max(lower, ratio.epsilon(level * weight, delta=pair.delta))
        made.append(
            PairLimits(
                (plan.values()[i], plan.values()[j]),
                pair.epsilon,
                pair.delta,
                pair.neighbours,
                lower,
                _event_words(plan, pair),
                tuple(points),
                *_detectable(plan, found, pair, tests, n[i]),
            )
        )
    return made


def _detectable(
    plan: AuditPlan, found: Design, pair: PairDesign, tests: int, n: int
) -> tuple[tuple[float, float], float]:
    """By the exact power of the binomial test of the best event at Holm's first level."""
    inside = pair.events[pair.best]
    i, j = pair.pair
    own = min(1.0, float(found.reading.high[i][inside].sum()))
    other = float(found.reading.mass[j][inside].sum())
    level = test_level(plan) / tests / 2.0
    p = limits.detectable(n, own, level, power=POWER) if level > 0.0 else math.inf
    if not p < 1.0:
        return (own, math.inf), math.inf
    gap = p - pair.delta
    known = gap > 0.0 and other > 0.0
    return (own, p), max(0.0, math.log(gap / other)) if known else math.inf


def cell_limits(plan: AuditPlan, tally: Tally, found: Design) -> tuple[Floats, Floats]:
    """Limits of every group of cells under every input, all at once: shape (I, K) each."""
    many, groups = len(plan.asked), len(found.group_names)
    level = plan.alpha * plan.spend[2] * (1.0 - BOXES) / (2.0 * many * groups)
    low, high = np.zeros((many, groups)), np.ones((many, groups))
    if level <= 0.0:
        return low, high
    for i, n in enumerate(tally.reports.tolist()):
        for k, count in enumerate(grouped(tally.counts[i, :-1], found.groups).astype(np.int64)):
            low[i, k] = limits.lower_limit(int(count), n, level)
            high[i, k] = limits.upper_limit(int(count), n, level)
    return low, high


def judged(plan: AuditPlan, tally: Tally, found: Design) -> tuple[list[Finding], list[PairLimits]]:
    """All findings and limits of a plan's counts."""
    every = findings(plan, tally, found)
    return every, pair_limits(plan, tally, found, len(every))
