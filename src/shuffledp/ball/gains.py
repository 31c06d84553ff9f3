"""From an output law to the law of the gain G = (P - e^eps Q)/ref under a reference.

Every analysis asks for one number: delta = (1/n) E[G_1 + ... + G_n]_+ plus what P has, beyond
e^eps Q, outside the support of the reference (Balle, Bell, Gascon, Nissim 2019, Lemma 5.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from shuffledp.arithmetic.balls import arb

from .layers import Layer
from .outputs import OutputClass, rational_ball

__all__ = [
    "ByParts",
    "Far",
    "GainLaw",
    "Run",
    "Sums",
    "blanket_gains",
    "clone_gains",
    "dataset_gains",
    "local_divergence",
    "stronger_clone_gains",
]


class _Error(Protocol):
    """Part of the error of a transform; see `quadrature.PanelError`."""

    def scaled(self, alpha: arb) -> _Error: ...

    def at(self, real: arb, imaginary: arb) -> arb: ...


Sums = tuple[list[Any], list[Any], Sequence[_Error]]


class ByParts(NamedTuple):
    """What integration by parts says of a piece; its bulk has moderate likelihood ratios.

    Attributes
    ----------
    variation, bulk_variation : arb
        V with |E e^((alpha + iu) G)| <= V/|u| on the piece, and on its bulk.
    rest : arb
        Upper bound of E e^(alpha G) on what of the piece is not bulk.
    """

    variation: arb
    bulk_variation: arb
    rest: arb

    def scaled(self, alpha: arb, scale: arb) -> ByParts:
        """The same of alpha G, the measure divided by a scale; infinite where nothing is known."""
        variation = self.variation / (alpha * scale)
        bulk = self.bulk_variation / (alpha * scale)
        return ByParts(
            variation.upper() if variation.is_finite() else arb("inf"),
            bulk.upper() if bulk.is_finite() else arb("inf"),
            (self.rest / scale).upper(),
        )


@dataclass(frozen=True)
class Run:
    """A piece of the continuous part, tilted by alpha.

    Attributes
    ----------
    mass : arb
        Upper bound of E e^(alpha G) on the piece.
    by_parts : callable
        Makes the numbers that are seldom needed.
    layers : sequence of Layer
        Uniform parts of the piece's law of G, with density e^(alpha G).
    """

    mass: arb
    by_parts: Callable[[], ByParts]
    layers: Sequence[Layer] = ()

    def scaled(self, alpha: arb, scale: arb) -> Run:
        """The same of alpha G, the measure divided by a scale."""
        return Run(
            (self.mass / scale).upper(),
            lambda: self.by_parts().scaled(alpha, scale),
            [layer.scaled(alpha, scale) for layer in self.layers],
        )


@dataclass(frozen=True)
class Far:
    """A law's transform far out.

    Attributes
    ----------
    atoms : list of int
        Which atoms are true ones; the others stand for the continuous part.
    reach : float
        Im s up to which the atoms stand for the law.
    runs : function of alpha
        The pieces of the continuous part.
    beyond : function of a band
        (w, g, errors) with |E e^(sG) - sum w e^(s g)| at most the errors' sum, small for s in the
        band; w and g are complex.
    bulk : function of a band
        The same for the true atoms and the bulk alone; w and g are real, w >= 0.
    """

    atoms: list[int]
    reach: float
    runs: Callable[[arb], list[Run]]
    beyond: Callable[[Any], Sums]
    bulk: Callable[[Any], Sums]


@dataclass(frozen=True)
class GainLaw:
    """A law of G by atoms, exact or standing for a continuous law, and what lies outside.

    Attributes
    ----------
    weight, gain : lists of arb of the same length
        Weights sum to one (to less for a part of a law). A gain that is exactly zero is the exact
        ball 0.
    outside : arb
        Sum of (P - e^eps Q)_+ where the reference has no mass; added to delta in full.
    errors : list of PanelError
        |E e^(sG) - sum w e^(s g)| is at most the sum of these at s, Re s >= 0. Empty for a law
        that is its atoms.
    far : Far or None
        For a law with a continuous part, what is known of E e^(sG) far out.
    """

    weight: list[arb]
    gain: list[arb]
    outside: arb
    errors: Sequence[_Error] = field(default_factory=list)
    far: Far | None = None


def blanket_gains(law: Sequence[OutputClass], eps: arb) -> GainLaw:
    """Reference: the blanket inf_x R_x, and G = 0 on the left-over mass (an upper bound).

    `law` was made for the inputs (x0, x1).
    """
    left_over = 1 - _total([c.blanket for c in law], [c.rational for c in law])
    atoms = _gains(law, eps, reference=None)
    if not left_over.is_zero():
        atoms.weight.append(left_over)
        atoms.gain.append(arb(0))
    return atoms


def dataset_gains(law: Sequence[OutputClass], eps: arb) -> GainLaw:
    """Reference: the law under x2, held by all other users (exact for these two datasets).

    `law` was made for the inputs (x0, x1, x2).
    """
    return _gains(law, eps, reference=2)


def clone_gains(eps0: arb, eps: arb) -> GainLaw:
    """Feldman, McMillan, Talwar 2021, Theorem 3.2: every other user is a clone w.p. e^-eps0."""
    scale = 2 * eps0.exp() / (eps0.exp() + 1)
    weight = (-eps0).exp() / 2
    return _binary_gains(eps0, eps, scale, weight)


def stronger_clone_gains(eps0: arb, eps: arb) -> GainLaw:
    """Stronger clone pair: binary randomized response hidden with mass 2/(e^eps0 + 1)."""
    return _binary_gains(eps0, eps, arb(1), 1 / (eps0.exp() + 1))


def local_divergence(law: Sequence[OutputClass], eps: arb) -> arb:
    """Sum over the classes of (P - e^eps Q)_+, without any shuffling."""
    total = arb(0)
    for c in law:
        total += (
            _between(arb(0), c.probability[0]) if c.beyond else _positive_part(_difference(c, eps))
        )
    return total


def _binary_gains(eps0: arb, eps: arb, scale: arb, weight: arb) -> GainLaw:
    up = scale * eps.exp() * (eps0 - eps).expm1()
    down = scale * (eps0 + eps).expm1()
    return GainLaw([weight, weight, 1 - 2 * weight], [up, -down, arb(0)], arb(0))


def _gains(law: Sequence[OutputClass], eps: arb, reference: int | None) -> GainLaw:
    weight, gain, outside = [], [], arb(0)
    for c in law:
        w = c.blanket if reference is None else c.probability[reference]
        if c.beyond:
            # With G = 0 there delta moves by something in between (docs of `continuous`).
            outside += _between(-eps.exp() * c.probability[1], c.probability[0])
            if reference is not None:
                weight.append(w)
                gain.append(arb(0))
        elif w.is_zero():
            outside += _positive_part(_difference(c, eps))
        else:
            weight.append(w)
            gain.append(_difference(c, eps) / w)
    return GainLaw(weight, gain, outside)


def _difference(c: OutputClass, eps: arb) -> arb:
    """P - e^eps Q on a class, exactly zero where it is."""
    p, q = c.probability[:2]
    if c.level is not None:
        # expm1 of an exact exponent: no cancellation, and zero at eps = log(P/Q).
        return q * eps.exp() * (c.level[0] - c.level[1] - eps).expm1()
    if c.rational is not None and eps.is_zero():
        return rational_ball(c.rational[1] - c.rational[2])
    return p - eps.exp() * q


def _positive_part(x: arb) -> arb:
    return arb.max(x, arb(0))


def _between(low: arb, high: arb) -> arb:
    """The ball from the lower end of one to the upper end of the other."""
    return low.lower().union(high.upper())


def _total(balls: Sequence[arb], rationals: Sequence[tuple | None]) -> arb:
    exact = [r[0] for r in rationals if r is not None]
    if exact:
        return rational_ball(sum(exact, start=Fraction(0)))
    return sum(balls, start=arb(0))
