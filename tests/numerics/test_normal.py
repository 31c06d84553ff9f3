"""What proposals need of the normal law, against ball arithmetic; SciPy's functions, late."""

from __future__ import annotations

import math
import subprocess
import sys

import flint
import numpy as np
import pytest

from shuffledp import _special as special
from shuffledp.numerics.normal import log_mean_excess


def _exact(z: float) -> float:
    """log(1 + z Phi(z)/phi(z)), where what cancels has digits enough."""
    with flint.ctx.workprec(200 + int(2.0 * z * z)):
        x = flint.arb(z)
        ratio = (x * x / 2).exp() * (-x / flint.arb(2).sqrt()).erfc() * (flint.arb.pi() / 2).sqrt()
        return float((1 + x * ratio).log())


@pytest.mark.parametrize("z", [*np.linspace(-40.0, 40.0, 161), -10.0, -9.999, 5.0, 29.999, 30.0])
def test_the_mean_excess_is_that_of_a_normal_variable(z):
    assert log_mean_excess(float(z)) == pytest.approx(_exact(float(z)), rel=1e-13, abs=4e-12)


@pytest.mark.parametrize("z", [1e3, 1e50, 1e100])
def test_far_out_it_is_what_it_tends_to(z):
    assert log_mean_excess(-z) == pytest.approx(-2.0 * math.log(z), abs=4.0 / z / z + 1e-15)
    assert log_mean_excess(z) == pytest.approx(0.5 * z * z, rel=1e-4)


def test_special_functions_are_scipys():
    from scipy.special import gammaln

    assert special.gammaln is gammaln
    assert all(callable(getattr(special, name)) for name in special.__all__)


def test_there_are_no_others():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = special.nonsense


def test_they_are_imported_at_first_use():
    code = (
        "import sys; from shuffledp import _special as special; print('scipy' in sys.modules);"
        "special.ndtr(0.0); print('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
