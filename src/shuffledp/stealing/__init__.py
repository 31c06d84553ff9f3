"""Label stealing: an upper bound beyond the blanket, for every data set.

Theorems and proofs: docs/theory-stealing.md.
"""

from shuffledp.stealing.along import Along, Bounded
from shuffledp.stealing.cases import Case
from shuffledp.stealing.of_randomizer import cases_of
from shuffledp.stealing.positive_sum import Contour
from shuffledp.stealing.solve import Certified, Curve

__all__ = [
    "Along",
    "Bounded",
    "Case",
    "Certified",
    "Contour",
    "Curve",
    "cases_of",
]
