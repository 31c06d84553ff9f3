"""The bound with one distinguished gain in balls: docs/theory-stealing.md, section 9.

Measures are split at ``start``: gains above it are jumps. For the others' sum three kinds of bounds
are taken at tilts that the certificate gives, with jumps silent (gain 0) or cut at ``ceiling``:

    S = J_n(silent),    h(x) <= e^(alpha x) J_N,    h(x) <= x/N + means + e^(-alpha x) J_N(negated),

N = n - 1, and integrated over the jumps (Theorems 9.1 to 9.3). The three edges of triples are
covered by the certificate's grids: any grids from 0 to 1, tilts and splits are valid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from shuffledp.arithmetic.balls import arb, ctx, float_above
from shuffledp.errors import NotCertified, ParameterError

from .moments import Few, Spread
from .outputs import rational_ball
from .registry import seen
from .spans import Bend, Cells, Noise, Triple, cells_of, end_points, noise_on
from .stealing import Atom, Line, Tilted, log_chernoff, log_sum, step_for, tilted

__all__ = ["ALONE_LISTS", "ALONE_NUMBERS", "log_delta_alone"]

Numbers = Mapping[str, Any]

ALONE_NUMBERS = ("kappa", "theta", "start", "ceiling", "floor", "alpha", "smooth")
ALONE_LISTS = ("forward", "backward", "second", "first", "others")

# Bits: n log(c + d) for n up to 10^15 leaves more than 60 of them.
_BITS = 128
# Cells of the worst triples, of others, and of the look that tells which these are.
_CELLS, _FEW_CELLS = 320, 80
# In log delta: triples that near the worst one have the finer cells.
_NEAR = 2.0
# Outputs so many deviations below the interval, or above where jumps start, have wider cells.
_BELOW, _ABOVE = 3.0, 1.0
# Half of the smoothing that is given: any is valid, and this leaves room for other cells.
_LESS = 0.5
# In log J: types that near the worst may stand for it.
_SPARE = 1e-3
# A group of types has jumps down to so much of the first's; the last has the rest.
_SHARES = (0.95, 0.8, 0.5, 0.2, 0.05)
_MOST_TILTS, _MOST_POINTS = 60, 400
# A sum that would take more nodes, where few do not do, is left to the bound by moments.
_MOST_NODES = 2_000
# How much of unbounded noise is looked at where nothing is claimed.
_LOG_CUT = -60.0


def log_delta_alone(
    mechanism: Mapping[str, Any],
    numbers: Numbers,
    *,
    n: int,
    epsilon: float,
    guess: float | None = None,
    finer: int = 1,
) -> float:
    """A float certainly not below log of the bound with one distinguished gain at eps.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}, of normal noise on an interval.
    numbers : mapping
        ``ALONE_NUMBERS``, and the lists ``ALONE_LISTS``: tilts, and for each edge of triples the
        places of x1, x0 and x from 0 to 1.
    n : int
        Users, the victim included, 3 <= n <= 10**15.
    epsilon : float
        eps >= 0 in nats.
    guess : float, optional
        About log delta: how much of the noise has to be looked at.
    finer : int
        So many times as many cells where they are fine: what they cost falls by about the square
        of it, and the time grows by it.

    Raises
    ------
    ParameterError
        For numbers out of range.
    NotCertified
        For other mechanisms, and where it would be too much work.
    """
    if not seen(mechanism).normal:
        raise NotCertified(f"lone-jump of {mechanism['name']} is not recomputed")
    if n < 3:
        raise ParameterError(f"n = {n}: one distinguished gain wanted at least three users")
    if not (math.isfinite(epsilon) and epsilon >= 0.0):
        raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number >= 0")
    with ctx.workprec(_BITS):
        at = _numbers(numbers)
        noise = noise_on(mechanism, _LOG_CUT if guess is None else guess)
        noise = replace(noise, bulk=_bulk(noise, at))
        triples = _covered(noise, numbers)
        return _log_bound(_laws(noise, triples, at, arb(epsilon).exp(), n, finer), at, n)


# ------------------------------------------------------------------------------- free numbers


class _Free(NamedTuple):
    kappa: arb
    theta: arb
    start: arb
    ceiling: arb
    floor: arb
    alpha: float
    smooth: float
    forward: tuple[float, ...]
    backward: tuple[float, ...]


def _numbers(numbers: Numbers) -> _Free:
    found = {key: _finite(key, numbers.get(key)) for key in ALONE_NUMBERS}
    if not 0.0 < found["kappa"] < 1.0:
        raise ParameterError(f"kappa = {found['kappa']!r}: wanted a number between 0 and 1")
    if not found["theta"] <= 1.0:
        raise ParameterError(f"theta = {found['theta']!r}: wanted a number from 0 to 1")
    for key in ("ceiling", "alpha", "smooth"):
        if not found[key] > 0.0:
            raise ParameterError(f"{key} = {found[key]!r}: wanted a number > 0")
    kappa, theta, start = (arb(found[key]) for key in ("kappa", "theta", "start"))
    ceiling, floor = arb(found["ceiling"]), arb(found["floor"])
    forward, backward = (_tilts(key, numbers.get(key)) for key in ("forward", "backward"))
    if not forward:
        raise ParameterError("forward = []: wanted tilts")
    tilt, smooth = found["alpha"], found["smooth"]
    return _Free(kappa, theta, start, ceiling, floor, tilt, smooth, forward, backward)


def _finite(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"{key} = {value!r}: wanted a finite number >= 0")
    if not (math.isfinite(value) and value >= 0.0):
        raise ParameterError(f"{key} = {value!r}: wanted a finite number >= 0")
    return float(value)


def _tilts(key: str, values: object) -> tuple[float, ...]:
    if not isinstance(values, Sequence) or len(values) > _MOST_TILTS:
        raise ParameterError(f"{key}: wanted a list of at most {_MOST_TILTS} tilts")
    found = tuple(_finite(key, value) for value in values)
    if not all(value > 0.0 for value in found):
        raise ParameterError(f"{key}: wanted tilts > 0")
    return found


def _grid(key: str, values: object) -> list[Fraction]:
    """Places from 0 to 1, each larger than the one before."""
    if not isinstance(values, Sequence) or not 2 <= len(values) <= _MOST_POINTS:
        raise ParameterError(f"{key}: wanted 2 to {_MOST_POINTS} places from 0 to 1")
    found = [Fraction(_finite(key, value)) for value in values]
    rising = all(a < b for a, b in itertools.pairwise(found))
    if not (rising and found[0] == 0 and found[-1] == 1):
        raise ParameterError(f"{key}: wanted places from 0 to 1, each larger than the one before")
    return found


# --------------------------------------------------------------------------- triples and measures


def _bulk(noise: Noise, at: _Free) -> tuple[Fraction, Fraction]:
    """Outputs that matter: in floats, any range is valid."""
    b = noise.width
    scale = float(((1 - at.kappa) / (1 - at.theta).max(arb(1e-300))).mid())
    jumps = b * b * math.log(max(float(at.start.mid()) * scale, 1.0))
    if not math.isfinite(jumps):
        raise NotCertified("lone-jump: its numbers leave the range of floats")
    return Fraction(-_BELOW * b), Fraction(0.5 + jumps + (_ABOVE + 0.5 / b) * b)


def _covered(noise: Noise, numbers: Numbers) -> list[Triple]:
    """Theorem 6.3 with Remark 9.4: (1, v, 0), (u, 1, 0) and (1, 0, x), bent for their steps."""
    zero, one = Fraction(0), Fraction(1)
    edges: tuple[tuple[str, Callable[[Fraction], Triple], Callable[[Fraction], Bend]], ...] = (
        ("second", lambda v: Triple(one, v, zero, None, 0), lambda h: _melting(1, h)),
        ("first", lambda u: Triple(u, one, zero, None, 0), lambda h: _raised(noise, h)),
        ("others", lambda x: Triple(one, zero, x, None, 0), lambda h: _melting(2, h)),
    )
    found = []
    for key, make, bend in edges:
        points = _grid(key, numbers.get(key))
        steps = [b - a for a, b in itertools.pairwise(points)]
        for j, point in enumerate(points):
            h = max(steps[max(j - 1, 0)], steps[min(j, len(steps) - 1)])
            found.append(make(point)._replace(bend=bend(h)))
    return found


def _melting(row: int, h: Fraction) -> Bend:
    """e^(-(h (d + h)/scale^2)^2/8) at distance d from the row's input."""
    return Bend(row, arb(1), None, 0, h)


