"""Output laws of the mechanisms in ball arithmetic, found by their records.

Parameters are floats and mean exactly the numbers those floats are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shuffledp.errors import ParameterError

from .outputs import Law, Parameters
from .registry import RECORDS

__all__ = ["cut_law", "finite_law"]


def finite_law(mechanism: Parameters, inputs: Sequence[Any]) -> Law:
    """Joint law of the output under several inputs, by classes.

    A class holds all outputs on which the probabilities under the inputs asked for, and the
    blanket, stand in the same ratios.

    Parameters
    ----------
    mechanism : {"name": ..., **parameters}
        One of the mechanisms with finitely many classes, or of which outputs are cut off.
    inputs : sequence
        Input indices, counted from 0, or what else the inputs are; repetitions are allowed.

    Returns
    -------
    list of OutputClass
        One probability per input asked for, in that order.

    Raises
    ------
    ParameterError
        Unknown mechanism, missing or meaningless parameter, or an input outside the domain.
    """
    record = RECORDS.get(mechanism.get("name", ""))
    if record is not None and record.law is not None:
        return record.law(mechanism, tuple(inputs))
    if record is not None and record.parts is not None:
        return record.parts.law(mechanism, tuple(inputs), finite_law)
    known = ", ".join(sorted(name for name, record in RECORDS.items() if record.finite))
    raise ParameterError(f"mechanism name = {mechanism.get('name')!r}: wanted one of {known}")


def cut_law(mechanism: Parameters, inputs: Sequence[Any], *, log_cut: float) -> Law | None:
    """Joint law where there are infinitely many outputs, all but e^log_cut of them; None elsewhere.

    Parameters
    ----------
    mechanism : {"name": ..., **parameters}
        Any mechanism.
    inputs : sequence
        As for ``finite_law``.
    log_cut : float
        About log of the probability of what is cut off: it is a class of its own.
    """
    record = RECORDS.get(mechanism.get("name", ""))
    if record is None or record.cut_law is None:
        return None
    return record.cut_law(mechanism, tuple(inputs), log_cut=log_cut)
