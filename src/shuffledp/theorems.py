"""What certifies an end: every theorem the package uses, with its source and provenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Provenance = Literal["published", "proved here", "assumed"]
_WEAKNESS: tuple[Provenance, ...] = ("published", "proved here", "assumed")


@dataclass(frozen=True)
class Theorem:
    """A statement that certifies an end.

    Attributes
    ----------
    key : str
        Short name, as in ``analysis="..."``.
    title : str
        What it says, in a few words.
    source : str
        Paper and theorem, or docs/theory.md and section.
    provenance : {"published", "proved here", "assumed"}
        Whether every step is in the literature, or one is an assumption that is printed.
    steps : tuple of str
        Ids of the theorems that were applied one after another; empty where it is the one that its
        key names.
    """

    key: str
    title: str
    source: str
    provenance: Provenance
    steps: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all its steps, from which ``named`` makes it again."""
        return self.steps or (self.key,)

    def serves(self, trust: Literal["all", "published"]) -> bool:
        """Whether an end that trusts all theorems, or published ones alone, may rest on it."""
        return trust == "all" or self.provenance == "published"

    def with_step(self, step: Theorem) -> Theorem:
        """Apply another theorem as well; the whole is published only if both are."""
        weakest = max((self.provenance, step.provenance), key=_WEAKNESS.index)
        return Theorem(
            key=self.key,
            title=f"{self.title}; {step.title}",
            source=f"{self.source}; {step.source}",
            provenance=weakest,
            steps=(*self.ids, *step.ids),
        )

    def to_dict(self) -> dict[str, str]:
        """JSON-able form."""
        return {
            "key": self.key,
            "title": self.title,
            "source": self.source,
            "provenance": self.provenance,
        }


BLANKET = Theorem(
    "blanket",
    "privacy blanket, optimal decomposition bound",
    "Balle, Bell, Gascon, Nissim 2019, Lemma 5.3; Su, Cheng, Wang 2025, Theorem 13",
    "published",
)
DATASET = Theorem(
    "dataset",
    "exact divergence of one pair of neighbouring datasets",
    "Ghazi, Kumar, Manurangsi, Pagh 2020; Su, Cheng, Wang 2025, Theorem 14",
    "published",
)
CLONE = Theorem(
    "clone",
    "standard clone, any eps0-LDP randomizers, adaptive too",
    "Feldman, McMillan, Talwar 2021, Theorem 3.2",
    "published",
)
STRONGER_CLONE = Theorem(
    "stronger-clone",
    "generic stronger clone, any eps0-LDP randomizers, adaptive too",
    "docs/theory.md, section 5",
    "proved here",
)
CHORD = Theorem(
    "chord",
    "a chord in e^eps between two certified upper ends",
    "docs/theory-composition.md, Theorem 2.1",
    "published",
)
OUTSIDE = Theorem(
    "outside",
    "outputs that only the victim can send count in full",
    "docs/theory.md, Theorems 2.1 and 3.1: the term over {B = 0}",
    "proved here",
)
LABEL_STEALING = Theorem(
    "label-stealing",
    "label stealing: the victim joins a reservoir of messages or steals another user's label",
    "docs/theory-stealing.md, Theorems 2.3 and 3.1",
    "proved here",
)
LONE_JUMP = Theorem(
    "lone-jump",
    "label stealing, one distinguished gain exactly and the others by positive sums",
    "docs/theory-stealing.md, Theorems 2.1 and 9.3",
    "proved here",
)
LABEL_STEALING_FAMILY = Theorem(
    "label-stealing",
    "label stealing, all eps0-LDP mechanisms by five extreme laws",
    "docs/theory-stealing.md, Theorems 2.3, 3.1 and 5.3",
    "proved here",
    ("label-stealing-family",),
)
ALIKE_TRIPLES = Theorem(
    "alike-triples",
    "by symmetry the others hold the victim's inputs or any third one",
    "docs/theory-stealing.md, section 5.1",
    "proved here",
)
HYPERPLANE_TRIPLES = Theorem(
    "hyperplane-triples",
    "the others hold the victim's inputs or a third one, linearly dependent on them or not",
    "docs/theory-stealing.md, section 5.1",
    "proved here",
)
ALL_TRIPLES = Theorem(
    "all-triples",
    "all ordered pairs and all inputs of the others searched",
    "enumeration",
    "published",
)
MIXED_TRIPLES = Theorem(
    "mixed-triples",
    "every input's law is a mixture of those of the two end points",
    "docs/theory-stealing.md, section 5.1",
    "proved here",
)
SHIFTED_TRIPLES = Theorem(
    "shifted-triples",
    "for noise only the distances of x0 and x1 from the other's input count",
    "docs/theory-stealing.md, section 5.2",
    "proved here",
)
CORNER_TRIPLES = Theorem(
    "corner-triples",
    "laws linear in the inputs between corners, or in the overlaps: the corners' are the worst",
    "docs/theory-stealing.md, Theorem 5.4",
    "proved here",
)
OVERLAP_TRIPLES = Theorem(
    "overlap-triples",
    "all sizes of the overlaps of three sets searched",
    "docs/theory-stealing.md, section 5.5",
    "proved here",
)
PART_TRIPLES = Theorem(
    "part-triples",
    "labels of reports made of parts: all combinations of the parts' own worst ones",
    "docs/theory-stealing.md, section 5.8",
    "proved here",
)
SPANNING_TRIPLES = Theorem(
    "spanning-triples",
    "triples that span the interval, covered by chords",
    "docs/theory-stealing.md, section 6",
    "proved here",
)
LOCAL = Theorem(
    "local",
    "local guarantee: shuffling is post-processing",
    "Dwork, Roth 2014, Proposition 2.1",
    "published",
)
REPORTS_ALONE = Theorem(
    "reports-alone",
    "what all reports that may change give away without a shuffler: shuffling is post-processing",
    "docs/theory.md, Corollary 2.7; docs/theory-shufflers.md, Lemma 5.2",
    "proved here",
)
FAMILY = Theorem(
    "family",
    "binary randomized response and 3-RR are among the randomizers the bound is for",
    "Su, Cheng, Wang 2025, Theorem 14, for k-RR with k = 2 and 3",
    "published",
)

