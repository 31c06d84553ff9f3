"""Named analyses that are no pair: closed forms, the papers' algorithms, and estimates."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from shuffledp import closed_forms
from shuffledp.analyses import analysis_named
from shuffledp.baselines import certified_fft
from shuffledp.binary.curve import Curve
from shuffledp.bound import Theorem
from shuffledp.closed_forms import blanket as blanket_forms
from shuffledp.closed_forms import clones, variation_ratio
from shuffledp.closed_forms.interval import Interval
from shuffledp.divergence import LARGEST_EPSILON
from shuffledp.errors import NotCertified
from shuffledp.index import gaussian_epsilon
from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.randomizers import KRR, BinaryRR, JointLaw, Laplace, Randomizer
from shuffledp.reductions import OnesScan, blanket_pair
from shuffledp.sides import (
    BINARY,
    PAIR_KEYS,
    Family,
    Found,
    RatioFamily,
    Side,
    Source,
    bits_of,
    make_side,
    ratios,
    require,
    theorem_of,
    words_for,
)
from shuffledp.sides.binary import BinarySide
from shuffledp.sides.stealing import JumpSide, StealingSide, named_cases
from shuffledp.stealing import cases_of

U = UNIT_ROUNDOFF
_HALVINGS = 50
_FFT_WIDTH = 0.5
_FFT_HALVINGS = 5
_FACTORS = (0.98, 1.02, 1.1, 1.3, 1.7, 2.5)
# Shares of delta/n that delta0 may have in Theorem 3.8.
_SHARES = tuple(10.0**-k for k in range(1, 9))


class Formula(NamedTuple):
    """A closed form: eps at a delta, or log delta at an eps; the other is None."""

    epsilon_at: Callable[[float], float] | None
    log_delta_at: Callable[[float], float] | None


@dataclass(frozen=True)
class FormulaSide(Side):
    """An upper end from a closed form, evaluated with outward rounding where it is returned."""

    formula: Formula = field(kw_only=True)

    def epsilon(
        self, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """The formula at delta, or the smallest eps at which it is at most delta."""
        del rtol, width
        if self.formula.epsilon_at is not None:
            value = self.formula.epsilon_at(delta)
        else:
            value = closed_forms.epsilon_of(self._log_delta, math.log(delta), cap=cap)
        return Found(value, self.theorem, None, self.witnesses[0], self.assumptions)

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The formula at eps, or the smallest delta at which it is at most eps."""
        del width
        if self.formula.epsilon_at is not None:
            value = closed_forms.log_delta_of(self.formula.epsilon_at, epsilon)
        else:
            value = self._log_delta(epsilon)
        return Found(value, self.theorem, None, self.witnesses[0], self.assumptions)

    def _log_delta(self, epsilon: float) -> float:
        if self.formula.log_delta_at is None:
            raise NotCertified(f"analysis = {self.analysis.key!r}: has no formula for delta")
        return self.formula.log_delta_at(epsilon)