def _raised(noise: Noise, h: Fraction) -> Bend:
    """e^(h^2/(8 scale^2)), Lemma 6.2 (iii)."""
    return Bend(0, ((rational_ball(h) / noise.scale) ** 2 / 8).exp(), None, 1)


@dataclass(frozen=True)
class _Law:
    """One part of a law: gains up to ``start`` (and the left-over), and jumps.

    ``small`` have gains of at least -floor, ``jumps`` gains above ``start``.
    """

    small: list[Atom]
    jumps: list[Atom]

    def silent(self) -> list[Atom]:
        """Jumps at gain 0."""
        return [*self.small, (self.jumped(), arb(0))]

    def cut(self, ceiling: arb) -> list[Atom]:
        """Jumps cut at the ceiling."""
        return [*self.small, *((mass, gain.min(ceiling)) for mass, gain in self.jumps)]

    def jumped(self) -> arb:
        """Mass of the jumps."""
        return sum((mass for mass, _ in self.jumps), arb(0))

    def over(self, ceiling: arb) -> arb:
        """int (x - C)_+, of gains that are no jumps too."""
        both = (*self.small, *self.jumps)
        return sum((mass * (gain - ceiling).max(arb(0)) for mass, gain in both), arb(0))


@dataclass(frozen=True)
class _Laws:
    """The reservoir, every type's labelled part with its left-over, and what is paid for sure."""

    common: _Law
    types: list[_Law]
    empty: arb
    paid: arb


