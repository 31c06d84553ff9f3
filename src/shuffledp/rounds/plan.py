"""Where dots are placed: from estimates of all rounds' curves, which certify nothing.

Caches hold functions of the rounds and the question only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from shuffledp.propose import dots as proposed
from shuffledp.propose.losses import Losses
from shuffledp.rounds.curve import LOWEST_LEVEL
from shuffledp.rounds.round import Places, Round
from shuffledp.values.work import Answers

# Share of the requested width of eps that chords above may use. Continued chords lose about 3.5
# times as much, and estimates of both are accurate to a factor of two.
_SHARE = 0.15
# Dots are placed for the nearest eps on a grid with this many values per factor of two, so that
# nearby questions share them.
_A_FACTOR_2 = 8
# Values of log delta that one set of dots serves, where many eps are asked for; all sets and all
# estimates are followed down to the first of these at least.
_LADDER = (-1.5, -4.0, -8.0, -16.0, -32.0, -64.0, -128.0, -256.0, -512.0)
_FIRST = 4
# Least number of panels; the second is for curves whose values take long.
_FEWEST, _FEWEST_SLOW = 48, 16
# A level this far below log(delta/rounds) changes delta by a factor of 1 + 1e-6.
_DEPTH = 14.0


class Aim(NamedTuple):
    """The eps of all rounds that dots are placed for, and the least log delta among them."""

    epsilons: tuple[float, ...]
    log_delta: float


class Plan:
    """Estimates for some rounds, and the places of their dots.

    Parameters
    ----------
    parts : sequence of (Round, int)
        Each mechanism and its number of rounds.
    rtol : float
        Relative width of eps to aim at.
    """

    def __init__(self, parts: Sequence[tuple[Round, int]], rtol: float) -> None:
        self._parts, self._rtol = parts, rtol
        self._rounds = sum(count for _, count in parts)
        self._answers = Answers()

    # --------------------------------------------------------------------------- estimates

    def level(self, log_delta: float) -> float:
        """The level to which one round's curve is followed for this log delta of all rounds."""
        return max(log_delta - math.log(self._rounds) - _DEPTH, LOWEST_LEVEL)

    def epsilon(self, log_target: float) -> float:
        """An estimate of the eps at a target."""
        return self._answers.answer(
            ("epsilon", log_target),
            lambda: max(one.root(log_target).epsilon for one in self._sums(self.level(log_target))),
        )

    def log_delta(self, epsilon: float) -> float:
        """An estimate of log delta at an eps."""
        found = 0.0
        for rung in _LADDER[_FIRST:]:
            found = max(one.log_delta(epsilon) for one in self._sums(self.level(rung)))
            # Estimates that end above delta only show that delta is lower.
            if found >= rung:
                break
        return found

    def _sums(self, level: float) -> tuple[Losses, ...]:
        """Estimated losses of all rounds: for both directions, or for one if they are the same."""
        made = lambda: tuple(map(Losses, self._laws(level)))  # noqa: E731
        return self._answers.answer(("sums", level), made)

    def _laws(self, level: float) -> list[list[proposed.Law]]:
        pairs = [(part.roughly(level), count) for part, count in self._parts]
        forward = [(*pair[0][:3], count) for pair, count in pairs]
        if all(pair[1] is pair[0] for pair, _ in pairs):
            return [forward]
        return [forward, [(*pair[1][:3], count) for pair, count in pairs]]

    # -------------------------------------------------------------------------------- dots

    def at_target(self, log_target: float) -> Aim:
        """The eps at a target, on a grid; that of many targets if it is 0 or infinite."""
        epsilon = self.epsilon(log_target)
        if not 0.0 < epsilon < math.inf:
            return self.along(log_target)
        step = round(_A_FACTOR_2 * math.log2(epsilon))
        return Aim((2.0 ** (step / _A_FACTOR_2),), 4.0 * math.floor(log_target / 4.0))

    def along(self, log_delta: float) -> Aim:
        """The eps at all rungs of the ladder down to this log delta."""
        return self._at_rungs(0, max(self._rung(log_delta), _FIRST))

    def around(self, epsilon: float) -> Aim:
        """The eps at the two rungs around this eps; at all of them where delta is large."""
        last = self._rung(self.log_delta(epsilon))
        return self._at_rungs(last - 1, last) if last > 1 else self._at_rungs(0, _FIRST)

    def _rung(self, log_delta: float) -> int:
        return next((k for k, rung in enumerate(_LADDER) if rung <= log_delta), len(_LADDER) - 1)

    def _at_rungs(self, first: int, last: int) -> Aim:
        found = (self.epsilon(rung) for rung in _LADDER[first : last + 1])
        return Aim(tuple(e for e in found if 0.0 < e < math.inf), _LADDER[last])

    def places(self, aim: Aim) -> list[Places]:
        """Dots of each part."""
        return self._answers.answer(
            aim, lambda: [self._places(i, aim) for i in range(len(self._parts))]
        )

    def _places(self, i: int, aim: Aim) -> Places:
        level, flows = self.level(aim.log_delta), []
        for losses, laws in zip(self._sums(level), self._laws(level), strict=True):
            others = [(*law[:3], law[3] - (j == i)) for j, law in enumerate(laws)]
            for epsilon in aim.epsilons:
                tilt = losses.saddle(epsilon)
                found = proposed.flow(laws[i], others, epsilon=epsilon, tilt=tilt)
                # d log delta/d log eps is about the saddle point times eps.
                share = _SHARE * self._rtol * tilt * epsilon / (laws[i][3] * len(self._parts))
                log_delta = losses.log_delta(epsilon)
                if log_delta > -math.inf:
                    flows.append((found, share * math.exp(log_delta)))
        if not flows:
            # No eps is aimed at: dots along the estimates themselves.
            loss = self._laws(level)[0][i][0]
            return (0.0, *loss[loss > 0.0].tolist())
        part = self._parts[i][0]
        fewest = _FEWEST_SLOW if part.slow else _FEWEST
        return proposed.places(proposed.joined(flows), fewest=fewest, most=part.most)


__all__ = ["Aim", "Plan"]
