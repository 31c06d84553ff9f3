"""All mechanisms with a local guarantee eps0 together: a family, of which no law is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from shuffledp.theorems import LABEL_STEALING_FAMILY

from .record import Definition, Others

__all__ = ["GENERIC", "AnyPrivate"]

GENERIC = "generic"


@dataclass(frozen=True)
class AnyPrivate(Definition):
    """Every eps0-LDP randomizer.

    Parameters
    ----------
    eps0 : float
        In nats.
    adaptive : bool
        Whether a randomizer may depend on the messages before it.
    """

    name: ClassVar[str] = GENERIC
    kind: ClassVar[Literal["randomizer", "protocol", "family"]] = "family"
    eps0: float
    adaptive: bool = False

    def others(self) -> Others | None:
        """One pair; randomizers that depend on earlier messages have none."""
        return None if self.adaptive else Others("family", LABEL_STEALING_FAMILY, ((0, 1),))

    def to_dict(self) -> dict[str, Any]:
        """{"name": "generic", "eps0": ..., "adaptive": ...}."""
        return {"name": GENERIC, "eps0": self.eps0, "adaptive": self.adaptive}
