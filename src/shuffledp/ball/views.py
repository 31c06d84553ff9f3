"""What the verifier itself knows of sums: who are neighbours, how many bits, what may be said.

As ``statements`` for messages: nothing here is read off a certificate but the deployment's own
table, and a test holds it against the modules that write certificates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from shuffledp import theorems
from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.errors import NotCertified
from shuffledp.theorems import Theorem

from .bits import Coordinate
from .one_bit import coordinate_of
from .outputs import Parameters, positive
from .registry import seen

__all__ = [
    "LOCAL",
    "NORMAL",
    "SEEN",
    "SUMS",
    "SUMS_DATASET",
    "View",
    "guarantee_holds",
    "view_assumptions",
    "view_of",
    "view_relation",
    "view_statement",
]

SUMS, SUMS_DATASET, NORMAL = "sums", "sums-dataset", "sum-of-normals"
LOCAL = "sums-local"
_REPLACE, _ZERO = "replace-one", "replace-special"
# What the analyst sees, in words.
SEEN = "the analyst sees the sum of each coordinate over all n reports and nothing else of them"
_SEEN_NOISY = (
    "the analyst sees the sum of each coordinate over all n reports with noise on it, and nothing "
    "else of them"
)

_KINDS = {"discrete-laplace": "Laplace", "discrete-gaussian": "Gaussian"}
# Of the noise that an aggregator adds; as deployment files have it.
_SCALES = (0.05, 2000.0)

_STATEMENTS = {
    SUMS: theorems.SUMS,
    SUMS_DATASET: theorems.SUMS_DATASET,
    LOCAL: theorems.SUMS_LOCAL,
    NORMAL: theorems.SUM_OF_NORMALS,
}


# The same where the aggregator adds noise of its own.
_NOISY = {
    SUMS: theorems.SUMS_ADDED,
    SUMS_DATASET: theorems.SUMS_ADDED_DATASET,
}


class View(NamedTuple):
    """What the analyst sees of a deployment with sums.

    Attributes
    ----------
    mechanism : mapping
        {"name": ..., **parameters}.
    ones : int
        Most 1s of a report before it is randomized.
    relation : {"replace-one", "replace-special"}
        Which data sets are neighbours.
    added : mapping or None
        Noise of the aggregator's own on every sum: kind and scale.
    """

    mechanism: Parameters
    ones: int
    relation: str
    added: Parameters | None = None

    @property
    def seen(self) -> str:
        """What the analyst sees, in words."""
        return SEEN if self.added is None else _SEEN_NOISY

    @property
    def normal(self) -> bool:
        """Whether numbers with normal noise are added up."""
        return seen(self.mechanism).normal

    @property
    def falling(self) -> int:
        """Coordinates that a neighbour may change from 1 to 0."""
        return 1 if self.normal else min(self.ones, self._coordinate.size)

    @property
    def rising(self) -> int:
        """Coordinates that the same neighbour may change from 0 to 1 as well."""
        if self.normal or not self._coordinate.several or self.relation == _ZERO:
            return 0
        return min(self.ones, self._coordinate.size - self.falling)

    @property
    def changed(self) -> int:
        """Coordinates that a neighbour may change in one round."""
        return self.falling + self.rising

    @property
    def alike(self) -> int:
        """Of one pair of data sets, coordinates whose sums have the same pair of laws.

        With symmetric bits a coordinate that rises is one that falls among others of the other
        value.
        """
        return self.changed if self.normal or self._coordinate.symmetric else self.falling

    @property
    def _coordinate(self) -> Coordinate:
        found = coordinate_of(self.mechanism)
        if found is None:
            raise NotCertified(f"{self.mechanism['name']}: reports are no vectors of bits")
        return found


def view_of(mechanism: Parameters, ones: Any, relation: Any, added: Any = None) -> View:
    """The view of a deployment; NotCertified where there is none of this mechanism.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}.
    ones, relation, added
        As they stand in the deployment.
    """
    if added is not None:
        _check_added(mechanism, added)
    found = View(mechanism, ones, relation, added)
    if found.normal:
        most, relations = 1, (_REPLACE,)
    else:
        made = found._coordinate  # noqa: SLF001 (of the class above)
        most = made.size
        relations = (_REPLACE, _ZERO) if made.several else (_REPLACE,)
    if relation not in relations or isinstance(ones, bool) or not 1 <= ones <= most:
        raise NotCertified(f"ones = {ones!r}, relation = {relation!r}: not of {mechanism['name']}")
    return found


def _check_added(mechanism: Parameters, added: Any) -> None:
    """Refuse noise that is not known."""
    fits = isinstance(added, Mapping) and set(added) == {"kind", "scale"}
    if seen(mechanism).normal or not fits or added["kind"] not in _KINDS:
        raise NotCertified(f"added = {added!r}: not of {mechanism['name']}")
    scale = added["scale"]
    number = isinstance(scale, int | float) and not isinstance(scale, bool)
    if not number or not _SCALES[0] <= scale <= _SCALES[1]:
        raise NotCertified(f"added.scale = {scale!r}: wanted 0.05 to 2,000")


def _added_words(added: Parameters) -> str:
    """The noise's law, and who knows it."""
    size = _exact(float(added["scale"]))
    law = f"|z|/{size}" if added["kind"] == "discrete-laplace" else f"z^2/(2*{size}^2)"
    return (
        f"to every coordinate's sum the aggregator adds discrete {_KINDS[added['kind']]} noise z "
        f"of its own, exactly with probability proportional to exp(-{law}); nobody else knows the "
        "noise, or the sum without it"
    )