def _laws(
    noise: Noise, triples: list[Triple], at: _Free, grow: arb, n: int, finer: int = 1
) -> _Laws:
    """beta = kappa B, labels (1 - kappa) R_x, joined with probability theta."""
    ends = cells_of(noise, end_points()._replace(cells=finer * _CELLS), grow)
    reservoir = [(at.kappa * m, at.theta / at.kappa * g) for m, g in ends.atoms]
    # The blanket outside the cells, its gain taken out: at most anybody's mass there.
    reservoir.append((arb(0).union(arb((at.kappa * ends.outside).upper())), arb(0)))
    mass = sum((m for m, _ in reservoir), arb(0))
    lost = arb(0)
    types: list[_Law] = []
    for cells in _cells(noise, triples, at, grow, n, finer):
        types.append(_split(_labelled(cells, at, mass), at))
        lost = lost.max((1 - at.theta) * cells.outside)
    positive = sum((m * g.max(arb(0)) for m, g in ends.atoms), arb(0)) + ends.outside
    empty = ((n - 2) * (1 - mass).log()).exp()
    paid = (1 - at.theta) * positive * empty + at.theta * ends.outside + lost
    return _Laws(_split(reservoir, at), types, empty, paid)


def _labelled(cells: Cells, at: _Free, reservoir: arb) -> list[Atom]:
    """A type's labelled part, and what is left over of it at gain 0."""
    scale = (1 - at.theta) / (1 - at.kappa)
    atoms = [((1 - at.kappa) * m, scale * g) for m, g in cells.atoms]
    rest = 1 - reservoir - sum((m for m, _ in atoms), arb(0))
    return [*atoms, (rest.nonnegative_part(), arb(0))]


def _split(atoms: list[Atom], at: _Free) -> _Law:
    """Gains raised to -floor; jumps apart. What holds ``start`` or -floor may be on either side."""
    small, jumps = [], []
    sunk = arb(0)
    for mass, gain in atoms:
        if gain > at.start:
            jumps.append((mass, gain))
        elif gain <= -at.floor:
            sunk += mass
        else:
            small.append((mass, gain))
    return _Law([*small, (sunk, -at.floor)], jumps)


