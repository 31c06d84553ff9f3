"""Free numbers of label stealing in plain floats, and the bound they give at one eps.

The split is beta = min(B, kappa R), s = beta/R, with R the law of the worst label or a mixture of
labels: neither part then changes the gain g/R, and a data set whose others all hold that label
loses only the empty reservoir. Outputs that reveal nothing of the victim (g about 0) can be hidden
at no cost, so that kappa is chosen by groups of outputs. With few parts each part is a group; with
many, each sign of g is one. Where the theorem requires constants, R = B.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from shuffledp.kernel.positive_sum import step_of
from shuffledp.propose.stealing_floats import Array, Floats, Places

__all__ = [
    "PLACES",
    "SMOOTHING",
    "WEIGHTS",
    "Plan",
    "Planner",
    "one_less_square",
    "one_less_square_even",
]

# Least h alpha; smoothing costs half of its square in log J, 1e-5, which is 1e-6 of eps.
SMOOTHING = 0.0045
# h T at the last node T of a certificate, and its most work, in nodes times atoms of all labels
# (about a second): beyond it a larger h is taken.
_REACH, _MOST_WORK = 4.2, 3e7
# Largest share of the blanket where numbers have to be constants, so that some of every law is
# left.
_MOST_CONSTANT = 0.97
# Largest alpha times gain: e^600 is a finite float.
_LARGEST_EXPONENT = 600.0
# A difference of masses below this share of them is rounding error.
_ROUNDING = 1e-13
# Up to this many parts of the outputs, each part has its own kappa; with more, each sign of g has.
_MOST_GROUPS = 4
# Laws under x0 and x1 count as equal within this relative difference.
_SILENT = 1e-12
_TINY = 1e-300
# Most labels that may be the worst, and their distance in log J from the first, as estimates err
# by 2 %.
_NEAR, _APART = 3, 0.03
# For unbounded noise as many more labels are evaluated, those with the largest Chernoff bound, as
# the normal law misses where psi returns to 1. Labels farther below the worst than _COUNTS are
# ignored.
_COUNTS = 1.0
# Ratio of two tilts between which no better one is looked for.
_SAME = 1.02
# Places u with t sqrt(v) = sinh(u), and weights, of an integral over t; their error is below 1e-7.
_U = 0.2 * np.arange(42)
# Up to _MOST_EVEN users psi returns to 1 at places that matter. psi^n is then summed at the square
# of _EVEN evenly spaced nodes, up to _WINDOW standard deviations of the smoothing; its rounding
# error, 1e-16 n, is negligible there.
_MOST_EVEN, _EVEN, _WINDOW = 10_000_000, 24, 4.0
PLACES, WEIGHTS = np.sinh(_U), 0.2 * np.cosh(_U) * np.where(_U > 0, 1.0, 0.5)


class Plan(NamedTuple):
    """Free numbers, how they were made, and an estimate of the bound they give.

    Attributes
    ----------
    kappas : tuple of float
        Size of the reservoir in each group of outputs; a single one if numbers are constants.
    weights : tuple of float
        Weights of labels in R; R stands for B if numbers are constants.
    joins : tuple of float
        The probability to join over beta/R, in each group.
    shares : tuple of float
        q of each group of a crowd; one of a single mechanism.
    lift : float
        log alpha less that of the saddle point.
    smooth : float
        h alpha: where psi returns to 1, a larger one pays.
    fine : float
        Divisor of the step, where psi^n is far from normal.
    ceiling : float
        Gains are cut at this value.
    share, join : Array
        The free numbers themselves.
    alpha, width : float
        Tilt, and the standard deviation of the widest tilted sum of labels that may count.
    value : float
        An estimate of log delta.
    label : int
        The worst label.
    """

    kappas: tuple[float, ...]
    weights: tuple[float, ...]
    joins: tuple[float, ...]
    shares: tuple[float, ...]
    lift: float
    smooth: float
    fine: float
    ceiling: float
    share: Array
    join: Array
    alpha: float
    width: float
    value: float
    label: int


class _Measures(NamedTuple):
    """The two measures of a split; those of all labels side by side. ``q``: that of each label."""

    mass_c: Array
    gain_c: Array
    mass_d: Array
    gain_d: Array
    lost: Array
    paid: float
    q: Array


class Planner:
    """One case among n users at one eps: from free numbers to an estimate of log delta.

    An estimate sums at few nodes. It does not see where psi returns to 1 beyond the last node, and
    a search over all numbers at once would find numbers for which that matters.

    Parameters
    ----------
    case : Floats
        The pair of inputs.
    n : int
        Number of users, those of all groups of a crowd together.
    eps : float
        eps at which log delta is estimated.
    cover : int
        0: nothing beyond the last node is seen. Otherwise the factor for the number of nodes a
        side; every plan is then smoothed so much that nothing beyond the nodes counts.
    """

    def __init__(self, case: Floats, n: int, eps: float, *, cover: int = 0) -> None:
        self.case, self.n, self.returns = case, n, n <= _MOST_EVEN
        self._cover = cover if self.returns else 0
        self._g, self._label_g = case.gains(eps)
        #: Numbers of others, by group of a crowd.
        self.users = np.array([n - 1.0]) if case.users is None else case.users
        self._most = 1.0 if case.tuned else _MOST_CONSTANT
        # Number of atoms of all labels, each with the reservoir's.
        self._size = case.other.size + len(case.other) * case.blanket.size
        silent = np.abs(case.first - case.second) <= _SILENT * case.first
        signs = np.zeros(case.parts.max() + 1, dtype=int)
        signs[case.parts] = np.where(silent, 0, np.where(self._g > 0.0, 1, 2))
        #: Whether each part is a group of its own.
        self.apart = signs.size <= _MOST_GROUPS
        #: The group of each part: outputs of one group share one kappa and one factor of s.
        self.groups = np.arange(signs.size) if self.apart else signs
        #: The sign of g in each group: 0 where g is silent, 1 where g > 0, 2 where g < 0.
        self.signs = signs if self.apart else np.arange(3)
        #: Groups that have outputs.
        self.used = np.unique(self.groups)

    def by_group(self, law: Array) -> Array:
        """The mass of each group of outputs."""
        return np.bincount(self.groups[self.case.parts], law, self.signs.size).astype(float)

    def plan(
        self,
        kappas: Any,
        weights: Any,
        *,
        joins: Any = None,
        shares: Any = None,
        lift: float = 0.0,
        smooth: float = SMOOTHING,
        fine: float = 1.0,
        ceiling: float = math.inf,
        start: float | None = None,
        label: int | None = None,
    ) -> Plan:
        """The plan with these numbers: the worst label's J, at its saddle point."""
        joins = np.ones(len(kappas)) if joins is None else joins
        shares = np.ones(self.users.size) if shares is None else shares
        given = [np.asarray(x, dtype=float) for x in (kappas, weights, joins, shares)]
        with np.errstate(all="ignore"):
            share, join = self._split(*given)
            measures = self._measures(share, join, given[3])
            if math.isfinite(ceiling):
                measures = _cut(measures, ceiling)
            first = int(self.case.order[0]) if label is None else label
            found = self._worst(measures, start, lift, (smooth, fine), first)
        if not all(map(math.isfinite, found)) or not found[1] > 0.0:
            found = 1.0, 1.0, 1.0, 0
        kappas, weights, joins, shares = (tuple(row.tolist()) for row in given)
        least = self._size * found[0] * _REACH / (_MOST_WORK * step_of(found[1], found[0]) / fine)
        if self._cover:
            least = max(least, found[0] * self._window(found[1], found[0], fine))
        numbers = kappas, weights, joins, shares, lift, max(smooth, least), fine, ceiling
        return Plan(*numbers, share, join, *found)

    def changed(self, plan: Plan, **new: Any) -> Plan:
        """A plan at this eps with some of its numbers replaced."""
        keys = ("kappas", "weights", "joins", "shares", "lift", "smooth", "fine", "ceiling")
        given = {key: getattr(plan, key) for key in keys} | new
        return self.plan(start=plan.alpha * math.exp(-plan.lift), label=plan.label, **given)

    def edges(self, plan: Plan) -> Array:
        """The kappa in each group at which the whole blanket is hidden."""
        found, rows = np.full(self.signs.size, _TINY), map(np.array, (plan.weights, plan.shares))
        np.maximum.at(found, self.groups, self._most / self._ratio(*rows))
        return found

    def _ratio(self, weights: Array, shares: Array) -> Array:
        """R/B in each part; 1 if numbers are constants."""
        if not self.case.tuned:
            return np.ones(1)
        blanket = np.bincount(self.case.parts, self.case.split(shares)[0])
        law = np.bincount(self.case.parts, weights @ self.case.other, blanket.size)
        ratio = np.divide(law, blanket, out=np.ones(law.size), where=blanket > 0.0)
        return np.where(ratio > 0.0, ratio, 1.0)

    def _side(self, fine: float) -> int:
        """Square root of an estimate's number of nodes."""
        return math.ceil(_EVEN * max(self._cover, 1) * math.sqrt(fine))

    def _window(self, width: float, alpha: float, fine: float) -> float:
        """The least h at which nothing beyond the last node counts."""
        return _WINDOW * fine / (max(step_of(width, alpha), _TINY) * self._side(fine) ** 2)

    def _split(
        self, kappas: Array, weights: Array, joins: Array, shares: Array
    ) -> tuple[Array, Array]:
        """Share and s in each part: beta = min(B, kappa R), s = joins beta/R."""
        ratio = self._ratio(weights, shares)
        share = np.minimum(self._most, kappas[self.groups] * ratio)
        return share, np.clip(share / ratio * joins[self.groups], 0.0, 1.0)

    def _measures(self, share: Array, join: Array, shares: Array) -> _Measures:
        """The measures of a split, as ``bounds.stealing`` makes them."""
        case, (blanket, hidden), q = self.case, self.case.split(shares), shares[self.case.group]
        beta, s = share[case.parts] * blanket, join[case.parts]
        positive, some = np.maximum(self._g, 0.0), beta > 0.0
        part, stay = (x[case.parts] if case.tuned else x[0] for x in (share, 1.0 - join))
        rest = case.other - part * hidden
        left = rest > _ROUNDING * case.other
        empty = self.users @ np.log1p(-np.minimum(shares * beta.sum(), 1.0 - 1e-16))
        paid = (s * positive)[~some].sum() + ((1.0 - s) * positive).sum() * math.exp(empty)
        lost = np.where(left, 0.0, stay * np.maximum(self._label_g, 0.0)).sum(axis=1)
        if self.users.size > 1:
            lost = np.full(lost.size, lost.max())
        gain_d = np.where(left, q[:, None] * stay * self._label_g / np.where(left, rest, 1.0), 0.0)
        joined = (s * self._g)[some] / beta[some]
        return _Measures(beta[some], joined, np.where(left, rest, 0.0), gain_d, lost, paid, q)

    def _worst(
        self, m: _Measures, start: float | None, lift: float, line: tuple[float, float], label: int
    ) -> tuple[float, float, float, int]:
        """alpha, width, log delta, and the worst label; the other groups have theirs beside it."""
        log_lost = np.log(m.lost + _TINY)
        a, best, seen = start, self._beside(self.case.leads, label), dict[tuple[int, ...], float]()
        while True:
            a = self._saddle(m, best, a)
            if math.isnan(a):
                return 1.0, 1.0, math.log(m.paid + float(m.lost.max()) + _TINY), label
            seen[tuple(best)] = a
            logs, variance, best = self._all_labels(m, a)
            label = int(np.argmax(np.logaddexp(logs, log_lost)))
            best = self._beside(best, label)
            if tuple(best) in seen:
                break
        low, high = sorted((a, seen[tuple(best)]))
        if self.case.unbounded:
            # The normal law is too far off to tell which of two labels is the worse one.
            high = low
        while high > low * _SAME:
            # Each of two labels is the worse one at the other's saddle point: one alpha between
            # them serves both.
            middle = math.sqrt(low * high)
            logs, _, best = self._all_labels(m, middle)
            best = self._beside(best, int(np.argmax(np.logaddexp(logs, log_lost))))
            above = self._saddle(m, best, middle) > middle
            low, high = (middle, high) if above else (low, middle)
        if high != a or lift:
            a = high * math.exp(lift)
            logs, variance, best = self._all_labels(m, a)
        about = np.logaddexp(logs, log_lost)
        near = np.argsort(-about)[:_NEAR]
        if not self._cover:
            near = near[about[near] >= about[near[0]] - _APART]
        if self.case.unbounded:
            steep = np.logaddexp(self._chernoff(m, a), log_lost)
            near = np.append(near, np.argsort(-steep)[:_NEAR])
        labels = {j: self._beside(best, j) for j in map(int, near)}
        logs = self._integrals(m, labels, a, float(variance[list(labels)].max()), line)
        found = {j: float(np.logaddexp(logs[j], log_lost[j])) for j in labels}
        j = max(found, key=found.__getitem__)
        value = float(np.logaddexp(found[j], math.log(m.paid + _TINY)))
        # One step of nodes serves all labels that may count.
        widest = float(variance[about >= about.max() - _COUNTS].max())
        return a, math.sqrt(widest), value, j

    def _beside(self, best: Places, label: int) -> Places:
        """One label of each group: this one, and the given ones of the other groups."""
        found = best.copy()
        found[self.case.group[label]] = label
        return found

    def _saddle(self, m: _Measures, labels: Places, start: float | None) -> float:
        """The best alpha for one label of each group."""
        mass = np.hstack([np.outer(m.q[labels], m.mass_c), m.mass_d[labels]])
        gain = np.hstack([np.tile(m.gain_c, (labels.size, 1)), m.gain_d[labels]])
        # The leading reservoir counts as one more user.
        return tilt(mass, gain, self.users * (self.n / (self.n - 1.0)), start)

    def _all_labels(self, m: _Measures, a: float) -> tuple[Array, Array, Places]:
        """Estimates of log J with psi^n taken as normal, and its variances in 1/t^2.

        They are those of each label beside the worst labels of the other groups, which are the
        last item.
        """
        users, group = self.users[self.case.group], self.case.group
        e, ed = np.expm1(a * m.gain_c), np.expm1(a * m.gain_d)
        wc, wd = m.mass_c * (1.0 + e), m.mass_d * (1.0 + ed)
        c0 = max(float(wc.sum()), _TINY)
        rise = m.q * (m.mass_c @ e) + (m.mass_d * ed).sum(axis=1)
        within = m.q * (wc @ m.gain_c**2 - (wc @ m.gain_c) ** 2 / c0)
        mean = (wd * m.gain_d).sum(axis=1)
        within = within + (wd * m.gain_d**2).sum(axis=1) - mean**2 / (1.0 + rise - m.q * c0)
        logs = users * np.log1p(rise)
        best = np.array([members[logs[members].argmax()] for members in self.case.members])

        def beside(each: Array) -> Array:
            """The sum over groups, of each label and of the worst ones of the other groups."""
            return each + (each[best].sum() - each[best])[group] if best.size > 1 else each

        v = np.maximum(beside(users * within / (1.0 + rise)), _TINY) * self.n / (self.n - 1)
        led = np.minimum(c0, (self.n - 1) / self.n / beside(users * m.q / (1.0 + rise)))
        logs = beside(logs) + np.log(led) - math.log(2 * a) + _log_erfcx(a * np.sqrt(v / 2))
        return np.where(np.isnan(logs), math.inf, logs), v, best

    def _chernoff(self, m: _Measures, a: float) -> Array:
        """log of (c0 + d0)^n/(2 alpha n) for every label."""
        rise = m.mass_c @ np.expm1(a * m.gain_c) + (m.mass_d * np.expm1(a * m.gain_d)).sum(axis=1)
        return self.n * np.log1p(rise) - math.log(2 * self.n * a)

    def _integrals(
        self,
        m: _Measures,
        labels: dict[int, Places],
        a: float,
        variance: float,
        line: tuple[float, float],
    ) -> dict[int, float]:
        """log J by the integral itself: where few are hidden, psi^n is not normal.

        ``labels``: one label of each group, by its key.
        """
        smooth, fine = line
        if self.returns:
            width = math.sqrt(variance)
            step, side = step_of(width, a) / fine, self._side(fine)
            h = max(smooth / a, self._window(width, a, fine))
            smooth = h * a if self._cover else smooth
            t, weights = step * np.arange(side * side), np.full(side * side, step)
            weights = weights * np.exp(-0.5 * (h * t) ** 2)
            weights[0] *= 0.5

            def missing(mass: Array, x: Array) -> Array:
                return one_less_square_even(mass, x, step, side)
        else:
            t, weights = PLACES / math.sqrt(variance), WEIGHTS / math.sqrt(variance)

            def missing(mass: Array, x: Array) -> Array:
                return one_less_square(mass, x, t)

        c, rise_c = m.mass_c * np.exp(a * m.gain_c), m.mass_c @ np.expm1(a * m.gain_c)
        hidden, weights = missing(c, m.gain_c), weights / (a * a + t * t)

        @cache
        def factor(j: int) -> tuple[float, Array]:
            """log T and log psi of a label's group."""
            d, q = m.mass_d[j] * np.exp(a * m.gain_d[j]), m.q[j]
            rise = q * rise_c + m.mass_d[j] @ np.expm1(a * m.gain_d[j])
            left = max(1.0 - float(q * m.mass_c.sum() + m.mass_d[j].sum()), 0.0)
            both = q * hidden + missing(np.append(d, left), np.append(m.gain_d[j], 0.0))
            return float(np.log1p(rise)), np.log1p(-both / (2.0 * (1.0 + rise)))

        found, count = {}, self.n - 1
        for key, chosen in labels.items():
            log, power, inverse = 0.5 * smooth * smooth, np.zeros(t.size), np.zeros(t.size)
            for users, j in zip(self.users, chosen, strict=True):
                size, psi = factor(int(j))
                log, power = log + users * size, power + users * psi
                inverse += users * m.q[j] * np.exp(-size - psi)
            led = np.minimum(c.sum() - 0.5 * hidden, count / self.n / inverse)
            value = log + float(np.log((np.exp(power) * led) @ weights / math.pi))
            # Numbers that overflow are no proposal.
            found[key] = math.inf if math.isnan(value) else value
        return found


