"""What dots are aimed at: by estimates of all rounds' curves, which certify nothing.

All that is kept is a function of the rounds and of the question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from shuffledp.rounds.curve import LOWEST_LEVEL
from shuffledp.rounds.delta import Parts, log_delta
from shuffledp.rounds.loss import LossPair
from shuffledp.rounds.part import Part, Places
from shuffledp.rounds.places import flow, places
from shuffledp.rounds.tilt import find_tilt
from shuffledp.values.work import Answers

# Estimates are made of few dots.
COARSE = -2
# Wider than that is only aimed at where a value of the curve takes long (continuous outputs).
QUICK = 1e-3
# The width of delta where an estimate's is enough.
ROUGHLY = 0.1
# Tilts for which dots are placed: where it is a tenth off, few dots lie where they do not matter.
_TILTS_A_FACTOR_2 = 4
# What dots that are put one by one may add to eps, against the width asked for: the inner dots,
# whose chords are continued, lose about 3.5 times as much, and estimates of both are good to a
# factor of two. With 0.075 twelve rounds of Gaussian noise (sigma 0.6, n = 10,000, delta = 1e-6)
# have 72 dots and an eps 8e-4 above its limit, as with 350 dots along the curve.
_DOTS_SHARE = 0.075
# They are placed for the nearest of so many eps a factor of two, and for levels so far apart:
# questions near each other share their dots.
_PLACES_A_FACTOR_2, _PLACE_LEVELS = 8, 4.0
# The deepest level, of one round alone, at which they are placed: for deltas above e^-25 = 1e-11.
# Farther down estimates of noise with heavy tails are short of the curve: four rounds of Gaussian
# noise (sigma 1, n = 10,000) at eps = 0.4 had log delta <= -28.8 by placed dots, -35.5 along it.
_PLACED_ABOVE = -39.0


class Aim(NamedTuple):
    """By estimates: where the contour crosses, and about which eps dots are to serve.

    With a nan for eps dots follow the curve, for all eps near this tilt.
    """

    tilt: float
    epsilon: float


# No eps is aimed at: dots are as near to each other everywhere.
ANYWHERE = Aim(math.inf, math.nan)


class Aims:
    """Estimates of some rounds, and where their dots lie.

    Parameters
    ----------
    parts : sequence of (Part, int)
        Each mechanism and in how many rounds it runs.
    rtol : float
        Relative width of eps that is aimed at.
    """

    def __init__(self, parts: Sequence[tuple[Part, int]], rtol: float) -> None:
        self._parts, self._rtol = parts, rtol
        self._rounds = sum(count for _, count in parts)
        self._estimates = [(part.estimated(), count) for part, count in parts]
        self.answers = Answers()

    def laws(self, level: float) -> list[Parts]:
        """Loss laws of estimates in place of certified values, with few dots."""
        return self.answers.answer(
            ("laws", level),
            lambda: directions(
                [(p.above(level, COARSE, math.inf).above, k) for p, k in self._estimates]
            ),
        )

    def serve(self, level: float) -> bool:
        """Whether estimates are near enough to the curves down to there to place dots by them."""
        slow = any(part.placed for part, _ in self._parts)
        return slow and level >= _PLACED_ABOVE - math.log(self._rounds)

    def tilt_at(self, epsilon: float, level: float, *, many: bool = False) -> float:
        """Where the contour crosses, on a grid, so that questions nearby share their dots.

        One too high takes more dots than it needs and makes them finer. So where dots are quick it
        is the next power of two, and where ``many`` eps share them; else as near as 2^(1/8).
        """
        rho = max(find_tilt(parts, epsilon).rho for parts in self.laws(level))
        if many or self._rtol <= QUICK:
            return 2.0 ** math.ceil(math.log2(rho))
        return 2.0 ** (round(_TILTS_A_FACTOR_2 * math.log2(rho)) / _TILTS_A_FACTOR_2)

    def places(self, i: int, level: float, refine: int, aim: Aim) -> Places:
        """Where the i-th part's dots are put one by one; none where they follow its curve."""
        part, _ = self._parts[i]
        known = 0.0 < aim.epsilon < math.inf and aim.tilt < math.inf
        if not (part.placed and known and self.serve(level)):
            return ()
        step = round(_PLACES_A_FACTOR_2 * math.log2(aim.epsilon))
        depth = max(_PLACE_LEVELS * math.floor(level / _PLACE_LEVELS), LOWEST_LEVEL)
        asked = ("places", i, step, depth, refine)
        return self.answers.answer(asked, lambda: self._places(i, step, depth, refine))

    def _places(self, i: int, step: int, level: float, refine: int) -> Places:
        epsilon = 2.0 ** (step / _PLACES_A_FACTOR_2)
        laws, (_, count) = self.laws(level)[0], self._parts[i]
        tilt = find_tilt(laws, epsilon).rho
        others = [(law, k - (j == i)) for j, (law, k) in enumerate(laws)]
        found = flow(laws[i][0], others, epsilon=epsilon, tilt=tilt)
        # d log delta/d log eps is about the saddle point times eps.
        share = _DOTS_SHARE * self._rtol * tilt * epsilon / (count * len(self._parts))
        about = log_delta(laws, epsilon, width=ROUGHLY).high
        return places(found, budget=share * math.exp(about), refine=refine)


def directions(pairs: Sequence[tuple[LossPair, int]]) -> list[Parts]:
    """One set of laws for each direction; one alone where both are the same."""
    forward = [(pair.forward, count) for pair, count in pairs]
    if all(pair.symmetric for pair, _ in pairs):
        return [forward]
    return [forward, [(pair.backward, count) for pair, count in pairs]]


__all__ = ["ANYWHERE", "COARSE", "QUICK", "ROUGHLY", "Aim", "Aims", "directions"]
