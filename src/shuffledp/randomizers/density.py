"""Density: any density of a report given a value, as a function that is evaluated on balls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb, ctx, float_above
from shuffledp.ball.given import Piece, Table, tabulate
from shuffledp.ball.record import WorstPairs
from shuffledp.bounds.continuous import Cells
from shuffledp.errors import NotCertified, rejected
from shuffledp.kernel.cells import Cell, Corner
from shuffledp.mechanism.parameters import IntervalHigh, IntervalLow, whole
from shuffledp.randomizers.base import Input, Reports
from shuffledp.randomizers.means import Floats, OnInterval
from shuffledp.randomizers.noise import to_lattice
from shuffledp.randomizers.values import real_values
from shuffledp.randomness import Choice, RandomSource
from shuffledp.theorems import ALL_PAIRS
from shuffledp.values.work import Answers, Beside

Function = Callable[[Any, Any], Any]
# Bits of the table that is sampled from, and digits of a cell's probability: it is known to 2^-64.
_BITS, _DIGITS = 128, 80
# Laws of inputs that are as good as linearly dependent leave nothing to estimate with.
_WORST_CONDITION = 1e10
# The victim's inputs: with them alone the reference is the blanket.
_PAIR = 2
# Places between two inputs at which the variance is looked at.
_BETWEEN = 64


@dataclass(frozen=True, kw_only=True, repr=False)
class Density(OnInterval):
    """A mechanism of your own for a value in [low, high], by the density of its report.

    The density is written with Python's arithmetic and ``shuffledp.functions`` (exp, log, sqrt,
    absolute, maximum, minimum, where), and is evaluated on balls: masses of cells and ranges of
    likelihood ratios are certified without any further word about its shape, which may be any. It
    need not be normalised: for every input it is divided by its integral over the outputs.

    A value is rounded to one of ``points`` inputs at even distances from low to high, at random and
    without bias. So there are finitely many inputs: the blanket is that of these, all their ordered
    pairs are evaluated, and nothing is assumed. Other values are mixtures of two of them.

    A density is code and cannot be written to a file: it has no command and no certificate.

    Parameters
    ----------
    pdf : callable
        (y, x) -> the density of the report y under the input x, but for a factor that may depend on
        x. It is called with y a power series and x a number, both of python-flint.
    outputs : tuple of float
        The interval of reports. Of noise that has no end choose it so wide that hardly any is
        beyond: reports have the law of those inside.
    low, high : float
        The interval of values.
    points : int
        Inputs, 2 to 9, low and high among them.

    Notes
    -----
    Reports are float64: middles of the cells of the law, some thousand of them, drawn with their
    probabilities to 2^-64. Bounds are those of the density itself, of which a cell is a function.

    The estimate is unbiased for every density under which the inputs' laws are linearly
    independent: with f the mean of the laws f_i of the inputs x_i, a report y counts as
    sum_i c_i f_i(y)/f(y), where sum_i c_i int f_i f_j/f = x_j for all j.

    Examples
    --------
    Logistic noise of scale 1/4 on [0, 1]:

    >>> import shuffledp as sd
    >>> from shuffledp.functions import exp
    >>> def logistic(y, x):
    ...     u = exp(4.0 * (y - x))
    ...     return u / ((1 + u) * (1 + u))
    >>> noise = sd.Density(pdf=logistic, outputs=(-8.0, 9.0), points=2)
    >>> bound = sd.shuffle(noise, n=10_000, rtol=1e-3).epsilon(delta=1e-6)
    >>> 0.16 < bound.lower < bound.upper < 0.23
    True
    """

    dense: ClassVar[bool] = True
    listed: ClassVar[bool] = False
    name: ClassVar[str] = "density"
    summary: ClassVar[str] = "a mechanism of your own on an interval, by its density"
    pdf: Function
    outputs: tuple[float, float]
    low: IntervalLow = 0.0
    high: IntervalHigh = 1.0
    points: Annotated[int, whole(low=2, high=9)] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.pdf):
            raise rejected("pdf", self.pdf, "a function of a report and an input")
        try:
            low, high = (_check.real("outputs", y) for y in self.outputs)
        except (TypeError, ValueError):
            raise rejected("outputs", self.outputs, "a pair of numbers") from None
        if not low < high:
            raise rejected("outputs", self.outputs, "an interval")
        object.__setattr__(self, "outputs", (low, high))

    # ------------------------------------------------------------------------------- its law

    @property
    def inputs(self) -> tuple[float, ...]:
        """The inputs that values are rounded to."""
        return tuple(float(x) for x in np.linspace(self.low, self.high, self.points))

    def index(self, x: Any) -> int:
        """Which of the inputs this is; ParameterError where it is none."""
        value = _check.real("input", x, low=self.low, high=self.high)
        if value not in self.inputs:
            raise rejected("input", x, f"one of {self.inputs}")
        return self.inputs.index(value)

    def table(self, bits: int) -> Table:
        """Cells of the outputs at a precision of at least this many bits."""
        precision = max(_BITS, -(-bits // 64) * 64)

        def made() -> Table:
            with ctx.workprec(precision):
                return tabulate(self.pdf, self.inputs, self.outputs)

        return _FOUND.of(self).answer(("table", precision), made)

    def cells(self, inputs: Sequence[Input]) -> Cells:
        """Cells under the victim's two inputs, against the blanket or against a third input.

        On a cell the blanket of the inputs is at least k f_r, for any input r and k at most f_i/f_r
        for all inputs i: r is about the one of the smallest density, so that k is 1 on most cells.
        """
        table = self.table(ctx.prec)
        i, j, *others = (self.index(x) for x in inputs)
        cells, p, q, outside = [], arb(0), arb(0), False
        for piece in table.pieces:
            own = table.mass(piece, i), table.mass(piece, j)
            r, share = (others[0], arb(1)) if len(inputs) > _PAIR else _least(table, piece)
            mass = share * table.mass(piece, r)
            (u_low, u_high), (v_low, v_high) = (table.ratio(piece, x, r) for x in (i, j))
            if mass > 0 and piece.value[r] > 0 and share > 0:
                bottom, top = (
                    Corner(u_low / share, v_high / share),
                    Corner(u_high / share, v_low / share),
                )
                cells.append(Cell(mass, *own, bottom, top))
            else:
                p, q = p + own[0], q + own[1]
                outside |= any(not x.is_zero() for x in own)
        return Cells(cells, p, q, outside)

    @property
    def eps0(self) -> float:
        """The largest log ratio of two densities, rounded up; inf if there is none."""
        return _FOUND.of(self).answer("eps0", self._largest_loss)

    def _largest_loss(self) -> float:
        table, every = self.table(_BITS), range(self.points)
        largest = arb(1)
        with ctx.workprec(_BITS):
            for piece in table.pieces:
                for i in every:
                    if piece.value[i].is_zero():
                        continue
                    for j in every:
                        largest = largest.max(table.ratio(piece, i, j)[1])
            if largest <= 1:
                return 0.0
            found = float_above(largest.log()) if largest.is_finite() else math.inf
        return found if found <= _check.LARGEST_EPS0 else math.inf

    def worst_pairs(self) -> WorstPairs:
        """All ordered pairs of the inputs."""
        pairs = ((x0, x1) for x0 in self.inputs for x1 in self.inputs if x0 != x1)
        return WorstPairs(tuple(pairs), ALL_PAIRS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at the end points, all others at one of the inputs."""
        return tuple((self.low, self.high, x2) for x2 in self.inputs)

    def parameters(self) -> dict[str, Any]:
        """Functions cannot be written to a file: refused."""
        msg = "density: given by a function, which cannot be written to a file or read from one"
        raise NotCertified(msg)

    # ---------------------------------------------------------------------------- running it

    @property
    def chances(self) -> tuple[Floats, Floats]:
        """Edges of the cells, and each cell's probability under each input."""
        return _FOUND.of(self).answer("chances", self._chances)

    def _chances(self) -> tuple[Floats, Floats]:
        table = self.table(_BITS)
        with ctx.workprec(_BITS):
            rows = [[float(table.mass(p, i)) for p in table.pieces] for i in range(self.points)]
        edges = [p.left for p in table.pieces] + [table.pieces[-1].right]
        return np.array(edges), np.array(rows)

    def _choices(self) -> list[Choice]:
        """The law of the cell under each input."""
        table = self.table(_BITS)
        with ctx.workprec(_BITS):
            rows = [[table.mass(p, i) for p in table.pieces] for i in range(self.points)]
            return [Choice([_units(mass) for mass in row]) for row in rows]

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        choices = _FOUND.of(self).answer("choices", self._choices)
        edges = self.chances[0]
        place = np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)
        own = to_lattice(place, self.points - 1, source)
        reports = np.empty(len(values))
        for i, law in enumerate(choices):
            users = np.flatnonzero(own == i)
            cells = source.choose(law, users.size)
            reports[users] = 0.5 * (edges[cells] + edges[cells + 1])
        return reports

    # ------------------------------------------------------------------------------ estimating

    def variance(self, frequency: float = 0.0) -> float:
        """The largest over the values: that of the report's number, and of the rounding."""
        del frequency
        _, chances = self.chances
        second = chances @ self._numbers**2
        values = np.linspace(self.low, self.high, _BETWEEN * (self.points - 1) + 1)
        return float((np.interp(values, self.inputs, second) - values**2).max())

    @property
    def _numbers(self) -> Floats:
        """What each cell counts as."""
        return _FOUND.of(self).answer("numbers", self._solved)

    def _solved(self) -> Floats:
        _, chances = self.chances
        mean = chances.mean(axis=0)
        shares = np.divide(chances, mean, out=np.zeros_like(chances), where=mean > 0.0)
        products = chances @ shares.T
        if not np.linalg.cond(products) <= _WORST_CONDITION:
            raise NotCertified("density: the inputs' laws are too much alike to estimate a mean")
        return np.linalg.solve(products, np.array(self.inputs)) @ shares

    def _unbiased(self, reports: ArrayLike) -> Floats:
        column = real_values(reports, *self.outputs, name="reports")
        edges = self.chances[0]
        cells = np.clip(np.searchsorted(edges, column, side="right") - 1, 0, edges.size - 2)
        return self._numbers[cells]


def _least(table: Table, piece: Piece) -> tuple[int, arb]:
    """About the input of the smallest density, and k."""
    every = range(len(table.whole))
    r = min(every, key=lambda x: float(table.mass(piece, x)))
    share = arb(1)
    for x in every:
        share = share.min(table.ratio(piece, x, r)[0])
    return r, share.lower()


def _units(mass: arb) -> int:
    """The mass in units of 2^-80."""
    return int((mass.mid() * 2**_DIGITS).floor().unique_fmpz() or 0)


_FOUND: Beside[Density, Answers] = Beside(lambda _: Answers())
