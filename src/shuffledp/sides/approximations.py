"""Named analyses without a certificate: the same front door, and an Estimate comes out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from shuffledp.analyses import analysis_named
from shuffledp.baselines import binomial, grid, halved_epsilon
from shuffledp.closed_forms import clones, log_delta_of, renyi
from shuffledp.divergence import LARGEST_EPSILON, PairProfile, solve_epsilon
from shuffledp.errors import NotCertified
from shuffledp.index import (
    NOT_CERTIFIED,
    Estimate,
    asymptotic_log_delta,
    band_epsilon,
    gaussian_epsilon,
    gaussian_log_delta,
    shuffle_index,
)
from shuffledp.multimessage import MultiMessage
from shuffledp.pair import ShuffledPair
from shuffledp.randomizers import KRR, BinaryRR, Randomizer
from shuffledp.reductions import blanket_pair, published_reason
from shuffledp.sides import Family, RatioFamily, Source, published_ratio_pairs, ratios

_MEMORY = "not certified: the formula's constants are from memory of the paper"
_FLOATS = "not certified: plain floating point, nothing is rounded outward"
_GRID_WIDTH = 0.2
_LARGEST_SUM = 20_000_000


class Curve(NamedTuple):
    """A curve that is not certified: eps at a delta, log delta at an eps, and why it is not."""

    epsilon_at: Callable[[float], float]
    log_delta_at: Callable[[float], float]
    warning: str


def estimate(
    source: Source, key: str, quantity: str, value: float, *, n: int, cells: int, cap: float
) -> Estimate:
    """eps at delta = ``value``, or delta at eps = ``value``, by an analysis that certifies nothing.

    Parameters
    ----------
    source : Randomizer or family
        What each user runs.
    key : str
        An analysis whose end is "estimate", or a variation-ratio one forced where it is no bound.
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
    """
    curve = _CURVES[key](source, n, cells)
    theorem = analysis_named(key).theorem
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
    shown = math.exp(log) if log > -745.0 else 0.0
    return Estimate(
        "delta",
        shown,
        theorem.title,
        theorem.source,
        at={"epsilon": value, "n": n},
        warning=curve.warning,
        log_value=log,
    )


def estimates(key: str) -> bool:
    """Whether there is an uncertified form of this analysis."""
    return key in _CURVES


# ----------------------------------------------------------------------------- from formulas


def _from_epsilon(epsilon_at: Callable[[float], float], warning: str) -> Curve:
    return Curve(epsilon_at, lambda epsilon: log_delta_of(epsilon_at, epsilon), warning)


def _csuzz19(source: Source, n: int, cells: int) -> Curve:
    del cells
    binary = isinstance(source, BinaryRR) or (isinstance(source, KRR) and source.k == 2)
    if not binary:
        raise NotCertified("analysis = 'csuzz19': wanted binary randomized response")
    return _from_epsilon(lambda d: clones.cheu(eps0=source.eps0, n=n, delta=d), _MEMORY)


def _stronger_clone(source: Source, n: int, cells: int) -> Curve:
    del cells
    eps0 = _pure(source, "stronger-clone-3.2")
    return _from_epsilon(lambda d: clones.stronger_clone(eps0=eps0, n=n, delta=d), _MEMORY)


def _girgis(source: Source, n: int, cells: int) -> Curve:
    del cells
    eps0 = _pure(source, "girgis-renyi")
    return _from_epsilon(lambda d: renyi.girgis_epsilon(eps0=eps0, n=n, delta=d), _MEMORY)


def _pure(source: Source, key: str) -> float:
    if isinstance(source, RatioFamily | MultiMessage) or not math.isfinite(source.eps0):
        raise NotCertified(f"analysis = {key!r}: wanted an eps0-LDP randomizer")
    return float(source.eps0)


# ----------------------------------------------------------------------- the papers' algorithms


def _by_halving(delta_at: Callable[[float], float], cap: float, warning: str) -> Curve:
    def log_delta(epsilon: float) -> float:
        value = delta_at(epsilon)
        return math.log(value) if value > 0.0 else -math.inf

    return Curve(lambda d: halved_epsilon(delta_at, d, cap=cap), log_delta, warning)


def _sums(key: str) -> Callable[[Source, int, int], Curve]:
    form = binomial.clone_delta if key.startswith("clone") else binomial.stronger_clone_delta

    def make(source: Source, n: int, cells: int) -> Curve:
        del cells
        eps0 = _pure(source, key)
        _affordable(key, n)
        return _by_halving(lambda e: form(eps0=eps0, n=n, epsilon=e), eps0, _FLOATS)

    return make


def _ratio_sums(source: Source, n: int, cells: int) -> Curve:
    del cells
    key = "variation-ratio-binomial-sums"
    _affordable(key, n)
    found = [ratio for ratio, _ in ratios(source)]
    warning = _ratio_warning(source) or _FLOATS

    def delta_at(epsilon: float) -> float:
        return max(
            binomial.variation_ratio_delta(
                p=r.p, beta=float(r.total_variation), q=r.q, n=n, epsilon=epsilon
            )
            for r in found
        )

    return _by_halving(delta_at, min(source.eps0, LARGEST_EPSILON), warning)


def _affordable(key: str, n: int) -> None:
    if n > _LARGEST_SUM:
        msg = f"analysis = {key!r}, n = {n:,}: sums over all c are offered up to {_LARGEST_SUM:,}"
        raise NotCertified(msg)


def _grid(source: Source, n: int, cells: int) -> Curve:
    pairs = _blanket_pairs(source, "blanket-grid", n, cells)

    def delta_at(epsilon: float) -> float:
        steps = [grid.step_for(pair, epsilon=epsilon, width=_GRID_WIDTH) for pair in pairs]
        return max(
            grid.grid_delta(pair, epsilon=epsilon, step=step, rounding="up")[0]
            for pair, step in zip(pairs, steps, strict=True)
        )

    return _by_halving(delta_at, min(source.eps0, 20.0), _FLOATS)


# ------------------------------------------------------------------------------ variation ratio


def _ratio_warning(source: Source) -> str:
    reasons = (published_reason(ratio) for ratio, _ in ratios(source))
    reason = next((words for words in reasons if words is not None), None)
    return "" if reason is None else f"not a bound: {reason}"


def _ratio_pair(source: Source, n: int, cells: int) -> Curve:
    profiles = [PairProfile(pair) for pair, _ in published_ratio_pairs(source, n, cells)]

    def epsilon_at(delta: float) -> float:
        return solve_epsilon(
            profiles, math.log(delta), cap=source.eps0, rtol=1e-6, need_all=True
        ).high

    def log_delta_at(epsilon: float) -> float:
        return max(profile.log_delta(epsilon, width=1e-5).high for profile in profiles)

    warning = _ratio_warning(source) or f"{NOT_CERTIFIED} (asked for with certified=False)"
    return Curve(epsilon_at, log_delta_at, warning)


# ----------------------------------------------------------------------------------- asymptotic


def _blanket_pairs(source: Source, key: str, n: int, cells: int) -> list[ShuffledPair]:
    randomizer = _member(source, key)
    return [
        blanket_pair(randomizer, x0, x1, n=n, cells=cells)
        for x0, x1 in randomizer.worst_pairs().pairs
    ]


def _member(source: Source, key: str) -> Randomizer:
    """The randomizer; for all eps0-LDP ones binary RR, whose blanket is their stronger clone."""
    if isinstance(source, Family):
        return BinaryRR(eps0=source.eps0)
    if isinstance(source, RatioFamily | MultiMessage):
        raise NotCertified(f"analysis = {key!r}: wanted a randomizer or eps0")
    return source


def _gaussian(source: Source, n: int, cells: int) -> Curve:
    pairs = _blanket_pairs(source, "gaussian", n, cells)
    return Curve(
        lambda d: max(gaussian_epsilon(pair, delta=d, cap=source.eps0) for pair in pairs),
        lambda e: max(gaussian_log_delta(pair, epsilon=e) for pair in pairs),
        NOT_CERTIFIED,
    )


def _index(key: str) -> Callable[[Source, int, int], Curve]:
    def make(source: Source, n: int, cells: int) -> Curve:
        chi = _chi(source, key, cells)

        def log_delta_at(epsilon: float) -> float:
            if epsilon == 0.0:
                raise NotCertified(f"analysis = {key!r}: the formula needs eps > 0")
            return asymptotic_log_delta(chi=chi, n=n, epsilon=epsilon)

        return Curve(lambda d: band_epsilon(chi=chi, n=n, delta=d), log_delta_at, NOT_CERTIFIED)

    return make


def _chi(source: Source, key: str, cells: int) -> float:
    """chi of the blanket or, for the lower end, the least chi of a dataset of any member."""
    if not key.endswith("lower"):
        return shuffle_index(_member(source, key), cells=cells).lower.value
    members = [_member(source, key)]
    if isinstance(source, Family):
        members.append(KRR(k=3, eps0=source.eps0))
    return min(shuffle_index(member, cells=cells).upper.value for member in members)


_CURVES: dict[str, Callable[[Source, int, int], Curve]] = {
    "csuzz19": _csuzz19,
    "stronger-clone-3.2": _stronger_clone,
    "girgis-renyi": _girgis,
    "clone-binomial-sums": _sums("clone-binomial-sums"),
    "stronger-clone-binomial-sums": _sums("stronger-clone-binomial-sums"),
    "variation-ratio-binomial-sums": _ratio_sums,
    "variation-ratio": _ratio_pair,
    "blanket-grid": _grid,
    "gaussian": _gaussian,
    "shuffle-index": _index("shuffle-index"),
    "shuffle-index-lower": _index("shuffle-index-lower"),
}
