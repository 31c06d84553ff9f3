"""One mechanism's parameter for a target: solved for, rounded, and evaluated as it will be used."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.accounts import shuffle
from shuffledp.bound import outward
from shuffledp.calibration import calibrate
from shuffledp.curves import Accountant
from shuffledp.errors import NotCertified
from shuffledp.laws.pairs import is_continuous
from shuffledp.multimessage import MultiMessage
from shuffledp.planner.tasks import Option, Source, Task
from shuffledp.rounds import compose
from shuffledp.values.described import ByContent

# Relative width of eps: continuous outputs take a hundred times as long.
FINE, COARSE = 1e-6, 1e-3
# A value is a number to write down.
_DIGITS = 5
# How near, relatively, estimates come to the last value that meets the target.
_NEAR = 1e-4


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Asked(ByContent):
    """What a plan is asked for.

    Attributes
    ----------
    task : Task
        What is estimated.
    n : int
        Users whose reports are estimated from.
    hidden : int
        Honest messages of the smallest batch: what the guarantee is for; by default n.
    epsilon, delta : float
        The target after all rounds.
    rounds : int
        Rounds on the same users.
    limit : int or None
        Most bits a user may send in a round.
    most_local : float or None
        Most that a user's messages alone may give away: eps0 in nats.
    trust : {"all", "published"}
        Which theorems are used.
    """

    task: Task
    n: int
    hidden: int = 0
    epsilon: float
    delta: float
    rounds: int = 1
    limit: int | None = None
    most_local: float | None = None
    trust: Trust = "all"

    def __post_init__(self) -> None:
        n = _check.count("n", self.n)
        object.__setattr__(self, "hidden", _check.count("hidden", self.hidden or n, high=n))
        _check.count("rounds", self.rounds, high=10**9)
        if self.limit is not None:
            _check.count("limit", self.limit)
        if self.most_local is not None:
            _check.local_epsilon("local", self.most_local)
        _check.positive("epsilon", self.epsilon, high=_check.LARGEST_EPS0)
        _check.open_unit("delta", self.delta)
        _check.trust(self.trust)


def settle(option: Option, asked: Asked, *, start: float | None = None) -> tuple[float, float]:
    """About the most accurate value of an option that meets the target, and its certified eps.

    Of many values estimates are enough; the one that is returned is certified, to five digits, with
    the margin that the account of a deployment file adds.

    Parameters
    ----------
    option : Option
        What is solved for.
    asked : Asked
        What has to be met.
    start : float, optional
        Where to begin: near the answer it saves time.

    Raises
    ------
    NotCertified
        If no value meets the target.
    """
    some = math.sqrt(option.low * option.high) if start is None else start
    rtol = accuracy(option.build(some))

    def account(value: float) -> Accountant:
        source = option.build(_rounded(option, value))
        one = shuffle(source, n=asked.hidden, rtol=rtol, trust=asked.trust)
        if asked.rounds == 1:
            return one
        # Label stealing, which takes seconds for every value, only improves on the blanket.
        part = one.as_round()
        plain = replace(part, groups=part.groups[:1], key=("without label stealing", part.key))
        return compose([plain], rounds=asked.rounds)

    # An account adds its own width to eps.
    inside = asked.epsilon / (1.0 + rtol) * (1.0 - math.ulp(1.0))
    try:
        found = calibrate(
            account,
            epsilon=inside,
            delta=asked.delta,
            find=option.find,
            low=option.low,
            high=option.high,
            rtol=_NEAR,
            start=start,
            beyond=False,
        )
    except NotCertified as error:
        # The target is named as it was given.
        said = str(error).replace(f"eps = {inside:g}", f"eps = {asked.epsilon:g}")
        raise NotCertified(said) from None
    epsilon = found.account.upper_epsilon(delta=asked.delta) * (1.0 + rtol)
    value = _rounded(option, found.value)
    if epsilon > asked.epsilon:
        raise NotCertified(f"{option.label}: {option.parameter} = {value:g} misses the target")
    return value, epsilon


def _rounded(option: Option, value: float) -> float:
    """To five digits, towards more privacy."""
    short = float(outward(value, up=option.find == "smallest", digits=_DIGITS))
    return min(max(short, option.low), option.high)


def accuracy(source: Source) -> float:
    """Relative width of eps that is worth the time."""
    if isinstance(source, MultiMessage):
        return FINE
    return COARSE if is_continuous(source) else FINE
