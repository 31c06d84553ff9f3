"""Measures of label stealing for noise: on a lattice by shifts, on an interval by a cover.

docs/theory-stealing.md, sections 5.2 and 6.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import NotCertified, ParameterError

from .free import Numbers, ceiling, share
from .laws import finite_law
from .outputs import OutputClass, Parameters, largest
from .record import Pair
from .registry import record_of
from .spans import Cells, cells_of, end_points, noise_on, triples_of
from .stealing import Atom, Measures

__all__ = ["measures_of", "of_interval", "of_shifts"]

Cut = tuple[list[Atom], arb]

# What is cut off of unbounded noise, against the delta that is claimed.
_DEEPER, _LEAST_CUT = 25.0, -3000.0
# Where nothing is claimed.
_LOG_CUT = -60.0
# Discrete Laplace noise: more inputs would take more than about a minute.
_MOST_SPANNING = 128


def of_shifts(
    mechanism: Parameters, pair: Pair, eps: arb, free: Numbers, guess: float | None
) -> Measures:
    """Section 5.2: labels against whole laws, every (x0 - x, x1 - x); the unclamped law."""
    kappa, theta = share(free, "kappa"), share(free, "theta", below=False)
    if not kappa > 0:
        raise ParameterError("kappa = 0: wanted a reservoir")
    highest = ceiling(free)
    record = record_of(mechanism)
    # A law that is not cut off is two-sided geometric.
    geometric = record.cut_law is None
    if geometric and mechanism["top"] > _MOST_SPANNING:
        raise NotCertified("label-stealing of discrete noise on so many integers is not recomputed")
    top, inputs = mechanism["top"], tuple(range(mechanism["top"] + 1))
    if record.cut_law is None:
        law = finite_law(mechanism, inputs)
    else:
        log_cut = _LOG_CUT if guess is None else max(guess - _DEEPER, _LEAST_CUT)
        law = record.cut_law({**mechanism, "clamped": False}, inputs, log_cut=log_cut)
    grow = eps.exp()
    seen = [one for one in law if not one.beyond]
    # Outputs that are cut off: gain 0 there, at most the victim's own mass lost.
    gone = [one for one in law if one.beyond]
    far = largest([p for one in gone for p in one.probability]) if gone else arb(0)

    def atoms(x0: int, x1: int, against: Callable[[OutputClass], arb], join: arb) -> Cut:
        found, lost = [], join * far
        for one in seen:
            mass = against(one)
            gain = join * (one.probability[x0] - grow * one.probability[x1]) / mass
            if highest is not None:
                lost += mass * (gain - highest).max(arb(0))
                gain = gain.min(highest)
            found.append((mass, gain))
        return found, lost

    reservoir, lost = atoms(*pair, lambda one: kappa * one.blanket, theta)
    if gone:
        # The blanket there is between 0 and anybody's mass; its gain was taken out.
        upper = (kappa * far).upper()
        reservoir.append((arb(0).union(arb(upper)), arb(0)))
    types: list[list[Atom]] = []
    seen_for_sure: list[arb] = []
    for u, v, x in _shifts(top, spanning=geometric):
        found, gave = atoms(
            u + x, v + x, lambda one, x=x: (1 - kappa) * one.probability[x], 1 - theta
        )
        types.append(found)
        seen_for_sure.append(gave)
    positives = [(o.probability[pair[0]] - grow * o.probability[pair[1]]).max(arb(0)) for o in seen]
    unhidden = (1 - theta) * (sum(positives, arb(0)) + far)
    return Measures(reservoir, types, unhidden, lost, seen_for_sure)


def _shifts(top: int, *, spanning: bool) -> Iterator[tuple[int, int, int]]:
    """u = x0 - x and v = x1 - x, mirror images once, with an x for which all are in the range.

    Of symmetric log-concave noise x1 is moved outward until all three span the range, unless it is
    between x and x0. ``spanning``: two-sided geometric noise, of which x0 is moved outward then.
    """
    for u, v in itertools.product(range(-top, top + 1), repeat=2):
        low, high = min(u, v, 0), max(u, v, 0)
        # f is symmetric: of (u, v) and (-u, -v) one is enough.
        once = u != v and (u, v) >= (-u, -v)
        inner = 0 < v < u < top and not spanning
        if once and (high - low == top or inner):
            yield u, v, -low


# --------------------------------------------------------------------------- noise on an interval


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
