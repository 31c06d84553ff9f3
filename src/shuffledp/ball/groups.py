"""Laws of several mechanisms side by side, output by output, in balls and from their definitions.

A bound for a crowd divides one mechanism's law by another's, so that an output has to be the same
message for all: only outputs on which all laws are constant stand together (docs/theory-crowds.md,
section 4).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from shuffledp.arithmetic.balls import arb

from .record import Definition

__all__ = ["Kind", "Side", "kinds_of", "sides_of"]

Row = list[arb]
# Inputs of a matrix up to which all of them are looked at, as in the theorem's statement.
_MOST_INPUTS = 12


class Kind(NamedTuple):
    """What is known of a crowd without working out a law.

    Attributes
    ----------
    key : {"response", "bit", "matrix"}
        Which part of the theorem says that the inputs are enough.
    inputs : tuple of tuples
        Of each group: the inputs whose laws are listed.
    pairs : tuple of tuples of (int, int)
        Of each group: the ordered pairs of these, by their places, that dominate all others.
    """

    key: str
    inputs: tuple[tuple[Any, ...], ...]
    pairs: tuple[tuple[tuple[int, int], ...], ...]


class Side(NamedTuple):
    """One group's laws.

    Attributes
    ----------
    rows : list of lists of arb
        P(output | input), an input a row; what cannot be sent is exactly zero.
    least : list of arb
        The minimum over all of the mechanism's inputs.
    """

    rows: list[Row]
    least: Row


def kinds_of(mechanisms: Sequence[Definition]) -> Kind | None:
    """Which inputs and pairs have to be looked at; None where messages are of different sets.

    Parameters
    ----------
    mechanisms : sequence of Definition
        Each group's.
    """
    matrices = [m.output_matrix() for m in mechanisms]
    sizes = {one.inputs if one is not None and one.grow else 0 for one in matrices}
    if len(sizes) == 1 and min(sizes) > 2:
        # A permutation of the values carries any pair to (0, 1) and a third value to 2.
        return _kind("response", [(0, 1, 2)] * len(mechanisms), [((0, 1),)] * len(mechanisms))
    if all(_is_bit(m) for m in mechanisms):
        bits = [one for one in (m.one_bit() for m in mechanisms) if one is not None]
        # Exchanging inputs and outputs of all groups leaves mirrored laws as they are.
        mirrored = all(one.mirrored for one in bits)
        pairs = ((1, 0),) if mirrored else ((1, 0), (0, 1))
        return _kind("bit", [one.inputs for one in bits], [pairs] * len(mechanisms))
    known = [one for one in matrices if one is not None]
    if len(known) < len(matrices) or len({one.outputs for one in known}) != 1:
        return None
    if max(one.inputs for one in known) > _MOST_INPUTS:
        return None
    inputs = [tuple(range(one.inputs)) for one in known]
    return _kind("matrix", inputs, [tuple(itertools.permutations(held, 2)) for held in inputs])


def _kind(key: str, inputs: Sequence[Any], pairs: Sequence[Any]) -> Kind:
    return Kind(key, tuple(inputs), tuple(pairs))


def sides_of(mechanisms: Sequence[Definition], kind: Kind) -> list[Side]:
    """Each group's laws at the working precision."""
    if kind.key == "bit":
        rows = [
            [[bit.rest, bit.share] for bit in map(bits.law, inputs)]
            for bits, inputs in zip((m.one_bit() for m in mechanisms), kind.inputs, strict=True)
            if bits is not None
        ]
        return [_side(found) for found in rows]
    matrices = [one for one in (m.output_matrix() for m in mechanisms) if one is not None]
    if kind.key == "response":
        return [_response(one.inputs, one.grow()) for one in matrices if one.grow is not None]
    return [_side([_shares(row) for row in one.weights()]) for one in matrices]


def _side(rows: list[Row]) -> Side:
    return Side(rows, [_smallest(column) for column in zip(*rows, strict=True)])


def _smallest(column: Sequence[arb]) -> arb:
    found = column[0]
    for value in column[1:]:
        found = arb.min(found, value)
    return found


def _response(k: int, grow: arb) -> Side:
    """k-RR: outputs 0, 1, 2, and all others together, which no listed input favours."""
    unit = 1 / (grow + (k - 1))
    rest = [(k - 3) * unit] if k > 3 else []
    rows = [[grow * unit if y == x else unit for y in range(3)] + rest for x in range(3)]
    return Side(rows, [unit] * 3 + rest)


def _is_bit(mechanism: Definition) -> bool:
    """Whether its outputs are 0 and 1: not two that are used of more columns."""
    bits = mechanism.one_bit()
    return bits is not None and bits.outputs == 2


def _shares(weights: Row) -> Row:
    """Divided by their sum; zeros stay exact."""
    total = sum(weights, arb(0))
    return [weight if weight.is_zero() else weight / total for weight in weights]
