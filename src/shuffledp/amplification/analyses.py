"""The list of all analyses of one round: theorem, when each is tried, and how its end is made.

An analysis turns a source and a number n of users into a certified end. It raises NotCertified,
with the reason, where it does not apply. ``Messages`` evaluates those of the list and keeps the
best end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Protocol

from shuffledp import theorems
from shuffledp.amplification import words
from shuffledp.amplification.end import Certifier, Side
from shuffledp.amplification.one_bit import one_bit
from shuffledp.amplification.pairs import Pairs, of_pairs
from shuffledp.amplification.stealing import (
    has_lone_jumps,
    label_stealing,
    lone_jump,
    on_interval,
    refuse_unsettled,
)
from shuffledp.bounds.clones import clone_pair, stronger_clone_pair
from shuffledp.bounds.variation_ratio import VariationRatio, published_pair, published_reason
from shuffledp.bounds.variation_ratio import repaired_pair as repaired
from shuffledp.errors import NotCertified, rejected
from shuffledp.laws.pairs import Pair, blanket_pair
from shuffledp.laws.sources import (
    Family,
    RatioFamily,
    Source,
    dataset_pairs,
    lower_theorem,
    numbers,
    one_randomizer,
    pure_eps0,
    ratios_of,
    refuse_protocol,
)
from shuffledp.multimessage import MultiMessage
from shuffledp.propose.stealing_floats import MANY_PAIRS
from shuffledp.published import FORMULAS
from shuffledp.randomizers import Randomizer
from shuffledp.theorems import Theorem

# When an analysis is tried if none is named: always; only where the other ends are apart, as it
# takes seconds; or never.
When = Literal["always", "apart", "never"]

# Fewest users among whom label stealing is tried although the blanket is as good to first order.
# With fewer users no reservoir is large enough.
_FEWEST = 20
# Ratio of the variances of a gain, blanket over data sets, up to which label stealing gains
# nothing.
_WORTH_IT = 1.001
# With fewer users, the bound with one distinguished gain is not worth its five seconds.
_FEWEST_ALONE = 100


class Asked(Protocol):
    """A source among n users whose ends are wanted."""

    @property
    def source(self) -> Source:
        """The mechanism each user runs."""
        ...

    @property
    def n(self) -> int:
        """Number of users."""
        ...

    def certifier(self, key: str) -> Certifier | None:
        """The analysis with this key; None where it does not apply."""
        ...


def _always(asked: Asked) -> When:
    del asked
    return "always"


def _never(asked: Asked) -> When:
    del asked
    return "never"


def _of(*kinds: type) -> Callable[[Asked], When]:
    """A rule ``when`` that is "always" for sources of these kinds and "never" for others."""
    return lambda asked: "always" if isinstance(asked.source, kinds) else "never"


def _alone_never(source: Source) -> bool:
    del source
    return False


@dataclass(frozen=True)
class Analysis:
    """One way to bound the privacy of a shuffled randomizer.

    Attributes
    ----------
    key : str
        Its name in ``analysis="..."``.
    end : {"upper", "lower"}
        Which end it certifies.
    theorem : Theorem
        The theorem that certifies the end.
    validity : str
        The scope of the theorem, in words.
    make : callable
        (source, n users) -> the end's Certifier; raises NotCertified, with the reason, if none.
    when : callable
        Question -> whether the analysis is tried where none is named.
    slow : bool
        Whether its cost grows with n; ``compare`` then runs it only on request.
    other_end : str or None
        The analysis that gives the other end when this one is named.
    alone : callable
        Source -> whether later analyses are skipped because they would take too long.
    """

    key: str
    end: Side
    theorem: Theorem
    validity: str
    make: Callable[[Source, int], Certifier] = field(repr=False)
    when: Callable[[Asked], When] = field(repr=False)
    slow: bool = False
    other_end: str | None = None
    alone: Callable[[Source], bool] = field(default=_alone_never, repr=False)

    def __reduce__(self) -> tuple[Callable[[str], Analysis], tuple[str]]:
        """A copy is the analysis with this key: there is one of each."""
        return analysis_named, (self.key,)


def analyses() -> tuple[Analysis, ...]:
    """All analyses: upper ends first, then lower ends; the tightest first in each group."""
    return ANALYSES


def analysis_named(key: str) -> Analysis:
    """The analysis with this key.

    Raises
    ------
    ParameterError
        If no analysis has this key; the message lists the known keys.
    NotCertified
        If it is a published formula, which is not certified as an end.
    """
    if isinstance(key, str) and key in UNCERTIFIED:
        msg = (
            f"analysis = {key!r}: no bound ({FORMULAS[key].validity}); `estimate` gives its number"
        )
        raise NotCertified(msg)
    if not isinstance(key, str) or key not in _BY_KEY:
        raise rejected("analysis", key, "one of " + ", ".join(_BY_KEY))
    return _BY_KEY[key]


# ------------------------------------------------------------------------------ making the ends


def _blanket(source: Source, n: int) -> Pairs:
    """The privacy blanket of the worst pairs. Families are refused: they have no common blanket."""
    randomizer = one_randomizer(source, "blanket")
    worst = randomizer.worst_pairs()
    pairs = [
        (
            blanket_pair(randomizer, x0, x1, n=n),
            {"analysis": "blanket", "x0": x0, "x1": x1, "swap": False},
        )
        for x0, x1 in worst.pairs
    ]
    theorem = theorems.BLANKET.with_step(worst.theorem)
    # The step for outputs that the blanket misses matters only where every other step is published.
    if theorem.provenance == "published" and any(pair.has_outside for pair, _ in pairs):
        theorem = theorem.with_step(theorems.OUTSIDE)
    return of_pairs("blanket", "upper", theorem, pairs, (*words.of_all(source), words.SAME))


def _clones(key: str, theorem: Theorem, pair: Callable[..., Pair], source: Source, n: int) -> Pairs:
    """Clones of the victim among the others' reports: one pair of laws for all eps0-LDP sources."""
    made = pair(eps0=pure_eps0(source, key), n=n)
    return of_pairs(key, "upper", theorem, [(made, {"analysis": key})], words.of_any(source))


