"""DP-SGD with noise on every batch's sum: balls and bins, shuffled and Poisson batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from shuffledp import _check, theorems
from shuffledp._check import Trust, exact
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bound import Bound, Theorem, with_lower_of
from shuffledp.bounds.profile import LOOSE, Profile
from shuffledp.errors import rejected
from shuffledp.laws.pairs import dataset_pair
from shuffledp.neighbours import AddOrRemove, Relation, ReplaceSpecial, relation_named
from shuffledp.randomizers import Gaussian
from shuffledp.rounds import WIDTH, Candidate, Composed, Round, central, compose
from shuffledp.rounds.curve import Source
from shuffledp.rounds.gaussian import GaussianCurve
from shuffledp.training.one_epoch import OneEpoch
from shuffledp.training.shuffled import EpochCurve, checked_noise
from shuffledp.values.work import Answers, Beside

U = UNIT_ROUNDOFF
Sampler = Literal["balls-and-bins", "shuffle", "poisson"]
SAMPLERS: tuple[Sampler, ...] = ("balls-and-bins", "shuffle", "poisson")
_ZEROED = ReplaceSpecial()
_Groups = tuple[tuple[Source, ...], ...]

# Quotients of two floats, and one more rounding of whatever is made of them.
_ROUNDED = 8 * U
_MOST_STEPS = 10**9
# A value of the curve of balls and bins takes cells, a quarter of a second: an eighth of the dots,
# and eps to what these give, in tens of seconds. Others' curves are formulas.
_CELLS_WIDTH, _CELLS_RTOL, _RTOL = 1e-3, 2e-2, 5e-4
_NOISE = (
    "every example's gradient is clipped to L2 norm {}; Gaussian noise of standard deviation "
    "{} in every coordinate is added to each batch's sum; all noisy sums may be published"
)
_ADAPTIVE = "a batch's gradients may depend on all noisy sums before it"
_REALS = "gradients and noise are real numbers, not floats"
# Sizes of batches depend on who is there unless they are fixed beforehand.
_UNSEEN = {
    "balls-and-bins": "nobody sees which examples are in which batch, nor how many are",
    "shuffle": "nobody sees which examples are in which batch",
    "poisson": "nobody sees which examples are in which batch, nor how many are",
}
_DRAWN = {
    "balls-and-bins": (
        "in every epoch each example is put into {} of the {:,} batches, chosen uniformly at "
        "random and independently of all others"
    ),
    "shuffle": (
        "every epoch puts the examples into a fresh uniformly random order and cuts it into {1:,} "
        "batches of public sizes"
    ),
    "poisson": (
        "in each of the {1:,} steps of an epoch every example is in the batch with probability "
        "{2}, independently of all other examples and steps"
    ),
}


class Least:
    """The least of several upper bounds of one curve: itself no curve, so no lower end."""

    def __init__(self, *sources: Source) -> None:
        self.sources = sources

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """The least upper end."""
        high = min(s.log_delta(epsilon, width=width).high for s in self.sources)
        return LogInterval(-math.inf, high)

    def rough_log_delta(self, epsilon: float) -> float:
        """The least estimate."""
        return min(s.rough_log_delta(epsilon) for s in self.sources)

    def log_floor(self) -> float:
        """Nothing is known to be seen for sure."""
        return -math.inf


@dataclass(frozen=True)
class BatchedSGD:
    """The accountant of DP-SGD with noise on batches' sums; made by ``sgd(sampler=...)``.

    Attributes
    ----------
    sampler : {"balls-and-bins", "shuffle", "poisson"}
        How the examples of an epoch come into its batches.
    n : int
        Examples.
    noise : float
        Standard deviation of the noise on every batch's sum, in the units of the gradient.
    clip : float
        L2 norm every gradient is clipped to.
    epochs : int
        Passes, the batches of each drawn afresh.
    batch : int
        Examples in a batch (on average, unless batches are shuffled); an epoch has
        ceil(n/batch) steps, and Poisson's rate is batch/n.
    delta : float
        Target.
    per_epoch : int
        Balls and bins: in how many batches of an epoch an example is.
    relation : Relation
        Which datasets are neighbours: one example's gradients replaced by zero
        ("replace-special"), or, unless batches are shuffled, one example added or removed.
    trust : {"all", "published"}
        "published" leaves out what is proved only in docs/theory-batches.md.
    """

    sampler: Sampler
    n: int
    noise: float
    clip: float
    epochs: int
    batch: int
    delta: float
    per_epoch: int = 1
    relation: Relation = _ZEROED
    trust: Trust = "all"

    @property
    def steps(self) -> int:
        """Steps of all epochs together."""
        return self.epochs * self.epoch_steps

    @property
    def epoch_steps(self) -> int:
        """Batches of an epoch: T = ceil(n/batch)."""
        return -(-self.n // self.batch)

    @property
    def bound(self) -> Bound:
        """eps of all epochs at the target delta, both ends certified."""
        return _FOUND.of(self).answer("bound", lambda: self.epsilon_at(delta=self.delta))

    def epsilon_at(self, *, delta: float) -> Bound:
        """eps of all epochs at another delta, 0 < delta < 1, both ends certified."""
        delta = _check.open_unit("delta", delta)
        return self._asked(lambda way: way.epsilon(delta=delta))

    def delta_at(self, *, epsilon: float) -> Bound:
        """delta of all epochs at an eps >= 0 in nats, both ends certified."""
        epsilon = _check.epsilon("epsilon", epsilon)
        return self._asked(lambda way: way.delta(epsilon=epsilon))

    def profile(self, epsilons: Iterable[float]) -> list[Bound]:
        """delta at each eps."""
        return [self.delta_at(epsilon=e) for e in epsilons]

    def composed(self) -> Composed:
        """All epochs: Renyi, trade-off and the rest are methods of it."""
        work = _FOUND.of(self)
        return work.answer("composed", lambda: compose([self._round()], rounds=self._rounds()))

    def _asked(self, ask: Callable[[Composed | OneEpoch], Bound]) -> Bound:
        """One epoch from its pairs of laws, several from the composition."""
        if self._from_pairs():
            return ask(_FOUND.of(self).answer("epoch", self._epoch))
        found = ask(self.composed())
        if self._epoch_by_epoch():
            return found
        below = ask(compose([self._summed()], rounds=self.epochs))
        return replace(with_lower_of(found, below), witness={**found.witness, **below.witness})

    def _from_pairs(self) -> bool:
        """One epoch, of which a pair of datasets is known; Poisson's steps are composed."""
        known = self.sampler != "shuffle" or self.n % self.batch == 0
        return known and self.sampler != "poisson" and self.epochs == self.per_epoch == 1

    def _epoch_by_epoch(self) -> bool:
        """Whether the lower end composes a pair; else it is that of the sum of all noisy sums."""
        return self.sampler != "shuffle" and self.per_epoch == 1

    def _epoch(self) -> OneEpoch:
        mu = self._mu * (1.0 + _ROUNDED)
        upper, groups, mirrored = self._above(mu)
        balls = self.sampler == "balls-and-bins"
        inputs = _ONE_BALL if balls else _AGAINST_ALL
        above = groups[0][0]
        if mirrored is not None:
            above = self._both(inputs, self.epoch_steps, wide=1.0 - self._rounded)
        return OneEpoch(
            above=above,
            below=self._both(inputs, self.epoch_steps, wide=1.0 + self._rounded),
            upper=upper,
            lower=_ATTAINED[self.sampler],
            witness=_ONE_LARGE if balls else _LARGE_AGAINST_ALL,
            relation=self.relation,
            assumptions=self.assumptions(),
            at={"n": self.n, "batch": self.batch},
        )

    def _rounds(self) -> int:
        return self.steps if self.sampler == "poisson" else self.epochs * self.per_epoch

    @property
    def _mu(self) -> float:
        return self.clip / self.noise

    @property
    def _rounded(self) -> float:
        """By how much noise/clip may be off, relatively: 0 where the quotient is a float."""
        exact = Fraction(self.noise) / Fraction(self.clip) == Fraction(self.noise / self.clip)
        return 0.0 if exact else _ROUNDED

    @property
    def _rate(self) -> float:
        return self.batch / self.n

    @property
    def _bins(self) -> int:
        """Balls and bins with k of T: k epochs of one ball in floor(T/k) bins are no better."""
        return self.epoch_steps // self.per_epoch

    def _round(self) -> Round:
        mu = self._mu * (1.0 + _ROUNDED)
        upper, groups, mirrored = self._above(mu)
        cells = self.sampler == "balls-and-bins" and self.trust == "all"
        return Round(
            label=f"DP-SGD, {self.sampler}",
            groups=groups,
            backward_groups=mirrored,
            candidates=self._below if self._epoch_by_epoch() else (),
            eps0=math.inf,
            key=("batches", self),
            relation=self.relation,
            assumptions=self.assumptions(),
            upper_theorem=upper,
            lower_theorem=_ATTAINED[self.sampler],
            at={"n": self.n, "batch": self.batch},
            slow=cells,
            width=_CELLS_WIDTH if cells else WIDTH,
            rtol=_CELLS_RTOL if cells else _RTOL,
            # No sampler shows more than the batch that an example is in.
            **central.gaussian_renyi(mu),
        )

    def _above(self, mu: float) -> tuple[Theorem, _Groups, _Groups | None]:
        """Upper bounds of one round's curve, example there or not and the other way round."""
        alone = GaussianCurve(mu)
        if self.trust == "published":
            return theorems.CENTRAL_GAUSSIAN, ((alone,),), None
        if self.sampler == "poisson":
            q = min(self._rate * (1.0 + _ROUNDED), 1.0)
            there, added = (GaussianCurve(mu, rate=q, added=a) for a in (False, True))
            return theorems.POISSON_BATCHES, ((there,),), ((added,),)
        if self.sampler == "balls-and-bins":
            there, added = self._both(_ONE_BALL, self._bins, wide=1.0 - self._rounded)
            theorem = theorems.BALLS_AND_BINS
            if self.per_epoch > 1:
                theorem = theorem.with_step(theorems.SEVERAL_BALLS)
            return theorem, ((there,), (alone,)), ((added,), (alone,))
        amplified = EpochCurve(
            n=self.n,
            # Noise on the sum of b gradients is as much as 1/sqrt(b) of it on each.
            distance=2.0 * self._mu * math.sqrt(self.batch) * (1.0 + _ROUNDED),
            trust="all",
        )
        return theorems.SHUFFLED_BATCHES, ((Least(alone, amplified),),), None

    def _below(self) -> tuple[Candidate, ...]:
        """The pair of datasets that is tried for the lower end."""
        if self.sampler == "poisson":
            q, mu = self._rate * (1.0 - _ROUNDED), self._mu * (1.0 - _ROUNDED)
            there, added = (GaussianCurve(mu, rate=q, added=a) for a in (False, True))
            return (Candidate(there, added, _ONE_LARGE),)
        there, added = self._both(_ONE_BALL, self.epoch_steps, wide=1.0 + self._rounded)
        return (Candidate(there, added, _ONE_LARGE),)

    def _both(
        self, inputs: tuple[float, float, float], bins: int, *, wide: float
    ) -> tuple[Profile, Profile]:
        """(1/T) sum_t N(x0 e_t, s^2) and (1/T) sum_t N(x1 e_t, s^2) about x2 = 0, both ways."""
        asked = ("pair", inputs, bins, wide)
        return _FOUND.of(self).answer(asked, lambda: self._made(inputs, bins, wide))

    def _made(
        self, inputs: tuple[float, float, float], bins: int, wide: float
    ) -> tuple[Profile, Profile]:
        noise = Gaussian(sigma=self.noise / self.clip * wide, low=0.0, high=2.0)
        pair = dataset_pair(noise, *inputs, n=bins)
        return Profile(pair), Profile(pair.swap())

    def _summed(self) -> Round:
        """k balls of one example: the sum of all sums moves by k; its deviation is sqrt(T)."""
        mu = self.per_epoch * self._mu / math.sqrt(self.epoch_steps) * (1.0 - _ROUNDED)
        return central.gaussian(sigma=1.0, sensitivity=mu, relation=self.relation)

    def assumptions(self) -> tuple[str, ...]:
        """What the numbers ask a reader to believe."""
        many = "one" if self.per_epoch == 1 else f"{self.per_epoch:,}"
        drawn = _DRAWN[self.sampler].format(many, self.epoch_steps, exact(self._rate))
        return (
            self.relation.sentence,
            _WORDS[self.relation.key],
            drawn,
            _UNSEEN[self.sampler],
            _NOISE.format(exact(self.clip), exact(self.noise)),
            _ADAPTIVE,
            _REALS,
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {
            "sampler": self.sampler,
            "n": self.n,
            "noise": self.noise,
            "clip": self.clip,
            "epochs": self.epochs,
            "batch": self.batch,
            "per_epoch": self.per_epoch,
            "steps": self.steps,
            "delta": self.delta,
            "bound": self.bound.to_dict(),
        }

    def __str__(self) -> str:
        lines = [
            (
                f"DP-SGD, {self.sampler}: n = {self.n:,}, noise {self.noise:g}, "
                f"clip {self.clip:g}, "
                f"{self.epochs:,} epochs, batches of {self.batch:,} ({self.steps:,} steps)"
            ),
            str(self.bound),
        ]
        lines += [f"  assumes {words}" for words in self.bound.assumptions]
        return "\n".join(lines)


_WORDS = {
    ReplaceSpecial.key: "a user's data is one example, and the special value's gradients are zero",
    AddOrRemove.key: (
        "a user's data is one example; the number of batches and the probability to be in one are "
        "public and the same with and without it"
    ),
}
_ATTAINED: dict[str, Theorem] = {
    "balls-and-bins": theorems.BALLS_AND_BINS,
    "poisson": theorems.POISSON_BATCHES,
    "shuffle": theorems.SHUFFLED_BATCHES,
}
# Means of a batch's sum in units of the clipping norm: with the example, without it, in the others.
_ONE_BALL, _AGAINST_ALL = (1.0, 0.0, 0.0), (2.0, 1.0, 0.0)
_ONE_LARGE = {"analysis": "dataset", "gradients": "one example's norm is clip, all others' are 0"}
_LARGE_AGAINST_ALL = {
    "analysis": "dataset",
    "gradients": "one example's is +clip or 0 in one direction, all others' are -clip",
}
_FOUND: Beside[BatchedSGD, Answers] = Beside(lambda _: Answers())


def batched(
    *,
    sampler: Sampler,
    n: int,
    noise: float,
    clip: float,
    epochs: int,
    batch: int,
    delta: float,
    per_epoch: int,
    relation: Relation | str,
    trust: Trust,
) -> BatchedSGD:
    """A checked ``BatchedSGD``; the arguments are those of ``sgd``."""
    noise, clip = checked_noise(noise, clip)
    n = _check.count("n", n)
    batch = _check.count("batch", batch, high=n)
    found = relation if isinstance(relation, Relation) else relation_named(relation)
    allowed = (_ZEROED,) if sampler == "shuffle" else (_ZEROED, AddOrRemove())
    if found not in allowed:
        keys = " or ".join(f'"{r.key}"' for r in allowed)
        raise rejected("relation", found.key, f"{keys} for sampler = {sampler!r}")
    steps = -(-n // batch)
    most = steps if sampler == "balls-and-bins" else 1
    per_epoch = _check.count("per_epoch", per_epoch, high=most)
    run = BatchedSGD(
        sampler=sampler,
        n=n,
        noise=noise,
        clip=clip,
        epochs=_check.count("epochs", epochs, high=_MOST_STEPS),
        batch=batch,
        delta=_check.open_unit("delta", delta),
        per_epoch=per_epoch,
        relation=found,
        trust=trust,
    )
    _check.count("steps (epochs times ceil(n/batch))", run.steps, high=_MOST_STEPS)
    return run
