"""How the reports of every mechanism are read: cells, and what the claimed law says of them."""

from shuffledp.audit.readings.base import Reading, value_of, values_array
from shuffledp.audit.readings.line import cut
from shuffledp.audit.readings.parts import read

__all__ = ["Reading", "cut", "read", "value_of", "values_array"]
