"""Lower ends from two data sets told apart by a linear test (docs/theory-crowds.md, section 5).

Any test and any contour are valid; a bad choice proves little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from shuffledp.arithmetic.balls import arb, ctx, float_below, precision_for, total
from shuffledp.kernel.contour import Contour
from shuffledp.kernel.linear_test import DataSets, LinearTest, advantage

__all__ = ["apart", "log_delta"]


def log_delta(
    laws: Callable[[], DataSets],
    users: int,
    epsilon: float,
    tested: tuple[LinearTest, Contour] | None,
) -> float:
    """Lower end of log delta for two data sets; -inf where nothing is proved.

    Parameters
    ----------
    laws : callable
        () -> the laws of all reports, at the working precision.
    users : int
        Number of reports in total.
    epsilon : float
        eps >= 0 in nats.
    tested : tuple of LinearTest and Contour, optional
        A test on the outputs that some other user sends, and where its sum is evaluated.
    """
    with ctx.workprec(precision_for(users)):
        grow = arb(epsilon).exp()
        sets, first, second = apart(laws())
        # On outputs that no other user sends, the victim's own report contributes its whole gain.
        value = total((p - grow * q).max(arb(0)) for p, q in zip(first, second, strict=True))
        if tested is not None:
            more = advantage(sets, grow, *tested)
            value += more if more > 0 else arb(0)
        return float_below(value.log()) if value > 0 else -math.inf


def apart(sets: DataSets) -> tuple[DataSets, list[arb], list[arb]]:
    """The laws on outputs that others can send, and the victim's masses on all other outputs."""
    counted = [law for law, count in sets.others if count]
    alone = [all(x.is_zero() for x in column) for column in zip(*counted, strict=True)]
    alone = alone or [True] * len(sets.first)
    if sets.changed > 1 or not any(alone):
        return sets, [], []
    own = [
        [x for x, out in zip(law, alone, strict=True) if out] for law in (sets.first, sets.second)
    ]

    def kept(law: Sequence[arb]) -> list[arb]:
        return [x for x, out in zip(law, alone, strict=True) if not out]

    others = [(kept(law), count) for law, count in sets.others]
    return DataSets(kept(sets.first), kept(sets.second), 1, others), own[0], own[1]
