"""log delta of a shuffled mechanism in ball arithmetic: what `verify` and the tests call.

Independent of the rest of the package: output laws are rebuilt from the definition of each
mechanism, and no numerical code is shared. Every number is a ball, so rounding is part of the
answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shuffledp.arithmetic.balls import arb, ctx, float_above, float_below
from shuffledp.errors import NotCertified, ParameterError

from .continuous import ContinuousPair, continuous_terms
from .densities import Noise, check_inputs, local_delta
from .divergence import log_divergence, log_divergence_by_panels
from .gains import (
    blanket_gains,
    clone_gains,
    dataset_gains,
    local_divergence,
    stronger_clone_gains,
)
from .laws import finite_law
from .messages import message_law
from .outputs import Law, positive
from .power import PowerNoise, local_power_delta
from .power_law import power_terms
from .powers import Powers
from .record import Record
from .registry import RECORDS, seen

__all__ = ["ANALYSES", "log_delta"]

ANALYSES = ("blanket", "clone", "dataset", "local", "stronger-clone")
_CLONES = {"clone": clone_gains, "stronger-clone": stronger_clone_gains}
_LOCAL_BITS = 256
_COARSE = 0.1
_POWER_WORK = 15_000_000
_FIRST_CUT, _LEAST_CUT, _DEEP_CUT = -16.0, -3000.0, -800.0


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
    guess: float | None = None,
) -> tuple[float, float]:
    """Enclose the natural logarithm of delta(epsilon) of one analysis, rigorously.

    Parameters
    ----------
    mechanism : mapping
        A protocol of `messages` (inputs 0, 1 and, for a blanket message, 2), or
        {"name": ..., **parameters}; floats mean exactly the numbers they are. Names and parameters
        are those of deployment files.
    analysis : "blanket" | "dataset" | "clone" | "stronger-clone" | "local"
        "blanket" and "local" need x0 and x1; "dataset" needs x2 too, the input of all other
        users; the clones need eps0 of the mechanism only.
    n : int
        Number of users, 1 <= n <= 10**15 ("local" does not depend on it).
    epsilon : float
        In nats; finite, may be negative.
    x0, x1, x2 : inputs
        Indices from 0 for finite mechanisms, numbers in [low, high] for the others.
    swap : bool
        Take the divergence in the other direction, D(Q || P).
    rel : float
        Relative width of delta wanted, 1e-9 <= rel <= 0.1. Finite mechanisms: milliseconds to a
        second at 1e-6. "laplace": about a second at 1e-6; "gaussian": seconds at 1e-4 to 1e-6 for
        sigma >= 2 (high - low), 1e-3 at best for sigma about (high - low), and nothing where the
        unbounded likelihood ratio's tail weighs as much as the bulk (small sigma, tiny delta).

    Returns
    -------
    (lower, upper) : tuple of float
        lower <= log delta <= upper, rounded outward; (-inf, -inf) where delta is exactly 0.

    Raises
    ------
    ParameterError
        Arguments outside their domain.
    NotCertified
        The width cannot be reached within a bounded amount of work.
    """
    _check(mechanism, analysis, n, epsilon, rel)
    inputs = [] if analysis in _CLONES else _inputs(analysis, x0, x1, x2, swap=swap)
    lower, upper = _answer(_Question(mechanism, analysis, n, arb(epsilon), inputs, rel, guess))
    return lower, min(upper, 0.0)


@dataclass(frozen=True)
class _Question:
    """A divergence asked for; inputs are (x0, x1), (x0, x1, x2), or none for the clones."""

    mechanism: Mapping[str, Any]
    analysis: str
    n: int
    eps: arb
    inputs: list[Any]
    rel: float
    guess: float | None

    @property
    def record(self) -> Record:
        """What is known of the mechanism."""
        return seen(self.mechanism)


def _answer(ask: _Question) -> tuple[float, float]:
    if ask.analysis in _CLONES:
        eps0, gains = positive(ask.mechanism, "eps0"), _CLONES[ask.analysis]
        return log_divergence(lambda: gains(eps0, ask.eps), n=ask.n, rel=ask.rel)
    if ask.record.noise is not None:
        return _continuous(ask, ask.record.noise)
    if ask.record.power is not None:
        return _power(ask, ask.record.power)
    if ask.record.cut_law is not None:
        return _cut(ask, ask.record.cut_law)
    return _finite(ask)


def _finite(ask: _Question) -> tuple[float, float]:
    if ask.analysis == "local":
        with ctx.workprec(_LOCAL_BITS):
            return _logs(local_divergence(_law(ask), ask.eps))
    gains = blanket_gains if ask.analysis == "blanket" else dataset_gains
    return log_divergence(lambda: gains(_law(ask), ask.eps), n=ask.n, rel=ask.rel)


def _law(ask: _Question) -> Law:
    if ask.record.rows is None:
        return finite_law(ask.mechanism, ask.inputs)
    if ask.analysis == "blanket":
        raise ParameterError("analysis = 'blanket': wanted a randomizer, not a protocol")
    return message_law(ask.mechanism, ask.inputs)


def _cut(ask: _Question, law_of: Callable[..., Law]) -> tuple[float, float]:
    """For a law of infinitely many outputs: cut less until what was cut does not show."""
    inputs = tuple(ask.inputs)
    # One user is not hidden by anybody, and every output is in the reference's support.
    if ask.analysis == "local" or ask.n == 1:
        with ctx.workprec(_LOCAL_BITS):
            law = law_of(ask.mechanism, inputs, log_cut=_DEEP_CUT)
            return _logs(local_divergence(law, ask.eps))
    gains = blanket_gains if ask.analysis == "blanket" else dataset_gains

    def bracket(log_cut: float, rel: float) -> tuple[float, float]:
        return log_divergence(
            lambda: gains(law_of(ask.mechanism, inputs, log_cut=log_cut), ask.eps),
            n=ask.n,
            rel=rel,
        )

    # Of the second law what is cut counts e^eps times.
    share = math.log(ask.rel / 20.0) - max(float(ask.eps.mid()), 0.0)
    if ask.guess is not None:
        try:
            return bracket(min(_FIRST_CUT, ask.guess + share), ask.rel)
        except NotCertified:
            pass
    log_cut = _FIRST_CUT
    while True:
        try:
            lower, _ = bracket(log_cut, _COARSE)
            break
        except NotCertified:
            # What was cut off may be all of delta.
            log_cut *= 1.5
            if log_cut < _LEAST_CUT:
                raise
    if lower == -math.inf:
        return lower, lower
    return bracket(min(log_cut, lower + share), ask.rel)


def _continuous(ask: _Question, noise_of: Callable[..., Noise]) -> tuple[float, float]:
    balls = check_inputs(ask.mechanism, noise_of(ask.mechanism), ask.inputs)
    if (balls[0] - balls[1]).is_zero():
        raise ParameterError(f"x0, x1 = {ask.inputs[:2]!r}: wanted two different inputs")
    with ctx.workprec(_LOCAL_BITS):
        local = local_delta(ask.mechanism, noise_of(ask.mechanism), balls[0], balls[1], ask.eps)
        # One user is not hidden by anybody, and every output is in the reference's support.
        if ask.analysis == "local" or ask.n == 1 or local.is_zero():
            return _logs(local)
    pair = ContinuousPair(
        lambda: noise_of(ask.mechanism), balls[0], balls[1], balls[2] if len(balls) > 2 else None
    )

    def make(log_cut: float, log_error: float) -> tuple[Iterator[Powers], arb]:
        return continuous_terms(pair, ask.eps, n=ask.n, log_cut=log_cut, log_error=log_error)

    return log_divergence_by_panels(make, n=ask.n, rel=ask.rel, guess=ask.guess)


def _power(ask: _Question, noise_of: Callable[..., PowerNoise]) -> tuple[float, float]:
    if ask.inputs[0] == ask.inputs[1]:
        raise ParameterError(f"x0, x1 = {ask.inputs[:2]!r}: wanted two different inputs")
    with ctx.workprec(_LOCAL_BITS):
        local = local_power_delta(noise_of(ask.mechanism), ask.inputs, ask.eps)
        if ask.analysis == "local" or ask.n == 1 or local.is_zero():
            return _logs(local)

    def make(log_cut: float, log_error: float) -> tuple[Iterator[Powers], arb]:
        noise, cuts = noise_of(ask.mechanism), {"log_cut": log_cut, "log_error": log_error}
        return power_terms(noise, ask.inputs, ask.eps, n=ask.n, **cuts)

    return log_divergence_by_panels(make, n=ask.n, rel=ask.rel, guess=ask.guess, work=_POWER_WORK)


def _logs(delta: arb) -> tuple[float, float]:
    if delta.is_zero():
        return -math.inf, -math.inf
    return float_below(delta.log()), float_above(delta.log())


def _inputs(analysis: str, x0: Any, x1: Any, x2: Any, *, swap: bool) -> list[Any]:
    wanted = {"x0": x0, "x1": x1} | ({"x2": x2} if analysis == "dataset" else {})
    for name, value in wanted.items():
        if value is None:
            raise ParameterError(f"{name} = None: wanted an input, for analysis {analysis!r}")
    x0, x1 = (x1, x0) if swap else (x0, x1)
    return [x0, x1, *([x2] if analysis == "dataset" else [])]


def _check(mechanism: Mapping[str, Any], analysis: str, n: int, epsilon: float, rel: float) -> None:
    known = {name for name, record in RECORDS.items() if record.evaluated}
    if mechanism.get("name") not in known and analysis not in ("clone", "stronger-clone"):
        raise ParameterError(
            f"mechanism name = {mechanism.get('name')!r}: wanted one of {', '.join(sorted(known))}"
        )
    if analysis not in ANALYSES:
        raise ParameterError(f"analysis = {analysis!r}: wanted one of {', '.join(ANALYSES)}")
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= 10**15:
        raise ParameterError(f"n = {n!r}: wanted an integer from 1 to 10**15")
    if not math.isfinite(epsilon):
        raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number (nats)")
    if not 1e-9 <= rel <= 0.1:
        raise ParameterError(f"rel = {rel!r}: wanted 1e-9 <= rel <= 0.1")
