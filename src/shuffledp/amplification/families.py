"""Front doors for families: of which p, beta and q are known, or with a distance of neighbours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, cast

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.amplification.front import settings, shuffle
from shuffledp.amplification.shuffled import Shuffled
from shuffledp.bound import Bound
from shuffledp.bounds.variation_ratio import VariationRatio, largest_ratio
from shuffledp.errors import rejected
from shuffledp.laws.pairs import message_pair
from shuffledp.laws.ratios import ratio_of
from shuffledp.laws.sources import RatioFamily
from shuffledp.multimessage import MultiMessage
from shuffledp.multimessage.base import UNIT
from shuffledp.randomizers import Randomizer
from shuffledp.values.described import by_name


@by_name
def variation_ratio(
    *,
    p: float,
    beta: float,
    q: float,
    n: int,
    adaptive: bool = False,
    rtol: float = 1e-6,
    trust: Trust = "all",
) -> Shuffled:
    """Any randomizers with given p, beta and q among n users behind a shuffler.

    R_x0 <= p R_x1 and conversely, TV(R_x0, R_x1) <= beta, max(R_x0, R_x1) <= q R for every other
    user's law R. The upper end is the repaired variation ratio (docs/theory.md, section 5.3); there
    are such randomizers that attain it, so the lower end is the same number but for rounding.

    Parameters
    ----------
    p : float
        1 <= p <= inf.
    beta : float
        0 <= beta <= 1; lowered to min(beta, q - 1, (p-1)/(p+1)), which it cannot exceed.
    q : float
        q >= 1, finite.
    n : int
        Users, 1 <= n <= 1e15.
    adaptive : bool
        True where a randomizer may depend on the messages before it; p, beta and q then have to
        hold at every position and history.
    rtol, trust
        As for ``shuffle``.

    Examples
    --------
    >>> import shuffledp as sd
    >>> acc = sd.variation_ratio(p=19, beta=6 / 7, q=19, n=1000)
    >>> round(acc.epsilon(delta=1e-6).upper, 4)
    0.7722
    """
    if not isinstance(adaptive, bool):
        raise rejected("adaptive", adaptive, "True or False")
    family = RatioFamily(VariationRatio(p=p, beta=beta, q=q), adaptive)
    return Shuffled(family, _check.count("n", n), *settings(rtol, trust))


class _Metric(Protocol):
    """A mechanism for neighbours up to a distance apart, and the same for another distance."""

    def at(self, distance: float) -> Randomizer:
        """The same mechanism for neighbours at most this far apart."""
        ...


@by_name
def metric_curve(
    randomizer: Randomizer,
    *,
    n: int,
    delta: float,
    distances: Iterable[float],
    rtol: float = 1e-6,
    trust: Trust = "all",
) -> list[Bound]:
    """Central eps as a function of how far apart neighbouring values are.

    Parameters
    ----------
    randomizer : Randomizer
        One with a distance: ``MetricLaplace``, ``LaplaceBall``.
    n : int
        Users, 1 <= n <= 1e15.
    delta : float
        Target, 0 < delta < 1.
    distances : iterable of float
        Largest distances of neighbouring values, in the units of the input.
    rtol, trust
        As for ``shuffle``.

    Returns
    -------
    list of Bound
        One for each distance; the neighbouring relation is among its assumptions.

    Raises
    ------
    ParameterError
        If the mechanism has no distance, or one is outside its domain.
    """
    if not (isinstance(randomizer, Randomizer) and callable(getattr(randomizer, "at", None))):
        raise rejected("randomizer", randomizer, "a mechanism with a distance: MetricLaplace, ...")
    made = cast("_Metric", randomizer)
    return [
        shuffle(made.at(distance), n=n, rtol=rtol, trust=trust).epsilon(delta=delta)
        for distance in distances
    ]


@by_name
def ratios(mechanism: Randomizer | MultiMessage) -> VariationRatio:
    """p, beta and q of a mechanism: what ``variation_ratio`` takes, rounded up.

    R_x0 <= p R_x1 and conversely, TV(R_x0, R_x1) <= beta, max(R_x0, R_x1) <= q B for the pair of
    inputs that decides (of ``Wheel`` and ``MetricLaplace``, for two laws that no pair exceeds), B
    the blanket, inf_x R_x over all inputs; the largest of each where several pairs may decide. For
    a protocol of several messages R_x is the law of the data message and B that of a blanket
    message.

    Parameters
    ----------
    mechanism : Randomizer or MultiMessage
        What each user runs.

    Returns
    -------
    VariationRatio
        With ``p`` (infinite where some message excludes an input), ``beta`` and ``q``.

    Raises
    ------
    NotCertified
        If q is infinite: outputs of one input that another input never gives, or ratios that know
        no bound.

    Notes
    -----
    Of Wang et al. 2024, Definitions of section 3, whose Tables 2 to 4 have formulas for them;
    docs/papers.md says where these are others. ``variation_ratio`` of the three bounds the
    shuffled mechanism for every pair of inputs (docs/theory.md, Theorem 5.7), but the mechanism
    itself, given to ``shuffle``, has better bounds. With a protocol, n stands for the number of
    blanket messages and one more.

    Examples
    --------
    >>> import shuffledp as sd
    >>> found = sd.ratios(sd.KRR(k=10, eps0=2.0))
    >>> round(found.p, 6), round(found.beta, 6), round(found.q, 6)
    (7.389056, 0.38984, 7.389056)
    """
    if isinstance(mechanism, MultiMessage):
        # Against a blanket message that is sent for sure.
        sent = {"rate": 1.0} if mechanism.rate_word < UNIT else {}
        pairs = [
            message_pair(one._replace(table={**one.table, **sent}))
            for one in mechanism.pairs_among(1)
        ]
        found = [VariationRatio(*largest_ratio(pair)) for pair in pairs]
    elif isinstance(mechanism, Randomizer):
        found = [ratio for ratio, _ in ratio_of(mechanism)]
    else:
        raise rejected("mechanism", mechanism, "a mechanism or a protocol, such as KRR")
    return VariationRatio(
        p=max(ratio.p for ratio in found),
        beta=max(ratio.beta for ratio in found),
        q=max(ratio.q for ratio in found),
    )
