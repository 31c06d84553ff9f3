"""Local hashing: BLH, OLH and any number of hash values in between."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffledp import _check
from shuffledp.randomizers.base import DEFAULT_CELLS, Randomizer, WorstPairs
from shuffledp.randomizers.discrete import independent_hits, third_inputs
from shuffledp.randomizers.law import JointLaw
from shuffledp.theorems import SYMMETRIC_PAIRS


@dataclass(frozen=True, kw_only=True)
class LocalHash(Randomizer):
    """Local hashing: a uniformly random h: [domain] -> [l], then l-RR of h(x); (h, z) is sent.

    R_x(h, z) = (1/#h) (e^eps0 if z = h(x) else 1) / (e^eps0 + l - 1). Given z, every input is hit
    independently with probability 1/l.

    Parameters
    ----------
    domain : int
        Number of inputs, 2 <= domain <= 1e9.
    l : int
        Number of hash values, >= 2. ``BLH`` has l = 2, ``OLH`` l = e^eps0 + 1 rounded.
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300.

    Notes
    -----
    Bassily, Smith 2015; Wang, Blocki, Li, Jha 2017. The hash is uniform over all functions; a
    real hash family stands for it only as far as it behaves like one.
    """

    name: ClassVar[str] = "local-hash"
    summary: ClassVar[str] = "local hashing with l hash values"
    domain: int
    l: int
    eps0: float

    def __post_init__(self) -> None:
        largest = _check.LARGEST_DOMAIN
        object.__setattr__(self, "domain", _check.count("domain", self.domain, low=2, high=largest))
        object.__setattr__(self, "l", _check.count("l", self.l, low=2))
        object.__setattr__(self, "eps0", _check.local_epsilon("eps0", self.eps0))

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> JointLaw:
        """Classes: which of the inputs hash to z, and whether all other inputs do."""
        del cells
        low = math.log(self.l) - math.log(math.exp(self.eps0) + (self.l - 1))
        return independent_hits(
            inputs,
            self.domain,
            log_hit=-math.log(self.l),
            log_miss=math.log1p(-1.0 / self.l),
            log_base=(low, low + self.eps0),
        )

    def worst_pairs(self) -> WorstPairs:
        """(0, 1): all pairs are alike, in both directions."""
        return WorstPairs(((0, 1),), SYMMETRIC_PAIRS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All others hold x0, x1 or a third value: by symmetry there is no other case."""
        return third_inputs(self.domain)


@dataclass(frozen=True, kw_only=True)
class BLH(LocalHash):
    """Binary local hashing: ``LocalHash`` with l = 2 (Bassily, Smith 2015).

    Parameters
    ----------
    domain : int
        Number of inputs.
    eps0 : float
        Local privacy in nats.
    """

    name: ClassVar[str] = "blh"
    summary: ClassVar[str] = "binary local hashing"
    l: int = 2

    def __init__(self, *, domain: int, eps0: float) -> None:
        _fill(self, domain=domain, l=2, eps0=eps0)

    def parameters(self) -> dict[str, Any]:
        """Domain and eps0; l follows."""
        return {"domain": self.domain, "eps0": self.eps0}


@dataclass(frozen=True, kw_only=True)
class OLH(LocalHash):
    """Optimized local hashing: ``LocalHash`` with l = round(e^eps0) + 1, the least variance.

    Parameters
    ----------
    domain : int
        Number of inputs.
    eps0 : float
        Local privacy in nats; at most 30, so that l is at most about 1e13.

    Notes
    -----
    Wang, Blocki, Li, Jha 2017.
    """

    name: ClassVar[str] = "olh"
    summary: ClassVar[str] = "optimized local hashing"
    l: int = 2

    def __init__(self, *, domain: int, eps0: float) -> None:
        grown = math.exp(_check.positive("eps0", eps0, high=30.0))
        _fill(self, domain=domain, l=round(grown) + 1, eps0=eps0)

    def parameters(self) -> dict[str, Any]:
        """Domain and eps0; l follows."""
        return {"domain": self.domain, "eps0": self.eps0}


def _fill(instance: LocalHash, **values: Any) -> None:
    for key, value in values.items():
        object.__setattr__(instance, key, value)
    LocalHash.__post_init__(instance)
