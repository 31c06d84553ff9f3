"""All eps0-LDP mechanisms together, by laws that dominate every member's (Theorem 5.3)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shuffledp.randomizers import JointLaw
from shuffledp.stealing.bound import Gains
from shuffledp.stealing.choices import LARGER, MOST, Constant, Variations, least_share
from shuffledp.stealing.measures import Split, difference, labelled, reservoir
from shuffledp.stealing.sketch import Sketch, sketch_of


@dataclass(frozen=True, eq=False)
class FamilyCase:
    """A family of mechanisms, by laws that dominate all of its members (Theorem 5.3).

    Attributes
    ----------
    common : JointLaw
        Rows x0, x1 and a reservoir whose gains dominate every member's.
    others : tuple of JointLaw
        Rows x0, x1 and x for each extreme law of the ratios, with the reservoir as blanket.
    """

    common: JointLaw
    others: tuple[JointLaw, ...]

    @property
    def spread(self) -> float:
        """The largest sqrt int (R_x0 - R_x1)^2/R_x."""
        rows = (law.mass for law in self.others)
        return math.sqrt(max(float(((p0 - p1) ** 2 / p).sum()) for p0, p1, p in rows))

    def gains(self, epsilon: float, choice: Constant) -> Gains:
        """beta = kappa times the reservoir, s = theta everywhere."""
        g = difference(self.common, epsilon)
        split = _constant(self.common, choice)
        return Gains(
            reservoir(self.common, g, split),
            [
                labelled(law, 2, difference(law, epsilon), _constant(law, choice))
                for law in self.others
            ],
            (1.0 - choice.theta) * math.fsum(g.positive) * (1.0 + 2.0**-50),
        )

    def sketch(self, epsilon: float, choice: Constant) -> Sketch:
        """The same side by side."""
        return sketch_of(self.gains(epsilon, choice))

    def certified_gains(self, epsilon: float, choice: Constant) -> Gains:
        """All types are in ``gains``."""
        return self.gains(epsilon, choice)

    def least_share(self, log_target: float, n: int) -> float:
        """Of the reservoir that dominates every member's."""
        return least_share(float(self.common.blanket.sum()), log_target, n)

    def along(self, scale: float) -> FamilyCase:
        """The case itself."""
        del scale
        return self

    def first(self, epsilon: float, log_target: float, n: int) -> Constant | None:
        """A reservoir of middling size, with the theta that makes both parts' gains alike."""
        return next(iter(self._sizes(epsilon, log_target, n)), None)

    def varied(self, choice: Constant, epsilon: float, log_target: float, n: int) -> Variations:
        """Other sizes."""
        del choice
        return (lambda _: self._sizes(epsilon, log_target, n),)

    def _sizes(self, epsilon: float, log_target: float, n: int) -> Iterator[Constant]:
        least = least_share(float(self.common.blanket.sum()), log_target, n)
        for kappa in (factor * least for factor in LARGER):
            if kappa <= MOST:
                yield Constant(kappa, balanced(self.gains(epsilon, Constant(kappa, 0.5))))


def balanced(halves: Gains) -> float:
    """theta with theta V_beta = (1 - theta) V_t, V = int g^2 over the part, from theta = 1/2."""
    joined = halves.reservoir.second_moment
    stolen = max(law.second_moment for law in halves.types)
    return stolen / (joined + stolen) if joined + stolen > 0.0 else 0.5


def _constant(law: JointLaw, choice: Constant) -> Split:
    return Split(choice.kappa * law.blanket, np.full(law.blanket.size, choice.theta))


def any_local(eps0: float) -> FamilyCase:
    """Every eps0-LDP mechanism, run by all users alike.

    In units of the other's law R_x the victim's two laws lie in a hexagon; the laws of mean (1, 1)
    on its six vertices mix five extreme ones. The reservoir is (R_x0 + R_x1)/(2 e^eps0).

    Parameters
    ----------
    eps0 : float
        Local privacy in nats.
    """
    grow = math.exp(eps0)
    more, less = grow, 1.0 / grow
    extremes = (
        ((1 / (grow + 1), 1.0, more), (grow / (grow + 1), 1.0, less)),
        ((1 / (grow + 1), more, 1.0), (grow / (grow + 1), less, 1.0)),
        (
            (1 / (grow + 2), more, 1.0),
            (1 / (grow + 2), 1.0, more),
            (grow / (grow + 2), less, less),
        ),
        (
            (1 / (2 * grow + 1), more, more),
            (grow / (2 * grow + 1), 1.0, less),
            (grow / (2 * grow + 1), less, 1.0),
        ),
        ((1 / (grow + 1), more, more), (grow / (grow + 1), less, less)),
    )
    own = grow / (grow + 1)
    both = np.array([[own, 1 / (grow + 1)], [1 / (grow + 1), own]])
    common = JointLaw(both, np.full(2, 0.5 * less))
    return FamilyCase(common, tuple(_extreme(rows, less) for rows in extremes))


def _extreme(rows: tuple[tuple[float, float, float], ...], less: float) -> JointLaw:
    """Rows x0, x1 and x of a law of (mass, R_x0/R_x, R_x1/R_x)."""
    mass, first, second = np.array(rows).T
    p0, p1 = mass * first, mass * second
    return JointLaw(np.array([p0, p1, mass]), 0.5 * less * (p0 + p1))
