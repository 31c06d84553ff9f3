"""What a label-stealing bound has to look at, decided from the mechanism alone, and its measures.

docs/theory-stealing.md, section 5, says which pairs of the victim's inputs and which inputs of the
others are enough. The certificate gives free numbers, one set for each pair named here: how large
the reservoir is, and with what probability the victim joins it. Any numbers in range are valid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from shuffledp.errors import NotCertified, ParameterError

from ._flint import arb, ctx
from .kinds import is_mixed, stand_ins
from .labels import label_laws, label_mechanism, label_pairs
from .lattice import gaussian_law, geometric_law
from .laws import finite_law
from .outputs import Law, OutputClass, positive
from .pairs import PARTS
from .registry import RECORDS
from .spans import INTERVAL_NOISE, Cells, cells_of, end_points, noise_on, triples_of
from .stealing import Atom, Measures, log_bound

__all__ = [
    "is_listed",
    "log_delta_stealing",
    "measures_of",
    "stealing_numbers",
    "stealing_pairs",
    "stealing_step",
]

Parameters = Mapping[str, Any]
Numbers = Mapping[str, Any]
Pair = tuple[Any, Any]

_BITS = 256
# What is cut off of unbounded noise, against the delta that is claimed.
_DEEPER, _LEAST_CUT = 25.0, -3000.0
# Where nothing is claimed.
_LOG_CUT = -60.0
# As in the theorems' statements: sizes that are looked at one by one.
_MOST_INPUTS, _MOST_SHIFTS = 12, 28
# Discrete Laplace noise: more inputs would take more than about a minute.
_MOST_SPANNING = 128
_LISTED = {"channel": lambda m: len(m["matrix"]), "extremal": lambda m: len(m["pattern"])}
_LATTICE = {"discrete-laplace", "discrete-gaussian"}

_TUNED = ("gain", "loss", "silent", "weights")


def stealing_pairs(mechanism: Parameters) -> list[Pair] | None:
    """Ordered pairs of the victim's inputs that dominate all others; None: no theorem says which.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}; "generic" stands for a family, of which there is one pair.
    """
    mechanism = _inner(mechanism)
    name = mechanism["name"]
    if name == "poisson-subsample":
        return None
    if name == "generic":
        return None if mechanism.get("adaptive") else [(0, 1)]
    alike = stand_ins(mechanism)
    if alike:
        return [(alike[0], alike[1])]
    if is_mixed(mechanism):
        return [(mechanism["low"], mechanism["high"])]
    if label_laws(mechanism) is not None:
        return label_pairs(label_mechanism(mechanism))
    if name in _LISTED:
        items = _LISTED[name](mechanism)
        return list(itertools.permutations(range(items), 2)) if items <= _MOST_INPUTS else None
    if name in INTERVAL_NOISE:
        return [(mechanism["low"], mechanism["high"])]
    if name == "discrete-laplace":
        return [(0, mechanism["top"])]
    if name in _LATTICE:
        return [(0, mechanism["top"])] if mechanism["top"] <= _MOST_SHIFTS else None
    return None


def _inner(mechanism: Parameters) -> Parameters:
    """What is subsampled, if its triples carry over: not those of noise (section 5.7)."""
    found = mechanism
    while found["name"] == "poisson-subsample":
        found = found["randomizer"]
    return mechanism if found["name"] in {*_LATTICE, *INTERVAL_NOISE} else found


def stealing_step(mechanism: Parameters) -> str:
    """Key of what says why these are enough, of one mechanism."""
    mechanism = _inner(mechanism)
    name = mechanism["name"]
    if name in _LISTED:
        return "all-triples"
    if name in INTERVAL_NOISE:
        return "spanning-triples"
    if is_mixed(mechanism):
        return "mixed-triples"
    if label_laws(mechanism) is not None:
        if name in PARTS:
            return "part-triples"
        return "overlap-triples" if name == "sampling-rappor" else "corner-triples"
    if name in RECORDS:
        return "" if (step := RECORDS[name].others_step) is None else step[0]
    return "shifted-triples" if name in _LATTICE else "alike-triples"


def is_listed(mechanism: Parameters) -> bool:
    """Whether all ordered pairs of inputs are looked at, and all inputs of the others."""
    return _inner(mechanism)["name"] in _LISTED


def stealing_numbers(mechanism: Parameters) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the free numbers of one pair: those that have to be given, those that may be."""
    mechanism = _inner(mechanism)
    name = mechanism["name"]
    contour = ("alpha", "smoothing")
    constant = {"generic", "discrete-laplace", "laplace", "clamped-laplace"}
    if name in constant or label_laws(mechanism) is not None:
        return (*contour, "kappa", "theta"), ()
    if name in {"discrete-gaussian", "gaussian"}:
        return (*contour, "kappa", "theta"), ("ceiling",)
    return (*contour, *_TUNED), ()


