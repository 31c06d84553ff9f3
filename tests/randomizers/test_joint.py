"""Joint: parts of every kind, and limits of how many attributes change."""

import numpy as np
import pytest

import shuffledp as sd


@pytest.mark.parametrize(
    "part",
    [
        sd.Duchi(eps0=1.0),
        sd.Wheel(domain=8, s=2, eps0=1.0),
        sd.SamplingRAPPOR(d=6, s=2, eps0=1.0),
        sd.PrivUnit(d=3, eps0=1.0, c=0.3),
        sd.HadamardResponse(domain=8, eps0=1.0, blocks=2),
        sd.Piecewise(eps0=1.0),
    ],
    ids=lambda part: part.name,
)
def test_parts_of_every_kind(part):
    coin = sd.KRR(k=4, eps0=1.0)
    alone = sd.shuffle(part, n=1000, rtol=1e-3).epsilon(delta=1e-6)
    for made in (sd.Joint([part, coin]), sd.Parallel([part, coin], weights=[0.5, 0.5])):
        bound = sd.shuffle(made, n=1000, rtol=1e-3).epsilon(delta=1e-6)
        settled = part.name in {"duchi", "piecewise"}
        assert bound.upper_theorem.key == ("label-stealing" if settled else "blanket")
        if made.name == "joint":
            assert alone.lower <= bound.upper  # publishing one part is a post-processing


def test_hamming_picks_the_worst_attributes():
    weak, strong = sd.KRR(k=3, eps0=0.5), sd.KRR(k=3, eps0=2.0)
    joint = sd.Joint([weak, strong, weak], hamming=1)
    assert len(joint.worst_pairs().pairs) == 2  # the weak attributes are alike
    limited = sd.shuffle(joint, n=2000, rtol=1e-4)
    every = sd.shuffle(sd.Joint([weak, strong, weak]), n=2000, rtol=1e-4)
    assert limited.epsilon(delta=1e-6).upper <= every.epsilon(delta=1e-6).upper * (1.0 + 1e-5)
    one = limited.epsilon(delta=1e-6, analysis="blanket")
    assert one.upper < every.epsilon(delta=1e-6, analysis="blanket").upper
    assert joint.local_epsilon(1e-6) == 2.0
    assert joint.eps0 >= 3.0
    assert "at most 1 of its attributes" in one.assumptions[0]
    assert one.witness["upper"]["x0"] == (0, 0, 0)
    assert one.witness["upper"]["x1"] == (0, 1, 0)


# ---------------------------------------------------------------------------------- running it


def test_nothing_is_claimed_where_nothing_is_proved():
    parts = [sd.Channel(matrix=np.full((12, 12), 1 / 12).tolist())] * 2
    rng = np.random.default_rng(0)
    big = rng.random((80, 3)) + 0.1
    big /= big.sum(axis=1, keepdims=True)
    joint = sd.Joint([sd.Channel(matrix=big.tolist()), *parts])
    with pytest.raises(sd.NotCertified, match="combinations"):
        joint.worst_pairs()
    # Finite eps0: the clones still hold.
    assert sd.shuffle(joint, n=10**6, rtol=1e-2).epsilon(delta=1e-6).upper < joint.eps0
