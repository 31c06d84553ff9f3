"""shuffle: what the analyst sees of n users' reports, the multiset of them or their sums."""

from __future__ import annotations

from typing import Literal, overload

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.amplification import Shuffled
from shuffledp.amplification import shuffle as shuffle_messages
from shuffledp.errors import NotCertified, rejected
from shuffledp.models import MOST_CHANGED, PERFECT, Chained, Setting, Shuffler
from shuffledp.multimessage import MultiMessage
from shuffledp.neighbours import Relation
from shuffledp.randomizers import Randomizer
from shuffledp.values.described import by_name
from shuffledp.views.noise import AddedNoise
from shuffledp.views.sums import Sums, summed

VIEWS = ("messages", "sums")


@overload
def shuffle(
    randomizer: Randomizer | MultiMessage,
    n: int,
    *,
    rtol: float | None = None,
    trust: Trust = "all",
    view: Literal["messages"] = "messages",
) -> Shuffled: ...


@overload
def shuffle(
    randomizer: Randomizer | MultiMessage,
    n: int,
    *,
    rtol: float | None = None,
    trust: Trust = "all",
    shuffler: Shuffler,
    changed: int = 1,
) -> Setting: ...


@overload
def shuffle(
    randomizer: Randomizer | MultiMessage,
    n: int,
    *,
    rtol: float | None = None,
    trust: Trust = "all",
    changed: int,
) -> Setting: ...


@overload
def shuffle(
    randomizer: Randomizer,
    n: int,
    *,
    rtol: float | None = None,
    trust: Literal["all"] = "all",
    view: Literal["sums"],
    ones: int = 1,
    relation: Relation | str = "replace-one",
    added: AddedNoise | None = None,
) -> Sums: ...


@overload
def shuffle(
    randomizer: Randomizer,
    n: int,
    *,
    rtol: float | None = None,
    trust: Literal["all"] = "all",
    view: Literal["sums"],
    ones: int = 1,
    relation: Relation | str = "replace-one",
    added: AddedNoise | None = None,
    changed: int,
) -> Chained: ...


@by_name
def shuffle(
    randomizer: Randomizer | MultiMessage,
    n: int,
    *,
    rtol: float | None = None,
    trust: Trust = "all",
    view: str = "messages",
    ones: int = 1,
    relation: Relation | str = "replace-one",
    added: AddedNoise | None = None,
    shuffler: Shuffler = PERFECT,
    changed: int = 1,
) -> Shuffled | Sums | Setting | Chained:
    """A randomizer, or a multi-message protocol, among n users behind a shuffler or an aggregator.

    Parameters
    ----------
    randomizer : Randomizer or MultiMessage
        What each user runs.
    n : int
        Users (messages in the shuffle, unless each sends several), 1 <= n <= 1e15.
    rtol : float, optional
        Requested relative width of eps: of each analysis' numerical bracket, 1e-12 to 0.1 (1e-6 by
        default, 5e-5 where outputs are continuous); of sums, 1e-6 to 0.1 (what is worth the time by
        default, 5e-4 or so).
    trust : {"all", "published"}
        "published" leaves out theorems proved only in docs/.
    view : {"messages", "sums"}
        What the analyst sees: all messages in a uniformly random order, or the sum of each of
        their coordinates (secure aggregation, Prio): of ``RAPPOR``, ``OUE``, one-bit reports and
        ``Gaussian``.
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
        So many users' values may change at once, or one person's who sends so many of the n
        reports: 1 to 1,000.

    Raises
    ------
    ParameterError
        If an argument is outside its domain.
    NotCertified
        If nothing is known of the sums of the mechanism's reports.

    Examples
    --------
    >>> import shuffledp as sd
    >>> acc = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10_000)
    >>> round(acc.epsilon(delta=1e-6).upper, 5)
    0.38049
    """
    changed = _check.count("changed", changed, high=MOST_CHANGED)
    if _check.choice("view", view, VIEWS) == "messages":
        if ones != 1 or relation != "replace-one" or added is not None:
            raise rejected("view", view, '"sums", for ones, relation and added to mean something')
        plain = shuffle_messages(randomizer, n, rtol=rtol, trust=trust)
        if isinstance(shuffler, Shuffler) and shuffler == PERFECT and changed == 1:
            return plain
        return Setting(randomizer, plain.n, shuffler, changed, rtol=plain.rtol, trust=plain.trust)
    if shuffler != PERFECT:
        raise rejected("shuffler", shuffler, 'none with view = "sums": of messages alone')
    if _check.trust(trust) != "all":
        msg = f"trust = {trust!r}: the bound of sums is proved in docs/theory-sums.md alone"
        raise NotCertified(msg)
    found = summed(
        randomizer,  # type: ignore[arg-type]
        n,
        ones=ones,
        relation=relation,
        rtol=rtol,
        added=added,
    )
    return found if changed == 1 else Chained(found, changed)