def one_less_square(mass: Array, x: Array, t: Array) -> Array:
    """|m| (1 - |phi(t)|^2) for the law m/|m| on x."""
    whole = mass.sum()
    p = mass / whole
    turn = np.outer(t, x - p @ x)
    a, b = 2.0 * np.sin(turn / 2.0) ** 2 @ p, np.sin(turn) @ p
    return whole * (2.0 * a - a * a - b * b)


def one_less_square_even(mass: Array, x: Array, step: float, side: int) -> Array:
    """|m| (1 - |phi(t)|^2) at t = step k, k < side^2, by products of giant and baby steps."""
    whole = mass.sum()
    p = mass / whole
    turns = step * (x - p @ x)
    near, far = (np.empty((side, x.size), dtype=complex) for _ in range(2))
    for powers, turn in ((near, turns), (far, side * turns)):
        powers[0], powers[1:] = 1.0, np.exp(1j * turn)
        np.cumprod(powers, axis=0, out=powers)
    # Not a matrix product: threads that waited for each other made it fifty times as slow.
    phi = np.einsum("jk,lk->jl", far * p, near)
    return whole * (1.0 - phi.real**2 - phi.imag**2).ravel()


def _cut(m: _Measures, top: float) -> _Measures:
    """Gains cut at a ceiling; the excess is counted as lost."""
    paid = m.paid + float(m.mass_c @ np.maximum(m.gain_c - top, 0.0))
    lost = m.lost + (m.mass_d * np.maximum(m.gain_d - top, 0.0)).sum(axis=1)
    gains = np.minimum(m.gain_c, top), np.minimum(m.gain_d, top)
    return m._replace(gain_c=gains[0], gain_d=gains[1], lost=lost, paid=paid)


