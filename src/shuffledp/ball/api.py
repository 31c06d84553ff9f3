"""log delta of a shuffled mechanism in ball arithmetic: what `verify` and the tests call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ParameterError
from ._flint import arb, ctx, float_above, float_below
from .continuous import ContinuousPair, continuous_law
from .densities import CONTINUOUS_MECHANISMS, check_inputs, noise_of
from .divergence import log_divergence, log_divergence_by_cells
from .gains import (
    GainLaw,
    blanket_gains,
    clone_gains,
    dataset_gains,
    local_divergence,
    stronger_clone_gains,
)
from .laws import finite_law, positive

__all__ = ["ANALYSES", "log_delta"]

ANALYSES = ("blanket", "clone", "dataset", "local", "stronger-clone")


def log_delta(
    mechanism: Mapping[str, Any],
    *,
    analysis: str,
    n: int,
    epsilon: float,
    x0: float | None = None,
    x1: float | None = None,
    x2: float | None = None,
    swap: bool = False,
    rel: float = 1e-4,
) -> tuple[float, float]:
    """TODO."""
    eps = arb(epsilon)
    if swap:
        x0, x1 = x1, x0
    if analysis == "local":
        raise NotImplementedError
    if mechanism["name"] in CONTINUOUS_MECHANISMS and analysis in ("blanket", "dataset"):
        noise = noise_of(mechanism)
        xs = check_inputs(mechanism, noise, [x0, x1] + ([] if analysis == "blanket" else [x2]))
        pair = ContinuousPair(lambda: noise_of(mechanism), xs[0], xs[1], None if analysis == "blanket" else xs[2])
        return log_divergence_by_cells(lambda r, cut: continuous_law(pair, eps, n=n, rel=r, log_cut=cut), n=n, rel=rel)
    return log_divergence(_gain_law(mechanism, analysis, eps, x0, x1, x2), n=n, rel=rel)


def _gain_law(mechanism, analysis, eps, x0, x1, x2) -> Callable[[], GainLaw]:
    if analysis == "clone":
        return lambda: clone_gains(positive(mechanism, "eps0"), eps)
    if analysis == "stronger-clone":
        return lambda: stronger_clone_gains(positive(mechanism, "eps0"), eps)
    if analysis == "blanket":
        return lambda: blanket_gains(finite_law(mechanism, (x0, x1)), eps)
    return lambda: dataset_gains(finite_law(mechanism, (x0, x1, x2)), eps)
