"""Variation ratio: pairs of laws made from three numbers of a randomizer, p, beta and q.

    R_x0 <= p R_x1 and conversely,      TV(R_x0, R_x1) <= beta,      max(R_x0, R_x1) <= q R_x

for the victim's inputs x0, x1 and every other user's x. Two pairs are made from them: the published
one (Wang et al. 2024), which is a bound only where ``published_reason`` returns None, and the
repaired one (docs/theory.md, section 5.3), which always is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from shuffledp._check import count, real
from shuffledp.arithmetic.balls import arb, ctx, precision_for
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.outputs import Law, OutputClass, largest, rational_ball
from shuffledp.bounds.pairs import LawPair, Laws
from shuffledp.errors import NotCertified, rejected

U = UNIT_ROUNDOFF
# A beta this near, relatively, to (p-1)/(p+1) is raised to it, as floats of equal numbers may
# differ.
_SNAP = 1e-12
COUNTEREXAMPLE = (
    "3-RR with e^eps0 = 19, e^eps = 15, n = 2 has delta = 76/441 and the published pair gives "
    "66/441 (docs/theory.md, section 5.6)"
)


@dataclass(frozen=True)
class VariationRatio:
    """Upper bounds p, beta, q of a randomizer, beta capped at min(beta, q - 1, (p-1)/(p+1)).

    Parameters
    ----------
    p : float
        Largest ratio of the victim's two laws, in [1, inf].
    beta : float
        Total variation distance of the victim's two laws, in [0, 1].
    q : float
        Largest ratio of either of them to any other law, finite, >= 1.

    Notes
    -----
    The cap never excludes a randomizer, as TV <= q - 1 and TV <= (p-1)/(p+1) always
    (docs/theory.md, Lemma 5.3). For upper bounds, a beta within 1e-12 of (p-1)/(p+1) is raised to
    it.
    """

    p: float
    beta: float
    q: float

    def __post_init__(self) -> None:
        p = math.inf if self.p == math.inf else real("p", self.p, low=1.0)
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "beta", real("beta", self.beta, low=0.0, high=1.0))
        object.__setattr__(self, "q", real("q", self.q, low=1.0))

    @property
    def total_variation(self) -> Fraction:
        """The capped beta, exactly; raised to the cap where it is next to it."""
        beta, top = Fraction(self.beta), self._largest
        if beta >= top * (1 - Fraction(_SNAP)):
            beta = top
        return min(beta, Fraction(self.q) - 1)

    @property
    def attained_variation(self) -> Fraction:
        """The capped beta, never raised: some randomizer has this distance."""
        return min(Fraction(self.beta), self._largest, Fraction(self.q) - 1)

    @property
    def eps0(self) -> float:
        """log p, rounded up: the local guarantee of the victim's report, in nats."""
        return math.inf if self.p == math.inf else math.log(self.p) * (1.0 + 8 * U) + 1e-300

    @property
    def _largest(self) -> Fraction:
        """(p-1)/(p+1)."""
        if self.p == math.inf:
            return Fraction(1)
        return (Fraction(self.p) - 1) / (Fraction(self.p) + 1)

    def weights(self, beta: Fraction | None = None) -> tuple[Fraction, Fraction, Fraction]:
        """(p al, al, k0): the victim's label probabilities for beta, or for ``total_variation``."""
        beta = self.total_variation if beta is None else beta
        if self.p == math.inf:
            return beta, Fraction(0), 1 - beta
        if beta == 0:
            return Fraction(0), Fraction(0), Fraction(1)
        p = Fraction(self.p)
        al = beta / (p - 1)
        return p * al, al, 1 - (p + 1) * al


def repaired_pair(ratio: VariationRatio, *, n: int, attained: bool = False) -> LawPair:
    """Repaired variation ratio (docs/theory.md, Theorem 5.4), adaptive randomizers included.

    Labels (p al, al, k0) and (al, p al, k0), with the reference r = p al/q, r, k0/q and a left-over
    of mass 1 - (1 + beta)/q. With ``attained``, beta is not raised, for a lower end: this is the
    pair of some randomizer (docs/theory.md, Remark 5.9).
    """
    n = count("n", n)
    ratio = _alone(ratio) if n == 1 else ratio
    beta = ratio.attained_variation if attained else ratio.total_variation
    large, small, rest = ratio.weights(beta)
    q = Fraction(ratio.q)
    labels = [(large / q, large, small), (large / q, small, large), (rest / q, rest, rest)]
    return _pair(labels, 1 - (1 + beta) / q, n)


