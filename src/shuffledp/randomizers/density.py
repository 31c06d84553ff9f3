"""Additive noise given by its own density and distribution function."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp._check import exact
from shuffledp.arithmetic.floats import Array
from shuffledp.ball.record import WorstPairs
from shuffledp.errors import NotCertified, ParameterError, rejected
from shuffledp.mechanism import (
    IntervalHigh,
    IntervalLow,
    Number,
    OrInfinity,
    OrNone,
    Positive,
    Switch,
    Whole,
)
from shuffledp.randomizers.additive import finite_reports, places
from shuffledp.randomizers.base import DEFAULT_CELLS, Reports
from shuffledp.randomizers.density_grid import PLACES, Grid, density_grid
from shuffledp.randomizers.density_law import Shape, called, density_law, middle_half, reaches
from shuffledp.randomizers.law import StatedLaw
from shuffledp.randomizers.means import Floats, MeanRandomizer
from shuffledp.randomizers.noise import bits_for, plus, to_lattice, whole
from shuffledp.randomizers.values import blocks, real_values
from shuffledp.randomness import RandomSource
from shuffledp.theorems import ASSUMED_PAIRS, END_POINTS
from shuffledp.values.work import Answers, Beside

Function = Callable[[Any], Any]
_FEWEST_CELLS = 1 << 10
_FINER = 32
_HALVINGS = 80
_PANELS = 4000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_LARGEST_REL = 1e-9
_LARGEST_GRID = 9


_Reach = Annotated[
    float | None,
    OrNone(Number(low=lambda m: 2.0 * (m.high - m.low), high=lambda m: 2e12 * (m.high - m.low))),
]


@dataclass(frozen=True, kw_only=True, repr=False)
class Density(MeanRandomizer, listed=False):
    """Noise of your own added to a value in [low, high], given by functions.

    f_x(y) = f(y - x). The functions are black boxes, so the bounds rest on what is said of them:
    that they belong to one density, to a relative error ``rel``, and on its shape. Both are printed
    with every bound. What can be checked is checked on every cell of every law: values,
    monotony, symmetry and concavity at all cut points, and that the distribution function grows as
    the density says (between the least and the largest value of a monotone density; between chords
    and prolonged chords of a log-concave one). A contradiction is refused, naming the argument.

    Symmetric noise that is log-concave, or falls away from 0, has the two ends of the interval as
    its worst pair (docs/theory.md, Theorem 4.6). For other noise no theorem names it: the pairs of
    a grid of inputs are evaluated, and that the worst is among them is printed as an assumption.

    A density is code and cannot be written to a file: it has no command and no certificate.

    Parameters
    ----------
    cdf : callable
        P(Z <= z): array of floats -> array of the same shape, accurate to a relative error ``rel``
        where it is small.
    logpdf, pdf : callable
        Natural logarithm of the density, or the density; one of the two.
    sf : callable, optional
        P(Z > z), likewise; not needed where the noise is symmetric.
    low, high : float
        The interval of inputs.
    symmetric : bool
        f(-z) = f(z).
    log_concave : bool
        log f is concave: all likelihood ratios are monotone. Gives the narrowest cells.
    turns : tuple of float
        For noise that is not log-concave: the density is monotone between neighbouring ones and on
        either side of them; 0 alone for noise with a single peak at 0.
    rel : float
        Relative error of the functions, 2^-53 to 1e-9; logpdf: rel (1 + |logpdf|), absolute.
    eps0 : float
        Local guarantee in nats, if there is one: log f changes by no more over high - low. It
        is checked on the cells.
    reach : float, optional
        The functions are not called for |z| above it; by default until 1e-300 are left.
    grid : int
        Where no theorem names the worst pair: all ordered pairs of so many inputs, 2 to 9.

    Notes
    -----
    Reports are float64, middles of cells of a lattice. Noise is drawn by inverting ``cdf`` in
    floating point, from uniform numbers with 52 digits of their own; its cell and the value's are
    added as whole numbers, and what is sent is a function of this sum alone: its cell up to twice
    the interval's length from ``low``, and beyond one of a coarser lattice, the same for all sums
    between neighbouring powers of 2. Widths are such that, for every value, the probability of a
    cell that is sent is off by a relative 2^-18 or so at most: by the error ``rel`` of the
    functions, and by the number of draws in it. The bounds do not cover that. Where no width is
    enough, as in a gap between two parts of the noise, nothing is sampled (``NotCertified``).

    The lattice is 2^32 times finer than the interval and the noise's middle half if ``rel`` is
    small enough; about 2^26 times at 1e-14, 2^9 times at 1e-9. Standard errors rest on a numerical
    integral of z^2.

    Examples
    --------
    Logistic noise of scale 1/2 on [0, 1], whose log density changes by at most 2 over it:

    >>> import numpy as np
    >>> from scipy.special import expit, log_expit
    >>> import shuffledp as sd
    >>> noise = sd.Density(
    ...     logpdf=lambda z: np.log(2.0) + log_expit(2.0 * z) + log_expit(-2.0 * z),
    ...     cdf=lambda z: expit(2.0 * z),
    ...     log_concave=True,
    ...     eps0=2.0,
    ... )
    >>> bound = sd.shuffle(noise, n=10_000).epsilon(delta=1e-6)
    >>> 0.047 < bound.lower < bound.upper < 0.062
    True
    """

    in_files: ClassVar[bool] = False
    name: ClassVar[str] = "density"
    summary: ClassVar[str] = (
        "noise of your own on an interval, by density and distribution function"
    )
    cdf: Function
    logpdf: Function | None = None
    pdf: Function | None = None
    sf: Function | None = None
    low: IntervalLow = 0.0
    high: IntervalHigh = 1.0
    symmetric: Switch = True
    log_concave: Switch = False
    turns: tuple[float, ...] = (0.0,)
    rel: Annotated[float, Number(low=2e-16, high=_LARGEST_REL)] = 1e-14
    eps0: Annotated[float, OrInfinity(Positive(high=_check.LARGEST_EPS0))] = math.inf
    reach: _Reach = None
    grid: Annotated[int, Whole(low=2, high=_LARGEST_GRID)] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.logpdf is None) == (self.pdf is None):
            raise rejected("logpdf", self.logpdf, "a function, or pdf in its place; one of them")
        for key in ("cdf", "logpdf", "pdf", "sf"):
            value = getattr(self, key)
            if not (callable(value) or (value is None and key != "cdf")):
                raise rejected(key, value, "a function of an array of floats")
        if self.sf is None and not self.symmetric:
            msg = (
                "sf is missing: noise that is not symmetric wanted it, as 1 - cdf loses its digits"
            )
            raise ParameterError(msg)
        object.__setattr__(self, "turns", self._checked_turns())
        self.law((self.low, self.high), cells=_FEWEST_CELLS)

    def _checked_turns(self) -> tuple[float, ...]:
        try:
            given = [_check.real("turns", turn) for turn in self.turns]
        except TypeError:
            raise rejected("turns", self.turns, "a tuple of numbers") from None
        if self.symmetric:
            given += [-turn for turn in given] + [0.0]
        return tuple(sorted({turn + 0.0 for turn in given}))

    # ------------------------------------------------------------------------------- its law

    @property
    def _shape(self) -> Shape:
        return Shape(
            log_density=self._log_density,
            below=self.cdf,
            above=self._above,
            length=self.high - self.low,
            rel=self.rel,
            log_concave=self.log_concave,
            turns=self.turns,
            symmetric=self.symmetric,
            reach=self.reach,
        )

    def _log_density(self, z: Array) -> Array:
        if self.logpdf is not None:
            return self.logpdf(z)
        density = called(self._pdf, "pdf", z)
        if bool((density < 0.0).any()):
            raise rejected("pdf", float(density.min()), "a density >= 0")
        return np.log(density)

    @property
    def _pdf(self) -> Function:
        if self.pdf is None:
            raise rejected("pdf", None, "a function")
        return self.pdf

    def _above(self, z: Array) -> Array:
        return self.cdf(-z) if self.sf is None else self.sf(z)

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> StatedLaw:
        """Cells in units of the interval, every one checked against the density.

        Raises
        ------
        ParameterError
            If the functions contradict each other, or what was said of them.
        NotCertified
            If the masses of cells are not known to a relative 1e-7.
        """
        law = density_law(self._shape, places(self, inputs), cells)
        if self.eps0 < math.inf:
            self._check_eps0(law)
        return law

    def _check_eps0(self, law: StatedLaw) -> None:
        for side in (law.left, law.right):
            change = float((side.max(axis=0) - side.min(axis=0) - law.err).max())
            if change > self.eps0 * (1.0 + 1e-9) + 1e-12:
                wanted = f"at least {change:g}, the change of log f seen over high - low"
                raise rejected("eps0", self.eps0, wanted)

    def worst_pairs(self) -> WorstPairs:
        """The end points, or all ordered pairs of a grid of inputs where no theorem names them."""
        if self._shape.ends_are_farthest:
            return WorstPairs(((self.low, self.high),), END_POINTS)
        return WorstPairs(self._pairs, ASSUMED_PAIRS)

    @property
    def _pairs(self) -> tuple[tuple[float, float], ...]:
        places = [float(x) for x in np.linspace(self.low, self.high, self.grid)]
        return tuple((a, b) for a in places for b in places if a != b)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at the end points, all others at one of them or in the middle."""
        middle = 0.5 * (self.low + self.high)
        return tuple((self.low, self.high, x2) for x2 in (self.low, self.high, middle))

    def assumptions(self) -> tuple[str, ...]:
        """What the bounds take from you, in words."""
        names = ["pdf" if self.logpdf is None else "logpdf", "cdf"]
        names += [] if self.sf is None else ["sf"]
        words = [
            f"{', '.join(names)} belong to one density, to a relative error of {exact(self.rel)}"
        ]
        shape = ["symmetric"] if self.symmetric else []
        if self.log_concave:
            shape.append("log-concave")
        else:
            points = ", ".join(exact(turn) for turn in self.turns)
            shape.append(f"monotone between and outside the points {points}")
        words.append(f"that density is {' and '.join(shape)}")
        if self.eps0 < math.inf:
            words.append(f"its logarithm changes by at most {exact(self.eps0)} over high - low")
        if not self._shape.ends_are_farthest:
            words.append(
                f"the worst pair of inputs is among the {self.grid * (self.grid - 1)} ordered "
                f"pairs of {self.grid} inputs that were evaluated: assumed, not proved"
            )
        return tuple(words)

    def parameters(self) -> dict[str, Any]:
        """Functions cannot be written to a file: refused."""
        msg = "density: given by functions, which cannot be written to a file or read from one"
        raise NotCertified(msg)

    # ---------------------------------------------------------------------------- running it

    @property
    def message_bits(self) -> float:
        """64: a float."""
        return 64.0

    def variance(self, frequency: float = 0.0) -> float:
        """Variance of the noise by numerical integration, whatever the input."""
        del frequency
        return self._moments[1]

    @property
    def _moments(self) -> tuple[float, float]:
        return _FOUND.of(self).answer("moments", self._integrated)

    def _integrated(self) -> tuple[float, float]:
        """Mean and variance: E Z = int P(Z > z) - P(Z <= -z), E Z^2 = int 2 z P(|Z| > z)."""
        length = self.high - self.low
        far = max(reaches(self._shape)) * length
        knots = [abs(turn) for turn in self.turns if 0.0 < abs(turn) < far]
        near = 1e-3 * length * middle_half(self._shape, far / length)
        edges = np.unique(np.concatenate([[0.0], knots, np.geomspace(near, far, _PANELS)]))
        half = 0.5 * np.diff(edges)[:, None]
        z = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * _NODES).ravel()
        weight = (half * _WEIGHTS).ravel()
        up, down = called(self._above, "sf", z), called(self.cdf, "cdf", -z)
        tail = np.cumsum((weight * 2.0 * z * (up + down))[::-1])[::-1]
        # What lies beyond half the reach counts for nothing, if the integral is finite.
        beyond = tail[np.searchsorted(z, 0.5 * far)]
        mean = float((weight * (up - down)).sum())
        variance = float(tail[0]) - mean * mean
        if not beyond <= 1e-6 * variance:
            raise NotCertified("density: the noise has no variance that can be seen by integration")
        return mean, variance

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return real_values(values, self.low, self.high)

    @property
    def lattice(self) -> Grid:
        """The lattice of reports, and the coarser cells of reports far out."""
        return _FOUND.of(self).answer("lattice", self._lattice_needed)

    def _lattice_needed(self) -> Grid:
        """2^32 steps to the interval and to the quartiles, if the functions are that accurate."""
        quarters = np.array([0.25, 0.25])
        quartiles = self._quantile(quarters, np.array([False, True]), _HALVINGS)
        width = float(quartiles[1] - quartiles[0]) / (self.high - self.low)
        bits = bits_for(max(1.0, 1.0 / max(width, 2.0**-20)), _FINER)
        return density_grid(self._shape, bits, width)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        lattice, length = self.lattice, self.high - self.low
        steps = 1 << lattice.bits
        halvings = math.ceil(math.log2(sum(reaches(self._shape)) * steps / PLACES))
        reports = np.empty(len(values))
        for users in blocks(len(values)):
            place = np.clip((values[users] - self.low) / length, 0.0, 1.0)
            small, upper = 0.5 * source.fine_unit(len(place)), source.coins(b"\x80", len(place))
            noise = whole(self._quantile(small, upper, halvings) / length * steps)
            sums = plus(to_lattice(place, steps, source), noise)
            reports[users] = self.low + length * lattice.sent(sums)
        return reports

    def _quantile(self, small: Array, upper: npt.NDArray[np.bool_], halvings: int) -> Floats:
        """The noise with these probabilities of less, or of more where ``upper``: by halving."""
        length = self.high - self.low
        down, up = (length * far for far in reaches(self._shape))
        low, high = np.full(small.shape, -down), np.full(small.shape, up)
        for _ in range(halvings):
            middle = 0.5 * (low + high)
            above, below = called(self._above, "sf", middle), called(self.cdf, "cdf", middle)
            right = np.where(upper, above > small, below < small)
            low, high = np.where(right, middle, low), np.where(right, high, middle)
        return 0.5 * (low + high)

    def _unbiased(self, reports: ArrayLike) -> Floats:
        mean = 0.0 if self.symmetric else self._moments[0]
        return finite_reports(reports) - mean


_FOUND: Beside[Density, Answers] = Beside(lambda _: Answers())
