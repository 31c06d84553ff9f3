"""The front door: mechanisms, users and what is declared of them, to one account."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.accounts.account import Account
from shuffledp.accounts.shuffler import PERFECT, Shuffler
from shuffledp.accounts.supported import MOST_CHANGED, VIEWS, refuse
from shuffledp.amplification.messages import Messages
from shuffledp.amplification.seen import Seen
from shuffledp.bounds.variation_ratio import VariationRatio, largest_ratio
from shuffledp.errors import rejected
from shuffledp.laws.pairs import is_continuous
from shuffledp.laws.sources import Family, RatioFamily, Source, ratio_of
from shuffledp.mechanism.base import Mechanism
from shuffledp.multimessage import MultiMessage
from shuffledp.multimessage.base import UNIT
from shuffledp.neighbours import Relation
from shuffledp.population.crowd import crowd
from shuffledp.randomizers import Randomizer
from shuffledp.values.described import by_name
from shuffledp.views.noise import AddedNoise
from shuffledp.views.sums import summed

# Relative width of eps that is asked for where nothing else is said: of laws of classes of outputs,
# and of cells of continuous ones, of which a hundred times narrower takes ten times as many.
RTOL, CELLS_RTOL = 1e-6, 5e-5


@by_name
def shuffle(
    mechanism: Source | None = None,
    n: int | None = None,
    *,
    rtol: float | None = None,
    trust: Trust = "all",
    groups: Iterable[tuple[Randomizer, int]] | None = None,
    victim: int | None = None,
    view: str = "messages",
    ones: int = 1,
    relation: Relation | str = "replace-one",
    added: AddedNoise | None = None,
    shuffler: Shuffler = PERFECT,
    changed: int = 1,
    rounds: int = 1,
) -> Account:
    """A mechanism among n users, or groups with their own, behind a shuffler or an aggregator.

    docs/supported.md, printed by ``supported.table``, lists what can be had together.

    Parameters
    ----------
    mechanism : Randomizer, MultiMessage or family
        What each user runs.
    n : int
        Users (messages in the shuffle, unless each sends several), 1 <= n <= 1e15.
    groups : iterable of (Randomizer, int), optional
        In the place of both: each group's mechanism and number of users; up to 50 groups.
    victim : int, optional
        Index of the group whose members are protected; None: the worst of all groups.
    view : {"messages", "sums"}
        What the analyst sees: all messages in a uniformly random order, or the sum of each of
        their coordinates (secure aggregation, Prio): of ``RAPPOR``, ``OUE``, one-bit reports,
        ``Gaussian`` and ``GaussianBall``.
    ones : int
        With sums, the most 1s of a report before it is randomized: 1 for an item, more for
        vectors with several. Whoever adds up has to see to it.
    relation : {"replace-one", "replace-special"} or Relation
        With sums, which datasets are neighbours: one user's data replaced by another, or by a
        report of zeros.
    added : AddedNoise, optional
        With sums of bits, noise of the aggregator's own on every coordinate's sum.
    shuffler : Shuffler
        Whoever stands between users and analyst, where it is not one perfect shuffler: of messages.
    changed : int
        This many users' values may change at once, or one person's who sends this many of the n
        reports: 1 to 1,000; of groups, all of the group ``victim`` where one is given.
    rounds : int
        How often everybody reports, with fresh randomness.
    rtol : float, optional
        Requested relative width of eps: of each analysis' numerical bracket, 1e-12 to 0.1 (1e-6 by
        default, 5e-5 where outputs are continuous); of sums, 1e-6 to 0.1 (what is worth the time by
        default, 5e-4 or so).
    trust : {"all", "published"}
        "published" leaves out theorems proved only in docs/.

    Raises
    ------
    ParameterError
        If an argument is outside its domain, or means nothing with another.
    NotCertified
        If nothing is known of such a setting.

    Examples
    --------
    >>> import shuffledp as sd
    >>> acc = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10_000)
    >>> round(acc.epsilon(delta=1e-6).upper, 5)
    0.38049
    >>> tiers = [(sd.BinaryRR(eps0=1.0), 10_000), (sd.BinaryRR(eps0=4.0), 10_000)]
    >>> bound = sd.shuffle(groups=tiers, victim=1).epsilon(delta=1e-6)
    >>> round(bound.lower, 4), round(bound.upper, 4)
    (0.0752, 0.0752)
    """
    asked = {
        "groups": groups,
        "victim": victim,
        "view": _check.choice("view", view, VIEWS),
        "ones": ones,
        "relation": relation,
        "added": added,
        "shuffler": shuffler,
        "changed": _check.count("changed", changed, high=MOST_CHANGED),
        "rounds": _check.count("rounds", rounds, high=10**9),
        "trust": _check.trust(trust),
    }
    refuse(mechanism, asked)
    if groups is not None:
        if mechanism is not None or n is not None:
            raise rejected("groups", "given", "no mechanism and n beside them")
        chosen = settings(RTOL if rtol is None else rtol, trust)
        seen: Seen = crowd(groups, victim, *chosen).again(rounds)
    elif view == "sums":
        seen = summed(mechanism, n, ones=ones, relation=relation, rtol=rtol, added=added)  # type: ignore[arg-type]
        seen = seen.again(rounds)
    else:
        seen = _messages(mechanism, n, shuffler, rounds, rtol, trust)
    users = seen.n if n is None else _check.count("n", n)
    return Account(seen, users, shuffler, changed)


def _messages(
    mechanism: object,
    n: int | None,
    shuffler: Shuffler,
    rounds: int,
    rtol: float | None,
    trust: str,
) -> Messages:
    """All messages, of as many as hide one another."""
    if not isinstance(mechanism, Mechanism | Family | RatioFamily):
        raise rejected("mechanism", mechanism, "a randomizer such as KRR(k=10, eps0=4.0)")
    if rtol is None:
        cells = isinstance(mechanism, Randomizer) and is_continuous(mechanism)
        rtol = CELLS_RTOL if cells else RTOL
    hidden = shuffler.hidden(_check.count("n", n))
    return Messages(mechanism, hidden, rounds, *settings(rtol, trust))  # type: ignore[arg-type]


@by_name
def generic(
    *, eps0: float, n: int, adaptive: bool = False, rtol: float = 1e-6, trust: Trust = "all"
) -> Account:
    """Any eps0-LDP randomizers among n users behind a shuffler.

    The upper end holds for every eps0-LDP randomizer. The lower end is that of one of them, binary
    randomized response or 3-RR where all others hold the third value (``witness["lower"]`` says
    which): no bound for all of them can be below it.

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.
    n : int
        Users, 1 <= n <= 1e15.
    adaptive : bool
        True where a randomizer may depend on the messages before it (the bound is the same; the
        assumptions that are printed are not).
    rtol, trust
        As for ``shuffle``.
    """
    return shuffle(Family(eps0, adaptive), n, rtol=rtol, trust=trust)


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
) -> Account:
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
    return shuffle(family, n, rtol=rtol, trust=trust)


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
        found = [VariationRatio(*largest_ratio(pair)) for pair, _ in sent.pairs_among(1)]
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
