"""Sums: the analyst sees how many 1s each coordinate has over all reports, and no report."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from shuffledp import _check, theorems
from shuffledp.amplification import Shuffled
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.bound import Bound, Theorem, refuse_contradiction, with_lower_of, with_upper_of
from shuffledp.bounds.profile import Profile
from shuffledp.curves import Accountant, Answering
from shuffledp.errors import rejected
from shuffledp.laws.pairs import dataset_pair
from shuffledp.neighbours import REPLACEMENT, Relation, relation_named
from shuffledp.randomizers import Gaussian, Randomizer
from shuffledp.rounds import Candidate, Round, central, compose
from shuffledp.values.described import by_name
from shuffledp.values.work import Answers, Beside
from shuffledp.views.added_up import ZEROED, AddedUp
from shuffledp.views.coordinates import coordinates_of
from shuffledp.views.datasets import searched
from shuffledp.views.noise import AddedNoise
from shuffledp.views.noisy import noisy_round, pure_guarantee

# sigma, sqrt(n) and their product.
_ROUNDED = 4.0 * UNIT_ROUNDOFF


@dataclass(frozen=True)
class Sums(AddedUp, Accountant):
    """A mechanism among n users whose reports are added up; made by ``shuffle(view="sums")``.

    Coordinates are independent given the data, so what is released of two neighbours differs in
    independent sums of bits: those of the coordinates that the user's data changes
    (docs/theory-sums.md, Theorem 1.1).
    """

    def _epsilon_at(self, delta: float) -> Bound:
        return self._bound(lambda view: view.epsilon(delta=delta), {"delta": delta})

    def _delta_at(self, epsilon: float) -> Bound:
        return self._bound(lambda view: view.delta(epsilon=epsilon), {"epsilon": epsilon})

    @by_name
    def compose(self, *, rounds: int) -> Sums:
        """The same sums ``rounds`` times as often, with fresh randomness.

        Parameters
        ----------
        rounds : int
            1 <= rounds; at most 1e6 in all.
        """
        times = _check.count("rounds", rounds, high=_MOST_ROUNDS)
        total = _check.count("rounds in all", self.rounds * times, high=_MOST_ROUNDS)
        return replace(self, rounds=total)

    def with_n(self, n: int) -> Sums:
        """The same among another number of users."""
        return replace(self, n=_check.count("n", n))

    # ------------------------------------------------------------------------------- both ends

    def _bound(self, ask: Callable[[Answering], Bound], at: dict[str, float]) -> Bound:
        if self.added is not None:
            found = self._searched(at)
            return found if self.changed == self.falling else self._both_ways(found, ask)
        found = self._composed(ask, at)
        if not self._apart(found):
            return found
        return _nearer(found, self._searched(at))

    def _both_ways(self, found: Bound, ask: Callable[[Answering], Bound]) -> Bound:
        """With a lower end of coordinates that fall and rise, where bits are not symmetric."""
        below: list[tuple[Answering, dict[str, Any]]] = _FOUND.of(self).answer(
            "below", self._noisy_below
        )
        lower, witness = max(
            ((ask(view), witness) for view, witness in below), key=lambda one: one[0].lower
        )
        if lower.lower <= found.lower:
            return found
        nearer = with_lower_of(found, lower)
        return replace(nearer, lower_theorem=self.attained, witness={"lower": witness})

    def _noisy_below(self) -> list[tuple[Answering, dict[str, Any]]]:
        """As ``_below``, with the aggregator's noise."""
        made, noise = self.coordinates, self.added
        if noise is None:
            return []
        eps0 = pure_guarantee(made, made.wide.eps0, noise)
        found: list[tuple[Answering, dict[str, Any]]] = []
        for down, up in self.changes():
            for falls, rises in made.others(down, up, self.ones):
                parts = [
                    (
                        noisy_round(
                            made, self.n, noise, falls=way, ones=held == made.one, eps0=eps0
                        ),
                        times * self.rounds,
                    )
                    for way, held, times in ((True, falls, down), (False, rises, up))
                    if times
                ]
                witness = _pair_witness(down, up, falls, rises)
                found.append((compose(parts, rtol=_LOOSER), witness))
        return found

    def _apart(self, found: Bound) -> bool:
        """Whether the ends are so far apart that looking at all data sets is worth its time."""
        if isinstance(self.mechanism, Gaussian):
            return False
        return found.upper > (1.0 + _WORTH_A_SEARCH) * found.lower

    def _searched(self, at: dict[str, float]) -> Bound:
        """Both ends by every data set of a coordinate, as certificates have them."""
        ((fixed, value),) = at.items()
        return searched(self, quantity="epsilon" if fixed == "delta" else "delta", value=value)

    def _composed(self, ask: Callable[[Answering], Bound], at: dict[str, float]) -> Bound:
        work = _FOUND.of(self)
        above: list[tuple[Answering, Theorem]] = work.answer("above", self._above)
        upper, theorem = min(
            ((ask(view), theorem) for view, theorem in above), key=lambda found: found[0].upper
        )
        below: list[tuple[Answering, dict[str, Any]]] = work.answer("below", self._below)
        lower, witness = max(
            ((ask(view), witness) for view, witness in below), key=lambda found: found[0].lower
        )
        refuse_contradiction(lower.lower, upper.upper)
        return Bound(
            quantity=upper.quantity,
            lower=min(lower.lower, upper.upper),
            upper=upper.upper,
            at={**at, "n": self.n, "rounds": self.rounds},
            lower_theorem=None if lower.lower_theorem is None else self.attained,
            upper_theorem=(
                None if upper.upper_theorem is None else theorem.with_step(upper.upper_theorem)
            ),
            relation=self.relation,
            assumptions=self.assumptions(),
            notes=upper.notes,
            log_lower=lower.log_lower,
            log_upper=upper.log_upper,
            upper_width=upper.upper_width,
            lower_width=lower.lower_width,
            witness={"lower": {**witness, "of each bit": dict(lower.witness.get("lower", {}))}},
        )

    def _above(self) -> list[tuple[Answering, Theorem]]:
        """Every changed coordinate is a neighbouring pair of one bit among n users."""
        if isinstance(self.mechanism, Gaussian):
            return [(self._noise(self.mechanism, 1.0 - _ROUNDED), theorems.SUM_OF_NORMALS)]
        made, times = self.coordinates, self.changed
        found = [(self._rounds(Shuffled(made.wide, self.n), times), theorems.SUMS)]
        if made.exact and not made.symmetric and self.relation == REPLACEMENT:
            # Sums are made of the messages. One bit falls and one rises, which the bits' bound
            # does not know: it counts both as the worse of the two.
            messages = self._rounds(Shuffled(self.mechanism, self.n), self.rounds)
            found.append((messages, theorems.SUMS_OF_MESSAGES))
        return found

    def _rounds(self, one: Shuffled, times: int) -> Answering:
        return one if times == 1 else compose([one], rounds=times, rtol=self.rtol)

    def _below(self) -> list[tuple[Answering, dict[str, Any]]]:
        """Pairs of datasets, by what answers for each."""
        if isinstance(self.mechanism, Gaussian):
            return [(self._noise(self.mechanism, 1.0 + _ROUNDED), {"analysis": "gaussian"})]
        made, changes = self.coordinates, self.changes()
        down, up = changes[0]
        if made.symmetric or made.count == 1:
            # A coordinate that rises among others is one that falls among others of the other
            # value: all are alike, as in rounds of one bit (docs/theory-sums.md, Lemma 2.1).
            witness = {"analysis": "sums-dataset", "falling": down, "rising": up}
            return [(_FOUND.of(self).answer("above", self._above)[0][0], witness)]
        if (down + up) * self.rounds == 1:
            witness = {"analysis": "sums-dataset", "falling": down, "rising": up}
            return [(Shuffled(made.narrow, self.n), witness)]
        return [
            self._alike(down, up, others)
            for down, up in changes
            for others in made.others(down, up, self.ones)
        ]

    def _alike(
        self, down: int, up: int, others: tuple[Any, Any]
    ) -> tuple[Answering, dict[str, Any]]:
        """All others hold one value where the victim's falls, and one where it rises."""
        bit, (zero, one) = self.coordinates.narrow, (self.coordinates.zero, self.coordinates.one)
        falls, rises = others
        parts = [
            (_pair(bit, one, zero, falls, self.n), down * self.rounds),
            (_pair(bit, zero, one, rises, self.n), up * self.rounds),
        ]
        witness = _pair_witness(down, up, falls, rises)
        changed = [(part, times) for part, times in parts if times]
        rtol = _LOOSER if self.rtol is None else self.rtol
        return compose(changed, rtol=rtol), witness

    def _noise(self, noise: Gaussian, times: float) -> Answering:
        """The sum of n normal variables is one: the Gaussian mechanism, exactly."""
        sigma = noise.sigma * math.sqrt(self.n) * times
        width = (noise.high - noise.low) / times
        one = central.gaussian(sigma=sigma, sensitivity=width, relation=self.relation)
        return compose([one], rounds=self.rounds, rtol=self.rtol)


