"""Record: all that the verifier knows of one mechanism, in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from shuffledp.arithmetic.balls import arb
from shuffledp.theorems import Theorem

from .bits import Bits, Coordinate, Matrix
from .densities import Noise
from .outputs import Law, Parameters
from .power import PowerNoise

__all__ = [
    "LawOf",
    "Masses",
    "Options",
    "Others",
    "Pair",
    "Parts",
    "Range",
    "Record",
    "Rows",
]

# What a parameter may be, in words, and whether a value in a table is that.
Range = tuple[str, Callable[[Any, Parameters], bool]]
# Two inputs, in the order of the divergence.
Pair = tuple[Any, Any]
# Masses under x0, x1 and x of one class of outputs.
Masses = tuple[arb, arb, arb]
# Of a protocol's outputs: probabilities under two values of the victim, and of a blanket message.
Rows = list[tuple[Fraction, Fraction, Fraction]]
# The law of one part: `laws.finite_law`, which asks for those of parts in turn.
LawOf = Callable[[Parameters, Sequence[Any]], Law]
# A part -> labels that dominate all of its own.
Options = Callable[[Parameters], list[list[Masses]]]


class Others(NamedTuple):
    """What label stealing looks at, and the theorem by which it is enough.

    Attributes
    ----------
    how : str
        "alike": ``inputs`` of the others stand for all, some of them for several; "listed": the
        others' ``inputs`` are all there are; "mixed": they are two, whose mixtures all laws are.
        "corners", "overlaps", "parts": ``labels`` are laws one by one, corners inside of other
        reports as well. "shifts" of noise on integers, "span" on an interval. "family": of all
        mechanisms with a local guarantee at once.
    step : Theorem
        The theorem.
    pairs : tuple of pairs
        Ordered pairs of the victim's inputs that dominate all others.
    inputs : tuple
        Inputs of the others whose laws are looked at.
    labels : callable, optional
        () -> laws of a label under the pair's inputs and a third one, at the working precision.
    unbounded : bool
        Of noise: whether likelihood ratios are, so that gains may be cut.
    """

    how: Literal[
        "alike", "listed", "mixed", "corners", "overlaps", "parts", "shifts", "span", "family"
    ]
    step: Theorem
    pairs: tuple[Pair, ...]
    inputs: tuple[Any, ...] = ()
    labels: Callable[[], Iterator[list[Masses]]] | None = None
    unbounded: bool = False


@dataclass(frozen=True)
class Parts:
    """Of a mechanism made of others; what it needs to know of these it is given.

    Attributes
    ----------
    law : callable
        (table, inputs, law of a part) -> joint law of the output under these inputs.
    keys : tuple of str
        The parameters that are tables of other mechanisms, or a list of them.
    like : bool
        Whether it is a report of its one part or nothing: the part's pairs, theorems and
        neighbours are its own.
    records : bool
        Whether inputs are records, one value for each part.
    labels : callable, optional
        (table, options of a part, law of a part) -> labels that dominate all, for label stealing.
    together : bool
        Whether all parts are in one report: then a part's two values may be equal.
    """

    law: Callable[[Parameters, Sequence[Any], LawOf], Law]
    keys: tuple[str, ...] = ()
    like: bool = False
    records: bool = False
    labels: Callable[[Parameters, Options, LawOf], Iterator[list[Masses]]] | None = None
    together: bool = False


@dataclass(frozen=True)
class Record:
    """One mechanism: a new one is a module with its record, and its line in ``registry``.

    Every attribute but ``ranges`` may be left out: what is not said is not known, or not so. Where
    a function's argument is not named it is the mechanism's table.

    Attributes
    ----------
    ranges : mapping
        The parameters of its table, all of them: what each may be, and how to tell.
    kind : {"randomizer", "protocol", "family"}
        One report a user, several messages, or all mechanisms with a local guarantee.
    law : callable
        (table, inputs) -> joint law of the output under these inputs, from the definition.
    cut_law : callable
        The same of infinitely many outputs: (table, inputs, log_cut=...), those beyond the cut in
        a class of their own.
    noise : callable
        -> noise on an interval whose log densities are pieces of parabolas.
    power : callable
        -> noise with the density exp(-(|z|/scale)^shape).
    rows : callable
        Of a protocol -> its messages' law.
    parts : Parts
        Of a mechanism made of others.
    pair : callable
        -> the ordered pair of inputs that dominates all others. Where it is left out and there are
        ``listed`` inputs, all their pairs are looked at.
    pair_step : Theorem or callable
        The theorem that says so, or table -> that theorem.
    inside : bool
        Whether that theorem holds inside of other reports as well, of which it is a part.
    listed : callable
        -> how many inputs there are, of which laws have no symmetry in particular.
    alike : callable
        -> size of the domain where permutations of the inputs carry all pairs, and all third
        inputs, into each other, and act on the outputs; 0 where they do not.
    others : callable
        -> what label stealing looks at, or None; with ``alike`` by symmetry unless this says more.
    normal : bool
        Whether it adds normal noise of deviation sigma on an interval, low to high.
    bits : callable
        -> its one-bit reports, or None.
    matrix : callable
        -> its matrix: reports of mechanisms with as many outputs may be written alike.
    coordinate : callable
        -> one bit of its reports, where an aggregator adds up vectors of bits.
    unnamed : bool
        Whether no file may name it.
    """

    ranges: Mapping[str, Range]
    kind: Literal["randomizer", "protocol", "family"] = "randomizer"
    law: Callable[[Parameters, tuple[Any, ...]], Law] | None = None
    cut_law: Callable[..., Law | None] | None = None
    noise: Callable[[Parameters], Noise] | None = None
    power: Callable[[Parameters], PowerNoise] | None = None
    rows: Callable[[Parameters], Rows] | None = None
    parts: Parts | None = None
    pair: Callable[[Parameters], Pair] | None = None
    pair_step: Theorem | Callable[[Parameters], Theorem] | None = None
    inside: bool = True
    listed: Callable[[Parameters], int] | None = None
    alike: Callable[[Parameters], int] | None = None
    others: Callable[[Parameters], Others | None] | None = None
    normal: bool = False
    bits: Callable[[Parameters], Bits | None] | None = None
    matrix: Callable[[Parameters], Matrix] | None = None
    coordinate: Callable[[Parameters], Coordinate] | None = None
    unnamed: bool = False

    @property
    def finite(self) -> bool:
        """Whether its law is one of classes of outputs."""
        return self.law is not None or self.parts is not None
