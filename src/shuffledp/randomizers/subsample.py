"""PoissonSubsample: a private coin decides whether a user's report says anything."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.record import Others, WorstPairs
from shuffledp.mechanism.parameters import Made, Positive
from shuffledp.neighbours import Relation
from shuffledp.randomizers import composed
from shuffledp.randomizers.base import Randomizer, Reports
from shuffledp.randomizers.parallel import UNIT, Mixture
from shuffledp.randomizers.part_laws import with_absent
from shuffledp.randomizers.sampled import sampled_estimate
from shuffledp.statistics.estimates import Aggregate, AnyEstimate, parts_of

U = UNIT_ROUNDOFF


@dataclass(frozen=True, repr=False)
class PoissonSubsample(Mixture):
    """With probability ``rate`` the report of a mechanism, else the constant message "absent".

    R'_x = rate R_x + (1 - rate) [absent]: G has its old law with probability ``rate`` and is
    1 - e^eps otherwise; gamma' = rate gamma + 1 - rate. The local guarantee stays eps0. n counts
    all users, the absent ones included.

    Sending "absent" or sending nothing is the same to an analyst who knows n. What matters is the
    coin: it is the user's own, independent of the value, of the known rate, and nobody else sees
    how it fell. Only then does the victim's possible absence count, as it does here. Users who
    drop out for other reasons (no network, no consent, a value they would rather not send) are no
    part of the mechanism and hide nobody: leave them out of n, and if the analyst or the server
    can tell who took part, do not use this class at all but the plain mechanism with n the number
    of those who did.

    Reports are structured arrays with the fields choice (1 where there is a report) and part0.

    Parameters
    ----------
    randomizer : Randomizer
        What those run who take part; a table as ``to_dict`` makes it will do.
    rate : float
        Probability of taking part, 0 < rate <= 1. The mechanism meant has it rounded to the nearest
        multiple of 2^-64 (at least one), so that sampler and law agree exactly.

    Notes
    -----
    Su, Cheng, Wang 2025, Theorem 11, with a constant mechanism.
    """

    may_be_absent: ClassVar[bool] = True
    name: ClassVar[str] = "poisson-subsample"
    summary: ClassVar[str] = "a mechanism run with some probability, else an empty message"
    randomizer: Annotated[Randomizer, Made(composed.checked_part)]
    rate: Annotated[float, Positive(high=1.0)] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "_words", (max(round(self.rate * UNIT), 1),))

    @property
    def randomizers(self) -> tuple[Randomizer, ...]:  # type: ignore[override]
        """The one mechanism."""
        return (self.randomizer,)

    @property
    def eps0(self) -> float:
        """The mechanism's own: a report, where there is one, is not hidden by the coin."""
        return float(self.randomizer.eps0)

    def local_epsilon(self, delta: float) -> float:
        """The mechanism's own at delta/rate, where it makes sense."""
        larger = delta / float(self.shares[0]) * (1.0 - 4 * U)
        return float(self.randomizer.local_epsilon(larger)) if larger < 1.0 else 0.0

    def part_inputs(self, x: Any) -> tuple[Any, ...]:
        """The input itself."""
        return (x,)

    def worst_pairs(self) -> WorstPairs:
        """The mechanism's own: convex order of G passes to the mixture with a constant."""
        return composed.convex_pairs(self.randomizer)

    @property
    def alike(self) -> int:
        """As the mechanism's own."""
        return self.randomizer.alike

    def others(self) -> Others | None:
        """The mechanism's own, but those of noise: a constant output passes through all of them."""
        found = self.randomizer.others()
        if found is None or found.how in {"shifts", "span"}:
            return None
        made = found.labels
        if made is None:
            return found
        (share,) = self.shares
        return found._replace(labels=lambda: (with_absent(law, share) for law in made()))

    def options(self) -> composed.Options:
        """The mechanism's own."""
        return composed.options_of(self.randomizer)

    @property
    def relation(self) -> Relation:
        """The mechanism's own, whose inputs these are."""
        return self.randomizer.relation

    def unrestricted(self) -> PoissonSubsample:
        """Of the mechanism without limits."""
        return PoissonSubsample(self.randomizer.unrestricted(), rate=self.rate)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """The mechanism's own."""
        return self.randomizer.datasets()

    # ------------------------------------------------------------------------- running it

    @property
    def message_bits(self) -> float:
        """log2(1 + 2^bits): one message more."""
        bits = self.randomizer.message_bits
        return bits + math.log2(1.0 + 2.0**-bits)

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return self.randomizer._checked(values)  # noqa: SLF001

    def _columns(self, values: np.ndarray) -> list[np.ndarray]:
        return [values]

    def estimate(self, data: Reports | Aggregate) -> AnyEstimate:  # type: ignore[override]
        """Over ALL users: what those who took part say, divided by the rate; unbiased."""
        sums = data if isinstance(data, Aggregate) else self.aggregate(data)
        (part,), (share,) = parts_of(sums, 1), self.shares
        return sampled_estimate(self.randomizer, part, n=sums.count, rate=float(share))
