"""Reports made of bits that are summed up one by one: which bits a neighbour changes, and how.

A coordinate is a bit with P(1) of its own for each of the two values before it is randomized.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shuffledp.ball.bits import Bits
from shuffledp.errors import NotCertified
from shuffledp.randomizers import OUE, RAPPOR, Randomizer


@dataclass(frozen=True)
class Coordinates:
    """The coordinates of a report, all randomized alike and independently.

    Attributes
    ----------
    zero, one : input
        The two values of a coordinate, as inputs of its law.
    count : int
        Coordinates of a report.
    symmetric : bool
        P(1|0) = P(0|1): exchanging the names of the bits exchanges the two values, so that a
        coordinate that falls among others of one value is one that rises among others of the other.
    exact : bool
        Every report holds exactly one 1 before it is randomized (an item); else any number up to
        the limit that the view declares.
    mechanism : Randomizer
        Whose reports they are.
    """

    zero: Any
    one: Any
    count: int
    symmetric: bool
    exact: bool
    mechanism: Randomizer

    @property
    def bits(self) -> Bits:
        """One coordinate's laws in balls."""
        found = self.mechanism.added_bits()
        if found is None:
            raise NotCertified(f"{self.mechanism.name}: reports are no bits")
        return found

    @property
    def shares(self) -> tuple[float, float]:
        """About P(1) of both values, the smaller one first."""
        bits = self.bits
        low, high = (float(bits.law(x).share.mid()) for x in bits.inputs)
        return low, high

    def others(self, down: int, up: int, ones: int) -> tuple[tuple[Any, Any], ...]:
        """Values of all others at the coordinates that fall and at those that rise.

        Parameters
        ----------
        down, up : int
            Coordinates of the victim that go from 1 to 0, and from 0 to 1.
        ones : int
            The most 1s that a report may hold before it is randomized.
        """
        both = ((self.zero, self.zero), (self.one, self.zero), (self.zero, self.one))
        found = [both[0]] if not self.exact or self.count > down + up else []
        found += [both[1]] if down else []
        found += [both[2]] if up else []
        if down + up <= ones:
            found.append((self.one, self.one))
        return tuple(found)


def coordinates_of(mechanism: Randomizer, *, ones: int) -> Coordinates:
    """The coordinates that an aggregator adds up.

    Parameters
    ----------
    mechanism : Randomizer
        ``RAPPOR``, ``OUE``, or any whose report is one bit.
    ones : int
        The most 1s of a report before it is randomized.

    Raises
    ------
    NotCertified
        If the mechanism's reports are no vectors of independent bits.
    """
    if isinstance(mechanism, RAPPOR | OUE):
        symmetric = isinstance(mechanism, RAPPOR)
        return Coordinates(
            0, 1, mechanism.d, symmetric=symmetric, exact=ones == 1, mechanism=mechanism
        )
    bits = mechanism.added_bits()
    if bits is None:
        msg = (
            f"{mechanism.name}: no sum of its reports is accounted for: wanted rappor, oue, "
            "a mechanism with one-bit reports, or gaussian noise"
        )
        raise NotCertified(msg)
    return Coordinates(
        *bits.inputs,
        1,
        symmetric=bits.mirrored,
        exact=False,
        mechanism=mechanism,
    )
