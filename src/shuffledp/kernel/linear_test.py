"""A lower end of the divergence of two data sets, from one test of a sum of scores.

Every report y has a score w(y). The analyst sees the sum of all scores and names the first data set
as the true one with probability Phi((sum - threshold)/h), h > 0. The advantage of a test is at most
the divergence D = H_a, a = e^eps:

    F(t) = E_P Phi((S - t)/h) - a E_Q Phi((S - t)/h) <= D      for every threshold t,

where S is the sum of scores in the data set P or Q. Let M0, M1 be the transforms of a changed
user's score in the two data sets, k the number of changed users, and M the product of the others'
transforms. Then

    F(t) = (1/2 pi) int (M0^k - a M1^k) M e^(h^2 s^2/2 - s t)/s d tau,      s = alpha + i tau,

with alpha > 0. The trapezoidal sum with nodes 2 pi/L apart is sum_j e^(alpha j L) F(t + j L), by
Poisson's formula. Its terms j < 0 add up to at most D/(e^(alpha L) - 1); those with j > 0 are
bounded at another tilt b > alpha by F(t) <= E_P e^(b (S - t)) e^(h^2 b^2/2).
Proof: docs/theory-crowds.md, Lemma 5.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.arithmetic.balls import acb, arb, total
from shuffledp.kernel.blocks import BLOCK, Nodes
from shuffledp.kernel.contour import Contour, Kernel
from shuffledp.kernel.draws import Draws, TiltedSum

__all__ = ["DataSets", "LinearTest", "advantage"]

Law = Sequence[arb]


@dataclass(frozen=True)
class DataSets:
    """Laws of reports, on the same outputs for all users; masses need not add up to one.

    Attributes
    ----------
    first, second : laws of a changed user's report in the two data sets.
    changed : number of users who change, >= 1; all of them have these two laws.
    others : laws of the other users' reports, with the number of users who have each.
    """

    first: Law
    second: Law
    changed: int
    others: Sequence[tuple[Law, int]]


@dataclass(frozen=True)
class LinearTest:
    """The analyst's test: any finite floats are valid.

    Attributes
    ----------
    scores : w of every output.
    threshold : t, in units of the scores.
    """

    scores: Sequence[float]
    threshold: float


class _Step(Kernel):
    """The weight e^(h^2 s^2/2)/s of a smoothed step function, s = alpha + it."""

    def envelope(self, t: arb) -> arb:
        """The weight's modulus, decreasing in t > 0."""
        return (self.h2 * (self.kappa - t * t) / 2).exp() / (self.kappa + t * t).sqrt()


def advantage(sets: DataSets, grow: arb, test: LinearTest, contour: Contour) -> arb:
    """A lower end of D; a negative value is valid too, but proves nothing.

    Parameters
    ----------
    sets : the two data sets.
    grow : a = e^eps.
    test : scores and threshold.
    contour : where to sum; ``below`` is not used.
    """
    kernel, scores = _Step(contour, 0), [arb(w) for w in test.scores]
    # Without other users, a user whose score is 0 takes their place.
    others = [Draws(law, scores, count) for law, count in sets.others if count]
    others = others or [Draws([arb(1)], [arb(0)], 1)]
    sums = [draws.tilted(kernel.alpha) for draws in others]
    pair = [Draws(law, scores, sets.changed) for law in (sets.first, sets.second)]
    changed = [draws.tilted(kernel.alpha) for draws in pair]
    nodes = Nodes(kernel, contour, sums)
    drift = total(x.drift for x in sums) - arb(test.threshold)
    scale = (total(x.log_scale for x in sums) - kernel.alpha * arb(test.threshold)).exp()
    sizes = [changed[0].log_scale.exp(), grow * changed[1].log_scale.exp()]
    common = nodes.values(sums)
    found = _trapezoidal(kernel, nodes, common, drift, changed, sizes)
    found = scale * (found - (sizes[0] + sizes[1]) * nodes.left_out)
    aliases = _aliases(kernel, contour, [pair[0], *others], arb(test.threshold))
    below = (-kernel.alpha * arb(contour.period)).exp()
    return ((found - aliases) * (1 - below)).lower()


def _trapezoidal(
    kernel: Kernel,
    nodes: Nodes,
    others: Sequence[acb],
    drift: arb,
    changed: Sequence[TiltedSum],
    sizes: Sequence[arb],
) -> arb:
    """The sum over nodes, divided by the scale of the others' transforms."""
    found = arb(0)
    places = [first + k for first in nodes.starts for k in range(BLOCK)]
    values = [x.values(nodes.step, nodes.starts, BLOCK) for x in changed]
    for j, common, first, second in zip(places, others, *values, strict=True):
        t = nodes.step * j
        s = acb(kernel.alpha, t)
        weight = (kernel.h2 * s * s / 2 + acb(0, t * drift)).exp() / s
        gained = first * sizes[0] * acb(0, t * changed[0].drift).exp()
        gained -= second * sizes[1] * acb(0, t * changed[1].drift).exp()
        term = (common * gained * weight).real
        found += term if j else term / 2
    return found * nodes.step / arb.pi()


def _aliases(kernel: Kernel, contour: Contour, draws: Sequence[Draws], threshold: arb) -> arb:
    """Upper end of the sum over j > 0 of e^(alpha j L) F(t + j L)."""
    tilt = arb(contour.above)
    log = total(x.log_moment(tilt) for x in draws) - tilt * threshold + kernel.h2 * tilt * tilt / 2
    ratio = (-(tilt - kernel.alpha) * arb(contour.period)).exp()
    return log.exp() * ratio / (1 - ratio)