def view_relation(view: View) -> tuple[dict[str, Any], str]:
    """The neighbouring relation as a table and in words."""
    if view.relation == _ZERO:
        words = "one user's data replaced by a special value, or the other way round"
    else:
        words = "one user's value replaced by another"
    return {"key": view.relation}, f"neighbouring datasets: {words} (n is public)"


def view_statement(view: View, analysis: str, end: str) -> Theorem | None:
    """The theorem of an end; None where the analysis gives the view no such end."""
    wanted = {
        "upper": {NORMAL} if view.normal else {SUMS, LOCAL},
        "lower": {NORMAL} if view.normal else {SUMS_DATASET},
    }[end]
    if analysis not in wanted:
        return None
    return (
        _STATEMENTS[analysis] if view.added is None else _NOISY.get(analysis, _STATEMENTS[analysis])
    )


def view_assumptions(view: View, *, rounds: int) -> tuple[str, ...]:
    """What an upper end asks a reader to believe."""
    zeroed = view.relation == _ZERO
    found = [view_relation(view)[1]]
    if zeroed:
        found.append("the special value is the report of zeros alone, randomized as every other")
    found += [
        "all n reports are randomized as stated, each with randomness of its own, and are added up",
        view.seen,
    ]
    if view.added is not None:
        found.append(_added_words(view.added))
    if view.normal:
        low, high = view.mechanism["low"], view.mechanism["high"]
        found.append(
            f"inputs are in [{_exact(low)}, {_exact(high)}]; noise and sums are real numbers, "
            "not floats"
        )
    elif view._coordinate.several:  # noqa: SLF001 (of the class above)
        one = "report holds one 1 before it is randomized"
        if view.ones > 1:
            found.append(f"a report holds at most {view.ones:,} ones before it is randomized")
        else:
            found.append(f"every other {one}" if zeroed else f"a {one}")
    found.append(
        "one report per user and one round"
        if rounds == 1
        else f"{rounds:,} rounds, each with randomness of its own; what is reported may depend on "
        "all sums before"
    )
    found.append("every user runs the same randomizer, chosen before any message is seen")
    return tuple(found)


def _exact(number: float) -> str:
    """The shortest decimal that is this float: what is rounded would be another sensitivity."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def guarantee_holds(view: View, eps0: float, *, rounds: int = 1) -> bool:
    """Whether no reports of one user, seen alone, have a log ratio above eps0.

    Outputs' log ratios of a 1 against a 0 are at most L_1 = log p/q and L_0 = log (1-q)/(1-p); of
    f coordinates that fall and r <= f that rise, at most f max(L_0, L_1) + r min(L_0, L_1).

    Parameters
    ----------
    view : View
        Of bits.
    eps0 : float
        In nats.
    rounds : int
        How often everybody reports.
    """
    if view.normal:
        return False
    with ctx.workprec(256):
        given = arb(eps0)
        most = seen(view.mechanism).log_ratio
        if most is not None:
            return bool(given >= rounds * most(view.mechanism, view.falling, view.rising))
        if "eps0" in view.mechanism:
            return bool(given >= rounds * positive(view.mechanism, "eps0"))
        made = coordinate_of(view.mechanism)
        if made is None or not (made.q > 0 and made.p < 1):
            return False
        worst = arb.max((made.p / made.q).log(), ((1 - made.q) / (1 - made.p)).log())
        return bool(given >= rounds * worst) and math.isfinite(eps0)
