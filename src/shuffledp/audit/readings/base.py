"""Reading: which cell a report lies in, and what probability the claimed law gives each cell."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.arithmetic.balls import ctx, precision_for
from shuffledp.errors import NotCertified, ShuffleDPError, rejected
from shuffledp.laws.stated import check_law_inputs
from shuffledp.randomizers import Randomizer

Floats = npt.NDArray[np.floating]
Labels = npt.NDArray[np.integer]

# Cell probabilities are sums and differences of library functions good to about 1e-13.
REL = 1e-9
# What is run is the stated law on a lattice, 2^30 steps and more to the noise or the interval
# (docs/theory.md, section 4.9): a cell's edge is within one step, and each step has at most this.
LATTICE = 2.0**-29
_TOTAL = 1e-6
# Inputs of mechanisms whose reports support some of them and others not: 2^8 patterns, and four
# times as many cells with two items beside them, take about three seconds to plan. Work doubles,
# and more, with each input more.
MOST_SUPPORTED = 8


@dataclass(frozen=True)
class Reading:
    """How reports under given inputs are read.

    Attributes
    ----------
    names : tuple of str
        One for each cell.
    mass : ndarray, shape (I, C)
        Claimed probability of each cell under each input.
    classify : callable
        Reports -> cells 0 .. C-1, or C for a report outside the message space.
    rel, err : float
        The claimed probability is within ``mass (1 +- rel) +- err``.
    line : bool
        Whether cells are consecutive intervals of the real line.
    equal : float or None
        Where reports have no atoms: at most this is the probability that two are equal once they
        are rounded to six digits.
    """

    names: tuple[str, ...]
    mass: Floats
    classify: Callable[[Any], Labels]
    rel: float = REL
    err: float = 0.0
    line: bool = False
    equal: float | None = None

    def __post_init__(self) -> None:
        totals = self.mass.sum(axis=1)
        if self.mass.shape[1] != len(self.names) or bool((np.abs(totals - 1.0) > _TOTAL).any()):
            raise rejected("mass", totals, "probabilities of all cells that sum to one")

    @property
    def low(self) -> Floats:
        """Lower ends of the claimed probabilities."""
        return np.clip(self.mass * (1.0 - self.rel) - self.err, 0.0, 1.0)

    @property
    def high(self) -> Floats:
        """Upper ends of the claimed probabilities; a cell that never occurs stays at 0."""
        grown = np.clip(self.mass * (1.0 + self.rel) + self.err, 0.0, 1.0)
        return np.where(self.mass > 0.0, grown, self.err)

    def merged(self, groups: Labels, names: tuple[str, ...]) -> Reading:
        """Cells put together: cell c becomes part of group ``groups[c]``."""
        table = np.append(groups, len(names)).astype(np.int64)
        mass = np.zeros((self.mass.shape[0], len(names)))
        for cell, group in enumerate(groups):
            mass[:, group] += self.mass[:, cell]
        inner = self.classify
        most = int(np.bincount(groups).max())
        return dataclasses.replace(
            self,
            names=names,
            mass=mass,
            classify=lambda reports: table[inner(reports)],
            err=self.err * most,
            line=False,
            equal=None,
        )


Reader = Callable[[Any, tuple[Any, ...], int], Reading]
_READERS: dict[type[Randomizer], Reader] = {}
# Where cells are patterns of supported inputs: how many inputs there may be.
_MOST: dict[type[Randomizer], int] = {}
_VALUES: dict[type[Randomizer], Callable[[Any, Any], Any]] = {}


def reads(*kinds: type[Randomizer], most: int | None = None) -> Callable[[Reader], Reader]:
    """Register a reader: (randomizer, inputs, reports under each input) -> Reading.

    ``most`` is how many different inputs there may be where cells, or the classes of the law, are
    which of them a report supports: each of them doubles their number.
    """

    def register(reader: Reader) -> Reader:
        for kind in kinds:
            _READERS[kind] = reader
            if most is not None:
                _MOST[kind] = most
        return reader

    return register


def gives(*kinds: type[Randomizer]) -> Callable[[Any], Any]:
    """Register how an input of the law is written as a value of ``randomize``."""

    def register(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        for kind in kinds:
            _VALUES[kind] = function
        return function

    return register


def _found(table: dict[type[Randomizer], Any], randomizer: Randomizer) -> Any:
    for kind in type(randomizer).__mro__:
        if kind in table:
            return table[kind]
    return None


def read(randomizer: Randomizer, inputs: tuple[Any, ...], reports: int) -> Reading:
    """How this mechanism's reports are read under these inputs.

    Parameters
    ----------
    randomizer : Randomizer
        The declared mechanism.
    inputs : tuple
        Inputs of its law.
    reports : int
        How many will be asked for under each input: cells far out get a few dozens of them.

    Raises
    ------
    NotCertified
        If nothing says how its reports are read.
    ParameterError
        If these are no inputs of its law, or more than can be told apart in bounded work.
    """
    reader = _found(_READERS, randomizer)
    if reader is None:
        raise NotCertified(f"{randomizer.name}: no audit knows how to read its reports")
    try:
        # What is made of parts is read part by part, each with its own inputs.
        if randomizer.parts() is None:
            _check_inputs(randomizer, inputs)
        return reader(randomizer, inputs, reports)
    except ShuffleDPError:
        raise
    except (IndexError, TypeError, ValueError, KeyError):
        raise rejected("inputs", inputs, f"inputs of the law of {randomizer.name}") from None


def _check_inputs(randomizer: Randomizer, inputs: tuple[Any, ...]) -> None:
    """Inputs of the law, and no more than can be told apart in bounded work.

    How many they are comes first: the law's classes may be as many as the patterns.
    """
    most = _found(_MOST, randomizer)
    if most is not None and len({repr(x) for x in inputs}) > most:
        wanted = f"at most {most} different inputs of {randomizer.name}: each doubles the cells"
        raise rejected("inputs", inputs, wanted)
    with contextlib.suppress(NotCertified), ctx.workprec(precision_for(1)):
        check_law_inputs(randomizer, inputs)


def value_of(randomizer: Randomizer, x: Any) -> Any:
    """The value that ``randomize`` and a program are given for an input of the law."""
    writer = _found(_VALUES, randomizer)
    return x if writer is None else writer(randomizer, x)
