"""Privacy of SGD: noise on users' gradients in random order, or on batches' sums (DP-SGD)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from shuffledp import _check, theorems
from shuffledp._check import exact
from shuffledp.amplification.seen import Quantity
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.bound import Bound, Theorem, delta_from_log, refuse_contradiction, with_end_of
from shuffledp.curves import Accountant
from shuffledp.errors import rejected
from shuffledp.laws.pairs import dataset_pair
from shuffledp.neighbours import (
    ADD_OR_REMOVE,
    REPLACE_SPECIAL,
    REPLACEMENT,
    Relation,
    relation_named,
)
from shuffledp.propose.data_sets import lower_epsilon, lower_log_delta, several_sets
from shuffledp.propose.profile import Profile
from shuffledp.randomizers import Gaussian
from shuffledp.rounds import WIDTH, Candidate, Composed, Round, central, compose
from shuffledp.rounds.curve import Source
from shuffledp.rounds.gaussian import GaussianCurve
from shuffledp.training.shuffled import EpochCurve
from shuffledp.values.described import Described
from shuffledp.values.work import Answers, Beside

U = UNIT_ROUNDOFF
Sampler = Literal["balls-and-bins", "shuffle", "poisson"]
SAMPLERS: tuple[Sampler, ...] = ("balls-and-bins", "shuffle", "poisson")
_Groups = tuple[tuple[Source, ...], ...]

# Noise below this share of the norm hides nothing that floats could tell from pure loss; with more
# than that many norms squares of eps are among the last floats.
_LEAST_NOISE, _LARGEST_NOISE = 0.04, 1e100
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
_ORDER = (
    "every epoch uses each of the {:,} examples once, in a fresh uniformly random order that the "
    "analyst does not see"
)
_NOISE_ON_EACH = (
    "every user's gradient is clipped to L2 norm {}, and Gaussian noise of standard deviation "
    "{} in every coordinate is added to it before anything is summed; sums over batches of {:,} "
    "are post-processing"
)
_ADAPTIVE_TO_EACH = (
    "the point at which a gradient is taken may depend on all noisy gradients before it; all of "
    "them may be published"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class SGD(Described, Accountant):
    """Privacy of SGD on clipped gradients with Gaussian noise.

    Without ``sampler`` the noise is on every user's gradient (the shuffle model); with one it is on
    every batch's sum (DP-SGD).

    Parameters
    ----------
    n : int
        Users (examples), 1 <= n <= 1e15.
    noise : float
        Standard deviation of the noise on every gradient, or with a sampler on every batch's sum,
        in the gradient's units; clip/25 to 1e100 clip.
    clip : float
        L2 norm every gradient is clipped to, 1e-100 to 1e100.
    epochs : int
        Passes over the data, each in a fresh random order, or with its batches drawn afresh.
    batch : int
        Gradients added up for a step (on average, unless batches are shuffled). Without a sampler
        that is post-processing, so it does not change the privacy; with one an epoch has
        ceil(n/batch) steps, and Poisson's rate is batch/n.
    sampler : {"balls-and-bins", "shuffle", "poisson"}, optional
        How the examples of an epoch come into batches.
    per_epoch : int
        Balls and bins: in how many batches of an epoch each example is.
    relation : {"replace-special", "add-or-remove-one"} or Relation, optional
        With a sampler, which datasets are neighbours: one example's gradients replaced by zero (by
        default), or one example added or removed (not for shuffled batches). Without a sampler one
        user's value is replaced.
    lower : bool
        Without a sampler: also a lower end, from fixed gradients (tens of seconds).

    Raises
    ------
    ParameterError
        If an argument is outside its domain.

    Examples
    --------
    >>> import shuffledp as sd
    >>> run = sd.SGD(n=60_000, noise=2.0, clip=1.0, epochs=10, batch=600)
    >>> run.steps
    1000
    >>> run = sd.SGD(n=50, noise=0.5, clip=1.0, epochs=1, sampler="balls-and-bins")
    >>> 0.1179 < run.delta(epsilon=0.5).upper < 0.118
    True
    """

    n: int
    noise: float
    clip: float
    epochs: int
    batch: int = 1
    sampler: Sampler | None = None
    per_epoch: int = 1
    relation: Relation = None  # type: ignore[assignment] (a name, or what the sampler has)
    lower: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.lower, bool):
            raise rejected("lower", self.lower, "True or False")
        if self.sampler is not None:
            _check.choice("sampler", self.sampler, SAMPLERS)
            if self.lower:
                wanted = "nothing: with a sampler there is always a lower end"
                raise rejected("lower", self.lower, wanted)
        n = _check.count("n", self.n)
        epochs = _check.count("epochs", self.epochs, high=_MOST_STEPS)
        steps = -(-n // _check.count("batch", self.batch, high=n))
        _check.count(
            "per_epoch", self.per_epoch, high=steps if self.sampler == "balls-and-bins" else 1
        )
        if self.sampler is not None:
            _check.count("steps (epochs times ceil(n/batch))", epochs * steps, high=_MOST_STEPS)
        noise, clip = checked_noise(self.noise, self.clip)
        checked = {"noise": noise, "clip": clip, "relation": _known(self.sampler, self.relation)}
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def steps(self) -> int:
        """Steps of all epochs together; the last batch of an epoch may be smaller."""
        return self.epochs * self.epoch_steps

    @property
    def epoch_steps(self) -> int:
        """Batches of an epoch: T = ceil(n/batch)."""
        return -(-self.n // self.batch)

    def composed(self) -> Composed:
        """All epochs: Renyi, trade-off and the rest are methods of it."""
        work = _FOUND.of(self)
        return work.answer("composed", lambda: compose([self.epoch], rounds=self._rounds()))

    def bound(self, quantity: Quantity, value: float) -> Bound:
        """The composition of all epochs, with the larger lower end of other data sets."""
        found = self.composed().bound(quantity, value)
        if self._composes_a_pair:
            return found
        below = compose([self._summed()], rounds=self.epochs).bound(quantity, value)
        found = replace(
            with_end_of(found, below, "lower"), witness={**found.witness, **below.witness}
        )
        return self._tested(found)

    def _tested(self, found: Bound) -> Bound:
        """The same, with the lower end of a test of scores where that is larger (Lemma 3.4)."""
        steps, balls = self.steps, self.epochs * self.per_epoch
        if balls == steps:
            return found
        inputs = _ONE_BALL if self.sampler == "balls-and-bins" or self._uneven else _AGAINST_ALL
        noise = self._noise(1.0 + self._rounded)
        sets = several_sets(noise, [inputs], steps, balls)
        if found.quantity == "epsilon":
            log_delta = math.log(found.at["delta"])
            best = lower_epsilon(sets, log_delta, above=found.lower, cap=found.upper)
            ends = {} if best is None else {"lower": best.value}
        else:
            best = lower_log_delta(sets, found.at["epsilon"])
            ends = {"lower": delta_from_log(best.value, math.inf)[0], "log_lower": best.value}
        if best is None or not ends["lower"] > found.lower:
            return found
        refuse_contradiction(ends["lower"], found.upper)
        ends["lower"] = min(ends["lower"], found.upper)
        witness = {**found.witness, "lower": best.witness}
        theorem = theorems.SEVERAL_DATASET.with_step(_ATTAINED[self.sampler])
        return replace(found, **ends, lower_theorem=theorem, witness=witness)

    @property
    def _uneven(self) -> bool:
        """Whether the last batch of an epoch is smaller than the others."""
        return self.n % self.batch != 0

    @property
    def _composes_a_pair(self) -> bool:
        """Whether the lower end composes a pair; else it is that of the sum of all noisy sums.

        Of shuffled batches a pair is known of one epoch, if the batches are of one size.
        """
        one = self.epochs == 1 and not self._uneven
        return self.per_epoch == 1 and (self.sampler != "shuffle" or one)

    # --------------------------------------------------------------------------- its round

    def _rounds(self) -> int:
        return self.steps if self.sampler == "poisson" else self.epochs * self.per_epoch

    @property
    def epoch(self) -> Round:
        """One epoch as a round; of Poisson batches one step."""
        return _FOUND.of(self).answer("epoch", self._round)

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
        users, cells = self.sampler is None, self.sampler == "balls-and-bins"
        known = self.lower if users else self._composes_a_pair
        return Round(
            label="shuffled SGD, one epoch" if users else f"DP-SGD, {self.sampler}",
            groups=groups,
            backward_groups=mirrored,
            candidates=self._below if known else (),
            eps0=math.inf,
            key=("sgd", self),
            relation=self.relation,
            assumptions=self.assumptions(),
            upper_theorem=upper,
            lower_theorem=_ATTAINED[self.sampler],
            at={"n": self.n} if users else {"n": self.n, "batch": self.batch},
            slow=cells,
            width=_CELLS_WIDTH if cells else WIDTH,
            rtol=_CELLS_RTOL if cells else _RTOL,
            # No sampler shows more than the batch that an example is in, and no order of reports
            # more than the user's own, of which two differ by at most 2 clip.
            **central.gaussian_renyi(2.0 * mu if users else mu),
        )

    def _above(self, mu: float) -> tuple[Theorem, _Groups, _Groups | None]:
        """Upper bounds of one round's curve, example there or not and the other way round."""
        if self.sampler is None:
            return theorems.APPROXIMATE_CLONE, ((EpochCurve(n=self.n, distance=2.0 * mu),),), None
        alone = GaussianCurve(mu)
        if self.sampler == "poisson":
            q = min(self._rate * (1.0 + _ROUNDED), 1.0)
            there, added = (GaussianCurve(mu, rate=q, added=a) for a in (False, True))
            return theorems.POISSON_BATCHES, ((there,),), ((added,),)
        if self.sampler == "balls-and-bins":
            there, added = self._both(_ONE_BALL, self._bins, wide=1.0 - self._rounded)
            theorem = theorems.BALLS_AND_BINS
            if self.per_epoch > 1:
                theorem = theorem.with_step(theorems.SEVERAL_BALLS)
            return theorem, ((there,),), ((added,),)
        amplified = EpochCurve(
            n=self.n,
            # Noise on the sum of b gradients is as much as 1/sqrt(b) of it on each.
            distance=2.0 * self._mu * math.sqrt(self.batch) * (1.0 + _ROUNDED),
            alone=alone,
        )
        return theorems.SHUFFLED_BATCHES, ((amplified,),), None

    def _below(self) -> tuple[Candidate, ...]:
        """The pair of datasets that is tried for the lower end."""
        if self.sampler is None:
            noise = Gaussian(sigma=self.noise, low=-self.clip, high=self.clip)
            pair = dataset_pair(noise, -self.clip, self.clip, self.clip, n=self.n)
            return (Candidate(Profile(pair), Profile(pair.swap()), _VICTIM_LARGE),)
        if self.sampler == "poisson":
            q, mu = self._rate * (1.0 - _ROUNDED), self._mu * (1.0 - _ROUNDED)
            there, added = (GaussianCurve(mu, rate=q, added=a) for a in (False, True))
            return (Candidate(there, added, _ONE_LARGE),)
        balls = self.sampler == "balls-and-bins"
        inputs = _ONE_BALL if balls else _AGAINST_ALL
        there, added = self._both(inputs, self.epoch_steps, wide=1.0 + self._rounded)
        return (Candidate(there, added, _ONE_LARGE if balls else _LARGE_AGAINST_ALL),)

    def _both(
        self, inputs: tuple[float, float, float], bins: int, *, wide: float
    ) -> tuple[Profile, Profile]:
        """(1/T) sum_t N(x0 e_t, s^2) and (1/T) sum_t N(x1 e_t, s^2) about x2 = 0, both ways."""
        pair = dataset_pair(self._noise(wide), *inputs, n=bins)
        return Profile(pair), Profile(pair.swap())

    def _noise(self, wide: float) -> Gaussian:
        """The noise on a batch's sum in units of the clipping norm, ``wide`` times as wide."""
        return Gaussian(sigma=self.noise / self.clip * wide, low=0.0, high=2.0)

    def _summed(self) -> Round:
        """k balls of one example: the sum of all sums moves by k; its deviation is sqrt(T)."""
        mu = self.per_epoch * self._mu / math.sqrt(self.epoch_steps) * (1.0 - _ROUNDED)
        return central.gaussian(sigma=1.0, sensitivity=mu, relation=self.relation)

    def assumptions(self) -> tuple[str, ...]:
        """What the numbers ask a reader to believe."""
        clip, noise = exact(self.clip), exact(self.noise)
        if self.sampler is None:
            return (
                self.relation.sentence,
                "a user's value is one example",
                _ORDER.format(self.n),
                _NOISE_ON_EACH.format(clip, noise, self.batch),
                _ADAPTIVE_TO_EACH,
                _REALS,
            )
        many = "one" if self.per_epoch == 1 else f"{self.per_epoch:,}"
        drawn = _DRAWN[self.sampler].format(many, self.epoch_steps, exact(self._rate))
        return (
            self.relation.sentence,
            _WORDS[self.relation.key],
            drawn,
            _UNSEEN[self.sampler],
            _NOISE.format(clip, noise),
            _ADAPTIVE,
            _REALS,
        )


