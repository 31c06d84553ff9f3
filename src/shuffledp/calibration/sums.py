"""Solve for a number of reports that are added up, or for a real parameter of sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from shuffledp import _check
from shuffledp.calibration.result import Calibration
from shuffledp.calibration.search import least_whole, search
from shuffledp.calibration.target import Target
from shuffledp.errors import NotCertified, rejected
from shuffledp.neighbours import Relation
from shuffledp.randomizers import Gaussian, Randomizer
from shuffledp.values.described import by_name
from shuffledp.views import AddedNoise, Sums, log_upper, shuffle
from shuffledp.views.noise import KINDS, LARGEST_SCALE, SMALLEST_SCALE

__all__ = ["parameter_of_sums", "required_added", "required_reports"]

# An evaluation of many reports or coordinates takes seconds: so near to each other are the value
# that is given and the one beyond it.
_RTOL = 1e-3


def required_reports(view: Sums, *, epsilon: float, delta: float, most: int) -> Calibration:
    """The smallest number of reports added up that meets a target, to a thousandth.

    delta falls with it (docs/theory-binary.md, Theorem 3.1). ``beyond`` is a smaller number that
    was evaluated and does not meet the target: the one before, or at most a thousandth less.

    Parameters
    ----------
    view : Sums
        What is added up, of any number of reports.
    epsilon, delta : float
        The target.
    most : int
        Largest number to try.

    Raises
    ------
    NotCertified
        If even ``most`` reports do not, or what is known ends before.
    """
    target = Target.of(epsilon, delta, "all")
    found = least_whole(
        lambda n: _log_upper(view.with_n(n), target), target.log_delta, most, apart=_RTOL
    )
    if found is None:
        msg = (
            f"n = {most:,}: sums of {view.mechanism.name} do not meet eps = {epsilon:g}, "
            f"delta = {delta:g}; wanted a larger target or more noise"
        )
        raise NotCertified(msg)
    return Calibration(
        what="n",
        **found._asdict(),
        epsilon=target.epsilon,
        delta=delta,
        n=int(found.value),
        rounds=view.rounds,
        randomizer=view.mechanism,
    )


def _log_upper(view: Sums, target: Target) -> float:
    return log_upper(view, epsilon=target.epsilon, log_target=target.log_delta)


def parameter_of_sums(
    family: Callable[[float], Sums],
    *,
    what: str,
    epsilon: float,
    delta: float,
    find: Literal["largest", "smallest"],
    low: float,
    high: float,
    start: float | None = None,
    rtol: float = _RTOL,
) -> Calibration:
    """The largest (or smallest) parameter of sums that meets a target.

    Both that value and ``beyond``, which does not meet it, were evaluated.

    Parameters
    ----------
    family : callable
        Value -> what is added up.
    what : str
        What the parameter is called.
    epsilon, delta : float
        The target: eps in nats.
    find : {"largest", "smallest"}
        Which end of the values that meet the target.
    low, high : float
        Values to search, 0 < low < high.
    start : float, optional
        About where it is.
    rtol : float
        How near ``beyond`` is to the value.

    Raises
    ------
    NotCertified
        If no value in the range meets the target.
    """
    target = Target.of(epsilon, delta, "all")
    private, open_end = (low, high) if find == "largest" else (high, low)
    found = search(
        lambda value: _log_upper(family(value), target),
        target.log_delta,
        private=private,
        open_end=open_end,
        start=start,
        apart=max(rtol, _RTOL),
    )
    if found is None:
        view = family(private)
        msg = (
            f"{what} = {private:g}: sums of {view.mechanism.name} do not meet eps = {epsilon:g}, "
            f"delta = {delta:g} at n = {view.n:,}; wanted a larger target or more users"
        )
        raise NotCertified(msg)
    view = family(found.value)
    return Calibration(
        what=what,
        **found._asdict(),
        epsilon=target.epsilon,
        delta=delta,
        n=view.n,
        rounds=view.rounds,
        randomizer=view.mechanism,
    )


@by_name
def required_added(
    randomizer: Randomizer,
    *,
    n: int,
    epsilon: float,
    delta: float,
    kind: str = "discrete-laplace",
    rounds: int = 1,
    ones: int = 1,
    relation: Relation | str = "replace-one",
    rtol: float = _RTOL,
) -> Calibration:
    """The least noise of the aggregator's own with which sums of randomized bits meet a target.

    ``value`` is its scale, which was evaluated and meets the target; ``beyond``, at most ``rtol``
    less, was evaluated and does not. Where no noise is needed the value is the smallest scale there
    is, 0.05, and ``beyond`` is None.

    Parameters
    ----------
    randomizer : Randomizer
        What users run: of bits. ``Channel(((1.0, 0.0), (0.0, 1.0)))`` is a bit without noise.
    n : int
        Reports that are added up.
    epsilon, delta : float
        The target: eps in nats, 0 < delta < 1.
    kind : {"discrete-laplace", "discrete-gaussian"}
        The noise's law.
    rounds : int
        How often everybody reports, each time with fresh noise.
    ones, relation
        As for ``shuffle(view="sums")``.
    rtol : float
        1e-3 to 0.5.

    Raises
    ------
    NotCertified
        If noise of scale 2,000 is not enough.

    Examples
    --------
    >>> import shuffledp as sd
    >>> bit = sd.Channel(((1.0, 0.0), (0.0, 1.0)))
    >>> found = sd.required_added(bit, n=100, epsilon=0.5, delta=1e-6)
    >>> f"{found.value:.2f}"
    '2.00'
    """
    kind = _check.choice("kind", kind, KINDS)
    if isinstance(randomizer, Gaussian):
        raise rejected("randomizer", randomizer, "reports of bits, to add noise to")
    rtol = _check.real("rtol", rtol, low=_RTOL, high=0.5)
    plain: Any = {"view": "sums", "ones": ones, "relation": relation}

    def family(scale: float) -> Sums:
        noise = AddedNoise(kind=kind, scale=scale)  # type: ignore[arg-type]
        one: Sums = shuffle(randomizer, n, added=noise, **plain)
        return one.compose(rounds=rounds)

    view = family(1.0)
    epsilon, delta = _check.epsilon("epsilon", epsilon), _check.open_unit("delta", delta)
    return parameter_of_sums(
        family,
        what="added.scale",
        epsilon=epsilon,
        delta=delta,
        find="smallest",
        low=SMALLEST_SCALE,
        high=LARGEST_SCALE,
        start=_proposed(view, epsilon, delta),
        rtol=rtol,
    )


def _proposed(view: Sums, epsilon: float, delta: float) -> float:
    """About the scale, as if sums and noise were normal: a place to start, certified by nothing."""
    if not epsilon > 0.0:
        return 1.0
    low, high = view.coordinates.shares
    # mu of the Gaussian mechanism: eps = mu z + mu^2/2 with delta about Phi(-z).
    z = math.sqrt(max(2.0 * -math.log(delta) - 2.0, 1.0))
    mu = math.sqrt(z * z + 2.0 * epsilon) - z
    wanted = view.changed * ((high - low) / mu) ** 2
    own = (view.n - 1) * min(low * (1.0 - low), high * (1.0 - high))
    deviation = math.sqrt(max(wanted - own, 0.0))
    laplace = view.added is not None and view.added.kind == "discrete-laplace"
    found = deviation / math.sqrt(2.0) if laplace else deviation
    return min(max(found, SMALLEST_SCALE), LARGEST_SCALE)