def log_delta_stealing(
    mechanism: Parameters,
    numbers: Sequence[Numbers],
    *,
    n: int,
    epsilon: float,
    guess: float | None = None,
    enough: float = -math.inf,
) -> float:
    """A float certainly not below log of the label-stealing bound at eps.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}, or {"name": "generic", "eps0": ..., "adaptive": False}.
    numbers : sequence of mappings
        Free numbers for each pair of ``stealing_pairs``, in that order.
    n : int
        Users, the victim included, 2 <= n <= 10**15.
    epsilon : float
        eps >= 0 in nats.
    guess : float, optional
        About log delta: how much of unbounded noise has to be looked at.
    enough : float
        Where the bound is no more than that, any number up to it may be returned, which is quicker.

    Raises
    ------
    ParameterError
        For numbers out of range.
    NotCertified
        Where no theorem says which pairs to look at, or it would be too much work.
    """
    pairs = stealing_pairs(mechanism)
    if pairs is None:
        raise NotCertified(f"label-stealing of {mechanism['name']} is not recomputed")
    if len(numbers) != len(pairs):
        raise ParameterError(f"free: {len(numbers)} sets of numbers, wanted {len(pairs)}")
    if not (math.isfinite(epsilon) and epsilon >= 0.0):
        raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number >= 0")
    with ctx.workprec(_BITS):
        make = _maker(mechanism, arb(epsilon), guess)
        found = (make(pair, free) for pair, free in zip(pairs, numbers, strict=True))
        return log_bound(found, numbers, n, enough=enough)


def _maker(
    mechanism: Parameters, eps: arb, guess: float | None
) -> Callable[[Pair, Numbers], Measures]:
    """What makes the measures of a pair of inputs from its free numbers."""
    name = mechanism["name"]
    if name == "generic":
        return lambda _, free: _of_family(positive(mechanism, "eps0"), eps, free)
    if name in _LATTICE:
        return lambda pair, free: _of_shifts(mechanism, pair, eps, free, guess)
    if name in INTERVAL_NOISE:
        log_delta = _LOG_CUT if guess is None else guess
        return lambda _, free: _of_interval(mechanism, eps, free, log_delta)
    if label_laws(mechanism) is not None:
        return lambda pair, free: _of_labels(mechanism, pair, eps, free)
    inner = _inner(mechanism)
    alike = stand_ins(inner)
    if alike:
        others = alike
    elif inner["name"] in _LISTED:
        others = tuple(range(_LISTED[inner["name"]](inner)))
    else:
        others = (inner["low"], inner["high"])

    def make(pair: Pair, free: Numbers) -> Measures:
        law = finite_law(mechanism, (*pair, *others))
        return _of_law(law, eps, free, stand_ins=len(alike) > 2)

    return make


# ------------------------------------------------------------------------------- free numbers


def _share(free: Numbers, key: str, *, least: float = 0.0, below: bool = True) -> arb:
    """A number from 0 to 1; ``below``: less than 1."""
    value = free.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"{key} = {value!r}: wanted a number from 0 to 1")
    if not (least <= value < 1.0 or (value == 1.0 and not below)):
        raise ParameterError(f"{key} = {value!r}: wanted a number from 0 to 1")
    return arb(value)


def _weights(free: Numbers, types: int) -> list[arb]:
    given = free.get("weights")
    if not isinstance(given, Sequence) or len(given) != types:
        raise ParameterError(f"weights = {given!r}: wanted {types} of them")
    for value in given:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ParameterError(f"weights = {given!r}: wanted numbers >= 0")
        if not (math.isfinite(value) and value >= 0.0):
            raise ParameterError(f"weights = {given!r}: wanted numbers >= 0")
    return [arb(value) for value in given]


# --------------------------------------------------------------------------- finite mechanisms


