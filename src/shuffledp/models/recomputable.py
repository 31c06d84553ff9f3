"""A setting's ends by what a certificate's reader recomputes: one user's delta at one eps.

Steps between datasets are equal, and the order's distance from uniform counts as in ``mixing``; the
lower end is that of one user and a uniform order, which is among what is declared.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

from shuffledp import theorems
from shuffledp.amplification import Shuffled
from shuffledp.bound import Bound, delta_from_log, refuse_contradiction
from shuffledp.bounds.shufflers import local_guarantee, log_chain, log_local, log_mixed
from shuffledp.models.crossing import crossing
from shuffledp.propose.steps import steps_of

_LARGEST_EPSILON = 1e4


def recomputable(
    one: Shuffled,
    *,
    changed: int,
    distance: float,
    quantity: Literal["epsilon", "delta"],
    value: float,
) -> Bound:
    """Both ends for several users or an order that is not uniform; theorems are one user's.

    Parameters
    ----------
    one : Shuffled
        One user's messages behind a perfect shuffler.
    changed : int
        So many users change.
    distance : float
        Of all orders that matter from uniform ones, in [0, 1/2).
    quantity : {"epsilon", "delta"}
        What is bounded.
    value : float
        delta, or eps, that is held fixed.
    """
    work = _Curve(one, changed, distance)
    if quantity == "delta":
        return work.delta(value)
    return work.epsilon(value)


class _Curve:
    """log delta over eps."""

    def __init__(self, one: Shuffled, changed: int, distance: float) -> None:
        self.one, self.changed, self.distance = one, changed, distance
        self.guarantee = local_guarantee(one.eps0, changed, 1)

    def _step(self, epsilon: float) -> float:
        return epsilon if self.changed == 1 else steps_of(epsilon, self.changed, 0.0)[0]

    def mixed(self, epsilon: float, log_one: float) -> float:
        """The upper end at this eps from one user's at the step."""
        step = self._step(epsilon)
        logs = [log_one] * self.changed
        uniform = log_one if self.changed == 1 else log_chain(epsilon, [step] * self.changed, logs)
        left = log_local(self.guarantee, epsilon)
        # What is left of the reports alone is no more than is said without it.
        return uniform if uniform >= left else log_mixed(uniform, self.distance, left)

    def at(self, epsilon: float) -> float:
        return self.mixed(epsilon, self.one.log_upper(self._step(epsilon)))

    def delta(self, epsilon: float) -> Bound:
        inner = self.one.recomputable_delta(epsilon=self._step(epsilon))
        lower = inner if self.changed == 1 else self.one.recomputable_delta(epsilon=epsilon)
        log_inner = -math.inf if inner.log_upper is None else inner.log_upper
        log_upper = self.mixed(epsilon, log_inner)
        log_lower = -math.inf if lower.log_lower is None else lower.log_lower
        low, high = delta_from_log(log_lower, log_upper)
        refuse_contradiction(low, high)
        return replace(
            _joined(lower, inner),
            lower=min(low, high),
            upper=high,
            log_lower=min(log_lower, log_upper),
            log_upper=log_upper,
            at={"epsilon": epsilon, "n": self.one.n},
        )

    def epsilon(self, delta: float) -> Bound:
        lower = self.one.recomputable_epsilon(delta=delta)
        log_target = math.log(delta)
        log_target -= 2.0 * math.ulp(log_target)
        found = crossing(
            self.at,
            log_target,
            start=max(lower.upper, 1e-9) * self.changed,
            cap=min(self.guarantee, _LARGEST_EPSILON),
            rtol=self.one.rtol,
        )
        if found is None:
            return replace(
                lower,
                upper=self.guarantee,
                upper_theorem=theorems.LOCAL if math.isfinite(self.guarantee) else None,
                upper_width=None,
                witness={**lower.witness, "upper": {"analysis": "local"}},
                assumptions=lower.assumptions[:2],
            )
        upper, width = found
        inner = self.one.recomputable_delta(epsilon=self._step(upper))
        refuse_contradiction(lower.lower, upper)
        return replace(
            _joined(lower, inner),
            lower=min(lower.lower, upper),
            upper=upper,
            upper_width=width if math.isfinite(width) else None,
        )


def _joined(lower: Bound, inner: Bound) -> Bound:
    """The lower end of one bound with what certifies the upper end of another."""
    return replace(
        lower,
        upper=max(lower.upper, lower.lower),
        upper_theorem=inner.upper_theorem,
        upper_width=inner.upper_width,
        assumptions=inner.assumptions,
        witness={**lower.witness, "upper": inner.witness.get("upper", {})},
    )
