"""Central mechanisms as rounds: Gaussian noise, a known (eps, delta), or a given PLD."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from shuffledp import _check, theorems
from shuffledp._check import exact
from shuffledp.arithmetic.balls import arb, float_above
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.errors import ParameterError, rejected
from shuffledp.neighbours import PLAIN_KEYS, REPLACEMENT, Relation, relation_named
from shuffledp.propose.profile import LARGEST_EPSILON
from shuffledp.rounds.gaussian import GaussianCurve
from shuffledp.rounds.loss import LossLaw, LossPair
from shuffledp.rounds.round import Candidate, Round
from shuffledp.values.described import by_name

U = UNIT_ROUNDOFF
RelationLike = Relation | str
# Largest and least mu: the square of the least is a float far above the smallest ones.
_LARGEST_MU, _LEAST_MU = 100.0, 1e-100
_GAUSSIAN = (
    "Gaussian noise of standard deviation {} on a sum with sensitivity {} (L2) between {} "
    "neighbours; real numbers, not floats"
)
_PLD = (
    "the given privacy loss distribution dominates its mechanism for {} neighbours; it is float "
    "arithmetic, taken as it is"
)


@by_name
def gaussian(
    *, sigma: float, sensitivity: float = 1.0, relation: RelationLike = REPLACEMENT
) -> Round:
    """Gaussian noise added to a sum, as one round.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, in the units of the sum.
    sensitivity : float
        The largest change of the sum (L2 norm) between neighbours. The ratio sensitivity/sigma is
        from 1e-100 to 100.
    relation : str or Relation
        The neighbouring relation of the sensitivity.
    """
    said = relation_named(relation)
    sigma = _check.positive("sigma", sigma, high=1e100)
    sensitivity = _check.positive("sensitivity", sensitivity, high=1e100)
    mu = _check.real("sensitivity/sigma", sensitivity / sigma, low=_LEAST_MU, high=_LARGEST_MU)
    curve = GaussianCurve(sensitivity, sigma)
    return Round(
        label="gaussian (central)",
        groups=((curve,),),
        candidates=(Candidate(curve, curve, {"analysis": "gaussian", "mu": mu}),),
        eps0=math.inf,
        key=("gaussian", sigma, sensitivity, said),
        relation=said,
        assumptions=(_GAUSSIAN.format(exact(sigma), exact(sensitivity), _short(said)),),
        upper_theorem=theorems.CENTRAL_GAUSSIAN,
        lower_theorem=theorems.CENTRAL_GAUSSIAN,
        **gaussian_renyi(mu * (1.0 + 8 * U)),
    )


def gaussian_renyi(mu: float) -> dict[str, Any]:
    """The keywords of a ``Round`` on Renyi divergences of N(0, 1) and N(mu, 1).

    Parameters
    ----------
    mu : float
        Sensitivity over standard deviation, rounded up.
    """
    renyi = partial(_renyi, mu)
    return {"tail": partial(_tail, mu), "local_renyi": renyi, "local_rho": renyi(1.0)}


def _renyi(mu: float, order: float) -> float:
    """A mu^2/2, the divergence of order A in nats, rounded up."""
    return 0.5 * order * mu * mu * (1.0 + 8 * U)


def _tail(mu: float, order: float, epsilon: float) -> float:
    """log of a bound of A (A-1) int_eps^inf e^{(A-1)x} h(e^x) dx for h of the Gaussian mechanism.

    h(e^x) <= P(L > x), with L normal of mean mu^2/2 and variance mu^2. By parts, the integral is at
    most A E[e^{(A-1)L}; L > eps] = A e^{A(A-1)mu^2/2} Phi(-(eps - mu^2/2 - (A-1)mu^2)/mu).
    """
    a, m = arb(order), arb(mu)
    z = (arb(epsilon) - m * m / 2) / m - (a - 1) * m
    beyond = (z / arb(2).sqrt()).erfc() / 2
    return float_above((a * beyond).log() + a * (a - 1) * m * m / 2)


def _short(relation: Relation) -> str:
    """The name of a relation without numbers, or its words in quotation marks."""
    return relation.key if relation.key in PLAIN_KEYS else f'"{relation.words}"'


@by_name
def approximate(
    *, epsilon: float, delta: float = 0.0, relation: RelationLike = REPLACEMENT
) -> Round:
    """Any (eps, delta)-DP mechanism, as one round.

    Its dominating pair has an infinite loss with probability delta, and otherwise a loss of +-eps
    as in randomized response.

    Parameters
    ----------
    epsilon : float
        eps in nats, 0 <= eps <= 300.
    delta : float
        delta, 0 <= delta < 1.
    relation : str or Relation
        The neighbouring relation of the guarantee.
    """
    said = relation_named(relation)
    epsilon = _check.real("epsilon", epsilon, low=0.0, high=LARGEST_EPSILON)
    delta = _check.real("delta", delta, low=0.0, high=1.0)
    if not delta < 1.0:
        raise rejected("delta", delta, "a finite number >= 0 and < 1")
    rest, e = 1 - arb(delta), arb(epsilon).exp()
    if epsilon == 0.0:
        law = LossLaw(np.zeros(1), np.array([float_above(rest)]), delta)
    else:
        mass = [float_above(rest / (1 + e)), float_above(rest * e / (1 + e))]
        law = LossLaw(np.array([-epsilon, epsilon]), np.array(mass), delta)
    return Round(
        label=f"({epsilon:g}, {delta:g})-DP",
        pair=LossPair(law, law),
        key=("approximate", epsilon, delta, said),
        relation=said,
        eps0=epsilon if delta == 0.0 else math.inf,
        assumptions=(
            f"a mechanism is ({exact(epsilon)}, {exact(delta)})-DP for {_short(said)} neighbours",
        ),
        upper_theorem=theorems.CENTRAL_APPROXIMATE,
    )


@by_name
def from_pld(pld: Any, *, relation: RelationLike) -> Round:
    """A dp_accounting PrivacyLossDistribution as one round, without any check of its numbers.

    Parameters
    ----------
    pld : dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
        A pessimistic PLD, which its constructors make by default.
    relation : str or Relation
        The neighbouring relation it was made for: "replace-one", "add-or-remove-one",
        "replace-special", or that of the rounds behind it. The object does not record it.

    Raises
    ------
    ParameterError
        If the object is not a pessimistic PLD.
    """
    said = relation_named(relation)
    laws = [_law_of_pmf(getattr(pld, name, None)) for name in ("_pmf_remove", "_pmf_add")]
    return Round(
        label="privacy loss distribution",
        pair=LossPair(*laws),
        key=("pld", *(_numbers(law) for law in laws), said),
        relation=said,
        assumptions=(_PLD.format(_short(said)),),
        upper_theorem=theorems.CENTRAL_PLD,
    )


def _law_of_pmf(pmf: Any) -> LossLaw:
    wanted = "a pessimistic PrivacyLossDistribution of dp_accounting"
    try:
        dense = pmf.to_dense_pmf()
        pessimistic = dense._pessimistic_estimate  # noqa: SLF001 (there is no public way to read it)
        grid, first = dense._discretization, dense._lower_loss  # noqa: SLF001
        mass, infinite = np.asarray(dense._probs), float(dense._infinity_mass)  # noqa: SLF001
    except AttributeError:
        raise rejected("pld", pmf, wanted) from None
    if not pessimistic:
        raise rejected("pld", "optimistic", wanted)
    if not (np.all(np.isfinite(mass)) and 0.0 <= infinite <= 1.0):
        raise ParameterError("pld: wanted finite probabilities; got NaN or infinite ones")
    keep = mass > 0.0
    loss = (first + np.arange(mass.size)) * grid
    # Multiples of the grid are rounded floats: a larger loss is on the safe side.
    return LossLaw(np.nextafter(loss[keep], np.inf), mass[keep], infinite)


def _numbers(law: LossLaw) -> tuple[bytes, bytes, float]:
    """All numbers of a law: a key that is equal for equal laws only."""
    return law.loss.tobytes(), law.mass.tobytes(), law.infinite


__all__ = ["approximate", "from_pld", "gaussian", "gaussian_renyi"]
