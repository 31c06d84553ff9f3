"""Tasks: which mechanisms can do them, and how large the error of each is.

An option is a family of mechanisms with one parameter, the local noise. Errors are exact standard
deviations; the largest of many errors is by normal quantiles and the union bound.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from shuffledp import _check
from shuffledp import _special as special
from shuffledp.errors import ParameterError, rejected
from shuffledp.mechanism.base import mechanism_class
from shuffledp.mechanism.parameters import parameters_of
from shuffledp.multimessage import CheuZhilyaev, MixDUMP, MultiMessage, PureDUMP
from shuffledp.planner.central import Sensitivity
from shuffledp.randomizers import (
    OLH,
    Gaussian,
    HadamardResponse,
    Hierarchy,
    Parallel,
    Randomizer,
    randomizer_names,
)
from shuffledp.randomizers.frequency import FrequencyRandomizer
from shuffledp.randomizers.means import MeanRandomizer

Source = Randomizer | MultiMessage
# "Almost surely" of an error: that of all answers together, as intervals have it by default.
_SURE = 0.95
# With a larger eps0 nearly all reports are the truth (1 - e^-60): none is asked for.
_LARGEST_EPS0 = 60.0
# Largest domain of a task of ranges: it bounds the work.
_MOST_RANGES = 1 << 16
# Words of up to 20 bits, a million values, are counted at once; longer ones prefix by prefix, of 10
# bits first, and 64 prefixes are kept.
_FLAT_BITS = 20
_FIRST_BITS, _KEEP = 10, 64
# Words for the number of values a user may hold, in the constructors of mechanisms.
_SIZES = frozenset({"k", "d", "domain"})
# Share of data messages that mixDUMP randomizes: any is valid.
_FLIPS = 0.01


@dataclass(frozen=True)
class Option:
    """A family of mechanisms with one parameter.

    Attributes
    ----------
    label : str
        For a reader.
    parameter : str
        What is solved for, in words.
    build : callable
        Parameter -> mechanism or protocol.
    find : {"largest", "smallest"}
        Which value that meets the target is the most accurate.
    low, high : float
        Values to look at.
    """

    label: str
    parameter: str
    build: Callable[[float], Source]
    find: Literal["largest", "smallest"] = "largest"
    low: float = 1e-3
    high: float = _LARGEST_EPS0

    @property
    def ends(self) -> tuple[float, float]:
        """The most private value, and the least private one."""
        return (self.low, self.high) if self.find == "largest" else (self.high, self.low)


def _said(words: str) -> dict[str, str]:
    """What is said of a task's parameter, by ``shuffledp plan``."""
    return {"words": words}


class Task(ABC):
    """What is to be estimated."""

    name: ClassVar[str]
    # What the error is the error of.
    error_label: ClassVar[str]

    @property
    @abstractmethod
    def label(self) -> str:
        """In words, for a reader."""

    @abstractmethod
    def options(self) -> Iterator[Option]:
        """Families of mechanisms for it."""

    @abstractmethod
    def error(self, source: Source, n: int) -> float:
        """Standard error of n users' estimate, exact."""

    @property
    @abstractmethod
    def answers(self) -> int:
        """How many numbers are estimated together."""

    @abstractmethod
    def sensitivity(self, n: int) -> Sensitivity:
        """How much the exact answers of n users change with one user's value."""

    def largest(self, error: float) -> float:
        """What all errors together do not exceed with probability 95%, if they were normal."""
        return error * -float(special.ndtri(0.5 * (1.0 - _SURE) / self.answers))


@dataclass(frozen=True, kw_only=True)
class Frequencies(Task):
    """How many users hold each of ``values`` items: one a user, or a set of ``items`` of them."""

    name: ClassVar[str] = "frequencies"
    error_label: ClassVar[str] = "standard error of a frequency"
    values: int = field(metadata=_said("How many values there are."))
    items: int | None = field(default=None, metadata=_said("Size of the set that each user holds."))

    def __post_init__(self) -> None:
        _check.count("values", self.values, low=2, high=_check.LARGEST_DOMAIN)
        if self.items is not None:
            _check.count("items", self.items, high=self.values)

    @property
    def label(self) -> str:
        """Number of values."""
        sets = "" if self.items is None else f" in sets of {self.items:,}"
        return f"frequencies of {self.values:,} values{sets}"

    def options(self) -> Iterator[Option]:
        """All mechanisms for single items, and the multi-message protocols."""
        d = self.values
        for name, build in candidates(d, self.items):
            yield Option(name, "eps0", build)
        if self.items is not None:
            return
        yield Option("hadamard-response, blocks", "eps0", lambda e: _blocks(d, e))
        yield from _protocols(d)

    def error(self, source: Source, n: int) -> float:
        """Root mean square over the values, users being spread evenly over them.

        Variances are affine in the frequency, so that it is the same for any data; but for Hadamard
        response in blocks of different sizes, where users in the longer ones count a little more.
        """
        share = (self.items or 1) / self.values
        if isinstance(source, HadamardResponse):
            return math.sqrt(source.variance(share, block=source.even_block) / n)
        return math.sqrt(source.variance(share) / n)

    @property
    def answers(self) -> int:
        """One a value."""
        return self.values

    def sensitivity(self, n: int) -> Sensitivity:
        """Two counts of each item of a user change by one."""
        counts = 2.0 * (self.items or 1)
        return Sensitivity(counts / n, math.sqrt(counts) / n)


