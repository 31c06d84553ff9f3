"""Check what a certificate says of one mechanism, whatever is claimed of it behind a shuffler."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from shuffledp.ball.parameters import check_parameters
from shuffledp.certificate.checks import Check, Verdict, said
from shuffledp.certificate.decide import left_over
from shuffledp.certificate.model import Certificate
from shuffledp.certificate.sums import is_sums, sums_guarantee_fault
from shuffledp.errors import NotCertified, ParameterError

__all__ = ["guarantee_check", "parameters_check"]

# Pure guarantees up to 300 nats are stated (docs/mechanisms.md); a little less, for sums that are
# rounded up beyond it.
_LARGEST_GUARANTEE = 299.0


def parameters_check(certificate: Certificate) -> Check:
    """That the mechanism's table has the parameters it has here, and no other."""
    parameters = certificate.deployment.content.randomizer
    claim = f"parameters of {parameters['name']}"
    try:
        check_parameters(parameters)
    except ParameterError as error:
        return Check("file", claim, "does not hold", str(error))
    except NotCertified as error:
        return Check("file", claim, "undecided", str(error))
    return Check("file", claim, "holds", "those of its definition, all given")


def guarantee_check(certificate: Certificate) -> Check:
    """That no two values' reports differ by more, or that none is left out where there is one."""
    eps0 = certificate.local_guarantee
    parameters = certificate.deployment.content.randomizer
    if is_sums(certificate):
        return _sums_guarantee(certificate)
    claim = f"local guarantee eps0 <= {eps0!r}, of any two values"
    if eps0 is None:
        return _no_guarantee(parameters)
    if parameters["name"] == "generic":
        return Check("file", claim, said(eps0 >= parameters["eps0"]), "eps0 of the family")
    try:
        worst = left_over(parameters, eps0)
    except (NotCertified, ParameterError) as error:
        return Check("file", claim, "undecided", str(error))
    verdict: Verdict = "holds" if worst == -math.inf else "does not hold"
    left = "no divergence is left" if verdict == "holds" else f"log delta up to {worst:.6g} is left"
    if verdict != "holds" and eps0 >= parameters.get("eps0", math.inf):
        # Equality at eps0 itself: rounding leaves a remainder that says nothing.
        verdict = "undecided"
    return Check("file", claim, verdict, f"local divergence at eps0: {left}")


def _sums_guarantee(certificate: Certificate) -> Check:
    """Of all coordinates that a neighbour changes, or that none is left out where there is one."""
    eps0 = certificate.local_guarantee
    claim = f"local guarantee eps0 <= {eps0!r}, of any two neighbours' reports"
    if eps0 is None:
        claim = "no pure local guarantee is claimed"
    try:
        fault = sums_guarantee_fault(certificate)
    except (NotCertified, ParameterError) as error:
        return Check("file", claim, "undecided", str(error))
    return Check("file", claim, said(not fault), fault or "log ratios of the coordinates changed")


def _no_guarantee(parameters: Mapping[str, Any]) -> Check:
    """That none is left out where there is one."""
    claim = "no pure local guarantee is claimed"
    if parameters["name"] == "generic":
        return Check("file", claim, "does not hold", "the family has one")
    try:
        left = left_over(parameters, _LARGEST_GUARANTEE)
    except (NotCertified, ParameterError) as error:
        return Check("file", claim, "undecided", str(error))
    if left == -math.inf:
        return Check("file", claim, "does not hold", "the mechanism has one")
    return Check("file", claim, "holds", f"something is left at eps = {_LARGEST_GUARANTEE:g}")
