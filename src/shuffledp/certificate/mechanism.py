"""Check what a certificate says of one mechanism, whatever is claimed of it behind a shuffler."""

from __future__ import annotations

import math

from shuffledp.ball.parameters import check_parameters
from shuffledp.certificate.checks import Check, said
from shuffledp.certificate.curves import Answer
from shuffledp.certificate.decide import or_undecided
from shuffledp.certificate.recompute import left_over
from shuffledp.certificate.setting import Setting
from shuffledp.deployment.model import GENERIC
from shuffledp.views.datasets import local_guarantee

__all__ = ["guarantee_check", "parameters_check"]

# Pure guarantees up to 300 nats are stated (docs/mechanisms.md); a little less, for sums that are
# rounded up beyond it.
_LARGEST_GUARANTEE = 299.0


def parameters_check(setting: Setting, where: str) -> Check:
    """That the mechanism's table has the parameters it has here, and no other."""

    def decide() -> Answer:
        check_parameters(setting.mechanism)
        return "holds", "those of its definition, all given"

    verdict, how = or_undecided(decide)
    return Check(where, f"parameters of {setting.mechanism['name']}", verdict, how)


def guarantee_check(setting: Setting, eps0: float | None, where: str) -> Check:
    """That no two neighbours' reports differ by more, or that none is left out where there is one.

    Parameters
    ----------
    setting : Setting
        One round of the mechanism.
    eps0 : float or None
        What is claimed, in nats; None: that there is none.
    where : str
        Where the check stands.
    """
    claim = "no pure local guarantee is claimed"
    if eps0 is not None:
        whose = "two values" if setting.sums is None else "two neighbours' reports"
        claim = f"local guarantee eps0 <= {eps0!r}, of any {whose}"
    return Check(where, claim, *or_undecided(lambda: _decide(setting, eps0)))


def _decide(setting: Setting, eps0: float | None) -> Answer:
    parameters, asked = setting.mechanism, _LARGEST_GUARANTEE if eps0 is None else eps0
    if setting.sums is not None:
        holds, how = asked >= local_guarantee(setting.sums), "log ratios of the changed coordinates"
    elif parameters["name"] == GENERIC:
        holds, how = asked >= parameters["eps0"], "eps0 of the family"
    else:
        worst = left_over(parameters, asked)
        holds = worst == -math.inf
        how = "no divergence is left" if holds else f"log delta up to {worst:.6g} is left"
        how = f"local divergence at eps = {asked:g}: {how}"
        if not holds and eps0 is not None and eps0 >= parameters.get("eps0", math.inf):
            # Equality at eps0 itself: rounding leaves a remainder that says nothing.
            return "undecided", how
    if eps0 is None:
        return said(not holds), f"the mechanism has one: {how}" if holds else how
    return said(holds), how