def _cells(
    noise: Noise, triples: list[Triple], at: _Free, grow: arb, n: int, finer: int
) -> Iterator[Cells]:
    """Cells of each triple: more of them where a first look says that it may matter."""
    few = [cells_of(noise, triple._replace(cells=_FEW_CELLS), grow) for triple in triples]
    tilts = {at.alpha, at.forward[0], at.forward[-1]}
    levels = []
    for cells in few:
        law = _split(_labelled(cells, at, arb(0)), at)
        levels.append([n * _exponent(law, tilt) for tilt in tilts])
    best = [max(column) for column in zip(*levels, strict=True)]
    for triple, cells, level in zip(triples, few, levels, strict=True):
        if any(value > top - _NEAR for value, top in zip(level, best, strict=True)):
            yield cells_of(noise, triple._replace(cells=finer * _CELLS), grow)
        else:
            yield cells


def _exponent(law: _Law, tilt: float) -> float:
    """About log of the transform without jumps: it only says where cells have to be fine."""
    total = sum((mass * (tilt * gain).exp() for mass, gain in law.silent()), arb(0))
    return float(total.log().mid())


# ------------------------------------------------------------------------------------- the bound


def _log_bound(laws: _Laws, at: _Free, n: int) -> float:
    """Theorem 9.3."""
    groups = _groups(laws.types, at.start)
    around = _Around(laws, groups, at, n)
    whole = range(len(groups))
    shared = list(around.sums(at.alpha, n))
    one = [[arb(0) for _ in whole] for _ in whole]
    for silent in (True, False):
        choose = around.around(silent=silent)
        reservoir = _beside(laws.common, choose, len(groups))
        labels = [_beside(law, choose, len(groups)) for law in laws.types]
        for y in whole:
            shared[y] += arb(n - 1) / 2 * reservoir[y]
            for x in whole:
                most = _largest([labels[j][y] for j in groups[x]])
                one[x][y] += arb(n - 1) / 2 * most
    both = [(shared[x] + shared[y] + one[x][y] + one[y][x]) / 2 for x in whole for y in whole]
    return float_above((laws.paid + _largest(both)).log())


def _largest(values: Sequence[arb]) -> arb:
    found = values[0]
    for value in values[1:]:
        found = found.max(value)
    return found


def _beside(law: _Law, around: Callable[[arb], list[arb]], groups: int) -> list[arb]:
    """Integral of h over the jumps, for each group of the others."""
    found = [arb(0)] * groups
    for mass, gain in law.jumps:
        found = [sofar + mass * h for sofar, h in zip(found, around(gain), strict=True)]
    return found


def _groups(types: Sequence[_Law], start: arb) -> list[list[int]]:
    """Types with about as much in jumps, those with the most first; any partition is valid."""
    size = [_size(law, start) for law in types]
    found: list[list[int]] = [[] for _ in range(len(_SHARES) + 1)]
    for j, part in enumerate(size):
        found[sum(part < share * max(size) for share in _SHARES)].append(j)
    return [group for group in found if group]


def _size(law: _Law, start: arb) -> float:
    """About what a user's jumps are worth."""
    return float(sum((mass * (gain - start) for mass, gain in law.jumps), arb(0)).mid())


def _room(types: Sequence[_Law], groups: list[list[int]], start: arb) -> list[float]:
    """log of how much larger a group's h may be than the first's, and not matter.

    Where its users have a share r of the first's jumps, (2 - r) h costs nothing: any is valid.
    """
    size = [max(_size(types[j], start) for j in group) for group in groups]
    if not size[0] > 0.0:
        return [0.0] * len(groups)
    return [math.log(2.0 - min(part / size[0], 1.0)) for part in size]


