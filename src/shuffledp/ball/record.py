"""Record: all that the verifier knows of one mechanism, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .outputs import Law, Parameters

__all__ = ["Range", "Record", "Step"]

# What a parameter may be, in words, and whether a value in a table is that.
Range = tuple[str, Callable[[Any, Parameters], bool]]
# Key, title, source and provenance of a theorem, as a certificate states them.
Step = tuple[str, str, str, Literal["published", "proved here"]]


@dataclass(frozen=True)
class Record:
    """One mechanism: a new one is a module with its record, and its line in ``registry``.

    Attributes
    ----------
    law : callable
        (table, inputs) -> joint law of the output under these inputs, from the definition.
    ranges : mapping
        The parameters of its table, all of them: what each may be, and how to tell.
    pair : callable
        Table -> the ordered pair of inputs that dominates all others.
    pair_step : tuple of str
        The theorem that says so.
    others : callable, optional
        Table -> inputs of the other users that stand for all, for label stealing: by the theorem
        ``others_step`` the law of the pair's inputs and any third one is that of one of these.
    others_step : tuple of str, optional
        With ``others``.
    """

    law: Callable[[Parameters, tuple[Any, ...]], Law]
    ranges: Mapping[str, Range]
    pair: Callable[[Parameters], tuple[Any, Any]]
    pair_step: Step
    others: Callable[[Parameters], tuple[Any, ...]] | None = None
    others_step: Step | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """All theorems it names."""
        return tuple(step for step in (self.pair_step, self.others_step) if step is not None)
