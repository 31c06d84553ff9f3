"""A randomizer -> the cases its label-stealing bound is the largest of."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from shuffledp.errors import NotCertified
from shuffledp.pair import Array
from shuffledp.randomizers import JointLaw, Randomizer
from shuffledp.randomizers.base import WorstTriples
from shuffledp.stealing.cases import Case, FiniteCase
from shuffledp.stealing.cells import Rows, RowStack
from shuffledp.stealing.groups import grouped
from shuffledp.stealing.noise import IntervalCase, ShiftCase

# Ratios beyond it are left out of the cells: seen for sure.
_LARGEST_RATIO = 1e130
# Squares of ratios of rarer outputs leave the range of floats.
_SMALLEST_MASS = 1e-100
# Below it the blanket is as good, and faster.
_WORTH_IT = 1.0005


def cases_of(randomizer: Randomizer, log_delta: float) -> list[tuple[Case, dict[str, Any]]]:
    """The cases, each with words for its pair of inputs.

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    log_delta : float
        About how small delta is: continuous outputs are computed in enough detail for it.

    Raises
    ------
    NotCertified
        Where it is not settled what the others' worst inputs are.
    """
    triples = randomizer.worst_triples()
    if triples is None:
        msg = (
            f"analysis = 'label-stealing': of {randomizer.name} it is not settled which inputs of "
            "the others are the worst"
        )
        raise NotCertified(msg)
    if triples.apart:
        ((x0, x1, _), *_rest) = triples.triples
        return [(_shift_case(randomizer, triples), {"x0": x0, "x1": x1})]
    if triples.triples:
        return [
            (
                _finite_case(randomizer, triples, i),
                {"x0": x0, "x1": x1},
            )
            for i, (x0, x1, _) in enumerate(triples.triples)
        ]
    noise = randomizer.interval_density(log_delta)
    if noise is None:
        raise NotCertified("analysis = 'label-stealing': no description of the noise")
    return [(IntervalCase(noise), {"x0": "one end", "x1": "the other"})]


def promising(randomizer: Randomizer) -> bool:
    """Whether the bound can be much below the blanket's.

    To first order the blanket loses a factor sqrt(chi_B/chi_x) of eps, chi = int (R_x1 - R_x0)^2
    over the blanket or over the worst R_x: 1 for k-RR, for instance, where nothing is to be gained.
    """
    triples = randomizer.worst_triples()
    if triples is None:
        return False
    if len(triples.triples) != 1:
        return True
    ((x0, x1, others),) = triples.triples
    if not others:
        return _labels_loss(randomizer, x0, x1) > _WORTH_IT
    try:
        return _finite_case(randomizer, triples, 0).blanket_loss > _WORTH_IT
    except NotCertified:
        return False


@lru_cache(maxsize=4)
def _label_laws(randomizer: Randomizer) -> tuple[JointLaw, ...]:
    """Some hundred laws, with exact masses: asked for at every question, for ``promising`` too."""
    return randomizer.label_laws()


def _labels_loss(randomizer: Randomizer, x0: Any, x1: Any) -> float:
    """sqrt(chi_B/max chi_x), the labels' laws given one by one."""
    law = randomizer.law((x0, x1))
    blanket = _chi(law.mass[0] - law.mass[1], law.blanket)
    worst = max(
        _chi(label.mass[0] - label.mass[1], label.mass[2]) for label in _label_laws(randomizer)
    )
    return math.sqrt(blanket / worst) if worst > 0.0 else math.inf


def _chi(change: Array, reference: Array) -> float:
    """int change^2/reference."""
    some = change != 0.0
    if not bool((reference[some] > 0.0).all()):
        return math.inf
    return float((change[some] ** 2 / reference[some]).sum())


def _finite_case(randomizer: Randomizer, triples: WorstTriples, index: int) -> FiniteCase:
    x0, x1, others = triples.triples[index]
    law = randomizer.law((x0, x1, *others))
    if law.edges is not None:
        raise NotCertified("analysis = 'label-stealing': wanted classes of outputs, not cells")
    masses = law.mass[law.mass > 0.0]
    if float(masses.min()) < _SMALLEST_MASS:
        raise NotCertified("analysis = 'label-stealing': an output is too rare for it")
    return FiniteCase(law, triples.stand_ins)


def _shift_case(randomizer: Randomizer, triples: WorstTriples) -> Case:
    """Reservoir of the first triple's pair, labels of all triples."""
    randomizer = triples.before or randomizer
    ((first, second, others), *_rest) = triples.triples
    if not others:
        common = randomizer.law((first, second))
        labels = _label_laws(randomizer)
        return ShiftCase(
            _atoms(common, 0, 1, None),
            _stack([(law, (0, 1, 2)) for law in labels]),
            bounded=math.isfinite(randomizer.eps0),
        )
    inputs = sorted({x for x0, x1, others in triples.triples for x in (x0, x1, *others)})
    law = randomizer.law(tuple(inputs))
    row = {x: i for i, x in enumerate(inputs)}
    common = _atoms(law, row[first], row[second], None)
    labels = [
        (law, (row[x0], row[x1], row[x])) for x0, x1, others in triples.triples for x in others
    ]
    return ShiftCase(common, _stack(labels), bounded=math.isfinite(randomizer.eps0))


def _stack(labels: list[tuple[JointLaw, tuple[int, int, int]]]) -> RowStack:
    """Rows of each law, all classes of all laws at once."""
    if any(law.edges is not None for law, _ in labels):
        return RowStack.of([_atoms(law, *rows) for law, rows in labels])
    masses = np.concatenate([law.mass[list(rows)] for law, rows in labels], axis=1)
    sizes = [law.blanket.size for law, _ in labels]
    rel = np.repeat([law.rel for law, _ in labels], sizes)
    outside = [float(law.tails()[rows[0]]) for law, rows in labels]
    rows = _classes(masses[0], masses[1], masses[2], rel)
    return RowStack(rows, np.cumsum([0, *sizes]), np.array(outside))


def _atoms(law: JointLaw, first: int, second: int, third: int | None) -> Rows:
    """Classes as cells without width; cells in groups."""
    if law.edges is not None:
        return grouped(law, (first, second, third))
    reference = law.blanket if third is None else law.mass[third]
    found = _classes(law.mass[first], law.mass[second], reference, np.full(1, law.rel))
    return replace(found, outside=float(law.tails()[first]))


def _classes(p0: Array, p1: Array, reference: Array, rel: Array) -> Rows:
    """Classes as cells without width, their masses off by ``rel``."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = [np.where(reference > 0.0, p / reference, math.inf) for p in (p0, p1)]
        known = (ratios[0] <= _LARGEST_RATIO) & (ratios[1] <= _LARGEST_RATIO)
        change = ratios[0] - ratios[1]
        err = 4.0 * rel * (ratios[0] + ratios[1])
        ends = (
            change - err,
            change + err,
            ratios[1] * (1.0 - 4.0 * rel),
            ratios[1] * (1.0 + 4.0 * rel),
        )
    low, high, low1, high1 = (np.where(known, end, math.inf) for end in ends)
    return Rows(p0, p1, reference, low, high, low1, high1, float(rel.max()), 0.0)
