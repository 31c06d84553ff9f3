"""Theorems that records of several mechanisms rest on, as certificates state them.

Why the pairs of inputs that are looked at are enough, and for label stealing which inputs of the
others. A theorem about one mechanism stands beside its record.
"""

from __future__ import annotations

from .record import Step

__all__ = [
    "ALIKE_TRIPLES",
    "ALL_PAIRS",
    "ALL_TRIPLES",
    "CLAMPED_END_POINTS",
    "CORNER_TRIPLES",
    "END_POINTS",
    "JOINT_PAIRS",
    "LEAST_OVERLAP",
    "MIXED_TRIPLES",
    "OUTSIDE",
    "OVERLAP_TRIPLES",
    "PART_TRIPLES",
    "SHIFTED_TRIPLES",
    "SPANNING_TRIPLES",
    "SYMMETRIC",
    "TWO_INPUTS",
]

# Inputs of the others.
ALIKE_TRIPLES: Step = (
    "alike-triples",
    "by symmetry the others hold the victim's inputs or any third one",
    "docs/theory-stealing.md, section 5.1",
    "proved here",
)
ALL_TRIPLES: Step = (
    "all-triples",
    "all ordered pairs and all inputs of the others searched",
    "enumeration",
    "published",
)
MIXED_TRIPLES: Step = (
    "mixed-triples",
    "every input's law is a mixture of those of the two end points",
    "docs/theory-stealing.md, section 5.1",
    "proved here",
)
CORNER_TRIPLES: Step = (
    "corner-triples",
    "laws linear in the inputs between corners, or in the overlaps: the corners' are the worst",
    "docs/theory-stealing.md, Theorem 5.4",
    "proved here",
)
OVERLAP_TRIPLES: Step = (
    "overlap-triples",
    "all sizes of the overlaps of three sets searched",
    "docs/theory-stealing.md, section 5.5",
    "proved here",
)
PART_TRIPLES: Step = (
    "part-triples",
    "labels of reports made of parts: all combinations of the parts' own worst ones",
    "docs/theory-stealing.md, section 5.8",
    "proved here",
)
SHIFTED_TRIPLES: Step = (
    "shifted-triples",
    "for noise only the distances of x0 and x1 from the other's input count",
    "docs/theory-stealing.md, section 5.2",
    "proved here",
)
SPANNING_TRIPLES: Step = (
    "spanning-triples",
    "triples that span the interval, covered by chords",
    "docs/theory-stealing.md, section 6",
    "proved here",
)

# Pairs of inputs.
SYMMETRIC: Step = (
    "symmetric",
    "every pair of inputs has the same law by symmetry",
    "definition of the mechanism",
    "published",
)
OUTSIDE: Step = (
    "outside",
    "outputs that only the victim can send count in full",
    "docs/theory.md, Theorems 2.1 and 3.1: the term over {B = 0}",
    "proved here",
)
ALL_PAIRS: Step = ("all-pairs", "all ordered pairs of inputs searched", "enumeration", "published")
TWO_INPUTS: Step = ("two-inputs", "there is one pair of inputs", "definition", "published")
END_POINTS: Step = (
    "end-points",
    "the end points are the worst pair for symmetric unimodal additive noise",
    "docs/theory.md, section 4",
    "proved here",
)
CLAMPED_END_POINTS: Step = (
    "clamped-end-points",
    "the end points are the worst pair for symmetric log-concave noise and clamped reports",
    "docs/theory-noise.md, Theorem 1.1",
    "proved here",
)
JOINT_PAIRS: Step = (
    "joint-pairs",
    "the parts' worst pairs together are the worst pairs of records",
    "docs/theory-parts.md, Theorem 2.2",
    "proved here",
)
LEAST_OVERLAP: Step = (
    "least-overlap",
    "the pair attains the largest gains that eps0 and the mass of the blanket allow",
    "docs/theory.md, Theorem 4.11 and Corollary 4.12",
    "proved here",
)
