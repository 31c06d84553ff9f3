"""Work on the questions about one mechanism among n users."""

from __future__ import annotations

from shuffledp.analysis import Found, Side, Source, analysis_named
from shuffledp.values.work import Answers


class Evaluation:
    """Curves of one mechanism among n users, and what was asked of them.

    All that is kept is a function of the source, n, the number of cells and the question: a
    question is answered alike, to the last bit, whatever was asked before it.

    Parameters
    ----------
    source : Randomizer or family
        What each user runs.
    n : int
        Users (messages in the shuffle).
    cells : int
        For continuous outputs: about how many cells.
    """

    def __init__(self, source: Source, n: int, cells: int) -> None:
        self.source, self.n, self.cells = source, n, cells
        self.answers = Answers()

    def side(self, key: str) -> Side:
        """The curves of one analysis; NotCertified where they cannot be made."""
        return self.answers.answer(
            ("side", key), lambda: analysis_named(key).side(self.source, n=self.n, cells=self.cells)
        )

    def epsilon(
        self, key: str, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """One analysis' end of eps at this delta."""
        side = self.side(key)
        return self.answers.answer(
            ("epsilon", key, delta, cap, rtol, width),
            lambda: side.epsilon(delta, cap=cap, rtol=rtol, width=width),
        )

    def log_delta(self, key: str, epsilon: float, *, width: float) -> Found:
        """One analysis' end of log delta at this eps."""
        side = self.side(key)
        return self.answers.answer(
            ("delta", key, epsilon, width), lambda: side.log_delta(epsilon, width=width)
        )
