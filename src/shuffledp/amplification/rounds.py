"""A shuffled mechanism as one round of a composition."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

from shuffledp.amplification.end import Certifier
from shuffledp.amplification.words import ONE_ROUND
from shuffledp.bounds.continuous import CellPair
from shuffledp.errors import NotCertified
from shuffledp.laws.pairs import Pair
from shuffledp.laws.sources import Source, dataset_pairs, lower_theorem
from shuffledp.propose.gains import in_floats
from shuffledp.propose.profile import Profile
from shuffledp.randomizers import Randomizer
from shuffledp.rounds import WIDTH, Candidate, Round
from shuffledp.rounds import Source as Curve
from shuffledp.rounds.renyi import RenyiTail
from shuffledp.statements import say

# Any order will do: a Renyi bound that is finite at one order shows that a tail bound exists.
_ANY_ORDER = 2.0
# A note on how the upper end is computed; it adds no assumption.
NO_SINGLE_PAIR = say("no-single-pair")
# Relative widths of eps worth computing for curves of finite laws, of laws with many atoms, and of
# pairs of cells.
_WORTH, _WORTH_MUCH, _WORTH_CELLS = 5e-4, 2e-3, 6e-3
# Number of atoms of all pairs' laws together from which a value takes long (0.1 s); total number of
# atoms that all dots' evaluations may use (ten seconds); least number of dots.
_MUCH, _MOST_ATOMS, _FEWEST = 300, 100_000, 24
# Width of a curve's values (rounds.round.WIDTH) as a share of the width of eps worth computing; for
# a search of all data sets the share is larger, as narrower values take proportionally longer.
_SHARE = WIDTH / _WORTH
_SHARE_SEARCHED = 5.0 * _SHARE
# The default rtol of a mechanism, and the least relative width of a curve's values.
_USUAL, _NARROWEST = 1e-6, 1e-9


def round_of(
    source: Source, n: int, rtol: float, upper: Certifier, sharper: Certifier | None, key: Hashable
) -> Round:
    """One round of a composition.

    Parameters
    ----------
    source : Randomizer or family
        The mechanism each user runs.
    n : int
        Number of messages in the shuffle.
    rtol : float
        The mechanism's own rtol for one round; the default is 1e-6.
    upper : Certifier
        The tightest analysis whose bound is that of its pairs' profiles, or an exact one.
    sharper : Certifier or None
        An analysis whose bound is not a pair's profile; used wherever it is the least.
    key : hashable
        Equal for equal rounds, so that repetitions are counted together.
    """
    exact = upper.exact()
    groups: list[Sequence[Curve]] = [upper.profiles if exact is None else (exact,)]
    assumptions = [words for words in upper.assumptions if words != ONE_ROUND]
    theorem = upper.theorem
    curve = None if sharper is None else sharper.for_rounds()
    if sharper is not None and curve is not None:
        # At each eps the lesser of the two bounds counts, so the curve rests on both theorems.
        groups.append((curve,))
        theorem = sharper.theorem.with_step(theorem)
        assumptions += [w for w in sharper.assumptions if w not in {*assumptions, ONE_ROUND}]
    if len(upper.profiles) > 1:
        assumptions.append(NO_SINGLE_PAIR)
    # A value of a pair of cells takes 10 to 100 times as long as one of a finite law.
    cells_of = any(isinstance(one.pair, CellPair) for one in upper.profiles)
    # An rtol narrower than the default narrows the widths in the same proportion.
    atoms = 0 if exact is not None or cells_of else _atoms(upper.profiles)
    much = atoms > _MUCH
    worth = _WORTH_CELLS if cells_of else _WORTH_MUCH if much else _WORTH
    # A search of all data sets takes longer in proportion as its values are narrower.
    share = _SHARE_SEARCHED if exact is not None else _SHARE
    return Round(
        label=label_of(source),
        width=min(share * worth, max(share * worth / _USUAL * rtol, _NARROWEST)),
        rtol=max(rtol, min(worth, worth / _USUAL * rtol)),
        slow=cells_of or much,
        **({"most": max(_MOST_ATOMS // atoms, _FEWEST)} if much else {}),
        groups=groups,
        candidates=partial(_datasets, source, n),
        eps0=float(source.eps0),
        key=key,
        relation=source.relation,
        assumptions=tuple(assumptions),
        upper_theorem=theorem,
        lower_theorem=lower_theorem(source),
        at={"n": n},
        **_local_tail(source),
    )


def label_of(source: Source) -> str:
    """Name of a round in messages."""
    return getattr(source, "name", "generic")


def _atoms(profiles: Sequence[Profile]) -> int:
    """Number of atoms of all pairs' laws together."""
    return sum(in_floats(one.pair, 0.0).gains.size for one in profiles)


def _local_tail(source: Source) -> dict[str, Any]:
    """Tail bounds from a single report's Renyi divergence, for mechanisms that have one."""
    if not isinstance(source, Randomizer) or not math.isfinite(source.local_renyi(_ANY_ORDER)):
        return {}
    pure = math.isfinite(source.eps0)
    return {
        "tail": None if pure else RenyiTail(source.local_renyi),
        "local_renyi": source.local_renyi,
        "local_rho": source.local_rho,
    }


def _datasets(source: Source, n: int) -> tuple[Candidate, ...]:
    """The data sets worth trying for a lower end, each in both directions; () if there are none."""
    try:
        pairs = dataset_pairs(source, n)
    except NotCertified:
        return ()
    return tuple(_candidate(pair, witness) for pair, witness in pairs if not witness.get("swap"))


def _candidate(pair: Pair, witness: dict[str, Any]) -> Candidate:
    """The profiles of both directions of a pair; a single profile if they are equal."""
    forward, backward = Profile(pair), Profile(pair.swap())
    if forward.fingerprint() == backward.fingerprint():
        backward = forward
    return Candidate(forward, backward, witness)
