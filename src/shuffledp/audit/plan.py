"""AuditPlan: everything that is settled before the first report is seen.

Cells, events, how the level is divided and the order of the inputs are functions of the plan alone
(``design``), so that no test can depend on the counts it is a test of.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.audit.limits import Ratio
from shuffledp.audit.readings import Reading, read, value_of
from shuffledp.audit.readings.parts import coarse
from shuffledp.errors import rejected
from shuffledp.neighbours import REPLACEMENT
from shuffledp.randomizers import Randomizer, randomizer_from_dict
from shuffledp.values.described import Described

Bools = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.integer]
Pair = tuple[int, int]

# Fewer reports than this cannot refute anything worth the name.
_FEWEST = 100
_MOST_REPORTS = 10**9
# The order of the inputs is an array of bytes, one for each report: at most so many are asked for.
_MOST_ASKED = 10**9
_MOST_INPUTS = 32
# Inputs of small finite domains are all audited; of others the worst pair and one more.
_ALL_INPUTS = 5
# Nested events of each ordered pair, cells of the single tests, cells after an earlier input.
_EVENTS = 8
_COARSE = 16
_COARSEST = 6
# Parts of the level for p0, of which the one with the best expected bound is taken.
_SHARES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)
# Calls of the program at least, so that a seed used again in every call shows.
_CALLS = 8
# Reports of one call at most: a block that fits the memory of any machine.
_LARGEST_CALL = 1 << 20
# delta of the local guarantee of a mechanism without a pure one.
LOCAL_DELTA = 1e-6
# What holds of a pair at this delta is claimed of it at delta = 0: 1e9 reports, the most there are,
# are within 1e9 times this of a pair's for which it is pure, far below any level.
_LEAST_DELTA = 1e-300
# Of the level: tests, limits of nested events, limits of all cells.
SPEND = (0.5, 0.25, 0.25)
# Of the limits of all cells: the boxes of three inputs (``garble``), the rest for each group.
BOXES = 0.5
# Of the limits of nested events: the best event of the worst pair, all others.
_BEST = 0.5


@dataclass(frozen=True, kw_only=True)
class AuditPlan(Described):
    """An audit of a program that claims to be a mechanism.

    Parameters
    ----------
    randomizer : Randomizer
        The declared mechanism; a table as ``to_dict`` makes it will do.
    reports : int
        Reports under each audited input, 100 to 1e9; at most 1e9 in all are asked for.
    alpha : float
        Level: the probability that an honest program is refuted, or that any confidence statement
        of the report is wrong, is at most this.
    seed : int
        Of the order in which the inputs are asked for; the program's randomness is its own.
    inputs : tuple, optional
        Inputs of the mechanism's law, the worst pair first. By default the worst pair and one
        input more (of intervals one that is on no grid), or all of a small domain. Where not any
        two values are neighbours, other pairs than the mechanism's worst ones are held to what it
        claims of any two values, and not lifted to the shuffle.
    n : int, optional
        Messages of the shuffle to which the local findings are lifted.
    deltas : tuple of float
        Where the central eps is bounded.
    rounds : int
        Of the deployment; the central eps is of one of them, as is said with it.
    spend : tuple of three floats
        Parts of alpha for the tests, for the limits of nested events, and for those of all cells.
    events : int
        Nested events of each ordered pair, 1 to 64.
    """

    randomizer: Randomizer
    reports: int = 100_000
    alpha: float = 0.05
    seed: int = 0
    inputs: tuple[Any, ...] | None = None
    n: int | None = None
    deltas: tuple[float, ...] = (1e-6, 1e-9, 1e-12)
    spend: tuple[float, float, float] = SPEND
    events: int = _EVENTS
    rounds: int = 1

    def __post_init__(self) -> None:
        made = self.randomizer
        if not isinstance(made, Randomizer | Mapping):
            raise rejected("randomizer", made, "a mechanism, or its table")
        if not isinstance(made, Randomizer):
            made = randomizer_from_dict(made)
        object.__setattr__(self, "randomizer", made)
        high = _MOST_REPORTS
        object.__setattr__(
            self, "reports", _check.count("reports", self.reports, low=_FEWEST, high=high)
        )
        object.__setattr__(self, "alpha", _check.real("alpha", self.alpha, low=1e-12, high=0.5))
        _check.count("seed", self.seed, low=0, high=2**63 - 1)
        if self.n is not None:
            object.__setattr__(self, "n", _check.count("n", self.n, low=2))
        object.__setattr__(
            self, "deltas", tuple(_check.open_unit("deltas", d) for d in self.deltas)
        )
        spend = tuple(_check.real("spend", part, low=0.0, high=1.0) for part in self.spend)
        if len(spend) != len(SPEND) or not math.fsum(spend) <= 1.0 + 1e-12:
            raise rejected("spend", self.spend, "three parts of alpha, at most 1 together")
        object.__setattr__(self, "spend", spend)
        object.__setattr__(self, "events", _check.count("events", self.events, high=64))
        object.__setattr__(self, "rounds", _check.count("rounds", self.rounds))
        chosen = default_inputs(made) if self.inputs is None else tuple(self.inputs)
        different = len({repr(x) for x in chosen}) == len(chosen)
        if not (2 <= len(chosen) <= _MOST_INPUTS and different):
            raise rejected("inputs", self.inputs, f"2 to {_MOST_INPUTS} different inputs")
        object.__setattr__(self, "inputs", chosen)
        if not _claims(self):
            wanted = "first the two of a worst pair: this mechanism claims nothing of other values"
            raise rejected("inputs", self.inputs, wanted)

    @property
    def asked(self) -> tuple[Any, ...]:
        """The inputs, as a tuple."""
        return self.inputs or ()

    @property
    def total(self) -> int:
        """Reports under all inputs together."""
        return self.reports * len(self.asked)

    @property
    def call_size(self) -> int:
        """Reports of one call of the program."""
        return min(_LARGEST_CALL, -(-self.total // _CALLS))

    def values(self) -> list[Any]:
        """What the program is given for each input."""
        return [value_of(self.randomizer, x) for x in self.asked]

    @property
    def shuffled(self) -> str:
        """What the central eps is of, in words."""
        of = f", in one of {self.rounds:,} rounds" if self.rounds > 1 else ""
        return f"{self.n:,} messages{of}"

    def check_total(self) -> None:
        """ParameterError where more reports would be asked for than there is room for."""
        if self.total > _MOST_ASKED:
            wanted = (
                f"at most {_MOST_ASKED // len(self.asked):,} for each of {len(self.asked)} inputs"
            )
            raise rejected("reports", self.reports, wanted)

    def order(self) -> Labels:
        """Which input is asked for at each place: each of them ``reports`` times."""
        self.check_total()
        generator = np.random.Generator(np.random.Philox(self.seed))
        every = np.repeat(np.arange(len(self.asked), dtype=np.uint8), self.reports)
        generator.shuffle(every)
        return every

    def to_dict(self) -> dict[str, Any]:
        """For files: ``plan_from_dict`` makes it again."""
        return {
            "randomizer": self.randomizer.to_dict(),
            "reports": self.reports,
            "alpha": self.alpha,
            "seed": self.seed,
            "inputs": [plain(x) for x in self.asked],
            "n": self.n,
            "deltas": list(self.deltas),
            "spend": list(self.spend),
            "events": self.events,
            # Of one round files say what they said before there was this key.
            **({"rounds": self.rounds} if self.rounds > 1 else {}),
        }


def plan_from_dict(table: dict[str, Any]) -> AuditPlan:
    """The plan that ``AuditPlan.to_dict`` describes."""
    given = dict(table)
    names = [field.name for field in dataclasses.fields(AuditPlan)]
    if {*given, "rounds"} != set(names):
        raise rejected("plan", sorted(map(str, given)), f"the keys of a plan, {', '.join(names)}")
    for key in ("inputs", "deltas", "spend"):
        if given.get(key) is not None:
            given[key] = tuples(given[key])
            if not isinstance(given[key], tuple):
                raise rejected(f"plan.{key}", given[key], "a list")
    try:
        return AuditPlan(**given)
    except (TypeError, AttributeError, KeyError) as error:
        raise rejected("plan", sorted(map(str, given)), f"the keys of a plan ({error})") from None


def plain(x: Any) -> Any:
    """A value as JSON has it: lists for tuples."""
    return [plain(v) for v in x] if isinstance(x, tuple | list) else x


def tuples(x: Any) -> Any:
    """A value of JSON as inputs are written: tuples for lists."""
    return tuple(tuples(v) for v in x) if isinstance(x, list | tuple) else x


def default_inputs(randomizer: Randomizer) -> tuple[Any, ...]:
    """The pair of the worst dataset, and others: one, or all of a small domain."""
    triples = randomizer.datasets()
    found = list(dict.fromkeys([*triples[0][:2]]))
    size = getattr(randomizer, "items", None)
    names_items = set(found) == {0, 1} and all(isinstance(x, int) for x in found)
    if names_items and randomizer.name in _ITEMWISE and isinstance(size, int):
        more = range(size) if size <= _ALL_INPUTS else range(3)
        return tuple(dict.fromkeys([*found, *more]))
    if randomizer.name == "channel":
        pairs = {x for pair in randomizer.worst_pairs().pairs for x in pair}
        if len(pairs) <= _ALL_INPUTS:
            return tuple(sorted(pairs))
    third = [_off_grids(x2, found) for *_, x2 in triples if x2 not in found]
    if randomizer.name in _PAIR_ONLY:
        third = []
    return (*found, *third[:1])


def _off_grids(x: Any, pair: list[Any]) -> Any:
    """An input between two floats that is on no grid that is coarser than floats: about a third.

    Noise from a grid that is added to it is told from reports that are rounded (docs/audits.md).
    """
    if not all(isinstance(v, float) for v in (x, *pair)) or not min(pair) < x < max(pair):
        return x
    low, high = min(pair), max(pair)
    part, power = math.frexp(low + (high - low) / 3.0)
    # The last one of the 53 bits of a float is set: it is no multiple of anything larger.
    odd = math.ldexp(float(int(part * 2.0**53) | 1), power - 53)
    return odd if low < odd < high else x


# Mechanisms whose inputs 0 .. k-1 are items.
_ITEMWISE = {"k-rr", "binary-rr", "rappor", "oue", "subset", "hadamard-response", "extremal"}
# Mechanisms whose reports are read for two inputs.
_PAIR_ONLY = {"laplace-ball", "privunit", "local-hash", "olh", "blh"}


@dataclass(frozen=True)
class _Claim:
    """The local guarantee that is claimed of an ordered pair, and whether it is of neighbours."""

    pair: Pair
    epsilon: float
    delta: float
    neighbours: bool


@dataclass(frozen=True)
class PairDesign:
    """What is looked at of an ordered pair of inputs.

    Attributes
    ----------
    pair : tuple of two ints
        Places of the inputs.
    epsilon, delta : float
        The claimed guarantee of this pair.
    neighbours : bool
        Whether the two are known to be neighbours: central eps speaks of no other pairs.
    events : tuple of bool arrays
        Nested sets of cells, by decreasing claimed likelihood ratio.
    best : int
        The event with the largest expected lower bound of eps.
    shares : tuple of float
        For each event, the part of its level that is spent on the first input.
    weights : tuple of float
        For each event, its part of the level of all nested events.
    """

    pair: Pair
    epsilon: float
    delta: float
    neighbours: bool
    events: tuple[Bools, ...]
    best: int
    shares: tuple[float, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Design:
    """What follows from a plan: reading, groups of cells, pairs with their events."""

    reading: Reading
    groups: Labels
    group_names: tuple[str, ...]
    coarsest: Labels
    pairs: tuple[PairDesign, ...]
    unit: float


def design(plan: AuditPlan) -> Design:
    """Cells and events of a plan, a function of the plan alone."""
    reading = read(plan.randomizer, plan.asked, plan.reports)
    groups, names = _grouped(reading, _COARSE)
    coarsest, _ = _grouped(reading, _COARSEST)
    claims = _claims(plan)
    level = plan.alpha * plan.spend[1]
    made = []
    for place, claim in enumerate(claims):
        weight = (_BEST if place == 0 else 0.0, (1.0 - _BEST) / len(claims))
        made.append(_pair_design(plan, reading, claim, weight, level))
    return Design(reading, groups, names, coarsest, tuple(made), _unit(plan, reading))


def _unit(plan: AuditPlan, reading: Reading) -> float:
    """Last place of the largest input, for reports without atoms; 0 where they are not floats."""
    if reading.equal is None or not all(isinstance(x, int | float) for x in plan.asked):
        return 0.0
    largest = max(abs(float(x)) for x in plan.asked)
    return float(np.spacing(largest))


def _grouped(reading: Reading, most: int) -> tuple[Labels, tuple[str, ...]]:
    if len(reading.names) <= most:
        return np.arange(len(reading.names)), reading.names
    if not reading.line:
        made = coarse(reading, most)
        # The groups are read off by classifying cells instead of reports.
        return _groups_of(reading, most), made.names
    weight = np.cumsum(reading.mass.mean(axis=0))
    groups = np.minimum((weight * most * (1.0 - 1e-9)).astype(np.int64), most - 1)
    groups = np.unique(groups, return_inverse=True)[1].ravel()
    names = tuple(
        f"{reading.names[int(np.flatnonzero(groups == g)[0])]} to "
        f"{reading.names[int(np.flatnonzero(groups == g)[-1])]}"
        for g in range(int(groups.max()) + 1)
    )
    return groups, names


def _groups_of(reading: Reading, most: int) -> Labels:
    probe = Reading(reading.names, reading.mass, lambda cells: cells, reading.rel, reading.err)
    return np.asarray(coarse(probe, most).classify(np.arange(len(reading.names))))


def _claims(plan: AuditPlan) -> list[_Claim]:
    """Ordered pairs with their claimed guarantee, the worst one first.

    Neighbours are any two values, or those of the mechanism's worst data sets: of other pairs its
    pure guarantee is claimed, if it has one.
    """
    randomizer = plan.randomizer
    pure = math.isfinite(float(randomizer.eps0))
    near, delta = _of_neighbours(randomizer)
    everyone = randomizer.relation == REPLACEMENT
    known = {frozenset(repr(x) for x in triple[:2]) for triple in randomizer.datasets()}
    found = []
    for pair in sorted(itertools.permutations(range(len(plan.asked)), 2), key=_place):
        alike = everyone or frozenset(repr(plan.asked[i]) for i in pair) in known
        if alike or pure:
            epsilon = near if alike else float(randomizer.eps0)
            found.append(_Claim(pair, epsilon, delta, alike))
    return [claim for claim in found if math.isfinite(claim.epsilon)] or found[:2]


def _of_neighbours(randomizer: Randomizer) -> tuple[float, float]:
    """The claimed (eps, delta) of neighbours: pure where the mechanism is.

    ``local_epsilon`` at a delta may be far below what holds at 0: of a report that is sent with a
    probability below delta it is 0.
    """
    eps0 = float(randomizer.eps0)
    if math.isfinite(eps0):
        return min(eps0, float(randomizer.local_epsilon(_LEAST_DELTA))), 0.0
    return float(randomizer.local_epsilon(LOCAL_DELTA)), LOCAL_DELTA


def _place(pair: Pair) -> tuple[bool, Pair]:
    """The worst pair first, in both orders."""
    return pair not in {(0, 1), (1, 0)}, pair


def _pair_design(
    plan: AuditPlan,
    reading: Reading,
    claim: _Claim,
    weight: tuple[float, float],
    level: float,
) -> PairDesign:
    first, second = (reading.mass[i] for i in claim.pair)
    order = _by_ratio(first, second)
    sums = np.cumsum(first[order]), np.cumsum(second[order])
    level *= sum(weight)
    ends = [(float(p), float(q)) for p, q in zip(*(v[:-1] for v in sums), strict=True)]
    expected = [_expected(plan.reports, end, level, claim.delta, 0.5) for end in ends]
    best = max(range(len(ends)), key=expected.__getitem__)
    chosen = _spread(best, len(ends), plan.events)
    events = []
    for j in chosen:
        inside = np.zeros(len(order), dtype=np.bool_)
        inside[order[: j + 1]] = True
        events.append(inside)
    place = chosen.index(best)
    weights = [weight[1] / len(chosen)] * len(chosen)
    weights[place] += weight[0]
    shares = tuple(
        max(_SHARES, key=lambda s: _expected(plan.reports, ends[j], level, claim.delta, s))
        for j in chosen
    )
    return PairDesign(
        claim.pair,
        claim.epsilon,
        claim.delta,
        claim.neighbours,
        tuple(events),
        place,
        shares,
        tuple(weights),
    )


def _by_ratio(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> Labels:
    """Cells by decreasing first/second, those of no mass last."""
    with np.errstate(divide="ignore"):
        ratio = np.log(np.maximum(first, 1e-300)) - np.log(np.maximum(second, 1e-300))
    empty = (first <= 0.0) & (second <= 0.0)
    return np.argsort(np.where(empty, np.inf, -ratio), kind="stable")


def _spread(best: int, count: int, wanted: int) -> list[int]:
    """The best place, and others evenly spaced."""
    others = np.unique(np.linspace(0, count - 1, min(wanted, count)).astype(int)).tolist()
    if best not in others:
        nearest = min(others, key=lambda j: abs(j - best))
        others[others.index(nearest)] = best
    return sorted(set(others))


def _expected(n: int, ends: tuple[float, float], level: float, delta: float, share: float) -> float:
    """Lower bound of eps from the counts that are expected, a part of the level going to p."""
    p, q = ends
    if level <= 0.0 or p - delta <= q:
        return 0.0
    return Ratio(math.floor(n * p), n, math.ceil(n * q), n, share).epsilon(level, delta=delta)
