"""All mechanisms with a local guarantee eps0 together: a family, of which no law is known."""

from __future__ import annotations

from shuffledp.theorems import LABEL_STEALING_FAMILY

from .outputs import Parameters
from .ranges import EPS0, FLAG
from .record import Others, Record

__all__ = ["GENERIC", "RECORDS"]

GENERIC = "generic"


def _others(mechanism: Parameters) -> Others | None:
    """Randomizers that depend on earlier messages have none."""
    return None if mechanism.get("adaptive") else Others("family", LABEL_STEALING_FAMILY, ((0, 1),))


RECORDS = {
    GENERIC: Record(
        ranges={"eps0": EPS0, "adaptive": FLAG},
        kind="family",
        pair=lambda _: (0, 1),
        others=_others,
    ),
}
