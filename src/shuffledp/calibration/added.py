"""Solve for the noise that an aggregator adds to sums, given the privacy target and the rest."""

from __future__ import annotations

import math
from typing import Any

from shuffledp import _check
from shuffledp.accounts import Account, shuffle
from shuffledp.calibration.result import Calibration
from shuffledp.calibration.target import NEAR, Target
from shuffledp.errors import NotCertified, rejected
from shuffledp.neighbours import Relation
from shuffledp.randomizers import Gaussian, Randomizer
from shuffledp.search import search
from shuffledp.values.described import by_name
from shuffledp.views.noise import KINDS, LARGEST_SCALE, SMALLEST_SCALE, AddedNoise
from shuffledp.views.sums import Sums


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
    rtol: float = NEAR,
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
    rtol = _check.real("rtol", rtol, low=NEAR, high=0.5)
    target = Target.of(epsilon, delta, "all")

    def account(scale: float) -> Account:
        noise = AddedNoise(kind=kind, scale=scale)  # type: ignore[arg-type]
        how: Any = {"ones": ones, "relation": relation, "added": noise, "rounds": rounds}
        return shuffle(randomizer, n, view="sums", **how)

    found = search(
        lambda scale: target.log_upper(account(scale)),
        target.log_delta,
        private=LARGEST_SCALE,
        open_end=SMALLEST_SCALE,
        start=_proposed(account(1.0).seen, epsilon, delta),  # type: ignore[arg-type]
        apart=rtol,
    )
    if found is None:
        msg = (
            f"added.scale = {LARGEST_SCALE:g}: sums of {randomizer.name} do not meet eps = "
            f"{epsilon:g}, delta = {delta:g} at n = {n:,}; wanted a larger target or more users"
        )
        raise NotCertified(msg)
    return Calibration.of("added.scale", found, target, delta, n, rounds, randomizer)


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
