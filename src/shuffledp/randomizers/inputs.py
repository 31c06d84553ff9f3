"""Mechanisms with finitely many inputs, any two of which may be neighbours."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Inputs:
    """All inputs of a mechanism whose law under all of them at once is that of its reports.

    Attributes
    ----------
    count : int
        Inputs are 0 .. count-1; every two of them may be neighbours.
    exchangeable : bool
        Whether for every permutation pi of the inputs the laws R_pi(x) are the R_x with their
        outputs permuted: then the law of a data set's histogram, up to names, says nothing of which
        inputs are held, only of how many hold the same.
    """

    count: int
    exchangeable: bool = False
