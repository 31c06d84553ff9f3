"""Both ends of log delta(eps) of one pair of laws, at proposed layers and contours.

    delta(eps) = (1/n) E (G_1 + ... + G_n)_+ + seen         (docs/theory.md, section 2)

An ``Expectation`` starts with ends that always hold. A proposal can only narrow them: any layers
and contours are valid.
"""

from __future__ import annotations

from collections.abc import Sequence

from shuffledp.arithmetic.balls import arb, total
from shuffledp.arithmetic.intervals import LogInterval, log_interval
from shuffledp.bounds.pairs import Atoms, Gains
from shuffledp.errors import NotCertified
from shuffledp.kernel import AtLeastOne, Contour, Draws, by_counts, expect, two_atoms
from shuffledp.kernel.draws import Summand

__all__ = ["Divergence", "Expectation"]


class Expectation:
    """Both ends of E (S)_+, S the sum of n independent gains of one law.

    At first n E G <= E (S)_+ <= n E G_+.

    Parameters
    ----------
    law : Atoms
        The law of one gain.
    n : int
        Number of gains.

    Attributes
    ----------
    atoms : Atoms
        The law in ascending order of its gains.
    mean, cap : arb
        n E G and n E G_+.
    low, high : arb
        The ends so far.
    """

    def __init__(self, law: Atoms, n: int) -> None:
        law = _far_lows_raised(law, n)
        order = sorted(range(len(law.gains)), key=lambda j: float(law.gains[j]))
        self.n = n
        self.atoms = Atoms([law.masses[j] for j in order], [law.gains[j] for j in order])
        both = list(zip(*law, strict=True))
        self.mean = n * total(m * x for m, x in both)
        self.cap = n * total(m * x.nonnegative_part() for m, x in both)
        # One gain is its own sum.
        self.low = (self.cap if n == 1 else self.mean.max(arb(0))).lower()
        self.high = self.cap.upper()
        self._layers: list[Summand] = []
        self._ends: list[tuple[arb, arb]] = []
        self._left_out = arb(0)

    def count(self) -> None:
        """Sum over the counts of all atoms."""
        draws = Draws(*self.atoms, self.n)
        self._narrow(*(two_atoms(draws) if len(self.atoms.gains) == 2 else by_counts([draws])))

    def split(self, layers: Sequence[tuple[int, int]]) -> None:
        """Split the sum by its largest gain; each layer has yet to be narrowed.

        Parameters
        ----------
        layers : sequence of (int, int)
            (0, e): all gains are among the first e atoms. (s, e): so they are, and at least one is
            not among the first s. Sums below the first layer are bounded as a whole; if they have
            no gain > 0, they add nothing.

        Raises
        ------
        NotCertified
            If a layer does not begin where the one before it ends, or the last one does not end
            with the law.
        """
        size = len(self.atoms.gains)
        starts, ends = [s for s, _ in layers], [e for _, e in layers]
        rising = all(0 <= s < e for s, e in layers)
        if not rising or starts[1:] != ends[:-1] or (ends and ends[-1] != size):
            raise NotCertified("layers: they are not all of the law")
        skipped = starts[0] if layers else size
        both = list(zip(self.atoms.masses[:skipped], self.atoms.gains[:skipped], strict=True))
        positive = total(m * x.nonnegative_part() for m, x in both)
        self._left_out = self.n * positive * total(m for m, _ in both) ** (self.n - 1)
        self._layers = [self._layer(s, e) for s, e in layers]
        self._ends = [(arb(0), arb("inf"))] * len(layers)
        if not layers:
            self._narrow(arb(0), self._left_out)

    def _layer(self, start: int, end: int) -> Summand:
        masses, gains = self.atoms
        if not start:
            return Draws(masses[:end], gains[:end], self.n)
        usual = Draws(masses[:start], gains[:start], self.n)
        return AtLeastOne(usual, Draws(masses[start:end], gains[start:end], self.n))

    def at_tilt(self, layer: int, alpha: float) -> arb:
        """A layer's upper end by y_+ <= e^(alpha y - 1)/alpha."""
        tilt = arb(alpha)
        if not tilt > 0:
            return arb("inf")
        bound = (self._layers[layer].log_moment(tilt) - 1).exp() / tilt
        self._narrow_layer(layer, arb(0), bound.upper())
        return bound

    def on(self, layer: int, contour: Contour, *, work: float) -> tuple[arb, arb]:
        """A layer's ends by one sum over a contour; both its ends so far.

        Raises
        ------
        NotCertified
            If the contour asks for more nodes times atoms than ``work``.
        """
        self._narrow_layer(layer, *expect([self._layers[layer]], contour, work=work))
        return self._ends[layer]

    def _narrow_layer(self, layer: int, low: arb, high: arb) -> None:
        before = self._ends[layer]
        self._ends[layer] = max(before[0], low), min(before[1], high)
        lows, highs = zip(*self._ends, strict=True)
        self._narrow(total(lows), sum(highs, self._left_out))

    def _narrow(self, low: arb, high: arb) -> None:
        self.low, self.high = low.max(self.low), high.min(self.high)


class Divergence:
    """One pair of laws among n messages at one eps.

    Attributes
    ----------
    below, above : Expectation or None
        The laws below and above the gain's in convex order; one object if they are the same law,
        and None where an end is not wanted.
    """

    def __init__(self, made: Gains, n: int) -> None:
        self._seen, self._n = made.seen, n
        self.above = None if made.above is None else Expectation(made.above, n)
        self.below = self.above
        if made.below is not made.above:
            self.below = None if made.below is None else Expectation(made.below, n)

    def log_delta(self) -> LogInterval:
        """Both ends of log delta; an end that is not wanted is infinite."""
        low = arb(0) if self.below is None else self._ends(self.below)[0]
        high = arb("inf") if self.above is None else self._ends(self.above)[1]
        return log_interval(low, high)

    def apart(self) -> LogInterval:
        """The ends as far as the laws at hand determine them, to tell how near they are.

        If one end is wanted, this is the bracket of its law alone. It says nothing of delta at the
        other end.
        """
        both = [self._ends(x) for x in (self.below, self.above) if x is not None]
        return log_interval(both[0][0], both[-1][1])

    def _ends(self, found: Expectation) -> tuple[arb, arb]:
        n, seen = self._n, self._seen
        return found.low / n + seen.lower(), found.high / n + seen.upper()


def _far_lows_raised(law: Atoms, n: int) -> Atoms:
    """Raise gains certainly below -n max G to about that value (docs/theory.md, Lemma 6.11).

    A sum with one such draw is at most 0 before and after, so that E (sum)_+ does not change.
    """
    top = max((x.upper() for x in law.gains), key=float, default=arb(0))
    floor = (-n * top.max(arb(0))).lower()
    if not any(x < 2 * floor for x in law.gains):
        return law
    return Atoms(law.masses, [max(x, floor) for x in law.gains])
