"""Pairs of mechanisms: blanket, data sets, clones, and messages of multi-message protocols.

A mechanism's law is the one of its record (`ball`), made in balls from its definition; of a
mechanism without a record it is the law that its class states, with the error stated there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from shuffledp.arithmetic.balls import arb, ctx, precision_for
from shuffledp.ball.laws import cut_law, finite_law
from shuffledp.ball.messages import message_law
from shuffledp.ball.outputs import Law, OutputClass, largest
from shuffledp.ball.registry import RECORDS
from shuffledp.bounds.pairs import LawPair
from shuffledp.errors import NotCertified
from shuffledp.multimessage import MessagePair
from shuffledp.randomizers import Randomizer
from shuffledp.randomizers.base import Input

__all__ = [
    "blanket_pair",
    "clone_pair",
    "dataset_pair",
    "has_classes",
    "is_continuous",
    "largest_ratio",
    "merged_dataset_pair",
    "message_pair",
    "stronger_clone_pair",
    "table_of",
]

# Cells that tell whether a law is one of cells.
_LOOK = 64
Against = Literal["blanket", "input"]


def table_of(randomizer: Randomizer) -> dict[str, Any]:
    """Its table; the name alone where it is given by functions: no record knows it then."""
    try:
        return randomizer.to_dict()
    except NotCertified:
        return {"name": randomizer.name}


def blanket_pair(randomizer: Randomizer, x0: Input, x1: Input, *, n: int) -> LawPair:
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


def dataset_pair(randomizer: Randomizer, x0: Input, x1: Input, x2: Input, *, n: int) -> LawPair:
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


def is_continuous(randomizer: Randomizer) -> bool:
    """Whether its reports, or a part of them, have a density."""
    parts = randomizer.parts()
    if parts is not None:
        return any(is_continuous(part) for part in parts.randomizers)
    record = RECORDS.get(randomizer.name)
    if record is not None:
        return record.noise is not None or record.power is not None
    x0, x1, _ = randomizer.datasets()[0]
    return _states_cells(randomizer, (x0, x1))


def _states_cells(randomizer: Randomizer, inputs: tuple[Input, ...]) -> bool:
    """Whether its class states cells of a continuous output under these inputs."""
    return randomizer.law(inputs, cells=_LOOK).edges is not None


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
    if randomizer.parts() is None and randomizer.name not in RECORDS:
        # The label laws of vectors at a distance are classes, their data sets are cells.
        return not _states_cells(randomizer, tuple(inputs))
    if is_continuous(randomizer):
        return False
    pair = _pair(randomizer, tuple(inputs), n, "blanket")
    try:
        with ctx.workprec(precision_for(n)):
            pair.classes()
    except NotCertified:
        return False
    return True


def _pair(randomizer: Randomizer, inputs: tuple[Input, ...], n: int, against: Against) -> LawPair:
    if randomizer.name in RECORDS:
        table = randomizer.to_dict()
        name = (repr(sorted(table.items(), key=repr)), repr(inputs))
        return LawPair(name, n, partial(_recorded, table, inputs), against)
    return LawPair((randomizer, repr(inputs)), n, partial(_stated, randomizer, inputs), against)


def _recorded(table: Mapping[str, Any], inputs: tuple[Input, ...], log_cut: float) -> Law:
    """The law of a record; where there are infinitely many outputs all but e^log_cut of them."""
    made = cut_law(table, inputs, log_cut=log_cut)
    return finite_law(table, inputs) if made is None else made


def _stated(
    randomizer: Randomizer, inputs: tuple[Input, ...], log_cut: float, *, cells: bool = False
) -> Law:
    """The law that a class states in floats, as balls of its stated error.

    ``cells``: cells of a continuous output are outputs, as after post-processing.
    """
    del log_cut
    law = randomizer.law(inputs)
    if law.edges is not None and not cells:
        raise NotCertified(f"{randomizer.name}: wanted a law of finitely many classes of outputs")

    def ball(x: float) -> arb:
        return arb(x, x * law.rel * (1.0 + 1e-9))

    found = [
        OutputClass(ball(float(least)), tuple(ball(float(x)) for x in masses))
        for least, masses in zip(law.blanket, law.mass.T, strict=True)
    ]
    tails = [float(x) for x in law.tails()]
    if any(tails):
        gone = tuple(arb(x) / 2 + arb(0, x / 2 * (1.0 + 1e-9)) for x in tails)
        found.append(OutputClass(arb(0), gone, beyond=True))
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
    whole = _pair(randomizer, inputs, n, "input")
    if not has_classes(randomizer, inputs, n):
        whole = replace(whole, law=partial(_stated, randomizer, inputs, cells=True))
    return LawPair(("merged", whole.name), n, partial(_merged, whole), "input")


def _merged(whole: LawPair, log_cut: float) -> Law:
    sums: dict[int, list[arb]] = {}
    for c in whole.classes(log_cut):
        p, q = c.probability[:2]
        side = 0 if c.beyond else 1 if p > q else -1 if p < q else 0
        before = sums.setdefault(side, [arb(0)] * 3)
        sums[side] = [x + y for x, y in zip(before, c.probability, strict=True)]
    return [OutputClass(arb(0), tuple(row)) for row in sums.values()]


# ------------------------------------------------------------------------------ the clones


def clone_pair(*, eps0: float, n: int) -> LawPair:
    """Standard clone (Feldman, McMillan, Talwar 2021, Theorem 3.2).

    Each other user is a clone of x0 or of x1 with probability e^-eps0/2 each; the victim's message
    is binary randomized response between the two.
    """
    return LawPair(("clone", eps0), n, partial(_clones, eps0, stronger=False))


def stronger_clone_pair(*, eps0: float, n: int) -> LawPair:
    """Generic stronger clone: (e^eps0, 1) and (1, e^eps0) with mass 1/(e^eps0 + 1) each.

    Proved in docs/theory.md, section 5, for every eps0-LDP randomizer, adaptive ones included.
    """
    return LawPair(("stronger-clone", eps0), n, partial(_clones, eps0, stronger=True))


def _clones(eps0: float, log_cut: float, *, stronger: bool) -> Law:
    """Two classes: the others' mass of each is e^-eps0/2, or 1/(e^eps0 + 1)."""
    del log_cut
    e, grow = arb(eps0), arb(eps0).exp()
    low = 1 / (grow + 1)
    high = grow * low
    mass = low if stronger else 1 / (2 * grow)
    levels = ((e, arb(0)), (arb(0), e))
    return [
        OutputClass(mass, (high, low), levels[0]),
        OutputClass(mass, (low, high), levels[1]),
    ]


