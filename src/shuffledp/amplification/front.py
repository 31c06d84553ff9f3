"""The front door: shuffle(randomizer, n) and generic(eps0, n)."""

from __future__ import annotations

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.amplification.shuffled import Shuffled
from shuffledp.errors import rejected
from shuffledp.laws.pairs import is_continuous
from shuffledp.laws.sources import Family
from shuffledp.mechanism import Mechanism
from shuffledp.multimessage import MultiMessage
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


def settings(rtol: float, trust: str) -> tuple[float, Trust]:
    """Checked rtol and trust."""
    rtol = _check.real("rtol", rtol, low=1e-12, high=0.1)
    return rtol, _check.trust(trust)