def _pair_witness(down: int, up: int, falls: Any, rises: Any) -> dict[str, Any]:
    """Which data sets: coordinates that fall and rise, and what all others hold there."""
    return {
        "analysis": "sums-dataset",
        "falling": down,
        "rising": up,
        "others": {"falling": falls, "rising": rises},
    }


def _pair(bit: Randomizer, x0: Any, x1: Any, x2: Any, n: int) -> Round:
    """The number of 1s of a coordinate, of which the victim's goes from x0 to x1."""
    pair = dataset_pair(bit, x0, x1, x2, n=n)
    forward, backward = Profile(pair), Profile(pair.swap())
    return Round(
        label=f"sum of {bit.name}",
        groups=((forward,),),
        backward_groups=((backward,),),
        candidates=(Candidate(forward, backward, {"analysis": "dataset"}),),
        eps0=bit.eps0,
        key=("sum of bits", bit, x0, x1, x2, n),
        relation=REPLACEMENT,
        upper_theorem=theorems.SUMS_DATASET,
        lower_theorem=theorems.SUMS_DATASET,
    )


def summed(
    mechanism: Randomizer,
    n: int,
    *,
    ones: int,
    relation: Relation | str,
    rtol: float | None,
    added: AddedNoise | None = None,
) -> Sums:
    """A checked ``Sums``; the arguments are those of ``shuffle(view="sums")``."""
    if not isinstance(mechanism, Randomizer):
        raise rejected("randomizer", mechanism, "a randomizer such as RAPPOR(d=10, eps0=4.0)")
    found = relation if isinstance(relation, Relation) else relation_named(relation)
    gaussian = isinstance(mechanism, Gaussian)
    count = 1 if gaussian else coordinates_of(mechanism, ones=1).count
    # Of a single bit, or of a number, no value stands for nothing.
    allowed = (REPLACEMENT,) if count == 1 else (REPLACEMENT, ZEROED)
    if found not in allowed:
        keys = " or ".join(f'"{r.key}"' for r in allowed)
        raise rejected("relation", found.key, f"{keys} for sums of {mechanism.name}")
    if added is not None and not isinstance(added, AddedNoise):
        raise rejected("added", added, 'none, or AddedNoise(kind="discrete-laplace", scale=2.0)')
    if added is not None and gaussian:
        raise rejected("added", added, "none where numbers with normal noise are added up")
    return Sums(
        mechanism=mechanism,
        n=_check.count("n", n),
        ones=_check.count("ones", ones, high=min(count, _MOST_ONES)),
        relation=found,
        rtol=None if rtol is None else _check.real("rtol", rtol, low=1e-6, high=0.1),
        added=added,
    )


def _nearer(found: Bound, other: Bound) -> Bound:
    """Of two brackets of the same the nearer end at either side, with what it rests on."""
    nearer = found
    if other.upper < found.upper:
        nearer = replace(with_upper_of(nearer, other), notes=other.notes)
    if other.lower > found.lower:
        nearer = replace(with_lower_of(nearer, other), witness=other.witness)
    return nearer


# Three or four pairs of datasets are tried, each a composition that takes seconds.
_LOOSER = 2e-3
# Ends farther apart than this, relatively, are looked at once more: a second or two of work.
_WORTH_A_SEARCH = 5e-3
# Coordinates times rounds is what is composed: 1e9 at the most.
_MOST_ONES, _MOST_ROUNDS = 500, 10**6
_FOUND: Beside[Sums, Answers] = Beside(lambda _: Answers())
