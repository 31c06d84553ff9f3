"""Variation ratio: pairs made from three numbers of a randomizer, p, beta and q.

    R_x0 <= p R_x1 and conversely,      TV(R_x0, R_x1) <= beta,      max(R_x0, R_x1) <= q R_x

for the victim's inputs x0, x1 and every other user's x. Two pairs are made from them: the
published one (Wang et al. 2024), which bounds a mechanism only where ``published_reason`` finds
nothing to say, and the repaired one (docs/theory.md, section 5.3), which always does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from shuffledp import _check
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.ball.outputs import Law, OutputClass, rational_ball
from shuffledp.bounds.mechanisms import blanket_pair, has_classes, largest_ratio
from shuffledp.bounds.pairs import LawPair
from shuffledp.errors import NotCertified, rejected
from shuffledp.randomizers import CellEdges, JointLaw, Randomizer
from shuffledp.randomizers.base import DEFAULT_CELLS

U = UNIT_ROUNDOFF
# A beta this near, relatively, to (p-1)/(p+1) is raised to it: floats of equal numbers differ.
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
    The cap never excludes a randomizer: TV <= q - 1 and TV <= (p-1)/(p+1) always (docs/theory.md,
    Lemma 5.3). For upper bounds a beta within 1e-12 of (p-1)/(p+1) is raised to it.
    """

    p: float
    beta: float
    q: float

    def __post_init__(self) -> None:
        p = math.inf if self.p == math.inf else _check.real("p", self.p, low=1.0)
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "beta", _check.real("beta", self.beta, low=0.0, high=1.0))
        object.__setattr__(self, "q", _check.real("q", self.q, low=1.0))

    @property
    def total_variation(self) -> Fraction:
        """The capped beta, exactly; raised where it is next to the cap."""
        beta, top = Fraction(self.beta), self._largest
        if beta >= top * (1 - Fraction(_SNAP)):
            beta = top
        return min(beta, Fraction(self.q) - 1)

    @property
    def attained_variation(self) -> Fraction:
        """The capped beta, never raised: there are randomizers with this distance."""
        return min(Fraction(self.beta), self._largest, Fraction(self.q) - 1)

    @property
    def eps0(self) -> float:
        """log p, rounded up: what the victim's report alone gives away."""
        return math.inf if self.p == math.inf else math.log(self.p) * (1.0 + 8 * U) + 1e-300

    @property
    def _largest(self) -> Fraction:
        """(p-1)/(p+1)."""
        if self.p == math.inf:
            return Fraction(1)
        return (Fraction(self.p) - 1) / (Fraction(self.p) + 1)

    def weights(self, beta: Fraction | None = None) -> tuple[Fraction, Fraction, Fraction]:
        """(p al, al, k0): the victim's label probabilities; of ``total_variation`` if not given."""
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

    Labels (p al, al, k0) and (al, p al, k0) against r = p al/q, r, k0/q and a left-over of mass
    1 - (1 + beta)/q. With ``attained`` beta is not raised, for a lower end: there are randomizers
    of which this is the pair (docs/theory.md, Remark 5.9).
    """
    n = _check.count("n", n)
    ratio = _alone(ratio) if n == 1 else ratio
    beta = ratio.attained_variation if attained else ratio.total_variation
    large, small, rest = ratio.weights(beta)
    q = Fraction(ratio.q)
    labels = [(large / q, large, small), (large / q, small, large), (rest / q, rest, rest)]
    return _pair(labels, 1 - (1 + beta) / q, n)


def four_point_pair(*, p: float, clone: float, rest: float, n: int) -> LawPair:
    """The stronger clone with four classes (docs/theory.md, Corollary 5.13).

    For laws of the victim and of every other user such that, with laws Q0, Q1, Q*,

        R_x0 = p c Q0 + c Q1 + k0 Q*,   R_x1 = c Q0 + p c Q1 + k0 Q*,   R_xi >= c Q0 + c Q1 + s Q*

    where c = ``clone``, s = ``rest``, k0 = 1 - (p + 1) c: the victim's own left-over is a class of
    its own, which the first version of the theorem gave to the others' left-over. For k-RR,
    p = e^eps0, c = 1/(p + k - 1) and s = (k - 2) c, and this is the blanket's pair; s = k0/q gives
    the repaired variation ratio. That the laws are like this is for the caller to know.

    Parameters
    ----------
    p : float
        Largest ratio of the victim's two laws, >= 1 and finite.
    clone : float
        Mass of a clone of either, 0 < c <= 1/(p + 1).
    rest : float
        Mass of the third class, positive unless k0 = 0; 2 c + s <= 1.
    n : int
        Users.
    """
    ratio = Fraction(_check.real("p", p, low=1.0))
    mass = Fraction(_check.positive("clone", clone, high=1.0))
    third = Fraction(_check.real("rest", rest, low=0.0, high=1.0))
    own = 1 - (ratio + 1) * mass
    if own < 0:
        raise rejected("clone", clone, "at most 1/(p + 1)")
    if own > 0 and third == 0:
        raise rejected("rest", rest, "a positive mass, for the victim has a left-over")
    if 2 * mass + third > 1:
        raise rejected("rest", rest, "at most 1 - 2 clone")
    labels = [(mass, ratio * mass, mass), (mass, mass, ratio * mass), (third, own, own)]
    return _pair(labels, 1 - 2 * mass - third, _check.count("n", n))


def published_pair(ratio: VariationRatio, *, n: int) -> LawPair:
    """The pair of Wang et al. 2024, Theorem 4.1, with the victim's and the others' rest merged.

    (p al, al, k0) and (al, p al, k0) against (r, r, 1 - 2r). It bounds a mechanism only where
    ``published_reason`` returns None.

    Raises
    ------
    NotCertified
        If 2r > 1, where there is no such pair.
    """
    n = _check.count("n", n)
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
    """Without other users q says nothing, so it must not cap beta either."""
    return VariationRatio(ratio.p, ratio.beta, max(ratio.q, math.nextafter(1.0 + ratio.beta, 3.0)))


def published_reason(ratio: VariationRatio) -> str | None:
    """Why the published pair bounds nothing for these numbers; None where it does.

    It is a bound if k0 = 0, that is beta = (p-1)/(p+1), when it is the repaired pair (any
    q >= 1 + beta). For one law of the others it is exact (docs/theory.md, section 5.6), but p, beta
    and q do not tell that law.
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