class _Around:
    """Bounds of what surrounds a jump, for data sets of each group of types alone."""

    def __init__(self, laws: _Laws, groups: list[list[int]], at: _Free, n: int) -> None:
        self._laws, self._groups, self._at, self._n = laws, groups, at, n
        self._room = _room(laws.types, groups, at.start)
        silent = [law.silent() for law in (laws.common, *laws.types)]
        cut = [law.cut(at.ceiling) for law in (laws.common, *laws.types)]
        negated = [[(mass, -gain) for mass, gain in atoms] for atoms in silent]
        self._atoms = {True: silent, False: cut}
        self._forward = {
            key: [(t, self._worst(atoms, t, n - 1, self._room)) for t in at.forward]
            for key, atoms in self._atoms.items()
        }
        # Cut jumps are at higher gains than silent ones: the same negated sums serve.
        self._backward = [(t, self._worst(negated, t, n - 1, self._room)) for t in at.backward]
        over = [law.over(at.ceiling) for law in (laws.common, *laws.types)]
        self._over = over[0] + _largest(over[1:])

    def sums(self, tilt: float, n: int) -> Iterator[arb]:
        """J_n without jumps, of each group."""
        sharp = [0.0] * len(self._groups)
        return (arb(value).exp() for value in self._worst(self._atoms[True], tilt, n, sharp))

    def _worst(
        self, atoms: list[list[Atom]], tilt: float, n: int, room: list[float]
    ) -> list[float]:
        """log of upper bounds of the largest J of each group, or so little that it is no matter."""
        common, *laws = [tilted(law, tilt) for law in atoms]
        smoothing = _LESS * self._at.smooth / tilt
        return _Worst(common, laws, tilt, smoothing, n).of(self._groups, room)

    def _line(self, *, silent: bool) -> list[arb] | None:
        """The means' part of Theorem 9.2 (ii), of each group; None unless all are losses."""
        first, *means = [_mean(atoms) for atoms in self._atoms[silent]]
        if not (first <= 0 and all(mean <= 0 for mean in means)):
            return None
        share = 1 - self._laws.empty
        return [first + share * _largest([means[j] for j in group]) for group in self._groups]

    def around(self, *, silent: bool) -> Callable[[arb], list[arb]]:
        """h at each x >= 0, of each group: one tilt for all groups, the best for the first."""
        forward, line = self._forward[silent], self._line(silent=silent)
        backward = self._backward if line is not None else []
        slope = arb(1) / (self._n - 1)
        over = arb(0) if silent else self._over

        def values(x: arb) -> list[arb]:
            near, first = float(x.mid()), arb(0) if line is None else line[0]
            ahead = [(t * near + logs[0], t, logs) for t, logs in forward]
            found = min(ahead)
            straight = float((slope * x + first).mid())
            behind = [
                (max(straight + math.exp(min(logs[0] - t * near, 700.0)), 0.0), t, logs)
                for t, logs in backward
            ]
            if behind and min(behind)[0] < math.exp(min(found[0], 700.0)):
                _, t, logs = min(behind)
                rests = [(arb(log) - t * x).exp() for log in logs]
                starts = line or []
                sums = [slope * x + a + r for a, r in zip(starts, rests, strict=True)]
                return [value.max(arb(0)) + over for value in sums]
            _, t, logs = found
            return [(arb(log) + t * x).exp() + over for log in logs]

        return values


def _mean(atoms: Sequence[Atom]) -> arb:
    return sum((mass * gain for mass, gain in atoms), arb(0))


class _Worst:
    """The largest J of groups of types at one tilt; coarser bounds where these are enough."""

    def __init__(
        self, common: Tilted, laws: list[Tilted], alpha: float, smoothing: float, n: int
    ) -> None:
        self._common, self._laws, self._n = common, laws, n
        self._alpha, self._smoothing = alpha, smoothing
        self._chernoff = [log_chernoff(common, law, n, alpha, smoothing) for law in laws]
        step = step_for(common, laws, n, alpha)
        self._few = Few(common, n, alpha=alpha, smoothing=smoothing, step=step)
        self._spreads = [Spread(law) for law in laws]
        self._line = Line(common, alpha, smoothing, step)

    def of(self, groups: list[list[int]], room: list[float]) -> list[float]:
        """log J of each group, at least as large as the true one."""
        found: list[float] = []
        for group, more in zip(groups, room, strict=True):
            found.append(self._of(group, found[0] + more if found else -math.inf))
        return found

    def _of(self, group: list[int], enough: float) -> float:
        """Of one group; all below ``enough`` is as good as that."""
        best = enough
        likely = [j for j in group if self._chernoff[j] > best]
        rough = {j: min(self._chernoff[j], self._few.by_moments(self._spreads[j])) for j in likely}
        for j in sorted(likely, key=rough.__getitem__, reverse=True):
            if rough[j] <= best + _SPARE:
                return max(best, rough[j])
            value = self._few.sharp(self._spreads[j])
            if not math.isfinite(value) and self._line.nodes <= _MOST_NODES:
                value = log_sum(self._line, self._laws[j], self._n)
            best = max(best, min(value, rough[j]))
        return best
