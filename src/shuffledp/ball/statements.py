"""What a certificate may say of theorems: the verifier's own table.

Nothing is read off a certificate here: from the mechanism's table and the analysis that a claim
names follows the theorem (title, source, provenance). Assumptions and the neighbouring relation are
in ``assumptions``. A test holds this against the modules that write certificates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from shuffledp.errors import NotCertified

from .messages import PROTOCOLS
from .registry import RECORDS
from .searches import LOWER, SEARCHES, search_of
from .triples import stealing_pairs, stealing_step

__all__ = [
    "GENERIC",
    "Statement",
    "lower_statement",
    "named_statement",
    "upper_statement",
    "worst_pair_step",
]

GENERIC = "generic"
ALONE = "lone-jump"
Parameters = Mapping[str, Any]
Provenance = Literal["published", "proved here"]


@dataclass(frozen=True)
class Statement:
    """A theorem: its key, what it says, where it stands, and whether all of it is published."""

    key: str
    title: str
    source: str
    provenance: Provenance

    def then(self, step: Statement) -> Statement:
        """The theorem and a further step; published only if both are."""
        both = {self.provenance, step.provenance}
        return Statement(
            self.key,
            f"{self.title}; {step.title}",
            f"{self.source}; {step.source}",
            "published" if both == {"published"} else "proved here",
        )

    def to_dict(self) -> dict[str, str]:
        """As it is written in a certificate."""
        return asdict(self)


# Key, what it says, where it stands, provenance.
_ROWS: tuple[tuple[str, str, str, Provenance], ...] = (
    (
        "blanket",
        "privacy blanket, optimal decomposition bound",
        "Balle, Bell, Gascon, Nissim 2019, Lemma 5.3; Su, Cheng, Wang 2025, Theorem 13",
        "published",
    ),
    (
        "stronger-clone",
        "generic stronger clone, any eps0-LDP randomizers, adaptive too",
        "docs/theory.md, section 5",
        "proved here",
    ),
    (
        "clone",
        "standard clone, any eps0-LDP randomizers, adaptive too",
        "Feldman, McMillan, Talwar 2021, Theorem 3.2",
        "published",
    ),
    (
        "local",
        "local guarantee: shuffling is post-processing",
        "Dwork, Roth 2014, Proposition 2.1",
        "published",
    ),
    (
        "multi-message",
        "one data message among blanket messages of a known law",
        "Su, Cheng, Wang 2025, Theorem 12; docs/theory-parts.md, Theorem 3.1",
        "proved here",
    ),
    (
        "dataset",
        "exact divergence of one pair of neighbouring datasets",
        "Ghazi, Kumar, Manurangsi, Pagh 2020; Su, Cheng, Wang 2025, Theorem 14",
        "published",
    ),
    (
        "family",
        "binary randomized response and 3-RR are among the randomizers the bound is for",
        "Su, Cheng, Wang 2025, Theorem 14, for k-RR with k = 2 and 3",
        "published",
    ),
    (
        "message-dataset",
        "exact divergence of neighbouring datasets, or of a post-processing of it",
        "docs/theory-parts.md, Theorem 3.2",
        "proved here",
    ),
    (
        "label-stealing",
        "label stealing: the victim joins a reservoir of messages or steals another user's label",
        "docs/theory-stealing.md, Theorems 2.3 and 3.1",
        "proved here",
    ),
    (
        "lone-jump",
        "label stealing, one distinguished gain exactly and the others by positive sums",
        "docs/theory-stealing.md, Theorems 2.1 and 9.3",
        "proved here",
    ),
    (
        "binary-exact",
        "one-bit reports: the largest divergence of all data sets and pairs",
        "docs/theory-binary.md, Theorems 2.1, 3.1 and 3.2",
        "proved here",
    ),
    (
        "binary-exact-lower",
        "exact divergence of one pair of neighbouring datasets, others of two values",
        "definition of the divergence; docs/theory-binary.md, Theorem 2.1",
        "published",
    ),
    (
        "exhaustive",
        "the largest divergence of all neighbouring datasets, each of them enumerated",
        "definition of differential privacy; docs/theory.md, Theorem 3.11",
        "published",
    ),
    (
        "exhaustive-lower",
        "exact divergence of one pair of neighbouring datasets, enumerated",
        "definition of differential privacy; docs/theory.md, Theorem 3.11",
        "published",
    ),
    # Why the inputs of the others that are looked at are enough.
    (
        "alike-triples",
        "by symmetry the others hold the victim's inputs or any third one",
        "docs/theory-stealing.md, section 5.1",
        "proved here",
    ),
    (
        "all-triples",
        "all ordered pairs and all inputs of the others searched",
        "enumeration",
        "published",
    ),
    (
        "mixed-triples",
        "every input's law is a mixture of those of the two end points",
        "docs/theory-stealing.md, section 5.1",
        "proved here",
    ),
    (
        "corner-triples",
        "laws linear in the inputs between corners, or in the overlaps: the corners' are the worst",
        "docs/theory-stealing.md, Theorem 5.4",
        "proved here",
    ),
    (
        "overlap-triples",
        "all sizes of the overlaps of three sets searched",
        "docs/theory-stealing.md, section 5.5",
        "proved here",
    ),
    (
        "part-triples",
        "labels of reports made of parts: all combinations of the parts' own worst ones",
        "docs/theory-stealing.md, section 5.8",
        "proved here",
    ),
    (
        "shifted-triples",
        "for noise only the distances of x0 and x1 from the other's input count",
        "docs/theory-stealing.md, section 5.2",
        "proved here",
    ),
    (
        "spanning-triples",
        "triples that span the interval, covered by chords",
        "docs/theory-stealing.md, section 6",
        "proved here",
    ),
    # Why the pairs of inputs that are looked at are enough.
    (
        "symmetric",
        "every pair of inputs has the same law by symmetry",
        "definition of the mechanism",
        "published",
    ),
    (
        "symmetric-hadamard",
        "every pair of rows of the matrix has the same law",
        "docs/theory.md, Theorem 4.2",
        "proved here",
    ),
    (
        "symmetric-hashing",
        "every pair of inputs has the same law, no worse than with a uniformly random function",
        "docs/theory.md, Theorem 4.2b",
        "proved here",
    ),
    (
        "outside",
        "outputs that only the victim can send count in full",
        "docs/theory.md, Theorems 2.1 and 3.1: the term over {B = 0}",
        "proved here",
    ),
    (
        "other-block",
        "a pair of inputs in different blocks dominates a pair in the same block",
        "docs/theory.md, section 4",
        "proved here",
    ),
    ("all-pairs", "all ordered pairs of inputs searched", "enumeration", "published"),
    ("two-inputs", "there is one pair of inputs", "definition", "published"),
    (
        "end-points",
        "the end points are the worst pair for symmetric unimodal additive noise",
        "docs/theory.md, section 4",
        "proved here",
    ),
    (
        "clamped-end-points",
        "the end points are the worst pair for symmetric log-concave noise and clamped reports",
        "docs/theory-noise.md, Theorem 1.1",
        "proved here",
    ),
    (
        "truncated-end-points",
        "the end points are the worst pair for truncated Laplace noise",
        "docs/theory-noise.md, Theorem 1.2",
        "proved here",
    ),
    (
        "joint-pairs",
        "the parts' worst pairs together are the worst pairs of records",
        "docs/theory-parts.md, Theorem 2.2",
        "proved here",
    ),
    (
        "least-overlap",
        "the pair attains the largest gains that eps0 and the mass of the blanket allow",
        "docs/theory.md, Theorem 4.11 and Corollary 4.12",
        "proved here",
    ),
    (
        "fewest-shared",
        "sets that share as few items as they can are the worst pair",
        "docs/theory.md, Theorem 4.15",
        "proved here",
    ),
    (
        "envelope",
        "a law whose gains dominate those of every pair of inputs, whatever their hash values",
        "docs/theory.md, Theorem 4.14",
        "proved here",
    ),
    (
        "least-common",
        "no pair of inputs favours fewer outputs in common",
        "docs/theory.md, Corollary 4.13",
        "proved here",
    ),
    # From one round to all.
    (
        "composition",
        "adaptive composition of dominating pairs, connect-the-dots discretization",
        ("Zhu, Dong, Wang 2022, adaptive composition; docs/theory-composition.md, sections 1 to 3"),
        "published",
    ),
    (
        "basic",
        "basic composition: eps and delta of the rounds add up",
        "Dwork, Roth 2014, Theorem 3.16 and Corollary B.2",
        "published",
    ),
    (
        "repetition",
        "the same neighbouring datasets in every round, fresh coins, coarse-grained losses",
        "post-processing and independence; docs/theory-composition.md, sections 1 to 3",
        "published",
    ),
)
_STEPS_OF_RECORDS = (step for record in RECORDS.values() for step in record.steps)
_STATEMENTS = {row[0]: Statement(*row) for row in (*_ROWS, *_STEPS_OF_RECORDS)}
# Label stealing of all mechanisms with a local guarantee at once.
_STEALING_FAMILY = Statement(
    "label-stealing",
    "label stealing, all eps0-LDP mechanisms by five extreme laws",
    "docs/theory-stealing.md, Theorems 2.3, 3.1 and 5.3",
    "proved here",
)

_STEPS: dict[str, str] = {
    **dict.fromkeys(("k-rr", "rappor", "oue", "subset"), "symmetric"),
    **dict.fromkeys(("blh", "olh", "local-hash"), "symmetric-hashing"),
    "binary-rr": "two-inputs",
    "channel": "all-pairs",
    **dict.fromkeys(
        ("gaussian", "generalized-gaussian", "staircase", "clamped-laplace"), "end-points"
    ),
    "truncated-laplace": "truncated-end-points",
    **dict.fromkeys(("duchi", "hybrid", "piecewise", "privunit", "pckv-grr"), "least-overlap"),
    "sampling-rappor": "fewest-shared",
    "wheel": "envelope",
    "extremal": "least-common",
    **dict.fromkeys(("joint", "parallel", "hierarchy"), "joint-pairs"),
    **{name: record.pair_step[0] for name, record in RECORDS.items()},
}


def worst_pair_step(mechanism: Parameters) -> str:
    """Key of what says which pairs of inputs are the worst.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters} of a randomizer.

    Raises
    ------
    NotCertified
        For mechanisms that nothing is known of here.
    """
    name = mechanism["name"]
    if name == "poisson-subsample":
        return worst_pair_step(mechanism["randomizer"])
    if name == "laplace":
        return "two-inputs" if mechanism["binary"] else "end-points"
    if name in {"discrete-laplace", "discrete-gaussian"}:
        return "clamped-end-points" if mechanism["clamped"] else "end-points"
    if name == "hadamard-response":
        known = {mechanism["domain"]: "symmetric", 1: "symmetric-hadamard"}
        return known.get(mechanism["blocks"], "other-block")
    if name not in _STEPS:
        raise NotCertified(f"randomizer = {name!r}: the verifier does not know this mechanism")
    return _STEPS[name]


def upper_statement(mechanism: Parameters, analysis: str, *, last: str = "") -> Statement | None:
    """The theorem of an upper end; None where this analysis gives this mechanism none.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}.
    analysis : str
        "label-stealing", "lone-jump", "blanket", "clone", "stronger-clone", "local",
        "multi-message", or the upper end of one of ``SEARCHES``.
    last : {"", "composition", "basic"}
        The step from one round to all. A local guarantee that is added up has none.
    """
    name = mechanism["name"]
    protocol, family = name in PROTOCOLS, name == GENERIC
    wanted = {"local", "multi-message"} if protocol else {"local", "clone", "stronger-clone"}
    several = last == "composition"
    if not protocol and stealing_pairs(mechanism) is not None:
        wanted.add("label-stealing")
        if name == "gaussian" and not last:
            wanted.add(ALONE)
    if not protocol and not several:
        wanted |= {search.upper for search in SEARCHES if search.applies(mechanism)}
    if analysis not in (wanted if protocol or family else wanted | {"blanket"}):
        return None
    found = _STATEMENTS[analysis]
    if analysis in {"label-stealing", ALONE}:
        step = stealing_step(mechanism)
        found = _STEALING_FAMILY if family else found.then(_STATEMENTS[step])
        if several:
            # At each eps the least of both.
            other = _STATEMENTS["stronger-clone"] if family else _blanket(mechanism)
            found = found.then(other)
    if analysis == "blanket":
        found = _blanket(mechanism)
    if last == "composition" and analysis == "local":
        return found
    return found.then(_STATEMENTS[last]) if last else found


def _blanket(mechanism: Parameters) -> Statement:
    """The blanket's theorem, and what says which pairs are the worst."""
    found = _STATEMENTS["blanket"].then(_STATEMENTS[worst_pair_step(mechanism)])
    if found.provenance == "published" and _only_the_victim(mechanism):
        found = found.then(_STATEMENTS["outside"])
    return found


def _only_the_victim(mechanism: Parameters) -> bool:
    """Whether some input's law vanishes on an output that another's does not."""
    if mechanism["name"] == "poisson-subsample":
        return _only_the_victim(mechanism["randomizer"])
    if mechanism["name"] != "channel":
        return False
    columns = zip(*mechanism["matrix"], strict=True)
    return any(min(map(float, column)) == 0.0 < max(map(float, column)) for column in columns)


def lower_statement(mechanism: Parameters, *, last: str = "") -> Statement:
    """The theorem of a lower end; ``last`` is "repetition" after several rounds, else empty."""
    name = mechanism["name"]
    key = "message-dataset" if name in PROTOCOLS else "family" if name == GENERIC else "dataset"
    return _STATEMENTS[key].then(_STATEMENTS[last]) if last else _STATEMENTS[key]


def named_statement(mechanism: Parameters, analysis: str) -> Statement | None:
    """The theorem of a lower end by the data set that its witness names; None where there is none.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}.
    analysis : str
        The lower end of one of ``SEARCHES``.
    """
    search = search_of(analysis)
    if search is None or analysis not in LOWER or not search.applies(mechanism):
        return None
    return _STATEMENTS[analysis]
