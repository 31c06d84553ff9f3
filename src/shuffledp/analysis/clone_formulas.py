"""Closed forms of clones, of the papers that found them, and their binomial sums."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shuffledp import theorems
from shuffledp.analysis.analysis import Analysis, Curve
from shuffledp.analysis.approximate import (
    FLOATS,
    FROM_MEMORY,
    IN_FLOATS,
    MEMORY,
    affordable_sum,
    by_halving,
    from_epsilon,
)
from shuffledp.analysis.clones import ANY
from shuffledp.analysis.formulas import Formula, Made, OfFormula, of_delta
from shuffledp.analysis.source import Source, one_randomizer, pure_eps0
from shuffledp.baselines import binomial
from shuffledp.closed_forms import clones, renyi
from shuffledp.divergence import LARGEST_EPSILON
from shuffledp.errors import NotCertified
from shuffledp.pair import UNIT_ROUNDOFF as U
from shuffledp.randomizers import KRR, BinaryRR, JointLaw

# Shares of delta/n that delta0 may have in Theorem 3.8.
_SHARES = tuple(10.0**-k for k in range(1, 9))


def _efmrtt19(source: Source, n: int) -> Made:
    eps0 = pure_eps0(source, "efmrtt19")
    return of_delta(lambda delta: clones.erlingsson(eps0=eps0, n=n, delta=delta))


def _fmt_3_1(source: Source, n: int) -> Made:
    eps0 = pure_eps0(source, "fmt-3.1")
    return of_delta(lambda delta: clones.clone(eps0=eps0, n=n, delta=delta))


def _fmt_3_8(source: Source, n: int) -> Made:
    randomizer = one_randomizer(source, "fmt-3.8")
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

    return of_delta(at)


def _fmt_4_1(source: Source, n: int) -> Made:
    randomizer = one_randomizer(source, "fmt-4.1")
    shares = [_three_laws(randomizer.law(pair)) for pair in randomizer.worst_pairs().pairs]

    def at(delta: float) -> float:
        return max(clones.decomposition(p=p, q=q, n=n, delta=delta) for p, q in shares)

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
    # Differences lose bits where the two laws nearly agree: q and p are off by as much.
    doubt = (4.0 * law.rel + 32 * U) / max(q, 1e-300)
    if doubt > 1e-3:
        raise NotCertified("analysis = 'fmt-4.1': the two laws are too close to tell apart here")
    common = np.minimum(zero, one)
    laws = np.abs(zero - one) / q + common / max(float(common.sum()), 1e-300)
    used = laws > 0.0
    p = float((law.blanket[used] / laws[used]).min()) * (1.0 - 4.0 * doubt)
    if p <= 0.0:
        raise NotCertified("analysis = 'fmt-4.1': the blanket misses an output of the victim's")
    return min(p, 1.0 / 3.0), min(q * (1.0 + doubt), 1.0)


def _fmt_4_2(source: Source, n: int) -> Made:
    if not isinstance(source, KRR | BinaryRR):
        raise NotCertified("analysis = 'fmt-4.2': wanted k-RR")
    k, eps0 = (source.k if isinstance(source, KRR) else 2), source.eps0
    return of_delta(lambda delta: clones.k_rr(k=k, eps0=eps0, n=n, delta=delta))


def _csuzz19(source: Source, n: int, cells: int) -> Curve:
    del cells
    binary = isinstance(source, BinaryRR) or (isinstance(source, KRR) and source.k == 2)
    if not binary:
        raise NotCertified("analysis = 'csuzz19': wanted binary randomized response")
    eps0 = pure_eps0(source, "csuzz19")
    return from_epsilon(lambda d: clones.cheu(eps0=eps0, n=n, delta=d), MEMORY)


def _stronger_clone(source: Source, n: int, cells: int) -> Curve:
    del cells
    eps0 = pure_eps0(source, "stronger-clone-3.2")
    return from_epsilon(lambda d: clones.stronger_clone(eps0=eps0, n=n, delta=d), MEMORY)


def _girgis(source: Source, n: int, cells: int) -> Curve:
    del cells
    eps0 = pure_eps0(source, "girgis-renyi")
    return from_epsilon(lambda d: renyi.girgis_epsilon(eps0=eps0, n=n, delta=d), MEMORY)


def _clone_sums(source: Source, n: int, cells: int) -> Curve:
    del cells
    return _sums(source, n, "clone-binomial-sums", binomial.clone_delta)


def _stronger_clone_sums(source: Source, n: int, cells: int) -> Curve:
    del cells
    return _sums(source, n, "stronger-clone-binomial-sums", binomial.stronger_clone_delta)


def _sums(source: Source, n: int, key: str, form: Callable[..., float]) -> Curve:
    eps0 = pure_eps0(source, key)
    affordable_sum(key, n)
    return by_halving(lambda e: form(eps0=eps0, n=n, epsilon=e), eps0, FLOATS)


FMT_3_1 = OfFormula(
    "fmt-3.1",
    "upper",
    theorems.FMT_3_1,
    f"{ANY}; eps0 <= log(n/(16 log(4/delta)))",
    any_randomizer=True,
    formula=_fmt_3_1,
)
FMT_3_8 = OfFormula(
    "fmt-3.8",
    "upper",
    theorems.FMT_3_8,
    "randomizers with an (eps0, delta0) guarantee of one report and no pure one; conditions of "
    "fmt-3.1 at (eps0, delta/2)",
    formula=_fmt_3_8,
)
FMT_4_1 = OfFormula(
    "fmt-4.1",
    "upper",
    theorems.FMT_4_1,
    "one randomizer with finitely many likelihood ratios for all users, not adaptive; "
    "p >= 8 log(4 q/delta)/n",
    worst="pairs",
    formula=_fmt_4_1,
)
FMT_4_2 = OfFormula(
    "fmt-4.2",
    "upper",
    theorems.FMT_4_2,
    "k-RR alone; eps0 <= log(n/(16 log(4/delta))) and "
    "k n/((k+1)(E+k-1)) >= 8 log(4 (E-1)/((E+k-1) delta)), E = e^eps0: the paper takes the "
    "second to follow, and for k far above E it does not",
    formula=_fmt_4_2,
)
EFMRTT19 = OfFormula(
    "efmrtt19",
    "upper",
    theorems.ERLINGSSON,
    f"{ANY}; eps0 < 1/2, n >= 1000, delta < 1/100",
    any_randomizer=True,
    formula=_efmrtt19,
)
CSUZZ19 = Analysis(
    "csuzz19",
    "estimate",
    theorems.CHEU,
    f"binary RR; 2n/(e^eps0 + 1) >= 14 log(4/delta){FROM_MEMORY}",
    kind="closed form",
    approximation=_csuzz19,
)
STRONGER_CLONE_3_2 = Analysis(
    "stronger-clone-3.2",
    "estimate",
    theorems.FMT23_3_2,
    f"eps0-LDP; eps0 <= log(n/(8 log(2/delta)) - 1){FROM_MEMORY}",
    kind="closed form",
    approximation=_stronger_clone,
)
GIRGIS = Analysis(
    "girgis-renyi",
    "estimate",
    theorems.GIRGIS,
    f"eps0-LDP, not adaptive; whole Renyi orders{FROM_MEMORY}",
    kind="closed form",
    approximation=_girgis,
)
CLONE_SUMS = Analysis(
    "clone-binomial-sums",
    "estimate",
    theorems.CLONE_SUMS,
    f"as the clone{IN_FLOATS}",
    kind="algorithm",
    slow=True,
    approximation=_clone_sums,
)
STRONGER_CLONE_SUMS = Analysis(
    "stronger-clone-binomial-sums",
    "estimate",
    theorems.STRONGER_CLONE_SUMS,
    f"as the stronger clone{IN_FLOATS}",
    kind="algorithm",
    slow=True,
    approximation=_stronger_clone_sums,
)