def published_pair(ratio: VariationRatio, *, n: int) -> LawPair:
    """The pair of Wang et al. 2024, Theorem 4.1, with the victim's and the others' rest merged.

    (p al, al, k0) and (al, p al, k0) with the reference (r, r, 1 - 2r). It is a bound only where
    ``published_reason`` returns None.

    Raises
    ------
    NotCertified
        If 2r > 1, where no such pair exists.
    """
    n = count("n", n)
    ratio = _alone(ratio) if n == 1 else ratio
    large, small, rest = ratio.weights()
    r = large / Fraction(ratio.q)
    if 2 * r > 1 or (2 * r == 1 and rest > 0):
        msg = f"p = {ratio.p:g}, beta = {ratio.beta:g}, q = {ratio.q:g}: r = al p/q is above 1/2"
        raise NotCertified(msg)
    labels = [(r, large, small), (r, small, large)]
    if rest > 0:
        return _pair([*labels, (1 - 2 * r, rest, rest)], Fraction(0), n)
    return _pair(labels, 1 - 2 * r, n)


def _alone(ratio: VariationRatio) -> VariationRatio:
    """The ratio for a victim without other users: q then does not matter and must not cap beta."""
    return VariationRatio(ratio.p, ratio.beta, max(ratio.q, math.nextafter(1.0 + ratio.beta, 3.0)))


def published_reason(ratio: VariationRatio) -> str | None:
    """Why the published pair is not a bound for these numbers; None where it is.

    It is a bound if k0 = 0, that is beta = (p-1)/(p+1): it is then the repaired pair, for any
    q >= 1 + beta. For one particular law of the others it is exact (docs/theory.md, section 5.6),
    but p, beta and q do not determine that law.
    """
    if ratio.weights()[2] == 0:
        return None
    top = ratio.p if ratio.p == math.inf else (ratio.p - 1.0) / (ratio.p + 1.0)
    return (
        f"p = {ratio.p:g}, beta = {float(ratio.total_variation):g}, q = {ratio.q:g}: the published "
        "variation-ratio bound holds only if beta = (p-1)/(p+1) "
        f"(here {1.0 if top == math.inf else top:g}); otherwise it can be too small: "
        f"{COUNTEREXAMPLE}"
    )


def largest_ratio(pair: LawPair) -> tuple[float, float, float]:
    """p, beta and q of a pair, rounded up: see ``variation_ratio.VariationRatio``.

    R_x0 <= p R_x1 and conversely, TV(R_x0, R_x1) <= beta, and max(R_x0, R_x1) <= q reference.
    Infinite ratios are `inf`.
    """
    with ctx.workprec(precision_for(1)):
        law = [c for c in pair.classes() if any(not x.is_zero() for x in c.probability[:2])]
        first = [c.probability[0] for c in law]
        second = [c.probability[1] for c in law]
        under = [c.blanket if pair.against == "blanket" else c.probability[2] for c in law]
        if any(c.beyond for c in law):
            return math.inf, 1.0, math.inf
        apart = [(x - y).nonnegative_part() for x, y in zip(first, second, strict=True)]
        p = max(_ratio(first, second), _ratio(second, first))
        q = _ratio([largest([x, y]) for x, y in zip(first, second, strict=True)], under)
        beta = sum(apart, arb(0))
        return p, min(_above(beta), 1.0), q


def _ratio(top: Sequence[arb], bottom: Sequence[arb]) -> float:
    """The largest ratio, rounded up; at least 1."""
    found = 1.0
    for x, y in zip(top, bottom, strict=True):
        if not x.is_zero():
            found = max(found, _above(x / y) if y > 0 else math.inf)
    return found


def _above(x: arb) -> float:
    """The ball's upper end as a float, rounded up unless it is one."""
    found = float(x.upper())
    return found if arb(found) >= x else math.nextafter(found, math.inf)


def _pair(labels: list[tuple[Fraction, Fraction, Fraction]], leftover: Fraction, n: int) -> LawPair:
    """A pair from labels (reference, P, Q) with exact masses.

    The reference has ``leftover`` besides.
    """
    if leftover < 0:
        raise rejected("leftover", float(leftover), "a mass >= 0")
    kept = tuple(label for label in labels if label[0] > 0)
    return LawPair(("labels", kept), n, Laws(partial(_classes, kept)))


def _classes(labels: tuple[tuple[Fraction, Fraction, Fraction], ...], log_cut: float) -> Law:
    del log_cut
    return [
        OutputClass(rational_ball(w), (rational_ball(p), rational_ball(q))) for w, p, q in labels
    ]