def ratio_of(
    randomizer: Randomizer, *, cells: int = DEFAULT_CELLS
) -> tuple[tuple[VariationRatio, tuple[object, object]], ...]:
    """p, beta, q of each of the randomizer's worst pairs, with that pair.

    q is taken against the blanket, so the repaired bound of these pairs is at least the blanket
    bound of every pair of inputs (docs/theory.md, Theorem 5.7).

    Raises
    ------
    NotCertified
        If q is infinite: outputs that some other input never gives.
    """
    found = []
    for pair in randomizer.worst_pairs().pairs:
        if has_classes(randomizer, pair, 1):
            p, beta, q = largest_ratio(blanket_pair(randomizer, *pair, n=1))
        else:
            p, beta, q = _of_cells(randomizer.law(pair, cells=cells))
        grow = math.exp(randomizer.eps0) * (1.0 + 16 * U) if randomizer.eps0 < 700.0 else math.inf
        p, q = min(p, grow), min(q, grow)
        if not math.isfinite(q):
            msg = (
                "variation ratio: q is infinite, for some output of the victim's is impossible (or "
                "has unbounded likelihood ratio) under another input"
            )
            raise NotCertified(msg)
        found.append((VariationRatio(max(p, 1.0), min(beta, 1.0), max(q, 1.0)), pair))
    return tuple(found)


def _of_cells(law: JointLaw) -> tuple[float, float, float]:
    """p, beta and q of a continuous output, from its cells."""
    if law.edges is None:
        raise NotCertified("variation ratio: wanted classes or cells of outputs")
    edges, pad = law.edges, 1.0 + 4.0 * law.rel + 16 * U
    zero, one, tail = law.mass[0], law.mass[1], float(law.tails().max())
    gap = np.maximum(edges.left[0] - edges.left[1], edges.right[0] - edges.right[1]) + edges.err
    # (f0 - f1)_+ <= f0 (1 - e^-gap) on the cell, and exactly f0 - f1 where that has one sign.
    least = np.minimum(edges.left[0] - edges.left[1], edges.right[0] - edges.right[1])
    mixed = zero * -np.expm1(-np.clip(gap, 0.0, 700.0))
    differs = np.where(least > edges.err, np.minimum(mixed, zero - one), mixed)
    beta = float(np.maximum(differs, 0.0).sum()) + 2.0 * law.rel + 8 * U + tail
    if tail:
        # Beyond the cells ratios are not known: only the local guarantee bounds them there.
        return math.inf, beta, math.inf
    log_p = _largest_of(
        np.abs(edges.left[0] - edges.left[1]), np.abs(edges.right[0] - edges.right[1]), edges
    )
    log_q = max(
        _largest_of(edges.left[i] - edges.blanket_left, edges.right[i] - edges.blanket_right, edges)
        for i in (0, 1)
    )
    return _exp(max(log_p, 0.0)) * pad, beta, _exp(log_q) * pad


def _largest_of(left: Array, right: Array, edges: CellEdges) -> float:
    """The largest log ratio anywhere, from its values at the edges of the cells."""
    return float((np.maximum(left, right) + edges.err).max())


def _exp(x: float) -> float:
    return math.exp(x) if x <= _check.LARGEST_EPS0 else math.inf


def _pair(labels: list[tuple[Fraction, Fraction, Fraction]], leftover: Fraction, n: int) -> LawPair:
    """Labels (reference, P, Q), exact masses; what the reference lacks to 1 is left over."""
    if leftover < 0:
        raise rejected("leftover", float(leftover), "a mass >= 0")
    kept = tuple(label for label in labels if label[0] > 0)
    return LawPair(("labels", kept), n, partial(_classes, kept))


def _classes(labels: tuple[tuple[Fraction, Fraction, Fraction], ...], log_cut: float) -> Law:
    del log_cut
    return [
        OutputClass(rational_ball(w), (rational_ball(p), rational_ball(q)), rational=(w, p, q))
        for w, p, q in labels
    ]
