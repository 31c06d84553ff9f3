"""The dataset bound with outputs merged into three classes (Wang et al. 2024, Theorem 5.1)."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.errors import NotCertified
from shuffledp.pair import SMALLEST_HELD, UNIT_ROUNDOFF, ShuffledPair
from shuffledp.randomizers import Randomizer
from shuffledp.randomizers.base import DEFAULT_CELLS, Input

U = UNIT_ROUNDOFF


def merged_dataset_pair(
    randomizer: Randomizer, x0: Input, x1: Input, x2: Input, *, n: int, cells: int = DEFAULT_CELLS
) -> ShuffledPair:
    """(x0, x2, .., x2) against (x1, x2, .., x2), seen only as counts of three classes of outputs.

    Outputs more likely under x0, more likely under x1, and equally likely: a post-processing of the
    shuffled messages, so a lower bound, and at most the dataset bound of the same triple.
    """
    law = randomizer.law((x0, x1, x2), cells=cells)
    side = np.sign(law.mass[0] - law.mass[1])
    p, q, w = (np.array([math.fsum(row[side == s]) for s in (1.0, -1.0, 0.0)]) for row in law.mass)
    tail = law.tails()
    if bool(((w > 0.0) & (w < SMALLEST_HELD)).any()):
        raise NotCertified(
            f"merged outputs: an input gives some with a probability below {SMALLEST_HELD}"
        )
    keep = w > 0.0
    lost = ~keep & ((p > 0.0) | (q > 0.0))
    return ShuffledPair(
        w=w[keep],
        a=p[keep] / w[keep],
        b=q[keep] / w[keep],
        n=n,
        outside=np.column_stack([p[lost], q[lost]]),
        tail=(float(tail[0]), float(tail[1])),
        tail_doubt=(float(tail[0]), float(tail[1])),
        rel=2.0 * law.rel + 8 * U,
        leftover=(0.0, float(tail[2])),
    )
