"""The bound with one distinguished gain, of noise on an interval (docs/theory-stealing.md, 9)."""

from shuffledp.stealing.cases import Case
from shuffledp.stealing.of_randomizer import cases_of
from shuffledp.stealing.positive_sum import Contour

__all__ = ["Case", "Contour", "cases_of"]
