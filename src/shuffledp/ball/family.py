"""All mechanisms with a local guarantee eps0 together: a family, of which no law is known."""

from __future__ import annotations

from .outputs import Parameters
from .ranges import EPS0, FLAG
from .record import Others, Record, Step

__all__ = ["GENERIC", "RECORDS"]

GENERIC = "generic"
_EXTREME: Step = (
    "label-stealing",
    "label stealing, all eps0-LDP mechanisms by five extreme laws",
    "docs/theory-stealing.md, Theorems 2.3, 3.1 and 5.3",
    "proved here",
)


def _others(mechanism: Parameters) -> Others | None:
    """Randomizers that depend on earlier messages have none."""
    return None if mechanism.get("adaptive") else Others("family", _EXTREME, ((0, 1),))


RECORDS = {
    GENERIC: Record(
        ranges={"eps0": EPS0, "adaptive": FLAG},
        kind="family",
        pair=lambda _: (0, 1),
        others=_others,
    ),
}
