"""What a label-stealing bound has to look at, decided from the mechanism alone, and its measures.

docs/theory-stealing.md, section 5, says which pairs of the victim's inputs and which inputs of the
others are enough. The certificate gives free numbers, one set for each pair named here: how large
the reservoir is, and with what probability the victim joins it. Any numbers in range are valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.errors import NotCertified, ParameterError

from .free import Numbers, share, weights
from .labels import others_of
from .laws import finite_law
from .noise_triples import of_interval, of_shifts
from .outputs import Law, OutputClass, Parameters, positive
from .record import Masses, Pair, Step
from .spans import INTERVAL_BITS
from .stealing import Atom, Measures, log_bound

__all__ = [
    "is_listed",
    "log_delta_stealing",
    "stealing_numbers",
    "stealing_pairs",
    "stealing_step",
]

_BITS = 256
# Where nothing is claimed.
_LOG_CUT = -60.0
# What is looked at are inputs of the others.
_BY_INPUTS = {"alike", "listed", "mixed"}
_TUNED = ("gain", "loss", "silent", "weights")


def stealing_pairs(mechanism: Parameters) -> list[Pair] | None:
    """Ordered pairs of the victim's inputs that dominate all others; None: no theorem says which.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}; "generic" stands for a family, of which there is one pair.
    """
    found = others_of(mechanism)
    return None if found is None else list(found.pairs)


def stealing_step(mechanism: Parameters) -> Step:
    """What says why these are enough, of one mechanism.

    Raises
    ------
    NotCertified
        Where no theorem does.
    """
    found = others_of(mechanism)
    if found is None:
        raise NotCertified(f"label-stealing of {mechanism['name']} is not recomputed")
    return found.step


def is_listed(mechanism: Parameters) -> bool:
    """Whether all ordered pairs of inputs are looked at, and all inputs of the others."""
    found = others_of(mechanism)
    return found is not None and found.how == "listed"


def stealing_numbers(mechanism: Parameters) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the free numbers of one pair: those that have to be given, those that may be."""
    found, contour = others_of(mechanism), ("alpha", "smoothing")
    if found is None or found.how in _BY_INPUTS:
        return (*contour, *_TUNED), ()
    return (*contour, "kappa", "theta"), ("ceiling",) if found.unbounded else ()


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
    looked_at = others_of(mechanism)
    on_interval = looked_at is not None and looked_at.how == "span"
    with ctx.workprec(INTERVAL_BITS if on_interval else _BITS):
        make = _maker(mechanism, arb(epsilon), guess)
        found = (make(pair, free) for pair, free in zip(pairs, numbers, strict=True))
        return log_bound(found, numbers, n, enough=enough)


def _maker(
    mechanism: Parameters, eps: arb, guess: float | None
) -> Callable[[Pair, Numbers], Measures]:
    """What makes the measures of a pair of inputs from its free numbers."""
    found = others_of(mechanism)
    if found is None:
        raise NotCertified(f"label-stealing of {mechanism['name']} is not recomputed")
    labels = found.labels
    if labels is not None:
        return lambda pair, free: _of_labels(finite_law(mechanism, pair), labels(), eps, free)
    if found.how == "family":
        return lambda _, free: _of_family(positive(mechanism, "eps0"), eps, free)
    if found.how == "shifts":
        return lambda pair, free: of_shifts(mechanism, pair, eps, free, guess)
    if found.how == "span":
        log_delta = _LOG_CUT if guess is None else guess
        return lambda _, free: of_interval(mechanism, eps, free, log_delta)
    others = found.inputs
    several = found.how == "alike" and len(others) > 2

    def make(pair: Pair, free: Numbers) -> Measures:
        law = finite_law(mechanism, (*pair, *others))
        return _of_law(law, eps, free, stand_ins=several)

    return make


# --------------------------------------------------------------------------- finite mechanisms


def _of_law(law: Law, eps: arb, free: Numbers, *, stand_ins: bool) -> Measures:
    """Section 5.1: beta = kappa B, kappa by the sign of g; s = beta H/(1 + beta H).

    ``law``: x0, x1, then the types. Where a type stands for several inputs, beta/B and s are the
    same for all outputs with the same R_x0 : R_x1 : B, which tell none of these inputs apart.
    """
    types = len(law[0].probability) - 2
    tuned = weights(free, types)
    shares = {key: share(free, key) for key in ("gain", "loss", "silent")}
    grow = eps.exp()
    reservoir: list[Atom] = []
    labelled: list[list[Atom]] = [[] for _ in range(types)]
    unhidden, lost = arb(0), [arb(0)] * types
    for part in _parts(law, stand_ins=stand_ins):
        kappa = shares[_sign(part[0], grow)]
        join = _join(part, kappa, tuned)
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
    kappa, theta = share(free, "kappa"), share(free, "theta", below=False)
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


def _of_labels(law: Law, labels: Iterable[list[Masses]], eps: arb, free: Numbers) -> Measures:
    """Sections 5.4, 5.5: beta = kappa B of the worst pair, labels against whole laws, s = theta."""
    kappa, theta = share(free, "kappa"), share(free, "theta", below=False)
    if not kappa > 0:
        raise ParameterError("kappa = 0: wanted a reservoir")
    grow = eps.exp()
    reservoir: list[Atom] = []
    positives, lost = arb(0), arb(0)
    for one in law:
        g = one.probability[0] - grow * one.probability[1]
        positives += g.max(arb(0))
        if one.blanket > 0:
            reservoir.append((kappa * one.blanket, theta * g / (kappa * one.blanket)))
        else:
            lost += theta * g.max(arb(0))
    types = [
        [((1 - kappa) * x, (1 - theta) * (p0 - grow * p1) / ((1 - kappa) * x)) for p0, p1, x in one]
        for one in labels
    ]
    return Measures(reservoir, types, (1 - theta) * positives, lost, [arb(0)] * len(types))
