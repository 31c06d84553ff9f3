"""Grids of inputs for label stealing with noise on an interval, in plain floats.

Any proposal gives a valid bound, and a bad one a loose bound (``bounds.covers``).  Units are as
there: inputs fill [0, 1], a = e^eps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from shuffledp.bounds.covers import Row
from shuffledp.errors import NotCertified
from shuffledp.propose.interval import Floats, Free, Laws, Sketch

__all__ = ["Detail", "Grids"]

# (place, stretch) -> log of a label's mean power.
_Label = Callable[[float, float], float]
_TINY = 1e-300
# Up to this z, the series of e^z - 1 - z is more accurate than the difference.
_SMALL = 1e-3
# Most inputs of one row, and the shortest step between two of them.
_MOST_PLACES, _SHORTEST = 250, 1e-7
# Least share of delta left for labels; with less, the numbers are useless.
_LEAST = 0.01
# Share of the remainders' room that is used; the rest allows for errors of the estimate.
_ROOM = 0.9
# For few users: n times the room of remainders.
_FEW_ROOM = 100.0


class Detail(NamedTuple):
    """How fine a cover is.

    Attributes
    ----------
    first : float
        Relative cost in eps near the worst label.
    share : float
        Cost elsewhere, as a share of the distance of the label's spread from the worst one.
    cells : float
        Relative cost in eps of the cells of outputs.
    """

    first: float = 3e-5
    share: float = 0.6
    cells: float = 4e-5


class Grids:
    """Grids on which labels cost no more than ``Detail`` allows."""

    about_mean: ClassVar[bool] = False

    def __init__(
        self, noise: Sketch, n: int, eps: float, free: Free, detail: Detail, boxes: Floats
    ) -> None:
        self.noise, self.detail, self.free, self.a = noise, detail, free, math.exp(eps)
        self.low, self.high = boxes[:-1], boxes[1:]
        self.b = (1 - free.theta) / (1 - free.kappa)
        laws = Laws(noise, n, eps, free.log_delta)
        pool = np.minimum(free.theta / free.kappa * laws.pool, free.ceiling)
        self.c, self.gain = free.kappa * laws.common, np.maximum(pool, laws.floor)
        self.empty, self.n, self.laws = free.kappa - free.kappa * laws.blanket, n, laws
        # What delta leaves for the labels after the tail.
        paid = laws.paid(free.kappa, free.theta) * math.exp(min(-free.log_delta, 700.0))
        left = free.log_delta + math.log(max(1.0 - paid, _LEAST))
        self.alpha, self.middle = free.alpha, 1.0
        if laws.few and not self.about_mean:
            self.middle = self._middle(left)
        self.room = self.room_for(free.alpha, left)
        self.y, self.widths = noise.outputs(min(free.log_delta, -20.0) - 15.0)
        # Derivative of a label's log J in the stretch eta: alpha^2 Var.
        self.slope = (free.alpha * free.scale) ** 2
        self.last = (boxes[0], boxes[-1])
        below, above = (
            np.array([0.5 * math.erfc(sign * y / noise.width / math.sqrt(2)) for y in boxes])
            for sign in (-1, 1)
        )
        self.masses = np.where(boxes[:-1] < 0, np.diff(below), -np.diff(above))
        self.worst = max(self._log(1.0, 0.0), self._log(0.0, 1.0))

    def room_for(self, alpha: float, log: float, sign: float = 1.0) -> float:
        """Value of E(e^w - 1 - w) at which (c0 + d0)^n/(2 alpha n) is a share of e^log.

        ``sign``: -1 if all gains are negated.
        """
        mean = sign * alpha * self.b * (1 - self.a) * self.middle
        return self._left(alpha, log, sign) * math.exp(-mean) - 1

    def _left(self, alpha: float, log: float, sign: float = 1.0) -> float:
        """The same for m = 0, plus 1."""
        c0 = float(self.c @ np.exp(sign * alpha * self.gain))
        goal = math.exp((math.log(2 * alpha * self.n * _ROOM) + log) / self.n)
        return (goal - c0 - self.empty) / (1 - self.free.kappa)

    def _middle(self, log: float) -> float:
        """m/(b (1 - a)) such that remainders have some room.

        Stretching about m raises silent gains by eta |m|: among few users, an m at the mean costs
        more than it is worth.
        """
        left, room = self._left(self.alpha, log), _FEW_ROOM / self.n
        if not left > 0.0:
            return 1.0
        return min(math.log((1.0 + room) / left) / (self.alpha * self.b * (self.a - 1)), 1.0)

    def _log(self, x0: float, x1: float, x: float = 0.0, eta: float = 0.0) -> float:
        """An estimate of log J of a label stretched by eta, up to a constant.

        For many users it is n E(e^(alpha X) - 1 - alpha X), as all labels have the same E X.
        """
        f, mean = self.noise.density, self.b * (1 - self.a)
        own = np.maximum(f(self.y - x), _TINY)
        gain = self.b * (f(self.y - x0) - self.a * f(self.y - x1)) / own
        middle = mean * self.middle
        gain = np.minimum(middle + (gain - middle) / (1 - eta), self.free.ceiling)
        if self.laws.few:
            kept = (1 - self.free.kappa) * own * self.widths, np.maximum(gain, self.laws.floor)
            law = np.append(kept[0], self.empty), np.append(kept[1], 0.0)
            mean = float(self.c @ self.gain + kept[0] @ kept[1])
            return self.laws.value_of((self.c, self.gain), law, self.alpha, 0.0, mean)[1]
        power = np.clip(self.free.alpha * gain, -700, 300)
        return self.n * float((own * self.widths) @ (np.expm1(power) - power))

    def slack(self, row: int) -> Callable[[float], float]:
        """The allowed stretch at each place, for labels of row (A), (B) or (C) (0, 1 or 2)."""
        if row == 2:
            return self._slack(
                lambda x, eta: max(self._log(*ends, x, eta) for ends in ((1.0, 0.0), (0.0, 1.0))),
                0.5,
            )
        return self._slack(lambda v, eta: self._log(*((v, 1.0) if row else (1.0, v)), 0.0, eta))

    def _slack(self, label: _Label, end: float = 1.0) -> Callable[[float], float]:
        """The stretch at which a label is about as bad as the worst one, by place."""

        def eta(v: float) -> float:
            found = min(max((self.worst - label(v, 0.0)) / self.slope, 0.0), 0.9)
            # Among few users a stretch costs more than its first order.
            while found > self.detail.first and label(v, found) > self.worst:
                found *= 0.8
            return found

        places = end * np.linspace(0, 1, 25) ** 2
        values = np.array([eta(float(v)) for v in places])
        return lambda v: float(np.interp(v, places, values))

    def stretch(self, v: float, step: float, *, second: bool) -> float:
        """The least eta at which the remainder's bound fits: E(e^(q/eta) - 1 - q/eta) <= room."""
        if not 0.0 < self.room < math.inf:
            raise NotCertified("label stealing: numbers at which no cover of all inputs is known")
        above, below, mass = self._bend(v, v + step)
        above, below = (below, above) if second else (above, below)
        size, far = self.b * (1.0 if second else self.a), 0.0
        if self.noise.normal:
            ends = self.last[1] - v - step, v - self.last[0]
            far = sum(0.5 * math.erfc(z / self.noise.width / math.sqrt(2)) for z in ends)
        top = self.alpha * size
        return _least((top * above, top * below), mass, top * far, self.room)

    def _bend(self, v: float, w: float) -> tuple[Floats, Floats, Floats]:
        """Per box, the certificate's upper and lower bound of (chord - f_u)/f_0, and its mass."""
        low, high = self.low, self.high
        step, width = w - v, self.noise.width
        if not self.noise.normal:
            both = np.unique(np.concatenate([low, high, [v, w]]))
            low, high = np.append(both[:-1], [0.0, 1.0]), np.append(both[1:], [0.0, 1.0])
            far = np.maximum(np.maximum(low - w, v - high), 0.0)
            top = step**2 / (8 * width**2) * np.exp((high - far) / width)
            inside = np.exp(high / width) * min(-math.expm1(-step / width), step / (2 * width))
            below = np.where((low < w) & (high > v), inside, 0.0)
            mass = 0.5 * (np.exp(-low / width) - np.exp(-high / width))
            mass[-2:] = 0.5 * np.exp(-low[-2:] / width)
            return top, below, mass
        turn, u = 1 / width**2, np.clip(high, v, w)
        far = np.maximum(np.abs(low - w), np.abs(high - v))
        near = np.maximum(np.maximum(low - w, v - high), 0.0)
        bent = np.maximum(np.abs(turn * far**2 - 1), np.abs(turn * near**2 - 1))
        top = step**2 / 8 * turn * bent * np.exp(turn * u * (high - u / 2))
        return top, top, self.masses

    def row(self, *, second: bool) -> Row:
        """Grid of (A) or (B), with the longest steps whose eta is allowed at both of their ends."""
        slack = self.slack(int(second))
        power = 2.0 if self.noise.normal else 1.5

        def allowed(v: float) -> float:
            return min(max(self.detail.first, self.detail.share * slack(v)), 0.5)

        places, stretch, step = [0.0], [], 0.02
        while places[-1] < 1.0:
            v = places[-1]
            step, eta = min(4 * step, 1.0 - v), 1.0
            for _ in range(30):
                eta = self.stretch(v, step, second=second)
                limit = min(allowed(v), allowed(v + step))
                if eta <= limit or step < _SHORTEST:
                    break
                step *= max(0.1, 0.95 * (limit / eta) ** (1 / power))
            if v + step > 0.999:
                step = 1.0 - v
                eta = self.stretch(v, step, second=second)
            if not step > _SHORTEST or len(places) > _MOST_PLACES:
                raise NotCertified("label stealing: a cover of too many inputs")
            places.append(min(v + step, 1.0))
            # A larger stretch than needed costs nothing where there is slack.
            stretch.append(min(max(eta, 0.6 * min(allowed(v), allowed(places[-1]))), 0.9))
        return Row(tuple(map(float, places)), tuple(map(float, stretch)))

    def third(self) -> tuple[float, ...]:
        """Grid of (C) from 0 to 1/2."""
        slack = self.slack(2)
        cost = (2.0 if self.noise.normal else 0.125) / self.noise.width**2
        places = [0.0]
        while places[-1] < 0.5:
            x, step = places[-1], 0.25
            for _ in range(60):
                apart = 0.5 * self.detail.share * min(slack(x), slack(x + step))
                limit = max(self.detail.first, apart)
                if cost * step**2 <= limit:
                    break
                step *= 0.8
            if len(places) > _MOST_PLACES:
                raise NotCertified("label stealing: a cover of too many inputs")
            places.append(min(x + step, 0.5))
        return tuple(places)


