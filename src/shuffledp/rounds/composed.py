"""The class ``Composed``: eps, delta and other measures of privacy of rounds together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shuffledp import _check, theorems
from shuffledp.arithmetic.balls import arb
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.bound import Bound, Theorem
from shuffledp.errors import rejected
from shuffledp.propose.profile import LARGEST_EPSILON
from shuffledp.rounds.core import Ends, Rounds, joined, worst
from shuffledp.rounds.dots import Bracket, law_below
from shuffledp.rounds.gaussian import log_delta_gaussian, mu_through
from shuffledp.rounds.gdp import dominating_mu
from shuffledp.rounds.pld import composed_pld
from shuffledp.rounds.round import RENYI_RTOL, Renyi
from shuffledp.rounds.tradeoff import attained, best_eps, guaranteed, least_loss
from shuffledp.rounds.zcdp import best_rho, orders_around, orders_up_to
from shuffledp.values.described import by_name

U = UNIT_ROUNDOFF
LEAST_ORDER, LARGEST_ORDER = 1.0 + 1e-9, 1e6
GDP_RTOL = 1e-3
# Shares of the eps that decides a trade-off, at which the curve of one pair of datasets is
# enclosed.
_TRADEOFF_SHARES = (0.5, 0.75, 0.9, 0.97, 1.0, 1.03, 1.1, 1.25, 1.5)
# Least eps around which it is enclosed, as a share of the eps for delta = 1e-12.
_TRADEOFF_LEAST = 0.03
# Most orders for which dots of rho are placed.
_RHO_MOST = 10
# A note says that a Renyi divergence is the cheap one where its ends are this many widths apart.
_CHEAP = 10.0
_DEAR = "the best upper end of this order that is cheap: a sharper one takes longer"
# Lower ends of mu are the largest mu that single eps require: eps at these shares of the eps for
# delta = 1e-12, and this many more up to this share of the pure guarantee.
_MU_SHARES, _MU_BEYOND, _NEARLY = np.array([0.0, 0.05, 0.15, 0.3, 0.5, 0.8]), 5, 0.95
# log of the least delta used for that: smaller values take long.
_MU_LEAST = -120.0
# For smaller pure guarantees their square gives rho; curves would have no digits.
_TINY = 1e-150
# dp_accounting adds masses as floats: log deltas below its rounding errors are not worth a dot.
_PLD_TARGET = -31.0
# Larger log odds overflow; posteriors below e^-700 are stated as e^-700.
_FARTHEST = 700.0


def _order(value: Any) -> float:
    """An order of Renyi divergence, above 1 by more than rounding."""
    order = _check.real("order", value)
    if not LEAST_ORDER <= order <= LARGEST_ORDER:
        raise rejected("order", value, f"above 1 (at least 1 + 1e-9) and at most {LARGEST_ORDER:g}")
    return order


@dataclass(frozen=True, repr=False)
class Composed(Rounds):
    """Rounds of mechanisms on the same users, made by ``compose``.

    Attributes
    ----------
    parts : tuple of (Round, int)
        Each mechanism and its number of rounds.
    asked : float or None
        Requested relative width of eps. None: 5e-4, or 6e-3 for continuous outputs.
    """

    @by_name
    def renyi(self, *, order: float) -> Bound:
        """Renyi divergence of all rounds together, in nats; it is additive over rounds."""
        order = _order(order)
        low, high = self._lower_renyi((order,))(order), self._upper_renyi((order,))(order)
        cap = self.eps0
        upper = self._upper_theorem(capped=cap <= high and math.isfinite(cap))
        ends = Ends(low, min(high, cap), {})
        apart = 0.0 < ends.low < ends.high / (1.0 + _CHEAP * RENYI_RTOL) < math.inf
        notes = (_DEAR,) if apart else ()
        return self._bound("renyi", ends, {"order": order}, upper=_through(upper), notes=notes)

    def rdp(self, orders: Iterable[float]) -> list[float]:
        """Upper ends of the Renyi divergence at each order, in nats, as for an RDP accountant."""
        checked = [_order(A) for A in orders]
        at = self._upper_renyi(tuple(checked))
        return [min(at(A), self.eps0) for A in checked]

    def zcdp(self) -> Bound:
        """The least rho with Renyi divergence <= rho A at every order A > 1 (Bun, Steinke 2016)."""
        pure = self.eps0
        if pure < _TINY:
            # rho = eps^2/2 holds for every mechanism with this pure guarantee.
            high, order = math.nextafter(0.5 * pure * pure, math.inf) if pure > 0.0 else 0.0, 8.0
        elif math.isfinite(pure):
            # At orders above pure/rho the pure guarantee suffices.
            last = 2.0 * pure / max(self._upper_renyi((2.0,))(2.0), 1e-300)
            orders = orders_up_to(last)
            coarse = self._upper_renyi(orders[:: len(orders) // _RHO_MOST + 1])
            _, near = best_rho(lambda A: min(coarse(A), pure), pure=pure)
            # Repeat with dots placed for the deciding orders.
            finer = self._upper_renyi(orders_around(near))
            high, order = best_rho(lambda A: min(coarse(A), finer(A), pure), pure=pure)
        else:
            high, order = self._local_rho(), 8.0
        at = self._lower_renyi((2.0, order))
        low = max(at(A) / A for A in (2.0, order))
        ends = Ends(low, high, {})
        upper = _through(self._upper_theorem(capped=False))
        return self._bound("rho", ends, {}, upper=upper)

    @by_name
    def tradeoff(self, *, alpha: float) -> Bound:
        """Least type II error of any test between neighbours with type I error alpha.

        The lower end is the privacy guarantee (f-DP at this alpha). The upper end is attained by a
        test between one pair of neighbouring datasets.

        Parameters
        ----------
        alpha : float
            Type I error, 0 < alpha < 1.
        """
        alpha = _check.open_unit("alpha", alpha)
        end = min(self.eps0, self._reach(), LARGEST_EPSILON)
        if 0.0 < end < math.inf:
            low = guaranteed(alpha, self._log_upper_near, self.rough_log_delta, end)
            high, witness = self._attained(alpha, end)
        else:
            low, high, witness = (1.0 - alpha) if end == 0.0 else 0.0, 1.0 - alpha, {}
        ends = Ends(low, high, witness)
        return self._bound(
            "beta",
            ends,
            {"alpha": alpha},
            lower=_through(self._upper_theorem(capped=False)),
            upper=joined([p.lower_theorem for p, _ in self.parts], theorems.REPETITION),
        )

    @by_name
    def gdp(self, *, slack: float = 0.0) -> Bound:
        """The least mu such that all rounds are mu-Gaussian-DP, up to ``slack`` in delta.

        mu composes as the root of the sum of squares (Dong, Roth, Su 2022, Corollary 3.3), and
        slacks almost add up. So the upper end comes from each mechanism's own mu.

        Parameters
        ----------
        slack : float
            0 <= slack <= 0.5: delta(eps) <= delta_mu(eps) + slack. Without it, mu is often large
            because of a delta such as 1e-1000.
        """
        slack = _check.real("slack", slack, low=0.0, high=0.5)
        # prod (1 + share) <= 1 + slack.
        share, squares = math.log1p(slack) / self.rounds * (1.0 - 4 * U), 0.0
        for part, count in self.parts:
            mu = dominating_mu(part.curves(), slack=share, rtol=GDP_RTOL)
            squares += count * mu * mu
        high = math.sqrt(squares) * (1.0 + 8 * U)
        low = 0.0 if slack > 0.0 else self._attained_mu()
        ends = Ends(low, high, {})
        upper = _through(self._upper_theorem(capped=False))
        return self._bound("mu", ends, {"slack": slack}, upper=upper)

    @by_name
    def success(self, *, prior: float = 0.5) -> Bound:
        """Probability that the best attacker correctly names the true one of two neighbours."""
        prior = _check.open_unit("prior", prior)
        rarer = min(prior, 1.0 - prior)
        epsilon = math.log1p(-rarer) - math.log(rarer)
        found = self.log_delta(max(epsilon, 0.0))
        gain = [rarer * math.exp(x) if x != -math.inf else 0.0 for x in found[:2]]
        low, high = (1.0 - rarer) * (1.0 - 4 * U) + gain[0], (1.0 - rarer) * (1 + 4 * U) + gain[1]
        ends = Ends(low * (1.0 - 16 * U), min(high * (1.0 + 64 * U), 1.0), found.witness)
        upper = self._upper_theorem(capped=epsilon >= self.eps0)
        return self._bound("probability", ends, {"prior": prior}, upper=upper)

    @by_name
    def posterior(self, *, prior: float, failure: float) -> Bound:
        """Largest posterior of an attacker, except with a small probability of failure.

        Let the attacker's probability of the true one of two neighbouring datasets be ``prior``
        before the outputs. With probability at least 1 - failure over the outputs, the posterior is
        at most the upper end. P(loss > t) <= delta(eps)/(1 - e^{eps - t}) for every eps < t.

        Parameters
        ----------
        prior : float
            0 < prior < 1.
        failure : float
            0 < failure < 1.
        """
        prior, failure = _check.open_unit("prior", prior), _check.open_unit("failure", failure)
        log_odds = least_loss(
            self.log_upper,
            self.rough_log_delta,
            math.log(failure),
            start=self._plan.epsilon(math.log(max(0.1 * failure, math.ulp(0.0)))),
            pure=self.eps0,
        )
        terms = (math.log(prior), -math.log1p(-prior), log_odds)
        # A tiny prior has a large logarithm, whose rounding error is an absolute error of the log
        # odds.
        odds = sum(terms) + 8 * U * sum(map(abs, terms))
        high = min(
            1.0 / (1.0 + math.exp(-min(max(odds, -_FARTHEST), _FARTHEST))) * (1.0 + 16 * U), 1.0
        )
        ends = Ends(0.0, high, {})
        at = {"prior": prior, "failure": failure, "log odds factor": log_odds}
        return self._bound("probability", ends, at, upper=self._upper_theorem(capped=False))

    @by_name
    def pld(self, *, discretization: float = 1e-4) -> Any:
        """A dp_accounting PrivacyLossDistribution that dominates all rounds.

        It holds for neighbours by ``relation``, which the object does not record. dp_accounting has
        a name for that relation only if it replaces one user's value.

        Parameters
        ----------
        discretization : float
            Grid of the PLD in nats. Only PLDs with equal grids compose. A grid coarser than a
            hundredth of one round's eps loses accuracy, never validity.
        """
        aim = self._plan.along(_PLD_TARGET)
        return composed_pld(self._laws_above(aim), discretization)

    def _upper_renyi(self, orders: tuple[float, ...]) -> Callable[[float], float]:
        """The upper end of all rounds' divergence by order, the larger one of both directions."""
        found = _added_up([(part.renyi(orders), count) for part, count in self.parts])
        return lambda order: found(order) * (1.0 + 64 * U)

    def _lower_renyi(self, orders: tuple[float, ...]) -> Callable[[float], float]:
        found = _added_up([(part.renyi_below(orders), count) for part, count in self.parts])
        return lambda order: found(order) * (1.0 - 64 * U)

    def _local_rho(self) -> float:
        """The rho of single reports, for mechanisms without a pure guarantee."""
        return math.fsum(count * part.rho for part, count in self.parts) * (1.0 + 16 * U)

    def _reach(self) -> float:
        """An estimate of the eps at which delta is 1e-12."""
        return self._plan.epsilon(math.log(1e-12))

    def _log_upper_near(self, epsilon: float) -> float:
        """The upper end of log delta, with dots placed for this eps alone."""
        return self.log_uppers(max(self.rough_log_delta(epsilon), _MU_LEAST))(epsilon)

    def _attained(self, alpha: float, end: float) -> tuple[float, dict[str, Any]]:
        """Upper bound of the trade-off function, from one pair of neighbouring datasets.

        That pair's composed curve is enclosed at some eps, and a law is put below these values.
        """
        least = _TRADEOFF_LEAST * min(self._reach(), end)
        near = max(best_eps(alpha, self.rough_log_delta, end), least)
        target = max(self.rough_log_delta(near), _MU_LEAST)
        aim = partial(self._plan.at_target, target)
        sides, witness = self._below(aim, around=near / self.rounds)
        if not sides:
            return 1.0 - alpha, witness
        eps = sorted({0.0, *(near * share for share in _TRADEOFF_SHARES), end})
        eps = [e for e in eps if e <= end]
        ends = []
        for side in sides:
            found = [side.log_delta(e, rel=1e-3, end="both") for e in eps]
            low, high = ([_exp(x[i]) for x in found] for i in (0, 1))
            ends.append(Bracket([x.lower() for x in low], [x.upper() for x in high]))
        pair = law_below(eps, ends[0], ends[-1], arb(0))
        return min(attained(alpha, law) for law in pair), witness

    def _attained_mu(self) -> float:
        scale, cap = self._reach(), min(_NEARLY * self.eps0, LARGEST_EPSILON)
        points = scale * _MU_SHARES if math.isfinite(scale) else _MU_SHARES[:1]
        if self.eps0 < math.inf and 0.0 < scale < cap:
            # At a pure guarantee the curve ends at once where a normal law continues: the required
            # mu often grows up to an eps close below it.
            points = np.append(points, np.geomspace(scale, cap, _MU_BEYOND))
        near = [e for e in points.tolist() if self.rough_log_delta(e) >= _MU_LEAST]
        aim, best = partial(self._plan.along, self.rough_log_delta(near[-1])), 0.0
        sides, _ = self._below(aim, around=0.2 * near[-1] / self.rounds)
        for e in near:
            low = worst(sides, e, 1e-3, "lower").low
            if low > -math.inf:
                mu = mu_through(e, low) * (1.0 - 1e-7)
                if log_delta_gaussian(mu, e).high <= low:
                    best = max(best, mu)
        return best


def _exp(log: float) -> arb:
    return arb(0) if log == -math.inf else arb(log).exp()


def _added_up(made: Sequence[tuple[Renyi, int]]) -> Callable[[float], float]:
    """The sum over all rounds for the larger of both directions, by order."""

    def at(order: float) -> float:
        found = [(divergence(order), count) for divergence, count in made]
        return max(sum(count * pair[i] for pair, count in found) for i in (0, 1))

    return at


def _through(theorem: Theorem | None) -> Theorem | None:
    """The theorem with the step from the privacy curve to this quantity added."""
    if theorem is None or theorem is theorems.LOCAL:
        return theorem
    return theorem.with_step(theorems.FROM_CURVE)