SYMMETRIC_PAIRS = Theorem(
    "symmetric",
    "every pair of inputs has the same law by symmetry",
    "definition of the mechanism",
    "published",
)
HADAMARD_PAIRS = Theorem(
    "symmetric-hadamard",
    "every pair of rows of the matrix has the same law",
    "docs/theory.md, Theorem 4.2",
    "proved here",
)
HASHED_PAIRS = Theorem(
    "symmetric-hashing",
    "every pair of inputs has the same law, no worse than with a uniformly random function",
    "docs/theory.md, Theorem 4.2b",
    "proved here",
)
HYPERPLANE_PAIRS = Theorem(
    "hyperplanes",
    "every pair of inputs has the same law: any two are linearly independent",
    "docs/theory.md, Theorem 4.2c",
    "proved here",
)
OTHER_BLOCK = Theorem(
    "other-block",
    "a pair of inputs in different blocks dominates a pair in the same block",
    "docs/theory.md, section 4",
    "proved here",
)
ALL_PAIRS = Theorem("all-pairs", "all ordered pairs of inputs searched", "enumeration", "published")
END_POINTS = Theorem(
    "end-points",
    "the end points are the worst pair for symmetric unimodal additive noise",
    "docs/theory.md, section 4",
    "proved here",
)
TRUNCATED_END_POINTS = Theorem(
    "truncated-end-points",
    "the end points are the worst pair for truncated Laplace noise",
    "docs/theory-noise.md, Theorem 1.2",
    "proved here",
)
METRIC_ENVELOPE = Theorem(
    "metric-envelope",
    "a law whose gains dominate those of every pair of inputs up to a distance apart",
    "docs/theory-noise.md, Theorem 3.1",
    "proved here",
)
ANTIPODAL = Theorem(
    "antipodal",
    "antipodal points are the worst pair for Gaussian noise in a ball",
    "docs/theory.md, Theorem 4.10; docs/theory-noise.md, Theorem 4.1",
    "proved here",
)
METRIC_LABELS = Theorem(
    "metric-labels",
    "label laws by p, beta and q of any two inputs up to a distance apart",
    "docs/theory.md, Theorem 5.4; docs/theory-noise.md, Theorem 5.1",
    "proved here",
)
TWO_INPUTS = Theorem("two-inputs", "there is one pair of inputs", "definition", "published")
JOINT_PAIRS = Theorem(
    "joint-pairs",
    "the parts' worst pairs together are the worst pairs of records",
    "docs/theory-parts.md, Theorem 2.2",
    "proved here",
)