@dataclass(frozen=True)
class CurveSide(Side):
    """An end from a certified algorithm for log delta at one eps, inverted by halving.

    ``ends(eps, width)`` gives log of a lower and of an upper end and words for the witness.
    """

    ends: Callable[[float, float], tuple[float, float, dict[str, Any]]] = field(kw_only=True)
    halvings: int = _HALVINGS
    guess: Callable[[float], float] | None = None

    def epsilon(
        self, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """The eps, among those evaluated, that is nearest to the crossing on its side."""
        del width
        target = math.log(delta)
        slack = 4 * U * (1.0 + abs(target))
        upper = self.analysis.end == "upper"
        low, high = 0.0, min(cap, LARGEST_EPSILON)
        best: tuple[float, dict[str, Any]] = (high if upper else low, {})

        def below(epsilon: float) -> bool:
            """delta is below the target there, as far as this end can tell; keeps the best."""
            nonlocal best
            bottom, top, found = self.ends(epsilon, _FFT_WIDTH)
            yes = top <= target - slack if upper else bottom < target + slack
            if yes == upper:
                best = (epsilon, found)
            return yes

        if self.guess is not None:
            # Far from the crossing the algorithm may fail: look for it near the guess.
            near = self.guess(delta)
            for factor in _FACTORS:
                if near * factor >= high:
                    break
                if below(near * factor):
                    high = near * factor
                    break
                low = near * factor
        for _ in range(self.halvings):
            if high - low <= rtol * high:
                break
            middle = 0.5 * (low + high)
            if below(middle):
                high = middle
            else:
                low = middle
        value, words = best
        apart = None if upper else high / low - 1.0 if low > 0.0 else math.inf
        return Found(value, self.theorem, apart, {**self.witnesses[0], **words}, self.assumptions)

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The end at this eps."""
        bottom, top, words = self.ends(epsilon, max(width, _FFT_WIDTH))
        upper = self.analysis.end == "upper"
        gap = math.expm1(min(top - bottom, 700.0)) if upper and bottom > -math.inf else None
        witness = {**self.witnesses[0], **words}
        return Found(top if upper else bottom, self.theorem, gap, witness, self.assumptions)


def make_named_side(source: Source, key: str, *, n: int, cells: int) -> Side:
    """The side of any analysis; NotCertified where it does not apply to the source."""
    if key in PAIR_KEYS:
        return make_side(source, key, n=n, cells=cells)
    analysis = analysis_named(key)
    if key == "label-stealing":
        return _stealing_side(source, n)
    if key in BINARY:
        return _binary_side(source, key, n)
    if key == "lone-jump":
        return _jump_side(source, n)
    witness: dict[str, Any] = {"analysis": key}
    theorem, words = theorem_of(source, key), words_for(source, key)
    if key == "binary-rr-ones":
        scan = OnesScan(eps0=_binary_eps0(source, key), n=n)

        def ones(epsilon: float, width: float) -> tuple[float, float, dict[str, Any]]:
            del width
            low, count = scan.log_delta(epsilon)
            return low, 0.0, {"ones": count}

        return CurveSide(analysis, theorem, (), (witness,), words, ends=ones)
    if key == "blanket-certified-fft":
        return CurveSide(
            analysis,
            _with_pairs(source, key),
            (),
            (witness,),
            words,
            ends=_fft_ends(source, n, cells),
            halvings=_FFT_HALVINGS,
            guess=_gaussian_guess(source, n, cells),
        )
    formula, more = _FORMULAS[key](source, n)
    step = _with_pairs(source, key) if key in _ABOUT_PAIRS else theorem
    return FormulaSide(analysis, step, (), ({**witness, **more},), words, formula=formula)


def _stealing_side(source: Source, n: int) -> Side:
    key = "label-stealing"
    require(source, key)
    return StealingSide(
        analysis_named(key),
        theorem_of(source, key),
        (),
        (),
        words_for(source, key),
        cases=functools.partial(named_cases, source),
        n=n,
    )


def _binary_side(source: Source, key: str, n: int) -> Side:
    require(source, key)
    analysis, words = analysis_named(key), words_for(source, key)
    curve = Curve(bits_of(source, key), n)
    return BinarySide(analysis, theorem_of(source, key), (), (), words, curve=curve)


def _jump_side(source: Source, n: int) -> Side:
    key = "lone-jump"
    require(source, key)
    randomizer = _need_randomizer(source, key)
    return JumpSide(
        analysis_named(key),
        theorem_of(source, key),
        (),
        (),
        words_for(source, key),
        case=lambda log_delta: cases_of(randomizer, log_delta)[0][0],
        n=n,
    )


def _with_pairs(source: Source, key: str) -> Theorem:
    """The analysis' theorem and the step that names the pairs of inputs it was applied to."""
    theorem = analysis_named(key).theorem
    if isinstance(source, Randomizer):
        return theorem.with_step(source.worst_pairs().theorem)
    return theorem


def _need_randomizer(source: Source, key: str) -> Randomizer:
    if not isinstance(source, Randomizer):
        msg = f"analysis = {key!r}: wanted a randomizer; a family of them has no common blanket"
        raise NotCertified(msg)
    return source


def _pure_eps0(source: Source, key: str) -> float:
    if isinstance(source, RatioFamily):
        raise NotCertified(f"analysis = {key!r}: wanted an eps0-LDP randomizer, not p, beta and q")
    if not math.isfinite(source.eps0):
        msg = f"analysis = {key!r}: wanted an eps0-LDP randomizer; this one has no finite eps0"
        raise NotCertified(msg)
    return float(source.eps0)


def _binary_eps0(source: Source, key: str) -> float:
    """eps0 of binary randomized response, or of a family that it belongs to."""
    if isinstance(source, Family | BinaryRR) or (isinstance(source, KRR) and source.k == 2):
        return float(source.eps0)
    raise NotCertified(f"analysis = {key!r}: wanted binary randomized response (k-RR with k = 2)")


def _fft_ends(
    source: Source, n: int, cells: int
) -> Callable[[float, float], tuple[float, float, dict[str, Any]]]:
    randomizer = _need_randomizer(source, "blanket-certified-fft")
    pairs = [
        blanket_pair(randomizer, x0, x1, n=n, cells=cells)
        for x0, x1 in randomizer.worst_pairs().pairs
    ]

    def ends(epsilon: float, width: float) -> tuple[float, float, dict[str, Any]]:
        found = [certified_fft.fft_delta(pair, epsilon=epsilon, width=width) for pair in pairs]
        low, high = max(f.low for f in found), max(f.high for f in found)
        points = max(f.points for f in found)
        return _log(low, down=True), _log(high, down=False), {"points": points}

    return ends


def _gaussian_guess(source: Source, n: int, cells: int) -> Callable[[float], float]:
    """Where the central limit theorem puts the crossing."""
    randomizer = _need_randomizer(source, "blanket-certified-fft")
    x0, x1 = randomizer.worst_pairs().pairs[0]
    pair = blanket_pair(randomizer, x0, x1, n=n, cells=cells)
    return lambda delta: gaussian_epsilon(pair, delta=delta, cap=float(randomizer.eps0))


def _log(x: float, *, down: bool) -> float:
    if x <= 0.0:
        return -math.inf
    return math.log(x) + (-1.0 if down else 1.0) * 4 * U * (1.0 + abs(math.log(x)))


# ----------------------------------------------------------------------------------- closed forms

Made = tuple[Formula, dict[str, Any]]


def _of_delta(epsilon_at: Callable[[float], float]) -> Made:
    return Formula(epsilon_at, None), {}


def _efmrtt19(source: Source, n: int) -> Made:
    eps0 = _pure_eps0(source, "efmrtt19")
    return _of_delta(lambda delta: clones.erlingsson(eps0=eps0, n=n, delta=delta))


def _fmt_3_1(source: Source, n: int) -> Made:
    eps0 = _pure_eps0(source, "fmt-3.1")
    return _of_delta(lambda delta: clones.clone(eps0=eps0, n=n, delta=delta))


def _fmt_3_8(source: Source, n: int) -> Made:
    randomizer = _need_randomizer(source, "fmt-3.8")
    if math.isfinite(randomizer.eps0):
        raise NotCertified("analysis = 'fmt-3.8': this randomizer is eps0-LDP; wanted 'fmt-3.1'")

    # The clones hide among users whose values are no neighbours of the victim's.
    randomizer = randomizer.unrestricted()

    def at(delta: float) -> float:
        """Half of delta to the clones; the best delta0 whose part fits into the rest."""
        best, reason = math.inf, "no delta0 tried leaves room"
        for share in _SHARES:
            delta0 = share * delta / n
            eps0 = randomizer.local_epsilon(delta0) if delta0 > 0.0 else math.inf
            if not 0.0 < eps0 <= LARGEST_EPSILON:
                continue
            try:
                epsilon, total = clones.clone_approximate(
                    eps0=eps0, delta0=delta0, n=n, delta=0.5 * delta
                )
            except NotCertified as error:
                reason = str(error)
                continue
            best = epsilon if total <= delta and epsilon < best else best
        if math.isinf(best):
            raise NotCertified(f"analysis = 'fmt-3.8': {reason}")
        return best

    return _of_delta(at)


def _fmt_4_1(source: Source, n: int) -> Made:
    randomizer = _need_randomizer(source, "fmt-4.1")
    shares = [_three_laws(randomizer.law(pair)) for pair in randomizer.worst_pairs().pairs]

    def at(delta: float) -> float:
        found = (clones.decomposition(p=p, q=q, n=n, delta=delta) for p, q in shares if q > 0.0)
        return max(found, default=0.0)

    p, q = min(p for p, _ in shares), max(q for _, q in shares)
    return Formula(at, None), {"p": p, "q": q}


def _three_laws(law: JointLaw) -> tuple[float, float]:
    """p and q of Theorem 4.1 with Q0 the common part of R_x0 and R_x1.

    q = TV (rounded up), and p the largest number with p (Q1_0 + Q1_1 + Q0) <= the blanket (rounded
    down), so that every input's law contains the three, those of x0 and x1 too.
    """
    if law.edges is not None:
        raise NotCertified("analysis = 'fmt-4.1': wanted finitely many likelihood ratios")
    zero, one = law.mass[0], law.mass[1]
    q = float(np.maximum(zero - one, 0.0).sum())
    if q == 0.0:
        return 1.0 / 3.0, 0.0
    common = np.minimum(zero, one)
    laws = np.abs(zero - one) / q + common / max(float(common.sum()), 1e-300)
    # Differences lose bits where the two laws nearly agree: q and p are off by as much.
    doubt = (4.0 * law.rel + 32 * U) / q
    if doubt > 1e-3:
        raise NotCertified("analysis = 'fmt-4.1': the two laws are too close to tell apart here")
    used = laws > 0.0
    p = float((law.blanket[used] / laws[used]).min()) * (1.0 - 4.0 * doubt)
    if p <= 0.0:
        raise NotCertified("analysis = 'fmt-4.1': the blanket misses an output of the victim's")
    return min(p, 1.0 / 3.0), min(q * (1.0 + doubt), 1.0)


def _fmt_4_2(source: Source, n: int) -> Made:
    if not isinstance(source, KRR | BinaryRR):
        raise NotCertified("analysis = 'fmt-4.2': wanted k-RR")
    k, eps0 = (source.k if isinstance(source, KRR) else 2), source.eps0
    return _of_delta(lambda delta: clones.k_rr(k=k, eps0=eps0, n=n, delta=delta))


def _ratio_form(key: str) -> Callable[[Source, int], Made]:
    form = variation_ratio.theorem_4_2 if key.endswith("2") else variation_ratio.theorem_4_3

    def make(source: Source, n: int) -> Made:
        require(source, "variation-ratio")
        found = [ratio for ratio, _ in ratios(source)]

        def at(delta: float) -> float:
            return max(
                form(p=r.p, beta=_around(r.total_variation), q=r.q, n=n, delta=delta) for r in found
            )

        return _of_delta(at)

    return make


def _around(x: Fraction) -> Interval:
    """The floats around a rational, or the float that it is."""
    near = float(x)
    if Fraction(near) == x:
        return Interval(near, near)
    return Interval(math.nextafter(near, -math.inf), math.nextafter(near, math.inf))


def _moments(source: Source, key: str) -> blanket_forms.Moments:
    """Range and second moment of the mechanism, or what its blanket's mass alone gives."""
    if isinstance(source, KRR | BinaryRR):
        return blanket_forms.k_rr(source.k if isinstance(source, KRR) else 2, source.eps0)
    if isinstance(source, Laplace):
        return blanket_forms.laplace(source.eps0)
    eps0 = _pure_eps0(source, key)
    randomizer = _need_randomizer(source, key)
    pair = randomizer.worst_pairs().pairs[0]
    law = randomizer.law(pair)
    gamma = float(law.blanket.sum())
    pad = law.rel + (law.blanket.size + 4) * U
    top = min(gamma * (1.0 + pad) + float(law.tails().max()), 1.0)
    return blanket_forms.known_blanket(eps0, Interval(gamma * (1.0 - pad), top))


def _blanket_form(key: str) -> Callable[[Source, int], Made]:
    bound = blanket_forms.log_bennett if "bennett" in key else blanket_forms.log_hoeffding

    def make(source: Source, n: int) -> Made:
        if isinstance(source, Family) and source.adaptive:
            raise NotCertified(f"analysis = {key!r}: not proved for adaptive randomizers")
        generic = key.endswith("generic")
        moments = (
            blanket_forms.generic(_pure_eps0(source, key)) if generic else _moments(source, key)
        )
        return Formula(None, lambda epsilon: bound(moments, n=n, epsilon=epsilon)), {}

    return make


_FORMULAS: dict[str, Callable[[Source, int], Made]] = {
    "efmrtt19": _efmrtt19,
    "fmt-3.1": _fmt_3_1,
    "fmt-3.8": _fmt_3_8,
    "fmt-4.1": _fmt_4_1,
    "fmt-4.2": _fmt_4_2,
    "variation-ratio-4.2": _ratio_form("4.2"),
    "variation-ratio-4.3": _ratio_form("4.3"),
    "hoeffding": _blanket_form("hoeffding"),
    "hoeffding-generic": _blanket_form("hoeffding-generic"),
    "bennett": _blanket_form("bennett"),
    "bennett-generic": _blanket_form("bennett-generic"),
}
# What bounds the blanket of the worst pair, so rests on its being the worst.
_ABOUT_PAIRS = frozenset({"fmt-4.1", "hoeffding", "bennett"})