def _ratios(key: str, theorem: Theorem, pair: Callable[..., Pair], source: Source, n: int) -> Pairs:
    """The pairs of laws determined by p, beta and q of each worst pair of inputs."""
    refuse_protocol(source, key)
    pairs = [
        (pair(ratio, n=n), {"analysis": key, **inputs, **numbers(ratio)})
        for ratio, inputs in ratios_of(source)
    ]
    if not isinstance(source, Randomizer):
        return of_pairs(key, "upper", theorem, pairs, words.of_any(source))
    theorem = theorem.with_step(source.worst_pairs().theorem)
    return of_pairs(key, "upper", theorem, pairs, (*words.of_all(source), words.SAME))


def _published(ratio: VariationRatio, *, n: int) -> Pair:
    """The published pair of laws, where it is a proved bound (docs/theory.md, section 5.6)."""
    reason = published_reason(ratio)
    if reason is not None:
        raise NotCertified(f"analysis = 'variation-ratio': {reason}")
    return published_pair(ratio, n=n)


def _messages(source: Source, n: int) -> Pairs:
    """Multi-message protocols: blanket messages of one known law, by the protocol's own theorem."""
    if not isinstance(source, MultiMessage):
        raise NotCertified("analysis = 'multi-message': wanted a multi-message protocol")
    pairs, assumed = [*source.pairs(n)], source.assumptions()
    return of_pairs("multi-message", "upper", theorems.MULTI_MESSAGE, pairs, assumed)


def _dataset(source: Source, n: int) -> Pairs:
    """The data sets worth trying, of a randomizer or a multi-message protocol."""
    assumed = source.assumptions() if isinstance(source, MultiMessage) else words.of_all(source)
    return of_pairs("dataset", "lower", lower_theorem(source), dataset_pairs(source, n), assumed)


def _local(source: Source, n: int) -> Certifier:
    """Refuse: the local guarantee is the cap of every search and has no certifier of its own."""
    del source, n
    raise NotCertified("analysis = 'local': it is the cap of every other end")


# ------------------------------------------------------------------ when an analysis is tried


def _one_bit_reports(asked: Asked) -> When:
    source = asked.source
    return "always" if isinstance(source, Randomizer) and source.one_bit() is not None else "never"


def _stealing_is_worth_it(asked: Asked) -> When:
    """Return "always" where label stealing can be well below the blanket, else "apart".

    To first order the blanket loses a factor sqrt(chi_B/chi_x) of eps, where
    chi = int (R_x1 - R_x0)^2 over the blanket or over R_x. The factor is 1 for k-RR, for instance,
    and the ends of k-RR are apart only among few users.
    """
    source, n = asked.source, asked.n
    try:
        refuse_unsettled(source)
    except NotCertified:
        return "never"
    if not isinstance(source, Randomizer):
        return "always"
    if on_interval(source) or len(source.worst_pairs().pairs) > 1:
        return "always"
    above, below = asked.certifier("blanket"), asked.certifier("dataset")
    alike = (
        isinstance(above, Pairs)
        and isinstance(below, Pairs)
        and above.variance <= _WORTH_IT * below.variance
    )
    if n > 1 and not alike:
        return "always"
    return "apart" if n >= _FEWEST else "never"


