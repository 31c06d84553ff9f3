"""The named analyses: which theorem, which end, for which randomizers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shuffledp import theorems
from shuffledp.bound import Theorem
from shuffledp.errors import rejected

End = Literal["upper", "lower", "estimate"]
Kind = Literal["pair", "closed form", "algorithm", "asymptotic", "local"]


@dataclass(frozen=True)
class Analysis:
    """One way to bound, or to estimate, the privacy of a shuffled randomizer.

    Attributes
    ----------
    key : str
        What ``analysis="..."`` takes.
    end : {"upper", "lower", "estimate"}
        Which end it certifies; an estimate certifies none and needs ``certified=False``.
    theorem : Theorem
        What it rests on.
    validity : str
        For what it holds.
    kind : {"pair", "closed form", "algorithm", "asymptotic", "local"}
        A pair evaluated by the kernel, a formula, a paper's own algorithm, a limit law, or the
        local guarantee.
    any_randomizer : bool
        It holds for every eps0-LDP randomizer, adaptive ones included.
    slow : bool
        Its cost grows with n; ``compare`` runs it only when asked to.
    other_end : str or None
        The analysis that gives the other end where this one is named.
    """

    key: str
    end: End
    theorem: Theorem
    validity: str
    kind: Kind = "pair"
    any_randomizer: bool = False
    slow: bool = False
    other_end: str | None = None

    @property
    def certified(self) -> bool:
        """It can give an end of a Bound (where it applies)."""
        return self.end != "estimate"


_ANY = "any eps0-LDP randomizers chosen in one order, adaptive too (shuffle, then randomize)"
_SAME = "one eps0-LDP randomizer for all users, not adaptive"
_MEMORY = "; constants from memory of the paper: for comparison only"
_FLOATS = "; plain floating point, nothing rounded outward"

_BITS = (
    "one randomizer with two outputs for all users, any inputs of the others; not adaptive; n up "
    "to 1,000,000"
)

_ALL = (
    Analysis(
        "binary-exact",
        "upper",
        theorems.BINARY_EXACT,
        f"{_BITS}; with it the lower end of binary-exact-lower",
        kind="algorithm",
        slow=True,
        other_end="binary-exact-lower",
    ),
    Analysis(
        "label-stealing",
        "upper",
        theorems.LABEL_STEALING,
        "one randomizer for all users, any inputs of the others; not adaptive; for randomizers of "
        "which the others' worst inputs are known, and for all eps0-LDP randomizers",
        kind="algorithm",
    ),
    Analysis(
        "blanket",
        "upper",
        theorems.BLANKET,
        "one randomizer for all users, any inputs of the others; not adaptive; "
        "no local guarantee needed",
    ),
    Analysis(
        "repaired-variation-ratio",
        "upper",
        theorems.REPAIRED_VARIATION_RATIO,
        "any randomizers with p, beta and q at every position and history, adaptive too; of a "
        "randomizer, the p, beta and q of its worst pairs",
        any_randomizer=True,
    ),
    Analysis(
        "variation-ratio",
        "upper",
        theorems.VARIATION_RATIO,
        "only where beta = (p-1)/(p+1); elsewhere it can be too small (docs/theory.md, section "
        "5.6), and is an estimate (certified=False)",
        any_randomizer=True,
    ),
    Analysis("stronger-clone", "upper", theorems.STRONGER_CLONE, _ANY, any_randomizer=True),
    Analysis("clone", "upper", theorems.CLONE, _ANY, any_randomizer=True),
    Analysis(
        "multi-message",
        "upper",
        theorems.MULTI_MESSAGE,
        "multi-message protocols: blanket messages of one known law; any inputs of the others",
    ),
    Analysis(
        "lone-jump",
        "upper",
        theorems.LONE_JUMP,
        "Gaussian noise on an interval, one randomizer for all users, any inputs of the others; "
        "not adaptive; tried where the other ends are apart",
        kind="algorithm",
        slow=True,
    ),
    Analysis(
        "local",
        "upper",
        theorems.LOCAL,
        "always; what is left if the shuffler fails",
        kind="local",
        any_randomizer=True,
    ),
    Analysis(
        "blanket-certified-fft",
        "upper",
        theorems.CERTIFIED_FFT,
        "as the blanket, n >= 2; its FFT grows with n, and its rounding limits delta",
        kind="algorithm",
        slow=True,
    ),
    Analysis(
        "variation-ratio-4.2",
        "upper",
        theorems.VARIATION_RATIO_4_2,
        "where variation-ratio holds, under the conditions of docs/theory.md, Theorem 5.11, on n "
        "and delta, not the paper's",
        kind="closed form",
        any_randomizer=True,
    ),
    Analysis(
        "variation-ratio-4.3",
        "upper",
        theorems.VARIATION_RATIO_4_3,
        "where variation-ratio holds, n >= 8 log(2/delta)/r",
        kind="closed form",
        any_randomizer=True,
    ),
    Analysis(
        "bennett",
        "upper",
        theorems.BENNETT,
        f"k-RR, binary RR and Laplace by their own moments, others by gamma; {_SAME}",
        kind="closed form",
    ),
    Analysis("bennett-generic", "upper", theorems.BENNETT_GENERIC, _SAME, kind="closed form"),
    Analysis(
        "hoeffding",
        "upper",
        theorems.HOEFFDING,
        f"k-RR, binary RR and Laplace by their own range, others by gamma; {_SAME}",
        kind="closed form",
    ),
    Analysis("hoeffding-generic", "upper", theorems.HOEFFDING_GENERIC, _SAME, kind="closed form"),
    Analysis(
        "fmt-3.1",
        "upper",
        theorems.FMT_3_1,
        f"{_ANY}; eps0 <= log(n/(16 log(4/delta)))",
        kind="closed form",
        any_randomizer=True,
    ),
    Analysis(
        "fmt-3.8",
        "upper",
        theorems.FMT_3_8,
        "randomizers with an (eps0, delta0) guarantee of one report and no pure one; conditions of "
        "fmt-3.1 at (eps0, delta/2)",
        kind="closed form",
    ),
    Analysis(
        "fmt-4.1",
        "upper",
        theorems.FMT_4_1,
        "one randomizer with finitely many likelihood ratios for all users, not adaptive; "
        "p >= 8 log(4 q/delta)/n",
        kind="closed form",
    ),
    Analysis(
        "fmt-4.2",
        "upper",
        theorems.FMT_4_2,
        "k-RR alone; eps0 <= log(n/(16 log(4/delta))) and "
        "k n/((k+1)(E+k-1)) >= 8 log(4 (E-1)/((E+k-1) delta)), E = e^eps0: the paper takes the "
        "second to follow, and for k far above E it does not",
        kind="closed form",
    ),
    Analysis(
        "efmrtt19",
        "upper",
        theorems.ERLINGSSON,
        f"{_ANY}; eps0 < 1/2, n >= 1000, delta < 1/100",
        kind="closed form",
        any_randomizer=True,
    ),
    Analysis(
        "dataset",
        "lower",
        theorems.DATASET,
        "exact for the dataset it names, so a lower bound on the worst case",
    ),
    Analysis(
        "one-dataset",
        "lower",
        theorems.ONE_DATASET,
        "the same for one choice of the others' input, a third one where there is any",
    ),
    Analysis(
        "variation-ratio-5.1",
        "lower",
        theorems.VARIATION_RATIO_5_1,
        "the dataset bound after merging outputs into three classes: never above it",
    ),
    Analysis(
        "binary-exact-lower",
        "lower",
        theorems.BINARY_EXACT_LOWER,
        _BITS,
        kind="algorithm",
        slow=True,
    ),
    Analysis(
        "binary-rr-ones",
        "lower",
        theorems.ONES,
        "binary RR, k-RR with k = 2, and all eps0-LDP randomizers together; n up to 100,000",
        kind="algorithm",
        slow=True,
    ),
    Analysis(
        "csuzz19",
        "estimate",
        theorems.CHEU,
        f"binary RR; 2n/(e^eps0 + 1) >= 14 log(4/delta){_MEMORY}",
        kind="closed form",
    ),
    Analysis(
        "stronger-clone-3.2",
        "estimate",
        theorems.FMT23_3_2,
        f"eps0-LDP; eps0 <= log(n/(8 log(2/delta)) - 1){_MEMORY}",
        kind="closed form",
    ),
    Analysis(
        "girgis-renyi",
        "estimate",
        theorems.GIRGIS,
        f"eps0-LDP, not adaptive; whole Renyi orders{_MEMORY}",
        kind="closed form",
    ),
    Analysis(
        "clone-binomial-sums",
        "estimate",
        theorems.CLONE_SUMS,
        f"as the clone{_FLOATS}",
        kind="algorithm",
        slow=True,
    ),
    Analysis(
        "stronger-clone-binomial-sums",
        "estimate",
        theorems.STRONGER_CLONE_SUMS,
        f"as the stronger clone{_FLOATS}",
        kind="algorithm",
        slow=True,
    ),
    Analysis(
        "variation-ratio-binomial-sums",
        "estimate",
        theorems.VARIATION_RATIO_SUMS,
        f"the published pair, which can be too small (docs/theory.md, section 5.6){_FLOATS}",
        kind="algorithm",
        slow=True,
    ),
    Analysis(
        "blanket-grid",
        "estimate",
        theorems.BLANKET_GRID,
        f"as the blanket{_FLOATS}",
        kind="algorithm",
        slow=True,
    ),
    Analysis(
        "gaussian",
        "estimate",
        theorems.GAUSSIAN,
        "large n; finite variance of the blanket's gains",
        kind="asymptotic",
    ),
    Analysis(
        "shuffle-index",
        "estimate",
        theorems.SHUFFLE_INDEX,
        "large n, eps well above n^-1/2; follows the upper bounds",
        kind="asymptotic",
    ),
    Analysis(
        "shuffle-index-lower",
        "estimate",
        theorems.SHUFFLE_INDEX_LOWER,
        "large n, eps well above n^-1/2; follows the lower bounds",
        kind="asymptotic",
    ),
)


def analyses() -> tuple[Analysis, ...]:
    """All analyses: upper bounds, lower bounds, estimates; in each, the tightest first."""
    return _ALL


def analysis_named(key: str) -> Analysis:
    """The analysis with this key; ParameterError names the known ones."""
    for analysis in _ALL:
        if analysis.key == key:
            return analysis
    raise rejected("analysis", key, "one of " + ", ".join(a.key for a in _ALL))
