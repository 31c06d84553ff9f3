"""How the reports of every mechanism are read: cells, and what the claimed law says of them."""

from shuffledp.audits.readings.base import Reading, value_of, values_array
from shuffledp.audits.readings.line import cut
from shuffledp.audits.readings.parts import read

__all__ = ["Reading", "cut", "read", "value_of", "values_array"]