@dataclass(frozen=True, kw_only=True)
class Mean(Task):
    """The mean of numbers in [low, high]."""

    name: ClassVar[str] = "mean"
    error_label: ClassVar[str] = "standard error of the mean"
    low: float = field(metadata=_said("The least value."))
    high: float = field(metadata=_said("The largest value."))

    def __post_init__(self) -> None:
        low, high = _check.real("low", self.low), _check.real("high", self.high)
        if not low < high:
            raise rejected("high", self.high, f"a number above low = {self.low:g}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def label(self) -> str:
        """The interval."""
        return f"mean of numbers in [{self.low:g}, {self.high:g}]"

    def options(self) -> Iterator[Option]:
        """All mechanisms for numbers in an interval that eps0 and its ends describe."""
        ends = {"low": self.low, "high": self.high}
        for name in randomizer_names():
            cls = mechanism_class(name)
            known = parameters_of(cls)
            needed = {one.name for one in known if one.required}
            given = {one.name for one in known}
            if issubclass(cls, MeanRandomizer) and needed == {"eps0"} and set(ends) <= given:
                yield Option(name, "eps0", _with(cls, ends))
        width = self.high - self.low
        yield Option(
            "gaussian",
            "sigma / (high - low)",
            lambda s: Gaussian(sigma=s * width, **ends),
            find="smallest",
            low=0.05,
            high=1e4,
        )

    def error(self, source: Source, n: int) -> float:
        """At the worst values."""
        return math.sqrt(source.variance() / n)

    @property
    def answers(self) -> int:
        """The mean."""
        return 1

    def sensitivity(self, n: int) -> Sensitivity:
        """The mean changes by (high - low)/n."""
        change = (self.high - self.low) / n
        return Sensitivity(change, change)


@dataclass(frozen=True, kw_only=True)
class Ranges(Task):
    """How many users hold a value in low .. high - 1, for all ranges of ordered values."""

    name: ClassVar[str] = "ranges"
    error_label: ClassVar[str] = "standard error of a range, the largest of five"
    values: int = field(metadata=_said("How many ordered values there are."))

    def __post_init__(self) -> None:
        _check.count("values", self.values, low=2, high=_MOST_RANGES)

    @property
    def label(self) -> str:
        """Number of values."""
        return f"all ranges of {self.values:,} ordered values"

    def options(self) -> Iterator[Option]:
        """Trees of several widths, and no tree at all."""
        d = self.values
        for base in ("k-rr", "oue", "olh"):
            for branching in sorted({4, 16} - {b for b in (4, 16) if b >= d}):
                yield Option(f"tree of {branching}, {base}", "eps0", _tree(d, branching, base))
            yield Option(f"no tree, {base}", "eps0", _tree(d, d, base))

    def error(self, source: Source, n: int) -> float:
        """Error of a value: two halves, two pieces, uniform values, equal levels."""
        if not isinstance(source, Hierarchy):
            raise rejected("source", source.name, "a tree")
        levels = len(source.randomizers)
        counts = tuple(max(1, n // levels) for _ in range(levels))
        share = np.full(self.values, 1.0 / self.values)
        return math.sqrt(
            max(
                source.range_variance(low, high, frequencies=share, counts=counts)
                for low, high in self._probes()
            )
        )

    def _probes(self) -> set[tuple[int, int]]:
        d = self.values
        found = {(d // 2, d // 2 + 1), (0, d // 2), (d // 4, (3 * d) // 4), (d // 3, (2 * d) // 3)}
        return {(a, b) for a, b in found | {(1, max(2, d - 1))} if a < b}

    @property
    def answers(self) -> int:
        """k(k + 1)/2 ranges."""
        return self.values * (self.values + 1) // 2

    def sensitivity(self, n: int) -> Sensitivity:
        """One range alone: it changes by 1/n."""
        return Sensitivity(1.0 / n, 1.0 / n)


@dataclass(frozen=True, kw_only=True)
class HeavyHitters(Task):
    """The most frequent of 2^bits values, too many to list."""

    name: ClassVar[str] = "heavy-hitters"
    error_label: ClassVar[str] = "standard error of a rare value's frequency"
    bits: int = field(metadata=_said("Bits of a value."))

    def __post_init__(self) -> None:
        _check.count("bits", self.bits, low=2, high=29)

    @property
    def label(self) -> str:
        """Number of bits."""
        return f"the most frequent of 2^{self.bits} values"

    def options(self) -> Iterator[Option]:
        """Prefix trees with several numbers of groups; mechanisms for all values where few."""
        for groups in range(2, min(6, self.bits - 1) + 1):
            lengths = prefix_lengths(self.bits, groups)
            if len(set(lengths)) == groups:
                yield Option(f"prefix tree, {groups} groups", "eps0", _prefixes(lengths))
        if self.bits <= _FLAT_BITS:
            for name, build in candidates(1 << self.bits):
                yield Option(f"flat, {name}", "eps0", build)

    def error(self, source: Source, n: int) -> float:
        """At frequency 0; in a tree only one group reports the value itself."""
        if isinstance(source, Parallel):
            groups = len(source.randomizers)
            return math.sqrt(groups * source.randomizers[-1].variance() / n)
        return math.sqrt(source.variance() / n)

    @property
    def answers(self) -> int:
        """Candidates that are compared with each other: a few thousand."""
        return min(1 << self.bits, _KEEP << 6)

    def sensitivity(self, n: int) -> Sensitivity:
        """As for frequencies."""
        return Sensitivity(2.0 / n, math.sqrt(2.0) / n)


TASKS: dict[str, type[Task]] = {cls.name: cls for cls in (Frequencies, Mean, Ranges, HeavyHitters)}


def make_task(name: str, **parameters: Any) -> Task:
    """A task by its name, refusing parameters that it does not have.

    Parameters
    ----------
    name : {"frequencies", "mean", "ranges", "heavy-hitters"}
        What is to be estimated.
    parameters
        ``values`` for frequencies and ranges, ``low`` and ``high`` for a mean, ``bits`` for heavy
        hitters.
    """
    cls = TASKS[_check.choice("task", name, tuple(TASKS))]
    known = tuple(inspect.signature(cls).parameters)
    for key, value in parameters.items():
        if key not in known:
            wanted = f"no such parameter of {name!r}, but {', '.join(known)}"
            raise rejected(key, value, wanted)
    for key, one in inspect.signature(cls).parameters.items():
        if key not in parameters and one.default is one.empty:
            raise ParameterError(f"{key} is missing: {name!r} wanted {', '.join(known)}")
    return cls(**parameters)


def candidates(values: int, items: int | None = None) -> Iterator[tuple[str, Any]]:
    """Name and constructor from eps0 of every mechanism for an item a user, or a set of items."""
    sets = {} if items is None else {"s": items}
    for name in randomizer_names():
        cls = mechanism_class(name)
        needed = {one.name for one in parameters_of(cls) if one.required}
        size = needed & _SIZES
        fits = len(size) == 1 and needed == {"eps0", *size, *sets}
        if issubclass(cls, FrequencyRandomizer) and fits:
            yield name, _with(cls, {**dict.fromkeys(size, values), **sets})


def prefix_lengths(bits: int, groups: int) -> tuple[int, ...]:
    """Prefix lengths of a tree with this many groups, as ``protocol.PrefixTree`` has them."""
    first = min(_FIRST_BITS, bits, bits - groups + 1)
    return tuple(int(x) for x in np.linspace(first, bits, groups).round())


def _prefixes(lengths: tuple[int, ...]) -> Callable[[float], Source]:
    share = 1.0 / len(lengths)

    def build(eps0: float) -> Source:
        parts = tuple(OLH(domain=1 << length, eps0=eps0) for length in lengths)
        return Parallel(parts, weights=(share,) * len(parts))

    return build


def _tree(d: int, branching: int, base: str) -> Callable[[float], Source]:
    return lambda e: Hierarchy(domain=d, eps0=e, branching=branching, base=base)


def _with(cls: Any, known: dict[str, Any]) -> Callable[[float], Source]:
    return lambda e: cls(**known, eps0=e)


def _blocks(d: int, eps0: float) -> HadamardResponse:
    """About e^eps0 blocks, as have the least variance."""
    blocks = min(d, max(1, round(math.exp(min(eps0, 20.0)))))
    return HadamardResponse(domain=d, eps0=eps0, blocks=blocks)


def _protocols(d: int) -> Iterator[Option]:
    """Several messages a user, by the dummies of a user or the share of flipped bits."""

    def dummies(count: float) -> dict[str, Any]:
        whole = max(1, math.ceil(count))
        return {"d": d, "blankets": whole, "rate": min(1.0, count / whole)}

    ends: dict[str, Any] = {"find": "smallest", "low": 1e-7, "high": 1e4}
    yield Option("pure-dump", "dummies a user", lambda m: PureDUMP(**dummies(m)), **ends)
    if d > 2:
        yield Option(
            "mix-dump, f = 0.01",
            "dummies a user",
            lambda m: MixDUMP(f=_FLIPS, **dummies(m)),
            **ends,
        )
    for fakes in (1, 16):
        yield Option(
            f"cheu-zhilyaev, {fakes} fake{'s' if fakes > 1 else ''}",
            "flips",
            lambda f, fakes=fakes: CheuZhilyaev(d=d, f=f, blankets=fakes),
            find="smallest",
            low=1e-7,
            high=0.49,
        )
