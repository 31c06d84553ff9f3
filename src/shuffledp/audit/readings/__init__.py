"""How the reports of every mechanism are read: cells, and what the claimed law says of them."""

from shuffledp.audit.readings import (
    densities,
    hyperplanes,
    line,
    outputs,
    parts,
    sets,
    vectors,
)
from shuffledp.audit.readings.base import Reading, read, reading_of, value_of, values_array

__all__ = [
    "Reading",
    "densities",
    "hyperplanes",
    "line",
    "outputs",
    "parts",
    "read",
    "reading_of",
    "sets",
    "value_of",
    "values_array",
    "vectors",
]