def _of_law(law: Law, eps: arb, free: Numbers, *, stand_ins: bool) -> Measures:
    """Section 5.1: beta = kappa B, kappa by the sign of g; s = beta H/(1 + beta H).

    ``law``: x0, x1, then the types. Where a type stands for several inputs, beta/B and s are the
    same for all outputs with the same R_x0 : R_x1 : B, which tell none of these inputs apart.
    """
    types = len(law[0].probability) - 2
    weights = _weights(free, types)
    shares = {key: _share(free, key) for key in ("gain", "loss", "silent")}
    grow = eps.exp()
    reservoir: list[Atom] = []
    labelled: list[list[Atom]] = [[] for _ in range(types)]
    unhidden, lost = arb(0), [arb(0)] * types
    for part in _parts(law, stand_ins=stand_ins):
        kappa = shares[_sign(part[0], grow)]
        join = _join(part, kappa, weights)
        for one in part:
            beta = kappa * one.blanket
            p0, p1, *rows = one.probability
            g = p0 - grow * p1
            # Nobody joins where there is no reservoir.
            s = join if beta > 0 else arb(0)
            seen = (1 - s) * g.max(arb(0))
            unhidden += seen
            if beta > 0:
                reservoir.append((beta, s * g / beta))
            for j, row in enumerate(rows):
                rest = row - beta if beta > 0 else row
                if rest > 0:
                    labelled[j].append((rest, (1 - s) * g / rest))
                else:
                    lost[j] += seen
    return Measures(reservoir, labelled, unhidden, arb(0), lost)


def _largest(values: Sequence[arb]) -> arb:
    found = values[0]
    for value in values[1:]:
        found = found.max(value)
    return found


def _parts(law: Law, *, stand_ins: bool) -> list[list[OutputClass]]:
    """Classes that share beta/B and s: each for itself, or by the ratios R_x0 : R_x1 : B."""
    if not stand_ins:
        return [[one] for one in law]
    found: dict[tuple[bool, bool], list[OutputClass]] = {}
    for one in law:
        if one.level is None:
            raise NotCertified("label stealing: wanted likelihood ratios known without error")
        found.setdefault((one.level[0].is_zero(), one.level[1].is_zero()), []).append(one)
    return list(found.values())


def _sign(one: OutputClass, grow: arb) -> str:
    """Which share of the blanket an output has: a choice that is made of ratios alone."""
    p0, p1 = one.probability[:2]
    if one.rational is not None:
        same = one.rational[1] == one.rational[2]
    else:
        same = one.level is not None and (one.level[0] - one.level[1]).is_zero()
    if same:
        return "silent"
    return "gain" if p0 > grow * p1 else "loss"


def _join(part: list[OutputClass], kappa: arb, weights: list[arb]) -> arb:
    """s = beta H/(1 + beta H), H = sum_j w_j/(R_j - beta), of the masses of the whole part."""
    beta = kappa * sum((one.blanket for one in part), arb(0))
    heard = arb(0)
    for j, weight in enumerate(weights):
        rest = sum((one.probability[2 + j] for one in part), arb(0)) - beta
        if rest > 0 and not weight.is_zero():
            heard += weight * beta / rest
    return heard / (1 + heard)


# ------------------------------------------------------------------------------------- families


def _of_family(eps0: arb, eps: arb, free: Numbers) -> Measures:
    """Theorem 5.3: beta = (kappa/E) (R_x0 + R_x1)/2, s = theta, and five extreme laws of ratios."""
    kappa, theta = _share(free, "kappa"), _share(free, "theta", below=False)
    e, grow = eps0.exp(), eps.exp()
    if not kappa > 0:
        raise ParameterError("kappa = 0: wanted a reservoir")
    half, one = kappa / e / 2, arb(1)
    more, less = e / (e + 1), 1 / (e + 1)
    reservoir = [(half, theta * (p0 - grow * p1) / half) for p0, p1 in ((more, less), (less, more))]
    # (mass, R_x0/R_x, R_x1/R_x).
    laws = [
        [(less, one, e), (more, one, 1 / e)],
        [(less, e, one), (more, 1 / e, one)],
        [(1 / (e + 2), e, one), (1 / (e + 2), one, e), (e / (e + 2), 1 / e, 1 / e)],
        [
            (1 / (2 * e + 1), e, e),
            (e / (2 * e + 1), one, 1 / e),
            (e / (2 * e + 1), 1 / e, one),
        ],
        [(less, e, e), (more, 1 / e, 1 / e)],
    ]
    types = []
    for law in laws:
        atoms = []
        for mass, p0, p1 in law:
            left = 1 - kappa / e * (p0 + p1) / 2
            atoms.append((mass * left, (1 - theta) * (p0 - grow * p1) / left))
        types.append(atoms)
    positives = [(p0 - grow * p1).max(arb(0)) for p0, p1 in ((more, less), (less, more))]
    unhidden = (1 - theta) * sum(positives, arb(0))
    return Measures(reservoir, types, unhidden, arb(0), [arb(0)] * len(types))


