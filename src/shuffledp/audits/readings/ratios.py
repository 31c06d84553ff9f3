"""Readings of finite laws: cells are the outputs on which all likelihood ratios are the same.

The law in balls gives the classes of outputs and their probabilities. Which class a report is in
its likelihoods say: one function a mechanism, ``log_likelihood``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import singledispatch
from typing import Any

import numpy as np

from shuffledp.arithmetic.balls import ctx, precision_for
from shuffledp.audits.readings.base import (
    LATTICE,
    SIMULATED,
    Floats,
    Labels,
    Reading,
    equal_when_rounded,
    simulated,
    value_of,
)
from shuffledp.errors import NotCertified, rejected
from shuffledp.randomizers import (
    KRR,
    OUE,
    PCKVGRR,
    PIRAPPOR,
    RAPPOR,
    Channel,
    Duchi,
    HadamardResponse,
    Hybrid,
    LocalHash,
    Piecewise,
    PrivUnit,
    ProjectiveGeometry,
    Randomizer,
    SamplingRAPPOR,
    Staircase,
    SubsetSelection,
    Wheel,
)
from shuffledp.randomizers.hyperplanes import dot
from shuffledp.randomizers.privunit import height
from shuffledp.randomizers.sets import CIRCLE, polynomial
from shuffledp.randomizers.two_levels import lattice
from shuffledp.randomizers.values import RefusedRows

# Inputs of mechanisms whose reports support some of them and others not: each doubles the classes.
MOST_SUPPORTED = 8
# Items, or sets of them, that what is run maps independently (docs/theory.md, section 4).
_MOST_HASHED = 3
# Inputs that nobody asked about, so that noise there has its law as well: items, and of intervals
# places between the ends.
_BYSTANDERS, _PLACES = 2, (0.25, 0.5, 0.75)
# Most inputs of which all are looked at if outputs are listed: then each output of k-RR, and of a
# channel whose columns differ, is a cell of its own, and an error among them is seen.
_FEW_INPUTS = 32
# Items of sets up to which a set beside the audited ones is looked at: 8^3 classes.
_FEW_ITEMS = 7
# Logs of ratios that differ by less are the same; ratios of nothing count as e^-700.
_SAME, _NOTHING = 1e-11, -700.0
# A report is a point of the sphere to this; coordinates are multiples of the step.
_LENGTH, _STEP = 1e-5, 2.0**-32


def by_ratios(randomizer: Any, inputs: tuple[Any, ...]) -> Reading:
    """Cells of equal likelihood ratios between the inputs, and others beside them."""
    seen = _seen(randomizer, inputs)
    samples = [
        simulated(randomizer, x, count=1 if _discrete(randomizer) else SIMULATED) for x in seen
    ]
    try:
        with ctx.workprec(precision_for(1)):
            rows = [one.probability for one in randomizer.output_law(seen)]
            # A difference that is 0 may be a ball around it.
            kept = [row for row in rows if not all(p.contains(0) for p in row)]
            mass = np.maximum([[float(p.mid()) for p in row] for row in kept], 0.0)
    except TypeError:
        raise rejected("inputs", inputs, f"inputs of the law of {randomizer.name}") from None
    weights = np.random.default_rng(0).uniform(1.0, 2.0, len(seen))
    top = mass.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(mass / top), _NOTHING)
    keys = logs @ weights
    order = np.argsort(keys)
    groups = np.cumsum(np.diff(keys[order], prepend=-np.inf) > _SAME) - 1
    cells = np.array([np.bincount(groups, weights=row) for row in mass[order].T])
    firsts = order[np.unique(groups, return_index=True)[1]]
    between = 0.5 * (keys[firsts][1:] + keys[firsts][:-1])

    def classify(reports: Any) -> Labels:
        rows, bad = _in_space(randomizer, samples[0][:1], reports)
        with np.errstate(divide="ignore"):
            found = np.stack([log_likelihood(randomizer, rows, x) for x in seen])
        found = np.maximum(found - found.max(axis=0), _NOTHING)
        return np.where(bad, len(cells[0]), np.searchsorted(between, weights @ found))

    names = tuple(_name(j, row, seen) for j, row in enumerate(logs[firsts]))
    err = _edges(randomizer) * len(seen)
    equal = None if _discrete(randomizer) else equal_when_rounded(samples, err)
    masses = cells[[seen.index(x) for x in inputs]]
    return Reading(names, masses / masses.sum(axis=1, keepdims=True), classify, err, equal)


def _seen(randomizer: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs and some beside them; ParameterError for more than can be told apart."""
    hashed = isinstance(randomizer, LocalHash | Wheel)
    most = _MOST_HASHED if hashed else MOST_SUPPORTED
    if isinstance(randomizer, _LISTED):
        most = len(inputs) + _FEW_INPUTS
    elif len({repr(x) for x in inputs}) > most:
        wanted = f"at most {most} different inputs of {randomizer.name}: each doubles the cells"
        raise rejected("inputs", inputs, wanted)
    own = list(dict.fromkeys(inputs))
    return tuple(dict.fromkeys([*own, *_beside(randomizer, inputs)][: max(most, len(own))]))


