"""A shuffled mechanism as one round of a composition."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp.amplification.end import Certifier
from shuffledp.amplification.words import ONE_ROUND
from shuffledp.bounds.continuous import CellPair
from shuffledp.bounds.profile import Profile
from shuffledp.errors import NotCertified
from shuffledp.laws.pairs import Pair
from shuffledp.laws.sources import Source, dataset_pairs, lower_theorem
from shuffledp.randomizers import Randomizer
from shuffledp.rounds import WIDTH, Candidate, Round
from shuffledp.rounds.renyi import RenyiTail
from shuffledp.statements import say

# Where a bound of the Renyi divergence is finite at one order it is so at some tail.
_ANY_ORDER = 2.0
# How the upper end is computed; it takes nothing for granted.
NO_SINGLE_PAIR = say("no-single-pair")


# Relative widths of eps that are worth the time, of curves by finite laws, by those of many atoms
# and by pairs of cells; the share of it that is the width of a curve's values (rounds.part.WIDTH);
# and that of values by a search of all data sets, which take the longer the narrower they are.
_WORTH, _WORTH_MUCH, _WORTH_CELLS = 5e-4, 2e-3, 6e-3
# Atoms of all pairs' laws together beyond which a value takes long, a tenth of a second; and how
# many all dots' values may have, of which there are some at the least: ten seconds.
_MUCH, _MOST_ATOMS, _FEWEST = 300, 100_000, 24
_SHARE = WIDTH / _WORTH
_SHARE_SEARCHED = 5.0 * _SHARE
# The rtol of a mechanism that is not asked for another, and the least width of a curve's values.
_USUAL, _NARROWEST = 1e-6, 1e-9


def round_of(
    source: Source,
    uppers: Sequence[Certifier],
    *,
    label: str,
    eps0: float,
    n: int,
    rtol: float,
    key: Hashable,
    sharper: Certifier | None = None,
) -> Round:
    """One round, from its upper bounds in order of preference.

    Parameters
    ----------
    source : Randomizer or family
        What each user runs.
    uppers : sequence of Certifier
        Analyses that apply, the tightest first; one alone where that is exact.
    label : str
        For a reader.
    eps0 : float
        Local guarantee in nats: no round leaks more.
    n : int
        Messages in the shuffle.
    rtol : float
        What the mechanism asks of one round, against a default of 1e-6.
    key : hashable
        Equal for equal rounds, whose repetitions are counted together.
    sharper : Certifier, optional
        One whose bound is no pair's, taken wherever it is the least.
    """
    if not uppers:
        msg = f"{label}: no analysis gives a curve of it, so that rounds cannot be composed"
        raise NotCertified(msg)
    first = uppers[0]
    exact = first.exact()
    assumptions = [words for words in first.assumptions if words != ONE_ROUND]
    theorem = first.theorem
    if sharper is not None:
        # At each eps the least of both: the curve rests on both.
        theorem = sharper.theorem.with_step(theorem)
        assumptions += [w for w in sharper.assumptions if w not in {*assumptions, ONE_ROUND}]
    if theorem.provenance == "published":
        # Where the first is not narrow enough the next are asked: of those that need be trusted.
        uppers = [one for one in uppers if one.theorem.serves("published")]
    if len(first.profiles) > 1:
        assumptions.append(NO_SINGLE_PAIR)
    # A value takes ten to a hundred times as long for cells.
    cells_of = any(isinstance(p.pair, CellPair) for one in uppers for p in one.profiles)
    # As much narrower than what is worth the time as one round is asked to be than usual.
    atoms = 0 if exact is not None or cells_of else _atoms(first.profiles)
    much = atoms > _MUCH
    worth = _WORTH_CELLS if cells_of else _WORTH_MUCH if much else _WORTH
    # Where all data sets are searched a narrower value takes as much longer.
    share = _SHARE_SEARCHED if exact is not None else _SHARE
    return Round(
        label=label,
        width=min(share * worth, max(share * worth / _USUAL * rtol, _NARROWEST)),
        rtol=max(rtol, min(worth, worth / _USUAL * rtol)),
        slow=cells_of or much,
        **({"most": max(_MOST_ATOMS // atoms, _FEWEST)} if much else {}),
        groups=[one.profiles if exact is None else (exact,) for one in uppers],
        sharper=None if sharper is None else sharper.for_rounds(),
        candidates=Datasets(source, n),
        eps0=eps0,
        key=key,
        relation=source.relation,
        assumptions=tuple(assumptions),
        upper_theorem=theorem,
        lower_theorem=lower_theorem(source),
        at={"n": n},
        **_local_tail(source),
    )


def _atoms(profiles: Sequence[Profile]) -> int:
    """Atoms of all pairs' laws together."""
    return sum(one.pair.in_floats(0.0).gains.size for one in profiles)


def _local_tail(source: Source) -> dict[str, Any]:
    """Without a pure guarantee: what one report alone says of large losses."""
    if not isinstance(source, Randomizer) or not math.isfinite(source.local_renyi(_ANY_ORDER)):
        return {}
    local = LocalRenyi(source)
    pure = math.isfinite(source.eps0)
    return {
        "tail": None if pure else RenyiTail(local),
        "local_renyi": local,
        "local_rho": source.local_rho,
    }


@dataclass(frozen=True)
class LocalRenyi:
    """Renyi divergence of one report of a mechanism alone: no round's is larger."""

    source: Randomizer

    def __call__(self, order: float) -> float:
        """At an order."""
        return self.source.local_renyi(order)


@dataclass(frozen=True)
class Datasets:
    """The datasets worth trying for a lower end; none where the source has none."""

    source: Source
    n: int

    def __call__(self) -> tuple[Candidate, ...]:
        """Both directions' profiles of each."""
        try:
            pairs = dataset_pairs(self.source, self.n)
        except NotCertified:
            return ()
        return tuple(
            _candidate(pair, witness) for pair, witness in pairs if not witness.get("swap")
        )


def _candidate(pair: Pair, witness: dict[str, Any]) -> Candidate:
    """Both directions of a pair; one profile where they are the same."""
    forward, backward = Profile(pair), Profile(pair.swap())
    if forward.fingerprint() == backward.fingerprint():
        backward = forward
    return Candidate(forward, backward, witness)