def _has_many_pairs(source: Source) -> bool:
    """Whether blankets of all pairs take too long where label stealing already gives a bound."""
    return isinstance(source, Randomizer) and len(source.worst_pairs().pairs) > MANY_PAIRS


def _jumps_are_worth_it(asked: Asked) -> When:
    return "apart" if asked.n >= _FEWEST_ALONE and has_lone_jumps(asked.source) else "never"


# ---------------------------------------------------------------------------------- the list

_BITS = "one randomizer with two outputs for all users, any inputs of the others; not adaptive"
_ANY = "any eps0-LDP randomizers chosen in one order, adaptive too (shuffle, then randomize)"
_reports, _has_ratios = _of(Randomizer, Family), _of(RatioFamily)
ANALYSES = (
    Analysis(
        "binary-exact",
        "upper",
        theorems.BINARY_EXACT,
        f"{_BITS}; with it the lower end of binary-exact-lower",
        partial(one_bit, "upper"),
        _one_bit_reports,
        slow=True,
        other_end="binary-exact-lower",
    ),
    Analysis(
        "label-stealing",
        "upper",
        theorems.LABEL_STEALING,
        "one randomizer for all users, any inputs of the others; not adaptive; for randomizers of "
        "which the others' worst inputs are known, and for all eps0-LDP randomizers",
        label_stealing,
        _stealing_is_worth_it,
        alone=_has_many_pairs,
    ),
    Analysis(
        "blanket",
        "upper",
        theorems.BLANKET,
        "one randomizer for all users, any inputs of the others; not adaptive; "
        "no local guarantee needed",
        _blanket,
        _reports,
    ),
    Analysis(
        "variation-ratio",
        "upper",
        theorems.VARIATION_RATIO,
        "only where beta = (p-1)/(p+1); elsewhere it can be too small (docs/theory.md, section "
        "5.6), and is an `estimate`",
        partial(_ratios, "variation-ratio", theorems.VARIATION_RATIO, _published),
        _has_ratios,
    ),
    Analysis(
        "repaired-variation-ratio",
        "upper",
        theorems.REPAIRED_VARIATION_RATIO,
        "any randomizers with p, beta and q at every position and history, adaptive too; of a "
        "randomizer, the p, beta and q of its worst pairs",
        partial(_ratios, "repaired-variation-ratio", theorems.REPAIRED_VARIATION_RATIO, repaired),
        _has_ratios,
    ),
    Analysis(
        "stronger-clone",
        "upper",
        theorems.STRONGER_CLONE,
        _ANY,
        partial(_clones, "stronger-clone", theorems.STRONGER_CLONE, stronger_clone_pair),
        _reports,
    ),
    Analysis(
        "clone",
        "upper",
        theorems.CLONE,
        _ANY,
        partial(_clones, "clone", theorems.CLONE, clone_pair),
        _reports,
    ),
    Analysis(
        "multi-message",
        "upper",
        theorems.MULTI_MESSAGE,
        "multi-message protocols: blanket messages of one known law; any inputs of the others",
        _messages,
        _of(MultiMessage),
    ),
    Analysis(
        "lone-jump",
        "upper",
        theorems.LONE_JUMP,
        "Gaussian noise on an interval, one randomizer for all users, any inputs of the others; "
        "not adaptive; tried where the other ends are apart",
        lone_jump,
        _jumps_are_worth_it,
        slow=True,
    ),
    Analysis(
        "local",
        "upper",
        theorems.LOCAL,
        "always; what is left if the shuffler fails",
        _local,
        _never,
    ),
    Analysis(
        "binary-exact-lower",
        "lower",
        theorems.BINARY_EXACT_LOWER,
        _BITS,
        partial(one_bit, "lower"),
        _one_bit_reports,
        slow=True,
    ),
    Analysis(
        "dataset",
        "lower",
        theorems.DATASET,
        "exact for the dataset it names, so a lower bound on the worst case",
        _dataset,
        _always,
    ),
)
_BY_KEY = {analysis.key: analysis for analysis in ANALYSES}
# Published formulas whose key is not that of a certified analysis.
UNCERTIFIED = {key: formula for key, formula in FORMULAS.items() if key not in _BY_KEY}
