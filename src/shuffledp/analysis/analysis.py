"""One analysis: which theorem, which end, for what it holds, and how its number is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from shuffledp.analysis import words
from shuffledp.analysis.side import End, Side
from shuffledp.analysis.source import Family, RatioFamily, Source
from shuffledp.bound import Theorem
from shuffledp.errors import NotCertified
from shuffledp.multimessage import MultiMessage
from shuffledp.randomizers import Randomizer

Kind = Literal["pair", "algorithm", "local"]
# What of a randomizer's own is shown to be the worst, by a theorem that the randomizer names.
Worst = Literal["pairs", "triples"]


def never(source: Source, n: int) -> bool:
    """An analysis that is tried only when its name is given."""
    del source, n
    return False


@dataclass(frozen=True)
class Analysis:
    """One way to bound the privacy of a shuffled randomizer.

    Attributes
    ----------
    key : str
        What ``analysis="..."`` takes.
    end : {"upper", "lower"}
        Which end it certifies.
    theorem : Theorem
        What it rests on.
    validity : str
        For what it holds.
    kind : {"pair", "algorithm", "local"}
        A pair evaluated by the kernel, an algorithm of its own, or the local guarantee.
    any_randomizer : bool
        It holds for every eps0-LDP randomizer, adaptive ones included.
    slow : bool
        Its cost grows with n; ``compare`` runs it only when asked to.
    other_end : str or None
        The analysis that gives the other end where this one is named.
    worst : {"pairs", "triples"} or None
        What of a randomizer it is applied to, so that it rests on their being the worst.
    usual : callable
        Of a source and n: whether it is tried where no analysis is named.
    closing : callable
        Of a source and n: whether it, which takes a second or several, is tried unasked where the
        ends that the others give are apart.
    """

    key: str
    end: End
    theorem: Theorem
    validity: str
    kind: Kind = "pair"
    any_randomizer: bool = False
    slow: bool = False
    other_end: str | None = None
    worst: Worst | None = field(default=None, kw_only=True)
    usual: Callable[[Source, int], bool] = field(default=never, kw_only=True, repr=False)
    closing: Callable[[Source, int], bool] = field(default=never, kw_only=True, repr=False)

    def require(self, source: Source) -> None:
        """Raise NotCertified, with the reason, where it cannot be applied to the source.

        Parameters
        ----------
        source : Randomizer, family or protocol
            What each user runs.
        """
        if isinstance(source, MultiMessage):
            msg = (
                f"analysis = {self.key!r}: wanted a randomizer; a protocol has 'multi-message' only"
            )
            raise NotCertified(msg)

    def theorem_for(self, source: Source) -> Theorem:
        """What certifies it for this source, the step that names its worst pairs included."""
        if isinstance(source, Randomizer) and self.worst is not None:
            pairs = self.worst == "pairs"
            found = source.worst_pairs() if pairs else source.worst_triples()
            return self.theorem if found is None else self.theorem.with_step(found.theorem)
        return self.theorem

    def assumptions(self, source: Source) -> tuple[str, ...]:
        """Under which assumptions it holds for this source, in words."""
        if isinstance(source, MultiMessage):
            return source.assumptions()
        if self.end == "lower":
            return words.of_all(source)
        return (*words.of_all(source), self._chosen(source))

    def _chosen(self, source: Source) -> str:
        """How the users' randomizers may be chosen."""
        adaptive = isinstance(source, Family | RatioFamily) and source.adaptive
        if isinstance(source, RatioFamily):
            return words.RATIO_ADAPTIVE if adaptive else words.RATIO
        alone = isinstance(source, Randomizer) and self.worst is not None
        if alone or not self.any_randomizer:
            return words.SAME
        return words.ADAPTIVE if adaptive else words.IN_ORDER

    def side(self, source: Source, *, n: int, cells: int) -> Side:
        """The end that it certifies, as a curve; NotCertified where it has none for the source.

        Parameters
        ----------
        source : Randomizer, family or protocol
            What each user runs.
        n : int
            Users (messages in the shuffle).
        cells : int
            For continuous outputs: about how many cells.
        """
        del source, n, cells
        raise NotCertified(f"analysis = {self.key!r}: certifies no end")
