"""The front door: a randomizer, a protocol or a family among n users behind a shuffler."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.amplification.shuffled import Shuffled
from shuffledp.bounds.variation_ratio import VariationRatio, largest_ratio
from shuffledp.errors import rejected
from shuffledp.laws.pairs import is_continuous, message_pair
from shuffledp.laws.ratios import ratio_of
from shuffledp.laws.sources import Family, RatioFamily
from shuffledp.mechanism import Mechanism
from shuffledp.multimessage import MultiMessage
from shuffledp.multimessage.base import UNIT
from shuffledp.randomizers import Randomizer
from shuffledp.values.described import by_name

# Relative width of eps that is asked for where nothing else is said: of laws of classes of outputs,
# and of cells of continuous ones, of which a hundred times narrower takes ten times as many.
RTOL, CELLS_RTOL = 1e-6, 5e-5


@by_name
def shuffle(
    randomizer: Randomizer | MultiMessage,
    n: int,
    *,
    rtol: float | None = None,
    trust: Trust = "all",
) -> Shuffled:
    """A randomizer, or a multi-message protocol, among n users behind a shuffler.

    Parameters
    ----------
    randomizer : Randomizer or MultiMessage
        What each user runs.
    n : int
        Users (messages in the shuffle, unless each sends several), 1 <= n <= 1e15.
    rtol : float, optional
        Requested relative width of each analysis' numerical bracket of eps, 1e-12 to 0.1; 1e-6 by
        default, or 5e-5 where outputs are continuous.
    trust : {"all", "published"}
        "published" leaves out theorems proved only in docs/theory.md.

    Raises
    ------
    ParameterError
        If an argument is outside its domain.

    Examples
    --------
    >>> import shuffledp as sd
    >>> acc = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10_000)
    >>> round(acc.epsilon(delta=1e-6).upper, 5)
    0.38049
    """
    if not isinstance(randomizer, Mechanism):
        raise rejected("randomizer", randomizer, "a randomizer such as KRR(k=10, eps0=4.0)")
    if rtol is None:
        cells = isinstance(randomizer, Randomizer) and is_continuous(randomizer)
        rtol = CELLS_RTOL if cells else RTOL
    return Shuffled(randomizer, _check.count("n", n), *settings(rtol, trust))


@by_name
def generic(
    *, eps0: float, n: int, adaptive: bool = False, rtol: float = 1e-6, trust: Trust = "all"
) -> Shuffled:
    """Any eps0-LDP randomizers among n users behind a shuffler.

    The upper end holds for every eps0-LDP randomizer. The lower end is that of one of them, binary
    randomized response or 3-RR where all others hold the third value (``witness["lower"]`` says
    which): no bound for all of them can be below it.

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300.
    n : int
        Users, 1 <= n <= 1e15.
    adaptive : bool
        True where a randomizer may depend on the messages before it (the bound is the same; the
        assumptions that are printed are not).
    rtol, trust
        As for ``shuffle``.
    """
    if not isinstance(adaptive, bool):
        raise rejected("adaptive", adaptive, "True or False")
    family = Family(_check.local_epsilon("eps0", eps0), adaptive)
    return Shuffled(family, _check.count("n", n), *settings(rtol, trust))


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
        whole: Any = mechanism
        sent = replace(whole, rate=1.0) if mechanism.rate_word < UNIT else mechanism
        pairs = [message_pair(one) for one in sent.pairs_among(1)]
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


def settings(rtol: float, trust: str) -> tuple[float, Trust]:
    """Checked rtol and trust."""
    rtol = _check.real("rtol", rtol, low=1e-12, high=0.1)
    return rtol, _check.trust(trust)
