"""Where dots are placed: from estimates of all rounds' curves, which certify nothing.

Caches hold functions of the rounds and the question only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from shuffledp.propose import dots as proposed
from shuffledp.propose.losses import Losses
from shuffledp.rounds.curve import LOWEST_LEVEL
from shuffledp.rounds.part import Part, Places
from shuffledp.values.work import Answers

# Share of the requested width of eps that chords above may use. Continued chords lose about 3.5
# times as much, and estimates of both are accurate to a factor of two.
_SHARE = 0.15
# Dots are placed for the nearest eps on a grid with this many values per factor of two, so that
# nearby questions share them.
_A_FACTOR_2 = 8
# Values of log delta that one set of dots serves, where many eps are asked for.
_LADDER = (-1.5, -4.0, -8.0, -16.0, -32.0, -64.0, -128.0, -256.0, -512.0)
# Least number of panels; the second is for curves whose values take long.
_FEWEST, _FEWEST_SLOW = 48, 16
# A level this far below log(delta/rounds) changes delta by a factor of 1 + 1e-6.
_DEPTH = 14.0


class Plan:
    """Estimates for some rounds, and the places of their dots.

    Parameters
    ----------
    parts : sequence of (Part, int)
        Each mechanism and its number of rounds.
    rtol : float
        Relative width of eps to aim at.
    """

    def __init__(self, parts: Sequence[tuple[Part, int]], rtol: float) -> None:
        self._parts, self._rtol = parts, rtol
        self._rounds = sum(count for _, count in parts)
        self._answers = Answers()

    def level(self, log_target: float) -> float:
        """The level to which one round's curve is followed for this log delta of all rounds."""
        return max(log_target - math.log(self._rounds) - _DEPTH, LOWEST_LEVEL)

    def rung(self, log_delta: float) -> float:
        """The rung of the ladder that is the first to reach below this log delta."""
        return next((rung for rung in _LADDER[4:] if rung <= log_delta), _LADDER[-1])

    def roughly(self, level: float) -> tuple[Losses, ...]:
        """Estimated losses of all rounds: for both directions, or for one if they are the same."""
        return self._answers.answer(("roughly", level), lambda: self._roughly(level))

    def _laws(self, level: float) -> list[list[proposed.Law]]:
        pairs = [(part.roughly(level), count) for part, count in self._parts]
        forward = [(*pair[0][:3], count) for pair, count in pairs]
        if all(pair[1] is pair[0] for pair, _ in pairs):
            return [forward]
        return [forward, [(*pair[1][:3], count) for pair, count in pairs]]

    def _roughly(self, level: float) -> tuple[Losses, ...]:
        return tuple(Losses(laws) for laws in self._laws(level))

    def epsilon(self, log_target: float) -> float:
        """An estimate of the eps at a target."""
        level = self.level(log_target)
        return self._answers.answer(
            ("epsilon", log_target),
            lambda: max(one.epsilon(log_target) for one in self.roughly(level)),
        )

    def log_delta(self, epsilon: float, level: float) -> float:
        """An estimate of log delta at an eps."""
        return max(one.log_delta(epsilon) for one in self.roughly(level))

    def for_target(self, i: int, log_target: float, finer: float) -> Places:
        """Dots of the i-th part for the eps at one target."""
        epsilon = self.epsilon(log_target)
        if not 0.0 < epsilon < math.inf:
            return self._along(i, self.level(log_target), finer)
        step = round(_A_FACTOR_2 * math.log2(epsilon))
        level = 4.0 * math.floor(self.level(log_target) / 4.0)
        asked = ("one", i, step, level, finer)
        near = 2.0 ** (step / _A_FACTOR_2)
        return self._answers.answer(asked, lambda: self._for(i, [near], level, finer))

    def for_all(self, i: int, rung: float, finer: float = 1.0) -> Places:
        """Dots of the i-th part for every eps whose log delta is above a rung of the ladder."""
        asked = ("all", i, rung, finer)
        return self._answers.answer(asked, lambda: self._for_all(i, rung, finer))

    def _for_all(self, i: int, rung: float, finer: float) -> Places:
        level = self.level(rung)
        found = [
            max(one.epsilon(each) for one in self.roughly(level))
            for each in _LADDER
            if each >= rung
        ]
        return self._for(i, [e for e in found if 0.0 < e < math.inf], level, finer)

    def _for(self, i: int, epsilons: Sequence[float], level: float, finer: float) -> Places:
        if not epsilons:
            return self._along(i, level, finer)
        flows = []
        for losses, laws in zip(self.roughly(level), self._laws(level), strict=True):
            others = [(*law[:3], law[3] - (j == i)) for j, law in enumerate(laws)]
            for epsilon in epsilons:
                tilt = losses.saddle(epsilon)
                found = proposed.flow(laws[i], others, epsilon=epsilon, tilt=tilt)
                # d log delta/d log eps is about the saddle point times eps.
                share = _SHARE * self._rtol * tilt * epsilon / (laws[i][3] * len(self._parts))
                log_delta = losses.log_delta(epsilon)
                if log_delta > -math.inf:
                    flows.append((found, share * math.exp(log_delta)))
        fewest = _FEWEST_SLOW if self._parts[i][0].slow else _FEWEST
        joined = proposed.joined(flows) if flows else None
        return (
            ()
            if joined is None
            else proposed.places(joined, finer=finer, fewest=fewest, most=self._parts[i][0].most)
        )

    def _along(self, i: int, level: float, finer: float) -> Places:
        """Dots along the estimates themselves, where no eps is aimed at."""
        loss = self._laws(level)[0][i][0]
        points = [0.0, *loss[loss > 0.0].tolist()]
        for _ in range(max(0, round(math.log2(finer)))):
            inner = [0.5 * (a + b) for a, b in itertools.pairwise(points)]
            points = sorted({*points, *inner})
        return tuple(points)


__all__ = ["Plan"]
