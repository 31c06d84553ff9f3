"""Local hashing: k-ary randomized response on the value of a random function of the item.

Binary and optimal local hashing are that with their own number of hash values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from shuffledp.arithmetic.balls import arb
from shuffledp.theorems import HASHED_PAIRS

from .outputs import Law, Parameters, check_inputs, hit_or_miss, positive, whole
from .ranges import DOMAIN, EPS0, integer, real
from .record import Range, Record

__all__ = ["RECORDS"]


def _local_hash(mechanism: Parameters, inputs: tuple[int, ...]) -> Law:
    return _hashed(mechanism, whole(mechanism, "l", 2), inputs)


def _binary_hash(mechanism: Parameters, inputs: tuple[int, ...]) -> Law:
    """Of two hash values."""
    return _hashed(mechanism, 2, inputs)


def _best_hash(mechanism: Parameters, inputs: tuple[int, ...]) -> Law:
    """Of e^eps0 + 1 hash values, rounded as the mechanism's own float is."""
    return _hashed(mechanism, round(math.exp(mechanism["eps0"])) + 1, inputs)


def _hashed(mechanism: Parameters, l: int, inputs: tuple[int, ...]) -> Law:
    """Uniform h: [domain] -> [l]; the output is (h, k-RR on l values of h(x)).

    The output (h, y) hits x if h(x) = y: there are l^domain functions, and for given y each
    input is hit by 1/l of them, independently over the inputs.
    """
    domain = whole(mechanism, "domain", 2)
    eps0 = positive(mechanism, "eps0")
    check_inputs(inputs, domain)
    z = eps0.exp() + (l - 1)
    hit = arb(1) / l
    rest = domain - len(set(inputs))

    def blanket(hits: tuple[bool, ...]) -> arb | None:
        share = arb(1)
        for h in hits:
            share = share * (hit if h else 1 - hit)
        if all(hits):
            if rest == 0:
                return None
            share = share * (1 - hit**rest)
        return l * share / z

    return hit_or_miss(inputs, eps0, blanket, l * hit**domain * eps0.exp() / z)


# As the class: e^30 + 1 hash values are about 1e13.
_BEST_EPS0 = real(0.0, 30.0)
_HASH_VALUES = integer(2)


def _hashing(
    law: Callable[[Parameters, tuple[int, ...]], Law], ranges: Mapping[str, Range]
) -> Record:
    """All pairs of items are alike."""
    return Record(
        ranges=ranges,
        law=law,
        pair=lambda _: (0, 1),
        pair_step=HASHED_PAIRS,
        alike=lambda m: m["domain"],
    )


RECORDS = {
    "blh": _hashing(_binary_hash, {"domain": DOMAIN, "eps0": EPS0}),
    "local-hash": _hashing(_local_hash, {"domain": DOMAIN, "l": _HASH_VALUES, "eps0": EPS0}),
    "olh": _hashing(_best_hash, {"domain": DOMAIN, "eps0": _BEST_EPS0}),
}
