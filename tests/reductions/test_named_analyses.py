"""Every named analysis through the front door: on its side of the exact value, or refused."""

from pathlib import Path

import pytest
from flint import arb

import shuffledp as sd
from views.every import hockey, number_of_ones

KEYS = [a.key for a in sd.analyses()]


def asked(acc, key, **at):
    """A Bound, or None where the analysis does not apply."""
    try:
        return acc.epsilon(analysis=key, **at) if "delta" in at else acc.delta(analysis=key, **at)
    except sd.NotCertified:
        return None


def test_the_docs_list_them_as_they_are():
    page = (Path(__file__).parents[2] / "docs" / "certified.md").read_text(encoding="utf-8")
    lines = page.partition("<!-- made: analyses -->")[2].partition("<!-- end -->")[0].split("\n")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[3:-1]]
    assert rows == [[f"`{a.key}`", a.end, a.theorem.provenance, a.validity] for a in sd.analyses()]


# ----------------------------------------------------------------- small cases, exhaustively exact


@pytest.mark.many(2)
@pytest.mark.parametrize("n", [2, 4, 9])
@pytest.mark.parametrize("eps0", [0.3, 1.81])
def test_all_analyses_of_binary_rr_around_balls(n, eps0):
    """The number of ones is all there is: the exact worst case over how many others hold 1."""
    acc = sd.shuffle(sd.BinaryRR(eps0=eps0), n=n)
    family = sd.generic(eps0=eps0, n=n)
    for epsilon in (0.0, 0.21, 0.8 * eps0):
        truth = max(exact_ones(eps0, n, k, epsilon) for k in range(n))
        for key in KEYS:
            for who in (acc, family):
                found = asked(who, key, epsilon=epsilon)
                if found is None:
                    continue
                assert arb(found.upper) >= truth, key
                if who is acc:
                    assert arb(found.lower) <= truth, key


def exact_ones(eps0, n, ones, epsilon):
    """H of binary RR with ``ones`` of the other n - 1 holding 1, in balls; victim 1 against 0."""
    t = arb(eps0).exp() / (arb(eps0).exp() + 1)
    others = (1,) * ones + (0,) * (n - 1 - ones)
    return hockey(*(number_of_ones((x, *others), (1 - t, t)) for x in (1, 0)), arb(epsilon).exp())


@pytest.mark.parametrize("key", KEYS)
def test_every_key_works_somewhere_and_says_why_not_elsewhere(key):
    sources = [
        sd.shuffle(sd.BinaryRR(eps0=0.4), n=2000),
        sd.shuffle(sd.KRR(k=3, eps0=0.4), n=2000),
        sd.shuffle(sd.Gaussian(sigma=4.0), n=30_000, rtol=1e-2),
        sd.generic(eps0=0.4, n=2000, adaptive=True),
        sd.variation_ratio(p=1.5, beta=0.1, q=1.5, n=2000),
        sd.shuffle(sd.PureDUMP(d=4, blankets=3), n=50),
        sd.shuffle(sd.KRR(k=3, eps0=0.4), n=6),
    ]
    found = [outcome(acc, key) for acc in sources]
    assert any(isinstance(x, sd.Bound) for x in found)
    assert all(len(x) > 20 for x in found if isinstance(x, str))


def outcome(acc, key):
    try:
        return acc.delta(epsilon=0.3, analysis=key)
    except sd.NotCertified as error:
        return str(error)