def _least(ranges: tuple[Floats, Floats], mass: Floats, linear: float, room: float) -> float:
    """The least eta with E sup (e^w - 1 - w) + linear/eta <= room, by Newton's method.

    ``ranges``: p and q, where w is between -q/eta and p/eta in each box.
    """
    up, down = ranges
    # A single box, as a start from above: e^p - 1 - p = share, or e^-q - 1 + q = share.
    share = room / np.maximum(mass, _TINY)
    root = np.sqrt(2 * share)
    most = np.minimum(root, np.log1p(share + root)) / np.maximum(up, _TINY)
    inverse = min(float(most.min()), float(((share + root) / np.maximum(down, _TINY)).min()))
    for _ in range(40):
        rise, fall = _rest(inverse * up), _rest(-inverse * down)
        value = float(mass @ np.maximum(rise, fall)) + linear * inverse - room
        slopes = np.where(
            rise >= fall, up * np.expm1(inverse * up), -down * np.expm1(-inverse * down)
        )
        move = value / (float(mass @ slopes) + linear)
        inverse -= move
        if abs(move) < 1e-3 * inverse:
            break
    return 1.001 / inverse


def _rest(z: Floats) -> Floats:
    """e^z - 1 - z."""
    return np.where(np.abs(z) < _SMALL, z * z * (0.5 + z / 6), np.expm1(z) - z)
