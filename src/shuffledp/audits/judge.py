"""From a plan and its counts to a result: every number at the stated level, jointly.

The level alpha is divided before the counts are seen: tests (Holm), and limits of events. By
the union bound all statements of a result hold together with probability at least 1 - alpha, if
reports are independent and have the claimed law (docs/theory-audit.md).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from shuffledp.audits import lift, limits
from shuffledp.audits.design import Design, PairDesign, design
from shuffledp.audits.learned import MOST_CHOOSING
from shuffledp.audits.plan import AuditPlan
from shuffledp.audits.result import (
    EPSILON,
    GUARANTEE,
    INDEPENDENCE,
    LAW,
    POWER,
    RESOLUTION,
    Bound,
    Finding,
    Result,
    adjusted,
)
from shuffledp.audits.tally import LAGS, LOW_BITS, Tally
from shuffledp.values.described import shown


def result_of(plan: AuditPlan, tally: Tally, *, found: Design | None = None) -> Result:
    """Judge the counts of a plan.

    Parameters
    ----------
    plan : AuditPlan
        Settled before the counts were seen.
    tally : Tally
        What ``collected`` counted.
    found : Design, optional
        ``design(plan)``, if it is known already.
    """
    judge = _Judge(plan, tally, found or design(plan))
    findings = adjusted(judge.with_power([*judge.findings()]))
    local = judge.bounds()
    near = {
        p.pair: bound for p, bound in zip(judge.design.pairs, local, strict=True) if p.neighbours
    }
    central = lift.central(plan, near)
    return Result(
        plan,
        tally,
        plan.level,
        f"{plan.reports:,} reports under each of {len(plan.asked)} inputs",
        findings,
        (*local, *central),
        (*_said(plan), *lift.words(plan, central, known=bool(near))),
    )


def _said(plan: AuditPlan) -> Iterator[str]:
    """Notes of an audit without a declared mechanism."""
    if plan.randomizer is None:
        yield f"As many reports again, at most {MOST_CHOOSING:,} under each input, chose the event."
        if plan.claimed is None:
            yield "Nothing is declared, so nothing but independence can be refuted."


def grouped(row: Any, groups: Any) -> Any:
    """Sums over groups of cells."""
    return np.bincount(groups, weights=row, minlength=int(groups.max()) + 1)


class _Judge:
    """The hypotheses about one tally, and the bounds that follow from it."""

    def __init__(self, plan: AuditPlan, tally: Tally, found: Design) -> None:
        self.plan, self.tally, self.design, self.reading = plan, tally, found, found.reading
        self.values = plan.values()
        self.n = plan.reports

    def findings(self) -> Iterator[Finding]:
        """All hypotheses of the plan."""
        if self.plan.randomizer is not None:
            for i in range(len(self.values)):
                yield from self._of_law(i)
        for pair in self.design.pairs:
            if math.isfinite(pair.epsilon):
                yield from self._of_guarantee(pair)
        yield from self._of_independence()

    def _under(self, i: int) -> str:
        return f"input {shown(self.values[i])}"

    def _speaks(self, pair: PairDesign) -> str:
        x0, x1 = (shown(self.values[i]) for i in pair.pair)
        return f"reports that speak most for {x0} against {x1}"

    # --------------------------------------------------------------------------------- the law

    def _of_law(self, i: int) -> Iterator[Finding]:
        """Message space, groups of cells, best events of pairs, and all cells of one input."""
        subject, n, counts = self._under(i), self.n, self.tally.counts[i, :-1]
        outside = int(self.tally.counts[i, -1])
        p = 0.0 if outside else 1.0
        yield Finding(LAW, subject, "outside the message space", p, n, outside, (0.0, 0.0))
        low, high = self.reading.low[i], self.reading.high[i]
        for name, inside in self._events(i):
            claimed = (min(float(low[inside].sum()), 1.0), min(float(high[inside].sum()), 1.0))
            count = int(counts[inside].sum())
            p = limits.two_sided(count, n, *claimed)
            yield Finding(LAW, subject, name, p, n, count, claimed)
        p = limits.multinomial(counts, low, high)
        yield Finding(LAW, subject, "all cells (multinomial)", p, n)

    def _events(self, i: int) -> Iterator[tuple[str, Any]]:
        """Best events of the pairs of an input, and groups of cells that are none of these."""
        known = set()
        best = [(self._speaks(p), p.event) for p in self.design.pairs if i in p.pair]
        groups = enumerate(self.design.group_names)
        for name, inside in [*best, *((name, self.design.groups == g) for g, name in groups)]:
            if inside.tobytes() not in known:
                known.add(inside.tobytes())
                yield name, inside

    def with_power(self, findings: list[Finding]) -> Iterator[Finding]:
        """The same, with the smallest violation that the worst pair's best event finds."""
        main, level = self.design.pairs[0], 0.5 * self.plan.level / len(findings)
        wanted = (LAW, self._under(main.pair[0]), self._speaks(main))
        for one in findings:
            if (one.kind, one.subject, one.cell) == wanted and one.claimed is not None:
                # One side of the test at Holm's first level: what fails there fails the whole test.
                found = limits.detectable(one.reports, one.claimed[1], level, power=POWER)
                yield dataclasses.replace(one, detectable=found)
            else:
                yield one

    # --------------------------------------------------------------------------- the guarantee

    def _of_guarantee(self, pair: PairDesign) -> Iterator[Finding]:
        """P0(S) <= e^eps P1(S) + delta, whatever the law, for events named before."""
        tally, n = self.tally, self.n
        inside = np.append(pair.event, np.False_)
        events = [(self._speaks(pair), tally.counts[:, inside].sum(axis=1), pair.share)]
        events.append(("outside the message space", tally.counts[:, -1], 0.5))
        if self.design.unit > 0.0:
            for j, shift in enumerate(LOW_BITS):
                name = f"no multiple of {self.design.unit * 2.0**-shift:.3g}"
                events.append((name, tally.low_bits[:, j], 0.5))
        i, j = pair.pair
        subject = f"{self._under(i)} against {shown(self.values[j])}"
        grow = math.exp(min(pair.epsilon, 700.0))
        for name, counts, share in events:
            first, second = int(counts[i]), int(counts[j])
            ratio = limits.Ratio(first, n, second, n, share)
            p = ratio.p_value(pair.epsilon * (1.0 + 1e-12), delta=pair.delta)
            claimed = (0.0, min(1.0, grow * second / n + pair.delta))
            yield Finding(GUARANTEE, subject, name, p, n, first, claimed)

    def bounds(self) -> list[Bound]:
        """Lower bounds of eps of every ordered pair."""
        made, level = [], self.plan.limits_level
        for pair in self.design.pairs:
            of = level * pair.weight
            ratio = self._ratio(pair, pair.event, pair.share)
            lower = ratio.epsilon(of, delta=pair.delta)
            ends = [one.ends(of) for one in (ratio, self._ratio(pair, pair.middle, 0.5))]
            points = tuple((high, low) for low, high in ends)
            values, event = tuple(self.values[i] for i in pair.pair), self._speaks(pair)
            made.append(Bound(EPSILON, values, pair.delta, lower, pair.epsilon, event, points))
        return made

    def _ratio(self, pair: PairDesign, inside: Any, share: float) -> limits.Ratio:
        first, second = (int(self.tally.counts[i, :-1][inside].sum()) for i in pair.pair)
        return limits.Ratio(first, self.n, second, self.n, share)

    # ---------------------------------------------------------------------------- independence

    def _of_independence(self) -> Iterator[Finding]:
        """Pairs over time, and the reports after each input: whatever the law is."""
        tally = self.tally
        for lag, name in enumerate(LAGS):
            yield from _of_pairs(tally.agree[lag], f"{name} in the same cell")
            if self.reading.equal is not None:
                yield from _of_pairs(tally.equal[lag], f"{name} equal")
        if self.reading.equal is not None:
            yield _of_resolution(tally.equal[0, 1], self.reading.equal)
        groups = np.append(self.design.groups, self.design.groups.max() + 1)
        for j in range(len(self.values)):
            table = np.array([grouped(row, groups) for row in tally.after[:, j]]).astype(np.int64)
            p = _homogeneous(table)
            words = "its reports by the input asked for before"
            yield Finding(INDEPENDENCE, self._under(j), words, p, int(table.sum()))