# ------------------------------------------------------------------------ labels' laws one by one


def _of_labels(mechanism: Parameters, pair: Pair, eps: arb, free: Numbers) -> Measures:
    """Sections 5.4, 5.5: beta = kappa B of the worst pair, labels against whole laws, s = theta."""
    kappa, theta = _share(free, "kappa"), _share(free, "theta", below=False)
    if not kappa > 0:
        raise ParameterError("kappa = 0: wanted a reservoir")
    grow = eps.exp()
    reservoir: list[Atom] = []
    positives, lost = arb(0), arb(0)
    for one in finite_law(mechanism, pair):
        g = one.probability[0] - grow * one.probability[1]
        positives += g.max(arb(0))
        if one.blanket > 0:
            reservoir.append((kappa * one.blanket, theta * g / (kappa * one.blanket)))
        else:
            lost += theta * g.max(arb(0))
    laws = label_laws(mechanism)
    if laws is None:
        raise NotCertified(f"label-stealing of {mechanism['name']} is not recomputed")
    types = [
        [((1 - kappa) * x, (1 - theta) * (p0 - grow * p1) / ((1 - kappa) * x)) for p0, p1, x in law]
        for law in laws
    ]
    return Measures(reservoir, types, (1 - theta) * positives, lost, [arb(0)] * len(types))


# -------------------------------------------------------------------------------- lattice noise


def _of_shifts(
    mechanism: Parameters, pair: Pair, eps: arb, free: Numbers, guess: float | None
) -> Measures:
    """Section 5.2: labels against whole laws, every (x0 - x, x1 - x); the unclamped law."""
    kappa, theta = _share(free, "kappa"), _share(free, "theta", below=False)
    if not kappa > 0:
        raise ParameterError("kappa = 0: wanted a reservoir")
    ceiling = _ceiling(free)
    geometric = mechanism["name"] == "discrete-laplace"
    if geometric and mechanism["top"] > _MOST_SPANNING:
        raise NotCertified("label-stealing of discrete noise on so many integers is not recomputed")
    top, inputs = mechanism["top"], tuple(range(mechanism["top"] + 1))
    if geometric:
        law = geometric_law(mechanism, inputs)
    else:
        log_cut = _LOG_CUT if guess is None else max(guess - _DEEPER, _LEAST_CUT)
        law = gaussian_law({**mechanism, "clamped": False}, inputs, log_cut=log_cut)
    grow = eps.exp()
    seen = [one for one in law if not one.beyond]
    # Outputs that are cut off: gain 0 there, at most the victim's own mass lost.
    gone = [one for one in law if one.beyond]
    far = _largest([p for one in gone for p in one.probability]) if gone else arb(0)

    def atoms(x0: int, x1: int, against: Callable[[OutputClass], arb], join: arb) -> Cut:
        found, lost = [], join * far
        for one in seen:
            mass = against(one)
            gain = join * (one.probability[x0] - grow * one.probability[x1]) / mass
            if ceiling is not None:
                lost += mass * (gain - ceiling).max(arb(0))
                gain = gain.min(ceiling)
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


Cut = tuple[list[Atom], arb]


def _ceiling(free: Numbers) -> arb | None:
    value = free.get("ceiling")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"ceiling = {value!r}: wanted a finite number >= 0")
    if not (math.isfinite(value) and value >= 0.0):
        raise ParameterError(f"ceiling = {value!r}: wanted a finite number >= 0")
    return arb(value)


# --------------------------------------------------------------------------- noise on an interval


def _of_interval(mechanism: Parameters, eps: arb, free: Numbers, log_delta: float) -> Measures:
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
    kappa, theta = _share(free, "kappa"), _share(free, "theta", below=False)
    if not kappa > 0:
        raise ParameterError("kappa = 0: wanted a reservoir")
    ceiling = _ceiling(free)

    def split(atoms: list[Atom], share: arb, join: arb) -> Cut:
        found, lost = [], arb(0)
        for mass, value in atoms:
            gain = join / share * value
            if ceiling is not None:
                lost += share * mass * (gain - ceiling).max(arb(0))
                gain = gain.min(ceiling)
            found.append((share * mass, gain))
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