def _log_erfcx(x: Array) -> Array:
    """An upper bound, tight to 2 %, of log (e^(x^2) erfc(x)) for x >= 0."""
    return math.log(2.0 / math.sqrt(math.pi)) - np.log(x + np.sqrt(x * x + 4.0 / math.pi))


def tilt(mass: Array, gain: Array, users: Array, start: float | None) -> float:
    """alpha with alpha sum_k n_k (log M_k)'(alpha) = 2, by Newton in log alpha; nan if none is.

    ``mass``, ``gain``: a row for each group. ``users``: n_k.
    """
    top = float(gain.max())
    if not top > 0.0:
        return math.nan
    high, product = math.log(_LARGEST_EXPONENT / top), mass * gain
    mean, square = (float(users @ x.sum(axis=1)) for x in (product, product * gain))
    first = (math.sqrt(mean * mean + 8.0 * square) - mean) / (2.0 * square)
    low, at = -math.inf, min(math.log(start or first), high)
    for _ in range(60):
        a = math.exp(at)
        tilted = product * np.exp(a * gain)
        whole = 1.0 + (mass * np.expm1(a * gain)).sum(axis=1)
        if not (whole > 0.0).all():
            return math.nan  # floats cannot represent these gains
        m1, m2 = (x.sum(axis=1) / whole for x in (tilted, tilted * gain))
        value = a * float(users @ m1) - 2.0
        low, high = (low, at) if value > 0.0 else (at, high)
        slope = a * float(users @ (m1 + a * (m2 - m1 * m1)))
        new = at - value / slope if slope > 0.0 else at + 1.0
        if not low <= new <= high:
            new = (max(low, at - 4.0) + high) / 2.0
        if abs(new - at) < 1e-6:
            break
        at = new
    return math.exp(at)
