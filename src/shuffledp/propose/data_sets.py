"""Pairs of data sets for lower ends: linear tests are proposed in floats, and eps is searched."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from shuffledp.arithmetic.balls import ctx, precision_for
from shuffledp.ball.groups import Kind
from shuffledp.ball.record import Definition
from shuffledp.bounds.crowds import Groups, set_of
from shuffledp.bounds.data_sets import apart, log_delta
from shuffledp.bounds.several import several_laws
from shuffledp.errors import NotCertified, ShuffleDPError
from shuffledp.kernel.linear_test import DataSets
from shuffledp.propose.linear_test import Laws, information, propose
from shuffledp.propose.solve import Root, Value, certified, root

# Number of data sets evaluated: those with the largest Fisher information.
_MOST_SETS = 4
# Largest number of data sets tried for one pair of inputs of a crowd.
_MOST_OF_PAIR = 64
# Least eps that is tried, and the relative accuracy of an end.
_SMALLEST, _RTOL = 1e-9, 1e-7


class Best(NamedTuple):
    """The largest lower end over some data sets, and that data set's witness."""

    value: float
    witness: dict[str, Any]


@dataclass(frozen=True, eq=False)
class DataSet:
    """Two neighbouring data sets, given by the laws of all reports.

    Attributes
    ----------
    laws : callable
        () -> the laws at the working precision.
    users : int
        Number of reports in total.
    witness : dict
        Who holds which input.
    """

    laws: Callable[[], DataSets]
    users: int
    witness: dict[str, Any]

    @cached_property
    def floats(self) -> Laws:
        """The laws in floats, for proposals, restricted to outputs that some other user sends."""
        with ctx.workprec(precision_for(self.users)):
            sets, _, _ = apart(self.laws())
        rows = [[float(x.mid()) for x in law] for law, count in sets.others if count]
        size = len(sets.first)
        return Laws(
            np.array([float(x.mid()) for x in sets.first]),
            np.array([float(x.mid()) for x in sets.second]),
            sets.changed,
            np.array(rows).reshape(len(rows), size),
            np.array([float(count) for _, count in sets.others if count]),
        )

    def log_delta(self, epsilon: float) -> float:
        """Certified lower end of log delta at eps >= 0 in nats; -inf where none is found."""
        found = propose(self.floats, epsilon) if self.floats.counts.size else None
        tested = None if found is None else (found.test, found.contour)
        try:
            return log_delta(self.laws, self.users, epsilon, tested)
        except NotCertified:  # the test's sum has too many nodes
            return log_delta(self.laws, self.users, epsilon, None)

    def estimate(self, epsilon: float) -> float:
        """An estimate of log delta in floats, as if other users could send every report."""
        found = propose(self.floats, epsilon)
        return -math.inf if found is None else found.log_delta


def most_informative(sets: Sequence[DataSet]) -> list[DataSet]:
    """The data sets with the largest Fisher information, at most ``_MOST_SETS``."""
    if len(sets) <= _MOST_SETS:
        return list(sets)
    return sorted(sets, key=lambda one: -information(one.floats))[:_MOST_SETS]


def lower_log_delta(sets: Sequence[DataSet], epsilon: float) -> Best:
    """The largest certified lower end of log delta at this eps; -inf where none is found."""
    best = Best(-math.inf, {})
    for one in sorted(sets, key=lambda one: -one.estimate(epsilon)):
        if best.witness and one.estimate(epsilon) < best.value - 1e-3:
            break
        value = one.log_delta(epsilon)
        if value > best.value:
            best = Best(value, one.witness)
    return best


def lower_epsilon(
    sets: Sequence[DataSet], log_target: float, *, above: float, cap: float
) -> Best | None:
    """The largest eps certified to have delta of at least the target; None unless above ``above``.

    Parameters
    ----------
    sets : the data sets.
    log_target : log of the target delta.
    above : an eps that is already certified.
    cap : the largest eps that is tried.
    """
    log_target += 4.0 * math.ulp(log_target)
    best: Best | None = None
    for one in sets:
        low = max(above if best is None else best.value, _SMALLEST)
        found = _last(one, log_target, low, cap) if low < cap else None
        if found is not None:
            best = Best(found, one.witness)
    return best


def _last(one: DataSet, log_target: float, low: float, cap: float) -> float | None:
    """An approximation of the largest eps with delta of at least the target, certified in balls."""
    start = Root(cap)
    if one.floats.counts.size:
        start = root(one.estimate, log_target, Root(min(max(4.0 * low, 0.01), cap)), cap)

    def certify(epsilon: float, near: float) -> Value:
        del near
        return Value(one.log_delta(epsilon))

    found = certified(certify, log_target, start, cap, upper=False, rtol=_RTOL)
    if found is not None and found.epsilon > low:
        return found.epsilon
    return low if one.log_delta(low) >= log_target else None


# ------------------------------------------------------------------------ which data sets


def several_sets(
    mechanism: Definition, triples: Iterable[tuple[Any, Any, Any]], n: int, changed: int
) -> list[DataSet]:
    """Pairs of data sets of n users in which ``changed`` users differ, in both orders.

    Parameters
    ----------
    mechanism : Definition
        The mechanism that each user runs.
    triples : iterable of tuples
        Inputs x0, x1, x2 that the relation allows.
    n : int
        Number of messages in the shuffle.
    changed : int
        k, the number of users who change; at most n.
    """
    # Data sets that differ in fewer users count too: one user is left to hide the others' reports.
    changed = min(changed, n - 1)
    found: list[DataSet] = []
    if changed < 1:
        return found
    for x0, x1, x2 in dict.fromkeys(triples):
        for first, second in ((x0, x1), (x1, x0)):
            make = functools.partial(several_laws, mechanism, (first, second, x2), n, changed)
            try:
                make()
            except ShuffleDPError:
                continue
            witness = {
                "analysis": "several-dataset",
                "x0": first,
                "x1": second,
                "x2": x2,
                "changed": changed,
            }
            found.append(DataSet(make, n, witness))
    return most_informative(found)


def crowd_sets(groups: Groups, kind: Kind, victim: int) -> list[DataSet]:
    """Data sets in which all others of a group hold one input, over all pairs and such inputs.

    Parameters
    ----------
    groups, kind, victim
        As for ``bounds.crowds.log_delta``.
    """
    users = sum(count for _, count in groups)
    found = []
    for pair in kind.pairs[victim]:
        held = itertools.product(*(range(len(inputs)) for inputs in kind.inputs))
        for choice in itertools.islice(held, _MOST_OF_PAIR):
            others = [
                [kind.inputs[k][x], count - (k == victim)]
                for k, (x, (_, count)) in enumerate(zip(choice, groups, strict=True))
            ]
            x0, x1 = (kind.inputs[victim][x] for x in pair)
            witness = {"x0": x0, "x1": x1, "others": others}
            laws = functools.partial(set_of, groups, kind, victim, pair, choice)
            found.append(DataSet(laws, users, witness))
    return most_informative(found)
