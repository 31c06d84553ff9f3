"""Pairs of a mechanism's laws: its blanket, data sets, and messages of several-message protocols.

A mechanism's law is the one of its class, made in balls from its definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from shuffledp.arithmetic.balls import arb, ctx, precision_for
from shuffledp.ball.outputs import Law, OutputClass
from shuffledp.bounds.continuous import CellPair, FixedSource, LineSource
from shuffledp.bounds.line import Line
from shuffledp.bounds.pairs import LawPair, Laws
from shuffledp.errors import NotCertified
from shuffledp.laws.cells import cells_of
from shuffledp.multimessage import MessagePair
from shuffledp.randomizers.base import Input, Randomizer

__all__ = [
    "Pair",
    "blanket_pair",
    "dataset_pair",
    "has_classes",
    "is_continuous",
    "merged_dataset_pair",
    "message_pair",
]

# A law of classes of outputs, or cells of a continuous one.
Pair = LawPair | CellPair
Against = Literal["blanket", "input"]
# log of what is cut off at the least delta of the range of promise, 1e-100, and at e^50 of it.
_DEEPEST = -320.0


def blanket_pair(randomizer: Randomizer, x0: Input, x1: Input, *, n: int) -> Pair:
    """The privacy blanket: an upper end whatever the others hold (docs/theory.md, Theorem 3.1).

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    x0, x1 : inputs
        The victim's two values.
    n : int
        Users, the victim included.
    """
    return _pair(randomizer, (x0, x1), n, "blanket")


def dataset_pair(randomizer: Randomizer, x0: Input, x1: Input, x2: Input, *, n: int) -> Pair:
    """The data sets (x0, x2, .., x2) and (x1, x2, .., x2): exact (docs/theory.md, Theorem 3.5).

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    x0, x1, x2 : inputs
        The victim's two values and the value of all others.
    n : int
        Users, the victim included.
    """
    return _pair(randomizer, (x0, x1, x2), n, "input")


def _pair(randomizer: Randomizer, inputs: tuple[Input, ...], n: int, against: Against) -> Pair:
    classes = _class_pair(randomizer, inputs, n, against)
    if classes is not None:
        return classes
    name = (randomizer, repr(inputs))
    if randomizer.line(inputs) is not None:
        return CellPair(LineSource(name, partial(_line, randomizer, inputs)), n)
    return CellPair(FixedSource(name, partial(cells_of, randomizer, inputs)), n)


def _line(randomizer: Randomizer, inputs: tuple[Input, ...]) -> Line:
    line = randomizer.line(inputs)
    if line is None:
        raise NotCertified(f"{randomizer.name}: wanted noise on a line")
    return line


def is_continuous(randomizer: Randomizer) -> bool:
    """Whether its reports, or a part of them, have a density."""
    parts = randomizer.parts()
    if parts is not None:
        return any(is_continuous(part) for part in parts.randomizers)
    return not randomizer.in_files or randomizer.added_noise() is not None


def has_classes(randomizer: Randomizer, inputs: Sequence[Input], n: int) -> bool:
    """Whether its law under these inputs is one of finitely many classes of outputs, made here.

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    inputs : sequence
        Two or three inputs.
    n : int
        Users.
    """
    return _class_pair(randomizer, tuple(inputs), n, "blanket") is not None


def _class_pair(
    randomizer: Randomizer, inputs: tuple[Input, ...], n: int, against: Against
) -> LawPair | None:
    """Classes of outputs; None where there are none, or more than are made here."""
    if randomizer.parts() is not None and is_continuous(randomizer):
        return None
    laws = Laws(partial(randomizer.cut_law, inputs))
    pair = LawPair((randomizer, repr(inputs)), n, laws, against)
    try:
        with ctx.workprec(precision_for(n)):
            pair.classes(_DEEPEST)
    except NotCertified:
        return None
    return pair


def _cells(randomizer: Randomizer, inputs: tuple[Input, ...], log_cut: float) -> Law:
    """Cells of a continuous output as outputs: what is seen of them after post-processing."""
    del log_cut
    made = cells_of(randomizer, inputs)
    found = [OutputClass(arb(0), (cell.p, cell.q, cell.mass)) for cell in made.cells]
    gone = [x.upper() / 2 for x in (made.p, made.q)]
    if any(not x.is_zero() for x in gone):
        lost = tuple(arb(x, x) for x in (*gone, arb(1) / 2))
        found.append(OutputClass(arb(0), lost, beyond=True))
    return found


def merged_dataset_pair(
    randomizer: Randomizer, x0: Input, x1: Input, x2: Input, *, n: int
) -> LawPair:
    """The data sets' messages seen as counts of three classes of outputs (Wang et al. 2024, 5.1).

    Outputs likelier under x0, likelier under x1, and equally likely: post-processing, so a lower
    end of that of ``dataset_pair``. A class whose order is not clear at the working precision is
    counted as equally likely, which is another post-processing.

    Parameters
    ----------
    randomizer, x0, x1, x2, n
        As for ``dataset_pair``.
    """
    inputs = (x0, x1, x2)
    whole = _class_pair(randomizer, inputs, n, "input")
    if whole is None:
        cells = Laws(partial(_cells, randomizer, inputs))
        whole = LawPair((randomizer, repr(inputs)), n, cells, "input")
    return LawPair(("merged", whole.name), n, Laws(partial(_merged, whole)), "input")


def _merged(whole: LawPair, log_cut: float) -> Law:
    sums: dict[int, list[arb]] = {}
    for c in whole.classes(log_cut):
        p, q = c.probability[:2]
        side = 0 if c.beyond else 1 if p > q else -1 if p < q else 0
        before = sums.setdefault(side, [arb(0)] * 3)
        sums[side] = [x + y for x, y in zip(before, c.probability, strict=True)]
    return [OutputClass(arb(0), tuple(row)) for row in sums.values()]


# ------------------------------------------------------------------- multi-message protocols


def message_pair(one: MessagePair) -> LawPair:
    """One data message among blanket messages of one law (docs/theory-parts.md, section 3).

    Parameters
    ----------
    one : MessagePair
        The protocol, how many messages are in the shuffle, and the direction.
    """
    name = ("messages", one.protocol)
    law = Laws(partial(one.protocol.cut_law, (0, 1, 2)))
    return LawPair(name, one.messages, law, "input", one.swapped)