# Mechanisms whose classes do not double with each input.
_LISTED = (KRR, Channel, Duchi, Piecewise, Hybrid, Staircase, PCKVGRR, PrivUnit)


def _beside(randomizer: Any, inputs: tuple[Any, ...]) -> Iterable[Any]:
    if isinstance(randomizer, Piecewise | Hybrid | Staircase):
        return [randomizer.low + t * (randomizer.high - randomizer.low) for t in _PLACES]
    if isinstance(randomizer, Duchi | PCKVGRR | PrivUnit):
        return ()
    if isinstance(randomizer, SamplingRAPPOR):
        s, d = randomizer.s, randomizer.d
        return [2 * s % d] if s <= _FEW_ITEMS and len(inputs) == 2 else ()
    size = randomizer.items
    if isinstance(randomizer, KRR | Channel) and size <= _FEW_INPUTS:
        return [x for x in range(size) if x not in inputs]
    if isinstance(randomizer, Wheel):
        size //= randomizer.s
    every = (size - 1, size // 2, *range(min(size, MOST_SUPPORTED)))
    return [x for x in every if x not in inputs][:_BYSTANDERS]


def _name(place: int, logs: Floats, seen: tuple[Any, ...]) -> str:
    likeliest = [str(x) for x, log in zip(seen, logs, strict=True) if log > -_SAME]
    alike = len(likeliest) == len(seen)
    return f"class {place + 1}, " + (
        "alike" if alike else f"likeliest under {', '.join(likeliest)}"
    )


# ---------------------------------------------------------------------------- the message space


def _discrete(randomizer: Any) -> bool:
    return not isinstance(randomizer, Piecewise | Hybrid | Staircase)


def _edges(randomizer: Any) -> float:
    """How far a class's probability may be off for each input: its edges are on a lattice."""
    if isinstance(randomizer, Piecewise | Hybrid):
        return 4.0 / lattice(randomizer.eps0)[1]
    if isinstance(randomizer, Staircase):
        return LATTICE
    if isinstance(randomizer, PrivUnit):
        # The density of a coordinate is at most (d/2)^(1/2), and the level itself is a float's.
        return min(2.0 * _STEP * math.sqrt(randomizer.d) * math.exp(randomizer.eps0), 5e-7)
    return 0.0


def _in_space(randomizer: Any, sample: Any, given: Any) -> tuple[Any, Any]:
    """Reports in the type of the mechanism's own, and which are none; in their place the sample."""
    rows = np.asarray(given)
    good = np.repeat(sample, len(rows), axis=0)
    if rows.shape[1:] != sample.shape[1:] or rows.dtype.kind not in "iuf":
        return good, np.ones(len(rows), dtype=bool)
    with np.errstate(invalid="ignore"):
        if sample.dtype.kind == "f":
            fits = np.isfinite(rows)
        else:
            info = np.iinfo(sample.dtype)
            fits = (rows >= info.min) & (rows <= info.max) & (rows == np.floor(rows))
    fits = fits.reshape(len(rows), -1).all(axis=1)
    good[fits] = rows[fits].astype(sample.dtype)
    check, bad = _check_of(randomizer), ~fits
    try:
        check(good)
    except RefusedRows as refused:
        bad |= refused.rows
        good[bad] = sample[0]
    return good, bad


def _check_of(randomizer: Any) -> Callable[[Any], Any]:
    """What refuses reports outside of the mechanism's message space."""
    if isinstance(randomizer, Channel):
        return randomizer.aggregate
    if isinstance(randomizer, PrivUnit):
        return _on_sphere
    return getattr(randomizer, "_checked_reports", None) or randomizer._unbiased  # noqa: SLF001


def _on_sphere(rows: Floats) -> None:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    bad = ~(np.abs(lengths - 1.0) <= _LENGTH)
    if bool(bad.any()):
        raise RefusedRows("length of reports", lengths, bad, "1")


# ------------------------------------------------------------------------------- likelihoods


@singledispatch
def log_likelihood(randomizer: Randomizer, reports: Any, x: Any) -> Floats:
    """log of each report's probability under an input, up to a term that all inputs share.

    Parameters
    ----------
    randomizer : Randomizer
        The declared mechanism.
    reports : ndarray
        In its message space.
    x : input
        Of its law.
    """
    del reports, x
    raise NotCertified(f"{randomizer.name}: no audit knows how to read its reports")


@log_likelihood.register
def _response(randomizer: KRR, reports: Any, x: int) -> Floats:
    return randomizer.eps0 * (reports == x)


@log_likelihood.register
def _channel(randomizer: Channel, reports: Any, x: int) -> Floats:
    return np.log(randomizer.probabilities[x])[reports]


@log_likelihood.register
def _duchi(randomizer: Duchi, reports: Any, x: float) -> Floats:
    """P(1) = 1/2 + x tanh(eps0/2)/2 on [-1, 1]."""
    at = (x - randomizer.middle) / randomizer.half * math.tanh(0.5 * randomizer.eps0)
    return np.log1p(np.where(reports == 1, at, -at))


@log_likelihood.register
def _pckv(randomizer: PCKVGRR, reports: Any, x: int) -> Floats:
    """1 + favour (e^eps0 - 1), the favour by the input's pairs that may become the symbol."""
    favour = np.zeros(len(reports))
    for slot, (key, value) in enumerate(randomizer.pairs_of(x)):
        real = key if key >= 0 else randomizer.domain + slot
        sign = 2.0 * (reports & 1) - 1.0
        favour += np.where(reports >> 1 == real, 0.5 * (1.0 + sign * value), 0.0)
    return np.log1p(favour * math.expm1(randomizer.eps0))


@log_likelihood.register
def _hadamard(randomizer: HadamardResponse, reports: Any, x: int) -> Floats:
    """e^eps0 in the item's block where the row of the item is even."""
    block, column = np.divmod(reports.astype(np.int64), 2 * randomizer.half_block)
    odd = column & (x // randomizer.blocks + 1)
    for step in (16, 8, 4, 2, 1):
        odd ^= odd >> step
    return randomizer.eps0 * ((block == x % randomizer.blocks) & (odd & 1 == 0))


@log_likelihood.register(RAPPOR)
@log_likelihood.register(OUE)
def _unary(randomizer: Any, reports: Any, x: int) -> Floats:
    return randomizer.eps0 * (reports[:, x // 8] >> (7 - x % 8) & 1)


@log_likelihood.register
def _sampling(randomizer: SamplingRAPPOR, reports: Any, x: int) -> Floats:
    """(c w + (s - c)/w)/s with c set bits in the set, w = e^(eps0/2)."""
    w = math.exp(0.5 * randomizer.eps0)
    count = sum((reports[:, i // 8] >> (7 - i % 8) & 1) * 1.0 for i in value_of(randomizer, x))
    return np.log(count * w + (randomizer.s - count) / w)


@value_of.register
def _window(randomizer: SamplingRAPPOR, x: Any) -> list[int]:
    """The items x .. x + s - 1, modulo d, in order."""
    return sorted((x + i) % randomizer.items for i in range(randomizer.s))


@log_likelihood.register
def _subset(randomizer: SubsetSelection, reports: Any, x: int) -> Floats:
    return randomizer.eps0 * (reports == x).any(axis=1)


@log_likelihood.register
def _hashed(randomizer: LocalHash, reports: Any, x: int) -> Floats:
    """e^eps0 where the item's hash is the answer, the last number of a report."""
    wide = reports.astype(np.int64)
    digits = [j for j in range(wide.shape[1] - 1) if x >> j & 1]
    return randomizer.eps0 * (wide[:, digits].sum(axis=1) % randomizer.l == wide[:, -1])


@log_likelihood.register
def _wheel(randomizer: Wheel, reports: Any, x: int) -> Floats:
    """Whether an arc of the set's covers the point; on its own set's it is so much likelier."""
    wide, s, p = reports.astype(np.int64), randomizer.s, randomizer.arc / CIRCLE
    items = (np.full(len(wide), item) for item in value_of(randomizer, x))
    starts = [polynomial(wide[:, :-1], item) for item in items]
    on = np.any([(wide[:, -1] - start) % CIRCLE < randomizer.arc for start in starts], axis=0)
    hit = -math.expm1(s * math.log1p(-p))
    own = math.exp(randomizer.eps0) / (1.0 + s * p * math.expm1(randomizer.eps0))
    return np.where(on, math.log(own), math.log((1.0 - hit * own) / (1.0 - hit)))


@value_of.register
def _wheel_set(randomizer: Wheel, x: Any) -> list[int]:
    """j stands for the items j s .. j s + s - 1."""
    return list(range(x * randomizer.s, (x + 1) * randomizer.s))


@log_likelihood.register(PIRAPPOR)
@log_likelihood.register(ProjectiveGeometry)
def _hyperplanes(randomizer: Any, reports: Any, x: int) -> Floats:
    """e^eps0 where the vectors of report and item have the product 0."""
    affine = isinstance(randomizer, PIRAPPOR)
    vectors = reports.astype(np.int64) if affine else randomizer.vectors(reports)
    normal = np.tile(randomizer.normals([x])[0], (len(vectors), 1))
    return randomizer.eps0 * (dot(vectors, normal, randomizer.size) == 0)


@log_likelihood.register
def _piecewise(randomizer: Piecewise, reports: Any, x: float) -> Floats:
    """e^eps0 in the window around the input."""
    return randomizer.eps0 * _in_window(randomizer, reports, x)


def _in_window(randomizer: Any, reports: Any, x: float) -> Any:
    """[l, l + C - 1] with l = ((C + 1) x - (C - 1))/2 on [-1, 1]."""
    c = 1.0 / math.tanh(0.25 * randomizer.eps0)
    at, place = ((y - randomizer.middle) / randomizer.half for y in (x, reports))
    left = 0.5 * ((c + 1.0) * at - (c - 1.0))
    return (place >= left) & (place <= left + (c - 1.0))


@log_likelihood.register
def _hybrid(randomizer: Hybrid, reports: Any, x: float) -> Floats:
    """By the window, but for the two values of Duchi's, whose bits say more or as much."""
    place = (reports - randomizer.middle) / randomizer.half * math.tanh(0.5 * randomizer.eps0)
    bit = np.abs(np.abs(place) - 1.0) < _SAME
    at = (x - randomizer.middle) / randomizer.half * math.tanh(0.5 * randomizer.eps0)
    return np.where(
        bit,
        np.log1p(np.sign(place) * at),
        randomizer.eps0 * _in_window(randomizer, reports, x),
    )


@log_likelihood.register
def _staircase(randomizer: Staircase, reports: Any, x: float) -> Floats:
    """e^-eps0 for each step that the report is away: the first of width g, others of 1."""
    steps = np.abs(reports - x) / (randomizer.high - randomizer.low)
    return -randomizer.eps0 * np.floor(steps + (1.0 - float(randomizer.width or 0.5)))


@log_likelihood.register
def _privunit(randomizer: PrivUnit, reports: Any, x: int) -> Floats:
    """e^eps0 in the cap around the input."""
    along = (1.0, 1.0, -1.0, -1.0)[x] * reports[:, x % 2]
    return randomizer.eps0 * (along >= height(randomizer.c, randomizer.d))


@value_of.register
def _quarter(randomizer: PrivUnit, x: Any) -> list[float]:
    """Quarter turns on the circle of the first two coordinates."""
    first, second = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[x]
    return [first, second] + [0.0] * (randomizer.d - 2)


@value_of.register
def _pckv_value(randomizer: PCKVGRR, x: Any) -> list[list[float]]:
    """The pairs that the law's input stands for."""
    return [[float(key), value] for key, value in randomizer.pairs_of(x)]
