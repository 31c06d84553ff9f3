"""What label stealing is applied to: a victim's pair and the inputs that the others may hold.

Each case gives its measures at every eps for a choice of a few numbers, and says which choices are
worth trying. All choices are valid (docs/theory-stealing.md, Theorem 2.3).
"""

from __future__ import annotations

from typing import Any, Protocol

from shuffledp.stealing.bound import Gains
from shuffledp.stealing.choices import Variations
from shuffledp.stealing.sketch import Sketch


class Case(Protocol):
    """A victim's ordered pair among others of certain types."""

    @property
    def spread(self) -> float:
        """About what eps is in proportion to, to first order: sqrt int (R_x0 - R_x1)^2/R_x."""
        ...

    def gains(self, epsilon: float, choice: Any) -> Gains:
        """The measures at this eps, of all types or of those that are likely to matter."""
        ...

    def sketch(self, epsilon: float, choice: Any) -> Sketch:
        """Those of the types that are likely to matter, side by side in floats: for estimates."""
        ...

    def certified_gains(self, epsilon: float, choice: Any) -> Gains:
        """The measures at this eps, of types that dominate all others."""
        ...

    def least_share(self, log_target: float, n: int) -> float:
        """The share of the blanket that keeps the reservoir from being empty."""
        ...

    def first(self, epsilon: float, log_target: float, n: int) -> Any | None:
        """A choice worth trying where delta(eps) is about that large; None if there is none."""
        ...

    def along(self, scale: float) -> Case:
        """The case for many eps of a curve that falls by a factor e in ``scale``."""
        ...

    def varied(self, choice: Any, epsilon: float, log_target: float, n: int) -> Variations:
        """Groups of variations: of each the best is taken on to the next."""
        ...
