"""Certified E f(S): rule after rule until both ends are as near as was asked, or as work allows.

    E f(S) = (1/2 pi i) int_{Re s = alpha} E e^{sS}/kappa(s) ds.

Smoothing S brackets f from both sides, and the trapezoidal rule's error has a sign (Poisson
summation). Every step, and why its error is bounded as it is here: docs/theory.md, section 6, and
docs/theory-composition.md, section 3. Everything is relative to E e^{alpha S}/kappa(alpha), so
that nothing underflows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from shuffledp.arithmetic.intervals import LogInterval, common
from shuffledp.contour.aliasing import Growth, growth_table
from shuffledp.contour.payoff import Payoff
from shuffledp.contour.rule import Rule, applied, planned
from shuffledp.contour.transform import Transform
from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
# Squares of the tilt, and of what is a thousand times as far, have to stay in range.
_LARGEST_ALPHA = 1e140
# A rule's errors of second order are counted as of first: no wider width is aimed at.
_WIDEST = 0.1
# A rule that leaves more than this of the last one's width is not worth another.
_STALLED, _HALF = 0.7, 0.5
# Smoothing by c costs about c^2 of width, up and down together: c = 0.7 sqrt(width) makes half of
# what is asked for, no wider than 0.3. What aliases is to be a thousandth of the width, and a
# hundredth of that at each rule after it.
_SMOOTHING, _SMOOTHEST = 0.7, 0.3
_GUARD, _FINER_GUARD = 1e-3, 1e-2
# Where a rule missed the width, by e^30 or a factor of 1e6 at most as counted here, c gets smaller
# by the root of it, at most fifty times.
_MISSED, _MOST_MISSED, _LEAST = 30.0, 1e6, 0.02
# What a node takes by itself, in atoms.
_NODE = 3
_MORE = 4


class Effort(NamedTuple):
    """How much is done at most.

    Attributes
    ----------
    attempts : int
        Rules.
    nodes : int
        Nodes of one rule.
    work : int
        Nodes times atoms of one rule.
    fine, fine_work : float, int
        A width below ``fine`` is made as wide as ``fine_work`` (nodes times atoms and what a node
        takes by itself) allows.
    """

    attempts: int
    nodes: int
    work: int
    fine: float = 0.0
    fine_work: int = 0

    def most(self, transform: Transform) -> int:
        """Nodes of one rule, of this transform."""
        return min(self.nodes, self.work // transform.size)


def expectation(
    transform: Transform, payoff: Payoff, *, width: float, effort: Effort
) -> tuple[LogInterval, bool]:
    """Bracket log E f(S) to about a relative ``width``, or as near as ``effort`` allows.

    Also whether errors of the integrand, and not the rule, make the bracket's width.
    """
    width = min(width, _WIDEST)
    best, settled = LogInterval(-math.inf, chernoff(transform, payoff)), False
    if not 1.0 / _LARGEST_ALPHA < transform.alpha < _LARGEST_ALPHA:
        return best, settled
    table, most = growth_table(transform, payoff), effort.most(transform)
    held = width < effort.fine
    width = _affordable(transform, payoff, table, width, effort)
    c, guard = min(_SMOOTHEST, _SMOOTHING * math.sqrt(width)), _GUARD * width
    last = math.inf
    for _ in range(effort.attempts):
        rule = planned(transform, payoff, table, c=c, guard=guard, most=most)
        if rule is None or (
            held and last < math.inf and work(transform, rule) > _MORE * effort.fine_work
        ):
            break
        found, doubt = applied(transform, payoff, table, rule)
        best = common(best, found)
        settled = doubt > -_HALF * math.expm1(-found.width)
        if best.width <= width or found.width > _STALLED * last or settled:
            break
        last = found.width
        excess = min(math.expm1(min(best.width, _MISSED)) / width, _MOST_MISSED)
        c *= max(_SMOOTHING / math.sqrt(excess), _LEAST)
        guard *= _FINER_GUARD
    return best, settled


def chernoff(transform: Transform, payoff: Payoff) -> float:
    """log E f(S) <= log E e^{alpha S} + log_peak(alpha)."""
    log_peak = payoff.log_peak(transform.alpha)
    growth = transform.log_growth(transform.alpha) + transform.log_scale
    slack = 8 * U * (1.0 + abs(transform.log_scale) + abs(log_peak)) + transform.scale_error
    return growth + log_peak + slack


def work(transform: Transform, rule: Rule) -> int:
    """Nodes times atoms, and what a node takes by itself."""
    return rule.count * (transform.size + _NODE)


def _affordable(
    transform: Transform,
    payoff: Payoff,
    table: Sequence[Growth],
    width: float,
    effort: Effort,
) -> float:
    """The width asked for; a fine one no narrower than its share of work allows."""
    most = effort.most(transform)
    while width < effort.fine:
        c, guard = _SMOOTHING * math.sqrt(width), _GUARD * width
        rule = planned(transform, payoff, table, c=c, guard=guard, most=most)
        if rule is not None and work(transform, rule) <= effort.fine_work:
            break
        width = min(2.0 * width, effort.fine)
    return width
