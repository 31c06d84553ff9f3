"""Laws of several mechanisms side by side, output by output, in balls and from their definitions.

A bound for a crowd divides one mechanism's law by another's, so that an output has to be the same
message for all: only outputs on which all laws are constant stand together (docs/theory-crowds.md,
section 4).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ._flint import arb, fmpq
from .binary import binary_inputs, bit_of
from .outputs import positive

__all__ = ["Kind", "Side", "kinds_of", "sides_of"]

Parameters = Mapping[str, Any]
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


def kinds_of(mechanisms: Sequence[Parameters]) -> Kind | None:
    """Which inputs and pairs have to be looked at; None where messages are of different sets.

    Parameters
    ----------
    mechanisms : sequence of mappings
        Each group's {"name": ..., **parameters}.
    """
    sizes = {m["k"] if m["name"] == "k-rr" else 0 for m in mechanisms}
    if len(sizes) == 1 and min(sizes) > 2:
        # A permutation of the values carries any pair to (0, 1) and a third value to 2.
        return _kind("response", [(0, 1, 2)] * len(mechanisms), [((0, 1),)] * len(mechanisms))
    if all(_is_bit(m) for m in mechanisms):
        found = [binary_inputs(m) or () for m in mechanisms]
        return _kind("bit", found, [((1, 0), (0, 1))] * len(mechanisms))
    shapes = [_shape(m) for m in mechanisms]
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or len({columns for _, columns in known}) != 1:
        return None
    if max(inputs for inputs, _ in known) > _MOST_INPUTS:
        return None
    inputs = [tuple(range(count)) for count, _ in known]
    return _kind("matrix", inputs, [tuple(itertools.permutations(held, 2)) for held in inputs])


def _kind(key: str, inputs: Sequence[Any], pairs: Sequence[Any]) -> Kind:
    return Kind(key, tuple(inputs), tuple(pairs))


def sides_of(mechanisms: Sequence[Parameters], kind: Kind) -> list[Side]:
    """Each group's laws at the working precision."""
    if kind.key == "response":
        return [_response(m["k"], positive(m, "eps0").exp()) for m in mechanisms]
    if kind.key == "bit":
        rows = [
            [[bit.rest, bit.share] for bit in (bit_of(m, x) for x in inputs)]
            for m, inputs in zip(mechanisms, kind.inputs, strict=True)
        ]
        return [_side(found) for found in rows]
    return [_side(_matrix(m)) for m in mechanisms]


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


def _is_bit(mechanism: Parameters) -> bool:
    """Whether its outputs are 0 and 1: not two that are used of more columns."""
    if mechanism["name"] == "channel" and len(mechanism["matrix"][0]) != 2:
        return False
    return binary_inputs(mechanism) is not None


def _shape(mechanism: Parameters) -> tuple[int, int] | None:
    """Inputs and outputs of a mechanism whose outputs are 0, 1, ..; None of others."""
    name = mechanism["name"]
    if name == "channel":
        return len(mechanism["matrix"]), len(mechanism["matrix"][0])
    if name == "extremal":
        return len(mechanism["pattern"]), len(mechanism["pattern"][0])
    size = 2 if name == "binary-rr" else mechanism["k"] if name == "k-rr" else 0
    return (size, size) if size else None


def _matrix(mechanism: Parameters) -> list[Row]:
    name = mechanism["name"]
    if name == "channel":
        return [_shares([_exact(x) for x in row]) for row in mechanism["matrix"]]
    grow = positive(mechanism, "eps0").exp()
    if name == "extremal":
        pattern = mechanism["pattern"]
    else:
        size = 2 if name == "binary-rr" else mechanism["k"]
        pattern = [[int(x == y) for y in range(size)] for x in range(size)]
    return [_shares([grow if hit else arb(1) for hit in row]) for row in pattern]


def _exact(value: float) -> arb:
    top, bottom = float(value).as_integer_ratio()
    return arb(fmpq(top, bottom))


def _shares(weights: Row) -> Row:
    """Divided by their sum; zeros stay exact."""
    total = sum(weights, arb(0))
    return [weight if weight.is_zero() else weight / total for weight in weights]