def _of_pairs(counts: Any, words: str) -> Iterator[Finding]:
    """Pairs that are near against pairs that are far and have the same two inputs.

    Given how many of both agree, those that are near are hypergeometric, whatever the law is
    (docs/theory-audit.md, Lemma 4.1). Pairs with the same input twice, and with two different ones.
    """
    alike = np.eye(counts.shape[1], dtype=np.bool_)
    for subject, chosen in (("the same input twice", alike), ("two different inputs", ~alike)):
        near, far = counts[0][chosen], counts[1][chosen]
        parts = [
            limits.drawn(a, n=m + others, marked=a + b, draws=m)
            for (a, m), (b, others) in zip(near.tolist(), far.tolist(), strict=True)
        ]
        count, pairs = (int(v) for v in near.sum(axis=0))
        yield Finding(INDEPENDENCE, subject, words, limits.combined(parts), pairs, count)


def _homogeneous(table: Any) -> float:
    """p-value of "all rows have one law": counts of each row and cell, given all sums."""
    rows, cells, total = table.sum(axis=1), table.sum(axis=0), int(table.sum())
    parts = [
        limits.drawn(int(table[i, c]), n=total, marked=int(cells[c]), draws=int(rows[i]))
        for i in range(len(rows))
        for c in range(len(cells))
    ]
    return min(1.0, len(parts) * min(parts))


def _of_resolution(far: Any, equal: float) -> Finding:
    """Far pairs that are equal more often than six digits make them."""
    count, pairs = (int(v) for v in far.reshape(-1, 2).sum(axis=0))
    p = limits.upper_tail(count, pairs, equal) if pairs else 1.0
    words = "equal though far apart: rounded to fewer than six digits, or noise from a grid"
    return Finding(RESOLUTION, "all inputs", words, p, pairs, count, (0.0, equal))
