"""Measures of a finite law split at given shares, for bounds that take them as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shuffledp.randomizers import JointLaw
from shuffledp.stealing.bound import Gains
from shuffledp.stealing.measures import Split, difference, labelled, reservoir


def gains_of(law: JointLaw, epsilon: float, share: Sequence[float], join: Sequence[float]) -> Gains:
    """Rows x0, x1 and then the types; the reservoir is ``share`` of the blanket."""
    g = difference(law, epsilon)
    split = Split(np.array(share) * law.blanket, np.array(join))
    rows = range(2, law.mass.shape[0])
    return Gains(
        reservoir(law, g, split),
        [labelled(law, row, g, split) for row in rows],
        math.fsum((1.0 - split.join) * g.positive) * (1.0 + 2.0**-50),
    )
