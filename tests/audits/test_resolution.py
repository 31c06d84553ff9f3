"""Reports that are rounded: told from noise on a grid."""

import numpy as np
import pytest

import shuffledp as sd
from audits import programs
from shuffledp.audits import AuditPlan, audit

NOISE = sd.Laplace(eps0=1.0)
BELL = sd.Gaussian(sigma=2.0)


def digits(count):
    """As many significant digits, as printf's %g writes them."""

    def rounded(reports):
        scale = 10.0 ** (count - 1 - np.floor(np.log10(np.abs(reports))))
        return np.round(reports * scale) / scale

    return rounded


def audited(mechanism, rounded, reports):
    inner = programs.honest(mechanism)
    plan = AuditPlan(randomizer=mechanism, reports=reports)
    return audit(lambda values: rounded(inner(values)), plan)


FINE = {
    "six digits": digits(6),
    "float32": lambda y: y.astype(np.float32),
    "float32 in float64": lambda y: y.astype(np.float32).astype(np.float64),
    "four decimals": lambda y: np.round(y, 4),
}


@pytest.mark.many(3)
@pytest.mark.parametrize("way", FINE)
@pytest.mark.parametrize("mechanism", [NOISE, BELL], ids=["laplace", "gaussian"])
def test_fine_rounding_is_not_refuted_at_the_usual_size(mechanism, way):
    assert audited(mechanism, FINE[way], 100_000).verdict == "not refuted"


@pytest.mark.many(2)
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 3.0), (-1.0, 2.0), (-4.0, 0.0)])
def test_noise_from_a_grid_is_told_from_rounded_reports(low, high):
    """Added to a value that is on no grid it leaves its last bits as they are."""
    mechanism = sd.Laplace(eps0=1.0, low=low, high=high)
    plan = AuditPlan(randomizer=mechanism, reports=2_000, alpha=0.001)
    assert all(low <= x <= high for x in plan.asked)
    for bits in (4, 12, 24, 40):
        noisy = programs.grid_laplace(high - low, bits)
        found = audit(noisy, plan)
        assert "guarantee" in {f.kind for f in found.refutations}
        after = audit(lambda v, made=noisy: made(np.zeros(len(v))), plan)
        assert "guarantee" not in {f.kind for f in after.refutations}
    inner = programs.honest(mechanism)
    assert audit(lambda v: np.round(inner(v) * 2**20) / 2**20, plan).verdict == "not refuted"
