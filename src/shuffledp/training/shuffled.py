"""Shuffled SGD: noisy clipped gradients of users in random order, epochs composed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shuffledp import _check, theorems
from shuffledp._check import Trust, exact
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.arithmetic.intervals import LogInterval, log_add
from shuffledp.bound import Bound
from shuffledp.bounds.clones import clone_pair, stronger_clone_pair
from shuffledp.bounds.profile import LOOSE, Profile
from shuffledp.errors import rejected
from shuffledp.laws.pairs import dataset_pair
from shuffledp.neighbours import REPLACEMENT
from shuffledp.randomizers import Gaussian
from shuffledp.rounds import Candidate, Composed, Round, central, compose
from shuffledp.rounds.gaussian import GaussianCurve, log_delta_gaussian
from shuffledp.values.work import Answers, Beside

U = UNIT_ROUNDOFF

# Noise below this share of the norm hides nothing that floats could tell from pure loss; with more
# than that many norms squares of eps are among the last floats.
_LEAST_NOISE, _LARGEST_NOISE = 0.04, 1e100
# A clone is rarer than e^-60 with a larger one: it hides nobody.
_LARGEST_EPS0 = 60.0
# log of n delta0 of the local guarantees that are tried.
_LEVELS = tuple(-2.0 - 1.35**k for k in range(19))
# In log eps: so near to each other the same clones, or their neighbours in the list, are the best.
_BUCKET = 0.15
_ORDER = (
    "every epoch uses each of the {:,} examples once, in a fresh uniformly random order that the "
    "analyst does not see"
)
_NOISE = (
    "every user's gradient is clipped to L2 norm {}, and Gaussian noise of standard deviation "
    "{} in every coordinate is added to it before anything is summed; sums over batches of {:,} "
    "are post-processing"
)
_ADAPTIVE = (
    "the point at which a gradient is taken may depend on all noisy gradients before it; all of "
    "them may be published"
)


def checked_noise(noise: Any, clip: Any) -> tuple[float, float]:
    """Noise and clipping norm as floats whose quotient, and its square, are in range."""
    clip = _check.real("clip", clip, low=1e-100, high=1e100)
    noise = _check.positive("noise", noise, high=1e100)
    if not clip * _LEAST_NOISE <= noise:
        raise rejected("noise", noise, f"at least clip/25 = {clip * _LEAST_NOISE:g}")
    if not noise <= _LARGEST_NOISE * clip:
        raise rejected("noise", noise, f"at most {_LARGEST_NOISE:g} times clip")
    return noise, clip


class EpochCurve:
    """Upper bound of one epoch's curve: the clone at several (eps0, delta0), and no shuffling.

    (docs/theory-composition.md, Theorem 5.1; where only published theorems are wanted, Feldman,
    McMillan, Talwar 2021, Theorem 3.8.)
    """

    def __init__(self, *, n: int, distance: float, trust: Trust) -> None:
        self.alone = GaussianCurve(distance)
        self.clones: list[tuple[Profile, float]] = []
        self.chosen: dict[int, int] = {}
        for level in _LEVELS:
            eps0 = local_epsilon(distance, level - math.log(n))
            if not 0.0 < eps0 <= _LARGEST_EPS0:
                continue
            log_delta0 = _log_delta0(distance, eps0)
            make = clone_pair if trust == "published" else stronger_clone_pair
            extra = _log_extra(eps0, log_delta0, n, trust)
            self.clones.append((Profile(make(eps0=eps0, n=n)), extra))

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """The bound that looks best. The least of several is not one curve: no lower end."""
        found = LogInterval(-math.inf, self.alone.log_delta(epsilon).high)
        if self.clones:
            profile, extra = self.clones[self._best(epsilon)]
            inner = profile.log_delta(epsilon, width=width)
            more = extra + log_add(0.0, epsilon) + 16 * U * (1.0 + abs(extra) + epsilon)
            high = log_add(inner.high, more) + 1e-13
            found = LogInterval(-math.inf, min(high, found.high, 0.0))
        return found

    def rough_log_delta(self, epsilon: float) -> float:
        """The least estimate."""
        alone = self.alone.rough_log_delta(epsilon)
        return min(alone, self._rough(self._best(epsilon), epsilon)) if self.clones else alone

    def log_floor(self) -> float:
        """Nothing is known to be seen for sure."""
        return -math.inf

    def _best(self, epsilon: float) -> int:
        """The clone that looks best; any is valid. Looked for among all at every few eps only."""
        bucket = round(math.log(epsilon + 1e-9) / _BUCKET)
        if bucket not in self.chosen:
            middle = math.exp(bucket * _BUCKET)
            found = [self._rough(i, middle) for i in range(len(self.clones))]
            self.chosen[bucket] = min(range(len(found)), key=found.__getitem__)
        at = self.chosen[bucket]
        near = range(max(at - 1, 0), min(at + 2, len(self.clones)))
        return min(near, key=lambda i: self._rough(i, epsilon))

    def _rough(self, index: int, epsilon: float) -> float:
        profile, extra = self.clones[index]
        return log_add(profile.rough_log_delta(epsilon), extra + log_add(0.0, epsilon))


@dataclass(frozen=True)
class ShuffledSGD:
    """The accountant of shuffled SGD with Gaussian noise; made by ``sgd``.

    Attributes
    ----------
    n : int
        Users (examples), each used once an epoch.
    noise : float
        Standard deviation of the noise on every user's gradient, in the units of the gradient.
    clip : float
        L2 norm every gradient is clipped to.
    epochs : int
        Passes, each in a fresh random order.
    batch : int
        Gradients added up for a step.
    delta : float
        Target.
    trust : {"all", "published"}
        "published" leaves out docs/theory-composition.md, Theorem 5.1.
    """

    n: int
    noise: float
    clip: float
    epochs: int
    batch: int
    delta: float
    trust: Trust = "all"
    lower: bool = False

    @property
    def steps(self) -> int:
        """Steps of all epochs together; the last batch of an epoch may be smaller."""
        return self.epochs * -(-self.n // self.batch)

    @property
    def distance(self) -> float:
        """Two clipped gradients differ by at most this many standard deviations."""
        return 2.0 * self.clip / self.noise * (1.0 + 4 * U)

    @property
    def epoch(self) -> Round:
        """One epoch as a round."""
        return _FOUND.of(self).answer("epoch", self._epoch)

    def _epoch(self) -> Round:
        curve = EpochCurve(n=self.n, distance=self.distance, trust=self.trust)
        return Round(
            label="shuffled SGD, one epoch",
            groups=((curve,),),
            candidates=self._candidates() if self.lower else (),
            eps0=math.inf,
            # All that the words below depend on, not the ratio of clip and noise alone.
            key=("sgd", self.n, self.clip, self.noise, self.batch, self.trust, self.lower),
            relation=REPLACEMENT,
            assumptions=self.assumptions(),
            upper_theorem=(
                theorems.CLONE.with_step(theorems.FMT_3_8)
                if self.trust == "published"
                else theorems.APPROXIMATE_CLONE
            ),
            lower_theorem=theorems.DATASET,
            at={"n": self.n},
            **central.gaussian_renyi(self.distance * (1.0 + 8 * U)),
        )

    def _candidates(self) -> tuple[Candidate, ...]:
        """Fixed gradients: the victim's +-clip in one direction, all others' +clip."""
        randomizer = Gaussian(sigma=self.noise, low=-self.clip, high=self.clip)
        pair = dataset_pair(randomizer, -self.clip, self.clip, self.clip, n=self.n)
        witness = {"analysis": "dataset", "gradients": "victim +-clip, others +clip"}
        return (Candidate(Profile(pair), Profile(pair.swap()), witness),)

    def composed(self) -> Composed:
        """All epochs: Renyi, trade-off and the rest are methods of it."""
        return compose([self.epoch], rounds=self.epochs)

    @property
    def numerical(self) -> Bound:
        """eps by the clone evaluated numerically, epochs composed."""
        return _FOUND.of(self).answer(
            "numerical", lambda: self.composed().epsilon(delta=self.delta)
        )

    def assumptions(self) -> tuple[str, ...]:
        """What the numbers ask a reader to believe."""
        return (
            REPLACEMENT.sentence,
            "a user's value is one example",
            _ORDER.format(self.n),
            _NOISE.format(exact(self.clip), exact(self.noise), self.batch),
            _ADAPTIVE,
            "gradients and noise are real numbers, not floats",
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {
            "n": self.n,
            "noise": self.noise,
            "clip": self.clip,
            "epochs": self.epochs,
            "batch": self.batch,
            "steps": self.steps,
            "delta": self.delta,
            "numerical": self.numerical.to_dict(),
        }

    def __str__(self) -> str:
        setting = (
            f"n = {self.n:,}, noise {self.noise:g}, clip {self.clip:g}, {self.epochs:,} epochs"
        )
        lines = [
            f"shuffled SGD: {setting}, batches of {self.batch:,} ({self.steps:,} steps)",
            str(self.numerical),
        ]
        lines += [f"  assumes {words}" for words in self.numerical.assumptions]
        return "\n".join(lines)


_FOUND: Beside[ShuffledSGD, Answers] = Beside(lambda _: Answers())


def local_epsilon(distance: float, log_delta0: float) -> float:
    """About the eps0 at which the Gaussian report has this delta0; any eps0 gives a valid bound."""
    low, high = 0.0, 1.0
    while log_delta_gaussian(distance, high).high > log_delta0 and high < 1e4:
        high *= 2.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        if log_delta_gaussian(distance, middle).high > log_delta0:
            low = middle
        else:
            high = middle
    return high


def _log_delta0(distance: float, eps0: float) -> float:
    """Certified upper value of log delta0 at eps0."""
    return log_delta_gaussian(distance, eps0).high


def _log_extra(eps0: float, log_delta0: float, n: int, trust: Trust) -> float:
    """log of what is added to the clone's delta, without the factor 1 + e^eps."""
    small = math.exp(-eps0)
    if trust == "published":
        return log_delta0 + math.log(n) + math.log1p(0.5 * small) + 1e-13 * (1 + abs(log_delta0))
    # delta0/(E + 1) + (n - 1)(2 delta0/E)(1 + 1/(E + 1))
    inverse = small / (1.0 + small)
    factor = inverse + (n - 1) * 2.0 * small * (1.0 + inverse)
    return log_delta0 + math.log(factor) + 1e-13 * (1.0 + abs(log_delta0) + eps0)
