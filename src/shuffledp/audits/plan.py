"""AuditPlan: everything that is settled before the first report is seen.

Cells, events, how the level is divided and the order of the inputs are functions of the plan alone
(``design``), so that no test can depend on the counts it is a test of.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.audits.readings import value_of, values_array
from shuffledp.audits.result import Plain, plain
from shuffledp.errors import NotCertified, rejected
from shuffledp.mechanism.base import mechanism_from_dict
from shuffledp.neighbours import REPLACEMENT
from shuffledp.randomizers import Randomizer
from shuffledp.values.described import Described

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.floating]
Labels = npt.NDArray[np.integer]
Pair = tuple[int, int]
Tell = Callable[[int], None]

# Fewer reports than this cannot refute anything worth the name.
_FEWEST = 100
# The order of the inputs is an array of bytes, one for each report: the most that are asked for.
_MOST_ASKED = 10**9
_MOST_INPUTS = 32
# Inputs of small finite domains are all audited; of others the worst pair and one more.
_ALL_INPUTS = 5
# Calls of the program at least, so that a seed used again in every call shows.
_CALLS = 8
# Reports of one call at most: a block that fits the memory of any machine.
_LARGEST_CALL = 1 << 20
# delta of the local guarantee of a mechanism without a pure one.
LOCAL_DELTA = 1e-6
# What holds of a pair at this delta is claimed of it at delta = 0: 1e9 reports, the most there are,
# are within 1e9 times this of a pair's for which it is pure, far below any level.
_LEAST_DELTA = 1e-300
# Of the level: tests; the rest is for limits.
TESTS = 0.5
# Places of the worst pair, in both orders.
_WORST = {(0, 1), (1, 0)}


@dataclass(frozen=True, kw_only=True)
class AuditPlan(Plain, Described):
    """An audit of a program that claims to be a mechanism, or of which nothing is declared.

    Parameters
    ----------
    randomizer : Randomizer, optional
        The declared mechanism; a table as ``to_dict`` makes it will do. None: nothing is declared,
        as many reports again are asked for first, at most a million under each input, and cells and
        events are chosen by them.
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
    claimed : float, optional
        eps0 that a program without a declared mechanism is said to have.
    """

    randomizer: Randomizer | None = None
    reports: int = 100_000
    alpha: float = 0.05
    seed: int = 0
    inputs: tuple[Any, ...] | None = None
    n: int | None = None
    deltas: tuple[float, ...] = (1e-6, 1e-9, 1e-12)
    claimed: float | None = None

    def __post_init__(self) -> None:
        made = self.randomizer
        if isinstance(made, Mapping):
            made = mechanism_from_dict(made, Randomizer)
        if made is not None and not isinstance(made, Randomizer):
            raise rejected("randomizer", made, "a mechanism, or its table")
        chosen = self.inputs
        if chosen is None and made is not None:
            chosen = default_inputs(made)
        chosen = tuple(chosen) if isinstance(chosen, tuple | list) else ()
        settled = {
            "randomizer": made,
            "reports": _check.count("reports", self.reports, low=_FEWEST, high=_MOST_ASKED),
            "alpha": _check.real("alpha", self.alpha, low=1e-12, high=0.5),
            "seed": _check.count("seed", self.seed, low=0, high=2**63 - 1),
            "n": None if self.n is None else _check.count("n", self.n, low=2),
            "deltas": tuple(_check.open_unit("deltas", d) for d in self.deltas),
            "inputs": chosen,
        }
        if self.claimed is not None:
            settled["claimed"] = _check.positive("claimed", self.claimed)
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        self._check_inputs()

    def _check_inputs(self) -> None:
        different = len({repr(x) for x in self.asked}) == len(self.asked)
        if not (2 <= len(self.asked) <= _MOST_INPUTS and different):
            raise rejected("inputs", self.inputs, f"2 to {_MOST_INPUTS} different inputs")
        try:
            json.dumps(plain(self.asked), allow_nan=False)
        except (ValueError, TypeError, RecursionError):
            raise rejected("inputs", self.inputs, "values as JSON has them, all finite") from None
        if self.randomizer is not None and not claims_of(self):
            wanted = "first the two of a worst pair: this mechanism claims nothing of other values"
            raise rejected("inputs", self.inputs, wanted)
        most = _MOST_ASKED // len(self.asked)
        if self.reports > most:
            wanted = f"at most {most:,} for each of {len(self.asked)} inputs"
            raise rejected("reports", self.reports, wanted)

    @property
    def asked(self) -> tuple[Any, ...]:
        """The inputs, as a tuple."""
        return self.inputs or ()

    @property
    def level(self) -> float:
        """The part of alpha that the tests share."""
        return TESTS * self.alpha

    @property
    def limits_level(self) -> float:
        """The part that the limits of all pairs share."""
        return self.alpha - self.level

    @property
    def total(self) -> int:
        """Reports under all inputs together."""
        return self.reports * len(self.asked)

    def values(self) -> list[Any]:
        """What the program is given for each input."""
        return [value_of(self.randomizer, x) for x in self.asked]

    def order(self) -> Labels:
        """Which input is asked for at each place: each of them ``reports`` times."""
        return order_of(len(self.asked), self.reports, self.seed)


def declared(plan: AuditPlan) -> Randomizer:
    """The mechanism of a plan; NotCertified where none is declared."""
    if plan.randomizer is None:
        raise NotCertified("nothing is declared of this program: wanted a mechanism")
    return plan.randomizer


def order_of(inputs: int, reports: int, seed: int) -> Labels:
    """Places 0 .. inputs-1, each of them this many times, in an order that the seed decides."""
    every = np.repeat(np.arange(inputs, dtype=np.uint8), reports)
    np.random.Generator(np.random.Philox(seed)).shuffle(every)
    return every


def calls(
    program: Callable[[Any], Any], values: list[Any], order: Labels, tell: Tell | None
) -> Iterator[tuple[Labels, Any]]:
    """Ask a program for all reports, call by call: which value at each place, and the reports.

    Parameters
    ----------
    program : callable
        Values of one call, an array with one row for each report -> as many reports.
    values : list
        What the program is given for each input.
    order : ndarray of int
        Which input is asked for at each place.
    tell : callable, optional
        Told how many reports are in after each call.
    """
    array = values_array(values)
    size = min(_LARGEST_CALL, -(-len(order) // _CALLS))
    for start in range(0, len(order), size):
        index = order[start : start + size].astype(np.int64)
        asked = array[index] if isinstance(array, np.ndarray) else [array[i] for i in index]
        reports = program(asked)
        if len(reports) != len(index):
            wanted = f"{len(index):,}, one for each value"
            raise rejected("reports of a call", len(reports), wanted)
        yield index, reports
        if tell is not None:
            tell(start + len(index))


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
    return (*found, *([] if randomizer.name in _PAIR_ONLY else third[:1]))


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
_ITEMWISE = {"k-rr", "binary-rr", "rappor", "oue", "subset", "hadamard-response"}
# Mechanisms whose reports are read for two inputs.
_PAIR_ONLY = {"laplace-ball", "privunit", "local-hash", "olh", "blh"}


def claims_of(plan: AuditPlan) -> list[tuple[Pair, float, float, bool]]:
    """Ordered pairs, their claimed eps and delta, whether neighbours; the worst pair first.

    Neighbours are any two values, or those of the mechanism's worst data sets: of other pairs its
    pure guarantee is claimed, if it has one.
    """
    randomizer, places = plan.randomizer, range(len(plan.asked))
    pairs = sorted(itertools.permutations(places, 2), key=lambda p: (p not in _WORST, p))
    if randomizer is None:
        epsilon = math.inf if plan.claimed is None else plan.claimed
        return [(pair, epsilon, 0.0, True) for pair in pairs]
    eps0, pure = float(randomizer.eps0), math.isfinite(randomizer.eps0)
    # ``local_epsilon`` at a delta may be far below what holds at 0: of a report that is sent with a
    # probability below delta it is 0.
    delta = 0.0 if pure else LOCAL_DELTA
    near = float(randomizer.local_epsilon(_LEAST_DELTA if pure else delta))
    everyone = randomizer.relation == REPLACEMENT
    known = {frozenset(repr(x) for x in triple[:2]) for triple in randomizer.datasets()}
    found = []
    for pair in pairs:
        alike = everyone or frozenset(repr(plan.asked[i]) for i in pair) in known
        if alike or pure:
            epsilon = min(eps0, near) if alike else eps0
            found.append((pair, epsilon, delta, alike))
    return [claim for claim in found if math.isfinite(claim[1])] or found[:2]
