"""The same front door without a certificate: an Estimate comes out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from shuffledp.analysis.analysis import Analysis, Curve
from shuffledp.analysis.source import Source
from shuffledp.baselines import halved_epsilon
from shuffledp.closed_forms import log_delta_of
from shuffledp.errors import NotCertified
from shuffledp.index import Estimate

MEMORY = "not certified: the formula's constants are from memory of the paper"
FLOATS = "not certified: plain floating point, nothing is rounded outward"
# The same in words for where an analysis holds.
FROM_MEMORY = "; constants from memory of the paper: for comparison only"
IN_FLOATS = "; plain floating point, nothing rounded outward"
# Sums over all numbers of clones: a minute at so many users.
_LARGEST_SUM = 20_000_000
# Below that exp underflows.
_LEAST_LOG = -745.0


def estimate(
    source: Source,
    analysis: Analysis,
    quantity: Literal["epsilon", "delta"],
    value: float,
    *,
    n: int,
    cells: int,
    cap: float,
) -> Estimate:
    """eps at delta = ``value``, or delta at eps = ``value``, by an analysis that certifies nothing.

    Parameters
    ----------
    source : Randomizer or family
        What each user runs.
    analysis : Analysis
        One with an approximation: an estimate, or one that is forced where it is no bound.
    quantity : {"epsilon", "delta"}
        What is wanted.
    value : float
        The other of the two.
    n : int
        Users.
    cells : int
        For continuous outputs: about how many cells.
    cap : float
        eps by the local guarantee; no estimate of eps is above it.

    Raises
    ------
    NotCertified
        If the analysis has no uncertified form, or none for this source.
    """
    if analysis.approximation is None:
        raise NotCertified(f"analysis = {analysis.key!r}: has no uncertified form")
    curve = analysis.approximation(source, n, cells)
    theorem = analysis.theorem
    if quantity == "epsilon":
        found = min(curve.epsilon_at(value), cap)
        return Estimate(
            "epsilon",
            found,
            theorem.title,
            theorem.source,
            at={"delta": value, "n": n},
            warning=curve.warning,
        )
    log = -math.inf if value >= source.eps0 else min(curve.log_delta_at(value), 0.0)
    shown = math.exp(log) if log > _LEAST_LOG else 0.0
    return Estimate(
        "delta",
        shown,
        theorem.title,
        theorem.source,
        at={"epsilon": value, "n": n},
        warning=curve.warning,
        log_value=log,
    )


def from_epsilon(epsilon_at: Callable[[float], float], warning: str) -> Curve:
    """The curve of a formula for eps.

    Parameters
    ----------
    epsilon_at : callable
        eps at a delta.
    warning : str
        Why it is not certified.
    """
    return Curve(epsilon_at, lambda epsilon: log_delta_of(epsilon_at, epsilon), warning)


def by_halving(delta_at: Callable[[float], float], cap: float, warning: str) -> Curve:
    """The curve of an algorithm for delta, inverted by halving.

    Parameters
    ----------
    delta_at : callable
        delta at an eps.
    cap : float
        The largest eps looked at.
    warning : str
        Why it is not certified.
    """

    def log_delta(epsilon: float) -> float:
        value = delta_at(epsilon)
        return math.log(value) if value > 0.0 else -math.inf

    return Curve(lambda d: halved_epsilon(delta_at, d, cap=cap), log_delta, warning)


def affordable_sum(key: str, n: int) -> None:
    """NotCertified where sums over all numbers of clones would take too long."""
    if n > _LARGEST_SUM:
        msg = f"analysis = {key!r}, n = {n:,}: sums over all c are offered up to {_LARGEST_SUM:,}"
        raise NotCertified(msg)