# ------------------------------------------------------------------- multi-message protocols


def message_pair(one: MessagePair) -> LawPair:
    """One data message among blanket messages of one law (docs/theory-parts.md, section 3).

    Parameters
    ----------
    one : MessagePair
        The protocol, how many messages are in the shuffle, and the direction.
    """
    table = dict(one.table)
    name = ("messages", repr(sorted(table.items(), key=repr)))
    return LawPair(name, one.messages, partial(_messages, table), "input", one.swapped)


def _messages(table: Mapping[str, Any], log_cut: float) -> Law:
    del log_cut
    return message_law(table, (0, 1, 2))


def largest_ratio(pair: LawPair) -> tuple[float, float, float]:
    """p, beta and q of a pair, rounded up: see ``variation_ratio.VariationRatio``.

    R_x0 <= p R_x1 and conversely, TV(R_x0, R_x1) <= beta, and max(R_x0, R_x1) <= q reference. What
    is infinite is `inf`.
    """
    with ctx.workprec(precision_for(1)):
        law = [c for c in pair.classes() if any(not x.is_zero() for x in c.probability[:2])]
        first = [c.probability[0] for c in law]
        second = [c.probability[1] for c in law]
        under = [c.blanket if pair.against == "blanket" else c.probability[2] for c in law]
        if any(c.beyond for c in law):
            return math.inf, 1.0, math.inf
        apart = [(x - y).nonnegative_part() for x, y in zip(first, second, strict=True)]
        p = max(_ratio(first, second), _ratio(second, first))
        q = _ratio([largest([x, y]) for x, y in zip(first, second, strict=True)], under)
        beta = sum(apart, arb(0))
        return p, min(_above(beta), 1.0), q


def _ratio(top: Sequence[arb], bottom: Sequence[arb]) -> float:
    """The largest ratio, rounded up; at least 1."""
    found = 1.0
    for x, y in zip(top, bottom, strict=True):
        if not x.is_zero():
            found = max(found, _above(x / y) if y > 0 else math.inf)
    return found


def _above(x: arb) -> float:
    """The ball's upper end as a float, rounded up unless it is one."""
    found = float(x.upper())
    return found if arb(found) >= x else math.nextafter(found, math.inf)
