"""Composed: eps and delta of rounds, and what else their curves say."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp import _check, theorems
from shuffledp.bound import Bound, Theorem
from shuffledp.divergence import LARGEST_EPSILON
from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.rounds.core import Ends, Rounds, joined
from shuffledp.rounds.delta import Parts, log_delta
from shuffledp.rounds.dots import lower_pair
from shuffledp.rounds.gaussian import error_of_log, log_delta_gaussian, mu_through
from shuffledp.rounds.gdp import dominating_mu
from shuffledp.rounds.part import Part
from shuffledp.rounds.pld import composed_pld
from shuffledp.rounds.posterior import least_loss
from shuffledp.rounds.renyi import (
    Curves,
    Divergence,
    divergence,
    log_excess_below,
    renyi_of,
)
from shuffledp.rounds.tradeoff import attained, guaranteed
from shuffledp.rounds.zcdp import best_rho
from shuffledp.values.described import by_name

U = UNIT_ROUNDOFF
LARGEST_ORDER = 1e6
RENYI_RTOL = 1e-3
GDP_RTOL = 1e-3
RHO_RTOL = 1e-2
TRADEOFF_POINTS = 61
# Lower ends of mu and rho are the largest of what single eps, or orders, ask for. Of eps: shares of
# what delta = 1e-12 takes, and so many on from there to next to the pure guarantee.
MU_SHARES, MU_BEYOND, _NEARLY = np.array([0.0, 0.05, 0.15, 0.3, 0.5, 0.8]), 5, 0.95
RHO_ORDERS = (2.0, 8.0, 32.0, 128.0)
# Pure guarantees below it have a square that says all; curves would have no digits.
_TINY = 1e-150
# Log odds beyond this overflow; a posterior below e^-700 may be said to be that.
_FARTHEST = 700.0


@dataclass(frozen=True, repr=False)
class Composed(Rounds):
    """Rounds of mechanisms on the same users, made by ``compose``.

    Attributes
    ----------
    parts : tuple of (Part, int)
        Each mechanism and in how many rounds it runs.
    asked : float or None
        Requested relative width of eps; None: what is worth the time, 5e-4 or, for continuous
        outputs, 6e-3.
    """

    @by_name
    def renyi(self, *, order: float) -> Bound:
        """Renyi divergence of all rounds together, in nats; it adds up over rounds.

        Parameters
        ----------
        order : float
            1 < order <= 1e6.

        Raises
        ------
        ParameterError
            If the order is outside its domain.
        """
        order = _check.real("order", order, low=1.0 + 1e-9, high=LARGEST_ORDER)
        low, high = self._renyi(order)
        cap = self.eps0
        upper = self._upper_theorem(capped=cap <= high and math.isfinite(cap))
        ends = Ends(low, min(high, cap), None, {})
        return self._bound("renyi", ends, {"order": order}, upper=_through(upper))

    def rdp(self, orders: Iterable[float]) -> list[float]:
        """Upper ends of the Renyi divergence at each order, as an RDP accountant adds them up."""
        checked = [_check.real("order", A, low=1.0 + 1e-9, high=LARGEST_ORDER) for A in orders]
        return [min(_upper_of(self._renyi_sides(A)), self.eps0) for A in checked]

    def zcdp(self) -> Bound:
        """The least rho with Renyi divergence <= rho A at every order A > 1 (Bun, Steinke 2016)."""
        pure = self.eps0
        if pure < _TINY:
            # As every mechanism of this pure guarantee; its square is among the last floats.
            high, order = math.nextafter(0.5 * pure * pure, math.inf) if pure > 0.0 else 0.0, 8.0
        elif math.isfinite(pure):
            high, order = best_rho(
                lambda A: min(_upper_of(self._renyi_sides(A)), pure), pure=pure, rtol=RHO_RTOL
            )
        else:
            high, order = self._local_rho(), 8.0
        low = max(self._renyi(A)[0] / A for A in {*RHO_ORDERS, order})
        ends = Ends(low, high, None, {})
        upper = _through(self._upper_theorem(capped=False))
        return self._bound("rho", ends, {}, upper=upper)

    @by_name
    def tradeoff(self, *, alpha: float) -> Bound:
        """Least type II error of any test between neighbours with type I error alpha.

        The lower end is the privacy guarantee (f-DP at this alpha); the upper end is what a test
        attains between one pair of neighbouring datasets.

        Parameters
        ----------
        alpha : float
            Type I error, 0 < alpha < 1.
        """
        alpha = _check.open_unit("alpha", alpha)
        reach = min(self.eps0, self._reach(), LARGEST_EPSILON)
        low = guaranteed(alpha, lambda eps: self.log_delta(eps, lower=False).high, reach)
        high, witness = self._attained(alpha)
        ends = Ends(low, high, None, witness)
        return self._bound(
            "beta",
            ends,
            {"alpha": alpha},
            lower=_through(self._upper_theorem(capped=False)),
            upper=joined([p.lower_theorem for p, _ in self.parts], theorems.REPETITION),
        )

    @by_name
    def gdp(self, *, slack: float = 0.0) -> Bound:
        """The least mu such that all rounds are mu-Gaussian-DP, but for ``slack`` in delta.

        mu composes as the root of the sum of squares (Dong, Roth, Su 2022, Corollary 3.3), and
        slacks about add up; so the upper end comes from each mechanism's own mu.

        Parameters
        ----------
        slack : float
            0 <= slack <= 0.5: delta(eps) <= delta_mu(eps) + slack. What makes mu large otherwise is
            often a delta like 1e-1000.
        """
        slack = _check.real("slack", slack, low=0.0, high=0.5)
        # prod (1 + share) <= 1 + slack.
        share, squares = math.log1p(slack) / self.rounds * (1.0 - 4 * U), 0.0
        for part, count in self.parts:
            mu = dominating_mu(part.curves(), slack=share, rtol=GDP_RTOL)
            squares += count * mu * mu
        high = math.sqrt(squares) * (1.0 + 8 * U)
        low = 0.0 if slack > 0.0 else self._attained_mu()
        ends = Ends(low, high, None, {})
        upper = _through(self._upper_theorem(capped=False))
        return self._bound("mu", ends, {"slack": slack}, upper=upper)

    @by_name
    def success(self, *, prior: float = 0.5) -> Bound:
        """Probability that the best attacker says right which of two neighbours is the data.

        Parameters
        ----------
        prior : float
            Prior probability of the first of the two, 0 < prior < 1.
        """
        prior = _check.open_unit("prior", prior)
        rarer = min(prior, 1.0 - prior)
        epsilon = math.log1p(-rarer) - math.log(rarer)
        found = self.log_delta(max(epsilon, 0.0))
        gain = [rarer * math.exp(x) if x > -math.inf else 0.0 for x in found[:2]]
        low, high = (1.0 - rarer) * (1.0 - 4 * U) + gain[0], (1.0 - rarer) * (1 + 4 * U) + gain[1]
        ends = Ends(low * (1.0 - 16 * U), min(high * (1.0 + 64 * U), 1.0), None, found.witness)
        upper = self._upper_theorem(capped=epsilon >= self.eps0)
        return self._bound("probability", ends, {"prior": prior}, upper=upper)

    @by_name
    def posterior(self, *, prior: float, failure: float) -> Bound:
        """How sure an attacker can become, but for a small probability of failure.

        With probability at least 1 - failure over the outputs, the posterior probability of the
        true one of two neighbouring datasets is at most the upper end, if it was ``prior`` before.
        P(loss > t) <= delta(eps)/(1 - e^{eps - t}) for every eps < t.

        Parameters
        ----------
        prior : float
            0 < prior < 1.
        failure : float
            0 < failure < 1.
        """
        prior, failure = _check.open_unit("prior", prior), _check.open_unit("failure", failure)
        log_odds = least_loss(
            lambda eps: self.log_delta(eps, lower=False).high,
            math.log(failure),
            start=self.epsilon(delta=max(0.1 * failure, math.ulp(0.0))).upper,
            pure=self.eps0,
        )
        terms = (math.log(prior), -math.log1p(-prior), log_odds)
        # A tiny prior's logarithm is large, and what it loses in rounding is absolute in the odds.
        odds = sum(terms) + 8 * U * sum(map(abs, terms))
        high = min(
            1.0 / (1.0 + math.exp(-min(max(odds, -_FARTHEST), _FARTHEST))) * (1.0 + 16 * U), 1.0
        )
        ends = Ends(0.0, high, None, {})
        at = {"prior": prior, "failure": failure, "log odds factor": log_odds}
        return self._bound("probability", ends, at, upper=self._upper_theorem(capped=False))

    @by_name
    def pld(self, *, discretization: float = 1e-4) -> Any:
        """A dp_accounting PrivacyLossDistribution that dominates all rounds.

        For neighbours by ``relation``, which the object does not carry: where that is not the
        replacement of one user's value, its accountants have no name for it.

        Parameters
        ----------
        discretization : float
            Its grid in nats; only PLDs of the same grid compose. A grid coarser than a hundredth
            of one round's eps loses accuracy, never validity.
        """
        return composed_pld(self.parts, discretization)

    def _renyi(self, order: float) -> tuple[float, float]:
        sides, lower = self._renyi_sides(order), [0.0, 0.0]
        for part, count, found, other in sides:
            for i, side in enumerate(_likely_pairs(part.pair_curves(), order, found.peak)):
                # What is left out beyond only makes a lower end lower.
                last = max(found.last, other.last)
                low = log_excess_below(side, order, last, rtol=RENYI_RTOL)
                lower[i] += count * renyi_of(low, order, up=False)
        return max(lower) * (1.0 - 64 * U), _upper_of(sides)

    def _renyi_sides(self, order: float) -> list[tuple[Part, int, Divergence, Divergence]]:
        """Each part, how often it runs, and its divergences in both directions."""
        made = []
        for part, count in self.parts:
            curves = part.curves()
            found = divergence(curves, order, rtol=RENYI_RTOL)
            same = curves.forward is curves.backward
            other = found if same else divergence(curves.swap(), order, rtol=RENYI_RTOL)
            made.append((part, count, found, other))
        return made

    def _local_rho(self) -> float:
        """Where no order is the last to look at: reports alone, if theirs grows like the order."""
        total = math.fsum(count * part.curves().rho for part, count in self.parts)
        return total * (1.0 + 16 * U)

    def _reach(self) -> float:
        """An eps beyond which delta is next to nothing."""
        return self.epsilon(delta=1e-12).upper if self.rounds > 0 else 0.0

    def _attained(self, alpha: float) -> tuple[float, dict[str, Any]]:
        """Upper bound of the trade-off function, from one pair of neighbouring datasets."""
        # A pair of laws on a part of the curve is below it as well.
        end = min(self._reach(), self.eps0, LARGEST_EPSILON)
        if not 0.0 < end < math.inf:
            return 1.0 - alpha, {}
        eps = np.linspace(0.0, end, TRADEOFF_POINTS)
        below, above, witness = self._pair_laws(around=0.2 * end / self.rounds)
        sides = []
        for parts_low, parts_high in zip(below, above, strict=True):
            low = np.array([log_delta(parts_low, float(e), width=1e-3).low for e in eps])
            high = np.array([log_delta(parts_high, float(e), width=1e-3).high for e in eps])
            sides.append(
                (np.exp(low) * (1.0 - 16 * U), np.minimum(np.exp(high) * (1 + 16 * U), 1.0))
            )
        pair = lower_pair(eps, sides[0], sides[-1])
        return min(attained(alpha, pair.forward), attained(alpha, pair.backward)), witness

    def _pair_laws(self, *, around: float) -> tuple[list[Parts], list[Parts], dict[str, Any]]:
        """Loss laws below and above one pair of neighbours, for each direction."""
        level, tilt = self._level(math.log(1e-12)), math.inf
        dots, witness = [], {}
        for i, (part, count) in enumerate(self.parts):
            found, reproduces = part.below(level, 0, tilt, around)
            dots.append((found, count))
            witness[f"round {i + 1}"] = {"label": part.label, "rounds": count, **reproduces}
        below = [(found.below, count) for found, count in dots]
        above = [(found.above, count) for found, count in dots]
        both = [(pair.forward, k) for pair, k in below], [(pair.backward, k) for pair, k in below]
        tops = [(pair.forward, k) for pair, k in above], [(pair.backward, k) for pair, k in above]
        return list(both), list(tops), witness

    def _attained_mu(self) -> float:
        scale, cap = self._reach(), min(_NEARLY * self.eps0, LARGEST_EPSILON)
        points = scale * MU_SHARES if math.isfinite(scale) else MU_SHARES[:1]
        if self.eps0 < math.inf and 0.0 < scale < cap:
            # A pure guarantee ends at once where a normal law goes on: the mu that eps asks for
            # often grows up to next to there.
            points = np.append(points, np.geomspace(scale, cap, MU_BEYOND))
        best = 0.0
        for e in points:
            low = self.log_delta(float(e)).low
            if low > -math.inf:
                mu = mu_through(float(e), low) * (1.0 - 1e-7)
                if float(log_delta_gaussian(mu, e) + error_of_log(mu, e)) <= low:
                    best = max(best, mu)
        return best


def _upper_of(sides: list[tuple[Part, int, Divergence, Divergence]]) -> float:
    """The upper end of all rounds' divergence, the larger one of both directions."""
    upper = [0.0, 0.0]
    for _, count, found, other in sides:
        upper = [upper[0] + count * found.high, upper[1] + count * other.high]
    return max(upper) * (1.0 + 64 * U)


def _through(theorem: Theorem | None) -> Theorem | None:
    """The same theorem, the step from the curve to this quantity included."""
    if theorem is None or theorem is theorems.LOCAL:
        return theorem
    return theorem.with_step(theorems.FROM_CURVE)


def _likely_pairs(pairs: tuple[Curves, ...], order: float, eps: float) -> list[Curves]:
    """For each direction the pair whose integrand at eps is largest by the estimate."""

    def size(side: Curves) -> float:
        forward, backward = (x.source.rough_log_delta(eps) for x in (side.forward, side.backward))
        return float(np.logaddexp((order - 1.0) * eps + forward, -order * eps + backward))

    found = []
    for swapped in (False, True):
        sides = [pair.swap() if swapped else pair for pair in pairs]
        if sides:
            found.append(max(sides, key=size))
    return found
