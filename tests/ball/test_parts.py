"""The verifier's laws of reports made of parts against the library's, and certificates of them."""

import math

import numpy as np
import pytest

import shuffledp as sd
from enumerated import ball
from laws import finite_law, law_of, log_delta, ordered_pairs
from shuffledp import certificate, deployment
from shuffledp.certificate.verifier import verify

RESPONSE, BITS = sd.KRR(k=4, eps0=1.0), sd.BinaryRR(eps0=0.7)
CHANNEL = sd.Channel(matrix=[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.125, 0.75]])
CASES = [
    (sd.Joint([RESPONSE, BITS]), ((0, 0), (1, 1), (2, 0))),
    (sd.Joint([BITS] * 6), ((0,) * 6, (1,) * 6, (0, 1, 0, 1, 0, 1))),
    (sd.Joint([CHANNEL, sd.OUE(d=5, eps0=0.5)]), ((0, 1), (2, 0), (1, 1))),
    (sd.Parallel([RESPONSE, CHANNEL], weights=[1 / 3, 2 / 3]), ((0, 0), (1, 2), (2, 1))),
    (sd.Parallel([RESPONSE] * 7, weights=[1 / 7] * 7), ((0,) * 7, (1,) * 7, (2,) * 7)),
    (sd.PoissonSubsample(RESPONSE, rate=0.3), (0, 1, 2)),
    (sd.PoissonSubsample(RESPONSE, rate=1.0), (0, 1, 1)),
    (sd.Hierarchy(domain=10, branching=3, eps0=1.0, base="blh"), (0, 9, 4)),
    (sd.Hierarchy(domain=10, branching=3, eps0=1.0, base="olh"), (0, 9, 4)),
    (
        sd.Joint([sd.Parallel([BITS, BITS], weights=[0.5, 0.5]), RESPONSE]),
        (((0, 0), 0), ((1, 1), 1)),
    ),
]


def as_file(mechanism):
    """The table as it comes out of a file."""
    return certificate_table(mechanism.to_dict())


def certificate_table(value):
    if isinstance(value, dict):
        return {k: certificate_table(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [certificate_table(v) for v in value]
    return value


@pytest.mark.parametrize(("mechanism", "inputs"), CASES, ids=lambda case: repr(case)[:60])
def test_laws_agree(mechanism, inputs):
    law = law_of(mechanism, inputs)
    found = finite_law(as_file(mechanism), inputs)
    classes = {}
    for c in found:
        key = tuple(round(float((p / c.blanket).log()), 9) for p in c.probability)
        old = classes.get(key, [ball(0)] * (1 + len(inputs)))
        classes[key] = [s + v for s, v in zip(old, (c.blanket, *c.probability), strict=True)]
    for key, values in classes.items():
        near = [
            j
            for j, column in enumerate(np.vstack([law.blanket, law.mass]).T)
            if all(
                abs(math.log(p / column[0]) - k) < 1e-7
                for p, k in zip(column[1:], key, strict=True)
            )
        ]
        assert near
        for row, value in zip([law.blanket, *law.mass], values, strict=True):
            total = math.fsum(row[near])
            assert abs(ball(total) - value) <= ball(law.rel + 1e-14) * value


@pytest.mark.parametrize(("mechanism", "inputs"), CASES[:8], ids=lambda case: repr(case)[:60])
@pytest.mark.parametrize("n", [2, 500])
def test_bounds_agree(mechanism, inputs, n):
    del inputs
    bound = sd.shuffle(mechanism, n=n).delta(epsilon=0.2, analysis="blanket")
    lows, highs = [], []
    for x0, x1 in ordered_pairs(as_file(mechanism)):
        low, high = log_delta(
            as_file(mechanism), analysis="blanket", n=n, epsilon=0.2, x0=x0, x1=x1, rel=1e-3
        )
        lows.append(low)
        highs.append(high)
    # The verifier may look at more pairs; those that dominate are among both.
    assert max(lows) <= bound.log_upper
    assert bound.log_upper <= max(highs) + 1e-3


DEPLOYMENT = """
title = "parts"
[population]
users = 3000
[randomizer]
{table}
[target]
delta = 1e-6
"""
TABLES = {
    "joint": """
name = "joint"
hamming = 1
randomizers = [{ name = "k-rr", k = 4, eps0 = 1.0 }, { name = "rappor", d = 5, eps0 = 0.5 }]
""",
    "joint-channel": """
name = "joint"
randomizers = [
  { name = "channel", matrix = [[0.75, 0.25], [0.5, 0.5]] }, { name = "binary-rr", eps0 = 0.5 }
]
""",
    "parallel": """
name = "parallel"
weights = [0.25, 0.75]
randomizers = [{ name = "k-rr", k = 4, eps0 = 1.0 }, { name = "oue", d = 5, eps0 = 0.5 }]
""",
    "subsample": """
name = "poisson-subsample"
rate = 0.3
randomizer = { name = "k-rr", k = 4, eps0 = 1.0 }
""",
    "hierarchy": """
name = "hierarchy"
domain = 30
eps0 = 1.0
base = "k-rr"
""",
}


@pytest.mark.many(3)
@pytest.mark.parametrize("name", TABLES)
def test_certificates_are_verified(name, tmp_path):
    path = tmp_path / "parts.toml"
    path.write_text(DEPLOYMENT.format(table=TABLES[name]))
    source = deployment.load(path)
    made = certificate.issue(source, deployment.account(source.deployment))
    out = tmp_path / "parts.certificate.json"
    out.write_text(certificate.to_json(made))
    checks = verify(out)
    assert {check.verdict for check in checks} == {"holds"}, [
        c for c in checks if c.verdict != "holds"
    ]
    if name == "joint":
        assert "at most 1 of its attributes" in made.members[0].neighbours


def test_what_the_verifier_cannot_decide_is_said():
    continuous = as_file(sd.Joint([sd.Laplace(eps0=1.0), BITS]))
    with pytest.raises(sd.NotCertified, match="laplace"):
        finite_law(continuous, ((0.0, 0), (1.0, 1)))
    many = as_file(sd.Joint([sd.KRR(k=4, eps0=0.1 + 0.013 * j) for j in range(12)]))
    with pytest.raises(sd.NotCertified, match="20,000 classes"):
        finite_law(many, ((0,) * 12, (1,) * 12))
