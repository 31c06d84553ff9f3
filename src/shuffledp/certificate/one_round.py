"""delta of one round as a certificate claims it: the engine's profiles, finer and with more bits.

A claim names the pair of inputs, or the data set, on which it rests; nothing is searched for.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from typing import Any

from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.ball.messages import is_protocol
from shuffledp.ball.outputs import positive
from shuffledp.bounds.clones import clone_pair, stronger_clone_pair
from shuffledp.bounds.local import log_local_delta
from shuffledp.bounds.profile import Profile
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.laws.pairs import Pair, blanket_pair, dataset_pair, message_pair
from shuffledp.mechanism import mechanism_from_dict
from shuffledp.multimessage import MessagePair
from shuffledp.randomizers import Randomizer

__all__ = ["log_delta"]

# Bits beyond those of the issuer.
_MORE_BITS = 64
# How far from the bracket, in log delta, an estimate in plain floats may be, for deltas of order 1;
# it grows with log delta, of which estimates have so many digits. Measured for deltas from 1e-2 to
# 1e-9: at most 0.0008 for laws of classes of outputs, at most 0.005 for Laplace noise, and 0.4 for
# Gaussian noise of few users, whose largest gains are cut in an estimate.
_APART, _APART_OF_CELLS, _GROWTH = 0.01, 1.0, 0.1
# Profiles that are kept: a claim about rounds asks each pair of one mechanism at many eps.
_KEPT = 256
_CLONES = {"clone": clone_pair, "stronger-clone": stronger_clone_pair}


def log_delta(
    mechanism: Mapping[str, Any],
    *,
    analysis: str,
    n: int,
    epsilon: float,
    x0: Any = None,
    x1: Any = None,
    x2: Any = None,
    swap: bool = False,
    rel: float = 1e-4,
) -> LogInterval:
    """Ends of log delta(eps) of one analysis, of about a relative width ``rel`` of delta or wider.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters} of a randomizer or a protocol; the clones need its eps0 alone.
    analysis : {"blanket", "dataset", "clone", "stronger-clone", "local"}
        "local" is the divergence of one report.
    n : int
        Messages in the shuffle, the victim's included.
    epsilon : float
        eps >= 0 in nats.
    x0, x1, x2 : inputs
        The victim's two values, and of a data set the value of all others.
    swap : bool
        D(Q || P) in place of D(P || Q).
    rel : float
        Relative width of delta that is asked for.

    Raises
    ------
    ParameterError
        For parameters and inputs out of range.
    NotCertified
        For mechanisms of which nothing is certified, and where an estimate in plain floats, by
        another method, is far from the bracket.
    """
    if n < 1 or not epsilon >= 0.0:
        raise ParameterError(f"n = {n!r}, epsilon = {epsilon!r}: wanted users and epsilon >= 0")
    first, second = (x1, x0) if swap else (x0, x1)
    if analysis == "local" or (n == 1 and analysis not in _CLONES):
        return log_local_delta(mechanism, first, second, epsilon)
    given = [mechanism, analysis, n, [first, second, x2], swap]
    profile = _profile(json.dumps(given, sort_keys=True))
    found = profile.log_delta(epsilon, width=rel)
    estimate = profile.rough_log_delta(epsilon)
    apart = _APART if profile.pair.one_law else _APART_OF_CELLS
    if math.isfinite(estimate):
        apart *= 1.0 + _GROWTH * abs(estimate)
    if not found.low - apart <= estimate <= found.high + apart:
        raise NotCertified(
            f"an estimate in plain floats says log delta = {estimate:.6g}, and balls say "
            f"{found.low:.6g} to {found.high:.6g}"
        )
    return found


@functools.lru_cache(maxsize=_KEPT)
def _profile(asked: str) -> Profile:
    """The curve of what is asked for, as JSON: mechanism, analysis, n, inputs and direction."""
    mechanism, analysis, n, inputs, swap = json.loads(asked)
    return Profile(_pair(mechanism, analysis, n, inputs, swap=swap), more_bits=_MORE_BITS)


def _pair(
    mechanism: Mapping[str, Any], analysis: str, n: int, inputs: list[Any], *, swap: bool
) -> Pair:
    if analysis in _CLONES:
        positive(mechanism, "eps0")
        return _CLONES[analysis](eps0=mechanism["eps0"], n=n)
    if is_protocol(mechanism):
        if analysis != "dataset":
            raise ParameterError(f"analysis = {analysis!r}: wanted a randomizer, not a protocol")
        return message_pair(MessagePair(dict(mechanism), n, swap, {}))
    randomizer = mechanism_from_dict(mechanism, Randomizer)
    x0, x1, x2 = (tuple(x) if isinstance(x, list) else x for x in inputs)
    if x0 == x1:
        raise ParameterError(f"x0, x1 = {x0!r}, {x1!r}: wanted two different inputs")
    if analysis == "blanket":
        return blanket_pair(randomizer, x0, x1, n=n)
    if analysis == "dataset":
        return dataset_pair(randomizer, x0, x1, x2, n=n)
    raise ParameterError(f"analysis = {analysis!r}: wanted blanket, dataset, a clone or local")
