"""delta of one round as `verify` recomputes it, against closed forms."""

import json
import math
import tempfile
from pathlib import Path

import pytest
from flint import arb, ctx

from frontend.certificates import issued_of, one
from frontend.edits import outcome
from laws import log_delta
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bounds.profile import Divergence

KRR = {"name": "k-rr", "k": 10, "eps0": 4.0}
LAPLACE = {"name": "laplace", "eps0": 1.0, "low": 0.0, "high": 1.0, "binary": False}
GAUSSIAN = {"name": "gaussian", "sigma": 2.0, "low": 0.0, "high": 1.0}


def test_one_user_is_the_local_divergence():
    laplace = log_delta(LAPLACE, analysis="blanket", n=1, epsilon=0.3, x0=0.0, x1=1.0)
    assert math.isclose(laplace[0], math.log(-math.expm1(-0.35)), rel_tol=1e-12)
    with ctx.workprec(100):
        root = arb(2).sqrt()
        first, second = ((arb(0.6) + s * arb(0.25)) / root for s in (-1, 1))
        want = (first.erfc() - arb(0.3).exp() * second.erfc()) / 2
    low, high = log_delta(GAUSSIAN, analysis="local", n=5, epsilon=0.3, x0=0.0, x1=1.0)
    assert low <= float(want.log()) + 1e-14
    assert float(want.log()) - 1e-14 <= high
    low, high = log_delta(KRR, analysis="local", n=7, epsilon=1.0, x0=0, x1=1)
    want = math.log((math.exp(4) - math.e) / (math.exp(4) + 9))
    assert low <= want + 1e-14
    assert want - 1e-14 <= high


@pytest.mark.parametrize(
    ("mechanism", "factor"),
    [(KRR, 0.95), (KRR, 1.05), (LAPLACE | {"eps0": 4.0}, 0.1), (LAPLACE | {"eps0": 4.0}, 10.0)],
)
def test_ends_far_from_the_plain_float_estimate_are_not_verified(monkeypatch, mechanism, factor):
    """The kernel made wrong: sums come out that much larger or smaller, for the verifier too."""
    table = "\n".join(f"{key} = {json.dumps(value)}" for key, value in mechanism.items())
    users, moved = "users = 1001", math.log(factor)
    true = Divergence.log_delta

    def wrong(self):
        low, high = true(self)
        return LogInterval(low + moved, high + moved)

    monkeypatch.setattr(Divergence, "log_delta", wrong)
    published = 'trust = "published"' if mechanism["name"] == "laplace" else ""
    _, content = issued_of(one(table, users=users, target="epsilon = 0.6", more=published))
    path = Path(tempfile.mkdtemp()) / "certificate.json"
    found = outcome(content, path)
    refused = [check.claim for check in found if check.verdict == "does not hold"]
    now = [claim["value"] for claim in content["claims"] if claim["situation"] == "now"]
    # A lower end above an upper one is a contradiction: then nothing is claimed.
    nothing = not set(now) - {None, 0.0, 1.0}
    assert nothing or any("estimate" in claim for claim in refused), list(found)