MULTI_MESSAGE = Theorem(
    "multi-message",
    "one data message among blanket messages of a known law",
    "Su, Cheng, Wang 2025, Theorem 12; docs/theory-parts.md, Theorem 3.1",
    "proved here",
)
MESSAGE_DATASET = Theorem(
    "message-dataset",
    "exact divergence of neighbouring datasets, or of a post-processing of it",
    "docs/theory-parts.md, Theorem 3.2",
    "proved here",
)
COMPOSITION = Theorem(
    "composition",
    "adaptive composition of dominating pairs, connect-the-dots discretization",
    "Zhu, Dong, Wang 2022, adaptive composition; docs/theory-composition.md, sections 1 to 3",
    "published",
)
BASIC = Theorem(
    "basic",
    "basic composition: eps and delta of the rounds add up",
    "Dwork, Roth 2014, Theorem 3.16 and Corollary B.2",
    "published",
)
CENTRAL_GAUSSIAN = Theorem(
    "gaussian-mechanism",
    "exact curve of the Gaussian mechanism",
    "Balle, Wang 2018, Theorem 8",
    "published",
)
CENTRAL_APPROXIMATE = Theorem(
    "approximate-dp",
    "dominating pair of an (eps, delta)-DP mechanism",
    "Kairouz, Oh, Viswanath 2015",
    "published",
)
CENTRAL_PLD = Theorem(
    "pld",
    "a privacy loss distribution as given",
    "its maker",
    "published",
)
APPROXIMATE_CLONE = Theorem(
    "approximate-clone",
    "stronger clone for (eps0, delta0)-LDP randomizers, adaptive too",
    "docs/theory-composition.md, Theorem 5.1",
    "proved here",
)
FROM_CURVE = Theorem(
    "curve",
    "integrals, conjugates and tangents of the curve",
    "docs/theory-composition.md, section 4",
    "published",
)
REPETITION = Theorem(
    "repetition",
    "the same neighbouring datasets in every round, fresh coins, coarse-grained losses",
    "post-processing and independence; docs/theory-composition.md, sections 1 to 3",
    "published",
)

# ------------------------------------------------------- variation ratio (docs/theory.md, 5.3, 5.6)

REPAIRED_VARIATION_RATIO = Theorem(
    "repaired-variation-ratio",
    "repaired variation ratio, four classes, from p, beta and q; adaptive too",
    "docs/theory.md, Theorem 5.4",
    "proved here",
)
VARIATION_RATIO = Theorem(
    "variation-ratio",
    "variation ratio as published, where beta = (p-1)/(p+1) leaves the victim no rest",
    "Wang et al. 2024, Theorem 4.1, for beta = (p-1)/(p+1) by docs/theory.md, Theorem 5.4",
    "proved here",
)
ATTAINED = Theorem(
    "attained",
    "a channel with these p, beta and q that attains the bound",
    "docs/theory.md, Remark 5.9",
    "proved here",
)

# ------------------------------------------------------------------------------------- DP-SGD

BALLS_AND_BINS = Theorem(
    "balls-and-bins",
    "one of T batches at random: the mixture of N(e_t, s^2) against N(0, s^2), exactly",
    "docs/theory-batches.md, Theorem 3.1 (the pair is that of Chua et al. 2025)",
    "proved here",
)
SEVERAL_BALLS = Theorem(
    "several-balls",
    "k of T batches are no worse than k times one of floor(T/k)",
    "docs/theory-batches.md, Theorem 3.3",
    "proved here",
)
POISSON_BATCHES = Theorem(
    "poisson-batches",
    "each step the mixture of N(0, s^2) and N(1, s^2) against N(0, s^2), exactly",
    "docs/theory-batches.md, Theorem 2.2",
    "proved here",
)
SHUFFLED_BATCHES = Theorem(
    "shuffled-batches",
    "the batch of an example revealed, or the noise shared out to examples; one pair of datasets",
    "docs/theory-batches.md, Theorem 4.1 and Proposition 4.2",
    "proved here",
)

# --------------------------------------------------- one-bit reports, crowds, sums and shufflers

