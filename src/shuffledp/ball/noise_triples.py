"""Measures of label stealing for noise on an interval, by a cover (docs/theory-stealing.md, 6)."""

from __future__ import annotations

from collections.abc import Iterable

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import ParameterError

from .free import Numbers, ceiling, share
from .outputs import Parameters
from .spans import Cells, cells_of, end_points, noise_on, triples_of
from .stealing import Atom, Measures

__all__ = ["measures_of", "of_interval"]

Cut = tuple[list[Atom], arb]


def of_interval(mechanism: Parameters, eps: arb, free: Numbers, log_delta: float) -> Measures:
    """Section 6: split as for lattice noise, with a cover of all inputs."""
    noise, grow = noise_on(mechanism, log_delta), eps.exp()
    triples = triples_of(noise, float(eps.mid()), two_inputs=bool(mechanism.get("binary")))
    types = (cells_of(noise, triple, grow) for triple in triples)
    return measures_of(cells_of(noise, end_points(), grow), types, free, normal=noise.normal)


def measures_of(ends: Cells, covers: Iterable[Cells], free: Numbers, *, normal: bool) -> Measures:
    """Noise on an interval from cells of the end points and of a cover of all inputs.

    Parameters
    ----------
    ends : Cells
        The pair of the end points against the blanket.
    covers : iterable of Cells
        Of triples that dominate those of all inputs.
    free : mapping
        The free numbers.
    normal : bool
        Whether something is left out of the cells.
    """
    kappa, theta = share(free, "kappa"), share(free, "theta", below=False)
    if not kappa > 0:
        raise ParameterError("kappa = 0: wanted a reservoir")
    highest = ceiling(free)

    def split(atoms: list[Atom], part: arb, join: arb) -> Cut:
        found, lost = [], arb(0)
        for mass, value in atoms:
            gain = join / part * value
            if highest is not None:
                lost += part * mass * (gain - highest).max(arb(0))
                gain = gain.min(highest)
            found.append((part * mass, gain))
        return found, lost

    reservoir, lost = split(ends.atoms, kappa, theta)
    lost += theta * ends.outside
    if normal:
        # The blanket outside the cells, its gain taken out: at most anybody's mass there.
        reservoir.append((arb(0).union(arb((kappa * ends.outside).upper())), arb(0)))
    types: list[list[Atom]] = []
    seen_for_sure: list[arb] = []
    for cells in covers:
        found, gave = split(cells.atoms, 1 - kappa, 1 - theta)
        types.append(found)
        seen_for_sure.append(gave + (1 - theta) * cells.outside)
    positives = [mass * value.max(arb(0)) for mass, value in ends.atoms]
    unhidden = (1 - theta) * (sum(positives, arb(0)) + ends.outside)
    return Measures(reservoir, types, unhidden, lost, seen_for_sure)
