"""What a label-stealing bound has to look at, and the bound for noise on an interval.

docs/theory-stealing.md, section 5, says which pairs of the victim's inputs and which inputs of the
others are enough. The certificate gives free numbers, one set for each pair named here: how large
the reservoir is, and with what probability the victim joins it. Any numbers in range are valid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.errors import NotCertified, ParameterError

from .free import Numbers
from .labels import others_of
from .noise_triples import of_interval
from .outputs import Parameters
from .record import Pair, Step
from .spans import INTERVAL_BITS
from .stealing import log_bound

__all__ = [
    "is_listed",
    "log_delta_span",
    "stealing_numbers",
    "stealing_pairs",
    "stealing_step",
]

# Where nothing is claimed.
_LOG_CUT = -60.0


def stealing_pairs(mechanism: Parameters) -> list[Pair] | None:
    """Ordered pairs of the victim's inputs that dominate all others; None: no theorem says which.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}; "generic" stands for a family, of which there is one pair.
    """
    found = others_of(mechanism)
    return None if found is None else list(found.pairs)


def stealing_step(mechanism: Parameters) -> Step:
    """What says why these are enough, of one mechanism.

    Raises
    ------
    NotCertified
        Where no theorem does.
    """
    found = others_of(mechanism)
    if found is None:
        raise NotCertified(f"label-stealing of {mechanism['name']} is not recomputed")
    return found.step


def is_listed(mechanism: Parameters) -> bool:
    """Whether all ordered pairs of inputs are looked at, and all inputs of the others."""
    found = others_of(mechanism)
    return found is not None and found.how == "listed"


def stealing_numbers(mechanism: Parameters) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the free numbers of one pair: those that have to be given, those that may be."""
    found, contour = others_of(mechanism), ("alpha", "smoothing")
    may = ("ceiling",) if found is not None and found.unbounded else ()
    if found is None or found.how == "span":
        return (*contour, "kappa", "theta"), may
    return (*contour, "step", "share", "join"), may


def log_delta_span(
    mechanism: Parameters,
    numbers: Sequence[Numbers],
    *,
    n: int,
    epsilon: float,
    guess: float | None = None,
    enough: float = -math.inf,
) -> float:
    """A float certainly not below log of the label-stealing bound of noise on an interval at eps.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}.
    numbers : sequence of mappings
        Free numbers of the one pair.
    n : int
        Users, the victim included, 2 <= n <= 10**15.
    epsilon : float
        eps >= 0 in nats.
    guess : float, optional
        About log delta: how much of unbounded noise has to be looked at.
    enough : float
        Where the bound is no more than that, any number up to it may be returned, which is quicker.

    Raises
    ------
    ParameterError
        For numbers out of range.
    NotCertified
        Where it would be too much work.
    """
    if len(numbers) != 1:
        raise ParameterError(f"free: {len(numbers)} sets of numbers, wanted 1")
    if not (math.isfinite(epsilon) and epsilon >= 0.0):
        raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number >= 0")
    with ctx.workprec(INTERVAL_BITS):
        log_delta = _LOG_CUT if guess is None else guess
        made = (of_interval(mechanism, arb(epsilon), free, log_delta) for free in numbers)
        return log_bound(made, numbers, n, enough=enough)
