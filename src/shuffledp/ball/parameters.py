"""Which parameters every mechanism's table has: no more, since what is not read is not checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shuffledp.errors import NotCertified, ParameterError

from .registry import RECORDS

__all__ = ["check_parameters", "known_mechanisms", "parameters_of"]

_INTERVAL = ("low", "high")
_KEYS: dict[str, tuple[str, ...]] = {
    "balcer-cheu": ("p",),
    "balcer-et-al": ("blankets",),
    "balls-into-bins": ("d", "s", "blankets", "rate"),
    "binary-rr": ("eps0",),
    "blh": ("domain", "eps0"),
    "channel": ("matrix",),
    "cheu-zhilyaev": ("d", "f", "blankets"),
    "clamped-laplace": ("eps0", *_INTERVAL, "margin"),
    "discrete-gaussian": ("top", "sigma", "clamped", "margin"),
    "discrete-laplace": ("top", "eps0", "clamped"),
    "duchi": ("eps0", *_INTERVAL),
    "extremal": ("pattern", "eps0"),
    "gaussian": ("sigma", *_INTERVAL),
    "generalized-gaussian": ("shape", "scale", *_INTERVAL),
    "generic": ("eps0", "adaptive"),
    "hadamard-response": ("domain", "eps0", "blocks"),
    "hierarchy": ("domain", "eps0", "branching", "base"),
    "hybrid": ("eps0", *_INTERVAL),
    "joint": ("randomizers", "hamming"),
    "k-rr": ("k", "eps0"),
    "laplace": ("eps0", *_INTERVAL, "binary"),
    "local-hash": ("domain", "l", "eps0"),
    "mix-dump": ("d", "f", "blankets", "rate"),
    "olh": ("domain", "eps0"),
    "oue": ("d", "eps0"),
    "parallel": ("randomizers", "weights"),
    "pckv-grr": ("domain", "s", "eps0", "padding"),
    "piecewise": ("eps0", *_INTERVAL),
    "poisson-subsample": ("randomizer", "rate"),
    "privunit": ("d", "c", "eps0"),
    "pure-dump": ("d", "blankets", "rate"),
    "rappor": ("d", "eps0"),
    "sampling-rappor": ("d", "s", "eps0"),
    "staircase": ("eps0", *_INTERVAL, "width"),
    "subset": ("d", "eps0", "k"),
    "truncated-laplace": ("eps0", *_INTERVAL, "margin"),
    "wheel": ("domain", "s", "eps0", "p"),
    **{name: tuple(record.ranges) for name, record in RECORDS.items()},
}


def parameters_of(name: str) -> tuple[str, ...]:
    """Names of the parameters in the table of a mechanism.

    Raises
    ------
    NotCertified
        For mechanisms that nothing is known of here.
    """
    if name not in _KEYS:
        raise NotCertified(f"randomizer = {name!r}: the verifier does not know this mechanism")
    return _KEYS[name]


def known_mechanisms() -> tuple[str, ...]:
    """Names of the mechanisms that the verifier has a table for."""
    return tuple(_KEYS)


def check_parameters(mechanism: Mapping[str, Any]) -> None:
    """Raise unless the table, and those of its parts, have these parameters and no other.

    Raises
    ------
    ParameterError
        For a parameter too many or too few.
    NotCertified
        For mechanisms that nothing is known of here.
    """
    if not isinstance(mechanism, Mapping) or not isinstance(mechanism.get("name"), str):
        raise ParameterError(f"{mechanism!r}: wanted a table of a mechanism")
    given = {key for key in mechanism if key != "name"}
    wanted = set(parameters_of(mechanism["name"]))
    if given != wanted:
        odd = min(given ^ wanted)
        how = "is missing" if odd in wanted else f"= {mechanism[odd]!r}: wanted no such parameter"
        raise ParameterError(f"{mechanism['name']}: {odd} {how}")
    parts = [mechanism["randomizer"]] if "randomizer" in wanted else []
    several = mechanism["randomizers"] if "randomizers" in wanted else []
    if not isinstance(several, list | tuple):
        raise ParameterError(f"randomizers = {several!r}: wanted tables of mechanisms")
    parts += several
    for part in parts:
        check_parameters(part)
