"""Definition: all that certified numbers rest on, of one mechanism. Its class says it, once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import NotCertified
from shuffledp.theorems import ALIKE_TRIPLES, Theorem

from .noises import Noise
from .outputs import Law

__all__ = [
    "CLASSES",
    "Bit",
    "Bits",
    "Definition",
    "Masses",
    "Matrix",
    "Others",
    "Pair",
    "Rows",
    "WorstPairs",
    "bits_between",
    "not_known",
    "three",
]


class Bit(NamedTuple):
    """P(0) and P(1) of one input, up to a common factor."""

    zero: arb
    one: arb

    @property
    def share(self) -> arb:
        """P(1)."""
        return self.one / (self.zero + self.one)

    @property
    def rest(self) -> arb:
        """P(0)."""
        return self.zero / (self.zero + self.one)

    @property
    def flipped(self) -> Bit:
        """With the outputs' names exchanged."""
        return Bit(self.one, self.zero)


class Bits(NamedTuple):
    """Reports of one bit.

    Attributes
    ----------
    inputs : tuple
        Those with the least and the largest probability of a 1.
    law : callable
        One of these -> its bit, at the working precision.
    mirrored : bool
        Whether exchanging the two inputs and the outputs leaves the laws as they are.
    outputs : int
        2, or more where only two are used.
    size : int
        Bits of a report: above 1 these are the laws of one of them, that holds 0 or 1.
    """

    inputs: tuple[Any, Any]
    law: Callable[[Any], Bit]
    mirrored: bool = True
    outputs: int = 2
    size: int = 1


def bits_between(eps0: float, low: Any, high: Any) -> Bits:
    """The likelier bit e^eps0 times as likely as the other: 1 under ``high``, 0 under ``low``."""

    def law(x: Any) -> Bit:
        grow = arb(eps0).exp()
        return Bit(arb(1), grow) if x == high else Bit(grow, arb(1))

    return Bits((low, high), law)


class Matrix(NamedTuple):
    """Outputs 0, 1, .. and what each is sent with.

    Attributes
    ----------
    inputs, outputs : int
        How many.
    weights : callable
        () -> a row for each input: probabilities of the outputs up to a factor of the row.
    grow : callable, optional
        () -> e^eps0, where every input is an output, so much likelier than each other one.
    """

    inputs: int
    outputs: int
    weights: Callable[[], list[list[arb]]]
    grow: Callable[[], arb] | None = None


# Two inputs, in the order of the divergence.
Pair = tuple[Any, Any]
# Masses under x0, x1 and x of one class of outputs.
Masses = tuple[arb, arb, arb]
# Of a protocol's outputs: probabilities under two values of the victim, and of a blanket message.
Rows = list[tuple[Fraction, Fraction, Fraction]]


class WorstPairs(NamedTuple):
    """Ordered pairs of inputs whose blanket bounds dominate those of all others, and why.

    An ordered pair (x0, x1) stands for D(R_x0 || R_x1); one direction is named where exchanging the
    inputs leaves the law as it is.
    """

    pairs: tuple[Pair, ...]
    theorem: Theorem


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


# By their names: classes put themselves here.
CLASSES: dict[str, type[Definition]] = {}


class Definition:
    """Laws in balls of a mechanism, and which of its inputs are the worst by which theorem.

    A mechanism's class gives what there is of it; what a method says here is: not known, or not so.

    Attributes
    ----------
    name : str
        As files have it.
    dense : bool
        Whether reports have a density though none of noise that is added.
    eps0 : float
        Pure local guarantee in nats; inf where there is none.
    """

    name: ClassVar[str]
    dense: ClassVar[bool] = False
    eps0: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            CLASSES[cls.name] = cls

    # ------------------------------------------------------------------------------- its laws

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Joint law of the output under several inputs, by classes, at the working precision.

        A class holds all outputs on which the probabilities under the inputs asked for, and the
        blanket, stand in the same ratios.

        Parameters
        ----------
        inputs : sequence
            Repetitions are allowed.

        Raises
        ------
        ParameterError
            For an input outside the domain.
        NotCertified
            For a mechanism without such a law, and where there are too many classes.
        """
        del inputs
        raise NotCertified(f"{self.name}: wanted a law of finitely many classes of outputs")

    def cut_law(self, inputs: Sequence[Any], log_cut: float) -> Law:
        """The same; of infinitely many outputs those beyond a cut in a class of their own.

        Parameters
        ----------
        inputs : sequence
            As for ``output_law``.
        log_cut : float
            About log of the probability of what may be cut off.
        """
        del log_cut
        return self.output_law(inputs)

    def added_noise(self) -> Noise | None:
        """Noise with the density exp(-(|z|/scale)^shape) on an interval; None of others."""

    # ------------------------------------------------------------- what multiplies or mixes others

    @property
    def made_of(self) -> tuple[Any, ...]:
        """The mechanisms whose reports make one of its own; () where its law is its own."""
        return ()

    @property
    def shares(self) -> tuple[Fraction, ...] | None:
        """Probability that a report is that part's alone; None where it has all parts' outputs.

        The choice is public; with the rest of the probability a report says nothing.
        """
        return None

    def part_inputs(self, x: Any) -> tuple[Any, ...]:
        """One input for each part."""
        return (x,)

    # ----------------------------------------------------------------------- its worst inputs

    def worst_pairs(self) -> WorstPairs:
        """The ordered pairs of inputs that an upper end has to hold for.

        Raises
        ------
        NotCertified
            Where no theorem names them, and where they are too many.
        """
        raise not_known(self.name)

    @property
    def alike(self) -> int:
        """Size of the domain where permutations of the inputs carry all pairs, and third inputs.

        They carry them into each other, and act on the outputs; 0 where they do not.
        """
        return 0

    def others(self) -> Others | None:
        """What label stealing looks at; None where no theorem says what is enough."""
        if not self.alike:
            return None
        return Others("alike", ALIKE_TRIPLES, ((0, 1),), tuple(range(min(self.alike, 3))))

    @property
    def relation(self) -> Any:
        """The neighbouring relation; of a family any value is replaced by any other."""
        raise not_known(self.name)

    def unrestricted(self) -> Definition:
        """The mechanism with every two values neighbours."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """{"name": ..., **parameters}."""
        raise not_known(self.name)

    # --------------------------------------------------------------- what of a report is counted

    def one_bit(self) -> Bits | None:
        """Its one-bit reports; None of others."""

    def output_matrix(self) -> Matrix | None:
        """Outputs 0, 1, ..: reports of mechanisms with as many may be written alike."""

    def added_bits(self) -> Bits | None:
        """One bit of what an aggregator adds up: of a vector of bits, or the one-bit report."""
        return self.one_bit()


def three(values: Iterable[arb]) -> Masses:
    """Three masses, of a class of outputs under x0, x1 and x."""
    first, second, third = values
    return first, second, third


def not_known(name: Any) -> NotCertified:
    """To be raised of a mechanism, or of a use of it, that nothing is known of."""
    return NotCertified(f"randomizer = {name!r}: the verifier does not know this mechanism")