_WORDS = {
    REPLACE_SPECIAL.key: "a user's data is one example, and the special value's gradients are zero",
    ADD_OR_REMOVE.key: (
        "a user's data is one example; the number of batches and the probability to be in one are "
        "public and the same with and without it"
    ),
}
_ATTAINED: dict[Sampler | None, Theorem] = {
    None: theorems.DATASET,
    "balls-and-bins": theorems.BALLS_AND_BINS,
    "poisson": theorems.POISSON_BATCHES,
    "shuffle": theorems.SHUFFLED_BATCHES,
}
# Means of a batch's sum in units of the clipping norm: with the example, without it, in the others.
_ONE_BALL, _AGAINST_ALL = (1.0, 0.0, 0.0), (2.0, 1.0, 0.0)
_VICTIM_LARGE = {"analysis": "dataset", "gradients": "victim +-clip, others +clip"}
_ONE_LARGE = {"analysis": "dataset", "gradients": "one example's norm is clip, all others' are 0"}
_LARGE_AGAINST_ALL = {
    "analysis": "dataset",
    "gradients": "one example's is +clip or 0 in one direction, all others' are -clip",
}
_FOUND: Beside[SGD, Answers] = Beside(lambda _: Answers())


def _known(sampler: Sampler | None, relation: Relation | str | None) -> Relation:
    """Which datasets are neighbours, where that is known of the sampler."""
    usual = REPLACEMENT if sampler is None else REPLACE_SPECIAL
    found = usual if relation is None else relation_named(relation)
    allowed = (usual, ADD_OR_REMOVE) if sampler in {"balls-and-bins", "poisson"} else (usual,)
    if found not in allowed:
        keys = " or ".join(f'"{r.key}"' for r in allowed)
        raise rejected("relation", found.key, f"{keys} for sampler = {sampler!r}")
    return found


def checked_noise(noise: Any, clip: Any) -> tuple[float, float]:
    """Noise and clipping norm as floats whose quotient, and its square, are in range."""
    clip = _check.real("clip", clip, low=1e-100, high=1e100)
    noise = _check.positive("noise", noise, high=1e100)
    if not clip * _LEAST_NOISE <= noise:
        raise rejected("noise", noise, f"at least clip/25 = {clip * _LEAST_NOISE:g}")
    if not noise <= _LARGEST_NOISE * clip:
        raise rejected("noise", noise, f"at most {_LARGEST_NOISE:g} times clip")
    return noise, clip
