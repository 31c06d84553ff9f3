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

import numpy as np

from shuffledp import _check
from shuffledp.errors import NotCertified, rejected
from shuffledp.pair import SMALLEST_HELD, UNIT_ROUNDOFF, Array, ShuffledPair, missed_by
from shuffledp.randomizers import CellEdges, JointLaw, Randomizer
from shuffledp.randomizers.base import DEFAULT_CELLS

U = UNIT_ROUNDOFF
_SNAP = 1e-12
# Reference masses and ratios that floats hold, as of laws (``reductions.from_law``), and the least
# of what is not 0.
_SMALLEST_ATOM, _LARGEST_RATIO, _LEAST = Fraction(SMALLEST_HELD), Fraction(10**131), 5e-324
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


def repaired_pair(ratio: VariationRatio, *, n: int, attained: bool = False) -> ShuffledPair:
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


def four_point_pair(*, p: float, clone: float, rest: float, n: int) -> ShuffledPair:
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


def published_pair(ratio: VariationRatio, *, n: int) -> ShuffledPair:
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
    for x0, x1 in randomizer.worst_pairs().pairs:
        law = randomizer.law((x0, x1), cells=cells)
        found.append((_ratio_of_law(law, float(randomizer.eps0)), (x0, x1)))
    return tuple(found)


def _ratio_of_law(law: JointLaw, eps0: float) -> VariationRatio:
    grow = math.exp(eps0) * (1.0 + 16 * U) if eps0 <= _check.LARGEST_EPS0 else math.inf
    pad = 1.0 + 4.0 * law.rel + 16 * U
    zero, one = law.mass[0], law.mass[1]
    tail = float(law.tails().max())
    if law.edges is None:
        differs = np.maximum(zero - one, 0.0)
        beta = float(differs.sum()) + 2.0 * law.rel + 8 * U
        p = max(_largest(zero, one), _largest(one, zero)) * pad
        q = max(_largest(zero, law.blanket), _largest(one, law.blanket)) * pad
    else:
        edges = law.edges
        b_left, b_right = edges.blanket_left, edges.blanket_right
        gap = np.maximum(edges.left[0] - edges.left[1], edges.right[0] - edges.right[1]) + edges.err
        # (f0 - f1)_+ <= f0 (1 - e^-gap) on the cell, and exactly f0 - f1 where that has one sign.
        least = np.minimum(edges.left[0] - edges.left[1], edges.right[0] - edges.right[1])
        mixed = zero * -np.expm1(-np.clip(gap, 0.0, 700.0))
        differs = np.where(least > edges.err, np.minimum(mixed, zero - one), mixed)
        beta = float(np.maximum(differs, 0.0).sum()) + 2.0 * law.rel + 8 * U + tail
        log_p = _largest_of(
            np.abs(edges.left[0] - edges.left[1]), np.abs(edges.right[0] - edges.right[1]), edges
        )
        logs = [
            _largest_of(edges.left[i] - b_left, edges.right[i] - b_right, edges) for i in (0, 1)
        ]
        # Beyond the cells ratios are not known: only the local guarantee bounds them there.
        bounded = tail == 0.0
        p = _exp(max(log_p, 0.0)) * pad if bounded else math.inf
        q = _exp(max(logs)) * pad if bounded else math.inf
    p, q = min(p, grow), min(q, grow)
    if not math.isfinite(q):
        msg = (
            "variation ratio: q is infinite, for some output of the victim's is impossible (or has "
            "unbounded likelihood ratio) under another input"
        )
        raise NotCertified(msg)
    return VariationRatio(p=max(p, 1.0), beta=min(beta, 1.0), q=max(q, 1.0))


def _largest(top: Array, bottom: Array) -> float:
    """Largest of top/bottom over classes that occur; inf where floats do not hold bottom."""
    used = top > 0.0
    if bool((bottom[used] < SMALLEST_HELD).any()):
        return math.inf
    return float((top[used] / bottom[used]).max(initial=1.0))


def _largest_of(left: Array, right: Array, edges: CellEdges) -> float:
    """The largest log ratio anywhere, from its values at the edges of the cells."""
    return float((np.maximum(left, right) + edges.err).max())


def _exp(x: float) -> float:
    return math.exp(x) if x <= _check.LARGEST_EPS0 else math.inf


def _pair(
    labels: list[tuple[Fraction, Fraction, Fraction]], leftover: Fraction, n: int
) -> ShuffledPair:
    """Labels (reference, P, Q), exact masses, as a ShuffledPair with each entry rounded once."""
    if leftover < 0:
        raise rejected("leftover", float(leftover), "a mass >= 0")
    kept = [label for label in labels if label[0] > 0 and _held(label)]
    # Where floats do not hold the reference's mass or a ratio the output is the victim's for sure.
    far = [label for label in labels if label[0] > 0 and not _held(label)]
    gone = float(sum(label[0] for label in far)) * (1.0 + 4 * U) + (_LEAST if far else 0.0)
    missed = missed_by(gone, n=n)
    rows = [(w, a / w, b / w) for w, a, b in kept]
    columns = np.array([[_or_nothing(x) for x in row] for row in rows]).reshape(-1, 3).T
    # A ratio that floats do not hold is 0, and the victim's mass there is in the tail.
    lost = [
        sum(float(label[k]) for label in kept if 0 < label[k] < _SMALLEST_ATOM * label[0])
        for k in (1, 2)
    ]
    tail = tuple(missed + (x * (1.0 + 16 * U) + _LEAST if x > 0.0 else 0.0) for x in lost)
    outside = np.array([[float(a), float(b)] for _, a, b in far]).reshape(-1, 2)
    return ShuffledPair(
        w=columns[0],
        a=columns[1],
        b=columns[2],
        n=n,
        outside=outside,
        tail=(tail[0], tail[1]),
        tail_doubt=(tail[0], tail[1]),
        rel=4 * U,
        leftover=(float(leftover) + gone, 2 * U * float(leftover) + gone),
    )


def _held(label: tuple[Fraction, Fraction, Fraction]) -> bool:
    """Whether floats hold the reference's mass to its last digit, and no ratio is beyond them."""
    w, a, b = label
    return w >= _SMALLEST_ATOM and max(a, b) <= _LARGEST_RATIO * w


def _or_nothing(x: Fraction) -> float:
    """As a float, with all its digits or 0."""
    return float(x) if x >= _SMALLEST_ATOM else 0.0
