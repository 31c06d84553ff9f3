"""What label stealing looks at, of a mechanism or of its table."""

from __future__ import annotations

from .record import Others
from .registry import Given, seen

__all__ = ["others_of"]


def others_of(given: Given) -> Others | None:
    """``Definition.others``: what label stealing looks at; None where no theorem says enough."""
    return seen(given).others()
