"""Given laws with finite losses farther out than curves are looked at: no end forgets them."""

import math

import numpy as np
import pytest
from dp_accounting.pld import pld_pmf
from dp_accounting.pld import privacy_loss_distribution as distribution

import shuffledp as sd
from shuffledp.rounds.gaussian import log_delta_gaussian
from shuffledp.rounds.loss import LossLaw, LossPair
from shuffledp.rounds.round import Round
from shuffledp.rounds.tradeoff import attained

FAR, GRID = 400.0, 0.5


def symmetric(rare, far=FAR):
    """Losses +-1, and +-far with a small probability: those of a pair and of its swap alike."""
    losses = np.array([-far, -1.0, 1.0, far])
    shares = np.array([0.0, 1.0 - rare, 1.0 - rare, rare])
    masses = shares / (1.0 + np.exp(-losses))
    masses[0] = rare * math.exp(-far)
    return LossLaw(losses, masses / math.fsum(masses))


def given(law):
    """The same by way of a PLD on a grid."""
    index = np.rint(law.loss / GRID).astype(int)
    masses = np.zeros(index[-1] - index[0] + 1)
    masses[index - index[0]] = law.mass
    pmf = pld_pmf.DensePLDPmf(GRID, int(index[0]), masses, law.infinite, True)
    pld = distribution.PrivacyLossDistribution(pmf)
    return sd.central.from_pld(pld, relation="replace-one")


def renyi(law, order):
    """The divergence of a law itself."""
    logs = np.log(law.mass) + (order - 1.0) * law.loss
    return float(np.logaddexp.reduce(logs)) / (order - 1.0)


def delta(law, eps):
    """The curve of a law itself."""
    terms = zip(law.loss, law.mass, strict=True)
    return math.fsum(-m * math.expm1(eps - x) for x, m in terms if x > eps)


RARE = [1e-100, 1e-30, 1e-3]


@pytest.mark.parametrize("rare", RARE)
@pytest.mark.parametrize("order", [1.1, 1.5, 2.0, 8.0, 1000.0])
def test_renyi_counts_every_finite_loss(rare, order):
    law = symmetric(rare)
    rounds = sd.compose([given(law)], rounds=3)
    truth = 3.0 * renyi(law, order)
    found = rounds.renyi(order=order).upper
    assert truth <= found <= truth * 1.002
    assert rounds.rdp([order]) == [found]


@pytest.mark.parametrize("rare", RARE)
def test_curves_trade_offs_and_posteriors_count_every_finite_loss(rare):
    law = symmetric(rare)
    rounds = sd.compose([given(law)])
    for eps in (0.5, 299.0, 300.0, 301.0, 399.0):
        value = delta(law, eps)
        assert rounds.delta(epsilon=eps).log_upper >= math.log(value)
        assert rounds.epsilon(delta=value * (1.0 - 1e-9)).upper >= eps * (1.0 - 1e-9)
    assert rounds.delta(epsilon=FAR + 1.0).upper == 0.0
    assert rounds.tradeoff(alpha=0.01).lower <= attained(0.01, law) * (1.0 + 1e-9)
    # With probability ``rare`` the loss is 400, which half of that as a failure does not leave out.
    factor = rounds.posterior(prior=0.5, failure=0.5 * rare).at["log odds factor"]
    assert factor >= FAR
    assert rounds.posterior(prior=0.5, failure=0.5).at["log odds factor"] < 10.0


@pytest.mark.parametrize("rare", [1e-30, 1e-3])
def test_gaussian_and_concentrated_dp_count_every_finite_loss(rare):
    law = symmetric(rare)
    rounds = sd.compose([given(law)])
    assert rounds.zcdp().upper >= max(renyi(law, A) / A for A in (1.1, 2.0, 8.0, 100.0))
    mu = rounds.gdp().upper
    for eps in (1.0, 250.0, 350.0, 399.0):
        assert mu == math.inf or log_delta_gaussian(mu, eps).high >= math.log(delta(law, eps))


def test_a_direction_without_far_losses_ends_no_sooner_than_the_other():
    law = symmetric(1e-30)
    near = LossLaw(np.array([-1.0, 1.0]), np.array([0.25, 0.75]))
    part = Round(
        label="one-sided",
        pair=LossPair(law, near),
        key="one-sided",
        relation=sd.central.approximate(epsilon=1.0).relation,
    )
    for order in (2.0, 8.0):
        assert sd.compose([part]).renyi(order=order).upper >= renyi(law, order)
