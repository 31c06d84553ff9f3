"""trust="published": every step behind an upper end is in the literature."""

import pytest

import shuffledp as sd
from shuffledp.amplification.analyses import analysis_named

ONLY_HERE = [
    sd.HadamardResponse(domain=7, eps0=2.0, blocks=1),
    sd.HadamardResponse(domain=12, eps0=2.0, blocks=2),
    sd.OLH(domain=20, eps0=2.0),
    sd.BLH(domain=20, eps0=2.0),
    sd.Channel(matrix=((0.8, 0.1, 0.1, 0.0), (0.1, 0.8, 0.0, 0.1))),
    sd.Gaussian(sigma=2.0),
]
PUBLISHED = [
    sd.KRR(k=5, eps0=2.0),
    sd.BinaryRR(eps0=2.0),
    sd.SubsetSelection(d=8, eps0=2.0),
    sd.HadamardResponse(domain=4, eps0=2.0, blocks=4),
    sd.Channel(matrix=((0.8, 0.1, 0.1), (0.1, 0.8, 0.1))),
]


@pytest.mark.many(1)
@pytest.mark.parametrize("mechanism", ONLY_HERE, ids=str)
def test_blankets_that_rest_on_proofs_of_ours_are_left_out(mechanism):
    side = analysis_named("blanket").make(mechanism, 200)
    assert side.theorem.provenance == "proved here"
    assert "docs/theory" in side.theorem.source
    for upper in (
        sd.shuffle(mechanism, n=200, trust="published").epsilon(delta=1e-6),
        sd.shuffle(mechanism, n=200, trust="published").delta(epsilon=0.5),
    ):
        assert upper.upper_theorem.provenance == "published"
        assert upper.upper_theorem.key != "blanket"
    everything = sd.shuffle(mechanism, n=200).delta(epsilon=0.5)
    assert everything.upper <= upper.upper


@pytest.mark.parametrize("mechanism", PUBLISHED, ids=str)
def test_published_blankets_stay(mechanism):
    # More users than are enumerated by default: their data sets are published as well.
    found = sd.shuffle(mechanism, n=500, trust="published").epsilon(delta=1e-6)
    assert found.upper_theorem.key == "blanket"
    assert found.upper_theorem.provenance == "published"


def test_rounds_rest_on_what_is_published_too():
    zeros = sd.Channel(matrix=((0.8, 0.1, 0.1, 0.0), (0.1, 0.8, 0.0, 0.1)))
    for mechanism in (sd.OLH(domain=20, eps0=1.0), zeros):
        part = sd.shuffle(mechanism, n=300).as_round()
        assert part.upper_theorem.provenance == "proved here"
    part = sd.shuffle(sd.OLH(domain=20, eps0=1.0), n=300, trust="published").as_round()
    assert part.upper_theorem.provenance == "published"


def test_what_only_the_victim_can_send_is_named():
    """Two users, {B = 0} is everything the victim sends: the term is all there is."""
    zeros = sd.Channel(matrix=((1.0, 0.0), (0.0, 1.0)))
    side = analysis_named("blanket").make(zeros, 2)
    assert "{B = 0}" in side.theorem.source
    assert sd.shuffle(zeros, n=2).delta(epsilon=1.0).upper == 1.0
    assert "{B = 0}" not in analysis_named("blanket").make(PUBLISHED[-1], 2).theorem.source