BINARY_EXACT = Theorem(
    "binary-exact",
    "one-bit reports: the largest divergence of all data sets and pairs",
    "docs/theory-binary.md, Theorems 2.1, 3.1 and 3.2",
    "proved here",
)
BINARY_EXACT_LOWER = Theorem(
    "binary-exact-lower",
    "exact divergence of one pair of neighbouring datasets, others of two values",
    "definition of the divergence; docs/theory-binary.md, Theorem 2.1",
    "published",
)
OWN_GROUP = Theorem(
    "own-group",
    "a crowd's other groups only hide",
    "post-processing; docs/theory-crowds.md, Theorem 1.1",
    "published",
)
COMMON_BLANKET = Theorem(
    "common-blanket",
    "privacy blanket that all groups' laws have in common",
    "docs/theory-crowds.md, Theorem 1.2",
    "proved here",
)
CROWD_STEALING = Theorem(
    "crowd-stealing",
    "label stealing in a crowd of several mechanisms",
    "docs/theory-crowds.md, Theorems 2.2 and 3.1",
    "proved here",
)
CROWD_DATASET = Theorem(
    "crowd-dataset",
    "one pair of neighbouring datasets of the crowd, told apart by a test of a sum of scores",
    "post-processing; docs/theory-crowds.md, Lemma 5.1",
    "published",
)
SUMS = Theorem(
    "sums",
    "sums of coordinates: those that a neighbour changes, each as one bit of n users",
    "docs/theory-sums.md, Theorem 1.1",
    "proved here",
)
SUMS_LOCAL = Theorem(
    "sums-local",
    "local guarantee of the coordinates that a neighbour changes: adding up is post-processing",
    "Dwork, Roth 2014, Proposition 2.1; docs/theory-sums.md, Lemma 1.4",
    "proved here",
)
SUMS_OF_MESSAGES = Theorem(
    "sums-of-messages",
    "sums are made of the messages",
    "post-processing; docs/theory-sums.md, Remark 1.3",
    "published",
)
SUM_OF_NORMALS = Theorem(
    "sum-of-normals",
    "the sum of independent normal noise is normal: the Gaussian mechanism, exactly",
    "Balle and Wang 2018; docs/theory-sums.md, section 3",
    "published",
)
SUMS_DATASET = Theorem(
    "sums-dataset",
    "exact divergence of the sums of one pair of neighbouring datasets",
    "definition of the divergence; docs/theory-sums.md, Lemma 2.1",
    "proved here",
)
SUMS_ADDED = Theorem(
    "sums-added",
    "sums of coordinates with the aggregator's own noise: those that a neighbour changes, each as "
    "one bit of n users",
    "docs/theory-sums.md, Theorem 1.1, Lemmas 6.2 and 6.3",
    "proved here",
)
SUMS_ADDED_DATASET = Theorem(
    "sums-added-dataset",
    "exact divergence of the noisy sums of one pair of neighbouring datasets",
    "definition of the divergence; docs/theory-sums.md, Lemma 2.1",
    "proved here",
)
LEAST_OVERLAP = Theorem(
    "least-overlap",
    "the pair attains the largest gains that eps0 and the mass of the blanket allow",
    "docs/theory.md, Theorem 4.11 and Corollary 4.12",
    "proved here",
)
FEWEST_SHARED = Theorem(
    "fewest-shared",
    "sets that share as few items as they can are the worst pair",
    "docs/theory.md, Theorem 4.15",
    "proved here",
)
ENVELOPE = Theorem(
    "envelope",
    "a law whose gains dominate those of every pair of inputs, whatever their hash values",
    "docs/theory.md, Theorem 4.14",
    "proved here",
)
NEAR_UNIFORM = Theorem(
    "near-uniform",
    "an order within total variation of uniform: as little of the reports' own delta",
    "docs/theory-shufflers.md, Theorem 1.1",
    "proved here",
)
SHARDS = Theorem(
    "shards",
    "other shards are independent of a user's: its own hides it",
    "post-processing; docs/theory-shufflers.md, Theorem 2.1",
    "published",
)
SECRET_SHARDS = Theorem(
    "secret-shards",
    "shards of uniformly assigned users are one uniform order, cut",
    "post-processing; docs/theory-shufflers.md, Theorem 2.2",
    "published",
)
DUMMIES = Theorem(
    "dummies",
    "added reports are those of further users",
    "docs/theory-shufflers.md, Theorem 3.1",
    "proved here",
)
FILLED = Theorem(
    "filled",
    "a report in the place of an absent user's is a mixture of its reports",
    "joint convexity; docs/theory-shufflers.md, Theorem 4.1",
    "proved here",
)
TOGETHER = Theorem(
    "together",
    "several users changed one after another, each step at an eps of its own",
    "docs/theory-shufflers.md, Theorem 5.1",
    "proved here",
)
SEVERAL_DATASET = Theorem(
    "several-dataset",
    "one pair of datasets that differ in all users who may change, told apart by a sum of scores",
    "post-processing; docs/theory-shufflers.md, Lemma 5.3",
    "published",
)


def named(ids: Sequence[str]) -> Theorem:
    """The theorem of these steps, as ``Theorem.ids`` has them.

    Raises
    ------
    KeyError
        If no theorem has one of the ids.
    """
    known = {one.ids[0]: one for one in globals().values() if isinstance(one, Theorem)}
    first, *rest = (known[name] for name in ids)
    for step in rest:
        first = first.with_step(step)
    return first
