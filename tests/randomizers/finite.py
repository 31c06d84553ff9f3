"""One record a finite mechanism: its definition, and of which parameters laws and runs are tested.

Laws, balls and samplers are compared with these definitions.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import shuffledp as sd
from randomizers import definitions


@dataclass(frozen=True)
class Finite:
    """A finite mechanism's record.

    Attributes
    ----------
    definition : callable
        Its parameters, eps0 among them -> every output's probability, a row for each input.
    small : sequence of dict
        Parameters but eps0 with which that is short: laws are compared with it.
    largest : float
        eps0 up to which it is.
    runs : callable, optional
        A mechanism -> rows of what runs and every report in their order, as an array.
    sampled : sequence
        Mechanisms that are drawn from.
    """

    definition: Callable[..., list[list[Any]]]
    small: Sequence[dict[str, Any]]
    largest: float = math.inf
    runs: Callable[[Any], tuple[list[list[Any]], np.ndarray]] | None = None
    sampled: Sequence[Any] = ()


def every_bit(d):
    """All rows of d bits in lexical order, packed as reports are."""
    rows = np.array(list(itertools.product((0, 1), repeat=d)), dtype=np.uint8)
    return np.packbits(rows, axis=1)


def every_word(l, length):
    """All words of letters 0 .. l-1 in lexical order."""
    return np.array(list(itertools.product(range(l), repeat=length)), dtype=np.uint8)


def numbered(definition):
    """Outputs are numbers, in the order of the definition."""

    def runs(randomizer):
        rows = definition(**randomizer.parameters())
        return rows, np.arange(len(rows[0]))

    return runs


def in_bits(definition):
    """Outputs are rows of packed bits."""
    return lambda r: (definition(r.d, r.eps0), every_bit(r.d))


def family(randomizer):
    """The functions that run: any three items are hashed as by a function drawn from all."""
    r = randomizer
    length = (r.domain - 1).bit_length() + 1
    return definitions.hash_family(r.domain, r.l, r.eps0), every_word(r.l, length)


def binary_hash(domain, eps0):
    """BLH: two values."""
    return definitions.local_hash(domain, 2, eps0)


def optimal_hash(domain, eps0):
    """OLH: e^eps0 + 1 values, rounded."""
    return definitions.local_hash(domain, round(math.exp(eps0)) + 1, eps0)


def hadamard(domain, eps0, blocks=1):
    """Hadamard response, in one block or several."""
    if blocks == 1:
        return definitions.hadamard(domain, eps0)
    return definitions.hadamard_blocks(domain, blocks, eps0)


def subsets(randomizer):
    """Rows of sorted items."""
    d, k = randomizer.d, randomizer.k
    every = np.array(list(itertools.combinations(range(d), k)))
    return definitions.subset(d, k, randomizer.eps0), every


def affine(randomizer):
    """Rows (a_1, .., a_t, b)."""
    r = randomizer
    return definitions.affine(r.domain, r.q, r.eps0), every_word(r.q, r.digits + 1)


# Domains and fields, of primes and of their powers; some have room for more than the domain.
AFFINE = ((2, 2), (3, 2), (4, 2), (7, 2), (5, 3), (6, 3), (4, 5), (7, 5), (9, 3), (8, 7))
PROJECTIVE = (*AFFINE, (6, 2))
# And blocks.
HADAMARD = ((2, 2), (3, 2), (5, 2), (7, 2), (4, 4), (6, 4), (7, 3), (9, 2))


FINITE = {
    "binary-rr": Finite(
        definitions.binary_rr,
        [{}],
        runs=numbered(definitions.binary_rr),
        sampled=[sd.BinaryRR(eps0=0.7)],
    ),
    "blh": Finite(
        binary_hash,
        [{"domain": domain} for domain in (2, 3, 4)],
        runs=family,
        sampled=[sd.BLH(domain=2, eps0=1.0), sd.BLH(domain=100, eps0=1.0)],
    ),
    "hadamard-response": Finite(
        hadamard,
        [
            *({"domain": domain} for domain in (2, 3, 4, 5, 7, 8)),
            *({"domain": domain, "blocks": blocks} for domain, blocks in HADAMARD),
        ],
        runs=numbered(hadamard),
        sampled=[
            sd.HadamardResponse(domain=2, eps0=1.0),
            sd.HadamardResponse(domain=20, eps0=1.5),
            sd.HadamardResponse(domain=20, blocks=3, eps0=1.5),
            sd.HadamardResponse(domain=5, blocks=5, eps0=1.0),
            sd.HadamardResponse(domain=9, blocks=2, eps0=3.0),
        ],
    ),
    "k-rr": Finite(
        definitions.k_rr,
        [{"k": k} for k in (2, 3, 5)],
        runs=numbered(definitions.k_rr),
        sampled=[
            sd.KRR(k=2, eps0=3.0),
            sd.KRR(k=7, eps0=1.0),
            sd.KRR(k=300, eps0=4.0),
            sd.KRR(k=5, eps0=1e-4),
        ],
    ),
    "local-hash": Finite(
        definitions.local_hash,
        [
            {"domain": domain, "l": l}
            for domain, l in ((2, 2), (3, 2), (2, 3), (3, 3), (4, 2), (4, 3))
        ],
        runs=family,
        sampled=[sd.LocalHash(domain=5, l=6, eps0=2.0)],
    ),
    "olh": Finite(
        optimal_hash,
        [{"domain": 3}],
        largest=1.5,
        runs=family,
        sampled=[sd.OLH(domain=8, eps0=1.0)],
    ),
    "oue": Finite(
        definitions.oue,
        [{"d": d} for d in (2, 3, 4, 5)],
        runs=in_bits(definitions.oue),
        sampled=[sd.OUE(d=2, eps0=0.5), sd.OUE(d=9, eps0=1.5)],
    ),
    "pi-rappor": Finite(
        definitions.affine,
        [{"domain": domain, "q": q} for domain, q in AFFINE],
        runs=affine,
        sampled=[
            sd.PIRAPPOR(domain=2, q=2, eps0=0.5),
            sd.PIRAPPOR(domain=9, q=3, eps0=1.0),
            sd.PIRAPPOR(domain=30, eps0=2.0),
            sd.PIRAPPOR(domain=7, q=5, eps0=1.0),
        ],
    ),
    "projective-geometry": Finite(
        definitions.projective,
        [{"domain": domain, "q": q} for domain, q in PROJECTIVE],
        runs=numbered(definitions.projective),
        sampled=[
            sd.ProjectiveGeometry(domain=2, q=2, eps0=0.5),
            sd.ProjectiveGeometry(domain=20, q=3, eps0=1.0),
            sd.ProjectiveGeometry(domain=31, q=2, eps0=3.0),
            sd.ProjectiveGeometry(domain=50, eps0=2.0),
            sd.ProjectiveGeometry(domain=11, q=7, eps0=2.0),
        ],
    ),
    "rappor": Finite(
        definitions.rappor,
        [{"d": d} for d in (2, 3, 4, 5)],
        runs=in_bits(definitions.rappor),
        sampled=[sd.RAPPOR(d=4, eps0=2.0), sd.RAPPOR(d=9, eps0=1.0)],
    ),
    "subset": Finite(
        definitions.subset,
        [
            {"d": d, "k": k}
            for d, k in ((2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (5, 2), (5, 3), (5, 4), (6, 3))
        ],
        runs=subsets,
        sampled=[
            sd.SubsetSelection(d=2, eps0=1.0),
            sd.SubsetSelection(d=6, k=5, eps0=2.0),
            sd.SubsetSelection(d=9, eps0=1.0),
            sd.SubsetSelection(d=7, k=4, eps0=0.5),
            sd.SubsetSelection(d=9, eps0=4.0),
        ],
    ),
}


def small(eps0):
    """Names, parameters and rows of all that are enumerated at this eps0."""
    for name, record in FINITE.items():
        if eps0 <= record.largest:
            for arguments in record.small:
                yield name, {**arguments, "eps0": eps0}, record.definition


def outputs(randomizer):
    """Rows of what a mechanism runs, and every report in their order."""
    return FINITE[randomizer.name].runs(randomizer)
